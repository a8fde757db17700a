"""`workbench sweep`: all combinations of tasks, memories, learners, settings and seeds that a file
names."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.executor_options import ExecutorName, Scheduler, Workers, chosen_executor

if TYPE_CHECKING:
    from rich.console import Console

    from workbench.executors.executor import Executor
    from workbench.sweeps.spec import Sweep


def sweep_command(
    spec: Annotated[
        Path | None, typer.Argument(help="What to run, as TOML.", metavar="SPEC.toml")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="Where results go.", show_default="SPEC without .toml"),
    ] = None,
    executor: ExecutorName = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say how much it is, and how long it takes.")
    ] = False,
    example: Annotated[
        bool, typer.Option("--example", help="Print a SPEC.toml to begin with.")
    ] = False,
) -> None:
    """Run all combinations of tasks, memories and learners.

    Each finished cell (one combination, up to five seeds) is kept in OUT/cells. The same command
    continues after Ctrl-C, a crash or a full disk; several of them, on several machines that share
    OUT, share the work. Cells that fail do not stop the others: they are told at the end, and tried
    again next time. `workbench results OUT` shows what is there.

    Example: workbench sweep --example > sweep.toml && workbench sweep sweep.toml --dry-run
    """
    from workbench.cli.task_name import find_task
    from workbench.console import plain_console
    from workbench.core.errors import WorkbenchError
    from workbench.sweeps.spec import EXAMPLE, read_spec

    if example:
        typer.echo(EXAMPLE, nl=False)
        return
    if spec is None:
        raise WorkbenchError(
            "name a SPEC.toml, or begin with: workbench sweep --example > sweep.toml"
        )
    wanted = read_spec(spec, find_task)
    folder = out or spec.with_suffix("")
    console = plain_console()
    if dry_run:
        with chosen_executor(executor, workers, scheduler) as used:
            _say_how_much(wanted, folder, used.workers, console)
        return
    _run(wanted, folder, chosen_executor(executor, workers, scheduler), console)


def _say_how_much(sweep: Sweep, folder: Path, workers: int, console: Console) -> None:
    from workbench.cli.task_name import find_task
    from workbench.progress import Waiting
    from workbench.sweeps.cell import fingerprint
    from workbench.sweeps.estimate import estimate_seconds, room
    from workbench.sweeps.store import Store
    from workbench.text import counted, duration

    left = list(sweep.cells)
    if (folder / "cells").is_dir():
        store = Store(folder / "cells")
        tables = {
            name: fingerprint(find_task(name)) for name in dict.fromkeys(cell.task for cell in left)
        }
        left = [cell for cell in left if store.load(cell.content(tables[cell.task])) is None]
    with Waiting("calibrating") as waiting:
        seconds = estimate_seconds(left, find_task, waiting.report)
    steps = sum(cell.work for cell in left)
    console.print(
        f"{len(sweep.cells):,} cells, {len(sweep.cells) - len(left):,} of them finished in "
        f"{folder}.",
        soft_wrap=True,
    )
    console.print(
        f"To do: {len(left):,} cells, {steps:,} steps, about {room(left) / 1e6:.1f} MB.",
        soft_wrap=True,
    )
    console.print(
        f"About {duration(seconds / workers)} with {counted(workers, 'worker')} like this machine.",
        soft_wrap=True,
    )
    limits = {"cells": sweep.budget.cells, "seconds": sweep.budget.seconds}
    for what, limit in limits.items():
        if limit is not None:
            console.print(f"The budget of one run is {limit:,} {what}.")


def _run(sweep: Sweep, folder: Path, executor: Executor, console: Console) -> None:
    import time

    from workbench.cli.task_name import find_task
    from workbench.sweeps.display import progress_display
    from workbench.sweeps.estimate import room
    from workbench.sweeps.run_cells import CellError, Finished, finish_cells
    from workbench.sweeps.store import Store
    from workbench.text import duration

    store = Store(folder / "cells", room(sweep.cells))
    began, found, computed, steps = time.monotonic(), 0, 0, 0
    failed: list[Finished] = []
    with executor as used, progress_display() as report:
        try:
            for one in finish_cells(
                sweep.cells, find_task, store, used, report, budget=sweep.budget
            ):
                if one.failure is not None:
                    failed.append(one)
                elif one.found:
                    found += 1
                else:
                    computed += 1
                    steps += one.cell.work
        except KeyboardInterrupt:
            console.print(
                f"What was finished is in {folder}; the same command continues.", soft_wrap=True
            )
            raise
    took = duration(time.monotonic() - began)
    console.print(
        f"{computed:,} cells computed ({steps / 1e6:,.1f} million steps) in {took}; "
        f"{found:,} were there already.",
        soft_wrap=True,
    )
    left = len(sweep.cells) - computed - found - len(failed)
    if left:
        console.print(
            f"The budget is used up, {left:,} cells are left: the same command continues.",
            soft_wrap=True,
        )
    for line in store.set_aside:
        console.print(f"Set aside and computed again: {line}", soft_wrap=True)
    if not store.claims.works:
        console.print("This file system has no locks: run only one sweep at a time on it.")
    console.print(f"To see them: workbench results {folder}", soft_wrap=True)
    if failed:
        raise CellError(failed)
