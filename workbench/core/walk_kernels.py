# mypy: disallow-untyped-defs=False
"""Compiled walks over tables of places: the product of a POMDP with a memory, and reachability in a
chain.

A state of the product is the code `e |M| + m`, where e is an entry (s, o) of omega.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba.core import types
from numba.extending import overload
from numba.typed import Dict
from numpy.typing import NDArray

from workbench.core.kernels import compile_kernel, inline_kernel


class ProductTables(NamedTuple):
    """What a walk over the product of a POMDP with a memory reads.

    Attributes
    ----------
    p_ptr, p_next : rows of p, row s |A| + a.
    o_ptr, o_col, owner : rows of omega, and the state of each of their entries.
    nA, nW, nM : |A|, |W| and |M|.
    overwrite, keep_modulus, base, entry, pushes : see `workbench.core.memories.IndexRule`.
    """

    p_ptr: NDArray[Any]
    p_next: NDArray[Any]
    o_ptr: NDArray[Any]
    o_col: NDArray[Any]
    owner: NDArray[Any]
    nA: int
    nW: int
    nM: int
    overwrite: bool
    keep_modulus: int
    base: int
    entry: NDArray[Any]
    pushes: NDArray[Any]


def empty_map() -> Any:
    """A map from codes to places, which takes room for the codes that it holds alone."""
    return Dict.empty(types.int64, types.int64)


def _place(seen: Any, code: int) -> int:
    """The place of a code, from 1; 0 if it was not seen. Compiled below for an array and for a
    map."""
    raise NotImplementedError("runs compiled only")


@overload(_place, inline="always")
def _place_compiled(seen, code):
    if isinstance(seen, types.Array):
        return lambda seen, code: seen[code]
    return lambda seen, code: seen.get(code, 0)


@inline_kernel
def _m_next(tables, m, w, o, a):
    if tables.overwrite:
        return w
    if tables.pushes[w]:
        return (m % tables.keep_modulus) * tables.base + tables.entry[o, a]
    return m


@compile_kernel
def discover_states(seen, starts, tables, width, cost, most, room):
    """The codes of all states that can be met from some, in the order of a breadth-first walk; how
    many outcomes their rows have, `width[s]` each; and what they cost, `cost[s]` each. `seen` is
    filled with places, from 1.

    The rows of a state count from when it is met, not from when it is visited: the walk stops as
    soon as the states met so far have more than `most` outcomes, or cost more than `room`.
    """
    nA, nW, nM = tables.nA, tables.nW, tables.nM
    p_ptr, p_next, o_ptr = tables.p_ptr, tables.p_next, tables.o_ptr
    codes = np.empty(max(1024, 2 * len(starts)), dtype=np.int64)
    n = 0
    outcomes = 0
    spent = 0
    for code in starts:
        codes[n] = code
        n += 1
        seen[code] = n  # places from 1: 0 means not seen
        outcomes += width[tables.owner[code // nM]]
        spent += cost[tables.owner[code // nM]]
    i = 0
    while i < n and outcomes <= most and spent <= room:
        code = codes[i]
        i += 1
        e = code // nM
        m = code % nM
        s = tables.owner[e]
        o = tables.o_col[e]
        for a in range(nA):
            for w in range(nW):
                m_next = _m_next(tables, m, w, o, a)
                for k in range(p_ptr[s * nA + a], p_ptr[s * nA + a + 1]):
                    s_next = p_next[k]
                    for e_next in range(o_ptr[s_next], o_ptr[s_next + 1]):
                        found = e_next * nM + m_next
                        if _place(seen, found) == 0:
                            if n == len(codes):
                                larger = np.empty(2 * n, dtype=np.int64)
                                # one by one: numba compiles a whole slice for seconds
                                for j in range(n):
                                    larger[j] = codes[j]
                                codes = larger
                            codes[n] = found
                            n += 1
                            seen[found] = n
                            outcomes += width[s_next]
                            spent += cost[s_next]
    return codes[:n].copy(), outcomes, spent


@compile_kernel
def fill_product_rows(seen, codes, row_ptr, s_next_out, k_out, e_out, tables):
    """Write the rows of the product: for each outcome its state, its place in p and its entry of
    omega."""
    nA, nW, nM = tables.nA, tables.nW, tables.nM
    p_ptr, p_next, o_ptr = tables.p_ptr, tables.p_next, tables.o_ptr
    at = 0
    row = 0
    row_ptr[0] = 0
    for code in codes:
        e = code // nM
        m = code % nM
        s = tables.owner[e]
        o = tables.o_col[e]
        for a in range(nA):
            for w in range(nW):
                m_next = _m_next(tables, m, w, o, a)
                for k in range(p_ptr[s * nA + a], p_ptr[s * nA + a + 1]):
                    s_next = p_next[k]
                    for e_next in range(o_ptr[s_next], o_ptr[s_next + 1]):
                        s_next_out[at] = seen[e_next * nM + m_next] - 1
                        k_out[at] = k
                        e_out[at] = e_next
                        at += 1
                row += 1
                row_ptr[row] = at


@compile_kernel
def walk(first, last, successors, starts):
    """The nodes that can be met from some, in the order of a breadth-first walk; the successors of
    a node are successors[first[node] : last[node]]."""
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


@compile_kernel
def reachable(indptr, indices, starts):
    """The mask of the nodes that can be reached from some nodes, themselves included."""
    mask = np.zeros(len(indptr) - 1, dtype=np.bool_)
    for node in walk(indptr[:-1], indptr[1:], indices, starts):
        mask[node] = True
    return mask


@compile_kernel
def first_to_reach(indptr, indices, starts):
    """For each node the place in `starts` of the first node that reaches it; -1 if none does."""
    found = np.full(len(indptr) - 1, -1, dtype=np.int64)
    waiting = np.empty(len(found), dtype=np.int64)
    for i in range(len(starts)):
        count = 0
        if found[starts[i]] < 0:
            found[starts[i]] = i
            waiting[0] = starts[i]
            count = 1
        while count > 0:
            count -= 1
            node = waiting[count]
            for k in range(indptr[node], indptr[node + 1]):
                if found[indices[k]] < 0:
                    found[indices[k]] = i
                    waiting[count] = indices[k]
                    count += 1
    return found


@compile_kernel
def reverse_edges(indptr, indices):
    """The graph with every edge turned round, in compressed rows."""
    n = len(indptr) - 1
    turned_ptr = np.zeros(n + 1, dtype=np.int64)
    for j in indices:
        turned_ptr[j + 1] += 1
    for i in range(n):
        turned_ptr[i + 1] += turned_ptr[i]
    at = turned_ptr[:-1].copy()
    turned = np.empty(len(indices), dtype=np.int32)
    for i in range(n):
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            turned[at[j]] = i
            at[j] += 1
    return turned_ptr, turned


@compile_kernel
def strong_components(indptr, indices):
    """How many strongly connected components there are, and the component of each node (Tarjan
    1972, without recursion).

    Components are numbered as they are completed, so each has a larger number than all those it
    leads to.
    """
    n = len(indptr) - 1
    component = np.full(n, -1, dtype=np.int64)
    order = np.full(n, -1, dtype=np.int64)
    low = np.empty(n, dtype=np.int64)
    edge = indptr[:-1].astype(np.int64)  # the next edge to look at
    path = np.empty(n, dtype=np.int64)
    pending = np.empty(n, dtype=np.int64)
    n_pending = 0
    counter = 0
    count = 0
    for root in range(n):
        if order[root] >= 0:
            continue
        depth = 0
        path[0] = root
        order[root] = low[root] = counter
        counter += 1
        pending[n_pending] = root
        n_pending += 1
        while depth >= 0:
            node = path[depth]
            if edge[node] < indptr[node + 1]:
                found = indices[edge[node]]
                edge[node] += 1
                if order[found] < 0:
                    order[found] = low[found] = counter
                    counter += 1
                    pending[n_pending] = found
                    n_pending += 1
                    depth += 1
                    path[depth] = found
                elif component[found] < 0:
                    low[node] = min(low[node], order[found])
            else:
                if low[node] == order[node]:
                    while True:
                        n_pending -= 1
                        member = pending[n_pending]
                        component[member] = count
                        if member == node:
                            break
                    count += 1
                depth -= 1
                if depth >= 0:
                    low[path[depth]] = min(low[path[depth]], low[node])
    return count, component
