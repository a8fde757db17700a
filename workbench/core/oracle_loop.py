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
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core import oracle_kernels as kernels
from workbench.core.errors import Multichain, NeverEnds, NotSolved, NotWeighted
from workbench.core.fields import FLOATS, RATIONALS
from workbench.core.greedy_choice import Chooser, GreedyChoice
from workbench.core.horizon import GRID, Unrolled, bernstein_at_nodes, has_finite_horizon, unroll
from workbench.core.loop_history import Actions, Array, LoopHistory, Schedule, exact_step, mixed
from workbench.core.numbers import Numbers
from workbench.core.oracle import Look, Mask, Oracle, WarmOracle
from workbench.core.policy import Policy, tie_order
from workbench.core.pomdp import POMDP

UNANSWERED = (NeverEnds, NotSolved, NotWeighted, Multichain)
"""What an oracle says about policies that have no q-values."""

_MOST_BITS, _MOST_WORK = 2e6, 1e7
"""Bits of a policy's numbers times states, times states again where there are equations to solve,
up to which fractions are asked; and in all, in one run: a few seconds."""

_MOST_TURNS = 4_096
"""Changes of greedy that the kernel notes before it comes back."""

_MOST_WAITED = 15
"""Iterates with open rows, at most, between two looks with better bounds."""

_SIMPLE_WEIGHTS = ("visits", "discounted", "stationary")
"""Weights that the kernels know."""


class GreedyLoop:
    """pi, moved step by step towards the greedy policy of each iterate.

    Columns are in the order in which ties are broken.

    Attributes
    ----------
    pi : `pi[o, column]`, floats or fractions; n : how many iterates were made.
    greedy : the greedy columns of the last iterate, -1 for rows without q-values.
    kept : the product of 1 - step since greedy last changed.
    history, chooser : its changes, and the ties that had to be broken.
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
        self.is_exact = P.is_exact and start.is_exact
        self.pi = np.ascontiguousarray(self.field.enter(start.prob)[:, self.order])
        self.n, self.kept, self.mark = 0, 1.0, 0
        self.greedy = np.full(len(P.O), -1, dtype=np.int64)
        self.history = LoopHistory(start, steps, self.order)
        self.chooser = Chooser(P, self.order, self.is_exact)
        self._rationals: Oracle | None = None
        self._work, self._open, self._wait = 0.0, 0, 0
        task = unroll(P, self.order, weights) if self.is_finite else None
        self.levels = task.levels if task else 0
        is_simple = weights in _SIMPLE_WEIGHTS and not exact and not average
        # the kernel knows no actions that are not there
        self.task = task if is_simple and P.allowed is None else None
        self.oracle: Oracle | None = None
        if self.task is not None:
            self._begin_compiled(self.task)
        elif is_simple:
            self.oracle = WarmOracle(P, weights)
        else:
            self.oracle = Oracle(P, weights, self.field, average)

    def _begin_compiled(self, task: Unrolled) -> None:
        nO = len(self.P.O)
        size = task.levels * float(np.abs(self.P.p.r.floats).max(initial=0.0))
        self._loops = kernels.begin_loops(
            self.pi[None], self.chooser.same, np.array([size * task.error]),
            np.array([size * task.growth]),
        )._replace(greedy=self.greedy[None])  # fmt: skip
        self._buffer = np.empty((_MOST_TURNS + nO, 3), dtype=np.int64)
        self._room = task.make_work(nO)

    def restore(self, pi: Array, n: int) -> None:
        """Go back to the policy that the loop had after n iterates."""
        self.pi[:], self.n = pi, n
        self.history.restore(n)
        self.chooser.restore(n)
        if self.task is not None:
            self._loops.n[0] = n

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
            found = self.look(self.pi, 3 * self.n + 1)
            if found.lacking.any():
                self._refuse(found.lacking)
            tau = self._greedy_of(found)
            values.append(found.value)
            marks.append(int(kernels.mark_of(tau)))
            if marks[-1] != self.mark:
                self.mark, self.kept, look = marks[-1], 1.0, first
                turned = np.flatnonzero(tau != self.greedy)
                self._turn([(self.n, o, int(tau[o])) for o in turned.tolist()])
                self.greedy[:] = tau
            keep = 1 - exact_step(self.steps(self.n))
            self.pi = mixed(self.pi, tau, self.field.one(keep))
            self.kept *= float(keep)
            self.n += 1
            if self.kept <= look:
                break
        kind = object if self.exact else np.float64
        return np.array(values, dtype=kind), np.array(marks, dtype=np.uint64)

    def _greedy_of(self, found: Look) -> Actions:
        if self.exact:
            choice = self.chooser.choose_exactly(found)
            self.chooser.tell(self.n, choice)
            return choice.tau
        tau, is_open = self.chooser.compare(found, self.chooser.alike, self.greedy)
        if isinstance(self.oracle, WarmOracle) and self._is_unclear(found, is_open):
            # bounds of a warm start are rough: ask for better ones, rarer after each time in vain
            self._open += 1
            if self._open > self._wait:
                rough = tau
                found = self.look(self.pi, 3 * self.n + 1, again=True)
                tau, is_open = self.chooser.compare(found, self.chooser.alike, self.greedy)
                self._open = 0
                self._wait = 0 if (tau != rough).any() else min(2 * self._wait + 1, _MOST_WAITED)
        return self._settle(found, tau, is_open)

    def _is_unclear(self, found: Look, is_open: Mask) -> bool:
        """Whether rows are open for no reason that is known."""
        rows = np.flatnonzero(is_open & (self.chooser.asks > 0))
        unclear = self.chooser.tied(found, rows, self.history.twin)[1] if len(rows) else rows
        return bool(unclear.any())

    def _settle(self, found: Look, tau: Actions, is_open: Mask) -> Actions:
        """Decide the open rows of pi, and remember what was found."""
        if is_open.any():
            twin = self.history.twin
            choice = self.chooser.settle(found, tau, is_open, twin, self._ask_fractions)
            self.chooser.tell(self.n, choice)
            self.chooser.learn(choice, twin, partial(self._fractions_ahead, tau))
        return tau

    def _advance_compiled(
        self, task: Unrolled, count: int, look: float, first: float
    ) -> tuple[Array, NDArray[np.uint64]]:
        sizes = [self.steps(self.n + i) for i in range(count)]
        steps = np.array([float(x) for x in sizes])
        keeps = np.array([float(1 - exact_step(x)) for x in sizes])
        values, marks = np.empty((1, count)), np.empty((1, count), dtype=np.uint64)
        begin, why, loops = self.n, np.full(1, kernels.MADE), self._loops
        loops.look[0] = look
        while True:
            loops.alike[0] = self.chooser.alike
            wary = bool((self.chooser.alike != self.chooser.same).any())
            turned = kernels.run_loops(
                task.tables, task.R[None], loops, self._room, self.chooser.same, steps, keeps,
                first, begin, values, marks, why, self._buffer, self.chooser.asks, wary,
            )  # fmt: skip
            self.n = int(loops.n[0])
            self._turn(self._buffer[:turned].tolist())
            if why[0] == kernels.OPEN:
                self._settle(self._seen_by_kernel(None), loops.found[0], loops.open[0] > 0)
            elif why[0] == kernels.SETTLED or self.n - begin == count:
                break
        self.kept, self.mark = float(loops.kept[0]), int(loops.mark[0])
        return values[0, : self.n - begin], marks[0, : self.n - begin]

    def _seen_by_kernel(self, value: float | None) -> Look:
        """What the kernel found about the policy at hand."""
        work, loops = self._room, self._loops
        seen = work.weight > kernels.FEWEST_VISITS
        weight = np.where(seen, work.weight, np.nan)
        error = np.where(seen, loops.error[0] + (self.n + 2) * loops.growth[0], 0.0)
        q, nowhere = work.q / weight[:, None], np.zeros(len(seen), dtype=bool)
        return Look(value, q, error, np.where(seen, weight, 0.0), nowhere)

    def look(self, pi: Array, roundings: int = 1, again: bool = False) -> Look:
        """Evaluate a policy, columns in the order of ties, whose numbers were rounded so often."""
        if self.task is not None:
            value = kernels.evaluate_policy(self.task.tables, self.task.R, pi, self._room)
            return self._seen_by_kernel(value)
        assert self.oracle is not None
        ask = self.oracle.look_again if again else self.oracle.look
        found = ask(self._by_action(pi), roundings)
        return found._replace(q=found.q[:, self.order])

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

    def _turn(self, turns: list[Any]) -> None:
        """Note changes of greedy (iterate, row, column), in order."""
        if turns:
            self.chooser.forget(self.history.add(turns))

    # ---------------------------------------------------------------- in fractions

    def _ask_fractions(
        self, goal: Actions | None = None, x: Fraction = Fraction(1)
    ) -> Array | None:
        """q of x pi + (1-x) goal in fractions, or None if it would be too much work."""
        step = exact_step(self.steps(self.n))
        states = float(len(self.P.S))
        bits = 1 + self.n * step.denominator.bit_length()
        work = bits * (states if self.is_finite else states**2)
        if not self.is_exact or work > _MOST_BITS or self._work + work > _MOST_WORK:
            return None
        self._work += work
        if self._rationals is None:
            self._rationals = Oracle(self.P, self.weights, RATIONALS, self.average)
        pi = self.fractions() if goal is None else mixed(self.fractions(), goal, RATIONALS.one(x))
        try:
            return self._rationals.look(self._by_action(pi)).q[:, self.order]
        except UNANSWERED:
            return None

    def _fractions_ahead(self, goal: Actions) -> list[Array | None]:
        return [self._ask_fractions(goal, x) for x in (Fraction(1, 2), Fraction(1, 5))]

    def fractions(self) -> Array:
        """pi in fractions."""
        return self.history.fractions(self.n)

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

    def completed(self, goal: Actions, otherwise: Policy | None) -> Policy:
        """The policy that takes `goal`. Rows without a goal come from another policy, or from
        pi."""
        actions = np.where(goal < 0, -1, self.order[goal])
        return completed(self.P, actions, otherwise or self.policy())

    # ---------------------------------------------------------------- the rest of the segment

    def glance(self, goal: Actions, x: Fraction) -> tuple[Look, GreedyChoice]:
        """What x pi + (1-x) goal is like: q, and the greedy columns."""
        found = self.look(mixed(self.pi, goal, self.field.one(x)), 3 * self.n + 5)
        if self.exact:
            return found, self.chooser.choose_exactly(found)
        twin = np.unique(np.stack([self.history.twin, goal]), axis=1, return_inverse=True)[1]
        twin = twin.reshape(-1)
        together = x > 0 and twin.max() == self.history.twin.max()
        still = together and (goal == self.greedy).all()
        known = self.chooser.alike if still else self.chooser.same
        tau, is_open = self.chooser.compare(found, known, goal)
        there = partial(self._ask_fractions, goal, x)
        return found, self.chooser.settle(found, tau, is_open, twin, there)

    def leaving(self, goal: Actions, counts: Mask) -> Mask:
        """The rows on which `goal` does not stay greedy on the rest of the segment. They go up to
        the first relevant row that leaves, without that row if others left before."""
        if self.levels and self.weights in _SIMPLE_WEIGHTS and self.exact:
            return self._leaving_exactly(goal)
        if self.task is not None:
            return self._leaving_polynomials(goal)
        found = np.zeros(len(goal), dtype=bool)
        for x in GRID[:0:-1]:
            leaving = (goal >= 0) & (self.glance(goal, x)[1].tau != goal)
            if (leaving & counts).any():
                return found if found.any() else leaving
            found |= leaving
        return found

    def _leaving_polynomials(self, goal: Actions) -> Mask:
        """The rows on which `goal` does not stay greedy, by Bernstein coefficients. q(o,a) times
        weight is a polynomial with as many coefficients as there are levels. A row leaves where a
        coefficient of a difference is negative beyond its bound."""
        assert self.task is not None
        nodes, matrix = self.task.tables.nodes, self.task.tables.matrix
        looks = [self.look(mixed(self.pi, goal, x)) for x in nodes.tolist()]
        weight = np.array([found.weight for found in looks])
        q = np.array([np.where(np.isnan(found.q), 0.0, found.q) for found in looks])
        rows = np.flatnonzero(goal >= 0)
        best, bounds = q[:, rows, goal[rows]], np.array([2 * found.error for found in looks])
        ahead = (best[:, :, None] - q[:, rows]) * weight[:, rows, None]
        shape = ahead.shape
        least = (matrix @ ahead.reshape(len(nodes), -1)).reshape(shape)
        least += (np.abs(matrix) @ (bounds * weight)[:, rows])[:, :, None]
        alike = self.chooser.alike[rows]
        others = alike != np.take_along_axis(alike, goal[rows][:, None], axis=1)
        leaving = np.zeros(len(goal), dtype=bool)
        leaving[rows] = ((least < 0).any(axis=0) & others).any(axis=1)
        return leaving

    def _leaving_exactly(self, goal: Actions) -> Mask:
        """The same in fractions, decided: no coefficient may be negative."""
        nodes, matrix = bernstein_at_nodes(self.levels)
        looks = [
            self.look(mixed(self.pi, goal, RATIONALS.one(Fraction(int(x.p), int(x.q)))))
            for x in nodes
        ]
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
                found = [
                    sum(matrix[j, i] * y for i, y in enumerate(ahead)) for j in range(len(ahead))
                ]
                # a tie on all of the segment goes to the column that comes first
                leaving[o] |= min(found) < 0 or (max(found) == 0 and a < goal[o])
        return leaving

    def seen_at(self, goal: Actions) -> Mask:
        """The rows that have a weight where the segment ends."""
        found = self.glance(goal, Fraction(0))[0]
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
