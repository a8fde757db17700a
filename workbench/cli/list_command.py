"""`workbench list`: what there is, each with a line or two."""

from __future__ import annotations

from typing import Annotated

import typer

from workbench.core.errors import UnknownLabel


def list_command(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            help="tasks, memories, learners, figures, claims, papers.",
            metavar="WHAT",
            show_default="all",
        ),
    ] = None,
) -> None:
    """List tasks, memories, learners, figures, claims and papers, each with what it is.

    Example: workbench list tasks memories
    """
    from rich.table import Table
    from rich.text import Text

    from workbench.cli.catalogue import SECTIONS
    from workbench.console import plain_console

    for name in what or ():
        if name not in SECTIONS:
            raise UnknownLabel(f"there are no {name!r} to list; choose from {', '.join(SECTIONS)}")
    console = plain_console()
    for name in dict.fromkeys(what or SECTIONS):
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
