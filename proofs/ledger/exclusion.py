"""Conditions that exclude one another, with a certificate that a small checker multiplies out.

Conditions g_i >= 0 and h_j > 0 have no common point if

    sum_n c_n (a product of g's, h's and squares)  +  (a product of h's)  =  0,      c_n >= 0

(Handelman, Stengle). The products are formed up to some number of factors, and the numbers c_n are
a point of a polytope: a linear program in floats says which of them are not zero, and these are
then found exactly. `workbench.checker` multiplies everything out again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import flint
import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_matrix

from workbench.checker.expressions import Polynomial, read_polynomial, renew_budget
from workbench.checker.positivity import read_condition
from workbench.checker.spoiled import Spoiled

MOST_FACTORS = 4
MOST_COLUMNS = 6_000


def exclusion_certificate(
    conditions: Sequence[str], squares: Sequence[str] = ()
) -> dict[str, Any] | None:
    """A certificate that no real numbers satisfy all conditions. None if none was found.

    >>> found = exclusion_certificate(["x >= 0", "x - 1 <= 0", "x*(1 - x) < 0"])
    >>> found["terms"], found["positive"]
    ([['1', [0, 1]]], [2])
    """
    read = [read_condition(shown) for shown in conditions]
    strict = [i for i, (_, relation) in enumerate(read) if relation == "> 0"]
    given = [f for f, _ in read] + [f * f for f in map(read_polynomial, squares)]
    for factors in range(1, MOST_FACTORS + 1):
        renew_budget()
        try:
            columns = list(_products(given, factors))
        except Spoiled:  # more terms than the checker multiplies out
            return None
        if len(columns) > MOST_COLUMNS:
            return None
        for positive in _targets(strict, len(read) - 1):
            target = _product(given, positive)
            found = _combination([f for _, f in columns], target)
            if found is not None:
                terms = [[str(c), list(columns[j][0])] for j, c in found.items()]
                return {
                    "kind": "excluded",
                    "conditions": list(conditions),
                    "squares": list(squares),
                    "terms": terms,
                    "positive": list(positive),
                }
    return None


def _products(
    given: list[Polynomial], factors: int
) -> Iterator[tuple[tuple[int, ...], Polynomial]]:
    """Products of at most so many conditions, 1 among them."""
    known: dict[tuple[int, ...], Polynomial] = {(): Polynomial.constant(1)}
    yield (), known[()]
    for size in range(1, factors + 1):
        for numbers in combinations_with_replacement(range(len(given)), size):
            known[numbers] = known[numbers[:-1]] * given[numbers[-1]]
            yield numbers, known[numbers]


def _product(given: list[Polynomial], numbers: Iterable[int]) -> Polynomial:
    total = Polynomial.constant(1)
    for i in numbers:
        total = total * given[i]
    return total


def _targets(strict: list[int], last: int) -> Iterator[tuple[int, ...]]:
    """Products of strict conditions, the last condition first: it is what is to be excluded."""
    if last in strict:
        yield (last,)
    yield ()
    others = [i for i in strict if i != last]
    yield from ((i,) for i in others)
    if last in strict:
        yield from ((i, last) for i in others)
        yield from ((i, j, last) for i, j in combinations_with_replacement(others, 2))
    yield from combinations_with_replacement(others, 2)


def _combination(columns: list[Polynomial], target: Polynomial) -> dict[int, Fraction] | None:
    """Numbers c_j >= 0 with sum_j c_j columns[j] + target = 0, most of them zero."""
    monomials = {e: i for i, e in enumerate({e for f in (*columns, target) for e in f.terms})}
    rows, cols, values = [], [], []
    for j, f in enumerate(columns):
        for e, c in f.terms.items():
            rows.append(monomials[e])
            cols.append(j)
            values.append(float(c))
    right = np.zeros(len(monomials))
    for e, c in target.terms.items():
        right[monomials[e]] = -float(c)
    matrix = coo_matrix((values, (rows, cols)), shape=(len(monomials), len(columns))).tocsr()
    solved = linprog(
        np.ones(len(columns)), A_eq=matrix, b_eq=right, bounds=(0, None), method="highs-ds"
    )
    if solved.status != 0:
        return None
    support = [j for j in range(len(columns)) if solved.x[j] > 1e-9]
    exact = _exactly([columns[j] for j in support], target, monomials)
    if exact is None or any(c < 0 for c in exact):
        return None
    return {j: c for j, c in zip(support, exact, strict=True) if c}


def _exactly(
    columns: list[Polynomial], target: Polynomial, monomials: dict[Any, int]
) -> list[Fraction] | None:
    """The numbers of a combination of independent columns that gives - target. None if there are
    none."""
    n = len(columns)
    matrix = flint.fmpq_mat(len(monomials), n + 1)
    for j, f in enumerate((*columns, -target)):
        for e, c in f.terms.items():
            matrix[monomials[e], j] = flint.fmpq(c.numerator, c.denominator)
    reduced, rank = matrix.rref()
    found = [Fraction(0)] * n
    for i in range(rank):
        lead = next(j for j in range(n + 1) if reduced[i, j] != 0)
        if lead == n:
            return None
        value = reduced[i, n]
        found[lead] = Fraction(int(value.p), int(value.q))
    return found
