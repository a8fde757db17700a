"""`python sweep_driver.py sweep ...`: the commands of a sweep as a process of its own, to be killed and interrupted."""

import sys

import typer

from workbench.commands.results import results
from workbench.commands.sweep import sweep
from workbench.errors import WorkbenchError

app = typer.Typer(rich_markup_mode=None, pretty_exceptions_enable=False)
app.command()(sweep)
app.command()(results)

if __name__ == "__main__":
    try:
        app()
    except WorkbenchError as error:
        print(f"Error: {error}", file=sys.stderr)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
