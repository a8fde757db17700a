"""The signs and roots of polynomials in one name, by Sturm's chain, and linear systems of
polynomials.

A polynomial in one name is a list of Fractions here, lowest power first. Plain arithmetic for the
checkers of certificates, which share no code with what makes them.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

from workbench.checker.expressions import Polynomial
from workbench.checker.spoiled import Spoiled

PowerCoefficients = list[Fraction]
ZERO, ONE = Fraction(0), Fraction(1)


def trimmed(p: PowerCoefficients) -> PowerCoefficients:
    while p and p[-1] == 0:
        p = p[:-1]
    return p


def times(p: PowerCoefficients, q: PowerCoefficients) -> PowerCoefficients:
    found = [ZERO] * (len(p) + len(q) - 1)
    for i, x in enumerate(p):
        for j, y in enumerate(q):
            found[i + j] += x * y
    return trimmed(found)


def divided(p: PowerCoefficients, q: PowerCoefficients) -> PowerCoefficients:
    """p / q, which has to leave no rest."""
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


def eliminated(
    matrix: list[dict[int, Polynomial]], right: list[Polynomial]
) -> tuple[list[Polynomial], Polynomial]:
    """Solve `matrix` N = D `right` without fractions, where D is the determinant (Bareiss).

    Zero entries are left out of the rows. If D is 0 there is no N.

    >>> x = Polynomial.name("x")
    >>> eliminated([{0: x, 1: x / x.constant(1)}, {1: x}], [x.constant(1), x.constant(0)])
    ([1*x**1, 0], 1*x**2)
    """
    n, before = len(right), Polynomial.constant(1)
    rows = [
        {**row, n: side} if side.terms else dict(row)
        for row, side in zip(matrix, right, strict=True)
    ]
    for k in range(n):
        pivot = next((i for i in range(k, n) if k in rows[i]), None)
        if pivot is None:
            return [], Polynomial({})
        if pivot != k:
            rows[k], rows[pivot] = rows[pivot], {j: -x for j, x in rows[k].items()}
        lead = rows[k][k]
        for i in range(n):
            factor = rows[i].pop(k, None) if i != k else None
            if i == k or (factor is None and lead == before):
                continue
            moved = {}
            for j in {*rows[i], *(rows[k] if factor else ())} - {k}:
                x = rows[i][j] * lead if j in rows[i] else Polynomial({})
                if factor and j in rows[k]:
                    x = x - factor * rows[k][j]
                if x.terms:
                    quotient = x.over(before)
                    assert quotient is not None  # it is a minor
                    moved[j] = quotient
            rows[i] = moved
        before = lead
    return [row.get(n, Polynomial({})) for row in rows], before


def determinant(matrix: list[list[Polynomial]]) -> Polynomial:
    """The determinant of a matrix of polynomials.

    >>> x, one = Polynomial.name("x"), Polynomial.constant(1)
    >>> determinant([[x, one], [one, x]])
    1*x**2 + -1
    """
    rows = [{j: x for j, x in enumerate(row) if x.terms} for row in matrix]
    return eliminated(rows, [Polynomial({})] * len(rows))[1]
