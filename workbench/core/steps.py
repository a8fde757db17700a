"""Step sizes as kernels take them; the schedules themselves are in `workbench.learning`."""

from __future__ import annotations

from collections import namedtuple
from dataclasses import dataclass
from typing import Any, ClassVar

StepRule = namedtuple("StepRule", "first halving updates power")
"""A step as kernels take it: with `updates`, which counts the updates of each entry,
first / n^power at the n-th; with `halving`, first / (1 + t / halving); else first."""


@dataclass(frozen=True)
class StepSchedule:
    """A step size that starts at `first` and falls."""

    first: float
    counts: ClassVar[bool] = False
    """Whether it needs the number of updates of each entry."""

    def rule(self, updates: Any) -> StepRule:
        """The step as kernels take it."""
        raise NotImplementedError(f"{type(self).__name__} has no rule")


def step_rule(step: float | StepSchedule, updates: Any = None) -> StepRule:
    """A constant step, or a schedule, as kernels take it."""
    if isinstance(step, StepSchedule):
        return step.rule(updates)
    return StepRule(float(step), None, None, None)
