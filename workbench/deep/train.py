"""Training block by block, all seeds in step: watched, stopped and refused in words.

Every seed does a block before any does the next one, so that whatever stops a run (Ctrl-C, weights
that are not finite) leaves all seeds at the end of the same block, and what is there is a whole,
shorter run. A seed determines its run on a machine, whichever other seeds run with it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import Any

import jax
import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import WorkbenchError, WrongType
from workbench.core.learners import OptionError, check_count
from workbench.core.numbers import frozen, to_float
from workbench.core.pomdp import POMDP
from workbench.deep.algorithm import Algorithm, network_outputs, run_updates, start_run
from workbench.deep.ddqn import Replayed
from workbench.deep.lstm import Recurrent
from workbench.deep.networks import count_weights
from workbench.deep.neural_run import NeuralRun
from workbench.deep.pair import MemoryPair, Views, pair_of, views_of
from workbench.deep.ppo import FeedForward
from workbench.deep.settings import DDQN, PPO, Neural, RecurrentPPO
from workbench.deep.stepper import Layout, layout_of
from workbench.executors.executor import cores, pulse
from workbench.learning.learn import ReportSteps, steps_per_second
from workbench.learning.run import chosen_seeds
from workbench.learning.sampling import check_countable, refuse_too_large
from workbench.progress import Waiting

_VIEWS_AT_ONCE = 8192

ALGORITHMS: dict[type[Neural], type[Algorithm]] = {
    PPO: FeedForward,
    RecurrentPPO: Recurrent,
    DDQN: Replayed,
}


class Diverged(WorkbenchError):
    """Weights became infinite or NaN during training. `run` is the run before that."""

    def __init__(self, message: str, run: NeuralRun | None):
        super().__init__(message)
        self.run = run


class Stopped(KeyboardInterrupt):
    """Training was stopped. `run` is the run so far."""

    def __init__(self, run: NeuralRun):
        super().__init__(f"stopped after {run.steps:,} steps")
        self.run = run


def train(
    P: POMDP | MemoryPair,
    learner: Neural,
    *,
    steps: int,
    seeds: int | Iterable[int] = 30,
    every: int | None = None,
    policies: bool = True,
    progress: ReportSteps | bool = False,
    resume: NeuralRun | None = None,
) -> NeuralRun:
    """Train a neural learner. Parameters as those of `learn`.

    Parameters
    ----------
    P : a POMDP, usually one that `augment` returned, or a `MemoryPair` that is not multiplied out.
    steps, every : rounded up to whole updates.
    resume : go on from the end of this run, which had the same learner, seeds and blocks; `steps`
        counts its steps too.
    """
    if not isinstance(P, POMDP | MemoryPair):
        raise WrongType(f"learn needs a POMDP or a MemoryPair, not {P!r}")
    check_count("steps", steps)
    quantum = learner.quantum
    whole = -(-steps // quantum)
    per_block = max(1, whole // 100) if every is None else -(-every // quantum)
    check_count("every", per_block)
    if every is not None and every > steps:
        raise OptionError(
            f"every must be at most steps: a block of {every} does not fit into {steps} steps"
        )
    chosen = chosen_seeds(seeds)
    work = _Work(P, learner, whole, min(per_block, whole), chosen, policies)
    if resume is not None:
        work.take_up(resume)
    with _told_progress(progress, f"{learner.kind} on {P.name}") as report:
        return work.run(report)


def training_shape(P: POMDP | MemoryPair, learner: Neural) -> Any:
    """The tree of arrays that a seed's training goes on from, their shapes alone."""
    work = _Work(P, learner, 1, 1, (0,), False)
    return jax.eval_shape(partial(start_run, work.algorithm), work.tables, jax.random.key(0))


def restore_run(
    P: POMDP | MemoryPair,
    learner: Neural,
    seeds: tuple[int, ...],
    steps: int,
    every: int,
    rewards: NDArray[np.float64],
    episodes: NDArray[np.int64],
    training: list[Any],
    seconds: dict[str, float],
) -> NeuralRun:
    """The run whose curves and training these are."""
    quantum = learner.quantum
    work = _Work(P, learner, steps // quantum, every // quantum, seeds, False)
    work.rewards[:], work.episodes[:], work.seconds = rewards, episodes, dict(seconds)
    found = work._result(training, work.blocks, work.updates)
    assert found is not None
    return found


ToldSteps = Callable[[int, int, str], None]
"""Called with the steps done, the steps to do, and what is earned at present."""


@contextmanager
def _told_progress(progress: ReportSteps | bool, what: str) -> Iterator[ToldSteps]:
    """Report to the caller's function, to a bar that also shows the reward, or to nobody."""
    if callable(progress):
        yield lambda done, total, text: progress(done, total)
    elif progress:
        with Waiting(what, steady=True) as waiting:

            def tell(done: int, total: int, text: str) -> None:
                speed = steps_per_second(done / max(waiting.seconds, 1e-9))
                waiting.report(done / total, f"{speed}, {text}")

            yield tell
    else:
        yield lambda done, total, text: None


class _Work:
    """All seeds of one run, and what they have found so far."""

    def __init__(
        self,
        P: POMDP | MemoryPair,
        learner: Neural,
        updates: int,
        per_block: int,
        seeds: tuple[int, ...],
        policies: bool,
    ):
        self.P, self.learner, self.seeds = P, learner, seeds
        self.updates, self.per_block = updates, per_block
        self.blocks = -(-updates // per_block)
        pair = self.pair = pair_of(P)
        check_countable(pair.P)
        self.views = views_of(P) if isinstance(P, POMDP) else None
        _check_room(pair, learner, len(seeds), 0 if self.views is None else len(self.views))
        layout, self.tables = layout_of(pair, learner.max_episode_steps, learner.fade)
        self.algorithm = _algorithm(
            learner, layout, to_float(_discount(P) if learner.gamma is None else learner.gamma)
        )
        self.keeps = policies and self.views is not None and bool(self.algorithm.heads)
        self.rewards = np.zeros((len(seeds), self.blocks))
        self.episodes = np.zeros((len(seeds), self.blocks), dtype=np.int64)
        nO = 0 if self.views is None else len(self.views)
        self.actions = np.zeros((len(seeds), self.blocks if self.keeps else 0, nO), np.uint16)
        self.seconds = {"training": 0.0, "compiling": 0.0}
        self.began_at = 0
        self.training: list[Any] = []

    def take_up(self, run: NeuralRun) -> None:
        """Go on from the end of a run."""
        done = run.steps // self.learner.quantum
        asked = (self.learner, self.seeds, self.per_block * self.learner.quantum, self.pair.name)
        had = (run.learner, run.seeds, run.every, run.pair.name if run.pair else None)
        if asked != had:
            raise WorkbenchError(
                f"a run goes on with the learner, seeds, blocks and task that it had: {had}, not "
                f"{asked}"
            )
        if len(run.training) < len(run.seeds):
            raise WorkbenchError("this run does not hold what training goes on from")
        if done % self.per_block or done > self.updates:
            raise OptionError(
                f"a run of {run.steps:,} steps in blocks of {run.every:,} cannot go on to "
                f"{self.updates * self.learner.quantum:,}: it has to end with a whole block"
            )
        blocks = done // self.per_block
        self.began_at, self.training = done, list(run.training)
        self.rewards[:, :blocks] = run.rewards
        assert run.episodes is not None
        self.episodes[:, :blocks] = run.episodes
        self.seconds = dict(run.seconds)
        if self.keeps and run.actions is not None:
            self.actions[:, :blocks] = run.actions

    def run(self, report: ToldSteps) -> NeuralRun:
        alg, tables, n = self.algorithm, self.tables, len(self.seeds)
        began = time.perf_counter()
        training = self.training or [
            start_run(alg, tables, jax.random.key(_folded(seed))) for seed in self.seeds
        ]
        run_updates(alg, tables, training[0], 0)  # compiles the loop
        self.seconds["compiling"] += time.perf_counter() - began
        began, spent = time.perf_counter(), self.seconds["training"]
        total = (self.updates - self.began_at) * self.learner.quantum * n
        before = list(training)  # at the end of the last whole block
        done = self.began_at
        pool = ThreadPoolExecutor(min(cores(), n), thread_name_prefix="seed")
        try:
            for block in range(done // self.per_block, self.blocks):
                count = min(self.per_block, self.updates - done)
                # compiled updates hold no interpreter lock: a thread for each core
                work = [pool.submit(run_updates, alg, tables, one, count) for one in training]
                for i, future in enumerate(work):
                    training[i], r, over, finite = future.result()
                    self.rewards[i, block], self.episodes[i, block] = float(r), int(over)
                    if not finite:
                        raise Diverged(
                            self._diverged(self.seeds[i], done), self._result(before, block, done)
                        )
                    fresh = (done - self.began_at) * n + count * (i + 1)
                    report(fresh * self.learner.quantum, total, self._earned(block, count))
                    pulse(fresh * self.learner.quantum)
                after = list(training)
                if self.keeps:
                    for i, state in enumerate(after):
                        said = self._asked(state.weights, self.views)
                        best = said["h"] if "h" in said else said["q"]
                        self.actions[i, block] = np.argmax(best, axis=1)
                before, done = after, done + count
                self.seconds["training"] = spent + time.perf_counter() - began
        except KeyboardInterrupt:
            block = done // self.per_block
            if not block:
                raise
            found = self._result(before, block, done)
            assert found is not None
            raise Stopped(found) from None
        finally:
            pool.shutdown(cancel_futures=True)
        found = self._result(before, self.blocks, done)
        assert found is not None
        return found

    def _earned(self, block: int, count: int) -> str:
        """Tell what the seeds earn in a block."""
        if self.pair.P.terminal.mask.any():
            over = int(self.episodes[:, block].sum())
            each = f"{self.rewards[:, block].sum() / over:.3f}" if over else "none over"
            return f"reward per episode {each}"
        steps = count * self.learner.quantum * len(self.seeds)
        return f"reward per 100 steps {100 * self.rewards[:, block].sum() / steps:.3f}"

    def _diverged(self, seed: int, done: int) -> str:
        steps = done * self.learner.quantum
        kept = "what was there before is kept as `run` of this error" if done else "nothing is kept"
        return (
            f"the weights of {self.learner.kind} on {self.P.name} are no longer finite (seed "
            f"{seed}, after {steps:,} steps): take a smaller learning_rate; {kept}"
        )

    def _asked(self, weights: Any, views: Views | None) -> dict[str, NDArray[np.float32]]:
        """Ask a network about some views, in portions of one size."""
        assert views is not None
        found: dict[str, list[NDArray[np.float32]]] = {name: [] for name in self.algorithm.heads}
        size = min(_VIEWS_AT_ONCE, 1 << max(4, (len(views) - 1).bit_length()))
        for at in range(0, len(views), size):
            part = views[at : at + size]
            filled = np.zeros((size, views.shape[1]), dtype=np.int32)
            filled[: len(part)] = part
            said = network_outputs(self.algorithm, self.tables, weights, filled)
            for name, rows in found.items():
                rows.append(np.asarray(said[name])[: len(part)])
        return {name: np.concatenate(rows) for name, rows in found.items()}

    def _result(self, training: list[Any], blocks: int, done: int) -> NeuralRun | None:
        """The run up to the end of a block, or None if there is no whole block."""
        if not blocks:
            return None
        weights = [state.weights for state in training]
        networks = tuple(jax.tree.map(np.asarray, one) for one in weights)
        places = {seed: i for i, seed in enumerate(self.seeds)}
        heads = self.algorithm.heads
        tables: dict[str, NDArray[np.float64]] = {}
        if self.views is not None and heads:
            said = [self._asked(one, self.views) for one in weights]
            tables = {
                name: frozen(np.stack([one[name] for one in said]).astype(np.float64))
                for name in heads
            }
        return NeuralRun(
            done * self.learner.quantum,
            self.per_block * self.learner.quantum,
            self.seeds,
            frozen(self.rewards[:, :blocks].copy()),
            self.P if isinstance(self.P, POMDP) else None,
            self.learner,
            frozen(self.episodes[:, :blocks].copy()),
            None,
            frozen(self.actions[:, :blocks].copy()) if self.keeps else None,
            tables,
            self.pair,
            networks,
            (lambda seed, views: self._asked(networks[places[seed]], views)) if heads else None,
            dict(self.seconds),
            tuple(training),
        )


def _algorithm(learner: Neural, layout: Layout, gamma: float) -> Algorithm:
    if type(learner) not in ALGORITHMS:
        raise WrongType(f"unknown neural learner {learner!r}")
    return ALGORITHMS[type(learner)](learner, layout, gamma)


def _discount(P: POMDP | MemoryPair) -> Any:
    return P.gamma if isinstance(P, POMDP) else P.P.gamma


def _folded(seed: int) -> int:
    """A seed of up to 64 bits as one that jax takes."""
    return seed & 0x7FFFFFFF if seed < 1 << 31 else (seed ^ (seed >> 31)) & 0x7FFFFFFF


def _check_room(pair: MemoryPair, learner: Neural, seeds: int, observations: int) -> None:
    """Raise `TooLarge`, with the sizes, if the networks of a run do not fit into memory."""
    widths = tuple(
        n if x is None else x.shape[1] for n, x in zip(pair.symbols, pair.features, strict=True)
    )
    hidden: tuple[int, ...] = learner.hidden
    weights = count_weights(widths, hidden, pair.actions + 1, getattr(learner, "cells", 0))
    slots = 4 * (2 * pair.slots + 3)
    # what is dealt into minibatches is there twice, and a minibatch's layers forward and backward
    at_once: int = getattr(learner, "batch", learner.quantum // getattr(learner, "minibatches", 1))
    layers = 8 * (sum(hidden) + 8 * getattr(learner, "cells", 0)) * at_once
    parts = {
        f"the networks of {seeds} seeds, {weights:,} weights each": 16 * weights * seeds,
        "what is kept for replay": slots * getattr(learner, "capacity", 0) * seeds,
        f"an update of {learner.quantum:,} steps": 2 * slots * learner.quantum + layers,
        "the tables of the policies": 8 * observations * (pair.actions + 1) * seeds,
    }
    refuse_too_large(
        f"{learner.kind} on {pair.name}", parts, "take fewer seeds or a smaller network"
    )
