"""Whether a memory can encode an optimal policy, and Proposition A.1: what is expressive can."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest
import reference_histories as reference
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from strategies_beliefs import (
    HALF,
    colourable,
    colouring_tasks,
    crisp,
    overwritten,
    pointed,
    sequence_task,
    small_memories,
    tiger,
    timed,
)
from toy_tasks import small_task

from pomdps import classics, gravity, recall, recall4, recall_variant
from workbench import POMDP, Memory, Policy, augment, best_history, evaluate, memories
from workbench.agents.beliefs import explore_beliefs
from workbench.core.errors import NeverEnds, WorkbenchError
from workbench.memories import attach
from workbench.sufficiency.can_encode import can_encode_optimal
from workbench.sufficiency.expressive import is_sufficiently_expressive
from workbench.sufficiency.gap import GapCloser, Limits
from workbench.sufficiency.product_search import WriteSearch

BIT = Memory("bit", [0, 1], [0, 1], lambda m, w, o, a, r, o_next: {w: 1}, {0: 1})


def value_of(P: POMDP, memory, found) -> Fraction:
    E = augment(P, memory)
    return evaluate(
        E, Policy.deterministic(E, dict(found.choice), otherwise=E.A[0]), exact=True
    ).value


# ---------------------------------------------------------------------- the paper's tasks


@pytest.mark.parametrize(
    ("task", "kind", "k"),
    [
        (recall, "B", 2),
        (recall, "K", 2),
        (recall, "O", 2),
        (recall, "OA", 1),
        (recall4, "B", 1),
        (recall4, "K", 1),
        (recall4, "O", 1),
        (recall4, "OA", 1),
        (recall_variant, "B", 1),
        (recall_variant, "K", 2),
        (recall_variant, "O", 2),
        (recall_variant, "OA", 1),
        (gravity, "B", 1),
        (gravity, "K", 1),
        (gravity, "O", 1),
        (gravity, "OA", 1),
    ],
)
def test_smallest_memories_that_encode_an_optimal_policy(task, kind, k):
    P = task()
    tried = [can_encode_optimal(P, f"{kind}{j}" if j else "none") for j in range(k + 1)]
    assert [bool(x) for x in tried] == [j == k for j in range(k + 1)]
    answer = tried[-1]
    if task is not gravity:
        assert value_of(P, f"{kind}{k}", answer) == answer.best
        assert answer.best == reference.best_history(P, 3)


def test_gravity_needs_a_memory_and_its_best_value_takes_twelve_steps():
    assert not can_encode_optimal(gravity(), "none")
    assert can_encode_optimal(gravity(), "B1").best == Fraction(19, 20) ** 11


# ---------------------------------------------------------------------- Proposition A.1

few = st.sampled_from(
    [memories.none, memories.B(1), memories.K(1), memories.O(1), memories.OA(1), memories.B(2), BIT]
)
tasks = pointed() | pointed(per_observation=3) | crisp() | timed()


@settings(max_examples=30)
@given(tasks, few | small_memories())
def test_an_expressive_memory_encodes_an_optimal_policy(P, memory):
    assume(explore_beliefs(P, limit=40).complete)
    assume(is_sufficiently_expressive(P, memory))
    found = can_encode_optimal(P, memory)
    assert found
    if found.choice is not None and len(explore_beliefs(P, limit=40)):
        assert value_of(P, memory, found) == found.best


@settings(max_examples=20)
@given(
    pointed(actions=1)
    | pointed(observations=1, per_observation=4)
    | crisp(most_states=3)
    | timed(),
    few,
)
def test_the_answer_agrees_with_trying_every_deterministic_policy(P, memory):
    attached = attach(memory, P)
    E = augment(P, attached)
    assume(len(E.A) ** int(E.decides.sum()) <= 100)
    found = can_encode_optimal(P, memory)
    assume(found.method == "beliefs")
    assert bool(found) == reference.encodes(P, attached, found.best)


@settings(max_examples=100)
@given(st.lists(st.integers(0, 1), min_size=3, max_size=8), st.integers(1, 4), st.booleans())
def test_a_sequence_of_actions_needs_as_many_memory_states_as_it_has_before_it_repeats(
    actions, states, built_in
):
    """n memory states, each leading to the next, run through i of them once and then round p = n -
    i of them."""
    n = len(actions)
    repeats = any(
        all(actions[t] == actions[t - p] for t in range(i + p, n))
        for p in range(1, states + 1)
        for i in range(states - p + 1)
    )
    memory = (
        {1: memories.none, 2: memories.B(1), 4: memories.B(2)}.get(states)
        if built_in
        else overwritten(states)
    )
    assume(memory is not None)
    P = sequence_task(actions)
    found = can_encode_optimal(P, memory)
    assert bool(found) == repeats
    assert not found or value_of(P, memory, found) == found.best == HALF ** (n - 1)


@settings(max_examples=150)
@given(colouring_tasks(), st.integers(2, 4), st.booleans())
def test_encoding_an_optimal_policy_can_be_as_hard_as_colouring_a_graph(drawn, colours, alike):
    neighbours, P = drawn
    graph = explore_beliefs(P)
    right = [{int(s[0] == "edge" and s[3] == s[2]) for s in node.b} for node in graph.nodes]
    searched = WriteSearch(graph, overwritten(colours), right, interchangeable=alike).run(
        100_000, "a policy"
    )
    assert searched.finished
    assert (searched.chosen is not None) == (colourable(neighbours, colours))


@given(timed(horizon=2) | timed(horizon=3))
def test_the_best_value_is_that_of_the_best_history_based_policy(P):
    horizon = 1 + max(s[0] for s in P.S if s != "end")
    assert can_encode_optimal(P, "none").best == reference.best_history(P, horizon)


def test_without_mu_in_b_0_proposition_a1_fails():
    """Two states that every action exchanges: by the paper's b_0 the agent never knows which, by mu
    it always does."""

    def p(s, a):
        return {(1 - s, int(a == s)): 1}

    P = small_task("turns", p, 0, gamma=HALF)
    everywhere = {0: HALF, 1: HALF}
    assert all(b == everywhere for b in reference.beliefs(P, 4, mu=everywhere).values())
    as_printed = small_task("printed", p, everywhere, gamma=HALF)
    assert is_sufficiently_expressive(as_printed, "none")
    assert not is_sufficiently_expressive(P, "none")
    found = can_encode_optimal(P, "none")
    assert not found
    assert found.best == 2
    assert reference.best_deterministic(P) == Fraction(4, 3)


def test_a_memory_that_reads_rewards_can_be_better_than_every_policy_of_observations_and_actions():
    """So the best memoryless policy is not 'equivalent' to the best history-based one, as
    Proposition A.1 has it."""

    def p(s, a):
        coin, asked = s
        if not asked:
            return {((coin, True), coin): 1}
        return {("end", int(a == coin)): 1}

    P = small_task(
        "coin",
        p,
        {(0, False): HALF, (1, False): HALF},
        omega=lambda s: {"over" if s == "end" else s[1]: 1},
    )
    saves = Memory("saves r", [0, 1], ["-"], lambda m, w, o, a, r, o_next: {int(r): 1}, {0: 1})
    assert is_sufficiently_expressive(P, saves)
    found = can_encode_optimal(P, saves)
    assert found
    assert found.best == reference.best_history(P, 2) == 1
    E = augment(P, saves)
    knows = Policy.deterministic(
        E, {(m, o): (m, "-") for m, o in E.O if o != "over"}, otherwise=E.A[0]
    )
    assert evaluate(E, knows, exact=True).value == Fraction(3, 2)


# ---------------------------------------------------------------------- the edges


def corridor(gamma) -> POMDP:
    """Three cells alike, the middle one turned round; reward 1 at the end [Sutton and Barto,
    Example 13.1]."""

    def p(s, a):
        step = (1 if a == "right" else -1) * (-1 if s == 1 else 1)
        return {(max(s + step, 0), int(s + step == 3)): 1}

    return small_task("corridor", p, 0, A=["left", "right"], gamma=gamma, terminal={3})


def test_without_discount_a_mixture_may_be_optimal_where_no_deterministic_policy_is():
    found = can_encode_optimal(corridor(1), "none")
    assert found
    assert (found.method, found.choice) == ("bounds", None)
    assert not found.policy.is_deterministic
    assert (
        evaluate(
            corridor(1),
            Policy.from_mapping(corridor(1), {"o": {"left": HALF, "right": HALF}}),
            exact=True,
        ).value
        == 1
    )
    assert not can_encode_optimal(corridor(Fraction(9, 10)), "none")


def test_without_discount_a_policy_that_puts_the_reward_off_for_ever_is_not_optimal():
    found = can_encode_optimal(corridor(1), "B2")
    assert found.method == "beliefs"
    assert value_of(corridor(1), "B2", found) == 1


def test_with_gamma_zero_only_the_first_action_counts():
    P = recall4(gamma=0)
    found = can_encode_optimal(P, "none")
    assert found
    assert found.best == 0
    first = small_task("first", lambda s, a: {(1 - s, int(a == s)): 1}, 0, gamma=0)
    assert value_of(first, "none", can_encode_optimal(first, "none")) == 1


def test_infinitely_many_beliefs_are_decided_by_bounds():
    """Without memory nothing is better than listening for ever, worth -2; opening a door after some
    equal noises is."""
    found = can_encode_optimal(tiger(HALF), "none", limit=100)
    assert (found.method, found.holds, found.best) == ("bounds", False, None)
    assert reference.best_deterministic(tiger(HALF)) == -2


def test_a_search_given_up_is_neither_true_nor_false():
    found = can_encode_optimal(recall(), "B1", budget=1)
    assert found.holds is None
    with pytest.raises(WorkbenchError, match="given up"):
        bool(found)


def test_a_task_that_never_ends_without_discount_is_refused():
    P = small_task("stay", lambda s, a: {(s, 0): 1}, 0, A=["a"])
    with pytest.raises(NeverEnds, match="stay"):
        can_encode_optimal(P, "none")


def test_a_task_that_is_over_at_once_needs_no_memory():
    P = small_task("over", lambda s, a: {}, 0, A=["a"], terminal={0})
    assert can_encode_optimal(P, "none").best == 0
    assert is_sufficiently_expressive(P, "none")


# ---------------------------------------------------------------------- floats


@pytest.mark.parametrize("unit", ["1e-12", "1", "1e12"])
@pytest.mark.parametrize(("memory", "holds"), [("none", False), ("B1", True)])
def test_a_task_in_floats_is_decided_as_its_decimals_are(memory, holds, unit):
    P = recall4(gamma=Fraction(9, 10)).scale_rewards(Fraction(unit))
    floats = replace(P, gamma=0.9).scale_rewards(1.0)
    assert not floats.is_exact
    found = can_encode_optimal(floats, memory)
    assert (found.holds, found.method, found.lacks) == (holds, "beliefs", 0)
    assert found.best == can_encode_optimal(P, memory).best


def test_where_floats_alone_answer_they_say_by_how_much_they_may_be_wrong():
    """Decimals of thirds do not add up to one, so that beliefs are not listed."""
    third = 1 / 3
    P = small_task(
        "thirds",
        lambda s, a: {("end", third * (1 + a)): 1},
        {0: third, 1: third, 2: 1 - 2 * third},
        gamma=0.9,
    )
    found = can_encode_optimal(P, "none")
    assert (found.holds, found.method) == (True, "bounds")
    assert 0 < found.lacks < 1e-12
    assert f"at most {found.lacks:.1g} more" in found.reason


def two_steps(rewards: list[float], unit: float) -> POMDP:
    """Two steps with two actions each, unseen; the first reward is that of the first action 1, then
    come those of the four ways to go on."""

    def p(s, a):
        if s == "start":
            return {(a, rewards[0] * a * unit): 1}
        return {("end", rewards[1 + 2 * s + a] * unit): 1}

    return small_task("two steps", p, "start")


@pytest.mark.parametrize("power", [-400, -60, -10, 0, 60, 400])
@pytest.mark.parametrize(
    ("rewards", "holds"),
    [
        ([1.0, 0.0, 3.0, 0.0, 2.0], True),  # 0 and 1 pays 3, 1 and 1 pays 1 + 2
        ([0.1, 0.0, 0.3, 0.0, 0.2], True),
        ([1 / 3, 0.0, 1.0, 0.0, 2 / 3], True),
        ([1.0, 0.0, 3.000001, 0.0, 2.0], False),
        ([1.0, 0.0, 3.0, 0.0, 2.000001], True),
    ],
)
def test_a_power_of_two_in_the_unit_of_reward_does_not_change_the_answer(rewards, holds, power):
    """Sums that are equal in one unit are not equal as decimals in another."""
    found = can_encode_optimal(two_steps(rewards, 2.0**power), "none")
    assert (found.holds, found.method) == (holds, "beliefs")
    assert "floats are read as decimals" in found.reason
    assert 0 <= found.lacks <= 1e-14 * 2.0**power
    if found.lacks:
        assert "up to the rounding of floats" in found.reason


def test_what_is_lacking_up_to_rounding_is_at_most_what_is_said():
    P = two_steps([1.0, 0.0, 3.0, 0.0, 2.0], 2.0**-60)
    found = can_encode_optimal(P, "none")
    E = augment(P.rationalised(), "none")
    pi = Policy.deterministic(E, found.choice, otherwise=E.A[0])
    lacking = found.best - evaluate(E, pi, exact=True).value
    assert 0 < lacking <= found.lacks
    assert GapCloser(P, best_history(P), Limits()).about(memories.none).holds


def test_time_that_is_up_leaves_the_question_open():
    """Beliefs without end, and a product too large to settle at once: what is known is said."""
    found = can_encode_optimal(classics.tiger(), "B2", max_seconds=1e-6)
    assert found.holds is None
    assert "lies between" in found.reason
