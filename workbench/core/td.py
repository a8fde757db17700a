"""Fixed points of temporal-difference learning on observations (Section 5.1).

Learning that bootstraps treats an observation as if it were a state. Its targets, for o seen in s
and action a there:

    one step      r + gamma v(o')
    n steps       n rewards along pi, then gamma^n v(o_n)
    TD(lambda)    (1 - lambda) sum_n lambda^(n-1) (the n-step target); lambda = 1 is Monte Carlo

and its fixed point is the q that equals its own expected target under the states that pi meets
behind o:

    q(o,a) = sum_s P_pi(s|o) [ R(s,a) + gamma sum_{s'} p(s'|s,a) w(s') ]
    v(o)   = sum_a pi(a|o) q(o,a)

    u(s)  = sum_o omega(o|s) v(o),  0 in terminal states                   what is bootstrapped from
    n     : w = w_{n-1},  w_0 = u,  w_{k+1} = r_pi + gamma P_pi w_k
    lambda: w = (1 - lambda) u + lambda (r_pi + gamma P_pi w)

Where observations are states this is q_pi; elsewhere it need not be, and the paper's Figure 3 is
such a place. An entry is undefined (NaN, or None when exact) if its target reads with positive
probability an observation that is never visited.

>>> from fractions import Fraction
>>> from workbench.core.policy import uniform
>>> from workbench.core.pomdp import POMDP
>>> P = POMDP.from_functions(
...     name="two coins",
...     A=[0, 1],
...     p=lambda s, a: {(s + 1, s * a): 1},
...     omega=lambda s: {"o": 1},
...     mu={0: 1},
...     gamma=Fraction(1, 2),
...     terminal={2},
... )
>>> [
...     td_values(P, uniform(P), exact=True, **how).q["o", 1]
...     for how in ({"n": 1}, {"n": 2}, {"lam": Fraction(1, 2)})
... ]
[Fraction(7, 12), Fraction(5, 8), Fraction(17, 28)]
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from workbench.core.errors import NeverEnds, NotExact, NotSolved, WorkbenchError, WrongType
from workbench.core.evaluate import check_arguments, describe_undefined
from workbench.core.fields import FLOATS, Field, exact_field
from workbench.core.numbers import Number, is_symbolic, number
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.table import Table, Vector
from workbench.core.td_targets import (
    Seen,
    bounded_q_values,
    mixture,
    monte_carlo_values,
    n_step,
)
from workbench.core.visits import known
from workbench.core.words import escape_html

_ACCURACY = 1e-6
"""A norm in floats that may be off by more than this share of the largest q-value is refused."""

_LONG = 10**30
"""Roots of fractions of longer numbers are left as they are."""


@dataclass(frozen=True, eq=False)
class TDValues:
    """What bootstrapping converges to.

    Attributes
    ----------
    n, lam : the target; one of them is None.
    q : `q[o, a]`; v : `v[o]`.
    value : the return that v promises, sum_o v(o) P(o first). With weights="discounted" and n = 1
        it is the true return.
    reached : `reached[o]`, whether o is seen in a state that is not terminal.
    share : `share[o]`, the part of the weight that o has among all observations.
    error : a bound on the errors of each v(o) and of `value`, that of P_pi(s|o) included; 0 in
        exact arithmetic.
    q_error : `q_error[o, a]`, a bound on the error of each q; infinite where it is undefined.
    note : a sentence on what is undefined and why, or "".
    endless : whether some P(s|o) do not exist, since visits are infinite.
    share_error : a bound on the relative error of each share; 0 in exact arithmetic.
    """

    P: POMDP
    pi: Policy
    weights: str
    n: int | None
    lam: Number | None
    value: Number
    q: Table
    v: Vector
    reached: Vector
    share: Vector
    error: float
    q_error: Table
    method: str
    note: str
    endless: bool
    share_error: float

    @property
    def target(self) -> str:
        """The target in words."""
        if self.lam is not None:
            return f"TD({self.lam})"
        return "one-step TD" if self.n == 1 else f"{self.n}-step TD"

    def __repr__(self) -> str:
        bound = ""
        if self.q.raw.dtype != object:
            known_q = self.q_error.raw[~np.isnan(self.q.raw)]
            bound = f", |error| of q(o, a) <= {np.max(known_q, initial=0.0):.1g}"
        first = f"{self.P.name}: {self.target}, weights={self.weights!r}{bound}"
        return "\n".join([first, self.q.text(), *([self.note] if self.note else [])])

    def _repr_html_(self) -> str:
        words = escape_html(f"{self.P.name}: {self.target} ({self.weights})")
        return f"<p>{words}</p>{self.q._repr_html_()}<p>{escape_html(self.note)}</p>"

    def to_frame(self) -> Any:
        """q(o, a) as a pandas frame."""
        return self.q.to_frame()


def td_values(
    P: POMDP,
    pi: Policy,
    n: int = 1,
    lam: Number | None = None,
    exact: bool = False,
    weights: str = "visits",
) -> TDValues:
    """The fixed point of n-step TD or of TD(lambda) on observations.

    Parameters
    ----------
    P : the POMDP, augmented or not.
    pi : a policy for it.
    n : how many rewards the target holds before it bootstraps.
    lam : lambda in [0, 1], instead of n; a symbol gives rational functions in it.
    exact : rationals instead of floats; symbols anywhere give rational functions in any case.
    weights : which P_pi(s|o), as for `evaluate`.
    """
    check_arguments(P, pi, weights)
    lam = _check_target(n, lam)
    field = _field(P, pi, lam, exact)
    seen = Seen(field, P, pi, weights)
    if lam is None or lam == 0:
        found = n_step(seen, n)
    elif lam == 1:
        found = monte_carlo_values(seen)
    else:
        found = mixture(seen, field.one(lam))
    q, q_error, error = bounded_q_values(seen, found)
    doubtful = np.zeros(q.shape, dtype=bool)
    if not field.is_exact:
        doubtful = np.isinf(q_error) & (known(q) | seen.faint[:, None])
        q[doubtful] = np.nan
    endless = weights == "visits" and bool((seen.chain.visited & seen.chain.stuck).any())
    v = found.v.copy()
    v[found.lacks_o] = field.undefined(1)[0]
    value, rounding = seen.first(v)
    tagged = field if field.is_exact else None
    return TDValues(
        P=P,
        pi=pi,
        weights=weights,
        n=n if lam is None else None,
        lam=lam,
        value=value,
        q=Table(q, P.O, P.A, tagged, "q(o, a)"),
        v=Vector(v, P.O, tagged, "v(o)"),
        reached=Vector(seen.reached, P.O, None, "reached"),
        share=Vector(seen.observed, P.O, tagged, weights),
        error=error + rounding,
        q_error=Table(q_error, P.O, P.A, None, "error of q(o, a)"),
        note=describe_undefined(seen.chain, weights, doubtful),
        method=found.method,
        endless=endless,
        share_error=seen.observed_error,
    )


def lambda_discrepancy(
    P: POMDP,
    pi: Policy,
    lam: tuple[Number, Number] = (0, 1),
    norm: float = 2,
    exact: bool = False,
    weights: str = "visits",
) -> Number:
    """How far apart the fixed points of two lambdas are; 0 where the observations are Markov under
    pi.

    The norm runs over the pairs (o, a) that pi meets, each with its share of the visits, rho(o)
    pi(a|o), where rho is the normalised weight of the observations in the sense of `weights`:

        norm 1: sum rho pi |difference|      norm 2: sqrt(sum rho pi difference^2)
        norm inf: the largest |difference|

    In exact arithmetic a norm that is not rational is a sympy expression. In floats it is off by at
    most 1e-6 of the largest q-value, or refused. Where P(s|o) is not defined, neither is the norm:
    `NeverEnds` says which weights are.

    >>> from workbench.core.pomdp import POMDP
    >>> from workbench.core.policy import uniform
    >>> P = POMDP.from_functions(
    ...     name="count",
    ...     A=["go"],
    ...     p=lambda s, a: {(s + 1, s): 1},
    ...     omega=lambda s: {"o": 1},
    ...     mu={0: 1},
    ...     gamma=1,
    ...     terminal={3},
    ... )
    >>> lambda_discrepancy(P, uniform(P), exact=True, norm=1)
    Fraction(1, 3)
    """
    if norm not in (1, 2, np.inf):
        raise WorkbenchError(f"norm must be 1, 2 or inf, not {norm!r}")
    gap = _gap(P, pi, lam, exact, weights, None)
    if gap.is_float:
        return gap.float_norm(norm)
    total = gap.total(norm)
    return _root(total) if norm == 2 else total


def discrepancy_loss(
    P: POMDP,
    pi: Policy,
    lam: tuple[Number, Number] = (0, 1),
    alpha: Number = 1,
    exact: bool = False,
    weights: str = "discounted",
) -> Number:
    """The lambda-discrepancy as Allen et al. (NeurIPS 2024, "Mitigating partial observability in
    sequential decision processes via the lambda discrepancy") minimise it: the square of a norm
    that weighs observations alike.

        sum_o rho(o) sum_a pi(a|o) (q_lam1(o,a) - q_lam0(o,a))^2,
        rho(o) = alpha / (number of observations that are met) + (1 - alpha) share(o)

    Their analytical code takes alpha = 1 and discounted occupancies, both in P(s|o) and in share,
    which are the defaults here. alpha = 0 gives the square of `lambda_discrepancy` with norm 2 and
    the same weights; what is said there of floats holds of the root.

    >>> from workbench.core.pomdp import POMDP
    >>> from workbench.core.policy import uniform
    >>> P = POMDP.from_functions(
    ...     name="count",
    ...     A=["go"],
    ...     p=lambda s, a: {(s + 1, s): 1},
    ...     omega=lambda s: {"o": 1},
    ...     mu={0: 1},
    ...     gamma=1,
    ...     terminal={3},
    ... )
    >>> discrepancy_loss(P, uniform(P), exact=True)
    Fraction(1, 9)
    """
    alpha = number(alpha)
    if not is_symbolic(alpha) and not 0 <= alpha <= 1:
        raise WorkbenchError(f"alpha must lie in [0, 1], not {alpha}")
    gap = _gap(P, pi, lam, exact, weights, alpha)
    return gap.float_norm(2) ** 2 if gap.is_float else gap.total(2)


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

    def float_norm(self, norm: float) -> float:
        """The norm; `NotSolved` if it may be off by much."""
        rho, one, other = np.array(self.terms, dtype=float).T
        d = np.abs(one - other)
        if norm == np.inf:
            found, error = d.max(), self.errors.max()
        elif norm == 1:
            found, error = rho @ d, rho @ self.errors
        else:
            found, error = np.sqrt(rho @ d**2), np.sqrt(rho @ self.errors**2)
        error += self.share_error * (found + error)
        size = max(np.abs(one).max(), np.abs(other).max())
        if not error <= _ACCURACY * size and size > 0:
            raise NotSolved(
                f"the lambda-discrepancy of {self.name} is {found:.3g} in floats and may be off by "
                f"{error:.1g}: the policy may take extremely long to end; exact=True tells"
            )
        return float(found)

    def total(self, norm: float) -> Number:
        """The norm in exact numbers; for norm 2, its square."""
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
    weights: str,
    alpha: Number | None,
) -> _Gap:
    """The values at two lambdas; with alpha, observations have part of their weight alike."""
    one, other = (td_values(P, pi, lam=x, exact=exact, weights=weights) for x in lam)
    met = int(one.reached.raw.sum())
    terms, errors = [], []
    for i in np.flatnonzero(one.reached.raw).tolist():
        for j in range(len(P.A)):
            if pi.prob[i, j] != 0:
                o, a = P.O[i], P.A[j]
                share = one.share[o]
                if alpha is not None and share is not None:
                    even = Fraction(1, met) if exact or is_symbolic(share) else 1 / met
                    share = alpha * even + (1 - alpha) * share
                weight = share if share is None else share * pi.prob[i, j]
                terms.append((weight, one.q[o, a], other.q[o, a]))
                errors.append(one.q_error.raw[i, j] + other.q_error.raw[i, j])
    if any(x is None or (isinstance(x, float) and np.isnan(x)) for row in terms for x in row):
        if not one.endless:
            raise NotSolved(
                f"the lambda-discrepancy of {P.name} is not known: {one.note or other.note} "
                "exact=True tells"
            )
        others = [x for x in ("discounted", "stationary") if x != weights]
        raise NeverEnds(
            f"the lambda-discrepancy of {P.name} is not defined: P(s|o) by {weights} does not "
            f"exist where the policy goes, since it never ends; pass weights={others[0]!r}"
            + (f" or {others[1]!r}" if len(others) > 1 else "")
        )
    return _Gap(P.name, terms, np.array(errors), one.share_error)


# ---------------------------------------------------------------------- arguments


def _check_target(n: Any, lam: Any) -> Number | None:
    if isinstance(n, bool) or not isinstance(n, int | np.integer):
        raise WrongType(f"n is a number of steps, not {n!r}")
    if n < 1:
        raise WorkbenchError(f"n must be at least 1, not {n}")
    if lam is None:
        return None
    if n != 1:
        raise WorkbenchError(f"give n={n} or lam={lam}, not both")
    lam = number(lam)
    if not is_symbolic(lam) and not 0 <= lam <= 1:
        raise WorkbenchError(f"lam must lie in [0, 1], not {lam}")
    return lam


def _field(P: POMDP, pi: Policy, lam: Number | None, exact: bool) -> Field:
    """Floats, or the exact field of all the symbols."""
    symbols = (
        P.symbols
        | pi.prob.symbols
        | (lam.free_symbols if lam is not None and is_symbolic(lam) else frozenset())
    )
    if not exact and not symbols:
        return FLOATS
    P.require_exact()
    if not pi.is_exact:
        raise NotExact(
            "exact arithmetic needs an exact policy, but this one was given as floats: use "
            "Fractions"
        )
    if isinstance(lam, float):
        raise NotExact(
            f"exact arithmetic needs an exact lambda, not the float {lam!r}: use a Fraction"
        )
    return exact_field(symbols)
