"""Which action is greedy where floats cannot tell: exactly, for the rows in question.

A row is *open* if two of its q-values are closer than their error bounds (`model.ties`). If the
model, the start and the steps are exact, so is pi_n (`Trail`), and the question has an answer:

    reasons     actions that lead to states of the same kind with the same chances tie as long as
                the same rows of the policy are equal (`horizon.kinds_of_states`)
    pairs       twice the digits of a float tell most numbers apart (`pair_oracle`)
    residues    q(o, a) - q(o, b) modulo two random primes: not both zero means different
                (`evaluation.residues`)
    balls       with enough bits balls tell the sign of what is not zero (`evaluation.balls`)
    fractions  what has residues zero is compared as it is, unless it is too long to be written down

Equal actions are often equal for a reason that outlives the iterate. q(o, a) - q(o, b) is a
rational function on the policies pi_n + sum_i c_i (tau_i - pi_n) that greedy policies tau_i seen of
late span; if it vanishes at a random one of them modulo a prime of 62 bits, it vanishes on all of
them, but for one chance in 2^61 times its degree (Schwartz and Zippel), and is not looked at again
as long as greedy is one of these.

In models of floats, or where the work would be too much, open rows stay open, and are reported as
ties within rounding. Such are q-values that come closer and closer without end; what was greedy
before stays greedy among them.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core import residues
from workbench.core.balls import Balls, precision
from workbench.core.errors import NotSolved
from workbench.core.fields import RATIONALS, Field
from workbench.core.gain_oracle import GainOracle
from workbench.core.horizon import has_finite_horizon, kinds_of_states, same_actions
from workbench.core.oracle import Look, Oracle
from workbench.core.pair_oracle import PairOracle, PairPolicy
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.residues import Residues
from workbench.core.rows import merge_rows
from workbench.core.space import Label
from workbench.core.walk_kernels import strong_components
from workbench.core.weights import known, weights_named
from workbench.core.words import show

MOST_WORK = 1e6
"""Outcomes times evaluations in exact arithmetic that a run may spend on open rows: a few
seconds."""

_OVERHEAD = 50
"""What an evaluation costs at least, in outcomes."""

_BITS = (128, 256, 512, 1024, 2048, 4096)

_PRIMES = 2

_MOST_KEPT = 4
"""Partitions of rows into twins for which it is kept which actions are equal."""

_LONGEST, _LONGEST_SOLVED = 2e5, 1e5
"""Bits of the policy's numbers times states up to which fractions are asked; where states come
back,
so that there are equations to solve, times states again."""

EQUAL, RESIDUES, ROUNDING = "equal", "equal modulo two primes", "within rounding"

Actions = NDArray[np.int64]
TableArray = NDArray[np.float64]
Groups = dict[tuple[int, bytes], dict[int, list[int]]]
"""For a row and some of its actions, these in groups by their entry in a table."""

TableOf = Callable[[Field], NDArray[Any]]
"""The policy in question over a field."""


@dataclass(frozen=True)
class Tie:
    """Actions among which greedy had to be told which to take.

    Attributes
    ----------
    iterate : the first at which they tied.
    o, actions : the observation, and the actions, the one taken first.
    how : "equal", as fractions are; "equal modulo two primes", where fractions are too long: then
        an error has a chance of less than one in 10^25; or "within rounding": bounds on the errors
        of floats cannot tell them apart.
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
class Answer:
    """The greedy action of an open row, the actions that tie with it (itself first; one of each set
    that do the same), and how that is known."""

    best: int
    tied: Actions
    how: str


def _unsure(places: Actions, before: int) -> Answer:
    best = before if before in places else int(places[0])
    return Answer(best, np.concatenate(([best], places[places != best])), ROUNDING)


class BallOracle(Oracle):
    """Answers in balls; visits that may be zero are no answer."""

    def look(self, pi: NDArray[Any], roundings: int = 1) -> Look:
        d, visited = weights_named(self.weights).occupancy(self.D.follow(pi))
        alive = visited & known(d.x) & ~self.P.terminal.mask
        if not all(x > 0 for x in d.x[alive]):
            raise NotSolved("visits are smaller than the precision")
        return super().look(pi, roundings)


class Decision:
    """Answers for open rows.

    Parameters
    ----------
    P, weights, criterion : the task, which P_pi(s|o), and what a policy is worth.
    order : the actions in the order in which ties are broken.
    start : where the loop begins.
    """

    def __init__(
        self,
        P: POMDP,
        weights: str,
        order: Actions,
        start: Policy,
        criterion: str = "return",
    ):
        self.P, self.weights, self.criterion = P, weights, criterion
        self.rank = np.argsort(order)
        self.is_exact = P.is_exact and start.is_exact
        self._rng = random.Random(0)
        self._residues: list[Oracle] = []
        self._balls: dict[int, Oracle] = {}
        self._rationals: Oracle | None = None
        self._apart: set[tuple[int, ...]] = set()
        self._work = 0.0
        self._pairs = PairOracle(P, "none" if criterion == "average" else weights)
        self._equal_for: dict[bytes, tuple[NDArray[np.int64], Groups]] = {}

    @property
    def can_look(self) -> bool:
        """Whether open rows can be decided exactly: the numbers are exact, work is left, and no
        system is too large."""
        return self.is_exact and self._work + self._cost <= MOST_WORK and self._fits

    @cached_property
    def _fits(self) -> bool:
        """Whether residues can be found, whatever the policy is."""
        indptr = merge_rows(self.P.p.row_ptr, len(self.P.A))
        _, component = strong_components(indptr, self.P.p.s_next)
        return bool(np.bincount(component).max() <= residues.MOST_IN_A_COMPONENT)

    @property
    def _cost(self) -> float:
        return float(_OVERHEAD + len(self.P.p.s_next) + 10 * len(self.P.S))

    def equal_actions(self, twins: Actions) -> NDArray[np.int64]:
        """`equal[o, a]`: actions with the same entry tie under every policy with these twins. The
        last answers are kept: on the way to a limit the same few are asked for again and again."""
        return self._equal_and_groups(twins)[0]

    def _equal_and_groups(self, twins: Actions) -> tuple[NDArray[np.int64], Groups]:
        """`equal_actions`, and the groups of open actions that have been formed by it."""
        key = twins.tobytes()
        if key not in self._equal_for:
            if len(self._equal_for) == _MOST_KEPT:
                del self._equal_for[next(iter(self._equal_for))]
            self._equal_for[key] = same_actions(self.P, kinds_of_states(self.P, twins)), {}
        return self._equal_for[key]

    def settle(
        self,
        table_of: TableOf,
        rivals: dict[int, Actions],
        q: TableArray,
        before: Actions,
        twins: Actions,
        pair: PairPolicy | None = None,
    ) -> dict[int, Answer]:
        """The greedy action of each open row of a policy with some twins and about these values q;
        where nobody can tell, what was greedy before stays so if it may be. `pair` is the policy in
        pairs of floats, where these are known."""
        if not rivals:
            return {}
        equal, known_groups = self._equal_and_groups(twins)
        groups: dict[int, dict[int, list[int]]] = {}
        before = before.copy()
        for o, places in rivals.items():
            key = o, places.tobytes()
            if key not in known_groups:
                known_groups[key] = self._grouped(o, places, equal)
            groups[o] = known_groups[key]
            if before[o] >= 0 and int(equal[o, before[o]]) in groups[o]:
                before[o] = groups[o][int(equal[o, before[o]])][0]
        # of actions that are equal for a reason one is enough to ask about
        left = {o: np.array([g[0] for g in some.values()]) for o, some in groups.items()}
        answers = {o: Answer(int(a[0]), a, EQUAL) for o, a in left.items() if len(a) == 1}
        left = {o: a for o, a in left.items() if len(a) > 1}
        if pair is not None and left and self._pairs.can_answer:
            best = self._pairs.largest(pair, left)
            answers |= {o: Answer(a, np.array([a]), EQUAL) for o, a in best.items()}
            left = {o: a for o, a in left.items() if o not in best}
            differ = False  # what pairs cannot tell apart is equal as a rule
        else:
            differ = all(np.ptp(q[o, places]) > 0 for o, places in rivals.items())
        answers |= self._compared(table_of, left, differ, before)
        found = {}
        for o, answer in answers.items():
            tied = [b for a in answer.tied.tolist() for b in groups[o][int(equal[o, a])]]
            if answer.how != ROUNDING:
                tied.sort(key=lambda a: self.rank[a])
            found[o] = Answer(tied[0], np.array(tied, dtype=np.int64), answer.how)
        return found

    def _compared(
        self, table_of: TableOf, rivals: dict[int, Actions], differ: bool, before: Actions
    ) -> dict[int, Answer]:
        if not rivals or not self.can_look:
            return {o: _unsure(a, int(before[o])) for o, a in rivals.items()}
        # equal numbers mostly look equal, so balls, which tell others apart at once, come first
        # where floats differ at all, and where balls told the same actions apart before
        keys = {o: (o, *sorted(places.tolist())) for o, places in rivals.items()}
        balls_first = differ or not self._apart.isdisjoint(keys.values())
        best = self._largest(table_of, rivals, _BITS[:1]) if balls_first else {}
        self._apart.update(keys[o] for o in best)
        left = {o: places for o, places in rivals.items() if o not in best}
        found = {o: Answer(a, np.array([a]), EQUAL) for o, a in best.items()}
        groups = self._equal(table_of, left) if left else {}
        tops = {o: np.array([g[0] for g in some]) for o, some in groups.items() if len(some) > 1}
        best = self._largest(table_of, tops, _BITS) if tops else {}
        tied: dict[int, Actions] = {}
        for o, some in groups.items():
            if o in best or len(some) == 1:
                group = next(g for g in some if len(some) == 1 or g[0] == best[o])
                found[o] = Answer(int(group[0]), group, EQUAL)
                if len(group) > 1:
                    tied[o] = group
            else:
                found[o] = _unsure(rivals[o], int(before[o]))
        return found | self._confirmed(table_of, tied)

    def lasting(
        self, table_of: TableOf, taus: Sequence[Actions], answers: dict[int, Answer]
    ) -> list[int]:
        """The rows whose ties hold on all policies that the policy and some greedy ones span."""
        tied = {o: v.tied for o, v in answers.items() if v.how != ROUNDING and len(v.tied) > 1}
        if not tied or not self.can_look:
            return []
        if any(((tau < 0) != (taus[0] < 0)).any() for tau in taus):
            return []  # rows that come and go do not move with the others
        oracle = self._oracles()[0]
        field = oracle.field
        table = table_of(field)
        shares = [field.one(self._rng.getrandbits(61)) for _ in taus]
        moved = np.flatnonzero(taus[0] >= 0)
        table[moved] = table[moved] * (1 - sum(shares[1:], start=shares[0]))
        for tau, share in zip(taus, shares, strict=True):
            table[moved, tau[moved]] = table[moved, tau[moved]] + share
        q = self._asked(oracle, table)
        return [o for o, places in tied.items() if all(x == q[o, places[0]] for x in q[o, places])]

    def _grouped(self, o: int, places: Actions, equal: Actions) -> dict[int, list[int]]:
        """Some actions of a row by their entry in `equal`, in the order of ties; only the first of
        each set that do the same, which are equal, and no question."""
        groups: dict[int, list[int]] = {}
        kept = set()
        for a in sorted(places.tolist(), key=lambda a: self.rank[a]):
            if self.same[o, a] not in kept:
                kept.add(self.same[o, a])
                groups.setdefault(int(equal[o, a]), []).append(a)
        return groups

    @cached_property
    def same(self) -> Actions:
        """`same[o, a]`: actions with the same entry tie under every policy."""
        return same_actions(self.P)

    # ---------------------------------------------------------------- the three arithmetics

    def _oracles(self) -> list[Oracle]:
        while len(self._residues) < _PRIMES:
            field = Residues.drawn(self._rng)
            self._residues.append(self._ask_over(field))
        return self._residues

    def _ask_over(self, field: Field) -> Oracle:
        if self.criterion == "average":
            return GainOracle(self.P, field)
        kind = BallOracle if isinstance(field, Balls) else Oracle
        return kind(self.P, self.weights, field)

    def _asked(self, oracle: Oracle, table: NDArray[Any]) -> NDArray[Any]:
        self._work += self._cost
        return oracle.look(table).q

    def _equal(self, table_of: TableOf, rivals: dict[int, Actions]) -> dict[int, list[Actions]]:
        """The open actions of each row in groups of equal ones, each in the order of ties."""
        tables = [self._asked(oracle, table_of(oracle.field)) for oracle in self._oracles()]
        found = {}
        for o, places in rivals.items():
            groups: dict[tuple[int, ...], list[int]] = {}
            for a in sorted(places.tolist(), key=lambda a: self.rank[a]):
                groups.setdefault(tuple(int(q[o, a]) for q in tables), []).append(a)
            found[o] = [np.array(g, dtype=np.int64) for g in groups.values()]
        return found

    def _confirmed(self, table_of: TableOf, tied: dict[int, Actions]) -> dict[int, Answer]:
        """Answers on actions whose residues are equal, by fractions where these are not too
        long."""
        if not tied:
            return {}
        table = table_of(RATIONALS)
        bits = max(int(x.q).bit_length() for x in table.ravel())
        n = len(self.P.S)
        if bits * n > _LONGEST if self._is_acyclic else bits * n * n > _LONGEST_SOLVED:
            return {o: Answer(int(a[0]), a, RESIDUES) for o, a in tied.items()}
        if self._rationals is None:
            self._rationals = self._ask_over(RATIONALS)
        self._work += self._cost * (bits * n / 2_000)
        q = self._rationals.look(table).q
        found = {}
        for o, places in tied.items():
            top = max(q[o, places])
            equal = places[[x == top for x in q[o, places]]]
            found[o] = Answer(int(equal[0]), equal, EQUAL)
        return found

    @cached_property
    def _is_acyclic(self) -> bool:
        return has_finite_horizon(self.P)

    def _largest(
        self, table_of: TableOf, rivals: dict[int, Actions], ladder: Sequence[int]
    ) -> dict[int, int]:
        """The largest action of each row, where it can be told with so many bits at most."""
        found: dict[int, int] = {}
        for bits in ladder:
            left = {o: a for o, a in rivals.items() if o not in found}
            if not left or not self.can_look:
                break
            self._work += self._cost * (bits / 64)
            with precision(bits):
                try:
                    if bits not in self._balls:
                        self._balls[bits] = self._ask_over(Balls())
                    oracle = self._balls[bits]
                    q = oracle.look(table_of(oracle.field)).q
                except NotSolved:
                    continue
                for o, places in left.items():
                    for a in places.tolist():
                        if all(a == b or q[o, a] > q[o, b] for b in places.tolist()):
                            found[o] = a
        return found
