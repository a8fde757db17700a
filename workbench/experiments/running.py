"""Running cells in threads: the kernels hold no interpreter lock, so that two cells use two cores.

Finished cells are read from the store and not computed again; every other cell is stored as soon as it is finished. An
error or Ctrl-C stops all threads at their next pause, within a fraction of a second, and loses only unfinished cells.
"""

from __future__ import annotations

import os
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace

from workbench.augmentation import augment
from workbench.experiments.cells import Cell, cells_of
from workbench.experiments.computing import Arrays, compute_learning
from workbench.experiments.looping import compute_loop
from workbench.experiments.records import GREEDY, Experiment, OracleLoop
from workbench.experiments.results import Results
from workbench.experiments.storage import Store
from workbench.learning.options import check_count
from workbench.pomdp import POMDP

Find = Callable[[str], POMDP]
"""The POMDP that the name of a task means."""


@dataclass(frozen=True)
class Progress:
    """How far a run is: cells and steps, those found in the store not counted."""

    cells: int
    cells_done: int
    steps: int
    steps_done: int
    reused: int


Report = Callable[[Progress], None]
"""Called about ten times a second, in the thread that started the run."""


def run_experiment(
    experiment: Experiment,
    find: Find,
    store: Store | None = None,
    threads: int | None = None,
    report: Report | None = None,
) -> Results:
    """Run one experiment; arguments as for `run_cells`."""
    computed, _ = run_cells(cells_of(experiment), find, store, threads, report)
    return Results.of(experiment, computed)


def run_cells(
    cells: Iterable[Cell],
    find: Find,
    store: Store | None = None,
    threads: int | None = None,
    report: Report | None = None,
) -> tuple[dict[Cell, Arrays], frozenset[Cell]]:
    """The arrays of some cells, each computed once or read from the store, and which of them were read.

    Parameters
    ----------
    find : returns the POMDP that the name of a task means.
    store : where finished cells are; None to keep nothing.
    threads : by default as many as the machine has cores for this process. The result does not depend on it.
    report : called with the progress.
    """
    if threads is not None:
        check_count("threads", threads)
    wanted = sorted(set(cells), key=lambda cell: (cell.task, cell.memory, repr(cell)))
    tasks = {name: find(name) for name in dict.fromkeys(cell.task for cell in wanted)}
    done: dict[Cell, Arrays] = {}
    if store is not None:
        for cell in wanted:
            if (arrays := store.load(cell.content(tasks[cell.task]))) is not None:
                done[cell] = arrays
    reused = frozenset(done)
    left = [cell for cell in wanted if cell not in reused]
    if left:
        workers = min(threads or len(os.sched_getaffinity(0)), len(left))
        done.update(_Work(left, tasks, store, len(reused)).run(workers, report or (lambda progress: None)))
    return done, reused


class _Stopped(Exception):
    """Raised inside a cell to end it early."""


class _Work:
    """Cells to compute, and the threads that share them."""

    def __init__(self, cells: list[Cell], tasks: dict[str, POMDP], store: Store | None, reused: int):
        self.cells, self.tasks, self.store = cells, tasks, store
        self.products = _Products(tasks, cells)
        self.steps_done = dict.fromkeys(cells, 0)
        self.stop = threading.Event()
        self.progress = Progress(len(cells), 0, sum(cell.work for cell in cells), 0, reused)

    def run(self, workers: int, report: Report) -> dict[Cell, Arrays]:
        done: dict[Cell, Arrays] = {}
        with ThreadPoolExecutor(workers, thread_name_prefix="cells") as pool:
            running: dict[Future[Arrays], Cell] = {}
            try:
                running = {pool.submit(self._compute, cell): cell for cell in self.cells}
                while running:
                    finished, _ = wait(running, timeout=0.1, return_when=FIRST_COMPLETED)
                    for future in finished:
                        done[running.pop(future)] = future.result()
                    report(replace(self.progress, cells_done=len(done), steps_done=sum(self.steps_done.values())))
            finally:
                self.stop.set()
                for future in running:
                    future.cancel()
        return done

    def _compute(self, cell: Cell) -> Arrays:
        if self.stop.is_set():
            raise _Stopped
        E = self.products.take(cell)
        try:
            arrays = self._arrays(cell, E)
        finally:
            self.products.release(cell)
        if self.store is not None:
            self.store.save(cell.content(self.tasks[cell.task]), arrays)
        self.steps_done[cell] = cell.work
        return arrays

    def _arrays(self, cell: Cell, E: POMDP) -> Arrays:
        method = cell.method
        if isinstance(method, OracleLoop):
            return compute_loop(E, method.step, method.ties, method.budget, method.shown)
        greedy = cell.measure == GREEDY
        return compute_learning(E, method, greedy, cell.seeds, cell.steps, cell.every, self._reporter(cell))

    def _reporter(self, cell: Cell) -> Callable[[int], None]:
        def report(steps: int) -> None:
            self.steps_done[cell] = steps
            if self.stop.is_set():
                raise _Stopped

        return report


class _Products:
    """Augmented POMDPs, each built once and dropped after the last cell that needs it."""

    def __init__(self, tasks: dict[str, POMDP], cells: Iterable[Cell]):
        self.tasks = tasks
        self.users = Counter((cell.task, cell.memory) for cell in cells)
        self.locks = {pair: threading.Lock() for pair in self.users}
        self.built: dict[tuple[str, str], POMDP] = {}

    def take(self, cell: Cell) -> POMDP:
        pair = cell.task, cell.memory
        with self.locks[pair]:
            if pair not in self.built:
                self.built[pair] = augment(self.tasks[cell.task], cell.memory)
            return self.built[pair]

    def release(self, cell: Cell) -> None:
        pair = cell.task, cell.memory
        with self.locks[pair]:
            self.users[pair] -= 1
            if not self.users[pair]:
                self.built.pop(pair, None)
