"""A run of a learner leaves behind rewards by block, greedy policies and their exact values, tables
and settings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from workbench.core.errors import NeverEnds, UnknownLabel, WorkbenchError, WrongType
from workbench.core.evaluate import evaluate
from workbench.core.learners import Learner, OptionError, check_count
from workbench.core.numbers import Number, frozen
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.extras import need
from workbench.learning.sampling_kernels import forget_unreached
from workbench.optima.yardstick import best_cell
from workbench.tables.sheet import BEST, Column, Drawn, Sheet, Showing, WrittenNumber, beside_best
from workbench.text import UNDEFINED, counted, shorten

if TYPE_CHECKING:
    import pandas as pd


_MOST_STATES_SHOWN = 2_000
"""Values are looked for when a run is shown up to so many states."""

Columns = dict[str, NDArray[Any]]
"""A table: columns by name, all of the same length."""


@dataclass(frozen=True, eq=False, repr=False)
class Run(Showing, Drawn):
    """One learner on one task with several seeds. `learn` returns it, sweeps store it, and figures
    draw it.

    Attributes
    ----------
    steps, every : the steps of each seed, and of each block; the last block may be shorter.
    seeds : the seeds, in the order of the first axis of all arrays.
    rewards : `rewards[seed, block]`, the sum of the rewards of a block.
    P, learner : what was run; None where it is not known.
    episodes : `episodes[seed, block]`, how many episodes ended in it, if they were counted.
    measured : `measured[seed, block]`, exact values of the greedy policies that were computed and
        kept; NaN in blocks where they were not, None if there are none.
    actions : `actions[seed, block, o]`, the place of the greedy action at the end of a block, the
        first among equals; None if the run kept no policies.
    tables : what was learned, `tables[name][seed]`: "q" `[o, a]`; preferences "h" `[o, a]` and
        values "v" `[o]` of actor-critic. NaN where an action is not allowed. Empty if it was not
        kept.
    """

    figure: ClassVar[str] = "learning_curves"

    steps: int
    every: int
    seeds: tuple[int, ...]
    rewards: NDArray[np.float64]
    P: POMDP | None = None
    learner: Learner | str | None = None
    episodes: NDArray[np.int64] | None = None
    measured: NDArray[np.float64] | None = None
    actions: NDArray[np.uint16] | None = None
    tables: dict[str, NDArray[np.float64]] = field(default_factory=dict)

    @classmethod
    def from_rewards(
        cls,
        rewards: ArrayLike,
        *,
        every: int = 1,
        steps: int | None = None,
        seeds: Sequence[int] | None = None,
        learner: Learner | str | None = None,
        P: POMDP | None = None,
        measured: ArrayLike | None = None,
    ) -> Run:
        """The run of a learner of one's own, from the rewards that it got.

        Parameters
        ----------
        rewards : `rewards[seed, block]`, the sum of the rewards of each block.
        every : the steps of a block; `steps` those of the run if its last block is shorter.
        seeds : 0, 1, 2, ... if not given.
        learner : its name, for texts and legends; P what it ran on.
        measured : `measured[seed, block]`, exact values of its policies, if they are known.

        >>> run = Run.from_rewards([[1, 3], [2, 4]], every=50, learner="mine")
        >>> run
        Run of mine: 2 seeds, 100 steps each, reward per 100 steps 7.000 in the last tenth
        >>> run.per_100.tolist()
        [[2.0, 6.0], [4.0, 8.0]]
        """
        if P is not None and not isinstance(P, POMDP):
            raise WrongType(f"P is a POMDP, not {P!r}")
        if learner is not None and not isinstance(learner, Learner | str):
            raise WrongType(f"learner is a learner or its name, not {learner!r}")
        table = _float_table("rewards", rewards)
        if table.ndim != 2 or not table.size:
            raise WrongType(f"rewards is a table rewards[seed, block], not of shape {table.shape}")
        if not np.isfinite(table).all():
            raise WorkbenchError("rewards holds numbers that are not finite")
        n, blocks = table.shape
        check_count("every", every)
        steps = blocks * every if steps is None else steps
        check_count("steps", steps)
        if not (blocks - 1) * every < steps <= blocks * every:
            raise OptionError(f"{blocks} blocks of {every} do not make {steps} steps")
        chosen = chosen_seeds(n if seeds is None else seeds)
        if len(chosen) != n:
            raise OptionError(f"rewards has {n} rows, but the seeds are {_listed(chosen)}")
        exact = None if measured is None else _float_table("measured", measured)
        if exact is not None and exact.shape != table.shape:
            raise WrongType(f"measured has shape {exact.shape}, rewards {table.shape}")
        kept = None if exact is None else frozen(exact)
        return cls(steps, every, chosen, frozen(table), P, learner, measured=kept)

    @classmethod
    def join(cls, parts: Sequence[Run]) -> Run:
        """The parts of one run, which differ in their seeds, as one, without policies and
        tables."""
        first = parts[0]
        seeds = tuple(seed for part in parts for seed in part.seeds)
        if any(not np.array_equal(part.ends, first.ends) for part in parts):
            raise WorkbenchError("runs with different blocks cannot be joined")
        if len(set(seeds)) < len(seeds):
            raise WorkbenchError("runs that share a seed cannot be joined")
        episodes = [part.episodes for part in parts if part.episodes is not None]
        measured = [part.measured for part in parts if part.measured is not None]
        return cls(
            first.steps,
            first.every,
            seeds,
            frozen(np.concatenate([part.rewards for part in parts])),
            first.P,
            first.learner,
            frozen(np.concatenate(episodes)) if len(episodes) == len(parts) else None,
            frozen(np.concatenate(measured)) if len(measured) == len(parts) else None,
        )

    def only(self, seeds: Iterable[int]) -> Run:
        """The same with only some of its seeds, in the order given."""
        rows = [self._row(seed) for seed in seeds]

        def pick(table: Any) -> Any:
            return None if table is None else frozen(table[rows])

        return replace(
            self,
            seeds=tuple(self.seeds[row] for row in rows),
            rewards=pick(self.rewards),
            episodes=pick(self.episodes),
            measured=pick(self.measured),
            actions=pick(self.actions),
            tables={name: pick(table) for name, table in self.tables.items()},
        )

    def curves(self) -> Run:
        """The rewards and what was measured, without the POMDP, policies and tables."""
        return replace(self, P=None, actions=None, tables={})

    def __repr__(self) -> str:
        where = "" if self.P is None else f" on {self.P.name}"
        return (
            f"Run of {self.learner or 'a learner'}{where}: {len(self.seeds)} seeds, {self.steps:,} "
            f"steps each, reward per 100 steps {self.late().mean():.3f} in the last tenth"
        )

    def sheet(self, best: Any = None, P: POMDP | None = None) -> Sheet:
        """The run as one row of a table.

        Parameters
        ----------
        best : what the best deterministic policy is worth, if it is known; looked for briefly where
            the run holds a small POMDP.
        P : the POMDP that it ran on, where the run does not hold it.
        """
        P = self.P if P is None else P
        if best is None and self.P is not None and len(self.P.S) <= _MOST_STATES_SHOWN:
            best = best_cell(self.P, seconds=1.0)
        columns = [
            Column("states", "of the task with the memory"),
            Column("first", "average reward per 100 time steps over the first tenth of the run"),
            Column("last", "the same over the last tenth; mean over seeds"),
            Column("s.d.", "standard deviation of last over seeds"),
            Column("worst seed", "the lowest last of a seed"),
            Column("best seed", "the highest last of a seed"),
            Column("value", "exact value of the final greedy policies, mean over seeds"),
        ]
        late = self.late()
        numbers = (self.early().mean(), late.mean(), late.std(), late.min(), late.max())
        value = self._final_mean()
        row = [None if P is None else len(P.S), *map(_four_digits, numbers), _four_digits(value)]
        said = f"The greedy policies at the end are worth {value:.4g} on average"
        if np.isnan(value):
            said = f"The reward per 100 time steps is {late.mean():.4g} at the end"
        elif best is not None:
            said += beside_best(f"{value:.4g}", best)
        if best is not None:
            columns.append(BEST)
            row.append(best)
        many = f"{counted(len(self.seeds), 'seed')} of {self.steps:,} time steps."
        where = "" if P is None else f" on {P.name}"
        who = getattr(self.learner, "described", self.learner) or "A learner"
        return Sheet(f"{who}{where}", tuple(columns), (tuple(row),), f"{said}.", (many,))

    def _final_mean(self) -> float:
        """The mean value of the final greedy policies. NaN where it is not known."""
        if self.measured is not None:
            return float(self.measured[:, -1].mean())
        small = self.P is not None and len(self.P.S) <= _MOST_STATES_SHOWN
        if not small or not self.tables or not isinstance(self.learner, Learner):
            return float("nan")
        return float(self.final_values().mean())

    # ------------------------------------------------------------------ rewards

    @property
    def ends(self) -> NDArray[np.int64]:
        """`ends[block]`: how many steps were done at the end of each block."""
        return np.minimum(np.arange(1, self.rewards.shape[1] + 1) * self.every, self.steps)

    @property
    def per_100(self) -> NDArray[np.float64]:
        """`per_100[seed, block]`: the average reward per 100 steps, the measure of the paper's
        figures."""
        return 100 * self.rewards / np.diff(self.ends, prepend=0)

    def early(self) -> NDArray[np.float64]:
        """`early[seed]`: the average reward per 100 steps over the first tenth of the blocks."""
        return self._average(slice(0, self._tenth))

    def late(self) -> NDArray[np.float64]:
        """`late[seed]`: the average reward per 100 steps over the last tenth of the blocks."""
        return self._average(slice(-self._tenth, None))

    @property
    def _tenth(self) -> int:
        """A tenth of the blocks, at least one."""
        return max(1, round(0.1 * self.rewards.shape[1]))

    def _average(self, blocks: slice) -> NDArray[np.float64]:
        return (
            100 * self.rewards[:, blocks].sum(axis=1) / np.diff(self.ends, prepend=0)[blocks].sum()
        )

    # ------------------------------------------------------------------ policies

    def policy(self, seed: int, block: int | None = None) -> Policy:
        """The greedy policy of a seed at the end of a block or of the run. Blocks are 0, 1, ... or
        -1, and `block` is None for the run."""
        row = self._row(seed)
        if block is None:
            return Policy.from_actions(self._task(), self._final()[row])
        return Policy.from_actions(self._task(), self._kept()[row, block])

    def softmax(self, seed: int) -> Policy:
        """The stochastic policy that actor-critic ends with."""
        if "h" not in self.tables:
            kind = self.learner.kind if isinstance(self.learner, Learner) else self.learner
            raise WorkbenchError(f"{kind} has no softmax policy; only ActorCritic has one")
        h = self.tables["h"][self._row(seed)]
        weights = np.nan_to_num(np.exp(h - np.nanmax(h, axis=1, keepdims=True)))
        return Policy(self._task(), weights / weights.sum(axis=1, keepdims=True))

    def values(
        self, gamma: Number | None = None, progress: Callable[[int, int], None] | None = None
    ) -> NDArray[Any]:
        """`values[seed, block]`: the exact value of each greedy policy.

        Policies that act alike wherever they get to are evaluated once.

        Parameters
        ----------
        gamma : evaluate with this discount instead of the POMDP's own; with 1, a policy that may
            not end has value NaN.
        progress : called with the numbers of policies done and to do.
        """
        return self._evaluated(self._kept(), gamma, progress)

    def final_values(
        self, gamma: Number | None = None, progress: Callable[[int, int], None] | None = None
    ) -> NDArray[np.float64]:
        """`final_values[seed]`: as `values`, of the greedy policy at the end of the run only."""
        return self._evaluated(self._final()[:, None, :], gamma, progress)[:, 0]

    def _row(self, seed: int) -> int:
        if seed not in self.seeds:
            raise UnknownLabel(
                f"this run has no seed {seed!r}; its seeds are {_listed(self.seeds)}"
            )
        return self.seeds.index(seed)

    def _task(self) -> POMDP:
        if self.P is None:
            raise WorkbenchError(
                "this run does not hold the POMDP that it ran on, and so no policies on it"
            )
        return self.P

    def _kept(self) -> NDArray[np.uint16]:
        if self.actions is None:
            raise WorkbenchError(
                "this run kept no greedy policies: learn(..., policies=True) keeps one for each "
                "block"
            )
        return self.actions

    def _final(self) -> NDArray[np.int64]:
        if not self.tables or not isinstance(self.learner, Learner):
            raise WorkbenchError("this run does not hold the tables that were learned")
        table = self.learner.preferred(self.tables)
        return np.argmax(np.where(np.isnan(table), -np.inf, table), axis=2)

    def _evaluated(
        self,
        actions: NDArray[Any],
        gamma: Number | None,
        progress: Callable[[int, int], None] | None,
    ) -> NDArray[np.float64]:
        P = self._task() if gamma is None else self._task().with_gamma(gamma)
        rows = actions.reshape(-1, actions.shape[2]).astype(np.uint32)
        p, omega = P.p, P.omega
        forget_unreached(
            p.row_ptr,
            p.s_next,
            p.prob.floats,
            omega.row_ptr,
            omega.o,
            omega.prob.floats,
            P.terminal.mask,
            P.mu.prob.floats,
            len(P.A),
            rows,
        )
        keys = rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).ravel()
        _, first, which = np.unique(keys, return_index=True, return_inverse=True)
        found = np.empty(len(first))
        for k, i in enumerate(first.tolist()):
            taken = rows[i].astype(np.int64)
            if P.allowed is not None:  # 0 stands for any action where nothing is seen
                taken[~P.allowed[np.arange(len(taken)), taken]] = -1
            found[k] = _value(P, Policy.from_actions(P, taken))
            if progress is not None:
                progress(k + 1, len(first))
        return found[which].reshape(actions.shape[:2])

    def with_values(self, values: NDArray[np.float64]) -> Run:
        """The same with exact values of its greedy policies, `values[seed, block]`, kept as
        `measured`."""
        return replace(self, measured=frozen(values))

    # ------------------------------------------------------------------ tables

    def columns(self) -> Columns:
        """The curves as columns, one row for each seed and block. They are `seed`, `step` at the
        end of the block, `reward` and, if there are any, `episodes` and `value`."""
        found = {
            "seed": np.repeat(np.array(self.seeds, dtype=np.uint64), self.rewards.shape[1]),
            "step": np.tile(self.ends, len(self.seeds)),
            "reward": self.rewards.ravel(),
        }
        if self.episodes is not None:
            found["episodes"] = self.episodes.ravel()
        if self.measured is not None:
            found["value"] = self.measured.ravel()
        return found

    @classmethod
    def from_columns(cls, columns: Mapping[str, NDArray[Any]]) -> Run:
        """The run whose curves `columns` hold. Task and learner are not among them."""
        seeds, first = np.unique(columns["seed"], return_index=True)
        in_order = seeds[np.argsort(first)].tolist()
        tables = {
            name: frozen(column.reshape(len(in_order), -1)) for name, column in columns.items()
        }
        ends = tables["step"][0]
        return cls(
            int(ends[-1]),
            int(ends[0]),
            tuple(in_order),
            tables["reward"],
            episodes=tables.get("episodes"),
            measured=tables.get("value"),
        )

    def to_frame(self, values: bool = False) -> pd.DataFrame:
        """One row for each seed and block.

        Parameters
        ----------
        values : add the exact value of the greedy policy at the end of each block; what was
            measured before is there in any case.
        """
        pd = need("pandas", "frames")

        columns = {**self.columns(), "per_100": self.per_100.ravel()}
        if values:
            columns["value"] = self.values().ravel()
        columns["block"] = np.tile(np.arange(self.rewards.shape[1]), len(self.seeds))
        first = ("seed", "block", "step", "reward", "per_100", "episodes", "value")
        return pd.DataFrame({name: columns[name] for name in first if name in columns})


def _four_digits(x: float) -> WrittenNumber:
    """A statistic over seeds, with the digits that it deserves."""
    return WrittenNumber(float(x), UNDEFINED if np.isnan(x) else f"{x:.4g}")


def _float_table(name: str, given: Any) -> NDArray[np.float64]:
    """A copy of a table of numbers, in floats. Text that looks like numbers is refused."""
    try:
        table = np.asarray(given)
        if table.dtype.kind in "biuf" or all(isinstance(x, Real) for x in table.flat):
            return table.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        pass  # rows of several lengths, or a number that is no float
    raise WrongType(f"{name} is a table {name}[seed, block] of numbers, not {shorten(repr(given))}")


def _value(P: POMDP, pi: Policy) -> float:
    try:
        return float(evaluate(P, pi).value)
    except NeverEnds:
        return np.nan


def _listed(seeds: tuple[int, ...]) -> str:
    shown = ", ".join(map(str, seeds[:6]))
    return shown + (f", ... ({len(seeds)})" if len(seeds) > 6 else "")


def chosen_seeds(seeds: Any) -> tuple[int, ...]:
    """The seeds that a number of them, or a list, means."""
    if not isinstance(seeds, Iterable) or isinstance(seeds, str | bytes):
        check_count("seeds", seeds)
        return tuple(range(int(seeds)))
    chosen = tuple(seeds)
    if not chosen:
        raise OptionError("seeds is empty: give a number of seeds, or at least one seed")
    for seed in chosen:
        check_count("a seed", seed, low=0)
        if seed >= 1 << 64:
            raise OptionError(f"a seed must be below 2^64, not {seed}")
    if len(set(chosen)) < len(chosen):
        twice = next(seed for i, seed in enumerate(chosen) if seed in chosen[:i])
        raise OptionError(f"seed {twice} is given twice; the same seed gives the same run")
    return tuple(int(seed) for seed in chosen)
