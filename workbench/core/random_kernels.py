# mypy: disallow-untyped-defs=False
"""Random words, in arithmetic that gives the same bits everywhere.

Each run owns one generator, xoroshiro128+ (Blackman and Vigna 2018), whose two words start as the
first two outputs of splitmix64 on the run's seed. A kernel keeps both words in local variables and
writes them back when it pauses.

What is done with a word w of 64 bits:

    chance        w >> 11, an integer below 2^53, is compared with floor(probability 2^53)
    one of n      ((w >> 32) n) >> 32; the bias is below n / 2^32
    fair coin     w >> 63
"""

from __future__ import annotations

import math

import numpy as np
from numba import uint64

from workbench.core.kernels import inline_kernel

TWO53 = 2.0**53

_MASK = (1 << 64) - 1


def threshold(probability: float) -> np.uint64:
    """floor(probability 2^53), with which `chance` is compared."""
    return np.uint64(math.floor(probability * TWO53))


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
