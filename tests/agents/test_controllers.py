"""Finite-state controllers: from a memory and a policy and back, merged, and what is refused."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_controllers import fewest_nodes, law_of_controller, law_with_memory
from strategies import families, policies, pomdps, strange_memories

from pomdps import recall, recall4, t_maze, tiger
from workbench import (
    Controller,
    Memory,
    Policy,
    augment,
    best_history,
    best_memoryless,
    controller_of,
    evaluate,
    memories,
    uniform,
)
from workbench.core.errors import PolicyError

F = Fraction


def drawn(data, P, memory, deterministic):
    attached = memory.on(P)
    pi = data.draw(policies(augment(P, attached), deterministic=deterministic))
    return attached, pi, controller_of(P, attached, pi)


@given(pomdps(), st.one_of(families(), strange_memories()), st.booleans(), st.data())
@settings(max_examples=40)
def test_a_controller_behaves_as_its_memory_and_policy(P, memory, deterministic, data):
    attached, pi, controller = drawn(data, P, memory, deterministic)
    law = law_with_memory(P, attached, pi, 2)
    assert law_of_controller(P, controller, 2) == law
    value = evaluate(augment(P, attached), pi, exact=True).value
    assert evaluate(controller.product, controller.policy, exact=True).value == value


@given(pomdps(), st.one_of(families(), strange_memories()), st.booleans(), st.data())
@settings(max_examples=40)
def test_merging_keeps_the_behaviour_and_leaves_no_two_nodes_that_merge(
    P, memory, deterministic, data
):
    _, _, controller = drawn(data, P, memory, deterministic)
    least = controller.minimised()
    assert law_of_controller(P, least, 2) == law_of_controller(P, controller, 2)
    assert len(least) <= len(controller)
    assert len(least.minimised()) == len(least)
    if len(controller.pruned()) <= 6 and _meets_everything_everywhere(controller.pruned()):
        assert len(least) == fewest_nodes(controller.pruned())


def _meets_everything_everywhere(controller):
    """Whether every node sees and meets whatever some node does: nothing is left open."""
    met = {n: set() for n in range(len(controller))}
    for n, *event in [*controller.visited, *controller.events]:
        met[n].add(tuple(event))
    return len({frozenset(x) for x in met.values()}) == 1


@given(pomdps(most_states=3), strange_memories(), st.data())
@settings(max_examples=20)
def test_back_again_it_is_the_same_controller(P, memory, data):
    _, _, controller = drawn(data, P, memory, False)
    again = controller_of(P, controller.memory, controller.policy)
    assert law_of_controller(P, again, 2) == law_of_controller(P, controller, 2)
    assert len(again) == len(controller)


@given(pomdps(), st.data())
@settings(max_examples=30)
def test_without_seeing_ahead_the_behaviour_is_the_same(P, data):
    rows = {
        (m, o): data.draw(st.integers(0, 1)) for m in (0, 1) for o in P.O
    }  # reads o' on purpose
    ahead = Memory(
        "ahead", [0, 1], ["-"], lambda m, w, o, a, r, o_next: {rows[m, o_next]: 1}, {0: 1}
    )
    _, _, controller = drawn(data, P, ahead, False)
    blind = controller.posterior_unaware()
    assert "o'" not in blind.reads
    assert law_of_controller(P, blind, 3) == law_of_controller(P, controller, 3)


def test_a_random_update_that_sees_ahead_is_refused():
    P = t_maze(2)
    half = Memory(
        "half", [0, 1], ["-"],
        lambda m, w, o, a, r, o_next: {0: F(1, 2), 1: F(1, 2)} if o_next == "junction" else {m: 1},
        {0: 1},
    )  # fmt: skip
    E = augment(P, half)
    pi = Policy.from_mapping(
        E, {(m, o): {("up" if m else "down", "-"): 1} for m, o in E.O if o == "junction"}
    )
    with pytest.raises(PolicyError, match="left to chance and depends on what is seen next"):
        controller_of(P, half, pi).posterior_unaware()


def test_the_policy_of_recall_with_oa1_has_three_nodes_and_its_value():
    E = augment(recall(), "OA1")
    best = best_memoryless(E, exact=True)
    controller = controller_of(recall(), "OA1", best.policy)
    assert len(controller) == 3
    assert controller.is_deterministic
    assert controller.lines() == [
        ("∅", "o", "1", "o 1"),
        ("o 1", "o", "2", "o 2"),
        ("o 2", "o", "3", "ends"),
    ]


def test_the_beliefs_of_the_t_maze_merge_to_one_bit():
    P = t_maze(3)
    found = best_history(P)
    controller = controller_of(P, found.policy.memory, found.policy.policy)
    least = controller.minimised()
    assert (len(controller), len(least)) == (9, 2)
    assert evaluate(least.product, least.policy, exact=True).value == found.value


def test_k2_on_tiger_needs_five_nodes_of_its_nine():
    P = tiger()
    best = best_memoryless(augment(P, "K2"), exact=True)
    least = controller_of(P, "K2", best.policy).minimised()
    assert len(least) == fewest_nodes(least) == 5
    assert least.reads == ()


def test_what_updates_depend_on():
    P = recall4()
    for name, Gamma, reads in (
        ("a", lambda m, w, o, a, r, o_next: {a % 2: 1}, ("a",)),
        ("nothing", lambda m, w, o, a, r, o_next: {0: 1}, ()),
    ):
        memory = Memory(name, [0, 1], ["-"], Gamma, {0: 1})
        assert controller_of(P, memory, uniform(augment(P, memory))).reads == reads
    Q = tiger()
    won = Memory("won", [0, 1], ["-"], lambda m, w, o, a, r, o_next: {int(r > 0): 1}, {0: 1})
    assert controller_of(Q, won, uniform(augment(Q, won))).reads == ("r",)


def one_node(P, act, after, start=None):
    return Controller(P, ("only",), start or {0: 1}, act, after)


def test_controllers_that_do_not_fit_are_refused_with_what_is_missing():
    P = recall4()
    stay = {(0, "o", a, 0, "o"): {0: 1} for a in P.A}
    one_node(P, {(0, "o"): {0: 1}}, stay)
    for act, after, start, message in (
        ({}, stay, None, "takes no action at node only where o=o is seen"),
        ({(0, "o"): {9: 1}}, stay, None, "9 is no action"),
        ({(0, "o"): {0: F(1, 2)}}, stay, None, "sums to 1/2, not to 1"),
        ({(0, "o"): {0: 2, 1: -1}}, stay, None, "the probability of 1 is -1"),
        ({(0, "o"): {0: 1}}, {}, None, "goes nowhere from node only after o=o, a=0, r=0, o'=o"),
        ({(0, "o"): {0: 1}}, {(0, "o", 0, 0, "o"): {1: 1}}, None, "1 is no node"),
        ({(0, "o"): {0: 1}}, stay, {0: F(1, 3)}, "sums to 1/3"),
    ):
        with pytest.raises(PolicyError, match=message):
            one_node(P, act, after, start)


def test_a_policy_of_another_memory_is_refused():
    P = recall4()
    with pytest.raises(PolicyError, match="other observations"):
        controller_of(P, "B1", uniform(augment(P, "B2")))


def test_merging_follows_what_comes_after():
    """Two nodes that act alike now but lead to nodes that do not are kept apart."""
    P = recall(gamma=1)
    E = augment(P, memories.F(4))
    chain = {("0", "o"): (1, "1"), ("1", "o"): (1, "2"), ("2", "o"): (2, "3"), ("3", "o"): (2, "3")}
    controller = controller_of(P, memories.F(4), Policy.deterministic(E, chain))
    assert len(controller.minimised()) == fewest_nodes(controller) == 3
