"""more-memory-more-local-optima: a task by hand, its spoiled twins, and a search that finds one."""

from __future__ import annotations

import pytest

from workbench.core.errors import WorkbenchError
from workbench.lab.memory_statements import MoreLocalOptima
from workbench.lab.search import search
from workbench.lab.sequences import SequenceTasks, discounted_sequence_task


def test_to_alternate_either_way_is_a_local_optimum_once_the_step_is_known():
    """2 for 0, 1 and 1 for 1, 0: without memory J = 3 x (1 - x) has one maximum; with K1 both ways
    to alternate are strict local maxima."""
    P = discounted_sequence_task([[0, 2], [1, 0]])
    verdict = MoreLocalOptima("K1").exactly(P)
    assert verdict.holds
    assert verdict.facts["best local maximum"] == "2"
    assert verdict.facts["worse strict local maximum"] == "1"
    assert MoreLocalOptima("K1").score(P) == pytest.approx(0.5)


@pytest.mark.parametrize(
    "rewards",
    [
        [[0, 1], [1, 0]],  # the two are worth the same
        [[2, 0], [0, 1]],  # two local maxima without memory
        [[2, 1], [1, 0]],  # one with memory
    ],
)
def test_spoiled_twins(rewards):
    P = discounted_sequence_task(rewards)
    assert MoreLocalOptima("K1").exactly(P).holds is False
    assert MoreLocalOptima("K1").score(P) <= 0


def test_what_is_flat_is_not_judged():
    P = discounted_sequence_task([[1, 1], [1, 1]])  # every policy is as good as any
    assert MoreLocalOptima("K1").exactly(P).holds is None


def test_a_search_finds_the_smallest():
    space = SequenceTasks(length=2, actions=2, lowest=0, highest=2)
    found = search("more-memory-more-local-optima", over=space, memory="K1", keep=1)
    assert MoreLocalOptima("K1").exactly(discounted_sequence_task(found[0].rewards)).holds


def test_the_memory_must_be_one():
    with pytest.raises(WorkbenchError, match="more than none"):
        MoreLocalOptima("none")
    with pytest.raises(WorkbenchError, match="unknown memory"):
        MoreLocalOptima("Z1")
