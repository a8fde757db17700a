"""What the oracle loop has done so far, row by row: enough to write pi_n down in any arithmetic.

While greedy takes a on row o, the row goes from pi(.|o) to x pi(.|o) + (1-x) [. = a], x the product
of 1 - step. So the start, the places where greedy changed and the steps are all there is to know;
floats that were rounded at every step are not needed to say what pi_n is exactly.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterable
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.fields import Field
from workbench.core.numbers import Number, read_decimal
from workbench.core.policy import Policy

Actions = NDArray[np.int64]


class Trail:
    """The greedy choices of the iterates made so far.

    Attributes
    ----------
    start : where the loop began.
    length : how many steps were made.
    """

    def __init__(self, start: Policy):
        self.start, self.length = start, 0
        self._runs: list[tuple[int, Number]] = []  # (first iterate, size) of equal steps in a row
        self._turns: list[list[tuple[int, int]]] = [[] for _ in range(len(start.O))]
        self._tables: dict[Field, tuple[int, NDArray[Any]]] = {}
        self._begin_twins()

    def _begin_twins(self) -> None:
        prob = self.start.prob
        rows = prob.floats if prob.codes is None else prob.codes
        rows = np.broadcast_to(rows, prob.shape)
        self._twin: list[int] = np.unique(rows, axis=0, return_inverse=True)[1].reshape(-1).tolist()
        self._latest: dict[tuple[int, int], int] = {}  # of the rows that turned at one iterate
        self._latest_n, self._names = -1, len(self._twin)
        self._twins: Actions | None = None

    def turn(self, n: int, o: int, action: int) -> None:
        """From iterate n on greedy takes an action on row o; -1 leaves the row as it is."""
        self._turns[o].append((n, action))
        self._part(n, o, action)

    def _part(self, n: int, o: int, action: int) -> None:
        """Rows that turn otherwise, or at another iterate, are no longer twins."""
        self._twins = None
        if n != self._latest_n:
            self._latest, self._latest_n = {}, n
        key = self._twin[o], action
        if key not in self._latest:
            self._latest[key] = self._names
            self._names += 1
        self._twin[o] = self._latest[key]

    @property
    def twins(self) -> Actions:
        """`twins[o]`, the first row that began like row o and turned as it did ever since: the two
        are equal."""
        if self._twins is None:
            _, first, inverse = np.unique(self._twin, return_index=True, return_inverse=True)
            self._twins = np.asarray(first[inverse.reshape(-1)], dtype=np.int64)
        return self._twins.copy()

    def extend(self, steps: Iterable[Number]) -> None:
        """Steps of these sizes were made."""
        for size in steps:
            if not self._runs or self._runs[-1][1] != size:
                self._runs.append((self.length, size))
            self.length += 1

    def cut(self, n: int) -> None:
        """Forget what came after the first n steps."""
        self.length = n
        self._tables.clear()
        while self._runs and self._runs[-1][0] >= n:
            self._runs.pop()
        for row in self._turns:
            while row and row[-1][0] >= n:
                row.pop()
        self._begin_twins()
        turns = [(first, o, action) for o, row in enumerate(self._turns) for first, action in row]
        for first, o, action in sorted(turns):
            self._part(first, o, action)

    def greedy(self) -> Actions:
        """The greedy actions of the last iterate."""
        return np.array([row[-1][1] if row else -1 for row in self._turns], dtype=np.int64)

    def table(self, field: Field) -> NDArray[Any]:
        """pi after all steps, over a field; the start has to be exact.

        Tables are kept for each field and carried on from where they were asked for last.
        """
        done, pi = self._tables.get(field, (0, None))
        if pi is None:
            pi = field.enter(self.start.prob).copy()
        powers: dict[tuple[int, int], Any] = {}
        for o, turns in enumerate(self._turns):
            for begin, end, action in _since(turns, done, self.length):
                if (begin, end) not in powers:
                    powers[begin, end] = self._product(field, begin, end)
                x = powers[begin, end]
                pi[o] = pi[o] * x
                pi[o, action] = pi[o, action] + (1 - x)
        self._tables[field] = self.length, pi
        return pi.copy()

    def kept(self, o: int) -> float:
        """The product of 1 - step since greedy last changed on a row; what is below 1e-12 may be
        left uncounted."""
        since = self._turns[o][-1][0] if self._turns[o] else 0
        product, end = 1.0, self.length
        for first, size in reversed(self._runs):
            if end <= since or product < 1e-12:
                break
            product *= (1 - float(size)) ** (end - max(first, since))
            end = first
        return product

    def _between(self, begin: int, end: int) -> list[tuple[int, int, Number]]:
        """Runs of equal steps from iterate `begin` to `end`."""
        found = []
        at = bisect.bisect_right(self._runs, begin, key=lambda run: run[0]) - 1
        while at < len(self._runs) and self._runs[at][0] < end:
            last = self._runs[at + 1][0] if at + 1 < len(self._runs) else self.length
            low, high = max(self._runs[at][0], begin), min(last, end)
            if low < high:
                found.append((low, high, self._runs[at][1]))
            at += 1
        return found

    def _product(self, field: Field, begin: int, end: int) -> Any:
        x = field.one(1)
        for low, high, size in self._between(begin, end):
            x = x * (1 - field.one(exact_size(size))) ** (high - low)
        return x


def _since(turns: list[tuple[int, int]], done: int, end: int) -> list[tuple[int, int, int]]:
    """(begin, end, action) of what greedy did on a row from iterate `done` to `end`."""
    found: list[tuple[int, int, int]] = []
    for begin, action in reversed(turns):
        if end <= done:
            break
        if action >= 0 and max(begin, done) < end:
            found.append((max(begin, done), end, action))
        end = begin
    return found[::-1]


@lru_cache(maxsize=256, typed=True)  # 0.1 is 1/10, a fraction that equals the float is not
def exact_size(size: Number) -> Fraction:
    """A step as a fraction: a float is the decimal that it is printed as, 0.02 is 1/50."""
    return read_decimal(size) if isinstance(size, float) else Fraction(size)
