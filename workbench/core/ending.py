"""A run of the oracle loop, followed to its end, and the end put into words."""

from __future__ import annotations

import math
import time
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.chain import exact_value
from workbench.core.dynamics import dynamics
from workbench.core.errors import TooLarge
from workbench.core.evaluate import evaluate
from workbench.core.fields import FLOATS
from workbench.core.greedy_choice import Actions
from workbench.core.numbers import Number, number
from workbench.core.oracle_loop import UNANSWERED, Glance, GreedyLoop
from workbench.core.period_kernels import period_of
from workbench.core.policy import Policy
from workbench.progress import Waiting

_SMALL_ENOUGH = 1e-2
"""When so little is left of the policy at which greedy last changed, the rest of the segment is
looked at."""

LONG_SINCE = 1e-6
"""When so little is left of what a row was when its greedy action last changed, it has settled."""

MOST_LOOKS = 12
"""So often rows that do not matter are left out before a look for a limit is given up."""

_STILL_CHANGING = "Rows that the limit does not visit go on changing; nothing else does."

FIRST_LOOK_FOR_CYCLES = 64
SETTLED = 1e-8
"""What may be left of a policy before its greedy policies count as all there is."""

WINDOW = 1_000
"""The last iterates, over which a run that was not seen to end is described."""

_MOST_NAMED = 3
"""Of more actions that tie at a limit only so many are named."""


class _TimeOver(Exception):
    """No iterate is begun after the time limit."""


class LoopRun:
    """The iterates so far, and the search for an end."""

    def __init__(
        self, loop: GreedyLoop, constant: bool, budget: int, least: int, waiting: Waiting,
        until: float = math.inf,
    ):  # fmt: skip
        self.P, self.loop, self.until = loop.P, loop, until
        self.constant, self.budget, self.least, self.waiting = constant, budget, least, waiting
        self.values: list[NDArray[Any]] = []
        self.marks: list[NDArray[np.uint64]] = []
        # the last look in vain: the mark of the greedy policy, and how much was left then
        self.failed: tuple[int, float] | None = None
        # a policy that has been evaluated, to fall back on, and how many steps it is from the start
        self.sound = loop.state

    @property
    def n(self) -> int:
        return self.loop.n

    def collect(self) -> dict[str, Any]:
        """How it ended, as the fields of `Improvement` that depend on it. No iterate is begun once
        the clock reads `until`."""
        window = min(WINDOW, max(1, self.budget // 2))
        look_for_cycles, chunk = FIRST_LOOK_FOR_CYCLES, 16
        try:
            while (left := self.budget - window - self.n) > 0:
                seconds = self._advance(min(chunk, left, look_for_cycles - self.n))
                # long chunks cost less per iterate, short ones let Ctrl-C and the display through
                chunk = (
                    min(2 * chunk, 8192)
                    if seconds < 0.05
                    else max(1, chunk // 2)
                    if seconds > 0.2
                    else chunk
                )
                if self._is_settled() and (found := self._limit()) is not None:
                    return found
                if self.n == look_for_cycles:
                    # looks grow rarer as the run grows longer, so that they stay a share of it
                    look_for_cycles = look_for_cycles * 3 // 2
                    if (found := self._limit_where_it_matters()) is not None:
                        return found
                    if (period := self._period()) is not None and self.n + period < self.budget:
                        return self._one_by_one("limit cycle", period)
            return self._one_by_one("budget", self.budget - 1 - self.n)
        except KeyboardInterrupt:
            if not self.values:
                raise
            return self._last("interrupted", "", WINDOW)
        except _TimeOver:
            return self._last("budget", "The time was over.", WINDOW)
        except UNANSWERED as error:
            if not self.values:
                raise
            return self._last("budget", f"The next iterate cannot be evaluated: {error}", WINDOW)

    def _advance(self, count: int) -> float:
        """Make some iterates, and return the seconds that it took."""
        if self.values and time.monotonic() > self.until:
            raise _TimeOver
        began, before = self.waiting.seconds, self.loop.state
        try:
            values, marks = self.loop.advance(count, self._small_enough(), _SMALL_ENOUGH)
        except (KeyboardInterrupt, *UNANSWERED):
            self.loop.restore(before)  # pi belongs to the values that are kept
            raise
        self.sound = before
        self.values.append(values)
        self.marks.append(marks)
        self.waiting.report(
            self.n / self.budget, f"{self.n:,} iterates, value {float(number(values[-1])):.6g}"
        )
        return self.waiting.seconds - began

    # ---------------------------------------------------------------- fixed

    def _small_enough(self) -> float:
        """What has to be left at most of the policy at which greedy last changed, before the next
        look ahead."""
        if self.failed is None or self.failed[0] != int(self.marks[-1][-1]):
            return _SMALL_ENOUGH
        return self.failed[1] ** 2 or -1.0  # rarer and rarer; where nothing is left, never

    def _is_settled(self) -> bool:
        return self.loop.kept <= self._small_enough()

    def _limit(self) -> dict[str, Any] | None:
        """The end of the run, if the greedy policy stays greedy all the way to itself."""
        self.failed = int(self.marks[-1][-1]), self.loop.kept
        goal = self.loop.greedy.copy()
        try:
            # A full step may lead to rows that nothing led to before: greedy knows none of them.
            if (goal[self.loop.seen_at(goal)] < 0).any():
                return None
            leaving = self.loop.leaving(goal, np.ones(len(goal), dtype=bool))
            return None if leaving.any() else self._fixed(goal, "")
        except UNANSWERED:
            return None

    def _limit_where_it_matters(self) -> dict[str, Any] | None:
        """The end of the run, if rows that still change are none that the others lead to."""
        # Rows that changed lately may be on a round without end: they stay where they are, and must
        # not count.
        goal = self.loop.greedy
        moving = np.array([self.loop.kept_since(o) > LONG_SINCE for o in range(len(goal))])
        if not moving.any() or moving.all():
            return None
        goal = np.where(moving, -1, goal)
        try:
            for _ in range(MOST_LOOKS):
                seen = self.loop.seen_at(goal)
                if (goal[seen] < 0).any():
                    return None
                # a row that leaves its goal and does not count is one more that goes on changing
                leaving = self.loop.leaving(goal, seen)
                if not leaving.any():
                    return self._fixed(goal, _STILL_CHANGING)
                goal[leaving] = -1
        except UNANSWERED:
            pass
        return None

    def _fixed(self, goal: Actions, note: str) -> dict[str, Any] | None:
        """The end at `goal`, if it stays greedy on the rest of the segment. None if it is not
        greedy at its end."""
        ties = self._ties_at(self.loop.glance(goal, Fraction(0)), goal)
        if ties is None:
            return None
        limit = self.loop.completed(goal)
        # where it goes is known; the caller wants so many values all the same
        while self.n < self.least:
            self._advance(self.least - self.n)
        value, exact = self._worth(limit, goal)
        worth = exact if self.loop.exact else value
        return {
            "ended": "fixed",
            "value": worth,
            "mean": worth,
            "pi": limit,
            "greedy": limit,
            "limit": limit,
            "limit_value": exact,
            "decided": self.loop.exact and self.loop.is_finite and not note,
            "note": " ".join(filter(None, (note, ties))),
        }

    def _ties_at(self, end: Glance, goal: Actions) -> str | None:
        """A sentence on ties at the limit itself, or None if the limit is not greedy there."""
        P, loop, note = self.P, self.loop, ""
        best = loop.chooser.candidates(end.found)
        for o in np.flatnonzero((end.tau >= 0) & (goal >= 0)).tolist():
            at = f"on o={P.O.text(P.O[o])}"
            # after a full step the policy is its limit, and moves on where greedy does
            if loop.kept == 0 and end.tau[o] != goal[o]:
                return None
            if not best[o, goal[o]]:
                if not self._splits(goal):
                    return None
                note = (
                    "The limit has several recurrent classes, whose shares of time are others than "
                    f"just before it: at the limit itself greedy prefers another action {at}."
                )
            elif end.is_open[o] and best[o].argmax() != goal[o]:
                # the limit may be greedy all the way and tie only at its very end
                note = f"At the limit itself actions tie {at}, and greedy prefers another one."
        for o in np.flatnonzero(end.is_open).tolist():
            tied = loop.chooser.distinct(o, int(end.tau[o]), best[o])
            if not note and len(tied) > 1:
                how = "are equal" if loop.exact else "cannot be told apart in floats"
                names = [P.A.text(P.A[a]) for a in loop.order[list(tied)].tolist()]
                if len(names) > _MOST_NAMED:
                    names = [*names[:_MOST_NAMED], f"{len(names) - _MOST_NAMED} more"]
                listed = ", ".join(names[:-1]) + f" and {names[-1]}"
                note = f"At the limit on o={P.O.text(P.O[o])} the actions {listed} {how}."
        return note

    def _splits(self, goal: Actions) -> bool:
        """Whether the long-run shares of time jump at the limit. Between its recurrent classes
        earlier policies go back and forth, however rarely, and the limit itself does not."""
        if self.loop.weights != "stationary" or self.loop.average:
            return False
        chain = dynamics(self.P, FLOATS).follow(self.loop.completed(goal).prob.floats)
        return sum(bool(chain.visited[members[0]]) for members in chain.classes()) > 1

    def _worth(self, limit: Policy, goal: Actions) -> tuple[float, Number]:
        """The value of the limit, as a float, and exact if the task is."""
        if self.loop.average:
            return self._average(limit)
        # rows that the limit never sees need not be exact, nor have a goal
        chain = dynamics(self.P, FLOATS).follow(limit.prob.floats)
        counted = (chain.visited & ~self.P.terminal.mask)[chain.D.entry_s]
        has_goal = (goal[chain.D.entry_o[counted]] >= 0).all()
        if self.P.is_exact and (has_goal or limit.is_exact):
            actions = np.where(goal < 0, -1, self.loop.order[goal])
            try:
                same = Policy.from_actions(self.P, actions) if has_goal else limit
                exact = exact_value(self.P, same)
                return float(exact), exact
            except TooLarge:
                pass
        found = evaluate(self.P, limit, exact=self.loop.exact).value
        return float(found), found

    def _average(self, limit: Policy) -> tuple[float, Number]:
        if self.P.is_exact and not limit.is_exact:
            # rows without a goal are seen a few times only: how they mix is no matter
            taken = (limit.prob.floats > 0).astype(int).tolist()
            even = [[Fraction(x, sum(row)) for x in row] for row in taken]
            same = evaluate(self.P, Policy(self.P, even), exact=True, criterion="average")
            if not same.note:  # there is one average
                return float(same.value), same.value
        is_exact = self.P.is_exact and limit.is_exact
        average = evaluate(self.P, limit, exact=is_exact, criterion="average").value
        return float(average), average

    # ---------------------------------------------------------------- limit cycles, and no end

    def _period(self) -> int | None:
        """The period of the greedy policy, if it is so old that earlier policies no longer count in
        pi."""
        if not self.constant:
            return None
        marks = np.concatenate(self.marks)
        settle = settling_time(float(self.loop.steps(0)))
        found = int(period_of(marks, settle, np.empty(len(marks) + 1, dtype=np.int64)))
        return found or None

    def _one_by_one(self, ended: str, window: int) -> dict[str, Any]:
        """The last iterates, with the range of each probability."""
        low = high = self.loop.pi.copy()
        for _ in range(window):
            self._advance(1)
            now = self.loop.pi.copy()
            low, high = np.where(now < low, now, low), np.where(now > high, now, high)
            if ended == "budget" and self._is_settled() and (found := self._limit()) is not None:
                return found
        if ended == "budget" and (found := self._limit_where_it_matters()) is not None:
            return found
        found = self._last(ended, "", max(1, window))
        found |= {"policy_amplitude": float(number((high - low).max()))}
        return found | ({"period": window} if ended == "limit cycle" else {})

    def _last(self, ended: str, note: str, window: int) -> dict[str, Any]:
        """The last policy, evaluated, and what its value did over some iterates."""
        loop, stay = self.loop, np.full(len(self.P.O), -1)
        try:
            here, tau, _ = loop.glance(stay, Fraction(1))
        except UNANSWERED:  # go back to a policy that has been evaluated, with greedy as it was
            loop.restore(self.sound)
            self.values = [np.concatenate(self.values)[: loop.n]] if self.values else []
            here, tau = loop.look(loop.pi), loop.greedy
        kind = object if loop.exact else np.float64
        self.values.append(np.array([here.value], dtype=kind))
        values = np.concatenate(self.values)[-window:]
        return {
            "ended": ended,
            "value": loop.field.back(here.value),
            "mean": loop.field.back(values.sum() / len(values)),
            "pi": loop.policy(),
            "greedy": loop.completed(tau),
            "note": note,
            "window": len(values),
            "amplitude": float(number(values.max() - values.min())),
            "policy_amplitude": np.nan,
        }


def settling_time(step: float) -> int:
    """How many steps leave next to nothing of a policy."""
    return 1 if step == 1 else int(np.ceil(np.log(SETTLED) / np.log1p(-step)))
