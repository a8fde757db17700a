"""`workbench frontier`: how good a task can be played against how much is remembered."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from workbench.cli.output_options import picture_file
from workbench.cli.task_name import TaskName, find_task


def frontier_command(
    task: TaskName,
    up_to: Annotated[
        int, typer.Option("--up-to", min=1, help="The most nodes of a controller.")
    ] = 4,
    family: Annotated[
        list[str] | None,
        typer.Option(
            "--family",
            "-f",
            help="A family with a size, such as K or clock; may be repeated.",
            show_default="K, B, O, OA",
        ),
    ] = None,
    seconds: Annotated[float, typer.Option(min=0.01, help="The time limit in all.")] = 60.0,
    diagram: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", callback=picture_file, help="Save a picture: png, svg or pdf."
        ),
    ] = None,
) -> None:
    """Show the best value for each number of memory states.

    First the families' memories, then all controllers of n nodes, whose next node is chosen as
    freely as the action.

    Example: workbench frontier t_maze --up-to 3 -f O -f clock --diagram frontier.png
    """
    from workbench.console import plain_console, print_sheet
    from workbench.sufficiency.frontier import FAMILIES
    from workbench.sufficiency.frontier import frontier as ask

    found = ask(find_task(task), up_to, family or FAMILIES, max_seconds=seconds)
    print_sheet(found.sheet())
    if diagram is not None:
        from workbench.cli.diagram_file import save_figure
        from workbench.figures.frontier_plot import frontier_plot

        save_figure(diagram, lambda: frontier_plot(found).get_figure())
        plain_console().print(f"Drawn in {diagram}", soft_wrap=True)
