"""`workbench diagnose`: what theory says about a memory on a task, and what is true."""

from __future__ import annotations

from typing import Annotated

import typer

from workbench.cli.task_name import MemoryNames, TaskName, find_task


def diagnose_command(
    task: TaskName,
    memory: MemoryNames = None,
    seconds: Annotated[
        float, typer.Option(min=0.01, help="The time limit of the search for a best policy.")
    ] = 10.0,
) -> None:
    """Compare what theory says about a memory with what is true.

    Several theorems bound what a policy of memory and observation loses against the best policy of
    the whole history. The table has their bounds and the true loss side by side.

    Example: workbench diagnose t_maze -m K2 -m O1
    """
    from workbench.console import print_sheet
    from workbench.research.diagnose import diagnose as ask

    P = find_task(task)
    for name in memory or ["none"]:
        print_sheet(ask(P, name, max_seconds=seconds).sheet())
