# mypy: disallow-untyped-defs=False
"""The softmax of a row, and actions drawn from it.

`exp` uses additions and multiplications alone (no library call, no fused multiply-add), so that
softmax policies are the same on every machine; its error is at most 2 units in the last place.
An action drawn from a softmax or a policy takes one random word.
"""

from __future__ import annotations

import numpy as np
from numba import uint64

from workbench.core.kernels import inline_kernel, lean_inline_kernel
from workbench.learning.learner_kernels import ONE, ZERO, greedy, is_allowed
from workbench.learning.sampling_kernels import TWO53, chance, next_word

FOUR = uint64(4)


@inline_kernel
def exp(x):
    """e^x for x <= 0. Below -700 it is the value at -700.

    x = k ln 2 + r with |r| <= ln 2 / 2; e^r by its Taylor polynomial of degree 13, in pairs and
    without branches, so that the compiler can work on several x at once; 2^k through the bits of
    the float. Adding 1.5 2^52 rounds to an integer and leaves it in the low bits.
    """
    x = x if x > -700.0 else -700.0
    shifted = x * 1.4426950408889634 + 6755399441055744.0
    k = shifted - 6755399441055744.0
    r = (x - k * 6.93147180369123816490e-01) - k * 1.90821492927058770002e-10
    r2 = r * r
    r4 = r2 * r2
    low = (1.0 + r) + (0.5 + 0.16666666666666666 * r) * r2
    middle = (0.041666666666666664 + 0.008333333333333333 * r) + (
        0.001388888888888889 + 0.0001984126984126984 * r
    ) * r2
    high = (2.48015873015873e-05 + 2.7557319223985893e-06 * r) + (
        2.755731922398589e-07 + 2.505210838544172e-08 * r
    ) * r2
    top = 2.08767569878681e-09 + 1.6059043836821613e-10 * r
    series = (low + middle * r4) + (high + top * r4) * (r4 * r4)
    bits = (np.float64(shifted).view(np.int64) + np.int64(1023)) << np.int64(52)
    return series * np.int64(bits).view(np.float64)


@lean_inline_kernel
def softmax_row(h, pi, allowed, base, nA):
    """Write the softmax of h[base : base + nA] into pi."""
    largest = h[base]
    for a in range(ONE, nA):
        largest = h[base + a] if h[base + a] > largest else largest
    # Each loop does one thing: so the compiler computes several exponentials at once. On machines
    # that can take eight, it takes four only in loops over one array that are known to be so long.
    four = nA & FOUR if nA < FOUR + FOUR else ZERO
    for a in range(four):
        pi[base + a] = h[base + a] - largest
    for a in range(four):
        pi[base + a] = exp(pi[base + a])
    for a in range(four, nA):
        pi[base + a] = exp(h[base + a] - largest)
    if allowed is not None:
        for a in range(nA):
            if not allowed[base + a]:
                pi[base + a] = 0.0
    total = 0.0
    for a in range(nA):
        total += pi[base + a]
    scale = 1.0 / total
    for a in range(nA):
        pi[base + a] *= scale


@lean_inline_kernel
def draw_from(pi, base, nA, u):
    """The first action whose sum of pi[base : base + nA] exceeds u, or the last one."""
    a, cumulative = ZERO, pi[base]
    while a + ONE < nA and u >= cumulative:
        a += ONE
        cumulative += pi[base + a]
    return a


@lean_inline_kernel
def last_allowed(allowed, base, a):
    """The action, or the last one before it that is allowed: rounding may leave a last sliver."""
    while not is_allowed(allowed, base + a):
        a -= ONE
    return a


@lean_inline_kernel
def choose_softly(L, m, o, nA, g0, g1):
    """The generator's words and an action drawn from exp(q(o, .) / temperature)."""
    base, total = o * nA, 0.0
    best = greedy(L.q, base, nA)[0]
    for a in range(nA):
        L.weights[a] = exp((L.q[base + a] - best) / L.temperature)
        L.weights[a] = L.weights[a] if is_allowed(L.allowed, base + a) else 0.0
    for a in range(nA):
        total += L.weights[a]
    g0, g1, word = next_word(g0, g1)
    a = draw_from(L.weights, ZERO, nA, chance(word) / TWO53 * total)
    return g0, g1, last_allowed(L.allowed, base, a)


@lean_inline_kernel
def draw_by_thresholds(L, m, o, nA, g0, g1):
    """The generator's words and an action drawn from a policy, given as cumulative thresholds."""
    g0, g1, word = next_word(g0, g1)
    a, u = ZERO, chance(word)
    while a + ONE < nA and u >= L.behaviour[o * nA + a]:
        a += ONE
    return g0, g1, last_allowed(L.allowed, o * nA, a)
