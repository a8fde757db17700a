"""The value of one exact policy: that of evaluation, from what the policy reaches."""

from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import policies, pomdps

from workbench import evaluate
from workbench.core.exact_value import exact_value


@settings(max_examples=25)
@given(st.data())
def test_it_is_what_evaluate_says(data):
    P = data.draw(pomdps())
    pi = data.draw(policies(P, deterministic=data.draw(st.booleans())))
    assert exact_value(P, pi) == evaluate(P, pi, exact=True).value
