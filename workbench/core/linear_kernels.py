# mypy: disallow-untyped-defs=False
"""Compiled solvers of x = b + Q x for substochastic Q. Its entries are not negative, and its rows
sum to at most one.

Elimination without subtractions (Grassmann, Taksar and Heyman 1985), for chains of some thousand
states: state k is taken out, and what went through it is added to what goes past it. With `leave`
the probability of ending from each state,

    1 - Q(k,k)  =  leave(k) + sum_{j < k} Q(k,j)      among the states that are left,

so the diagonal is no difference and each number found has a small relative error, however small it
is itself (O'Cinneide 1993). The same factors solve the system and its transpose. The last state
goes first: states are numbered as they are discovered from mu, breadth first, and against that
order few new transitions arise (as few as against reverse Cuthill-McKee: docs/core.md).

BiCGSTAB (van der Vorst 1992) on sweeps of Gauss and Seidel, for the others: it looks for the fixed
point of upward sweeps, which are to go against the direction in which entries depend on each other.

Which states lead where: walks and strongly connected components of a matrix as a graph.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from workbench.core.kernels import compile_kernel, compile_later, read_only


@compile_later
def eliminate(indptr, indices, data, gamma, leave):
    """Eliminate states row by row, from the last to the first. It returns the pivots and the
    factors in compressed rows.

    Row i of the factors begins at `start[i]` with the shares of its flow that went through later
    states, and goes on at `middle[i]` with the flows to earlier ones when it is taken out itself.
    A pivot of zero belongs to a state from which nothing ends: results are infinite there.
    """
    n, at = len(leave), 0
    start, middle, stop = np.zeros(n, np.int64), np.zeros(n, np.int64), np.zeros(n, np.int64)
    columns, values = np.empty(4 * len(data) + n, np.int32), np.empty(4 * len(data) + n)
    pivot, out, row = np.empty(n), leave.copy(), np.zeros(n)
    for i in range(n - 1, -1, -1):
        first = last = i
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            if j != i:
                row[j] += gamma * data[k]
                first, last = min(first, j), max(last, j)
        if at + n > len(values):
            columns = np.concatenate((columns, np.empty(at + n, np.int32)))
            values = np.concatenate((values, np.empty(at + n)))
        start[i] = at
        for k in range(last, i, -1):
            if row[k] != 0.0:
                share = row[k] / pivot[k] if pivot[k] > 0.0 else np.inf
                row[k] = 0.0
                columns[at], values[at] = k, share
                at += 1
                out[i] += share * out[k]
                for e in range(middle[k], stop[k]):
                    j = columns[e]
                    if j != i:  # what comes back stays, which the other numbers say
                        row[j] += share * values[e]
                        first = min(first, j)
        middle[i] = at
        pivot[i] = out[i]
        for j in range(first, i):
            if row[j] != 0.0:
                pivot[i] += row[j]
                columns[at], values[at] = j, row[j]
                row[j] = 0.0
                at += 1
        stop[i] = at
    return pivot, start, middle, stop, columns[:at].copy(), values[:at].copy()


@compile_later
def substitute(pivot, start, middle, stop, columns, values, b, transposed):
    """x with x = b + Q x, or with x = b + Q^T x."""
    n, x = len(b), b.copy()
    for step in range(n):
        i = n - 1 - step
        if transposed:
            if x[i] != 0.0:
                x[i] = x[i] / pivot[i] if pivot[i] > 0.0 else np.inf
                for e in range(middle[i], stop[i]):
                    x[columns[e]] += values[e] * x[i]
        else:
            for e in range(start[i], middle[i]):
                x[i] += values[e] * x[columns[e]]
    for i in range(n):
        if transposed:
            if x[i] != 0.0:
                for e in range(start[i], middle[i]):
                    x[columns[e]] += values[e] * x[i]
        else:
            for e in range(middle[i], stop[i]):
                x[i] += values[e] * x[columns[e]]
            if x[i] != 0.0:
                x[i] = x[i] / pivot[i] if pivot[i] > 0.0 else np.inf
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


# ---------------------------------------------------------------------- where entries lead


@compile_later
def walk(first, last, successors, starts):
    """The nodes that can be reached from some nodes, in breadth-first order. The successors of a
    node are successors[first[node] : last[node]]."""
    seen = np.zeros(len(first), dtype=np.bool_)
    queue = np.empty(len(first), dtype=np.int64)
    size = 0
    for node in starts:
        if not seen[node]:
            seen[node] = True
            queue[size] = node
            size += 1
    at = 0
    while at < size:
        node = queue[at]
        at += 1
        for k in range(first[node], last[node]):
            found = successors[k]
            if not seen[found]:
                seen[found] = True
                queue[size] = found
                size += 1
    return queue[:size].copy()


def reachable(indptr, indices, starts):
    """The mask of the nodes that can be reached from some nodes, themselves included."""
    mask = np.zeros(len(indptr) - 1, dtype=np.bool_)
    mask[walk(*read_only(indptr[:-1], indptr[1:], indices, starts))] = True
    return mask


def reverse_edges(indptr: Any, indices: Any) -> tuple[Any, Any]:
    """The graph with every edge turned round, in compressed rows."""
    n = len(indptr) - 1
    turned_ptr = np.concatenate(([0], np.cumsum(np.bincount(indices, minlength=n))))
    tails = np.repeat(np.arange(n, dtype=np.int32), np.diff(indptr))
    return turned_ptr, tails[np.argsort(indices, kind="stable")]


def strong_components(indptr, indices):
    """How many strongly connected components there are, and the component of each node.

    Components are numbered as they are completed, so each has a larger number than all those it
    leads to.
    """
    graph = csr_array(
        (np.ones(len(indices), np.int8), indices, indptr), shape=(len(indptr) - 1,) * 2
    )
    return connected_components(graph, connection="strong")
