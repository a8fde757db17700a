# mypy: disallow-untyped-defs=False
"""A POMDP as tables to sample from: one record for each (s, a), which holds its outcome when there
is only one.

An outcome is a triple (s', r, o') with probability p(s', r | s, a) omega(o' | s'), in the order of
the model's rows; on reaching a terminal state o' is `END`. Rows with one outcome are read from
their record and take no random word; the others list theirs with thresholds floor(cumulative
probability 2^53), and the outcome is the first one whose threshold exceeds the drawn integer (the
last one if none does). Outcomes of probability 0 are left out.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np
from numba import uint32, uint64

from workbench.core.kernels import lean_inline_kernel
from workbench.core.random_kernels import chance, next_word

END = uint32(0xFFFFFFFF)
"""The observation that stands for the end of an episode."""

ROW = np.dtype(
    [
        ("first", np.uint32),
        ("last", np.uint32),
        ("s", np.uint32),
        ("o", np.uint32),
        ("r", np.float64),
    ]
)
"""One (s, a): its outcomes are `first` to `last`; if these are equal, s, o, r are the outcome
itself."""

OUTCOME = np.dtype(
    [("threshold", np.uint64), ("r", np.float64), ("s", np.uint32), ("o", np.uint32)]
)
"""One of several outcomes of a row, or one of several starts."""

PAUSE = np.dtype(
    [(name, np.uint64) for name in ("g0", "g1", "started", "s", "o", "age", "a", "held", "at")]
    + [("x", np.float64)]
)
"""What a paused run keeps besides its tables: the generator's two words; whether it has started; s
and o; the age of the episode, in steps; what its learner carries from step to step."""


World = namedtuple("World", "rows outcomes starts actions")
"""What a kernel samples from: rows, outcomes and starts, and something of length |A|."""

Curve = namedtuple("Curve", "t_end every rewards episodes policies")
"""What a run keeps of its course: of each block of `every` steps (the last may be shorter, and ends
at t_end) its reward, its episodes and, where wanted, the greedy policy at its end."""

LONG = uint64(8)
"""Rows with more outcomes than this are searched by halving."""


@lean_inline_kernel
def find(outcomes, first, last, u):
    """The first outcome from `first` to `last` whose threshold exceeds u, or `last`."""
    if last - first > LONG:
        while first < last:
            middle = (first + last) >> uint64(1)
            if u < outcomes[middle].threshold:
                last = middle
            else:
                first = middle + uint64(1)
        return first
    while first < last and u >= outcomes[first].threshold:
        first += uint64(1)
    return first


@lean_inline_kernel
def take_action(rows, outcomes, row, g0, g1):
    """The generator's words, then s', o' and r of one step from row s |A| + a."""
    record = rows[row]
    first, last = uint64(record.first), uint64(record.last)
    if first == last:
        return g0, g1, uint64(record.s), record.o, record.r
    g0, g1, word = next_word(g0, g1)
    k = find(outcomes, first, last, chance(word))
    return g0, g1, uint64(outcomes[k].s), outcomes[k].o, outcomes[k].r


@lean_inline_kernel
def begin(starts, g0, g1):
    """The generator's words, then s and o at the start of an episode."""
    k = uint64(0)
    if len(starts) > 1:
        g0, g1, word = next_word(g0, g1)
        k = find(starts, uint64(0), uint64(len(starts) - 1), chance(word))
    return g0, g1, uint64(starts[k].s), uint64(starts[k].o)


@lean_inline_kernel
def open_block(curve, t, t_stop):
    """The block of step t, the reward in it so far, and the step at which it or the run stops."""
    block = t // curve.every
    return block, curve.rewards[block], min(t_stop, (block + 1) * curve.every)


@lean_inline_kernel
def close_block(curve, block, total, t):
    """Keep the reward of a block up to step t; whether the policy at its end is due."""
    curve.rewards[block] = total
    over = t == (block + 1) * curve.every or t == curve.t_end
    return over and block < len(curve.policies)
