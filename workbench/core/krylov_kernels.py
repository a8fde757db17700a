# mypy: disallow-untyped-defs=False
"""BiCGSTAB (van der Vorst 1992) for x = b + gamma P x by products, compiled, for loops."""

from __future__ import annotations

import numpy as np

from workbench.core.kernels import compile_kernel


@compile_kernel
def _apply(indptr, indices, data, gamma, x, y):
    """y = x - gamma P x."""
    for i in range(len(x)):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            total += data[k] * x[indices[k]]
        y[i] = x[i] - gamma * total


@compile_kernel
def _size(r, largest):
    """The norm of r: its largest entry, or the sum of its entries."""
    size = 0.0
    for x in r:
        if largest:
            size = max(size, abs(x))
        else:
            size += abs(x)
    return size


@compile_kernel
def _dot(x, y):
    total = 0.0
    for i in range(len(x)):
        total += x[i] * y[i]
    return total


@compile_kernel
def _missing(indptr, indices, data, gamma, b, x, r):
    """r = b - (I - gamma P) x."""
    _apply(indptr, indices, data, gamma, x, r)
    for i in range(len(x)):
        r[i] = b[i] - r[i]


@compile_kernel
def bicgstab_of_products(indptr, indices, data, gamma, b, x, aim, largest, iterations):
    """Improve x in place until the residual is at most `aim`; returns the residual and the
    iterations taken."""
    n = len(b)
    r, shadow, p, v, t = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    taken = 0
    best = np.inf
    in_vain = 0
    while taken < iterations:
        _missing(indptr, indices, data, gamma, b, x, r)
        shadow[:] = r
        p[:] = r
        size = _size(r, largest)
        in_vain = 0 if size < 0.5 * best else in_vain + 1
        # Done, or starting again no longer helps.
        if size <= aim or in_vain == 3 or not np.isfinite(size):
            return size, taken
        best = min(best, size)
        rho = _dot(shadow, r)
        while taken < iterations:
            taken += 1
            _apply(indptr, indices, data, gamma, p, v)
            along = _dot(shadow, v)
            # r has become orthogonal to its shadow: no step length exists in this direction.
            if along == 0.0 or rho == 0.0:
                break
            alpha = rho / along
            for i in range(n):
                r[i] -= alpha * v[i]
            _apply(indptr, indices, data, gamma, r, t)
            tt = _dot(t, t)
            omega = _dot(t, r) / tt if tt > 0.0 else 0.0
            for i in range(n):
                x[i] += alpha * p[i] + omega * r[i]
                r[i] -= omega * t[i]
            size = _size(r, largest)
            rho_next = _dot(shadow, r)
            broken = (
                abs(rho_next) < 1e-24 * np.sqrt(_dot(r, r) * _dot(shadow, shadow)) or omega == 0.0
            )
            if size <= aim or broken or not np.isfinite(size):
                break
            beta = (rho_next / rho) * (alpha / omega)
            rho = rho_next
            for i in range(n):
                p[i] = r[i] + beta * (p[i] - omega * v[i])
    # r was updated along the way and has drifted from the residual of x: measure it anew.
    _missing(indptr, indices, data, gamma, b, x, r)
    return _size(r, largest), taken
