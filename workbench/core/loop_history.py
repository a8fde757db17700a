"""What happened in a run of the oracle loop: when the greedy action of each row changed.

pi_n is known from the start, the steps and these changes alone, in fractions as well: while greedy
stays on column c, pi_n(.|o) = x pi(.|o) + (1-x) c with x the product of 1 - step. Floats are
rounded at every step, this is not. Rows that began equal and changed alike are *twins*: they are
equal still.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.fields import RATIONALS
from workbench.core.numbers import Number, read_decimal
from workbench.core.policy import Policy

Actions = NDArray[np.int64]
Array = NDArray[Any]
Schedule = Callable[[int], Number]


class LoopHistory:
    """The changes of greedy in a run, by row.

    Attributes
    ----------
    turns : `turns[o]`, pairs (iterate, column), in order; column -1 is none.
    twin : `twin[o]`, rows with the same entry are equal.
    """

    def __init__(self, start: Policy, steps: Schedule, order: Actions):
        self.start, self.steps, self.order = start, steps, order
        self.turns: list[list[tuple[int, int]]] = [[] for _ in start.O]
        table = np.broadcast_to(start.prob.floats, start.prob.shape)
        self.twin = np.unique(table, axis=0, return_inverse=True)[1].reshape(-1)

    def add(self, turns: list[Any]) -> bool:
        """Note changes (iterate, row, column), in order. Returns whether some rows are no longer
        twins."""
        latest: dict[int, list[tuple[int, int]]] = {}
        for n, o, column in turns:
            latest.setdefault(o, []).append((n, column))
        for o, some in latest.items():
            self.turns[o] += some
        names: dict[Any, int] = {}
        codes = np.zeros(len(self.twin), dtype=np.int64)
        for o, some in latest.items():
            codes[o] = names.setdefault(tuple(some), len(names) + 1)
        before = int(self.twin.max(initial=0)) + 1
        self.twin = np.unique(self.twin * (len(names) + 1) + codes, return_inverse=True)[1]
        return int(self.twin.max(initial=0)) + 1 > before

    def restore(self, n: int) -> None:
        """Forget what happened from iterate n on."""
        for row in self.turns:
            while row and row[-1][0] >= n:
                row.pop()
        self.twin = np.arange(len(self.turns))

    def fractions(self, n: int) -> Array:
        """pi_n in fractions, its columns in the order of ties."""
        pi = RATIONALS.enter(self.start.prob)[:, self.order].copy()
        kept: dict[tuple[int, int], Any] = {}
        for o, turns in enumerate(self.turns):
            for i, (begin, column) in enumerate(turns):
                end = turns[i + 1][0] if i + 1 < len(turns) else n
                if (begin, end) not in kept:
                    kept[begin, end] = self._kept_between(begin, end)
                if column >= 0:
                    x = kept[begin, end]
                    pi[o] = pi[o] * x
                    pi[o, column] = pi[o, column] + (1 - x)
        return pi

    def _kept_between(self, begin: int, end: int) -> Any:
        steps = [exact_step(self.steps(n)) for n in range(begin, end)]
        x = RATIONALS.one(1)
        for step in set(steps):
            x = x * RATIONALS.one(1 - step) ** steps.count(step)
        return x

    def kept_since(self, o: int, n: int) -> float:
        """The product of 1 - step since greedy last changed on a row, if it is above 1e-12."""
        since, product = self.turns[o][-1][0] if self.turns[o] else 0, 1.0
        while n > since and product > 1e-12:
            n -= 1
            product *= 1 - float(self.steps(n))
        return product


def mixed(pi: Array, goal: Actions, x: Any) -> Array:
    """x pi + (1 - x) goal, on the rows that have one."""
    rows = np.flatnonzero(goal >= 0)
    table = pi.copy()
    table[rows] = table[rows] * x
    table[rows, goal[rows]] += 1 - x
    return table


@lru_cache(maxsize=256, typed=True)  # 0.1 is 1/10, a fraction that equals the float is not
def exact_step(size: Number) -> Fraction:
    """A step as a fraction: a float is the decimal that it is printed as, 0.02 is 1/50."""
    return read_decimal(size) if isinstance(size, float) else Fraction(size)
