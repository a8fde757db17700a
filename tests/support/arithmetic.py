"""Calls of the checker's arithmetic on numbers drawn with a fixed seed, and their answers as text.

Polynomials are products of factors with small roots, some of them double or common to two, so that
ends of intervals, ties and elimination with zeros are met. Only the standard library and the
checker are needed.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from workbench.checker import (
    critical_claims,
    expressions,
    plane_polynomials,
    polynomials,
    positivity,
    reader,
    sums,
)
from workbench.checker.expressions import Polynomial, renew_budget
from workbench.checker.spoiled import Spoiled

F = Fraction
ROOTS = [F(x, 4) for x in (-2, 0, 1, 2, 2, 3, 4, 6)]
INTERVALS = [
    "[0, 1]", "(0, 1]", "[0, 1)", "(0, 1)", "[1/4, 3/4]", "[1/2, 1/2]", "[0, oo)", "(1, oo)",
    "[-1, 2]", "(-1/2, 1/4)",
]  # fmt: skip
ODD = ["[1, 0]", "(1, 1]", "[0, oo]", "[1/0, 2]", "(1/2, 1/2)", "[x, 1]", "[-oo, 1]", "[1, 1)"]


def product_of_roots(rng: random.Random, most: int = 4) -> list[Fraction]:
    """A polynomial with some of the roots, now and then with a factor without real roots."""
    p = [F(rng.choice((-2, 1, 3)))]
    for _ in range(rng.randint(0, most)):
        p = polynomials.times(p, [-rng.choice(ROOTS), F(1)])
    if rng.random() < 0.4:
        p = polynomials.times(p, [F(rng.randint(1, 3)), F(rng.randint(-1, 1)), F(1)])
    return p


def polynomial_of(p: list[Fraction], name: str = "x") -> Polynomial:
    """The polynomial with these coefficients."""
    return Polynomial({((name, i),) if i else (): c for i, c in enumerate(p)})


def _entry(rng: random.Random) -> Polynomial:
    if rng.random() < 0.3:
        return Polynomial({})
    return polynomial_of(product_of_roots(rng, 1), rng.choice("xxy"))


def _text(rng: random.Random, names: str) -> str:
    terms = [
        "*".join(
            [
                str(rng.randint(-3, 4)),
                *(f"{x}**{rng.randint(1, 3)}" for x in names if rng.random() < 0.6),
            ]
        )
        for _ in range(rng.randint(1, 4))
    ]
    return " + ".join(terms) + f" + {rng.randint(0, 3)}/{rng.randint(1, 4)}"


def _plane(rng: random.Random) -> Polynomial:
    powers = [(rng.randint(0, 2), rng.randint(0, 2)) for _ in range(3)]
    found = {
        tuple((x, k) for x, k in zip("xy", e, strict=True) if k): F(rng.choice((-3, -1, 1, 2)))
        for e in powers
    }
    return Polynomial(found | {(): F(rng.randint(-1, 1) or 1)})


def _interval(rng: random.Random) -> tuple[Fraction, Fraction]:
    low = F(rng.randint(-4, 4), 2)
    return low, low + F(rng.randint(0, 4), 4)


def _sum_text(rng: random.Random, deep: int = 2) -> str:
    """A sum over indices as text."""
    if deep == 0 or rng.random() < 0.15:
        return rng.choice(("p(s,s1)", "f(s)", "f(s1)", "g(a)", "p(s1,s)", "2", "c", "h(n,s)",
                           "h(0,s1)",
                           "eq(s,s1)", "p(s2,s)", "f(s2)", "eq(s2,s)"))  # fmt: skip
    one, two = _sum_text(rng, deep - 1), _sum_text(rng, deep - 1)
    return rng.choice((
        f"({one} + {two})", f"({one} - {two})", f"{one}*{two}", f"sum[s]({one}*{two})",
        f"sum[s1, s2]({one}*{two})", f"({one})**2", f"({one})/3", f"-{one}", f"sum[s2]({one})",
    ))  # fmt: skip


ODD_SUMS = ["sum(s)", "f(s, 1)", "eq(s, a)", "sum[n](h(n,s))", "f(s)/f(s)", "c**9", "x.y", "f(s=1)",
            "sum[s,s](p(s,s))", "f(s)/0", "eq(n, 0)", "f(s) + f(s,t)", "g[a](c)", "c**c",
            ""]  # fmt: skip


def in_order(f: Polynomial | None) -> Any:
    """The terms of a polynomial, in an order that does not depend on how it was computed."""
    return None if f is None else sorted(f.terms.items())


def listed(part: Any) -> list[Polynomial]:
    """A polynomial or a list of them as a list."""
    return part if isinstance(part, list) else [part]


def said_of(text: str) -> str:
    """The normal form of a sum, one in which f is a distribution, and one with other names."""
    try:
        found = sums.read_sum(text)
        rules = frozenset({("f", frozenset({0})), ("p", frozenset({1}))})
        return repr([
            sorted(one.parts.items())
            for one in (found, found.over(["s1"], rules), found.renamed({"s": "s1"}, rules))
        ] + [sorted(found.free)])  # fmt: skip
    except Spoiled as error:
        return str(error)


def calls(rng: random.Random) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Some calls, each with a name for what it asks."""
    p, q = product_of_roots(rng), product_of_roots(rng)
    low, high = sorted(rng.sample(ROOTS, 2))
    ends, strict = (rng.random() < 0.5, rng.random() < 0.5), rng.random() < 0.5
    yield "times", lambda: polynomials.times(p, q)
    yield "divided", lambda: polynomials.divided(polynomials.times(p, q), q)
    yield "divided with a rest", lambda: polynomials.divided(p, q)
    yield "common divisor", lambda: polynomials.common_divisor(p, q)
    yield "count", lambda: polynomials.RootCounter(p).count(low, high)
    open_end = None if rng.random() < 0.3 else rng.choice([low, high])
    yield "keeps sign", lambda: polynomials.keeps_sign(p, low, open_end, ends, strict)
    n = rng.randint(1, 4)
    M = [[_entry(rng) for _ in range(n)] for _ in range(n)]
    yield "determinant", lambda: in_order(polynomials.determinant(M))
    rows = [{j: f for j, f in enumerate(row) if f.terms} for row in M]
    right = [_entry(rng) for _ in range(n)]
    yield (
        "eliminated",
        lambda: [
            in_order(f) for part in (polynomials.eliminated(rows, right)) for f in listed(part)
        ],
    )
    f, g = _plane(rng), _plane(rng)
    yield "quotient of polynomials", lambda: in_order((f * g).over(g))
    yield "no quotient of polynomials", lambda: in_order(f.over(g))
    yield "derivative", lambda: in_order((f * g).derivative("y"))
    points = [(F(i, 5), F(j, 3)) for i in range(1, 5) for j in (1, 2) if rng.random() < 0.9]
    yield "cells", lambda: plane_polynomials.check_cells([f], points, "xy")
    one, two = _interval(rng), _interval(rng)
    yield (
        "intervals",
        lambda: (
            critical_claims._times(one, two),
            critical_claims._plus(one, two),
            critical_claims._scaled(one, low),
        ),
    )
    yield "quotient of intervals", lambda: critical_claims._quotient(one, two)
    A = [[_interval(rng) for _ in range(n)] for _ in range(n)]
    yield "determinant of intervals", lambda: critical_claims._determinant(A)
    yield "inverse", lambda: critical_claims._inverse([[x[0] for x in row] for row in A])
    name_box = {x: rng.choice(INTERVALS) for x in "xy"}
    shown, single = _text(rng, "xy"), _text(rng, "x")
    yield "positive on a box", lambda: positivity.is_positive_on_box(shown, name_box, strict)
    yield (
        "positive on a line",
        lambda: positivity.is_positive_on_box(single, {"x": name_box["x"]}, strict),
    )
    yield (
        "range",
        lambda: critical_claims._range(expressions.read_polynomial(shown), {"x": one, "y": two}),
    )
    texts = [_sum_text(rng, 3), _sum_text(rng, 2), rng.choice(ODD_SUMS)]
    yield "sums", lambda: [said_of(text) for text in texts]
    yield "interval", lambda: positivity.read_interval(rng_odd)
    rng_odd = rng.choice(ODD + INTERVALS)
    yield "fraction", lambda: reader.read_fraction(f"{rng_sign}{low.numerator}/{high.denominator}")
    rng_sign = rng.choice(("", "-"))
    yield (
        "quotient",
        lambda: (
            (
                expressions.read_quotient(f"({shown})/(x + 2)") - expressions.read_quotient(single)
            ).number,
            expressions.is_same_function(f"({shown})*(x - 1)/(x - 1)", shown),
            expressions.is_same_function(f"({shown})/(x - 1)", shown),
        ),
    )


def answers(rounds: int, only: str = "") -> dict[str, str]:
    """What each call returns, or how it is refused, by round and name."""
    found = {}
    for k in range(rounds):
        for name, call in list(calls(random.Random(k))):
            if only not in ("", name):
                continue
            renew_budget()
            try:
                told = repr(call())
            except Spoiled as error:
                told = f"refused: {error}"
            except (ArithmeticError, IndexError, ValueError) as error:
                told = type(error).__name__
            found[f"{k} {name}"] = told
    return found
