"""Floats and fractions say the same about random models: evaluation, TD values and the loop."""

from __future__ import annotations

import random
from fractions import Fraction as F
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from odd_models import draw_model, draw_policy

from workbench import POMDP, Policy, evaluate, improve, td_values
from workbench.core.errors import NeverEnds, NotWeighted

SEEDS = st.integers(0, 10**9)


def answer_of(function: Any, *args: Any, **options: Any) -> tuple[Any, type | None]:
    """What a function returns, or how it refuses."""
    try:
        return function(*args, **options), None
    except (NeverEnds, NotWeighted) as refusal:
        return None, type(refusal)


def both_ways(function: Any, *args: Any, **options: Any) -> tuple[Any, Any]:
    """What it says in fractions and in floats; both refuse, or neither does."""
    exact, refused = answer_of(function, *args, exact=True, **options)
    floats, also_refused = answer_of(function, *args, **options)
    assert refused == also_refused
    return exact, floats


def check_numbers(exact: Any, floats: Any, error: Any) -> None:
    """Undefined where fractions are, and else off by no more than the bound says."""
    floats, error = np.ravel(floats), np.broadcast_to(error, np.shape(floats)).ravel()
    for x, y, e in zip(np.ravel(exact), floats, error, strict=True):
        if x is None:
            assert np.isnan(y)
        else:
            assert np.isfinite(y)
            assert np.isinf(e) or abs(F(float(y)) - F(x)) <= F(float(e))


def check_evaluation(P: POMDP, pi: Policy, weights: str) -> None:
    exact, floats = both_ways(evaluate, P, pi, weights=weights)
    if exact is not None:
        check_numbers(exact.v.array, floats.v.raw, floats.v_error.raw)
        check_numbers(exact.q.array, floats.q.raw, floats.q_error.raw)
        assert (exact.reached.raw == floats.reached.raw).all()
    for options in ({"n": 1}, {"n": 3}, {"lam": F(1, 2)}, {"lam": 1}):
        exact, floats = both_ways(td_values, P, pi, weights=weights, **options)
        if exact is not None:
            check_numbers(exact.q.array, floats.q.raw, floats.q_error.raw)


def check_loop(rng: random.Random, P: POMDP, pi: Policy) -> None:
    options: dict[str, Any] = {
        "step": rng.choice([F(1, 2), F(1, 4), F(1, 10), F(1)]),
        "weights": rng.choice(["visits", "discounted", "stationary"]),
        "ties": rng.choice(["first", "last"]),
        "budget": rng.choice([6, 12]),
    }
    exact, floats = both_ways(improve, P, pi, **options)
    if exact is None:
        return
    assert exact.ended == floats.ended
    assert exact.iterates == floats.iterates
    sizes = [abs(float(x)) for x in exact.values]
    allowed = 1e-9 * max([*sizes, 1e-3 * float(max(map(abs, P.R)))])
    assert np.abs(exact.values.astype(float) - floats.values).max() <= allowed
    assert np.abs(exact.pi.prob.floats - floats.pi.prob.floats).max() <= 1e-9


def check_a_model(seed: int) -> None:
    rng = random.Random(seed)
    if (P := draw_model(rng)) is None:
        return
    pi = draw_policy(rng, P)
    for weights in ("visits", "discounted", "stationary"):
        check_evaluation(P, pi, weights)
    check_loop(rng, P, pi)


@pytest.mark.parametrize("seed", range(25))
def test_floats_agree_with_fractions_on_some_odd_models(seed):
    check_a_model(seed)


@settings(max_examples=1_000, deadline=None)
@given(SEEDS)
def test_floats_agree_with_fractions_on_odd_models(seed):
    check_a_model(seed)
