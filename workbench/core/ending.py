"""How the oracle loop ends: the search for a limit, or a limit cycle, among its iterates.

A limit. While greedy stays tau, pi_n = x pi + (1-x) tau lies on the segment from the policy pi at
which it became tau to tau itself, whatever the steps; x is the product of 1 - eps since then. Once
x is small, the rest of the segment is judged: where tau is greedy everywhere, it is the limit.
Where it is not, the loop goes on, and comes past the place or turns there.

    finite horizon      decided for all x: differences of q-values times weight are polynomials
                        (`way`). A row that floats leave open, in a task of floats or where
                        fractions would be too much work, is looked at in places, and the note
                        names it.
    states come back    looked at in places down to x = 0 (`places`). This is seen and not proved:
                        a change of greedy and back between two places may be missed.

A limit on the rows that matter. Some rows may go on changing for ever although the policy that the
others tend to never visits them. Rows on which greedy has not changed for long go to tau, the
others stay where they are: if no row of the second kind is visited at x = 0, and tau is greedy on
all rows of the first kind on the way, nothing that counts changes any more. A settled row on which
tau does not stay greedy on the way counts as one that changes, if it is not visited at x = 0. Like
a limit cycle this is seen and not proved: the other rows are looked at in one place of their way
round, though greedy has kept to tau while they went round many times.

A limit cycle. With a constant step the loop is a contraction between changes of tau, so that it can
be expected to end in a cycle. When the marks of tau have been periodic for so long that nothing
else is left in pi, it has.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.chain import dynamics
from workbench.core.decision import ROUNDING
from workbench.core.errors import Multichain, NeverEnds, NotSolved, NotWeighted, TooLarge
from workbench.core.evaluate import evaluate
from workbench.core.fields import FLOATS
from workbench.core.loop_kernels import period_of
from workbench.core.numbers import Number, Numbers, number
from workbench.core.oracle_loop import Glance, Loop, mixed
from workbench.core.places import WayPlaces
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.trail import Actions
from workbench.evaluation.exact_value import exact_value
from workbench.progress import Waiting

Schedule = Callable[[int], Number]
"""The step to take at iterate n = 0, 1, 2, ..."""

_SMALL_ENOUGH = 1e-2
"""When so little is left of the policy at which greedy last changed, the rest of the way is
judged."""

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

_UNANSWERED = (NeverEnds, NotSolved, NotWeighted, Multichain)
"""What an oracle says about policies that have no q-values."""


class LoopRun:
    """The iterates so far, and the search for an end."""

    def __init__(
        self,
        P: POMDP,
        start: Policy,
        loop: Loop,
        steps: Schedule,
        constant: bool,
        budget: int,
        waiting: Waiting,
    ):
        self.P, self.start, self.loop, self.steps = P, start, loop, steps
        self.constant, self.budget, self.waiting = constant, budget, waiting
        self.values: list[NDArray[Any]] = []
        self.marks: list[NDArray[np.uint64]] = []
        self.n, self.least = 0, 1
        # the last look ahead in vain: the mark of the greedy policy, and how much was left on the
        # way to it
        self.failed: tuple[int, float] | None = None
        # whether all of the way was decided, and the rows on which it was not, at the last look
        self.decided, self.open = False, np.zeros(len(P.O), dtype=bool)
        # a policy that has been evaluated, to fall back on, and how many steps it is from the start
        self.sound = loop.pi, 0

    def collect(self) -> dict[str, Any]:
        """How it ended, as the fields of `Improvement` that depend on it."""
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
        except _UNANSWERED as error:
            if not self.values:
                raise
            return self._last("budget", f"The next iterate cannot be evaluated: {error}", WINDOW)

    def _advance(self, count: int) -> float:
        """Make some iterates; the seconds that it took."""
        began, before = self.waiting.seconds, self.loop.pi
        steps = [self.steps(self.n + i) for i in range(count)]
        try:
            values, marks = self.loop.advance(steps, self._small_enough(), _SMALL_ENOUGH)
        except (KeyboardInterrupt, *_UNANSWERED):
            self.loop.restore(before, self.n)  # pi belongs to the values that are kept
            raise
        self.sound = before, self.n
        self.values.append(values)
        self.marks.append(marks)
        self.n += len(values)
        self.waiting.report(
            self.n / self.budget, f"{self.n:,} iterates, value {float(number(values[-1])):.6g}"
        )
        return self.waiting.seconds - began

    def _policy(self, table: NDArray[Any]) -> Policy:
        return Policy(self.P, Numbers.of(self.loop.field.leave(table)))

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
        goal = self.loop.greedy
        # A full step may lead to rows that nothing led to before: greedy says nothing there yet.
        if (goal[self._seen_at(goal)] < 0).any():
            return None
        try:
            return None if len(self._restless(goal)) else self._fixed(goal, "")
        except _UNANSWERED:
            return None

    def _limit_where_it_matters(self) -> dict[str, Any] | None:
        """The end of the run, if rows that still change are none that the others lead to."""
        # Rows that changed lately may be on a round without end: they stay where they are, and must
        # not count.
        goal = self.loop.greedy
        moving = np.array([self.loop.trail.kept(o) > LONG_SINCE for o in range(len(goal))])
        if not moving.any() or moving.all():
            return None
        goal = np.where(moving, -1, goal)
        try:
            for _ in range(MOST_LOOKS):
                seen = self._seen_at(goal)
                if (goal[seen] < 0).any():
                    return None
                # a row that leaves its goal and does not count is one more that goes on changing
                counts = np.zeros(len(goal), dtype=bool)
                counts[seen] = True
                restless = self._restless(goal, counts)
                if not len(restless):
                    return self._fixed(goal, _STILL_CHANGING)
                goal[restless] = -1
        except _UNANSWERED:
            pass
        return None

    def _restless(
        self, goal: Actions, counts: NDArray[np.bool_] | None = None
    ) -> NDArray[np.int64]:
        """The rows on which `goal` does not stay greedy on the rest of the way, up to the first
        place where one that counts, as a rule any, is among them; without that one, if others left
        before: they may be the reason."""
        way = self.loop.along(goal)
        self.decided = way is not None and way.is_clear
        self.open = np.zeros(len(goal), dtype=bool) if way is None else way.open
        if self.decided:
            return np.empty(0, dtype=np.int64)
        counted = np.ones(len(goal), dtype=bool) if counts is None else counts
        places = WayPlaces(self.loop, goal)
        found = places.leaving_on_grid(counted)
        if not found.any():  # it may do so between two places
            if way is None:
                # to look should not cost more than the loop did
                found = places.leaving_between(1 - float(self.steps(self.n)), self.n)
            else:
                found = way.leaving
            found = found & ~counted if (found & ~counted).any() else found
        return np.flatnonzero(found)

    def _seen_at(self, goal: Actions) -> NDArray[np.int64]:
        """The observations that the policy at the end of the way sees."""
        floats = np.array(self.loop.field.leave(self.loop.pi), dtype=np.float64)
        chain = dynamics(self.P, FLOATS).follow(mixed(floats, goal, 0.0))
        entry_s = chain.D.entry_s
        counted = (chain.visited & ~self.P.terminal.mask)[entry_s]
        if self.loop.criterion == "average":  # what is seen a few times only does not count
            counted &= np.isin(entry_s, np.concatenate(chain.classes()))
        return np.unique(chain.D.entry_o[counted])

    def _fixed(self, goal: Actions, note: str) -> dict[str, Any] | None:
        """The end at `goal`, which is greedy on the rest of the way, on the rows that go there;
        None if it is not greedy at its end."""
        end = self.loop.look_ahead(goal, Fraction(0))
        ties = self._ties_at(end, goal)
        if ties is None:
            return None
        limit = self.completed(goal)
        # where it goes is known; the caller wants so many values all the same
        while self.n < self.least:
            self._advance(self.least - self.n)
        value, exact = self._worth(limit, goal)
        return {
            "ended": "fixed",
            "value": exact if self.loop.field.is_exact else value,
            "mean": exact if self.loop.field.is_exact else value,
            "pi": limit,
            "greedy": limit,
            "limit": limit,
            "limit_value": exact,
            "decided": self.decided and not note,
            "note": " ".join(filter(None, (note, ties, self._undecided()))),
        }

    def _undecided(self) -> str:
        """A sentence on the rows on which the way was looked at, though it could have been decided
        if the numbers were exact, or shorter."""
        rows = [self.P.O.text(self.P.O[o]) for o in np.flatnonzero(self.open).tolist()]
        if not rows:
            return ""
        if len(rows) > _MOST_NAMED:
            rows = [*rows[:_MOST_NAMED], f"{len(rows) - _MOST_NAMED} more"]
        listed = " and ".join(filter(None, (", ".join(rows[:-1]), rows[-1])))
        return f"On o={listed} greedy was looked at in places of the way, and not decided on all."

    def _ties_at(self, end: Glance, goal: Actions) -> str | None:
        """A sentence on ties at the limit itself; None if the limit is not greedy there."""
        note = ""
        reached = np.flatnonzero((end.greedy >= 0) & (goal >= 0))
        for o in reached[end.greedy[reached] != goal[reached]].tolist():
            answer = end.ties.get(o)
            # the limit may be greedy all the way and tie only at its very end
            if self.loop.field.is_exact:
                tied = end.q[o, end.greedy[o]] == end.q[o, goal[o]]
            else:
                tied = answer is not None and goal[o] in answer.tied
            if not tied:
                return None
            note = (
                f"At the limit itself actions tie on o={self.P.O.text(self.P.O[o])}, and greedy "
                "prefers another one."
            )
        for o, answer in end.ties.items():
            if not note and len(answer.tied) > 1:
                how = {ROUNDING: "cannot be told apart in floats"}.get(
                    answer.how, f"are {answer.how}"
                )
                names = [self.P.A.text(self.P.A[a]) for a in answer.tied.tolist()]
                if len(names) > _MOST_NAMED:
                    names = [*names[:_MOST_NAMED], f"{len(names) - _MOST_NAMED} more"]
                listed = ", ".join(names[:-1]) + f" and {names[-1]}"
                note = f"At the limit on o={self.P.O.text(self.P.O[o])} the actions {listed} {how}."
        return note

    def _worth(self, limit: Policy, goal: Actions) -> tuple[float, Number]:
        """The value of the limit, as a float, and exact if the task is."""
        if self.loop.criterion == "average":
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
        if self.P.is_exact and (goal[self._seen_at(goal)] >= 0).all():
            try:
                # rows without a goal are not seen, and need not be exact
                exact = exact_value(self.P, Policy.from_actions(self.P, np.maximum(goal, 0)))
                return float(exact), exact
            except TooLarge:
                pass
        found = evaluate(self.P, limit, exact=self.loop.field.is_exact).value
        return float(found), found

    def completed(self, goal: Actions) -> Policy:
        """The policy that takes `goal`; rows without one are as they are in pi."""
        # rows that were never moved are given as they were told, exact if the start is
        pi, field = self.loop.pi, self.loop.field
        kept = goal < 0
        untouched = np.array_equal(pi[kept], field.enter(self.start.prob)[kept])
        return completed(self.P, goal, self.start if untouched else self._policy(pi))

    # ---------------------------------------------------------------- limit cycles, and no end

    def _period(self) -> int | None:
        """The period of the greedy policy, if it has had one for so long that nothing else is left
        in pi."""
        if not self.constant:
            return None
        marks = np.concatenate(self.marks)
        settle = settling_time(float(self.steps(0)))
        found = int(period_of(marks, settle, np.empty(len(marks) + 1, dtype=np.int64)))
        return found or None

    def _one_by_one(self, ended: str, window: int) -> dict[str, Any]:
        """The last iterates, with the range of each probability."""
        low = high = self.loop.pi
        for _ in range(window):
            self._advance(1)
            now = self.loop.pi
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
        loop = self.loop
        try:
            here = loop.look_ahead(np.full(len(self.P.O), -1), Fraction(1))
        except _UNANSWERED:  # go back to a policy that has been evaluated
            pi, n = self.sound
            loop.restore(pi, n)
            self.values = [np.concatenate(self.values)[:n]] if self.values else []
            here = loop.look_ahead(np.full(len(self.P.O), -1), Fraction(1))
        kind = object if loop.field.is_exact else np.float64
        self.values.append(np.array([here.value], dtype=kind))
        values = np.concatenate(self.values)[-window:]
        last = self._policy(loop.pi)
        return {
            "ended": ended,
            "value": loop.field.back(here.value),
            "mean": loop.field.back(values.sum() / len(values)),
            "pi": last,
            "greedy": completed(self.P, here.greedy, last),
            "note": note,
            "window": len(values),
            "amplitude": float(number(values.max() - values.min())),
            "policy_amplitude": np.nan,
        }


def settling_time(step: float) -> int:
    """How many steps leave next to nothing of a policy."""
    return 1 if step == 1 else int(np.ceil(np.log(SETTLED) / np.log1p(-step)))


def completed(P: POMDP, greedy: Actions, otherwise: Policy) -> Policy:
    """The greedy policy, with the rows of another one where it has no action."""
    kept = greedy < 0
    if not kept.any():
        return Policy.from_actions(P, greedy)
    if otherwise.is_exact:
        table = np.full((len(P.O), len(P.A)), Fraction(0), dtype=object)
        table[kept] = otherwise.prob.objects[kept]
    else:
        table = np.where(kept[:, None], otherwise.prob.floats, 0.0)
    table[~kept, greedy[~kept]] = 1
    return Policy(P, Numbers.of(table))
