"""`workbench explore`: the explorer, one HTML file to open in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from workbench.cli.output_options import output_file

if TYPE_CHECKING:
    from workbench.core.pomdp import POMDP
    from workbench.explorer.export import ExplorerEntry


def explore_command(
    out: Annotated[
        Path,
        typer.Option(
            "-o", "--out", metavar="FILE", callback=output_file, help="Where to write the page."
        ),
    ] = Path("explorer.html"),
    open_: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """Write the explorer: one HTML page to play with tasks.

    It runs offline: watch policies and learners, step through them, edit tasks and memories.

    Example: workbench explore -o explorer.html --open
    """
    from pomdps.recalls import RECALL4_REWARDS
    from workbench.console import plain_console
    from workbench.explorer.html_page import write_explorer_page

    size = write_explorer_page(entries(), RECALL4_REWARDS, out)
    plain_console().print(
        f"Explorer: {out} ({size / 1e3:,.0f} kB). Open it in a browser.",
        soft_wrap=True,
    )
    if open_:
        typer.launch(str(out.resolve()))


def entries() -> list[ExplorerEntry]:
    """The tasks of the page."""
    import pomdps
    from workbench.explorer.export import ExplorerEntry
    from workbench.optima.best_history import best_history

    gravity = pomdps.gravity()

    def entry(
        id: str, title: str, text: str, P: POMDP, known: bool = True, **more: Any
    ) -> ExplorerEntry:
        best = float(best_history(P).value) if known else None
        return ExplorerEntry(id=id, P=P, title=title, text=text, best=best, **more)

    return [
        entry(
            "recall4",
            "4-action recall",
            "Two steps, four actions. The reward comes at the end and depends on both actions: "
            "remember the first.",
            pomdps.recall4(),
            code="pomdps.recall4()",
            editable=True,
        ),
        entry(
            "recall_variant",
            "Variation of recall",
            "Three steps, two actions. 0, 1, 0 pays 3; a wrong beginning costs 10 or 100.",
            pomdps.recall_variant(),
            code="pomdps.recall_variant()",
        ),
        entry(
            "recall",
            "Recall",
            "Three steps that look alike. Only 1, then 2, then 3 pays: remember how far you are.",
            pomdps.recall(),
            code="pomdps.recall()",
        ),
        entry(
            "gravity",
            "Gravity",
            "Fetch the cookie. A force that you cannot see pulls down nine times in ten; entering "
            "the button's cell switches it.",
            gravity,
            grid=_gravity_plan(),
            encodes=("K1", "K2", "B1", "B2", "B3", "O1"),
            policies={name: _best_choice(gravity, name) for name in ("K1", "B1")},
        ),
        entry(
            "tiger",
            "Tiger, episodic",
            "A tiger waits behind one of two doors. Listening costs 1 and is right 17 times in 20; "
            "the right door pays 10, the tiger costs 100, and either ends the episode. The "
            "task `tiger` of the commands goes on after a door, and so is worth more.",
            pomdps.tiger(episodic=True),
            code="pomdps.tiger(episodic=True)",
            known=False,  # infinitely many beliefs: only bounds, and they take long
        ),
        entry(
            "t_maze",
            "T-maze, corridor of 3",
            "The first cell shows whether the goal is up or down; three cells later, at the "
            "junction, you have to know.",
            pomdps.t_maze(3),
            code="pomdps.t_maze(3)",
            encodes=("B1", "B2", "B3", "O1", "O2", "OA1", "OA2"),
        ),
        entry(
            "load_unload",
            "Load and unload",
            "A cart loads at the left end and unloads at the right one, for ever. In between you "
            "do not see whether it is full.",
            pomdps.load_unload(3),
            code="pomdps.load_unload(3)",
            weights="discounted",
        ),
        entry(
            "short_corridor",
            "Short corridor",
            "Three cells that look alike, each step costs 1, the goal is on the right; in the "
            "second cell left and right are switched. Without memory only chance helps.",
            pomdps.short_corridor(),
            code="pomdps.short_corridor()",
        ),
        entry(
            "invisible_door",
            "Invisible door",
            "A button at the left end of a corridor opens the door to the goal at the right end. "
            "You see your cell, not whether the door is open.",
            pomdps.invisible_door(),
            code="pomdps.invisible_door()",
        ),
        entry(
            "sutton_grid",
            "Sutton's grid",
            "6 x 9 cells, 46 starts, each step costs 1 until the goal. You see which of the eight "
            "cells around you are walls, and some cells look alike.",
            pomdps.sutton_grid(),
            code="pomdps.sutton_grid()",
            known=False,  # its beliefs are many, and bounds on them take long
        ),
    ]


def _best_choice(P: POMDP, memory: str) -> list[int]:
    """The actions of a best deterministic policy that writes least, -1 where it never comes."""
    from workbench.core.augment import augment
    from workbench.core.evaluate import evaluate
    from workbench.optima.best_memoryless import best_memoryless
    from workbench.optima.reduce_writes import reduce_writes

    E = augment(P, memory)
    best = best_memoryless(E)
    pi = reduce_writes(E, best.policy) or best.policy
    reached = evaluate(E, pi).reached.raw
    return [int(a) if met else -1 for a, met in zip(pi.actions, reached, strict=True)]


def _gravity_plan() -> dict[str, Any]:
    """The walls of the grid as lines between corners, and its marks."""
    from pomdps.grids import FIGURE, MOVES, Grid

    grid = Grid(FIGURE)
    sides = {"up": (0, 1, 1, 1), "down": (0, 0, 1, 0), "left": (0, 0, 0, 1), "right": (1, 0, 1, 1)}
    walls = {
        (x + side[0], y + side[1], x + side[2], y + side[3])
        for x, y in grid.cells
        for move, side in sides.items()
        if grid.has_wall((x, y), MOVES[move])
    }
    names = {"A": "start", "B": "button", "C": "cookie"}
    marks = [[mark, names[mark], list(cell)] for mark, cell in grid.marks.items()]
    return {"width": grid.width, "height": grid.height, "walls": sorted(walls), "marks": marks}
