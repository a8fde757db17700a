"""Polynomials as lists of Fractions, lowest power first: signs on an interval, and linear systems
without fractions.

Plain arithmetic for the checkers of certificates, which share no code with what makes them. That a
polynomial is positive on an interval is read off its Bernstein coefficients there; the interval is
cut in two where they do not settle it. `keeps_sign` decides the same with Sturm's chain, whatever
the polynomial is.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import comb

from workbench.checker.expressions import spend_products
from workbench.checker.spoiled import Spoiled

MOST_HALVINGS = 60
"""An interval is halved at most this many times in a row."""

PowerCoefficients = list[Fraction]
ZERO, ONE = Fraction(0), Fraction(1)


def trimmed(p: PowerCoefficients) -> PowerCoefficients:
    while p and p[-1] == 0:
        p = p[:-1]
    return p


def plus(p: PowerCoefficients, q: PowerCoefficients, factor: Fraction = ONE) -> PowerCoefficients:
    """p + factor q."""
    size = max(len(p), len(q))
    return trimmed(
        [
            (p[i] if i < len(p) else ZERO) + (factor * q[i] if i < len(q) else ZERO)
            for i in range(size)
        ]
    )


def times(p: PowerCoefficients, q: PowerCoefficients) -> PowerCoefficients:
    if not p or not q:
        return []
    if q == [ONE]:
        return p
    found = [ZERO] * (len(p) + len(q) - 1)
    for i, x in enumerate(p):
        for j, y in enumerate(q):
            found[i + j] += x * y
    return trimmed(found)


def divided(p: PowerCoefficients, q: PowerCoefficients) -> PowerCoefficients:
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


def at(p: PowerCoefficients, x: Fraction) -> Fraction:
    total = ZERO
    for c in reversed(p):
        total = total * x + c
    return total


def positive(p: PowerCoefficients, low: Fraction, strict: bool) -> bool:
    """Whether p > 0 (not strict: >= 0) on [low, 1], and on (0, 1] if low is 0. Zeros inside count
    as failures.

    >>> (
    ...     positive([ZERO, ONE, -ONE], ZERO, strict=False),
    ...     positive([ONE, -3 * ONE, 3 * ONE], ZERO, strict=True),
    ... )
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
    return _all_positive(bernstein, MOST_HALVINGS)


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


# ---------------------------------------------------------------------- Sturm


def keeps_sign(
    p: PowerCoefficients,
    low: Fraction,
    high: Fraction | None,
    ends: tuple[bool, bool],
    strict: bool = True,
) -> bool:
    """Whether p > 0 (not strict: p >= 0) on an interval from low to high (None: without end).

    Parameters
    ----------
    ends : whether low and high belong to the interval.

    >>> keeps_sign([ONE, -2 * ONE, ONE], ZERO, None, (True, False), strict=False)  # (1 - x)^2
    True
    >>> keeps_sign([ONE, -2 * ONE, ONE], ZERO, None, (True, False))
    False
    """
    p = trimmed(p)
    if not p:
        return not strict
    if high is None:  # beyond Cauchy's bound p has no roots
        high = max(low, ZERO) + 2 + max((abs(c / p[-1]) for c in p), default=ZERO)
    for end, belongs in zip((low, high), ends, strict=True):
        value = at(p, end)
        if belongs and (value < 0 or (strict and value == 0)):
            return False
    if low == high:
        return True
    # roots of even multiplicity do not change the sign
    factor = [ONE]
    for multiplicity, part in enumerate(_square_free(p), start=1):
        if strict or multiplicity % 2:
            factor = times(factor, part)
    if RootCounter(factor).count(low, high):
        return False
    middle = (low + high) / 2
    while at(p, middle) == 0:  # at a root of even multiplicity; there are finitely many
        middle = (low + middle) / 2
    return at(p, middle) > 0


def _remainder(p: PowerCoefficients, q: PowerCoefficients) -> PowerCoefficients:
    rest = list(p)
    while len(rest) >= len(q) and rest:
        factor, shift = rest[-1] / q[-1], len(rest) - len(q)
        rest = trimmed(
            [x - factor * q[i - shift] if i >= shift else x for i, x in enumerate(rest)][:-1]
        )
    return rest


def common_divisor(p: PowerCoefficients, q: PowerCoefficients) -> PowerCoefficients:
    """The greatest common divisor, with leading coefficient 1.

    >>> common_divisor([ZERO, -ONE, ONE], [ZERO, ONE]) == [ZERO, ONE]
    True
    """
    while q:
        p, q = q, _remainder(p, q)
    return [x / p[-1] for x in p]


def _slope(p: PowerCoefficients) -> PowerCoefficients:
    return [i * x for i, x in enumerate(p)][1:]


def _square_free(p: PowerCoefficients) -> list[PowerCoefficients]:
    """Polynomials f1, f2, ... without double roots, p a multiple of f1 f2^2 f3^3 ... (Yun)."""
    found = []
    both = common_divisor(p, _slope(p)) if len(p) > 1 else [ONE]
    rest = divided(p, both)
    while len(rest) > 1:
        shared = common_divisor(rest, both) if len(both) > 1 else [ONE]
        found.append(divided(rest, shared))
        rest, both = shared, divided(both, shared)
    return found


class RootCounter:
    """The different real roots of a polynomial other than 0, counted on intervals (Sturm)."""

    def __init__(self, p: PowerCoefficients):
        if len(p) > 1:
            p = divided(p, common_divisor(p, _slope(p)))
        self._chain = [p, _slope(p)]
        while len(self._chain[-1]) > 1:
            rest = _remainder(self._chain[-2], self._chain[-1])
            self._chain.append([-x / abs(rest[-1]) for x in rest])  # short numbers, same signs

    def count(self, low: Fraction, high: Fraction) -> int:
        """How many lie strictly between two numbers.

        >>> RootCounter([ONE, -4 * ONE, 4 * ONE]).count(ZERO, ONE)  # (1 - 2x)^2
        1
        >>> RootCounter([ZERO, -ONE, ONE]).count(ZERO, ONE)  # x (x - 1)
        0
        """
        # without double roots the changes of sign count the roots in (low, high]
        at_high = len(self._chain[0]) > 1 and at(self._chain[0], high) == 0
        return self._changes(low) - self._changes(high) - at_high

    def _changes(self, x: Fraction) -> int:
        signs = [y > 0 for y in (at(f, x) for f in self._chain) if y != 0]
        return sum(a != b for a, b in pairwise(signs))


# ---------------------------------------------------------------------- linear systems


def determinant(matrix: list[list[PowerCoefficients]]) -> PowerCoefficients:
    """The determinant of a matrix of polynomials (Bareiss).

    >>> determinant([[[ZERO, ONE], [ONE]], [[ONE], [ZERO, ONE]]]) == [-ONE, ZERO, ONE]
    True
    """
    rows = [list(row) for row in matrix]
    before, sign = [ONE], ONE
    for k in range(len(rows) - 1):
        pivot = next((i for i in range(k, len(rows)) if rows[i][k]), None)
        if pivot is None:
            return []
        if pivot != k:
            rows[k], rows[pivot], sign = rows[pivot], rows[k], -sign
        for i in range(k + 1, len(rows)):
            for j in range(k + 1, len(rows)):
                first, second = (rows[i][j], rows[k][k]), (rows[i][k], rows[k][j])
                spend_products(sum(len(p) * len(q) for p, q in (first, second)))
                x = plus(times(*first), times(*second), -ONE)
                rows[i][j] = divided(x, before)
        before = rows[k][k]
    return plus([], rows[-1][-1], sign) if rows else [ONE]


def eliminated(
    matrix: list[dict[int, PowerCoefficients]], right: list[PowerCoefficients]
) -> tuple[list[PowerCoefficients], PowerCoefficients]:
    """Solve `matrix` N = D `right` by Bareiss elimination, where D is the determinant. Zero entries
    are left out of the rows."""
    n = len(right)
    rows = [
        dict(row) | ({n: side} if side else {}) for row, side in zip(matrix, right, strict=True)
    ]
    before: PowerCoefficients = [ONE]
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
