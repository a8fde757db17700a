"""Oracle loops, followed to where they are seen to go.

Some rows may go on changing for ever although the policy that the others tend to never visits them.
So rows that have changed lately stay where they are, and the others go to tau: if none of the first
is visited at x = 0, and tau stays greedy on the others, nothing that counts changes any more.

With a constant step the loop is a contraction between changes of tau. When tau has been periodic
for so long that nothing else is left in pi, so has pi: a limit cycle.
"""

from __future__ import annotations

import math
import time
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.chain import exact_value
from workbench.core.errors import TooLarge
from workbench.core.evaluate import evaluate
from workbench.core.fields import FLOATS, Mask, dynamics
from workbench.core.loop_kernels import find_periods
from workbench.core.numbers import Number, number
from workbench.core.oracle_loop import UNANSWERED, Actions, Glance, GreedyLoop
from workbench.core.policy import Policy
from workbench.core.ties import EQUAL, ROUNDING, Tie
from workbench.progress import Waiting

_LONG_SINCE = 1e-6
"""When so little is left of what a row was when its greedy action last changed, it has settled."""

_SETTLED = 1e-8
"""What may be left of a policy before its greedy policies count as all there is."""

_MOST_LOOKS = 12
"""So often rows that do not matter are left out before a look for a limit is given up."""

_FIRST_LOOK = 64
"""The iterate at which a limit where it matters, or a cycle, is first looked for. The looks grow
rarer as the run grows longer, so that they stay a share of it."""

WINDOW = 1_000
"""The last iterates, over which a run that was not seen to end is described."""

_MOST_NAMED = 3
"""Of more actions that tie at a limit only so many are named."""


class Search:
    """Follow loops until each is seen where it goes. Who searches says what to note.

    Attributes
    ----------
    loops : those that are left; active : which of all they are.
    """

    def __init__(self, loops: Any, budget: int, step: Number | None):
        self.loops, self.budget, self.step = loops, budget, step
        self.active = np.arange(len(loops))

    @property
    def window(self) -> int:
        """How many iterates describe a run that was not seen to end."""
        return min(WINDOW, max(1, self.budget // 2))

    def run(self) -> None:
        """Run all loops to their ends."""
        stop, last = _FIRST_LOOK, self.budget - 1
        while len(self.active):
            while len(self.active) and self.loops.n < min(stop, last):
                self.loops.advance(min(stop, last) - self.loops.n)
                self._leave(self.loops.state.fixed, self.loops.state.greedy)
            if len(self.active):
                self._leave(*self._limits_that_count())
            if len(self.active) and self.loops.n == last:
                self.note_budget()
                return
            # what is left of the budget is for describing a run without an end
            if len(self.active) and self.loops.n + self.window <= self.budget:
                self._go_round()
            stop = stop * 3 // 2

    def note_limits(self, which: Mask, goal: Actions) -> Mask:
        """Note the limits of some loops, and return those that are some."""
        raise NotImplementedError

    def note_cycle(self, where: NDArray[np.int64], loops: Any, period: int) -> None:
        """Note what the last iterates of some loops were, once around."""
        raise NotImplementedError

    def note_budget(self) -> None:
        """Note how far the loops came that are left."""
        raise NotImplementedError

    def _leave(self, gone: Mask, goal: Actions) -> None:
        """Go on without the loops that have a limit."""
        if gone.any():
            gone = self.note_limits(gone.copy(), goal)
            self.loops.state.fixed[:] = False
            self._drop(gone)

    def _drop(self, gone: Mask) -> None:
        if gone.any():
            self.active = self.active[~gone]
            self.loops = self.loops.part(~gone) if len(self.active) else self.loops

    def _limits_that_count(self) -> tuple[Mask, Actions]:
        """Which loops tend to a limit although rows go on changing that it does not visit."""
        moving = self.loops.kept_since() > _LONG_SINCE
        goal = np.where(moving, -1, self.loops.state.greedy)
        limits = np.zeros(len(goal), dtype=bool)
        left = np.flatnonzero(moving.any(axis=1) & ~moving.all(axis=1))
        for _ in range(_MOST_LOOKS):
            if not len(left):
                break
            leaving = self.loops.leaving(goal[left], left)
            limits[left[~leaving.any(axis=1)]] = True
            # No limit, if the end still visits a row that keeps changing. Rows that leave their
            # goal keep changing too: look again without their goals.
            going = leaving.any(axis=1) & ~(leaving & (goal[left] < 0)).any(axis=1)
            left, leaving = left[going], leaving[going]
            goal[left] = np.where(leaving, -1, goal[left])
        return limits, goal

    def _go_round(self) -> None:
        """Follow the loops that have a period once more around."""
        if self.step is None:
            return
        settle = 1 if self.step == 1 else math.ceil(math.log(_SETTLED) / math.log1p(-self.step))
        periods = np.zeros(len(self.active), dtype=np.int64)
        fail = np.empty(self.loops.n + 1, dtype=np.int64)
        find_periods(self.loops.marks, settle, fail, periods)
        periods[self.loops.n + periods >= self.budget] = 0
        for period in np.unique(periods[periods > 0]).tolist():
            which = periods == period
            some = self.loops.part(which, past=False)
            some.advance(period, looks=False)
            self.note_cycle(self.active[which], some, period)
        self._drop(periods > 0)


class _TimeOver(Exception):
    """No iterate is begun after the time limit."""


class LoopRun(Search):
    """One loop, and its end in words. `found` holds the fields of `Improvement` that tell of it."""

    def __init__(
        self, loop: GreedyLoop, step: Number | None, budget: int, least: int, waiting: Waiting,
        until: float = math.inf,
    ):  # fmt: skip
        super().__init__(loop, budget, step)
        self.P, self.loop, self.least = loop.P, loop, least
        self.found: dict[str, Any] = {}

        def pulse(n: int, value: Any) -> None:
            waiting.report(n / budget, f"{n:,} iterates, value {float(number(value)):.6g}")
            if time.monotonic() > until:
                raise _TimeOver

        loop.pulse = pulse

    def collect(self) -> dict[str, Any]:
        """Run the loop to its end, the budget, or the last policy that can be evaluated."""
        try:
            self.run()
        except KeyboardInterrupt:
            if not self.loop.n:
                raise
            self.found = self._last("interrupted", "", WINDOW)
        except _TimeOver:
            self.found = self._last("budget", "The time was over.", WINDOW)
        except UNANSWERED as error:
            if not self.loop.n:
                raise
            note = f"The next iterate cannot be evaluated: {error}"
            self.found = self._last("budget", note, WINDOW)
        return self.found

    @property
    def ties(self) -> tuple[Tie, ...]:
        """The ties so far, with their labels."""
        found, P, state = [], self.P, self.loop.state
        (at,) = state.tied_at
        for o in np.lexsort((np.arange(len(at)), at)).tolist():
            if at[o] >= 0:
                actions = [P.A[a] for a in self._distinct(o, state.taken[0, o], state.tied[0, o])]
                words = f"{P.O.text(P.O[o])}: {', '.join(map(P.A.text, actions))}"
                how = EQUAL if self.loop.exact else ROUNDING
                found.append(Tie(int(at[o]), P.O[o], tuple(actions), how, words))
        return tuple(found)

    def _distinct(self, o: int, taken: int, tied: Mask) -> list[int]:
        """The actions that tie in a row, the one taken first, one of each set that do the same."""
        found: dict[int, int] = {}
        for a in (int(taken), *np.flatnonzero(tied).tolist()):
            found.setdefault(int(self.loop.same[o, a]), int(self.loop.order[a]))
        return list(found.values())

    def note_limits(self, which: Mask, goal: Actions) -> Mask:
        self.found = self._fixed(goal[0].copy()) or {}
        return np.array([bool(self.found)])

    def note_cycle(self, where: NDArray[np.int64], loops: Any, period: int) -> None:
        self.found = self._last("limit cycle", "", period) | {"period": period}

    def note_budget(self) -> None:
        self.found = self._last("budget", "", self.window)

    def _fixed(self, goal: Actions) -> dict[str, Any] | None:
        """The end at `goal`. None if it is not greedy at its end."""
        loop = self.loop
        ties = self._ties_at(loop.glance(goal, Fraction(0)), goal)
        if ties is None:
            return None
        is_moving = bool((goal != loop.state.greedy[0]).any())
        note = "Rows that the limit does not visit go on changing; nothing else does."
        limit = loop.completed(goal)
        # the limit is known, but the caller asked for `least` values
        loop.advance(max(0, self.least - loop.n), looks=False)
        exact = self._worth(limit, goal)
        worth = exact if loop.exact else float(exact)
        return {
            "ended": "fixed",
            "value": worth,
            "mean": worth,
            "values": loop.values[0],
            "pi": limit,
            "greedy": limit,
            "limit": limit,
            "limit_value": exact,
            "decided": loop.exact and loop.is_finite and not is_moving,
            "note": " ".join(filter(None, (note * is_moving, ties))),
        }

    def _ties_at(self, end: Glance, goal: Actions) -> str | None:
        """A sentence on ties at the limit itself, or None if the limit is not greedy there."""
        P, loop, note = self.P, self.loop, ""
        best = loop.candidates(end.found)
        for o in np.flatnonzero((end.tau >= 0) & (goal >= 0)).tolist():
            at = f"in row {P.O.text(P.O[o])}"
            # after a step of size 1 the policy is the limit, and stays only where greedy does
            if loop.state.kept[0] == 0 and end.tau[o] != goal[o]:
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
            tied = self._distinct(o, int(end.tau[o]), best[o])
            if not note and len(tied) > 1:
                how = "are equal" if loop.exact else "cannot be told apart in floats"
                names = [P.A.text(P.A[a]) for a in tied]
                if len(names) > _MOST_NAMED:
                    names = [*names[:_MOST_NAMED], f"{len(names) - _MOST_NAMED} more"]
                listed = ", ".join(names[:-1]) + f" and {names[-1]}"
                note = f"At the limit, in row {P.O.text(P.O[o])}, the actions {listed} {how}."
        return note

    def _splits(self, goal: Actions) -> bool:
        """Whether the long-run shares of time jump at the limit. Between its recurrent classes
        earlier policies go back and forth, however rarely, and the limit itself does not."""
        if self.loop.weights != "stationary" or self.loop.average:
            return False
        chain = dynamics(self.P, FLOATS).follow(self.loop.completed(goal).prob.floats)
        return sum(bool(chain.visited[members[0]]) for members in chain.classes()) > 1

    def _worth(self, limit: Policy, goal: Actions) -> Number:
        """The value of the limit, exact if the task is."""
        P, is_exact = self.P, self.P.is_exact
        if self.loop.average:
            if is_exact and not limit.is_exact:
                # rows without a goal are visited finitely often, which changes no average
                taken = (limit.prob.floats > 0).astype(int).tolist()
                even = Policy(P, [[Fraction(x, sum(row)) for x in row] for row in taken])
                found = evaluate(P, even, exact=True, criterion="average")
                if not found.note:  # there is one average
                    return found.value
            is_exact = is_exact and limit.is_exact
            return evaluate(P, limit, exact=is_exact, criterion="average").value
        chain = dynamics(P, FLOATS).follow(limit.prob.floats)
        counted = (chain.visited & ~P.terminal.mask)[chain.D.entry_s]
        same = limit
        if (goal[chain.D.entry_o[counted]] >= 0).all():
            # rows that the limit never sees need not be exact
            same = Policy.from_actions(P, limit.prob.floats.argmax(axis=1))
        try:
            if is_exact and same.is_exact:
                return exact_value(P, same)
        except TooLarge:
            pass
        return evaluate(P, limit, exact=self.loop.exact).value

    def _last(self, ended: str, note: str, window: int) -> dict[str, Any]:
        """The last policy, evaluated, and what its value did over some iterates."""
        loop, stay = self.loop, np.full(len(self.P.O), -1)
        try:
            here, tau, _ = loop.glance(stay, Fraction(1))
        except UNANSWERED:
            loop.step_back()
            here, tau, _ = loop.glance(stay, Fraction(1))
        values = np.append(loop.values[0], here.value)
        last = values[-max(1, window) :]
        return {
            "ended": ended,
            "value": loop.field.back(here.value),
            "mean": loop.field.back(last.sum() / len(last)),
            "values": values,
            "pi": loop.policy(),
            "greedy": loop.completed(tau),
            "note": note,
            "window": len(last),
            "amplitude": float(number(last.max() - last.min())),
        }
