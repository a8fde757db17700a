"""Polynomials as lists of Fractions, lowest power first: signs on an interval, and linear systems
without fractions.

Plain arithmetic for the checkers of certificates, which share no code with what makes them. That a
polynomial is positive on an interval is read off its Bernstein coefficients there; the interval is
cut in two where they do not settle it.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import comb

MOST_CUTS = 60
"""An interval is halved at most this many times in a row."""

Polynomial = list[Fraction]
ZERO, ONE = Fraction(0), Fraction(1)


class Spoiled(Exception):
    """A certificate that does not show what it says."""


def trimmed(p: Polynomial) -> Polynomial:
    while p and p[-1] == 0:
        p = p[:-1]
    return p


def plus(p: Polynomial, q: Polynomial, factor: Fraction = ONE) -> Polynomial:
    """p + factor q."""
    size = max(len(p), len(q))
    return trimmed(
        [
            (p[i] if i < len(p) else ZERO) + (factor * q[i] if i < len(q) else ZERO)
            for i in range(size)
        ]
    )


def times(p: Polynomial, q: Polynomial) -> Polynomial:
    if not p or not q:
        return []
    if q == [ONE]:
        return p
    found = [ZERO] * (len(p) + len(q) - 1)
    for i, x in enumerate(p):
        for j, y in enumerate(q):
            found[i + j] += x * y
    return trimmed(found)


def divided(p: Polynomial, q: Polynomial) -> Polynomial:
    """p / q, which has to leave no rest."""
    if q == [ONE]:
        return p
    rest, found = list(p), [ZERO] * max(0, len(p) - len(q) + 1)
    for i in range(len(found) - 1, -1, -1):
        found[i] = rest[i + len(q) - 1] / q[-1]
        for j, y in enumerate(q):
            rest[i + j] -= found[i] * y
    if any(rest):
        raise Spoiled("a division of polynomials leaves a rest")
    return trimmed(found)


def at(p: Polynomial, x: Fraction) -> Fraction:
    total = ZERO
    for c in reversed(p):
        total = total * x + c
    return total


def positive(p: Polynomial, low: Fraction, strict: bool) -> bool:
    """Whether p > 0 (not strict: >= 0) on [low, 1], and on (0, 1] if low is 0; zeros inside count
    as failures.

    >>> positive([ZERO, ONE, -ONE], ZERO, strict=False), positive([ONE, -3 * ONE, 3 * ONE], ZERO, strict=True)
    (True, True)
    """
    if not p or low == 1:
        return at(p, ONE) > 0 or (not strict and at(p, ONE) == 0)
    while p[0] == 0:  # a factor x
        p = p[1:]
    while at(p, ONE) == 0:  # a factor 1 - x
        if strict:
            return False
        p = divided(p, [ONE, -ONE])
    n = len(p) - 1
    width = 1 - low
    # p(low + width t) by powers of t, then Bernstein coefficients
    powers = [
        sum((p[j] * comb(j, i) * low ** (j - i) for j in range(i, n + 1)), ZERO) * width**i
        for i in range(n + 1)
    ]
    bernstein = [
        sum((powers[i] * Fraction(comb(k, i), comb(n, i)) for i in range(k + 1)), ZERO)
        for k in range(n + 1)
    ]
    return _all_positive(bernstein, MOST_CUTS)


def _all_positive(bernstein: list[Fraction], cuts: int) -> bool:
    if bernstein[0] <= 0 or bernstein[-1] <= 0 or cuts == 0:
        return False
    if min(bernstein) > 0:
        return True
    left, right, row = [], [], bernstein  # de Casteljau at the middle
    while row:
        left.append(row[0])
        right.append(row[-1])
        row = [(x + y) / 2 for x, y in pairwise(row)]
    return _all_positive(left, cuts - 1) and _all_positive(right[::-1], cuts - 1)


def eliminated(
    matrix: list[dict[int, Polynomial]], right: list[Polynomial]
) -> tuple[list[Polynomial], Polynomial]:
    """N and D with `matrix` N = D `right`, D the determinant (Bareiss; zero entries are left out of
    the rows)."""
    n = len(right)
    rows = [
        dict(row) | ({n: side} if side else {}) for row, side in zip(matrix, right, strict=True)
    ]
    before: Polynomial = [ONE]
    for k in range(n):
        pivot = next((i for i in range(k, n) if rows[i].get(k)), None)
        if pivot is None:
            raise Spoiled("a policy on the way may go on for ever")
        if pivot != k:
            rows[k], rows[pivot] = rows[pivot], {j: plus([], x, -ONE) for j, x in rows[k].items()}
        lead = rows[k][k]
        for i in range(n):
            factor = rows[i].pop(k, []) if i != k else []
            if i == k or (not factor and lead == before):
                continue
            columns = set(rows[i]) | (set(rows[k]) - {k} if factor else set())
            moved = {}
            for j in columns:
                x = times(rows[i].get(j, []), lead)
                if factor:
                    x = plus(x, times(factor, rows[k].get(j, [])), -ONE)
                if x:
                    moved[j] = divided(x, before)
            rows[i] = moved
        before = lead
    return [row.get(n, []) for row in rows], before
