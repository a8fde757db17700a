"""`workbench results`: what a folder of a sweep or a reproduction holds."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.output_options import output_file
from workbench.text import counted, rounded_count

if TYPE_CHECKING:
    from workbench.sweeps.results import Listing, ResultLine
    from workbench.tables.sheet import Sheet


_SECONDS_FOR_BEST = 1.0
"""A search for the best value of a row takes no longer: a listing has to be quick."""

_CLOSE = 5e-5
"""Values are shown with four digits."""


def results_command(
    folder: Annotated[
        Path, typer.Argument(help="What `workbench sweep` or `workbench reproduce` wrote.")
    ],
    where: Annotated[
        list[str] | None,
        typer.Option(help="Only these, such as memory=B1; may be repeated.", show_default="all"),
    ] = None,
    csv: Annotated[
        Path | None, typer.Option(callback=output_file, help="Write all rows to this file, as CSV.")
    ] = None,
    parquet: Annotated[
        Path | None,
        typer.Option(callback=output_file, help="Write all rows to this file, as Parquet."),
    ] = None,
    plot: Annotated[
        Path | None,
        typer.Option(
            callback=output_file, help="Draw learning curves to this file (.pdf, .png, ...)."
        ),
    ] = None,
) -> None:
    """List, filter, export or draw the results of a sweep.

    Every file is checked before it is read; damaged ones are named and left out.

    Example: workbench results sweep --where task=gravity --where memory=O1 --where memory=B1 --plot
    curves.pdf
    """
    from workbench.console import plain_console, print_sheet
    from workbench.core.errors import WorkbenchError
    from workbench.figures.run_plot import check_plot_file
    from workbench.sweeps.results import list_folder

    if plot is not None:
        check_plot_file(plot)
    listing = list_folder(folder)
    console = plain_console()
    for path in listing.damaged:
        console.print(
            f"Damaged, left out (the sweep computes it again): {path.name}", soft_wrap=True
        )
    for path in listing.older:
        console.print(
            f"From an older version of the workbench, left out: {path.name}", soft_wrap=True
        )
    shown = listing.where(where or ())
    if not shown.lines:
        raise WorkbenchError(
            f"no results in {folder}" + (f" where {' and '.join(where)}" if where else "")
        )
    print_sheet(_sheet(shown))
    for file, write in ((csv, _write_csv), (parquet, _write_parquet), (plot, _write_plot)):
        if file is not None:
            write(shown, file)
            console.print(f"Written: {file}", soft_wrap=True)


def _sheet(listing: Listing) -> Sheet:
    from workbench.tables.sheet import BEST, Column, Sheet

    columns = (
        Column("task"),
        Column("memory"),
        Column("method"),
        Column("steps", "of each seed", True),
        Column("seeds", "", True),
        Column("reward", "per 100 steps over the last tenth of the steps, mean over seeds", True),
        Column("s.d.", "standard deviation of the reward over seeds", True),
        Column(
            "value",
            "exact value of the last greedy policies, mean over seeds; of the oracle loop, where "
            "it ends",
            True,
        ),
        BEST._replace(right=True),
    )
    best = _best_values(listing)
    rows = tuple(
        (
            line["task"],
            line["memory"],
            describe_result(line, listing),
            *_numbers(line),
            best[line["task"], line["memory"]],
        )
        for line in listing.lines
    )
    known = [row for row in rows if row[-1] != "?" and row[-2] != "-"]
    reached = sum(float(row[-2]) >= float(row[-1]) - _CLOSE for row in known)
    said = f"The value reaches the best deterministic one in {reached} of {len(known)} results"
    said += "." if len(known) == len(rows) else " that have both numbers."
    notes = (f"?: the best value is not proved within {_SECONDS_FOR_BEST:g} second.",)
    used = notes if any(row[-1] == "?" for row in rows) else ()
    return Sheet(counted(len(rows), "result"), columns, rows, said if known else "", used)


def _best_values(listing: Listing) -> dict[tuple[str, str], Any]:
    """The value of the best deterministic policy, for each task and memory in the listing."""
    from workbench.cli.task_name import find_task
    from workbench.core.augment import augment
    from workbench.core.errors import WorkbenchError
    from workbench.optima.yardstick import quick_best

    found: dict[tuple[str, str], Any] = {}
    for pair in {(line["task"], line["memory"]): None for line in listing.lines}:
        try:
            E = augment(find_task(pair[0]), pair[1])
        except WorkbenchError:  # a task of a file that is gone, or a memory that is too large
            found[pair] = "?"
            continue
        best = quick_best(E, seconds=_SECONDS_FOR_BEST)
        found[pair] = "?" if best is None or not best.certified else best.value
    return found


def describe_result(line: ResultLine, listing: Listing) -> str:
    """A method in a few words: its name and those settings that tell it from others."""
    return " ".join(
        (
            str(line["method"]),
            *(f"{name}={_short(name, line[name])}" for name in listing.telling(line)),
        )
    )


def _short(name: str, value: Any) -> str:
    if name == "code":
        return str(value)[:6]
    return f"{value:g}" if isinstance(value, float) else str(value)


def _numbers(line: ResultLine) -> tuple[str, ...]:
    from workbench.learning.run import Run

    outcome = line.outcome
    if not isinstance(outcome, Run):
        return "-", "-", "-", "-", f"{outcome.value:.4f}"
    late = outcome.late()
    value = "-" if outcome.measured is None else f"{outcome.measured[:, -1].mean():.4f}"
    return (
        rounded_count(line["steps"]),
        f"{len(line.seeds)}",
        f"{late.mean():.2f}",
        f"{late.std():.2f}",
        value,
    )


def _write_csv(listing: Listing, path: Path) -> None:
    from workbench.output import write_whole

    write_whole(path, listing.to_frame().to_csv(index=False).encode())


def _write_parquet(listing: Listing, path: Path) -> None:
    from workbench.extras import need
    from workbench.output import write_whole

    pa, pq = need("pyarrow", "sweeps"), need("pyarrow.parquet", "sweeps")
    sink = pa.BufferOutputStream()
    pq.write_table(
        pa.Table.from_pandas(listing.to_frame(), preserve_index=False), sink, compression="zstd"
    )
    write_whole(path, sink.getvalue().to_pybytes())


def _write_plot(listing: Listing, path: Path) -> None:
    from workbench.output import write_figure
    from workbench.reproduction.draw import draw_lines

    panels: dict[str, dict[str, ResultLine]] = {}
    for line in listing.lines:
        length = f", {rounded_count(line['steps'])} steps" if line.seeds else ""
        title = f"{line['task']}: {describe_result(line, listing)}{length}"
        panels.setdefault(title, {})[line["memory"]] = line
    write_figure(path, draw_lines(panels))
