# mypy: disallow-untyped-defs=False
"""Compiled oracle loop for tasks of finite horizon: one pass forward for visits, one backward for
values, one step.

States that are not terminal come in topological order, so that visits flow forward and values back
without solving anything. Actions are in the order in which ties are broken: the first maximum is
the greedy action. States without successors among these (`inner[s] < 0`) are where most outcomes
lie; their q(s, a) is R(s, a) and needs no rows.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.kernels import compile_kernel, inline_kernel


class LoopTables(NamedTuple):
    """A task of finite horizon as the loop reads it.

    Attributes
    ----------
    mu : `mu[s]`, the start.
    entry_ptr, entry_o, entry_prob : omega(o|s) in compressed rows.
    reward_row, R : R(s, a) is `R[reward_row[s], a]`, equal rows kept once.
    inner, row_ptr, successor, prob : rows of the states that have successors, without outcomes that
        end; `inner[s]` is the place of s among these states, or -1.
    gamma, carry : the discount of values, and that of visits (1 for undiscounted).
    """

    mu: NDArray[Any]
    entry_ptr: NDArray[Any]
    entry_o: NDArray[Any]
    entry_prob: NDArray[Any]
    reward_row: NDArray[Any]
    R: NDArray[Any]
    inner: NDArray[Any]
    row_ptr: NDArray[Any]
    successor: NDArray[Any]
    prob: NDArray[Any]
    gamma: float
    carry: float


@inline_kernel
def _dot(x, i, y, j):
    """sum_a x[i, a] y[j, a] with four running sums, so that additions need not wait for one
    another."""
    n = x.shape[1]
    one = two = three = four = 0.0
    whole = n - n % 4
    for a in range(0, whole, 4):
        one += x[i, a] * y[j, a]
        two += x[i, a + 1] * y[j, a + 1]
        three += x[i, a + 2] * y[j, a + 2]
        four += x[i, a + 3] * y[j, a + 3]
    for a in range(whole, n):
        one += x[i, a] * y[j, a]
    return (one + two) + (three + four)


@compile_kernel
def evaluate_policy(tables, pi, d, v, own, q, weight):
    """The value of pi; d, v, and q(o, a) times the weight of o are written to the arrays given.

    `own[0]` is room for q(s, .) of one state. Arrays are indexed in full: a row taken as an array
    of its own would cost more than the few actions of a small task.
    """
    mu, inner, reward_row, R = tables.mu, tables.inner, tables.reward_row, tables.R
    entry_ptr, entry_o, entry_prob = tables.entry_ptr, tables.entry_o, tables.entry_prob
    row_ptr, successor, prob = tables.row_ptr, tables.successor, tables.prob
    n, nA = len(mu), pi.shape[1]
    q[:] = 0.0
    weight[:] = 0.0
    d[:] = mu
    for s in range(n):
        if inner[s] < 0 or d[s] == 0.0:
            continue
        first = inner[s] * nA
        for e in range(entry_ptr[s], entry_ptr[s + 1]):
            o = entry_o[e]
            flow = tables.carry * d[s] * entry_prob[e]
            for a in range(nA):
                x = flow * pi[o, a]
                if x != 0.0:
                    for k in range(row_ptr[first + a], row_ptr[first + a + 1]):
                        d[successor[k]] += x * prob[k]
    value = 0.0
    for s in range(n - 1, -1, -1):
        reward = reward_row[s]
        leads_on = inner[s] >= 0
        if leads_on:
            first = inner[s] * nA
            for a in range(nA):
                x = 0.0
                for k in range(row_ptr[first + a], row_ptr[first + a + 1]):
                    x += prob[k] * v[successor[k]]
                own[0, a] = R[reward, a] + tables.gamma * x
        worth = 0.0
        for e in range(entry_ptr[s], entry_ptr[s + 1]):
            o = entry_o[e]
            share = d[s] * entry_prob[e]
            weight[o] += share
            if leads_on:
                worth += entry_prob[e] * _dot(pi, o, own, 0)
                for a in range(nA):
                    q[o, a] += share * own[0, a]
            else:
                worth += entry_prob[e] * _dot(pi, o, R, reward)
                for a in range(nA):
                    q[o, a] += share * R[reward, a]
        v[s] = worth
        value += mu[s] * worth
    return value


@compile_kernel
def choose_greedy(q, weight, near, greedy):
    """The greedy action of each row, -1 where there is no weight; and a number that tells greedy
    policies apart."""
    mark = np.uint64(14695981039346656037)
    for o in range(len(weight)):
        best = -1
        if weight[o] > 0.0:
            top = q[o, 0]
            for a in range(1, q.shape[1]):
                if q[o, a] > top:
                    top = q[o, a]
            top /= weight[o]
            enough = (top - near * max(1.0, abs(top))) * weight[o]
            best = 0
            while q[o, best] < enough:
                best += 1
        greedy[o] = best
        mark = (mark ^ np.uint64(best + 1)) * np.uint64(1099511628211)
    return mark


@compile_kernel
def run_loop(
    tables, pi, steps, near, settled, fresh, d, v, own, q, weight, greedy, values, marks, kept, last
):
    """Iterate until the steps are used up or `kept[0]`, the product of 1 - step since greedy last
    changed, is small.

    Small means at most `settled`, and at most `fresh` once greedy has changed. `last[0]` is the
    mark of the last greedy policy. Returns how many iterates were made.
    """
    for n in range(len(steps)):
        values[n] = evaluate_policy(tables, pi, d, v, own, q, weight)
        marks[n] = choose_greedy(q, weight, near, greedy)
        if marks[n] != last[0]:
            last[0] = marks[n]
            kept[0] = 1.0
            settled = fresh
        keep = 1.0 - steps[n]
        kept[0] *= keep
        for o in range(len(greedy)):
            best = greedy[o]
            if best >= 0:
                for a in range(pi.shape[1]):
                    pi[o, a] *= keep
                pi[o, best] += steps[n]
        if kept[0] <= settled:
            return n + 1
    return len(steps)


@compile_kernel
def smallest_period(marks):
    """The smallest p with marks[i] == marks[i + p] throughout (the failure function of Knuth,
    Morris and Pratt)."""
    n = len(marks)
    fail = np.zeros(n + 1, dtype=np.int64)
    k = 0
    for i in range(1, n):
        while k > 0 and marks[i] != marks[k]:
            k = fail[k]
        if marks[i] == marks[k]:
            k += 1
        fail[i + 1] = k
    return n - fail[n]


@compile_kernel
def levels(indptr, indices, order):
    """The length of the longest path to each node, the nodes being given in topological order."""
    level = np.zeros(len(order), dtype=np.int64)
    for node in order:
        for k in range(indptr[node], indptr[node + 1]):
            level[indices[k]] = max(level[indices[k]], level[node] + 1)
    return level


@compile_kernel
def polish(indptr, indices, data, carry, mu, d, tolerance, sweeps):
    """Gauss-Seidel sweeps, forth and back, on d = mu + carry P^T d, until each entry is right to a
    share of itself.

    Nothing is subtracted, so that errors that are small beside the large entries, but not beside
    the small ones, are replaced by what flows in. Returns whether the tolerance was met.
    """
    n = len(d)
    for sweep in range(sweeps):
        worst = 0.0
        for place in range(n):
            i = place if sweep % 2 == 0 else n - 1 - place
            total = mu[i]
            stays = 0.0
            for k in range(indptr[i], indptr[i + 1]):
                if indices[k] == i:
                    stays += carry * data[k]
                else:
                    total += carry * data[k] * d[indices[k]]
            total /= 1.0 - stays
            if total != d[i]:
                worst = max(worst, abs(total - d[i]) / max(total, d[i]))
            d[i] = total
        if worst <= tolerance:
            return True
    return False
