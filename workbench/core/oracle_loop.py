"""The iterates of the oracle loop (Section 5.2), and what lies ahead of them.

While greedy stays tau, pi_n = x pi + (1-x) tau lies on the segment from the policy pi at which it
became tau to tau itself, whatever the steps. Once x is small, the rest of the segment is looked at:
where tau is greedy everywhere, it is the limit. In fractions and with a finite horizon that is
decided, since q(o,a) times weight is a polynomial in x (`horizon`); otherwise it is seen at places,
and a change of greedy and back between two of them may be missed.

Some rows may go on changing for ever although the policy that the others tend to never visits them.
So rows that have changed lately stay where they are, and the others go to tau: if none of the first
is visited at x = 0, and tau stays greedy on the others, nothing that counts changes any more.

With a constant step the loop is a contraction between changes of tau. When tau has been periodic
for so long that nothing else is left in pi, so has pi: a limit cycle.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.core import oracle_kernels as kernels
from workbench.core.errors import Multichain, NeverEnds, NotSolved, NotWeighted
from workbench.core.fields import FLOATS, RATIONALS
from workbench.core.greedy_choice import Actions, Chooser
from workbench.core.horizon import GRID, Unrolled, bernstein_at_nodes, has_finite_horizon, unroll
from workbench.core.horizon_kernels import evaluate_policy
from workbench.core.numbers import Number, Numbers, read_decimal
from workbench.core.oracle import Look, Mask, Oracle, WarmOracle
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.segment_kernels import look_ahead
from workbench.core.steps import Schedule
from workbench.core.ties import tie_order

UNANSWERED = (NeverEnds, NotSolved, NotWeighted, Multichain)
"""What an oracle says about policies that have no q-values."""

_SIMPLE_WEIGHTS = ("visits", "discounted", "stationary")
"""Weights that the kernels know."""

Array = NDArray[Any]


class Glance(NamedTuple):
    """What a policy is like: its numbers, the greedy columns, and the rows that bounds leave
    open."""

    found: Look
    tau: Actions
    is_open: Mask


class GreedyLoop:
    """pi, moved step by step towards the greedy policy of each iterate.

    Columns are in the order in which ties are broken.

    Attributes
    ----------
    pi : `pi[o, column]`, floats or fractions; n : how many iterates were made.
    greedy : the greedy columns of the last iterate, -1 for rows without q-values; since : the
        iterate at which each row changed last.
    kept : the product of 1 - step since greedy last changed.
    """

    def __init__(
        self, P: POMDP, start: Policy, steps: Schedule, ties: str, weights: str, exact: bool,
        average: bool = False,
    ):  # fmt: skip
        self.P, self.start, self.steps, self.weights = P, start, steps, weights
        self.exact, self.average = exact, average
        self.order = tie_order(P.A, ties)
        self.field = RATIONALS if exact else FLOATS
        self.is_finite = has_finite_horizon(P) and not average
        self.first = np.ascontiguousarray(self.field.enter(start.prob)[:, self.order])
        self.pi = self.first.copy()
        self.n, self.kept, self.mark = 0, 1.0, 0
        self.greedy = np.full(len(P.O), -1, dtype=np.int64)
        self.since = np.zeros(len(P.O), dtype=np.int64)
        self.chooser = Chooser(P, self.order, exact)
        is_simple = weights in _SIMPLE_WEIGHTS and not average
        self.polynomial = unroll(P, self.order, weights) if self.is_finite and is_simple else None
        # the kernel knows no actions that are not there
        self.task = None if exact or P.allowed is not None else self.polynomial
        self.oracle: Oracle | None = None
        if self.task is not None:
            self._begin_compiled(self.task)
        elif is_simple and not exact:
            self.oracle = WarmOracle(P, weights)
        else:
            self.oracle = Oracle(P, weights, self.field, average)

    def _begin_compiled(self, task: Unrolled) -> None:
        size = task.levels * float(np.abs(self.P.p.r.floats).max(initial=0.0))
        self._loops = kernels.begin_loops(
            self.pi[None], self.chooser.same, np.array([size * task.error]),
            np.array([size * task.growth]),
        )._replace(greedy=self.greedy[None], since=self.since[None])  # fmt: skip
        self._room = task.make_work(len(self.P.O))

    @property
    def is_unsure(self) -> bool:
        """Whether q-values came close in a compiled loop that are not known to be equal."""
        return self.task is not None and bool(self._loops.unsure[0])

    @property
    def state(self) -> tuple[Array, Actions, Actions, int]:
        """Where the loop is, to come back to (`restore`)."""
        return self.pi.copy(), self.greedy.copy(), self.since.copy(), self.n

    def restore(self, state: tuple[Array, Actions, Actions, int]) -> None:
        self.pi[:], self.greedy[:], self.since[:], self.n = state
        if self.task is not None:
            self._loops.n[0] = self.n

    # ---------------------------------------------------------------- iterates

    def advance(
        self, count: int, look: float = -1.0, first: float = -1.0
    ) -> tuple[Array, NDArray[np.uint64]]:
        """Make iterates: their values, and a mark of each greedy policy.

        It ends when as many are made, or when `kept` is at most `look`, or `first` once greedy has
        changed.
        """
        if self.task is not None:
            return self._advance_compiled(self.task, count, look, first)
        values: list[Any] = []
        marks: list[int] = []
        while len(values) < count:
            found, tau = self._choose()
            values.append(found.value)
            marks.append(int(kernels.mark_of(tau)))
            if marks[-1] != self.mark:
                self.mark, self.kept, look = marks[-1], 1.0, first
                self.since[tau != self.greedy] = self.n
                self.greedy[:] = tau
            keep = 1 - exact_step(self.steps(self.n))
            self.pi[:] = mixed(self.pi, tau, self.field.one(keep))
            self.kept *= float(keep)
            self.n += 1
            if self.kept <= look:
                break
        kind = object if self.exact else np.float64
        return np.array(values, dtype=kind), np.array(marks, dtype=np.uint64)

    def _choose(self) -> tuple[Look, Actions]:
        """What is greedy at pi."""
        found = self.look(self.pi, 3 * self.n + 1)
        tau, is_open = self.chooser.choose(found, self.greedy, self.kept > 0)
        if found.lacking.any():
            self._refuse(found.lacking)
        self.chooser.tell(self.n, found, tau, is_open)
        return found, tau

    def _advance_compiled(
        self, task: Unrolled, count: int, look: float, first: float
    ) -> tuple[Array, NDArray[np.uint64]]:
        sizes = [self.steps(self.n + i) for i in range(count)]
        steps = np.array([float(x) for x in sizes])
        keeps = np.array([float(1 - exact_step(x)) for x in sizes])
        values, marks = np.empty((1, count)), np.empty((1, count), dtype=np.uint64)
        begin, loops, chooser = self.n, self._loops, self.chooser
        loops.look[0] = look
        notes = kernels.TieNotes(chooser.first, chooser.tied, chooser.taken)
        kernels.run_loops(
            task.tables, task.R[None], loops, self._room, chooser.same, steps, keeps, first, begin,
            values, marks, np.zeros(1, dtype=np.int64), notes,
        )  # fmt: skip
        self.n, self.kept, self.mark = int(loops.n[0]), float(loops.kept[0]), int(loops.mark[0])
        return values[0, : self.n - begin], marks[0, : self.n - begin]

    def look(self, pi: Array, roundings: int = 1) -> Look:
        """Evaluate a policy, columns in the order of ties, whose numbers were rounded so often."""
        if self.task is not None:
            work = self._room
            value = evaluate_policy(self.task.tables, self.task.R, pi, work)
            seen = work.weight > kernels.FEWEST_VISITS
            weight = np.where(seen, work.weight, np.nan)
            error = np.where(seen, self._error, 0.0)
            q, nowhere = work.q / weight[:, None], np.zeros(len(seen), dtype=bool)
            return Look(value, q, error, np.where(seen, weight, 0.0), nowhere)
        assert self.oracle is not None
        found = self.oracle.look(self._by_action(pi), roundings)
        return found._replace(q=found.q[:, self.order])

    @property
    def _error(self) -> float:
        """A bound on the errors of q in compiled loops, at pi and on the segment ahead."""
        return float(self._loops.error[0] + (self.n + 2) * self._loops.growth[0])

    def _by_action(self, pi: Array) -> Array:
        table = np.empty_like(pi)
        table[:, self.order] = pi
        return table

    def _refuse(self, lacking: Mask) -> None:
        o = self.P.O.text(self.P.O[int(np.flatnonzero(lacking)[0])])
        other = "discounted" if self.P.gamma != 1 else "stationary"
        raise NotWeighted(
            f"{self.P.name}: the policy may never end, so it sees o={o} infinitely often, and "
            f"q(o, a) weighted by {self.weights} is not defined there: take weights={other!r}"
        )

    # ---------------------------------------------------------------- as others see it

    @property
    def table(self) -> Array:
        """pi, with the columns of A."""
        return self._by_action(self.pi)

    @property
    def actions(self) -> Actions:
        """The greedy actions of the last iterate, -1 for rows without q-values."""
        return np.where(self.greedy < 0, -1, self.order[self.greedy])

    def policy(self) -> Policy:
        """pi as a policy."""
        return Policy(self.P, Numbers.of(self.field.leave(self.table)))

    def completed(self, goal: Actions) -> Policy:
        """The policy that takes `goal`. Rows without a goal are those of pi; as they were given,
        and so exact if the start is, where none of them has moved."""
        actions, still = np.where(goal < 0, -1, self.order[goal]), self.pi == self.first
        return completed(self.P, actions, self.start if still[goal < 0].all() else self.policy())

    def kept_since(self, o: int) -> float:
        """The product of 1 - step since greedy last changed on a row, if it is above 1e-12."""
        n, product = self.n, 1.0
        while n > self.since[o] and product > 1e-12:
            n -= 1
            product *= 1 - float(self.steps(n))
        return product

    # ---------------------------------------------------------------- the rest of the segment

    def glance(self, goal: Actions, x: Fraction) -> Glance:
        """What x pi + (1-x) goal is like. Where floats cannot tell, `goal` stays greedy."""
        found = self.look(mixed(self.pi, goal, self.field.one(x)), 3 * self.n + 5)
        tau, is_open = self.chooser.choose(found, goal, self.kept > 0)
        self.chooser.refuse_unknown(found, is_open)
        return Glance(found, tau, is_open)

    def leaving(self, goal: Actions, counts: Mask) -> Mask:
        """The rows on which `goal` does not stay greedy on the rest of the segment. They go up to
        the first relevant row that leaves, without that row if others left before."""
        if self.polynomial is not None and self.exact:
            return self._leaving_exactly(goal)
        if self.task is not None:
            return self._leaving_compiled(goal)
        found = np.zeros(len(goal), dtype=bool)
        for x in GRID[:0:-1]:
            leaving = (goal >= 0) & (self.glance(goal, x).tau != goal)
            if (leaving & counts).any():
                return found if found.any() else leaving
            found |= leaving
        return found

    def _leaving_compiled(self, goal: Actions) -> Mask:
        """The same by Bernstein coefficients: q(o,a) times weight is a polynomial in x."""
        assert self.task is not None
        leaves, sure = np.zeros((1, len(goal)), dtype=np.uint8), np.empty(1, dtype=bool)
        look_ahead(
            self.task.tables, self.task.R[None], self.pi[None], goal[None],
            np.array([self._error]), self.chooser.same, self._room, leaves, sure,
        )  # fmt: skip
        return (leaves[0] > 0) & (goal >= 0)

    def _leaving_exactly(self, goal: Actions) -> Mask:
        """The same in fractions, decided: no coefficient may be negative."""
        assert self.polynomial is not None
        nodes, matrix = bernstein_at_nodes(self.polynomial.levels)
        looks = [self.look(mixed(self.pi, goal, x)) for x in nodes]
        same, leaving = self.chooser.same, np.zeros(len(goal), dtype=bool)
        rivals = same != np.take_along_axis(same, goal[:, None], axis=1)
        if self.P.allowed is not None:
            rivals &= self.P.allowed[:, self.order]
        for o in np.flatnonzero(goal >= 0).tolist():
            for a in np.flatnonzero(rivals[o]).tolist():
                ahead = [
                    0
                    if look.q[o, a] is None
                    else (look.q[o, goal[o]] - look.q[o, a]) * look.weight[o]
                    for look in looks
                ]
                found = (matrix @ np.array(ahead, dtype=object)).tolist()
                # a tie on all of the segment goes to the column that comes first
                leaving[o] |= min(found) < 0 or (max(found) == 0 and a < goal[o])
        return leaving

    def seen_at(self, goal: Actions) -> Mask:
        """The rows that have a weight where the segment ends."""
        found = self.glance(goal, Fraction(0)).found
        return np.asarray(found.weight != 0, dtype=bool) | found.lacking


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


@lru_cache(maxsize=256, typed=True)  # 0.1 is 1/10, a fraction that equals the float is not
def exact_step(size: Number) -> Fraction:
    """A step as a fraction: a float is the decimal that it is printed as, 0.02 is 1/50."""
    return read_decimal(size) if isinstance(size, float) else Fraction(size)
