"""Step sizes: constant, or decreasing for learners that a constant step would never let settle.

    decreasing(first, halving)    first / (1 + t / halving)     at time t = 0, 1, 2, ... of the run
    per_visit(first, power)       first / n(o,a)^power          at the n-th update of q(o, a)

With power 1 the second one averages; both meet Robbins and Monro's conditions (for powers above
1/2). A number instead is a constant step.
"""

from __future__ import annotations

import math
from collections import namedtuple
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np

from workbench.core.numbers import Number, number

Schedule = Callable[[int], Number]
"""The steps of the oracle loop: step n moves by the n-th."""

StepRule = namedtuple("StepRule", "first halving updates power")
"""A step as kernels take it: `first` if `halving` is 0; with `updates`, which counts the updates of
each entry, first / n^power at the n-th; else first / (1 + t / halving). All rules have the same
types, so that a kernel is compiled once."""

_NOT_COUNTED = np.empty(0)


@dataclass(frozen=True)
class StepSchedule:
    """A step size that starts at `first` and falls."""

    first: float
    counts: ClassVar[bool] = False
    """Whether it needs the number of updates of each entry."""

    def rule(self, updates: Any) -> StepRule:
        """The step as kernels take it."""
        raise NotImplementedError(f"{type(self).__name__} has no rule")


@dataclass(frozen=True)
class Decreasing(StepSchedule):
    """The step first / (1 + t / halving): half after `halving` steps, then falling as 1/t.

    >>> str(decreasing(0.1, halving=500))
    '0.1 / (1 + t / 500)'

    See also: `per_visit`, `learn`, `QLearning`.
    """

    first: float = 0.5
    halving: float = 1000.0

    def __str__(self) -> str:
        return f"{self.first:g} / (1 + t / {self.halving:g})"

    def rule(self, updates: Any) -> StepRule:
        return StepRule(float(self.first), float(self.halving), _NOT_COUNTED, 0.0)


@dataclass(frozen=True)
class PerVisit(StepSchedule):
    """The step first / n^power at the n-th update of a pair (o, a).

    >>> str(per_visit())
    '1 / n(o,a)'

    See also: `decreasing`, `learn`, `QLearning`.
    """

    first: float = 1.0
    power: float = 1.0
    counts = True

    def __str__(self) -> str:
        return f"{self.first:g} / n(o,a)" + ("" if self.power == 1 else f"^{self.power:g}")

    def rule(self, updates: Any) -> StepRule:
        return StepRule(float(self.first), math.inf, updates, float(self.power))


decreasing, per_visit = Decreasing, PerVisit


def step_rule(step: float | StepSchedule, updates: Any = None) -> StepRule:
    """A constant step, or a schedule, as kernels take it."""
    if isinstance(step, StepSchedule):
        return step.rule(updates)
    return StepRule(float(step), 0.0, _NOT_COUNTED, 0.0)


def shrinking_steps(c: Number) -> Schedule:
    """The step sizes c / (1 + c n)^(2/3), which start at c. Their squares have a finite sum.

    >>> [round(shrinking_steps(0.1)(n), 4) for n in (0, 10, 1000)]
    [0.1, 0.063, 0.0046]
    """
    c = number(c)
    return lambda n: c / (1 + c * n) ** Fraction(2, 3)
