"""How common being stuck is: intervals, tables, and the smallest tasks of their kind, rediscovered
by enumeration."""

import json
from dataclasses import replace
from itertools import product
from math import comb, gcd

import numpy as np
import pytest

from workbench.certificates.every_k import stuck_for_every_k
from workbench.certificates.loop import certify
from workbench.checker.recheck import recheck
from workbench.core.errors import TooLarge, WorkbenchError
from workbench.improvement.batch import sequence_task, stuck
from workbench.lab import frequencies
from workbench.lab.frequencies import (
    DISTRIBUTIONS,
    Share,
    how_common,
    random_tables,
    small_tables,
    stuck_with_all,
    worse_with_more,
)

UP_TO_SIZE_2 = ["OA2", "OA1", "K1", "K2", "B1", "B2", "O1", "O2"]

ALL_STUCK = [[[15, 1], [13, 0]], [[11, 13], [14, 14]]]
ALL_STUCK_IN_FOUR_STEPS = [
    [[[0, 1], [0, 1]], [[1, 1], [0, 1]]],
    [[[2, 0], [0, 1]], [[0, 2], [0, 1]]],
]


def binomial_tail(hits: int, of: int, p: float) -> float:
    """The probability of at least so many hits."""
    return sum(comb(of, k) * p**k * (1 - p) ** (of - k) for k in range(hits, of + 1))


@pytest.mark.parametrize(("hits", "of"), [(0, 10), (1, 10), (5, 40), (40, 40)])
def test_at_the_ends_of_the_interval_the_tails_are_half_of_what_is_left(hits, of):
    low, high = Share(hits, of).interval
    assert low <= hits / of <= high
    if hits:
        assert binomial_tail(hits, of, low) == pytest.approx(0.025)
    if hits < of:
        assert 1 - binomial_tail(hits + 1, of, high) == pytest.approx(0.025)


@pytest.mark.parametrize(
    ("most", "actions", "length"), [(1, 2, 2), (3, 2, 2), (1, 2, 3), (1, 3, 2)]
)
def test_small_tables_are_those_of_a_brute_force_count(most, actions, length):
    """Every table of whole numbers is c r + d for exactly one of them, c > 0."""
    found = {tuple(map(int, t.ravel())) for t in small_tables(most, actions, length)}
    expected = set()
    for flat in product(range(most + 1), repeat=actions**length):
        moved = [x - min(flat) for x in flat]
        if divisor := gcd(*moved):
            expected.add(tuple(x // divisor for x in moved))
    assert found == expected
    assert len(small_tables(most, actions, length)) == len(found)


@pytest.mark.parametrize("memory", ["B1", "OA1", "K1"])
def test_shift_and_scale_do_not_matter(memory):
    tables = small_tables(2, 2, 3)[::60]
    plain, moved = (stuck(t, memory) for t in (tables, 4 * tables - 8))
    assert np.array_equal(plain.stuck, moved.stuck)


def test_random_tables_are_the_same_for_the_same_seed():
    for distribution in DISTRIBUTIONS:
        one, same, other = (random_tables(distribution, 3, 2, 50, seed) for seed in (1, 1, 2))
        assert one.shape == (50, 3, 3)
        assert np.array_equal(one, same)
        assert not np.array_equal(one, other)
    with pytest.raises(WorkbenchError, match="distribution"):
        random_tables("cauchy", 2, 2, 1, 0)
    with pytest.raises(TooLarge):
        small_tables(9, 3, 2)


def test_the_smallest_task_on_which_every_bk_is_stuck_is_found_by_enumeration():
    for most, expected in ((5, []), (6, [[[5, 4], [0, 6]], [[6, 0], [4, 5]]])):
        tables = small_tables(most, 2, 2)
        left = tables[stuck_with_all(tables, ["B3", "B2", "B1"])].astype(int).tolist()
        assert left == expected
    for rewards in expected:
        recheck(json.loads(json.dumps(stuck_for_every_k(rewards))))
        assert certify(sequence_task(rewards), "OA1")["claim"] == "optimal"


def test_oa1_is_never_stuck_on_two_steps():
    for tables in (
        small_tables(5, 2, 2),
        small_tables(1, 3, 2),
        random_tables("normal", 4, 2, 500, 1),
    ):
        assert how_common(tables, ["OA1"])["OA1"].hits == 0


def test_the_smallest_largest_reward_with_oa1_stuck_and_b1_b2_b3_not_is_2():
    assert how_common(small_tables(1, 2, 3), ["OA1"])["OA1"].hits == 0
    task = sequence_task([[[0, 0], [2, 0]], [[0, 0], [0, 1]]])
    assert [certify(task, m)["claim"] for m in ("OA1", "B1", "B2", "OA2")] == [
        "stuck",
        *["optimal"] * 3,
    ]


@pytest.mark.parametrize(
    "rewards", [ALL_STUCK, ALL_STUCK_IN_FOUR_STEPS], ids=["three steps", "four steps"]
)
def test_all_memories_up_to_size_2_are_stuck(rewards):
    assert stuck_with_all(np.array([rewards], dtype=float), UP_TO_SIZE_2).tolist() == [0]
    for memory in UP_TO_SIZE_2:
        certificate = certify(sequence_task(rewards), memory)
        assert (certificate["status"], certificate["claim"]) == ("proved", "stuck")
        recheck(certificate)


def test_a_larger_memory_can_do_worse():
    table = np.array([[[3, 2], [0, 4]], [[0, 1], [1, 0]]], dtype=float)
    one, two = stuck(table, "B1"), stuck(table, "B2")
    assert worse_with_more(one, two).tolist() == [True, False]
    assert worse_with_more(two, one).tolist() == [False, False]


def test_the_interval_holds_however_many_of_the_unsure_ones_are_hits():
    share = Share(5, 40, unsure=7)
    assert share.share == 5 / 40
    assert share.interval == (Share(5, 40).interval[0], Share(12, 40).interval[1])
    assert Share(5, 12, unsure=7).interval[1] == 1
    assert repr(share).endswith("], 7 unsure")


def test_loops_that_floats_cannot_tell_are_counted_apart(monkeypatch):
    tables = random_tables("normal", 2, 3, 60, seed=1)
    more, found = (stuck(tables, memory) for memory in ("OA2", "OA1"))
    better = worse_with_more(more, found)
    assert found.unsure.any()
    doubtful = replace(
        found, unsure=found.unsure | (np.arange(60) == np.argmax(better & found.stuck))
    )
    monkeypatch.setattr(frequencies, "stuck", lambda *_, **__: doubtful)
    share = how_common(tables, ["OA1"])["OA1"]
    assert (share.hits, share.unsure) == (found.stuck.sum() - 1, found.unsure.sum() + 1)
    assert worse_with_more(more, doubtful).sum() == better.sum() - 1


def test_stuck_with_all_keeps_the_places_of_the_tables():
    tables = random_tables("integers", 3, 2, 300, 4)
    both = np.logical_and(*(stuck(tables, m).stuck for m in ("B1", "K1")))
    assert stuck_with_all(tables, ["B1", "K1"]).tolist() == np.flatnonzero(both).tolist()
