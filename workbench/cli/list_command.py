"""`workbench list`: the names of all that there is, or a line on each thing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from workbench.core.errors import UnknownLabel

if TYPE_CHECKING:
    from workbench.cli.catalogue import CatalogueLine
    from workbench.tables.sheet import Sheet

_MOST_LINES = {"claims": 2, "papers": 3}
"""Lines for the names of long sections: everything then fits on a screen of 24 lines."""

_WIDTH = 79
_INDENT = 16

_HEADINGS = {
    "tasks": ("needs", "what it is"),
    "memories": ("place", "memory states M, writes W, and what a write does"),
    "learners": ("", "what it is"),
    "figures": ("place", "what it shows"),
    "claims": ("verdict", "statement"),
    "papers": ("known by", "paper"),
}
"""Headings of the columns behind the name, section by section."""

_LEGENDS = {
    "papers": "read: numbers of the paper itself; quoted: from other papers; ours: computed here",
    "claims": "argued: by a written proof; checked: in a finite list of cases; supported: by "
    "statistics; misprint: clear what is meant",
}


def list_command(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            help="tasks, memories, learners, figures, claims or papers.",
            metavar="WHAT",
            show_default="the names of all",
        ),
    ] = None,
) -> None:
    """List tasks, memories, learners, figures, claims and papers.

    Without an argument it prints names only; with one, a line on each thing.

    Example: workbench list tasks memories
    """
    from workbench.cli.catalogue import SECTIONS
    from workbench.console import print_sheet
    from workbench.text import did_you_mean

    for name in what or ():
        if name not in SECTIONS:
            raise UnknownLabel(
                f"there are no {name!r} to list{did_you_mean(name, SECTIONS)}; choose from "
                f"{', '.join(SECTIONS)}"
            )
    if not what:
        for name, lines_of in SECTIONS.items():
            print(_names(name, [line.name for line in lines_of()]))
        print("`workbench list tasks` tells what each task is, and so on.")
        return
    for i, name in enumerate(dict.fromkeys(what)):
        print("\n" * bool(i), end="")
        print_sheet(_sheet(name, SECTIONS[name]()))


def _sheet(section: str, lines: list[CatalogueLine]) -> Sheet:
    """A section as a table, with a row for each entry. An empty column of words is left out."""
    from workbench.tables.sheet import Column, Sheet

    word, text = _HEADINGS[section]
    key, told = Column(word, _LEGENDS.get(section, "")), Column(text)
    if any(line.word for line in lines):
        columns: tuple[Column, ...] = (Column("name"), key, told)
        rows: list[tuple[str, ...]] = [(line.name, line.word, line.text) for line in lines]
    else:
        columns, rows = (Column("name"), told), [(line.name, line.text) for line in lines]
    return Sheet(f"{section.capitalize()} ({len(lines)})", columns, tuple(rows))


def _names(section: str, names: list[str]) -> str:
    """The names of a section beside its heading, as many as its lines hold."""
    import textwrap

    def lines(shown: int) -> list[str]:
        rest = "" if shown == len(names) else f", and {len(names) - shown} more"
        text = f"{', '.join(names[:shown])}{rest}"
        return textwrap.wrap(text, _WIDTH - _INDENT, break_on_hyphens=False)

    most = _MOST_LINES.get(section, len(names))
    shown = next(n for n in range(len(names), 0, -1) if len(lines(n)) <= most or n == 1)
    heading = f"{section.capitalize()} ({len(names)})"
    return heading.ljust(_INDENT) + f"\n{' ' * _INDENT}".join(lines(shown))
