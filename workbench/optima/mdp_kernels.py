# mypy: disallow-untyped-defs=False
"""Compiled kernels for MDPs: reachability, sure termination, and small linear systems."""

from __future__ import annotations

import numpy as np

from workbench.core.kernels import compile_later
from workbench.core.linear_kernels import walk


@compile_later
def surely_ending(row_ptr, successors, ends, allowed):
    """The states from which some allowed policy ends with probability one, the actions that stay
    among them, one such policy.

    The largest set X of states such that from each of them an end can be reached by actions all of
    whose outcomes stay in X (de Alfaro 1997): start with all states, and throw out those that
    cannot reach an end, until none is left to throw out. Policy entries are -1 outside X.
    """
    n, nA = allowed.shape
    usable = allowed.copy()
    inside = np.ones(n, dtype=np.bool_)
    count = np.zeros(n + 1, dtype=np.int64)
    for k in range(len(successors)):
        count[successors[k] + 1] += 1
    back_ptr = np.cumsum(count)
    back = np.empty(len(successors), dtype=np.int64)
    filled = back_ptr[:-1].copy()
    for row in range(n * nA):
        for k in range(row_ptr[row], row_ptr[row + 1]):
            back[filled[successors[k]]] = row
            filled[successors[k]] += 1
    policy = np.full(n, -1, dtype=np.int64)
    queue = np.empty(n, dtype=np.int64)
    while True:
        policy[:] = -1
        size = 0
        for i in range(n):
            for a in range(nA):
                if inside[i] and usable[i, a] and ends[i, a] and policy[i] < 0:
                    policy[i] = a
                    queue[size] = i
                    size += 1
        at = 0
        while at < size:
            j = queue[at]
            at += 1
            for k in range(back_ptr[j], back_ptr[j + 1]):
                i = back[k] // nA
                if inside[i] and usable[i, back[k] % nA] and policy[i] < 0:
                    policy[i] = back[k] % nA
                    queue[size] = i
                    size += 1
        lost = False
        for i in range(n):
            if inside[i] and policy[i] < 0:
                inside[i] = False
                lost = True
        if not lost:
            return inside, usable & inside.reshape(n, 1), policy
        for i in range(n):
            for a in range(nA):
                for k in range(row_ptr[i * nA + a], row_ptr[i * nA + a + 1]):
                    if not inside[successors[k]]:
                        usable[i, a] = False


@compile_later
def reached_by(row_ptr, successors, nA, policy, starts):
    """The states that a deterministic policy visits, in the order of a breadth-first walk from some
    states."""
    rows = np.arange(len(policy)) * nA + policy
    return walk(row_ptr[rows], row_ptr[rows + 1], successors, starts)


@compile_later
def solve_leaving(P, leave, b, start, v, d):
    """Solve v = b + P v and d = start + P^T d for a chain. State i leaves it with probability
    `leave[i]`. Returns False if some states are never left. P, leave, b and start are lost.

    States are eliminated one by one, the last one first, without a subtraction (Grassmann, Taksar
    and Heyman 1985): 1 - P[k, k] is what leaves k, which rounding would lose where episodes are
    long. Values of states that a state does not lead to never come near its own.
    """
    n = len(leave)
    whole = np.empty(n)
    for k in range(n - 1, -1, -1):
        total = leave[k]
        for j in range(k):
            total += P[k, j]
        if not total > 0.0:
            return False
        whole[k] = total
        for i in range(k):
            share = P[i, k] / total
            if share != 0.0:
                for j in range(k):
                    P[i, j] += share * P[k, j]
                leave[i] += share * leave[k]
                b[i] += share * b[k]
        for j in range(k):
            start[j] += start[k] * (P[k, j] / total)
    for k in range(n):
        v[k], d[k] = b[k], start[k]
        for j in range(k):
            v[k] += P[k, j] * v[j]
            d[k] += d[j] * P[j, k]
        v[k] /= whole[k]
        d[k] /= whole[k]
    return True
