"""Average reward: gain, bias and differential values."""

from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_tasks import small_task

from pomdps import recall4, tiger
from tests.support.reference_average import (
    continuing_pomdps,
    expanded,
    mean_and_spread,
    walk_on,
)
from tests.support.strategies import policies, pomdps
from workbench import POMDP, Policy, augment, evaluate, memories, uniform
from workbench.core.errors import WorkbenchError
from workbench.core.repetition import repeat_episodes

F = Fraction


def two_rooms(first=1, second=3) -> POMDP:
    """A start from which both actions lead to rooms that are never left; "swap" would change
    them, if it were taken."""

    def p(s, a):
        if s == "door":
            return {("left", 0): F(1, 4), ("right", 0): F(3, 4)}
        other = "right" if s == "left" else "left"
        return {(other if a == "swap" else s, first if s == "left" else second): 1}

    return small_task("two rooms", p, "door", A=["stay", "swap"], gamma=F(1, 2))


@given(st.data())
@settings(max_examples=25)
def test_gain_and_bias_are_the_expansion_of_discounted_values(data):
    P = data.draw(continuing_pomdps(most_states=3))
    pi = data.draw(policies(P))
    found = evaluate(P, pi, exact=True, criterion="average")
    gain, bias = expanded(P, pi)
    for s in P.S:
        assert found.gain[s] == gain[s]
        assert found.v[s] == bias[s]
    assert found.value == sum(P.mu[s] * gain[s] for s in P.mu)


@given(st.data())
@settings(max_examples=60)
def test_floats_are_within_their_bounds(data):
    P = data.draw(continuing_pomdps(most_states=5, most_actions=3))
    pi = data.draw(policies(P))
    exact = evaluate(P, pi, exact=True, criterion="average")
    close = evaluate(P, pi, criterion="average")

    def within(x, y, error):
        assert (x is None) == bool(np.isnan(y))
        assert x is None or abs(F(float(y)) - x) <= F(error)

    assert close.error < 1e-9
    assert abs(F(close.value) - exact.value) <= F(close.error)
    for s in P.S:
        within(exact.gain[s], close.gain[s], close.error)
        within(exact.v[s], close.v[s], close.v_error[s])
        d, bound = exact.visits[s], close.visits_error[s]
        assert abs(F(float(close.visits[s])) - d) <= F(float(bound)) * d
        for a in P.A:
            within(exact.q_state[s, a], close.q_state[s, a], close.q_state_error[s, a])
    for o in P.O:
        for a in P.A:
            within(exact.q[o, a], close.q[o, a], close.q_error[o, a])


@given(st.data())
@settings(max_examples=40)
def test_shares_of_time_are_those_of_the_stationary_weights(data):
    P = data.draw(st.one_of(pomdps(), continuing_pomdps()))
    pi = data.draw(policies(P))
    found = evaluate(P, pi, exact=True, criterion="average")
    other = evaluate(P.with_gamma(F(1, 2)), pi, exact=True, weights="stationary")
    assert found.value == other.average_reward
    assert found.average_reward == found.value
    assert [found.visits[s] for s in P.S] == [other.visits[s] for s in P.S]


@given(st.data())
@settings(max_examples=25)
def test_the_gain_changes_as_differential_values_say(data):
    """Towards pi' it is sum_o d(o) sum_a (pi'(a|o) - pi(a|o)) q(o,a) (Jaakkola et al. 1995)."""
    P = data.draw(pomdps(most_states=3))
    pi, other = data.draw(policies(P)), data.draw(policies(P))
    eps = sympy.Symbol("eps")
    there = evaluate(P, pi.toward(other, eps), exact=True, criterion="average").value
    slope = sympy.diff(sympy.sympify(there), eps).subs(eps, 0)
    found = evaluate(P, pi, exact=True, criterion="average")
    expected = sum(
        found.o_visits[o] * (other[o, a] - pi[o, a]) * found.q[o, a]
        for o in P.O
        if found.reached[o]
        for a in P.A
    )
    # rows that pi does not see may be seen under pi', but to first order they do not count
    assert slope == expected


@pytest.mark.parametrize(
    "P",
    [recall4(), augment(recall4(), memories.B(1)), tiger(), repeat_episodes(recall4())],
    ids=lambda P: P.name,
)
def test_long_walks_pay_the_gain(P):
    pi = uniform(P)
    found = evaluate(P, pi, exact=True, criterion="average").value
    mean, spread = mean_and_spread(walk_on(P, pi, 20_000, seed=3))
    assert spread > 0
    assert abs(mean - float(found)) < 5 * spread


def test_episodes_that_follow_one_another_pay_their_return_over_their_length():
    P = recall4()
    found = evaluate(P, uniform(P), exact=True, criterion="average")
    assert found.value == evaluate(P, uniform(P), exact=True).value / 2
    assert found.v["end"] == found.v["s*"]
    assert found.q_state.raw[P.S.index("end"), 0] is None


def test_a_policy_of_several_classes_has_a_gain_in_each_and_says_so():
    P = two_rooms()
    stay = Policy.deterministic(P, {"o": "stay"})
    for exact in (True, False):
        found = evaluate(P, stay, exact=exact, criterion="average")
        assert [found.gain[s] for s in ("left", "right", "door")] == [1, 3, F(5, 2)]
        assert found.value == F(5, 2)
        assert "multichain" in found.note
        assert found.q["o", "stay"] == 0
        swap = found.q["o", "swap"]
        assert swap is None or np.isnan(swap)
    for reward in (2, 0):
        alike = two_rooms(reward, reward)
        for exact in (True, False):
            found = evaluate(
                alike, Policy.deterministic(alike, {"o": "stay"}), exact=exact, criterion="average"
            )
            assert found.note == ""
            assert found.q["o", "swap"] == 0


def test_symbols_run_through_average_reward():
    P, x = two_rooms(), sympy.Symbol("x")
    pi = Policy.from_mapping(P, {"o": {"stay": x, "swap": 1 - x}})
    assert evaluate(P, pi, criterion="average").value == 2


def test_repr_says_what_kind_of_value_it_is():
    P = two_rooms(2, 2)
    found = evaluate(P, uniform(P), exact=True, criterion="average")
    assert repr(found).startswith("two rooms: average reward 2;")
    assert "average reward" in found._repr_html_()


def test_what_is_asked_wrongly_is_refused():
    P = recall4()
    with pytest.raises(WorkbenchError, match="criterion must be one of return, average"):
        evaluate(P, uniform(P), criterion="gain")
    with pytest.raises(WorkbenchError, match="stationary"):
        evaluate(P, uniform(P), criterion="average", weights="discounted")


def rooms(escape, A=(0,)):
    """Two rooms that follow one another, and rarely the way in."""
    return small_task(
        "rooms",
        lambda s, a: {(1, 0): 1} if s == 0 else {(3 - s, s): 1 - escape, (0, 0): escape},
        0,
        A=A,
        gamma=F(1, 2),
    )


@pytest.mark.parametrize("digits", [3, 6, 9, 12, 15, 16, 17, 20, 30, 100])
def test_a_state_that_is_seen_rarely_is_no_reference(digits):
    P = rooms(F(1, 10**digits))
    exact = evaluate(P, uniform(P), exact=True, criterion="average")
    close = evaluate(P, uniform(P), criterion="average")
    assert close.error < 1e-14
    assert abs(F(close.value) - exact.value) <= F(close.error)
    if np.isnan(close.q["o", 0]):
        assert digits > 17
        assert "o=o is one" in close.note
    else:
        assert abs(F(close.q["o", 0]) - exact.q["o", 0]) <= F(close.q_error["o", 0])
        assert digits > 17 or close.q_error["o", 0] < 1e-9


@pytest.mark.parametrize("number", [F, float])
def test_whether_an_action_changes_the_average_is_told_exactly_or_is_left_open(number):
    """Both actions lead to A, but for a chance that floats do not see beside their errors."""
    e = F(1, 10**16) if number is F else F(1, 2**53)

    def p(s, a):
        if s in ("A", "B"):
            return {(s, number(s == "A")): number(1)}
        return {("A", number(0)): number(1 - e * (1 - a)), ("B", number(0)): number(e * (1 - a))}

    P = small_task(
        "chance", p, {"0": number(1)}, omega=lambda s: {s: number(1)}, gamma=number(F(1, 2))
    )
    found = evaluate(P, Policy.deterministic(P, {}, otherwise=0), criterion="average")
    assert np.isnan(found.q_state["0", 1])
    assert ("Floats cannot tell whether a=1 in s=0" in found.note) == (number is float)
    assert found.q_state["0", 0] == pytest.approx(-1, abs=1e-12)  # the only one that is taken


def test_the_gain_of_a_terminal_state_is_that_of_the_start():
    P = recall4()
    for exact in (True, False):
        found = evaluate(P, uniform(P), exact=exact, criterion="average")
        assert found.gain["end"] == found.value
