"""The best policies over the actions that there are, and memories for them."""

from fractions import Fraction

import pytest
import reference_histories as histories
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_improvement import unrolled
from reference_optimum import best_deterministic, best_of_horizon
from strategies import families, policies, pomdps
from toy_tasks import doors

from workbench import (
    Controller,
    Memory,
    augment,
    best_history,
    best_memoryless,
    can_encode_optimal,
    controller_of,
    evaluate,
    frontier,
    is_sufficiently_expressive,
    needs_memory,
    reachable_beliefs,
)
from workbench.core.errors import NeedsAllActions, PolicyError
from workbench.optima.best_informed import best_informed

some_actions = pomdps(most_states=3, most_actions=3, some_actions=True)


@settings(max_examples=40)
@given(some_actions, st.data())
def test_the_best_memoryless_policy_takes_what_is_allowed(P, data):
    found = best_memoryless(P, exact=True)
    assert found.certified
    assert found.value == best_deterministic(P)
    assert evaluate(P, found.policy, exact=True).value == found.value
    mixed = best_memoryless(P, deterministic=False, max_seconds=2, starts=2)
    mixed.policy.fits(P)
    other = evaluate(P, data.draw(policies(P)), exact=True).value
    assert float(other) <= mixed.bound + 1e-9


@settings(max_examples=40)
@given(some_actions, st.sampled_from([1, 2, 3]))
def test_the_best_policy_of_the_history_takes_what_is_allowed(P, horizon):
    task = unrolled(P, horizon)
    found = best_history(task, exact=True)
    assert found.value == best_of_horizon(task, horizon)
    assert found.value <= best_informed(task, exact=True)
    assert found.policy.evaluate(exact=True).value == found.value
    for o in task.O:
        if any(o in task.omega(s) and s not in task.terminal for s in task.mu):
            assert set(found.policy.action_values([o])) == set(task.actions(o))
            assert found.policy.action([o]) in task.actions(o)


@settings(max_examples=25, deadline=None)
@given(pomdps(most_states=2, some_actions=True), families(1))
def test_memories_are_judged_over_what_is_allowed(P, family):
    task = unrolled(P, 2)
    memory = family.on(task)
    best = histories.best_history(task, 2)
    assert can_encode_optimal(task, family).holds == histories.encodes(task, memory, best)
    f = histories.find_f(task, memory)
    assert is_sufficiently_expressive(task, family).holds == (f is not None)


def test_a_product_is_searched_as_its_task_is():
    P = doors()
    assert best_history(P).value == Fraction(9, 5)
    assert reachable_beliefs(P).mdp().actions(reachable_beliefs(P).nodes[0]) == ("left", "right")
    assert needs_memory(P, families=["B", "OA"], up_to=1).without.holds
    points = frontier(P, up_to=2, families=["B", "OA"]).points
    assert {point.value for point in points} == {Fraction(9, 5)}
    E = augment(P, "OA1")
    controller = controller_of(P, "OA1", best_memoryless(E).policy).minimised()
    assert controller.value == Fraction(9, 5)
    with pytest.raises(PolicyError, match="doors does not allow open at node 0 where o=hall"):
        Controller(P, ("0",), {0: 1}, {(0, "hall"): {"open": 1}}, {})


def test_memories_with_some_writes_are_refused_where_all_are_needed():
    some = Memory("some", ["0", "1"], ["0", "1"], lambda m, w, o, a, r, o_next: {w: 1}, {"0": 1},
                  allowed=lambda m, o: [m])  # fmt: skip
    for function in (can_encode_optimal, is_sufficiently_expressive):
        with pytest.raises(NeedsAllActions, match=f"{function.__name__} needs all writes"):
            function(doors(), some)
    assert best_memoryless(augment(doors(), some)).value == pytest.approx(1.8)
