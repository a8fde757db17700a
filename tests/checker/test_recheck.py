"""The checker: every kind of certificate holds, and no change makes it say what is not so."""

import copy
import json
import random
import subprocess
import sys
import time
from contextlib import suppress
from fractions import Fraction

import pytest
from certified import CERTIFICATES, TRUTH, returning
from changed import changes
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import distributions, pomdps
from test_verdicts import questions

from pomdps import recall4
from workbench import Policy, augment, evaluate
from workbench.certificates.values import value_certificate
from workbench.checker.__main__ import check_file
from workbench.checker.place_graph import PlaceGraph, PolicyValues
from workbench.checker.reader import read_fraction, read_json, read_memory, read_policy, read_task
from workbench.checker.recheck import CHECKS, recheck
from workbench.checker.spoiled import Spoiled
from workbench.core.errors import UnknownLabel
from workbench.results.json import model_json, policy_json

SIX = [f"x{i}" for i in range(6)]
FIFTHS = " + ".join(f"{x}**5" for x in SIX) + " + 1"
POWERS = "(" * 12 + "9" + ")**8" * 12
ALIKE, ALIKE_TOO = "f(s1,s2,s3,s4,s5,s6,s7)", "f(s2,s1,s3,s4,s5,s6,s7)"


@pytest.fixture(scope="module")
def made():
    return {kind: json.loads(json.dumps(make())) for kind, make in CERTIFICATES.items()}


def test_there_is_a_certificate_and_a_second_opinion_for_every_kind():
    assert set(CERTIFICATES) == set(TRUTH) == set(CHECKS)


@pytest.mark.parametrize("kind", CERTIFICATES)
def test_a_certificate_holds_and_is_true(kind, made):
    assert recheck(made[kind])
    assert TRUTH[kind](made[kind])


# ---------------------------------------------------------------------- changes


def judged(kind, certificate):
    """Whether a changed certificate is refused; if it is not, it has to be true."""
    try:
        recheck(certificate)
    except Spoiled:
        return True
    try:
        return TRUTH[certificate["kind"]](certificate)
    except Exception as error:
        raise AssertionError(f"accepted, but the workbench says {error!r}") from error


@pytest.mark.parametrize("kind", CERTIFICATES)
def test_a_changed_certificate_is_refused_or_true(kind, made):
    every = list(changes(made[kind]))
    for what, changed in random.Random(kind).sample(every, min(len(every), 25)):
        assert judged(kind, changed), what


def test_what_is_accepted_of_the_drawn_certificates_is_true():
    """A policy may have rows for memory states that there are not."""
    looked_at = 0
    for name, certificate, said in questions():
        if ", drawn" in name and not said.startswith("refused"):
            with suppress(UnknownLabel):
                assert TRUTH[certificate["kind"]](certificate), name
                looked_at += 1
    assert looked_at > 100


@pytest.mark.slow
@pytest.mark.parametrize("kind", CERTIFICATES)
def test_every_change_of_a_certificate_is_refused_or_true(kind, made):
    for what, changed in changes(made[kind]):
        assert judged(kind, changed), what


@pytest.mark.parametrize("kind", CERTIFICATES)
def test_a_missing_field_is_named(kind, made):
    for name in set(made[kind]) - {"kind"}:
        with pytest.raises(Spoiled, match=f"there is no field '{name}'"):
            recheck({key: x for key, x in made[kind].items() if key != name})


# ---------------------------------------------------------------------- rows of tasks and policies


def worth(P, rows, value):
    return {
        "kind": "policy-value",
        "model": model_json(P),
        "memory": "none",
        "policy": rows,
        "value": value,
    }


def test_a_probability_of_two_and_a_negative_one_are_refused():
    P = returning()
    good = worth(P, [["o", [["b", "1"]]]], "1")
    assert recheck(good)
    for rows in ([["b", "2"]], [["a", "-1"], ["b", "2"]], [["b", "1/2"]], [["b", "1"], ["b", "0"]]):
        with pytest.raises(Spoiled, match=r"probability|sum to one|twice"):
            recheck(worth(P, [["o", rows]], "1"))
    with pytest.raises(Spoiled, match="cannot be worked with"):  # too long to be written out
        recheck(worth(P, [["o", [["b", "1" + "0" * 5_000]]]], "1"))
    for change in ("2", "-1", "1/2"):
        bad = copy.deepcopy(good)
        bad["model"]["p"][1][2][0][2] = change
        with pytest.raises(Spoiled, match=r"probability|sum to one"):
            recheck(bad)


def spoil(part, change):
    model = model_json(recall4())
    change(model[part])
    with pytest.raises(Spoiled) as caught:
        read_task(model)
    return str(caught.value)


def test_every_row_of_a_task_is_checked():
    assert "two rows for 's*'" in spoil("omega", lambda rows: rows.append(rows[0]))
    assert "p(.|'s*', 0) is given twice" in spoil("p", lambda rows: rows.append(rows[0]))
    assert "other pairs" in spoil("p", lambda rows: rows.pop())
    assert "other pairs" in spoil("actions", lambda labels: labels.append(7))
    assert "hold a label twice" in spoil("actions", lambda labels: labels.append(0))
    assert "mu does not sum to one" in spoil("mu", lambda rows: rows.clear())
    assert "omega does not know" in spoil("terminal", lambda labels: labels.append("elsewhere"))
    assert "not a label" in spoil("actions", lambda labels: labels.append(True))
    assert "not a label" in spoil("terminal", lambda labels: labels.append([1]))
    model = {**model_json(recall4()), "gamma": "3/2"}
    with pytest.raises(Spoiled, match="the discount 3/2"):
        read_task(model)


def test_formulas_that_hide_a_number_are_seen_through():
    for hidden in ("2 + x - x", "2*x/x", "(4*x + 2)/(2*x + 1)"):
        with pytest.raises(Spoiled, match="the probability 2"):
            recheck(worth(returning(), [["o", [["b", hidden], ["a", "-1"]]]], "1"))
    with pytest.raises(Spoiled, match="no values of the names"):
        recheck(worth(recall4(), [["o", [[0, "2 + x**2"], [1, "-1 - x**2"]]]], "1"))


def test_formulas_are_bounded_inside_and_not_only_at_the_ends_of_their_names():
    assert recheck(worth(returning(), [["o", [["a", "0"], ["b", "1"]]]], "1"))
    with pytest.raises(Spoiled, match="no values of the names"):  # x = 0 alone would do
        recheck(worth(returning(), [["o", [["b", "1 + x"], ["a", "-x"]]]], "1"))
    for gamma in ("1 + x", "-x", "2 + x**2"):
        wide = worth(returning(), [["o", [["b", "1"]]]], "1")
        wide["model"]["gamma"] = gamma
        with pytest.raises(Spoiled, match="no values of the names"):
            recheck(wide)


def test_a_compiled_task_has_the_discount_of_its_task(made):
    bad = copy.deepcopy(made["same-sequences"])
    bad["compiled"]["gamma"] = "1/7"
    with pytest.raises(Spoiled, match=r"the discount is .* and 1/7 when compiled"):
        recheck(bad)


def test_a_list_of_critical_points_does_not_read_like_all_of_them(made):
    assert "whether there are other points is not checked" in recheck(made["critical-points"])


def test_a_goal_with_too_many_free_indices_is_not_taken_for_a_new_one(made):
    eight = "f(s1,s2,s3,s4,s5,s6,s7,s8) == 0"
    given = {**made["sum-claim"], "given": [eight], "goal": eight, "steps": [["add", 0, "-1"]]}
    with pytest.raises(Spoiled, match="too many to compare"):
        recheck({**given, "base": None})


@settings(max_examples=20)
@given(
    pomdps(most_states=3),
    st.sampled_from(["none", "B1", "O1", "OA1", "window1"]),
    st.booleans(),
    st.data(),
)
def test_values_and_q_values_are_those_of_the_workbench(P, memory, discounted, data):
    E = augment(P, memory)
    pi = Policy.from_mapping(E, {o: data.draw(distributions(list(E.A), 3)) for o in E.O})
    try:
        found = evaluate(E, pi, exact=True, weights="discounted" if discounted else "visits")
    except ValueError:
        return
    task, rule = read_task(model_json(P)), read_memory(memory)
    rows = read_policy(json.loads(json.dumps(policy_json(pi))), task, rule)
    again = PolicyValues(PlaceGraph(task, rule, rows), discounted)
    assert again.value == found.value
    expected = {(o, a): found.q[o, a] for o in E.O for a in E.A if found.q[o, a] is not None}
    assert again.q == expected
    assert recheck(value_certificate(P, memory, pi, found.value))


# ---------------------------------------------------------------------- what is too much


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000 + "]" * 100_000,
        '{"a":' * 5_000 + "1" + "}" * 5_000,
        '{"kind": "oracle-loop", "steps": 1' + "0" * 5_000 + "}",
        '{"kind": "identity", "kind": "identity"}',
        '{"kind": NaN}',
        "{",
    ],
    ids=["deep lists", "deep objects", "a huge number", "a field twice", "no number", "half"],
)
def test_hostile_files_end_quickly_in_the_readers_own_error(text, tmp_path, capsys):
    start = time.process_time()
    with pytest.raises(Spoiled):
        recheck(read_json(text))
    path = tmp_path / "hostile.json"
    path.write_text(text)
    assert check_file([str(path)]) == 1
    assert capsys.readouterr().err.startswith(str(path))
    assert time.process_time() - start < 5


@pytest.mark.parametrize(
    ("kind", "change"),
    [
        ("policy-value", {"value": "1" * 50_000}),
        ("policy-value", {"value": "1e999999999"}),
        ("policy-value", {"memory": "B40"}),
        ("policy-value", {"memory": "OA99"}),
        ("oracle-loop", {"step": "1/1" + "0" * 500}),
        ("oracle-loop", {"phases": [[10**9, []], [None, []]]}),
        ("oracle-cycle", {"cycle": [[10**9, []]]}),
        ("td-values", {"n": 10**9}),
        ("same-sequences", {"horizon": 10**6}),
        ("identity", {"left": "(" * 10_000 + "x" + ")" * 10_000}),
        ("identity", {"left": "x**99999999"}),
        ("identity", {"left": "(a+b+c+d+e+f+g+h)**200"}),
        ("identity", {"left": "-" * 100_000 + "y"}),
        ("polynomial-positive", {"polynomial": "x**200 - y**200"}),
        ("excluded", {"positive": [0] * 1000}),
        ("polynomial-positive", {"polynomial": FIFTHS, "box": dict.fromkeys(SIX, "[-1, 1]")}),
        ("polynomial-positive", {"polynomial": FIFTHS, "box": dict.fromkeys(SIX, "[0, 1]")}),
        ("excluded", {"conditions": ["(x+y+z+1)**20 >= 0"], "terms": [["1", [0]]] * 20_000}),
        ("excluded", {"conditions": ["x + y >= 0"], "terms": [["1", [0] * 60]] * 20_000}),
        ("identity", {"left": "((9**200)**200)**200"}),
        ("sum-claim", {"given": [" + ".join(f"f(s{i})" for i in range(300)) + " == 0"] * 60}),
        ("sum-claim", {"goal": f"{POWERS} == 0"}),
        ("sum-claim", {"given": [f"{ALIKE} == 0"] * 60, "goal": f"{ALIKE} + {ALIKE_TOO} == 0"}),
    ],
)
def test_certificates_that_ask_for_too_much_end_quickly(kind, change, made):
    start = time.process_time()
    with pytest.raises(Spoiled):
        recheck({**made[kind], **change})
    assert time.process_time() - start < 5


def test_nesting_is_seen_in_objects_as_well_as_in_text():
    deep = {"kind": "identity"}
    for _ in range(100_000):
        deep = {"kind": "identity", "left": deep}
    with pytest.raises(Spoiled, match="nested more than"):
        recheck(deep)
    while "left" in deep:  # taken apart by hand: Python's own way would recurse
        deep = deep["left"]


def test_what_is_no_certificate_is_refused():
    for strange in (None, [], "identity", {"kind": ["identity"]}, {"kind": "wish"}, {}):
        with pytest.raises(Spoiled):
            recheck(strange)


def test_numbers_are_fractions_in_text():
    assert read_fraction("-12/8") == Fraction(-3, 2)
    assert read_fraction("1" + "0" * 10_000) == 10**10_000
    for strange in (1, 0.5, "0.5", "1/0", "1/00", "", " 1", "1e3", "--1", None):
        with pytest.raises(Spoiled):
            read_fraction(strange)


# ---------------------------------------------------------------------- the command


def test_files_are_rechecked_from_the_command_line(made, tmp_path, capsys):
    path = tmp_path / "some.json"
    path.write_text(json.dumps([{"id": "X", "certificates": list(made.values())[3:6]}]))
    assert check_file([str(path)]) == 0
    shown = capsys.readouterr().out
    assert shown.splitlines()[-1] == "3 of 3 certificates hold"
    assert shown.startswith("X: a policy of returning with O1 is worth")
    spoiled = {**made["identity"], "right": "x"}
    path.write_text(json.dumps([made["identity"], spoiled]))
    assert check_file([str(path)]) == 1
    assert "SPOILED" in capsys.readouterr().out
    path.write_text("[]")
    assert check_file([str(path)]) == 1
    assert check_file([]) == 2


def test_the_checker_runs_without_anything_else_of_the_package(made, tmp_path):
    """With everything outside the standard library forbidden, a file is still verified."""
    path = tmp_path / "some.json"
    path.write_text(json.dumps(made["q-values"]))
    code = (
        "import sys\n"
        "for name in ('numpy', 'sympy', 'scipy', 'numba', 'z3', 'flint'):\n"
        "    sys.modules[name] = None\n"
        "from workbench.checker.__main__ import check_file\n"
        f"status = check_file([{str(path)!r}])\n"
        "own = {m for m in sys.modules if m.startswith('workbench.')}\n"
        "assert all(m.startswith('workbench.checker') for m in own), own\n"
        "sys.exit(status)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_write_twice_and_an_action_without_a_write_are_refused(made):
    good = made["same-sequences"]
    writes = good["memory"]["W"]
    with pytest.raises(Spoiled, match="twice"):
        recheck({**good, "memory": {**good["memory"], "W": [*writes, writes[0]]}})
    bad = copy.deepcopy(good)
    bad["policy"][0][1][0][0] = "alone"
    with pytest.raises(Spoiled, match="does not have"):
        recheck(bad)


@pytest.mark.parametrize("words", [["--required"], ["--required", "nowhere"], ["--required", "\0"]])
def test_what_is_required_has_to_be_a_file(words, capsys):
    assert check_file(words) == 2
    assert "--required FILE: " in capsys.readouterr().err
