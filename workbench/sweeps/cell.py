"""A cell is the least of an experiment that is computed and stored, under a key of its content.

The key of a cell is the SHA-256 of everything its numbers depend on:

    the task       the tables of the POMDP themselves, not its name or source
    the settings   memory, method with all its settings, seeds, steps, block length, measure
    the code       the syntax trees of the modules that the method uses, found by following imports

so that a changed setting or a changed module gives new keys to the cells it affects, and only to
those: the kernels of one learner are no part of the key of another, and exact evaluation is part of
the key only where values are measured.
"""

from __future__ import annotations

import ast
import hashlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from workbench.core.learners import Learner
from workbench.core.pomdp import POMDP
from workbench.deep.settings import NEURAL_LEARNERS, Neural
from workbench.learning import LEARNERS
from workbench.sweeps.experiment import PER_100, Experiment, Method, OracleLoop

BATCH = Learner.seeds_of_a_cell
"""Seeds of a cell, unless a learner wants fewer."""

_SOURCE = Path(__file__).parent.parent

_LEARNER_ROOTS = ("workbench.core.augment", "workbench.sweeps.compute")
_EVALUATION = "workbench.core.evaluate"
_WITHOUT_NUMBERS = {
    "workbench.executors.executor",
    "workbench.progress",
    "workbench.optima.yardstick",
}
"""Where work runs and how it is shown, and beside what, changes no number."""

_NEURAL_ROOTS = ("workbench.deep.train",)

_ORACLE_ROOTS = ("workbench.core.augment", "workbench.sweeps.loop_curve")


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
            "code": code_version(self.method, self.measure),
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


def code_version(method: Method, measure: str, source: Path = _SOURCE) -> str:
    """A digest of the code that the numbers of a method's cells come from.

    Parameters
    ----------
    measure : rewards alone do not pass through the exact evaluation that values need.
    source : the directory of the package `workbench`.
    """
    kind: Any = type(method)
    return _code_version(kind, measure == PER_100, source)


@cache
def _code_version(kind: Any, only_rewards: bool, source: Path) -> str:
    if issubclass(kind, OracleLoop):
        modules = closure(_ORACLE_ROOTS, source, _WITHOUT_NUMBERS)
    elif issubclass(kind, Neural):
        others = {other.module for other in NEURAL_LEARNERS.values()} - closure(
            [kind.module], source
        )
        skipped = others | _WITHOUT_NUMBERS | ({_EVALUATION} if only_rewards else set())
        modules = closure((*_LEARNER_ROOTS, *_NEURAL_ROOTS), source, skipped)
    else:
        own = closure([kind.module, kind.__module__], source)
        others = ({learner.module for learner in LEARNERS.values()} - own) | _WITHOUT_NUMBERS
        modules = own | closure(
            _LEARNER_ROOTS, source, others | ({_EVALUATION} if only_rewards else set())
        )
    return digest_of(modules, source)


def digest_of(modules: Iterable[str], source: Path) -> str:
    """A digest of the syntax trees of some modules."""
    digest = hashlib.sha256()
    for module in sorted(modules):
        digest.update(module.encode() + _read(module, source).digest)
    return digest.hexdigest()[:16]


def closure(roots: Iterable[str], source: Path, without: Iterable[str] = ()) -> set[str]:
    """The modules of the workbench that some modules import, directly or not, themselves
    included."""
    found: set[str] = set()
    skipped = set(without)
    waiting = list(roots)
    while waiting:
        module = waiting.pop()
        if module in found or module in skipped:
            continue
        found.add(module)
        waiting.extend(_read(module, source).imports)
    return found


def _imported(tree: ast.Module, source: Path) -> list[str]:
    names: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            inside = [f"{node.module}.{alias.name}" for alias in node.names]
            modules = [
                name
                for name in inside
                if name.startswith("workbench.") and _file(name, source).exists()
            ]
            names += modules if len(modules) == len(inside) else [node.module, *modules]
    return [name for name in names if name.startswith("workbench.")]


def _file(module: str, source: Path) -> Path:
    if not module.startswith("workbench."):  # a learner of one's own
        return Path(str(import_module(module).__file__))
    path = source.joinpath(*module.split(".")[1:])
    return path / "__init__.py" if path.is_dir() else path.with_suffix(".py")


@dataclass(frozen=True)
class _Source:
    digest: bytes
    imports: tuple[str, ...]


@cache
def _read(module: str, source: Path) -> _Source:
    """A module as it was when it was first asked for, which is as it was imported."""
    tree = ast.parse(_file(module, source).read_text(encoding="utf-8"))
    return _Source(hashlib.sha256(ast.dump(tree).encode()).digest(), tuple(_imported(tree, source)))
