"""`workbench list`: the names of all that there is, or a line on each thing."""

from __future__ import annotations

from typing import Annotated

import typer

from workbench.core.errors import UnknownLabel

_MOST_LINES = 5
"""Lines of names for a section, so that all sections fit on a screen."""


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
    from rich.table import Table
    from rich.text import Text

    from workbench.cli.catalogue import SECTIONS
    from workbench.console import plain_console
    from workbench.text import did_you_mean

    for name in what or ():
        if name not in SECTIONS:
            raise UnknownLabel(
                f"there are no {name!r} to list{did_you_mean(name, SECTIONS)}; choose from "
                f"{', '.join(SECTIONS)}"
            )
    console = plain_console()
    if not what:
        for name, lines_of in SECTIONS.items():
            console.print(_names(name, [line.name for line in lines_of()]))
        console.print("`workbench list tasks` tells what each task is, and so on.")
        return
    for name in dict.fromkeys(what):
        lines = SECTIONS[name]()
        console.print(Text(name.capitalize(), "bold"))
        words = any(line.word for line in lines)
        table = Table(box=None, show_header=False, padding=(0, 2, 0, 0))
        for _ in range(2 if words else 1):
            table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for line in lines:
            table.add_row(
                *map(Text, (f"  {line.name}", *([line.word] if words else []), line.text))
            )
        console.print(table)
        console.print()


def _names(section: str, names: list[str]) -> str:
    """The names of a section, as many as a few lines hold."""
    import textwrap

    def lines(shown: int) -> list[str]:
        rest = "" if shown == len(names) else f", and {len(names) - shown} more"
        text = f"{', '.join(names[:shown])}{rest}"
        return textwrap.wrap(text, 76, break_on_hyphens=False)

    shown = next(n for n in range(len(names), 0, -1) if len(lines(n)) <= _MOST_LINES or n == 1)
    return "\n  ".join([f"{section.capitalize()} ({len(names)})", *lines(shown)])
