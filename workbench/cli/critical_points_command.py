"""`workbench critical-points`: where ascent along the return can stop."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.count_option import whole
from workbench.cli.output_options import output_file
from workbench.cli.task_name import TaskName, find_task

if TYPE_CHECKING:
    from workbench.research.critical_points import CriticalPoints


def critical_points_command(
    task: TaskName,
    memory: Annotated[str, typer.Option("-m", "--memory", help="A memory, such as B1.")] = "none",
    faces: Annotated[
        int,
        typer.Option(
            parser=whole,
            help="The most faces to look at. A face says for each row which actions may be taken.",
        ),
    ] = 2_000,
    seconds: Annotated[
        float, typer.Option(help="The time limit. The rest is reported as undecided.")
    ] = 60.0,
    certificate: Annotated[
        Path | None,
        typer.Option(
            callback=output_file,
            help="Write a certificate for `python -m workbench.checker` to this file.",
        ),
    ] = None,
) -> None:
    """List where gradient ascent on the return can stop.

    These are the Kuhn-Tucker points of the return over memoryless policies.

    Example: workbench critical-points recall_variant
    """
    from workbench.console import plain_console, print_sheet
    from workbench.core.augment import augment
    from workbench.research.critical_points import critical_points

    P = find_task(task)
    found = critical_points(augment(P, memory), max_faces=faces, max_seconds=seconds)
    print_sheet(found.sheet())
    if certificate is not None:
        _certify(P, memory, found, certificate)
        plain_console().print(f"Certificate: {certificate}")


def _certify(P: Any, memory: str, found: CriticalPoints, path: Path) -> None:
    import json

    from workbench.certificates.critical import critical_certificate
    from workbench.output import write_whole

    write_whole(path, json.dumps(critical_certificate(P, memory, found), indent=1) + "\n")
