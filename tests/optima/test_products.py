"""What a search on a product is told from elsewhere: the cap of its task, policies of smaller
memories."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import pomdps
from strategies_beliefs import timed
from toy_tasks import small_task

from pomdps import cheese_maze, gravity, heaven_hell, recall, shuttle, tiger
from workbench import Memory, Policy, augment, evaluate, memories
from workbench.core.errors import NeverEnds
from workbench.optima import cap as cap_module
from workbench.optima import memoryless
from workbench.optima.best_history import best_history
from workbench.optima.best_memoryless import best_memoryless
from workbench.optima.branch_and_bound import BranchSearch
from workbench.optima.cap import history_cap, reads_rewards
from workbench.optima.embedding import family_of, lift, smaller_families

F = Fraction
FAMILIES = ["none", "B1", "B2", "K1", "K2", "O1", "O2", "OA1", "OA2"]


# ---------------------------------------------------------------------- where a product comes from


def test_a_product_knows_its_task_and_its_memory():
    P = recall()
    E = augment(P, "OA1")
    assert E.origin.P is P
    assert E.origin.memory.name == "OA1"
    assert P.origin is None
    assert E.with_gamma(F(1, 2)).origin.P.gamma == F(1, 2)
    assert E.scale_rewards(2).origin is None  # the task's rewards are others


# ---------------------------------------------------------------------- smaller memories embed


@settings(max_examples=40)
@given(timed(2), st.sampled_from(FAMILIES), st.integers(0, 1000))
def test_a_lifted_policy_is_worth_what_it_was_worth(P, name, seed):
    E = augment(P, name)
    rng = np.random.default_rng(seed)
    for smaller in smaller_families(family_of(E.origin.memory)):
        small = augment(P, smaller)
        choice = rng.integers(len(small.A), size=len(small.O))
        lifted = Policy.from_actions(E, lift(E, small, choice))
        before = evaluate(small, Policy.from_actions(small, choice), exact=True).value
        assert evaluate(E, lifted, exact=True).value == before


def test_which_families_embed_in_which():
    def names(family):
        return [smaller.name for smaller in smaller_families(family)]

    assert names(memories.OA(2)) == ["none", "K1", "O1", "OA1", "K2", "O2"]
    assert names(memories.O(2)) == ["none", "K1", "O1", "K2"]
    assert names(memories.K(2)) == ["none", "K1"]
    assert names(memories.B(3)) == ["none", "B1", "B2"]
    assert names(memories.none) == []
    own = Memory("B1", [0], ["-"], lambda *_: {0: 1}, {0: 1})
    assert family_of(own) is None


def test_a_large_memory_uses_what_a_small_one_can_do(monkeypatch):
    """No bound over the product itself is needed: O1's policy embeds and meets the task's cap."""
    monkeypatch.setattr(memoryless, "_LARGE", 100)
    found = best_memoryless(augment(gravity(), "OA1"))
    assert found.certified
    assert found.value == pytest.approx(0.95**11, abs=1e-12)
    assert found.nodes == 0


def test_a_buffer_that_may_keep_does_what_the_last_observations_do():
    found = best_memoryless(augment(shuttle(), "O2"), max_nodes=80)
    assert found.certified
    assert found.value == pytest.approx(float(best_memoryless(augment(shuttle(), "K2")).value))


def test_smaller_memories_come_before_climbs_from_anywhere(monkeypatch):
    """O1's policy meets the cap, so that none is needed."""
    E = augment(cheese_maze(), "O2")
    climb = BranchSearch.climb_from

    def watched(search, choice):
        assert search.observations < len(E.O)  # within the search on a smaller product
        climb(search, choice)

    monkeypatch.setattr(BranchSearch, "climb_from", watched)
    assert best_memoryless(E, max_nodes=80).value == pytest.approx(3.57887963)


def test_smaller_memories_share_half_of_the_time(monkeypatch):
    given = []

    def watched(criterion, exact, limits):
        given.append(limits.seconds)
        raise NeverEnds

    monkeypatch.setattr(memoryless, "deterministic_optimum", watched)
    monkeypatch.setattr(memoryless, "_LARGE", 0)
    best_memoryless(augment(cheese_maze(), "O2"), max_nodes=1, max_seconds=6_000)
    assert len(given) == len(smaller_families(memories.O(2)))
    for after, seconds in enumerate(reversed(given)):
        assert seconds <= 3_000 / (1 + after)


# ---------------------------------------------------------------------- Ctrl-C


@pytest.mark.parametrize(("deterministic", "large"), [(True, 20_000), (True, 100), (False, 20_000)])
def test_ctrl_c_within_the_search_for_a_smaller_memory_ends_the_whole(
    monkeypatch, deterministic, large
):
    E = augment(heaven_hell(), "O1")
    run_one = BranchSearch.run_one
    stopped = []

    def interrupted(search):
        assert not stopped
        if search.observations < len(E.O) and search.best is not None:
            stopped.append(search)
            raise KeyboardInterrupt
        run_one(search)

    monkeypatch.setattr(memoryless, "_LARGE", large)
    monkeypatch.setattr(BranchSearch, "run_one", interrupted)
    found = best_memoryless(E, deterministic, max_seconds=60)
    assert stopped
    assert found.interrupted
    assert "interrupted" in found.how
    assert found.value >= stopped[0].value
    assert found.bound >= 0.4521


def test_ctrl_c_within_the_cap_ends_the_whole(monkeypatch):
    solve = cap_module.history_optimum
    monkeypatch.setattr(
        cap_module, "history_optimum", lambda *args: replace(solve(*args), interrupted=True)
    )
    found = best_memoryless(augment(heaven_hell(), "O1"), max_nodes=100, max_seconds=60)
    assert found.interrupted
    assert found.nodes < 100


# ---------------------------------------------------------------------- the cap


@settings(max_examples=25)
@given(timed(2), st.sampled_from(["none", "B1", "K1", "OA1"]))
def test_the_cap_is_the_best_history_based_value_of_the_task(P, name):
    E = augment(P, name)
    found = history_cap(E)
    assert found.exact
    assert found.upper == best_history(P, exact=True).value
    assert found.upper >= best_memoryless(E, exact=True).value
    assert history_cap(augment(P, "B1")) is found  # kept with the task


def test_a_memory_that_reads_rewards_is_capped_by_its_own_histories():
    P = small_task(
        "told by the reward",
        lambda s, a: (
            {(("guess", s[1]), s[1]): 1} if s[0] == "coin" else {("end", 2 * int(a == s[1])): 1}
        ),
        {("coin", b): F(1, 2) for b in (0, 1)},
        omega=lambda s: {"end" if s == "end" else s[0]: 1},
    )
    reads = Memory(
        "reads r", ["0", "1"], ["-"], lambda m, w, o, a, r, o_next: {str(int(r > 0)): 1}, {"0": 1}
    )
    assert reads_rewards(P, reads)
    assert history_cap(P).upper == F(3, 2)
    assert best_history(P).value == F(3, 2)
    assert history_cap(augment(P, reads)).upper == F(5, 2)
    assert best_memoryless(augment(P, reads), exact=True).value == F(5, 2)


def test_tiger_with_two_bits_is_certified_by_the_histories_of_tiger():
    """Two bits reach the best history-based value, which bounds over states do not see."""
    E = augment(tiger(), "B2")
    found = best_memoryless(E)
    assert found.value == pytest.approx(19.3713684, abs=1e-6)
    assert found.gap <= 1e-6
    assert found.bound >= found.value
    assert "history-based" in found.how or found.certified
    assert found.nodes <= 1_000


def test_a_cap_found_in_haste_is_computed_again(monkeypatch):
    asked = []
    solve = cap_module.history_optimum

    def watched(P, exact, limits, tolerance):
        asked.append(limits.seconds)
        return solve(P, exact, limits, tolerance)

    monkeypatch.setattr(cap_module, "history_optimum", watched)
    P = tiger()
    hasty, better = history_cap(P, 0.05), history_cap(P, 1.0)
    assert history_cap(P, 0.5) is better
    assert asked == [0.05, 1.0]
    assert better.upper <= hasty.upper + 1e-12


# ---------------------------------------------------------------------- starts


@settings(max_examples=20)
@given(pomdps(most_observations=3, most_actions=3), st.integers(0, 100))
def test_the_answer_is_never_worse_than_the_start(P, seed):
    pi = Policy.random(P, seed)
    found = best_memoryless(P, deterministic=False, start=pi, starts=0)
    assert found.value >= evaluate(P, pi).value - 1e-9
    rounded = Policy.from_actions(P, pi.actions)
    few = best_memoryless(P, start=pi, max_nodes=1)
    assert few.value >= evaluate(P, rounded).value - 1e-9


def test_time_limits_are_kept_and_said():
    E = augment(gravity(), "O1")
    found = best_memoryless(E, deterministic=False, max_seconds=1e-6)
    assert len(found.starts) == 1
    assert "stopped after 1e-06 seconds" in found.how
    assert found.value <= found.bound
