"""The `workbench` command.

Each command is a function in a module of the same name in `workbench.cli`. Those modules import
nothing heavy until they run, so that `workbench --help` answers at once.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_command

import workbench
from workbench.core.errors import WorkbenchError
from workbench.executors.executor import THREAD
from workbench.progress import note_ctrl_c
from workbench.text import printable

GROUPS = {
    "Look": ("list", "show", "explore"),
    "Ask": (
        "needs-memory",
        "best",
        "compare",
        "frontier",
        "controller",
        "shortcuts",
        "diagnose",
        "critical-points",
        "census",
    ),
    "Learn": ("improve", "learn", "equilibria", "sweep", "results"),
    "Prove": ("verify", "reproduce", "self-test"),
    "Search": ("search", "gallery"),
    "Publish": ("site", "exercises"),
}
"""The commands by what one wants to do; `needs-memory` is the function `needs_memory_command` of
the module of that name."""


class GroupedCommands(TyperGroup):
    """The help of `workbench`: the commands group by group, each with its whole summary."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a list for each group. Typer's own is one list, with summaries cut off."""
        width = max(map(len, self.commands))
        for group, names in GROUPS.items():
            with formatter.section(group):
                formatter.write_dl(
                    [(f"{name:<{width}}", _summary(self.commands[name])) for name in names]
                )


def _summary(command: Any) -> str:
    """The first paragraph of a command's help."""
    return " ".join((command.help or "").split("\n\n")[0].split())


app = typer.Typer(
    cls=GroupedCommands,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


_GRACE = 1.0
"""Seconds that a thread has to end after Ctrl-C."""


def _print_version(wanted: bool) -> None:
    if wanted:
        print(f"workbench {workbench.__version__}")
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

    Example: workbench compare recall4 -m B1 -m OA1
    """


for name in (name for names in GROUPS.values() for name in names):
    function = f"{name.replace('-', '_')}_command"
    app.command(name)(getattr(importlib.import_module(f"workbench.cli.{function}"), function))


_OPTIONS = {"max_faces": "--faces", "max_seconds": "--seconds", "max_states": "--max-states"}
_ADVICE = "give a gamma below 1, or ask for deterministic=False"


def _with_options(said: str, arguments: list[str]) -> str:
    """An error whose advice is for Python, with the options of the command that was given."""
    command = get_command(app).commands.get(arguments[0] if arguments else "")  # type: ignore[attr-defined]
    options = {option for param in getattr(command, "params", ()) for option in param.opts}
    for word, option in _OPTIONS.items():
        if option in options:
            said = said.replace(word, option)
    ways = ["ask for --stochastic"] * ("--stochastic" in options) + ["take a memory with -m"]
    return said.replace(_ADVICE, ", or ".join(ways))


def main(arguments: list[str] | None = None) -> None:
    """Run the command line. Errors of the workbench become one line and exit status 1, Ctrl-C
    130."""
    with note_ctrl_c() as stopped:
        try:
            app(args=arguments, prog_name="workbench")
        except WorkbenchError as error:
            said = printable(_with_options(str(error), arguments or sys.argv[1:]))
            print(f"Error: {said}", file=sys.stderr)
            sys.exit(1)
        except BaseException:
            if not stopped.is_set():
                raise
            print("Stopped.", file=sys.stderr)
            _leave(130)


def _leave(status: int) -> NoReturn:
    """End the process. Python itself would wait for threads that compute or compile."""
    for thread in threading.enumerate():
        if thread.name.startswith(THREAD):
            thread.join(_GRACE)  # most are at their next pulse by then
            if thread.is_alive():
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(status)
    sys.exit(status)
