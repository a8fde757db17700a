"""`workbench explore`: the explorer, one HTML file to open in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from workbench.explorer.export import Entry


def explore(
    out: Annotated[Path, typer.Option("-o", "--out", metavar="FILE", help="Where to write the page.")] = Path(
        "explorer.html"
    ),
    open_: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
) -> None:
    """Write the explorer: one HTML file, without a server or a network, to watch, step through and edit tasks with memories.

    Example: workbench explore -o explorer.html --open
    """
    from rich.console import Console

    from pomdps.recalls import RECALL4_REWARDS
    from workbench.explorer.build import write_page

    size = write_page(entries(), RECALL4_REWARDS, out)
    Console().print(f"Explorer: {out} ({size / 1e3:,.0f} kB). Open it in a browser.", soft_wrap=True, highlight=False)
    if open_:
        typer.launch(str(out.resolve()))


def entries() -> list[Entry]:
    """The tasks of the page."""
    import pomdps
    from workbench.explorer.export import Entry
    from workbench.optimum import best_history

    def entry(id: str, title: str, known: bool = True, **more: Any) -> Entry:
        P = more.pop("P", None) or getattr(pomdps, id)()
        best = float(best_history(P).value) if known else None
        text = more.pop("text", None) or (getattr(pomdps, id).__doc__ or "").split("\n\n")[0]
        return Entry(id=id, P=P, title=title, text=text, best=best, **more)

    return [
        entry("recall4", "4-action recall", editable=True),
        entry("recall_variant", "Variant of recall"),
        entry("recall", "Recall"),
        entry("gravity", "Gravity", grid=_gravity_plan(), encodes=("K1", "K2", "B1", "B2", "B3", "O1")),
        entry("tiger", "Tiger, one door", P=pomdps.tiger(episodic=True), known=False),
        entry(
            "t_maze", "T-maze, corridor of 3", P=pomdps.t_maze(3), encodes=("B1", "B2", "B3", "O1", "O2", "OA1", "OA2")
        ),
        entry("load_unload", "Load and unload", P=pomdps.load_unload(3), weights="discounted"),
        entry("short_corridor", "Short corridor"),
    ]


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
