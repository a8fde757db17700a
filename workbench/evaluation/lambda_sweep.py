"""TD(lambda) values for lambda from 0 to 1, and where greedy changes on the way (Section 5.1).

lambda = 0 is one-step TD, lambda = 1 is Monte Carlo, the true q_pi(o, a). In between q(o, a) is a
continuous function of lambda wherever it is defined, so greedy changes where two actions cross.
Between neighbours of the grid at which different actions are greedy for certain, the first change
is found by bisection, and then the next, until the action of the upper neighbour is reached. What
is greedy only between two neighbours that agree is not seen, and points of the grid at which
actions meet are passed over. Actions that are undefined at some lambda (they lead to observations
that pi does not visit) take no part, nor do those that no lambda of the grid tells from another.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import WorkbenchError, WrongType
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.space import Label
from workbench.core.td import TDValues, td_values
from workbench.core.ties import tie_order
from workbench.progress import Waiting
from workbench.tables.sheet import Column, Drawn, Sheet, Showing

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
class LambdaSweep(Showing, Drawn):
    """TD(lambda) values by lambda.

    Attributes
    ----------
    lam : `lam[i]`, rising from 0 to 1.
    o : the observations looked at.
    q : `q[i, o, a]`, the fixed point at lam[i], `o` by its place in `self.o`; NaN where undefined.
        `q[-1]` is Monte Carlo.
    crossings : where greedy changes, by observation, lambda rising.
    """

    figure: ClassVar[str] = "lambda_sweep"

    P: POMDP
    pi: Policy
    weights: str
    lam: NDArray[np.float64]
    o: tuple[Label, ...]
    q: NDArray[np.float64]
    crossings: tuple[Crossing, ...]

    def sheet(self) -> Sheet:
        """The two ends and the middle of the sweep, a row for each pair (o, a)."""
        P, looks = self.P, (0, len(self.lam) // 2, len(self.lam) - 1)
        columns = (
            Column("o", "the observation"),
            Column("a", "the action"),
            *(Column(f"TD({self.lam[i]:.2g})") for i in looks),
        )
        rows = tuple(
            (P.O.text(o), P.A.text(a), *(float(self.q[i, k, j]) for i in looks))
            for k, o in enumerate(self.o)
            for j, a in enumerate(P.A)
        )
        places = ", ".join(f"{x.lam:.3g} ({P.O.text(x.o)})" for x in self.crossings[:5])
        more = len(self.crossings) - 5
        said = f"The greedy action changes at lambda {places}{f' and {more} more' * (more > 0)}."
        if not places:
            said = "The greedy action is the same for every lambda."
        notes = ("TD(1) is Monte Carlo.",)
        return Sheet(f"Values by TD(lambda) on {P.name}", columns, rows, said, notes)


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

    A system is solved for each lambda, and up to 30 for each change of greedy: about 20 s for
    points=3 on gravity with OA1, where greedy changes at many observations.

    >>> from pomdps import recall4
    >>> from workbench import augment, uniform
    >>> E = augment(recall4(), "B1")
    >>> sweep = sweep_lambda(E, uniform(E), points=3)
    >>> [(x.o, round(x.lam, 4), x.before, x.after) for x in sweep.crossings]
    [(('0', 'o'), 0.0263, (3, '1'), (1, '1'))]

    See also: `td_values`, `lambda_discrepancy`.
    """
    if isinstance(points, bool) or not isinstance(points, int | np.integer):
        raise WrongType(f"points is a whole number, not {points!r}")
    if points < 2:
        raise WorkbenchError(f"a sweep needs at least 2 points, not {points}")
    lam = np.linspace(0, 1, points)
    tables: dict[float, TDValues] = {}

    def table_at(x: float) -> TDValues:
        if x not in tables:
            waiting.tell(f"{len(tables):,} lambdas")
            tables[x] = td_values(P, pi, lam=x, weights=weights)
        return tables[x]

    with Waiting(f"lambda sweep of {P.name}") as waiting:
        grid = [table_at(x) for x in lam.tolist()]
        if o is None:
            o = [label for label, reached in zip(P.O, grid[0].reached.raw, strict=True) if reached]
        rows = [P.O.index(label) for label in o]
        order = tie_order(P.A, ties).tolist()
        crossings = []
        for row in rows:
            curves = _Curves(table_at, row, lam.tolist(), order)
            for x, before, after in curves.changes():
                worth = float(table_at(x).q.raw[row, after])
                crossings.append(Crossing(P.O[row], x, P.A[before], P.A[after], worth))
    return LambdaSweep(
        P=P,
        pi=pi,
        weights=weights,
        lam=lam,
        o=tuple(o),
        q=np.array([table.q.raw[rows] for table in grid]),
        crossings=tuple(crossings),
    )


class _Curves:
    """The q-values of one observation by lambda, those of actions that are told apart."""

    def __init__(
        self,
        table_at: Callable[[float], TDValues],
        row: int,
        grid: list[float],
        order: list[int],
    ):
        self._table_at, self._row, self._grid = table_at, row, grid
        q, error = (np.array(x) for x in zip(*map(self._bounded, grid), strict=True))
        self._actions: list[int] = []
        for a in order:
            apart = [np.abs(q[:, a] - q[:, b]) > error[:, a] + error[:, b] for b in self._actions]
            if not np.isnan(q[:, a]).any() and all(some.any() for some in apart):
                self._actions.append(a)

    def _bounded(self, x: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        table = self._table_at(x)
        return table.q.raw[self._row], table.q_error.raw[self._row]

    def _possible(self, x: float) -> list[int]:
        """The actions that may be greedy at x."""
        q, error = self._bounded(x)
        enough = max(q[a] - error[a] for a in self._actions)
        return [a for a in self._actions if q[a] + error[a] >= enough]

    def changes(self) -> Iterator[tuple[float, int, int]]:
        """Where greedy changes, from which action, and to which."""
        if len(self._actions) < 2:
            return
        for (low, before), (high, last) in pairwise(self._certain()):
            while before != last:
                low, after = self._first_change(low, high, before, last)
                yield low, before, after
                before = after

    def _certain(self) -> Iterator[tuple[float, int]]:
        """Points of the grid with the one action that is greedy there."""
        for x in self._grid:
            if len(possible := self._possible(x)) == 1:
                yield x, possible[0]

    def _first_change(self, low: float, high: float, before: int, last: int) -> tuple[float, int]:
        """Where greedy leaves `before` between two places, and for which action."""
        after = last
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            q, possible = self._bounded(middle)[0], self._possible(middle)
            # bounds say which actions cross, floats where
            if before in possible and after in possible:
                possible = [before, after]
            greedy = max(possible, key=lambda a: q[a])
            if greedy == before:
                low = middle
            else:
                high, after = middle, greedy
        return high, after
