"""The options that choose where work is computed, the same for every command that has some."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from workbench.executors.executor import Executor

ExecutorName = Annotated[
    str | None,
    typer.Option(
        "--executor",
        help="threads, local (processes) or dask (a cluster).",
        show_default="threads",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        help="How many threads or processes; the result is the same.", show_default="all cores"
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(help="Address of a running Dask cluster.", show_default="one of its own"),
]


def chosen_executor(
    name: str | None, workers: int | None, scheduler: str | None, default: str = "threads"
) -> Executor:
    """The executor that the options name. An address alone means a Dask cluster."""
    from workbench.executors.executor import make_executor

    return make_executor(name or ("dask" if scheduler else default), workers, scheduler)
