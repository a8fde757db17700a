"""What memories hold and what optima they add: tasks by hand, their spoiled twins, and a search."""

from __future__ import annotations

import pytest

from workbench.checker.recheck import recheck
from workbench.core.errors import WorkbenchError
from workbench.lab.memory_statements import EncodesOptimum, MoreLocalOptima
from workbench.lab.search import search
from workbench.lab.sequences import SequenceTasks, discounted_sequence_task

LAST_OF_THREE = discounted_sequence_task([[[0, 1], [0, 0]], [[0, 0], [0, 0]]])


def test_what_was_seen_encodes_an_optimum_if_nothing_is_dropped():
    verdict = EncodesOptimum("K2", "K1").exactly(LAST_OF_THREE)
    assert verdict.holds
    (certificate,) = verdict.certificates
    assert "is worth 1" in recheck(certificate)
    assert EncodesOptimum("K2", "K1").score(LAST_OF_THREE) > 0


def test_a_memory_that_encodes_it_as_well_is_no_counterexample():
    first = discounted_sequence_task([[[0, 0], [0, 1]], [[0, 0], [0, 0]]])  # 0, 1, 1: K1 suffices
    assert EncodesOptimum("K2", "K1").exactly(first).holds is False
    assert EncodesOptimum("K2", "K1").score(first) < 0
    assert EncodesOptimum("K1", "K2").exactly(LAST_OF_THREE).holds is False


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


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: EncodesOptimum(()), "needs a memory"),
        (lambda: EncodesOptimum("K1", "Z2"), "unknown memory"),
        (lambda: MoreLocalOptima("none"), "more than none"),
        (lambda: MoreLocalOptima("Z1"), "unknown memory"),
    ],
)
def test_parameters_that_say_nothing_are_refused(make, words):
    with pytest.raises(WorkbenchError, match=words):
        make()
