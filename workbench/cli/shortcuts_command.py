"""`workbench shortcuts`: where one-step TD leads away from optimal policies."""

from __future__ import annotations

from typing import Annotated

import typer

from workbench.cli.count_option import whole
from workbench.cli.task_name import MemoryNames, TaskName, find_task


def shortcuts_command(
    task: TaskName,
    memory: MemoryNames = None,
    weights: Annotated[
        str,
        typer.Option(
            help="How P(s|o) counts visits: visits, discounted, stationary or first-visit."
        ),
    ] = "visits",
    most: Annotated[
        int, typer.Option(parser=whole, help="Look at no more optimal policies than this.")
    ] = 10_000,
    seconds: Annotated[
        float, typer.Option(min=0.01, help="The time limit for each memory.")
    ] = 60.0,
) -> None:
    """List the non-Markovian shortcuts of the optimal policies.

    A shortcut is an action that one-step TD overrates. The table lists those of one optimal
    policy; a sentence below it says how many each optimal policy has.

    Example: workbench shortcuts recall -m OA1 -m B2
    """
    from workbench.console import print_sheet
    from workbench.core.augment import augment
    from workbench.memories import attach
    from workbench.optima.shortcut_count import count_shortcuts
    from workbench.progress import until_ctrl_c
    from workbench.tables.sheet import Column, Sheet

    P = find_task(task)
    rows: dict[str, Sheet] = {}
    with until_ctrl_c(rows):
        for name, m in {name: attach(name, P) for name in memory or ["none"]}.items():
            E = augment(P, m)
            exact = E.is_exact and not E.symbols
            found = count_shortcuts(E, exact, weights, most, max_seconds=seconds)
            rows[name] = found.sheet()
    print_sheet(Sheet.join(f"Shortcuts on {P.name}", Column("memory"), rows))
