"""The `workbench` command.

Each command is a function in a module of the same name in `workbench.cli`. Those modules import
nothing heavy until they run, so that `workbench --help` answers at once.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import sys
from typing import Annotated

import typer

from workbench.core.errors import WorkbenchError

COMMANDS = {
    "list": "list_command",
    "show": "show_command",
    "explore": "explore_command",
    "verify": "verify_command",
    "reproduce": "reproduce_command",
    "compare": "compare_command",
    "improve": "improve_command",
    "best": "best_command",
    "critical-points": "critical_points_command",
    "shortcuts": "shortcuts_command",
    "learn": "learn_command",
    "equilibria": "equilibria_command",
    "needs-memory": "needs_memory_command",
    "diagnose": "diagnose_command",
    "frontier": "frontier_command",
    "controller": "controller_command",
    "census": "census_command",
    "search": "search_command",
    "gallery": "gallery_command",
    "sweep": "sweep_command",
    "results": "results_command",
    "site": "site_command",
    "exercises": "exercises_command",
}
"""Each command, and the module and function that it is."""

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"workbench {importlib.metadata.version('memory-workbench')}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_print_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
) -> None:
    """A workbench for the theory of memory in partially observable reinforcement learning.

    Example: workbench improve recall4 -m B1 -m B5 -m OA1
    """


for name, function in COMMANDS.items():
    app.command(name)(getattr(importlib.import_module(f"workbench.cli.{function}"), function))


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; errors of the workbench become one line and exit status 1, Ctrl-C
    130."""
    try:
        app(args=arguments, prog_name="workbench")
    except WorkbenchError as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        print("Stopped.", file=sys.stderr)
        sys.exit(130)
