"""The known tasks: their sizes, their known answers, and the published files that describe them."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path

import pytest
import reference_beliefs as yardstick
import sympy
from hypothesis import given
from hypothesis import strategies as st
from strategies import policies

from pomdps import TASKS as RECORDS
from pomdps.classics import (
    load_unload,
    short_corridor,
    short_corridor_value,
    shuttle,
    tiger,
)
from pomdps.mazes import cheese_maze, four_by_three, heaven_hell, t_maze
from workbench import Memory, Policy, augment, evaluate, memories, uniform
from workbench.core.errors import WorkbenchError
from workbench.interop.pomdp_file import load_pomdp, parse_pomdp, pomdp_text

DATA = Path(__file__).parents[1] / "data"
TASKS = {
    "tiger": tiger(),
    "shuttle": shuttle(),
    "load_unload": load_unload(),
    "short_corridor": short_corridor(),
    "cheese_maze": cheese_maze(),
    "four_by_three": four_by_three(),
    "t_maze": t_maze(),
    "heaven_hell": heaven_hell(),
}
KNOWN = {name: RECORDS[name].known for name in TASKS}


@pytest.mark.parametrize("name", TASKS)
def test_tasks_can_be_written_as_files(name):
    P = TASKS[name]
    Q = parse_pomdp(pomdp_text(P))
    assert list(Q.S) == list(P.S)
    assert all(Q.p(s, a) == P.p(s, a) for s in P.S for a in P.A)


# ---------------------------------------------------------------------- the published files


def same_up_to_order(P, Q, S, O, A, close=0):
    """Whether Q is P with its labels mapped by S, O, A; numbers may differ by `close`."""

    def agree(one, other):
        return one.keys() == other.keys() and all(abs(one[k] - other[k]) <= close for k in one)

    for s in P.S:
        assert agree({O(o): x for o, x in P.omega(s).items()}, Q.omega(S(s)))
        assert abs(P.mu[s] - Q.mu[S(s)]) <= close
        assert (s in P.terminal) == (S(s) in Q.terminal)
        for a in P.A:
            assert agree({(S(t), r): x for (t, r), x in P.p(s, a).items()}, Q.p(S(s), A(a)))
    assert {S(s) for s in P.S} == set(Q.S)
    assert {O(o) for o in P.O} == set(Q.O)
    assert P.gamma == Q.gamma
    return True


def _read(file, **arguments):
    return load_pomdp(DATA / file, exact=True, **arguments)


def test_tiger_is_the_published_file():
    def hears(o):
        return o.replace("hear", "tiger")

    file = _read("tiger.95.POMDP")
    assert same_up_to_order(
        tiger(), file, lambda s: (f"tiger-{s[0]}", hears(s[1])), hears, lambda a: a
    )


def test_shuttle_is_the_published_file():
    P = shuttle()
    names = {"turn around": "TurnAround", "go forward": "GoForward", "back up": "Backup"}
    assert same_up_to_order(P, _read("shuttle.95.POMDP"), P.S.index, P.O.index, names.get)


def test_load_unload_is_the_published_file():
    P = load_unload(start="uniform")
    assert same_up_to_order(P, _read("loadunload.pomdp"), P.S.index, lambda o: o, lambda a: a)


def test_cheese_maze_is_the_published_file():
    file = _read("cheese.95.POMDP")
    assert same_up_to_order(cheese_maze(), file, lambda s: s, lambda o: o, lambda a: f"{a}0")


def test_four_by_three_is_the_published_file_but_for_its_rounding_and_one_entry():
    """The file lets a move east from 9 that goes astray to the south end in 8, through no door: it
    should stay in 9."""
    text = (DATA / "4x3.95.POMDP").read_text()
    P = four_by_three()
    wrong = parse_pomdp(text, exact=True)
    assert wrong.p(9, "e") == {
        (5, Fraction(-1, 25)): Fraction(1, 10),
        (8, Fraction(-1, 25)): Fraction(1, 10),
        (10, Fraction(-1, 25)): Fraction(4, 5),
    }
    file = parse_pomdp(text + "T: e : 9 : 8 0\nT: e : 9 : 9 0.1\n", exact=True)
    assert same_up_to_order(P, file, lambda s: s, lambda o: o, str.lower, close=Fraction(1, 10**6))


def test_t_maze_is_the_published_file():
    P = t_maze(5)
    assert same_up_to_order(P, _read("tmaze5.POMDP", goals=[14]), P.S.index, P.O.index, P.A.index)


def test_heaven_hell_is_the_published_file():
    P = heaven_hell()
    Q = _read("heavenhell.POMDP", goals=[20])
    end = {"end": "terminal"}
    assert same_up_to_order(P, Q, P.S.index, lambda o: end.get(o, o), lambda a: a)


# ---------------------------------------------------------------------- known values


def test_listening_twice_more_often_is_optimal_for_the_tiger():
    """The closed form is the published 19.37, and a policy with memory reaches it: a counter of -2
    to 2."""
    best = KNOWN["tiger"]["best"]
    assert round(float(best), 2) == 19.37

    def Gamma(m, w, o, a, r, o_next):
        heard = {"hear-left": -1, "hear-right": 1}.get(o_next, 0)
        return {(max(-2, min(2, m + heard)) if a == "listen" else 0): 1}

    E = augment(tiger(), Memory("difference", range(-2, 3), ["-"], Gamma, {0: 1}))
    choice = {(m, o): ({-2: "open-right", 2: "open-left"}.get(m, "listen"), "-") for m, o in E.O}
    assert evaluate(E, Policy.deterministic(E, choice), exact=True).value == best


def test_no_history_does_better_for_the_tiger_than_the_closed_form():
    """The beliefs that listening reaches are counted by the difference heard; opening starts
    afresh."""
    # beliefs after listening are infinitely many; those within a difference of 12 settle the value
    # to 1e-9
    q, gamma = 0.85, 0.95
    v = dict.fromkeys(range(-12, 13), 0.0)
    for _ in range(2000):
        new = {}
        for d in v:
            left = q**d / (q**d + (1 - q) ** d)
            same = left * q + (1 - left) * (1 - q)
            listen = -1 + gamma * (same * v[min(d + 1, 12)] + (1 - same) * v[max(d - 1, -12)])
            openings = (10 * (1 - left) - 100 * left, 10 * left - 100 * (1 - left))
            new[d] = max(listen, max(openings) + gamma * v[0])
        v = new
    assert v[0] == pytest.approx(float(KNOWN["tiger"]["best"]), abs=1e-9)


def test_always_listening_is_the_best_memoryless_policy_for_the_tiger():
    P = tiger()
    listen = Policy.deterministic(P, dict.fromkeys(P.O, "listen"))
    assert evaluate(P, listen, exact=True).value == KNOWN["tiger"]["always listen"]
    assert yardstick.best_deterministic_memoryless(P) == pytest.approx(-20)


@pytest.mark.parametrize("name", ["shuttle", "cheese_maze", "four_by_three"])
def test_full_information_and_memoryless_values_are_the_known_ones(name):
    P, known = TASKS[name], KNOWN[name]
    assert yardstick.full_information(P) == pytest.approx(known["full information"], abs=5e-7)
    assert yardstick.best_deterministic_memoryless(P) == pytest.approx(
        known["best deterministic memoryless"], abs=5e-7
    )


def test_history_gives_the_shuttle_the_value_of_full_information():
    low, high = yardstick.best_history(shuttle(), most=300)
    assert high - low < 1e-6
    assert low == pytest.approx(KNOWN["shuttle"]["best"], abs=5e-7)
    assert KNOWN["shuttle"]["best"] == KNOWN["shuttle"]["full information"]


def test_the_best_value_of_the_cheese_maze_with_and_without_a_first_observation():
    P, known = cheese_maze(), KNOWN["cheese_maze"]
    assert yardstick.best_history(P) == pytest.approx((known["best"],) * 2, abs=5e-7)
    assert yardstick.best_history(P, without_first_observation=True) == pytest.approx(
        (known["best without a first observation"],) * 2, abs=5e-7
    )


@pytest.mark.parametrize("length", [2, 3, 5, 8])
def test_load_unload_pays_at_each_end_for_ever_and_one_bit_is_enough(length):
    known, gamma = KNOWN["load_unload"], Fraction(9, 10)
    P = load_unload(length, gamma)
    assert yardstick.best_history(P) == pytest.approx((float(known["best"](length, gamma)),) * 2)
    E = augment(P, memories.B(1))
    way = {"0": "right", "1": "left"}
    choice = {}
    for m, o in E.O:
        bit = {"loading": "0", "unloading": "1"}.get(o, m)
        choice[m, o] = (way[bit], bit)
    assert evaluate(E, Policy.deterministic(E, choice), exact=True).value == known["best"](
        length, gamma
    )
    if length > 2:
        memoryless = yardstick.best_deterministic_memoryless(P)
        assert memoryless == pytest.approx(
            float(known["best deterministic memoryless"](length, gamma))
        )


@given(st.fractions(Fraction(1, 100), Fraction(99, 100), max_denominator=100))
def test_the_short_corridor_is_worth_its_closed_form(p):
    P = short_corridor()
    pi = Policy.from_mapping(P, {"o": {"right": p, "left": 1 - p}})
    assert evaluate(P, pi, exact=True).value == short_corridor_value(p)


def test_the_short_corridor_as_a_rational_function_and_its_best_policy():
    P, known = short_corridor(), KNOWN["short_corridor"]
    p = sympy.Symbol("p")
    value = evaluate(P, Policy.from_mapping(P, {"o": {"right": p, "left": 1 - p}})).value
    assert sympy.simplify(value - short_corridor_value(p)) == 0
    best = [x for x in sympy.solve(sympy.diff(value, p), p) if 0 < x < 1]
    assert best == [2 - sympy.sqrt(2)]
    assert float(best[0]) == pytest.approx(known["right with probability"])
    assert float(value.subs(p, best[0])) == pytest.approx(known["best memoryless"])
    assert round(known["best memoryless"], 1) == -11.7
    assert yardstick.best_history(P) == pytest.approx((float(known["best"]),) * 2)


def test_the_epsilon_greedy_values_of_the_short_corridor_are_those_of_the_book():
    known = KNOWN["short_corridor"]
    assert known["epsilon-greedy right"] == Fraction(-840, 19)
    assert math.ceil(known["epsilon-greedy right"]) == -44
    assert math.ceil(known["epsilon-greedy left"]) == -82


@pytest.mark.parametrize("n", [0, 1, 5, 9])
def test_t_mazes_have_their_closed_forms(n):
    known, gamma = KNOWN["t_maze"], Fraction(9, 10)
    P = t_maze(n)
    assert len(P.S) == known["states"](n)
    assert yardstick.best_history(P) == pytest.approx((float(known["best"](n, gamma)),) * 2)
    coin = {o: {"right": 1} for o in P.O} | {
        "junction": {"up": Fraction(1, 3), "down": Fraction(2, 3)}
    }
    assert evaluate(P, Policy.from_mapping(P, coin), exact=True).value == known["best memoryless"](
        n, gamma
    )


def test_bumping_costs_what_bakker_says():
    P = t_maze(2, bump=Fraction(-1, 10))
    assert P.p(("up", 1), "up") == {(("up", 1), Fraction(-1, 10)): 1}
    assert P.p(("up", 1), "right") == {(("up", 2), 0): 1}


def test_the_priest_is_worth_the_detour():
    P, known = heaven_hell(), KNOWN["heaven_hell"]
    assert yardstick.best_history(P) == pytest.approx((float(known["best"]),) * 2)
    E = augment(P, memories.B(2))
    known_yet = {"00": None, "01": "left", "10": "right", "11": None}
    choice = {}
    for m, o in E.O:
        m_new = {"left": "01", "right": "10"}.get(o, m)
        side = known_yet[m_new]
        if side is None:
            a = {"s0": "S", "s7": "E", "s8": "E"}.get(o, "S")
        else:
            back = {"left": "W", "right": "W", "s8": "W", "s7": "N", "s0": "N", "s1": "N"}
            a = back.get(o, "W" if side == "left" else "E")
        choice[m, o] = (a, m_new)
    assert evaluate(E, Policy.deterministic(E, choice), exact=True).value == known["best"]


@given(policies(TASKS["heaven_hell"], deterministic=True))
def test_deterministic_memoryless_policies_find_heaven_no_more_often_than_hell(pi):
    assert evaluate(TASKS["heaven_hell"], pi, exact=True).value == 0


def test_a_stochastic_memoryless_policy_finds_heaven_a_little():
    """Waiting for ever at the priest who says "right" makes heaven likelier than hell; no
    deterministic policy can."""
    P = heaven_hell()
    half = Fraction(1, 2)
    rows = {o: {"N": 1} for o in P.O} | {
        "s0": {"N": half, "S": half},
        "s1": {"N": 1},
        "s2": {"W": 1},
        "s3": {"W": 1},
        "s7": {"N": half, "E": half},
        "s8": {"E": half, "W": half},
        "left": {"W": 1},
        "right": {"E": 1},
    }
    value = evaluate(P, Policy.from_mapping(P, rows)).value
    assert value > 0.05 > KNOWN["heaven_hell"]["best deterministic memoryless"]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: load_unload(1), "at least 2 segments, not 1"),
        (lambda: load_unload(start="anywhere"), "start must be 'pile' or 'uniform'"),
        (lambda: t_maze(-1), "a corridor has no -1 cells"),
    ],
)
def test_tasks_that_cannot_be_are_refused(make, message):
    with pytest.raises(WorkbenchError, match=message):
        make()


def test_uniform_policies_of_the_published_files_have_values():
    for path in sorted(DATA.glob("*.[pP][oO][mM][dD][pP]")):
        P = load_pomdp(path)
        if P.gamma < 1:
            assert math.isfinite(evaluate(P, uniform(P)).value)
