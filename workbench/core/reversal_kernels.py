# mypy: disallow-untyped-defs=False
"""The rows of a chain that runs backwards, compiled."""

from __future__ import annotations

import numpy as np

from workbench.core.kernels import compile_kernel


@compile_kernel
def add_departures(indptr, indices, data, gamma, moving):
    """Add the probability of going from each state to another one to `moving`."""
    for i in range(len(indptr) - 1):
        for k in range(indptr[i], indptr[i + 1]):
            if indices[k] != i:
                moving[i] += gamma * data[k]


@compile_kernel
def turn_rows(indptr, indices, data, gamma, moving):
    """The rows of gamma P^T without its diagonal and its zeros, each divided by a number of its
    state; entries of the same place are added up."""
    n = len(indptr) - 1
    turned_ptr = np.zeros(n + 1, dtype=np.int64)
    for i in range(n):
        for k in range(indptr[i], indptr[i + 1]):
            if indices[k] != i and data[k] != 0.0:
                turned_ptr[indices[k] + 1] += 1
    for i in range(n):
        turned_ptr[i + 1] += turned_ptr[i]
    at = turned_ptr[:-1].copy()
    turned = np.empty(turned_ptr[n], dtype=np.int32)
    T = np.empty(turned_ptr[n])
    for i in range(n):
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            if j == i or data[k] == 0.0:
                continue
            if at[j] > turned_ptr[j] and turned[at[j] - 1] == i:
                T[at[j] - 1] += gamma * data[k]
            else:
                turned[at[j]] = i
                T[at[j]] = gamma * data[k]
                at[j] += 1
    size = 0
    begin = 0
    for j in range(n):
        end, following = at[j], turned_ptr[j + 1]
        for k in range(begin, end):
            turned[size] = turned[k]
            T[size] = T[k] / moving[j]
            size += 1
        begin = following
        turned_ptr[j + 1] = size
    return turned_ptr, turned[:size].copy(), T[:size].copy()
