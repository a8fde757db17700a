"""Step sizes that decrease, for learners whose constant step would never let them settle.

    decreasing(first, halving)    first / (1 + t / halving)     at time t = 0, 1, 2, ... of the run
    per_visit(first, power)       first / n(o,a)^power          at the n-th update of q(o, a)

With power 1 the second one averages; both meet Robbins and Monro's conditions (for powers above
1/2). A number instead is a constant step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from workbench.core.steps import StepRule, StepSchedule


@dataclass(frozen=True)
class Decreasing(StepSchedule):
    """The step first / (1 + t / halving): half after `halving` steps, then falling as 1/t.

    >>> str(decreasing(0.1, halving=500))
    '0.1 / (1 + t / 500)'
    """

    first: float = 0.5
    halving: float = 1000.0

    def __str__(self) -> str:
        return f"{self.first:g} / (1 + t / {self.halving:g})"

    def rule(self, updates: Any) -> StepRule:
        return StepRule(float(self.first), float(self.halving), None, None)


@dataclass(frozen=True)
class PerVisit(StepSchedule):
    """The step first / n^power at the n-th update of a pair (o, a).

    >>> str(per_visit())
    '1 / n(o,a)'
    """

    first: float = 1.0
    power: float = 1.0
    counts = True

    def __str__(self) -> str:
        return f"{self.first:g} / n(o,a)" + ("" if self.power == 1 else f"^{self.power:g}")

    def rule(self, updates: Any) -> StepRule:
        return StepRule(float(self.first), None, updates, float(self.power))


decreasing, per_visit = Decreasing, PerVisit
