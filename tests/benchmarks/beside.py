"""Two trees of the code side by side: the same questions, asked in turn, so that a busy machine is
as unkind to the one as to the other.

    git worktree add ../before REVISION
    python tests/benchmarks/beside.py ../before [NAME ...]

Each tree answers in a process of its own, which imports it and asks each question once before
anything counts. A question's time is the least processor time over the rounds; the ratio is the
other tree's over this one's: above 1 this one is faster.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

ROUNDS = 5

QUESTIONS = {
    "import": "import workbench",
    "augment gravity O2": "augment(gravity(), 'O2')",
    "evaluate gravity x OA1": "evaluate(GOA1, uniform(GOA1))",
    "evaluate recall4 x B1 exact": "evaluate(RB1, uniform(RB1), exact=True)",
    "evaluate recall_variant (8 states), 100 times": "many(100, evaluate, RV, URV)",
    "best_memoryless recall_variant, 10 times": "many(10, best_memoryless, RV)",
    "td_values gravity x O1": "td_values(GO1, uniform(GO1), lam=0.5)",
    "td_values gravity x O1, n=5": "td_values(GO1, uniform(GO1), n=5)",
    "improve recall4 x B1": "improve(RB1, uniform(RB1), step=0.02)",
    "improve recall4 x OA1": "improve(ROA1, uniform(ROA1), step=0.02)",
    "improve gravity x B1": "improve(GB1, uniform(GB1), step=0.1)",
    "improve gravity x O1, 100 iterates": "improve(GO1, uniform(GO1), step=0.1, budget=100)",
    "batch recall4 x B1, normal rewards": "batch('normal', 2, 4, 4_000, 'B1')",
    "batch recall4 x B1, rewards 0 to 3": "batch('whole', 2, 4, 4_000, 'B1')",
    "batch recall4 x OA1, normal rewards": "batch('normal', 2, 4, 2_000, 'OA1')",
    "batch recall4 x OA1, rewards 0 to 3": "batch('whole', 2, 4, 2_000, 'OA1')",
    "batch recall4 x B2, normal rewards": "batch('normal', 2, 4, 2_000, 'B2')",
    "batch recall4 x B2, rewards 0 to 3": "batch('whole', 2, 4, 2_000, 'B2')",
    "batch 3 x 3 x 3 x B1, normal rewards": "batch('normal', 3, 3, 500, 'B1')",
    "batch 3 x 3 x 3 x B1, rewards 0 to 3": "batch('whole', 3, 3, 500, 'B1')",
    "learn Q gravity x O1, 1e6": "learn(GO1, QLearning(), steps=10**6, seeds=1)",
    "learn Sarsa gravity x O1, 1e6": "learn(GO1, Sarsa(lam=0.5), steps=10**6, seeds=1)",
    "learn actor-critic gravity x O1, 1e6": "learn(GO1, ActorCritic(), steps=10**6, seeds=1)",
    "best_memoryless gravity x B1": "best_memoryless(GB1)",
    "best_history tiger": "best_history(tiger())",
    "beliefs hallway_cookie": "reachable_beliefs(hallway_cookie())",
    "is_sufficiently_expressive gravity B1": "is_sufficiently_expressive(gravity(), 'B1')",
}

PREPARED = """
from pomdps import gravity, hallway_cookie, recall4, recall_variant, tiger
from workbench import (ActorCritic, QLearning, Sarsa, augment, best_history, best_memoryless,
                       evaluate, improve, is_sufficiently_expressive, learn, reachable_beliefs,
                       td_values, uniform)
GOA1, GO1, GB1 = (augment(gravity(), m) for m in ("OA1", "O1", "B1"))
RB1, ROA1 = (augment(recall4(), m) for m in ("B1", "OA1"))
RV = recall_variant()
URV = uniform(RV)

import inspect
import numpy as np
try:
    from workbench.improvement.batch import stuck
except ImportError:  # older trees
    from workbench.lab.batch import stuck
# what floats cannot tell is settled elsewhere, in trees that know that there is such a thing
in_floats = {"settle": False} if "settle" in inspect.signature(stuck).parameters else {}


def many(times, function, *arguments):
    for _ in range(times):
        function(*arguments)


def batch(kind, steps, actions, count, memory):
    rng, shape = np.random.default_rng(0), (count, *(actions,) * steps)
    rewards = rng.normal(size=shape) if kind == "normal" else rng.integers(0, 4, shape)
    return stuck(rewards, memory, workers=1, **in_floats)
"""

SERVER = f"""
import sys, time
names = {{}}
exec({PREPARED!r}, names)
print("ready", flush=True)
for line in sys.stdin:
    began = time.process_time()
    exec(line, names)
    print(time.process_time() - began, flush=True)
"""


def answering(tree: Path) -> Callable[[str], float]:
    """A function that has a tree answer a question and says how long that took."""
    process = subprocess.Popen(
        [sys.executable, "-c", SERVER],
        cwd=tree,
        env={"PYTHONPATH": str(tree), "PATH": "/usr/bin:/bin", "NUMBA_NUM_THREADS": "1"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    asked, told = process.stdin, process.stdout
    assert told.readline() == "ready\n"

    def ask(question: str) -> float:
        print(question, file=asked, flush=True)
        return float(told.readline())

    return ask


def importing(tree: Path) -> float:
    """Seconds until a fresh process has imported a tree."""
    began = time.perf_counter()
    where = {"PYTHONPATH": str(tree), "PATH": "/usr/bin:/bin"}
    subprocess.run([sys.executable, "-c", QUESTIONS["import"]], cwd=tree, env=where, check=True)
    return time.perf_counter() - began


def compare(other: Path, chosen: list[str]) -> None:
    trees = (other.resolve(), Path(__file__).parents[2])
    servers = [answering(tree) for tree in trees]
    table = Table("question", "the other tree", "this tree", "ratio")
    for name, question in QUESTIONS.items():
        if chosen and not any(part in name for part in chosen):
            continue
        if name == "import":
            times = [[importing(tree) for tree in trees] for _ in range(ROUNDS + 1)]
        else:
            times = [[ask(question) for ask in servers] for _ in range(ROUNDS + 1)]
        before, after = (min(column) for column in zip(*times[1:], strict=True))
        shown = (f"{before * 1e3:,.1f} ms", f"{after * 1e3:,.1f} ms", f"{before / after:.2f}")
        table.add_row(name, *shown)
        Console(stderr=True).print(name, *shown)
    Console().print(table)


if __name__ == "__main__":
    compare(Path(sys.argv[1]), sys.argv[2:])
