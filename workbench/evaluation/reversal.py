"""Expected visits of a large chain, accurate for each state however seldom it is visited: the chain
run backwards.

    d = mu + gamma P^T d,      d(s) from 1e4 down to 1e-70 and less

With D = diag(d) the unknowns d = D x turn the system into the one of the chain run backwards,

    x(s) = mu(s)/d(s) + sum_{s'} [ gamma P(s',s) d(s') / d(s) ] x(s'),       x = 1,

whose rows sum to at most one: where did the episode come from that is in s now? The residual of
this system is the relative residual of the visits, and the norm of its inverse is the largest
expected *age*, the number of steps taken so far. d is not known, but a rough one does: a few sweeps
of Gauss and Seidel from zero, which add and multiply non-negative numbers only, give every state
its order of magnitude. BiCGSTAB on the scaled system, each of whose steps is a sweep, gives the
rest; sweeps polish what it leaves in rare states; and so on, with a better D, until nothing gets
better. Where that takes long, because episodes stay among a few states for long, groups of states
(`aggregation`) come first. Sweeps go upwards: states are numbered as they are discovered from mu,
and episodes come from there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from workbench.evaluation.aggregation import Aggregation
from workbench.evaluation.krylov_kernels import bicgstab_on_sweeps, scale_rows, sweep

_FIRST_SWEEPS, _POLISH = 20, 3
_ROUNDS = 12
_ITERATIONS, _TRIAL = 400, 60
"""Of BiCGSTAB in one round: a better scaling helps more than patience. A first round is short: most
chains need no more, and groups do more for the others."""

_MOST_JOINED = (8, 1_000)
"""Sizes of groups, in turn: what one way of grouping misses, another does not."""

_CYCLES, _REGROUPED = 90, 4
"""Cycles at most; in the first few, states are grouped anew, as visits become known."""

_PATIENCE, _GAIN = 10, 0.1
"""So many cycles have to make a sweep's change so much smaller."""

_AIM = 4e-15
"""The relative change in a sweep at which visits are as good as floats allow."""

_ENOUGH = 4e-14
"""That at which nothing else is tried once groups no longer help: long sums leave as much."""

Floats = NDArray[np.float64]


class Backwards:
    """A chain run backwards: gamma P^T without its diagonal, each row divided by 1 - gamma P(s,s).

    Parameters
    ----------
    indptr, indices, data, gamma : the chain, in compressed rows.
    moving : 1 - gamma P(s,s), to full relative accuracy; positive.
    leave : the probability of ending from each state, which 1 - gamma is a part of.
    """

    def __init__(
        self,
        indptr: NDArray[Any],
        indices: NDArray[Any],
        data: Floats,
        gamma: float,
        moving: Floats,
        leave: Floats,
    ):
        n = len(indptr) - 1
        rows = np.repeat(np.arange(n, dtype=np.int32), np.diff(indptr))
        off = (rows != indices) & (data != 0)
        if not off.all():
            rows, indices, data = rows[off], indices[off], data[off]
        self.T = sp.csr_array(sp.coo_array((gamma * data, (indices, rows)), shape=(n, n)))
        self.F = self.T.data.copy()
        self.T.data /= np.repeat(moving, np.diff(self.T.indptr))
        self.moving, self.leave = moving, leave
        self.groups: dict[int, Aggregation] = {}

    def visits(self, start: Floats) -> tuple[Floats, str]:
        """d, and how it was found; nothing is promised about its error."""
        T, b = self.T, start / self.moving
        d = np.zeros(len(start))
        change = np.inf
        for i in range(_FIRST_SWEEPS):
            change = sweep(T.indptr, T.indices, T.data, b, d, i % 2 == 0)
            if change <= _AIM:
                return d, "sweeps"
        d, change = min((d, change), self._take_round(b, d, _TRIAL), key=lambda found: found[1])
        if change <= _AIM:
            return d, "bicgstab, backwards"
        change = self._go_through_groups(start, d, lambda change: change <= _AIM, _REGROUPED)
        if change <= _ENOUGH:
            return d, "aggregation"
        best, least, in_vain = d, change, 0
        for _ in range(_ROUNDS):
            d, change = self._take_round(b, d, _ITERATIONS)
            in_vain = 0 if change < 0.5 * least else in_vain + 1
            if change < least:
                best, least = d, change
            if least <= _AIM or in_vain == 2:
                break
        return best, "aggregation, bicgstab, backwards"

    def _take_round(self, b: Floats, d: Floats, iterations: int) -> tuple[Floats, float]:
        """Better visits by BiCGSTAB on the system scaled by d, polished, and the largest relative
        change of the last sweep."""
        T, x = self.T, (d > 0).astype(float)
        scaled, right = np.empty_like(T.data), np.zeros(len(d))
        scale_rows(T.indptr, T.indices, T.data, b, d, scaled, right)
        bicgstab_on_sweeps(T.indptr, T.indices, scaled, right, x, _AIM, iterations)
        # where the iteration went astray the old value is the better one
        found: Floats = np.where((x > 0) & np.isfinite(x), x, 1.0) * d
        for i in range(_POLISH):
            change = sweep(T.indptr, T.indices, T.data, b, found, i % 2 == 0)
        return found, change

    def _go_through_groups(
        self, b: Floats, d: Floats, is_enough: Callable[[float], bool], regrouped: int
    ) -> float:
        """Make visits d for a start b better until that is enough, or goes slowly; the largest
        relative change of the last sweep."""
        T, changes = self.T, [np.inf]
        for i in range(_CYCLES):
            most = _MOST_JOINED[i % len(_MOST_JOINED)]
            if i < regrouped or most not in self.groups:
                self.groups[most] = Aggregation(T.indptr, T.indices, self.F, self.leave, d, most)
            changes.append(self.groups[most].improve(b, d))
            before = min(changes[:-_PATIENCE], default=np.inf)
            if is_enough(changes[-1]) or changes[-1] > _GAIN * before:
                break
        return changes[-1]

    def ages(self, d: Floats, weight: Floats, aim: float, first: Floats | None = None) -> Floats:
        """About the expected weight of the states before a visit of each state, that visit included
        (its age, for a weight of 1): g with d g = d weight + gamma P^T (d g), to a residual of
        `aim`."""
        T = self.T
        scaled, right = np.empty_like(T.data), np.zeros(len(d))
        scale_rows(T.indptr, T.indices, T.data, d * weight / self.moving, d, scaled, right)
        g: Floats = right.copy() if first is None else first.copy()
        if self.groups:  # visits of episodes that start where these have been
            y, seen = d * g, d > 0

            def is_enough(change: float) -> bool:
                return change * float(np.max(y[seen] / d[seen])) <= aim

            change = self._go_through_groups(d * weight, y, is_enough, 0)
            g[seen] = y[seen] / d[seen]
            if is_enough(change):
                return g
        bicgstab_on_sweeps(T.indptr, T.indices, scaled, right, g, aim, 10 * _ITERATIONS)
        return g
