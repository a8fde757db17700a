"""The lambda-discrepancy: how far apart the fixed points of TD for two lambdas are.

It is 0 where observations are Markov under the policy, and what Allen et al. (NeurIPS 2024) train a
memory to make small.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from workbench.core.double_kernels import UNIT
from workbench.core.errors import NeverEnds, NotSolved, WorkbenchError
from workbench.core.evaluate import MOST_DECIDED
from workbench.core.fields import Bounded
from workbench.core.numbers import Number, is_symbolic, number
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.td import td_values
from workbench.core.weights import Weighting

_ACCURACY = 1e-6
"""A norm in floats that may be off by more than this share of the largest q-value is refused."""

_DOUBTFUL = 1e-10
"""A norm is found in rationals if it may be off by more than such a share of itself, and of the
largest reward: 0 has no share."""

_LONG = 10**30
"""Roots of fractions of longer numbers are left as they are."""


def lambda_discrepancy(
    P: POMDP,
    pi: Policy,
    lam: tuple[Number, Number] = (0, 1),
    norm: float = 2,
    exact: bool = False,
    weights: str | Weighting = "visits",
) -> Number:
    """The distance between the fixed points of two lambdas. It is 0 where the observations are
    Markov under pi.

    The norm runs over the pairs (o, a) that pi meets, each with its share of the visits, rho(o)
    pi(a|o), where rho is the normalised weight of the observations in the sense of `weights`:

        norm 1: sum rho pi |difference|      norm 2: sqrt(sum rho pi difference^2)
        norm inf: the largest |difference|

    In exact arithmetic a norm that is not rational is a sympy expression. A float has a bound on
    its error, `.error`. Values of long episodes are large, and their difference may be lost in
    their errors: where it is off by more than 1e-6 of the largest q-value, it is found in rationals
    if the numbers are exact and the task is small, else refused. Where P(s|o) is not defined,
    neither is the norm: `NeverEnds` says which weights are.

    >>> from workbench.core.pomdp import POMDP
    >>> from pomdps import recall
    >>> from workbench import augment, uniform
    >>> E = augment(recall(), "OA1")
    >>> lambda_discrepancy(E, uniform(E), exact=True, norm=1)
    Fraction(427838789, 20257743600)

    See also: `discrepancy_loss`, `td_values`, `sweep_lambda`.
    """
    if norm not in (1, 2, np.inf):
        raise WorkbenchError(f"norm must be 1, 2 or inf, not {norm!r}")
    gap, is_rounded = _settled_gap(P, pi, lam, exact, weights, False, norm)
    if gap.is_float:
        return gap.float_norm(norm)
    found = _root(gap.total(2)) if norm == 2 else gap.total(norm)
    return _rounded(found) if is_rounded else found


def discrepancy_loss(
    P: POMDP,
    pi: Policy,
    lam: tuple[Number, Number] = (0, 1),
    exact: bool = False,
    weights: str | Weighting = "discounted",
) -> Number:
    """The lambda-discrepancy that Allen et al. minimise (NeurIPS 2024): a squared norm with equal
    weights. Their paper is "Mitigating partial observability in sequential decision processes via
    the lambda discrepancy". The weights are equal over observations.

        1 / (number of observations that are met) sum_o sum_a pi(a|o) (q_lam1(o,a) - q_lam0(o,a))^2

    Their analytical code takes discounted occupancies in P(s|o), which are the default here. What
    `lambda_discrepancy` says of floats holds of the root.

    >>> from pomdps import recall
    >>> from workbench import augment, uniform
    >>> E = augment(recall(), "OA1")
    >>> round(discrepancy_loss(E, uniform(E)), 6)
    0.001336

    See also: `lambda_discrepancy`, `td_values`, `gradient`.
    """
    gap, is_rounded = _settled_gap(P, pi, lam, exact, weights, True, 2)
    if not gap.is_float:
        return _rounded(gap.total(2)) if is_rounded else gap.total(2)
    root = gap.float_norm(2)
    return Bounded(root**2, (2 * root + root.error) * root.error + 4 * UNIT * root**2)


def _settled_gap(
    P: POMDP,
    pi: Policy,
    lam: tuple[Number, Number],
    exact: bool,
    weights: str | Weighting,
    even: bool,
    norm: float,
) -> tuple[_Gap, bool]:
    """The values at two lambdas, and whether rationals took the place of floats that are off by too
    much."""
    floats = any(isinstance(number(x), float) for x in lam)
    can_be_exact = P.is_exact and pi.is_exact and not floats and len(P.S) <= MOST_DECIDED
    try:
        gap = _gap(P, pi, lam, exact, weights, even)
        if exact or not can_be_exact or not gap.is_float:
            return gap, False
        found, error, _ = gap.measure(norm)
        if error <= _DOUBTFUL * max(found, float(np.abs(P.p.r.floats).max(initial=0.0))):
            return gap, False
    except NotSolved:
        if exact or not can_be_exact:
            raise
    return _gap(P, pi, lam, True, weights, even), True


def _rounded(x: Number) -> Bounded:
    """An exact number as a float with its bound."""
    return Bounded(float(x), 2 * UNIT * abs(float(x)))


@dataclass(frozen=True)
class _Gap:
    """The values at two lambdas of the pairs (o, a) that pi meets.

    Attributes
    ----------
    terms : for each pair its weight and both values.
    errors : bounds on the sum of the errors of both, zero where they are exact.
    share_error : a bound on the relative errors of the weights.
    """

    name: str
    terms: list[tuple[Any, Any, Any]]
    errors: NDArray[np.float64]
    share_error: float

    @property
    def is_float(self) -> bool:
        return any(isinstance(x, float) for row in self.terms for x in row)

    def measure(self, norm: float) -> tuple[float, float, float]:
        """The norm in floats, a bound on its error, and the size of the values."""
        rho, one, other = np.array(self.terms, dtype=float).T
        d = np.abs(one - other)
        if norm == np.inf:
            found, error = d.max(), self.errors.max()
        elif norm == 1:
            found, error = rho @ d, rho @ self.errors
        elif norm == 2:
            found, error = _root_mean_square(rho, d), _root_mean_square(rho, self.errors)
        else:
            raise WorkbenchError(f"norm must be 1, 2 or inf, not {norm!r}")
        error += (self.share_error + (len(d) + 8) * UNIT) * (found + error)
        return float(found), float(error), float(max(np.abs(one).max(), np.abs(other).max()))

    def float_norm(self, norm: float) -> Bounded:
        """The norm as a float. `NotSolved` is raised if its error may be large."""
        found, error, size = self.measure(norm)
        if not error <= _ACCURACY * size and size > 0:
            raise NotSolved(
                f"the lambda-discrepancy of {self.name} is {found:.3g} in floats and may be off by "
                f"{error:.1g}: the policy may take extremely long to end; exact=True tells"
            )
        return Bounded(found, error)

    def total(self, norm: float) -> Number:
        """The norm in exact numbers. For norm 2 it is the square."""
        terms = [
            (sympy.sympify(rho), sympy.cancel(sympy.sympify(q) - sympy.sympify(p)))
            for rho, q, p in self.terms
        ]
        if norm == np.inf:
            found = sympy.Max(*(sympy.Abs(d) for _, d in terms))
        elif norm == 1:
            found = sympy.Add(*(rho * sympy.Abs(d) for rho, d in terms))
        else:
            found = sympy.factor(sympy.Add(*(rho * d**2 for rho, d in terms)))
        return number(found) if found.is_Rational else found


def _root(square: Number) -> Number:
    """The square root of an exact number: a fraction if it is one, else an expression."""
    if is_symbolic(square):
        return sympy.sqrt(square)
    top, bottom = math.isqrt(square.numerator), math.isqrt(square.denominator)
    if top**2 == square.numerator and bottom**2 == square.denominator:
        return Fraction(top, bottom)
    # sympy takes squares out of a root by factoring, which takes for ever where numbers are long
    is_short = max(square.numerator, square.denominator) < _LONG
    return sympy.Pow(sympy.sympify(square), sympy.Rational(1, 2), evaluate=is_short)


def _gap(
    P: POMDP,
    pi: Policy,
    lam: tuple[Number, Number],
    exact: bool,
    weights: str | Weighting,
    even: bool,
) -> _Gap:
    """The values at two lambdas. The weights may be even over observations."""
    one, other = (td_values(P, pi, lam=x, exact=exact, weights=weights) for x in lam)
    met = int(one.reached.raw.sum())
    terms, errors = [], []
    for i in np.flatnonzero(one.reached.raw).tolist():
        for j in range(len(P.A)):
            if pi.prob[i, j] != 0:
                o, a = P.O[i], P.A[j]
                share = one.share[o]
                if even and share is not None:
                    share = 1 / met if isinstance(share, float) else Fraction(1, met)
                weight = share if share is None else share * pi.prob[i, j]
                terms.append((weight, one.q[o, a], other.q[o, a]))
                errors.append(one.q_error.raw[i, j] + other.q_error.raw[i, j])
    if any(x is None or (isinstance(x, float) and np.isnan(x)) for row in terms for x in row):
        if not one.endless:
            raise NotSolved(
                f"the lambda-discrepancy of {P.name} is not known: {one.note or other.note} "
                "exact=True tells"
            )
        weights = weights.name if isinstance(weights, Weighting) else weights
        others = [x for x in ("discounted", "stationary") if x != weights]
        raise NeverEnds(
            f"the lambda-discrepancy of {P.name} is not defined: P(s|o) by {weights} does not "
            f"exist where the policy goes, since it never ends; pass weights={others[0]!r}"
            + (f" or {others[1]!r}" if len(others) > 1 else "")
        )
    return _Gap(P.name, terms, np.array(errors), one.share_error)


def _root_mean_square(rho: NDArray[np.float64], x: NDArray[np.float64]) -> float:
    """sqrt(sum rho x^2), where the squares alone may be too large for floats."""
    most = float(x.max())
    return most * float(np.sqrt(rho @ (x / most) ** 2)) if 0 < most < np.inf else most
