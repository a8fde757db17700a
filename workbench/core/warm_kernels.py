# mypy: disallow-untyped-defs=False
"""Compiled evaluation of a policy that is close to the last one (`oracle.WarmOracle`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.core.double_kernels import UNIT
from workbench.core.kernels import compile_kernel
from workbench.core.linear_kernels import bicgstab
from workbench.core.loop_kernels import FEWEST_VISITS

_AIM, _ITERATIONS = 1e-13, np.int64(400)
"""Residuals that solutions aim at, as a share of the solution, and iterations on the way there."""

_ENOUGH, _POOR = 1e-9, 1e-6
"""With a larger residual, or larger bounds, somebody else is asked."""

_SLACK = 0.25
"""What (I - gamma P) h has to be at least, for h to bound errors."""

LEAST_VISITS = 1e-290
"""Visits are counted in units of at least this, which floats can still divide by."""

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


class WarmTables(NamedTuple):
    """A task as arrays for the kernels. They hold p and omega in compressed rows, R(s,a) and the
    same of |r|, mu, the states that are not terminal, and `slot[k]`, the transition of outcome k.
    Then come the pattern of transitions, the transposed pattern with the transition of each entry,
    the discounts of values and visits, and the largest number of roundings behind a number."""

    row_ptr: Places
    s_next: NDArray[np.int32]
    prob: Floats
    R: Floats
    R_abs: Floats
    entry_ptr: Places
    entry_o: NDArray[np.int32]
    entry_prob: Floats
    mu: Floats
    alive: NDArray[np.bool_]
    slot: Places
    indptr: NDArray[np.uint64]
    indices: NDArray[np.uint32]
    back_ptr: NDArray[np.uint64]
    back: NDArray[np.uint32]
    turned: Places
    gamma: float
    carry: float
    sums: int


@compile_kernel
def look_warmly(tables, pi, roundings, visited, kept, q, error, weight):
    """The value of pi, and q, bounds and weights by observation. All are NaN if a system was too
    hard.

    `kept` are v, d, and the vectors that bound their errors, of the last policy.
    """
    n, nA = tables.R.shape
    gamma, carry, drift = tables.gamma, tables.carry, (roundings + 2 * tables.sums) * UNIT
    v, d, h, age = kept[0], kept[1], kept[2], kept[3]
    data, r, paid = np.zeros(len(tables.indices)), np.zeros(n), 0.0
    for s in range(n):
        paid_here = 0.0
        for a in range(nA):
            act = 0.0
            for e in range(tables.entry_ptr[s], tables.entry_ptr[s + 1]):
                act += tables.entry_prob[e] * pi[tables.entry_o[e], a]
            r[s] += act * tables.R[s, a]
            paid_here += act * tables.R_abs[s, a]
            for k in range(tables.row_ptr[s * nA + a], tables.row_ptr[s * nA + a + 1]):
                data[tables.slot[k]] += act * tables.prob[k]
        paid = max(paid, paid_here)
    there, away = (tables.indptr, tables.indices), (tables.back_ptr, tables.back)
    missed = _solve(there, data, gamma, r, v)
    size = np.abs(v).max()
    if not missed <= _ENOUGH * (size + paid):
        return np.nan
    v_share = (missed + drift * (2.0 * size + paid)) / _slack(there, data, gamma, h, drift)

    # visits in those of the last policy, so that small ones are right as well
    turned, start, x = np.zeros(len(data)), np.zeros(n), np.zeros(n)
    for s in range(n):
        if visited[s]:
            x[s], start[s] = 1.0, tables.mu[s] / d[s]
            for k in range(tables.back_ptr[s], tables.back_ptr[s + 1]):
                if visited[tables.back[k]]:
                    turned[k] = data[tables.turned[k]] * d[tables.back[k]] / d[s]
    missed = _solve(away, turned, carry, start, x)
    least, most = np.inf, 0.0
    for s in range(n):
        if visited[s]:
            most = max(most, x[s])
            # rarer states are behind rows that count as not seen, or next to nothing behind others
            if d[s] * x[s] > FEWEST_VISITS / n:
                least = min(least, x[s])
    d_share = (missed + drift * 2.0 * most) / _slack(away, turned, carry, age, drift) / least
    # with a slack that is not positive nothing is known
    if not (v_share >= 0.0 and d_share >= 0.0 and missed <= _ENOUGH * least):
        return np.nan
    value = 0.0
    for s in range(n):
        value += tables.mu[s] * v[s]
        if visited[s]:
            d[s] = max(d[s] * x[s], LEAST_VISITS)
    _observe(tables, visited, kept, v_share, d_share, q, error, weight)
    return value if error.max() <= _POOR * (size + paid) else np.nan


@compile_kernel
def _solve(pattern, data, gamma, b, x):
    """Improve x until x = b + gamma P x, and return the largest residual."""
    indptr, indices = pattern
    size = max(np.abs(b).max(), np.abs(x).max())
    bicgstab(indptr, indices, gamma * data, b, x, _AIM * size, _ITERATIONS)
    missed = 0.0
    for s in range(len(x)):
        total = b[s]
        for k in range(indptr[s], indptr[s + 1]):
            total += gamma * data[k] * x[indices[k]]
        missed = max(missed, abs(total - x[s]))
    return missed


@compile_kernel
def _slack(pattern, data, gamma, h, drift):
    """The least entry of (I - gamma P) h. Where it is positive, h divided by it bounds (I - gamma
    P)^-1 1. A vector h that is no longer good for that is found again."""
    indptr, indices = pattern
    least = -np.inf
    for attempt in range(2):
        least = np.inf
        for s in range(len(h)):
            total = 0.0
            for k in range(indptr[s], indptr[s + 1]):
                total += gamma * data[k] * h[indices[k]]
            # what rounding may have added is taken off
            least = min(least, h[s] - total - drift * (h[s] + total))
        if least >= _SLACK or attempt == 1:
            break
        h[:] = 1.0
        bicgstab(indptr, indices, gamma * data, np.ones(len(h)), h, 1e-2, _ITERATIONS)
    return least


@compile_kernel
def _observe(tables, visited, kept, v_share, d_share, q, error, weight):
    """q(o,a) = sum_s d(s) omega(o|s) q(s,a) / sum_s d(s) omega(o|s), and a bound for each row."""
    (n, nA), nO = tables.R.shape, len(weight)
    v, d, h, age = kept[0], kept[1], kept[2], kept[3]
    doubt = np.zeros(nO)
    high, low = np.full((nO, nA), -np.inf), np.full((nO, nA), np.inf)
    paid, own, count = np.zeros(nO), np.empty(nA), np.zeros(nO)
    q[:] = 0.0
    weight[:] = 0.0
    error[:] = 0.0
    for s in range(n):
        if not (visited[s] and tables.alive[s]):
            continue
        most, later = 0.0, 0.0
        for a in range(nA):
            x, y = 0.0, 0.0
            for k in range(tables.row_ptr[s * nA + a], tables.row_ptr[s * nA + a + 1]):
                x += tables.prob[k] * v[tables.s_next[k]]
                y += tables.prob[k] * h[tables.s_next[k]]
            own[a] = tables.R[s, a] + tables.gamma * x
            later = max(later, tables.gamma * y * v_share)
            most = max(most, tables.R_abs[s, a])
        for e in range(tables.entry_ptr[s], tables.entry_ptr[s + 1]):
            o, share = tables.entry_o[e], d[s] * tables.entry_prob[e]
            weight[o] += share
            count[o] += 1.0
            paid[o] = max(paid[o], most)  # where rewards cancel, R is less than these
            doubt[o] = max(doubt[o], age[s] * d_share)
            error[o] = max(error[o], later)
            for a in range(nA):
                q[o, a] += share * own[a]
                high[o, a], low[o, a] = max(high[o, a], own[a]), min(low[o, a], own[a])
    for o in range(nO):
        if weight[o] <= FEWEST_VISITS:
            weight[o] = 0.0
            error[o] = 0.0
            q[o] = np.nan
            continue
        size, spread = 0.0, 0.0
        for a in range(nA):
            q[o, a] /= weight[o]
            size = max(size, max(abs(high[o, a]), abs(low[o, a])))
            spread = max(spread, high[o, a] - low[o, a])
        # weights off by shares up to e move a mean by at most 2e/(1-e) times the range
        moved = 3.0 * doubt[o] * (spread + 8.0 * UNIT * size) if doubt[o] < 0.25 else np.inf
        error[o] += moved + (tables.sums + count[o]) * 4.0 * UNIT * (size + paid[o])
