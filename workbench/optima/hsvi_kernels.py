# mypy: disallow-untyped-defs=False
"""The sawtooth bound of `hsvi`, compiled."""

from __future__ import annotations

import numpy as np

from workbench.kernels import compile_kernel


@compile_kernel
def sawtooth(corner, points, drops, beliefs, values):
    """Lower each of `values` to the sawtooth bound at its belief, in place.

    A point b_i holds by how much it lies below the corners' plane, `drops[i]` = corner . b_i - v_i;
    its tooth at b is corner . b - drops[i] min_{s : b_i(s) > 0} b(s) / b_i(s).
    """
    n = corner.shape[0]
    for k in range(beliefs.shape[0]):
        plane = 0.0
        for s in range(n):
            plane += corner[s] * beliefs[k, s]
        deepest = 0.0
        for i in range(points.shape[0]):
            if drops[i] <= deepest:
                continue
            ratio = np.inf
            for s in range(n):
                if points[i, s] > 0:
                    x = beliefs[k, s] / points[i, s]
                    if x < ratio:
                        ratio = x
                        if ratio * drops[i] <= deepest:
                            break
            if ratio * drops[i] > deepest:
                deepest = ratio * drops[i]
        if plane - deepest < values[k]:
            values[k] = plane - deepest


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
