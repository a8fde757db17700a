"""Where greedy changes as lambda rises."""

from __future__ import annotations

import random
from fractions import Fraction as F
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from odd_models import draw_model, draw_policy
from toy_tasks import small_task

from workbench import POMDP, augment, td_values, uniform
from workbench.core.errors import NeverEnds, WorkbenchError, WrongType
from workbench.core.space import Label
from workbench.evaluation.lambda_sweep import LambdaSweep, sweep_lambda

SEEDS = st.integers(0, 10**9)
BESIDE = F(1, 10**6)


def three_ways(price: F = F(6, 5)) -> POMDP:
    """Two rooms look alike and are worth 0 and 1. q(low) falls from 3/2 to 1 with lambda, q(high)
    rises from 3/4 to 5/4, and q(out) is the price: the first two cross at 9/8."""
    ways = {"low": ("cellar", 1), "out": ("end", price), "high": ("attic", F(1, 4))}
    return small_task(
        "three ways",
        lambda s, a: {ways[a] if s == "start" else ("end", int(s == "attic")): 1},
        "start",
        A=list(ways),
        omega=lambda s: {"dark" if s in ("cellar", "attic") else s: 1},
    )


@pytest.mark.parametrize("points", [2, 3, 11, 31])
def test_an_action_between_two_others_is_not_passed_over(points):
    P = three_ways()
    found = sweep_lambda(P, uniform(P), points=points).crossings
    assert [(x.before, x.after) for x in found] == [("low", "out"), ("out", "high")]
    assert [x.lam for x in found] == pytest.approx([0.6, 0.9])
    assert [x.q for x in found] == pytest.approx([1.2, 1.2])


@pytest.mark.parametrize(("price", "crossed"), [(F(3, 2), []), (F(1), [("low", "high")])])
def test_curves_that_meet_at_an_end_do_not_cross(price, crossed):
    P = three_ways(price)
    for ties in ("first", "last"):
        found = sweep_lambda(P, uniform(P), points=5, ties=ties).crossings
        assert [(x.before, x.after) for x in found] == crossed


def greedy_at(found: LambdaSweep, lam: F) -> dict[Label, set[Label]]:
    """For each observation the actions that are greedy among those defined at every lambda."""
    q = td_values(found.P, found.pi, lam=lam, exact=True, weights=found.weights).q
    greedy = {}
    for o, rows in zip(found.o, found.q.transpose(1, 2, 0), strict=True):
        defined = [a for a, row in zip(found.P.A, rows, strict=True) if not np.isnan(row).any()]
        greedy[o] = {a for a in defined if q[o, a] == max(q[o, b] for b in defined)}
    return greedy


@settings(max_examples=40, deadline=None)
@given(SEEDS, st.sampled_from([2, 3, 5]))
def test_greedy_is_what_a_crossing_says_on_both_of_its_sides(seed, points):
    rng = random.Random(seed)
    if (task := draw_model(rng)) is None:
        return
    P = augment(task, rng.choice(["none", "B1", "OA1"]))
    pi, weights = draw_policy(rng, P), rng.choice(["visits", "discounted", "stationary"])
    try:
        found = sweep_lambda(P, pi, points=points, weights=weights)
    except NeverEnds:
        return
    for x in found.crossings:
        lam = F(x.lam)
        assert x.before in greedy_at(found, max(lam - BESIDE, F(0)))[x.o]
        assert x.after in greedy_at(found, min(lam + BESIDE, F(1)))[x.o]
        true = td_values(P, pi, lam=lam, exact=True, weights=weights).q
        assert x.q == pytest.approx(float(true[x.o, x.before]), rel=1e-6, abs=1e-6)
        assert x.q == pytest.approx(float(true[x.o, x.after]), rel=1e-6, abs=1e-6)
    exact = [greedy_at(found, F(i, points - 1)) for i in range(points)]
    for o in found.o:
        crossings = [x for x in found.crossings if x.o == o]
        assert [x.lam for x in crossings] == sorted(x.lam for x in crossings)
        assert all(x.after == y.before for x, y in pairwise(crossings))
        for i, lam in enumerate(found.lam.tolist()):
            # greedy at a point of the grid is what the crossings below it lead to
            if crossings and not any(abs(x.lam - lam) < BESIDE for x in crossings):
                below = [x.after for x in crossings if x.lam < lam]
                assert [crossings[0].before, *below][-1] in exact[i][o]
        for i in range(points - 1):
            low, high = exact[i][o], exact[i + 1][o]
            if len(low) == len(high) == 1 and low != high:
                between = [x for x in crossings if found.lam[i] <= x.lam <= found.lam[i + 1]]
                assert ({between[0].before}, {between[-1].after}) == (low, high)


@pytest.mark.parametrize(
    ("points", "error", "words"),
    [(2.5, WrongType, "not 2.5"), (True, WrongType, "not True"), (1, WorkbenchError, "at least 2")],
)
def test_a_number_of_points_that_is_none_is_refused(points, error, words):
    P = three_ways()
    with pytest.raises(error, match=words):
        sweep_lambda(P, uniform(P), points=points)
