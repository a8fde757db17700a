"""Batches of oracle loops on one task of finite horizon, whose rewards may differ (`loop_kernels`).

A single run of `improve` is a batch of one.
"""

from __future__ import annotations

import copy
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core import loop_kernels as kernels
from workbench.core.horizon import Unrolled
from workbench.core.numbers import Number, read_decimal
from workbench.core.segment_kernels import look_ahead
from workbench.core.steps import Schedule

_PIECE = 30_000_000
"""Numbers read by the iterates between two of which Ctrl-C and the clock come through."""

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


class CompiledLoops:
    """Loops that are run side by side.

    Attributes
    ----------
    task, R, work : what the kernels read, `R[b]` of each loop, and where they compute.
    state : the policies, what is greedy, and so on; keeps : 1 - step of all iterates.
    values, marks : `[b, n]`, of the policies, NaN where a loop skipped one; and numbers that tell
        greedy policies apart.
    """

    def __init__(
        self, task: Unrolled, R: Floats, pi: Floats, same: NDArray[np.int64],
        steps: Schedule, size: Floats, first: float, skips: bool = False, pulse: Any = None,
    ):  # fmt: skip
        self.task, self.R, self.same, self.steps = task, R, same, steps
        self.first, self.skips, self.pulse = first, skips, pulse
        self.state = kernels.begin_loops(pi, same, size * task.error, size * task.growth, first)
        self.work = task.make_work(pi.shape[1])
        self.values, self.marks = np.empty((len(R), 0)), np.empty((len(R), 0), dtype=np.uint64)
        self.keeps = np.empty(0)

    def __len__(self) -> int:
        return len(self.R)

    @property
    def n(self) -> int:
        """How many iterates were made."""
        return self.values.shape[1]

    @property
    def error(self) -> Floats:
        """`[b]`, a bound on the errors of q, at pi and on the segment ahead."""
        return self.state.error + (self.n + 2) * self.state.growth

    def advance(self, count: int, looks: bool = True) -> None:
        """Make iterates, until all loops are fixed if anybody looks."""
        size = len(self.task.tables.successor) + self.work.q.size
        until, piece = self.n + count, count if self.skips else 1 + _PIECE // size
        while self.n < until and not self.state.fixed.all():
            self._advance(min(piece, until - self.n), self.first if looks else -1.0)
            if self.pulse is not None:
                self.pulse(self.n, self.values[0, -1])

    def _advance(self, count: int, first: float) -> None:
        begin, state = self.n, self.state
        pairs = np.array([_floats_of(self.steps(begin + i)) for i in range(count)])
        steps, keeps = pairs.T.copy()
        values, marks = (np.empty((len(self), count), t) for t in (np.float64, np.uint64))
        if first < 0:
            state.look[:] = first
        try:
            kernels.run_loops(
                self.task.tables, self.R, state, self.work, self.same,
                steps, keeps, first, self.skips, begin, values, marks,
            )  # fmt: skip
        finally:  # Ctrl-C comes through when the kernel is done: values belong to policies
            made = int(state.n.max(initial=begin)) - begin
            self.keeps = np.append(self.keeps, keeps[:made])
            self.marks = np.hstack([self.marks, marks[:, :made]])
            self.values = np.hstack([self.values, values[:, :made]])

    def leaving(self, goal: NDArray[np.int64], which: Any = slice(None)) -> Mask:
        """`[b, o]` for some loops: the rows on which `goal` does not stay greedy on the rest of the
        segment, and those without a goal that its end sees."""
        state, R = self.state, self.R[which]
        leaves, sure = np.zeros(goal.shape, dtype=np.uint8), np.empty(len(R), dtype=bool)
        look_ahead(
            self.task.tables, R, state.pi[which], goal, self.error[which], self.same, self.work,
            leaves, sure,
        )  # fmt: skip
        state.unsure[which] |= ~leaves.any(axis=1) & ~sure
        return leaves > 0

    def kept_since(self) -> Floats:
        """`[b, o]`, what is left of a row as it was when its greedy action last changed."""
        return kept_since(self.keeps, self.state.since)

    def part(self, which: Mask) -> CompiledLoops:
        """Some of the loops."""
        if which.all():
            return self
        some = copy.copy(self)
        arrays: Any = [x[which] for x in self.state]
        some.state = kernels.Loops(*arrays)
        some.R, some.values, some.marks = self.R[which], self.values[which], self.marks[which]
        return some


def kept_since(keeps: Floats, since: NDArray[np.int64]) -> Floats:
    """The products of 1 - step from some iterates on."""
    left = np.append(1.0, np.cumprod(keeps[::-1]))
    return left[len(keeps) - since]


@lru_cache(maxsize=256, typed=True)
def _floats_of(size: Number) -> tuple[float, float]:
    """A step, and what it leaves, right to the last bit."""
    return float(size), float(1 - exact_step(size))


@lru_cache(maxsize=256, typed=True)  # 0.1 is 1/10, a fraction that equals the float is not
def exact_step(size: Number) -> Fraction:
    """A step as a fraction: a float is the decimal that it is printed as, 0.02 is 1/50."""
    return read_decimal(size) if isinstance(size, float) else Fraction(size)
