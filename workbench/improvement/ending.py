"""How the oracle loop ends: the search for a limit, or a limit cycle, among its iterates.

A limit. While greedy stays tau, pi_n = x pi + (1-x) tau lies on the segment from the policy pi at
which it became tau to tau itself, whatever the steps; x is the product of 1 - eps since then. Once
x is small, the rest of the segment is looked at on a grid down to x = 0: where tau is greedy
everywhere, it is the limit. Where it is not, the loop goes on.

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

from workbench.errors import NeverEnds, NotSolved
from workbench.improvement.loop_kernels import smallest_period
from workbench.improvement.oracle import Loop, exact_value, mixed
from workbench.model.numbers import Number, Numbers, number
from workbench.model.policy import Policy
from workbench.model.pomdp import POMDP
from workbench.progress import Waiting
from workbench.text import show

Schedule = Callable[[int], Number]
"""The step to take at iterate n = 0, 1, 2, ..."""

_SMALL_ENOUGH = (1e-2, 1e-4, 1e-6, 1e-8)
"""When so little is left of the policy at which greedy last changed, the rest of the way is looked
at."""

_GRID = tuple(Fraction(7, 10) ** j for j in range(1, 37))
"""The points of that way, as shares of what is left; the last is some 3e-6 of it."""

_STILL = 1e-6
"""A value that moves by less than this share has settled, even if the policy has not."""

_FIRST_LOOK_FOR_CYCLES = 64
_WINDOW = 1_000
"""The last iterates, over which a run that was not seen to end is described."""


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
        self.P, self.start, self.loop, self.steps, self.constant, self.budget = (
            P,
            start,
            loop,
            steps,
            constant,
            budget,
        )
        self.waiting = waiting
        self.values: list[NDArray[Any]] = []
        self.marks: list[NDArray[np.uint64]] = []
        self.n = 0
        # the last look ahead in vain: the mark of the greedy policy, and how much was left on the
        # way to it
        self.failed: tuple[int, float] | None = None

    def collect(self) -> dict[str, Any]:
        """How it ended, as the fields of `Improvement` that depend on it."""
        window = min(_WINDOW, max(1, self.budget // 2))
        look_for_cycles, chunk = _FIRST_LOOK_FOR_CYCLES, 16
        try:
            while (left := self.budget - window - self.n) > 0:
                seconds = self._advance(min(chunk, left, look_for_cycles - self.n))
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
                    look_for_cycles = look_for_cycles * 3 // 2
                    if (period := self._period()) is not None and self.n + period <= self.budget:
                        return self._one_by_one("limit cycle", period)
            return self._one_by_one("budget", self.budget - self.n)
        except KeyboardInterrupt:
            if not self.values:
                raise
            return self._last("interrupted", "")
        except (NotSolved, NeverEnds) as error:
            if not self.values:
                raise
            return self._last("budget", f"The next iterate cannot be evaluated: {error}")

    def _advance(self, count: int) -> float:
        """Make some iterates; the seconds that it took."""
        began, before = self.waiting.seconds, self.loop.pi
        steps = [self.steps(self.n + i) for i in range(count)]
        try:
            values, marks = self.loop.advance(steps, self._small_enough(), _SMALL_ENOUGH[0])
        except (KeyboardInterrupt, NotSolved, NeverEnds):
            self.loop.restore(before)  # pi belongs to the values that are kept
            raise
        self.values.append(values)
        self.marks.append(marks)
        self.n += len(values)
        self.waiting.report(
            self.n / self.budget, f"{self.n:,} iterates, value {float(number(values[-1])):.6g}"
        )
        return self.waiting.seconds - began

    def toward(self) -> Policy:
        """The greedy policy of the last iterate; rows that it does not visit are as they are in
        pi."""
        greedy, pi, field = self.loop.greedy, self.loop.pi, self.loop.field
        kept = greedy < 0
        untouched = np.array_equal(pi[kept], field.enter(self.start.prob)[kept])
        return completed(
            self.P, greedy, self.start if untouched else Policy(self.P, Numbers.of(field.leave(pi)))
        )

    # ---------------------------------------------------------------- fixed

    def _small_enough(self) -> float:
        """What has to be left at most of the policy at which greedy last changed, before the next
        look ahead."""
        if self.failed is None or self.failed[0] != int(self.marks[-1][-1]):
            return _SMALL_ENOUGH[0]
        return next((x for x in _SMALL_ENOUGH if x < self.failed[1]), -1.0)

    def _is_settled(self) -> bool:
        return self.loop.kept <= self._small_enough()

    def _limit(self) -> dict[str, Any] | None:
        """The end of the run, if the greedy policy stays greedy all the way to itself."""
        loop, greedy, pi = self.loop, self.loop.greedy, self.loop.pi
        self.failed = int(self.marks[-1][-1]), loop.kept
        try:
            for x in _GRID:
                *_, there = loop.look(mixed(pi, greedy, loop.field.one(x)))
                if not np.array_equal(there, greedy):
                    return None
            value, q, there = loop.look(mixed(pi, greedy, loop.field.one(0)))
        except (NeverEnds, NotSolved):
            return None
        note = ""
        reached = np.flatnonzero(there >= 0)
        for o in reached[there[reached] != greedy[reached]].tolist():
            if not _ties(q[o, there[o]], q[o, greedy[o]]):
                return None
            note = (
                f"At the limit itself actions tie on o={show(self.P.O[o])}, and "
                "greedy prefers another one."
            )
        exact = (
            exact_value(self.P, np.maximum(greedy, 0))
            if self.P.is_exact
            else loop.field.back(value)
        )
        return {
            "ended": "fixed",
            "value": exact if loop.field.is_exact else float(exact),
            "limit": self.toward(),
            "limit_value": exact,
            "note": note,
        }

    # ---------------------------------------------------------------- limit cycles, and no end

    def _period(self) -> int | None:
        """The period of the greedy policy, if it has had one for so long that nothing else is left
        in pi."""
        if not self.constant:
            return None
        step = float(self.steps(0))
        settle = 1 if step == 1 else int(np.ceil(np.log(_SMALL_ENOUGH[-1]) / np.log1p(-step)))
        marks = np.concatenate(self.marks)
        for length in (max(16, 2 * settle), len(marks) // 2):
            if settle < length <= len(marks):
                period = int(smallest_period(marks[-length:]))
                if 1 < period <= min(length - settle, length // 2):
                    return period
        return None

    def _one_by_one(self, ended: str, window: int) -> dict[str, Any]:
        """The last iterates, with the range of each probability."""
        low = high = self.loop.pi
        for _ in range(window):
            self._advance(1)
            now = self.loop.pi
            low, high = np.where(now < low, now, low), np.where(now > high, now, high)
            if ended == "budget" and self._is_settled() and (found := self._limit()) is not None:
                return found
        found = (
            self._last(ended, "")
            | self._over(window)
            | {"policy_amplitude": float(number((high - low).max()))}
        )
        if ended == "limit cycle":
            values = np.concatenate(self.values)[-window:]
            found |= {"period": window, "value": self.loop.field.back(values.sum() / window)}
        elif (
            found["amplitude"] <= _STILL * max(1.0, abs(float(found["value"])))
            and found["policy_amplitude"] > 0.01
        ):
            found["note"] = (
                "The value has settled; rows that make no difference to it go on changing."
            )
        return found

    def _over(self, window: int) -> dict[str, Any]:
        values = np.concatenate(self.values)[-window:]
        return {"window": len(values), "amplitude": float(number(values.max() - values.min()))}

    def _last(self, ended: str, note: str) -> dict[str, Any]:
        value = self.loop.field.back(self.values[-1][-1])
        return {
            "ended": ended,
            "value": value,
            "note": note,
            "policy_amplitude": np.nan,
            **self._over(_WINDOW),
        }


def _ties(x: Any, y: Any) -> bool:
    if isinstance(x, float):
        return bool(abs(x - y) <= 1e-9 * max(1.0, abs(x), abs(y)))
    return bool(x == y)


def completed(P: POMDP, greedy: NDArray[np.int64], otherwise: Policy) -> Policy:
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
