"""A cell is the least of an experiment that is computed and stored, under a key of its content.

The key of a cell is the SHA-256 of everything its numbers depend on:

    the task       the tables of the POMDP themselves, not its name or source
    the settings   memory, method with all its settings, seeds, steps, block length, measure
    the code       the sources of the rooms that compute, and of a learner of one's own

so that a changed setting or changed code gives new keys, and figures, commands and stores do not.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from workbench.core.learners import Learner
from workbench.core.pomdp import POMDP
from workbench.sweeps.experiment import Experiment, Method

BATCH = Learner.seeds_of_a_cell
"""Seeds of a cell, unless a learner wants fewer."""

_SOURCE = Path(__file__).parent.parent

_COMPUTING = (
    *("core", "agents", "learning", "deep"),
    *("memories.py", "sweeps/compute.py"),
)
"""The rooms and modules that the numbers of cells come from."""


@dataclass(frozen=True)
class Cell:
    """One method on one task with one memory, for a batch of seeds. The oracle loop has no
    seeds."""

    task: str
    memory: str
    method: Method
    measure: str
    seeds: tuple[int, ...]
    steps: int
    every: int

    @property
    def work(self) -> int:
        """The steps it takes."""
        return len(self.seeds) * self.steps

    def settings(self) -> dict[str, Any]:
        """Everything but the code and the task's tables, as JSON values."""
        return {
            "task": self.task,
            "memory": self.memory,
            "method": self.method.settings(),
            "measure": self.measure,
            "seeds": list(self.seeds),
            "steps": self.steps,
            "every": self.every,
        }

    def content(self, tables: str) -> dict[str, Any]:
        """All that the numbers of the cell depend on, as JSON values.

        Parameters
        ----------
        tables : the `fingerprint` of the task.
        """
        return {
            **self.settings(),
            "tables": tables,
            "code": code_version(self.method),
        }


def cells_of(experiment: Experiment) -> tuple[Cell, ...]:
    """The cells of an experiment."""
    length = experiment.length
    if length is None:
        return tuple(
            Cell(experiment.task, m, method, experiment.measure, (), 0, 0)
            for method, m in experiment.pairs
        )
    return tuple(
        Cell(experiment.task, memory, method, experiment.measure, seeds, length.steps, length.every)
        for method, memory in experiment.pairs
        for seeds in batches(length.seeds, method.seeds_of_a_cell)
    )


def batches(seeds: int, most: int = BATCH) -> list[tuple[int, ...]]:
    """The seeds 0, 1, 2, ... in batches. A longer run begins with the whole batches of a shorter
    one.

    >>> batches(7)
    [(0, 1, 2, 3, 4), (5, 6)]
    """
    size = min(most, BATCH)
    return [tuple(range(start, min(start + size, seeds))) for start in range(0, seeds, size)]


def key_of(content: dict[str, Any]) -> str:
    """The name under which a cell of this content is stored."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:40]


def fingerprint(P: POMDP) -> str:
    """A digest of what a learner sees of a POMDP: labels, tables, discount, start, end."""
    digest = hashlib.sha256()
    for space in (P.S, P.O, P.A):
        digest.update(repr([space[i] for i in range(len(space))]).encode())
    for array in (
        P.p.row_ptr,
        P.p.s_next,
        P.p.r.floats,
        P.p.prob.floats,
        P.omega.row_ptr,
        P.omega.o,
        P.omega.prob.floats,
        P.mu.prob.floats,
        P.terminal.mask,
    ):
        digest.update(array.tobytes())
    digest.update(repr(float(P.gamma)).encode())
    return digest.hexdigest()[:16]


# ---------------------------------------------------------------------- code versions


def code_version(method: Method) -> str:
    """A digest of the code that the numbers of a method's cells come from."""
    return source_digest(*_COMPUTING, *_own_files(type(method)))


def _own_files(kind: type) -> list[str]:
    """The file of a learner that is defined outside of the package."""
    module = kind.__module__
    return [] if module.startswith("workbench.") else [str(import_module(module).__file__)]


@cache
def source_digest(*parts: str) -> str:
    """A digest of some rooms and modules of the package, as they are when it is first asked for."""
    digest = hashlib.sha256()
    for path in (_SOURCE / part for part in parts):
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            source = file.read_bytes()
            digest.update(f"{file.name} {len(source)} ".encode() + source)
    return digest.hexdigest()[:16]
