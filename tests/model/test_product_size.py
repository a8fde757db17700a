"""What is known about the size of a product before it is walked: never more than there is."""

import importlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

import pomdps
from workbench import POMDP, augment
from workbench.core.errors import TooLarge
from workbench.core.memories import attach
from workbench.core.product_size import least_buffered_size

MEMORIES = ("O1", "O2", "OA1", "OA2", "K2", "B1")


def fits(P, memory):
    least = least_buffered_size(P, attach(memory, P))
    E = augment(P, memory)
    return least.states < len(E.S) and least.outcomes < len(E.p.s_next)


@given(st.integers(0, 10**6), st.sampled_from(MEMORIES))
def test_a_buffer_has_more_states_than_what_a_component_fills_it_with(seed, memory):
    assert fits(POMDP.random(seed, successors=1 + seed % 2, emissions=1 + seed % 3), memory)


@pytest.mark.parametrize("task", ["short_corridor", "t_maze", "tiger", "recall_variant"])
@pytest.mark.parametrize("memory", MEMORIES)
def test_so_it_is_on_bundled_tasks(task, memory):
    assert fits(getattr(pomdps, task)(), memory)


def test_the_bound_counts_what_may_be_seen_where_an_episode_stays():
    P = pomdps.tiger()
    # two hidden states of two sounds each, two sounds and three actions to push
    assert least_buffered_size(P, attach("OA2", P)).states == 2 * 2 * 6**2
    assert least_buffered_size(P, attach("K2", P)).states == 0


def test_what_is_far_too_large_is_refused_before_any_walk(monkeypatch):
    def walked(*_):
        raise AssertionError("walked")

    monkeypatch.setattr(
        importlib.import_module("workbench.core.augment"), "discover_states", walked
    )
    with pytest.raises(TooLarge, match=r"has more than 41,154,000 states and 363,527,000 outcomes"):
        augment(pomdps.gravity(), "OA3", most=300_000_000)
