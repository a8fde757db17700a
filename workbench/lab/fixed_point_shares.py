"""Frequencies of fixed points on random sequence tasks, by memory, with confidence intervals. They
tell how often learning cannot settle, settles badly, or has several fixed points.

Behaviours and weights do not depend on the rewards. So for each greedy policy g the shares P(s|o)
and the system of its table are found once, and all tables are right sides of it (`greedy_cells`).
What the bounds on q in floats leave open about g is decided in rationals: q of g is linear in the
rewards, and with symbols for them its coefficients are found once for all tables. So each table is
judged for certain, as the statements judge a single task.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy
from numpy.typing import NDArray

from workbench.core.augment import augment
from workbench.core.errors import TooLarge, WorkbenchError
from workbench.core.fields import RationalFunctions
from workbench.core.learners import Learner, QLearning, Target
from workbench.core.numbers import Number
from workbench.core.policy import Policy
from workbench.equilibrium.greedy_cells import DenseTask, blocks
from workbench.equilibrium.learned_values import Learned, as_decimal, target_of
from workbench.improvement.batch import sequence_task
from workbench.lab.frequencies import Share
from workbench.progress import Waiting

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
Places = NDArray[np.int64]

MOST_JUDGED_CELLS = 100_000
"""Products with more greedy policies are refused."""

_NUMBERS_AT_ONCE = 3_000_000


@dataclass(frozen=True, eq=False)
class SettledTables:
    """Where learning can settle on many reward tables.

    Attributes
    ----------
    none : `none[i]`, whether table i has no fixed point.
    only_worst : whether there are fixed points, and all are worth what the worst policy is worth,
        while another is worth more.
    several : whether two strict fixed points are worth different amounts.
    """

    memory: str
    none: Bools
    only_worst: Bools
    several: Bools

    @property
    def shares(self) -> dict[str, Share]:
        """How many of the tables, with intervals, by the name of the search statement."""
        return {
            name: Share(int(x.sum()), len(x))
            for name, x in (
                ("no-fixed-point", self.none),
                ("only-worst-fixed-point", self.only_worst),
                ("several-fixed-points", self.several),
            )
        }


def settle_tables(
    rewards: Floats, memory: str, learner: Learner | None = None, epsilon: Number = 0.1
) -> SettledTables:
    """Judge where a learner can settle on each of many reward tables r[i, a_1, ..., a_L].

    Parameters
    ----------
    memory : by name, such as "OA1".
    learner : of one-step targets; Q-learning by default.
    epsilon : the exploration, in (0, 1]; a float is the decimal that it is printed as.

    >>> settle_tables(np.array([[[0, 1], [1, 0]], [[1, 0], [0, 2]]]), "none").shares[
    ...     "no-fixed-point"
    ... ]
    50.0% [1.3%, 98.7%]
    """
    r = np.asarray(rewards, dtype=float)
    if r.ndim < 2 or len(set(r.shape[1:])) != 1:
        raise WorkbenchError(f"rewards are tables r[i, a_1, ..., a_L], not of shape {r.shape}")
    if not np.isfinite(r).all():
        raise WorkbenchError("rewards must be finite")
    target = target_of(QLearning() if learner is None else learner)
    if not target.is_one_step:
        raise WorkbenchError("shares are counted for one-step targets")
    if not 0 < epsilon <= 1:
        raise WorkbenchError(f"epsilon must lie in (0, 1], not {epsilon}")
    cells = _Cells(r.shape[1:], memory, target, as_decimal(epsilon))
    tables, task = _Judged(r.reshape(len(r), -1)), cells.task
    size = max(1, _NUMBERS_AT_ONCE // (len(r) * len(task.rows) * task.nA + len(task.mu) ** 2))
    looked_at = 0
    with Waiting(f"fixed points on {len(r):,} tables with {memory}") as waiting:
        for actions in blocks(task.P, task.rows, size):
            tables.look_at(cells, actions)
            looked_at += len(actions)
            waiting.report(looked_at / task.cells, f"{looked_at:,} of at most {task.cells:,}")
    return tables.result(memory)


def how_settled(
    rewards: Floats,
    memories: Iterable[str],
    learner: Learner | None = None,
    epsilon: Number = 0.1,
) -> dict[str, dict[str, Share]]:
    """The shares of tables without a fixed point, with the worst only and with several, by memory.

    >>> how_settled(np.array([[[0, 1], [1, 0]]]), ["none", "OA1"])["OA1"]["no-fixed-point"]
    0.0% [0.0%, 97.5%]
    """
    return {m: settle_tables(rewards, m, learner, epsilon).shares for m in memories}


class _Cells:
    """The greedy policies of all sequence tasks of one shape with a memory."""

    def __init__(self, shape: tuple[int, ...], memory: str, target: Target, epsilon: Number):
        self.entries, self.steps = int(np.prod(shape)), len(shape)
        numbers = np.arange(1, self.entries + 1).reshape(shape)
        task = DenseTask(augment(sequence_task(numbers.tolist()), memory), target, float(epsilon))
        if task.cells > MOST_JUDGED_CELLS:
            raise TooLarge(
                f"{task.P.name} has {task.cells:,} greedy policies; "
                f"up to {MOST_JUDGED_CELLS:,} are looked at"
            )
        self.task, self.paid = task, self._paid(task)
        names = np.array(sympy.symbols(f"r:{self.entries}"), dtype=object)
        self._entry = {name: i for i, name in enumerate(names)}
        self._field = RationalFunctions(names)
        E = augment(sequence_task(names.reshape(shape).tolist()), memory)
        self._learned = Learned(E, target, epsilon, self._field)

    def _paid(self, task: DenseTask) -> Floats:
        """`paid[s, a, entry]`, 1 where a in s is paid that entry of the reward table."""
        # the task was made with the entries' own numbers, from 1 on, as rewards; 0 is no pay
        entry = task.R.round().astype(int)
        return np.asarray(entry[:, :, None] == np.arange(1, self.entries + 1), dtype=float)

    def made(self, actions: Places) -> Places:
        """For each greedy policy the entry of the sequence that it makes: nothing is random."""
        task = self.task
        s = np.full(len(actions), np.argmax(task.mu))
        cell = np.arange(len(actions))
        for step in range(self.steps):
            a = actions[cell, np.argmax(task.W[s], axis=1)]
            if step < self.steps - 1:
                s = np.argmax(task.T[s, a], axis=1)
        return np.asarray(np.argmax(self.paid[s, a], axis=1))

    def leads(self, actions: Places) -> NDArray[Any]:
        """The lead of each action over the greedy one of its row, times a positive number. It is
        given by whole coefficients `[row, a, entry]` of the rewards."""
        E, rows = self._learned.P, self.task.rows
        whole = np.zeros(len(E.O), dtype=np.int64)
        whole[rows] = actions
        q = self._learned.q(Policy.from_actions(E, whole))[rows]
        over = q - q[np.arange(len(rows)), actions][:, None]
        found = np.zeros((*over.shape, self.entries), dtype=object)
        for (row, a), f in np.ndenumerate(over):
            terms = list(f.num.terms())
            scale = math.lcm(*(int(c.q) for _, c in terms))
            for powers, c in terms:
                name = self._field.symbols[[int(n) for n in powers].index(1)]
                found[row, a, self._entry[name]] = int(c.p) * (scale // int(c.q))
        return found


class _Judged:
    """What is known about reward tables `r[i, entry]` after some greedy policies."""

    def __init__(self, r: Floats):
        n = len(r)
        self.r = r
        # by a power of two, which rounds nothing
        self.scaled = np.ldexp(r, -np.frexp(np.abs(r).max(axis=1, initial=0.0))[1][:, None])
        self.fixed = np.zeros(n, dtype=bool)
        self.best, self.worst = np.full(n, -np.inf), np.full(n, np.inf)
        self.best_fixed = np.full(n, -np.inf)
        self.best_strict, self.worst_strict = np.full(n, -np.inf), np.full(n, np.inf)

    def look_at(self, cells: _Cells, actions: Places) -> None:
        fixed, strict = self._decided(cells, actions)
        value = self.r[:, cells.made(actions)].T
        self.fixed |= fixed.any(axis=0)
        self.best = np.maximum(self.best, value.max(axis=0))
        self.worst = np.minimum(self.worst, value.min(axis=0))
        for chosen, best in ((fixed, self.best_fixed), (strict, self.best_strict)):
            np.maximum(best, np.where(chosen, value, -np.inf).max(axis=0), out=best)
        low = np.where(strict, value, np.inf).min(axis=0)
        np.minimum(self.worst_strict, low, out=self.worst_strict)

    def _decided(self, cells: _Cells, actions: Places) -> tuple[Bools, Bools]:
        """Whether each policy is greedy on the table that it leads to, and whether strictly,
        `[cell, i]`."""
        task, g = cells.task, cells.task.greedy(actions)
        q, bound = task.one_step_values(g, np.einsum("sae,ke->ksa", cells.paid, self.scaled))
        own = np.take_along_axis(q, actions[:, None, :, None], axis=3)
        over = np.where(g[:, None] > 0, -np.inf, q - own)
        reach = bound[:, :, None, None]
        is_out = np.asarray((over > reach).any(axis=(2, 3)))
        strict = np.asarray((over < -reach).all(axis=(2, 3)))
        is_open = ~is_out & ~strict
        fixed = strict | is_open  # but for what is refuted now
        strict |= is_open
        for cell in np.flatnonzero(is_open.any(axis=1)).tolist():
            unclear = is_open[cell, :, None, None] & ~(over[cell] < -reach[cell])
            table, row, a = np.nonzero(unclear)
            leads = cells.leads(actions[cell])[row, a]
            lead = (leads * whole_numbers(self.r[table])).sum(axis=1)
            fixed[cell, table[lead > 0]] = False
            strict[cell, table[lead >= 0]] = False
        return fixed, strict

    def result(self, memory: str) -> SettledTables:
        return SettledTables(
            memory,
            none=~self.fixed,
            only_worst=self.fixed & (self.best > self.worst) & (self.best_fixed <= self.worst),
            several=self.best_strict > self.worst_strict,
        )


def whole_numbers(x: Floats) -> NDArray[Any]:
    """Each row of floats times a power of two by which all of its numbers are whole.

    >>> whole_numbers(np.array([[0.5, -3.0, 0.0]])).tolist()
    [[1, -6, 0]]
    """
    rows = np.empty(x.shape, dtype=object)
    for i, row in enumerate(x.tolist()):
        ratios = [y.as_integer_ratio() for y in row]
        scale = max(q for _, q in ratios)
        rows[i] = [p * (scale // q) for p, q in ratios]
    return rows
