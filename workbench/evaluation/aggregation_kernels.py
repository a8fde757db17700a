# mypy: disallow-untyped-defs=False
"""Which states of a chain belong together, compiled: each joins the one that it mostly comes
from."""

from __future__ import annotations

import numpy as np

from workbench.kernels import compile_kernel


@compile_kernel
def join_states(indptr, indices, flow, most, group):
    """Put each state into a group of at most `most`; how many groups there are.

    `flow[k]` comes to the state of row i from state indices[k]. A state joins the group of the one
    from which most comes to it, or makes one with it; groups are numbered as they are begun.
    """
    n = len(indptr) - 1
    group[:] = -1
    size = np.zeros(n, dtype=np.int64)
    count = 0
    for i in range(n):
        if group[i] >= 0:
            continue
        best, largest = -1, 0.0
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            if flow[k] > largest and (group[j] < 0 or size[group[j]] < most):
                best, largest = j, flow[k]
        if best >= 0 and group[best] >= 0:
            group[i] = group[best]
            size[group[i]] += 1
            continue
        group[i] = count
        size[count] = 1
        if best >= 0:
            group[best] = count
            size[count] = 2
        count += 1
    return count
