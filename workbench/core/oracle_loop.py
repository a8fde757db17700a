"""What all oracle loops have in common (Section 5.2): a policy that is moved, the trail of greedy
choices, and the rows that have to be decided exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.decision import ROUNDING, Answer, Decision, TableOf, Tie
from workbench.core.errors import NotSolved
from workbench.core.fields import RATIONALS, Field
from workbench.core.numbers import Number
from workbench.core.pair_oracle import PairPolicy
from workbench.core.policy import Policy, tie_order
from workbench.core.pomdp import POMDP
from workbench.core.trail import Actions, Trail
from workbench.core.way import Way, stays_exactly

MOST_TAUS = 12
"""Ties are proved to last on what at most so many greedy policies span."""

TableArray = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Glance:
    """What a policy on the way ahead is like: its value, q, its greedy actions, the ties among
    them."""

    value: Any
    q: TableArray
    greedy: Actions
    ties: dict[int, Answer]


class Loop:
    """pi, moved step by step towards the greedy policy of each iterate.

    Attributes
    ----------
    field : of the numbers; pi : `pi[o, a]` over it, as it is now.
    greedy : the greedy actions of the last iterate, -1 for rows without q-values.
    kept : the product of 1 - step since the greedy actions last changed: how much of the policy of
        then is left.
    trail : all greedy choices so far; ties : those that had to be broken, in order.
    """

    field: Field
    kept: float
    greedy: Actions

    def __init__(self, P: POMDP, start: Policy, ties: str, weights: str, criterion: str = "return"):
        self.P, self.weights, self.criterion = P, weights, criterion
        self.order = tie_order(P.A, ties)
        self.trail = Trail(start)
        self.decision = Decision(P, weights, self.order, start, criterion)
        self._ties: dict[tuple[int, tuple[int, ...], str], Tie] = {}
        self._taus: list[Actions] = []
        self._same = self.decision.same

    @property
    def pi(self) -> TableArray:
        raise NotImplementedError

    @property
    def ties(self) -> tuple[Tie, ...]:
        return tuple(self._ties.values())

    def advance(
        self, steps: Sequence[Number], settled: float = -1.0, fresh: float = -1.0
    ) -> tuple[NDArray[Any], NDArray[np.uint64]]:
        """Make iterates: their values, and a mark of each greedy policy.

        It ends when the steps are used up, or when `kept` is at most `settled`, or `fresh` once
        greedy has changed. It may end before that; at least one iterate is made.
        """
        raise NotImplementedError

    def look_ahead(self, goal: Actions, x: Fraction) -> Glance:
        """What x pi + (1 - x) goal is like, a policy on the way to `goal`."""
        raise NotImplementedError

    def first_doubt(self, goal: Actions, shares: Sequence[Fraction], begin: int) -> int:
        """The first of some places x pi + (1 - x) goal, from one on, that has to be looked at: at
        those before it `goal` is greedy for certain on the rows that have one."""
        return begin

    def along(self, goal: Actions) -> Way | None:
        """Whether `goal` is greedy on all of the way to it, on the rows that have one; None where
        that can only be looked at in places."""
        return None

    def restore(self, pi: TableArray, length: int) -> None:
        """Go back to the policy that the loop had after so many steps."""
        self.trail.cut(length)
        self._ties = {key: tie for key, tie in self._ties.items() if tie.iterate <= length}

    def _exactly(self, goal: Actions, asked: NDArray[np.bool_]) -> Way:
        """The way to a goal in fractions; `asked[o, a]` are the actions in question."""
        nothing, rows = np.zeros(len(goal), dtype=bool), np.asarray(asked.any(axis=1))
        rivals = {o: np.flatnonzero(asked[o]).tolist() for o in np.flatnonzero(rows).tolist()}
        if not rivals:
            return Way(nothing, nothing)
        stays = None
        if self.decision.is_exact:
            stays = stays_exactly(
                self.P, self.weights, self.trail.table(RATIONALS), goal, rivals, self.decision.rank
            )
        if stays is None:
            return Way(nothing, rows)
        return Way(np.array([not stays.get(o, True) for o in range(len(goal))]), nothing)

    # ---------------------------------------------------------------- open rows

    def _decided(
        self,
        q: TableArray,
        rivals: dict[int, Actions],
        table_of: TableOf,
        twins: Actions,
        n: int | None = None,
        pair: PairPolicy | None = None,
        doubtful: Sequence[int] = (),
    ) -> dict[int, Answer]:
        """Answers on open rows; those of iterate n are kept as ties if they are. On doubtful rows
        there has to be one that is known."""
        if not rivals:
            return {}
        settled = self.decision.settle(table_of, rivals, q, self.greedy, twins, pair)
        answers = dict(sorted(settled.items()))  # ties are told row by row, however they were found
        self._require_answers(doubtful, answers)
        if n is not None:
            self._keep_ties(n, answers)
        return answers

    def _keep_ties(self, n: int, answers: dict[int, Answer]) -> None:
        """Note the ties of iterate n that are new."""
        for o, answer in answers.items():
            key = o, tuple(answer.tied.tolist()), answer.how
            if len(answer.tied) > 1 and key not in self._ties:
                actions = tuple(self.P.A[a] for a in answer.tied.tolist())
                words = f"{self.P.O.text(self.P.O[o])}: {', '.join(map(self.P.A.text, actions))}"
                self._ties[key] = Tie(n, self.P.O[o], actions, answer.how, words)

    def _require_answers(self, doubtful: Sequence[int], answers: dict[int, Answer]) -> None:
        """Refuse where nothing is known about a row, and nobody can tell what is greedy there."""
        unknown = [o for o in doubtful if o in answers and answers[o].how == ROUNDING]
        if unknown:
            o = self.P.O.text(self.P.O[unknown[0]])
            advice = "exact=True" if self.decision.is_exact else "Fractions and exact=True"
            raise NotSolved(
                f"{self.P.name}: o={o} is seen, and floats cannot find how often to any accuracy, "
                f"so that nothing is known about q(o, a) there: use {advice}"
            )

    def _join_for_good(
        self, twins: Actions, answers: dict[int, Answer], *tables: NDArray[np.int64]
    ) -> dict[int, Answer]:
        """Join the entries of actions in some tables that tie as long as these twins stay twins;
        the answers on other rows."""
        equal, rest = self.decision.equal_actions(twins), {}
        for o, answer in answers.items():
            tied = answer.tied
            if len(tied) > 1 and (equal[o, tied] == equal[o, tied[0]]).all():
                self._join(o, tied, *tables)
            else:
                rest[o] = answer
        return rest

    def _join(self, o: int, tied: Actions, *tables: NDArray[np.int64]) -> None:
        """Give actions that tie, and those that do the same, the same entry."""
        joined = (self._same[o][:, None] == self._same[o, tied]).any(axis=1)
        for table in tables:
            table[o, joined] = table[o, tied[0]]

    def _lasting(
        self, answers: dict[int, Answer], table_of: TableOf, tau: Actions, fresh: bool
    ) -> list[int]:
        """The rows whose ties last while greedy is one of `_taus`, to which tau is added."""
        if fresh:
            # Proofs that a tie lasts cost a solve for each policy: only the latest ones are kept.
            self._taus = [*self._taus, tau.copy()][-MOST_TAUS:]
        return self.decision.lasting(table_of, self._taus, answers)


def keeps_twins(greedy: Actions, twins: Actions) -> bool:
    """Whether rows that are twins have the same greedy action, so that they stay equal."""
    return bool(np.array_equal(greedy, greedy[twins]))


def parted(twins: Actions, goal: Actions) -> Actions:
    """The first of the twins of each row that have the same goal."""
    both = np.stack([twins, goal])
    _, first, inverse = np.unique(both, axis=1, return_index=True, return_inverse=True)
    return np.asarray(first[inverse.reshape(-1)], dtype=np.int64)


def mixed(pi: TableArray, greedy: Actions, x: Any) -> TableArray:
    """x pi + (1 - x) greedy, on the rows that have a greedy action."""
    rows = np.flatnonzero(greedy >= 0)
    table = pi.copy()
    table[rows] = table[rows] * x
    table[rows, greedy[rows]] += 1 - x
    return table


def policy_ahead(trail: Trail, goal: Actions, x: Fraction) -> TableOf:
    return lambda field: mixed(trail.table(field), goal, field.one(x))
