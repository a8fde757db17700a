"""The grammar of `.POMDP` files, the errors it gives, the conventions of the reader, and real
files."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from workbench.interop.pomdp_file import PomdpFileError, load_pomdp, parse_pomdp
from workbench.output import StorageError

DATA = Path(__file__).parents[1] / "data"

TIGER = """
# Which door hides the tiger?
discount: 0.95
values: reward
states: tiger-left tiger-right
actions: listen open-left open-right
observations: hear-left hear-right
start: 0.5 0.5

T:listen
identity
T:open-left uniform
T:open-right
uniform
O:listen
0.85 0.15
0.15 0.85
O:open-left uniform
O:open-right uniform

R:listen : * : * : * -1
R:open-left : tiger-left : * : * -100
R:open-left : tiger-right : * : * 10
R:open-right : tiger-left : * : * 10
R:open-right : tiger-right : * : * -100
"""

CORRIDOR = """
discount : 1
values : cost
states : 4      # left, middle, right, goal
actions :
   west   # two of them,
   east   # on lines of their own
observations : 2
start include : 0 2
T : * : 3 reset
T : west : 0 : 0 1
T : west : 1 : 0 1.
T : west : 2 : 1 1.0
T : east : * : 1 1e0
T : east : 1 : 1 0
T : east : 1 : 2 +1
T : east : 2 : 1 0.0
T : east : 2 : 3 10E-1
T : east : 3 reset
O : * : * : 0 1
O : * : 3 0 1
R : * : * : * : * 1
R : * : 3 : * : * 0
"""

HEADER = "discount: 0.5\nvalues: reward\nstates: a b\nactions: x y\nobservations: 2\n"
BODY = "T: * identity\nO: * uniform\n"


# ---------------------------------------------------------------------- what files mean


def test_tiger_is_four_states_that_remember_what_was_heard_and_two_to_start():
    P = parse_pomdp(TIGER, exact=True)
    assert list(P.S) == [
        ("tiger-left", "start"),
        ("tiger-left", "hear-left"),
        ("tiger-left", "hear-right"),
        ("tiger-right", "start"),
        ("tiger-right", "hear-left"),
        ("tiger-right", "hear-right"),
    ]
    assert list(P.O) == ["hear-left", "hear-right", "start"]
    assert dict(P.mu) == {
        ("tiger-left", "start"): Fraction(1, 2),
        ("tiger-right", "start"): Fraction(1, 2),
    }
    assert P.p(("tiger-left", "hear-right"), "listen") == {
        (("tiger-left", "hear-left"), -1): Fraction(17, 20),
        (("tiger-left", "hear-right"), -1): Fraction(3, 20),
    }
    assert P.p(("tiger-left", "start"), "open-left") == {
        ((s, o), -100): Fraction(1, 4)
        for s in ("tiger-left", "tiger-right")
        for o in ("hear-left", "hear-right")
    }
    assert P.gamma == Fraction(19, 20)


def test_without_action_dependence_start_states_show_their_observation_by_default():
    P = parse_pomdp(CORRIDOR, exact=True)
    assert list(P.S) == [0, 1, 2, 3]
    assert list(P.O) == [0, 1]
    assert dict(P.mu) == {0: Fraction(1, 2), 2: Fraction(1, 2)}
    assert list(parse_pomdp(CORRIDOR, first="start").S) == [(0, "start"), 0, 1, (2, "start"), 2, 3]


def test_all_the_lines_of_the_corridor_are_heard():
    P = parse_pomdp(CORRIDOR, exact=True)
    assert list(P.A) == ["west", "east"]
    assert P.p(0, "west") == {(0, -1): 1}  # a cost
    assert P.p(1, "east") == {(2, -1): 1}
    assert P.p(2, "east") == {(3, -1): 1}
    assert P.p(3, "west") == P.p(3, "east") == {(0, 0): Fraction(1, 2), (2, 0): Fraction(1, 2)}
    assert (P.omega(2), P.omega(3)) == ({0: 1}, {1: 1})


def test_the_goal_of_the_corridor_ends_episodes_when_asked():
    P = parse_pomdp(CORRIDOR, exact=True, goals=[3])
    assert set(P.terminal) == {3}
    assert not parse_pomdp(CORRIDOR).terminal
    assert set(parse_pomdp(CORRIDOR, goals=[1, 3]).terminal) == {
        3,
        "end",
    }  # leaving 1 costs something


def test_tiger_ends_when_a_door_is_opened_if_the_pairs_are_named():
    doors = [(s, a) for s in ("tiger-left", "tiger-right") for a in ("open-left", "open-right")]
    P = parse_pomdp(TIGER, exact=True, goals=doors)
    assert set(P.terminal) == {"end"}
    assert P.omega("end") == {"end": 1}
    assert P.p(("tiger-left", "start"), "open-right") == {("end", 10): 1}
    assert P.S[1] == "tiger-left"  # only listening leads there now, so it is not split


def test_rewards_that_depend_on_the_observation_split_only_the_states_where_they_do():
    P = parse_pomdp(
        HEADER + BODY + "R: x : a : a : 1 5\nR: * : b : b : 0 2\nR: * : b : b : 1 2\n", exact=True
    )
    assert list(P.S) == [("a", 0), ("a", 1), "b"]
    assert P.p(("a", 0), "x") == {(("a", 0), 0): Fraction(1, 2), (("a", 1), 5): Fraction(1, 2)}
    assert P.p("b", "y") == {("b", 2): 1}


def test_all_forms_of_R_and_the_last_one_wins():
    lines = "R: * : a\n1 2\n3 4\nR: x : b : * 5 6\nR: x : * : a : 1 7\n"
    P = parse_pomdp(HEADER + "T: * uniform\nO: * uniform\n" + lines, exact=True)
    found = {(s, o): r for ((s, o), r) in P.p(("a", 0), "x")}
    assert found == {("a", 0): 1, ("a", 1): 7, ("b", 0): 3, ("b", 1): 4}
    assert {(s, o): r for ((s, o), r) in P.p(("b", 0), "x")} == {
        ("a", 0): 5,
        ("a", 1): 7,
        ("b", 0): 5,
        ("b", 1): 6,
    }
    assert {r for (_, r) in P.p(("b", 0), "y")} == {0}


def test_an_mdp_observes_its_state():
    text = "discount: 0.9\nvalues: reward\nstates: a b\nactions: x y\nstart: a\nT: * uniform\n"
    P = parse_pomdp(text + "R: x : a 1 2\nR: y\n1 2\n3 4\nR: x : b : a : * 9\n", exact=True)
    assert P.omega("b") == {"b": 1}
    assert P.p("a", "x") == {("a", 1): Fraction(1, 2), ("b", 2): Fraction(1, 2)}
    assert P.p("b", "y") == {("a", 3): Fraction(1, 2), ("b", 4): Fraction(1, 2)}
    assert P.p("b", "x") == {("a", 9): Fraction(1, 2), ("b", 0): Fraction(1, 2)}


@pytest.mark.parametrize(
    ("start", "mu"),
    [
        ("", [Fraction(1, 3)] * 3),
        ("start: uniform", [Fraction(1, 3)] * 3),
        ("start: .2 3e-1 5.0e-1", [Fraction(1, 5), Fraction(3, 10), Fraction(1, 2)]),
        ("start:\n0 1 0", [0, 1, 0]),
        ("start: b", [0, 1, 0]),
        ("start: 2", [0, 0, 1]),
        ("start: a c", [Fraction(1, 2), 0, Fraction(1, 2)]),
        ("start include: a 2", [Fraction(1, 2), 0, Fraction(1, 2)]),
        ("start exclude: b", [Fraction(1, 2), 0, Fraction(1, 2)]),
        ("start include: *", [Fraction(1, 3)] * 3),
    ],
)
def test_the_start_in_all_its_forms(start, mu):
    text = HEADER.replace("a b", "a b c") + start + "\n" + BODY
    P = parse_pomdp(text, exact=True)
    assert [P.mu[s] for s in "abc"] == mu


def test_one_state_starts_with_probability_one_however_it_is_said():
    for start in ("0", "1", "1.0", "a", "uniform"):
        text = HEADER.replace("a b", "a") + f"start: {start}\n" + BODY
        assert dict(parse_pomdp(text, exact=True).mu) == {"a": 1}


def test_rounded_rows_are_divided_by_their_sum_in_floats_and_refused_when_exact():
    text = HEADER.replace("a b", "a b c") + "T: * : *\n0.333333 0.333333 0.333333\nO: * uniform\n"
    P = parse_pomdp(text)
    assert P.p("a", "x")["b", 0.0] == pytest.approx(1 / 3, abs=1e-15)
    with pytest.raises(
        PomdpFileError, match=r"T: x : a sums to 0.999999 and not exactly to 1: .* tolerance=1e-05"
    ) as error:
        parse_pomdp(text, exact=True)
    assert error.value.line == 6
    assert parse_pomdp(text, exact=True, tolerance=1e-5).p("a", "x")["b", 0] == Fraction(1, 3)
    with pytest.raises(PomdpFileError, match=r"T: x : a sums to 0.999999, not to 1"):
        parse_pomdp(text, tolerance=1e-7)


def test_names_and_numbers_may_be_mixed_and_a_byte_order_mark_is_skipped():
    P = parse_pomdp(
        "\ufeff" + HEADER + "T: 0 : 1 : a 1\r\nT: x : a : 0 1\r\nT: y identity\r\nO: * uniform",
        exact=True,
    )
    assert P.p("b", "x") == {("a", 0): 1}


def test_identity_shows_the_state_where_there_are_as_many_observations():
    P = parse_pomdp(HEADER + "T: * uniform\nO: * identity\n")
    assert P.omega("b") == {1: 1.0}


# ---------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("text", "line", "column", "expected"),
    [
        (HEADER + "T: z identity", 6, 4, "an action (x, y, or a number from 0 to 1) or '*'"),
        (HEADER + "T: x : c : a 1", 6, 8, "a state (a, b, or a number from 0 to 1) or '*'"),
        (HEADER + "T: x : 2 : a 1", 6, 8, "a state (a, b, or a number from 0 to 1) or '*'"),
        (HEADER + "O: x : a : 2 1", 6, 12, "an observation (a number from 0 to 1) or '*'"),
        (HEADER + "T x identity", 6, 3, "':'"),
        (HEADER + "T: x identical", 6, 6, "':', uniform, identity, reset, or 4 numbers"),
        (HEADER + "T: x : a identity", 6, 10, "':', uniform, reset, or 2 numbers"),
        (HEADER + "T: x : a : b", 6, 13, "a number"),
        (HEADER + "T: x : a : b 1.5", 6, 14, "a probability from 0 to 1"),
        (HEADER + "T: x : a : b -0.1", 6, 14, "a probability from 0 to 1"),
        (HEADER + "T: x : a : b 0.1.2", 6, 14, "a number"),
        (
            HEADER + "T: x\n1 0\n0 one",
            8,
            3,
            "a number: row 2, column 2 of the 4 numbers for this T",
        ),
        (
            HEADER + "T: x\n1 0\n0\nT: y identity",
            9,
            1,
            "a number: row 2, column 2 of the 4 numbers for this T",
        ),
        (
            HEADER + "T: x\n1 0\n0 1 1",
            8,
            5,
            "the next line, after 4 numbers for this T (2 rows of 2)",
        ),
        (HEADER + "T: x : a 1 0 0", 6, 14, "the next line, after 2 numbers for this T"),
        (
            HEADER + "R: x : a : b 1",
            6,
            15,
            "a number: entry 2 of the 2 numbers for this R (one for each observation; for all of "
            "them write R: action : state : state : * number)",
        ),
        (HEADER + "R: x 1", 6, 6, "':' and a state"),
        (HEADER + "R: x : a : b : 0 uniform", 6, 18, "a number"),
        (HEADER + "start: 0.5 0.2 0.3", 6, 16, "the next line, after 2 numbers for this start"),
        (HEADER + "start: 0.5", 6, 8, "a state (a, b, or a number from 0 to 1)"),
        (HEADER + "start: reset", 6, 8, "a state (a, b, or a number from 0 to 1)"),
        (
            HEADER + "start include:\nT: x identity",
            7,
            1,
            "a state (a, b, or a number from 0 to 1) or '*'",
        ),
        (
            HEADER + "nonsense",
            6,
            1,
            "a line that begins with discount, values, states, actions, "
            "observations, start, T, O or R",
        ),
        (HEADER, 5, 16, "a line for T"),
        (HEADER + "T: * identity", 6, 14, "a line for O, because the file declares observations"),
        (
            HEADER + "T: * : a uniform\nO: * uniform",
            7,
            13,
            "a line for T: x : b, which no line gives a probability",
        ),
        ("discount: 0.5\nT: x identity", 2, 1, "the line 'states:' before this"),
        ("discount: 1.5", 1, 11, "a discount from 0 to 1"),
        ("discount: high", 1, 11, "a number"),
        ("values: money", 1, 9, "'reward' or 'cost'"),
        ("states: 0", 1, 9, "at least 1 for the number of states"),
        ("states: a 1b", 1, 11, "the name of a state"),
        (
            "actions: 2 3",
            1,
            12,
            "a line that begins with discount, values, states, actions, "
            "observations, start, T, O or R",
        ),
        ("states:\ndiscount: 1", 2, 1, "the number of states or their names"),
        ("", 1, 1, "the line 'discount:'"),
    ],
)
def test_errors_point_to_the_place_and_say_what_was_expected(text, line, column, expected):
    with pytest.raises(PomdpFileError) as caught:
        parse_pomdp(text, name="file.POMDP")
    error = caught.value
    assert (error.line, error.column, error.expected) == (line, column, expected)
    shown = text.split("\n")[line - 1]
    assert str(error).startswith(f"file.POMDP:{line}:{column}: expected {expected}, found ")
    assert str(error).endswith(f"\n  {shown}\n  {' ' * (column - 1)}^")


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (HEADER + "states: 3", 6, "states is given a second time; the first is in line 3"),
        (HEADER + "start: a\nstart: b", 7, "start is given a second time; the first is in line 6"),
        (HEADER + "start exclude: *", 6, "no state is left to start in"),
        (
            HEADER + "T: * uniform\nO: * reset",
            7,
            "reset leads to the start and has a meaning for T only",
        ),
        (
            HEADER.replace("2", "3") + "O: * identity",
            6,
            "identity needs |O| = |S|, but there are 3 and 2",
        ),
        ("states: a b a", 1, "a names two states"),
        ("states: a T b", 1, "T is a word of the format and cannot name a state"),
        (
            "states: 2\nactions: 1\nR: 0 : 0 : 0 1\nobservations: 2",
            4,
            "observations must be declared before the first line",
        ),
        (
            HEADER + "T: * uniform\nT: x : b 0.5 0.4\nO: * uniform",
            7,
            "T: x : b sums to 0.9, not to 1 (within",
        ),
        (
            HEADER + "T: * uniform\nO: * uniform\nO: y : a : 1 0.4",
            8,
            "O: y : a sums to 0.9, not to 1 (within",
        ),
        (HEADER + "start: 0.5 0.6\n" + BODY, 6, "start sums to 1.1, not to 1 (within"),
    ],
)
def test_what_is_well_formed_but_cannot_be_meant_is_refused_at_its_line(text, line, message):
    with pytest.raises(PomdpFileError) as error:
        parse_pomdp(text)
    assert error.value.line == line
    assert message in str(error.value)


def test_columns_count_from_the_line_as_it_stands_and_long_lines_are_cut():
    with pytest.raises(PomdpFileError) as error:
        parse_pomdp(HEADER + "T: x : a " + "0 " * 300 + "# and so on")
    assert (error.value.line, error.value.column) == (6, 14)
    message = str(error.value).split("\n")
    assert message[1].startswith("  T: x : a 0 0")
    assert message[1].endswith("...")
    assert message[2] == " " * 15 + "^"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"first": "none"}, "first must be 'auto' or 'start', not 'none'"),
        ({"goals": ["nowhere"]}, "the goal nowhere is neither a state nor a pair"),
        ({"goals": [("tiger-left", "dance")]}, "unknown label 'dance'"),
        ({"tolerance": -1}, r"tolerance must lie in \[0, 1\)"),
    ],
)
def test_arguments_that_do_not_fit_are_refused(arguments, message):
    with pytest.raises(PomdpFileError, match=message):
        parse_pomdp(TIGER, **arguments)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(StorageError, match=r"cannot read .*nothing.POMDP: No such file"):
        load_pomdp(tmp_path / "nothing.POMDP")


# ---------------------------------------------------------------------- large and real files


def large_text(nS: int, nA: int = 5, nO: int = 20, seed: int = 1) -> str:
    """A file with random sparse entries for T, dense rows for O and rewards for some triples."""
    rng = np.random.default_rng(seed)
    lines = [f"discount: 0.95\nvalues: reward\nstates: {nS}\nactions: {nA}\nobservations: {nO}"]
    for s in range(nS):
        for a in range(nA):
            to = rng.choice(nS, size=12, replace=False)
            parts = rng.multinomial(10**6, np.ones(12) / 12) / 10**6
            lines += [f"T: {a} : {s} : {t} {x:.6f}" for t, x in zip(to, parts, strict=True)]
            lines += [f"R: {a} : {s} : {to[0]} : * {rng.normal():.6f}"]
        shown = rng.multinomial(10**6, np.ones(nO) / nO) / 10**6
        lines.append(f"O: * : {s}\n" + " ".join(f"{x:.6f}" for x in shown))
    return "\n".join(lines)


def test_a_file_with_many_states_is_read_whole():
    text = large_text(200)
    P = parse_pomdp(text)
    assert len(P.S) == 200
    assert len(P.p.s_next) == text.count("T:") - text.count(" 0.000000\nT")
    exact = parse_pomdp(text, exact=True)
    assert exact.is_exact
    np.testing.assert_allclose(exact.p.prob.floats, P.p.prob.floats, atol=1e-12)


@pytest.mark.slow  # `test_a_file_with_many_states_is_read_whole` is its fast twin
def test_a_file_of_three_megabytes_with_a_thousand_states_is_read():
    text = large_text(1600)
    assert len(text) > 3_000_000
    assert len(parse_pomdp(text).S) == 1600


SIZES = {
    # states, observations, actions; the goals, and which states are terminal with them
    "1d.POMDP": (4, 2, 2, ["goal"], {"goal"}),
    "4x3.95.POMDP": (11, 6, 4, [3, 6], {"end"}),
    "bridge-repair.POMDP": (22, 6, 12, [], set()),
    "cheese.95.POMDP": (11, 7, 4, [10], {10}),
    "concert.POMDP": (6, 3, 3, [], set()),
    "ejs1.POMDP": (8, 3, 4, [], set()),
    "hallway.POMDP": (60, 21, 5, [56, 57, 58, 59], {56, 57, 58, 59}),
    "heavenhell.POMDP": (21, 12, 4, [20], {20}),
    "loadunload.pomdp": (10, 3, 2, [], set()),
    "parr95.95.POMDP": (7, 6, 3, ["minus1", "plus1"], {"minus1", "end"}),
    "shuttle.95.POMDP": (8, 5, 3, [], set()),
    "tiger.95.POMDP": (6, 3, 3, [], set()),
    "tiger.aaai.POMDP": (6, 3, 3, [], set()),
    "tmaze5.POMDP": (15, 5, 4, [14], {14}),
}


@pytest.mark.parametrize("file", SIZES)
def test_real_files_have_their_sizes_and_end_at_their_goals(file):
    states, observations, actions, goals, terminal = SIZES[file]
    P = load_pomdp(DATA / file)
    assert (len(P.S), len(P.O), len(P.A)) == (states, observations, actions)
    assert set(load_pomdp(DATA / file, goals=goals).terminal) == terminal
    assert load_pomdp(DATA / file, exact=True, tolerance=1e-5).is_exact


def test_every_real_file_can_be_read():
    for path in DATA.iterdir():
        if path.suffix.lower() == ".pomdp":
            assert load_pomdp(path).name == path.name[:-6]
