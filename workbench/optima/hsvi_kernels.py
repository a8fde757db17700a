# mypy: disallow-untyped-defs=False
"""The bounds of `hsvi`, compiled."""

from __future__ import annotations

import numpy as np

from workbench.core.kernels import compile_kernel


@compile_kernel
def sawtooth(
    corner, Q, row_ptr, places, weights, informed, values_at, active, beliefs, values, which, ratios
):
    """The upper bound at each belief, `which` point's tooth it is (-1 if none), and its ratio.

    Points are given by their supports, in compressed rows: `places` and `weights`.

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
        which[k], ratios[k] = -1, 0.0
        for i in active:
            over, under = informed[i, nA] - values_at[i], informed[i, nA + 1] - values_at[i]
            ratio = np.inf
            for j in range(row_ptr[i], row_ptr[i + 1]):
                x = beliefs[k, places[j]] / weights[j]
                if x < ratio:
                    ratio = x
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
                if found < best:
                    best = found
                    which[k], ratios[k] = i, ratio
        values[k] = best


@compile_kernel
def lower_points(values, count, base, row_ptr, to, coef, sweeps, least):
    """Lower the values of points by their own one-step bounds, again and again, in place.

    When point i was made, what follows action a at it was bounded by base[i, a] + sum_k coef[k]
    values[to[k]], k in row i |A| + a. Values that have come down since lower it further. How often
    it went through all of them, until none changed by more than `least`.
    """
    nA = base.shape[1]
    for done in range(sweeps):
        change = 0.0
        for i in range(count):
            best = -np.inf
            for a in range(nA):
                total = base[i, a]
                row = i * nA + a
                for k in range(row_ptr[row], row_ptr[row + 1]):
                    total += coef[k] * values[to[k]]
                if total > best:
                    best = total
            if best < values[i]:
                if values[i] - best > change:
                    change = values[i] - best
                values[i] = best
        if change <= least:
            return done + 1
    return sweeps


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
