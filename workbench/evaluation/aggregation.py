"""Visits of a chain that stays in some sets of its states for a very long time: aggregation and
disaggregation on many levels.

    c(s) d(s) = b(s) + sum_{s'} F(s,s') d(s'),        c(s) = leave(s) + sum_{s'} F(s',s),

F(s,s') the probability of going from s' to another state s, `leave` that of ending. Sweeps of Gauss
and Seidel soon have the ratios of visits right among states that an episode often goes to and fro
between, and take as long as the episode to find out how much there is of them together. So states
are joined to groups, whose visits d(I) y(I) solve the same equation (Koury, McAllister and Stewart
1984),

    F(I,J) = sum_{s in I, s' in J} F(s,s') d(s'),     leave(J) = sum_{s' in J} leave(s') d(s'),

in turn by sweeps and groups of groups, and in the end by elimination. c is never formed as a
difference, nothing is subtracted anywhere, and at the solution y = 1: visits stay positive, and
each has a small relative error, however few they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.evaluation.aggregation_kernels import join_states
from workbench.evaluation.elimination_kernels import eliminate, substitute_transposed
from workbench.evaluation.krylov_kernels import sweep

_COARSEST = 100
"""So many groups are solved for by elimination."""

_SWEEPS = 10
"""Of the last level, where groups could not be made fewer."""

_LEAST_GAIN = 0.8
"""Groups are not worth a level if there are more than this share of the states."""

_TWICE = 60_000
"""Levels with up to so many groups are gone through twice in a cycle."""

Floats = NDArray[np.float64]
Places = NDArray[Any]


@dataclass(frozen=True)
class _Level:
    """The rows of F on one level, and the groups of its states.

    Attributes
    ----------
    indptr, indices, rows : which entries F has.
    group, count : the group of each state, and how many there are; on the last level none.
    place : of each entry of F, where it is added to the groups' F; those within a group are all
        added at `size`, which has no place there.
    """

    indptr: Places
    indices: Places
    rows: Places
    group: Places
    count: int
    place: Places
    size: int


class Aggregation:
    """Groups of the states of a chain, groups of groups, and so on.

    Parameters
    ----------
    indptr, indices, F : rows of F, without a diagonal: what comes to each state.
    leave : the probability of ending from each state.
    d : about the visits, on which it depends what belongs together.
    most : how many states a group has at most.
    """

    def __init__(
        self, indptr: Places, indices: Places, F: Floats, leave: Floats, d: Floats, most: int
    ):
        self.F, self.leave = F, leave
        self.levels: list[_Level] = []
        flow, n = F * d[indices], len(indptr) - 1
        while True:
            rows = np.repeat(np.arange(n), np.diff(indptr))
            group = np.empty(n, dtype=np.int64)
            count = join_states(indptr, indices, flow, most, group)
            if n <= _COARSEST or count > _LEAST_GAIN * n:
                none = np.empty(0, dtype=np.int64)
                self.levels.append(_Level(indptr, indices, rows, none, 0, none, 0))
                return
            pairs = group[rows] * count + group[indices]
            apart = np.flatnonzero(group[rows] != group[indices])
            kept, where = np.unique(pairs[apart], return_inverse=True)
            place = np.full(len(rows), len(kept))
            place[apart] = where
            self.levels.append(_Level(indptr, indices, rows, group, count, place, len(kept)))
            flow = _sums(where, flow[apart], len(kept))
            # of the type of the first level: kernels are compiled for one
            indptr = np.searchsorted(kept, np.arange(count + 1) * count).astype(indptr.dtype)
            indices, n = (kept % count).astype(indices.dtype), count

    def improve(self, b: Floats, d: Floats) -> float:
        """Make d better in place, for a start b; the largest relative change of the last sweep."""
        return self._cycle(0, self.F, self.leave, b, d)

    def _cycle(self, at: int, F: Floats, leave: Floats, b: Floats, d: Floats) -> float:
        level, n = self.levels[at], len(b)
        c = leave + _sums(level.indices, F, n)
        c[c == 0] = 1.0  # nobody is there, and nothing comes
        T, right = F / c[level.rows], b / c
        if level.count == 0:
            if n <= _COARSEST:
                d[:] = _eliminated(level, F / c[level.indices], leave / c, b) / c
                return 0.0
            return max(_sweep(level, T, right, d, i % 2 == 0) for i in range(_SWEEPS))
        _sweep(level, T, right, d, True)
        change = 0.0
        for _ in range(2 if at > 0 and n <= _TWICE else 1):
            flows = _sums(level.place, F * d[level.indices], level.size + 1)
            y = np.ones(level.count)
            leaving = _sums(level.group, leave * d, level.count)
            starts = _sums(level.group, b, level.count)
            self._cycle(at + 1, flows[: level.size], leaving, starts, y)
            d *= y[level.group]
            _sweep(level, T, right, d, False)
            change = _sweep(level, T, right, d, True)
        return change


def _sums(places: Places, x: Floats, count: int) -> Floats:
    return np.asarray(np.bincount(places, x, minlength=count), dtype=np.float64)


def _sweep(level: _Level, T: Floats, right: Floats, d: Floats, upwards: bool) -> float:
    return float(sweep(level.indptr, level.indices, T, right, d, upwards))


def _eliminated(level: _Level, Q: Floats, leave: Floats, b: Floats) -> Floats:
    """z = b + Q z, Q in rows of what comes to each state."""
    turned = np.argsort(level.indices, kind="stable")
    counts = np.bincount(level.indices, minlength=len(b))
    indptr = np.concatenate([[0], np.cumsum(counts)])
    F = eliminate(indptr, level.rows[turned].astype(np.int32), Q[turned], 1.0, leave)
    found: Floats = substitute_transposed(F, b)
    return found
