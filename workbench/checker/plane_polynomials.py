"""The cells into which the zeros of polynomials in x and y cut the open square.

Let f_1, ..., f_k be polynomials of which, as polynomials in x, none has a double factor and no two
have a common one. Over an open interval of y on which none of

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

from workbench.checker.expressions import Polynomial
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

LARGEST_PLANE_DEGREE = 40
"""Of a polynomial whose zeros are to be counted, in each unknown."""


def _in_one_name(f: Polynomial, name: str) -> PowerCoefficients:
    """The coefficients of a polynomial that holds no other name."""
    return [c.at({}) for c in f.by_powers_of(name)]


def _resultant(f: list[Polynomial], g: list[Polynomial]) -> Polynomial:
    """The resultant: the determinant of Sylvester's matrix. The lists are coefficients of the
    powers of x."""
    n, m = len(f) - 1, len(g) - 1
    rows = []
    for one, shifts, width in ((f, m, n), (g, n, m)):
        for k in range(shifts):
            row = [Polynomial({})] * (n + m)
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


def check_cells(
    curves: list[Polynomial], points: Sequence[tuple[Fraction, ...]], names: Sequence[str]
) -> None:
    """Every cell into which the curves cut the open square, or interval, holds one of the points.

    Parameters
    ----------
    points : (x, y), or (x,) where there is one unknown.
    names : of the unknowns.

    >>> curve = Polynomial.name("x") - ONE / 2
    >>> check_cells([curve], [(Fraction(1, 4),), (Fraction(3, 4),)], ["x"])
    >>> check_cells([curve], [(Fraction(1, 4),)], ["x"])
    Traceback (most recent call last):
    ...
    workbench.checker.spoiled.Spoiled: there is a cell before the first sample point or after the \
last
    """
    x = names[0]
    by_x = [f.by_powers_of(x) for f in curves]
    large = max((len(c) for f in by_x for c in (f, *(g.by_powers_of(names[-1]) for g in f))),
                default=0)  # fmt: skip
    if large > LARGEST_PLANE_DEGREE + 1:
        raise Spoiled(f"a curve of degree {large - 1} is too large")
    if len(names) == 1:
        lines = [_in_one_name(f, x) for f in curves]
        check_one_in_each_gap(lines, sorted(x for (x,) in points))
        return
    y = names[1]
    columns: dict[Fraction, list[Fraction]] = {}
    for there, height in points:
        columns.setdefault(height, []).append(there)
    special: list[Polynomial] = []
    for curve, f in zip(curves, by_x, strict=True):
        if len(f) == 1:
            special.append(f[0])
            continue
        special += [f[-1], _resultant(f, curve.derivative(x).by_powers_of(x))]
        # a curve that holds a side of the square for all y never leaves it
        special += [side for side in (f[0], sum(f, Polynomial({}))) if side.terms]
    for f, g in combinations([f for f in by_x if len(f) > 1], 2):
        special.append(_resultant(f, g))
    check_one_in_each_gap([_in_one_name(f, y) for f in special], sorted(columns))
    for height, row in columns.items():
        lines = [[c.at({y: height}) for c in f] for f in by_x if len(f) > 1]
        check_one_in_each_gap([trimmed(f) for f in lines], sorted(row))
