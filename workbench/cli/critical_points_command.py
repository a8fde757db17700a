"""`workbench critical-points`: where ascent along the return can stop."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.count_option import whole
from workbench.cli.output_options import output_file

if TYPE_CHECKING:
    from workbench.research.critical_points import CriticalPoint, CriticalPoints

_MOST_SHOWN = 12
_MOST_ROWS_TOLD = 4


def critical_points_command(
    task: Annotated[
        str, typer.Argument(help="A small task, such as recall4, or a file ending in .POMDP.")
    ],
    memory: Annotated[str, typer.Option("-m", "--memory", help="A memory, such as B1.")] = "none",
    starts: Annotated[
        int, typer.Option(parser=whole, help="Run the oracle loop from so many random policies.")
    ] = 0,
    seed: Annotated[int, typer.Option(help="Of the random policies.")] = 0,
    faces: Annotated[int, typer.Option(parser=whole, help="The most faces to look at.")] = 2_000,
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
    from rich.table import Table

    from workbench.cli.task_name import find_task
    from workbench.console import plain_console
    from workbench.core.augment import augment
    from workbench.research.critical_points import critical_points
    from workbench.text import brief

    P = find_task(task)
    E = augment(P, memory)
    found = critical_points(E, max_faces=faces)
    shares = _shares(found, starts, seed) if starts else {}
    console = plain_console()
    console.print(repr(found) + ".")
    table = Table()
    table.add_column("value", justify="right")
    table.add_column("kind")
    table.add_column("free", justify="right")
    if starts:
        table.add_column("oracle loop", justify="right")
    table.add_column("policy")
    for point in found[:_MOST_SHOWN]:
        kind = f"strict {point.kind}" if point.strict else point.kind
        cells = [brief(point.value), kind, str(point.dimension)]
        cells += [shares.get(id(point), "-")] if starts else []
        table.add_row(*cells, "\n".join(_rows(found, point)))
    if len(found):
        console.print(table)
    if len(found) > _MOST_SHOWN:
        console.print(f"... and {len(found) - _MOST_SHOWN} more")
    if starts and None in shares:
        console.print(f"Near none of these: {shares[None]} of the starts.")
    if certificate is not None:
        _certify(P, memory, found, certificate)
        console.print(f"Certificate: {certificate}")


def _shares(found: CriticalPoints, starts: int, seed: int) -> dict[Any, str]:
    from workbench.lab.basins import find_basins

    basins = find_basins(found, starts=starts, seed=seed)
    return {None if b.point is None else id(b.point): f"{b.share.share:.0%}" for b in basins}


def _rows(found: CriticalPoints, point: CriticalPoint) -> list[str]:
    """The rows of a policy that leave a choice, if they are few."""
    E, pi = found.P, point.policy.prob.floats
    rows = [o for o in range(len(E.O)) if found.most[o]]
    told = []
    for o in rows[:_MOST_ROWS_TOLD]:
        acts = [
            E.A.text(E.A[a]) + ("" if pi[o, a] == 1 else f" {pi[o, a]:.4g}")
            for a in range(len(E.A))
            if pi[o, a] > 0
        ]
        told.append(f"{E.O.text(E.O[o])} → {', '.join(acts)}")
    return [*told, f"... {len(rows)} rows"] if len(rows) > _MOST_ROWS_TOLD else told


def _certify(P: Any, memory: str, found: CriticalPoints, path: Path) -> None:
    import json

    from workbench.certificates.critical import critical_certificate
    from workbench.output import write_whole

    write_whole(path, json.dumps(critical_certificate(P, memory, found), indent=1) + "\n")
