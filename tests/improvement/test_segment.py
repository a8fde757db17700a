"""The segment that is left to a limit: polynomials where no state comes back, places elsewhere."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_improvement import unrolled
from strategies import policies, pomdps
from toy_tasks import small_task

from pomdps import recall4
from workbench import POMDP, augment, evaluate, uniform
from workbench.core.horizon import GRID, bernstein_at_nodes
from workbench.core.improve import improve, iterates, start_loop

CHANCES = st.sampled_from(["visits", "discounted"])


def window(dear: int = 1_000, comes_back: bool = False) -> POMDP:
    """Three steps. Action 0 is greedy on "o" far from the limit and close to it, but not in
    between: how wide that window is, depends on the price of the last step, and it may lie between
    two places of the grid. With `comes_back` there is a state more, which has nothing to do with
    it.
    """
    ends = {
        ("d", 1): ("end", Fraction(-1, 20)),
        ("e", 1): ("z", 0),
        ("f", 1): ("g", 0),
        ("g", 1): ("w", 0),
        ("z", 1): ("end", 6),
        ("w", 1): ("end", -dear),
        ("h", 1): ("end", Fraction(-884, 100_000)),
    }
    starts = "defhk" if comes_back else "defh"
    return small_task(
        "window",
        lambda s, a: (
            {("k", 0): Fraction(1, 2), ("end", 0): Fraction(1, 2)}
            if s == "k"
            else {ends.get((s, a), ("end", 0)): 1}
        ),
        {s: Fraction(1, len(starts)) for s in starts},
        omega=lambda s: {"c" if s in "defg" else "k" if s == "k" else "o": 1},
    )


# ---------------------------------------------------------------------- no limit where none is


@pytest.mark.parametrize("exact", [False, True])
def test_a_loop_that_turns_between_two_places_of_the_grid_is_not_fixed(exact):
    """Greedy turns for ever, first at iterate 248; at 228 it is what it was at all places of the
    grid. The polynomials know better."""
    P = window()
    loop = start_loop(P, uniform(P), Fraction(1, 50), exact=exact)
    loop.advance(228)
    goal = loop.state.greedy[0].copy()
    assert all((loop.glance(goal, x).tau == goal)[goal >= 0].all() for x in GRID[1:])
    assert loop.leaving(goal[None]).any()
    # numbers grow with every iterate where they are exact
    run = improve(P, uniform(P), Fraction(1, 50), exact=exact, budget=300 if exact else 20_000)
    assert (run.ended, run.period) == (("budget", None) if exact else ("limit cycle", 104))


def greedy_rows(stream, count):
    return [np.argmax(here.greedy.prob.floats, axis=1) for here in islice(stream, count)]


@settings(max_examples=20)
@given(st.integers(975, 1_025), st.sampled_from([25, 40, 50]))
def test_after_a_limit_in_a_window_greedy_never_turns(dear, n):
    P, step = window(dear), Fraction(1, n)
    run = improve(P, uniform(P), step, budget=4_000)
    if run.ended == "fixed":
        rows = greedy_rows(iterates(P, uniform(P), step), run.iterates + 15 * n)[run.iterates :]
        assert all(np.array_equal(row, rows[0]) for row in rows)


@settings(max_examples=30)
@given(st.data(), CHANCES)
def test_after_a_limit_greedy_never_turns_on_rows_that_count(data, weights):
    """Down to a policy of which 1e-14 is left."""
    P = unrolled(data.draw(pomdps(most_states=3)), 3)
    start, step = data.draw(policies(P)), Fraction(1, data.draw(st.sampled_from([5, 10])))
    run = improve(P, start, step, weights=weights, budget=1_000)
    assert run.decided <= (run.ended == "fixed")
    if run.ended == "fixed":
        stream = iterates(P, start, step, weights=weights)
        rows = greedy_rows(stream, run.iterates + 320)[run.iterates :]
        counts = [run.limit.prob.floats[o].max() == 1 for o in range(len(P.O))]
        counts = np.array(counts) & evaluate(P, run.limit, weights=weights).reached.raw
        goal = np.argmax(run.limit.prob.floats, axis=1)
        assert all((row == goal)[counts].all() for row in rows)


def test_exact_limits_of_the_papers_task_are_decided_and_those_of_floats_are_seen():
    for memory in ("none", "B1", "OA1", "K1"):
        E = augment(recall4(), memory)
        exact = improve(E, uniform(E), Fraction(1, 10), exact=True, budget=120)
        assert exact.decided == (exact.ended == "fixed")
        assert not improve(E, uniform(E), Fraction(1, 10)).decided


def test_a_limit_that_is_looked_at_is_not_called_decided():
    P = window(dear=0, comes_back=True)
    run = improve(P, uniform(P), Fraction(1, 10))
    assert (run.ended, run.decided) == ("fixed", False)


# ---------------------------------------------------------------------- polynomials


@given(st.lists(st.fractions(-3, 3, max_denominator=9), min_size=1, max_size=6))
def test_bernstein_coefficients_are_those_of_the_polynomial(powers):
    """They add up to it again, at places other than the nodes."""
    T = len(powers)

    def f(x):
        return sum(c * x**i for i, c in enumerate(powers))

    nodes, matrix = bernstein_at_nodes(T)
    values = [f(Fraction(int(x.p), int(x.q))) for x in nodes]
    table = [[Fraction(int(y.p), int(y.q)) for y in row] for row in matrix.tolist()]
    b = [sum(y * value for y, value in zip(row, values, strict=True)) for row in table]
    for x in (Fraction(1, 7), Fraction(4, 5)):
        basis = [math.comb(T - 1, j) * x**j * (1 - x) ** (T - 1 - j) for j in range(T)]
        assert sum(y * z for y, z in zip(b, basis, strict=True)) == f(x)


@settings(max_examples=25, deadline=None)
@given(st.data(), CHANCES)
def test_where_floats_see_greedy_stay_fractions_see_no_place_where_it_leaves(data, weights):
    P = unrolled(data.draw(pomdps(most_states=3)), data.draw(st.integers(1, 3)))
    start = data.draw(policies(P))
    loops = [start_loop(P, start, Fraction(1, 5), weights=weights, exact=x) for x in (True, False)]
    exact, floats = loops
    for loop in loops:
        loop.advance(4)
    (goal,) = exact.state.greedy.copy()
    assert goal.tolist() == floats.state.greedy[0].tolist()
    stays = ~exact.leaving(goal[None])[0] & ~floats.leaving(goal[None])[0] & (goal >= 0)
    for x in (Fraction(1), Fraction(2, 3), Fraction(1, 9), Fraction(1, 10**6)):
        tau = exact.glance(goal, x).tau
        assert (tau == goal)[stays & (tau >= 0)].all()


def rare(tiny) -> POMDP:
    """Row "c" is seen after action 1 of "s", which is given up, where 0 is better; and with a tiny
    chance at the start, where 1 is, so that greedy turns there in the end."""
    pays = {("s", 0): 2, ("t", 0): 1, ("r", 1): 1}
    return small_task(
        "rare",
        lambda s, a: {("t", 0): 1} if (s, a) == ("s", 1) else {("end", pays.get((s, a), 0)): 1},
        {"s": 1 - tiny, "r": tiny},
        omega=lambda s: {"s" if s == "s" else "c": 1},
    )


def test_a_turn_that_lies_ahead_is_seen():
    P = rare(Fraction(1, 1_000_000))
    loop = start_loop(P, uniform(P), Fraction(1, 10))
    loop.advance(60)
    (leaving,) = loop.leaving(loop.state.greedy)
    assert np.flatnonzero(leaving) == [P.O.index("c")]
    never = rare(Fraction(0))
    loop = start_loop(never, uniform(never), Fraction(1, 10))
    loop.advance(60)
    assert not loop.leaving(loop.state.greedy).any()
