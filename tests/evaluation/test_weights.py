"""Weights as objects, first-visit Monte Carlo among them."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference_weights import first_visit_q
from strategies import policies, pomdps
from toy_tasks import small_task

from pomdps import gravity, tiger
from workbench import (
    POMDP,
    Policy,
    augment,
    evaluate,
    observation_mdp,
    shortcuts,
    td_values,
    uniform,
)
from workbench.core import chain
from workbench.core.errors import TooLarge, WorkbenchError
from workbench.core.fields import dynamics, field_of
from workbench.core.learners import Target
from workbench.core.linear import Solution, share_errors
from workbench.core.weights import WEIGHTS, Visits, Weighting, _error_of_shares
from workbench.evaluation.discrepancy import discrepancy_loss, lambda_discrepancy


def coins(rounds: int = 2) -> POMDP:
    return small_task("coins", lambda s, a: {(s + 1, a): 1}, 0, terminal={rounds})


def test_the_first_time_comes_earlier_than_any_time():
    """Action 1 is first taken in state 0 with probability 1/2, in state 1 with 1/4."""
    P = coins()
    q = {w: evaluate(P, uniform(P), exact=True, weights=w).q["o", 1] for w in WEIGHTS}
    assert q["first-visit"] == Fraction(2, 3) * Fraction(3, 2) + Fraction(1, 3)
    assert q["visits"] == Fraction(5, 4)


@given(pomdps(), st.data())
def test_first_visits_are_those_of_the_slow_twin(P, data):
    pi = data.draw(policies(P))
    exact = evaluate(P, pi, exact=True, weights="first-visit")
    fast = evaluate(P, pi, weights="first-visit")
    slow = first_visit_q(P, pi)
    for i, o in enumerate(P.O):
        for j, a in enumerate(P.A):
            if not np.isnan(slow[i, j]):
                assert float(exact.q[o, a]) == pytest.approx(slow[i, j], rel=1e-7, abs=1e-7)
            if exact.q[o, a] is not None:
                off = abs(exact.q[o, a] - Fraction(fast.q[o, a]))
                assert off <= fast.q_error[o, a]


def test_an_action_that_is_never_taken_has_the_weights_of_all_visits():
    P = coins(3)
    pi = Policy.deterministic(P, {"o": 0})
    first, every = (evaluate(P, pi, exact=True, weights=w).q for w in ("first-visit", "visits"))
    assert first["o", 1] == every["o", 1]
    assert first["o", 0] == evaluate(P, pi, exact=True).value


def test_first_visits_exist_where_a_policy_never_ends():
    P = small_task("for ever", lambda s, a: {(1 - s, a): 1}, 0, gamma=Fraction(1, 2))
    for exact in (True, False):
        found = evaluate(P, uniform(P), exact=exact, weights="first-visit")
        assert float(found.q["o", 1]) == pytest.approx(1.5)
        assert not found.note
        assert found.o_visits["o"] == (None if exact else np.inf)


@pytest.mark.parametrize("name", WEIGHTS)
def test_every_weight_goes_through_everything_that_takes_one(name):
    P = augment(coins(), "B1")
    pi = uniform(P)
    for weights in (name, WEIGHTS[name]):
        for function in (evaluate, td_values, lambda_discrepancy, discrepancy_loss):
            exact, floats = (function(P, pi, exact=e, weights=weights) for e in (True, False))
            if hasattr(exact, "q"):
                assert exact.weights == name
                assert np.allclose(exact.q.array.astype(float), floats.q.array)
            else:
                assert float(exact) == pytest.approx(floats, abs=floats.error + 1e-15)
        assert shortcuts(P, pi, exact=True, weights=weights) == []
        assert observation_mdp(P, pi, weights=weights, exact=True).is_exact


def test_a_weight_without_a_rule_is_not_taken_for_another():
    class Lost(Weighting):
        name = "lost"

    P = coins()
    with pytest.raises(NotImplementedError):
        evaluate(P, uniform(P), weights=Lost())
    with pytest.raises(WorkbenchError, match="did you mean 'visits'"):
        evaluate(P, uniform(P), weights="visit")


def test_a_weight_of_ones_own_needs_one_class():
    class Early(Visits):
        """Visits of the first state alone."""

        name = "early"

        def occupancy(self, chain):
            found, visited = super().occupancy(chain)
            return found, visited & (np.asarray(chain.D.mu != 0))

    P = coins()
    assert evaluate(P, uniform(P), exact=True, weights=Early()).q["o", 1] == Fraction(3, 2)


def test_first_visits_of_a_large_task_are_refused():
    E = augment(gravity(), "O2")
    with pytest.raises(TooLarge, match="a linear system for each pair"):
        evaluate(E, uniform(E), weights="first-visit")


def test_reward_per_step_has_a_bound_where_large_rewards_cancel():
    """1e15 in one state and -1e15 in the next: the mean over states is 1/6 in all."""
    big = 10**15
    P = small_task(
        "cancel", lambda s, a: {(s + 1, [big, -big, Fraction(1, 2)][s]): 1}, 0, A=[0], terminal={3}
    )
    exact, found = (evaluate(P, uniform(P), exact=e).average_reward for e in (True, False))
    assert exact == Fraction(1, 6)
    assert abs(exact - Fraction(found)) <= found.error


@pytest.mark.parametrize("weights", ["visits", "discounted", "stationary"])
def test_bounds_of_visits_are_what_a_policy_known_to_three_digits_may_cost(weights, monkeypatch):
    """Of the policies that round to coins, one is off by half of the bound, which lets staying and
    leaving be off on their own. Shares of time are off by what their sum is off by too."""
    monkeypatch.setattr(chain, "UNIT", 1e-3)  # what a probability of a policy may be off by
    P = small_task(
        "two coins",
        lambda s, a: {("end" if a == "stop" else s, 0): 1},
        {"often": Fraction(99, 100), "rare": Fraction(1, 100)},
        A=["stop", "go"],
        omega=lambda s: {s: 1},
        gamma=Fraction(999, 1000),
    )
    coins = {s: {"stop": 0.5, "go": 0.5} for s in ("often", "rare")}
    rough = evaluate(P, Policy.from_mapping(P, coins), weights=weights)
    stop = {"often": Fraction(1001, 2000), "rare": Fraction(999, 2000)}
    far = Policy.from_mapping(P, {s: {"stop": x, "go": 1 - x} for s, x in stop.items()})
    true = evaluate(P, far, exact=True, weights=weights).visits["rare"]
    off = float(1 - Fraction(rough.visits["rare"]) / true)
    assert off <= rough.visits_error["rare"] < 2.2 * off


def test_bounds_that_are_made_shares_hold_at_their_ends():
    """The true number is the least that the bound leaves: half a bound would be no bound."""
    share = share_errors(Solution(np.ones(1), "", np.array([0.25])), np.array([True])).error[0]
    assert 0.25 / 0.75 <= share < 0.334
    for x, y in ((1.0, 1e6), (0.5, 0.5)):  # in truth x / 1.01 and y / 0.99
        found = _error_of_shares(chain.FLOATS, np.array([x, y]), np.array([0.01, 0.01]))[0]
        computed, true = x / (x + y), (x / 1.01) / (x / 1.01 + y / 0.99)
        assert computed / true - 1 <= found < 0.0203


@pytest.mark.parametrize("x", [(1.0, 2.0), (1.0, 6.0), (0.1, 0.2, 0.4)])
def test_shares_of_known_numbers_are_off_by_their_rounding(x):
    x = np.array(x)
    bounds = _error_of_shares(chain.FLOATS, x, np.zeros(len(x)))
    for share, y, bound in zip(x / x.sum(), x, bounds, strict=True):
        true = Fraction(y) / sum(map(Fraction, x))
        assert abs(1 - Fraction(share) / true) <= Fraction(bound) < 1e-14


def test_shares_of_several_classes_are_known_as_well_as_the_policy(monkeypatch):
    monkeypatch.setattr(chain, "UNIT", 1e-3)  # what a probability of a policy may be off by
    P = small_task(
        "doors",
        lambda s, a: {(a if s == "door" else s, 0): 1},
        "door",
        A=["left", "right"],
        omega=lambda s: {s: 1},
        gamma=Fraction(1, 2),
    )
    coins = {s: {"left": 0.5, "right": 0.5} for s in P.O}
    rough = evaluate(P, Policy.from_mapping(P, coins), weights="stationary")
    more = {"left": Fraction(1001, 2000), "right": Fraction(999, 2000)}
    far = Policy.from_mapping(P, dict.fromkeys(P.O, more))
    true = evaluate(P, far, exact=True, weights="stationary").visits["left"]
    off = float(1 - Fraction(rough.visits["left"]) / true)
    assert off <= rough.visits_error["left"] < 20 * off


def test_discounted_weights_are_finite_though_an_episode_never_ends():
    for gamma, finite in ((Fraction(9, 10), True), (1, False)):
        P = tiger().with_gamma(gamma)
        pi = uniform(P)
        endless = chain.follow_policy(dynamics(P, field_of(P, pi, False)), pi)
        assert WEIGHTS["discounted"].is_finite(endless) == finite
        assert not WEIGHTS["visits"].is_finite(endless)


def test_one_step_targets_look_at_one_step_and_have_no_trace():
    shapes = ((1, 0, True), (2, 0, False), (1, Fraction(1, 2), False))
    for n, lam, expected in shapes:
        assert Target(True, n, lam).is_one_step == expected
