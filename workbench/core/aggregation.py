"""Visits of a chain that stays in some sets of its states for a very long time: aggregation and
disaggregation on many levels, and a Krylov method on top of it.

    c(s) d(s) = b(s) + sum_{s'} F(s,s') d(s'),        c(s) = leave(s) + sum_{s'} F(s',s),

F(s,s') the probability of going from s' to another state s, `leave` that of ending. Sweeps of Gauss
and Seidel soon have the ratios of visits right among states that an episode often goes to and fro
between, and take as long as the episode to find out how much there is of them together. So states
are joined to groups, whose visits d(I) y(I) solve the same equation (Koury, McAllister and Stewart
1984),

    F(I,J) = sum_{s in I, s' in J} F(s,s') d(s'),     leave(J) = sum_{s' in J} leave(s') d(s'),

in turn by sweeps and groups of groups, and in the end by elimination. c is never formed as a
difference. For one d all of this is a linear map of what the equation is still missed by, which
GMRES (Saad and Schultz 1986) takes as its preconditioner: quick, but it subtracts, so that rounding
times the length of a stay is left. `settle` then solves for the visits themselves on every level
and subtracts nowhere: each visit ends with a small relative error, however few they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.aggregation_kernels import (
    add_columns,
    divide_rows,
    flow_through,
    join_flows,
    join_states,
    missing_flow,
    split_rows,
    subtract_rows,
    sweep_to_and_fro,
    sweep_upwards,
)
from workbench.core.elimination_kernels import eliminate, substitute_transposed
from workbench.core.krylov_kernels import combine_rows, orthogonalize
from workbench.core.walk_kernels import reverse_edges

_COARSEST = 300
"""So many groups are solved for by elimination."""

_SWEEPS = 5
"""To and fro, of the last level, where groups could not be made fewer."""

_LEAST_GAIN = 0.8
"""Groups are not worth a level if there are more than this share of the states."""

_TWICE = 60_000
"""Levels with up to so many groups are gone through twice in a cycle."""

Floats = NDArray[np.float64]
Places = NDArray[Any]


@dataclass(frozen=True)
class _Level:
    """The system x = r + T x of one level, and the groups of its states.

    Attributes
    ----------
    indptr, middle, indices, T : the rows; `middle` is where entries of later states begin.
    c : what each row was divided by.
    group, count : the group of each state, and how many there are; on the last level none.
    weight : c of each state as a share of its group's.
    factors : of the last level, if it is small.
    """

    indptr: Places
    middle: Places
    indices: Places
    T: Floats
    c: Floats
    group: Places
    count: int
    weight: Floats
    factors: Floats | None

    @property
    def rows(self) -> tuple[Places, Places, Places, Floats]:
        """The rows, as kernels ask for them."""
        return self.indptr, self.middle, self.indices, self.T


class Aggregation:
    """Groups of the states of a chain, groups of groups, and so on, for some visits d.

    Parameters
    ----------
    indptr, indices, T : rows of F, without a diagonal, divided by `moving`.
    scaled : rows of what comes to each state as a share of all that does, for visits d.
    moving, leave : the probabilities of leaving each state, and of ending from it.
    d : about the visits.
    """

    def __init__(
        self,
        indptr: Places,
        indices: Places,
        T: Floats,
        scaled: Floats,
        moving: Floats,
        leave: Floats,
        d: Floats,
    ):
        self.levels: list[_Level] = []
        flow, none = np.empty_like(T), np.empty(0)
        flow_through(indptr, indices, T, moving, d, flow)
        c, leave, rows = _without_zeros(moving * d), leave * d, scaled
        while True:
            n, middle = len(c), split_rows(indptr, indices)
            group = np.empty(n, dtype=np.int32)
            count = n if n <= _COARSEST else join_states(indptr, indices, flow, group)
            if count > _LEAST_GAIN * n:
                factors = None
                if n <= _COARSEST:
                    factors = _factors(indptr, indices, flow / c[indices], leave / c)
                if rows is flow:
                    divide_rows(indptr, flow, c)
                last = _Level(indptr, middle, indices, rows, c, none, 0, none, factors)
                self.levels.append(last)
                return
            members = reverse_edges(np.arange(n + 1), group)  # each state leads to its group
            joined = join_flows(indptr, indices, flow, group, count, *members)
            leaving = _sums(group, leave, count)
            total = leaving.copy()
            add_columns(joined[1], joined[2], total)
            total = _without_zeros(total)
            if rows is flow:
                divide_rows(indptr, flow, c)
            weight = c / total[group]
            self.levels.append(_Level(indptr, middle, indices, rows, c, group, count, weight, None))
            (indptr, indices, flow), c, leave = joined, total, leaving
            rows = flow

    def correct(self, r: Floats) -> Floats:
        """About x with x = r + T x, T the `scaled` rows."""
        return self._cycle(0, r)

    def improve(self, b: Floats, x: Floats, aim: float, iterations: int) -> float:
        """Make x better in place as a solution of x = b + T x, by GMRES, until what it is missed by
        is about `aim` (the root of the sum of squares); how much that is about."""
        top = self.levels[0]
        V, along = np.empty((iterations + 1, len(b))), np.zeros(iterations + 1)
        r = V[0]
        subtract_rows(top.indptr, top.indices, top.T, x, r)
        np.subtract(b, r, out=r)
        size = float(orthogonalize(V, 0, r, along))
        if not size > aim or not np.isfinite(size):
            return size
        r /= size
        H = np.zeros((iterations + 1, iterations))
        first = np.zeros(iterations + 1)
        first[0] = left = size
        taken = 0
        while taken < iterations and left > aim:
            w = V[taken + 1]
            subtract_rows(top.indptr, top.indices, top.T, self.correct(V[taken]), w)
            length = float(orthogonalize(V, taken + 1, w, along))
            H[: taken + 1, taken], H[taken + 1, taken] = along[: taken + 1], length
            if not np.isfinite(length):
                break
            taken += 1
            inner = H[: taken + 1, :taken]
            share = np.linalg.lstsq(inner, first[: taken + 1], rcond=None)[0]
            left = float(np.linalg.norm(first[: taken + 1] - inner @ share))
            if length == 0.0:
                break
            w /= length
        if taken:
            combined = np.empty(len(b))
            combine_rows(V, share, combined)
            x += self.correct(combined)
        return left

    def settle(self, b: Floats) -> Floats:
        """About x with x = b + T x, from the last level upwards by sums, products and quotients of
        what is not negative: where d is nearly right, x is 1 but for a small part of what d is
        off, and rounding does not add to it, however long an episode stays in a group."""
        rights = [b]
        for level in self.levels[:-1]:
            rights.append(_sums(level.group, level.weight * rights[-1], level.count))
        x = np.ones(len(rights[-1]))
        for level, r in zip(reversed(self.levels), reversed(rights), strict=True):
            if level.factors is not None:
                x = substitute_transposed(level.factors, r * level.c) / level.c
                continue
            if level.count:
                x = x[level.group]
            for _ in range(1 if level.count else _SWEEPS):
                sweep_to_and_fro(*level.rows, r, np.empty(len(r)), x)
        return x

    def _cycle(self, at: int, r: Floats) -> Floats:
        level = self.levels[at]
        if level.factors is not None:
            found: Floats = substitute_transposed(level.factors, r * level.c) / level.c
            return found
        x, later = np.empty(len(r)), np.zeros(len(r))
        sweep_upwards(*level.rows, r, later, x)
        if level.count == 0:
            for _ in range(_SWEEPS):
                sweep_to_and_fro(*level.rows, r, later, x)
            return x
        missed = np.empty(level.count)
        for _ in range(2 if at > 0 and len(r) <= _TWICE else 1):
            missing_flow(*level.rows, later, x, level.weight, level.group, missed)
            x += self._cycle(at + 1, missed)[level.group]
            sweep_to_and_fro(*level.rows, r, later, x)
        return x


def _sums(places: Places, x: Floats, count: int) -> Floats:
    return np.asarray(np.bincount(places, x, minlength=count), dtype=np.float64)


def _without_zeros(c: Floats) -> Floats:
    c[c == 0] = 1.0  # nobody is there, and nothing comes
    return c


def _factors(indptr: Places, indices: Places, Q: Floats, leave: Floats) -> Floats:
    """Of z = b + Q z, Q in rows of what comes to each state."""
    rows = np.repeat(np.arange(len(leave), dtype=np.int32), np.diff(indptr).astype(np.int64))
    turned = np.argsort(indices, kind="stable")
    counts = np.bincount(indices, minlength=len(leave))
    starts = np.concatenate([[0], np.cumsum(counts)])
    found: Floats = eliminate(starts, rows[turned], Q[turned], 1.0, leave)
    return found
