"""Which column of each row is greedy, and which ties had to be broken.

Exact q-values are compared exactly. Floats are compared by bounds on their errors; where these
leave a row open it is a tie, and what was greedy before stays so. Nothing else is asked: on all
recorded runs the loop ends where it did when such rows were decided in fractions (docs/core.md).

Columns are actions in the order in which ties are broken.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core import oracle_kernels as kernels
from workbench.core.errors import NotSolved
from workbench.core.numbers import Numbers
from workbench.core.oracle import Look
from workbench.core.pomdp import POMDP
from workbench.core.rows import add_rows, own_rows
from workbench.core.space import Label
from workbench.text import show

EQUAL, ROUNDING = "equal", "within rounding"
_LEAST = 1e-200

Actions = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class Tie:
    """Actions among which greedy had to be told which to take.

    Attributes
    ----------
    iterate : the first at which actions of this row tied.
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


class Chooser:
    """Chooses for one policy after another.

    Attributes
    ----------
    same : `same[o, column]`, columns with the same entry do the same.
    first, tied, taken : `[o]`, the iterate at which columns of a row first tied, -1 before that;
        `tied[o, column]`, which ones; and the column that was taken.
    """

    def __init__(self, P: POMDP, order: Actions, is_exact: bool):
        self.P, self.order, self.is_exact = P, order, is_exact
        self.same = np.ascontiguousarray(same_actions(P)[:, order])
        self.first = np.full(len(P.O), -1, dtype=np.int64)
        self.tied = np.zeros(self.same.shape, dtype=np.uint8)
        self.taken = np.zeros(len(P.O), dtype=np.int64)

    def choose(self, found: Look, before: Actions, stays: bool = True) -> tuple[Actions, Mask]:
        """The greedy columns, -1 for rows without q-values, and which rows are open. In these,
        several columns that do not do the same may be the best; with `stays`, the one that was
        greedy before is preferred among them."""
        tau = np.full(len(found.q), -1)
        if self.is_exact:
            tied = self.candidates(found)
            seen = np.flatnonzero(tied.any(axis=1))
            tau[seen] = tied[seen].argmax(axis=1)
            return tau, (tied & (self.same != self.same[np.arange(len(tau)), tau, None])).any(
                axis=1
            )
        reach = np.where(~np.isnan(found.q).all(axis=1), np.maximum(found.error, _LEAST), 0.0)
        q = np.where(np.isnan(found.q), -np.inf, found.q)
        is_open = np.empty(len(q), dtype=np.uint8)
        kernels.choose_greedy(
            np.ascontiguousarray(q), reach, self.same, before, stays, tau, is_open
        )
        return tau, is_open > 0

    def candidates(self, found: Look) -> Mask:
        """`[o, column]`, whether it may be the best."""
        if self.is_exact:
            tops = [max((x for x in row if x is not None), default=None) for row in found.q]
            return np.array([[x is not None and x == top for x in row]
                             for row, top in zip(found.q, tops, strict=True)])  # fmt: skip
        q = np.where(np.isnan(found.q), -np.inf, found.q)
        # inf - inf is no number, and leaves everything open as it should
        with np.errstate(invalid="ignore"):
            return ~(q < q.max(axis=1, keepdims=True) - 2 * found.error[:, None]) & np.isfinite(q)

    def refuse_unknown(self, found: Look, is_open: Mask) -> None:
        """Raise `NotSolved` if a row is open because floats know nothing about it."""
        if not self.is_exact and np.isinf(found.error[is_open]).any():
            o = int(np.flatnonzero(is_open & np.isinf(found.error))[0])
            raise NotSolved(
                f"{self.P.name}: o={self.P.O.text(self.P.O[o])} is seen, and floats cannot find "
                "how often to any accuracy, so that nothing is known about q(o, a) there: use "
                + ("exact=True" if self.P.is_exact else "Fractions and exact=True")
            )

    def tell(self, n: int, found: Look, tau: Actions, is_open: Mask) -> None:
        """Note the ties of iterate n."""
        self.refuse_unknown(found, is_open)
        fresh = is_open & (self.first < 0)
        if fresh.any():
            self.first[fresh], self.taken[fresh] = n, tau[fresh]
            self.tied[fresh] = self.candidates(found)[fresh]

    def distinct(self, o: int, taken: int, tied: Mask) -> tuple[int, ...]:
        """The columns that tie in a row, the one taken first, one of each set that do the same."""
        found: dict[int, int] = {}
        for a in (taken, *np.flatnonzero(tied).tolist()):
            found.setdefault(int(self.same[o, a]), a)
        return tuple(found.values())

    @property
    def how(self) -> str:
        return EQUAL if self.is_exact else ROUNDING

    def ties(self, n: int) -> tuple[Tie, ...]:
        """The ties of the first n iterates, with their labels."""
        found, P = [], self.P
        for o in np.lexsort((np.arange(len(self.first)), self.first)).tolist():
            if 0 <= self.first[o] < n:
                columns = self.distinct(o, int(self.taken[o]), self.tied[o] > 0)
                actions = tuple(P.A[int(self.order[a])] for a in columns)
                words = f"{P.O.text(P.O[o])}: {', '.join(map(P.A.text, actions))}"
                found.append(Tie(int(self.first[o]), P.O[o], actions, self.how, words))
        return tuple(found)


def same_actions(P: POMDP) -> NDArray[np.int64]:
    """`same[o, a]`: actions with the same entry have the same outcomes in every state behind o.

    Such actions tie under every policy: a write on the last step, a step into one of two walls.
    Outcomes that end are the same if they pay the same. Outcomes are compared by hashes of 64 bits.
    """
    goal = np.where(P.terminal.mask[P.p.s_next], len(P.S), P.p.s_next)
    outcome = _scramble(_codes(P.p.prob))
    outcome = _scramble(_scramble(outcome ^ _codes(P.p.r)) ^ _scramble(goal.astype(np.uint64)))
    rows = add_rows(P.p.row_ptr, outcome, np.zeros(len(P.S) * len(P.A), dtype=np.uint64))
    rows = rows.reshape(len(P.S), len(P.A))
    entry_s = own_rows(P.omega.row_ptr)
    seen = np.flatnonzero(~P.terminal.mask[entry_s])
    found = np.zeros((len(P.O), len(P.A)), dtype=np.uint64)
    state = _scramble(entry_s[seen].astype(np.uint64))[:, None]
    np.add.at(found, P.omega.o[seen], _scramble(rows[entry_s[seen]] ^ state))
    return found.view(np.int64)


def _codes(numbers: Numbers) -> NDArray[np.uint64]:
    """A whole number for each entry, the same for equal ones."""
    if numbers.codes is not None:
        return numbers.codes.astype(np.uint64)
    codes = np.unique(numbers.floats, return_inverse=True)[1]
    return np.asarray(codes.reshape(numbers.shape), dtype=np.uint64)


def _scramble(x: NDArray[Any]) -> NDArray[np.uint64]:
    """The mixing function of splitmix64 (Steele, Lea and Flood 2014)."""
    with np.errstate(over="ignore"):
        x = x + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(x ^ (x >> np.uint64(31)))
