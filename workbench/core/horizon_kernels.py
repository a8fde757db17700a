# mypy: disallow-untyped-defs=False
"""Compiled evaluation of tasks in which no state comes back.

The states that are not terminal come in topological order, so that visits flow forward and values
back:

    d(s) = mu(s) + carry sum d(s') pi(a|o) p(s|s',a)    q(s,a) = R(s,a) + gamma sum p(s'|s,a) v(s')
    v(s) = sum_a pi(a|o) q(s,a)                         q(o,a) w(o) = sum_s d(s) omega(o|s) q(s,a)

Visits are sums of products of numbers >= 0, so each is right to a small share of itself; values are
right to a small share of the largest return (`horizon`).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.core.kernels import compile_later, inline_kernel, lean_later

Floats = NDArray[np.float64]
Places = NDArray[np.int64]


class LoopTables(NamedTuple):
    """A task without rewards.

    Attributes
    ----------
    mu, entry_ptr, entry_o, entry_prob : the start, and omega(o|s) in compressed rows.
    reward_row, column : R(s, a) is `R[reward_row[s], column[a]]`: equal rows and columns are kept
        once, since what is written in a last step, for instance, changes no reward.
    inner, row_ptr, successor, prob : `inner[s]`, the place of s among the states that lead on, or
        -1, and the rows (s, a) of these, without outcomes that end.
    is_plain : whether nothing but the policy is left to chance: each state has one observation and
        each of these rows one outcome. It takes half the time.
    gamma, carry : the discount of values and that of visits.
    nodes, matrix : where the segment to the greedy policy is looked at, 0 first, and the Bernstein
        coefficients from the values there.
    """

    mu: Floats
    entry_ptr: Places
    entry_o: Places
    entry_prob: Floats
    reward_row: Places
    column: Places
    inner: Places
    row_ptr: Places
    successor: Places
    prob: Floats
    is_plain: bool
    gamma: float
    carry: float
    nodes: Floats
    matrix: Floats


class LoopWork(NamedTuple):
    """Work arrays of the oracle loop. They hold d, v, q(o, a) times weight, the weight of o,
    pi(column|o), the rewards' part of q, and q(s, .) of one state. Then come a policy, q and weight
    at all nodes, and the coefficients of one polynomial."""

    d: Floats
    v: Floats
    q: Floats
    weight: Floats
    marginal: Floats
    paid: Floats
    own: Floats
    there: Floats
    q_node: Floats
    weight_node: Floats
    part: Floats


@lean_later
def evaluate_policy(tables, R, pi, work):
    """Compute the value of pi. The rest is written to `work`."""
    return evaluate_here(tables, R, pi, work)


@inline_kernel
def evaluate_here(tables, R, pi, work):
    """The same, compiled into its caller."""
    entry_ptr, entry_o, entry_prob = tables.entry_ptr, tables.entry_o, tables.entry_prob
    inner, row_ptr, successor, prob = tables.inner, tables.row_ptr, tables.successor, tables.prob
    d, v, q, weight, own = work.d, work.v, work.q, work.weight, work.own
    marginal, paid, column = work.marginal, work.paid, tables.column
    rows, nA, nC, n = pi.shape[0], pi.shape[1], R.shape[1], len(d)
    for o in range(rows):
        weight[o] = 0.0
        for c in range(nC):
            marginal[o, c] = 0.0
            paid[o, c] = 0.0
        for a in range(nA):
            q[o, a] = 0.0
            # Unsigned index: numba then skips its test for negative indices.
            marginal[o, np.uint64(column[a])] += pi[o, a]
    for s in range(n):
        d[s] = tables.mu[s]
    value = 0.0
    if tables.is_plain:
        for s in range(n):
            o, visits, i = np.uint64(entry_o[s]), d[s], inner[s]
            weight[o] += visits
            if i >= 0:
                flow = tables.carry * visits
                for a in range(nA):
                    d[np.uint64(successor[i * nA + a])] += flow * pi[o, a]
        for s in range(n - 1, -1, -1):
            o, visits, i, row = (
                np.uint64(entry_o[s]),
                d[s],
                inner[s],
                np.uint64(tables.reward_row[s]),
            )
            worth = 0.0
            for c in range(nC):
                worth += marginal[o, c] * R[row, c]
                paid[o, c] += visits * R[row, c]
            if i >= 0:
                for a in range(nA):
                    x = tables.gamma * v[np.uint64(successor[i * nA + a])]
                    worth += pi[o, a] * x
                    q[o, a] += visits * x
            v[s] = worth
            value += tables.mu[s] * worth
    else:
        for s in range(n):
            for e in range(entry_ptr[s], entry_ptr[s + 1]):
                o, share, i = np.uint64(entry_o[e]), d[s] * entry_prob[e], inner[s]
                weight[o] += share
                if i >= 0:
                    for a in range(nA):
                        x = tables.carry * share * pi[o, a]
                        for k in range(row_ptr[i * nA + a], row_ptr[i * nA + a + 1]):
                            d[np.uint64(successor[k])] += x * prob[k]
        # Backwards, every successor has its value before it is asked for.
        for s in range(n - 1, -1, -1):
            i, row, worth = inner[s], np.uint64(tables.reward_row[s]), 0.0
            for a in range(nA):
                own[a] = 0.0
                if i >= 0:
                    for k in range(row_ptr[i * nA + a], row_ptr[i * nA + a + 1]):
                        own[a] += tables.gamma * prob[k] * v[np.uint64(successor[k])]
            for e in range(entry_ptr[s], entry_ptr[s + 1]):
                o, share, total = np.uint64(entry_o[e]), d[s] * entry_prob[e], 0.0
                for c in range(nC):
                    total += marginal[o, c] * R[row, c]
                    paid[o, c] += share * R[row, c]
                if i >= 0:
                    for a in range(nA):
                        total += pi[o, a] * own[a]
                        q[o, a] += share * own[a]
                worth += entry_prob[e] * total
            v[s] = worth
            value += tables.mu[s] * worth
    for o in range(rows):
        for a in range(nA):
            q[o, a] += paid[o, np.uint64(column[a])]
    return value


@compile_later
def levels(indptr, indices, order):
    """The length of the longest path to each node, the nodes being given in topological order."""
    level = np.zeros(len(order), dtype=np.int64)
    for node in order:
        for k in range(indptr[node], indptr[node + 1]):
            level[indices[k]] = max(level[indices[k]], level[node] + 1)
    return level
