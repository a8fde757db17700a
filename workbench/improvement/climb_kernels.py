# mypy: disallow-untyped-defs=False
"""Compiled ascent to a stochastic policy of a sequence task (Baum and Eagon 1967)."""

from __future__ import annotations

import math

from workbench.core.horizon_kernels import evaluate_here
from workbench.core.kernels import inline_kernel, lean_entry

_STILL = 1e-11
"""An ascent ends where a step adds less than this share of the value."""


@inline_kernel
def climb(tables, R, pi, steps, work):
    """pi(j|m) <- pi(j|m) q(m, j) / sum: with rewards of at least 0 the value never falls. The
    value."""
    q, value = work.q, -math.inf
    for _ in range(steps):
        now = evaluate_here(tables, R, pi, work)
        if now <= value + _STILL * abs(now):
            return now
        value = now
        for m in range(pi.shape[0]):
            total = 0.0
            for j in range(pi.shape[1]):
                total += pi[m, j] * q[m, j]
            if total > 0.0:
                for j in range(pi.shape[1]):
                    pi[m, j] *= q[m, j] / total
    return evaluate_here(tables, R, pi, work)


@lean_entry
def climb_many(tables, R, starts, steps, work, best):
    """For each task of a batch the best value found from all starts."""
    pi = work.there
    for i in range(len(R)):
        best[i] = -math.inf
        for k in range(len(starts)):
            for m in range(pi.shape[0]):
                for j in range(pi.shape[1]):
                    pi[m, j] = starts[k, m, j]
            best[i] = max(best[i], climb(tables, R[i], pi, steps, work))
