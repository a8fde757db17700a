"""The iterates of the oracle loop (Section 5.2), and what lies ahead of them.

While greedy stays tau, pi_n = x pi + (1-x) tau lies on the segment from the policy pi at which it
became tau to tau itself, whatever the steps. Once x is small, the rest of the segment is looked at:
where tau is greedy everywhere, it is the limit. In fractions and with a finite horizon that is
decided, since q(o,a) times weight is a polynomial in x (`horizon`); otherwise it is seen at places,
and a change of greedy and back between two of them may be missed.

Exact q-values are compared exactly. Floats are compared by bounds on their errors; where these
leave a row open it is a tie, and what was greedy before stays so.

Loops come in batches: arrays have an axis for the loops, here of length one. Columns are actions in
the order in which ties are broken.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.core import loop_kernels as kernels
from workbench.core.assess import Look, look_at
from workbench.core.double_kernels import FEWEST
from workbench.core.errors import Multichain, NeverEnds, NotSolved, NotWeighted
from workbench.core.fields import FLOATS, RATIONALS, Mask, dynamics
from workbench.core.horizon import (
    GRID,
    CompiledLoops,
    bernstein_at_nodes,
    exact_step,
    has_finite_horizon,
    kept_since,
    unroll,
)
from workbench.core.horizon_kernels import evaluate_policy
from workbench.core.numbers import Numbers
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.steps import Schedule
from workbench.core.ties import same_actions, tie_order

UNANSWERED = (NeverEnds, NotSolved, NotWeighted, Multichain)
"""What an oracle says about policies that have no q-values."""

SMALL_ENOUGH = 1e-2
"""When so little is left of the policy at which greedy last changed, the rest of the segment is
looked at."""

_SIMPLE_WEIGHTS = ("visits", "discounted", "stationary")
"""Weights that the kernels know."""

_LEAST = 1e-200
"""A bound for numbers without one: kernels take 0 for a row that is not seen."""

Array = NDArray[Any]
Actions = NDArray[np.int64]


class Glance(NamedTuple):
    """What a policy is like: its numbers, the greedy columns, and the rows that bounds leave
    open."""

    found: Look
    tau: Actions
    is_open: Mask


class GreedyLoop:
    """pi, moved step by step towards the greedy policy of each iterate.

    Attributes
    ----------
    state : `pi[0, o, column]`, floats or fractions, the greedy columns of the last iterate, -1 for
        rows without q-values, and what else there is to know (`loop_kernels.Loops`).
    values, marks : `[0, n]` of all iterates, the latter to tell greedy policies apart; keeps :
        1 - step of each.
    batch : the same loop compiled, where no state comes back.
    """

    def __init__(
        self, P: POMDP, start: Policy, steps: Schedule, ties: str, weights: str, exact: bool,
        average: bool = False,
    ):  # fmt: skip
        self.P, self.start, self.steps, self.weights = P, start, steps, weights
        self.exact, self.average = exact, average
        self.order, self.field = tie_order(P.A, ties), RATIONALS if exact else FLOATS
        self.same = np.ascontiguousarray(same_actions(P)[:, self.order])
        self.first = np.ascontiguousarray(self.field.enter(start.prob)[:, self.order])
        self.is_finite = has_finite_horizon(P) and not average
        self.pulse: Any = lambda n, value: None
        self.values: Array = np.empty((1, 0), dtype=object if exact else np.float64)
        self.marks, self.keeps = np.empty((1, 0), dtype=np.uint64), np.empty(0)
        is_simple = weights in _SIMPLE_WEIGHTS and not average
        self.polynomial = unroll(P, self.order, weights) if self.is_finite and is_simple else None
        self.batch: CompiledLoops | None = None
        # the kernel knows no actions that are not there
        if self.polynomial is not None and not exact and P.allowed is None:
            size = self.polynomial.levels * np.abs(P.p.r.floats).max(initial=0.0)
            self.batch = CompiledLoops(
                self.polynomial, self.polynomial.R[None], self.first[None].copy(), self.same, steps,
                np.array([size]), SMALL_ENOUGH, pulse=lambda n, value: self.pulse(n, value),
            )  # fmt: skip
            self.state = self.batch.state
            return
        none = np.zeros(1)
        self.state = kernels.begin_loops(
            self.first[None].copy(), self.same, none, none, SMALL_ENOUGH
        )
        self._before = self.pi
        self.D = dynamics(P, self.field)

    def __len__(self) -> int:
        return 1

    @property
    def pi(self) -> Array:
        return self.state.pi[0]

    @property
    def n(self) -> int:
        """How many iterates were made."""
        return self.values.shape[1]

    # ---------------------------------------------------------------- iterates

    def advance(self, count: int, looks: bool = True) -> None:
        """Make iterates, until greedy is seen to stay what it is if anybody looks."""
        if self.batch is not None:
            batch = self.batch
            try:
                batch.advance(count, looks)
            finally:
                self.values, self.marks, self.keeps = batch.values, batch.marks, batch.keeps
            return
        state, first = self.state, SMALL_ENOUGH if looks else -1.0
        for _ in range(count):
            n = self.n
            found, tau, _ = self._glance(self.pi, state.greedy[0], 3 * n + 1, n)
            if found.lacking.any():
                self._refuse(found.lacking)
            if (mark := kernels.mark_of(tau)) != state.mark[0]:
                state.mark[0], state.kept[0], state.look[0] = mark, 1.0, first
                state.since[0][tau != state.greedy[0]] = n
                state.greedy[0] = tau
            keep = 1 - exact_step(self.steps(n))
            self._before = self.pi.copy()
            state.pi[0] = mixed(self.pi, tau, self.field.one(keep))
            state.kept[0] *= float(keep)
            self.keeps = np.append(self.keeps, float(keep))
            self.marks = np.append(self.marks, [[mark]], axis=1)
            self.values = np.append(self.values, [[found.value]], axis=1)
            self.pulse(n + 1, found.value)
            if looks and state.kept[0] <= state.look[0]:
                # look ever more rarely, and never again once nothing is left of the old policy
                state.look[0] = state.kept[0] ** 2 or -1.0
                state.fixed[0] = not self.leaving(state.greedy).any()
                if state.fixed[0]:
                    return

    def step_back(self) -> None:
        """Undo the last step: its policy has no q-values."""
        self.state.pi[0] = self._before
        self.values, self.marks, self.keeps = (
            self.values[:, :-1], self.marks[:, :-1], self.keeps[:-1]
        )  # fmt: skip

    def part(self, which: Mask, past: bool = True) -> GreedyLoop:
        """The loop itself: it is all of the batch."""
        return self

    def look(self, pi: Array, roundings: int = 1) -> Look:
        """Evaluate a policy, columns in the order of ties, whose numbers were rounded so often."""
        if self.batch is None:
            found = look_at(self.D, self._by_action(pi), self.weights, self.average, roundings)
            return found._replace(q=found.q[:, self.order])
        task, work = self.batch.task, self.batch.work
        value = evaluate_policy(task.tables, task.R, pi, work)
        seen = work.weight > FEWEST
        weight = np.where(seen, work.weight, np.nan)
        error = np.where(seen, self.batch.error[0], 0.0)
        q, nowhere = work.q / weight[:, None], np.zeros(len(seen), dtype=bool)
        return Look(value, q, error, np.where(seen, weight, 0.0), nowhere)

    def _glance(self, pi: Array, before: Actions, roundings: int, n: int = -1) -> Glance:
        """What is greedy at pi. In open rows it is `before`, unless nothing is left of that; ties
        are noted if this is iterate n."""
        found, state = self.look(pi, roundings), self.state
        (q, reach), tau = self._scores(found), before.copy()
        is_open, stays = np.empty(len(q), dtype=np.uint8), not self.exact and state.kept[0] > 0
        kernels.choose_greedy(
            n, q, reach, self.same, before, stays, tau, is_open,
            state.tied_at[0], state.tied[0], state.taken[0],
        )  # fmt: skip
        if not self.exact and np.isinf(found.error[is_open > 0]).any():
            o = int(np.flatnonzero((is_open > 0) & np.isinf(found.error))[0])
            raise NotSolved(
                f"{self.P.name}: o={self.P.O.text(self.P.O[o])} is seen too rarely to compute "
                "in floats how often, so q(o, a) is not known there. Python's exact=True does"
                + ("" if self.P.is_exact else ", with a task in Fractions")
            )
        return Glance(found, tau, is_open > 0)

    def _scores(self, found: Look) -> tuple[Array, Array]:
        """Floats in the order of the q-values, -inf where undefined, and bounds on their errors.
        Of exact ones all that counts is which are the largest."""
        if not self.exact:
            seen = ~np.isnan(found.q).all(axis=1)
            reach = np.where(seen, np.maximum(found.error, _LEAST), 0.0)
            return np.ascontiguousarray(np.where(np.isnan(found.q), -np.inf, found.q)), reach
        q = np.full(found.q.shape, -np.inf)
        for o, row in enumerate(found.q):
            top = max((x for x in row if x is not None), default=None)
            q[o] = [-np.inf if x is None else float(x == top) for x in row]
        return q, np.where(np.isinf(q).all(axis=1), 0.0, _LEAST)

    def candidates(self, found: Look) -> Mask:
        """`[o, column]`, whether it may be the best."""
        q, reach = self._scores(found)
        # inf - inf is NaN, which leaves all actions open, as it should
        with np.errstate(invalid="ignore"):
            return ~(q < q.max(axis=1, keepdims=True) - 2 * reach[:, None]) & np.isfinite(q)

    def _refuse(self, lacking: Mask) -> None:
        o = self.P.O.text(self.P.O[int(np.flatnonzero(lacking)[0])])
        other = "discounted" if self.P.gamma != 1 else "stationary"
        raise NotWeighted(
            f"{self.P.name}: the policy may never end, so it sees o={o} infinitely often, and "
            f"q(o, a) weighted by {self.weights} is not defined there: take weights={other!r}"
        )

    # ---------------------------------------------------------------- the rest of the segment

    def glance(self, goal: Actions, x: Fraction) -> Glance:
        """What x pi + (1-x) goal is like. Where floats cannot tell, `goal` stays greedy."""
        return self._glance(mixed(self.pi, goal, self.field.one(x)), goal, 3 * self.n + 5)

    def leaving(self, goal: Actions, which: Any = None) -> Mask:
        """`[0, o]`: where `goal` does not stay greedy on the rest of the segment.

        So are rows without a goal that its end sees. They go up to the first that its end
        sees, without that one if others left before. All, if a policy on the way cannot be
        evaluated."""
        if self.batch is not None:
            return self.batch.leaving(goal)
        (goal,) = goal
        try:
            end = self.glance(goal, Fraction(0)).found
            seen = np.asarray(end.weight != 0, dtype=bool) | end.lacking
            if (seen & (goal < 0)).any():
                return (seen & (goal < 0))[None]
            if self.polynomial is not None and self.exact:
                return self._leaving_exactly(goal)[None]
            found = np.zeros(len(goal), dtype=bool)
            for x in GRID[:0:-1]:
                leaving = (goal >= 0) & (self.glance(goal, x).tau != goal)
                if (leaving & seen).any():
                    return (found if found.any() else leaving)[None]
                found |= leaving
        except UNANSWERED:
            return np.ones((1, len(goal)), dtype=bool)
        return found[None]

    def _leaving_exactly(self, goal: Actions) -> Mask:
        """The same in fractions, decided: no coefficient may be negative."""
        assert self.polynomial is not None
        nodes, matrix = bernstein_at_nodes(self.polynomial.levels)
        looks = [self.look(mixed(self.pi, goal, x)) for x in nodes]
        leaving = np.zeros(len(goal), dtype=bool)
        rivals = self.same != np.take_along_axis(self.same, goal[:, None], axis=1)
        if self.P.allowed is not None:
            rivals &= self.P.allowed[:, self.order]
        for o, a in np.argwhere(rivals & (goal >= 0)[:, None]).tolist():
            ahead = [
                0 if x.q[o, a] is None else (x.q[o, goal[o]] - x.q[o, a]) * x.weight[o]
                for x in looks
            ]
            found = (matrix @ np.array(ahead, dtype=object)).tolist()
            # a tie on all of the segment goes to the column that comes first
            leaving[o] |= min(found) < 0 or (max(found) == 0 and a < goal[o])
        return leaving

    def kept_since(self) -> Array:
        """`[0, o]`, what is left of a row as it was when its greedy action last changed."""
        return kept_since(self.keeps, self.state.since)

    # ---------------------------------------------------------------- as others see it

    def _by_action(self, pi: Array) -> Array:
        table = np.empty_like(pi)
        table[:, self.order] = pi
        return table

    @property
    def table(self) -> Array:
        """pi, with the columns of A."""
        return self._by_action(self.pi)

    @property
    def actions(self) -> Actions:
        """The greedy actions of the last iterate, -1 for rows without q-values."""
        return self.actions_of(self.state.greedy[0])

    def actions_of(self, tau: Actions) -> Actions:
        """The actions of some columns."""
        return np.where(tau < 0, -1, self.order[tau])

    def policy(self) -> Policy:
        """pi as a policy."""
        return Policy(self.P, Numbers.of(self.field.leave(self.table)))

    def completed(self, goal: Actions) -> Policy:
        """The policy that takes `goal`. Rows without a goal are those of pi; as they were given,
        and so exact if the start is, where none of them has moved."""
        still = (self.pi == self.first)[goal < 0].all()
        return completed(self.P, self.actions_of(goal), self.start if still else self.policy())


def completed(P: POMDP, actions: Actions, otherwise: Policy) -> Policy:
    """The policy that takes `actions`, with the rows of another one where there is none."""
    kept = actions < 0
    if not kept.any():
        return Policy.from_actions(P, actions)
    if otherwise.is_exact:
        table = np.full((len(P.O), len(P.A)), Fraction(0), dtype=object)
        table[kept] = otherwise.prob.objects[kept]
    else:
        table = np.where(kept[:, None], otherwise.prob.floats, 0.0)
    table[~kept, actions[~kept]] = 1
    return Policy(P, Numbers.of(table))


def mixed(pi: Array, goal: Actions, x: Any) -> Array:
    """x pi + (1 - x) goal, on the rows that have one."""
    rows = np.flatnonzero(goal >= 0)
    table = pi.copy()
    table[rows] = table[rows] * x
    table[rows, goal[rows]] += 1 - x
    return table
