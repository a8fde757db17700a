# mypy: disallow-untyped-defs=False
"""BiCGSTAB (van der Vorst 1992) for x = b + gamma P x, compiled, its vector operations fused into
few passes; sweeps of Gauss and Seidel; and both together.

The residual is measured in the norm that the error bound needs (the largest entry, or the sum), at
every iteration, and the method starts again from where it is when it breaks down, which a
right-hand side with few entries makes likely.
"""

from __future__ import annotations

import numpy as np

from workbench.kernels import compile_kernel


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
def _missed_by_sweep(indptr, indices, data, x, y):
    """y = x - G x, where G x is what an upward sweep makes of x with b = 0.

    It costs one product: with P = L + U, G = (I - L)^-1 U, and each entry of G x is found from
    entries of G x before it and of x after it.
    """
    for i in range(len(x)):
        total = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            total += data[k] * (y[j] if j < i else x[j])
        y[i] = total
    for i in range(len(x)):
        y[i] = x[i] - y[i]


@compile_kernel
def _missed(indptr, indices, data, gamma, x, y, on_sweeps):
    """y = (I - gamma P) x, or y = (I - G) x with the G of `_missed_by_sweep`."""
    if on_sweeps:
        _missed_by_sweep(indptr, indices, data, x, y)
    else:
        _apply(indptr, indices, data, gamma, x, y)


@compile_kernel
def _residual(indptr, indices, data, gamma, b, x, r, on_sweeps):
    """r = b - (I - gamma P) x, or what an upward sweep adds to x."""
    if on_sweeps:
        r[:] = x
        sweep(indptr, indices, data, b, r, True)
        for i in range(len(x)):
            r[i] -= x[i]
    else:
        _apply(indptr, indices, data, gamma, x, r)
        for i in range(len(x)):
            r[i] = b[i] - r[i]


@compile_kernel
def _bicgstab(indptr, indices, data, gamma, b, x, aim, largest, iterations, on_sweeps):
    """`bicgstab`, or `bicgstab_on_sweeps`."""
    n = len(b)
    r, shadow, p, v, t = np.empty(n), np.empty(n), np.empty(n), np.empty(n), np.empty(n)
    taken = 0
    best = np.inf
    in_vain = 0
    while taken < iterations:
        _residual(indptr, indices, data, gamma, b, x, r, on_sweeps)
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
            _missed(indptr, indices, data, gamma, p, v, on_sweeps)
            along = _dot(shadow, v)
            # r has become orthogonal to its shadow: no step length exists in this direction.
            if along == 0.0 or rho == 0.0:
                break
            alpha = rho / along
            for i in range(n):
                r[i] -= alpha * v[i]
            _missed(indptr, indices, data, gamma, r, t, on_sweeps)
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
    _residual(indptr, indices, data, gamma, b, x, r, on_sweeps)
    return _size(r, largest), taken


@compile_kernel
def bicgstab(indptr, indices, data, gamma, b, x, aim, largest, iterations):
    """Improve x in place until the residual is at most `aim`; returns the residual and the
    iterations taken."""
    return _bicgstab(indptr, indices, data, gamma, b, x, aim, largest, iterations, False)


@compile_kernel
def bicgstab_on_sweeps(indptr, indices, data, b, x, aim, iterations):
    """BiCGSTAB for the fixed point of upward sweeps, x = c + G x, which is the one of x = b + P x;
    P without a diagonal.

    Improve x in place until the largest change that a sweep would make is at most `aim`; returns it
    and the iterations taken.
    """
    return _bicgstab(indptr, indices, data, 1.0, b, x, aim, True, iterations, True)
