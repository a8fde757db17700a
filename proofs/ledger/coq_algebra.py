"""Certificates about formulas as theorems of Coq: identities, polynomials on a box, exclusions.

A theorem states what the certificate states, about real numbers. Its proof is written out here, so
that Coq only has to follow it:

identity              `field`, for all values that make no denominator 0
polynomial-positive   on each part of the box  f = sum_e c_e prod_i (x_i - l_i)^e_i (h_i -
                      x_i)^(d_i-e_i)  with c_e >= 0 (Bernstein), an identity that `field` checks
excluded              the combination of products that the certificate names, likewise
"""

from __future__ import annotations

import ast
import math
from fractions import Fraction
from itertools import product
from typing import Any

from workbench.checker.expressions import Polynomial, read_polynomial
from workbench.checker.positivity import BoxInterval, read_box, read_condition
from workbench.checker.spoiled import Spoiled

DEEPEST_CUT = 14
"""A box is halved at most so many times in a row."""

Box = dict[str, BoxInterval]


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


def coq_formula(text: str) -> str:
    """A formula in Coq's notation.

    >>> coq_formula("x**2/3 - y")
    '(((x_x ^ 2) / 3) - x_y)'
    """
    operations: dict[type, str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}

    def shown(node: ast.AST) -> str:
        match node:
            case ast.BinOp(left, ast.Pow(), ast.Constant(int(n))):
                return f"({shown(left)} ^ {n})"
            case ast.BinOp(left, operation, right) if type(operation) in operations:
                return f"({shown(left)} {operations[type(operation)]} {shown(right)})"
            case ast.UnaryOp(ast.USub(), inner):
                return f"(- {shown(inner)})"
            case ast.Constant(int(n)):
                return str(n)
            case ast.Name(name):
                return coq_name(name)
        raise Spoiled(f"{text[:60]!r} holds something other than numbers, names and + - * / **")

    try:
        return shown(ast.parse(text, mode="eval").body)
    except (SyntaxError, RecursionError, MemoryError):
        raise Spoiled(f"{text[:60]!r} is no formula") from None


def denominators(text: str) -> list[str]:
    """The parts of a formula that it divides by and that are no numbers, in Coq's notation."""
    found: dict[str, None] = {}
    for node in ast.walk(ast.parse(text, mode="eval")):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            under = ast.unparse(node.right)
            if any(isinstance(one, ast.Name) for one in ast.walk(node.right)):
                found[coq_formula(under)] = None
    return list(found)


def names_of(*texts: str) -> list[str]:
    """The names of formulas, each once, in order."""
    trees = [ast.parse(text, mode="eval") for text in texts]
    found = {node.id for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return sorted(found)


def _for_all(names: list[str]) -> str:
    return f"forall {' '.join(map(coq_name, names))} : R, " if names else ""


# ---------------------------------------------------------------------- identities


def identity_theorem(certificate: dict[str, Any], name: str) -> str:
    """Two formulas are equal wherever both are defined."""
    left, right = certificate["left"], certificate["right"]
    names = names_of(left, right)
    under = list(dict.fromkeys(denominators(left) + denominators(right)))
    given = "".join(f"{one} <> 0 -> " for one in under)
    proof = "intros. field. same_denominators." if under else "intros. field."
    return _theorem(
        name, f"{_for_all(names)}{given}{coq_formula(left)} = {coq_formula(right)}", proof
    )


def _theorem(name: str, statement: str, proof: str) -> str:
    return f"Theorem {name} : {statement}.\nProof. {proof} Qed.\n"


# ---------------------------------------------------------------------- boxes


def positive_theorem(certificate: dict[str, Any], name: str) -> str:
    """A polynomial is positive, or not negative, on a box."""
    f, box = read_polynomial(certificate["polynomial"]), read_box(certificate["box"])
    strict = bool(certificate["strict"])
    given = "".join(_bounds(v, one) for v, one in box.items())
    relation = "<" if strict else "<="
    formula = coq_formula(certificate["polynomial"])
    statement = f"{_for_all(sorted(box))}{given}0 {relation} {formula}"
    intros = " ".join(coq_name(v) for v in sorted(box))
    hypotheses = " ".join(_bound_names(box))
    start = f"replace {formula} with {coq_polynomial(f)} by field. "
    inside = {v: one for v, one in box.items() if v in f.names}
    proof = f"intros {intros} {hypotheses}. " if box else ""
    return _theorem(name, statement, proof + start + _positive(f, inside, strict, DEEPEST_CUT))


def _bounds(v: str, one: BoxInterval) -> str:
    has_low, low, high, has_high = one
    x = coq_name(v)
    text = f"{coq_number(low)} {'<=' if has_low else '<'} {x} -> "
    if high is not None:
        text += f"{x} {'<=' if has_high else '<'} {coq_number(high)} -> "
    return text


def _bound_names(box: Box) -> list[str]:
    return [
        name
        for v, one in box.items()
        for name in ([f"L_{v}"] if one[2] is None else [f"L_{v}", f"H_{v}"])
    ]


def coq_polynomial(f: Polynomial) -> str:
    """A polynomial as the sum of its terms."""
    parts = [
        " * ".join([coq_number(c), *(f"{coq_name(v)} ^ {k}" for v, k in e)])
        for e, c in f.terms.items()
    ]
    return f"({' + '.join(parts)})" if parts else "0"


def _positive(f: Polynomial, box: Box, strict: bool, cuts: int) -> str:
    """The proof of 0 < f (or 0 <= f) where every name lies in its interval."""
    if not f.names:
        value = f.terms.get((), Fraction(0))
        if value < 0 or (strict and value == 0):
            raise Spoiled("the polynomial is not positive on the box")
        return "lra."
    closed = [v for v, (a, _, _, b) in box.items() if a or b]
    coefficients = _bernstein(f, box)
    if all(c >= 0 for c in coefficients.values()):
        if not strict:
            return _by_coefficients(f, box, coefficients, None)
        best = _surely_positive(box, coefficients)
        if best is not None:
            return _by_coefficients(f, box, coefficients, best)
        if closed:
            return _by_faces(f, box, closed[0], cuts)
    if cuts == 0:
        raise Spoiled("the polynomial was not shown to be positive on the box")
    name = max(box, key=lambda v: _length(box[v]))
    has_low, low, high, has_high = box[name]
    middle = low + 1 if high is None else (low + high) / 2
    x, m = coq_name(name), coq_number(middle)
    lower = {**box, name: (has_low, low, middle, True)}
    upper = {**box, name: (False, middle, high, has_high)}
    forget = "" if high is None else f"clear H_{name}. "
    return (
        f"destruct (Rle_lt_dec {x} {m}) as [C|C].\n"
        f"{{ {forget}rename C into H_{name}. {_positive(f, lower, strict, cuts - 1)} }}\n"
        f"{{ clear L_{name}. rename C into L_{name}. {_positive(f, upper, strict, cuts - 1)} }}"
    )


def _length(one: BoxInterval) -> float:
    return math.inf if one[2] is None else float(one[2] - one[1])


def _bernstein(f: Polynomial, box: Box) -> dict[tuple[int, ...], Fraction]:
    """Coefficients of f in products of (x - l)^e (h - x)^(d - e), or of (x - l)^e without h."""
    names = sorted(box)
    degree = {v: max((dict(e).get(v, 0) for e in f.terms), default=0) for v in names}
    total: dict[tuple[int, ...], Fraction] = {}
    for e, c in f.terms.items():
        powers = dict(e)
        columns = [_column(box[v], powers.get(v, 0), degree[v]) for v in names]
        for key in product(*(range(len(column)) for column in columns)):
            part = c
            for column, i in zip(columns, key, strict=True):
                part *= column[i]
            if part:
                total[key] = total.get(key, Fraction(0)) + part
    return {key: c for key, c in total.items() if c}


def _column(one: BoxInterval, power: int, degree: int) -> list[Fraction]:
    """x^power in products of t = x - l and s = h - x of degree `degree`, by the power of t."""
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


def _factors(box: Box, key: tuple[int, ...], degree: list[int]) -> list[str]:
    found = []
    for (v, (_, low, high, _)), k, d in zip(sorted(box.items()), key, degree, strict=True):
        if k:
            found.append(f"({coq_name(v)} - {coq_number(low)}) ^ {k}")
        if high is not None and d > k:
            found.append(f"({coq_number(high)} - {coq_name(v)}) ^ {d - k}")
    return found


def _surely_positive(
    box: Box, coefficients: dict[tuple[int, ...], Fraction]
) -> tuple[int, ...] | None:
    """A product with a positive coefficient none of whose factors can vanish on the box."""
    degree = [max(key[i] for key in coefficients) for i in range(len(box))]
    intervals = [one for _, one in sorted(box.items())]
    for key in coefficients:
        if all(
            not (k and has_low) and not (d > k and high is not None and has_high)
            for k, d, (has_low, _, high, has_high) in zip(key, degree, intervals, strict=True)
        ):
            return key
    return None


def _by_coefficients(
    f: Polynomial,
    box: Box,
    coefficients: dict[tuple[int, ...], Fraction],
    first: tuple[int, ...] | None,
) -> str:
    names = sorted(box)
    degree = [max((dict(e).get(v, 0) for e in f.terms), default=0) for v in names]
    order = sorted(coefficients, key=lambda key: key != first)
    sides = "".join(
        f"assert (0 {'<=' if has_low else '<'} {coq_name(v)} - {coq_number(low)}) by lra. "
        + (
            ""
            if high is None
            else f"assert (0 {'<=' if has_high else '<'} {coq_number(high)} - {coq_name(v)}) "
            "by lra. "
        )
        for v, (has_low, low, high, has_high) in sorted(box.items())
    )
    terms = [
        " * ".join([coq_number(coefficients[key]), *_factors(box, key, degree)]) for key in order
    ]
    shown = " + ".join(f"({term})" for term in terms[1:])
    total = f"(({terms[0]}) + ({shown}))" if shown else f"({terms[0]})"
    relation = "positive_sum" if first is not None else "nonnegative"
    return f"{sides}replace {coq_polynomial(f)} with {total} by field. {relation}."


def _by_faces(f: Polynomial, box: Box, name: str, cuts: int) -> str:
    """An end that belongs to an interval, and the rest of the interval, one after the other."""
    has_low, low, high, has_high = box[name]
    x = coq_name(name)
    end = low if has_low else high
    assert end is not None
    side = "L" if has_low else "H"
    opened = {**box, name: (False, low, high, has_high) if has_low else (has_low, low, high, False)}
    there = _at(f, name, end)
    rest = {v: one for v, one in box.items() if v in there.names}
    hypothesis = f"{side}_{name}"
    low_text, high_text = (coq_number(end), x) if has_low else (x, coq_number(end))
    equation = f"E : {x} = {coq_number(end)}"
    return (
        f"destruct (Rle_lt_or_eq_dec {low_text} {high_text} {hypothesis}) as [C|C].\n"
        f"{{ clear {hypothesis}. rename C into {hypothesis}. "
        f"{_positive(f, opened, True, cuts)} }}\n"
        f"{{ assert ({equation}) by lra. replace {coq_polynomial(f)} with {coq_polynomial(there)} "
        f"by (rewrite E; field). {_positive(there, rest, True, cuts)} }}"
    )


def _at(f: Polynomial, name: str, value: Fraction) -> Polynomial:
    total = Polynomial({})
    for e, c in f.terms.items():
        rest = tuple((v, k) for v, k in e if v != name)
        total = total + Polynomial({rest: c * value ** dict(e).get(name, 0)})
    return total


# ---------------------------------------------------------------------- exclusions


def excluded_theorem(certificate: dict[str, Any], name: str) -> str:
    """Conditions that no real numbers satisfy all at once."""
    conditions = [read_condition(shown) for shown in certificate["conditions"]]
    names = sorted({v for f, _ in conditions for v in f.names} | _names_of_squares(certificate))
    signs = {"> 0": "0 < {}", ">= 0": "0 <= {}", "= 0": "{} = 0"}
    texts = [coq_polynomial(f) for f, _ in conditions]
    given = "".join(f"{_condition(shown)} -> " for shown in certificate["conditions"])
    heads = " ".join(f"C{i}" for i in range(len(conditions)))
    setup = "".join(
        f"assert (G{i} : {signs[relation].format(text)}) by lra. "
        for i, ((_, relation), text) in enumerate(zip(conditions, texts, strict=True))
    )
    relations = [relation for _, relation in conditions]
    for shown in certificate.get("squares", []):
        texts.append(f"({coq_formula(shown)}) ^ 2")
        relations.append("square")
    facts, parts = [], []
    for j, (factor, numbers) in enumerate(certificate["terms"]):
        product_ = " * ".join([coq_formula(factor), *(texts[i] for i in numbers)])
        zero = next((i for i in numbers if relations[i] == "= 0"), None)
        proof = "nonnegative" if zero is None else f"rewrite G{zero}; right; ring"
        facts.append(f"assert (T{j} : 0 <= {product_}) by ({proof}).")
        parts.append(f"({product_})")
    last = " * ".join(texts[i] for i in certificate["positive"]) or "1"
    total = " + ".join([f"({last})", *parts])
    proof = (
        f"intros {' '.join(map(coq_name, names))} {heads}. {setup}{' '.join(facts)} "
        f"assert (S : 0 < {last}) by positive. "
        f"assert (Z : {total} = 0) by field. "
        f"clear -S {' '.join(f'T{j}' for j in range(len(parts)))} Z. lra_of_terms."
    )
    return _theorem(name, f"{_for_all(names)}{given}False", proof)


def _names_of_squares(certificate: dict[str, Any]) -> set[str]:
    return {v for shown in certificate.get("squares", []) for v in read_polynomial(shown).names}


def _condition(shown: str) -> str:
    for sign, coq in ((">=", ">="), ("<=", "<="), ("==", "="), (">", ">"), ("<", "<")):
        if sign in shown:
            left, right = shown.split(sign)
            return f"{coq_formula(left.strip())} {coq} {coq_formula(right.strip())}"
    raise Spoiled(f"{shown!r} is not a condition")


HEAD = """From Coq Require Import Reals Lra.
From Remembering Require Import Follow.
Open Scope R_scope.
"""
"""What a file of such theorems starts with."""
