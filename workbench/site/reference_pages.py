"""The reference: the public names by room, from their docstrings, and the tasks of the
collection."""

from __future__ import annotations

import inspect
from pathlib import Path
from types import ModuleType
from typing import Any

import workbench
from workbench.site.material import Material, plain_markdown

ROOMS = {
    "core": "From a task to where learning goes",
    "memories": "What a memory is",
    "agents": "Controllers, beliefs and episodes",
    "evaluation": "More about one policy",
    "improvement": "The oracle loop from many starts",
    "optima": "How good it could be",
    "sufficiency": "Whether a memory is enough",
    "equilibrium": "Where learning can settle",
    "research": "Results ahead of their tools",
    "learning": "What is learned",
    "lab": "The counterexample lab",
    "interop": "Other people's models",
    "deep": "Neural learners",
}


def public_names() -> dict[str, dict[str, list[str]]]:
    """The names of the shop window: by room, by module."""
    rooms: dict[str, dict[str, list[str]]] = {}
    for name, home in workbench._HOMES.items():
        room = home.split(".")[1]
        rooms.setdefault(room, {}).setdefault(home, []).append(name)
    return rooms


def write_reference_pages(material: Material, source: Path) -> None:
    """Write the sources of the reference."""
    folder = source / "reference"
    folder.mkdir(parents=True)
    rooms = public_names()
    for room, modules in rooms.items():
        text = _room(ROOMS[room], modules)
        (folder / f"{room}.rst").write_text(text, encoding="utf-8")
    (folder / "tasks.md").write_text(_tasks(material), encoding="utf-8")
    if material.commands:
        (folder / "commands.md").write_text(_commands(material), encoding="utf-8")
    listed = [*rooms, "tasks", *(["commands"] if material.commands else [])]
    toctree = "\n".join(listed)
    (folder / "index.md").write_text(
        "# Reference\n\nThe public names, `from workbench import ...`, by the question that they "
        f"answer.\n\n```{{toctree}}\n:maxdepth: 1\n\n{toctree}\n```\n",
        encoding="utf-8",
    )


def _room(title: str, modules: dict[str, list[str]]) -> str:
    parts = [title, "=" * len(title), ""]
    for home, names in modules.items():
        heading = ", ".join(names)
        parts += [heading, "-" * len(heading), ""]
        parts += [f".. automodule:: {home}", "   :no-members:", "   :no-index:", ""]
        for name in names:
            parts += _directive(name)
    return "\n".join(parts) + "\n"


def _directive(name: str) -> list[str]:
    found: Any = getattr(workbench, name)
    if isinstance(found, ModuleType):
        return []
    if inspect.isclass(found):
        return [f".. autoclass:: workbench.{name}", "   :members:", ""]
    return [f".. autofunction:: workbench.{name}", ""]


def _tasks(material: Material) -> str:
    rows = [
        "`{}`\n: **{}** {} *{}.* {}".format(
            note.name, *map(plain_markdown, (note.title, note.text, note.size, note.source))
        )
        for note in material.tasks
    ]
    return (
        "# Tasks\n\n`from pomdps import NAME`; every command knows them by name, and `workbench "
        "show NAME` draws them.\n\n" + "\n\n".join(rows) + "\n"
    )


def _commands(material: Material) -> str:
    parts = [
        f"## {name}\n\n```text\n{text.strip()}\n```" for name, text in material.commands.items()
    ]
    return "# The command line\n\n" + "\n\n".join(parts) + "\n"
