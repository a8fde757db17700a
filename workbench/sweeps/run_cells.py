"""A run finds the cells that are finished in the store, and computes and stores all others one by
one.

Where they are computed is the executor's business (`workbench.executors.executor`); it makes no
difference to the numbers. Ctrl-C loses only cells that are not finished; an error in a cell loses
that cell, which the next run tries again. Other
processes may work on the same store: a cell that one of them has claimed is left to it, and taken
over if it ends without finishing the cell.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from workbench.core.errors import WorkbenchError
from workbench.core.pomdp import POMDP
from workbench.executors.executor import Executor, make_executor
from workbench.sweeps.cell import Cell, cells_of, code_version, fingerprint, key_of
from workbench.sweeps.experiment import Experiment
from workbench.sweeps.results import Results, outcome_of
from workbench.sweeps.store import Store
from workbench.sweeps.worker import Batch, CellOutcome, Failure, batched, compute_batch
from workbench.text import counted

FindTask = Callable[[str], POMDP]
"""The POMDP that the name of a task means."""

_BETWEEN_LOOKS = 0.2
"""Seconds between two looks at cells that another process has claimed."""


@dataclass(frozen=True)
class Progress:
    """How far a run is: cells and steps, those found in the store not counted."""

    cells: int
    cells_done: int
    steps: int
    steps_done: int
    reused: int


Report = Callable[[Progress], None]
"""It is called about ten times a second, in the thread that started the run."""


@dataclass(frozen=True)
class Budget:
    """When to begin no more cells: after so many were begun, or after so many seconds. None for no
    limit."""

    cells: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, eq=False)
class Finished:
    """A cell that this run is done with.

    Attributes
    ----------
    outcome : what it holds; None if it failed.
    found : whether it was in the store rather than computed by this run.
    failure : why it could not be computed; None if it was.
    """

    cell: Cell
    outcome: CellOutcome | None
    found: bool = False
    failure: str | None = None


class CellError(WorkbenchError):
    """Some cells could not be computed. All others are finished."""

    def __init__(self, failed: Sequence[Finished]):
        self.failed = tuple(failed)
        super().__init__(
            "\n".join([f"{counted(len(failed), 'cell')} failed:", *tell_failures(failed)])
        )


def tell_failures(failed: Iterable[Finished]) -> list[str]:
    """A line for each kind of failed cell, with its settings and its seeds. Cells that differ in
    nothing else stand together."""
    alike: dict[str, list[int]] = {}
    for one in failed:
        settings = one.cell.settings()
        method = settings["method"]
        name = method.pop("learner", None) or method.pop("method")
        chosen = ", ".join(f"{key}={value}" for key, value in method.items())
        length = f", {one.cell.steps:,} steps" if one.cell.steps else ""
        told = f"{one.cell.task} with {one.cell.memory}, {name}({chosen}){length}: {one.failure}"
        alike.setdefault(told, []).extend(one.cell.seeds)
    return [
        f"{told} [seeds {', '.join(map(str, sorted(seeds)))}]" if seeds else told
        for told, seeds in alike.items()
    ]


def run_experiment(experiment: Experiment, find: FindTask, store: Store | None = None) -> Results:
    """Run one experiment. Arguments as for `run_cells`."""
    computed, _ = run_cells(cells_of(experiment), find, store)
    return Results.of(experiment, computed)


def run_cells(
    cells: Iterable[Cell],
    find: FindTask,
    store: Store | None = None,
    executor: Executor | None = None,
    report: Report | None = None,
) -> tuple[dict[Cell, CellOutcome], frozenset[Cell]]:
    """The outcomes of some cells, each computed once or read from the store, and which of them were
    found there. Cells that fail are told by a `CellError` when all others are finished.

    Parameters
    ----------
    find : returns the POMDP that the name of a task means.
    store : where finished cells are; None to keep nothing.
    executor : one that was entered; None for threads on all cores. The result does not depend on
        it.
    report : called with the progress.
    """
    finished = list(finish_cells(cells, find, store, executor, report))
    if failed := [one for one in finished if one.failure is not None]:
        raise CellError(failed)
    return (
        {one.cell: one.outcome for one in finished if one.outcome is not None},
        frozenset(one.cell for one in finished if one.found),
    )


def finish_cells(
    cells: Iterable[Cell],
    find: FindTask,
    store: Store | None = None,
    executor: Executor | None = None,
    report: Report | None = None,
    budget: Budget | None = None,
) -> Iterator[Finished]:
    """The same, cell by cell as they are finished or fail.

    Parameters
    ----------
    budget : when to begin no more; without one, all are begun.
    """
    wanted = sorted(set(cells), key=lambda cell: (cell.task, cell.memory, repr(cell)))
    tasks = {name: find(name) for name in dict.fromkeys(cell.task for cell in wanted)}
    with nullcontext(executor) if executor is not None else make_executor("threads") as used:
        yield from _Work(wanted, tasks, store, used, report, budget or Budget()).all()


@dataclass
class _Work:
    """Some cells, and how far they are."""

    cells: list[Cell]
    tasks: dict[str, POMDP]
    store: Store | None
    executor: Executor
    report: Report | None
    budget: Budget
    claimed: set[str] = field(default_factory=set)
    begun: int = 0
    cells_done: int = 0
    steps_done: int = 0
    reused: int = 0

    def __post_init__(self) -> None:
        self.tables = {name: fingerprint(P) for name, P in self.tasks.items()}
        self.steps = sum(cell.work for cell in self.cells)
        self.until = (
            math.inf if self.budget.seconds is None else time.monotonic() + self.budget.seconds
        )

    def all(self) -> Iterator[Finished]:
        """Every cell, found or computed, until all are there or the budget is used up."""
        left: list[Cell] = []
        yield from self._look_for(self.cells, left)
        try:
            while left and not self._over():
                rest: list[Cell] = []
                yield from self._compute(left, rest)
                left, before = [], rest
                yield from self._look_for(before, left)
                if left and len(left) == len(before):
                    time.sleep(_BETWEEN_LOOKS)  # other processes compute them
        finally:
            for key in tuple(self.claimed):
                self._give_back(key)

    def _look_for(self, cells: list[Cell], missing: list[Cell]) -> Iterator[Finished]:
        """Those cells that are in the store. The others become `missing`."""
        for place, cell in enumerate(cells):
            found = self._found(cell)
            if found is None:
                missing.append(cell)
            else:
                yield found
            if place % 100 == 0:
                self._tell()

    def _compute(self, cells: list[Cell], rest: list[Cell]) -> Iterator[Finished]:
        """Compute those cells that can be claimed. The others become the `rest`."""
        sent: dict[int, Batch] = {}

        def batches() -> Iterator[Batch]:
            place = 0
            for group in batched(cells, self.executor.workers):
                mine: list[Cell] = []
                for cell in group:
                    (mine if not self._over() and self._claim(cell) else rest).append(cell)
                if mine:
                    sent[place] = self._batch(mine)
                    yield sent[place]
                    place += 1

        for place, found in self.executor.run(compute_batch, batches(), self._tell):
            for cell, outcome in zip(sent.pop(place).cells, found, strict=True):
                self.cells_done += 1
                self.steps_done += cell.work
                yield self._finished(cell, outcome)
        self._tell()

    def _finished(self, cell: Cell, outcome: CellOutcome | Failure) -> Finished:
        """Keep a cell that was computed. One that failed is not kept, so that the next run tries it
        again."""
        if self.store is not None:
            content = self._content(cell)
            if not isinstance(outcome, Failure):
                self.store.save(content, outcome.columns())
            self._give_back(key_of(content))
        if isinstance(outcome, Failure):
            return Finished(cell, None, failure=outcome.why)
        return Finished(cell, outcome)

    def _batch(self, cells: list[Cell]) -> Batch:
        name = cells[0].task
        codes = tuple(code_version(cell.method) for cell in cells)
        return Batch(self.tasks[name], self.tables[name], tuple(cells), codes)

    def _over(self) -> bool:
        """Whether the budget is used up."""
        limit = self.budget.cells
        return (limit is not None and self.begun >= limit) or time.monotonic() >= self.until

    def _content(self, cell: Cell) -> dict[str, Any]:
        return cell.content(self.tables[cell.task])

    def _found(self, cell: Cell) -> Finished | None:
        """The cell, if it is in the store."""
        if self.store is None:
            return None
        content = self._content(cell)
        columns = self.store.load(content)
        if columns is None:
            return None
        try:
            outcome = outcome_of(columns)
        except ValueError as error:
            self.store.put_aside(key_of(content), str(error))
            return None
        self.reused += 1
        self.steps -= cell.work
        return Finished(cell, outcome, found=True)

    def _claim(self, cell: Cell) -> bool:
        """Whether this run is to compute the cell: no other does, and none has since it was last
        looked for."""
        if self.store is not None:
            key = key_of(self._content(cell))
            if not self.store.claims.take(key):
                return False
            self.claimed.add(key)
            if self.store.path(key).exists():
                self._give_back(key)
                return False
        self.begun += 1
        return True

    def _give_back(self, key: str) -> None:
        if self.store is not None:
            self.store.claims.give_back(key)
        self.claimed.discard(key)

    def _tell(self) -> None:
        if self.report is not None:
            self.report(
                Progress(
                    cells=len(self.cells) - self.reused,
                    cells_done=self.cells_done,
                    steps=self.steps,
                    steps_done=self.steps_done + self.executor.within,
                    reused=self.reused,
                )
            )
