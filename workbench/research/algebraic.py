"""The optimum in exact numbers, where its critical system is small.

On the face of the policy polytope that an optimum lies inside, the return (or the average reward)
is a rational function J = n / d of the free probabilities x_1, ..., x_k (`surface`), and

    F_i(x) = n_i d - n d_i = 0,     i = 1, ..., k          n_i, d_i the derivatives by x_i

hold at it, and n - y d = 0 at its value y. Krawczyk's test says that exactly one root of F is in a
small box around the floats (`enclosures`). Each coordinate of that root, and its value, is a root
of a polynomial in one variable with whole coefficients, from which the others were eliminated by
resultants, one variable after the other. Before every step the polynomials are factored, and
factors that surely do not vanish in the box are dropped: what is left vanishes at the root, and
degrees stay small. The irreducible factor of the last polynomial with a root in the box is the
minimal polynomial of the coordinate.

For the short corridor x^2 - 4 x + 2 = 0 and y^2 + 12 y + 4 = 0: x = 2 - sqrt 2, y = -6 - 4 sqrt 2.
An optimum that is not isolated inside its face has no such system.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import sympy
from numpy.typing import NDArray

from workbench.core.errors import NotSolved, TooLarge
from workbench.core.evaluate import evaluate
from workbench.core.numbers import Number, Numbers
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.space import Label
from workbench.research.enclosures import BallPolynomial, Box, PolynomialSystem, isolate_near
from workbench.research.surface import Polynomial, ReturnSurface, plain_terms

_SURE = (1e-6, 1e-4, 1e-3)
"""Probabilities nearer to 0 or 1 than this are taken to be 0 or 1, the strictest first; the value
found decides."""

_AGREES = 1e-7
"""The exact value must agree with the float one within this share of it."""

_NEAR = 1e-2
"""How far the exact probabilities may be from the float ones."""

_PRECISION, _LEAST = 700, 1e-150
"""Bits of the arithmetic that encloses the root, and the width of its box: roots of a polynomial of
high degree may be close to each other."""

MOST_FREE = 4
MOST_DEGREE = 24

_LONG = 60
"""Letters of a polynomial that is shown."""

_MOST_TERMS = 20_000
"""Of a polynomial on the way of the elimination."""


@dataclass(frozen=True, eq=False)
class AlgebraicOptimum:
    """An optimum in exact numbers.

    Attributes
    ----------
    policy : floats next to the exact policy, or Fractions where it is deterministic.
    free : the pairs (o, a) whose probabilities are free; the last action of a row has what is left.
    probabilities, polynomials : of each of them, and the irreducible polynomial that it is a root
        of.
    value, value_polynomial : the return or average reward, and the irreducible polynomial that it
        is a root of; None if the policy is deterministic.
    """

    policy: Policy
    free: tuple[tuple[Label, Label], ...]
    probabilities: tuple[Number, ...]
    polynomials: tuple[sympy.Poly, ...]
    value: Number
    value_polynomial: sympy.Poly | None

    def __repr__(self) -> str:
        text = f"exactly {_written(self.value, self.value_polynomial)}"
        rows = zip(self.free, self.probabilities, self.polynomials, strict=True)
        told = [f"pi({a!r} | {o!r}) = {_written(x, poly)}" for (o, a), x, poly in rows]
        return f"{text}, with {', '.join(told)}" if told else text


def _written(x: Number, polynomial: sympy.Poly | None) -> str:
    """A number in radicals, or its digits and what it is a root of."""
    if polynomial is None or polynomial.degree() <= 2:
        return str(x)
    text = str(polynomial.as_expr())
    if len(text) > _LONG:
        text = f"an irreducible polynomial of degree {polynomial.degree()}"
    return f"{float(x):.12g} (a root of {text})"


def find_algebraic(
    P: POMDP, pi: Policy, value: float, criterion: str = "return"
) -> AlgebraicOptimum:
    """The exact optimum next to a float one.

    It is a critical point of its face whose value agrees with `value`: an optimum as certainly as
    the float one is. `NotExact` if the model holds floats, `TooLarge` if too many probabilities are
    free or the degree is too high, `NotSolved` if no isolated critical point is there.
    """
    P.require_exact()
    table = pi.prob.floats
    faces: list[list[tuple[int, ...]]] = []
    for sure in _SURE:
        face = _supports(P, table, sure)
        if face not in faces:
            faces.append(face)
    reason: NotSolved | TooLarge | None = None
    for face in faces:
        try:
            return _solve_face(P, table, face, value, criterion)
        except (NotSolved, TooLarge) as error:
            reason = reason or error
    assert reason is not None
    raise reason


def _supports(P: POMDP, table: NDArray[np.float64], sure: float) -> list[tuple[int, ...]]:
    """The actions of each row. Where nothing is decided it is the most probable one alone."""
    return [
        tuple(np.flatnonzero(row >= sure).tolist()) if P.decides[o] else (int(np.argmax(row)),)
        for o, row in enumerate(table)
    ]


def _solve_face(
    P: POMDP,
    table: NDArray[np.float64],
    face: list[tuple[int, ...]],
    value: float,
    criterion: str,
) -> AlgebraicOptimum:
    """The critical point inside a face that is next to a policy."""
    surface = None
    while any(len(row) > 1 for row in face):
        count = sum(len(row) - 1 for row in face)
        if count > MOST_FREE:
            raise TooLarge(
                f"the best policy of {P.name} has {count} free probabilities: its critical system "
                f"is solved exactly for up to {MOST_FREE}"
            )
        surface = ReturnSurface(P, face, criterion)
        flat = {key for key, slope in surface.slopes.items() if slope == 0}
        if not flat:
            break
        # J does not depend on these: any probability does, and zero is the simplest
        face = [tuple(a for a in row if (o, a) not in flat) for o, row in enumerate(face)]
    near = _AGREES * max(1.0, abs(value))
    if surface is None or not any(len(row) > 1 for row in face):
        return _deterministic(P, face, value, near, criterion)
    keys = list(surface.x)
    with flint.ctx.workprec(_PRECISION):
        system = PolynomialSystem(list(surface.slopes.values()))
        root = isolate_near(system, [float(table[key]) for key in keys], _LEAST)
        if root is None or not _is_near(face, keys, root, table):
            raise NotSolved(
                f"next to the best policy found of {P.name} there is no isolated critical point: "
                "its critical system has no exact solution to list"
            )
        y = BallPolynomial(surface.top).at(root) / BallPolynomial(surface.bottom).at(root)
        if abs(float(y.mid()) - value) > near:
            raise NotSolved(
                f"the critical point of {P.name} next to the policy is worth "
                f"{float(y.mid()):.9g}, not {value:.9g}"
            )
        eliminated = _Elimination(P, surface, [*root, y])
        solved = [eliminated.solve(i) for i in range(len(keys) + 1)]
    *probabilities, (worth, value_polynomial) = solved
    exact = np.zeros(table.shape)
    for o, row in enumerate(face):
        exact[o, row[-1]] = 1.0
    for (o, a), x in zip(keys, root, strict=True):
        exact[o, a] = float(x.mid())
        exact[o, face[o][-1]] -= exact[o, a]
    return AlgebraicOptimum(
        policy=Policy(P, exact),
        free=tuple((P.O[o], P.A[a]) for o, a in keys),
        probabilities=tuple(x for x, _ in probabilities),
        polynomials=tuple(poly for _, poly in probabilities),
        value=worth,
        value_polynomial=value_polynomial,
    )


def _deterministic(
    P: POMDP, face: list[tuple[int, ...]], value: float, near: float, criterion: str
) -> AlgebraicOptimum:
    exact = np.full((len(P.O), len(P.A)), Fraction(0), dtype=object)
    for o, row in enumerate(face):
        exact[o, row[-1]] = Fraction(1)
    policy = Policy(P, Numbers.of(exact))
    worth = evaluate(P, policy, exact=True, criterion=criterion).value
    if abs(float(worth) - value) > near:
        raise NotSolved(
            f"the deterministic policy of {P.name} next to the one found is worth "
            f"{float(worth):.9g}, not {value:.9g}"
        )
    return AlgebraicOptimum(policy, (), (), (), worth, None)


def _is_near(
    face: list[tuple[int, ...]],
    keys: list[tuple[int, int]],
    root: Box,
    table: NDArray[np.float64],
) -> bool:
    """Whether a root is inside the face, and next to the floats."""
    left = {o: flint.arb(1) for o, _ in keys}
    for (o, a), x in zip(keys, root, strict=True):
        if not x > 0 or abs(float(x.mid()) - table[o, a]) > _NEAR:
            return False
        left[o] -= x
    return all(x > 0 for x in left.values())


# ---------------------------------------------------------------------- elimination


class _Elimination:
    """A polynomial system in x_1, ..., x_k and y, and a box around its root. The polynomials are
    F_1, ..., F_k and n - y d, with whole coefficients."""

    def __init__(self, P: POMDP, surface: ReturnSurface, root: Box):
        self.P, self.root = P, root
        self.context = flint.fmpz_mpoly_ctx.get([f"z{i}" for i in range(len(root))], "lex")
        *_, y = self.context.gens()
        slopes = [self._whole(slope) for slope in surface.slopes.values()]
        scale = math.lcm(*(c[1] for f in (surface.top, surface.bottom) for _, c in plain_terms(f)))
        level = self._whole(surface.top, scale) - y * self._whole(surface.bottom, scale)
        self.slopes = [self._vanishing(slope) for slope in slopes]
        self.level = level

    def _whole(self, poly: Polynomial, scale: int = 0) -> flint.fmpz_mpoly:
        terms = plain_terms(poly)
        scale = scale or math.lcm(*(c[1] for _, c in terms))
        return self.context.from_dict({(*powers, 0): scale // q * p for powers, (p, q) in terms})

    def _vanishing(self, poly: flint.fmpz_mpoly) -> flint.fmpz_mpoly:
        """The product of the irreducible factors that may vanish at the root: one of them does."""
        kept = self.context.from_dict({(0,) * len(self.root): 1})
        for factor, _ in poly.factor()[1]:
            if self._at(factor).contains(0):
                kept = kept * factor
        return kept

    def _at(self, poly: flint.fmpz_mpoly) -> flint.arb:
        rational = flint.fmpq_mpoly_ctx.get(self.context.names(), flint.Ordering.lex)
        return BallPolynomial(rational.from_dict(poly.to_dict())).at(self.root)

    def solve(self, target: int) -> tuple[Number, sympy.Poly]:
        """One coordinate of the root, or its value (the last), and its minimal polynomial."""
        k = len(self.root) - 1
        polynomials = self.slopes if target < k else [*self.slopes, self.level]
        others = [i for i in range(k) if i != target]
        for order in itertools.permutations(others):
            found = self._eliminate(polynomials, order, target)
            if found is not None:
                return self._root_of(found, target)
        raise NotSolved(
            f"the resultants of the critical system of {self.P.name} vanish in every order: its "
            "solution is not isolated over the complex numbers"
        )

    def _eliminate(
        self, polynomials: Sequence[flint.fmpz_mpoly], order: tuple[int, ...], target: int
    ) -> flint.fmpz_mpoly | None:
        """Eliminate the listed variables in turn: a polynomial in the target that vanishes at the
        root. None if only zero is left."""
        left = list(polynomials)
        for i in order:
            with_it = sorted(
                (f for f in left if f.degrees()[i] > 0), key=lambda f: (f.degrees()[i], len(f))
            )
            left = [f for f in left if f.degrees()[i] == 0]
            for f in with_it[1:]:
                resultant = with_it[0].resultant(f, f"z{i}")
                if len(resultant) > _MOST_TERMS:
                    raise TooLarge(
                        f"the critical system of {self.P.name} is too large to be solved exactly: "
                        f"a resultant of {len(resultant):,} terms, at most {_MOST_TERMS:,} fit"
                    )
                if not resultant.is_zero():
                    left.append(self._vanishing(resultant))
        left = [f for f in left if f.degrees()[target] > 0]
        return min(left, key=lambda f: f.total_degree()) if left else None

    def _root_of(self, poly: flint.fmpz_mpoly, target: int) -> tuple[Number, sympy.Poly]:
        """The root in the box, and the irreducible factor that it belongs to."""
        z = sympy.Symbol("y" if target == len(self.root) - 1 else "x")
        here = self.root[target]
        for factor, _ in poly.factor()[1]:
            coefficients = [0] * (factor.total_degree() + 1)
            for powers, c in factor.to_dict().items():
                coefficients[powers[target]] = int(c)
            roots: Any = flint.fmpz_poly(coefficients).complex_roots()
            # flint tells real roots apart: their imaginary parts are zero, not next to it
            real = sorted((r.real for r, _ in roots if r.imag == 0), key=lambda r: float(r.mid()))
            there = [j for j, r in enumerate(real) if r.overlaps(here)]
            if not there:
                continue
            if len(there) > 1:
                raise NotSolved(f"two roots of the critical system of {self.P.name} are too close")
            degree = len(coefficients) - 1
            if degree > MOST_DEGREE:
                raise TooLarge(
                    f"the exact optimum of {self.P.name} is a root of a polynomial of degree "
                    f"{degree}: up to {MOST_DEGREE} are written out"
                )
            found = sympy.Poly(coefficients[::-1], z)
            return sympy.rootof(found, there[0], radicals=degree <= 2), found
        raise NotSolved(f"no root of the eliminated polynomials of {self.P.name} is in its box")
