"""A run of the oracle loop (Section 5.2): iterates, ties, and the search for an end.

While greedy stays tau, pi_n = x pi + (1-x) tau lies on the segment from the policy pi at which it
became tau to tau itself, whatever the steps. Once x is small, the rest of the segment is looked at:
where tau is greedy everywhere, it is the limit. In fractions and with a finite horizon that is
decided, since q(o,a) times weight is a polynomial in x (`oracle_kernels`); otherwise it is seen at
places, and a change of greedy and back between two of them may be missed.

Some rows may go on changing for ever although the policy that the others tend to never visits them.
So rows that have changed lately stay where they are, and the others go to tau: if none of the first
is visited at x = 0, and tau stays greedy on the others, nothing that counts changes any more.

With a constant step the loop is a contraction between changes of tau. When tau has been periodic
for so long that nothing else is left in pi, so has pi: a limit cycle.

Floats are compared by bounds on their errors. Where these leave a row open,

    reasons     actions that lead to states of the same kind with the same chances tie as long as
                the same rows of the policy are equal (`bisimulation`)
    fractions   pi_n is known in closed form, so that q can be evaluated exactly
    rounding    else it is a tie, and what was greedy before stays so
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core import oracle_kernels as kernels
from workbench.core.bisimulation import kinds_of_states, same_actions
from workbench.core.errors import Multichain, NeverEnds, NotSolved, NotWeighted
from workbench.core.fields import FLOATS, RATIONALS
from workbench.core.horizon import GRID, Unrolled, bernstein_at_nodes, has_finite_horizon, unroll
from workbench.core.numbers import Number, Numbers, read_decimal
from workbench.core.oracle import Look, Oracle, WarmOracle
from workbench.core.policy import Policy, tie_order
from workbench.core.pomdp import POMDP
from workbench.core.space import Label
from workbench.core.words import show

EQUAL, ROUNDING = "equal", "within rounding"

UNANSWERED = (NeverEnds, NotSolved, NotWeighted, Multichain)
"""What an oracle says about policies that have no q-values."""

_MOST_BITS, _MOST_WORK = 2e6, 1e7
"""Bits of a policy's numbers times states, times states again where there are equations to solve,
up to which fractions are asked; and in all, in one run: a few seconds."""

_MOST_TURNS = 4_096
"""Changes of greedy that the kernel notes before it comes back."""

Actions = NDArray[np.int64]
Array = NDArray[Any]
Mask = NDArray[np.bool_]
Schedule = Callable[[int], Number]


@dataclass(frozen=True)
class Tie:
    """Actions among which greedy had to be told which to take.

    Attributes
    ----------
    iterate : the first at which they tied.
    o, actions : the observation, and the actions, the one taken first.
    how : "equal"; or "within rounding": bounds on the errors of floats cannot tell them apart.
    """

    iterate: int
    o: Label
    actions: tuple[Label, ...]
    how: str
    words: str = field(default="", compare=False, repr=False)
    """Row and actions in the short form of the POMDP's labels."""

    def __str__(self) -> str:
        words = self.words or f"{show(self.o)}: {', '.join(map(show, self.actions))}"
        return f"iterate {self.iterate:,}, {words} ({self.how})"


@dataclass(frozen=True)
class RowChoice:
    """The greedy column of an open row and those that tie with it, one of each set that do the
    same; and how that is known."""

    tied: list[int]
    reason: int

    @property
    def best(self) -> int:
        return self.tied[0]

    @property
    def how(self) -> str:
        return ROUNDING if self.reason == _ROUNDING else EQUAL


class GreedyLoop:
    """pi, moved step by step towards the greedy policy of each iterate.

    Columns are in the order in which ties are broken.

    Attributes
    ----------
    pi : `pi[o, column]`, floats or fractions; n : how many iterates were made.
    greedy : the greedy columns of the last iterate, -1 for rows without q-values.
    kept : the product of 1 - step since greedy last changed.
    ties : those that had to be broken, in order.
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
        self.oracle = None if self._is_compiled else self._make_oracle(exact)
        self.task = unroll(P, self.order, weights) if self.is_finite else None
        self.levels = self.task.levels if self.task else 0
        self.task = self.task if self._is_compiled else None
        pi = np.ascontiguousarray(self.field.enter(start.prob)[:, self.order])
        self.pi, self.n, self.kept, self.mark, self.look_at = pi, 0, 1.0, 0, 0.0
        self.greedy = np.full(len(P.O), -1, dtype=np.int64)
        self.turns: list[list[tuple[int, int]]] = [[] for _ in P.O]
        self.ties: dict[tuple[Any, ...], Tie] = {}
        self.same = np.ascontiguousarray(same_actions(P)[:, self.order])
        # columns that tie as long as twins stay twins, and as long as greedy stays what it is
        self.always, self.alike = self.same.copy(), self.same.copy()
        self.twin = np.unique(
            np.broadcast_to(start.prob.floats, start.prob.shape), axis=0, return_inverse=True
        )[1].reshape(-1)
        self._equal: tuple[bytes, Array] | None = None
        self._rationals: Oracle | None = None
        self._work, self._asks = 0.0, np.ones(len(P.O), dtype=np.uint8)
        if self.task is not None:
            self._begin_compiled(self.task)

    @property
    def _is_compiled(self) -> bool:
        # other weights than these have P(s|o) that the kernel does not know
        return self.is_finite and not self.exact and self.weights in _SIMPLE_WEIGHTS

    def _make_oracle(self, exact: bool) -> Oracle:
        if exact or self.average or self.weights not in _SIMPLE_WEIGHTS:
            return Oracle(self.P, self.weights, RATIONALS if exact else FLOATS, self.average)
        return WarmOracle(self.P, self.weights)

    def _begin_compiled(self, task: Unrolled) -> None:
        nO = len(self.P.O)
        size = task.levels * float(np.abs(self.P.p.r.floats).max(initial=0.0))
        self._loops = kernels.Loops(
            pi=self.pi[None], greedy=self.greedy[None], found=np.full((1, nO), -1),
            since=np.zeros((1, nO), dtype=np.int64), n=np.zeros(1, dtype=np.int64),
            mark=np.zeros(1, dtype=np.uint64), kept=np.ones(1), look=np.zeros(1),
            error=np.full(1, size * task.error), growth=np.full(1, size * task.growth),
            open=np.zeros((1, nO), dtype=np.uint8), unsure=np.zeros(1, dtype=np.uint8),
            alike=self.alike[None].copy(), rho=self.pi[None], listed=np.empty((1, 0), np.uint64),
        )  # fmt: skip
        self._buffer = np.empty((_MOST_TURNS + nO, 3), dtype=np.int64)
        self._work_arrays = task.make_work(nO)

    def restore(self, pi: Array, n: int) -> None:
        """Go back to the policy that the loop had after n iterates."""
        self.pi[:], self.n = pi, n
        for row in self.turns:
            while row and row[-1][0] >= n:
                row.pop()
        self.ties = {key: tie for key, tie in self.ties.items() if tie.iterate <= n}
        self.twin = np.arange(len(self.turns))
        self.always, self.alike = self.same.copy(), self.same.copy()
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
        self.look_at = look
        if self.task is not None:
            return self._advance_compiled(self.task, count, first)
        values: list[Any] = []
        marks: list[int] = []
        while len(values) < count:
            found = self.look(self.pi, 3 * self.n + 1)
            if found.lacking.any():
                self._refuse(found.lacking)
            tau, is_open = self._choose(found, self.alike, self.greedy)
            if self.exact or is_open.any():
                again = None
                if isinstance(self.oracle, WarmOracle):
                    again = partial(self.look, self.pi, 3 * self.n + 1, again=True)
                choices = self._decide(
                    found, is_open, self.fractions, self.greedy, self.twin, again
                )
                self._note_ties(choices)
                for o, choice in choices.items():
                    tau[o] = choice.best
                self._learn(choices, tau)
            values.append(found.value)
            marks.append(int(kernels.mark_of(tau)))
            if marks[-1] != self.mark:
                self.mark, self.kept, self.look_at = marks[-1], 1.0, first
                self._turn([(self.n, o, int(tau[o])) for o in np.flatnonzero(tau != self.greedy)])
                self.greedy[:] = tau
            step = self.steps(self.n)
            self.pi = mixed(self.pi, tau, self.field.one(1 - exact_step(step)))
            self.kept *= float(1 - exact_step(step))
            self.n += 1
            if self.kept <= self.look_at:
                break
        kind = object if self.exact else np.float64
        return np.array(values, dtype=kind), np.array(marks, dtype=np.uint64)

    def _advance_compiled(
        self, task: Unrolled, count: int, first: float
    ) -> tuple[Array, NDArray[np.uint64]]:
        sizes = [self.steps(self.n + i) for i in range(count)]
        steps = np.array([float(x) for x in sizes])
        keeps = np.array([float(1 - exact_step(x)) for x in sizes])
        values, marks = np.empty((1, count)), np.empty((1, count), dtype=np.uint64)
        begin, why, loops = self.n, np.full(1, kernels.MADE), self._loops
        loops.look[0] = self.look_at
        while True:
            loops.alike[0] = self.alike
            wary = bool((self.alike != self.same).any())
            turned = kernels.run_loops(
                task.tables, task.R[None], loops, self._work_arrays, self.same, steps, keeps, first,
                self._asks, True, wary, begin, values, marks, why, self._buffer,
            )  # fmt: skip
            self.n = int(loops.n[0])
            self._turn(self._buffer[:turned].tolist())
            if why[0] == kernels.OPEN:
                found, is_open = self._seen_by_kernel(), loops.open[0] > 0
                choices = self._decide(found, is_open, self.fractions, self.greedy, self.twin)
                self._note_ties(choices)
                for o, choice in choices.items():
                    loops.found[0, o] = choice.best
                self._learn(choices, loops.found[0])
            elif why[0] == kernels.SETTLED or self.n - begin == count:
                break
        self.kept, self.mark, self.look_at = (
            float(loops.kept[0]),
            int(loops.mark[0]),
            float(loops.look[0]),
        )
        return values[0, : self.n - begin], marks[0, : self.n - begin]

    def _seen_by_kernel(self) -> Look:
        """What the kernel found about the policy at hand."""
        work, loops = self._work_arrays, self._loops
        seen = work.weight > kernels.FEWEST_VISITS
        weight = np.where(seen, work.weight, np.nan)
        error = np.where(seen, loops.error[0] + (self.n + 2) * loops.growth[0], 0.0)
        q, nowhere = work.q / weight[:, None], np.zeros(len(seen), dtype=bool)
        return Look(None, q, error, np.where(seen, weight, 0.0), nowhere)

    def look(self, pi: Array, roundings: int = 1, again: bool = False) -> Look:
        """Evaluate a policy, columns in the order of ties; `again` with better bounds."""
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
        if not turns:
            return
        for n, o, column in turns:
            self.turns[o].append((int(n), int(column)))
        # rows stay equal as long as they turn at the same time to the same column
        names: dict[Any, int] = {}
        before = self.twin
        latest: dict[int, list[Any]] = {}
        for n, o, column in turns:
            latest.setdefault(o, []).append((n, column))
        keys = [(int(before[o]), tuple(latest.get(o, ()))) for o in range(len(before))]
        self.twin = np.array([names.setdefault(key, len(names)) for key in keys])
        if len(names) > len(np.unique(before)):
            self.always = self.same.copy()
        self.alike = self.always.copy()

    # ---------------------------------------------------------------- which action is greedy

    def _choose(self, found: Look, alike: Array, before: Actions) -> tuple[Actions, Mask]:
        """The greedy column of each row, -1 without q-values, and which rows are open."""
        rows = len(found.weight)
        if self.exact:
            tau = np.full(rows, -1)
            for o, row in enumerate(found.q):
                defined = [x for x in row if x is not None]
                if defined:
                    tau[o] = row.tolist().index(max(defined))
            return tau, np.zeros(rows, dtype=bool)
        seen = ~np.isnan(found.q).all(axis=1)
        reach = np.where(seen, np.maximum(found.error, _LEAST), 0.0)
        q = np.where(np.isnan(found.q), -np.inf, found.q)
        tau, is_open = np.empty(rows, dtype=np.int64), np.empty(rows, dtype=np.uint8)
        kernels.choose_greedy(q, reach, 1.0, alike, before, tau, is_open)
        return tau, is_open > 0

    def _decide(
        self,
        found: Look,
        is_open: Mask,
        fractions: Callable[[], Array],
        before: Actions,
        twin: Actions,
        again: Callable[[], Look] | None = None,
    ) -> dict[int, RowChoice]:
        """The greedy columns of the open rows; of exact numbers, the ties. `again` looks once more,
        with better bounds."""
        if self.exact:
            return self._exact_ties(found)
        choices: dict[int, RowChoice] = {}
        left: dict[int, list[list[int]]] = {}
        equal = self._equal_for(twin)
        rows = np.flatnonzero(is_open).tolist()
        for attempt in (1, 2):
            for o in rows:
                groups = self._rivals(found, o, equal)
                if len(groups) == 1:
                    choices[o] = RowChoice(groups[0], _KINDS)
                    left.pop(o, None)
                else:
                    left[o] = groups
            rows = [o for o in left if self._asks[o]]
            if attempt == 2 or not rows or again is None:
                break
            found = again()  # bounds of a warm start are rough
        if left and (q_exact := self._ask_fractions(fractions)) is not None:
            for o, some in left.items():
                top = max(q_exact[o, group[0]] for group in some)
                tied = [a for group in some if q_exact[o, group[0]] == top for a in group]
                choices[o] = RowChoice(sorted(tied), _FRACTIONS)
            return choices
        for o, some in left.items():
            if np.isinf(found.error[o]):
                advice = "exact=True" if self.is_exact else "Fractions and exact=True"
                raise NotSolved(
                    f"{self.P.name}: o={self.P.O.text(self.P.O[o])} is seen, and floats cannot "
                    "find how often to any accuracy, so that nothing is known about q(o, a) there: "
                    f"use {advice}"
                )
            kept = [group for group in some if self.same[o, before[o]] in self.same[o, group]]
            first_group = kept[0] if kept and before[o] >= 0 else some[0]
            tied = [*first_group, *(a for group in some if group is not first_group for a in group)]
            choices[o] = RowChoice(tied, _ROUNDING)
        return choices

    def _rivals(self, found: Look, o: int, equal: Array) -> list[list[int]]:
        """The columns of a row that may be the largest, one of each set that do the same, in groups
        that tie for a reason."""
        q = np.where(np.isnan(found.q[o]), -np.inf, found.q[o])
        rivals = np.flatnonzero(q >= q.max() - 2 * found.error[o])
        _, first = np.unique(self.same[o, rivals], return_index=True)
        groups: dict[int, list[int]] = {}
        for a in rivals[np.sort(first)].tolist():
            groups.setdefault(int(equal[o, a]), []).append(a)
        return list(groups.values())

    def _exact_ties(self, found: Look) -> dict[int, RowChoice]:
        choices = {}
        for o, row in enumerate(found.q):
            defined = [x for x in row if x is not None]
            if defined:
                tied = np.array([a for a, x in enumerate(row) if x == max(defined)])
                _, first = np.unique(self.same[o, tied], return_index=True)
                if len(first) > 1:
                    choices[o] = RowChoice(tied[np.sort(first)].tolist(), _FRACTIONS)
        return choices

    def _equal_for(self, twin: Actions) -> Array:
        """`equal[o, column]`: those with the same entry tie under every policy with these twins."""
        key = twin.tobytes()
        if self._equal is None or self._equal[0] != key:
            equal = same_actions(self.P, kinds_of_states(self.P, twin))
            self._equal = key, equal[:, self.order]
        return self._equal[1]

    def _note_ties(self, choices: dict[int, RowChoice]) -> None:
        for o, choice in sorted(choices.items()):
            key = o, tuple(choice.tied), choice.how
            if len(choice.tied) > 1 and key not in self.ties:
                actions = tuple(self.P.A[int(self.order[a])] for a in choice.tied)
                words = f"{self.P.O.text(self.P.O[o])}: {', '.join(map(self.P.A.text, actions))}"
                self.ties[key] = Tie(self.n, self.P.O[o], actions, choice.how, words)

    def _learn(self, choices: dict[int, RowChoice], tau: Actions) -> None:
        """Remember ties, so that they are not asked about at every iterate."""
        if self.exact:
            return
        asked = {
            o: c.tied for o, c in choices.items() if c.reason == _FRACTIONS and len(c.tied) > 1
        }
        for x in (Fraction(1, 2), Fraction(1, 5)) if asked else ():
            # equal here and at two places more of the segment: taken to be equal on all of it
            q = self._ask_fractions(partial(self._fractions_ahead, tau, x))
            asked = {} if q is None else {
                o: tied for o, tied in asked.items() if all(q[o, a] == q[o, tied[0]] for a in tied)
            }  # fmt: skip
        for o, choice in choices.items():
            if choice.reason == _ROUNDING:
                self._asks[o] = 0  # nobody can tell, now or later
            for table in (self.alike, self.always) if choice.reason == _KINDS else (self.alike,):
                if choice.reason == _KINDS or o in asked:
                    joined = (self.same[o][:, None] == self.same[o, choice.tied]).any(axis=1)
                    table[o, joined] = table[o, choice.tied[0]]

    # ---------------------------------------------------------------- in fractions

    @property
    def is_exact(self) -> bool:
        """Whether open rows have an answer in fractions."""
        return self.P.is_exact and self.start.is_exact

    def _ask_fractions(self, fractions: Callable[[], Array]) -> Array | None:
        """q of a policy in fractions; None if it would be too much work."""
        step = exact_step(self.steps(self.n))
        states = float(len(self.P.S))
        bits = 1 + self.n * step.denominator.bit_length()
        work = bits * (states if self.is_finite else states**2)
        if not self.is_exact or work > _MOST_BITS or self._work + work > _MOST_WORK:
            return None
        self._work += work
        if self._rationals is None:
            self._rationals = Oracle(self.P, self.weights, RATIONALS, self.average)
        try:
            return self._rationals.look(self._by_action(fractions())).q[:, self.order]
        except UNANSWERED:
            return None

    def fractions(self) -> Array:
        """pi in fractions, from the start and the turns of greedy: floats were rounded at every
        step."""
        pi = RATIONALS.enter(self.start.prob)[:, self.order].copy()
        kept: dict[tuple[int, int], Any] = {}
        for o, turns in enumerate(self.turns):
            for i, (begin, column) in enumerate(turns):
                end = turns[i + 1][0] if i + 1 < len(turns) else self.n
                if (begin, end) not in kept:
                    kept[begin, end] = self._kept_between(begin, end)
                if column >= 0:
                    x = kept[begin, end]
                    pi[o] = pi[o] * x
                    pi[o, column] = pi[o, column] + (1 - x)
        return pi

    def _fractions_ahead(self, goal: Actions, x: Fraction) -> Array:
        return mixed(self.fractions(), goal, RATIONALS.one(x))

    def _kept_between(self, begin: int, end: int) -> Any:
        steps = [exact_step(self.steps(n)) for n in range(begin, end)]
        x = RATIONALS.one(1)
        for step in set(steps):
            x = x * RATIONALS.one(1 - step) ** steps.count(step)
        return x

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
        """The policy that takes `goal`; rows without one are those of another policy, or pi."""
        actions = np.where(goal < 0, -1, self.order[goal])
        return completed(self.P, actions, otherwise or self.policy())

    def kept_since(self, o: int) -> float:
        """The product of 1 - step since greedy last changed on a row, if it is above 1e-12."""
        since, product, n = self.turns[o][-1][0] if self.turns[o] else 0, 1.0, self.n
        while n > since and product > 1e-12:
            n -= 1
            product *= 1 - float(self.steps(n))
        return product

    # ---------------------------------------------------------------- the rest of the segment

    def glance(self, goal: Actions, x: Fraction) -> tuple[Look, Actions, dict[int, RowChoice]]:
        """What x pi + (1-x) goal is like: q, the greedy columns, and the ties among them."""
        pi = mixed(self.pi, goal, self.field.one(x))
        if self.task is None:
            found = self.look(pi, 3 * self.n + 5)
        else:
            value = kernels.evaluate_policy(self.task.tables, self.task.R, pi, self._work_arrays)
            found = self._seen_by_kernel()._replace(value=value)
        twin = np.unique(np.stack([self.twin, goal]), axis=1, return_inverse=True)[1].reshape(-1)
        together = x > 0 and len(np.unique(twin)) == len(np.unique(self.twin))
        known = self.alike if together and (goal == self.greedy).all() else self.same
        tau, is_open = self._choose(found, known, goal)
        there = partial(self._fractions_ahead, goal, x)
        choices = self._decide(found, is_open, there, goal, twin)
        for o, choice in choices.items():
            tau[o] = choice.best
        return found, tau, choices

    def leaving(self, goal: Actions, counts: Mask) -> Mask:
        """The rows on which `goal` does not stay greedy on the rest of the segment: up to the first
        place where one that counts leaves, without that one if others left before."""
        if self.is_finite and self.weights in _SIMPLE_WEIGHTS:
            if self.exact:
                return self._leaving_exactly(goal, self.pi)
            assert self.task is not None
            leaves, sure = np.zeros((1, len(goal)), dtype=np.uint8), np.empty(1, dtype=bool)
            error = self._loops.error + self._loops.growth * (self.n + 2)
            kernels.look_ahead(
                self.task.tables, self.task.R[None], self.pi[None], goal[None], error, self.alike,
                self._work_arrays, leaves, sure,
            )  # fmt: skip
            return (leaves[0] > 0) & (goal >= 0)
        found = np.zeros(len(goal), dtype=bool)
        for x in GRID[:0:-1]:
            _, tau, _ = self.glance(goal, x)
            leaving = (goal >= 0) & (tau != goal)
            if (leaving & counts).any():
                return found if found.any() else leaving
            found |= leaving
        return found

    def _leaving_exactly(self, goal: Actions, pi: Array) -> Mask:
        """The same in fractions, decided: q(o,a) times weight has as many Bernstein coefficients on
        the segment as there are levels, and none of a difference may be negative."""
        nodes, matrix = bernstein_at_nodes(self.levels)
        looks = [
            self.look(mixed(pi, goal, RATIONALS.one(Fraction(int(x.p), int(x.q))))) for x in nodes
        ]
        leaving = np.zeros(len(goal), dtype=bool)
        for o in np.flatnonzero(goal >= 0).tolist():
            for a in range(len(self.order)):
                if self.same[o, a] == self.same[o, goal[o]]:
                    continue
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


_SIMPLE_WEIGHTS = ("visits", "discounted", "stationary")
_KINDS, _FRACTIONS, _ROUNDING = range(3)
_LEAST = 1e-200


def mixed(pi: Array, goal: Actions, x: Any) -> Array:
    """x pi + (1 - x) goal, on the rows that have one."""
    rows = np.flatnonzero(goal >= 0)
    table = pi.copy()
    table[rows] = table[rows] * x
    table[rows, goal[rows]] += 1 - x
    return table


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


@lru_cache(maxsize=256, typed=True)  # 0.1 is 1/10, a fraction that equals the float is not
def exact_step(size: Number) -> Fraction:
    """A step as a fraction: a float is the decimal that it is printed as, 0.02 is 1/50."""
    return read_decimal(size) if isinstance(size, float) else Fraction(size)
