# mypy: disallow-untyped-defs=False
"""Which states of a chain belong together, and what flows between groups of them, compiled."""

from __future__ import annotations

import numpy as np

from workbench.core.kernels import compile_kernel


@compile_kernel
def join_states(indptr, indices, flow, group):
    """Put each state into a group; how many groups there are.

    `flow[k]` comes to the state of row i from state indices[k]. A state joins the group of the one
    from which most comes to it, or makes one with it; groups are numbered as they are begun. A loop
    that is seldom left is thus never cut in two.
    """
    n = len(indptr) - 1
    group[:] = -1
    count = 0
    for i in range(n):
        if group[i] >= 0:
            continue
        best, largest = -1, 0.0
        for k in range(indptr[i], indptr[i + 1]):
            if flow[k] > largest:
                best, largest = indices[k], flow[k]
        if best >= 0 and group[best] >= 0:
            group[i] = group[best]
            continue
        group[i] = count
        if best >= 0:
            group[best] = count
        count += 1
    return count


@compile_kernel
def flow_through(indptr, indices, T, leaving, d, flow):
    """`flow` = what comes to each state from each other one, for rows T of shares of `leaving`."""
    for i in range(len(indptr) - 1):
        for k in range(indptr[i], indptr[i + 1]):
            flow[k] = T[k] * leaving[i] * d[indices[k]]


@compile_kernel
def join_flows(indptr, indices, flow, group, count, first, members):
    """What comes to each group from each other one, in compressed rows, from earlier groups first;
    group g has the members from place first[g] to first[g + 1]."""
    place = np.full(count, -1, dtype=np.int64)  # of the latest entry from each group
    joined_ptr = np.zeros(count + 1, dtype=indptr.dtype)
    joined = np.empty(len(indices), dtype=indices.dtype)
    joined_flow = np.empty(len(indices))
    m = 0
    for g in range(count):
        begin = m
        for t in range(first[g], first[g + 1]):
            i = members[t]
            for k in range(indptr[i], indptr[i + 1]):
                h = group[indices[k]]
                if h == g:
                    continue
                if place[h] < begin:
                    place[h] = m
                    joined[m] = h
                    joined_flow[m] = flow[k]
                    m += 1
                else:
                    joined_flow[place[h]] += flow[k]
        earlier = begin
        for k in range(begin, m):
            if joined[k] < g:
                joined[k], joined[earlier] = joined[earlier], joined[k]
                joined_flow[k], joined_flow[earlier] = joined_flow[earlier], joined_flow[k]
                earlier += 1
        joined_ptr[g + 1] = m
    return joined_ptr, joined[:m].copy(), joined_flow[:m].copy()


@compile_kernel
def add_columns(indices, flow, total):
    """Add what leaves each state to `total`, in place."""
    for k in range(len(indices)):
        total[indices[k]] += flow[k]


@compile_kernel
def divide_rows(indptr, flow, c):
    """Divide each row by a number, in place."""
    for i in range(len(indptr) - 1):
        for k in range(indptr[i], indptr[i + 1]):
            flow[k] /= c[i]


@compile_kernel
def split_rows(indptr, indices):
    """Where the entries of later states begin in each row, whose earlier ones come first."""
    middle = indptr[1:].copy()
    for i in range(len(middle)):
        for k in range(indptr[i], indptr[i + 1]):
            if indices[k] > i:
                middle[i] = k
                break
    return middle


# A sweep of Gauss and Seidel for x = r + T x in one direction meets in each row the same entries of
# later states as the one before it in the other direction did: what they came to is kept in `later`
# and not added up again. What such a pair of sweeps leaves out is then the change of `later` alone.


@compile_kernel
def sweep_upwards(indptr, middle, indices, T, r, later, x):
    """An upward sweep for x, `later` being what later states contribute to each row."""
    for i in range(len(x)):
        total = r[i] + later[i]
        for k in range(indptr[i], middle[i]):
            total += T[k] * x[indices[k]]
        x[i] = total


@compile_kernel
def sweep_to_and_fro(indptr, middle, indices, T, r, later, x):
    """A downward sweep for x, which finds `later` on its way, and an upward one."""
    for i in range(len(x) - 1, -1, -1):
        total = 0.0
        for k in range(middle[i], indptr[i + 1]):
            total += T[k] * x[indices[k]]
        later[i] = total
        total += r[i]
        for k in range(indptr[i], middle[i]):
            total += T[k] * x[indices[k]]
        x[i] = total
    sweep_upwards(indptr, middle, indices, T, r, later, x)


@compile_kernel
def missing_flow(indptr, middle, indices, T, later, x, weight, group, found):
    """`found` = what x misses of x = r + T x after an upward sweep, weighted and summed over each
    group."""
    found[:] = 0.0
    for i in range(len(x)):
        total = -later[i]
        for k in range(middle[i], indptr[i + 1]):
            total += T[k] * x[indices[k]]
        found[group[i]] += weight[i] * total


@compile_kernel
def subtract_rows(indptr, indices, T, x, y):
    """y = x - T x."""
    for i in range(len(x)):
        total = x[i]
        for k in range(indptr[i], indptr[i + 1]):
            total -= T[k] * x[indices[k]]
        y[i] = total
