"""Step sizes that decrease, for learners whose constant step would never let them settle.

    decreasing(first, halving)    first / (1 + t / halving)     at time t = 0, 1, 2, ... of the run
    per_visit(first, power)       first / n(o,a)^power          at the n-th update of q(o, a)

With power 1 the second one averages; both meet Robbins and Monro's conditions (for powers above
1/2). A number instead is a constant step.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Decreasing:
    """The step first / (1 + t / halving) at time t."""

    first: float
    halving: float

    def __str__(self) -> str:
        return f"{self.first:g} / (1 + t / {self.halving:g})"


@dataclass(frozen=True)
class PerVisit:
    """The step first / n^power at the n-th update of a pair (o, a)."""

    first: float
    power: float

    def __str__(self) -> str:
        return f"{self.first:g} / n(o,a)" + ("" if self.power == 1 else f"^{self.power:g}")


Schedule = Decreasing | PerVisit


def decreasing(first: float = 0.5, halving: float = 1000.0) -> Decreasing:
    """A step that starts at `first`, is half of it after `halving` steps and falls as 1/t then.

    >>> str(decreasing(0.1, halving=500))
    '0.1 / (1 + t / 500)'
    """
    return Decreasing(first, halving)


def per_visit(first: float = 1.0, power: float = 1.0) -> PerVisit:
    """A step that falls with the number of times that its own pair (o, a) was updated.

    >>> str(per_visit())
    '1 / n(o,a)'
    """
    return PerVisit(first, power)
