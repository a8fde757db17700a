"""The stream of iterates of the oracle loop (Section 5.2), however q-values are found.

    pi_0      the start
    tau_n     greedy on q_{pi_n}(o, a), ties broken as told; on rows without q-values, pi_n itself
    pi_{n+1}  = (1 - eps_n) pi_n + eps_n tau_n

A `Loop` keeps pi and moves it. Three ways, chosen by `loop_for`:

    finite horizon, floats  states in topological order; the whole loop is compiled (`loop_kernels`)
    otherwise, floats      an oracle that starts from what it knows about the last policy (`oracle`)
    exact                     `evaluation` over the rationals
    average reward            `gain_oracle`, in floats or rationals

Floats decide by their error bounds; rows that these leave open are decided exactly where that can
be done (`decision`). Certificates, curves and `improve` all read this stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.errors import NotSolved, NotWeighted
from workbench.evaluation.fields import FLOATS, RATIONALS, Field
from workbench.improvement import loop_kernels as kernels
from workbench.improvement.decision import EQUAL, ROUNDING, Answer, Decision, TableOf, Tie
from workbench.improvement.gain_oracle import GainOracle
from workbench.improvement.horizon import has_finite_horizon, unroll
from workbench.improvement.oracle import UNIT, Oracle, SparseOracle
from workbench.improvement.pair_oracle import PairPolicy
from workbench.improvement.trail import Actions, Trail, exact_size
from workbench.improvement.way import Way, WayForms, stays_exactly
from workbench.improvement.way_kernels import LEAVES, STAYS
from workbench.model.numbers import Number
from workbench.model.policy import Policy, tie_order
from workbench.model.pomdp import POMDP
from workbench.model.ties import rank_actions

_MOST_TAUS = 12
"""Ties are proved to last on what at most so many greedy policies span."""

_CHANGES = 4_096
"""Changes of greedy that the compiled loop notes before it comes back."""

TableArray = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Glance:
    """What a policy on the way ahead is like: its value, q, its greedy actions, the ties among
    them."""

    value: Any
    q: TableArray
    greedy: Actions
    ties: dict[int, Answer]


class Loop:
    """pi, moved step by step towards the greedy policy of each iterate.

    Attributes
    ----------
    field : of the numbers; pi : `pi[o, a]` over it, as it is now.
    greedy : the greedy actions of the last iterate, -1 for rows without q-values.
    kept : the product of 1 - step since the greedy actions last changed: how much of the policy of
        then is left.
    trail : all greedy choices so far; ties : those that had to be broken, in order.
    """

    field: Field
    kept: float
    greedy: Actions

    def __init__(self, P: POMDP, start: Policy, ties: str, weights: str, criterion: str = "return"):
        self.P, self.weights, self.criterion = P, weights, criterion
        self.order = tie_order(P.A, ties)
        self.trail = Trail(start)
        self.decision = Decision(P, weights, self.order, start, criterion)
        self._ties: dict[tuple[int, tuple[int, ...], str], Tie] = {}
        self._taus: list[Actions] = []
        self._same = self.decision.same

    @property
    def pi(self) -> TableArray:
        raise NotImplementedError

    @property
    def ties(self) -> tuple[Tie, ...]:
        return tuple(self._ties.values())

    def advance(
        self, steps: Sequence[Number], settled: float = -1.0, fresh: float = -1.0
    ) -> tuple[NDArray[Any], NDArray[np.uint64]]:
        """Make iterates: their values, and a mark of each greedy policy.

        It ends when the steps are used up, or when `kept` is at most `settled`, or `fresh` once
        greedy has changed. It may end before that; at least one iterate is made.
        """
        raise NotImplementedError

    def look_ahead(self, goal: Actions, x: Fraction) -> Glance:
        """What x pi + (1 - x) goal is like, a policy on the way to `goal`."""
        raise NotImplementedError

    def first_doubt(self, goal: Actions, shares: Sequence[Fraction], begin: int) -> int:
        """The first of some places x pi + (1 - x) goal, from one on, that has to be looked at: at
        those before it `goal` is greedy for certain on the rows that have one."""
        return begin

    def along(self, goal: Actions) -> Way | None:
        """Whether `goal` is greedy on all of the way to it, on the rows that have one; None where
        that can only be looked at in places."""
        return None

    def restore(self, pi: TableArray, length: int) -> None:
        """Go back to the policy that the loop had after so many steps."""
        self.trail.cut(length)
        self._ties = {key: tie for key, tie in self._ties.items() if tie.iterate <= length}

    def _exactly(self, goal: Actions, asked: NDArray[np.bool_]) -> Way:
        """The way to a goal in fractions; `asked[o, a]` are the actions in question."""
        nothing, rows = np.zeros(len(goal), dtype=bool), np.asarray(asked.any(axis=1))
        rivals = {o: np.flatnonzero(asked[o]).tolist() for o in np.flatnonzero(rows).tolist()}
        if not rivals:
            return Way(nothing, nothing)
        stays = None
        if self.decision.is_exact:
            stays = stays_exactly(
                self.P, self.weights, self.trail.table(RATIONALS), goal, rivals, self.decision.rank
            )
        if stays is None:
            return Way(nothing, rows)
        return Way(np.array([not stays.get(o, True) for o in range(len(goal))]), nothing)

    # ---------------------------------------------------------------- open rows

    def _decided(
        self,
        q: TableArray,
        rivals: dict[int, Actions],
        table_of: TableOf,
        twins: Actions,
        n: int | None = None,
        pair: PairPolicy | None = None,
        doubtful: Sequence[int] = (),
    ) -> dict[int, Answer]:
        """Answers on open rows; those of iterate n are kept as ties if they are. On doubtful rows
        there has to be one that is known."""
        if not rivals:
            return {}
        settled = self.decision.settle(table_of, rivals, q, self.greedy, twins, pair)
        answers = dict(sorted(settled.items()))  # ties are told row by row, however they were found
        self._require_answers(doubtful, answers)
        if n is not None:
            self._keep_ties(n, answers)
        return answers

    def _keep_ties(self, n: int, answers: dict[int, Answer]) -> None:
        """Note the ties of iterate n that are new."""
        for o, answer in answers.items():
            key = o, tuple(answer.tied.tolist()), answer.how
            if len(answer.tied) > 1 and key not in self._ties:
                actions = tuple(self.P.A[a] for a in answer.tied.tolist())
                words = f"{self.P.O.text(self.P.O[o])}: {', '.join(map(self.P.A.text, actions))}"
                self._ties[key] = Tie(n, self.P.O[o], actions, answer.how, words)

    def _require_answers(self, doubtful: Sequence[int], answers: dict[int, Answer]) -> None:
        """Refuse where nothing is known about a row, and nobody can tell what is greedy there."""
        unknown = [o for o in doubtful if o in answers and answers[o].how == ROUNDING]
        if unknown:
            o = self.P.O.text(self.P.O[unknown[0]])
            advice = "exact=True" if self.decision.is_exact else "Fractions and exact=True"
            raise NotSolved(
                f"{self.P.name}: o={o} is seen, and floats cannot find how often to any accuracy, "
                f"so that nothing is known about q(o, a) there: use {advice}"
            )

    def _join_for_good(
        self, twins: Actions, answers: dict[int, Answer], *tables: NDArray[np.int64]
    ) -> dict[int, Answer]:
        """Join the entries of actions in some tables that tie as long as these twins stay twins;
        the answers on other rows."""
        equal, rest = self.decision.equal_actions(twins), {}
        for o, answer in answers.items():
            tied = answer.tied
            if len(tied) > 1 and (equal[o, tied] == equal[o, tied[0]]).all():
                self._join(o, tied, *tables)
            else:
                rest[o] = answer
        return rest

    def _join(self, o: int, tied: Actions, *tables: NDArray[np.int64]) -> None:
        """Give actions that tie, and those that do the same, the same entry."""
        joined = (self._same[o][:, None] == self._same[o, tied]).any(axis=1)
        for table in tables:
            table[o, joined] = table[o, tied[0]]

    def _lasting(
        self, answers: dict[int, Answer], table_of: TableOf, tau: Actions, fresh: bool
    ) -> list[int]:
        """The rows whose ties last while greedy is one of `_taus`, to which tau is added."""
        if fresh:
            # Proofs that a tie lasts cost a solve for each policy: only the latest ones are kept.
            self._taus = [*self._taus, tau.copy()][-_MOST_TAUS:]
        return self.decision.lasting(table_of, self._taus, answers)


def keeps_twins(greedy: Actions, twins: Actions) -> bool:
    """Whether rows that are twins have the same greedy action, so that they stay equal."""
    return bool(np.array_equal(greedy, greedy[twins]))


def parted(twins: Actions, goal: Actions) -> Actions:
    """The first of the twins of each row that have the same goal."""
    both = np.stack([twins, goal])
    _, first, inverse = np.unique(both, axis=1, return_index=True, return_inverse=True)
    return np.asarray(first[inverse.reshape(-1)], dtype=np.int64)


def mixed(pi: TableArray, greedy: Actions, x: Any) -> TableArray:
    """x pi + (1 - x) greedy, on the rows that have a greedy action."""
    rows = np.flatnonzero(greedy >= 0)
    table = pi.copy()
    table[rows] = table[rows] * x
    table[rows, greedy[rows]] += 1 - x
    return table


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
        ahead = _ahead(self.trail, goal, x)
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
            allowed=np.zeros(_MOST_TAUS, dtype=np.uint64),
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
            ties = self._decided(self._labelled(room.q), rivals, _ahead(self.trail, goal, x), twins)
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


def _ahead(trail: Trail, goal: Actions, x: Fraction) -> TableOf:
    return lambda field: mixed(trail.table(field), goal, field.one(x))


def loop_for(
    P: POMDP, pi: Policy, ties: str, weights: str, exact: bool, criterion: str = "return"
) -> Loop:
    """The fastest loop there is for a task; with criterion "average", one without terminal
    states."""
    if criterion == "average":
        return Stepwise(GainOracle(P, RATIONALS if exact else FLOATS), pi, ties)
    if exact:
        return Stepwise(Oracle(P, weights, RATIONALS), pi, ties)
    if has_finite_horizon(P):
        return FiniteHorizon(P, pi, ties, weights)
    return Stepwise(SparseOracle(P, weights), pi, ties)
