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

All of it is one sparse system, over states and observations, whose rows sum to at most one: a fixed
point fails to exist only where gamma is 1 and nothing ever ends. A target is an object; to add one:
a subclass of `TDTarget` that says what w is.

Where observations are states this is q_pi; elsewhere it need not be, and the paper's Figure 3 is
such a place. An entry is undefined (NaN, or None when exact) if its target reads with positive
probability an observation that is never visited.

>>> from pomdps import recall
>>> from workbench import uniform
>>> [
...     td_values(recall(), uniform(recall()), exact=True, **how).q["o", 3]
...     for how in ({"n": 1}, {"n": 2}, {"lam": 1})
... ]
[Fraction(52, 891), Fraction(21473, 453060), Fraction(1, 27)]
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from workbench.core.bootstrap import Bootstrap, Entries, Found, Later
from workbench.core.double_kernels import UNIT
from workbench.core.errors import NotExact, TooLarge, WorkbenchError, WrongType
from workbench.core.evaluate import check_arguments, describe_doubt, describe_endless
from workbench.core.fields import field_of
from workbench.core.numbers import Number, is_symbolic, number
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.weights import Weighting, known, mean_over_actions
from workbench.tables.sheet import Drawn
from workbench.tables.table import Table, Vector
from workbench.text import escape_html

_MOST_UNKNOWNS = 5_000_000
"""Systems of more unknowns are refused: a minute and a few GB."""

Array = NDArray[Any]

# ---------------------------------------------------------------------- targets


class TDTarget:
    """A target of TD updates. `solve` finds the values that equal their own expected target."""

    def solve(self, met: Bootstrap) -> Found:
        raise NotImplementedError


class NStep(TDTarget):
    """n rewards, then the value of the observation that is met."""

    def __init__(self, n: int):
        if isinstance(n, bool) or not isinstance(n, int | np.integer):
            raise WrongType(f"n is a number of steps, not {n!r}")
        if n < 1:
            raise WorkbenchError(f"n must be at least 1, not {n}")
        self.n = int(n)

    def __str__(self) -> str:
        return "one-step TD" if self.n == 1 else f"{self.n}-step TD"

    def solve(self, met: Bootstrap) -> Found:
        """One layer of states for each step: w_0 = u and w_{k+1} = r + gamma P w_k."""
        field, step, r = met.field, met.step, met.chain.r
        n, nS, one = self.n - 1, len(met.P.S), field.one(1)
        if self.n * nS > _MOST_UNKNOWNS:
            raise TooLarge(
                f"{self} of {met.P.name} has {self.n * nS:,} unknowns, more than "
                f"{_MOST_UNKNOWNS:,}: take a smaller n, or lam"
            )
        layer = nS * np.arange(n)[:, None]
        rows, columns = step.rows + layer, step.columns + nS + layer
        inner = Entries(rows.ravel(), columns.ravel(), np.tile(step.values, n))
        onto = met.omega._replace(rows=met.omega.rows + n * nS)
        over = np.where(met.D.alive, field.zeros(nS), one)
        lost = np.where(met.D.alive, one - met.D.gamma, one)
        side = np.concatenate([*[r] * n, field.zeros(nS)])
        size = np.concatenate([*[met.sizes] * n, np.zeros(nS)])
        leave = np.concatenate([*[lost] * n, over])
        return met.solve(Later(inner, onto, side, size, leave, met.chain.given + 4 * UNIT))


class Lambda(TDTarget):
    """The mixture (1 - lambda) sum_n lambda^(n-1) of n-step targets."""

    def __init__(self, lam: Number):
        self.lam = number(lam)
        if not is_symbolic(self.lam) and not 0 <= self.lam <= 1:
            raise WorkbenchError(f"lam must lie in [0, 1], not {self.lam}")

    def __str__(self) -> str:
        return f"TD({self.lam})"

    def solve(self, met: Bootstrap) -> Found:
        if self.lam == 1:
            return _monte_carlo(met)
        lam, field = met.field.one(self.lam), met.field
        one = field.one(1)
        inner = met.step._replace(values=met.step.values * lam)
        onto = met.omega._replace(values=met.omega.values * (one - lam))
        leave = np.where(met.D.alive, field.zeros(len(met.P.S)) + lam * (one - met.D.gamma), one)
        size = met.sizes * (1 if field.is_exact else lam)
        return met.solve(
            Later(inner, onto, lam * met.chain.r, size, leave, met.chain.given + 8 * UNIT)
        )


def _monte_carlo(met: Bootstrap) -> Found:
    """lambda = 1: nothing is bootstrapped, w is v_pi."""
    solved, undefined = met.chain.values()
    error = np.broadcast_to(solved.error, len(undefined))
    found = Found(met.field.zeros(0), error, met.lacks, solved.x, error, undefined, solved.method)
    q, q_error = met.q_values(found)
    v, v_error = mean_over_actions(met.field, met.table, met.chain.given, q, q_error)
    lacks = ~known(v)
    v[lacks], v_error[lacks] = met.field.one(0), 0.0
    return found._replace(v=v, v_error=v_error, lacks_o=lacks)


def td_target(n: Any, lam: Any) -> TDTarget:
    """The target of `td_values(n=n, lam=lam)`."""
    target = NStep(n)
    if lam is None:
        return target
    if n != 1:
        raise WorkbenchError(f"give n={n} or lam={lam}, not both")
    return Lambda(lam)


# ---------------------------------------------------------------------- with labels


@dataclass(frozen=True, eq=False)
class TDValues(Drawn):
    """What bootstrapping converges to.

    Attributes
    ----------
    n, lam : the target; one of them is None.
    q : `q[o, a]`; v : `v[o]`.
    value : the return that v promises, sum_o v(o) P(o first). With weights="discounted" and n = 1
        it is the true return.
    reached : `reached[o]`, whether o is seen in a state that is not terminal.
    share : `share[o]`, the part of the weight that o has among all observations; undefined where
        visits are infinite.
    error : a bound on the errors of each v(o) and of `value`, that of P_pi(s|o) included; 0 in
        exact arithmetic.
    q_error : `q_error[o, a]`, a bound on the error of each q; infinite where it is undefined.
    note : a sentence on what is undefined and why, or "".
    endless : whether some P(s|o) do not exist, since visits are infinite.
    share_error : a bound on the relative error of each share; 0 in exact arithmetic.
    """

    figure: ClassVar[str] = "q_table"

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
        return str(td_target(self.n or 1, self.lam))

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
    weights: str | Weighting = "visits",
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

    The system has n |S| unknowns: gravity with OA1 takes 1 s for n=100, and 15 s for n=1000.

    >>> from pomdps import recall
    >>> from workbench import augment, uniform
    >>> E = augment(recall(), "OA1")
    >>> start = ((None,), "o")
    >>> td_values(E, uniform(E), exact=True).q[start, (2, "push")] > 0
    True

    See also: `evaluate`, `shortcuts`, `sweep_lambda`, `lambda_discrepancy`.
    """
    weighing = check_arguments(P, pi, weights)
    target = td_target(n, lam)
    lam = target.lam if isinstance(target, Lambda) else None
    field = field_of(P, pi, exact, *([] if lam is None else [lam]))
    if field.is_exact and isinstance(lam, float):
        raise NotExact(
            f"exact arithmetic needs an exact lambda, not the float {lam!r}: use a Fraction"
        )
    met = Bootstrap(field, P, pi, weighing)
    found = target.solve(met)
    q, q_error = met.q_values(found)
    v, doubtful = found.v.copy(), met.seen.doubtful(q, q_error)
    v[found.lacks_o] = field.undefined(1)[0]
    if not field.is_exact:
        q[doubtful] = np.nan
        v[np.isinf(found.v_error)] = np.nan
    notes = describe_endless(met.chain, weighing), describe_doubt(P, doubtful)
    largest = float(np.max(found.v_error, where=~found.lacks_o, initial=0.0))
    value, value_error = met.first(v, largest)
    tagged = field if field.is_exact else None
    return TDValues(
        P=P,
        pi=pi,
        weights=weighing.name,
        n=int(n) if lam is None else None,
        lam=lam,
        value=value,
        q=Table(q, P.O, P.A, tagged, "q(o, a)"),
        v=Vector(v, P.O, tagged, "v(o)"),
        reached=Vector(met.seen.reached, P.O, None, "reached"),
        share=Vector(met.observed, P.O, tagged, weighing.name),
        error=max(largest, value_error),
        q_error=Table(q_error, P.O, P.A, None, "error of q(o, a)"),
        note=" ".join(filter(None, notes)),
        method=found.method,
        endless=bool(met.seen.endless.any()),
        share_error=met.observed_error,
    )
