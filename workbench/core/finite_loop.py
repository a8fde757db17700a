"""The oracle loop on tasks of finite horizon in floats, compiled.

States lie in topological order, so that visits and values are one pass each (`loop_kernels`). The
kernel comes back where greedy changes or where its error bound leaves a row open.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core import loop_kernels as kernels
from workbench.core.decision import ROUNDING, Answer
from workbench.core.fields import FLOATS
from workbench.core.horizon import unroll
from workbench.core.numbers import Number
from workbench.core.oracle_loop import (
    MOST_TAUS,
    Glance,
    Loop,
    keeps_twins,
    mixed,
    parted,
    policy_ahead,
)
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.trail import Actions, exact_size
from workbench.core.way import Way, WayForms
from workbench.core.way_kernels import LEAVES, STAYS

_CHANGES = 4_096
"""Changes of greedy that the compiled loop notes before it comes back."""

TableArray = NDArray[Any]


class FiniteHorizon(Loop):
    """The compiled loop."""

    field = FLOATS

    def __init__(self, P: POMDP, start: Policy, ties: str, weights: str):
        super().__init__(P, start, ties, weights)
        self._unrolled = unroll(P, self.order, weights)
        nS, nO, nA = len(self._unrolled.tables.mu), len(P.O), len(P.A)
        self._room = self._new_room(nS, nO, nA)
        self._place = np.argsort(self.order)
        self._until: tuple[tuple[int, bytes], NDArray[np.int64]] | None = None
        # the tables of what is alike have their columns in the order of ties, like pi
        self._same = np.ascontiguousarray(self._same[:, self.order])
        self._choice = kernels.LoopChoice(
            greedy=np.full(nO, -1, dtype=np.int64),
            found=np.full(nO, -1, dtype=np.int64),
            open=np.zeros(nO, dtype=np.uint8),
            ask=np.ones(nO, dtype=np.uint8),
            alike=self._same.copy(),
            always=self._same.copy(),
            same=self._same,
            twins=self.trail.twins,
            allowed=np.zeros(MOST_TAUS, dtype=np.uint64),
            changes=np.empty((_CHANGES + nO, 3), dtype=np.int64),
            changed=np.zeros(1, dtype=np.int64),
        )
        self._state = kernels.LoopState(
            pi=np.ascontiguousarray(start.prob.floats[:, self.order]),
            kept=np.ones(1),
            mark=np.zeros(1, dtype=np.uint64),
            settled=np.full(1, -1.0),
        )

    @staticmethod
    def _new_room(nS: int, nO: int, nA: int) -> kernels.LoopRoom:
        return kernels.LoopRoom(
            np.empty(nS), np.empty(nS), np.empty((1, nA)), np.empty((nO, nA)), np.empty(nO)
        )

    @property
    def pi(self) -> TableArray:
        return self._labelled(self._state.pi)

    def restore(self, pi: TableArray, length: int) -> None:
        self._state.pi[:] = pi[:, self.order]
        super().restore(pi, length)
        choice, self._until = self._choice, None
        choice.twins[:], choice.allowed[:] = self.trail.twins, 0
        choice.always[:] = choice.alike[:] = self._same

    def _labelled(self, table: TableArray) -> TableArray:
        """Columns back in the order of A."""
        found = np.empty_like(table)
        found[:, self.order] = table
        return found

    def _named(self, greedy: Actions) -> Actions:
        return np.where(greedy < 0, -1, self.order[greedy])

    @property
    def kept(self) -> float:  # type: ignore[override]
        return float(self._state.kept[0])

    @property
    def greedy(self) -> Actions:  # type: ignore[override]
        return self._named(self._choice.greedy)

    def _bound(self, n: int) -> float:
        return self._unrolled.error + n * self._unrolled.growth

    def look_ahead(self, goal: Actions, x: Fraction) -> Glance:
        room = self._new_room(len(self._room.d), *self._room.q.shape)
        pi = np.ascontiguousarray(mixed(self.pi, goal, float(x))[:, self.order])
        value = kernels.evaluate_policy(self._unrolled.tables, pi, room)
        found, is_open = np.empty_like(self._choice.found), np.empty_like(self._choice.open)
        # The mixture rounds twice more than the policy it starts from.
        bound = self._bound(self.trail.length + 2)
        known = self._known_until(goal) if x > 0 else self._same
        kernels.choose_greedy(
            room.q, room.weight, bound, known, self._choice.greedy, found, is_open
        )
        rivals = self._rivals(room, bound, found, is_open)
        ties: dict[int, Answer] = {}
        if rivals:
            twins = parted(self.trail.twins, goal)
            ties = self._decided(
                self._labelled(room.q), rivals, policy_ahead(self.trail, goal, x), twins
            )
        greedy = self._named(found)
        for o, answer in ties.items():
            greedy[o] = answer.best
        with np.errstate(divide="ignore", invalid="ignore"):
            q = np.where(room.weight[:, None] > 0, room.q / room.weight[:, None], np.nan)
        return Glance(value, self._labelled(q), greedy, ties)

    def first_doubt(self, goal: Actions, shares: Sequence[Fraction], begin: int) -> int:
        places = np.where(goal < 0, -1, self._place[goal])
        choice = self._choice
        return int(
            kernels.first_doubt(
                self._unrolled.tables,
                self._state.pi,
                places,
                np.array([float(x) for x in shares]),
                begin,
                self._bound(self.trail.length + 2),
                self._known_until(goal),
                choice.greedy,
                np.empty_like(self._state.pi),
                self._new_room(len(self._room.d), *self._room.q.shape),
                np.empty_like(choice.found),
                np.empty_like(choice.open),
            )
        )

    def along(self, goal: Actions) -> Way | None:
        if not self._forms.is_short:
            return None
        places = np.where(goal < 0, -1, self._place[goal])
        error, alike = self._bound(self.trail.length), self._known_until(goal)
        verdict = self._forms.judge(self._state.pi, places, error, alike)
        leaving = (verdict == LEAVES).any(axis=1)
        if leaving.any():  # what else may leave makes no difference
            return Way(leaving, np.zeros_like(leaving))
        return self._exactly(goal, self._labelled(verdict != STAYS))

    @cached_property
    def _forms(self) -> WayForms:
        return WayForms(self._unrolled)

    def _known_until(self, goal: Actions) -> NDArray[np.int64]:
        """Which actions are known to be alike on the way to a goal. It is looked at in many places:
        the answer is kept until the loop moves on."""
        key = self.trail.length, goal.tobytes()
        if self._until is None or self._until[0] != key:
            known = self._same
            if keeps_twins(goal, self.trail.twins):
                mark = kernels.mark_of(np.where(goal < 0, -1, self._place[goal]))
                allowed = mark in self._choice.allowed
                known = self._choice.alike if allowed else self._choice.always
            self._until = key, known
        return self._until[1]

    def _rivals(
        self, room: kernels.LoopRoom, bound: float, found: Actions, is_open: NDArray[np.uint8]
    ) -> dict[int, Actions]:
        """The actions of each open row that may be the largest."""
        rivals = {}
        for o in np.flatnonzero(is_open).tolist():
            enough = room.q[o].max() - 2 * bound * room.weight[o]
            rivals[o] = self.order[np.flatnonzero(room.q[o] >= enough)]
        return rivals

    def advance(
        self, steps: Sequence[Number], settled: float = -1.0, fresh: float = -1.0
    ) -> tuple[NDArray[Any], NDArray[np.uint64]]:
        sizes, keeps = _sizes_and_rests(steps)
        values, marks = np.empty(len(sizes)), np.empty(len(sizes), dtype=np.uint64)
        age, made = self.trail.length, 0
        self._state.settled[0] = settled
        while made < len(sizes):
            before = made
            made, why = kernels.run_loop(
                self._unrolled.tables,
                self._state,
                self._choice,
                self._room,
                sizes,
                keeps,
                made,
                age,
                self._unrolled.error,
                self._unrolled.growth,
                fresh,
                values,
                marks,
            )
            self._note(steps[before:made])
            # The kernel stopped before the step: values[made] is there, the step is not.
            if why == kernels.ASKS:
                self._answer(age + made)
                marks[made] = kernels.take_step(
                    self._state, self._choice, sizes[made], keeps[made], age + made, fresh
                )
                self._note(steps[made : made + 1])
                made += 1
            if self._state.kept[0] <= self._state.settled[0]:
                break
        return values[:made], marks[:made]

    def _join(self, o: int, tied: Actions, *tables: NDArray[np.int64]) -> None:
        super()._join(o, self._place[tied], *tables)

    def _note(self, steps: Sequence[Number]) -> None:
        """Move what the kernel noted to the trail."""
        count = int(self._choice.changed[0])
        for n, o, a in self._choice.changes[:count].tolist():
            self.trail.turn(n, o, -1 if a < 0 else int(self.order[a]))
        self._choice.changed[0] = 0
        self.trail.extend(steps)

    def _answer(self, n: int) -> None:
        """Decide the open rows of iterate n; the greedy actions are left in `found`."""
        choice = self._choice
        rivals = self._rivals(self._room, self._bound(n), choice.found, choice.open)
        rivals = {o: a for o, a in rivals.items() if choice.ask[o]}
        twins = choice.twins[:] = self.trail.twins
        answers = self._decided(self._labelled(self._room.q), rivals, self.trail.table, twins, n)
        place = self._place
        for o, answer in answers.items():
            choice.found[o] = place[answer.best]
            if answer.how == ROUNDING:
                choice.ask[o] = 0  # nobody can tell, now or later
        answers = self._join_for_good(twins, answers, choice.always, choice.alike)
        mark = kernels.mark_of(choice.found)
        fresh = mark not in choice.allowed
        if fresh:  # what was known is known for fewer policies
            choice.alike[:] = choice.always
        if not answers:  # nothing that would have to be proved to last
            return
        for o in self._lasting(answers, self.trail.table, self._named(choice.found), fresh):
            self._join(o, answers[o].tied, choice.alike)
        choice.allowed[:] = 0
        for i, tau in enumerate(self._taus):
            choice.allowed[i] = kernels.mark_of(np.where(tau < 0, -1, place[tau]))


def _sizes_and_rests(steps: Sequence[Number]) -> tuple[TableArray, TableArray]:
    """Steps as floats, and 1 - step as floats, right to a unit of rounding of themselves."""
    sizes = np.array([float(step) for step in steps])
    rests = 1.0 - sizes
    # up to here a step is rounded by so little that the rounding of the difference leaves room
    for i in np.flatnonzero(sizes > 0.25).tolist():
        rests[i] = _nearest_rest(steps[i])
    return sizes, rests


@lru_cache(maxsize=256, typed=True)  # most steps are of one size
def _nearest_rest(step: Number) -> float:
    return float(1 - exact_size(step))
