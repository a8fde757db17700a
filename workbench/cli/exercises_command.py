"""`workbench exercises`: the notebooks' exercises as assignments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer


def exercises_command(
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="FOLDER", help="The folder of the course.")
    ] = Path("course"),
) -> None:
    """Write the notebooks' exercises as assignments for nbgrader.

    Each exercise has a cell for the answer and a locked cell, worth a point, that judges it;
    `nbgrader generate_assignment` goes on from there.

    Example: workbench exercises -o course
    """
    from workbench.cli.site_command import find_root
    from workbench.console import plain_console
    from workbench.site.assignments import write_assignments

    count = write_assignments(find_root(), out)
    plain_console().print(f"{out / 'source'}: {count} assignments", soft_wrap=True)
