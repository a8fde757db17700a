"""A worker, wherever it is, computes batches of cells of one task with one memory.

Cells of a batch share their augmented POMDP, and short ones the cost of being sent. A worker on
another machine may run other code than the process that asks for the cells: their keys would be
lies, hence it compares versions first.
"""

from __future__ import annotations

import threading
import traceback
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any

from workbench.core.augment import augment
from workbench.core.errors import WorkbenchError
from workbench.core.pomdp import POMDP
from workbench.deep.pair import MemoryPair, join
from workbench.deep.settings import Neural
from workbench.executors.executor import Cancelled, pulse
from workbench.learning.run import Run
from workbench.sweeps.cell import Cell, code_version
from workbench.sweeps.compute import (
    AT_THE_END,
    EACH_BLOCK,
    LoopValues,
    compute_learning,
    compute_loop,
)
from workbench.sweeps.experiment import FINAL, GREEDY, Method, OracleLoop

_STEPS_OF_A_BATCH = 3_000_000
_CELLS_OF_A_BATCH = 50
"""A batch is full when it has so many steps, about a tenth of a second of the fastest learner, or
so many cells."""

_BATCHES_OF_A_WORKER = 4
"""Every worker should get so many batches at least, so that all end at about the same time."""

_ALONE = _STEPS_OF_A_BATCH
"""What a cell of the oracle loop or of a network counts for: it is a batch of its own, kept as soon
as it is finished."""

_VALUES = {GREEDY: EACH_BLOCK, FINAL: AT_THE_END}


class OtherCode(WorkbenchError):
    """A worker that runs another version of the workbench than the process that asked it."""


@dataclass(frozen=True)
class Batch:
    """Cells of one task and memory.

    Attributes
    ----------
    P, tables : the task, and the digest of its tables.
    codes : for each cell the version of the code that it is to be computed with.
    """

    P: POMDP
    tables: str
    cells: tuple[Cell, ...]
    codes: tuple[str, ...]


@dataclass(frozen=True)
class Failure:
    """A cell that could not be computed, and why."""

    why: str


CellOutcome = Run | LoopValues
"""What a cell holds: the run of a learner, or the oracle loop."""


def compute_batch(batch: Batch) -> list[CellOutcome | Failure]:
    """Compute each cell of a batch, in order. An error in one of them does not stop the others."""
    for cell, code in zip(batch.cells, batch.codes, strict=True):
        if code_version(cell.method) != code:
            raise OtherCode(
                "a worker runs another version of the workbench than this process (for "
                f"{type(cell.method).__name__}): "
                "install the same one there, and start its workers again"
            )
    found: list[CellOutcome | Failure] = []
    done = 0
    for cell in batch.cells:
        try:
            E = product_of(batch.P, batch.tables, cell.memory, cell.method)
            found.append(compute_cell(cell, E, lambda steps, before=done: pulse(before + steps)))  # type: ignore[misc]
        except Cancelled:
            raise
        except Exception as error:
            found.append(Failure(_in_words(error)))
        done += cell.work
        pulse(done)
    return found


def _in_words(error: Exception) -> str:
    """The error in words. Unforeseen errors come with their traceback."""
    if isinstance(error, WorkbenchError):
        return str(error)
    *_, last = traceback.extract_tb(error.__traceback__)
    return f"{type(error).__name__}: {error} ({Path(last.filename).name}, line {last.lineno})"


def compute_cell(cell: Cell, E: POMDP | MemoryPair, report: Callable[[int], None]) -> CellOutcome:
    """The outcome of a cell, from its task and memory multiplied out."""
    method = cell.method
    if isinstance(method, OracleLoop):
        assert isinstance(E, POMDP)
        return compute_loop(E, method.step, method.ties, method.budget, method.shown)
    return compute_learning(
        E, method, _VALUES.get(cell.measure), cell.seeds, cell.steps, cell.every, report
    )


def batched(cells: Iterable[Cell], workers: int) -> Iterator[list[Cell]]:
    """Cells in batches of the same task and memory, none of which is long."""
    wanted = list(cells)
    most = min(_CELLS_OF_A_BATCH, max(1, len(wanted) // (_BATCHES_OF_A_WORKER * workers)))
    for _, group in groupby(wanted, key=lambda cell: (cell.task, cell.memory)):
        batch: list[Cell] = []
        steps = 0
        for cell in group:
            work = _ALONE if isinstance(cell.method, OracleLoop | Neural) else cell.work
            if batch and (len(batch) == most or steps + work > _STEPS_OF_A_BATCH):
                yield batch
                batch, steps = [], 0
            batch.append(cell)
            steps += work
        yield batch


_KEPT = 3
"""Augmented POMDPs that a process keeps: its next cells have one of them, as a rule."""

_kept: OrderedDict[tuple[str, str, bool], Any] = OrderedDict()
_guard = threading.Lock()


def product_of(P: POMDP, tables: str, memory: str, method: Method) -> Any:
    """P with a memory, in the form that a method takes, built once for the threads of a process.

    It is the product or, for networks and if that is too large, a pair.
    """
    neural = isinstance(method, Neural)
    with _guard:
        key = tables, memory, neural
        if key not in _kept:
            _kept[key] = join(P, memory) if neural else augment(P, memory)
        _kept.move_to_end(key)
        while len(_kept) > _KEPT:
            _kept.popitem(last=False)
        return _kept[key]
