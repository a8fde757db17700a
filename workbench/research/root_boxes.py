"""All real roots of a system of polynomials in a box, each with a certificate (Krawczyk 1969).

For F : R^k -> R^k, a box X with centre c, and Y near the inverse of F'(c),

    K(X) = c - Y F(c) + (I - Y F'(X)) (X - c)

holds every root of F in X; if K(X) lies in the interior of X there is exactly one, and the
iteration X <- K(X) closes in on it. Boxes on which some F_i cannot vanish are dropped, the others
are halved. Ball arithmetic (flint's arb, at the precision of the caller's context) encloses every
number, so nothing is lost by rounding. What is left below a smallest width is reported as
undecided: roots that are not simple, or not isolated.
"""

from __future__ import annotations

from dataclasses import dataclass

import flint

Terms = list[tuple[tuple[int, ...], flint.arb]]
"""A polynomial: exponents and coefficients."""

Ball = list[flint.arb]

_SMALLEST = 1e-5
"""Boxes narrower than this that hold neither no root nor one for certain are undecided."""

_REFINED = 1e-30

_NEWTON, _RADII = 12, (1e-6, 1e-10, 1e-16, 1e-24)
"""Newton's steps towards a root whose place is known, and the boxes around it that are tried."""


@dataclass(frozen=True, eq=False)
class Roots:
    """The certified roots, as small boxes of balls; how many boxes stayed undecided; how many were
    looked at."""

    found: list[Ball]
    undecided: int
    boxes: int


class PolynomialSystem:
    """k polynomials in k variables, with their derivatives."""

    def __init__(self, polynomials: list[list[tuple[tuple[int, ...], tuple[int, int]]]]):
        """Each polynomial as a list of (exponents, (numerator, denominator))."""
        self.k = len(polynomials)
        self.F: list[Terms] = [
            [(powers, flint.arb(flint.fmpq(*c))) for powers, c in terms] for terms in polynomials
        ]
        self.D = [[_derivative(terms, j) for j in range(self.k)] for terms in self.F]

    def at(self, x: Ball) -> Ball:
        return [evaluate_terms(terms, x) for terms in self.F]

    def jacobian(self, x: Ball) -> list[Ball]:
        return [[evaluate_terms(terms, x) for terms in row] for row in self.D]


def evaluate_terms(terms: Terms, x: Ball) -> flint.arb:
    """A polynomial at a box, term by term."""
    total = flint.arb(0)
    for powers, c in terms:
        product = c
        for base, power in zip(x, powers, strict=True):
            if power:
                product = product * base**power
        total += product
    return total


def _derivative(terms: Terms, j: int) -> Terms:
    return [
        ((*powers[:j], powers[j] - 1, *powers[j + 1 :]), c * powers[j])
        for powers, c in terms
        if powers[j]
    ]


def find_roots(system: PolynomialSystem, low: float, high: float, most: int) -> Roots:
    """All roots with every coordinate between low and high, unless more than `most` boxes are
    needed; those that are left then are undecided."""
    middle, half = (low + high) / 2, (high - low) / 2
    stack: list[Ball] = [[flint.arb(middle, half) for _ in range(system.k)]]
    found: list[Ball] = []
    undecided = boxes = 0
    while stack:
        X = stack.pop()
        boxes += 1
        if boxes > most:
            undecided += 1 + len(stack)
            break
        if any(not value.contains(0) for value in system.at(X)):
            continue
        verdict = _krawczyk(system, X)
        if verdict is None:
            continue
        K, inside = verdict
        if inside:
            root = _refine(system, K)
            if not any(_overlap(root, other) for other in found):
                found.append(root)
            continue
        widths = [float(x.rad()) for x in X]
        j = max(range(system.k), key=widths.__getitem__)
        if widths[j] < _SMALLEST:
            undecided += 1
            continue
        centre, radius = X[j].mid(), X[j].rad() / 2
        for sign in (-1, 1):  # halves that overlap a little: a root on the seam is not lost
            half_ball = flint.arb((centre + sign * radius).mid(), radius * flint.arb("1.0001"))
            stack.append([*X[:j], half_ball, *X[j + 1 :]])
    return Roots(found, undecided, boxes)


def isolate_near(system: PolynomialSystem, near: list[float], least: float) -> Ball | None:
    """The one root next to a point, enclosed to within `least`; None if no simple root is certain
    to be there."""
    x = [flint.arb(value) for value in near]
    for _ in range(_NEWTON):
        try:
            step = flint.arb_mat(system.jacobian(x)).solve(flint.arb_mat(system.k, 1, system.at(x)))
        except ZeroDivisionError:
            return None
        x = [(value - step[i, 0]).mid() for i, value in enumerate(x)]
    for radius in _RADII:
        X = [flint.arb(value, radius) for value in x]
        verdict = _krawczyk(system, X)
        if verdict is not None and verdict[1]:
            root = _refine(system, verdict[0], least)
            return root if max(float(value.rad()) for value in root) <= least else None
    return None


def _krawczyk(system: PolynomialSystem, X: Ball) -> tuple[Ball, bool] | None:
    """K(X) cut down to X, and whether it lies inside; None if there is no root in X."""
    k = system.k
    c = [x.mid() for x in X]
    here = flint.arb_mat(k, 1, system.at(c))
    slopes = flint.arb_mat(system.jacobian(X))
    off = flint.arb_mat(k, 1, [x - m for x, m in zip(X, c, strict=True)])
    # the mean value form is sharper than the terms one by one, once a box is small
    if any(not value.contains(0) for value in (here + slopes * off).entries()):
        return None
    try:
        Y = flint.arb_mat(
            k, k, [x.mid() for x in flint.arb_mat(system.jacobian(c)).inv().entries()]
        )
    except ZeroDivisionError:
        return X, False
    step = Y * here
    one = flint.arb_mat(k, k, [int(i == j) for i in range(k) for j in range(k)])
    shift = (one - Y * slopes) * off
    K = [c[i] - step[i, 0] + shift[i, 0] for i in range(k)]
    if any(not x.overlaps(y) for x, y in zip(K, X, strict=True)):
        return None
    inside = all(X[i].contains_interior(K[i]) for i in range(k))
    return K if inside else X, inside


def _refine(system: PolynomialSystem, X: Ball, least: float = _REFINED) -> Ball:
    for _ in range(40):
        if max(float(x.rad()) for x in X) < least:
            break
        verdict = _krawczyk(system, X)
        if verdict is None or not verdict[1]:
            break
        X = verdict[0]
    return X


def _overlap(x: Ball, y: Ball) -> bool:
    return all(a.overlaps(b) for a, b in zip(x, y, strict=True))
