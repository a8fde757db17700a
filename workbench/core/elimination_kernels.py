# mypy: disallow-untyped-defs=False
"""Elimination of states without subtractions (Grassmann, Taksar and Heyman 1985), compiled, for
chains of some hundred states.

For x = b + Q x with Q >= 0 and the probability `leave` of ending from each state, Q 1 + leave = 1:
state k is taken out, and what went through it is added to what goes past it. The diagonal is never
formed as a difference,

    1 - Q(k,k)  =  leave(k) + sum_{j > k} Q(k,j)      among the states that are left,

so each number found has a small relative error, however small it is itself (O'Cinneide 1993). The
same factors solve the system and its transpose.
"""

from __future__ import annotations

import numpy as np

from workbench.core.kernels import compile_kernel


@compile_kernel
def eliminate(indptr, indices, data, gamma, leave):
    """The factors, in one dense matrix: above the diagonal the flows of each state when it is taken
    out, on it its pivot, below it the shares of others' flows that went through it.

    A pivot of zero belongs to a state from which nothing ends; it stands for an infinite result.
    """
    n = len(leave)
    F = np.zeros((n, n))
    out = leave.copy()
    for i in range(n):
        for k in range(indptr[i], indptr[i + 1]):
            if indices[k] != i:
                F[i, indices[k]] += gamma * data[k]
    for k in range(n):
        pivot = out[k]
        for j in range(k + 1, n):
            pivot += F[k, j]
        F[k, k] = pivot
        for i in range(k + 1, n):
            if F[i, k] != 0.0:
                share = F[i, k] / pivot if pivot > 0.0 else np.inf
                F[i, k] = share
                out[i] += share * out[k]
                for j in range(k + 1, n):
                    if F[k, j] != 0.0 and j != i:
                        F[i, j] += share * F[k, j]
    return F


@compile_kernel
def substitute(F, b):
    """x with x = b + Q x."""
    n = len(b)
    x = b.copy()
    for i in range(n):
        for k in range(i):
            if F[i, k] != 0.0:
                x[i] += F[i, k] * x[k]
    for k in range(n - 1, -1, -1):
        for j in range(k + 1, n):
            if F[k, j] != 0.0:
                x[k] += F[k, j] * x[j]
        if x[k] != 0.0:
            x[k] /= F[k, k]
    return x


@compile_kernel
def substitute_transposed(F, b):
    """x with x = b + Q^T x."""
    n = len(b)
    x = b.copy()
    for k in range(n):
        if x[k] != 0.0:
            x[k] /= F[k, k]
            for j in range(k + 1, n):
                if F[k, j] != 0.0:
                    x[j] += F[k, j] * x[k]
    for i in range(n - 1, -1, -1):
        if x[i] != 0.0:
            for k in range(i):
                if F[i, k] != 0.0:
                    x[k] += F[i, k] * x[i]
    return x
