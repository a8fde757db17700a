"""A good stochastic memoryless policy: ascent along the exact gradient of the return.

    J(pi) = start . v_pi,        dJ / dpi(a|o) = sum_s d_pi(s) omega(o|s) q_pi(s,a) = d(o) q_pi(o,a)

with d the discounted occupancy (expected visits if gamma = 1): the policy-gradient theorem without
sampling. Each step projects pi(.|o) + alpha q_pi(o,.) back onto the simplex, observation by
observation, which is a direction of ascent, and goes along it as far as an Armijo search allows;
alpha follows Barzilai and Borwein, as in the spectral projected gradient method of Birgin, Martinez
and Raydan (2000). J is not concave, so the best of many starts is only a lower bound on what
stochastic policies can reach. What is certain is first-order optimality, measured by

    kkt = sum_o max_a d(o) [ q_pi(o,a) - v_pi(o) ] >= 0,

which is zero exactly where no mixture with another policy gains anything to first order (the
conditions of Karush, Kuhn and Tucker on a product of simplices).

With gamma = 1 a policy that may go on for ever has no value; the search never steps onto one. Where
a loop pays, longer episodes are worth more without end, and the search stops at what floats can
still tell from a policy that never ends.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from numpy.typing import NDArray

from workbench.core import linear
from workbench.core.linear_kernels import reachable
from workbench.core.rows import own_rows
from workbench.optima.mdp import MDP
from workbench.optima.mdp_kernels import solve_leaving, surely_ending

_DENSE = 60
_DIRECT = 1_500
_ARMIJO = 1e-4
_SHRINK = 0.5
_SHORTEST = 1e-14
_TOO_LONG, _LONGEST = 1e6, 1e8
"""Expected steps of an episode, with gamma = 1, beyond which the search stops, and beyond which a
policy counts as one that never ends."""

_IN_VAIN = 20
"""Steps in a row that may bring nothing."""

TableArray = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Climbed:
    """Where one start led, and after how many steps."""

    pi: TableArray
    value: float
    kkt: float
    steps: int


@dataclass(frozen=True, eq=False)
class Slope:
    """J at a policy, its gradient `g[o, a]`, the occupancy of each observation, and the scale of
    q."""

    value: float
    g: TableArray
    d: NDArray[np.float64]
    size: float

    def kkt(self, pi: TableArray) -> float:
        return max(0.0, float((self.g.max(axis=1) - (pi * self.g).sum(axis=1)).sum()))


def slope(M: MDP, pi: TableArray) -> Slope:
    """The return of `pi[o, a]` and its gradient. The value is minus infinity where it is not
    defined."""
    n, nA = M.shape
    acts = pi[M.seen]
    data = acts.reshape(-1)[own_rows(M.row_ptr)] * M.prob
    P = sp.csr_array((data, M.successors, M.row_ptr[::nA]), shape=(n, n))
    r = (acts * M.R).sum(axis=1)
    alive = np.ones(n, dtype=bool)
    if M.undiscounted:
        P = P.copy()  # the next line would write into M's arrays
        P.eliminate_zeros()
        ends = np.asarray((acts > 0) & M.ends).any(axis=1, keepdims=True)
        indptr = P.indptr.astype(np.int64)
        alive, _, _ = surely_ending(
            indptr, P.indices.astype(np.int32), ends, np.ones((n, 1), dtype=bool)
        )
        if not alive[reachable(indptr, P.indices.astype(np.int32), M.starts)].all():
            return Slope(-math.inf, np.zeros(pi.shape), np.zeros(len(pi)), 0.0)
        P = sp.csr_array(P.multiply(alive[:, None].astype(float)))
        r = np.where(alive, r, 0.0)
    leave = np.where(alive, (acts * M.leave).sum(axis=1), 1.0)
    v, d = _solve_both(P, M.gamma, leave, r, M.start)
    if M.undiscounted and not d.sum() < (_LONGEST if n > _DENSE else math.inf):
        return Slope(-math.inf, np.zeros(pi.shape), np.zeros(len(pi)), 0.0)
    q = M.q(v)
    if not alive.all():  # an action that leads to where the policy never ends is no option
        leads = sp.csr_array((np.ones(len(M.prob)), M.successors, M.row_ptr), shape=(n * nA, n)) @ (
            ~alive
        ).astype(float)
        lost = leads.reshape(n, nA) > 0
        q[lost] = np.min(q) - np.max(np.abs(q)) - 1
    g = np.zeros(pi.shape)
    np.add.at(g, M.seen, d[:, None] * q)
    seen = np.bincount(M.seen, d, minlength=len(pi)).astype(np.float64)
    return Slope(float(M.start @ v), g, seen, float(np.abs(q).max(initial=0.0)))


def _solve_both(
    P: sp.csr_array,
    gamma: float,
    leave: NDArray[np.float64],
    r: NDArray[np.float64],
    start: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Solve v = r + gamma P v and d = start + gamma P^T d. NaN where floats find no solution."""
    n = P.shape[0]
    if n <= _DENSE:
        v, d = np.full(n, np.nan), np.full(n, np.nan)
        solve_leaving(gamma * P.toarray(), leave, r.copy(), start.copy(), v, d)
        return v, d
    if n <= _DIRECT:
        try:
            sparse = sla.splu(sp.csc_array(sp.eye_array(n) - gamma * P))
        except RuntimeError:  # exactly singular
            return np.full(n, np.nan), np.full(n, np.nan)
        return sparse.solve(r), sparse.solve(start, trans="T")
    return linear.solve(P, gamma, r).x, linear.solve(P, gamma, start, transposed=True).x


def project(x: TableArray) -> TableArray:
    """The nearest point of the simplex, row by row (Held, Wolfe and Crowder 1974)."""
    ordered = -np.sort(-x, axis=1)
    above = np.cumsum(ordered, axis=1) - 1
    count = np.arange(1, x.shape[1] + 1)
    last = (ordered - above / count > 0).sum(axis=1)
    shift = above[np.arange(len(x)), last - 1] / last
    projected = np.maximum(x - shift[:, None], 0.0)
    return np.asarray(projected / projected.sum(axis=1, keepdims=True))


def ascend(M: MDP, pi: TableArray, aim: float, most: int, until: float = math.inf) -> Climbed:
    """Climb from a policy by gradient ascent. It stops when `kkt` is at most `aim` times the size
    of the values, `most` policies were evaluated, or the clock (`time.monotonic`) passes
    `until`."""
    here = slope(M, pi)
    if here.value == -math.inf:
        return Climbed(pi, here.value, math.nan, 0)
    best = Climbed(pi, here.value, here.kkt(pi), 0)
    alpha, steps, spent = 1.0, 0, 0
    while best.kkt > aim * here.size and steps < best.steps + _IN_VAIN and spent < most:
        if time.monotonic() > until:
            break
        q = here.g / np.where(here.d > 0, here.d, 1.0)[:, None]
        direction = project(pi + alpha * q / here.size) - pi
        there_pi, there, tried = _line_search(M, pi, direction, here, most - spent, until)
        if there is None:
            break
        alpha = _next_alpha(there_pi - pi, there.g - here.g, here)
        pi, here, spent, steps = there_pi, there, spent + tried, steps + 1
        kkt = here.kkt(pi)
        if here.value > best.value + _noise(here) or (
            here.value >= best.value - _noise(here) and kkt < best.kkt
        ):
            best = Climbed(pi, here.value, kkt, steps)
        if M.undiscounted and here.d.sum() > _TOO_LONG:
            break
    return best


def _noise(here: Slope) -> float:
    """The size below which differences of the return are rounding errors. There only `kkt` tells
    whether a move was good."""
    return 64 * np.finfo(float).eps * here.size


def _line_search(
    M: MDP, pi: TableArray, direction: TableArray, here: Slope, most: int, until: float
) -> tuple[TableArray, Slope | None, int]:
    """Backtrack from `direction` to the first point that gains enough. Returns it with its slope
    (None: no such point) and the count."""
    promised = float((here.g * direction).sum())
    length = 1.0
    for tried in range(1, most + 1):
        there_pi = np.maximum(pi + length * direction, 0.0)
        there_pi /= there_pi.sum(axis=1, keepdims=True)
        there = slope(M, there_pi)
        if there.value >= here.value + _ARMIJO * length * promised - _noise(here):
            return there_pi, there, tried
        length *= _SHRINK
        if length < _SHORTEST or time.monotonic() > until:
            break
    return pi, None, tried


def _next_alpha(s: TableArray, y: TableArray, here: Slope) -> float:
    """Barzilai and Borwein's step in the metric that weighs each observation by its occupancy."""
    bend = -float((s * y).sum())
    if bend <= 0:
        return 1e3
    weighted = float((here.d[:, None] * s * s).sum())
    return float(np.clip(here.size * weighted / bend, 1e-6, 1e6))
