"""The return, or the average reward, as a rational function of the free probabilities of a policy.

On the face of the policy polytope where row o takes the actions S(o), write x(o,a) for the
probabilities of all of them but the last, whose probability is 1 - sum_a x(o,a). Then

    J(x) = n(x) / d(x),        dJ / dx(o,a) = [ n' d - n d' ] / d^2,

n and d polynomials with rational coefficients: the linear system of v_pi has entries that are
linear in x. Inside a face on which every policy has a value d does not vanish, so the derivative
vanishes where its numerator does.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TypeAlias

import flint
import numpy as np
import sympy

from workbench.core.evaluate import evaluate
from workbench.core.fields import RationalFunctions
from workbench.core.numbers import Numbers
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP

Polynomial: TypeAlias = flint.fmpq_mpoly

PlainTerms = list[tuple[tuple[int, ...], tuple[int, int]]]
"""A polynomial: exponents, and numerator and denominator of each coefficient."""


class ReturnSurface:
    """J = n / d as polynomials in the probabilities, and the numerators of its derivatives.

    Attributes
    ----------
    options : for each observation, the actions that its row may take; the first ones are free.
    x : the place of each free probability among the variables, by (o, a).
    top, bottom : n and d; slopes : the numerators of the derivatives, by (o, a).
    degrees : of J in each row.
    """

    def __init__(self, P: POMDP, options: list[tuple[int, ...]], criterion: str = "return"):
        self.P, self.options = P, options
        self.x: dict[tuple[int, int], int] = {}
        symbols: list[sympy.Symbol] = []
        table = np.full((len(P.O), len(P.A)), Fraction(0), dtype=object)
        for o, (*free, last) in enumerate(options):
            for a in free:
                self.x[o, a] = len(symbols)
                symbols.append(sympy.Symbol(f"x{len(symbols):06d}"))  # the field sorts by name
                table[o, a] = symbols[-1]
            table[o, last] = 1 - sum((table[o, a] for a in free), sympy.Integer(0)) if free else 1
        J = evaluate(P, Policy(P, Numbers.of(table)), exact=True, criterion=criterion).value
        quotient = RationalFunctions(symbols or [sympy.Symbol("none")]).one(J)
        self.top, self.bottom = quotient.num, quotient.den
        # the sign of d is that of a policy that has a value, and the same all over the polytope
        self.slopes = {
            key: self.top.derivative(i) * self.bottom - self.top * self.bottom.derivative(i)
            for key, i in self.x.items()
        }
        self.degrees = tuple(
            max(self._degree(poly, o) for poly in (self.top, self.bottom))
            for o in range(len(options))
        )

    def _degree(self, poly: Polynomial, o: int) -> int:
        places = [i for key, i in self.x.items() if key[0] == o]
        return max((sum(int(powers[i]) for i in places) for powers in poly.monoms()), default=0)

    def slope(self, o: int, a: int) -> Polynomial:
        """The numerator of the derivative towards action a and away from the row's last. It is zero
        if a is the last."""
        return self.slopes.get((o, a), self.top * 0)


def plain_terms(poly: Polynomial) -> PlainTerms:
    """A polynomial with rational coefficients as pairs of whole numbers."""
    return [(tuple(map(int, powers)), (int(c.p), int(c.q))) for powers, c in poly.terms()]
