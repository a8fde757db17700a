"""Certificates about formulas as theorems of Coq: identities, polynomials on a box, exclusions.

A theorem states what the certificate states, about real numbers. Its proof is written out here, so
that Coq only has to follow it:

identity              both sides as quotients of polynomials, multiplied out, for all values that
                      make no denominator 0
polynomial-positive   on each part of the box  f = sum_e c_e prod_i (x_i - l_i)^e_i (h_i -
                      x_i)^(d_i-e_i)  with c_e >= 0 (Bernstein), multiplied out
excluded              the combination of products that the certificate names, multiplied out

`Polynomials.v` multiplies out by computation, and proves that this is right.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable
from fractions import Fraction
from itertools import product
from typing import Any

from workbench.checker.expressions import Polynomial, read_polynomial
from workbench.checker.positivity import BoxInterval, read_box
from workbench.checker.spoiled import Spoiled

DEEPEST_CUT = 14
"""A box is halved at most so many times in a row."""

Box = dict[str, BoxInterval]
Exponents = tuple[tuple[int, int], ...]
"""Of x - l and h - x, for each name of a box."""


def coq_name(name: str) -> str:
    """A name of a formula as one that nothing in Coq has."""
    return f"x_{name}"


def coq_number(x: Fraction) -> str:
    """A fraction as a real number of Coq.

    >>> coq_number(Fraction(-3, 4)), coq_number(Fraction(2))
    ('(-(3/4))', '2')
    """
    shown = str(abs(x.numerator)) if x.denominator == 1 else f"({abs(x.numerator)}/{x.denominator})"
    return f"(-{shown})" if x < 0 else shown


_OPERATIONS: dict[type, tuple[str, str]] = {
    ast.Add: ("+", "Plus"),
    ast.Sub: ("-", "Minus"),
    ast.Mult: ("*", "Times"),
    ast.Div: ("/", "Over"),
}


def _parsed(text: str) -> ast.AST:
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError):
        raise Spoiled(f"{text[:60]!r} is no formula") from None


def _strange(text: str) -> Spoiled:
    return Spoiled(f"{text[:60]!r} holds something other than numbers, names and + - * / **")


def coq_formula(text: str) -> str:
    """A formula in Coq's notation.

    >>> coq_formula("x**2/3 - y")
    '(((x_x ^ 2) / 3) - x_y)'
    """

    def shown(node: ast.AST) -> str:
        match node:
            case ast.BinOp(left, ast.Pow(), ast.Constant(int(n))):
                return f"({shown(left)} ^ {n})"
            case ast.BinOp(left, operation, right) if type(operation) in _OPERATIONS:
                return f"({shown(left)} {_OPERATIONS[type(operation)][0]} {shown(right)})"
            case ast.UnaryOp(ast.USub(), inner):
                return f"(- {shown(inner)})"
            case ast.Constant(int(n)):
                return str(n)
            case ast.Name(name):
                return coq_name(name)
        raise _strange(text)

    return shown(_parsed(text))


def coq_term(text: str, names: list[str]) -> str:
    """A formula as a term of `Polynomials.v`, its names as their numbers in a list.

    >>> coq_term("x**2/3 - y", ["x", "y"])
    '(Minus (Over (Power (Name 0) 2) (Int 3)) (Name 1))'
    """

    def shown(node: ast.AST) -> str:
        match node:
            case ast.BinOp(left, ast.Pow(), ast.Constant(int(n))):
                return f"(Power {shown(left)} {n})"
            case ast.BinOp(left, operation, right) if type(operation) in _OPERATIONS:
                return f"({_OPERATIONS[type(operation)][1]} {shown(left)} {shown(right)})"
            case ast.UnaryOp(ast.USub(), inner):
                return f"(Opp {shown(inner)})"
            case ast.Constant(int(n)):
                return f"(Int {n})"
            case ast.Name(name):
                return f"(Name {names.index(name)})"
        raise _strange(text)

    return shown(_parsed(text))


def denominators(text: str) -> list[str]:
    """The parts of a formula that it divides by and that are no numbers, in Coq's notation."""
    found: dict[str, None] = {}
    for node in ast.walk(_parsed(text)):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            under = ast.unparse(node.right)
            if any(isinstance(one, ast.Name) for one in ast.walk(node.right)):
                found[coq_formula(under)] = None
    return list(found)


def names_of(*texts: str) -> list[str]:
    """The names of formulas, each once, in order."""
    trees = [_parsed(text) for text in texts]
    found = {node.id for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return sorted(found)


def coq_rational(x: Fraction) -> str:
    """A fraction as a rational number of Coq.

    >>> coq_rational(Fraction(-3, 4))
    '(-3 # 4)'
    """
    return f"({x.numerator} # {x.denominator})"


def coq_list(parts: Iterable[str]) -> str:
    """A list in Coq's notation."""
    return f"[{'; '.join(parts)}]"


def coq_numbers(numbers: Iterable[int]) -> str:
    """Whole numbers as a list of Coq.

    >>> coq_numbers([0, 2])
    '([0; 2]%nat : list nat)'
    """
    return f"({coq_list(map(str, numbers))}%nat : list nat)"


def _for_all(names: list[str]) -> str:
    return f"forall {' '.join(map(coq_name, names))} : R, " if names else ""


def coq_values(names: list[str]) -> str:
    """The list of the values of names."""
    return f"({coq_list(map(coq_name, names))} : list R)"


def _theorem(name: str, statement: str, proof: str) -> str:
    return f"Theorem {name} : {statement}.\nProof. {proof} Qed.\n"


# ---------------------------------------------------------------------- identities


def identity_theorem(certificate: dict[str, Any], name: str) -> str:
    """Two formulas are equal wherever both are defined."""
    left, right = certificate["left"], certificate["right"]
    names = names_of(left, right)
    under = list(dict.fromkeys(denominators(left) + denominators(right)))
    given = "".join(f"{one} <> 0 -> " for one in under)
    terms = f"{coq_term(left, names)} {coq_term(right, names)}"
    return _theorem(
        name,
        f"{_for_all(names)}{given}{coq_formula(left)} = {coq_formula(right)}",
        f"intros. apply (equal_right {coq_values(names)} {terms}); "
        f"[{COMPUTE} | no_zero | no_zero].",
    )


# ---------------------------------------------------------------------- boxes


def positive_theorem(certificate: dict[str, Any], name: str) -> str:
    """A polynomial is positive, or not negative, on a box."""
    text = certificate["polynomial"]
    f, box = read_polynomial(text), read_box(certificate["box"])
    strict = bool(certificate["strict"])
    names = sorted(box)
    given = "".join(_bounds(v, one) for v, one in box.items())
    relation = "<" if strict else "<="
    return _theorem(
        name,
        f"{_for_all(names)}{given}0 {relation} {coq_formula(text)}",
        f"intros. apply (sign_right {coq_values(names)} {coq_box(box)} {str(strict).lower()} "
        f"{coq_term(text, names)} {positive_proof(f, box, strict)}); [{COMPUTE} | bounds].",
    )


def _bounds(v: str, one: BoxInterval) -> str:
    has_low, low, high, has_high = one
    x = coq_name(v)
    text = f"{coq_number(low)} {'<=' if has_low else '<'} {x} -> "
    if high is not None:
        text += f"{x} {'<=' if has_high else '<'} {coq_number(high)} -> "
    return text


def coq_box(box: Box) -> str:
    """The intervals of a box by the order of their names."""

    def shown(closed: bool, x: Fraction | None) -> str:
        return "None" if x is None else f"Some ({str(closed).lower()}, {coq_rational(x)})"

    return coq_list(
        f"({shown(has_low, low)}, {shown(has_high, high)})"
        for _, (has_low, low, high, has_high) in sorted(box.items())
    )


def positive_proof(f: Polynomial, box: Box, strict: bool) -> str:
    """The witness that f is positive on a box: Bernstein coefficients on parts of it."""
    if missing := f.names - set(box):
        raise Spoiled(f"the box says nothing about {min(missing)}")
    return _positive(f, box, strict, DEEPEST_CUT)


def _positive(f: Polynomial, box: Box, strict: bool, cuts: int) -> str:
    names = sorted(box)
    inside = {v: one for v, one in box.items() if v in f.names}
    pieces = _bernstein(f, box)
    if all(c >= 0 for c in pieces.values()):
        if not strict or any(_never_zero(box, key) for key in pieces):
            shown = (
                f"({coq_rational(c)}, {coq_list(f'({j}, {k})%nat' for j, k in key)})"
                for key, c in pieces.items()
            )
            return f"(Pieces {coq_list(shown)})"
        for v, (has_low, low, high, has_high) in inside.items():
            if has_low or has_high:
                # an end that belongs to the interval, then the rest of the interval
                end = low if has_low else high
                assert end is not None
                rest = (False, low, high, has_high) if has_low else (has_low, low, high, False)
                at_end = _positive(_at(f, v, end), box, strict, cuts)
                beyond = _positive(f, {**box, v: rest}, strict, cuts)
                return f"({'AtLow' if has_low else 'AtHigh'} {names.index(v)} {at_end} {beyond})"
    if cuts == 0 or not inside:
        raise Spoiled("the polynomial was not shown to be positive on the box")
    # an interval without end is cut once, at first; then the longest
    name = max(inside, key=lambda v: _length(box[v], math.inf if cuts == DEEPEST_CUT else 0.0))
    has_low, low, high, has_high = box[name]
    middle = low + 1 if high is None else (low + high) / 2
    below = _positive(f, {**box, name: (has_low, low, middle, True)}, strict, cuts - 1)
    above = _positive(f, {**box, name: (False, middle, high, has_high)}, strict, cuts - 1)
    return f"(Cut {names.index(name)} {coq_rational(middle)} {below} {above})"


def _never_zero(box: Box, key: Exponents) -> bool:
    """Whether no factor of a product can vanish on the box."""
    return not any(
        (low and one[0]) or (high and one[3])
        for (low, high), (_, one) in zip(key, sorted(box.items()), strict=True)
    )


def _length(one: BoxInterval, without_end: float) -> float:
    return without_end if one[2] is None else float(one[2] - one[1])


def _bernstein(f: Polynomial, box: Box) -> dict[Exponents, Fraction]:
    """Coefficients of f in products of (x - l)^j (h - x)^k, or of (x - l)^j without h."""
    names = sorted(box)
    degree = {v: max((dict(e).get(v, 0) for e in f.terms), default=0) for v in names}
    total: dict[Exponents, Fraction] = {}
    for e, c in f.terms.items():
        powers = dict(e)
        columns = [_column(box[v], powers.get(v, 0), degree[v]) for v in names]
        for key in product(*(range(len(column)) for column in columns)):
            part = c
            for column, i in zip(columns, key, strict=True):
                part *= column[i]
            if part:
                exponents = tuple(
                    (i, 0 if box[v][2] is None else degree[v] - i)
                    for v, i in zip(names, key, strict=True)
                )
                total[exponents] = total.get(exponents, Fraction(0)) + part
    return {key: c for key, c in total.items() if c}


def _column(one: BoxInterval, power: int, degree: int) -> list[Fraction]:
    """The coefficients of x^power in products of t = x - l and s = h - x. The products have degree
    `degree`, and are ordered by the power of t."""
    _, low, high, _ = one
    if high is None:
        return [math.comb(power, k) * low ** (power - k) for k in range(power + 1)]
    # x = (l s + h t)/(h - l) and 1 = (s + t)/(h - l)
    width = high - low
    found = [Fraction(0)] * (degree + 1)
    for i in range(power + 1):
        for j in range(degree - power + 1):
            c = math.comb(power, i) * math.comb(degree - power, j)
            found[i + j] += c * high**i * low ** (power - i) / width**degree
    return found


def _at(f: Polynomial, name: str, value: Fraction) -> Polynomial:
    total = Polynomial({})
    for e, c in f.terms.items():
        rest = tuple((v, k) for v, k in e if v != name)
        total = total + Polynomial({rest: c * value ** dict(e).get(name, 0)})
    return total


# ---------------------------------------------------------------------- exclusions


def excluded_theorem(certificate: dict[str, Any], name: str) -> str:
    """Conditions that no real numbers satisfy all at once."""
    shown = [_sides(one) for one in certificate["conditions"]]
    squares, terms = certificate.get("squares", []), certificate["terms"]
    texts = [*squares, *(factor for factor, _ in terms)]
    names = names_of(*(text for left, _, right in shown for text in (left, right)), *texts)
    given = "".join(f"{coq_formula(f)} {sign} {coq_formula(g)} -> " for f, sign, g in shown)
    relations = {">": "Greater", ">=": "NotLess", "=": "Equal"}
    conditions = coq_list(
        f"({coq_term(f, names)}, {relations[sign]}, {coq_term(g, names)})" for f, sign, g in shown
    )
    combination = coq_list(
        f"({coq_term(factor, names)}, {coq_numbers(numbers)})" for factor, numbers in terms
    )
    heads = [f"C{i}" for i in range(len(shown))]
    return _theorem(
        name,
        f"{_for_all(names)}{given}False",
        f"intros {' '.join([*map(coq_name, names), *heads])}. "
        f"apply (excluded_right {coq_values(names)} {conditions} "
        f"{coq_list(coq_term(text, names) for text in squares)} {combination} "
        f"{coq_numbers(certificate['positive'])}); [{COMPUTE} | repeat split; assumption].",
    )


def _sides(shown: str) -> tuple[str, str, str]:
    """A condition as (left, "> or >= or =", right)."""
    for sign, (coq, turned) in {
        ">=": (">=", False),
        "<=": (">=", True),
        "==": ("=", False),
        ">": (">", False),
        "<": (">", True),
    }.items():
        if sign in shown:
            left, right = shown.split(sign)
            return (right, coq, left) if turned else (left, coq, right)
    raise Spoiled(f"{shown!r} is not a condition")


COMPUTE = "vm_compute; reflexivity"

HEAD = """From Coq Require Import Reals Lra List QArith Qreals.
From Remembering Require Import Polynomials.
Import ListNotations.
Open Scope R_scope.
"""
"""What a file of such theorems starts with."""
