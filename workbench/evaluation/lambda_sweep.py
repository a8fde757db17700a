"""TD(lambda) values for lambda from 0 to 1, and where greedy changes on the way (Section 5.1).

lambda = 0 is one-step TD, lambda = 1 is Monte Carlo, the true q_pi(o, a). In between q(o, a) is a
continuous function of lambda wherever it is defined, so greedy changes where two actions cross;
each crossing is found by bisection. Actions that are undefined at some lambda (they lead to
observations that pi does not visit) take no part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.errors import WorkbenchError
from workbench.evaluation.shortcuts import td_error
from workbench.evaluation.td import td_values
from workbench.model.policy import Policy, tie_order
from workbench.model.pomdp import POMDP
from workbench.model.space import Label
from workbench.model.ties import greedy_actions, sign_of_difference

_HALVINGS = 30


@dataclass(frozen=True)
class Crossing:
    """At `lam` greedy at `o` changes from action `before` to action `after`, both worth `q`
    there."""

    o: Label
    lam: float
    before: Label
    after: Label
    q: float


@dataclass(frozen=True, eq=False)
class LambdaSweep:
    """TD(lambda) values by lambda.

    Attributes
    ----------
    lam : `lam[i]`, rising from 0 to 1.
    o : the observations looked at.
    q : `q[i, o, a]`, the fixed point at lam[i], `o` by its place in `self.o`; NaN where undefined.
        `q[-1]` is Monte Carlo.
    crossings : where greedy changes, by observation, lambda rising.
    """

    P: POMDP
    pi: Policy
    weights: str
    lam: NDArray[np.float64]
    o: tuple[Label, ...]
    q: NDArray[np.float64]
    crossings: tuple[Crossing, ...]


def sweep_lambda(
    P: POMDP,
    pi: Policy,
    o: Sequence[Label] | None = None,
    points: int = 31,
    ties: str = "last",
    weights: str = "visits",
) -> LambdaSweep:
    """The fixed points of TD(lambda) on a grid of lambdas.

    Parameters
    ----------
    P : the POMDP, augmented or not.
    pi : a policy for it.
    o : the observations to look at; those that pi reaches if None.
    points : how many lambdas, from 0 to 1.
    ties, weights : as for `improve`.

    >>> from fractions import Fraction
    >>> from workbench.model.policy import uniform
    >>> P = POMDP.from_functions(
    ...     name="two coins",
    ...     A=[0, 1],
    ...     p=lambda s, a: {(s + 1, s * a): 1},
    ...     omega=lambda s: {"o": 1},
    ...     mu={0: 1},
    ...     gamma=Fraction(1, 2),
    ...     terminal={2},
    ... )
    >>> sweep = sweep_lambda(P, uniform(P), points=3)
    >>> sweep.q[:, 0, 1].round(4).tolist(), sweep.crossings
    ([0.5833, 0.6071, 0.625], ())
    """
    if points < 2:
        raise WorkbenchError(f"a sweep needs at least 2 points, not {points}")
    lam = np.linspace(0, 1, points)
    tables = [td_values(P, pi, lam=float(x), weights=weights) for x in lam]
    if o is None:
        o = [label for label, reached in zip(P.O, tables[0].reached.raw, strict=True) if reached]
    rows = [P.O.index(label) for label in o]
    q = np.array([table.q.raw[rows] for table in tables])
    errors = [td_error(table) for table in tables]
    chosen = _greedy(q, tie_order(P.A, ties), errors)

    def values(x: float, row: int) -> NDArray[np.float64]:
        found: NDArray[np.float64] = td_values(P, pi, lam=x, weights=weights).q.raw[row]
        return found

    crossings = []
    for place, row in enumerate(rows):
        for i in np.flatnonzero(np.diff(chosen[:, place])).tolist():
            before, after = int(chosen[i, place]), int(chosen[i + 1, place])
            low, high = float(lam[i]), float(lam[i + 1])
            if (low == 0 and _tied(q[i, place], before, after, errors[i])) or (
                high == 1 and _tied(q[-1, place], before, after, errors[-1])
            ):
                continue  # they meet at the end of the range and do not cross
            for _ in range(_HALVINGS):
                middle = (low + high) / 2
                now = values(middle, row)
                low, high = (middle, high) if now[before] > now[after] else (low, middle)
            crossings.append(
                Crossing(P.O[row], high, P.A[before], P.A[after], float(values(high, row)[after]))
            )
    return LambdaSweep(
        P=P,
        pi=pi,
        weights=weights,
        lam=lam,
        o=tuple(o),
        q=q,
        crossings=tuple(crossings),
    )


def _greedy(
    q: NDArray[np.float64], order: NDArray[np.int64], errors: Sequence[float]
) -> NDArray[np.int64]:
    """`chosen[i, o]`, greedy among the actions that are defined at every lambda; -1 where there are
    none."""
    always = np.where(np.isnan(q).any(axis=0, keepdims=True), np.nan, q)
    return np.array(
        [greedy_actions(table, order, error) for table, error in zip(always, errors, strict=True)]
    )


def _tied(q: NDArray[np.float64], one: int, other: int, error: float) -> bool:
    return not sign_of_difference(float(q[one]), float(q[other]), 2 * error)
