"""Polynomials in several names that are positive on a box, and conditions that exclude one another.

**PowerCoefficients.** A name on [l, h] is written (l s + h t)/(s + t), one on [l, oo) as l + t,
with s, t >= 0; multiplied by the powers of s + t, the polynomial then has coefficients in the
products of s and t (for a bounded box these are Bernstein's). If none of them is negative, the
polynomial is nowhere negative, and it is positive wherever some product with a positive coefficient
does not vanish. A box on which that does not settle the matter is cut in two. For a single name
Sturm's chain decides whatever is left (`polynomials`).

**Products.** Conditions g_i >= 0, h_j > 0, e_k = 0 exclude one another if

    sum_n c_n (a product of g's, h's and squares)  +  sum_n p_n e_n  +  (a product of h's)  =  0

as polynomials with numbers c_n >= 0, since the last product is positive wherever they all hold
(Handelman, Stengle).

>>> (
...     is_positive_on_box("x**2 - x + 1", {"x": "[0, 1]"}),
...     is_positive_on_box("x**2 - x", {"x": "[0, 1]"}),
... )
(True, False)
>>> excludes(["x >= 0", "1 - x >= 0", "x - 2 >= 0"], [["1", [1]], ["1", [2]]], [])
True
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

from workbench.checker.expressions import Polynomial, read_polynomial, spend_products
from workbench.checker.polynomials import keeps_sign
from workbench.checker.spoiled import Spoiled

MOST_CUTS_OF_A_BOX = 9
"""A box is halved at most this many times in a row."""

LARGEST_DEGREE, MOST_NAMES = 60, 12

BoxInterval = tuple[bool, Fraction, Fraction | None, bool]
"""Whether the low end belongs to it, the low end, the high end (None: there is none), whether that
belongs to it."""

_INTERVAL = re.compile(
    r"([\[(])(-?\d{1,50}(?:/[1-9]\d{0,49})?), (oo|-?\d{1,50}(?:/[1-9]\d{0,49})?)([\])])"
)


def read_interval(shown: str) -> BoxInterval:
    """An interval from text such as "(0, 1]" or "[2, oo)".

    >>> read_interval("(0, 3/4]")
    (False, Fraction(0, 1), Fraction(3, 4), True)
    """
    match = _INTERVAL.fullmatch(shown) if isinstance(shown, str) else None
    if match is None:
        raise Spoiled(f"{shown!r} is not an interval")
    left, low, high, right = match.groups()
    end = None if high == "oo" else Fraction(high)
    found = left == "[", Fraction(low), end, right == "]" and end is not None
    if end is not None and (end < found[1] or (end == found[1] and not (found[0] and found[3]))):
        raise Spoiled(f"the interval {shown} is empty")
    return found


def read_box(shown: Any) -> dict[str, BoxInterval]:
    """The intervals of a box by name. An empty one is refused, since everything holds on it."""
    if not isinstance(shown, dict) or len(shown) > MOST_NAMES:
        raise Spoiled(f"{shown!r} is not a box of at most {MOST_NAMES} names")
    return {name: read_interval(one) for name, one in shown.items()}


def is_positive_on_box(polynomial: str, box: Mapping[str, str], strict: bool = True) -> bool:
    """Whether the polynomial is shown to be positive (not strict: nowhere negative) on the box."""
    return is_positive_within(read_polynomial(polynomial), read_box(dict(box)), strict)


def is_positive_within(f: Polynomial, box: Mapping[str, BoxInterval], strict: bool = True) -> bool:
    """Whether f > 0 (not strict: f >= 0) is shown for all values of its names in their
    intervals."""
    if missing := f.names - set(box):
        raise Spoiled(f"the box says nothing about {min(missing)}")
    inside = {name: box[name] for name in sorted(f.names)}
    degree = max((sum(k for _, k in e) for e in f.terms), default=0)
    if degree > LARGEST_DEGREE:
        raise Spoiled(f"a polynomial of degree {degree} is too large")
    if _settled(f, inside, strict, MOST_CUTS_OF_A_BOX if len(inside) > 1 else 2):
        return True
    if len(inside) != 1:
        return False
    ((name, (has_low, low, high, has_high)),) = inside.items()
    coefficients = [Fraction(0)] * (degree + 1)
    for e, c in f.terms.items():
        coefficients[dict(e).get(name, 0)] = c
    return keeps_sign(coefficients, low, high, (has_low, has_high), strict)


def _settled(f: Polynomial, box: dict[str, BoxInterval], strict: bool, cuts: int) -> bool:
    coefficients, names = _spread(f, box)
    if all(c >= 0 for c in coefficients.values()) and (
        not strict or _supported_everywhere(coefficients, box, names)
    ):
        return True
    if cuts == 0 or not box:
        return False
    # an interval without end is cut once, at first; then the longest
    name = max(
        box,
        key=lambda v: (
            math.inf if box[v][2] is None and cuts == MOST_CUTS_OF_A_BOX else _length(box[v])
        ),
    )
    has_low, low, high, has_high = box[name]
    middle = low + 1 if high is None else (low + high) / 2
    if high == low:
        return False
    halves: tuple[BoxInterval, BoxInterval] = (
        (has_low, low, middle, True),
        (True, middle, high, has_high),
    )
    return all(_settled(f, {**box, name: half}, strict, cuts - 1) for half in halves)


def _length(one: BoxInterval) -> float:
    return 0.0 if one[2] is None else float(one[2] - one[1])


def _spread(
    f: Polynomial, box: dict[str, BoxInterval]
) -> tuple[dict[tuple[int, ...], int], list[str]]:
    """Coefficients by the exponents of t, one for each name. The exponent of s is the degree minus
    that of t. All are multiplied by one positive number that makes them whole."""
    names = sorted(box)
    degree = {v: max((dict(e).get(v, 0) for e in f.terms), default=0) for v in names}
    spend_products(len(f.terms) * math.prod(k + 1 for k in degree.values()))
    columns = {
        v: [_expanded(box[v], power, degree[v]) for power in range(degree[v] + 1)] for v in names
    }
    common = math.lcm(*(c.denominator for c in f.terms.values()))
    total: dict[tuple[int, ...], int] = {}
    for e, c in f.terms.items():
        powers = dict(e)
        parts: dict[tuple[int, ...], int] = {(): c.numerator * (common // c.denominator)}
        for v in names:
            column = columns[v][powers.get(v, 0)]
            parts = {(*k, i): x * y for k, x in parts.items() for i, y in enumerate(column)}
        for k, x in parts.items():
            total[k] = total.get(k, 0) + x
    return total, names


def _expanded(one: BoxInterval, power: int, degree: int) -> list[int]:
    """Expand (l s + h t)^power (s + t)^(degree - power) by powers of t. It is multiplied by
    q^degree, q the denominator of both ends. Without a high end it expands (l + t)^power
    likewise."""
    _, low, high, _ = one
    q = math.lcm(low.denominator, 1 if high is None else high.denominator)
    l, rest = low.numerator * (q // low.denominator), degree - power
    if high is None:
        first = [math.comb(power, k) * l ** (power - k) * q**k for k in range(power + 1)]
        return [x * q**rest for x in first] + [0] * rest
    h = high.numerator * (q // high.denominator)
    first = [math.comb(power, k) * l ** (power - k) * h**k for k in range(power + 1)]
    second = [math.comb(rest, k) * q**rest for k in range(rest + 1)]
    return [
        sum(first[i] * second[k - i] for i in range(len(first)) if 0 <= k - i < len(second))
        for k in range(degree + 1)
    ]


def _supported_everywhere(
    coefficients: dict[tuple[int, ...], int], box: dict[str, BoxInterval], names: list[str]
) -> bool:
    """Whether on each face of the box some product with a positive coefficient does not vanish.

    A product that does not vanish where a name is at an end does not vanish inside either: the
    faces with as many names at an end as there can be are enough.
    """
    kinds = []
    for v in names:
        has_low, _, high, has_high = box[v]
        ends = ["low"] * has_low + ["high"] * (has_high and high is not None)
        kinds.append(ends or ["inside"])
    spend_products(len(coefficients) * math.prod(map(len, kinds)))
    top = [max(e[i] for e in coefficients) for i in range(len(names))] if coefficients else []

    def alive(e: tuple[int, ...], face: tuple[str, ...]) -> bool:
        return all(
            where == "inside" or (k == 0 if where == "low" else k == last)
            for k, last, where in zip(e, top, face, strict=True)
        )

    positive = [e for e, c in coefficients.items() if c > 0]
    return all(any(alive(e, face) for e in positive) for face in product(*kinds))


# ---------------------------------------------------------------------- products of conditions


def read_condition(shown: str) -> tuple[Polynomial, str]:
    """A condition as a polynomial and "> 0", ">= 0" or "= 0"."""
    sides = re.split(r"(>=|<=|==|>|<)", shown) if isinstance(shown, str) else []
    if len(sides) != 3:
        raise Spoiled(f"{shown!r} is not a condition")
    left, right = read_polynomial(sides[0]), read_polynomial(sides[2])
    if sides[1] in ("<", "<="):
        left, right = right, left
    return left - right, {"==": "= 0", ">": "> 0", "<": "> 0"}.get(sides[1], ">= 0")


def excludes(
    conditions: Sequence[str],
    terms: Sequence[Any],
    positive: Sequence[int],
    squares: Sequence[str] = (),
) -> bool:
    """Whether the products named show that no numbers satisfy all conditions.

    Parameters
    ----------
    conditions : relations between polynomials, as text.
    terms : pairs of a factor and the numbers of the conditions whose product it multiplies: a
        number that is not negative, or, where one of the conditions is an equation, a polynomial.
    positive : the numbers of the strict conditions whose product is added; none of them means 1.
    squares : polynomials whose squares may be multiplied as well, numbered after the conditions.
    """
    read = [read_condition(shown) for shown in conditions]
    for shown in squares:
        f = read_polynomial(shown)
        read.append((f * f, ">= 0"))

    def numbered(numbers: Any) -> list[tuple[Polynomial, str]]:
        if not isinstance(numbers, list | tuple) or len(numbers) > LARGEST_DEGREE:
            raise Spoiled("a term names the conditions that it multiplies, in a list")
        for i in numbers:
            if type(i) is not int or not 0 <= i < len(read):
                raise Spoiled(f"there is no condition number {i!r}")
        return [read[i] for i in numbers]

    if any(relation != "> 0" for _, relation in numbered(positive)):
        raise Spoiled("a condition that is not strict is taken for positive")
    total = _multiplied(numbered(positive))
    for factor, numbers in terms:
        f, used = read_polynomial(factor), numbered(numbers)
        is_equation = any(relation == "= 0" for _, relation in used)
        if not is_equation and (f.names or f.terms.get((), Fraction(0)) < 0):
            raise Spoiled(f"the factor {factor} is not a number >= 0")
        total = total + f * _multiplied(used)
    return not total.terms


def _multiplied(conditions: list[tuple[Polynomial, str]]) -> Polynomial:
    total = Polynomial.constant(1)
    for f, _ in conditions:
        total = total * f
    return total
