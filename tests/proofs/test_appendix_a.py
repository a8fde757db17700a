"""The claims of Appendix A: spoiled certificates, and the statements on random tasks and
memories."""

from __future__ import annotations

import itertools
from math import ceil, log2

import reference_histories as reference
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from judging import first, rejected
from reference_expressive import separating_update
from strategies import families, policies, pomdps, strange_memories
from strategies_beliefs import crisp, small_memories

from proofs.appendix_a1_product import product_differences, toy
from proofs.appendix_a2_optimal import coin, read_off, reads_reward, swap, without_mu
from proofs.appendix_a4_bits import (
    by_maps,
    by_triples,
    exclude_each_other,
    printed_bound,
    turning,
    ways_to_go_on,
)
from proofs.appendix_a4_buffers import (
    depends_only_on,
    early_choice,
    last_actions,
    last_coins,
    pushes,
    what_counts,
)
from workbench import (
    augment,
    best_history,
    best_memoryless,
    evaluate,
    is_sufficiently_expressive,
    memories,
)
from workbench.agents.beliefs import belief, explore_beliefs
from workbench.agents.simulate import alone, pair, sequences
from workbench.memories import attach
from workbench.optima.cap import reads_rewards
from workbench.sufficiency.update import verify_f

# ---------------------------------------------------------------------- spoiled certificates


def test_an_update_that_mixes_beliefs_is_caught():
    c = first("A4.bk*", "memory-update")
    c["f"][0][3] = c["f"][1][3]
    assert "shared by two beliefs" in rejected(c)


def test_an_update_that_writes_what_cannot_be_written_is_caught():
    c = first("A4.bk*", "memory-update")
    c["f"][0][3] = "2"
    assert "not a write" in rejected(c)


def test_the_printed_belief_is_not_taken_for_the_belief():
    c = first("A2.optimal", "memory-update")
    c["starts with mu"] = True
    assert "shared by two beliefs" in rejected(c)


def test_a_clique_that_is_none_is_caught():
    c = first("A4.bk", "clique")
    one_less = {**c, "ways": c["ways"][:-1]}
    assert "8 situations fit" in rejected(one_less)
    twice = {**c, "ways": [*c["ways"], c["ways"][1]]}
    assert "share a memory state" in rejected(twice)
    impossible = {**c, "ways": [["z", "go"], *c["ways"]]}
    assert "no history" in rejected(impossible)


def test_a_product_with_another_probability_is_caught():
    c = first("A1.equivalent", "same-sequences")
    row = c["compiled"]["p"][0][2]
    row[0][2], row[1][2] = row[1][2], row[0][2]
    assert row[0][2] != row[1][2]
    assert "another probability" in rejected(c)


# ---------------------------------------------------------------------- Appendix A.1


@given(st.data())
def test_the_compiled_product_and_the_pair_are_the_same_process(data):
    P = data.draw(pomdps(most_states=3))
    memory = attach(data.draw(families() | strange_memories()), P)
    E = augment(P, memory)
    assert product_differences(P, memory, E) == []
    pi = data.draw(policies(E, deterministic=len(E.A) > 8))
    assert sequences(alone(E), pi, 2) == sequences(pair(P, memory), pi, 2)


def test_a_difference_is_named():
    P, memory = toy()
    assert product_differences(P, memory, augment(P, memories.O(1)))[-1].startswith("p'(. | ")


# ---------------------------------------------------------------------- Appendix A.2


@given(
    crisp(most_states=3),
    st.sampled_from(["none", "B1", "B2", "O1", "OA1", "K1"]) | small_memories(),
)
def test_a_sufficiently_expressive_memory_is_worth_the_best_history_based_policy(P, memory):
    assume(explore_beliefs(P, limit=30).complete)
    memory = attach(memory, P)
    found = is_sufficiently_expressive(P, memory)
    assume(found)
    best = best_history(P, exact=True).value
    E = augment(P, memory)
    assert evaluate(E, read_off(P, memory, found.f), exact=True).value == best
    reached = best_memoryless(E, exact=True).value
    assert reached >= best
    assert reached == best or reads_rewards(P, memory)


def test_a_memory_that_reads_rewards_can_be_better_than_the_history():
    P = coin()
    assert is_sufficiently_expressive(P, reads_reward())
    assert (
        best_memoryless(augment(P, reads_reward()), exact=True).value
        > best_history(P, exact=True).value
    )


@given(crisp(most_states=3))
def test_beliefs_without_mu_are_those_of_the_paper(P):
    for H, b in reference.beliefs(P, 2, mu=dict.fromkeys(P.S, 1)).items():
        assert belief(without_mu(P), H) == b


def test_swap_has_one_printed_belief_and_two_beliefs():
    assert len(explore_beliefs(without_mu(swap()))) == 1
    assert len(explore_beliefs(swap())) == 2


# ---------------------------------------------------------------------- Appendix A.4


@given(crisp())
def test_both_bounds_on_the_number_of_bits_come_with_an_f(P):
    graph = explore_beliefs(P, limit=12)
    assume(graph.complete and len(graph))
    for least, make in (
        (len(P.O) * len(P.A) * graph.u + 1, by_triples),
        (graph.u ** len(P.O), by_maps),
    ):
        k = max(1, ceil(log2(least)))
        assume(k <= 7)
        assert verify_f(P, f"B{k}", make(P, k))


@given(crisp())
def test_the_printed_bound_is_enough_unless_all_sizes_are_powers_of_two(P):
    graph = explore_beliefs(P, limit=12)
    assume(graph.complete and len(graph))
    sizes = len(P.O), len(P.A), graph.u
    k = printed_bound(P)
    assume(k <= 7)
    tight = (
        all(n & (n - 1) == 0 for n in sizes) and graph.u ** len(P.O) > len(P.O) * len(P.A) * graph.u
    )
    if not tight:
        assert is_sufficiently_expressive(P, f"B{k}" if k else "none")
    assert is_sufficiently_expressive(P, f"B{k + 1}")


def test_the_counterexample_needs_a_word_for_each_way_to_go_on():
    P = turning()
    ways = [after for _, after in ways_to_go_on(explore_beliefs(P))]
    assert len(ways) == 9
    assert all(exclude_each_other(one, other) for one, other in itertools.combinations(ways, 2))
    assert printed_bound(P) == 3
    assert not is_sufficiently_expressive(P, "B3")
    assert separating_update(P, "B3") is None


@given(
    crisp(),
    st.integers(1, 2),
    st.sampled_from([("pairs", "OA"), ("besides", "K"), ("besides", "O")]),
)
def test_always_pushing_separates_exactly_if_the_belief_depends_on_what_is_pushed(P, k, kind):
    reading, family = kind
    assume(explore_beliefs(P, limit=20).complete)
    assert bool(verify_f(P, f"{family}{k}", pushes)) == (depends_only_on(P, k, reading) is None)


@given(crisp(), st.integers(1, 3))
def test_one_cell_less_is_enough_if_the_current_observation_counts(P, k):
    assume(explore_beliefs(P, limit=20).complete)
    assume(depends_only_on(P, k, "counted") is None)
    assert verify_f(P, f"K{k}", pushes)
    assert is_sufficiently_expressive(P, f"K{k - 1}" if k > 1 else "none")


@settings(max_examples=30)
@given(
    crisp(most_states=3),
    st.integers(1, 2),
    st.sampled_from(["pairs", "besides", "counted"]),
    st.booleans(),
)
def test_what_a_belief_depends_on_is_decided_as_on_histories_one_by_one(P, k, what, any_history):
    assume(explore_beliefs(P, limit=20).complete)
    found = depends_only_on(P, k, what, any_history)
    full = k if what == "counted" else k + 1
    known = {}
    broken = False
    for H, b in reference.beliefs(P, 3).items():
        counts = what_counts(H, k, what)
        if any_history or len(counts) >= full:
            broken |= known.setdefault(counts, b) != b
    if broken:
        assert found is not None
    if found is None:
        assert not broken
    else:
        one, other = found
        assert what_counts(one, k, what) == what_counts(other, k, what)


def test_the_tasks_depend_on_what_they_say():
    for k in (1, 2):
        assert depends_only_on(last_actions(k), k, "pairs") is None
        assert depends_only_on(last_actions(k + 1), k, "pairs") is not None
        assert depends_only_on(last_coins(k), k, "besides") is None
        assert depends_only_on(last_coins(k + 1), k, "besides") is not None
    assert depends_only_on(early_choice(), 2, "besides") == (("x", "l", "y"), ("x", "r", "y"))
    assert not verify_f(early_choice(), "K2", pushes)
    assert verify_f(early_choice(), "OA2", pushes)
