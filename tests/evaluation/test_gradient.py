"""The gradient of the value against symbolic derivatives, and the weights d(o) that it is made
of."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from reference import expected_visits
from strategies import policies, pomdps
from toy_tasks import small_task

from workbench import Policy, evaluate, gradient


@settings(max_examples=25)
@given(pomdps(most_states=3), st.data())
def test_it_is_the_derivative_of_the_value_towards_any_policy(P, data):
    pi, other = data.draw(policies(P)), data.draw(policies(P))
    t = sympy.Symbol("t")
    rows = {o: {a: pi[o, a] + t * (other[o, a] - pi[o, a]) for a in P.A} for o in P.O}
    value = evaluate(P, Policy.from_mapping(P, rows)).value
    slope = sympy.diff(sympy.sympify(value), t).subs(t, 0)
    exact, floats = gradient(P, pi, exact=True), gradient(P, pi)
    found = sum(exact[o, a] * (other[o, a] - pi[o, a]) for o in P.O for a in P.A)
    assert sympy.Rational(str(found)) == slope
    for o in P.O:
        for a in P.A:
            assert abs(exact[o, a] - F(floats[o, a])) <= floats.error[o, a] <= 1e-12


@given(pomdps(), st.data())
def test_the_weight_of_an_observation_counts_how_often_it_is_seen(P, data):
    pi = data.draw(policies(P))
    for weights, gamma in (("visits", F(1)), ("discounted", F(P.gamma))):
        d = expected_visits(P, pi, gamma)
        found = evaluate(P, pi, exact=True, weights=weights)
        fast = evaluate(P, pi, weights=weights)
        for o in P.O:
            expected = sum(x * P.omega(s).get(o, 0) for s, x in d.items())
            assert found.o_visits[o] == expected
            assert fast.o_visits[o] == pytest.approx(float(expected), rel=1e-12)


def test_unseen_observations_have_no_slope_and_endless_ones_infinite_weight():
    P = small_task(
        "rooms",
        lambda s, a: {(s if a == "stay" else "end", 1): 1},
        "s",
        A=["stay", "go"],
        omega=lambda s: {s: 1},
        gamma=F(1, 2),
        S=["s", "unseen", "end"],
    )
    stay = Policy.deterministic(P, {}, otherwise="stay")
    for exact in (True, False):
        slope = gradient(P, stay, exact=exact)
        assert slope["unseen", "go"] == 0
        assert (slope["s", "stay"], slope["s", "go"]) == (4, 2)
        weight = evaluate(P, stay, exact=exact).o_visits["s"]
        assert weight is None if exact else np.isinf(weight)


def test_where_rewards_cancel_the_bound_says_so():
    P = small_task(
        "cancel",
        lambda s, a: {("end", r): F(1, 3) for r in (10**16 + F(1, 7), -(10**16), 0)},
        "s",
        A=[0],
        omega=lambda s: {s: 1},
    )
    exact, floats = (gradient(P, Policy.deterministic(P, {"s": 0}), exact=e) for e in (True, False))
    assert exact["s", 0] == F(1, 21)
    assert abs(exact["s", 0] - F(floats["s", 0])) <= floats.error["s", 0]
    assert "|error| <= 8" in repr(floats)
