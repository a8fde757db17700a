"""`workbench reproduce`: the tabular figures of the paper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.executor_options import EngineName, Scheduler, Workers, chosen_executor

if TYPE_CHECKING:
    from workbench.reproduction.report import Section


def reproduce_command(
    figure: Annotated[
        list[str] | None,
        typer.Argument(
            help="fig2, fig3, fig4, fig5, fig7, fig11.", metavar="FIGURE", show_default="all"
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Fewer seeds and steps: two minutes.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Where figures, numbers and report.html go.")] = Path(
        "reproduction"
    ),
    engine: EngineName = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
) -> None:
    """Reproduce the tabular figures of the paper, and judge what it says about them.

    Finished pieces are kept in OUT/cells: an interrupted run continues where it stopped, and what
    is changed afterwards, a setting or the code, is computed again, and nothing else. `workbench
    results OUT` shows them.

    Example: workbench reproduce fig2 fig11 --out figures
    """
    import time

    from rich.console import Console

    from workbench.cli.task_name import find_task
    from workbench.reproduction import paper_figures as records
    from workbench.reproduction.report import write_report
    from workbench.sweeps.cell import cells_of
    from workbench.sweeps.display import progress_display
    from workbench.sweeps.results import Results
    from workbench.sweeps.run_cells import run_cells
    from workbench.sweeps.store import Store, check_folder

    console = Console()
    chosen = records.figures_by_name(figure or ())
    if quick:
        chosen = tuple(records.quick(experiment) for experiment in chosen)
    check_folder(out)
    store = Store(out / "cells")
    cells = dict.fromkeys(cell for experiment in chosen for cell in cells_of(experiment))
    began = time.monotonic()
    with chosen_executor(engine, workers, scheduler) as used, progress_display() as report:
        try:
            computed, reused = run_cells(cells, find_task, store, used, report)
        except KeyboardInterrupt:
            console.print(
                f"What was finished is in {store.folder}; the same command continues.",
                soft_wrap=True,
            )
            raise
    seconds = time.monotonic() - began
    steps = sum(cell.work for cell in computed if cell not in reused)
    notes = [
        f"{len(cells)} cells, {len(reused)} of them computed before; {steps / 1e6:,.0f} million "
        f"steps in {seconds:.0f} s.",
        *(f"Set aside and computed again: {line}" for line in store.set_aside),
    ]
    sections = write_report(
        out, (Results.of(experiment, computed) for experiment in chosen), quick, notes
    )
    console.print(_table(sections, quick))
    for note in notes:
        console.print(note, soft_wrap=True)
    console.print(f"Report: {out / 'report.html'}", soft_wrap=True)


def _table(sections: list[Section], quick: bool) -> object:
    from rich.table import Table

    table = Table(
        title="Statements about the tabular figures" + (", quick version" if quick else "")
    )
    for column in ("statement", "figure", "verdict"):
        table.add_column(column)
    for section in sections:
        for judgement in section.judgements:
            table.add_row(judgement.id, section.results.experiment.place, judgement.verdict)
    return table
