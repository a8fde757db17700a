"""What there is, one line each: tasks, memories, learners, figures, claims.

The lines are those of the docstrings, records and claims themselves. They are read from the sources
without running them, because importing all of it takes seconds and listing it should not.
"""

from __future__ import annotations

import ast
import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import workbench

_HERE = Path(workbench.__path__[0])


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


def _summary(node: ast.FunctionDef | ast.ClassDef) -> str:
    """The first paragraph of a docstring, on one line."""
    return " ".join((ast.get_docstring(node) or "").split("\n\n")[0].split())


# ---------------------------------------------------------------------- tasks


def tasks() -> list[CatalogueLine]:
    """The tasks of `pomdps` that need no argument; the word names the optional extra that one
    needs."""
    folder = _package("pomdps")
    found = []
    for node in _source(folder / "__init__.py").body:
        if isinstance(node, ast.ImportFrom) and node.module:
            module = _source(folder.parent / Path(*node.module.split(".")).with_suffix(".py"))
            extra = _extra(module)
            names = {alias.name for alias in node.names}
            found += [
                CatalogueLine(f.name, extra, _summary(f))
                for f in module.body
                if isinstance(f, ast.FunctionDef) and f.name in names and _needs_no_argument(f)
            ]
    return sorted(found, key=lambda line: line.name)


def _needs_no_argument(function: ast.FunctionDef) -> bool:
    arguments = function.args
    return (
        len(arguments.defaults) == len(arguments.posonlyargs + arguments.args)
        and None not in arguments.kw_defaults
    )


def _extra(module: ast.Module) -> str:
    """ "extra gym" if the module asks for a package of an optional extra (`extras.need`)."""
    for node in ast.walk(module):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "need"
        ):
            return f"extra {ast.literal_eval(node.args[1]) if len(node.args) > 1 else 'gym'}"
    return ""


# ---------------------------------------------------------------------- memories


@dataclass(frozen=True)
class FamilyRow:
    """A row of the table of families in the text of `workbench.model.memories`."""

    name: str
    definition: str
    M: str
    W: str
    Gamma: str


def families() -> dict[str, FamilyRow]:
    """The families of memories by their kind ("none", "B", "O", "K", "OA")."""
    text = ast.get_docstring(_source(_HERE / "model" / "memories.py")) or ""
    rows = [
        [cell.strip().strip("`") for cell in line.strip("|").split("|")]
        for line in text.splitlines()
        if line[:1] == "|"
    ]
    return {cells[0].split("(")[0]: FamilyRow(*cells) for cells in rows[2:]}


def memories() -> list[CatalogueLine]:
    """The families of memories."""
    return [
        CatalogueLine(
            row.name,
            f"Def. {row.definition}" if row.definition else "",
            f"M = {row.M}, W = {row.W}: {row.Gamma}",
        )
        for row in families().values()
    ]


# ---------------------------------------------------------------------- learners, figures, claims


def learners() -> list[CatalogueLine]:
    """The learners by the names that `workbench learn` knows."""
    module = _source(_HERE / "learning" / "learners.py")
    classes = {node.name: node for node in module.body if isinstance(node, ast.ClassDef)}
    for node in module.body:
        if (
            isinstance(node, ast.AnnAssign)
            and isinstance(node.target, ast.Name)
            and node.target.id == "LEARNERS"
        ):
            assert isinstance(node.value, ast.Dict)
            pairs = zip(node.value.keys, node.value.values, strict=True)
            return [
                CatalogueLine(ast.literal_eval(name), "", _summary(classes[kind.id]))
                for name, kind in pairs
                if name is not None and isinstance(kind, ast.Name)
            ]
    return []


def figures() -> list[CatalogueLine]:
    """The figures that `workbench reproduce` makes."""
    records = _calls(_source(_HERE / "reproduction" / "paper_figures.py"), "Experiment")
    return [
        CatalogueLine(*(_keyword(call, name) for name in ("id", "place", "title")))
        for call in records
    ]


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
