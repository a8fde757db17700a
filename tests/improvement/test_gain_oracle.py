"""The oracle loop for average reward."""

from fractions import Fraction
from itertools import islice

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_improvement import oracle_loop
from toy_tasks import small_task

from pomdps import recall4, tiger
from tests.evaluation.test_gain import two_rooms
from tests.support.strategies import policies, pomdps
from workbench import Policy, augment, evaluate, improve, memories, uniform
from workbench.core.errors import Multichain, WorkbenchError
from workbench.core.improve import iterates

F = Fraction


def worth(P, pi):
    return evaluate(P, pi, exact=True, criterion="average")


@given(st.data())
@settings(max_examples=20)
def test_the_loop_is_its_definition(data):
    P = data.draw(pomdps(most_states=3))
    pi = data.draw(policies(P))
    slow = [x for x, *_ in islice(oracle_loop(P, pi, F(1, 4), criterion="average"), 4)]
    stream = iterates(P, pi, F(1, 4), exact=True, criterion="average")
    assert [next(stream).value for _ in slow] == slow
    floats = iterates(P, pi, F(1, 4), criterion="average")
    assert [next(floats).value for _ in slow] == pytest.approx([float(x) for x in slow], abs=1e-9)


@given(st.data())
@settings(max_examples=20)
def test_a_small_step_towards_greedy_raises_the_average(data):
    P = data.draw(pomdps(most_states=3))
    # positive everywhere, so that the derivative is not on the rim
    pi = data.draw(policies(P)).toward(uniform(P), F(1, 2))
    found = worth(P, pi)
    gain = sum(
        found.o_visits[o] * (max(found.q[o, a] for a in P.A) - found.v_given_o[o])
        for o in P.O
        if found.reached[o]
    )
    stream = iterates(P, pi, F(1, 10**6), exact=True, criterion="average")
    first, second = next(stream).value, next(stream).value
    assert first == found.value
    if gain == 0:
        assert second == first
    else:
        # to first order the gain of a step is step times this; the second order is below half
        assert second - first == pytest.approx(float(gain) * 1e-6, rel=1e-2)
        assert second > first


def test_episodes_of_one_length_improve_as_they_do_by_their_return():
    E = augment(recall4(), memories.B(1))
    average = improve(E, uniform(E), step=F(1, 20), criterion="average", least=40)
    plain = improve(E, uniform(E), step=F(1, 20), least=40)
    assert average.limit_value == F(3, 8) == plain.limit_value / 2
    assert average.values[:40] == pytest.approx(plain.values[:40] / 2)
    assert average.criterion == "average"
    assert average.weights == "stationary"
    assert average.ties
    assert {tie.how for tie in average.ties} == {"within rounding"}


def test_rows_that_are_seen_once_do_not_keep_the_loop_from_ending():
    P = tiger()  # "start" is seen at the start only, so no share of time is spent there
    run = improve(P, uniform(P), step=F(1, 20), criterion="average")
    assert run.ended == "fixed"
    assert run.limit_value == -1
    assert run.limit["hear-left", "listen"] == 1


def test_the_average_of_a_limit_is_exact_if_the_task_is_whatever_the_start():
    """How a row that is seen once mixes is no matter, and need not be exact."""
    P = small_task(
        "hall",
        lambda s, a: {("w", 3 * (s == "w")): 1} if s != "hall" and a == "in" else {("s", 0): 1},
        "hall",
        A=["in", "out"],
        omega=lambda s: {s: 1},
        gamma=F(9, 10),
    )
    for start in (uniform(P), Policy(P, [[0.25, 0.75]] * 3)):
        run = improve(P, start, step=F(1, 10), criterion="average")
        assert (run.ended, run.limit_value) == ("fixed", 3)
        assert isinstance(run.limit_value, F)


def test_several_averages_are_refused_by_name():
    P = two_rooms()
    stay = Policy.deterministic(P, {"o": "stay"})
    for exact in (True, False):
        with pytest.raises(Multichain, match=r"multichain.*s=(left.*s=right|right.*s=left)"):
            improve(P, stay, step=F(1, 2), exact=exact, criterion="average")
    # where all policies seen on the way have one average, there is nothing to refuse
    run = improve(two_rooms(2, 2), stay, step=F(1, 2), criterion="average")
    assert np.all(run.values == 2)


def test_the_weights_of_the_return_are_refused():
    P = recall4()
    with pytest.raises(WorkbenchError, match="stationary"):
        improve(P, uniform(P), step=F(1, 2), weights="discounted", criterion="average")
