"""The sign of a polynomial on the open unit interval or square, from its Bernstein coefficients.

    f(x, y) = sum_ij b_ij B_i^n(x) B_j^m(y),    B_i^n(x) = C(n, i) x^i (1-x)^(n-i) > 0 on (0, 1)

so that coefficients of one sign (zeros allowed, not all of them) give f that sign everywhere
inside. Where they do not, the box is cut in two (de Casteljau); on a side that lies inside the
square the coefficients must then be of that sign without zeros, for f must not vanish there.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import comb
from typing import Any

Coefficients = list[list[Fraction]]
"""`c[i][j]` of x^i y^j, or of the Bernstein polynomials; one column for one variable."""

MOST_CUTS = 8


def coefficients(polynomial: Any, variables: int) -> Coefficients:
    """The coefficients of a flint polynomial in one or two variables."""
    terms = {tuple(map(int, powers)): c for powers, c in polynomial.terms()}
    n = max((powers[0] for powers in terms), default=0)
    m = max((powers[1] for powers in terms), default=0) if variables == 2 else 0
    found = [[Fraction(0)] * (m + 1) for _ in range(n + 1)]
    for powers, c in terms.items():
        found[powers[0]][powers[1] if variables == 2 else 0] = Fraction(int(c.p), int(c.q))
    return found


def bernstein(c: Coefficients) -> Coefficients:
    """From coefficients of powers to those of the Bernstein polynomials of the same degrees."""
    return _turned(_by_column(_turned(_by_column(c))))


def _by_column(c: Coefficients) -> Coefficients:
    n = len(c) - 1
    return [
        [
            sum(
                (Fraction(comb(i, k), comb(n, k)) * c[k][j] for k in range(i + 1)),
                start=Fraction(0),
            )
            for j in range(len(c[0]))
        ]
        for i in range(n + 1)
    ]


def _turned(c: Coefficients) -> Coefficients:
    return [list(column) for column in zip(*c, strict=True)]


def _halves(b: Coefficients) -> tuple[Coefficients, Coefficients]:
    """The Bernstein coefficients on the lower and the upper half of the first variable."""
    low, high, rows = [], [], b
    while rows:
        low.append(rows[0])
        high.append(rows[-1])
        rows = [
            [(x + y) / 2 for x, y in zip(one, other, strict=True)] for one, other in pairwise(rows)
        ]
    return low, high[::-1]


def sign_inside(c: Coefficients) -> int | None:
    """The sign of a polynomial inside (0, 1) or (0, 1)^2. It is 1, -1, 0 if the polynomial is 0, or
    None where the cuts do not settle it."""
    b = bernstein(c)
    flat = [x for row in b for x in row]
    if not any(flat):
        return 0
    sign = 1 if sum(flat) > 0 else -1
    signed = [[sign * x for x in row] for row in b]
    return sign if _is_positive(signed, (True, True, True, True), MOST_CUTS) else None


def _is_positive(b: Coefficients, outer: tuple[bool, bool, bool, bool], cuts: int) -> bool:
    """Whether f > 0 on a box and on its inner sides. Sides are (low x, high x, low y, high y)."""
    flat = [x for row in b for x in row]
    if max(flat) <= 0:
        return False
    if min(flat) >= 0:
        sides = (b[0], b[-1], [row[0] for row in b], [row[-1] for row in b])
        if all(is_outer or min(side) > 0 for side, is_outer in zip(sides, outer, strict=True)):
            return True
    if cuts == 0 or any(
        corner < 0 for corner in (b[0][0], b[0][-1], b[-1][0], b[-1][-1])
    ):  # f itself is negative there
        return False
    x0, x1, y0, y1 = outer
    if cuts % 2 == 0 or len(b[0]) == 1:
        low, high = _halves(b)
        return _is_positive(low, (x0, False, y0, y1), cuts - 1) and _is_positive(
            high, (False, x1, y0, y1), cuts - 1
        )
    low, high = (_turned(half) for half in _halves(_turned(b)))
    return _is_positive(low, (x0, x1, y0, False), cuts - 1) and _is_positive(
        high, (x0, x1, False, y1), cuts - 1
    )
