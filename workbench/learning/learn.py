"""`learn`: seeds run in threads without the interpreter lock, in pieces, so that they can be
watched and stopped.

A seed determines its run to the last bit: it does not matter with which other seeds it runs, on how
many threads, or into how many pieces it is cut. Kernels keep everything that a pause must survive
in arrays.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from workbench.core.errors import TooLarge, WrongType
from workbench.core.kernel_call import KernelCall, Tables, Workspace, kernel_call_for
from workbench.core.learners import Learner, OptionError, Prediction, check_count
from workbench.core.numbers import frozen, to_float
from workbench.core.pomdp import POMDP
from workbench.core.random_kernels import seed_words
from workbench.core.table_kernels import PAUSE, Curve, World
from workbench.executors.executor import cores, make_executor, pulse
from workbench.learning.run import Run
from workbench.learning.sampling import SamplingTables, check_countable
from workbench.learning.seeds import chosen_seeds
from workbench.learning.size import check_size
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
    learner : `QLearning(...)`, `Sarsa(...)`, `ActorCritic(...)`, `MonteCarlo(...)`,
        `NStepSarsa(...)`, `DoubleQLearning(...)`, `RLearning(...)` or `Prediction(...)`; or, with
        the extra `deep`, `PPO(...)`, `RecurrentPPO(...)` or `DDQN(...)`, which also take a
        `MemoryPair` that is not multiplied out.
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

    >>> from workbench.core.learners import QLearning
    >>> from workbench.core.pomdp import POMDP
    >>> P = POMDP.from_functions(
    ...     name="one step",
    ...     A=["left", "right"],
    ...     p=lambda s, a: {("end", a == "right"): 1},
    ...     omega=lambda s: {"o": 1},
    ...     mu={"s": 1},
    ...     gamma=1,
    ...     terminal={"end"},
    ... )
    >>> run = learn(P, QLearning(), steps=1000, seeds=2, every=500)
    >>> run.policy(seed=1)["o", "right"], run.final_values().tolist()
    (Fraction(1, 1), [1.0, 1.0])
    """
    if isinstance(learner, Learner) and learner.runs_itself:
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
    if isinstance(learner, Prediction):
        learner.policy.fits(P)
    gamma = getattr(learner, "gamma", None)
    call = kernel_call_for(
        len(P.O), len(P.A), learner, to_float(P.gamma if gamma is None else gamma)
    )
    check_countable(P)
    blocks = -(-steps // every)
    if policies and len(P.A) > _MOST_KEPT_ACTIONS:
        raise TooLarge(
            f"{P.name} has {len(P.A):,} actions; kept policies count in 16 bits: pass "
            "policies=False"
        )
    check_size(P, call, len(chosen), workers, blocks if policies else 0)
    batch = _Batch(P, call, steps, every, chosen, blocks, policies)
    with shown_progress(progress, f"{learner.kind} on {P.name}") as report:
        batch.run(workers, report)
    return batch.result()


@contextmanager
def shown_progress(progress: ReportSteps | bool, what: str) -> Iterator[ReportSteps]:
    """The function to report to: the caller's own, one that moves a bar, or one that does
    nothing."""
    if callable(progress):
        yield progress
    elif progress:
        with Waiting(what, steady=True) as waiting:

            def report(done: int, total: int) -> None:
                waiting.report(done / total, _speed(done / max(waiting.seconds, 1e-9)))

            yield report
    else:
        yield lambda done, total: None


def _speed(steps: float) -> str:
    """Steps a second in few characters; networks do a few ten thousand.

    >>> _speed(12_345_678.9), _speed(9_876.5)
    ('12.3 M steps/s', '9.9 k steps/s')
    """
    return f"{steps / 1e6:.1f} M steps/s" if steps >= 1e5 else f"{steps / 1e3:.1f} k steps/s"


class _Batch:
    """All seeds of one `learn`, and what they have found so far."""

    def __init__(
        self,
        P: POMDP,
        call: KernelCall,
        steps: int,
        every: int,
        seeds: tuple[int, ...],
        blocks: int,
        policies: bool,
    ):
        self.P, self.call, self.steps, self.every, self.seeds = (
            P,
            call,
            int(steps),
            int(every),
            seeds,
        )
        self.model = SamplingTables.of(P)
        nA = self.model.nA
        self.unrolled = (
            call.specialises and nA <= _UNROLLED and steps * len(seeds) >= _WORTH_COMPILING
        )
        self.actions: Any = (0,) * nA if self.unrolled else np.zeros(nA, dtype=np.uint8)
        n = len(seeds)
        self.rewards = np.zeros((n, blocks))
        self.episodes = np.zeros((n, blocks), dtype=np.int64)
        self.policies = np.zeros((n, blocks if policies else 0, self.model.nO), dtype=np.uint16)
        self.tables = {name: np.empty((n, *shape)) for name, shape in call.shapes().items()}
        self.done = np.zeros(n, dtype=np.int64)
        self.own = threading.local()

    def run(self, workers: int, report: ReportSteps) -> None:
        """Work through the seeds, in this thread if there is one worker: a run that is itself a
        piece of an executor's work takes no threads besides."""
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

    def _workspace(self) -> Workspace:
        """The workspace of this thread, used for one seed after another."""
        if not hasattr(self.own, "workspace"):
            self.own.workspace = self.call.workspace()
        found: Workspace = self.own.workspace
        return found

    def _run_seed(self, place: int, pause: Callable[[int], None] = pulse) -> None:
        """Run one seed; between two pieces `pause` is called, which may raise to stop."""
        call, model, workspace = self.call, self.model, self._workspace()
        tables: Tables = {name: table[place] for name, table in self.tables.items()}
        for name, value in call.initial().items():
            tables[name].fill(value)
        call.prepare(workspace)
        paused = np.zeros(1, dtype=PAUSE)
        paused["g0"], paused["g1"] = seed_words(self.seeds[place])
        world = World(model.rows, model.outcomes, model.starts, self.actions)
        kept = (self.rewards[place], self.episodes[place], self.policies[place])
        curve = Curve(self.steps, self.every, *kept)
        own = call.arguments(tables, workspace)
        t, piece = 0, _FIRST_PIECE
        while t < self.steps:
            goal = min(t + piece, self.steps)
            began = time.perf_counter()
            t = call.kernel(world, paused, curve, t, goal, *own)
            if t < goal:
                call.enlarge(workspace)
                own = call.arguments(tables, workspace)
            elif time.perf_counter() - began < _SECONDS_A_PIECE / 2:
                piece *= 2
            self.done[place] = t
            pause(t)

    def result(self) -> Run:
        """The results, read-only."""
        return Run(
            P=self.P,
            learner=self.call.learner,
            steps=self.steps,
            every=self.every,
            seeds=self.seeds,
            rewards=frozen(self.rewards),
            episodes=frozen(self.episodes),
            actions=frozen(self.policies) if self.policies.shape[1] else None,
            tables={name: frozen(table) for name, table in self.tables.items()},
        )
