"""Limits of Q-learning under fixed behaviours, stationary and periodic."""

from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_equilibrium import cycle_by_force, transitions, values
from strategies import families, policies, pomdps

from pomdps import periodic_counter, recall, recall4
from workbench import QLearning, augment, learn, per_visit, uniform
from workbench.core.errors import WorkbenchError, WrongType
from workbench.core.policy import Policy
from workbench.research.behaviour_limits import cyclic_limits, limit_values


def soften(P, pi):
    return pi.toward(uniform(P), Fraction(1, 3))


@given(st.data())
@settings(max_examples=15)
def test_the_limit_is_q_star_of_what_the_behaviour_shows(data):
    P = augment(data.draw(pomdps(most_observations=2, most_states=3)), data.draw(families(1)))
    pi = soften(P, data.draw(policies(P)))
    rows = transitions(P, lambda o, a: float(pi[o, a]))
    star = values(rows, P.A, float(P.gamma), lambda _, row: max(row.values()))
    exact, floats = limit_values(P, pi, exact=True), limit_values(P, pi)
    for (o, a), x in star.items():
        assert floats[o, a] == pytest.approx(x, abs=1e-7)
        assert float(exact[o, a]) == pytest.approx(x, abs=1e-7)


@given(st.data(), st.integers(1, 3))
@settings(max_examples=8)
def test_cycles_are_those_of_pasqls_own_equations(data, L):
    P = data.draw(pomdps(most_observations=2, most_states=3))
    cycle = [soften(P, data.draw(policies(P))) for _ in range(L)]
    slow = cycle_by_force(P, cycle, steps=200)
    for table, expected in zip(cyclic_limits(P, cycle), slow, strict=True):
        for (o, a), x in expected.items():
            assert table[o, a] == pytest.approx(x, abs=1e-2)


def test_a_chain_that_goes_on_for_ever_has_a_cycle_by_both_ways():
    P = periodic_counter(6)
    one = Policy.from_mapping(P, {"o": {0: Fraction(4, 5), 1: Fraction(1, 5)}})
    other = Policy.from_mapping(P, {"o": {0: Fraction(1, 3), 1: Fraction(2, 3)}})
    tables = cyclic_limits(P, [one, other, uniform(P)], exact=True)
    slow = cycle_by_force(P, [one, other, uniform(P)], steps=1500)
    for table, expected in zip(tables, slow, strict=True):
        for (o, a), x in expected.items():
            assert float(table[o, a]) == pytest.approx(x, abs=1e-3)
    assert len({table["o", 0] for table in tables}) == 3


def test_a_period_of_one_is_the_stationary_limit():
    P = recall4()
    (table,) = cyclic_limits(P, [uniform(P)], exact=True)
    assert np.array_equal(table.array, limit_values(P, uniform(P), exact=True).array)


def test_runs_with_a_clock_converge_to_the_cycle():
    P = recall()
    E = augment(P, "clock2")
    tables = cyclic_limits(P, [uniform(P)] * 2)
    run = learn(E, QLearning(epsilon=1.0, step=per_visit(power=0.8)), steps=400_000, seeds=10)
    for hour, table in enumerate(tables):
        for a in P.A:
            seen = run.tables["q"][:, E.O.index((hour, "o")), E.A.index((a, "-"))]
            error = seen.std(ddof=1) / np.sqrt(len(seen))
            assert abs(seen.mean() - table["o", a]) < 5 * error + 2e-3


def test_on_recall_only_the_last_of_three_hours_tells_actions_apart():
    """Whatever is done before, the next hour shows the same row; behind the last are nine ways."""
    P = recall()
    first, second, last = (
        t.array.tolist()[0] for t in cyclic_limits(P, [uniform(P)] * 3, exact=True)
    )
    gamma, ninth = Fraction(19, 20), Fraction(1, 9)
    assert last == [0, 0, ninth]
    assert second == [gamma * ninth] * 3
    assert first == [gamma**2 * ninth] * 3


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda P: cyclic_limits(P, []), WorkbenchError, "one policy at least"),
        (lambda P: cyclic_limits(P, ["uniform"]), WrongType, "a sequence of policies"),
        (lambda P: cyclic_limits("recall", []), WrongType, "needs a POMDP"),
        (lambda P: limit_values("recall", uniform(P)), WrongType, "needs a POMDP"),
        (
            lambda P: limit_values(recall(gamma=sympy.Symbol("g")), uniform(P)),
            WorkbenchError,
            "holds symbols",
        ),
    ],
)
def test_bad_arguments_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call(recall())
