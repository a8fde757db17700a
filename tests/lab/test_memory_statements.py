"""What memories hold: tasks by hand and their spoiled twins."""

from __future__ import annotations

import pytest

from workbench.checker.recheck import recheck
from workbench.core.errors import WorkbenchError
from workbench.lab.memory_statements import EncodesOptimum
from workbench.lab.sequences import discounted_sequence_task

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


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: EncodesOptimum(()), "needs a memory"),
        (lambda: EncodesOptimum("K1", "Z2"), "unknown memory"),
    ],
)
def test_parameters_that_say_nothing_are_refused(make, words):
    with pytest.raises(WorkbenchError, match=words):
        make()
