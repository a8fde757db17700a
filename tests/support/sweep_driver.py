"""`python sweep_driver.py sweep ...`: the commands of a sweep as a process of its own, to be killed
and interrupted."""

import sys

import typer

from workbench.cli.results_command import results_command
from workbench.cli.sweep_command import sweep_command
from workbench.core.errors import WorkbenchError

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
app.command("sweep")(sweep_command)
app.command("results")(results_command)

if __name__ == "__main__":
    try:
        app()
    except WorkbenchError as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
