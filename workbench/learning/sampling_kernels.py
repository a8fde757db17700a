# mypy: disallow-untyped-defs=False
"""A POMDP as tables to sample from, and random words, in arithmetic that gives the same bits
everywhere.

Each run owns one generator, xoroshiro128+ (Blackman and Vigna 2018), whose two words start as the
first two outputs of splitmix64 on the run's seed. A kernel keeps both words in local variables and
writes them back when it pauses. What is done with a word w of 64 bits:

    chance        w >> 11, an integer below 2^53, is compared with floor(probability 2^53)
    one of n      ((w >> 32) n) >> 32; the bias is below n / 2^32
    fair coin     w >> 63

There is one record for each (s, a). An outcome is a triple (s', r, o') with probability
p(s', r | s, a) omega(o' | s'), in the order of the model's rows; on reaching a terminal state o' is
`END`. Rows with one outcome hold it in their record and take no random word; the others list theirs
with thresholds floor(cumulative probability 2^53), and the outcome is the first one whose threshold
exceeds the drawn integer (the last one if none does). Outcomes of probability 0 are left out.
"""

from __future__ import annotations

from collections import namedtuple

import numpy as np
from numba import uint32, uint64

from workbench.core.kernels import (
    compile_kernel,
    inline_kernel,
    lean_inline_kernel,
)

TWO53 = 2.0**53

_MASK = (1 << 64) - 1


def seed_words(seed: int) -> tuple[int, int]:
    """The two words with which the generator of a run starts: splitmix64 on its seed.

    >>> [hex(word) for word in seed_words(0)]
    ['0xe220a8397b1dcdaf', '0x6e789e6aa1b965f4']
    """
    words = []
    x = seed & _MASK
    for _ in range(2):
        x = (x + 0x9E3779B97F4A7C15) & _MASK
        z = x
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        words.append(z ^ (z >> 31))
    return words[0], words[1]


@inline_kernel
def next_word(g0, g1):
    """The generator's two words after one draw, and the word drawn."""
    word = g0 + g1
    g1 ^= g0
    g0 = ((g0 << uint64(24)) | (g0 >> uint64(40))) ^ g1 ^ (g1 << uint64(16))
    g1 = (g1 << uint64(37)) | (g1 >> uint64(27))
    return g0, g1, word


@inline_kernel
def chance(word):
    """An integer below 2^53, to compare with a threshold floor(probability 2^53)."""
    return word >> uint64(11)


@inline_kernel
def one_of(n, word):
    """An integer below n."""
    return ((word >> uint64(32)) * n) >> uint64(32)


# ---------------------------------------------------------------------- records


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
    """The block of time step t. Returns its number, the reward in it so far, and the time step at
    which it or the run stops."""
    block = t // curve.every
    return block, curve.rewards[block], min(t_stop, (block + 1) * curve.every)


@lean_inline_kernel
def close_block(curve, block, total, t):
    """Keep the reward of a block up to time step t. Returns whether the policy at its end is
    due."""
    curve.rewards[block] = total
    over = t == (block + 1) * curve.every or t == curve.t_end
    return over and block < len(curve.policies)


# ---------------------------------------------------------------------- packing


@compile_kernel
def count_outcomes(p_ptr, s_next, prob, o_ptr, o_prob, terminal):
    """How many outcomes the rows with more than one have in all."""
    total = 0
    for row in range(len(p_ptr) - 1):
        n = 0
        for k in range(p_ptr[row], p_ptr[row + 1]):
            if prob[k] > 0.0:
                s = s_next[k]
                if terminal[s]:
                    n += 1
                else:
                    for e in range(o_ptr[s], o_ptr[s + 1]):
                        n += int(o_prob[e] > 0.0)
        if n > 1:
            total += n
    return total


@compile_kernel
def fill_sampling_rows(p_ptr, s_next, r, prob, o_ptr, o, o_prob, terminal, rows, outcomes):
    """Write the records of a model given as compressed rows. `outcomes` has one place more than
    `count_outcomes`."""
    at = 0
    for row in range(len(p_ptr) - 1):
        first = at
        cumulative = 0.0
        for k in range(p_ptr[row], p_ptr[row + 1]):
            s = s_next[k]
            for e in range(o_ptr[s], o_ptr[s] + 1 if terminal[s] else o_ptr[s + 1]):
                x = prob[k] if terminal[s] else prob[k] * o_prob[e]
                if x > 0.0:
                    cumulative += x
                    outcomes[at].threshold = uint64(min(cumulative, 1.0) * TWO53)
                    outcomes[at].r = r[k]
                    outcomes[at].s = s
                    outcomes[at].o = END if terminal[s] else uint32(o[e])
                    at += 1
        if at == first + 1:  # the only outcome moves into the row
            at = first
            rows[row].s = outcomes[at].s
            rows[row].o = outcomes[at].o
            rows[row].r = outcomes[at].r
        rows[row].first = first
        rows[row].last = max(first, at - 1)


@compile_kernel
def forget_unreached(p_ptr, s_next, prob, o_ptr, o, o_prob, terminal, mu, nA, policies):
    """In each deterministic policy `policies[k, o]`, set the action of observations that it never
    sees to 0."""
    queue = np.empty(len(terminal), dtype=np.int64)
    met = np.full(len(terminal), -1, dtype=np.int64)
    seen = np.full(policies.shape[1], -1, dtype=np.int64)
    for k in range(len(policies)):
        n = 0
        for s in range(len(mu)):
            if mu[s] > 0.0:
                met[s] = k
                queue[n] = s
                n += 1
        i = 0
        while i < n:
            s = queue[i]
            i += 1
            if terminal[s]:
                continue
            for e in range(o_ptr[s], o_ptr[s + 1]):
                if o_prob[e] > 0.0:
                    seen[o[e]] = k
                    row = s * nA + policies[k, o[e]]
                    for j in range(p_ptr[row], p_ptr[row + 1]):
                        if prob[j] > 0.0 and met[s_next[j]] != k:
                            met[s_next[j]] = k
                            queue[n] = s_next[j]
                            n += 1
        for x in range(policies.shape[1]):
            if seen[x] != k:
                policies[k, x] = 0
