"""The result of a neural learner: a `Run`, and the networks.

On a POMDP whose observations can be listed the network is the table `tables["h"][seed][o, a]` of
preferences (PPO) or `tables["q"]` (DDQN), and everything that holds of tabular runs holds of it. On
a pair that was not multiplied out it is a function of views, and its greedy policy is followed to
every place that it gets to (`closed_loop`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import NeverEnds, TooLarge, WorkbenchError
from workbench.core.numbers import Number
from workbench.core.pomdp import POMDP
from workbench.deep.closed_loop import ClosedLoop, close_loop
from workbench.deep.pair import MemoryPair, Views
from workbench.deep.settings import Neural
from workbench.extras import need
from workbench.learning.run import Run
from workbench.tables.sheet import BEST, Column, Sheet, WrittenNumber, beside_best
from workbench.text import UNDEFINED, counted

_SOLVED = 0.8
"""A seed has solved its task if its policy succeeds with at least this probability."""


@dataclass(frozen=True, eq=False, repr=False)
class NeuralRun(Run):
    """The run of a neural learner.

    Attributes
    ----------
    pair : the task and the memory.
    networks : the weights of each seed, trees of arrays.
    says : `says(seed, views)` asks the network of a seed: {"h": ..., "v": ...} or {"q": ...}.
    seconds : of training, all seeds together, and of compiling.
    training : all that each seed needs to go on (`resume`).
    """

    pair: MemoryPair | None = None
    networks: tuple[Any, ...] = ()
    says: Callable[[int, Views], dict[str, NDArray[np.float32]]] | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    training: tuple[Any, ...] = ()

    def curves(self) -> Run:
        """The rewards alone, without networks, policies and tables."""
        return Run(
            self.steps,
            self.every,
            self.seeds,
            self.rewards,
            None,
            self.learner,
            self.episodes,
            self.measured,
        )

    def only(self, seeds: Any) -> NeuralRun:
        from dataclasses import replace

        chosen = tuple(seeds)
        found = super().only(chosen)
        assert isinstance(found, NeuralRun)
        rows = [self._row(seed) for seed in chosen]
        return replace(
            found,
            networks=tuple(self.networks[row] for row in rows),
            training=tuple(self.training[row] for row in rows),
        )

    def resume(self, steps: int, progress: Any = False) -> NeuralRun:
        """Continue the run until each seed has done so many steps in all."""
        task = self.P if self.P is not None else self.pair
        assert isinstance(self.learner, Neural)
        # not by a statement: what trains needs jax, a stored run does not
        train = import_module("workbench.deep.train").train
        found: NeuralRun = train(
            task,
            self.learner,
            steps=steps,
            seeds=self.seeds,
            every=self.every,
            policies=self.actions is not None,
            progress=progress,
            resume=self,
        )
        return found

    def save(self, path: str | Path) -> Path:
        """Write the run to a file ending in .npz, from which `load_run` reads it."""
        found: Path = import_module("workbench.deep.run_file").save_run(self, path)
        return found

    def sheet(self, best: Any = None, P: POMDP | None = None, values: bool = True) -> Sheet:
        """The run as one row of a table.

        Parameters
        ----------
        best : what the best deterministic policy is worth, if it is known.
        values : whether the exact values of the final greedy policies are computed.
        """
        if self.pair is None or self.episodes is None:
            return super().sheet(best, P)
        task = self.pair.P
        by_episode = bool(task.terminal.mask.any())
        unit = "episode" if by_episode else "100 time steps"
        tenth = max(1, self.rewards.shape[1] // 10)
        lengths = np.broadcast_to(np.diff(self.ends, prepend=0), self.rewards.shape)
        by = self.episodes if by_episode else lengths / 100
        with np.errstate(invalid="ignore"):  # NaN where no episode was over
            first, last = (
                self.rewards[:, part].sum(axis=1) / by[:, part].sum(axis=1)
                for part in (slice(0, tenth), slice(-tenth, None))
            )
        known = last[np.isfinite(last)]
        unknown = np.full(len(self.seeds), np.nan)
        worth = self.final_values() if values else unknown
        cells: list[tuple[Column, Any]] = [
            (Column("first", f"reward per {unit} over the first tenth of the run"), _mean(first)),
            (Column("last", "the same over the last tenth; mean over seeds"), _mean(last)),
            (Column("worst seed", "the lowest last of a seed"), _mean(known[known.argsort()][:1])),
            (Column("best seed", "the highest last of a seed"), _mean(known[known.argsort()][-1:])),
            (
                Column("value", "exact value of the final greedy policies, mean over seeds"),
                _mean(worth),
            ),
        ]
        said = f"The reward per {unit} is {_mean(last).text} at the end"
        if _mean(worth).value is not None:
            said = f"The greedy policies at the end are worth {_mean(worth).text} on average"
            said += "" if best is None else beside_best(_mean(worth).text, best)
        if best is not None:
            cells.append((BEST, best))
        if pays_success_only(task):
            chances = self.successes() if values else unknown
            followed = int(np.isfinite(chances).sum())
            solved = f"{int((chances >= _SOLVED).sum())} of {followed}" if followed else UNDEFINED
            cells += [
                (Column("success", "exact probability that they ever succeed"), _mean(chances)),
                (Column("solved", f"seeds whose success is at least {_SOLVED}", True), solved),
            ]
        columns, row = zip(*cells, strict=True)
        many = f"{counted(len(self.seeds), 'seed')} of {self.steps:,} steps."
        who = getattr(self.learner, "described", self.learner)
        return Sheet(f"{who} on {task.name}", columns, (row,), f"{said}.", (many,))

    def successes(self) -> NDArray[np.float64]:
        """`successes[seed]`: the probability that the final greedy policy succeeds. Success pays 1
        and nothing else pays. It is NaN where the policy cannot be followed."""
        if self.pair is None or not pays_success_only(self.pair.P):
            raise WorkbenchError("success is known where only the end pays, and pays 1 or nothing")
        if self.says is None:
            return np.full(len(self.seeds), np.nan)
        return np.array([self._value(seed, 1) for seed in self.seeds])

    def ask(self, seed: int, views: Views) -> dict[str, NDArray[np.float32]]:
        """The outputs of a seed's network for some views."""
        self._row(seed)
        if self.says is None:
            raise WorkbenchError(
                "what this network says depends on the whole history: it is no policy of what it "
                "sees"
            )
        return self.says(seed, views)

    def choose(self, seed: int, views: Views) -> NDArray[np.int64]:
        """The greedy joint action of a seed at each of some views, the first among equals."""
        said = self.ask(seed, views)
        return np.argmax(said["h"] if "h" in said else said["q"], axis=1)

    def closed_loop(self, seed: int, gamma: Number | None = None) -> ClosedLoop:
        """The greedy network of a seed, followed to every place that it gets to."""
        if self.pair is None:
            raise WorkbenchError("this run does not hold the task that it ran on")
        pair = self.pair
        if gamma is not None:
            pair = MemoryPair(pair.P.with_gamma(gamma), pair.memory)
        return close_loop(pair, lambda views: self.choose(seed, views))

    def final_values(
        self,
        gamma: Number | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> NDArray[np.float64]:
        """`final_values[seed]`: the exact value of the greedy policy at the end of the run. It is
        NaN if the policy may never end, reaches too many places, or needs the history."""
        if self.tables:
            return super().final_values(gamma, progress)
        found = np.full(len(self.seeds), np.nan)
        for i, seed in enumerate(self.seeds):
            found[i] = self._value(seed, gamma)
            if progress is not None:
                progress(i + 1, len(self.seeds))
        return found

    def _value(self, seed: int, gamma: Number | None) -> float:
        if self.says is None:
            return np.nan
        try:
            return self.closed_loop(seed, gamma).value
        except (NeverEnds, TooLarge):
            return np.nan


def _mean(numbers: NDArray[np.float64]) -> WrittenNumber:
    """The mean of the known values, with their number if some are unknown. A dash if none is known.

    >>> _mean(np.array([0.5, 1.0])).text, _mean(np.array([0.5, np.nan])).text
    ('0.75', '0.5 (1 of 2)')
    >>> _mean(np.array([])).text
    '-'
    """
    known = [float(x) for x in numbers if x == x]
    if not known:
        return WrittenNumber(None, UNDEFINED)
    note = "" if len(known) == len(numbers) else f" ({len(known)} of {len(numbers)})"
    mean = sum(known) / len(known)
    return WrittenNumber(mean, f"{mean:.4g}{note}")


def pays_success_only(P: POMDP) -> bool:
    """Whether the only reward is 1, and it is paid at the end."""
    r, ends = P.p.r.floats, P.terminal.mask[P.p.s_next]
    return bool(P.terminal.mask.any() and np.isin(r, (0, 1)).all() and not r[~ends].any())


def load_run(path: str | Path, P: POMDP | MemoryPair) -> NeuralRun:
    """Read a run from the file that `NeuralRun.save` wrote.

    Parameters
    ----------
    P : what it ran on, as it was given to `learn`.

    >>> import tempfile
    >>> from pomdps import recall4
    >>> from workbench import PPO, learn
    >>> settings = PPO(hidden=(4,), n=4, environments=2, minibatches=1, epochs=1)
    >>> run = learn(recall4(), settings, steps=8, seeds=1)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = run.save(f"{folder}/run.npz")
    ...     load_run(f"{folder}/run.npz", recall4()).steps == run.steps
    True

    See also: `learn`, `PPO`, `MemoryPair`.
    """
    need("jax", "deep")
    need("optax", "deep")
    found: NeuralRun = import_module("workbench.deep.run_file").read_run(path, P)
    return found
