"""How common it is that learning cannot settle, settles badly, or at several places: random reward
tables of sequence tasks, by memory, with intervals.

Behaviours and weights do not depend on the rewards. So for each greedy policy g the shares P(s|o)
and the system of its table are found once,

    q_g = R_g + gamma K_g v,      (I - gamma M_g) v = r_g,

and r_g, R_g are linear in the rewards: all tables are right sides of one system. In floats; a table
counts as tied where q-values differ by less than 1e-9 of its largest reward.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.equilibrium.greedy_cells import DenseTask, blocks
from workbench.equilibrium.learned_values import target_of
from workbench.errors import TooLarge, WorkbenchError
from workbench.improvement.batch import sequence_task
from workbench.lab.frequencies import Share
from workbench.learning.learners import Learner, QLearning
from workbench.model.augment import augment

Floats = NDArray[np.float64]

MOST_JUDGED_CELLS = 100_000
"""Products with more greedy policies are refused."""

_NEAR = 1e-9
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
    none: NDArray[np.bool_]
    only_worst: NDArray[np.bool_]
    several: NDArray[np.bool_]

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
    rewards: Floats, memory: str, learner: Learner | None = None, epsilon: float = 0.1
) -> SettledTables:
    """Judge where a learner can settle on each of many reward tables r[i, a_1, ..., a_L].

    Parameters
    ----------
    memory : by name, such as "OA1".
    learner : of one-step targets; Q-learning by default.

    >>> settle_tables(np.array([[[0, 1], [1, 0]], [[1, 0], [0, 2]]]), "none").shares[
    ...     "no-fixed-point"
    ... ]
    50.0% [1.3%, 98.7%]
    """
    r = np.asarray(rewards, dtype=float)
    if r.ndim < 2 or len(set(r.shape[1:])) != 1:
        raise WorkbenchError(f"rewards are tables r[i, a_1, ..., a_L], not of shape {r.shape}")
    flat = r.reshape(len(r), -1)
    target = target_of(QLearning() if learner is None else learner)
    if not target.is_one_step:
        raise WorkbenchError("shares are counted for one-step targets")
    names = np.arange(1, flat.shape[1] + 1).reshape(r.shape[1:])
    E = augment(sequence_task(names.tolist()), memory)
    task = DenseTask(E, target, float(epsilon))
    if task.cells > MOST_JUDGED_CELLS:
        raise TooLarge(
            f"{E.name} has {task.cells:,} greedy policies; "
            f"up to {MOST_JUDGED_CELLS:,} are looked at"
        )
    paid = _paid(task, flat.shape[1])
    scale = np.maximum(np.abs(flat).max(axis=1), 1e-300)
    state = _Judged(len(flat))
    size = max(1, _NUMBERS_AT_ONCE // (len(flat) * len(task.rows) * task.nA + len(task.mu) ** 2))
    for actions in blocks(E, task.rows, size):
        state.look_at(task, actions, paid, flat / scale[:, None])
    return state.result(memory)


def how_settled(
    rewards: Floats,
    memories: Iterable[str],
    learner: Learner | None = None,
    epsilon: float = 0.1,
) -> dict[str, dict[str, Share]]:
    """The shares of tables without a fixed point, with the worst only and with several, by memory.

    >>> how_settled(np.array([[[0, 1], [1, 0]]]), ["none", "OA1"])["OA1"]["no-fixed-point"]
    0.0% [0.0%, 97.5%]
    """
    return {m: settle_tables(rewards, m, learner, epsilon).shares for m in memories}


def _paid(task: DenseTask, entries: int) -> Floats:
    """`paid[s, a, entry]`: the probability that a in s is paid that entry of the reward table."""
    P = task.P
    alive = np.flatnonzero(~P.terminal.mask)
    place = np.full(len(P.S), -1)
    place[alive] = np.arange(len(alive))
    found = np.zeros((len(alive), task.nA, entries))
    row = np.repeat(np.arange(len(P.S) * task.nA), np.diff(P.p.row_ptr))
    s, a = place[row // task.nA], row % task.nA
    # the task was made with the entries' own numbers, from 1 on, as rewards; 0 is no pay
    entry = P.p.r.floats.round().astype(int) - 1
    kept = (s >= 0) & (entry >= 0)
    np.add.at(found, (s[kept], a[kept], entry[kept]), P.p.prob.floats[kept])
    return found


class _Judged:
    """What is known about the tables after some greedy policies."""

    def __init__(self, tables: int):
        self.fixed = np.zeros(tables, dtype=bool)
        self.best, self.worst = np.full(tables, -np.inf), np.full(tables, np.inf)
        self.best_fixed = np.full(tables, -np.inf)
        self.best_strict, self.worst_strict = np.full(tables, -np.inf), np.full(tables, np.inf)

    def look_at(self, task: DenseTask, actions: NDArray[np.int64], paid: Floats, r: Floats) -> None:
        q, value = _tables(task, actions, paid, r)
        own = np.take_along_axis(q, actions[:, None, :, None], axis=3)
        over = q - own
        others = np.where(task.greedy(actions)[:, None] > 0, -np.inf, over)
        lead = others.max(axis=(2, 3))
        fixed, strict = lead <= _NEAR, lead < -_NEAR
        self.fixed |= fixed.any(axis=0)
        self.best = np.maximum(self.best, value.max(axis=0))
        self.worst = np.minimum(self.worst, value.min(axis=0))
        for chosen, best in ((fixed, self.best_fixed), (strict, self.best_strict)):
            np.maximum(best, np.where(chosen, value, -np.inf).max(axis=0), out=best)
        low = np.where(strict, value, np.inf).min(axis=0)
        np.minimum(self.worst_strict, low, out=self.worst_strict)

    def result(self, memory: str) -> SettledTables:
        return SettledTables(
            memory,
            none=~self.fixed,
            only_worst=self.fixed
            & (self.best > self.worst + _NEAR)
            & (self.best_fixed <= self.worst + _NEAR),
            several=self.best_strict > self.worst_strict + _NEAR,
        )


def _tables(
    task: DenseTask, actions: NDArray[np.int64], paid: Floats, r: Floats
) -> tuple[Floats, Floats]:
    """q `[cell, table, row, a]` and what the greedy policies are worth, `[cell, table]`."""
    g = task.greedy(actions)
    b = (1 - task.epsilon) * g + task.epsilon / task.nA
    share, _, _ = task.shares(b)
    follow = g if task.target.greedy else b
    into = np.einsum("sat,tp->sap", task.T, task.W)
    K = np.einsum("cso,sap->coap", share, into)
    M = task.gamma * np.einsum("coa,coap->cop", follow, K)
    mean = np.einsum("sae,ke->ska", paid, r)
    R = np.einsum("cso,ska->ckoa", share, mean)
    right = np.einsum("coa,ckoa->cok", follow, R)
    v = np.linalg.solve(np.eye(M.shape[1]) - M, right)
    q = R + task.gamma * np.einsum("coap,cpk->ckoa", K, v)
    acts = np.einsum("so,coa->csa", task.W, g)
    step = np.einsum("csa,sat->cst", acts, task.T)
    n = len(task.mu)
    start = np.broadcast_to(task.mu[:, None], (len(g), n, 1))
    # episodes have a fixed length, so that even a policy that never explores ends
    d = np.linalg.solve(np.eye(n) - task.gamma * step.transpose(0, 2, 1), start)[:, :, 0]
    return q, np.asarray(np.einsum("cs,csa,ska->ck", d, acts, mean))
