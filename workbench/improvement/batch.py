"""The oracle loop (Section 5.2) on thousands of sequence tasks at once.

A sequence task has one observation, L = 2, 3 or 4 steps, discount 1, and pays r[a_1, ..., a_L] at
the end: 4-action recall (Appendix C) is one with L = 2, the variation of the recall task (Appendix
B) one with L = 3. Tasks of one size differ in their rewards alone, so the product with a memory is
unrolled once (`structure`), and all loops run on it in the kernel of `improve`, on all cores.

With discount 1 and visits as weights, q_pi(o, a) times the visits of o is the derivative of the
return for pi(a|o): the loop is the method of Frank and Wolfe for a polynomial that is not concave,
and it is stuck where that is stationary.

Greedy sees differences between rewards alone. A run reads them less the least one, and in a power
of two as their unit, so that neither a constant that is added to all nor the unit changes it.

A loop is *stuck* when it ends below the best memoryless value of the product, stochastic policies
included. That value is the largest reward where the memory can encode its sequence; where it
cannot, the best of several ascents (a lower bound).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.core.augment import augment
from workbench.core.double_kernels import UNIT
from workbench.core.ending import Search
from workbench.core.errors import WorkbenchError, WrongType
from workbench.core.families import Family
from workbench.core.horizon import CompiledLoops, Unrolled, exact_step, unroll
from workbench.core.horizon_kernels import evaluate_policy
from workbench.core.improve import BUDGET
from workbench.core.memory import Memory
from workbench.core.numbers import Number
from workbench.core.pomdp import POMDP
from workbench.core.ties import TIES, same_actions, tie_order
from workbench.executors.executor import make_executor
from workbench.improvement.climb_kernels import climb_many
from workbench.progress import Waiting

ENDINGS = ("fixed", "limit cycle", "budget")
_FIXED, _CYCLE, _BUDGET = range(3)

LENGTHS = (2, 3, 4)

_CHUNK = 2_000
"""Tasks handed to a core at a time."""

_PATIENCE = 3
"""Iterates with one greedy policy before the rest of the segment to it is looked at: in a batch
nobody wants the values of more iterates."""

_ASCENTS, _ASCENT_STEPS = 8, 1_000

_ASCENT_TOLERANCE = 1e-8
"""What an ascent may add to a value without being better than it, as a share of the range of the
rewards."""

_CHATTER = 4.0
"""Chattering around a stationary point costs at most about so many times step^2 times the range of
the rewards.

The return is a polynomial of degree L in pi, and a cycle moves each row by about a step: what it
loses against the point that it goes around is of second order.
"""

Floats = NDArray[np.float64]


# ---------------------------------------------------------------------- sequence tasks


def sequence_task(rewards: Any, name: str = "sequence task") -> POMDP:
    """The task that pays `rewards[a_1][a_2]...` after the last of two or more actions. It has one
    observation and discount 1.

    A state is the tuple of the actions taken, actions are 0, 1, ..., the observation is "o".

    >>> sequence_task([[0, 1], [1, 0]])
    POMDP sequence task: 4 states (1 terminal), 1 observation, 2 actions, 6 outcomes, gamma 1
    """
    table = np.array(rewards, dtype=object)
    if table.ndim < 2 or len(set(table.shape)) != 1:
        raise WorkbenchError(
            "rewards are a table with as many entries in every direction, not of shape "
            f"{table.shape}"
        )
    steps, actions = table.ndim, range(table.shape[0])

    def p(s: tuple[int, ...], a: int) -> dict[tuple[Any, Number], int]:
        done = (*s, a)
        return {("end", table[done]): 1} if len(done) == steps else {(done, 0): 1}

    return POMDP.from_functions(
        name=name, A=actions, p=p, omega=lambda s: {"o": 1}, mu={(): 1}, gamma=1, terminal={"end"}
    )


@dataclass(frozen=True, eq=False)
class Structure:
    """The product of all sequence tasks of one size with a memory.

    Attributes
    ----------
    task : unrolled, with numbers 1, 2, ... for the rewards of the sequences and 0 for no reward.
    shape : rows and columns of a policy.
    alike : `alike[m, j]`, columns of a policy with the same entry do the same.
    """

    length: int
    actions: int
    memory: str
    ties: str
    task: Unrolled
    shape: tuple[int, int]
    alike: NDArray[np.int64]

    @cached_property
    def encodable(self) -> NDArray[np.bool_]:
        """For each sequence, in the order of the flat table of rewards, whether a deterministic
        policy makes it."""
        found = np.zeros(self.actions**self.length, dtype=bool)
        stack: list[tuple[int, dict[int, int]]] = [(0, {})]
        tables = self.task.tables
        while stack:
            s, choice = stack.pop()
            m = int(tables.entry_o[s])
            for j in [choice[m]] if m in choice else range(self.shape[1]):
                if (s_next := self._after(s, j)) < 0:
                    found[-1 - s_next] = True
                else:
                    stack.append((s_next, {**choice, m: j}))
        return found

    def made(self, goals: NDArray[np.int64]) -> NDArray[np.int64]:
        """The place in the flat table of the sequence that each of some deterministic policies
        makes."""
        tables, s = self.task.tables, np.zeros(len(goals), dtype=np.int64)
        for _ in range(self.length - 1):
            j = goals[np.arange(len(s)), tables.entry_o[s]]
            s = tables.successor[tables.row_ptr[tables.inner[s] * self.shape[1] + j]]
        j = goals[np.arange(len(s)), tables.entry_o[s]]
        return self.task.R[tables.reward_row[s], tables.column[j]].astype(np.int64) - 1

    def _after(self, s: int, j: int) -> int:
        """The state after column j in state s. At the end it is -1 less the index of the
        sequence."""
        tables = self.task.tables
        if (i := int(tables.inner[s])) >= 0:
            return int(tables.successor[tables.row_ptr[i * self.shape[1] + j]])
        return -int(self.task.R[tables.reward_row[s], tables.column[j]])


def structure(
    length: int, actions: int, memory: Memory | Family | str, ties: str = "last"
) -> Structure:
    """Unroll the product of the sequence tasks of a size with a memory.

    >>> structure(2, 4, "B1").shape, structure(3, 3, "B1").encodable.sum()
    ((2, 8), np.int64(15))
    """
    if length not in LENGTHS:
        raise WorkbenchError(f"sequence tasks have 2, 3 or 4 steps here, not {length}")
    if actions < 1:
        raise WorkbenchError(f"a task has at least one action, not {actions}")
    if ties not in TIES:
        raise WorkbenchError(f"ties must be one of {', '.join(TIES)}, not {ties!r}")
    if isinstance(memory, Memory):
        return _unrolled(length, actions, memory, ties)
    return _by_name(length, actions, str(memory), ties)


@lru_cache(maxsize=256)
def _by_name(length: int, actions: int, memory: str, ties: str) -> Structure:
    return _unrolled(length, actions, memory, ties)


def _unrolled(length: int, actions: int, memory: Memory | str, ties: str) -> Structure:
    codes = 1 + np.arange(actions**length).reshape((actions,) * length)
    E = augment(sequence_task(codes.tolist()), memory)
    outcomes = np.diff(E.p.row_ptr)[np.repeat(~E.terminal.mask, len(E.A))]
    if not (outcomes == 1).all() or len(E.mu.support) != 1:
        raise WorkbenchError(
            f"the batch needs a memory without chance; {memory} has some: use improve"
        )
    order, task = tie_order(E.A, ties), unroll(E, tie_order(E.A, ties), "visits")
    rows, row = np.unique(task.tables.entry_o, return_inverse=True)  # some are seen at the end only
    task = replace(task, tables=task.tables._replace(entry_o=row.astype(np.int64)))
    return Structure(
        length=length,
        actions=actions,
        memory=memory.name if isinstance(memory, Memory) else memory,
        ties=ties,
        task=task,
        shape=(len(rows), len(E.A)),
        alike=np.ascontiguousarray(same_actions(E)[rows][:, order]),
    )


# ---------------------------------------------------------------------- the batch


@dataclass(frozen=True, eq=False)
class BatchResult:
    """How the oracle loop ended on each task.

    Attributes
    ----------
    value : of the limit, where that is deterministic; the mean over a limit cycle; else that of the
        last iterate.
    ended : "fixed", "limit cycle" or "budget".
    best : the best memoryless value of the product; `best_is_exact` says where it is no mere lower
        bound.
    sequence : the place in the flat table of rewards of the sequence that the limit makes; -1
        without such a limit.
    iterates : how many there were until the end was seen; amplitude : the range of the value over a
        limit cycle, or over the last iterates when the budget ran out.
    unsure : whether q-values came closer than floats can tell, and do not tie for a reason; then
        what was greedy before stayed so.
    scale, spread : the size of the largest reward, and the range of the rewards.
    """

    memory: str
    step: float
    ties: str
    value: Floats
    ended: NDArray[np.str_]
    best: Floats
    best_is_exact: NDArray[np.bool_]
    sequence: NDArray[np.int64]
    iterates: NDArray[np.int64]
    unsure: NDArray[np.bool_]
    amplitude: Floats
    scale: Floats
    spread: Floats

    def __len__(self) -> int:
        return len(self.value)

    @property
    def gap(self) -> Floats:
        """How far below the best value the loop ended."""
        return np.asarray(self.best - self.value)

    @property
    def stuck(self) -> NDArray[np.bool_]:
        """Whether a loop ended clearly below the best value. Chattering around the best point, or
        an ascent that has not quite arrived, does not count.

        A limit is worth one of the rewards, and so is a best value that is exact: these are
        compared as they are.
        """
        chatter = np.where(self.ended == "fixed", 0.0, _CHATTER * self.step**2 * self.spread)
        # an ascent begins by subtracting the least reward, and what is added again is rounded
        unsure = _ASCENT_TOLERANCE * self.spread + 4 * UNIT * self.scale
        return np.asarray(self.gap > np.where(self.best_is_exact, 0.0, unsure) + chatter)

    def __repr__(self) -> str:
        share = f"{self.stuck.sum():,} of {len(self):,} stuck"
        return f"oracle loop with {self.memory}, step {self.step:g}, ties {self.ties}: {share}"


def stuck(
    rewards: ArrayLike,
    memory: Memory | Family | str,
    step: float = 0.02,
    ties: str = "last",
    *,
    budget: int = BUDGET,
    workers: int | None = None,
) -> BatchResult:
    """Run the oracle loop from the uniform policy on many sequence tasks.

    Parameters
    ----------
    rewards : `rewards[i, a_1, a_2]`, or with three or four actions in a row, paid at the end of
        task i.
    memory : any without chance, by name as a rule: "none", "K1", "B1", "O2", "OA2", ...
    step : the paper's epsilon, in (0, 1), constant.
    ties : see `policy.tie_order`.
    budget : the most iterates of a run.
    workers : threads; None takes one for each core.

    >>> recall4 = [[-5, 0.5, 1, 0.5], [0, 0.5, -0.5, 0.75], [0, 0.5, -5, 0.5], [0, 0.5, -5, 0.5]]
    >>> [stuck([recall4], memory).value.item() for memory in ("B1", "B2", "OA1")]
    [0.75, 0.75, 1.0]
    """
    table = _checked(rewards)
    step = _step(step)
    if isinstance(budget, bool) or not isinstance(budget, int) or budget < 2:
        raise WorkbenchError(f"budget is a number of iterates, at least 2, not {budget!r}")
    shape = structure(table.ndim - 1, table.shape[1], memory, ties)
    flat = np.ascontiguousarray(table.reshape(len(table), math.prod(table.shape[1:])))
    found, how = np.empty((len(flat), 2)), np.empty((len(flat), 4), dtype=np.int64)

    def some(part: slice) -> None:
        _Batch(shape, flat[part], step, budget, found[part], how[part]).run()

    in_parallel(some, len(flat), workers, f"oracle loop with {shape.memory} on {len(flat):,} tasks")
    best, exact = best_values(flat, shape, workers)
    low, high = flat.min(axis=1), flat.max(axis=1)
    return BatchResult(
        memory=shape.memory,
        step=step,
        ties=ties,
        value=found[:, 0],
        ended=np.array(ENDINGS)[how[:, 0]],
        best=np.maximum(best, np.where(how[:, 0] == _FIXED, found[:, 0], -np.inf)),
        best_is_exact=exact,
        sequence=how[:, 1],
        iterates=how[:, 2],
        unsure=how[:, 3] > 0,
        amplitude=found[:, 1],
        scale=np.maximum(np.abs(low), np.abs(high)),
        spread=high - low,
    )


class _Batch(Search):
    """Loops on tasks of one size, run side by side until each has ended.

    `out[i]` gets (value, amplitude) and `how[i]` (ended, sequence, iterates, unsure).
    """

    def __init__(
        self, shape: Structure, given: Floats, step: float, budget: int, out: Floats,
        how: NDArray[np.int64],
    ):  # fmt: skip
        low, high = given.min(axis=1, initial=np.inf), given.max(axis=1, initial=-np.inf)
        _, self.unit = np.frexp(np.maximum(-low, high))  # of the largest reward: nothing overflows
        self.least = np.ldexp(low, -self.unit)
        r = np.ldexp(given, -self.unit[:, None]) - self.least[:, None]
        (rows, columns), task = shape.shape, shape.task
        loops = CompiledLoops(
            task,
            _by_code(r, task),
            np.full((len(r), rows, columns), 1.0 / columns),
            shape.alike,
            lambda n: step,
            # paid once, at the end: no sum over levels; a rounding more, since the least is off
            size=1.1 * r.max(axis=1, initial=0.0),
            first=float(1 - exact_step(step)) ** _PATIENCE,
            skips=True,
        )
        super().__init__(loops, budget, step)
        self.shape, self.given, self.out, self.how = shape, given, out, how

    def note_limits(self, which: NDArray[np.bool_], goal: NDArray[np.int64]) -> NDArray[np.bool_]:
        i, end = self.active[which], self.shape.made(goal[which])
        self.out[i] = np.stack([self.given[i, end], np.zeros(len(i))], axis=1)
        state = self.loops.state
        self.how[i] = np.stack(
            [np.full(len(i), _FIXED), end, state.n[which], state.unsure[which]], axis=1
        )
        return which

    def note_cycle(self, where: NDArray[np.int64], loops: CompiledLoops, period: int) -> None:
        self._note(where, _CYCLE, loops, loops.values[:, -period:])

    def note_budget(self) -> None:
        loops = self.loops
        now = [evaluate_policy(self.shape.task.tables, R, pi, loops.work)
               for R, pi in zip(loops.R, loops.state.pi, strict=True)]  # fmt: skip
        values = np.column_stack([loops.values, now])[:, -self.window :]
        self._note(self.active, _BUDGET, loops, values)

    def _note(self, i: NDArray[np.int64], ended: int, loops: CompiledLoops, values: Floats) -> None:
        worth = values[:, -1] if ended == _BUDGET else values.mean(axis=1)
        reach = np.nanmax(values, axis=1) - np.nanmin(values, axis=1)
        self.out[i] = np.ldexp(
            np.stack([self.least[i] + worth, reach], axis=1), self.unit[i][:, None]
        )
        self.how[i] = (ended, -1, loops.n, 0)
        self.how[i, 3] = loops.state.unsure


def _by_code(r: Floats, task: Unrolled) -> Floats:
    """R[i] of the kernels, from the rewards of the sequences of some tasks."""
    return np.concatenate([np.zeros((len(r), 1)), r], axis=1)[:, task.R.astype(np.int64)]


def best_values(
    flat: Floats, shape: Structure, workers: int | None = None
) -> tuple[Floats, NDArray[np.bool_]]:
    """The best memoryless value of each task, stochastic policies included, and whether it is
    exact.

    The largest reward bounds it, and is reached where the memory can encode one of its sequences.
    Elsewhere the best of the encodable sequences and of ascents from a few policies, the same for
    all tasks: a lower bound.
    """
    best = flat.max(axis=1)
    exact = (flat == best[:, None])[:, shape.encodable].any(axis=1)
    left = np.flatnonzero(~exact)
    if len(left):
        rng = np.random.default_rng(0)
        drawn = rng.dirichlet(np.ones(shape.shape[1]), (_ASCENTS, shape.shape[0]))
        starts = np.concatenate([np.full((1, *shape.shape), 1 / shape.shape[1]), drawn])
        # rewards of at least 0, for which an ascent never falls
        low = flat[left].min(axis=1)
        rest, climbed = flat[left] - low[:, None], np.empty(len(left))

        def some(part: slice) -> None:
            work = shape.task.make_work(shape.shape[0])
            R = _by_code(rest[part], shape.task)
            climb_many(shape.task.tables, R, starts, _ASCENT_STEPS, work, climbed[part])

        in_parallel(
            some,
            len(left),
            workers,
            f"best memoryless values with {shape.memory}",
            chunk=_CHUNK // 10,
        )
        encoded = np.where(shape.encodable, flat[left], -np.inf).max(axis=1)
        best[left] = np.maximum(climbed + low, encoded)
    return best, exact


def in_parallel(work: Any, count: int, workers: int | None, what: str, chunk: int = _CHUNK) -> None:
    """Run `work(slice)` on threads, for slices that make up `count`. Ctrl-C leaves what has not
    begun undone."""
    if workers is not None and (
        isinstance(workers, bool) or not isinstance(workers, int) or workers < 1
    ):
        raise WorkbenchError(f"workers is a number of threads, at least 1, not {workers!r}")
    parts = [slice(i, min(i + chunk, count)) for i in range(0, count, chunk)]
    with make_executor("threads", workers) as threads, Waiting(what) as waiting:
        for done, _ in enumerate(threads.run(work, parts), start=1):
            waiting.report(done / len(parts), f"{min(done * chunk, count):,} of {count:,}")


def _checked(rewards: ArrayLike) -> Floats:
    try:
        table = np.asarray(rewards, dtype=np.float64)
    except (TypeError, ValueError):
        raise WrongType(f"rewards are an array of numbers, not {rewards!r}") from None
    if table.ndim - 1 not in LENGTHS or len(set(table.shape[1:])) != 1:
        raise WorkbenchError(
            f"rewards have the shape (n, a, a), (n, a, a, a) or (n, a, a, a, a), not {table.shape}"
        )
    if not np.isfinite(table).all():
        raise WorkbenchError("rewards hold a number that is not finite")
    return table


def _step(step: Any) -> float:
    if isinstance(step, bool) or not isinstance(step, int | float | Fraction | np.number):
        raise WrongType(f"a step is a number in (0, 1), not {step!r}")
    if not 0 < step < 1:
        raise WorkbenchError(f"the batch takes a constant step in (0, 1), not {step}")
    return float(step)
