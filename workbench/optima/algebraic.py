"""The optimum as an exact algebraic number, where one probability alone is free.

On a face of the policy polytope with one free probability x the return is a rational function of
one variable, J(x) = n(x) / d(x). A maximum inside the face is a root of n' d - n d', which is
isolated exactly; its value y is a root of the resultant of that polynomial and n - y d. For the
short corridor x^2 - 4 x + 2 = 0 and y^2 + 12 y + 4 = 0: x = 2 - sqrt 2, y = -6 - 4 sqrt 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import sympy

from workbench.evaluation.evaluate import evaluate
from workbench.model.numbers import Number, Numbers
from workbench.model.policy import Policy
from workbench.model.pomdp import POMDP
from workbench.model.space import Label

_SURE = 1e-6
"""Probabilities nearer to 0 or 1 than this are taken to be 0 or 1; the value found decides."""

_AGREES = 1e-7
"""The exact value must agree with the float one within this share of it."""


@dataclass(frozen=True, eq=False)
class AlgebraicOptimum:
    """An optimum in exact numbers.

    Attributes
    ----------
    policy : with the free probability as a sympy number; free : the pair (o, a) whose probability
        it is, None if the policy is deterministic.
    probability, polynomial : that probability, and the irreducible polynomial that it is a root of.
    value, value_polynomial : the return, and the irreducible polynomial that it is a root of.
    """

    policy: Policy
    free: tuple[Label, Label] | None
    probability: Number
    polynomial: sympy.Poly | None
    value: Number
    value_polynomial: sympy.Poly | None

    def __repr__(self) -> str:
        if self.free is None:
            return f"exactly {self.value}"
        o, a = self.free
        return f"exactly {self.value}, with pi({a!r} | {o!r}) = {self.probability}"


def find_algebraic(P: POMDP, pi: Policy, value: float) -> AlgebraicOptimum | None:
    """The exact optimum near a float one; None if the model is not exact, if more than one
    probability is free, or if no exact critical point has that value."""
    if not P.is_exact:
        return None
    table = pi.prob.floats
    surely = np.where(table > 1 - _SURE, 1, np.where(table < _SURE, 0, -1))
    free = np.argwhere((surely < 0) & P.decides[:, None])
    rows = np.unique(free[:, 0])
    if len(rows) > 1 or len(free) not in (0, 2):
        return None
    exact = np.full(table.shape, Fraction(0), dtype=object)
    exact[np.arange(len(table)), np.argmax(table, axis=1)] = Fraction(1)
    near = _AGREES * max(1.0, abs(value))
    if not len(free):
        policy = Policy(P, Numbers.of(exact))
        worth = evaluate(P, policy, exact=True).value
        if abs(float(worth) - value) > near:
            return None
        return AlgebraicOptimum(policy, None, Fraction(1), None, worth, None)
    (o, a), (_, b) = free
    x, y = sympy.Symbol("x"), sympy.Symbol("y")
    exact[o] = Fraction(0)
    exact[o, a], exact[o, b] = x, 1 - x
    J = evaluate(P, Policy(P, Numbers.of(exact))).value
    top, bottom = sympy.fraction(sympy.together(sympy.sympify(J)))
    slope = sympy.numer(sympy.together(sympy.diff(top / bottom, x)))
    for factor, _ in sympy.Poly(slope, x).factor_list()[1]:
        for root in factor.real_roots():
            if not 0 < root < 1 or abs(float(root) - table[o, a]) > 1e-3:
                continue
            value_polynomial = _annihilator(top, bottom, factor, x, y, value)
            worth = _root_near(value_polynomial, value, near)
            if worth is None:
                continue
            exact[o, a], exact[o, b] = root, sympy.simplify(1 - root)
            return AlgebraicOptimum(
                policy=Policy(P, table),
                free=(P.O[int(o)], P.A[int(a)]),
                probability=root,
                polynomial=factor,
                value=worth,
                value_polynomial=value_polynomial,
            )
    return None


def _annihilator(
    top: sympy.Expr,
    bottom: sympy.Expr,
    factor: sympy.Poly,
    x: sympy.Symbol,
    y: sympy.Symbol,
    value: float,
) -> sympy.Poly:
    """The irreducible polynomial in y that top / bottom is a root of at the roots of a factor: the
    factor of the resultant that is smallest at the float value."""
    resultant = sympy.resultant(sympy.Poly(top - y * bottom, x), factor, x)
    factors = [f for f, _ in sympy.Poly(resultant, y).factor_list()[1]]
    return min(factors, key=lambda f: min(abs(float(r) - value) for r in f.real_roots()))


def _root_near(polynomial: sympy.Poly, value: float, near: float) -> Number | None:
    roots = [r for r in polynomial.real_roots() if abs(float(r) - value) <= near]
    return min(roots, key=lambda r: abs(float(r) - value)) if roots else None
