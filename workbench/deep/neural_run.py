"""What a neural learner leaves behind: a `Run`, and the networks.

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
        """The same run, continued until each seed has done so many steps in all."""
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

    def successes(self) -> NDArray[np.float64]:
        """`successes[seed]`: the probability that the greedy policy at the end of the run succeeds,
        where success pays 1 and nothing else pays; NaN where it cannot be followed."""
        if self.pair is None or not pays_success_only(self.pair.P):
            raise WorkbenchError("success is known where only the end pays, and pays 1 or nothing")
        if self.says is None:
            return np.full(len(self.seeds), np.nan)
        return np.array([self._value(seed, 1) for seed in self.seeds])

    def ask(self, seed: int, views: Views) -> dict[str, NDArray[np.float32]]:
        """What the network of a seed says of some views."""
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
        """`final_values[seed]`: the exact value of the greedy policy at the end of the run; NaN if
        it has none, because it may never end, gets to too many places or needs the history."""
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
