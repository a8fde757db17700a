# mypy: disallow-untyped-defs=False
"""Sparse elimination modulo a prime below 2^63, compiled.

x = b + M x is solved component by component, successors first. Within one, row i of I - M loses its
entries before the diagonal, one after the other, to the rows above it,

    a_i  <-  a_i - (a_ik / a_kk) a_k        k < i,

and x follows from what is left, the last row first. A component of an M-matrix has no minor on its
diagonal that is zero, so that no row need be swapped for another, and the order of states is free.

Products are Montgomery's (1985): with x' = x 2^64 mod p for each number x, (x y)' comes from x' y'
by two products more and no division.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from workbench.core.kernels import compile_kernel, inline_kernel

_ZERO, _ONE = np.uint64(0), np.uint64(1)


def upper_part(bits: int) -> Any:
    """A function for kernels: x y without its last `bits` bits. Numba itself keeps the last 64 bits
    of a product alone."""

    @intrinsic
    def shifted_product(_: Any, x: Any, y: Any) -> Any:
        def build(_: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            wide, word = ir.IntType(128), ir.IntType(64)
            a, b = (builder.zext(argument, wide) for argument in arguments)
            return builder.trunc(builder.lshr(builder.mul(a, b), wide(bits)), word)

        return types.uint64(types.uint64, types.uint64), build

    return shifted_product


_upper_word = upper_part(64)


@inline_kernel
def _plus(x, y, p):
    found = x + y
    return found - p if found >= p else found


@inline_kernel
def _minus(x, y, p):
    return x - y if x >= y else x + (p - y)


@inline_kernel
def _times(x, y, p, inverse):
    """x y / 2^64 modulo p; `inverse` is -1/p modulo 2^64."""
    low = x * y
    # low + (low inverse) p is a multiple of 2^64: its lower word carries unless it is zero
    found = _upper_word(x, y) + _upper_word(low * inverse, p) + (_ONE if low != _ZERO else _ZERO)
    return found - p if found >= p else found


@inline_kernel
def _reciprocal(x, p, inverse, one):
    """1/x by Fermat: x^(p - 2)."""
    found, n = one, p - np.uint64(2)
    while n > _ZERO:
        if n & _ONE:
            found = _times(found, x, p, inverse)
        x = _times(x, x, p, inverse)
        n >>= _ONE
    return found


@compile_kernel
def solve_modulo(indptr, indices, M, b, order, component, p, inverse, square):
    """x with x = b + M x modulo p, for states in an order of components, successors first; `square`
    is 2^128 modulo p. Whether every pivot had an inverse, and x."""
    n = len(b)
    one = _times(_ONE, square, p, inverse)
    place = np.empty(n, dtype=np.int64)
    for i in range(n):
        place[order[i]] = i
    x = np.zeros(n, dtype=np.uint64)  # by place
    side = np.zeros(n, dtype=np.uint64)
    row = np.zeros(n, dtype=np.uint64)
    pivot = np.zeros(n, dtype=np.uint64)  # one over it
    # what is left of the rows of a component, after the diagonal
    left_ptr = np.zeros(n + 1, dtype=np.int64)
    left, factor = np.empty(4 * n, dtype=np.int64), np.empty(4 * n, dtype=np.uint64)
    begin = 0
    while begin < n:
        end = begin + 1
        while end < n and component[order[end]] == component[order[begin]]:
            end += 1
        count = 0
        for i in range(begin, end):
            s = order[i]
            side[i] = _times(b[s], square, p, inverse)
            row[i] = one
            lowest, highest = i, i
            for k in range(indptr[s], indptr[s + 1]):
                j = place[indices[k]]
                entry = _times(M[k], square, p, inverse)
                if j < begin:
                    side[i] = _plus(side[i], _times(entry, x[j], p, inverse), p)
                else:
                    row[j] = _minus(row[j], entry, p)
                    lowest, highest = min(lowest, j), max(highest, j)
            for k in range(lowest, i):
                if row[k] == _ZERO:
                    continue
                share = _times(row[k], pivot[k], p, inverse)
                row[k] = _ZERO
                side[i] = _minus(side[i], _times(share, side[k], p, inverse), p)
                for at in range(left_ptr[k], left_ptr[k + 1]):
                    j = left[at]
                    row[j] = _minus(row[j], _times(share, factor[at], p, inverse), p)
                    highest = max(highest, j)
            if row[i] == _ZERO:
                return False, x
            pivot[i] = _reciprocal(row[i], p, inverse, one)
            row[i] = _ZERO
            if count + highest - i > len(left):
                left = np.concatenate((left, np.empty(len(left) + n, dtype=np.int64)))
                factor = np.concatenate((factor, np.empty(len(factor) + n, dtype=np.uint64)))
            left_ptr[i] = count
            for j in range(i + 1, highest + 1):
                if row[j] != _ZERO:
                    left[count], factor[count] = j, row[j]
                    row[j] = _ZERO
                    count += 1
            left_ptr[i + 1] = count
        for i in range(end - 1, begin - 1, -1):
            total = side[i]
            for at in range(left_ptr[i], left_ptr[i + 1]):
                total = _minus(total, _times(factor[at], x[left[at]], p, inverse), p)
            x[i] = _times(total, pivot[i], p, inverse)
        begin = end
    found = np.empty(n, dtype=np.uint64)
    for i in range(n):
        found[order[i]] = _times(x[i], _ONE, p, inverse)
    return True, found
