"""Boxes of stochastic policies: no policy of a box is worth more than its bound, and the gap closes
on the tasks with few rows."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import pomdps, wandering
from toy_tasks import small_task

from pomdps import (
    belief_corridor,
    four_by_three,
    load_unload,
    recall,
    recall4,
    recall_variant,
    short_corridor,
    tiger,
)
from workbench import POMDP, Policy, augment, evaluate, load_pomdp
from workbench.core.errors import NeverEnds, WorkbenchError
from workbench.core.fields import FLOATS
from workbench.core.numbers import Numbers
from workbench.optima.best_memoryless import best_memoryless
from workbench.optima.mdp import from_states
from workbench.research.box_bounds import ProcessBounds, centre, tighten
from workbench.research.occupancy_program import OccupancyProgram
from workbench.research.policy_boxes import BoxSearch, is_empty

F = Fraction
DATA = Path(__file__).parent.parent / "data"


def bounds_of(P: POMDP) -> ProcessBounds:
    return ProcessBounds(from_states(P, FLOATS), len(P.O))


@st.composite
def boxes(draw: st.DrawFn, P: POMDP):
    """A box around a policy, and policies in it, all in Fractions."""
    nO, nA = len(P.O), len(P.A)
    wide = draw(st.sampled_from([1, F(1, 4), F(1, 100), F(1, 10**4)]))
    rows = []
    for _ in range(nO):
        weights = [draw(st.integers(0, 4)) for _ in range(nA)]
        weights[draw(st.integers(0, nA - 1))] += 1
        rows.append([F(w, sum(weights)) for w in weights])
    inside = []
    for _ in range(3):  # mixtures of the first policy with others stay within the width
        other = [draw(st.permutations([F(1), *[F(0)] * (nA - 1)])) for _ in range(nO)]
        share = wide * draw(st.fractions(0, 1, max_denominator=7))
        inside.append(
            [
                [(1 - share) * x + share * y for x, y in zip(row, far, strict=True)]
                for row, far in zip(rows, other, strict=True)
            ]
        )
    every = np.array([rows, *inside], dtype=object)
    low = np.array([[float(x) for x in row] for row in every.min(axis=0)])
    high = np.array([[float(x) for x in row] for row in every.max(axis=0)])
    slack = 1e-15  # floats of the corners must not cut off the policies themselves
    return np.maximum(low - slack, 0), np.minimum(high + slack, 1), [rows, *inside]


@settings(max_examples=150)
@given(st.one_of(pomdps(most_observations=3, most_actions=3), wandering()), st.data())
def test_no_policy_of_a_box_is_worth_more_than_its_bound(P, data):
    low, high, inside = data.draw(boxes(P))
    found = bounds_of(P).bound_box(low, high, -math.inf)
    bound, value, o, a = found.bound, found.value, found.o, found.a
    assert 0 <= o < len(P.O)
    assert 0 <= a < len(P.A)
    for rows in inside:
        try:
            worth = evaluate(P, Policy(P, Numbers.of(np.array(rows, dtype=object))), exact=True)
        except NeverEnds:
            continue
        assert worth.value <= bound
    if value > -math.inf and P.gamma < 1:
        assert value <= bound + 1e-9 * max(1.0, abs(value))


def test_the_bound_of_a_small_box_is_third_order():
    """Around the best policy of recall: ten times narrower, a thousand times closer."""
    pi, bounds = np.full((1, 3), 1 / 3), bounds_of(recall())
    wide, narrow = (
        bounds.bound_box(pi - w, pi + w, -math.inf).bound - 0.9025 / 27 for w in (1e-1, 1e-2)
    )
    assert wide / narrow == pytest.approx(1000, rel=0.02)


@settings(max_examples=100)
@given(pomdps(most_observations=3, most_actions=3), st.data())
def test_no_policy_of_a_box_is_worth_more_than_its_program_allows(P, data):
    low, high, inside = data.draw(boxes(P))
    bounds = bounds_of(P)
    least, most = bounds.visits(low, high, centre(low, high))
    assert np.isfinite(most).all()
    found = [
        evaluate(P, Policy(P, Numbers.of(np.array(rows, dtype=object))), exact=True).value
        for rows in inside
    ]
    target = float(min(found))
    said = OccupancyProgram(
        bounds.T, bounds.R, bounds.gamma, bounds.start, bounds.seen, len(P.O)
    ).solve(low, high, least, most, target)
    assert said is not None
    for rows, value in zip(inside, found, strict=True):
        assert value <= said.bound
        if value > F(target) + F(1, 10**9):  # what is better than asked for is not cut off
            table = np.array([[float(x) for x in row] for row in rows])
            assert (said.low <= table + 1e-12).all()
            assert (table <= said.high + 1e-12).all()


def test_the_program_sees_that_states_share_a_row():
    """Full information knows what to repeat in recall; one row for all states does not."""
    bounds = bounds_of(recall())
    low, high = np.zeros((1, 3)), np.ones((1, 3))
    pi = centre(low, high)
    program = OccupancyProgram(bounds.T, bounds.R, bounds.gamma, bounds.start, bounds.seen, 1)
    said = program.solve(low, high, *bounds.visits(low, high, pi), 0.0)
    assert said is not None
    informed = bounds.informed_bound(bounds.R[None], bounds.sizes[None], low, high, pi)[0]
    assert said.bound < informed - 0.1


def test_a_box_without_a_policy_is_empty():
    low, high = np.array([[0.0, 0.2]]), np.array([[0.5, 0.6]])
    assert not is_empty(low, high)
    assert is_empty(low, np.array([[0.3, 0.6]]))
    assert is_empty(np.array([[0.5, 0.6]]), np.array([[1.0, 1.0]]))
    assert is_empty(np.array([[0.5, 0.2]]), np.array([[0.4, 0.9]]))


@pytest.mark.slow
def test_what_the_program_cuts_off_leaves_policies_or_nothing():
    """With few boxes on the way, cuts empty some of them; a policy always sums to one."""
    P = augment(belief_corridor(), "B1")
    found = best_memoryless(P, deterministic=False, max_boxes=4_000, starts=2)
    assert found.policy.prob.floats.sum(axis=1) == pytest.approx(1, abs=1e-12)
    assert found.value == pytest.approx(evaluate(P, found.policy).value, abs=1e-12)
    assert found.value <= 0.92227011 <= found.bound + 1e-7


def test_boxes_in_which_no_policy_ends_are_dropped():
    """In the short corridor "right" alone never ends, nor does "left" alone."""
    bounds = bounds_of(short_corridor())
    for a in (0, 1):
        only = np.zeros((1, 2))
        only[0, a] = 1.0
        assert not bounds.cut_traps(only.copy(), only.copy())
    low, high = np.zeros((1, 2)), np.ones((1, 2))
    assert bounds.cut_traps(low, high)
    assert (low == 0).all()
    assert (high == 1).all()


def test_an_action_into_a_trap_has_probability_zero():
    P = small_task(
        "trap",
        lambda s, a: {("end" if a == "leave" else "pit", 0): 1} if s == "s" else {("pit", 0): 1},
        "s",
        A=["wait", "leave"],
        omega=lambda s: {s: 1},
    )
    low, high = np.zeros((len(P.O), 2)), np.ones((len(P.O), 2))
    assert bounds_of(P).cut_traps(low, high)
    o = P.O.index("s")
    assert high[o].tolist() == [0.0, 1.0]
    assert low[o].tolist() == [0.0, 1.0]


def test_tightening_keeps_the_policies_and_loses_the_rest():
    low, high = np.array([[0.0, 0.2, 0.0]]), np.array([[1.0, 0.9, 0.1]])
    tighten(low, high)
    assert low.tolist() == [[0.0, 0.2, 0.0]]
    assert high == pytest.approx(np.array([[0.8, 0.9, 0.1]]))
    assert centre(low, high).sum() == pytest.approx(1)


# ---------------------------------------------------------------------- the gap closes


@pytest.mark.parametrize(
    "make",
    [
        *(short_corridor, recall, recall_variant, recall4, tiger, load_unload),
        pytest.param(four_by_three, marks=pytest.mark.slow),
    ],
    ids=lambda make: make.__name__,
)
def test_the_gap_closes_on_tasks_with_few_rows(make):
    P = make()
    found = best_memoryless(P, deterministic=False, max_seconds=60)
    assert found.certified
    assert found.gap < 1e-6
    assert found.left == 0
    assert evaluate(P, found.policy).value == pytest.approx(found.value, abs=1e-9)


@settings(max_examples=30)
@given(pomdps(most_observations=2, most_actions=2), st.integers(0, 1000))
def test_no_random_policy_beats_what_is_certified(P, seed):
    found = best_memoryless(P, deterministic=False, starts=1, max_boxes=5_000)
    assert found.value <= found.bound
    for i in range(20):
        other = evaluate(P, Policy.random(P, seed + i)).value
        assert other <= found.bound + 1e-12
        if found.certified:
            assert other <= found.value + found.tolerance + 1e-12
    exact = best_memoryless(P, exact=True).value
    assert exact <= found.bound + 1e-12


def test_a_bad_start_is_mended_by_the_boxes():
    """Two hills: the ascent starts on the lower one, the boxes find the higher."""
    P = small_task(
        "two hills",
        lambda s, a: (
            {((s, a), 0): 1} if s == "s" else {("end", {(0, 0): 4, (1, 1): 5}.get((s[1], a), 0)): 1}
        ),
        "s",
    )
    M = from_states(P, FLOATS)
    lower = np.array([[1.0, 0.0]])
    search = BoxSearch(M, 1, lambda pi: (np.round(pi), 5.0), 100.0)
    best, value, report = search.run(lower, 4.0, 1e-6, 10_000, math.inf, P.name)
    assert value == 5
    assert best.tolist() == [[0.0, 1.0]]
    assert report.bound == pytest.approx(5, abs=1e-5)
    assert report.left == 0


def test_limits_are_kept_and_said():
    found = best_memoryless(augment(recall(), "B1"), deterministic=False, max_boxes=50, starts=2)
    assert found.boxes <= 51
    assert found.left > 0
    assert not found.certified
    assert "stopped at" in found.how
    assert found.value <= 0.9025 / 4 + 1e-9 <= found.bound + 1e-9
    with pytest.raises(WorkbenchError, match="max_boxes must be at least 0"):
        best_memoryless(recall(), deterministic=False, max_boxes=-1)


def test_ctrl_c_leaves_a_bound_that_holds(monkeypatch):
    calls = []
    bound = ProcessBounds.bound_box

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == 40:
            raise KeyboardInterrupt
        return bound(*arguments)

    monkeypatch.setattr(ProcessBounds, "bound_box", interrupted)
    found = best_memoryless(recall(), deterministic=False, starts=2)
    assert found.interrupted
    assert found.bound >= 0.9025 / 27 - 1e-12
    assert "interrupted" in found.how


def test_what_histories_reach_closes_a_search_that_boxes_leave_open():
    """In the bridge-repair problem no history does better than one memoryless policy."""
    P = replace(load_pomdp(DATA / "bridge-repair.POMDP"), gamma=0.95)
    found = best_memoryless(P, deterministic=False, starts=1, max_boxes=0)
    assert found.certified
    assert found.gap < 1e-5
    assert found.value == pytest.approx(best_memoryless(P).value)
