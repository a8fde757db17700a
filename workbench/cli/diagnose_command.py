"""`workbench diagnose`: what theory says about a memory on a task, and what is true."""

from __future__ import annotations

from typing import Annotated

import typer


def diagnose_command(
    task: Annotated[
        str, typer.Argument(help="A task, such as t_maze, or a file ending in .POMDP.")
    ],
    memory: Annotated[
        list[str] | None,
        typer.Option(
            "-m", "--memory", help="A memory, such as K2; may be repeated.", show_default="none"
        ),
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=0.01, help="The time limit of the search for a best policy.")
    ] = 10.0,
) -> None:
    """Compare what theory says about a memory with what is true.

    Bounds are on what a policy of (m, o) loses against the best policy of the whole history: by
    the spread of Q* (Majeed and Hutter), by approximate information states (Subramanian et al.),
    by the stability of the filter (Kara and Yueksel).

    Example: workbench diagnose t_maze -m K2 -m O1
    """
    from rich.table import Table

    from workbench.cli.task_name import find_task
    from workbench.console import plain_console
    from workbench.research.diagnose import diagnose as ask

    console = plain_console()
    P = find_task(task)
    for name in memory or ["none"]:
        found = ask(P, name, max_seconds=seconds)
        table = Table(title=f"{found.P.name} with {found.memory.name}", title_justify="left")
        for column in ("question", "answer", "loss by theory", "true loss"):
            table.add_column(column, overflow="fold")
        for line in found.lines():
            table.add_row(*line)
        console.print(table)
        for note in found.notes():
            console.print(f"Note: {note}.")
