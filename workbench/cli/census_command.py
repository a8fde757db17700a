"""`workbench census`: what every task is worth, as a table, a page and a Parquet file."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.text import counted

if TYPE_CHECKING:
    from workbench.core.pomdp import POMDP
    from workbench.core.sheet import Sheet
    from workbench.sufficiency.census import CensusRow

_MEANINGS = {
    "task": "",
    "informed": "value of the best policy that sees the state",
    "history": "value of the best policy that remembers everything",
    "determ.": "value of the best deterministic policy without memory",
    "stochastic": "value of the best policy without memory",
    "one bit": "value of the best deterministic policy with one bit of memory (B1)",
    "memory?": "whether a policy that remembers beats all policies without memory",
}
"""The columns of the table and what they mean."""

_HELPS = {True: "yes", False: "no", None: "?"}


def census_command(
    task: Annotated[
        list[str] | None,
        typer.Argument(
            help="Tasks, files ending in .POMDP, or environments.", show_default="all tasks"
        ),
    ] = None,
    folder: Annotated[
        Path, typer.Option("-o", "--out", help="Where journal, page and Parquet file are kept.")
    ] = Path("census"),
    files: Annotated[
        list[Path] | None,
        typer.Option(
            "--files",
            exists=True,
            file_okay=False,
            help="A folder whose .POMDP files are counted as well; may be repeated.",
        ),
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.01, help="The time limit of each search.")] = 10.0,
) -> None:
    """Tabulate for many tasks how much memory is worth.

    For each task: the value of the best informed, history-based, memoryless and one-bit policy.

    Rows are kept as they are found, so that the command can be stopped and run again. Values with a
    second number are bounds: a policy reaches the first, and none exceeds the second.

    Example: workbench census t_maze tiger --seconds 2 --out census

    Example: workbench census --files published --seconds 2
    """
    from workbench.console import plain_console, print_sheet
    from workbench.extras import need
    from workbench.output import check_folder, write_whole
    from workbench.progress import until_ctrl_c
    from workbench.sufficiency.census import take_census, to_frame

    console = plain_console()
    need("pandas", "frames")
    need("pyarrow", "sweeps")
    check_folder(folder)
    rows: list[CensusRow] = []
    with until_ctrl_c(rows):
        for row, known in take_census(_tasks(task, files), folder / "journal.jsonl", seconds):
            rows.append(row)
            how = "known" if known else f"{row.seconds:.1f} s"
            console.print(f"{row.task}: {how}")
    print_sheet(_sheet(rows))
    write_whole(folder / "census.parquet", to_frame(rows).to_parquet())
    write_whole(folder / "census.md", _page(rows, seconds))
    console.print(
        f"\nWritten to {folder}: census.md, census.parquet, journal.jsonl", soft_wrap=True
    )


def _tasks(
    names: list[str] | None, folders: list[Path] | None
) -> list[tuple[str, Callable[[], POMDP]]]:
    from pomdps import TASKS
    from workbench.cli.needs_memory_command import find_task_or_environment

    if names is None:
        gym = importlib.util.find_spec("minigrid") is not None
        names = [name for name, record in TASKS.items() if not record.extra or gym]
    found: list[tuple[str, Callable[[], POMDP]]] = [
        (name, partial(find_task_or_environment, name)) for name in names
    ]
    for folder in folders or []:
        published = sorted(p for p in folder.iterdir() if p.suffix.lower() == ".pomdp")
        found += [(p.name, partial(find_task_or_environment, str(p))) for p in published]
    return found


def _cells(row: CensusRow) -> list[str]:
    from workbench.sufficiency.census import CLOSE, COLUMNS
    from workbench.sufficiency.needs_memory import between, verdict
    from workbench.text import UNDEFINED, brief

    found = [row.task]
    for column in COLUMNS:
        value, bound = row.value[column], row.bound[column]
        if value is None or bound is None:
            found.append(UNDEFINED)
        else:
            same = brief(value) == brief(bound)  # to the digits that are shown
            found.append(brief(value) if same else between(value, bound, CLOSE * row.size))
    return [*found, verdict(row.needs_memory)]


def _sheet(rows: list[CensusRow]) -> Sheet:
    from workbench.core.sheet import Column, Sheet

    columns = tuple(Column(name, said, name != "task") for name, said in _MEANINGS.items())
    # Two bounds stand below each other: five pairs of them side by side exceed 80 characters.
    cells = tuple(
        tuple(x.replace(" to ", "\nto ") for x in (*_cells(row)[:-1], _HELPS[row.needs_memory]))
        for row in rows
    )
    helps = sum(row.needs_memory is True for row in rows)
    unknown = sum(row.needs_memory is None for row in rows)
    said = f"Memory helps on {helps} of {counted(len(rows), 'task')}"
    said += f"; {unknown} not decided within the time limit." if unknown else "."
    bounds = any("\n" in x for row in cells for x in row)
    notes = ["x to y: some policy reaches x, and none exceeds y."] if bounds else []
    notes += ["?: not decided."] if unknown else []
    notes += [f"{row.task}: {row.note}" for row in rows if row.note]
    return Sheet("What memory is worth", columns, cells, said, tuple(notes))


def _page(rows: list[CensusRow], seconds: float) -> str:
    lines = [
        "# A census of tasks",
        "",
        f"What each task is worth to whom; {seconds:g} seconds for each search. Two numbers are "
        "bounds: a policy reaches the first, and none exceeds the second.",
        "",
        f"| {' | '.join(_MEANINGS).replace('determ.', 'deterministic')} |",
        "|---|" + "---:|" * (len(_MEANINGS) - 2) + "---|",
        *(f"| {' | '.join(_cells(row))} |" for row in rows),
    ]
    notes = [f"- {row.task}: {row.note}" for row in rows if row.note]
    return "\n".join([*lines, *([""] if notes else []), *notes]) + "\n"
