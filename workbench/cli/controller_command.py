"""`workbench controller`: a best policy with a memory as a finite-state controller."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from workbench.cli.output_options import output_file, picture_file
from workbench.cli.task_name import TaskName, find_task

if TYPE_CHECKING:
    from workbench.agents.controllers import Controller
    from workbench.core.pomdp import POMDP


def controller_command(
    task: TaskName,
    memory: Annotated[
        str, typer.Option("-m", "--memory", help="A memory, such as O1 or clock2*B1.")
    ] = "none",
    load: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Read the controller from a file (ours, PAYNT's or Storm's) instead.",
        ),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option(metavar="FILE", callback=output_file, help="Write the controller to a file."),
    ] = None,
    form: Annotated[str, typer.Option(help="What to write: json, paynt or storm.")] = "json",
    diagram: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", callback=picture_file, help="Save a picture as well: png, svg or pdf."
        ),
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=0.01, help="The time limit of the search for a best policy.")
    ] = 10.0,
) -> None:
    """Show the best policy as a finite-state controller.

    Nodes are memory states; nodes that nothing tells apart are merged. A controller from a file is
    evaluated on the task.

    Example: workbench controller t_maze -m O1 --save t.json --form paynt --diagram t.png
    """
    from dataclasses import replace

    from workbench.console import plain_console, print_sheet
    from workbench.interop.controller_file import load_controller, save_controller
    from workbench.text import counted

    console = plain_console()
    P = find_task(task)
    if load is not None:
        found, words = load_controller(P, load), f"The controller is that of {load}."
    else:
        found, words = _best(P, memory, seconds)
    least = found.minimised()
    notes = [words]
    if len(least) < len(found):
        alike = f"{counted(len(found), 'node')} merged to {len(least)}"
        notes.append(f"{alike}: nothing told the others apart.")
    sheet = least.sheet()
    print_sheet(replace(sheet, notes=(*notes, *sheet.notes)))
    if save is not None:
        save_controller(least, save, form)
        console.print(f"Written to {save}", soft_wrap=True)
    if diagram is not None:
        _draw(least, diagram)
        console.print(f"Drawn in {diagram}", soft_wrap=True)


def _best(P: POMDP, memory: str, seconds: float) -> tuple[Controller, str]:
    from workbench.agents.controllers import controller_of
    from workbench.core.augment import augment
    from workbench.memories import attach
    from workbench.optima.best_memoryless import best_memoryless

    attached = attach(memory, P)
    best = best_memoryless(augment(P, attached), max_seconds=seconds)
    policy = "memoryless policy" if memory == "none" else f"policy with {memory}"
    words = (
        f"No deterministic {policy} is worth more."
        if best.certified
        else f"The best deterministic {policy} that was found in {seconds:g} s."
    )
    return controller_of(P, attached, best.policy), words


def _draw(controller: Controller, path: Path) -> None:
    from workbench.cli.diagram_file import save_figure
    from workbench.figures.controller_graph import controller_graph

    save_figure(path, lambda: controller_graph(controller).get_figure())
