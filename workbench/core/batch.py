"""The oracle loop (Section 5.2) on thousands of sequence tasks at once.

A sequence task has one observation, L = 2, 3 or 4 steps, discount 1, and pays r[a_1, ..., a_L] at
the end: 4-action recall (Appendix C) is one with L = 2, the variation of the recall task (Appendix
B) one with L = 3. Tasks of one size differ in their rewards alone, so the product with a memory is
walked through once (`structure`), and every loop runs compiled on it (`batch_kernels`), on all
cores.

With discount 1 and visits as weights, q_pi(o, a) times the visits of o is the derivative of the
return for pi(a|o): the loop is the method of Frank and Wolfe for a polynomial that is not concave,
and it is stuck where that is stationary.

A constant that is added to all rewards changes no difference between q-values, and a factor that is
a power of two no float: neither changes a run.

While greedy stays tau, the iterates lie on x pi + (1-x) tau, and on that segment the differences
between q-values times the weight of the row are polynomials in x of degree L - 1. The place where
greedy first leaves tau is a root of one of them: iterates up to there need no looking at, and if
there is no root, tau is the limit. `improvement.improve` is the slow twin, and runs the loops again
in which numbers come closer than floats can tell without being equal.

A loop is *stuck* when it ends below the best memoryless value of the product, stochastic policies
included. That value is the largest reward where the memory can encode its sequence; where it
cannot, the best of several ascents (a lower bound).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import flint
import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.core import batch_kernels as kernels
from workbench.core.augment import augment
from workbench.core.decision import ROUNDING
from workbench.core.ending import (
    FIRST_LOOK_FOR_CYCLES,
    LONG_SINCE,
    MOST_LOOKS,
    WINDOW,
    settling_time,
)
from workbench.core.errors import WorkbenchError, WrongType
from workbench.core.families import Family
from workbench.core.horizon import same_actions
from workbench.core.improve import BUDGET, improve
from workbench.core.memory import Memory
from workbench.core.numbers import Number, read_decimal
from workbench.core.oracle import UNIT
from workbench.core.policy import TIES, Policy, tie_order, uniform
from workbench.core.pomdp import POMDP
from workbench.core.residue_kernels import MOST_LISTED, PRIME, BatchAsk, BatchPlan
from workbench.core.trail import exact_size
from workbench.executors.executor import make_executor
from workbench.progress import Waiting

ENDINGS = ("fixed", "limit cycle", "budget")

LENGTHS = (2, 3, 4)

_CHUNK = 2_000
"""Tasks handed to a core at a time."""

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


# ---------------------------------------------------------------------- sequence tasks


def sequence_task(rewards: Any, name: str = "sequence task") -> POMDP:
    """The task that pays `rewards[a_1][a_2]...` after the last of two or more steps; one
    observation, discount 1.

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
    tables : the arrays of `batch_kernels`; shape : rows and columns of a policy; states : how many
        are not terminal.
    alike : `alike[m, j]`, columns of a policy with the same entry do the same.
    encodable : for each sequence, in the order of the flat table of rewards, whether a
        deterministic policy makes it.
    """

    length: int
    actions: int
    memory: str
    ties: str
    tables: kernels.SequenceTables
    shape: tuple[int, int]
    states: int
    alike: NDArray[np.int64]

    @cached_property
    def encodable(self) -> NDArray[np.bool_]:
        found = np.zeros(self.actions**self.length, dtype=bool)
        tables = self.tables
        final = int(tables.layer[-2])
        stack: list[tuple[int, dict[int, int]]] = [(0, {})]
        while stack:
            s, choice = stack.pop()
            m = int(tables.row[s])
            for j in [choice[m]] if m in choice else range(self.shape[1]):
                if s >= final:
                    found[tables.prefix[s] + tables.act[j]] = True
                else:
                    stack.append((int(tables.after[s, j]), {**choice, m: j}))
        return found

    def room(self) -> kernels.Room:
        """Make room for one run."""
        rows, columns = self.shape
        n = self.states
        return kernels.Room(
            r=np.empty(self.actions**self.length),
            pi=np.empty((rows, columns)),
            d=np.empty(n),
            v=np.empty(n),
            q=np.empty((rows, columns)),
            weight=np.empty(rows),
            marginal=np.empty((rows, self.actions)),
            last=np.empty((rows, self.actions)),
        )

    def plan(self, step: float, budget: int, settle: bool) -> BatchPlan:
        """What the loops of a batch have in common; error bounds as in `horizon`.

        A loop that is run again by `improve` (`settle`) ends where floats cannot tell. Another goes
        on for as long as it takes to forget what was before: what it does then is what it does.
        """
        after, L = self.tables.after, self.length
        final = int(self.tables.layer[-2])
        into = np.bincount(after[:final].ravel(), minlength=1).max(initial=0)
        behind = np.bincount(self.tables.row).max(initial=0)
        sums = int(into) + int(behind) + self.shape[1]
        return BatchPlan(
            step=step,
            keep=float(1 - exact_size(step)),
            budget=budget,
            window=min(WINDOW, max(1, budget // 2)),
            first_look=FIRST_LOOK_FOR_CYCLES,
            settle=settling_time(step),
            unsure_for=1 if settle else settling_time(step),
            error=(2 * L * (sums + 8) + 2 * sums + 1) * UNIT,  # 1: rewards are less the least
            growth=6 * L * UNIT,
            alike=self.alike,
            at_start=self.alike_at_start,
            long_since=LONG_SINCE,
            most_looks=MOST_LOOKS,
        )

    @cached_property
    def alike_at_start(self) -> NDArray[np.int64]:
        """Columns with equal q-values under the uniform policy, whatever the rewards.

        q is linear in the rewards; times a power of the number of columns its coefficients are
        whole numbers, and floats are exact.
        """
        (rows, columns), count = self.shape, self.actions**self.length
        room, pi = self.room(), np.ones(self.shape)
        parts = np.empty((rows, columns, count))
        for i, r in enumerate(np.eye(count)):
            kernels.evaluate_sequence(self.tables, r, pi, room)
            parts[:, :, i] = room.q
        assert parts.max(initial=0.0) < 2.0**53
        found = np.empty(self.shape, dtype=np.int64)
        for m in range(rows):
            found[m] = np.unique(parts[m], axis=0, return_inverse=True)[1].reshape(-1)
        return found

    def ask(self, step: float, budget: int) -> BatchAsk:
        """Room to decide what floats leave open."""
        (rows, columns), L = self.shape, self.length
        keep = 1 - read_decimal(step)

        def room(*shape: int) -> NDArray[np.uint64]:
            return np.zeros(shape, dtype=np.uint64)

        def residues(x: Any) -> NDArray[np.uint64]:
            return np.array(x, dtype=np.uint64)

        return BatchAsk(
            keep=residues([_residue(keep)]),
            share=residues([_residue(Fraction(1, columns))]),
            inverse=residues(_interpolation(L)),
            counts=np.zeros(6, dtype=np.int64),
            turn_n=np.empty(budget + 1, dtype=np.int64),
            turn_greedy=np.empty((budget + 1, rows), dtype=np.int64),
            marks=room(MOST_LISTED),
            taus=np.zeros((MOST_LISTED, rows), dtype=np.int64),
            draw=room(1),
            same=self.alike,
            alike=self.alike.copy(),
            always=self.alike.copy(),
            open=np.zeros(rows, dtype=np.uint8),
            pi=room(rows, columns),
            point=room(rows, columns),
            scale=room(rows),
            rewards=room(self.actions**L),
            d=room(self.states),
            v=room(self.states),
            marginal=room(rows, self.actions),
            last=room(rows, self.actions),
            q=room(rows, columns),
            coefficients=room(rows, columns, L),
        )

    def progress(self, budget: int) -> kernels.SequenceProgress:
        """Make room for where one run is."""

        def places(count: int) -> NDArray[np.int64]:
            return np.empty(count, dtype=np.int64)

        rows = self.shape[0]
        return kernels.SequenceProgress(
            greedy=places(rows),
            found=places(rows),
            since=places(rows),
            goal=places(rows),
            places=places(5),
            tally=np.empty(4),
            mark=np.empty(1, dtype=np.uint64),
            marks=np.empty(budget, dtype=np.uint64),
        )

    def forms(self) -> kernels.Forms:
        """Make room for the forms of one run."""
        rows, columns = self.shape
        n, most = self.states, max(self.length, 4)
        return kernels.Forms(
            d=np.empty((n, most + 1)),
            v=np.empty((n, most + 1)),
            Q=np.empty((rows, most, columns)),
            last=np.empty((rows, most, self.actions)),
            weight=np.empty((rows, most)),
            part=np.empty(most + 1),
            leaving=np.empty(rows),
            bound=np.empty(most),
            top=np.empty(most),
        )


def structure(
    length: int, actions: int, memory: Memory | Family | str, ties: str = "last"
) -> Structure:
    """The product of the sequence tasks of a size with a memory, walked through once.

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
        return _walked(length, actions, memory, ties)
    return _by_name(length, actions, str(memory), ties)


@lru_cache(maxsize=256)
def _by_name(length: int, actions: int, memory: str, ties: str) -> Structure:
    return _walked(length, actions, memory, ties)


def _walked(length: int, actions: int, memory: Memory | str, ties: str) -> Structure:
    codes = np.arange(actions**length).reshape(
        (actions,) * length
    )  # each sequence pays its own place
    E = augment(sequence_task(codes.tolist()), memory)
    if (
        not (np.diff(E.p.row_ptr)[np.repeat(~E.terminal.mask, len(E.A))] == 1).all()
        or len(E.mu.support) != 1
    ):
        raise WorkbenchError(
            f"the batch needs a memory without chance; {memory} has some: use improve"
        )
    order = tie_order(E.A, ties)
    step = np.array([0 if s in E.terminal else len(s[0]) for s in E.S])
    alive = np.flatnonzero(~E.terminal.mask)
    states = alive[np.argsort(step[alive], kind="stable")]
    place = np.full(len(E.S), -1)
    place[states] = np.arange(len(states))
    outcome = E.p.row_ptr[states[:, None] * len(E.A) + order]  # rows of one outcome each
    layer = np.searchsorted(step[states], np.arange(length + 1))
    final = layer[length - 1]
    s_next, r = place[E.p.s_next[outcome]], E.p.r.floats[outcome]
    writes = len(E.A) // actions
    prefix = np.full(len(states), -1)
    prefix[final:] = r[final:].min(axis=1)
    rows, row = np.unique(E.omega.o[E.omega.row_ptr[states]], return_inverse=True)
    states_of = [np.flatnonzero(row == m) for m in range(len(rows))]
    tables = kernels.SequenceTables(
        layer=layer.astype(np.int64),
        row=row.astype(np.int64),
        after=np.ascontiguousarray(s_next).astype(np.int64),
        prefix=prefix.astype(np.int64),
        only=np.array([s[0] if len(s) == 1 and s[0] >= final else -1 for s in states_of]),
        act=(order // writes).astype(np.int64),
        actions=actions,
    )
    name = memory.name if isinstance(memory, Memory) else memory
    return Structure(
        length=length,
        actions=actions,
        memory=name,
        ties=ties,
        tables=tables,
        shape=(len(rows), len(E.A)),
        states=len(states),
        alike=np.ascontiguousarray(same_actions(E)[rows][:, order]),
    )


def _residue(x: Fraction) -> int:
    return x.numerator * pow(x.denominator, -1, PRIME) % PRIME


@lru_cache(maxsize=len(LENGTHS))
def _interpolation(L: int) -> tuple[tuple[int, ...], ...]:
    """`inverse[i][h]`: c_i from the values of sum_i c_i x^i (1-x)^(L-1-i) at x = h, modulo p."""
    places = flint.fmpq_mat(
        [[h**i * (1 - h) ** (L - 1 - i) for i in range(L)] for h in range(L)]
    ).inv()
    return tuple(
        tuple(_residue(Fraction(int(x.p), int(x.q))) for x in (places[i, h] for h in range(L)))
        for i in range(L)
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
    iterates : how many there were until the end was sure; amplitude : the range of the value over a
        limit cycle, or over the last iterates when the budget ran out.
    unsure : whether q-values came closer than could be told without being equal, in floats and, if
        these were settled, by `improve`; then what was greedy before stayed so. Without settling
        also, whether what looks like a limit cycle may have a limit as well, on the rows that
        matter.
    scale, spread : the size of the largest reward, and the range of the rewards.
    """

    memory: str
    step: float
    ties: str
    value: NDArray[np.float64]
    ended: NDArray[np.str_]
    best: NDArray[np.float64]
    best_is_exact: NDArray[np.bool_]
    sequence: NDArray[np.int64]
    iterates: NDArray[np.int64]
    unsure: NDArray[np.bool_]
    amplitude: NDArray[np.float64]
    scale: NDArray[np.float64]
    spread: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.value)

    @property
    def gap(self) -> NDArray[np.float64]:
        """How far below the best value the loop ended."""
        return np.asarray(self.best - self.value)

    @property
    def stuck(self) -> NDArray[np.bool_]:
        """Whether it ended below the best value, by more than chattering around the best point, or
        an ascent that has not quite arrived, explains.

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
    settle: bool = True,
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
    settle : run loops again by `improve` in which numbers came closer than floats can tell without
        being equal; else these end soon after, within the budget, and `unsure` says so.

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
    plan = shape.plan(step, budget, settle)

    def some(part: slice) -> None:
        kernels.run_many(
            shape.tables,
            flat[part],
            plan,
            shape.room(),
            shape.forms(),
            shape.ask(step, budget),
            shape.progress(budget),
            np.empty(budget + 2, dtype=np.int64),
            found[part],
            how[part],
        )

    in_parallel(some, len(flat), workers, f"oracle loop with {shape.memory} on {len(flat):,} tasks")
    for i in np.flatnonzero(how[:, 3]).tolist() if settle else []:
        found[i], how[i] = _settled(table[i], memory, step, ties, budget)
    best, exact = best_values(flat, shape, workers)
    low, high = flat.min(axis=1), flat.max(axis=1)
    return BatchResult(
        memory=shape.memory,
        step=step,
        ties=ties,
        value=found[:, 0],
        ended=np.array(ENDINGS)[how[:, 0]],
        best=np.maximum(best, np.where(how[:, 0] == kernels.FIXED, found[:, 0], -np.inf)),
        best_is_exact=exact,
        sequence=how[:, 1],
        iterates=how[:, 2],
        unsure=how[:, 3] > 0,
        amplitude=found[:, 1],
        scale=np.maximum(np.abs(low), np.abs(high)),
        spread=high - low,
    )


def _settled(
    rewards: NDArray[np.float64], memory: Memory | Family | str, step: float, ties: str, budget: int
) -> tuple[tuple[float, float], tuple[int, int, int, bool]]:
    """What `improve` says of one task: (value, amplitude), and (ended, sequence, iterates, unsure).

    Where it cannot tell either, what it does depends on floats: it is given rewards less the least,
    in a power of two as their unit, like the kernels.
    """
    exact = np.vectorize(Fraction, otypes=[object])(rewards)
    least = exact.min()
    spread = exact.max() - least
    unit = Fraction(2) ** (spread.numerator.bit_length() - spread.denominator.bit_length())
    E = augment(sequence_task(((exact - least) / unit).tolist()), memory)
    run = improve(E, uniform(E), step=step, ties=ties, budget=budget)
    unsure = any(tie.how == ROUNDING for tie in run.ties)
    ended = ENDINGS.index(run.ended)
    if run.limit is None:
        value = least + unit * Fraction(run.mean if run.ended == "limit cycle" else run.value)
        amplitude = float(unit * Fraction(run.amplitude))
        return (float(value), amplitude), (ended, -1, run.iterates, unsure)
    sequence = _made(E, run.limit)
    place = int(np.ravel_multi_index(sequence, rewards.shape))
    return (float(rewards[sequence]), 0.0), (ended, place, run.iterates, unsure)


def _made(E: POMDP, pi: Policy) -> tuple[int, ...]:
    """The sequence of actions that a deterministic policy makes."""
    (s,) = E.mu.support.tolist()
    made: list[int] = []
    while not E.terminal.mask[s]:
        a = int(pi.prob.floats[E.omega.o[E.omega.row_ptr[s]]].argmax())
        made.append(E.A[a][0])
        s = int(E.p.s_next[E.p.row_ptr[s * len(E.A) + a]])
    return tuple(made)


def best_values(
    flat: NDArray[np.float64], shape: Structure, workers: int | None = None
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
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
        rest, climbed = flat[left], np.empty(len(left))

        def some(part: slice) -> None:
            kernels.climb_many(
                shape.tables, rest[part], starts, _ASCENT_STEPS, shape.room(), climbed[part]
            )

        in_parallel(
            some,
            len(left),
            workers,
            f"best memoryless values with {shape.memory}",
            chunk=_CHUNK // 10,
        )
        encoded = np.where(shape.encodable, rest, -np.inf).max(axis=1)
        best[left] = np.maximum(climbed, encoded)
    return best, exact


def in_parallel(work: Any, count: int, workers: int | None, what: str, chunk: int = _CHUNK) -> None:
    """`work(slice)` for slices that make up `count`, on threads; Ctrl-C leaves what has not begun
    undone."""
    if workers is not None and (
        isinstance(workers, bool) or not isinstance(workers, int) or workers < 1
    ):
        raise WorkbenchError(f"workers is a number of threads, at least 1, not {workers!r}")
    parts = [slice(i, min(i + chunk, count)) for i in range(0, count, chunk)]
    with make_executor("threads", workers) as threads, Waiting(what) as waiting:
        for done, _ in enumerate(threads.run(work, parts), start=1):
            waiting.report(done / len(parts), f"{min(done * chunk, count):,} of {count:,}")


def _checked(rewards: ArrayLike) -> NDArray[np.float64]:
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
