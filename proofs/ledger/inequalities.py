"""Inequalities between rational functions on boxes, and conditions that exclude one another, with
certificates in plain text.

    positive(f, box)         f > 0 wherever its variables lie in their intervals; f is a quotient of
                             polynomials
    impossible(conditions)   no real numbers satisfy all of these polynomial conditions
    identical(f, g)          f and g are the same quotient of polynomials

Two opinions are asked for, each by code of its own. z3, which decides polynomial arithmetic over
the reals, says that nothing breaks the statement, or finds numbers that do; no statement is
accepted on its word alone, and without it numbers are looked for on a grid. What holds comes with
certificates that `workbench.checker` verifies: coefficients that are not negative after a
substitution, Sturm's chain, or a combination of products (`exclusion`).

>>> x, K = sympy.symbols("x K")
>>> found = prove_positive(1 / x + K - 2, {x: Interval.Lopen(0, 1), K: Interval(2, sympy.oo)})
>>> found.holds, found.certificates[0]["polynomial"]
(True, 'x')
>>> prove_positive(x - x**2 - sympy.Rational(1, 8), {x: Interval(0, 1)}).witness
{'x': '0'}
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import islice, product
from typing import Any

import sympy
from sympy import Interval

from proofs.ledger.exclusion import exclusion_certificate
from workbench.checker.expressions import read_expression
from workbench.checker.recheck import recheck
from workbench.checker.spoiled import Spoiled
from workbench.core.errors import WorkbenchError
from workbench.core.exact import RationalFunctions
from workbench.extras import need

TIMEOUT = 20_000
"""Milliseconds that the solver may take for one question."""

_MOST_PLACES = 4_000
"""Points that are tried before the solver is asked."""

Box = Mapping[sympy.Symbol, Interval]


class Undecided(WorkbenchError):
    """The solver gave up, or what it says has no certificate."""


@dataclass(frozen=True)
class DecidedInequality:
    """What was found about an inequality.

    Attributes
    ----------
    holds : whether the statement was proved.
    witness : numbers that break it, by name, if not.
    certificates : JSON objects of the kinds "polynomial-positive" and "excluded", if it was.
    """

    holds: bool
    witness: dict[str, str] | None = None
    certificates: tuple[dict[str, Any], ...] = ()


def prove_positive(f: Any, box: Box, strict: bool = True) -> DecidedInequality:
    """Whether f > 0 (or f >= 0) on the whole box. Its denominator is shown to be positive, then its
    numerator."""
    num, den = lowest_terms(f)
    certificates: list[dict[str, Any]] = []
    if den.free_symbols:
        below = _on_box(den, box, True)
        if not below.holds:
            num, den = -num, -den
            below = _on_box(den, box, True)
            if not below.holds:
                return below
        certificates += below.certificates
    elif den < 0:
        num = -num
    above = _on_box(num, box, strict)
    return DecidedInequality(above.holds, above.witness, (*certificates, *above.certificates))


def _on_box(polynomial: sympy.Expr, box: Box, strict: bool) -> DecidedInequality:
    inside = {str(v): interval_text(box[v]) for v in sorted(polynomial.free_symbols, key=str)}
    shown = polynomial_text(polynomial)
    conditions = [*box_conditions(inside), f"{shown} {'<=' if strict else '<'} 0"]
    if importlib.util.find_spec("z3") and (witness := solve_conditions(conditions)) is not None:
        return DecidedInequality(False, witness)
    certificate = {
        "kind": "polynomial-positive",
        "polynomial": shown,
        "box": inside,
        "strict": strict,
    }
    try:
        recheck(certificate)
    except Spoiled as error:
        if witness := _break_on_grid(shown, inside, strict):
            return DecidedInequality(False, witness)
        need("z3", "proofs")
        raise Undecided(f"{shown} > 0 on {inside}, says z3; the checker: {error}") from None
    return DecidedInequality(True, None, (certificate,))


def _break_on_grid(shown: str, box: Mapping[str, str], strict: bool) -> dict[str, str] | None:
    """A point of a grid in the box where a polynomial is not positive. Most false statements have
    one, and need no solver."""
    sides = [list(map(Fraction, _places(interval))) for interval in box.values()]
    for point in islice(product(*sides), _MOST_PLACES):
        at = dict(zip(box, point, strict=True))
        value = read_expression(shown, at.__getitem__, Fraction)
        if value < 0 or (strict and value == 0):
            return {name: str(x) for name, x in at.items()}
    return None


def _places(interval: str) -> list[Fraction]:
    """Some points of an interval given as text."""
    low, high = interval[1:-1].split(", ")
    if "oo" in high:
        inner = [Fraction(low) + x for x in (1, 2, 16, Fraction(1, 16))]
        return [*([Fraction(low)] if interval[0] == "[" else []), *inner]
    width = Fraction(high) - Fraction(low)
    inner = [Fraction(low) + width * Fraction(k, 16) for k in (8, 1, 15, 4, 12)]
    ends = [low] if interval[0] == "[" else []
    return [*map(Fraction, ends + ([high] if interval[-1] == "]" else [])), *inner]


def impossible(conditions: Iterable[Any], squares: Iterable[Any] = ()) -> DecidedInequality:
    """Whether no real numbers satisfy all conditions, given as sympy relations between polynomials.

    `squares` are polynomials whose squares may help in the certificate.
    """
    shown = tuple(relation_text(c) for c in conditions)
    if importlib.util.find_spec("z3"):  # a witness is found sooner than the lack of a certificate
        witness = solve_conditions(shown)
        if witness is not None:
            return DecidedInequality(False, witness)
    certificate = _excluded(shown, tuple(polynomial_text(f) for f in squares))
    if certificate is None:
        need("z3", "proofs")
        raise Undecided(f"{list(shown)} have no common point, says z3; there is no certificate")
    return DecidedInequality(True, None, (certificate,))


@cache
def _excluded(shown: tuple[str, ...], squares: tuple[str, ...]) -> dict[str, Any] | None:
    return exclusion_certificate(shown, squares)


def lowest_terms(f: Any) -> tuple[sympy.Expr, sympy.Expr]:
    """Numerator and denominator without a common factor.

    >>> x = sympy.Symbol("x")
    >>> lowest_terms((x**2 - 1) / (x - 1))
    (x + 1, 1)
    """
    f = sympy.sympify(f)
    if not f.free_symbols:
        return sympy.fraction(f)
    field = RationalFunctions(f.free_symbols)
    return sympy.fraction(field.back(field.one(f)))


def identical(left: Any, right: Any) -> bool:
    """Whether two quotients of polynomials are the same function.

    >>> x = sympy.Symbol("x")
    >>> identical((1 - x**2) / (1 - x), 1 + x)
    True
    """
    left, right = sympy.sympify(left), sympy.sympify(right)
    symbols = left.free_symbols | right.free_symbols
    field = RationalFunctions(symbols or {sympy.Symbol("x")})
    return bool(field.one(left) == field.one(right))


# ---------------------------------------------------------------------- text


def polynomial_text(polynomial: Any) -> str:
    """A polynomial as text: integers, names, + - * / ** and brackets."""
    return str(sympy.expand(sympy.sympify(polynomial)))


def relation_text(condition: Any) -> str:
    """A relation as text: a polynomial, one of > >= < <= == !=, and 0."""
    return f"{polynomial_text(condition.lhs - condition.rhs)} {condition.rel_op} 0"


def interval_text(interval: Any) -> str:
    """An interval as text, such as "(0, 1]" or "[2, oo)"."""
    left = "(" if interval.left_open else "["
    right = ")" if interval.right_open else "]"
    return f"{left}{interval.start}, {interval.end}{right}"


def box_conditions(box: Mapping[str, str]) -> list[str]:
    """What the intervals of a box, as text, say about its variables."""
    found = []
    for name, interval in box.items():
        low, high = interval[1:-1].split(", ")
        if low != "-oo":
            found.append(f"{name} - ({low}) {'>' if interval[0] == '(' else '>='} 0")
        if high != "oo":
            found.append(f"{name} - ({high}) {'<' if interval[-1] == ')' else '<='} 0")
    return found


# ---------------------------------------------------------------------- the solver


def solve_conditions(conditions: Iterable[str]) -> dict[str, str] | None:
    """Real numbers, by name, that satisfy all conditions given as text. None if there are none."""
    z3 = need("z3", "proofs")
    solver = z3.Solver()
    solver.set("timeout", TIMEOUT)
    names: dict[str, Any] = {}

    def name(symbol: str) -> Any:
        return names.setdefault(symbol, z3.Real(symbol))

    for condition in conditions:
        solver.add(read_expression(condition, name, z3.RealVal))
    answer = solver.check()
    if answer == z3.unsat:
        return None
    if answer != z3.sat:
        raise Undecided(f"z3 gave up on {list(conditions)}: {solver.reason_unknown()}")
    model = solver.model()
    return {
        symbol: str(model.eval(x, model_completion=True)) for symbol, x in sorted(names.items())
    }
