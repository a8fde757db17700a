"""How fast the learners are: `python tests/benchmarks/learners.py [--quick]`.

    steps/s      each learner x memory on gravity, one thread: the kernel with |A| "open", with |A|
                 "known" to the compiler, and the same algorithm in C (`learners.c`, gcc -O3
                 -march=native, |A| open), which must end with the same tables bit for bit; they
                 take turns and each keeps its best processor time
    loops        Q-learning as a Python research loop (a dictionary of numpy rows), and, where they
                 are installed, as a Gymnasium loop and with mushroom-rl
    threads      `learn` with one thread and with all
    compilation  the first use of each kernel in a fresh process, with an empty cache and with a
                 filled one

Nothing here passes or fails; numbers move with what else the machine does.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from pomdps import gravity
from workbench.core.augment import augment
from workbench.core.learners import Learner, QLearning, Sarsa, threshold
from workbench.core.pomdp import POMDP
from workbench.learning.actor_critic import ActorCritic
from workbench.learning.learn import learn
from workbench.learning.sampling import SamplingTables
from workbench.learning.sampling_kernels import PAUSE, Curve, World, seed_words
from workbench.learning.textbook_learners import MonteCarlo

HERE = Path(__file__).parent
MEMORIES = ("none", "K1", "B1", "O1", "OA1", "B2")
LEARNERS: dict[str, Learner] = {
    "Q-learning": QLearning(),
    "Monte Carlo": MonteCarlo(max_episode_steps=None),
    "Sarsa(0)": Sarsa(lam=0.0),
    "Sarsa(0.5)": Sarsa(lam=0.5),
    "Sarsa(1)": Sarsa(lam=1.0),
    "actor-critic 5": ActorCritic(n=5),
    "actor-critic 20": ActorCritic(n=20),
}
SEED = 1
console = Console(width=max(80, Console().width))


# ---------------------------------------------------------------------- one run, in numba and in C


def run_kernel(
    P: POMDP, model: SamplingTables, learner: Any, steps: int, unrolled: bool
) -> tuple[float, dict[str, Any]]:
    """Seconds and final tables of one run in one piece."""
    tables = new_tables(model, learner)
    arrays = {name: table.reshape(-1) for name, table in tables.items()}
    workspace = learner.workspace(model.nO, model.nA, steps)
    arrays |= {name: np.zeros(shape, kind) for name, (shape, kind) in workspace.items()}
    own = learner.arguments(learner.discount(P), arrays)
    paused = np.zeros(1, dtype=PAUSE)
    paused["g0"], paused["g1"] = seed_words(SEED)
    actions: Any = (0,) * model.nA if unrolled else np.zeros(model.nA, dtype=np.uint8)
    kept = (np.zeros(1), np.zeros(1, dtype=np.int64), np.zeros((0, model.nO), dtype=np.uint16))
    world = World(model.rows, model.outcomes, model.starts, actions)
    curve = Curve(steps, steps, *kept)
    began = time.thread_time()
    learner.kernel(world, paused, curve, 0, steps, own)
    return time.thread_time() - began, tables


def new_tables(model: SamplingTables, learner: Learner) -> dict[str, Any]:
    shapes = learner.tables(model.nO, model.nA)
    return {name: np.full(shape, value) for name, (shape, value) in shapes.items()}


class CModel(ctypes.Structure):
    _fields_ = (
        ("rows", ctypes.c_void_p),
        ("outcomes", ctypes.c_void_p),
        ("starts", ctypes.c_void_p),
        ("n_starts", ctypes.c_uint64),
        ("nA", ctypes.c_uint64),
    )


def compile_c(folder: str) -> ctypes.CDLL:
    library = f"{folder}/learners.so"
    flags = ["-O3", "-march=native", "-ffp-contract=off", "-shared", "-fPIC"]
    subprocess.run(["gcc", *flags, str(HERE / "learners.c"), "-o", library], check=True)
    return ctypes.CDLL(library)


def run_c(
    library: ctypes.CDLL, P: POMDP, model: SamplingTables, learner: Any, steps: int
) -> tuple[float, dict[str, Any]]:
    gamma, tables = learner.discount(P), new_tables(model, learner)
    pointers = [table.ctypes.data_as(ctypes.c_void_p) for table in tables.values()]
    c_model = CModel(
        model.rows.ctypes.data,
        model.outcomes.ctypes.data,
        model.starts.ctypes.data,
        len(model.starts),
        model.nA,
    )
    integer, real = ctypes.c_uint64, ctypes.c_double
    entries = integer(model.nO * model.nA)
    own: tuple[Any, ...]
    if isinstance(learner, ActorCritic):
        own = (
            entries,
            integer(learner.n),
            real(gamma),
            real(learner.policy_step),
            real(learner.value_step),
        )
    else:
        own = (
            integer(int(threshold(learner.epsilon))),
            real(learner.step),
            real(gamma),
        )
    if isinstance(learner, Sarsa):
        own = (entries, *own, real(learner.lam), real(learner.trace_cutoff))
    function = getattr(library, learner.kernel.__name__.removeprefix("window_"))
    function.restype = real
    words = [integer(word) for word in seed_words(SEED)]
    began = time.thread_time()
    function(ctypes.byref(c_model), *words, integer(steps), *pointers, *own)
    return time.thread_time() - began, tables


def compare_with_c(steps: int, rounds: int, memories: tuple[str, ...]) -> None:
    columns = ("learner", "memory", "open", "known", "C", "open/C", "best/C", "bits")
    table = Table(*columns, title="M steps/s on gravity")
    with tempfile.TemporaryDirectory() as folder:
        library = compile_c(folder)
        for name, learner in LEARNERS.items():
            for memory in memories:
                P = augment(gravity(), memory)
                model = SamplingTables.of(P)
                ways: dict[str, Any] = {
                    "open": lambda n, m=model, L=learner, P=P: run_kernel(P, m, L, n, False),
                    "known": lambda n, m=model, L=learner, P=P: run_kernel(P, m, L, n, True),
                    "C": lambda n, m=model, L=learner, P=P: run_c(library, P, m, L, n),
                }
                best: dict[str, float] = defaultdict(lambda: np.inf)
                found = {}
                for run in ways.values():
                    run(1)  # compiles
                for _ in range(rounds):
                    for way, run in ways.items():
                        seconds, found[way] = run(steps)
                        best[way] = min(best[way], seconds)
                same = all(
                    np.array_equal(found[way][x], found["C"][x]) for way in ways for x in found["C"]
                )
                fastest = min(best[way] for way in ways if way != "C")
                speeds = [f"{steps / best[way] / 1e6:.1f}" for way in ways]
                ratios = [f"{best['C'] / best['open']:.2f}", f"{best['C'] / fastest:.2f}"]
                table.add_row(name, memory, *speeds, *ratios, "same" if same else "DIFFER")
    console.print(table)


# ---------------------------------------------------------------------- loops in Python


class StepEnvironment:
    """A POMDP behind reset() and step(), as a research loop expects it."""

    def __init__(self, P: POMDP, seed: int):
        self.rng = np.random.default_rng(seed)
        self.rows = {}
        nA = len(P.A)
        for row in range(len(P.S) * nA):
            span = slice(int(P.p.row_ptr[row]), int(P.p.row_ptr[row + 1]))
            self.rows[divmod(row, nA)] = (
                P.p.s_next[span],
                P.p.r.floats[span],
                P.p.prob.floats[span],
            )
        self.o, self.terminal, self.start = P.omega.o, P.terminal.mask, int(P.mu.support[0])

    def reset(self) -> int:
        self.s = self.start
        return int(self.o[self.s])

    def step(self, a: int) -> tuple[int, float, bool]:
        s_next, r, prob = self.rows[self.s, a]
        k = (
            0
            if len(prob) == 1
            else int(self.rng.random() > prob[0])
            if len(prob) == 2
            else self.rng.choice(len(prob), p=prob)
        )
        self.s = int(s_next[k])
        return int(self.o[self.s]), float(r[k]), bool(self.terminal[self.s])


def research_loop(P: POMDP, steps: int) -> float:
    """Q-learning with a dictionary of numpy rows and np.argmax."""
    nA, rng = len(P.A), np.random.default_rng(0)
    env = StepEnvironment(P, 0)
    q: dict[int, Any] = defaultdict(lambda: np.ones(nA))
    began = time.thread_time()
    o = env.reset()
    for _ in range(steps):
        if rng.random() < 0.01:
            a = int(rng.integers(nA))
        else:
            row = q[o]
            a = int(rng.choice(np.flatnonzero(row == row.max())))
        o_next, r, done = env.step(a)
        target = r if done else r + 0.95 * q[o_next].max()
        q[o][a] += 0.1 * (target - q[o][a])
        o = env.reset() if done else o_next
    return steps / (time.thread_time() - began)


def research_loop_first_tie(P: POMDP, steps: int) -> float:
    """The same with np.argmax, which takes the first of several greedy actions: cheaper, and
    another algorithm."""
    nA, rng = len(P.A), np.random.default_rng(0)
    env = StepEnvironment(P, 0)
    q: dict[int, Any] = defaultdict(lambda: np.ones(nA))
    began = time.thread_time()
    o = env.reset()
    for _ in range(steps):
        a = int(rng.integers(nA)) if rng.random() < 0.01 else int(np.argmax(q[o]))
        o_next, r, done = env.step(a)
        target = r if done else r + 0.95 * np.max(q[o_next])
        q[o][a] += 0.1 * (target - q[o][a])
        o = env.reset() if done else o_next
    return steps / (time.thread_time() - began)


def gymnasium_loop(P: POMDP, steps: int) -> float | None:
    """Q-learning with a numpy table on a Gymnasium environment."""
    try:
        import gymnasium
    except ImportError:
        return None

    class Environment(gymnasium.Env):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            self.inner = StepEnvironment(P, 0)
            self.observation_space = gymnasium.spaces.Discrete(len(P.O))
            self.action_space = gymnasium.spaces.Discrete(len(P.A))

        def reset(
            self, *, seed: int | None = None, options: Any = None
        ) -> tuple[int, dict[str, Any]]:
            return self.inner.reset(), {}

        def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
            o, r, done = self.inner.step(action)
            return o, r, done, False, {}

    env = gymnasium.wrappers.TimeLimit(Environment(), 10**9)
    rng = np.random.default_rng(0)
    q = np.ones((len(P.O), len(P.A)))
    began = time.thread_time()
    o, _ = env.reset()
    for _ in range(steps):
        a = int(env.action_space.sample()) if rng.random() < 0.01 else int(np.argmax(q[o]))
        o_next, r, terminated, truncated, _ = env.step(a)
        q[o, a] += 0.1 * (r + 0.95 * (not terminated) * np.max(q[o_next]) - q[o, a])
        o = env.reset()[0] if terminated or truncated else o_next
    return steps / (time.thread_time() - began)


def mushroom_loop(P: POMDP, steps: int) -> float | None:
    """Q-learning of mushroom-rl."""
    try:
        from mushroom_rl.algorithms.value import QLearning as Peer
        from mushroom_rl.core import Core, Environment, MDPInfo
        from mushroom_rl.policy import EpsGreedy
        from mushroom_rl.utils.parameters import Parameter
        from mushroom_rl.utils.spaces import Discrete
    except ImportError:
        return None

    class World(Environment):  # type: ignore[misc]
        def __init__(self) -> None:
            self.inner = StepEnvironment(P, 0)
            super().__init__(MDPInfo(Discrete(len(P.O)), Discrete(len(P.A)), 0.95, 10**9))

        def reset(self, state: Any = None) -> Any:
            return np.array([self.inner.reset()])

        def step(self, action: Any) -> Any:
            o, r, done = self.inner.step(int(action[0]))
            return np.array([o]), r, done, {}

    world = World()
    agent = Peer(world.info, EpsGreedy(Parameter(0.01)), Parameter(0.1))
    core = Core(agent, world)
    began = time.thread_time()
    core.learn(n_steps=steps, n_steps_per_fit=1, quiet=True)
    return steps / (time.thread_time() - began)


def compare_with_loops(steps: int) -> None:
    P = augment(gravity(), "O1")
    model = SamplingTables.of(P)
    run_kernel(P, model, QLearning(), 1, True)
    ours = max(steps / run_kernel(P, model, QLearning(), steps, True)[0] for _ in range(3))
    table = Table(
        "Q-learning on gravity×O1", "steps/s", "the kernel is faster by", title="Loops in Python"
    )
    table.add_row("this package, one thread", f"{ours:.2e}", "")
    loops = {
        "research loop, ties at random": research_loop,
        "research loop, np.argmax": research_loop_first_tie,
        "Gymnasium loop, np.argmax": gymnasium_loop,
        "mushroom-rl": mushroom_loop,
    }
    for name, loop in loops.items():
        speed = loop(P, max(1000, steps // (1000 if loop is mushroom_loop else 100)))
        table.add_row(
            name,
            *(("not installed", "") if speed is None else (f"{speed:.2e}", f"{ours / speed:.0f}")),
        )
    console.print(table)


# ---------------------------------------------------------------------- threads and compilation


def scale_over_threads(steps: int) -> None:
    table = Table(
        "learner", "threads", "M steps/s", "speed-up", title="learn() on gravity×O1, 8 seeds"
    )
    P = augment(gravity(), "O1")
    cores = len(os.sched_getaffinity(0))
    for name in ("Q-learning", "Sarsa(0.5)", "actor-critic 5"):
        n = steps if name == "Q-learning" else steps // 4
        alone = 0.0
        for threads in sorted({1, 2, cores}):
            learn(P, LEARNERS[name], steps=n, seeds=8, threads=threads, policies=False)
            began = time.perf_counter()
            learn(P, LEARNERS[name], steps=n, seeds=8, threads=threads, policies=False)
            speed = 8 * n / (time.perf_counter() - began) / 1e6
            alone = alone or speed
            table.add_row(name, str(threads), f"{speed:.1f}", f"{speed / alone:.2f}")
    console.print(table)


COMPILE = """
import time
from pomdps import gravity
from workbench.learning.actor_critic import ActorCritic
from workbench.learning.learn import learn
from workbench.core.learners import *
from workbench.learning.sampling import SamplingTables
from workbench.learning.textbook_learners import *
P = gravity()
SamplingTables.of(P)
for name, learner in {names}:
    began = time.perf_counter()
    learn(P, learner, steps={steps}, seeds=1, policies=False)
    print(f"{{name}}\\t{{time.perf_counter() - began:.3f}}")
"""


def time_compilation() -> None:
    kinds = [
        ("Q-learning", QLearning()),
        ("Monte Carlo", MonteCarlo()),
        ("Sarsa", Sarsa()),
        ("actor-critic", ActorCritic()),
    ]
    script = COMPILE.format(names=repr(kinds), steps=1)
    found: dict[str, list[str]] = defaultdict(list)
    with tempfile.TemporaryDirectory() as cache:
        for _ in range(2):
            printed = subprocess.run(
                [sys.executable, "-c", script],
                env={**os.environ, "NUMBA_CACHE_DIR": cache},
                check=True,
                capture_output=True,
                text=True,
            ).stdout
            for line in printed.splitlines():
                name, seconds = line.split("\t")
                found[name].append(seconds)
    table = Table(
        "kernel, |A| open", "empty cache", "filled cache", title="Seconds until the first step"
    )
    for name, (cold, warm) in found.items():
        table.add_row(name, cold, warm)
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description="Benchmarks of the learners")
    parser.add_argument("--quick", action="store_true", help="fewer steps, rounds and memories")
    quick = parser.parse_args().quick
    compare_with_c(
        300_000 if quick else 2_000_000, 3 if quick else 5, ("none", "O1") if quick else MEMORIES
    )
    compare_with_loops(2_000_000 if quick else 10_000_000)
    scale_over_threads(2_000_000 if quick else 20_000_000)
    time_compilation()


if __name__ == "__main__":
    main()
