"""`workbench list`: what there is, one line each."""

from __future__ import annotations

from typing import Annotated

import typer

from workbench.errors import UnknownLabel


def list_command(
    what: Annotated[
        list[str] | None,
        typer.Argument(
            help="tasks, memories, learners, figures, claims.", metavar="WHAT", show_default="all"
        ),
    ] = None,
) -> None:
    """List tasks, memories, learners, figures and claims, one line each.

    Example: workbench list tasks memories
    """
    from rich.console import Console
    from rich.text import Text

    from workbench.cli.catalogue import SECTIONS

    for name in what or ():
        if name not in SECTIONS:
            raise UnknownLabel(f"there are no {name!r} to list; choose from {', '.join(SECTIONS)}")
    console = Console()
    for name in dict.fromkeys(what or SECTIONS):
        lines = SECTIONS[name]()
        console.print(Text(name.capitalize(), "bold"))
        names, words = (
            max(len(getattr(line, part)) for line in lines) for part in ("name", "word")
        )
        for line in lines:
            word = f"{line.word:<{words}}  " if words else ""
            row = Text(f"  {line.name:<{names}}  {word}{line.text}")
            row.truncate(console.width, overflow="ellipsis")
            console.print(row)
        console.print()
