"""What there is, one line each: tasks, memories, learners, figures, claims.

The lines are those of the records themselves. Claims are read from the sources without running
them, because importing all proofs takes seconds and listing them should not.
"""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path


@dataclass(frozen=True)
class CatalogueLine:
    """One thing: its name, a word on it (a definition, a place, a verdict; may be empty), and what
    it is."""

    name: str
    word: str
    text: str


@lru_cache
def _source(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def _package(name: str) -> Path:
    """The folder of a package, found without importing it."""
    found = importlib.util.find_spec(name)
    assert found is not None
    assert found.origin is not None
    return Path(found.origin).parent


# ---------------------------------------------------------------------- tasks, memories, learners


def tasks() -> list[CatalogueLine]:
    """The tasks of `pomdps`; the word names the optional extra that one needs."""
    from pomdps import TASKS

    return [
        CatalogueLine(name, f"extra {task.extra}" if task.extra else "", task.title)
        for name, task in TASKS.items()
    ]


def memories() -> list[CatalogueLine]:
    """The families of memories."""
    from workbench.model.memories import FAMILIES

    return [
        CatalogueLine(
            row.name,
            f"Def. {row.definition}" if row.definition else "",
            f"M = {row.M}, W = {row.W}: {row.Gamma}",
        )
        for row in FAMILIES.values()
    ]


def learners() -> list[CatalogueLine]:
    """The learners by the names that `workbench learn` knows."""
    from workbench.learning.learners import LEARNERS

    return [
        CatalogueLine(name, "", " ".join((kind.__doc__ or "").split("\n\n")[0].split()))
        for name, kind in LEARNERS.items()
    ]


# ---------------------------------------------------------------------- figures, claims


def figures() -> list[CatalogueLine]:
    """The figures that `workbench reproduce` makes."""
    from workbench.reproduction.paper_figures import FIGURES

    return [CatalogueLine(one.id, one.place, one.title) for one in FIGURES.values()]


def claims() -> list[CatalogueLine]:
    """The statements of the ledger in the order of the paper, each with its documented verdict."""
    from proofs.ledger.places import rank

    folder = _package("proofs")
    found = {}
    for path in sorted(folder.rglob("*.py")):
        for call in _calls(_source(path), "claim"):
            if call.args and isinstance(call.args[0], ast.Constant):
                id = str(call.args[0].value)
                found[id] = CatalogueLine(
                    id, _keyword(call, "verdict"), _keyword(call, "statement")
                )
    return sorted(found.values(), key=lambda line: rank(line.name))


def _calls(module: ast.Module, function: str) -> Iterator[ast.Call]:
    """The calls of a function at the top of a module, or as a decorator there."""
    for node in module.body:
        values = (
            node.decorator_list
            if isinstance(node, ast.FunctionDef)
            else [getattr(node, "value", None)]
        )
        for value in values:
            if (
                isinstance(value, ast.Call)
                and isinstance(value.func, ast.Name)
                and value.func.id == function
            ):
                yield value


def _keyword(call: ast.Call, name: str) -> str:
    return next(
        str(ast.literal_eval(keyword.value)) for keyword in call.keywords if keyword.arg == name
    )


SECTIONS: dict[str, Callable[[], list[CatalogueLine]]] = {
    "tasks": tasks,
    "memories": memories,
    "learners": learners,
    "figures": figures,
    "claims": claims,
}
"""Everything that can be listed."""
