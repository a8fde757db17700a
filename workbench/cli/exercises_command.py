"""`workbench exercises`: the notebooks' exercises as assignments."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.output_options import output_file


def exercises_command(
    out: Annotated[
        Path, typer.Option("-o", "--out", metavar="FOLDER", help="The folder of the course.")
    ] = Path("course"),
    solutions: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            callback=output_file,
            help="Write a sheet with all solutions, and nothing else.",
        ),
    ] = None,
) -> None:
    """Write the notebooks' exercises as assignments for nbgrader.

    Each exercise has a cell for the answer and a locked cell, worth a point, that judges it;
    `nbgrader generate_assignment` goes on from there.

    Example: workbench exercises -o course

    Example: workbench exercises --solutions solutions.md
    """
    from workbench.cli.site_command import answer_judge, find_root, read_solutions
    from workbench.console import plain_console
    from workbench.output import write_whole
    from workbench.site.assignments import write_assignments
    from workbench.site.teaching_pages import instructor_sheet

    if solutions is not None:
        root = find_root()
        sheet = instructor_sheet(root, read_solutions(root), answer_judge(root))
        write_whole(solutions, sheet.encode())
        plain_console().print(f"{solutions}: the solutions of all exercises", soft_wrap=True)
        return
    count = write_assignments(find_root(), out)
    plain_console().print(f"{out / 'source'}: {count} assignments", soft_wrap=True)
