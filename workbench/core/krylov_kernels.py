# mypy: disallow-untyped-defs=False
"""BiCGSTAB (van der Vorst 1992) for x = b + gamma P x, compiled, its vector operations fused into
few passes; sweeps of Gauss and Seidel; and both together.

The residual is measured in the norm that the error bound needs (the largest entry, or the sum), at
every iteration, and the method starts again from where it is when it breaks down, which a
right-hand side with few entries makes likely.
"""

from __future__ import annotations

import numpy as np

from workbench.core.kernels import compile_kernel

PLAIN, UPWARDS, DOWNWARDS = range(3)
"""What BiCGSTAB iterates: products, or sweeps that go through the states in one direction."""


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
def orthogonalize(V, count, w, along):
    """Take from w its parts along the first rows of V, whose lengths go to `along`; the length of
    what is left.

    Here and not by BLAS, which shares vectors of any size among all cores, and waits for each of
    them where others work as well.
    """
    for i in range(count):
        v = V[i]
        along[i] = _dot(w, v)
        for j in range(len(w)):
            w[j] -= along[i] * v[j]
    return np.sqrt(_dot(w, w))


@compile_kernel
def combine_rows(V, shares, found):
    """found = the sum of `shares[i]` V[i]."""
    found[:] = 0.0
    for i in range(len(shares)):
        for j in range(len(found)):
            found[j] += shares[i] * V[i, j]


@compile_kernel
def sweep(indptr, indices, data, b, x, upwards):
    """One sweep of Gauss and Seidel for x = b + P x, P without a diagonal and nothing negative; the
    largest relative change."""
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
def scale_rows(indptr, indices, data, b, d, scaled, right):
    """The system for x, where y = d x and y = b + P y; rows with d = 0 become empty."""
    for i in range(len(d)):
        if d[i] > 0.0:
            right[i] = b[i] / d[i]
        for k in range(indptr[i], indptr[i + 1]):
            scaled[k] = data[k] * (d[indices[k]] / d[i]) if d[i] > 0.0 else 0.0


@compile_kernel
def _sweep_upwards(indptr, indices, data, gamma, x, y):
    """y = what an upward sweep makes of x for x = y + gamma P x, which is left as it is.

    It costs one product: with P = L + U, y becomes (I - gamma L)^-1 (y + gamma U x), and each entry
    is found from entries of y before it and of x from there on.
    """
    for i in range(len(x)):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            total += data[k] * (y[j] if j < i else x[j])
        y[i] += gamma * total


@compile_kernel
def _sweep_downwards(indptr, indices, data, gamma, x, y):
    """`_sweep_upwards` from the last entry to the first; one kernel for both, told the direction,
    would take a quarter longer."""
    for i in range(len(x) - 1, -1, -1):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            total += data[k] * (y[j] if j > i else x[j])
        y[i] += gamma * total


@compile_kernel
def _missed(indptr, indices, data, gamma, x, y, how):
    """y = (I - gamma P) x, or what an upward or downward sweep with b = 0 takes from x."""
    if how == PLAIN:
        _apply(indptr, indices, data, gamma, x, y)
        return
    y[:] = 0.0
    if how == UPWARDS:
        _sweep_upwards(indptr, indices, data, gamma, x, y)
    else:
        _sweep_downwards(indptr, indices, data, gamma, x, y)
    for i in range(len(x)):
        y[i] = x[i] - y[i]


@compile_kernel
def _residual(indptr, indices, data, gamma, b, x, r, how):
    """r = b - (I - gamma P) x, or what a sweep adds to x."""
    if how == PLAIN:
        _apply(indptr, indices, data, gamma, x, r)
        for i in range(len(x)):
            r[i] = b[i] - r[i]
        return
    r[:] = b
    if how == UPWARDS:
        _sweep_upwards(indptr, indices, data, gamma, x, r)
    else:
        _sweep_downwards(indptr, indices, data, gamma, x, r)
    for i in range(len(x)):
        r[i] -= x[i]


@compile_kernel
def bicgstab(indptr, indices, data, gamma, b, x, aim, largest, iterations, how):
    """Improve x in place until the residual is at most `aim`; returns the residual and the
    iterations taken.

    On sweeps the residual is what a sweep changes: BiCGSTAB then looks for the fixed point of
    sweeps, in about half the iterations. Sweeps are to go against the direction in which entries
    depend on each other.
    """
    n = len(b)
    r, shadow, p, v, t = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    taken = 0
    best = np.inf
    in_vain = 0
    while taken < iterations:
        _residual(indptr, indices, data, gamma, b, x, r, how)
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
            _missed(indptr, indices, data, gamma, p, v, how)
            along = _dot(shadow, v)
            # r has become orthogonal to its shadow: no step length exists in this direction.
            if along == 0.0 or rho == 0.0:
                break
            alpha = rho / along
            for i in range(n):
                r[i] -= alpha * v[i]
            _missed(indptr, indices, data, gamma, r, t, how)
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
    _residual(indptr, indices, data, gamma, b, x, r, how)
    return _size(r, largest), taken
