"""The fixed points of greedy learners: at which greedy policies can learning settle?

For each greedy policy g: behave epsilon-greedily on g for ever, let the learner converge to its
table q_g (`learned_values`), and look whether g is greedy on q_g. Where there are too many to look
at each, sets of them are refuted by bounds (`greedy_bounds`).

    strict    g(o) is the only best action in every row: with small steps the learner stays there
    tied    g is greedy on q_g, but some row has several best actions: q_g lies on a border of cells
    neither   the table leaves the cell: g is no fixed point, and one pair (o, a) shows it

If no g is a fixed point, then no table is, in the inside of any cell: the learner can only chatter
along borders (`slides`) or go round. Strict fixed points are locally stable: inside its cell the
mean field is dq/dt = D (T q - q) with D positive and diagonal and T a contraction in a weighted
maximum norm, whose every eigenvalue has a negative real part; `rate` is the largest of them.

>>> from fractions import Fraction
>>> from workbench.core.learners import QLearning
>>> from workbench.improvement.batch import sequence_task
>>> P = sequence_task([[1, 0], [0, 1]])
>>> found = equilibria(P, QLearning(epsilon=Fraction(1, 10)), exact=True)
>>> [(e.policy.row("o"), e.value, e.strict) for e in found], found.complete
([({0: Fraction(1, 1)}, Fraction(1, 1), True), ({1: Fraction(1, 1)}, Fraction(1, 1), True)], True)
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.augment import ActionsAndWrites
from workbench.core.chain import reached_rows
from workbench.core.errors import NeverEnds, NotExact, WorkbenchError
from workbench.core.evaluate import evaluate
from workbench.core.fields import FLOATS, RATIONALS, Field
from workbench.core.learners import Learner, Target, check_count
from workbench.core.numbers import Number, is_symbolic, to_float
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.space import Label, Product, Subset
from workbench.core.weights import known
from workbench.equilibrium.greedy_cells import MOST_DENSE, DenseTask, blocks
from workbench.equilibrium.learned_values import (
    Decided,
    check_epsilon,
    deciding_rows,
    target_of,
)
from workbench.optima.yardstick import best_cell
from workbench.plain_numbers import deadline
from workbench.progress import Waiting
from workbench.results.findings import Findings
from workbench.tables.sheet import BEST, Column, Drawn, Sheet, Showing, WrittenNumber, beside_best
from workbench.tables.table import Table
from workbench.text import brief, counted

MOST_CELLS = 1_000_000
"""So many greedy policies are looked at unless `most` says otherwise."""

MOST_NODES = 2_000
"""So many sets of greedy policies are bounded unless `nodes` says otherwise."""

MOST_BRANCHED = 1_500
"""Products with more states than this that are not terminal are not looked at by bounds either."""

_MOST_SHOWN = 12
"""Ways to play that a table lists."""

_DIGITS = 9
"""Visits that agree in so many decimal places count as equal."""

MOST_FOUND = 5_000
"""A search that finds more fixed points (ties multiply them) stops there."""


@dataclass(frozen=True, eq=False)
class Equilibrium:
    """A fixed point of learning: a policy that is greedy on the values learned under it.

    Attributes
    ----------
    policy : the greedy policy g; where it is not unique, the one whose epsilon-greedy behaviour the
        table belongs to.
    q : `q[o, a]`, the table; undefined in rows that no behaviour sees.
    value : what g is worth from mu; None (NaN in floats) where gamma is 1 and it never ends. A
        float has its bound in `evaluate(P, policy).error`.
    strict : whether every row has one best action.
    gap : the smallest lead of a greedy action over the next best of its row.
    ties : {o: the best actions} for the rows that have several.
    sure : whether all of that is known; False where actions of a task given in floats tie.
    """

    P: POMDP
    target: Target
    epsilon: Number
    policy: Policy
    q: Table
    value: Number
    strict: bool
    gap: Number
    ties: dict[Label, tuple[Label, ...]]
    sure: bool

    @property
    def kind(self) -> str:
        return "strict" if self.strict else "tied"

    @cached_property
    def rate(self) -> float:
        """The largest real part of an eigenvalue of the mean field inside the cell."""
        task = DenseTask(self.P, self.target, to_float(self.epsilon))
        A, _ = task.affine(self.policy.prob.floats[task.rows])
        return float(np.linalg.eigvals(A).real.max())

    def __repr__(self) -> str:
        rows = deciding_rows(self.P)
        acts = self.policy.actions
        O, A = self.P.O, self.P.A
        shown = ", ".join(f"{O.text(O[o])}: {A.text(A[acts[o]])}" for o in rows[:8])
        more = f", ... ({len(rows)})" if len(rows) > 8 else ""
        return f"{self.kind} equilibrium of value {brief(self.value)} at {{{shown}{more}}}"


@dataclass(frozen=True, eq=False)
class Equilibria(Findings[Equilibrium], Showing, Drawn):
    """The fixed points that were found, best first, and how far the search went.

    Attributes
    ----------
    found : the fixed points; of those that permutations of memory states carry into one another,
        one at least.
    cells : how many greedy policies there are; looked_at : how many were looked at one by one.
    nodes : how many sets of them were looked at by bounds (`greedy_bounds`); 0 where all were
        listed.
    covered : how many are decided, one by one, by symmetry or in a set.
    complete : whether that is all.
    undefined : how many have no table: a row is never visited (epsilon 0), or nothing ever ends.
    refuted : `refuted[i]`, the greedy actions by row of each policy that is no fixed point, with
        `rows`, `refuted_row[i]` and `refuted_action[i]`: there that action is better.
    exact : whether tables and values are rationals. In floats too a cell is decided by bounds on
        their errors, and by rationals where these leave it open.
    """

    figure = "phase_portrait"

    P: POMDP
    learner: Learner
    epsilon: Number
    found: tuple[Equilibrium, ...]
    cells: int
    looked_at: int
    nodes: int
    covered: int
    complete: bool
    undefined: int
    rows: NDArray[np.int64]
    refuted: NDArray[np.int64]
    refuted_row: NDArray[np.int64]
    refuted_action: NDArray[np.int64]
    exact: bool

    @property
    def none_exists(self) -> bool:
        """Whether it is certain that no greedy policy is a fixed point."""
        return self.complete and not self.found and not self.undefined

    def __repr__(self) -> str:
        return (
            f"{self.learner.kind} with epsilon {self.epsilon} on {self.P.name}: "
            f"{counted(len(self), 'fixed point')} ({self.arithmetic}); {self.searched}"
        )

    @cached_property
    def classes(self) -> tuple[tuple[Equilibrium, ...], ...]:
        """The fixed points, those together whose greedy policies play alike (`played`)."""
        found: dict[bytes, list[Equilibrium]] = {}
        for e in self.found:
            found.setdefault(played(self.P, e.policy), []).append(e)
        return tuple(map(tuple, found.values()))

    @cached_property
    def best(self) -> Number | WrittenNumber:
        """What the best deterministic policy is worth, as far as a few seconds tell."""
        return best_cell(self.P)

    def sheet(self) -> Sheet:
        """A row for each way to play that a learner can settle at."""
        legend = self.found[0].policy.legend if self.found else ""
        columns = (
            Column("value", "what the greedy policy is worth"),
            BEST,
            Column("fixed points", "how many of the greedy policies that play this way"),
            Column("strict", "how many of them have one best action in every row: these attract"),
            Column("lead", "smallest lead of a best action over the next; 0 where actions tie"),
            Column("greedy policy", f"as it is played: {legend}"),
        )
        rows = tuple(
            (
                group[0].value,
                self.best,
                len(group),
                sum(e.strict for e in group),
                _largest_gap(group),
                "\n".join(group[0].policy.lines(reached_rows(self.P, group[0].policy))),
            )
            for group in self.classes[:_MOST_SHOWN]
        )
        more = len(self.classes) - len(rows)
        notes = [f"Searched {self.arithmetic}: {self.searched}."]
        notes += (
            [f"{counted(more, 'more way')} to play, worth less, not shown."] if more > 0 else []
        )
        title = f"Where {self.learner.described} can settle on {self.P.name}"
        return Sheet(
            f"{title}, epsilon {self.epsilon}", columns, rows, self._conclusion(), tuple(notes)
        )

    def _conclusion(self) -> str:
        who = self.learner.described
        if self.none_exists:
            return (
                f"{who} has no fixed point here: whichever policy it follows, the values it learns "
                "make another action look better."
            )
        if not self.found:
            return "No fixed point was found, but not all policies were decided."
        values = [group[0].value for group in self.classes]
        worths = list(dict.fromkeys(brief(x) for x in values if x is not None and x == x))
        only = "can settle only at" if self.complete and not self.undefined else "can settle at"
        if not worths:
            return f"{who} {only} a policy whose episodes never end, so that it has no value."
        if len(worths) == 1:
            return f"{who} {only} a policy worth {worths[0]}{beside_best(worths[0], self.best)}."
        worth = f"policies worth {worths[-1]} to {worths[0]}"
        return f"{who} {only} {worth}{beside_best(worths[0], self.best)}."

    @property
    def arithmetic(self) -> str:
        """In what numbers, and whether they told all."""
        unsure = sum(not e.sure for e in self.found)
        return ("exactly" if self.exact else "in floats") + (
            f", {counted(unsure, 'tie')} within rounding" if unsure else ""
        )

    @property
    def searched(self) -> str:
        """How far the search went, in words."""
        many = f"{self.cells:,}" if self.cells < 10**15 else f"{len(self.P.A)}^{len(self.rows)}"
        words = [f"{self.looked_at:,} of {many} greedy policies looked at one by one"]
        if self.nodes:
            words.append(f"bounds on {counted(self.nodes, 'set')} of them for the others")
        elif self.complete and self.looked_at < self.cells:
            words.append("the others alike by symmetry")
        if not self.complete:
            words.append(f"a share of {(self.cells - self.covered) / self.cells:.2g} not decided")
        if self.undefined:
            words.append(f"{self.undefined:,} without values, as episodes need not end")
        return ", ".join(words)


def _largest_gap(group: tuple[Equilibrium, ...]) -> Number | WrittenNumber | None:
    """The lead of the fixed point that is decided most clearly."""
    lead = max((to_float(e.gap) for e in group if e.gap is not None), default=None)
    return lead and WrittenNumber(lead, f"{lead:.2g}")


def equilibria(
    P: POMDP,
    learner: Learner,
    epsilon: Number | None = None,
    *,
    exact: bool = False,
    most: int = MOST_CELLS,
    symmetry: bool = True,
    branch: bool | None = None,
    nodes: int = MOST_NODES,
    max_seconds: float | None = None,
) -> Equilibria:
    """Find the greedy policies at which a learner can settle.

    Parameters
    ----------
    P : the POMDP, augmented or not.
    learner : one that acts epsilon-greedily and has a target, such as `QLearning(...)`,
        `Sarsa(...)`, `ExpectedSarsa(...)` or `MonteCarlo(...)`; its epsilon, gamma and lambda
        count, its step does not: these are the limits of small steps.
    epsilon : instead of the learner's own. With 0, values of actions never taken are read as limits
        of ever rarer exploration, and undefined where this leads to rows that are never visited.
    exact : rationals; model, epsilon and lambda must hold no floats. Floats refute a policy only
        where a bound on their error allows it.
    most : look at so many greedy policies at most; `complete` says whether it was enough.
    symmetry : look at one policy of each class that exchanging memory states carries into one
        another; False for all of them.
    branch : decide row after row, and leave out sets of policies whose bounds refute them, instead
        of listing all; by default where there are more than `most`. For one-step targets, tasks
        that end and an epsilon above 0.
    nodes : look at so many sets of policies at most.
    max_seconds : of the search; policies that it does not come to are not `covered`.

    >>> from fractions import Fraction
    >>> from pomdps import recall
    >>> from workbench import QLearning, augment
    >>> E = augment(recall(), "OA1")
    >>> [e.value for e in equilibria(E, QLearning(epsilon=Fraction(1, 10)), exact=True)]
    [Fraction(0, 1)]

    See also: `mean_field`, `soft_equilibria`, `subdivide`, `learn`.
    """
    P.require_all_actions("equilibria")
    target = target_of(learner)
    check_count("most", most)
    check_count("nodes", nodes)
    assert hasattr(learner, "epsilon")
    assert hasattr(learner, "gamma")
    epsilon = check_epsilon(learner.epsilon if epsilon is None else epsilon)
    if learner.gamma is not None:
        P = P.with_gamma(learner.gamma)
    if P.symbols or is_symbolic(epsilon) or is_symbolic(target.lam):
        raise WorkbenchError(
            f"{P.name} or epsilon holds symbols: `subdivide` answers for all their values at once"
        )
    field: Field = RATIONALS if exact else FLOATS
    if exact:
        _require_exact(P, epsilon, target)
    until = deadline(max_seconds)
    return GreedySearch(P, learner, target, epsilon, field, most, symmetry).run(
        branch, nodes, until
    )


def _require_exact(P: POMDP, epsilon: Number, target: Target) -> None:
    P.require_exact()
    for name, x in (("epsilon", epsilon), ("lam", target.lam)):
        if isinstance(x, float):
            raise NotExact(f"exact arithmetic needs an exact {name}, not {x!r}: use a Fraction")


class GreedySearch:
    """One call of `equilibria`.

    Attributes
    ----------
    found : the fixed points so far; refuted : (greedy actions by row, the row, the better action).
    """

    def __init__(
        self,
        P: POMDP,
        learner: Learner,
        target: Target,
        epsilon: Number,
        field: Field,
        most: int,
        symmetry: bool,
    ):
        self.symmetry = symmetry
        self.P, self.learner, self.target = P, learner, target
        self.epsilon, self.field, self.most = epsilon, field, most
        self.rows = deciding_rows(P)
        self.cells = len(P.A) ** len(self.rows)
        self.learned = Decided(P, target, epsilon)
        self.found: list[Equilibrium] = []
        self.refuted: list[tuple[NDArray[np.int64], int, int]] = []
        self.undefined = 0
        self.looked_at = 0
        self.waiting = Waiting("", wanted=False)

    def run(self, branch: bool | None, nodes: int, until: float) -> Equilibria:
        can_branch = self.target.is_one_step and self.epsilon > 0
        wide = MOST_BRANCHED if can_branch and branch is not False else MOST_DENSE
        task = DenseTask(self.P, self.target, to_float(self.epsilon), wide)
        if branch and not (can_branch and task.ends):
            raise WorkbenchError(
                f"bounds over many policies are for one-step targets, tasks that end and an "
                f"epsilon above 0, not for {self.learner.kind} with epsilon {self.epsilon} on "
                f"{self.P.name}"
            )
        if branch is None:
            branch = can_branch and task.ends and self.cells > self.most
        with Waiting(f"fixed points on {self.P.name}") as self.waiting:
            try:
                if branch:
                    return self._branch(task, nodes, until)
                return self._list(task, until)
            except KeyboardInterrupt:
                if not self.looked_at:
                    raise  # there is nothing to show
                return self._result(False, covered=self.looked_at)

    def _list(self, task: DenseTask, until: float) -> Equilibria:
        in_blocks = task.ends and self.epsilon > 0
        complete = True
        size = task.block_size() if in_blocks else 64
        for actions in blocks(self.P, self.rows, size, self.symmetry):
            if self.looked_at + len(actions) > self.most:
                actions, complete = actions[: self.most - self.looked_at], False
            decided = self.decide_block(task if in_blocks else None, actions, until)
            complete &= decided == len(actions)
            self.looked_at += decided
            self.waiting.report(
                min(self.looked_at / min(self.cells, self.most), 1.0),
                f"{self.looked_at:,} of at most {self.cells:,}, {len(self.found)} found",
            )
            if not complete:
                break
        return self._result(complete, covered=self.cells if complete else self.looked_at)

    def _branch(self, task: DenseTask, nodes: int, until: float) -> Equilibria:
        from workbench.research.greedy_bounds import GreedyTree  # loaded for who asks

        tree = GreedyTree(task)
        given_up = 0
        for actions in tree.lists(nodes, until):
            room = self.most - self.looked_at
            if len(actions) > room or len(self.found) > MOST_FOUND:
                given_up = len(actions)
                break
            size = task.block_size()
            decided = sum(
                self.decide_block(task, actions[k : k + size], until)
                for k in range(0, len(actions), size)
            )
            self.looked_at += decided
            given_up = len(actions) - decided
            if given_up:
                break
            self.waiting.report(
                min(1.0, max(tree.nodes / nodes, 1 - tree.open / tree.cells)),
                f"{tree.nodes:,} sets bounded, a share of {tree.open / tree.cells:.2g} is left, "
                f"{len(self.found)} found",
            )
        left = tree.open + given_up
        return self._result(left == 0, covered=self.cells - left, nodes=tree.nodes)

    def decide_block(
        self, task: DenseTask | None, actions: NDArray[np.int64], until: float = math.inf
    ) -> int:
        """Decide the greedy policies `actions[cell, row]`: each joins `found` or `refuted`. Floats
        refute what they can at once, where there is a `task` for them.

        Returns how many were decided before the clock passed `until`.
        """
        open_ = list(range(len(actions)))
        if task is not None:
            if time.monotonic() > until:
                return 0
            block = task.look_at(actions)
            out = block.worst > block.bound
            for i in np.flatnonzero(out).tolist():
                self.refuted.append((actions[i], int(block.row[i]), int(block.better[i])))
            open_ = np.flatnonzero(~out).tolist()
        for k, i in enumerate(open_):
            if time.monotonic() > until:
                return len(actions) - len(open_) + k
            self._decide(actions[i])
            # A block takes minutes where rationals decide thousands of its policies.
            self.waiting.tell(f"{k + 1:,} of {len(open_):,} decided, {len(self.found):,} found")
        return len(actions)

    def _decide(self, actions: NDArray[np.int64]) -> None:
        """Decide one greedy policy with the table over the field."""
        whole = np.zeros(len(self.P.O), dtype=np.int64)
        whole[self.rows] = actions
        greedy = Policy.from_actions(self.P, whole)
        try:
            q = self.learned.q(greedy)
        except NeverEnds:
            self.undefined += 1
            return
        if not known(q[self.rows]).all():
            self.undefined += 1
            return
        table = q[self.rows]
        own = table[np.arange(len(actions)), actions]
        over = table - own[:, None]
        better = np.argwhere(np.asarray(over > 0, dtype=bool))
        if len(better):
            self.refuted.append((actions, int(better[0][0]), int(better[0][1])))
            return
        self.found.append(self._equilibrium(greedy, q, actions, over))

    def _equilibrium(
        self,
        greedy: Policy,
        q: NDArray[Any],
        actions: NDArray[np.int64],
        over: NDArray[Any],
    ) -> Equilibrium:
        P, learned = self.P, self.learned
        tied = np.asarray(over == 0, dtype=bool)
        others = np.ones(over.shape, dtype=bool)
        others[np.arange(len(actions)), actions] = False
        ties: dict[Label, tuple[Label, ...]] = {}
        for i in np.flatnonzero((tied & others).any(axis=1)).tolist():
            ties[P.O[int(self.rows[i])]] = tuple(P.A[j] for j in np.flatnonzero(tied[i]).tolist())
        leads = -over[others]
        if self.field.is_exact:
            gap = min(map(self.field.back, leads), default=None)
            shown = Table(q, P.O, P.A, self.field, "q(o, a)")
        else:
            gap = min(map(learned.in_floats, leads), default=None)
            floats = np.array([learned.in_floats(x) for x in q.flat]).reshape(q.shape)
            shown = Table(floats, P.O, P.A, None, "q(o, a)")
        return Equilibrium(
            P=P,
            target=self.target,
            epsilon=self.epsilon,
            policy=greedy,
            q=shown,
            value=self._value(greedy),
            strict=not ties,
            gap=gap,
            ties=ties,
            sure=not ties or P.is_exact,
        )

    def _value(self, pi: Policy) -> Number:
        try:
            return evaluate(self.P, pi, exact=self.field.is_exact).value
        except NeverEnds:
            return None if self.field.is_exact else np.nan

    def _result(self, complete: bool, covered: int, nodes: int = 0) -> Equilibria:
        def key(e: Equilibrium) -> float:
            return -np.inf if e.value is None or e.value != e.value else float(e.value)

        refuted, row, action = zip(*self.refuted, strict=True) if self.refuted else ((), (), ())
        return Equilibria(
            P=self.P,
            learner=replace(self.learner),
            epsilon=self.epsilon,
            found=tuple(sorted(self.found, key=key, reverse=True)),
            cells=self.cells,
            looked_at=self.looked_at,
            nodes=nodes,
            covered=covered,
            complete=complete,
            undefined=self.undefined,
            rows=self.rows,
            refuted=np.array(refuted, dtype=np.int64).reshape(len(refuted), len(self.rows)),
            refuted_row=np.array(row, dtype=np.int64),
            refuted_action=np.array(action, dtype=np.int64),
            exact=self.field.is_exact,
        )


def played(P: POMDP, pi: Policy) -> bytes:
    """A key that deterministic policies share if they play alike.

    Fixed points of a learner with a memory often differ only where it makes no difference: in rows
    that the greedy policy never reaches, in names of memory states, in a write before the end. Two
    policies play alike if they visit every state of the task, and take every action there, equally
    often: n(s, a) = sum over m and o of n(s, m, o) [pi(m, o) = (a, .)].

    >>> from workbench.core.augment import augment
    >>> from workbench.improvement.batch import sequence_task
    >>> E = augment(sequence_task([[0, 1], [1, 0]]), "B1")
    >>> plays = [
    ...     Policy.deterministic(E, {("0", "o"): (0, "1"), ("1", "o"): (1, last)})
    ...     for last in ("0", "1")
    ... ]
    >>> played(E, plays[0]) == played(E, plays[1])
    True
    """
    actions, states = pi.actions, np.arange(len(P.S))
    if isinstance(P.A, ActionsAndWrites):
        actions = actions // len(P.A.factors[1])
    if isinstance(P.S, Subset) and isinstance(P.S.parent, Product):
        inner = P.S.parent.factors[1:]
        states = P.S.places // int(np.prod([len(factor) for factor in inner]))
    try:
        visits = evaluate(P, pi).visits.raw
    except NeverEnds:
        visits = np.full(len(P.S), np.nan)
    if not np.isfinite(visits[~P.terminal.mask]).all():
        rows = reached_rows(P, pi)
        return np.array([*rows, *pi.actions[rows]], dtype=np.int64).tobytes()
    table = np.zeros((int(states.max()) + 1, len(P.A)))
    of_entry = np.repeat(np.arange(len(P.S)), np.diff(P.omega.row_ptr))
    acting = np.where(P.terminal.mask, 0.0, visits)  # no action is taken at the end
    weights = acting[of_entry] * P.omega.prob.floats
    np.add.at(table, (states[of_entry], actions[P.omega.o]), weights)
    return (np.round(table, _DIGITS) + 0.0).tobytes()
