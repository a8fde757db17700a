"""Fixed points of softmax behaviours: certain, complete where it is said, and where runs go."""

from fractions import Fraction

import numpy as np
import pytest
import sympy
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_equilibrium import soft_distance
from strategies import families, pomdps
from toy_tasks import habit

from pomdps import recall, recall4, recall_variant
from workbench import (
    QLearning,
    Sarsa,
    SoftQLearning,
    SoftSarsa,
    augment,
    equilibria,
    learn,
    per_visit,
    soft_equilibria,
)
from workbench.core.errors import TooLarge, WorkbenchError, WrongType
from workbench.core.learners import OptionError
from workbench.equilibrium.greedy_cells import DenseTask
from workbench.equilibrium.learned_values import target_of
from workbench.learning.textbook_learners import MonteCarlo
from workbench.research.soft_equilibria import SoftSystem


def labelled(P, e):
    found = {}
    for i, o in enumerate(P.O):
        for j, a in enumerate(P.A):
            if not np.isnan(e.q.raw[i, j]):
                found[o, a] = float(e.q.raw[i, j])
    return found


@given(st.data())
@settings(max_examples=12)
def test_every_table_that_is_found_leads_to_itself(data):
    P = data.draw(pomdps(most_observations=2, most_states=3))
    if len(P.A) == 2 and data.draw(st.booleans()):
        P = augment(P, data.draw(families(1)))
    sarsa = data.draw(st.booleans())
    tau = data.draw(st.sampled_from([Fraction(1, 2), 2]))
    found = soft_equilibria(P, Sarsa(lam=0) if sarsa else QLearning(), tau, most=8)
    assert len(found) >= 1 or not found.complete
    for e in found:
        assert soft_distance(P, labelled(P, e), float(tau), sarsa) < 1e-7
        assert e.radius < 1e-9


@pytest.mark.parametrize("learner", [QLearning(), Sarsa(lam=0)], ids=str)
@pytest.mark.parametrize("make", [recall_variant, recall4, recall])
def test_with_a_high_temperature_there_is_one_and_it_is_all(make, learner):
    found = soft_equilibria(make(), learner, 5)
    assert found.complete
    assert [e.stable for e in found] == [True]
    assert "1 found, all there are" in repr(found)


def test_where_two_greedy_equilibria_stand_side_by_side_a_third_lies_between_them():
    found = soft_equilibria(habit(), QLearning(), Fraction(1, 2))
    assert found.complete
    assert [e.stable for e in found] == [True, True, False]
    first, second, between = (e.policy["o", "r"] for e in found)
    assert first > 0.99
    assert second < 0.05
    assert second < between < first


def test_as_it_cools_the_behaviour_becomes_greedy_on_its_table():
    for tau, off in ((Fraction(1, 2), 0.1), (Fraction(1, 8), 1e-6)):
        best = soft_equilibria(habit(), QLearning(), tau, most=1)[0]
        assert best.policy["o", "r"] == pytest.approx(1, abs=off)
        assert best.value == pytest.approx(3, abs=20 * off)


def test_where_rows_tie_at_the_fixed_point_it_is_enclosed_all_the_same():
    """The maximum has a kink there: both actions of the variation are worth the same."""
    (e,) = soft_equilibria(recall_variant(), QLearning(), 1)
    assert e.q.raw[0, 0] == pytest.approx(e.q.raw[0, 1], abs=1e-12)
    assert e.policy["o", 0] == pytest.approx(0.5)


def gaps(run, e):
    """The distance of the mean table of some runs from a fixed point, by entry, in standard
    errors (never below a thousandth of the largest value: the step is not 0)."""
    seen = run.tables["q"]
    rows = ~np.isnan(e.q.raw)
    error = seen.std(axis=0, ddof=1) / np.sqrt(len(seen))
    floor = 1e-3 * np.abs(e.q.raw[rows]).max()
    return (np.abs(seen.mean(axis=0) - e.q.raw)[rows] / (error[rows] + floor)).max()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "memory", "learner"),
    [
        (recall4, "none", SoftQLearning(temperature=1, step=per_visit(power=0.8))),
        (recall4, "none", SoftSarsa(temperature=1, lam=0, step=per_visit(power=0.8))),
    ],
)
def test_long_compiled_runs_with_falling_steps_end_at_the_fixed_point(task, memory, learner):
    P = augment(task(), memory)
    found = soft_equilibria(P, learner)
    assert found.temperature == learner.temperature
    assert len(found) == 1
    assert found.complete
    assert found[0].stable
    run = learn(P, learner, steps=400_000, seeds=20)
    assert gaps(run, found[0]) < 5
    # the fixed point of another temperature is not where they end
    other = soft_equilibria(P, learner, 3 * learner.temperature)
    assert gaps(run, other[0]) > 20


def test_a_soft_learner_has_its_own_temperature_and_no_greedy_policies():
    with pytest.raises(WrongType, match="equilibria are those of a greedy learner"):
        equilibria(recall4(), SoftQLearning())
    with pytest.raises(OptionError, match="has no temperature: give one"):
        soft_equilibria(recall4(), QLearning())
    with pytest.raises(OptionError, match="cuts episodes off"):
        soft_equilibria(recall4(), SoftQLearning(max_episode_steps=3))
    with pytest.raises(WorkbenchError, match="lambda is 0"):
        soft_equilibria(recall4(), SoftSarsa(lam=0.5))


@given(st.data())
@settings(max_examples=25)
def test_what_a_box_of_tables_can_lead_to_holds_what_its_tables_lead_to(data):
    P = augment(data.draw(pomdps(most_observations=2, most_states=3)), data.draw(families(1)))
    target = target_of(data.draw(st.sampled_from([QLearning(), Sarsa(lam=0)])))
    system = SoftSystem(DenseTask(P, target, 1.0), Fraction(1))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    low = rng.normal(size=system.shape)
    high = low + rng.exponential(0.5, size=system.shape)
    point = rng.uniform(low, high)
    least, most = system.led_to(low, high)
    table = np.array([float(x) for x in system.table(list(point.reshape(-1)))])
    then = table + system.drift(table)
    there = np.array([float(x) for x in system.coordinates(then)]).reshape(system.shape)
    assert (there >= least - 1e-12).all()
    assert (there <= most + 1e-12).all()


@given(st.data())
@settings(max_examples=15)
def test_slopes_are_those_of_small_differences(data):
    P = augment(data.draw(pomdps(most_observations=2, most_states=3)), data.draw(families(1)))
    target = target_of(data.draw(st.sampled_from([QLearning(), Sarsa(lam=0)])))
    system = SoftSystem(DenseTask(P, target, 1.0), Fraction(1))
    rng = np.random.default_rng(data.draw(st.integers(0, 99)))
    x = system.coordinates(rng.normal(size=system.shape))
    J = system.slopes(x)
    i = data.draw(st.integers(0, len(x) - 1))
    ahead, behind = ([v + h * (k == i) for k, v in enumerate(x)] for h in (1e-6, -1e-6))
    for k, (f, g) in enumerate(zip(system.value(ahead), system.value(behind), strict=True)):
        assert float(J[k, i]) == pytest.approx(float((f - g) / 2e-6), abs=1e-4)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: soft_equilibria("recall", QLearning(), 1), WrongType, "needs a POMDP"),
        (lambda: soft_equilibria(recall(), QLearning(), 0), OptionError, "positive number, not 0"),
        (lambda: soft_equilibria(recall(), MonteCarlo(), 1), WorkbenchError, "one-step targets"),
        (
            lambda: soft_equilibria(recall(gamma=sympy.Symbol("g")), QLearning(), 1),
            WorkbenchError,
            "holds symbols",
        ),
        (
            lambda: soft_equilibria(augment(recall4(), "B3"), QLearning(), 1),
            TooLarge,
            "256 entries that matter; up to 64",
        ),
    ],
)
def test_bad_arguments_are_refused(call, error, message):
    with pytest.raises(error, match=message):
        call()
