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
    starts: Annotated[
        int,
        typer.Option(parser=whole, help="How many random policies to run the oracle loop from."),
    ] = 0,
    seed: Annotated[int, typer.Option(help="The seed of the random policies.")] = 0,
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

    Example: workbench critical-points recall_variant --starts 100
    """
    from workbench.console import plain_console, print_sheet
    from workbench.core.augment import augment
    from workbench.research.critical_points import critical_points

    P = find_task(task)
    found = critical_points(augment(P, memory), max_faces=faces, max_seconds=seconds)
    shares = _shares(found, starts, seed) if starts else None
    print_sheet(found.sheet(shares))
    if shares is not None and None in shares:
        plain_console().print(f"Near none of these: {shares[None]} of the starts.")
    if certificate is not None:
        _certify(P, memory, found, certificate)
        plain_console().print(f"Certificate: {certificate}")


def _shares(found: CriticalPoints, starts: int, seed: int) -> dict[Any, str]:
    from workbench.lab.basins import find_basins

    basins = find_basins(found, starts=starts, seed=seed)
    return {None if b.point is None else id(b.point): f"{b.share.share:.0%}" for b in basins}


def _certify(P: Any, memory: str, found: CriticalPoints, path: Path) -> None:
    import json

    from workbench.certificates.critical import critical_certificate
    from workbench.output import write_whole

    write_whole(path, json.dumps(critical_certificate(P, memory, found), indent=1) + "\n")
