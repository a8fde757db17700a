"""Optima where numbers of very different size meet: penalties, rare exits, long episodes."""

from __future__ import annotations

import itertools
import math
import warnings
from fractions import Fraction

import numpy as np
import pytest
from toy_tasks import small_task

from workbench import (
    POMDP,
    Policy,
    QLearning,
    best_history,
    best_memoryless,
    equilibria,
    evaluate,
    lambda_discrepancy,
    uniform,
)
from workbench.core.errors import NotSolved
from workbench.core.fields import FLOATS
from workbench.optima import mdp

F = Fraction


def with_a_price(price: float, seed: int) -> POMDP:
    """Four states that go on for ever, rewards 0 to 3, and one action that costs `price`."""
    rng = np.random.default_rng(seed)
    p = {}
    for s, a in itertools.product(range(4), range(3)):
        chance = rng.dirichlet(np.ones(4))
        r = -price if (s, a) == (0, 0) else float(rng.integers(0, 4))
        p[s, a] = {(t, r): float(x) for t, x in enumerate(chance)}
    return small_task(
        "priced",
        lambda s, a: p[s, a],
        dict.fromkeys(range(4), 0.25),
        A=range(3),
        omega=lambda s: {s % 2: 1},
        gamma=0.9,
    )


@pytest.mark.parametrize("price", [1e6, 1e11, 1e12])
@pytest.mark.parametrize("seed", range(6))
def test_the_price_of_a_forbidden_action_does_not_blur_averages(price, seed):
    P = with_a_price(price, seed)
    best = max(
        float(evaluate(P, Policy.from_actions(P, np.array(x)), criterion="average").value)
        for x in itertools.product(range(3), repeat=2)
    )
    found = best_memoryless(P, criterion="average")
    assert found.certified
    assert found.value == pytest.approx(best, abs=1e-12)
    assert found.tolerance < 1e-9
    assert found.bound >= best


def test_the_price_of_a_forbidden_action_does_not_blur_mixtures_nor_histories():
    P = with_a_price(1e11, 1)
    plain = best_memoryless(with_a_price(10.0, 1), False, criterion="average")
    found = best_memoryless(P, False, criterion="average")
    assert found.value >= plain.value - 1e-6
    assert found.tolerance < 1e-6
    above = best_history(P, criterion="average", max_beliefs=50)
    assert above.lower >= best_memoryless(P, criterion="average").value - 1e-9


def paying_little() -> POMDP:
    """One state: half a unit is lost in each step, or a thousand million."""
    return small_task(
        "one state",
        lambda s, a: {("s", -0.5 if a == "stay" else -1e9): 1},
        "s",
        A=["stay", "pay"],
        gamma=0.999999,
    )


def leaving_rarely(chance: float | Fraction) -> POMDP:
    """Two states that look alike; an episode ends with a small chance in each step."""
    return small_task(
        "rarely",
        lambda s, a: {
            ("b" if s == "a" else "a", -1 if a == "cheap" else -2): 1 - chance,
            ("end", 0): chance,
        },
        "a",
        A=["cheap", "dear"],
    )


TINY = [1e-12, F(1, 10**12), 1e-20, F(1, 10**20)]


@pytest.mark.parametrize("P", [paying_little(), *map(leaving_rarely, TINY)], ids=str)
def test_a_value_is_that_of_its_policy_and_its_gap_holds_the_truth(P):
    found = best_memoryless(P)
    worth = evaluate(P, found.policy)
    assert abs(found.value - worth.value) <= worth.error
    if P.is_exact:
        truth = evaluate(P, Policy.deterministic(P, {"o": "cheap"}), exact=True).value
        assert found.value == float(truth)
        assert F(found.bound) >= truth
    else:
        assert found.value == worth.value
        assert found.gap >= worth.error or not found.certified


@pytest.mark.parametrize("chance", TINY)
def test_rare_ends_are_ends(chance):
    """1 - (1 - 1e-20) is 0 in floats; what leaves a state is never got by subtraction."""
    P = leaving_rarely(chance)
    length = 1 / F(chance)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for found in (best_memoryless(P), best_memoryless(P, deterministic=False, max_boxes=50)):
            assert found.policy["o", "cheap"] == 1
            assert float(found.value) == pytest.approx(float(1 - length), rel=1e-9)
        history = best_history(P, max_backups=50)
        assert history.lower <= float(1 - length) * (1 - 1e-9)
        assert history.upper >= float(1 - length) * (1 + 1e-9)
    if isinstance(chance, F):
        (point,) = equilibria(P, QLearning(epsilon=F(1, 10)))
        assert point.policy["o", "cheap"] == 1


def test_a_bound_with_a_discount_is_never_infinite(monkeypatch):
    """Where no sum of rounding errors checks, 1 / (1 - gamma) times the largest one does."""
    monkeypatch.setattr(mdp, "_along_policy", lambda *_: None)
    P = with_a_price(1e11, 0)
    M = mdp.from_states(P, FLOATS)
    best = mdp.optimal(M)
    assert best.value <= mdp.upper_bound(M, best) < math.inf
    assert "gamma is 1" not in best_memoryless(P).how


@pytest.mark.filterwarnings("error")
def test_a_loop_that_is_hardly_ever_left_has_an_average():
    """The way out has probability 1e-20: what is left of 1 is none, and the loop had no end."""
    after = {0: (0, 1), 1: (2, 5), 2: (4, 3), 5: (2, 3), 4: (3, "end"), 3: (1, 5)}
    P = small_task(
        "hardly",
        lambda s, a: {(after[s][0], 1.0): 1.0, (after[s][1], 0.0): 1e-20},
        0,
        A=[0],
        omega=lambda s: {0: 1},
        gamma=0.999999,
    )
    found = best_memoryless(P, criterion="average")
    assert found.certified
    assert found.value == pytest.approx(1, rel=1e-12)
    assert found.bound >= evaluate(P, found.policy, criterion="average").value


@pytest.mark.filterwarnings("error")
def test_shares_of_time_that_floats_cannot_find_are_refused_in_words():
    """Between two visits of the first state there are 1e400 of the others; shares were NaN."""
    P = small_task(
        "ladder",
        lambda s, a: {
            0: {(1, 0): 1.0},
            1: {(1, 0): 1.0, (2, 0): 1e-200},
            2: {(1, 0): 1.0, (0, 0): 1e-200},
        }[s],
        0,
        A=[0],
        omega=lambda s: {0: 1},
        gamma=0.5,
    )
    with pytest.raises(NotSolved, match="shares of time of 3 states is singular in floats"):
        evaluate(P, uniform(P), weights="stationary")


@pytest.mark.filterwarnings("error")
def test_squares_that_are_too_large_for_floats_warn_nobody():
    P = small_task(
        "large",
        lambda s, a: {("b" if s == "a" else "end", 1e200 if s == "a" else -1e200): 1.0},
        {"a": 0.5, "b": 0.5},
        A=[0],
        omega=lambda s: {0: 1},
    )
    exact = 1e200 / 6  # TD: q = -1e200 / 3 + q / 3; Monte Carlo: 0 at a, -1e200 at b, seen twice
    assert lambda_discrepancy(P, uniform(P)) == pytest.approx(exact, rel=1e-12)


def turning(leaves) -> POMDP:
    """Two states that follow one another; only who counts steps is paid in both."""
    return small_task(
        "turning", lambda s, a: {(1 - s, -1 if a == s else 1): 1 - leaves, ("end", 0): leaves}, 0
    )


@pytest.mark.parametrize("chance", [1e-16, 1e-20])
def test_the_history_of_rare_ends_in_floats_has_a_finite_lower_bound(chance):
    """It was minus infinity to infinity: an infinite bound is no number."""
    found = best_history(turning(chance))
    assert -math.inf < found.lower <= 1
    assert "or more, without an upper bound" in repr(found)
    assert "or more." in found.sheet().text(80)
    assert best_history(turning(F(chance))).lower > 1e15


def test_an_unknown_bound_of_memoryless_policies_is_no_number():
    """It printed "bound inf, gap inf"."""
    out = {(0, 0): 3e-14, (0, 1): 1e-14, (1, 0): 3e-14, (1, 1): 3e-14}
    goal = {(0, 0): (1, 1.0), (0, 1): (0, 0.0), (1, 0): (0, 0.0), (1, 1): (1, 0.0)}
    P = small_task(
        "circling",
        lambda s, a: {goal[s, a]: 1 - out[s, a], ("end", 1.0): out[s, a]},
        {0: 1 / 3, 1: 2 / 3},
        omega=lambda s: {1: 1.0} if s == 1 else {0: 2 / 3, 1: 1 / 3},
    )
    found = best_memoryless(P)
    assert found.bound == math.inf
    assert "without an upper bound" in repr(found)
    assert "or more; no upper bound is known" in " ".join(found.sheet().text(80).split())
    assert "inf" not in repr(found) + found.sheet().text(80)


def test_nothing_known_of_histories_is_said(monkeypatch):
    monkeypatch.setattr("workbench.optima.history._surely_worth", lambda found: -math.inf)
    with pytest.raises(NotSolved, match="floats tell nothing of the best history-based value"):
        best_history(turning(1e-16))
