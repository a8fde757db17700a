# mypy: disallow-untyped-defs=False
"""The bounds of `hsvi`, compiled."""

from __future__ import annotations

import numpy as np

from workbench.core.kernels import compile_kernel


@compile_kernel
def sawtooth(corner, Q, points, informed, values_at, count, beliefs, values):
    """The upper bound at each belief.

    With ratio = min_{s : b_i(s) > 0} b(s) / b_i(s), a point b_i of value v_i leaves x = b - ratio
    b_i >= 0, and since V is convex V(b) <= ratio v_i + V(x) <= ratio v_i + min(corner . x, max_a x
    . Q(., a)). `informed[i, a]` is b_i . Q(., a).
    """
    n, nA = Q.shape
    f = np.empty(nA)
    for k in range(beliefs.shape[0]):
        plane = 0.0
        for a in range(nA):
            f[a] = 0.0
        for s in range(n):
            x = beliefs[k, s]
            if x > 0:
                plane += corner[s] * x
                for a in range(nA):
                    f[a] += Q[s, a] * x
        top = f[0]
        for a in range(1, nA):
            if f[a] > top:
                top = f[a]
        best = min(plane, top)
        for i in range(count):
            over, under = informed[i, nA] - values_at[i], informed[i, nA + 1] - values_at[i]
            ratio = np.inf
            for s in range(n):
                if points[i, s] > 0 and beliefs[k, s] < ratio * points[i, s]:
                    ratio = beliefs[k, s] / points[i, s]
                    # neither kind of tooth can reach below the best so far
                    if plane - ratio * over >= best and top - ratio * under >= best:
                        break
            if not (plane - ratio * over >= best and top - ratio * under >= best):
                rest = f[0] - ratio * informed[i, 0]
                for a in range(1, nA):
                    x = f[a] - ratio * informed[i, a]
                    if x > rest:
                        rest = x
                found = ratio * values_at[i] + min(rest, plane - ratio * informed[i, nA])
                best = min(best, found)
        values[k] = best


@compile_kernel
def highest(alphas, beliefs, values, which):
    """For each belief the largest b . alpha and the number of that alpha.

    Not a product of matrices: of these sizes, a threaded library spends its time on waking threads.
    """
    n = alphas.shape[1]
    for k in range(beliefs.shape[0]):
        places = np.flatnonzero(beliefs[k])
        best = -np.inf
        for i in range(alphas.shape[0]):
            total = 0.0
            if len(places) == n:
                for s in range(n):
                    total += alphas[i, s] * beliefs[k, s]
            else:
                for s in places:
                    total += alphas[i, s] * beliefs[k, s]
            if total > best:
                best = total
                which[k] = i
        values[k] = best


@compile_kernel
def spread(row_ptr, pair, prob, b, weights):
    """Add to `weights[a, (s', o)]` the chances of going there from the belief b."""
    nA = weights.shape[0]
    for s in np.flatnonzero(b):
        for a in range(nA):
            for k in range(row_ptr[s * nA + a], row_ptr[s * nA + a + 1]):
                weights[a, pair[k]] += b[s] * prob[k]


@compile_kernel
def group_beliefs(weights, e_s, group, n):
    """Divide weights over the pairs (s, o) into beliefs over n states, one for each observation.

    Returned are the row of weights, the observation's number, its chance, and the belief.
    """
    mass = np.zeros((len(weights), group[-1] + 1))
    for i in range(len(weights)):
        for k in range(len(group)):
            mass[i, group[k]] += weights[i, k]
    row, seen = np.nonzero(mass)
    number = np.zeros(mass.shape, dtype=np.int64)
    chance = np.empty(len(row))
    for j in range(len(row)):
        number[row[j], seen[j]] = j
        chance[j] = mass[row[j], seen[j]]
    beliefs = np.zeros((len(row), n))
    for i in range(len(weights)):
        for k in range(len(group)):
            if weights[i, k] > 0:
                beliefs[number[i, group[k]], e_s[k]] = weights[i, k] / mass[i, group[k]]
    return row, seen, chance, beliefs
