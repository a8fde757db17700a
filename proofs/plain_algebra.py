"""Polynomials as dictionaries of Fractions: identities and positivity from text, with neither sympy
nor a solver.

Positivity on a box is read off coefficients. A variable on [l, h] is written (l s + h t)/(s + t),
one on [l, oo) as l + t, with s, t >= 0; multiplied by the powers of s + t, the polynomial then has
coefficients in the products of s and t (for a bounded box these are Bernstein's). If none of them
is negative, the polynomial is nowhere negative, and it is positive wherever some product with a
positive coefficient does not vanish. A box on which that does not settle the matter is cut in two.

>>> positive_on_box("x**2 - x + 1", {"x": "[0, 1]"}), positive_on_box("x**2 - x", {"x": "[0, 1]"})
(True, None)
>>> same("(x**2 - y**2)/(x - y)", "x + y")
True
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from itertools import product
from typing import Any

from workbench.errors import WorkbenchError

MOST_CUTS = 9
"""A box is halved at most this many times in a row."""


def read(shown: str, name: Callable[[str], Any], integer: Callable[[int], Any]) -> Any:
    """An expression or a relation in text, built from whatever `name` and `integer` return.

    >>> read("x**2 - 3*x/2", {"x": Fraction(2)}.__getitem__, Fraction)
    Fraction(1, 1)
    """
    operations: dict[type, Callable[[Any, Any], Any]] = {
        ast.Add: lambda x, y: x + y,
        ast.Sub: lambda x, y: x - y,
        ast.Mult: lambda x, y: x * y,
        ast.Div: lambda x, y: x / y,
        ast.Gt: lambda x, y: x > y,
        ast.GtE: lambda x, y: x >= y,
        ast.Lt: lambda x, y: x < y,
        ast.LtE: lambda x, y: x <= y,
        ast.Eq: lambda x, y: x == y,
        ast.NotEq: lambda x, y: x != y,
    }

    def build(node: ast.AST) -> Any:
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return integer(node.value)
        if isinstance(node, ast.Name):
            return name(node.id)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            return -build(node.operand)
        if (
            isinstance(node, ast.BinOp)
            and isinstance(node.op, ast.Pow)
            and isinstance(node.right, ast.Constant)
        ):
            return power(build(node.left), node.right.value)
        if isinstance(node, ast.BinOp) and type(node.op) in operations:
            return operations[type(node.op)](build(node.left), build(node.right))
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            return operations[type(node.ops[0])](build(node.left), build(node.comparators[0]))
        raise WorkbenchError(
            f"{shown!r} holds something other than numbers, names, + - * / ** and one relation"
        )

    def power(base: Any, exponent: Any) -> Any:
        if not isinstance(exponent, int) or exponent < 1:
            raise WorkbenchError(
                f"{shown!r} holds the exponent {exponent!r}; exponents are positive integers"
            )
        found = base
        for _ in range(exponent - 1):
            found = found * base
        return found

    return build(ast.parse(shown, mode="eval").body)


Exponents = tuple[tuple[str, int], ...]


class Polynomial:
    """A polynomial with rational coefficients: {((name, exponent), ...): coefficient}, names in
    order, no zeros."""

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, terms: Mapping[Exponents, Fraction]):
        self.terms = {e: c for e, c in terms.items() if c != 0}

    @classmethod
    def name(cls, name: str) -> Polynomial:
        return cls({((name, 1),): Fraction(1)})

    @classmethod
    def constant(cls, value: int | Fraction) -> Polynomial:
        return cls({(): Fraction(value)})

    def __add__(self, other: Polynomial) -> Polynomial:
        total = dict(self.terms)
        for e, c in other.terms.items():
            total[e] = total.get(e, Fraction(0)) + c
        return Polynomial(total)

    def __neg__(self) -> Polynomial:
        return Polynomial({e: -c for e, c in self.terms.items()})

    def __sub__(self, other: Polynomial) -> Polynomial:
        return self + (-other)

    def __mul__(self, other: Polynomial) -> Polynomial:
        total: dict[Exponents, Fraction] = {}
        for (e, c), (f, d) in product(self.terms.items(), other.terms.items()):
            powers = dict(e)
            for name, k in f:
                powers[name] = powers.get(name, 0) + k
            key = tuple(sorted(powers.items()))
            total[key] = total.get(key, Fraction(0)) + c * d
        return Polynomial(total)

    def __truediv__(self, other: Polynomial) -> Polynomial:
        if set(other.terms) != {()}:
            raise ZeroDivisionError("a polynomial is divided by numbers other than 0 only")
        return Polynomial({e: c / other.terms[()] for e, c in self.terms.items()})

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Polynomial) and self.terms == other.terms


class Quotient:
    """A quotient of polynomials, not reduced; equal when the cross products are. Mixes with ints
    and Fractions."""

    def __init__(self, num: Polynomial, den: Polynomial):
        lead = Polynomial.constant(
            den.terms[max(den.terms)]
        )  # equal denominators then look the same
        self.num, self.den = num / lead, den / lead

    @classmethod
    def name(cls, name: str) -> Quotient:
        return cls(Polynomial.name(name), Polynomial.constant(1))

    @classmethod
    def constant(cls, value: int | Fraction) -> Quotient:
        return cls(Polynomial.constant(value), Polynomial.constant(1))

    @classmethod
    def of(cls, x: Any) -> Quotient:
        return x if isinstance(x, Quotient) else cls.constant(x)

    def __hash__(self) -> int:
        return 0  # equal quotients may look different; what is kept in dictionaries here is little

    def __add__(self, other: Any) -> Quotient:
        other = Quotient.of(other)
        if self.den == other.den:
            return Quotient(self.num + other.num, self.den)
        return Quotient(self.num * other.den + other.num * self.den, self.den * other.den)

    def __neg__(self) -> Quotient:
        return Quotient(-self.num, self.den)

    def __sub__(self, other: Any) -> Quotient:
        return self + (-Quotient.of(other))

    def __mul__(self, other: Any) -> Quotient:
        other = Quotient.of(other)
        return Quotient(self.num * other.num, self.den * other.den)

    __radd__ = __add__
    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Quotient:
        other = Quotient.of(other)
        if not other.num.terms:
            raise ZeroDivisionError("division by the zero function")
        return Quotient(self.num * other.den, self.den * other.num)

    def __rtruediv__(self, other: Any) -> Quotient:
        return Quotient.of(other) / self

    def __rsub__(self, other: Any) -> Quotient:
        return Quotient.of(other) - self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Quotient | int | Fraction):
            return NotImplemented
        other = Quotient.of(other)
        return self.num * other.den == other.num * self.den


def same(left: str, right: str) -> bool:
    """Whether two quotients of polynomials, as text, are the same function."""
    return bool(
        read(left, Quotient.name, Quotient.constant)
        == read(right, Quotient.name, Quotient.constant)
    )


# ---------------------------------------------------------------------- positivity


Interval = tuple[bool, Fraction, Fraction | None, bool]
"""Whether the low end belongs to it, the low end, the high end (None: there is none), whether that
belongs to it."""


def interval(shown: str) -> Interval:
    """An interval from text such as "(0, 1]" or "[2, oo)".

    >>> interval("(0, 3/4]")
    (False, Fraction(0, 1), Fraction(3, 4), True)
    """
    low, high = shown[1:-1].split(", ")
    return (
        shown[0] == "[",
        Fraction(low),
        None if high == "oo" else Fraction(high),
        shown[-1] == "]",
    )


def positive_on_box(polynomial: str, box: Mapping[str, str], strict: bool = True) -> bool | None:
    """True if the polynomial is shown to be positive (not strict: nowhere negative) on the box;
    None if it is not."""
    f = read(polynomial, Polynomial.name, Polynomial.constant)
    intervals = {name: interval(shown) for name, shown in box.items()}
    return True if _settled(f, intervals, strict, MOST_CUTS) else None


def _settled(f: Polynomial, box: dict[str, Interval], strict: bool, cuts: int) -> bool:
    coefficients, names = _spread(f, box)
    if all(c >= 0 for c in coefficients.values()) and (
        not strict or all(_supported(coefficients, names, face) for face in _faces(box, names))
    ):
        return True
    if cuts == 0 or not box:
        return False
    name = max(
        box, key=lambda v: math.inf if box[v][2] is None and cuts == MOST_CUTS else _length(box[v])
    )
    has_low, low, high, has_high = box[name]
    middle = low + 1 if high is None else (low + high) / 2
    halves: tuple[Interval, Interval] = (has_low, low, middle, True), (True, middle, high, has_high)
    return all(_settled(f, {**box, name: half}, strict, cuts - 1) for half in halves)


def _length(one: Interval) -> float:
    return 0.0 if one[2] is None else float(one[2] - one[1])


def _spread(
    f: Polynomial, box: dict[str, Interval]
) -> tuple[dict[tuple[int, ...], Fraction], list[str]]:
    """Coefficients by the exponents of t, one for each variable; the exponent of s is what is
    missing to the degree."""
    names = sorted(box)
    degree = {v: max((dict(e).get(v, 0) for e in f.terms), default=0) for v in names}
    total: dict[tuple[int, ...], Fraction] = {}
    for e, c in f.terms.items():
        powers = dict(e)
        columns = [_expanded(box[v], powers.get(v, 0), degree[v]) for v in names]
        for choice in product(*(range(len(column)) for column in columns)):
            x = c
            for column, k in zip(columns, choice, strict=True):
                x *= column[k]
            total[choice] = total.get(choice, Fraction(0)) + x
    return total, names


def _expanded(one: Interval, power: int, degree: int) -> list[Fraction]:
    """(l s + h t)^power (s + t)^(degree - power) by powers of t; for no high end (l + t)^power."""
    _, low, high, _ = one
    if high is None:
        return [math.comb(power, k) * low ** (power - k) for k in range(power + 1)] + [
            Fraction(0)
        ] * (degree - power)
    first = [math.comb(power, k) * low ** (power - k) * high**k for k in range(power + 1)]
    second = [math.comb(degree - power, k) for k in range(degree - power + 1)]
    return [
        sum(
            (first[i] * second[k - i] for i in range(len(first)) if 0 <= k - i < len(second)),
            Fraction(0),
        )
        for k in range(degree + 1)
    ]


def _faces(box: dict[str, Interval], names: list[str]) -> Iterator[tuple[str, ...]]:
    """Where each variable may be: inside, or at an end that belongs to its interval."""
    kinds = []
    for v in names:
        has_low, _, high, has_high = box[v]
        kinds.append(["inside"] + ["low"] * has_low + ["high"] * (has_high and high is not None))
    yield from product(*kinds)


def _supported(
    coefficients: dict[tuple[int, ...], Fraction], names: list[str], face: tuple[str, ...]
) -> bool:
    """Whether some product with a positive coefficient does not vanish on the face."""
    top = [max(e[i] for e in coefficients) for i in range(len(names))] if coefficients else []

    def alive(e: tuple[int, ...]) -> bool:
        return all(
            where == "inside" or (k == 0 if where == "low" else k == last)
            for k, last, where in zip(e, top, face, strict=True)
        )

    return any(c > 0 and alive(e) for e, c in coefficients.items())
