"""The MDP over observations: its rows, what is worth what in it, and that learners live in it."""

from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_equilibrium import transitions, values
from strategies import families, policies, pomdps
from toy_tasks import small_task, task_like

from pomdps import recall, recall4
from workbench import (
    Policy,
    QLearning,
    augment,
    decreasing,
    evaluate,
    learn,
    observation_mdp,
    per_visit,
    td_values,
    uniform,
)
from workbench.core.errors import WorkbenchError, WrongType


def soften(P, pi):
    return pi.toward(uniform(P), Fraction(1, 3))


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_its_rows_are_those_that_the_plain_twin_counts(data):
    P = augment(data.draw(pomdps(most_observations=3)), data.draw(families(1)))
    pi = soften(P, data.draw(policies(P)))
    M = observation_mdp(P, pi)
    expected = transitions(P, lambda o, a: float(pi[o, a]))
    assert set(M.S) - set(M.terminal) == {o for o, _ in expected}
    for (o, a), row in expected.items():
        got = {
            (None if s in M.terminal else s, float(r)): float(x) for (s, r), x in M.p(o, a).items()
        }
        assert got.keys() == {key for key, x in row.items() if x > 0}
        assert all(got[key] == pytest.approx(x, abs=1e-9) for key, x in row.items() if x > 0)


@given(st.data())
@settings(max_examples=40, deadline=None)
def test_its_q_values_are_those_of_one_step_td(data):
    P = augment(data.draw(pomdps(most_observations=3)), data.draw(families(1)))
    pi = soften(P, data.draw(policies(P)))
    weights = data.draw(st.sampled_from(["visits", "discounted", "stationary"]))
    M = observation_mdp(P, pi, weights=weights, exact=True)
    believed = td_values(P, pi, exact=True, weights=weights)
    inside = evaluate(M, pi, exact=True)
    for o in set(M.S) - set(M.terminal):
        assert inside.q.row(o) == believed.q.row(o)
    assert inside.value == believed.value


@given(pomdps(most_observations=1, most_states=3))
def test_a_task_whose_observations_tell_the_states_is_its_own_observation_mdp(P):
    seen = task_like(P, "seen", omega=lambda s: {s: 1})
    M = observation_mdp(seen, uniform(seen), exact=True)
    assert set(M.S) == set(seen.S)
    assert dict(M.mu) == dict(seen.mu)
    for s in set(seen.S) - {"end"}:
        for a in seen.A:
            assert M.p(s, a) == {key: x for key, x in seen.p(s, a).items() if x != 0}


def test_its_numbers_may_be_symbols():
    P, x = recall4(), sympy.Symbol("x")
    pi = Policy.from_mapping(P, {"o": {0: x, 1: 1 - x}})
    M = observation_mdp(P, pi)
    # half of the visits are the first ones; behind the others is s0 with probability x
    assert M.p("o", 2)["o", 0] == Fraction(1, 2)
    assert sympy.simplify(M.p("o", 2)["end", 1] - x / 2) == 0


def test_an_observation_called_end_does_not_hide_the_end():
    P = small_task(
        "walk", lambda s, a: {(s + 1, 1): 1}, 0, A=["go"], omega=lambda s: {"end": 1}, terminal={2}
    )
    M = observation_mdp(P, uniform(P), exact=True)
    assert list(M.S) == ["end", "end'"]
    assert evaluate(M, uniform(P), exact=True).value == 2


def test_q_learning_that_explores_always_converges_to_its_q_star():
    """With epsilon 1 the behaviour is uniform whatever was learned: the limit is exact."""
    E = augment(recall(), "OA1")
    M = observation_mdp(E, uniform(E))
    rows = {
        (o, a): {
            (None if s in M.terminal else s, float(r)): float(x) for (s, r), x in M.p(o, a).items()
        }
        for o in M.S
        if o not in M.terminal
        for a in M.A
    }
    star = values(rows, M.A, float(M.gamma), lambda _, row: max(row.values()))
    for step in (decreasing(0.5, halving=5000), per_visit(power=0.8)):
        run = learn(E, QLearning(epsilon=1.0, step=step), steps=1_000_000, seeds=12)
        q = run.tables["q"]
        for (o, a), x in star.items():
            seen = q[:, E.O.index(o), E.A.index(a)]
            error = seen.std(ddof=1) / np.sqrt(len(seen))
            assert abs(seen.mean() - x) < 5 * error + 2e-3, (o, a, step)


def test_a_behaviour_that_does_not_explore_is_refused_with_the_place():
    E = augment(recall(), "OA1")
    pi = Policy.deterministic(E, {}, otherwise=(1, "keep"))
    with pytest.raises(WorkbenchError, match=r"leads to o=o 1, which the behav"):
        observation_mdp(E, pi)


def test_weights_that_do_not_exist_are_refused_and_others_named():
    P = small_task("for ever", lambda s, a: {((s + a) % 2, a): 1}, 0, gamma=Fraction(1, 2))
    with pytest.raises(
        WorkbenchError, match=r"not defined for o=o with weights='visits'.*stationary"
    ):
        observation_mdp(P, uniform(P))
    M = observation_mdp(P, uniform(P), weights="stationary", exact=True)
    assert list(M.S) == ["o"]
    assert M.p("o", 1) == {("o", 1): 1}


def test_bad_arguments_are_refused():
    P = recall()
    with pytest.raises(WrongType, match="needs a Policy"):
        observation_mdp(P, "uniform")
    with pytest.raises(WorkbenchError, match="weights must be one of"):
        observation_mdp(P, uniform(P), weights="equal")
