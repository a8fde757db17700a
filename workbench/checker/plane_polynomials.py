"""Polynomials in two unknowns x and y, and the cells into which their zeros cut the open square.

A polynomial is a dictionary {(i, j): coefficient of x^i y^j}. Let f_1, ..., f_k be polynomials of
which, as polynomials in x, none has a double factor and no two have a common one. Over an open
interval of y on which none of

    lead_x f_i,    Res_x(f_i, f_i'),    Res_x(f_i, f_j),    f_i(0, y),    f_i(1, y)

vanishes (and no f_i without x does) the zeros of all f_i(., y) are distinct, as many everywhere,
and never meet the sides x = 0 and x = 1: they are continuous functions of y, and the gaps between
them are connected. So one point in each gap, on one line y = c over each of these intervals, is
one point in each cell. The points of the lines between the intervals lie, if no f_i vanishes
there, beside a cell in which all f_i have the same signs.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, pairwise

from workbench.checker.expressions import Polynomial, spend_products
from workbench.checker.polynomials import (
    ONE,
    ZERO,
    PowerCoefficients,
    RootCounter,
    at,
    common_divisor,
    determinant,
    trimmed,
)
from workbench.checker.spoiled import Spoiled

PlanePolynomial = dict[tuple[int, int], Fraction]
"""Only coefficients other than 0 are held."""

LARGEST_PLANE_DEGREE = 40
"""Of a polynomial whose zeros are to be counted, in each unknown."""


def plane_polynomial(f: Polynomial | Fraction | int, names: Sequence[str]) -> PlanePolynomial:
    """A polynomial in at most two names, the first of which is x.

    >>> plane_polynomial(Polynomial.name("b") * 2, ["a", "b"])
    {(0, 1): Fraction(2, 1)}
    """
    found: PlanePolynomial = {}
    for e, c in Polynomial.of(f).terms.items():
        powers = dict(e)
        if strange := set(powers) - set(names):
            raise Spoiled(f"{min(strange)} is none of the names {', '.join(names)}")
        i, j = (powers.get(name, 0) for name in (*names, "", "")[:2])
        found[i, j] = c
    return found


def in_names(f: PlanePolynomial, names: Sequence[str]) -> Polynomial:
    """The same polynomial with its names."""
    return Polynomial(
        {
            tuple(sorted((name, k) for name, k in zip(names, e, strict=False) if k)): c
            for e, c in f.items()
        }
    )


def plane_sum(
    f: PlanePolynomial, g: PlanePolynomial, factor: Fraction | int = 1
) -> PlanePolynomial:
    """f + factor g."""
    total = dict(f)
    for e, c in g.items():
        x = total.get(e, ZERO) + factor * c
        if x:
            total[e] = x
        else:
            total.pop(e, None)
    return total


def plane_product(f: PlanePolynomial, g: PlanePolynomial) -> PlanePolynomial:
    """f g."""
    spend_products(len(f) * len(g))
    total: PlanePolynomial = {}
    for (i, j), c in f.items():
        for (k, m), d in g.items():
            e = i + k, j + m
            total[e] = total.get(e, ZERO) + c * d
    return {e: c for e, c in total.items() if c}


def plane_quotient(f: PlanePolynomial, g: PlanePolynomial) -> PlanePolynomial | None:
    """f / g, None if g does not divide f."""
    if not g:
        raise Spoiled("a polynomial is divided by the zero polynomial")
    top = max(g)
    rest, found = dict(f), PlanePolynomial()
    while rest:
        (i, j) = lead = max(rest)
        if i < top[0] or j < top[1]:
            return None
        spend_products(len(g))
        shift, c = (i - top[0], j - top[1]), rest[lead] / g[top]
        found[shift] = c
        for (k, m), d in g.items():
            e = k + shift[0], m + shift[1]
            x = rest.get(e, ZERO) - c * d
            if x:
                rest[e] = x
            else:
                del rest[e]
    return found


def plane_value(f: PlanePolynomial, point: Sequence[Fraction]) -> Fraction:
    """f at a point (x, y), or at (x,) if it is free of y."""
    x, y = (*point, ZERO)[:2]
    return sum((c * x**i * y**j for (i, j), c in f.items()), ZERO)


def _by_powers_of_x(f: PlanePolynomial) -> list[PowerCoefficients]:
    """[coefficient of x^i, a polynomial in y]."""
    high = max((i for i, _ in f), default=0)
    wide = max((j for _, j in f), default=0)
    if max(high, wide) > LARGEST_PLANE_DEGREE:
        raise Spoiled(f"a curve of degree {max(high, wide)} is too large")
    return [trimmed([f.get((i, j), ZERO) for j in range(wide + 1)]) for i in range(high + 1)]


def _resultant(f: list[PowerCoefficients], g: list[PowerCoefficients]) -> PowerCoefficients:
    """The resultant: the determinant of Sylvester's matrix. The lists are coefficients of the
    powers of x."""
    n, m = len(f) - 1, len(g) - 1
    rows = []
    for one, shifts, width in ((f, m, n), (g, n, m)):
        for k in range(shifts):
            row: list[PowerCoefficients] = [[] for _ in range(n + m)]
            row[k : k + width + 1] = one[::-1]
            rows.append(row)
    return determinant(rows)


def check_one_in_each_gap(polynomials: list[PowerCoefficients], points: list[Fraction]) -> None:
    """The points lie in (0, 1) in order, at least one in each gap that the zeros leave there.

    >>> check_one_in_each_gap([[-ONE, 2 * ONE]], [Fraction(1, 4), Fraction(3, 4)])
    """
    if not points or any(a >= b for a, b in pairwise([ZERO, *points, ONE])):
        raise Spoiled("the sample points do not lie between 0 and 1 in order")
    for p in polynomials:
        if not p:
            raise Spoiled("a polynomial that parts the cells is zero everywhere")
        if any(at(p, x) == 0 for x in points):
            raise Spoiled("a sample point lies where the cells are parted")
    counters = [(p, RootCounter(p)) for p in polynomials]
    for k, (low, high) in enumerate(pairwise([ZERO, *points, ONE])):
        inside = [(p, n) for p, counter in counters if (n := counter.count(low, high))]
        if inside and k in (0, len(points)):
            raise Spoiled("there is a cell before the first sample point or after the last")
        if not inside:
            continue
        # one zero, whatever the number of polynomials that have it: with two of them there would
        # be a cell between, without a point
        shared = inside[0][0]
        for p, _ in inside[1:]:
            shared = common_divisor(shared, p)
        if max(n for _, n in inside) > 1 or RootCounter(shared).count(low, high) != 1:
            raise Spoiled(f"there is a cell without a sample point between {low} and {high}")


def check_cells(curves: list[PlanePolynomial], points: list[tuple[Fraction, ...]]) -> None:
    """Every cell into which the curves cut the open square, or interval, holds one of the points.

    Parameters
    ----------
    points : (x, y), or (x,) where there is one unknown.

    >>> x_minus_half = {(1, 0): ONE, (0, 0): -ONE / 2}
    >>> check_cells([x_minus_half], [(Fraction(1, 4),), (Fraction(3, 4),)])
    >>> check_cells([x_minus_half], [(Fraction(1, 4),)])
    Traceback (most recent call last):
    ...
    workbench.checker.spoiled.Spoiled: there is a cell before the first sample point or after the \
last
    """
    if any(len(point) == 1 for point in points):
        lines = [[c[0] if c else ZERO for c in _by_powers_of_x(f)] for f in curves]
        check_one_in_each_gap([trimmed(p) for p in lines], sorted(x for (x,) in points))
        return
    columns: dict[Fraction, list[Fraction]] = {}
    for x, y in points:
        columns.setdefault(y, []).append(x)
    by_x = [_by_powers_of_x(f) for f in curves]
    special: list[PowerCoefficients] = []
    for f in by_x:
        if len(f) == 1:
            special.append(f[0])
            continue
        slope = [trimmed([i * c for c in f[i]]) for i in range(1, len(f))]
        special += [f[-1], _resultant(f, slope)]
        # a curve that holds a side of the square for all y never leaves it
        first = f[0]
        last = trimmed([sum(column, ZERO) for column in _columns(f)])
        special += [side for side in (first, last) if side]
    for f, g in combinations([f for f in by_x if len(f) > 1], 2):
        special.append(_resultant(f, g))
    check_one_in_each_gap(special, sorted(columns))
    for y, row in columns.items():
        lines = [trimmed([at(c, y) for c in f]) for f in by_x if len(f) > 1]
        check_one_in_each_gap(lines, sorted(row))


def _columns(f: list[PowerCoefficients]) -> list[list[Fraction]]:
    wide = max(map(len, f))
    return [[c[j] if j < len(c) else ZERO for c in f] for j in range(wide)]
