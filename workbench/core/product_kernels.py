# mypy: disallow-untyped-defs=False
"""The compiled walk over the product of a POMDP with a memory, on tables of indices.

A state of the product is the code `e |M| + m`, where e is an entry (s, o) of omega.
"""

from __future__ import annotations

import numpy as np

from workbench.core.kernels import compile_later, inline_kernel

_SPREAD = np.uint64(11400714819323198485)
"""2^64 divided by the golden ratio: multiplied by it, numbers that lie close get far apart."""

_BLOCK = 3
"""Codes that agree but for these last bits lie side by side in the hash table, as many successors
of a state do. With 8 bits whole blocks collide: the first 20 million outcomes of gravity x
OA3 took a third longer."""


@inline_kernel
def _slot(table, codes, code, dense):
    """The slot of a code in a hash table. It is the code itself if there is a slot for each."""
    if dense:
        return np.uint64(code)
    last = np.uint64(len(table) - 1)
    block = np.uint64(code >> _BLOCK) * _SPREAD >> np.uint64(32)  # the high bits are well mixed
    slot = (block << np.uint64(_BLOCK)) + np.uint64(code & ((1 << _BLOCK) - 1)) & last
    while table[slot] != 0 and codes[table[slot] - 1] != code:
        slot = (slot + np.uint64(1)) & last
    return slot


@compile_later
def fill_hash_table(table, codes, n, dense):
    """Write the first n codes into a hash table, numbered from 1. 0 is an empty slot."""
    for i in range(n):
        table[_slot(table, codes, codes[i], dense)] = i + 1


@compile_later
def expand_states(
    table, codes, n, first, after, p_ptr, p_next, o_ptr, owner, nM, dense, rows, outcomes
):
    """Write the outcomes of some states of the product, and append the states that are new.

    Parameters
    ----------
    table : the hash table of the codes met so far, with free slots for all outcomes.
    codes, n : the codes met, and how many.
    first : the first of the states to expand.
    after : `after[i, a, w]`, the memory state that follows in the i-th of them.
    p_ptr, p_next, o_ptr, owner, nM : rows of p and of omega, the state of each entry of omega, |M|.
    dense : whether the table has a slot for each code.
    rows : filled with the number of outcomes of each row (state, a, w).
    outcomes : `outcomes[3, :]`, filled with the state, the outcome of p and the entry of omega.

    Returns how many codes are met.
    """
    nA, nW = after.shape[1], after.shape[2]
    at = 0
    row = 0
    for i in range(after.shape[0]):
        s = owner[codes[first + i] // nM]
        for a in range(nA):
            for w in range(nW):
                before = at
                for k in range(p_ptr[s * nA + a], p_ptr[s * nA + a + 1]):
                    for e_next in range(o_ptr[p_next[k]], o_ptr[p_next[k] + 1]):
                        found = e_next * nM + after[i, a, w]
                        slot = _slot(table, codes, found, dense)
                        if table[slot] == 0:
                            codes[n] = found
                            n += 1
                            table[slot] = n
                        outcomes[0, at] = table[slot] - 1
                        outcomes[1, at] = k
                        outcomes[2, at] = e_next
                        at += 1
                rows[row] = at - before
                row += 1
    return n
