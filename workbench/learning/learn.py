"""`learn`: seeds run in threads without the interpreter lock, in pieces, so that they can be
watched and stopped.

A seed determines its run to the last bit: it does not matter with which other seeds it runs, on how
many threads, or into how many pieces it is cut. Kernels keep everything that a pause must survive
in arrays.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from workbench.core.errors import TooLarge, WrongType
from workbench.core.learners import LEARNERS, Learner, OptionError, check_count
from workbench.core.numbers import frozen
from workbench.core.pomdp import POMDP
from workbench.executors.executor import cores, make_executor, pulse
from workbench.learning.run import Run, chosen_seeds
from workbench.learning.sampling import SamplingTables, check_countable, refuse_too_large
from workbench.learning.sampling_kernels import OUTCOME, PAUSE, ROW, Curve, World, seed_words
from workbench.progress import Waiting

ReportSteps = Callable[[int, int], None]
"""Called now and then, in the thread that called `learn`, with the steps done and the steps to do,
over all seeds."""

_FIRST_PIECE = 1 << 14
_SECONDS_A_PIECE = 0.05
_SECONDS_A_REPORT = 0.1

_UNROLLED = 16
_WORTH_COMPILING = 100_000_000
"""Up to so many actions, and from so many steps on, a kernel is compiled for the very number of
actions."""

_MOST_KEPT_ACTIONS = 1 << 16


def learn(
    P: Any,
    learner: Learner,
    *,
    steps: int,
    seeds: int | Iterable[int] = 30,
    every: int | None = None,
    policies: bool = True,
    threads: int | None = None,
    progress: ReportSteps | bool = False,
) -> Run:
    """Run a learner on a POMDP, usually one that `augment` returned.

    Parameters
    ----------
    learner : `QLearning(...)`, `Sarsa(...)`, `ActorCritic(...)` or another one on tables
        (`workbench.learning`); or, with the extra `deep`, `PPO(...)`, `RecurrentPPO(...)` or
        `DDQN(...)`, which also take a `MemoryPair` that is not multiplied out.
    steps : how many steps each seed takes, over all its episodes.
    seeds : a number of seeds, 0, 1, 2, ..., or the seeds themselves.
    every : the length of a block: rewards are summed over blocks, and the greedy policy is kept at
        the end of each. By default a hundredth of the steps.
    policies : whether to keep the greedy policies.
    threads : by default as many as the machine has cores for this process. The result does not
        depend on it.
    progress : True for a progress bar, or a function of (steps done, steps to do).

    Returns
    -------
    Run

    >>> from pomdps import recall4
    >>> from workbench import QLearning
    >>> run = learn(recall4(), QLearning(), steps=1000, seeds=2, every=500)
    >>> run.policy(seed=1)["o", 3], run.final_values().tolist()
    (Fraction(1, 1), [0.5, 0.5])

    See also: `QLearning`, `Sarsa`, `ActorCritic`, `equilibria`.
    """
    _check_learner(learner)
    if learner.runs_itself:
        if isinstance(P, POMDP):
            P.require_all_actions(f"learn with {learner.kind}")
        return learner.run(
            P, steps=steps, seeds=seeds, every=every, policies=policies, progress=progress
        )
    if not isinstance(P, POMDP):
        raise WrongType(f"learn needs a POMDP, not {P!r}")
    check_count("steps", steps)
    every = max(1, steps // 100) if every is None else every
    check_count("every", every)
    if every > steps:
        raise OptionError(
            f"every must be at most steps: a block of {every} does not fit into {steps} steps"
        )
    chosen = chosen_seeds(seeds)
    if threads is not None:
        check_count("threads", threads)
    workers = min(threads or cores(), len(chosen))
    learner.check_task(P)
    check_countable(P)
    blocks = -(-steps // every)
    if policies and len(P.A) > _MOST_KEPT_ACTIONS:
        raise TooLarge(
            f"{P.name} has {len(P.A):,} actions; kept policies count in 16 bits: pass "
            "policies=False"
        )
    batch = _Batch(P, learner, steps, every, chosen, blocks if policies else 0)
    batch.check_size(workers)
    batch.allocate()
    with shown_progress(progress, f"{learner.kind} on {P.name}") as report:
        batch.run(workers, report)
    return batch.result()


def _check_learner(learner: Any) -> None:
    if not isinstance(learner, Learner):
        known = ", ".join(f"{kind.__name__}(...)" for kind in LEARNERS.values())
        bare = isinstance(learner, type) and issubclass(learner, Learner)
        hint = f"write {learner.__name__}(), with brackets" if bare else f"choose one of {known}"
        raise WrongType(f"unknown learner {learner!r}: {hint}")
    if not learner.module:
        raise WrongType(f"{learner!r} does not say which kernel runs it")


@contextmanager
def shown_progress(progress: ReportSteps | bool, what: str) -> Iterator[ReportSteps]:
    """The function to report to: the caller's own, one that moves a bar, or one that does
    nothing."""
    if callable(progress):
        yield progress
    elif progress:
        with Waiting(what, steady=True) as waiting:

            def report(done: int, total: int) -> None:
                waiting.report(done / total, steps_per_second(done / max(waiting.seconds, 1e-9)))

            yield report
    else:
        yield lambda done, total: None


def steps_per_second(steps: float) -> str:
    """Time steps per second in few characters. Networks do a few ten thousand.

    >>> steps_per_second(12_345_678.9), steps_per_second(9_876.5)
    ('12.3 M steps/s', '9.9 k steps/s')
    """
    return f"{steps / 1e6:.1f} M steps/s" if steps >= 1e5 else f"{steps / 1e3:.1f} k steps/s"


class _Batch:
    """All seeds of one `learn`, and what they have found so far."""

    def __init__(
        self,
        P: POMDP,
        learner: Learner,
        steps: int,
        every: int,
        seeds: tuple[int, ...],
        kept: int,
    ):
        self.P, self.learner, self.seeds, self.kept = P, learner, seeds, kept
        self.steps, self.every = int(steps), int(every)
        self.shapes = learner.tables(len(P.O), len(P.A))
        self.workspace = learner.workspace(len(P.O), len(P.A), self.steps)

    def check_size(self, workers: int) -> None:
        """Raise `TooLarge` if tables, workspaces and policies do not fit into memory."""
        P, n = self.P, len(self.seeds)
        entries = sum(math.prod(shape) for shape, _ in self.shapes.values())
        of_thread = sum(
            math.prod(shape) * np.dtype(kind).itemsize for shape, kind in self.workspace.values()
        )
        parts = {
            f"the tables of {n} seeds, {entries:,} entries each": 8 * entries * n,
            f"the workspace of {workers} threads": of_thread * workers,
            f"{self.kept:,} greedy policies for each seed": 2 * len(P.O) * self.kept * n,
            "the outcomes to sample from": ROW.itemsize * len(P.S) * len(P.A)
            + OUTCOME.itemsize * len(P.p.s_next),
        }
        refuse_too_large(
            f"{self.learner.kind} on {P.name}",
            parts,
            "take a smaller memory, fewer seeds, or keep no policies",
        )

    def allocate(self) -> None:
        """Pack the model and make the arrays of the results."""
        self.model = SamplingTables.of(self.P)
        nA, n, blocks = len(self.P.A), len(self.seeds), -(-self.steps // self.every)
        unrolled = nA <= _UNROLLED and self.steps * n >= _WORTH_COMPILING
        self.actions: Any = (0,) * nA if unrolled else np.zeros(nA, dtype=np.uint8)
        self.rewards = np.zeros((n, blocks))
        self.episodes = np.zeros((n, blocks), dtype=np.int64)
        self.policies = np.zeros((n, self.kept, len(self.P.O)), dtype=np.uint16)
        self.tables = {name: np.full((n, *shape), x) for name, (shape, x) in self.shapes.items()}
        self._fill_missing(-np.inf)
        self.done = np.zeros(n, dtype=np.int64)

    def _fill_missing(self, x: float) -> None:
        """Write x into the entries of actions that are not allowed."""
        if self.P.allowed is not None:
            for table in self.tables.values():
                if table.shape[1:] == self.P.allowed.shape:
                    table[:, ~self.P.allowed] = x

    def run(self, workers: int, report: ReportSteps) -> None:
        """Run all seeds, in this thread if there is one worker. A run that is itself a piece of an
        executor's work takes no threads besides."""
        total = self.steps * len(self.seeds)

        def tell() -> None:
            report(int(self.done.sum()), total)

        if workers == 1:
            told = time.perf_counter()

            def pause(done: int) -> None:
                nonlocal told
                if time.perf_counter() - told > _SECONDS_A_REPORT:
                    told = time.perf_counter()
                    tell()

            for place in range(len(self.seeds)):
                self._run_seed(place, pause)
        else:
            with make_executor("threads", workers) as executor:
                for _ in executor.run(self._run_seed, range(len(self.seeds)), tell):
                    pass
        tell()

    def _run_seed(self, place: int, pause: Callable[[int], None] = pulse) -> None:
        """Run one seed. Between two pieces `pause` is called, which may raise to stop."""
        arrays = {name: table[place].reshape(-1) for name, table in self.tables.items()}
        arrays |= {name: np.zeros(shape, kind) for name, (shape, kind) in self.workspace.items()}
        if self.P.allowed is not None:
            arrays["allowed"] = self.P.allowed.reshape(-1)
        own = self.learner.arguments(self.learner.discount(self.P), arrays)
        paused = np.zeros(1, dtype=PAUSE)
        paused["g0"], paused["g1"] = seed_words(self.seeds[place])
        model = self.model
        world = World(model.rows, model.outcomes, model.starts, self.actions)
        results = (self.rewards[place], self.episodes[place], self.policies[place])
        curve = Curve(self.steps, self.every, *results)
        t, piece = 0, _FIRST_PIECE
        while t < self.steps:
            began = time.perf_counter()
            t = self.learner.kernel(world, paused, curve, t, min(t + piece, self.steps), own)
            if time.perf_counter() - began < _SECONDS_A_PIECE / 2:
                piece *= 2
            self.done[place] = t
            pause(t)

    def result(self) -> Run:
        """The results, read-only."""
        self._fill_missing(np.nan)
        return Run(
            P=self.P,
            learner=self.learner,
            steps=self.steps,
            every=self.every,
            seeds=self.seeds,
            rewards=frozen(self.rewards),
            episodes=frozen(self.episodes),
            actions=frozen(self.policies) if self.kept else None,
            tables={name: frozen(table) for name, table in self.tables.items()},
        )
