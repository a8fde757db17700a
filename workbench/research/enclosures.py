"""Zeros of a system of equations, each enclosed in a box in which it is the only one.

For f: R^n -> R^n, a box X with midpoint m, slopes J of f over X (an interval matrix that holds
every difference quotient) and any matrix Y, Krawczyk's operator is

    K(X) = m - Y f(m) + (I - Y J) (X - m).

Every zero in X lies in K(X). So X holds no zero if K(X) and X have nothing in common, and exactly
one if K(X) lies in the inside of X (Krawczyk 1969; Moore 1977). `isolate` starts from one box,
makes it smaller by what the system itself knows (`contract`) and by K, cuts it in two where neither
helps, and ends with zeros that are certain, or with boxes that its budget left open. Numbers are
balls of Arb (Johansson 2017), whose every operation contains the true result.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import product
from typing import Any, Protocol

import flint

Box = list[Any]
"""One ball for each unknown."""

PRECISION = 160
"""Bits of the balls."""

_POLISHED = 12
_ASTRAY, _SETTLED = 3.0, 1e-6
"""Radii from the middle of a box at which Newton's steps from there have left it, and the last step
at which they have come to rest: most boxes hold no zero, and the test of it is dear."""

_NARROWED = 60
_GROWTH = (1e-1, 3e-2, 1e-2, 1e-3, 1e-4, 1e-6, 1e-8)


class System(Protocol):
    """A system f, with what is needed to isolate its zeros. Over a box in which f cannot be
    bounded, `value` and `slopes` raise ZeroDivisionError."""

    @property
    def radii(self) -> list[list[float]]:
        """Shapes of boxes to try around a zero: how wide they are in each unknown."""

    def value(self, x: Box) -> list[Any]:
        """f over a box."""

    def slopes(self, x: Box) -> Any:
        """An `arb_mat` that holds every difference quotient of f over a box."""

    def contract(self, x: Box) -> Box | None:
        """A smaller box that holds the same zeros, or None if there are none."""


@dataclass
class Isolation:
    """What is known about the zeros in a box.

    Attributes
    ----------
    zeros : an enclosure of each; alone : the box in which it is the only one.
    looked_at : how many boxes were looked at; left : those that the budget left open.
    """

    zeros: list[Box] = field(default_factory=list)
    alone: list[Box] = field(default_factory=list)
    looked_at: int = 0
    left: list[Box] = field(default_factory=list)

    @property
    def complete(self) -> bool:
        """Whether there are no other zeros."""
        return not self.left


def ball(low: Any, high: Any) -> Any:
    """The ball around an interval."""
    return flint.arb(low).union(flint.arb(high))


def isolate(
    system: System,
    box: Box,
    most: int = 2_000,
    starts: Iterable[Box] = (),
    least: float = 0.0,
    until: float = math.inf,
) -> Isolation:
    """Find the zeros of a system in a box.

    Parameters
    ----------
    most : look at so many boxes at most.
    starts : points near which a zero is expected; they are tried first.
    least : boxes narrower than this are left open: zeros that are not simple, or not isolated.
    until : no start and no box is looked at once the clock (`time.monotonic`) passes it.
    """
    with flint.ctx.workprec(PRECISION):
        found = Isolation()
        for start in starts:
            if time.monotonic() > until:
                break
            _try_around(system, [x.mid() for x in start], found)
        waiting, narrow = [box], []
        while waiting and found.looked_at < most and time.monotonic() <= until:
            found.looked_at += 1
            rest = _looked_at(system, waiting.pop(), found)
            if rest is None:
                continue
            if max(float(x.rad()) for x in rest) < least:
                narrow.append(rest)
            else:
                waiting += _halves(rest)
        found.left = [x for x in waiting + narrow if not _is_in_one(x, found.alone)]
        return found


class BallPolynomial:
    """A polynomial that is evaluated over boxes, term by term."""

    def __init__(self, poly: flint.fmpq_mpoly):
        self.terms = [
            ([(i, int(n)) for i, n in enumerate(powers) if n], flint.arb(c))
            for powers, c in poly.terms()
        ]

    def at(self, x: Box) -> Any:
        powers: dict[tuple[int, int], Any] = {}
        total = flint.arb(0)
        for factors, c in self.terms:
            for i, n in factors:
                if (i, n) not in powers:
                    powers[i, n] = x[i] ** n
                c = c * powers[i, n]
            total += c
        return total


class PolynomialSystem:
    """k polynomials in k variables, whose common roots are isolated."""

    def __init__(self, polynomials: list[flint.fmpq_mpoly]):
        k = len(polynomials)
        self.radii = [[1.0] * k]
        self._f = [BallPolynomial(f) for f in polynomials]
        self._slopes = [BallPolynomial(f.derivative(j)) for f in polynomials for j in range(k)]

    def value(self, x: Box) -> list[Any]:
        return [f.at(x) for f in self._f]

    def slopes(self, x: Box) -> Any:
        return flint.arb_mat(len(x), len(x), [f.at(x) for f in self._slopes])

    def contract(self, x: Box) -> Box | None:
        return x


def _looked_at(system: System, x: Box, found: Isolation) -> Box | None:
    """What of a box is still open."""
    while True:
        if _is_in_one(x, found.alone):
            return None
        smaller = system.contract(x)
        if smaller is None or _has_none(system, smaller):
            return None
        image = krawczyk(system, smaller)
        if image is not None:
            if _is_inside(image, smaller):
                _add(system, image, smaller, found)
                return None
            if any(not a.overlaps(b) for a, b in zip(image, smaller, strict=True)):
                return None
            smaller = [a.intersection(b) for a, b in zip(image, smaller, strict=True)]
        shrunk = max(
            (float(a.rad()) / float(b.rad()) if float(b.rad()) > 0 else 0.0)
            for a, b in zip(smaller, x, strict=True)
        )
        x = smaller
        if not shrunk < 0.9:
            break
    _try_around(system, [v.mid() for v in x], found, x)
    return None if _is_in_one(x, found.alone) else x


def _has_none(system: System, x: Box) -> bool:
    """Whether f has no zero in a box. False where it cannot be told."""
    try:
        return any(not v.contains(0) for v in system.value(x))
    except ZeroDivisionError:  # a matrix that may be singular over so large a box
        return False


def krawczyk(system: System, x: Box) -> Box | None:
    """The Krawczyk operator K(X). None where the slopes cannot be inverted at their middle."""
    middle = [v.mid() for v in x]
    n = len(x)
    try:
        J = system.slopes(x)
        Y = J.mid().inv().mid()
    except ZeroDivisionError:
        return None
    f = flint.arb_mat(n, 1, system.value(middle))
    apart = flint.arb_mat(n, 1, [v - m for v, m in zip(x, middle, strict=True)])
    eye = flint.arb_mat(n, n, [int(i == j) for i in range(n) for j in range(n)])
    moved = (eye - Y * J) * apart - Y * f
    image = [m + moved[i, 0] for i, m in enumerate(middle)]
    return image if all(v.is_finite() for v in image) else None


def _try_around(system: System, point: Box, found: Isolation, within: Box | None = None) -> None:
    """Newton's iteration from a point, and the largest box around its end that holds one zero. It
    gives up where the iteration leaves the box, or leads nowhere."""
    n, off = len(point), math.inf
    for _ in range(_POLISHED):
        try:
            step = system.slopes(point).solve(flint.arb_mat(n, 1, system.value(point)))
        except ZeroDivisionError:
            return
        point = [(v - step[i, 0]).mid() for i, v in enumerate(point)]
        if not all(v.is_finite() for v in point):
            return
        if within is not None and any(
            abs(float(v) - float(x.mid())) > _ASTRAY * float(x.rad())
            for v, x in zip(point, within, strict=True)
        ):
            return
        off = max(abs(float(step[i, 0].mid())) for i in range(n))
    if off > _SETTLED * (1 + max(abs(float(v)) for v in point)):
        return
    for size, shape in product(_GROWTH, system.radii):
        x = [
            flint.arb(v, size * r * (1 + abs(float(v)))) for v, r in zip(point, shape, strict=True)
        ]
        image = krawczyk(system, x)
        if image is not None and _is_inside(image, x):
            _add(system, image, x, found)
            return


def _add(system: System, image: Box, alone: Box, found: Isolation) -> None:
    """Keep a zero unless it is known, in a narrow enclosure."""
    x = image
    for _ in range(_NARROWED):
        again = krawczyk(system, x)
        if again is None:
            break
        narrowed = [a.intersection(b) for a, b in zip(again, x, strict=True)]
        if all(float(a.rad()) >= 0.99 * float(b.rad()) for a, b in zip(narrowed, x, strict=True)):
            break
        x = narrowed
    if not _is_in_one(x, found.alone):
        found.zeros.append(x)
    found.alone.append(alone)


def _is_inside(inner: Box, outer: Box) -> bool:
    return all(b.contains_interior(a) for a, b in zip(inner, outer, strict=True))


def _is_in_one(x: Box, boxes: list[Box]) -> bool:
    return any(all(b.contains(a) for a, b in zip(x, box, strict=True)) for box in boxes)


def _halves(x: Box) -> list[Box]:
    widest = max(range(len(x)), key=lambda i: float(x[i].rad()))
    middle = x[widest].mid()
    ends = (x[widest].lower(), middle), (middle, x[widest].upper())
    return [[ball(*end) if i == widest else v for i, v in enumerate(x)] for end in ends]
