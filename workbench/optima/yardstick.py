"""How good a policy could be, beside how good one is: the best value, where it is quickly known."""

from __future__ import annotations

from functools import partial
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.core.improve import Improvement
from workbench.core.numbers import Number
from workbench.core.pomdp import POMDP
from workbench.optima.best_memoryless import best_memoryless
from workbench.optima.optimum import MemorylessOptimum
from workbench.tables.sheet import WrittenNumber
from workbench.text import UNDEFINED, between

SECONDS = 5.0
"""A search for the best policy that is only there for comparison takes no longer."""

_MOST_EXACT = 200
"""States up to which values are compared as fractions, so that 361/400 is shown as such."""


def quick_best(
    P: POMDP, criterion: str = "return", seconds: float = SECONDS
) -> MemorylessOptimum | None:
    """The best deterministic policy found in a few seconds, or None where no search is possible."""
    try:
        exact = P.is_exact and not P.symbols and len(P.S) <= _MOST_EXACT
        return best_memoryless(P, exact=exact, criterion=criterion, max_seconds=seconds)
    except (WorkbenchError, KeyboardInterrupt):
        # Too large, or no deterministic policy ends; Ctrl-C ends what is compared, not the result.
        return None


def best_cell(
    P: POMDP, criterion: str = "return", seconds: float = SECONDS
) -> Number | WrittenNumber:
    """The best value as a cell of a table: one that is not proved is written with its bound.

    >>> from workbench.improvement.batch import sequence_task
    >>> best_cell(sequence_task([[0, 1], [1, 0]]))
    Fraction(0, 1)
    """
    found: Any = quick_best(P, criterion, seconds)
    if found is None:
        return WrittenNumber(None, UNDEFINED)
    if found.certified:
        return found.value
    return WrittenNumber(found.value, between(found.value, found.bound))


Improvement.find_best = staticmethod(partial(best_cell, seconds=1.0))
