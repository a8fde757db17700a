"""What a sweep costs beyond its learners: `python tests/benchmarks/sweeps.py [cells]`.

Wall-clock times hold for a machine that does nothing else; processor times also for others.

1. Ten thousand tiny cells (one seed, 100 steps of Q-learning on recall with B1), stored one by one:
the time for each cell
   beyond that of the learner itself, by executor; and of a second run, which finds them all.
2. Steps per second of learners with 1 and 2 workers, and what 10^9 steps cost.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from workbench.cli.task_name import find_task
from workbench.core.augment import augment
from workbench.core.learners import QLearning, Sarsa
from workbench.executors.executor import make_executor
from workbench.learning.actor_critic import ActorCritic
from workbench.sweeps.cell import Cell
from workbench.sweeps.experiment import PER_100
from workbench.sweeps.run_cells import finish_cells
from workbench.sweeps.store import Store
from workbench.sweeps.worker import compute_cell

TINY: dict[str, Any] = {
    "task": "recall",
    "memory": "B1",
    "measure": PER_100,
    "steps": 100,
    "every": 100,
}


def tiny_cells(count: int) -> list[Cell]:
    """Cells that take no time, each of its own step size."""
    return [Cell(method=QLearning(step=(i + 1) / count), seeds=(0,), **TINY) for i in range(count)]


def seconds(cells: list[Cell], folder: Path, name: str, workers: int) -> tuple[float, float]:
    """How long an executor takes, its own start not counted; and how much of that the driver
    computes itself."""
    with make_executor(name, workers=workers) as used:
        warm = [Cell(method=QLearning(), seeds=(seed,), **TINY) for seed in range(4 * workers)]
        list(finish_cells(warm, find_task, None, used))
        store = Store(folder)
        began, busy = time.perf_counter(), time.process_time()
        for _ in finish_cells(cells, find_task, store, used):
            pass
        return time.perf_counter() - began, time.process_time() - busy


def overhead(count: int) -> None:
    cells = tiny_cells(count)
    E = augment(find_task("recall"), "B1")
    compute_cell(cells[0], E, lambda steps: None)
    began, busy = time.perf_counter(), time.process_time()
    for cell in cells[:1000]:
        compute_cell(cell, E, lambda steps: None)
    alone = [
        1e3 * t / min(1000, count)
        for t in (time.perf_counter() - began, time.process_time() - busy)
    ]
    print(
        f"{count:,} tiny cells; the learner alone takes {alone[0]:.2f} ms for one, {alone[1]:.2f} "
        "ms of a processor"
    )
    for name, workers in (("threads", 2), ("local", 1), ("local", 2), ("dask", 2)):
        with tempfile.TemporaryDirectory() as folder:
            first, first_busy = seconds(cells, Path(folder), name, workers)
            again, again_busy = seconds(cells, Path(folder), name, workers)
        print(
            f"  {name:7} {workers} workers: {first / count * 1e3:5.2f} ms a cell "
            f"({first_busy / count * 1e3:.2f} of the driver's processor); found again in "
            f"{again / count * 1e3:.2f} ms ({again_busy / count * 1e3:.2f})"
        )


def rates() -> None:
    print("million steps a second on gravity with O1, and how long 10^9 steps take")
    for method in (QLearning(), Sarsa(), ActorCritic()):
        cells = [
            Cell("gravity", "O1", method, PER_100, (seed,), 4_000_000, 40_000) for seed in range(8)
        ]
        for name, workers in (("threads", 1), ("threads", 2), ("local", 1), ("local", 2)):
            with make_executor(name, workers=workers) as used:
                list(finish_cells([cells[0]], find_task, None, used))
                began, busy = time.perf_counter(), time.process_time()
                list(finish_cells(cells, find_task, None, used))
                steps = sum(cell.work for cell in cells)
                rate, core = (
                    steps / (time.perf_counter() - began),
                    steps / (time.process_time() - busy),
                )
            processor = (
                f", {core / 1e6:5.1f} M per second of a processor" if name == "threads" else ""
            )
            print(
                f"  {type(method).__name__:12} {name:8} {workers} workers: {rate / 1e6:6.1f} M/s, "
                f"10^9 steps in {1e9 / rate:4.0f} s{processor}"
            )


if __name__ == "__main__":
    print("load of the machine before:", *(f"{load:.1f}" for load in os.getloadavg()))
    overhead(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
    rates()
