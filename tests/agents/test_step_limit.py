"""A step limit against the same model written out with a counter in its states."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import pomdps

from workbench import POMDP, evaluate, uniform
from workbench.agents.step_limit import with_step_limit
from workbench.core.errors import TooLarge, WorkbenchError, WrongType


def counted(P: POMDP, T: int, reward=lambda r, t: r) -> POMDP:
    """The slow way: states are pairs (s, t)."""

    def p(state, a):
        s, t = state
        return {((s_next, t + 1), reward(r, t + 1)): x for (s_next, r), x in P.p(s, a).items()}

    return POMDP.from_functions(
        name="counted",
        A=P.A,
        p=p,
        omega=lambda state: P.omega(state[0]),
        mu={(s, 0): x for s, x in P.mu.items()},
        gamma=P.gamma,
        terminal=lambda state: state[0] in P.terminal or state[1] == T,
    )


def fading(r, t):
    return r - Fraction(t, 7)


@given(pomdps(), st.integers(1, 6), st.sampled_from([None, fading]))
def test_a_step_limit_is_a_counter_in_the_state(P, T, reward):
    fast = with_step_limit(P, T, reward)
    slow = counted(P, T, reward) if reward else counted(P, T)
    assert set(fast.S) == set(slow.S)
    assert set(fast.terminal) == set(slow.terminal)
    assert dict(fast.mu.items()) == dict(slow.mu.items())
    for s in slow.S:
        assert fast.omega(s) == slow.omega(s)
        for a in slow.A:
            assert fast.p(s, a) == slow.p(s, a)
    assert (
        evaluate(fast, uniform(fast), exact=True).value
        == evaluate(slow, uniform(slow), exact=True).value
    )


@given(pomdps(), st.integers(1, 4))
def test_floats_are_kept_as_floats(P, T):
    limited = with_step_limit(P, T, lambda r, t: 3 + float(r) * 0.5**t)
    assert not limited.is_exact
    assert evaluate(limited, uniform(limited)).value == pytest.approx(
        float(evaluate(counted(P, T, lambda r, t: 3 + r / 2**t), uniform(P), exact=True).value),
        abs=1e-9,
    )


@pytest.mark.parametrize(("T", "error"), [(0, WorkbenchError), (True, WrongType), (2.5, WrongType)])
def test_a_limit_that_is_none_is_refused(T, error):
    from pomdps import recall

    with pytest.raises(error, match="step limit"):
        with_step_limit(recall(), T)


def test_a_limit_beyond_memory_is_refused_with_its_size(monkeypatch):
    from pomdps.hallway import hallway_cookie

    monkeypatch.setattr("workbench.agents.step_limit._MOST_OUTCOMES", 10_000)
    with pytest.raises(TooLarge, match="10,000 outcomes within the first"):
        with_step_limit(hallway_cookie(), 1000)
