"""The oracle loop that asks an oracle before every step, over floats or rationals.

In floats pi is kept in pairs: what a step rounds off is carried along, so that pi is right to the
last bit after any number of steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core import loop_kernels as kernels
from workbench.core.decision import EQUAL, Answer
from workbench.core.errors import NotWeighted
from workbench.core.gain_oracle import GainOracle
from workbench.core.horizon import has_finite_horizon
from workbench.core.numbers import Number
from workbench.core.oracle import UNIT, Oracle
from workbench.core.oracle_loop import Glance, Loop, keeps_twins, mixed, parted, policy_ahead
from workbench.core.pair_oracle import PairPolicy
from workbench.core.policy import Policy
from workbench.core.ties import rank_actions
from workbench.core.trail import Actions, exact_size
from workbench.core.way import Way

TableArray = NDArray[Any]


class Stepwise(Loop):
    """A loop that asks an oracle."""

    def __init__(self, oracle: Oracle, start: Policy, ties: str):
        criterion = "average" if isinstance(oracle, GainOracle) else "return"
        super().__init__(oracle.P, start, ties, oracle.weights, criterion)
        self.oracle, self.field = oracle, oracle.field
        self._pi = self.field.enter(start.prob).copy()
        # The part of pi below the last bit of its floats.
        self._low = (
            None
            if self.field.is_exact
            else np.broadcast_to(start.prob.tails, start.prob.shape).copy()
        )
        self._is_paired = start.is_exact
        self.kept, self._last = 1.0, -1
        self.greedy = np.full(len(start.O), -1, dtype=np.int64)
        # what ties as long as twins stay twins, and what does as long as greedy is allowed
        self._always = None if self.field.is_exact else self._same.copy()
        self._alike = None if self._always is None else self._always.copy()
        self._twins, self._allowed = self.trail.twins, set[int]()

    @property
    def pi(self) -> TableArray:
        return self._pi.copy()

    def restore(self, pi: TableArray, length: int) -> None:
        self._pi = pi
        self._low = None if self._low is None else np.zeros_like(pi)
        self._is_paired = False  # the small parts belonged to another policy
        super().restore(pi, length)
        self._twins = self.trail.twins
        if self._always is not None:
            self._always, self._alike = self._same.copy(), self._same.copy()
            self._allowed = set()

    def look_ahead(self, goal: Actions, x: Fraction) -> Glance:
        here = x == 1
        found = self.oracle.look(mixed(self._pi, goal, self.field.one(x)), 1 if here else 4)
        known: NDArray[np.int64] | None = self._same
        if x > 0 and keeps_twins(goal, self._twins):  # ties that last until there
            allowed = int(kernels.mark_of(goal)) in self._allowed
            known = self._alike if allowed else self._always
        ranking = rank_actions(found.q, self.order, found.error, known)
        greedy = ranking.best.copy()
        twins = parted(self._twins, goal)
        pair = self._pair(goal, 1 - x) if ranking.rivals else None
        ahead = policy_ahead(self.trail, goal, x)
        # the policy as it is may be described in any case
        doubtful = [] if here else found.doubtful.tolist()
        ties = self._decided(found.q, ranking.rivals, ahead, twins, pair=pair, doubtful=doubtful)
        if self.field.is_exact:
            ties = self._equal_actions(found.q, greedy)
        for o, answer in ties.items():
            greedy[o] = answer.best
        return Glance(found.value, found.q, greedy, ties)

    def _equal_actions(self, q: TableArray, greedy: Actions) -> dict[int, Answer]:
        """The ties of exact q-values, one action of each set that do the same."""
        found = {}
        for o in np.flatnonzero(greedy >= 0).tolist():
            equal = [a for a in self.order.tolist() if q[o, a] == q[o, greedy[o]]]
            _, first = np.unique(self._same[o, equal], return_index=True)
            if len(first) > 1:
                tied = np.array(equal)[np.sort(first)]
                found[o] = Answer(int(tied[0]), tied, EQUAL)
        return found

    def along(self, goal: Actions) -> Way | None:
        if not (self.field.is_exact and self._is_acyclic):
            return None
        others = self._same != np.take_along_axis(self._same, goal[:, None], axis=1)
        return self._exactly(goal, others & (goal >= 0)[:, None])

    @cached_property
    def _is_acyclic(self) -> bool:
        return has_finite_horizon(self.P)

    def advance(
        self, steps: Sequence[Number], settled: float = -1.0, fresh: float = -1.0
    ) -> tuple[NDArray[Any], NDArray[np.uint64]]:
        values, marks = [], []
        for step in steps:
            n = self.trail.length
            value, q, error, lacking, doubtful = self.oracle.look(self._pi)
            self._require_rows(lacking)
            ranking = rank_actions(q, self.order, error, self._alike)
            tau = ranking.best.copy()
            if ranking.rivals:
                answers = self._decided(
                    q,
                    ranking.rivals,
                    self.trail.table,
                    self._twins,
                    n,
                    self._pair(),
                    doubtful.tolist(),
                )
                for o, answer in answers.items():
                    tau[o] = answer.best
                self._learn(answers, tau)
            if self.field.is_exact:
                self._keep_ties(n, self._equal_actions(q, tau))
            values.append(value)
            marks.append(int(kernels.mark_of(tau)))
            # pi leaves the policies for which ties were proved to last.
            if marks[-1] not in self._allowed and self._always is not None:
                self._alike, self._allowed = self._always.copy(), set()
            if marks[-1] != self._last:
                self._last, self.kept, settled = marks[-1], 1.0, fresh
                for o in np.flatnonzero(tau != self.greedy).tolist():
                    self.trail.turn(n, o, int(tau[o]))
                self.greedy = tau
                if self._always is not None and not keeps_twins(tau, self._twins):
                    self._always, self._alike = self._same.copy(), self._same.copy()
                    self._twins, self._allowed = self.trail.twins, set()
            self._move(step)
            self.trail.extend([step])
            self.kept *= 1 - float(step)
            if self.kept <= settled:
                break
        found = np.array(values, dtype=object if self.field.is_exact else np.float64)
        return found, np.array(marks, dtype=np.uint64)

    def _move(self, step: Number) -> None:
        """A step towards greedy. Floats carry what they round off along, so that pi is right to the
        last bit after any number of steps."""
        if self._low is None:
            self._pi = mixed(self._pi, self.greedy, 1 - self.field.one(step))
        else:
            _move_pair(self._pi, self._low, self.greedy, exact_size(step))

    def _pair(self, goal: Actions | None = None, size: Fraction = Fraction(0)) -> PairPolicy | None:
        """pi in pairs of floats, or the policy a step of some size from it towards a goal."""
        if self._low is None or not self._is_paired:
            return None
        high, low = self._pi, self._low
        if goal is not None:
            high, low = high.copy(), low.copy()
            _move_pair(high, low, goal, size)
        # each step rounds at most 16 times below the last bit of the small parts
        return PairPolicy(high, low, (self.trail.length + 2) * 16 * UNIT**2)

    def _learn(self, answers: dict[int, Answer], tau: Actions) -> None:
        assert self._alike is not None
        assert self._always is not None
        answers = self._join_for_good(self._twins, answers, self._always, self._alike)
        mark = int(kernels.mark_of(tau))
        fresh = mark not in self._allowed
        if fresh:  # what was known is known for fewer policies
            self._alike = self._always.copy()
        if not answers:  # nothing that would have to be proved to last
            return
        for o in self._lasting(answers, self.trail.table, tau, fresh):
            self._join(o, answers[o].tied, self._alike)
        self._allowed = {int(kernels.mark_of(t)) for t in self._taus}

    def _require_rows(self, lacking: Actions) -> None:
        """Refuse where P(s|o) is not defined on a row that pi visits."""
        if len(lacking):
            o = self.P.O.text(self.P.O[int(lacking[0])])
            other = "discounted" if self.P.gamma != 1 else "stationary"
            raise NotWeighted(
                f"{self.P.name}: the policy may never end, so it sees o={o} infinitely often, and "
                f"q(o, a) weighted by {self.weights} is not defined there: take weights={other!r}"
            )


def _move_pair(pi: TableArray, pi_low: TableArray, greedy: Actions, size: Fraction) -> None:
    """Move a policy in pairs of floats a step towards greedy, in place."""
    (step_high, step_low), (keep_high, keep_low) = _twofold(size), _twofold(1 - size)
    rows = np.flatnonzero(greedy >= 0)
    # (pi + low) (keep_high + keep_low): the product of the small parts is below the last bit.
    high, low = _exact_product(pi[rows], keep_high)
    low += pi[rows] * keep_low + pi_low[rows] * keep_high
    at = np.arange(len(rows)), greedy[rows]
    total = high[at] + step_high
    # what the sum lost, by Knuth's two-sum
    part = total - high[at]
    low[at] += (high[at] - (total - part)) + (step_high - part) + step_low
    high[at] = total
    pi[rows] = high + low
    pi_low[rows] = (high - pi[rows]) + low


@lru_cache(maxsize=256)  # most steps are of one size
def _twofold(x: Fraction) -> tuple[float, float]:
    """x as a sum of two floats."""
    high = float(x)
    return high, float(x - Fraction(high))


def _exact_product(x: TableArray, y: float) -> tuple[TableArray, TableArray]:
    """x y as a float and what rounding took from it (Dekker 1971)."""
    product = x * y
    x_high, y_high = _upper_half(x), float(_upper_half(np.float64(y)))
    x_low, y_low = x - x_high, y - y_high
    lost = ((x_high * y_high - product) + x_high * y_low + x_low * y_high) + x_low * y_low
    return product, lost


def _upper_half(x: Any) -> Any:
    """The upper 26 bits of floats (Veltkamp)."""
    scaled = x * 134217729.0  # 2^27 + 1
    return scaled - (scaled - x)
