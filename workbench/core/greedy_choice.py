"""Which column of each row is greedy, and how ties are broken.

Exact q-values are compared exactly. Floats are compared by bounds on their errors. Where these
leave a row open,

    reasons     actions that lead to states of the same kind with the same chances tie as long as
                the same rows of the policy are equal (`bisimulation`)
    fractions   q is evaluated exactly, where task, start and steps are exact and it is not too much
                work
    rounding    else it is a tie, and what was greedy before stays so

Columns are actions in the order in which ties are broken.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.core import oracle_kernels as kernels
from workbench.core.bisimulation import kinds_of_states, same_actions
from workbench.core.errors import NotSolved
from workbench.core.oracle import Look
from workbench.core.pomdp import POMDP
from workbench.core.space import Label
from workbench.core.words import show

EQUAL, ROUNDING = "equal", "within rounding"
_REASONS, _FRACTIONS, _ROUNDING = range(3)
_LEAST = 1e-200

Actions = NDArray[np.int64]
Array = NDArray[Any]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Tie:
    """Actions among which greedy had to be told which to take.

    Attributes
    ----------
    iterate : the first at which they tied.
    o, actions : the observation, and the actions, the one taken first.
    how : "equal"; or "within rounding": bounds on the errors of floats cannot tell them apart.
    """

    iterate: int
    o: Label
    actions: tuple[Label, ...]
    how: str
    words: str = field(default="", compare=False, repr=False)
    """Row and actions in the short form of the POMDP's labels."""

    def __str__(self) -> str:
        words = self.words or f"{show(self.o)}: {', '.join(map(show, self.actions))}"
        return f"iterate {self.iterate:,}, {words} ({self.how})"


class GreedyChoice(NamedTuple):
    """The greedy columns of a policy, -1 for rows without q-values.

    Attributes
    ----------
    tau : `tau[o]`.
    rows : those that the numbers alone left open, or that tie in fractions.
    tied : `tied[i, column]`, whether it ties with the column taken in `rows[i]`.
    how : `how[i]`, how that is known.
    """

    tau: Actions
    rows: Actions
    tied: Mask
    how: NDArray[np.int64]


class Chooser:
    """Chooses for one policy after another.

    Attributes
    ----------
    same, alike : `[o, column]`, columns with the same entry do the same; are known to tie as long
        as greedy stays what it is.
    asks : `asks[o]`, whether somebody may be able to tell what floats cannot.
    """

    def __init__(self, P: POMDP, order: Actions, is_exact: bool):
        self.P, self.order, self._is_exact = P, order, is_exact
        self.same = np.ascontiguousarray(same_actions(P)[:, order])
        self.alike = self.same.copy()
        self.asks = np.ones(len(P.O), dtype=np.uint8)
        self._learned = np.zeros(len(P.O), dtype=bool)
        # the ties so far by row, columns and how, with the iterate of the first; and what each row
        # was last told to be
        self._ties: dict[tuple[int, tuple[int, ...], str], int] = {}
        self._told = np.zeros(self.same.shape, dtype=np.int8)
        # (twins, kinds of states, columns that tie), the last two that were asked for
        self._equal: list[tuple[Actions, Actions, Array]] = []

    def forget(self, everything: bool) -> None:
        """Forget the ties that rest on the last greedy policy, and those that rest on twins."""
        which = slice(None) if everything else self._learned
        self.alike[which] = self.same[which]
        self._learned[:] = False

    def restore(self, n: int) -> None:
        """Go back to iterate n."""
        self._ties = {key: first for key, first in self._ties.items() if first <= n}
        self._told[:] = 0
        self.forget(True)

    # ---------------------------------------------------------------- floats

    def compare(self, found: Look, alike: Array, before: Actions) -> tuple[Actions, Mask]:
        """The greedy columns as far as bounds tell, and which rows are open."""
        seen = ~np.isnan(found.q).all(axis=1)
        reach = np.where(seen, np.maximum(found.error, _LEAST), 0.0)
        q = np.where(np.isnan(found.q), -np.inf, found.q)
        tau = np.empty(len(q), dtype=np.int64)
        is_open = np.empty(len(q), dtype=np.uint8)
        kernels.choose_greedy(np.ascontiguousarray(q), reach, 1.0, alike, before, tau, is_open)
        return tau, is_open > 0

    def tied(self, found: Look, rows: Actions, twin: Actions) -> tuple[Mask, Mask]:
        """The columns of each row that may be the largest, and whether their tie is unexplained."""
        q = np.where(np.isnan(found.q[rows]), -np.inf, found.q[rows])
        # inf - inf is no number, and leaves everything open as it should
        with np.errstate(invalid="ignore"):
            tied = ~(q < q.max(axis=1, keepdims=True) - 2 * found.error[rows, None])
        tied &= np.isfinite(q)
        equal = self._equal_for(twin)[rows]
        first = np.take_along_axis(equal, tied.argmax(axis=1)[:, None], axis=1)
        return tied, (tied & (equal != first)).any(axis=1)

    def settle(
        self,
        found: Look,
        tau: Actions,
        is_open: Mask,
        twin: Actions,
        ask: Callable[[], Array | None],
    ) -> GreedyChoice:
        """Decide the open rows. `ask` gives q in fractions, or None."""
        rows = np.flatnonzero(is_open)
        if not len(rows):
            return GreedyChoice(tau, rows, np.zeros((0, len(self.order)), dtype=bool), rows)
        tied, unclear = self.tied(found, rows, twin)
        how = np.where(unclear, _ROUNDING, _REASONS)
        tau[rows[~unclear]] = tied[~unclear].argmax(axis=1)
        left = np.flatnonzero(how == _ROUNDING)
        if len(left) and (exact := ask()) is not None:
            for i in left.tolist():
                numbers = exact[rows[i]]
                top = max(numbers[a] for a in np.flatnonzero(tied[i]))
                tied[i] &= numbers == top
                how[i], tau[rows[i]] = _FRACTIONS, tied[i].argmax()
        elif np.isinf(found.error[rows[left]]).any():
            o = int(rows[left[np.isinf(found.error[rows[left]])][0]])
            raise NotSolved(
                f"{self.P.name}: o={self.P.O.text(self.P.O[o])} is seen, and floats cannot find "
                "how often to any accuracy, so that nothing is known about q(o, a) there: use "
                + ("exact=True" if self._is_exact else "Fractions and exact=True")
            )
        return GreedyChoice(tau, rows, tied, how)

    def _equal_for(self, twin: Actions) -> Array:
        """`equal[o, column]`: those with the same entry tie under every policy with these twins."""
        begin = None
        for last, kind, equal in self._equal:
            if np.array_equal(last, twin):
                return equal
            # kinds are split as twins are: go on from those of twins that are now split further
            if len(np.unique(np.stack([last, twin]), axis=1).T) == len(np.unique(twin)):
                begin = kind
        kind = kinds_of_states(self.P, twin, begin)
        equal = same_actions(self.P, kind)[:, self.order]
        self._equal = [*self._equal[-1:], (twin.copy(), kind, equal)]
        return equal

    def learn(
        self, choice: GreedyChoice, twin: Actions, ahead: Callable[[], list[Array | None]]
    ) -> None:
        """Remember ties, so that they are not asked about at every iterate.

        Columns that are equal in fractions here and at the places `ahead` are taken to be equal as
        long as greedy stays what it is.
        """
        rows, how = choice.rows, choice.how
        self.asks[rows[how == _ROUNDING]] = 0  # nobody can tell, now or later
        if len(reasons := rows[how == _REASONS]):
            self.alike[reasons] = self._equal_for(twin)[reasons]
        several = np.flatnonzero((how == _FRACTIONS) & (choice.tied.sum(axis=1) > 1))
        places = ahead() if len(several) else []
        for i in several.tolist():
            o, columns = rows[i], np.flatnonzero(choice.tied[i])
            if all(q is not None and (q[o, columns] == q[o, columns[0]]).all() for q in places):
                joined = np.isin(self.same[o], self.same[o, columns])
                self.alike[o, joined] = self.alike[o, columns[0]]
                self._learned[o] = True

    # ---------------------------------------------------------------- fractions

    def choose_exactly(self, found: Look) -> GreedyChoice:
        """The greedy columns of exact numbers."""
        tau, tied = np.full(len(found.q), -1), np.zeros(found.q.shape, dtype=bool)
        for o, row in enumerate(found.q):
            if defined := [x for x in row if x is not None]:
                tied[o] = row == max(defined)
                tau[o] = tied[o].argmax()
        rows = np.flatnonzero(
            (tied & (self.same != self.same[np.arange(len(tau)), tau, None])).any(axis=1)
        )
        return GreedyChoice(tau, rows, tied[rows], np.full(len(rows), _FRACTIONS))

    # ---------------------------------------------------------------- what is told

    def tell(self, n: int, choice: GreedyChoice) -> None:
        """Note the ties of iterate n."""
        told = (choice.tied * (1 + choice.how)[:, None]).astype(np.int8)
        fresh = (told != self._told[choice.rows]).any(axis=1)
        self._told[choice.rows] = told
        for i in np.flatnonzero(fresh).tolist():
            columns = self.tied_in(choice, i)
            if len(columns) > 1:
                self._ties.setdefault((int(choice.rows[i]), columns, how_known(choice, i)), n)

    def tied_in(self, choice: GreedyChoice, i: int) -> tuple[int, ...]:
        """The columns that tie in a row, the one taken first, one of each set that do the same."""
        o = choice.rows[i]
        found: dict[int, int] = {}
        for a in (int(choice.tau[o]), *np.flatnonzero(choice.tied[i]).tolist()):
            found.setdefault(int(self.same[o, a]), a)
        return tuple(found.values())

    @property
    def ties(self) -> tuple[Tie, ...]:
        """The ties so far, with their labels."""
        found = []
        for (o, columns, how), n in sorted(self._ties.items(), key=lambda tie: (tie[1], tie[0])):
            actions = tuple(self.P.A[int(self.order[a])] for a in columns)
            words = f"{self.P.O.text(self.P.O[o])}: {', '.join(map(self.P.A.text, actions))}"
            found.append(Tie(n, self.P.O[o], actions, how, words))
        return tuple(found)


def how_known(choice: GreedyChoice, i: int) -> str:
    """How it is known that the columns of `choice.rows[i]` tie."""
    return ROUNDING if choice.how[i] == _ROUNDING else EQUAL
