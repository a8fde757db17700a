"""Definition A.2: which memories can keep beliefs apart, decided and checked in several ways."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
import reference_histories as reference
from hypothesis import assume, given, reject, settings
from hypothesis import strategies as st
from reference_expressive import separating_update
from strategies_beliefs import (
    HALF,
    colourable,
    colouring_tasks,
    crisp,
    overwritten,
    pointed,
    small_memories,
    tiger,
)
from toy_tasks import small_task

from pomdps import gravity, recall, recall4, recall_variant
from workbench import POMDP, Memory, memories
from workbench.agents.beliefs import Belief, TooManyBeliefs, belief, explore_beliefs
from workbench.core.errors import NotExact, WorkbenchError
from workbench.memories import attach
from workbench.sufficiency.expressive import is_sufficiently_expressive
from workbench.sufficiency.product_search import WriteSearch
from workbench.sufficiency.update import verify_f

BIT = Memory("bit", [0, 1], [0, 1], lambda m, w, o, a, r, o_next: {w: 1}, {0: 1})
"""B1 without the mark of a built-in family, so that the general search decides about it."""


def check_clique(P: POMDP, found) -> None:
    """The members of a clique of histories end alike and differ in belief, and are more than the
    memory states."""
    assert len(found.clique) > found.memory_states
    beliefs = {belief(P, H) for H in found.clique}
    assert len(beliefs) == len(found.clique)
    assert len({H[-1] for H in found.clique}) == 1


# ---------------------------------------------------------------------- the paper's tasks and
# memories

EXPRESSIVE = {
    recall: "B3 B4 B5 OA2 OA3",
    recall4: "B3 B4 B5 OA1 OA2 OA3",
    recall_variant: "B3 B4 B5 OA2 OA3",
}
NOT_EXPRESSIVE = {
    recall: "none B1 B2 O1 O2 O3 OA1 K1 K2 K3",
    recall4: "none B1 B2 O1 O2 O3 K1 K2 K3",
    recall_variant: "none B1 B2 O1 O2 O3 OA1 K1 K2 K3",
    gravity: "none K1 K2 O1 OA1",
}


def listed(table):
    return [(task, name) for task, names in table.items() for name in names.split()]


@pytest.mark.parametrize(("task", "name"), [*listed(EXPRESSIVE), (gravity, "B1")])
def test_expressive_memories_come_with_an_f_that_keeps_all_beliefs_apart(task, name):
    P = task()
    found = is_sufficiently_expressive(P, name)
    assert found
    assert verify_f(P, name, found.f)
    assert reference.separates(P, attach(name, P), _total(found.f), 2)


def _total(f):
    """f as a mapping that answers for arguments that do not matter as well."""

    class Total(dict):
        def __missing__(self, key):
            return next(iter(f.values()))

    return Total(f)


@pytest.mark.parametrize(("task", "name"), listed(NOT_EXPRESSIVE))
def test_memories_that_are_not_expressive_come_with_a_reason(task, name):
    P = task()
    found = is_sufficiently_expressive(P, name)
    assert not found
    assert found.f is None
    if found.method == "clique":
        check_clique(P, found)
    elif found.method == "the only f":
        H1, H2 = found.clique
        assert H1[-1] == H2[-1]
        assert belief(P, H1) != belief(P, H2)
    else:
        # between (3,0) and (4,0) only two cells can be pushed, and each pass toggles the force
        assert (task, found.method) == (gravity, "search")
        assert "an exhaustive search finds no f (" in found.reason


def test_b2_is_not_sufficiently_expressive_for_recall4_whatever_appendix_c_says():
    """Five beliefs share the one observation, and two bits have four memory states; the appendix
    means `encodes`."""
    found = is_sufficiently_expressive(recall4(), "B2")
    assert set(found.clique) == {("o",), *(("o", a, "o") for a in range(4))}
    assert found.memory_states == 4
    assert is_sufficiently_expressive(recall4(), "B3")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["O1", "OA1"])
def test_z3_finds_no_f_of_o1_or_oa1_for_gravity_either(name):
    assert separating_update(gravity(), name) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", ["O2", "OA2"])
def test_two_cells_are_enough_for_gravity(name):
    found = is_sufficiently_expressive(gravity(), name)
    assert verify_f(gravity(), name, found.f)


def test_no_finite_memory_is_expressive_for_the_tiger():
    found = is_sufficiently_expressive(tiger(), "B4")
    assert not found
    check_clique(tiger(), found)
    assert len(found.clique) == 17


def test_a_memory_larger_than_the_limit_of_beliefs_is_left_undecided_by_an_error():
    with pytest.raises(
        TooManyBeliefs, match=r"more than 20 beliefs, too many to decide whether B10"
    ):
        is_sufficiently_expressive(tiger(), "B10", limit=20)


def test_a_binary_memory_far_too_large_costs_no_more_than_one_that_fits():
    found = is_sufficiently_expressive(recall(), "B24")
    assert verify_f(recall(), "B24", found.f)


def test_a_search_given_up_is_neither_true_nor_false():
    found = is_sufficiently_expressive(gravity(), "O1", budget=3)
    assert found.holds is None
    with pytest.raises(WorkbenchError, match="given up after 3 decisions"):
        bool(found)


def test_floats_are_refused():
    floats = small_task("floats", lambda s, a: {(s, 0): 1}, {0: 0.5, 1: 0.5}, A=["a"], gamma=0)
    with pytest.raises(NotExact, match="mu of floats"):
        is_sufficiently_expressive(floats, "B1")
    with pytest.raises(NotExact, match="mu of floats"):
        verify_f(floats, "B1", {})


def test_an_f_with_holes_is_named():
    with pytest.raises(WorkbenchError, match=r"f says nothing about m=0, o=o, a=2"):
        verify_f(recall(), "B1", {("0", "o", 1): "1"})


# ---------------------------------------------------------------------- properties

tiny = crisp(most_states=3) | pointed()
twisted = pointed() | pointed(per_observation=3) | crisp()
few = (
    st.sampled_from([memories.none, memories.B(1), memories.K(1), memories.O(1), BIT])
    | small_memories()
)


def finite(P: POMDP) -> None:
    assume(explore_beliefs(P, limit=30).complete)


@settings(max_examples=60)
@given(tiny, few)
def test_the_decision_agrees_with_trying_every_f(P, memory):
    memory = attach(memory, P)
    count = len(memory.M) * len(P.O) * len(P.A)
    assume(len(memory.W) ** count <= 300)
    found = is_sufficiently_expressive(P, memory)
    assert bool(found) == any(verify_f(P, memory, f) for f in reference.all_updates(P, memory))
    if found:
        assert verify_f(P, memory, found.f)


rich = (
    pointed(per_observation=3)
    | pointed(per_observation=3, observations=1, actions=3)
    | pointed(observations=3)
)


@settings(max_examples=60)
@given(rich, small_memories(states=4, writes=3) | small_memories(states=3))
def test_the_search_agrees_with_plain_backtracking(P, memory):
    searched = WriteSearch(explore_beliefs(P), memory).run(100_000, "f")
    assert searched.finished
    try:
        plain = reference.find_f(P, memory, left=[1_000])
    except reference.TooLong:
        reject()  # the plain search takes exponential time on a few of them
    assert (searched.chosen is not None) == (plain is not None)
    assert is_sufficiently_expressive(P, memory).holds == (searched.chosen is not None)


def test_a_write_is_excluded_only_as_long_as_what_it_collides_with_is_reached():
    """A collision rests on the decisions that reached either side; with those of one side alone the
    f below is missed."""
    onward = {
        "x0": ["x0"],
        "x2": ["x0", "y0"],
        "y0": ["x0", "y2"],
        "y1": ["y0"],
        "y2": ["x2", "y1"],
    }
    P = small_task(
        "rounds",
        lambda s, a: {(t, 0): Fraction(1, len(onward[s])) for t in onward[s]},
        {"x0": HALF, "y1": HALF},
        A=["go"],
        omega=lambda s: {s[0]: 1},
        gamma=HALF,
        terminal=set(),
    )
    after = {"x": [(3, 2), (0, 2), (1, 0), (1, 3)], "y": [(2, 1), (3, 3), (1, 1), (2, 3)]}
    memory = Memory(
        "four", range(4), range(2), lambda m, w, o, a, r, o_next: {after[o][m][w]: 1}, {0: 1}
    )
    f = {
        (m, o, "go"): w
        for o, writes in {"x": (0, 0, 0, 1), "y": (1, 1, 1, 0)}.items()
        for m, w in enumerate(writes)
    }
    assert verify_f(P, memory, f)
    assert is_sufficiently_expressive(P, memory)


@settings(max_examples=150)
@given(colouring_tasks(), st.integers(2, 4))
def test_keeping_beliefs_apart_can_be_as_hard_as_colouring_a_graph(drawn, colours):
    neighbours, P = drawn
    memory = overwritten(colours)
    searched = WriteSearch(explore_beliefs(P), memory).run(100_000, "f")
    assert searched.finished
    assert (searched.chosen is not None) == colourable(neighbours, colours)


@given(tiny, few, st.data())
def test_verifying_an_f_agrees_with_the_definition_on_every_pair_of_histories(P, memory, data):
    memory = attach(memory, P)
    arguments = list(itertools.product(memory.M, P.O, P.A))
    f = {argument: data.draw(st.sampled_from(list(memory.W))) for argument in arguments}
    found = verify_f(P, memory, f)
    if found:
        assert reference.separates(P, memory, f, 3)
    else:
        clash = found.collision
        assert clash.history_1[-1] == clash.history_2[-1]
        b_1, b_2 = belief(P, clash.history_1), belief(P, clash.history_2)
        assert b_1 == clash.b_1 != clash.b_2 == b_2
        longest = max(len(clash.history_1), len(clash.history_2)) // 2
        Omega = reference.last_memory_states(P, memory, f, longest)
        assert clash.m in Omega[clash.history_1] & Omega[clash.history_2]


@given(twisted, st.sampled_from(["none", "B1", "B2", "O1", "OA1", "O2"]))
def test_the_search_and_z3_agree(P, name):
    finite(P)
    own = is_sufficiently_expressive(P, name)
    f = separating_update(P, name)
    assert own.holds == (f is not None)
    for update in (own.f, f):
        assert update is None or verify_f(P, name, update)


@given(twisted, st.integers(1, 2))
def test_colouring_and_searching_agree_about_binary_memories(P, k):
    finite(P)
    graph = explore_beliefs(P, limit=30)
    searched = WriteSearch(graph, attach(memories.B(k), P)).run(50_000, "B")
    assume(searched.finished)
    assert (searched.chosen is not None) == bool(is_sufficiently_expressive(P, memories.B(k)))


@given(
    twisted, st.sampled_from([memories.B, memories.O, memories.OA, memories.K]), st.integers(1, 2)
)
def test_a_larger_memory_of_a_family_is_no_less_expressive(P, family, k):
    finite(P)
    assume(is_sufficiently_expressive(P, family(k)))
    assert is_sufficiently_expressive(P, family(k + 1))


@given(twisted)
def test_a_clique_is_what_it_says(P):
    found = is_sufficiently_expressive(P, "O1")
    if found.method == "clique":
        check_clique(P, found)
        last, longest = found.clique[0][-1], max(len(H) for H in found.clique) // 2
        possible = {
            m
            for f in itertools.islice(reference.all_updates(P, attach("O1", P)), 64)
            for Omega in [reference.last_memory_states(P, attach("O1", P), f, longest)]
            for H in found.clique
            for m in Omega[H]
        }
        assert len(possible) <= found.memory_states
        assert {Belief(belief(P, H)) for H in found.clique} <= set(
            explore_beliefs(P, limit=200).beliefs(last)
        )


def test_a_gamma_that_reads_rewards_is_followed_along_the_hidden_states():
    """The reward of the first step shows the hidden coin to the memory, but not to the history:
    both m go with both s."""
    P = small_task(
        "coin",
        lambda s, a: {((s[0], s[1] + 1), int(s[0] == "heads")): 1} if s[1] < 2 else {("end", 0): 1},
        {("heads", 0): HALF, ("tails", 0): HALF},
        A=["wait"],
        omega=lambda s: {"o" if s == "end" else s[1]: 1},
    )
    saves = Memory("saves r", [0, 1], ["-", "="], lambda m, w, o, a, r, o_next: {int(r): 1}, {0: 1})
    assert is_sufficiently_expressive(P, saves)  # the time is seen, and tells the belief


def test_a_reward_can_tell_beliefs_apart_or_confuse_them():
    def task(rewards):
        def p(s, a):
            return {("late", r): x for r, x in rewards.items()} if s == "early" else {("end", 0): 1}

        return small_task("two steps", p, "early", A=["go"])

    saves = Memory("saves r", [0, 1], ["-", "="], lambda m, w, o, a, r, o_next: {int(r): 1}, {0: 1})
    assert is_sufficiently_expressive(task({1: 1}), saves)
    assert not is_sufficiently_expressive(task({0: HALF, 1: HALF}), saves)
