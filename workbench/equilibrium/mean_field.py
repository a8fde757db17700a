"""The mean field of a learner: what its table does when the steps are small.

In time t = (step size) x (number of steps) the table follows, as the step goes to zero,

    dq(o,a)/dt = d_b(o) b(a|o) [ T_b q (o,a) - q(o,a) ],        b = epsilon-greedy on q

d_b(o) the share of steps spent in o, T_b the learner's target (`learned_values`). In the inside of
a cell of greedy policies this is affine, dq/dt = A q + c; the right side jumps where a row ties,
and a solution there follows a mixture of the fields around it (Filippov 1988): it may *slide* along
the tie, as a chattering learner does on average.

`mean_field` follows it with Euler steps of length dt, greedy ties going to the first action: near a
tie the greedy action alternates, and the share of time that each had is the mixture. So the answer
is that of a differential inclusion up to O(dt), and every `Flow` tells what it was doing at its
end:

    settled      one greedy policy, q no longer moves
    sliding      greedy policies alternate, q moves by no more than a few Euler steps do
    moving       q still moves: a cycle, or more time is needed
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import NotExact, WorkbenchError, WrongType
from workbench.core.learners import Learner
from workbench.core.numbers import is_symbolic, to_float
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.equilibrium.greedy_cells import DenseTask, Floats
from workbench.equilibrium.learned_values import check_epsilon, target_of
from workbench.tables.sheet import Column, Sheet, Showing
from workbench.tables.table import Table

TAIL = 0.2
"""The last part of a flow, over which it is judged."""

STILL = 1e-4
"""A table that moves by less than this part of its largest entry, over the tail, is at rest."""


_ENDED = {
    "settled": "The table comes to rest, and one policy is greedy.",
    "sliding": "The table slides along a tie: actions are greedy by turns, and it hardly moves.",
    "moving": "The table goes on moving.",
}


@dataclass(frozen=True, eq=False)
class Flow(Showing):
    """A solution of the mean field.

    Attributes
    ----------
    rows : the places of the observations that matter.
    times : `times[k]`; tables : `tables[k, row, a]`, q at these times.
    shares : `shares[row, a]`, how much of the tail each action was the greedy one.
    switches : how often the greedy policy changed in the tail.
    spread : the largest distance of an entry of q from its mean over the tail; speed : the largest
        |dq/dt| of an entry there.
    dt : the length of the Euler steps.
    """

    P: POMDP
    learner: Learner
    rows: NDArray[np.int64]
    times: Floats
    tables: Floats
    shares: Floats
    mean: Floats
    switches: int
    spread: float
    speed: float
    dt: float

    @property
    def ended(self) -> str:
        """ "settled", "sliding" or "moving"."""
        # Euler steps across a tie overshoot by dt times the speed; a larger spread is real motion
        if self.spread > max(5 * self.dt * self.speed, STILL * float(np.abs(self.mean).max())):
            return "moving"
        return "sliding" if self.switches else "settled"

    @property
    def policy(self) -> Policy:
        """The greedy policy of the tail, as a mixture: the share of time of each greedy action."""
        table = np.zeros((len(self.P.O), len(self.P.A)))
        table[:, 0] = 1.0
        table[self.rows] = self.shares
        return Policy(self.P, table)

    @property
    def q(self) -> Table:
        """The mean table of the tail."""
        raw = np.full((len(self.P.O), len(self.P.A)), np.nan)
        raw[self.rows] = self.mean
        return Table(raw, self.P.O, self.P.A, None, "q(o, a)")

    def sheet(self) -> Sheet:
        """What each row did at the end of the flow."""
        P = self.P
        rows = tuple(
            (
                P.O.text(P.O[o]),
                ", ".join(
                    f"{P.A.text(P.A[a])} {shares[a]:.3g}" for a in np.flatnonzero(shares > 0.001)
                ),
            )
            for o, shares in zip(self.rows.tolist(), self.shares, strict=True)
        )
        columns = Column(P.O.legend, ""), Column("greedy", "each action's share of the time")
        last = (
            f"The last {TAIL:.0%} of {self.times[-1]:g}, with {self.switches:,} changes of greedy."
        )
        title = f"Mean field of {self.learner.kind} on {P.name}"
        return Sheet(title, columns, rows, _ENDED[self.ended], (last,))

    def __repr__(self) -> str:
        mixed = int(((self.shares > 0.001) & (self.shares < 0.999)).any(axis=1).sum())
        return (
            f"mean field of {self.learner.kind} on {self.P.name}, time {self.times[-1]:g}: "
            f"{self.ended}; {mixed} of {len(self.rows)} rows mixed, {self.switches:,} switches, "
            f"spread {self.spread:.2g}"
        )


class CellFields:
    """The affine fields of the cells that were met so far."""

    def __init__(self, task: DenseTask):
        self.task = task
        self.known: dict[bytes, tuple[Floats, Floats]] = {}

    def of(self, actions: NDArray[np.int64]) -> tuple[Floats, Floats]:
        key = actions.tobytes()
        if key not in self.known:
            self.known[key] = self.task.affine(self.task.greedy(actions))
        return self.known[key]


def dense_task(P: Any, learner: Any) -> DenseTask:
    """P and a learner's target in floats, refused where there is no mean field in floats."""
    target = target_of(learner)
    if learner.gamma is not None:
        P = P.with_gamma(learner.gamma)
    epsilon = check_epsilon(learner.epsilon)
    if P.symbols or is_symbolic(epsilon):
        raise NotExact(f"{P.name} holds symbols; a mean field is followed in floats")
    task = DenseTask(P, target, to_float(epsilon))
    if epsilon == 0:
        raise WorkbenchError("with epsilon 0 actions that are not greedy are never updated")
    if not task.ends:
        raise WorkbenchError(
            f"{P.name} has behaviours under which nothing ends; the mean field is that of tasks "
            "whose episodes end"
        )
    return task


def mean_field(
    P: POMDP,
    learner: Learner,
    time: float = 1000.0,
    dt: float = 0.01,
    initial: Any = None,
    *,
    kept: int = 1000,
) -> Flow:
    """Follow the mean field of a learner from a table on.

    Parameters
    ----------
    time : how long; a run of N steps of size alpha corresponds to the time N alpha.
    dt : the length of an Euler step; a learner's own step size makes it chatter as the learner
        does, without the noise.
    initial : the table to start from, `[row, a]` over the observations that matter or `[o, a]` over
        all; by default the learner's initial value everywhere.
    kept : how many tables are kept, evenly spread over time.

    >>> from fractions import Fraction
    >>> from workbench.core.learners import QLearning
    >>> from workbench.improvement.batch import sequence_task
    >>> P = sequence_task([[1, 0], [0, 0]])
    >>> flow = mean_field(P, QLearning(epsilon=0.5, initial=0), time=100)
    >>> flow.ended, flow.q.raw.round(3).tolist(), flow.policy["o", 0]
    ('settled', [[0.75, 0.375]], 1.0)

    See also: `equilibria`, `phase_plane`, `observation_mdp`.
    """
    P.require_all_actions("mean_field")
    task = dense_task(P, learner)
    for name, x in (("time", time), ("dt", dt)):
        if isinstance(x, bool) or not isinstance(x, int | float) or not 0 < x < np.inf:
            raise WorkbenchError(f"{name} must be a positive number, not {x!r}")
    if dt > 1:
        raise WorkbenchError(f"dt must be at most 1, the largest step of a learner, not {dt}")
    q = _start(task, learner, initial)
    steps = max(10, round(time / dt))
    return _follow(task, learner, q, steps, dt, min(kept, steps))


def _start(task: DenseTask, learner: Any, initial: Any) -> Floats:
    rows, nA = task.rows, task.nA
    if initial is None:
        return np.full(len(rows) * nA, float(learner.initial))
    try:
        q = np.asarray(initial, dtype=float)
    except (TypeError, ValueError, OverflowError):
        raise WrongType(f"initial is a table of numbers, not {initial!r}") from None
    if q.shape == (len(task.P.O), nA) and len(rows) != len(task.P.O):
        q = q[rows]
    if q.shape != (len(rows), nA) or not np.isfinite(q).all():
        raise WorkbenchError(
            f"initial is a table of {len(rows)} rows and {nA} actions without gaps, not of shape "
            f"{q.shape}"
        )
    return q.reshape(-1).copy()


def _follow(task: DenseTask, learner: Learner, q: Floats, steps: int, dt: float, kept: int) -> Flow:
    fields = CellFields(task)
    shape = (len(task.rows), task.nA)
    at = np.unique(np.linspace(0, steps, kept + 1).round().astype(int))
    tables, k = np.empty((len(at), *shape)), 0
    tail = int(steps * (1 - TAIL))
    counts = np.zeros(shape)
    total = np.zeros(q.size)
    low, high = np.full(q.size, np.inf), np.full(q.size, -np.inf)
    switches, before, speed = 0, b"", 0.0
    index = np.arange(shape[0])
    for step in range(steps + 1):
        if k < len(at) and step == at[k]:
            tables[k], k = q.reshape(shape), k + 1
        if step == steps:
            break
        actions = q.reshape(shape).argmax(axis=1)
        A, c = fields.of(actions)
        if step >= tail:
            counts[index, actions] += 1
            total += q
            np.minimum(low, q, out=low)
            np.maximum(high, q, out=high)
            key = actions.tobytes()
            switches += int(key != before and before != b"")
            before = key
        rate = A @ q + c
        if step >= tail:
            speed = max(speed, float(np.abs(rate).max()))
        q = q + dt * rate
    mean = total / (steps - tail)
    return Flow(
        P=task.P,
        learner=learner,
        rows=task.rows,
        times=at * dt,
        tables=tables,
        shares=counts / counts.sum(axis=1, keepdims=True),
        mean=mean.reshape(shape),
        switches=switches,
        spread=float(np.maximum(high - mean, mean - low).max()),
        speed=speed,
        dt=dt,
    )
