"""Oracle loops on a task of finite horizon, compiled (`horizon_kernels`, `loop_kernels`).

A single run of `improve` is a batch of one; the rewards of a batch may differ.

With T levels of states, u = 2^-53 and K additions at most in any sum, a visit is a sum of products
of at most 4 T numbers >= 0 with as many sums: it is right to T (K + 8) u of itself. Values lose
(K + 8) u of the largest return at each level. pi(a|o) after n steps is right to 3 n u of itself:
step and 1 - step are each right to u, then come a product and a sum. It enters T times each way.
Altogether q(o, a) times the weight of o is off by at most

    size weight(o) (2 T (K + 8) + 2 K + 6 T n) u,        size = T max |r|

which `error` and `growth` spell out. The bound is meant to be safe, not sharp.
"""

from __future__ import annotations

import copy
import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from workbench.core import horizon_kernels as kernels
from workbench.core.double_kernels import UNIT
from workbench.core.fields import FLOATS, dynamics
from workbench.core.linear_kernels import strong_components
from workbench.core.loop_kernels import Loops, begin_loops, run_loops
from workbench.core.numbers import Number, read_decimal
from workbench.core.pomdp import POMDP
from workbench.core.rows import merge_rows, own_rows, pick_rows, point_rows
from workbench.core.segment_kernels import look_ahead
from workbench.core.steps import Schedule

GRID = (Fraction(0), *(Fraction(7, 10) ** j for j in range(36, -1, -1)))
"""Where segments are looked at that are no polynomials, or long ones; the second one is 3e-6."""

_MOST_NODES = 5
"""Polynomials of so many coefficients are found from their values: the errors grow with the number
of nodes, and so do those of differences that are zero."""

_PIECE, _MOST_AT_ONCE = 30_000_000, 10_000
"""Ctrl-C and the clock come through after iterates that read so many numbers, and after so many
iterates: a step of a schedule takes 20 us."""

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]


def has_finite_horizon(P: POMDP) -> bool:
    """Whether no state can come back, whatever is done."""
    indptr = merge_rows(P.p.row_ptr, len(P.A))
    count, _ = strong_components(indptr, P.p.s_next)
    own = own_rows(indptr) == P.p.s_next
    return count == len(P.S) and not own.any()


@dataclass(frozen=True, eq=False)
class Unrolled:
    """A task of finite horizon for the kernels, and how far its floats can be trusted.

    Attributes
    ----------
    tables, R : what the kernels read, actions in the order of ties.
    levels : T; error, growth : as shares of the largest return.
    """

    tables: kernels.LoopTables
    R: Floats
    levels: int
    error: float
    growth: float

    def make_work(self, nO: int) -> kernels.LoopWork:
        """Make the arrays that one thread computes in."""
        nS, nA, nC = len(self.tables.mu), len(self.tables.column), self.R.shape[1]
        shapes = [(nS,), (nS,), (nO, nA), (nO,), (nO, nC), (nO, nC), (nA,), (nO, nA)]
        nodes = len(self.tables.nodes)
        return kernels.LoopWork(*map(np.empty, [*shapes, (nodes, nO, nA), (nodes, nO), (nodes,)]))


def unroll(P: POMDP, order: NDArray[np.int64], weights: str) -> Unrolled:
    """The states that are not terminal, level by level."""
    D, nA = dynamics(P, FLOATS), len(P.A)
    indptr = merge_rows(P.p.row_ptr, nA)
    _, component = strong_components(indptr, P.p.s_next)
    level = kernels.levels(indptr, P.p.s_next, np.argsort(-component))
    alive = np.flatnonzero(~P.terminal.mask)
    # rows of pi that belong together are then read together
    states = alive[np.lexsort((P.omega.o[P.omega.row_ptr[alive]], level[alive]))]
    place = np.full(len(P.S), -1, dtype=np.int64)
    place[states] = np.arange(len(states))

    row_ptr, k = pick_rows(P.p.row_ptr, (states[:, None] * nA + order).ravel())
    goes_on = np.flatnonzero((place[P.p.s_next[k]] >= 0) & (D.prob[k] != 0))
    k, owner = k[goes_on], own_rows(row_ptr)[goes_on]
    leads_on = np.zeros(len(states), dtype=bool)
    leads_on[owner // nA] = True
    inner = np.where(leads_on, np.cumsum(leads_on) - 1, -1)
    per_row = np.bincount(inner[owner // nA] * nA + owner % nA, minlength=int(leads_on.sum()) * nA)

    rows, reward_row = np.unique(D.R[states][:, order], axis=0, return_inverse=True)
    columns, column = np.unique(rows, axis=1, return_inverse=True)
    entry_ptr, e = pick_rows(P.omega.row_ptr, states)
    T = int(level[alive].max(initial=0)) + 1
    nodes, matrix = segment_nodes(T)
    tables = kernels.LoopTables(
        mu=D.mu[states],
        entry_ptr=entry_ptr,
        entry_o=P.omega.o[e].astype(np.int64),
        entry_prob=D.omega[e],
        reward_row=reward_row.ravel().astype(np.int64),
        column=column.ravel().astype(np.int64),
        inner=inner,
        row_ptr=point_rows(per_row),
        successor=place[P.p.s_next[k]],
        prob=D.prob[k],
        is_plain=bool((per_row == 1).all() and (D.prob[k] == 1).all() and (D.omega[e] == 1).all()),
        gamma=float(D.gamma),
        carry=float(D.gamma) if weights == "discounted" else 1.0,
        nodes=nodes,
        matrix=matrix,
    )
    counts = (
        np.bincount(tables.successor),  # ways into a state
        np.diff(row_ptr),  # outcomes of an action
        np.diff(entry_ptr),
        np.bincount(tables.entry_o),  # states behind an observation
    )
    sums = sum(int(x.max(initial=0)) for x in counts) + nA
    error, growth = (2 * T * (sums + 8) + 2 * sums) * UNIT, 6 * T * UNIT
    return Unrolled(tables, np.ascontiguousarray(columns), T, error, growth)


def segment_nodes(T: int) -> tuple[Floats, Floats]:
    """The places at which a segment is looked at, and the Bernstein coefficients from the values.

    >>> segment_nodes(3)[1].tolist()
    [[1.0, 0.0, 0.0], [-0.5, 2.0, -0.5], [0.0, 0.0, 1.0]]
    """
    if T > _MOST_NODES:
        return np.array([float(x) for x in GRID]), np.eye(len(GRID))
    nodes, matrix = bernstein_at_nodes(T)
    table = [[int(x.p) / int(x.q) for x in row] for row in matrix.tolist()]
    return np.array([int(x.p) / int(x.q) for x in nodes]), np.array(table)


def bernstein_at_nodes(T: int) -> tuple[list[Any], NDArray[Any]]:
    """T nodes in [0, 1], and the matrix from a polynomial's values there to its Bernstein
    coefficients. The degree is T - 1, and the numbers are fractions."""
    nodes = [flint.fmpq(i, max(T - 1, 1)) for i in range(T)]
    basis = [[math.comb(T - 1, j) * x**j * (1 - x) ** (T - 1 - j) for j in range(T)] for x in nodes]
    return nodes, np.array(flint.fmpq_mat(basis).inv().tolist(), dtype=object)


class CompiledLoops:
    """Loops that are run side by side.

    Attributes
    ----------
    task, R, work : what the kernels read, `R[b]` of each loop, and where they compute.
    state : the policies, what is greedy, and so on; keeps : 1 - step of all iterates;
        n : how many were made.
    values, marks : `[b, n]`, of the policies, NaN where a loop skipped one; and numbers that tell
        greedy policies apart.
    """

    def __init__(
        self, task: Unrolled, R: Floats, pi: Floats, same: NDArray[np.int64],
        steps: Schedule, size: Floats, first: float, skips: bool = False, pulse: Any = None,
    ):  # fmt: skip
        self.task, self.R, self.same, self.steps = task, R, same, steps
        self.first, self.skips, self.pulse = first, skips, pulse
        self.state = begin_loops(pi, same, size * task.error, size * task.growth, first)
        self.work = task.make_work(pi.shape[1])
        self.values, self.marks = np.empty((len(R), 0)), np.empty((len(R), 0), dtype=np.uint64)
        self.keeps, self.n = np.empty(0), 0

    def __len__(self) -> int:
        return len(self.R)

    @property
    def error(self) -> Floats:
        """`[b]`, a bound on the errors of q, at pi and on the segment ahead."""
        return self.state.error + (self.n + 2) * self.state.growth

    def advance(self, count: int, looks: bool = True) -> None:
        """Make iterates, until all loops are fixed if anybody looks."""
        if not looks:
            self.state.fixed[:] = False  # else the kernel would skip loops whose end is known
        size = len(self.task.tables.successor) + self.work.q.size
        piece = count if self.skips else min(1 + _PIECE // size, _MOST_AT_ONCE)
        until = self.n + count
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
            run_loops(
                self.task.tables, self.R, state, self.work, self.same,
                steps, keeps, first, self.skips, begin, values, marks,
            )  # fmt: skip
        finally:  # Ctrl-C comes through when the kernel is done: values belong to policies
            self.n = int(state.n.max(initial=begin))
            made = self.n - begin
            self.keeps = np.append(self.keeps, keeps[:made])
            self.marks = np.hstack([self.marks, marks[:, :made]])
            self.values = np.hstack([self.values, values[:, :made]])

    def leaving(self, goal: NDArray[np.int64], which: Any = slice(None)) -> Mask:
        """`[b, o]`: where `goal` does not stay greedy on the rest of the segment.

        So are rows without a goal that its end sees."""
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

    def part(self, which: Mask, past: bool = True) -> CompiledLoops:
        """Some of the loops, with their past or without it."""
        if which.all():
            return self
        some = copy.copy(self)
        arrays: Any = [x[which] for x in self.state]
        some.state = Loops(*arrays)
        past_n = slice(None if past else 0)
        some.R, some.values = self.R[which], self.values[which, past_n]
        some.marks = self.marks[which, past_n]
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
