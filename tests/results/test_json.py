"""Models and policies as JSON and back."""

from __future__ import annotations

from fractions import Fraction as F

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from reference import same_model
from strategies import policies, pomdps

from workbench import Policy, evaluate, from_arrays, uniform
from workbench.results.json import model_from_json, model_json, policy_from_json, policy_json


@given(pomdps(), st.data())
def test_a_model_and_its_policy_come_back_as_they_were(P, data):
    pi = data.draw(policies(P))
    Q = model_from_json(model_json(P))
    assert same_model(P, Q)
    back = policy_from_json(Q, policy_json(pi))
    assert evaluate(Q, back, exact=True).value == evaluate(P, pi, exact=True).value


def test_states_that_nothing_leads_to_come_back_too():
    """One that goes on, and one that is terminal."""
    P = from_arrays(
        p=np.array([[[0, 0, 1, 0]], [[1, 0, 0, 0]], [[0] * 4], [[0] * 4]]),
        r=np.ones((4, 1), dtype=int),
        omega=np.eye(4, dtype=int),
        mu=[1, 0, 0, 0],
        gamma=F(1, 2),
        terminal=[2, 3],
    )
    Q = model_from_json(model_json(P))
    assert same_model(P, Q)
    assert [*Q.S] == [0, 1, 2, 3]
    assert isinstance(policy_from_json(Q, policy_json(uniform(P))), Policy)
