# mypy: disallow-untyped-defs=False
"""Compiled solvers of x = b + Q x for substochastic Q. Its entries are not negative, and its rows
sum to at most one.

Elimination without subtractions (Grassmann, Taksar and Heyman 1985), for chains of some hundred
states: state k is taken out, and what went through it is added to what goes past it. With `leave`
the probability of ending from each state,

    1 - Q(k,k)  =  leave(k) + sum_{j > k} Q(k,j)      among the states that are left,

so the diagonal is no difference and each number found has a small relative error, however small it
is itself (O'Cinneide 1993). The same factors solve the system and its transpose.

BiCGSTAB (van der Vorst 1992) on sweeps of Gauss and Seidel, for the others: it looks for the fixed
point of upward sweeps, which are to go against the direction in which entries depend on each other.
"""

from __future__ import annotations

import numpy as np

from workbench.core.kernels import compile_kernel

_FAINT = 1e-290
"""Products below this may have lost their last bits."""


@compile_kernel
def eliminate(indptr, indices, data, gamma, leave):
    """Eliminate states, and return the factors in one dense matrix with whether some underflowed.
    Above the diagonal are the flows of each state when it is taken out, on it the pivot, and below
    it the shares of other states' flows that went through it.

    A pivot of zero belongs to a state from which nothing ends; it stands for an infinite result.
    """
    n, lost = len(leave), False
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
                        flow = share * F[k, j]
                        lost = lost or flow < _FAINT
                        F[i, j] += flow
    return F, lost


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


@compile_kernel
def sweep(indptr, indices, data, b, x, upwards):
    """One Gauss-Seidel sweep for x = b + Q x, where Q >= 0 has no diagonal. Returns the largest
    relative change."""
    n = len(x)
    largest = 0.0
    for step in range(n):
        i = step if upwards else n - 1 - step
        total = b[i]
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * x[indices[k]]
        if total > 0.0:
            largest = max(largest, abs(total - x[i]) / total)
        x[i] = total
    return largest


@compile_kernel
def scale_rows(indptr, indices, data, d, scaled):
    """The rows of D^-1 Q D, empty where d is 0."""
    for i in range(len(d)):
        for k in range(indptr[i], indptr[i + 1]):
            scaled[k] = data[k] * (d[indices[k]] / d[i]) if d[i] > 0.0 else 0.0


@compile_kernel
def _sweep_from(indptr, indices, data, x, y):
    """Apply the inverse of an upward sweep in place. With Q = L + U, y becomes (I - L)^-1 (y + U
    x). It costs one product."""
    for i in range(len(x)):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            total += data[k] * (y[j] if j < i else x[j])
        y[i] += total


@compile_kernel
def _dot(x, y):
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


@compile_kernel
def _missed(indptr, indices, data, x, y):
    """y = x - (what a sweep with b = 0 makes of x)."""
    y[:] = 0.0
    _sweep_from(indptr, indices, data, x, y)
    for i in range(len(x)):
        y[i] = x[i] - y[i]


@compile_kernel
def bicgstab(indptr, indices, data, b, x, aim, iterations):
    """Improve x in place until a sweep changes no entry by more than `aim`. Returns that change and
    the number of iterations.

    The method starts again from where it is when it breaks down, which a right side with few
    entries makes likely.
    """
    n = len(b)
    r, shadow, p, v, t = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    taken = in_vain = 0
    best = np.inf
    while True:
        # r was updated along the way and has drifted from the residual of x: measure it anew
        r[:] = b
        _sweep_from(indptr, indices, data, x, r)
        size = 0.0
        for i in range(n):
            r[i] -= x[i]
            size = max(size, abs(r[i]))
        in_vain = 0 if size < 0.5 * best else in_vain + 1
        # done, or starting again no longer helps
        if size <= aim or taken >= iterations or in_vain == 3 or not np.isfinite(size):
            return size, taken
        best = min(best, size)
        shadow[:] = r
        p[:] = r
        rho = _dot(shadow, r)
        while taken < iterations:
            taken += 1
            _missed(indptr, indices, data, p, v)
            along = _dot(shadow, v)
            if along == 0.0 or rho == 0.0:  # r is orthogonal to its shadow: no step length exists
                break
            alpha = rho / along
            for i in range(n):
                r[i] -= alpha * v[i]
            _missed(indptr, indices, data, r, t)
            tt = _dot(t, t)
            omega = _dot(t, r) / tt if tt > 0.0 else 0.0
            size = 0.0
            for i in range(n):
                x[i] += alpha * p[i] + omega * r[i]
                r[i] -= omega * t[i]
                size = max(size, abs(r[i]))
            rho_next = _dot(shadow, r)
            broken = abs(rho_next) < 1e-24 * np.sqrt(_dot(r, r) * _dot(shadow, shadow))
            if size <= aim or broken or omega == 0.0 or not np.isfinite(size):
                break
            beta = (rho_next / rho) * (alpha / omega)
            rho = rho_next
            for i in range(n):
                p[i] = r[i] + beta * (p[i] - omega * v[i])
