"""The way to a limit: what is decided on all of it, what is looked at in places."""

from __future__ import annotations

from fractions import Fraction
from itertools import islice, pairwise

import flint
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_improvement import unrolled
from strategies import policies, pomdps

from pomdps import recall4
from workbench import POMDP, augment, uniform
from workbench.core.fields import RATIONALS
from workbench.core.finite_loop import FiniteHorizon
from workbench.core.improve import improve, iterates, shrinking_steps
from workbench.core.oracle import Oracle, SparseOracle
from workbench.core.oracle_loop import mixed
from workbench.core.places import GRID, WayPlaces
from workbench.core.stepwise import Stepwise
from workbench.core.stream import loop_for
from workbench.core.way import WayForms, is_never_below, stays_exactly
from workbench.core.way_kernels import LEAVES, OPEN, STAYS

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
    return POMDP.from_functions(
        name="window",
        A=[0, 1],
        p=lambda s, a: (
            {("k", 0): Fraction(1, 2), ("end", 0): Fraction(1, 2)}
            if s == "k"
            else {ends.get((s, a), ("end", 0)): 1}
        ),
        omega=lambda s: {"c" if s in "defg" else "k" if s == "k" else "o": 1},
        mu={s: Fraction(1, len(starts)) for s in starts},
        gamma=1,
        terminal={"end"},
    )


# ---------------------------------------------------------------------- no limit where none is


@pytest.mark.parametrize(("comes_back", "exact"), [(False, False), (False, True), (True, False)])
def test_a_loop_that_turns_between_two_places_of_the_grid_is_not_fixed(comes_back, exact):
    """Greedy turns for ever, first at iterate 248; at 228 all places of the grid look as if it did
    not."""
    P = window(comes_back=comes_back)
    loop = loop_for(P, uniform(P), "last", "visits", exact=exact)
    loop.advance([Fraction(1, 50)] * 228)
    everywhere = np.ones(len(P.O), dtype=bool)
    assert not WayPlaces(loop, loop.greedy).leaving_on_grid(everywhere).any()
    way = loop.along(loop.greedy)
    assert way is None if comes_back else way.leaving.any()
    # numbers grow with every iterate where they are exact
    run = improve(P, uniform(P), Fraction(1, 50), exact=exact, budget=300 if exact else 20_000)
    assert (run.ended, run.period) == (("budget", None) if exact else ("limit cycle", 104))


def greedy_rows(stream, count):
    return [np.argmax(here.greedy.prob.floats, axis=1) for here in islice(stream, count)]


@settings(max_examples=20)
@given(st.integers(975, 1_025), st.sampled_from([25, 40, 50]), st.booleans())
def test_after_a_limit_in_a_window_greedy_never_turns(dear, n, comes_back):
    P, step = window(dear, comes_back), Fraction(1, n)
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
        counts = np.array(counts) & (run.decided | reached(P, run.limit))
        goal = np.argmax(run.limit.prob.floats, axis=1)
        assert all((row == goal)[counts].all() for row in rows)


def reached(P, pi):
    looked = FiniteHorizon(P, pi, "last", "visits").look_ahead(np.full(len(P.O), -1), Fraction(1))
    return looked.greedy >= 0


def test_limits_of_the_papers_task_are_decided():
    for memory in ("none", "B1", "B2", "OA1", "K1"):
        E = augment(recall4(), memory)
        run = improve(E, uniform(E), Fraction(1, 50))
        assert run.decided == (run.ended == "fixed")
    assert improve(E, uniform(E), shrinking_steps(Fraction(1, 10))).decided


def test_a_limit_that_is_looked_at_is_not_called_decided():
    P = window(dear=0, comes_back=True)
    run = improve(P, uniform(P), Fraction(1, 10))
    assert (run.ended, run.decided) == ("fixed", False)


# ---------------------------------------------------------------------- forms


@settings(max_examples=25)
@given(st.data(), CHANCES, st.sampled_from(["first", "last"]))
def test_floats_and_fractions_say_the_same_about_a_way(data, weights, ties):
    P = unrolled(data.draw(pomdps(most_states=3)), data.draw(st.integers(1, 3)))
    pi = data.draw(policies(P))
    goal = np.array(
        data.draw(st.lists(st.integers(-1, len(P.A) - 1), min_size=len(P.O), max_size=len(P.O)))
    )
    loop = FiniteHorizon(P, pi, ties, weights)
    places = np.where(goal < 0, -1, loop._place[goal])
    verdict = WayForms(loop._unrolled).judge(
        loop._state.pi, places, loop._bound(0), np.arange(len(P.A)) + np.zeros_like(loop._same)
    )
    verdict = loop._labelled(verdict)
    table = RATIONALS.enter(pi.prob)
    for o, a in np.argwhere((goal >= 0)[:, None] & (goal[:, None] != np.arange(len(P.A)))):
        rivals = {int(o): [int(a)]}
        stays = stays_exactly(P, weights, table, goal, rivals, loop.decision.rank)[int(o)]
        assert verdict[o, a] == OPEN or (verdict[o, a] == STAYS) == stays
        for x in (Fraction(1), Fraction(1, 3), Fraction(1, 1_000)) if stays else ():
            q = Oracle(P, weights, RATIONALS).look(mixed(table, goal, RATIONALS.one(x))).q[o]
            assert q[a] is None or q[a] < q[goal[o]] or not_before(loop, a, goal[o], q)


def not_before(loop, a, b, q):
    return q[a] == q[b] and loop.decision.rank[a] > loop.decision.rank[b]


def test_what_leaves_on_the_way_is_found_by_floats():
    P = window()
    loop = loop_for(P, uniform(P), "last", "visits", exact=False)
    loop.advance([Fraction(1, 50)] * 228)
    goal = loop._place[loop.greedy]
    verdict = WayForms(loop._unrolled).judge(loop._state.pi, goal, loop._bound(228), loop._same)
    assert sorted(verdict.ravel().tolist()) == [STAYS, STAYS, STAYS, LEAVES]


@settings(max_examples=40)
@given(
    st.lists(st.fractions(-1, 2, max_denominator=12), max_size=4),
    st.integers(0, 2),
    st.sampled_from([-1, 1]),
    st.booleans(),
)
def test_a_polynomial_with_known_roots_is_judged_between_them(roots, power, sign, strict):
    f = flint.fmpq_poly([sign])
    for root in roots:
        f *= flint.fmpq_poly([flint.fmpq(-root.numerator, root.denominator), 1])
    inside = sorted({root for root in roots if 0 < root <= 1})
    ends = [Fraction(0), *inside, Fraction(1)]
    between = [(x + y) / 2 for x, y in pairwise(ends) if x < y]
    is_positive = all(f(flint.fmpq(x.numerator, x.denominator)) > 0 for x in between)
    found = is_never_below(f * flint.fmpq_poly([0, 1]) ** power, strict)
    if is_positive and not inside:
        assert found
    if not is_positive or (strict and inside):
        assert not found


def test_nothing_is_never_below_nothing_unless_that_is_strict():
    zero = flint.fmpq_poly([0])
    assert is_never_below(zero, False)
    assert not is_never_below(zero, True)


# ---------------------------------------------------------------------- what floats cannot tell


def rare(tiny) -> POMDP:
    """Row "c" is seen after action 1 of "s", which is given up, where 0 is better; and with a tiny
    chance at the start, where 1 is, so that greedy turns there in the end."""
    pays = {("s", 0): 2, ("t", 0): 1, ("r", 1): 1}
    return POMDP.from_functions(
        name="rare",
        A=[0, 1],
        p=lambda s, a: {("t", 0): 1} if (s, a) == ("s", 1) else {("end", pays.get((s, a), 0)): 1},
        omega=lambda s: {"s" if s == "s" else "c": 1},
        mu={"s": 1 - tiny, "r": tiny},
        gamma=1,
        terminal={"end"},
    )


def judged(P, steps=60):
    loop = loop_for(P, uniform(P), "last", "visits", exact=False)
    loop.advance([Fraction(1, 10)] * steps)
    goal = loop._place[loop.greedy]
    return loop, WayForms(loop._unrolled).judge(loop._state.pi, goal, 1e-12, loop._same)


def test_what_floats_cannot_tell_about_the_way_is_decided_in_fractions():
    loop, verdict = judged(rare(Fraction(1, 1_000_000)))
    assert LEAVES in verdict
    # numbers so small may have lost their digits
    loop, verdict = judged(rare(Fraction(1, 10**275)))
    assert OPEN in verdict
    assert LEAVES not in verdict
    assert np.flatnonzero(loop.along(loop.greedy).leaving) == [loop.P.O.index("c")]
    run = improve(loop.P, uniform(loop.P), Fraction(1, 10), budget=400)
    assert run.ended == "budget"
    # 0 leads on where it is visited at all
    loop, verdict = judged(rare(Fraction(0)))
    assert (verdict == STAYS).all()


def test_what_nobody_can_tell_about_the_way_is_noted():
    P = rare(1e-275)
    run = improve(P, uniform(P), 0.1)
    assert (run.ended, run.decided) == ("fixed", False)
    assert run.note == "On o=c greedy was looked at in places of the way, and not decided on all."


# ---------------------------------------------------------------------- places


def test_places_are_added_where_a_difference_bends_and_nowhere_else():
    """In the window of the task without a state that comes back, and only there."""
    P = window()
    loop = Stepwise(SparseOracle(P, "visits"), uniform(P), "last")
    loop.advance([Fraction(1, 50)] * 228)
    look = WayPlaces(loop, loop.greedy)
    assert not look.leaving_on_grid(np.ones(len(P.O), dtype=bool)).any()
    assert np.flatnonzero(look.leaving_between(0.98, 228)) == [P.O.index("o")]
    assert len(look._ahead) < len(GRID) + 5
    smooth = Stepwise(SparseOracle(window(0), "visits"), uniform(window(0)), "last")
    smooth.advance([Fraction(1, 50)] * 228)
    look = WayPlaces(smooth, smooth.greedy)
    assert not look.leaving_between(0.98, 228).any()
    assert len(look._ahead) == len(GRID)
