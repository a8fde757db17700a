"""Grid tasks with walls, marks and the arrows of a policy. There is one panel for each memory state
that the policy reaches."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np
from numpy.typing import NDArray

from workbench.core.augment import ActionsAndWrites, memory_states
from workbench.core.errors import UnknownLabel, WorkbenchError, WrongType
from workbench.core.evaluate import Evaluation, evaluate
from workbench.core.improve import weights_for
from workbench.core.pomdp import POMDP
from workbench.core.space import Label
from workbench.figures.argument import none_left, split_axes, task_and_policy
from workbench.figures.style import SMALL, WORDS
from workbench.text import show

if TYPE_CHECKING:
    from matplotlib.axes import Axes

GridCell = tuple[int, int]

MOVES: dict[Label, GridCell] = {
    "up": (0, 1),
    "down": (0, -1),
    "left": (-1, 0),
    "right": (1, 0),
    "N": (0, 1),
    "S": (0, -1),
    "W": (-1, 0),
    "E": (1, 0),
}
"""Where actions point, x to the right and y up."""

_ARROW = 0.44
"""The length of an arrow of probability 1, in cells."""

_SEEN = 0.02
"""Arrows of lower probability are left out."""

_BLUE, _ORANGE = "#0072B2", "#E69F00"
_HATCHES = ("", "....", "////", "xxxx", "\\\\\\\\", "++++")


Place = Callable[[Label, Label], GridCell | None]
"""The cell of a state s that shows o; None where it is nowhere on the grid."""


class GridDrawing(Protocol):
    """The interface of a grid that `grid_policy` needs. `pomdps.drawing.Grid` is one."""

    @property
    def signs(self) -> list[tuple[str, GridCell]]:
        """Letters and the cells that they mark."""

    @property
    def cells(self) -> list[GridCell]:
        """All cells, (x, y) with y up."""

    def has_wall(self, cell: GridCell, move: GridCell) -> bool:
        """Whether a wall stands between a cell and its neighbour."""


class TaskDrawing(Protocol):
    """A grid that knows its task. The `drawing` of a record in `pomdps.TASKS` is one."""

    @property
    def grid(self) -> GridDrawing: ...

    @property
    def key(self) -> str: ...

    @property
    def place(self) -> Place: ...

    @property
    def moves(self) -> Mapping[Label, GridCell]: ...

    @property
    def heading(self) -> Callable[[Label], GridCell] | None: ...


def grid_policy(
    evaluation: Any,
    *given: Any,
    grid: GridDrawing | TaskDrawing | None = None,
    axes: Any = None,
    place: Place | None = None,
    moves: Mapping[Label, GridCell] | None = None,
    most: int = 12,
) -> NDArray[Any]:
    """A policy on its grid: arrows as long as their probabilities, a panel for each memory state
    that is reached.

    Arrows stand in the cells that the policy visits with that memory; where it sees different
    things in one cell, they show how often it goes where, weighted by its visits. An orange dot
    means that the memory is written there, its area the probability of a write that changes the
    memory; with bits the most probable such write stands beside it.

    Parameters
    ----------
    evaluation : of the policy, on the task or on the task with a memory; or (E, pi), E, (P, memory)
        or a result that has a policy, and then the grid. Without a policy the best one is drawn.
    grid : cells, walls and marks, or the drawing of a task, which brings `place` and `moves` along.
        Without one, cells are the observations (x, y), and walls between them are not drawn.
    axes : an array of at least as many axes as there are panels.
    place : the cell of a state s (without memory) that shows o; o itself by default.
    moves : where actions point.
    most : panels; of more memory states the most visited are shown.
    """
    given, axes = split_axes(given, axes)
    if given and (hasattr(given[-1], "signs") or hasattr(given[-1], "heading")):
        given, grid = given[:-1], given[-1]
    if not isinstance(evaluation, Evaluation):
        E, pi = task_and_policy("grid_policy", evaluation, given, "evaluate(E, pi)")
        evaluation = evaluate(E, pi, weights=weights_for(E, pi))
    else:
        none_left("grid_policy", given)
    P, key, heading = evaluation.P, "", None
    if grid is None:
        grid, key = _open_grid(P), "walls between cells are not drawn"
    if not hasattr(grid, "signs"):
        drawing, key, heading = grid, grid.key, grid.heading
        grid, place, moves = drawing.grid, place or drawing.place, moves or drawing.moves
    grid = cast("GridDrawing", grid)
    place, moves = place or (lambda s, o: o), MOVES if moves is None else moves
    if missing := [
        a
        for a in (P.A if not isinstance(P.A, ActionsAndWrites) else P.A.factors[0])
        if a not in moves
    ]:
        raise UnknownLabel(
            f"no direction is given for the action {show(missing[0])}: give moves={{action: (dx, "
            "dy)}"
        )
    rows = _rows_by_memory(evaluation, place, heading or (lambda s: (1, 0)))
    if not rows:
        raise WorkbenchError(f"{P.name}: no cell is reached")
    time_in = {m: sum(sum(row.values()) for row in by_cell.values()) for m, by_cell in rows.items()}
    shown = sorted(time_in, key=lambda m: -time_in[m])[:most]
    panels = [m for m in time_in if m in shown]  # in the order of discovery
    new = axes is None
    axes = _panels(len(panels), grid, axes)
    for one, m in zip(axes.ravel(), panels, strict=False):
        _draw_grid(one, grid)
        _draw_rows(one, m, {cell: _normal(row) for cell, row in rows[m].items()}, moves)
        title = P.name if m is _NO_MEMORY else f"memory {memory_states(P).text(m)}"
        one.set_title(title, fontsize=WORDS)
    for one in axes.ravel()[len(panels) :]:
        one.set_axis_off()
    notes = [key] if key else []
    if any(x.get_gid() == "write" for y in axes.ravel() for x in y.texts):
        notes.append("a dot: writes the bits beside it")
    elif any(x.get_gid() == "write" for y in axes.ravel() for x in y.collections):
        notes.append("a dot: pushes into the memory")
    if len(panels) < len(time_in):
        notes.append(f"the {len(panels)} most visited of {len(time_in)} memory states")
    if new and notes:
        axes.ravel()[0].get_figure().supxlabel("; ".join(notes), fontsize=SMALL)
    return axes


@dataclass(frozen=True)
class _OpenGrid:
    """Cells without walls between them."""

    cells: list[GridCell]
    signs: list[tuple[str, GridCell]] = field(default_factory=list)

    def has_wall(self, cell: GridCell, move: GridCell) -> bool:
        return (cell[0] + move[0], cell[1] + move[1]) not in self.cells


def _open_grid(P: POMDP) -> _OpenGrid:
    """The grid of a task that shows its cell."""
    augmented = isinstance(P.A, ActionsAndWrites)
    cells = [
        o
        for o in dict.fromkeys(label[1] if augmented else label for label in P.O)
        if isinstance(o, tuple) and len(o) == 2 and all(isinstance(x, int) for x in o)
    ]
    if not cells:
        raise WrongType(
            f"grid_policy draws {P.name} on a grid: give its drawing, such as "
            "TASKS['gravity'].drawing of pomdps, or a Grid"
        )
    return _OpenGrid(cells)


def grid_walk(
    drawing: TaskDrawing, cells: Sequence[GridCell | None], axes: Axes | None = None
) -> Axes:
    """The cells that an agent went through so far, and the agent in the last of them.

    Parameters
    ----------
    drawing : the grid of the task.
    cells : one after the other; None for states that are nowhere on the grid.
    """
    if axes is None:
        from matplotlib import pyplot

        axes = pyplot.figure(figsize=(3.0, 3.2), layout="constrained").add_subplot()
    _draw_grid(axes, drawing.grid)
    places = [(x + 0.5, y + 0.5) for x, y in (cell for cell in cells if cell is not None)]
    if places:
        x, y = zip(*places, strict=True)
        axes.plot(x, y, color=_BLUE, linewidth=1.3, alpha=0.6, gid="walk")
    if cells and cells[-1] is not None:
        look: dict[str, Any] = {"color": _BLUE, "markeredgecolor": "black", "markersize": 11}
        axes.plot(*places[-1], "o", gid="now", **look)
    return axes


_NO_MEMORY = object()


Ways = dict[tuple[Label, GridCell], float]
"""How often an action is taken by an agent that looks some way."""


def _rows_by_memory(
    evaluation: Evaluation, place: Place, heading: Callable[[Label], GridCell]
) -> dict[Any, dict[GridCell, Ways]]:
    """How often the policy takes each action, for each reached memory state and each cell. Memory
    states are in the order of O. It also says in which direction the agent looks.

    Where visits are not finite, what is seen in a cell counts alike.
    """
    P, pi = evaluation.P, evaluation.pi
    with_memory = isinstance(P.A, ActionsAndWrites)
    reached = [o for i, o in enumerate(P.O) if evaluation.reached.raw[i]]
    found: dict[Any, dict[GridCell, Ways]] = {
        m: {} for m in ([m for m, _ in reached] if with_memory else [_NO_MEMORY])
    }
    numbers = [
        None if x is None or x != x or over else float(x)
        for x, over in zip(evaluation.visits.array, P.terminal.mask, strict=True)
    ]
    finite = any(x is not None for x in numbers)
    for i, s in enumerate(P.S):
        if P.terminal.mask[i] or (finite and not numbers[i]):
            continue
        for o, prob in P.omega(s).items():
            if not evaluation.reached[o]:
                continue
            m, cell = (s[1], place(s[0], o[1])) if with_memory else (_NO_MEMORY, place(s, o))
            if cell is None:
                continue
            row = found[m].setdefault(cell, {})
            ahead = heading(s[0] if with_memory else s)
            for a, x in pi.row(o).items():
                row[a, ahead] = row.get((a, ahead), 0.0) + (numbers[i] or 1.0) * float(prob * x)
    return {m: by_cell for m, by_cell in found.items() if by_cell}


def _panels(count: int, grid: GridDrawing, axes: Any) -> NDArray[Any]:
    if axes is not None:
        given = np.atleast_1d(np.asarray(axes, dtype=object))
        if given.size < count:
            raise WorkbenchError(
                f"{count} memory states are reached: give as many axes, not {given.size}"
            )
        return given
    from matplotlib import pyplot

    across = min(count, 4) if count != 5 else 3
    down = -(-count // across)
    ratio = max(y + 1 for _, y in grid.cells) / max(x + 1 for x, _ in grid.cells)
    size = 7.0 / max(across, 2)
    figure = pyplot.figure(figsize=(7.0, down * (size * ratio + 0.25) + 0.2), layout="constrained")
    found: NDArray[Any] = figure.subplots(down, across, squeeze=False)
    return found


def _draw_grid(axes: Axes, grid: GridDrawing) -> None:
    from matplotlib.patches import Rectangle

    width, height = (max(cell[k] for cell in grid.cells) + 1 for k in (0, 1))
    for x, y in grid.cells:
        axes.add_patch(Rectangle((x, y), 1, 1, fill=False, edgecolor="0.85", linewidth=0.6))
    letters = list(dict.fromkeys(letter for letter, _ in grid.signs))
    for letter, (x, y) in grid.signs:
        axes.add_patch(
            Rectangle(
                (x, y),
                1,
                1,
                facecolor="0.92",
                edgecolor="0.78",
                linewidth=0,
                gid="mark",
                hatch=_HATCHES[letters.index(letter) % len(_HATCHES)],
            )
        )
        axes.text(
            x + 0.1, y + 0.9, letter, fontsize=7, fontweight="bold", ha="left", va="top", gid="mark"
        )
    for x, y in grid.cells:
        for (dx, dy), ends in _SIDES.items():
            if grid.has_wall((x, y), (dx, dy)):
                (x0, y0), (x1, y1) = ends
                axes.plot(
                    [x + x0, x + x1],
                    [y + y0, y + y1],
                    color="black",
                    linewidth=2,
                    gid="wall",
                    clip_on=False,
                    solid_capstyle="projecting",
                )
    axes.set_xlim(-0.06, width + 0.06)
    axes.set_ylim(-0.06, height + 0.06)
    axes.set_aspect("equal")
    axes.set_axis_off()


_SIDES: dict[GridCell, tuple[GridCell, GridCell]] = {
    (0, 1): ((0, 1), (1, 1)),
    (0, -1): ((0, 0), (1, 0)),
    (-1, 0): ((0, 0), (0, 1)),
    (1, 0): ((1, 0), (1, 1)),
}


def _draw_rows(
    axes: Axes, m: Any, rows: Mapping[GridCell, Ways], moves: Mapping[Label, GridCell]
) -> None:
    """Draw the arrows, the dots and the writes of one memory state.

    All arrows are one artist and all dots another, which is several times as fast as one for each.
    """
    arrows: list[tuple[float, float, float, float]] = []
    dots: list[tuple[float, float, float]] = []
    for cell, row in rows.items():
        go, write = _shares(m, row, moves)
        x, y = cell[0] + 0.5, cell[1] + 0.5
        arrows += [
            (x, y, dx * _ARROW * prob, dy * _ARROW * prob)
            for (dx, dy), prob in go.items()
            if prob >= _SEEN and (dx or dy)
        ]
        if (total := sum(write.values())) < _SEEN:
            continue
        dots.append((cell[0] + 0.17, cell[1] + 0.17, 5.5**2 * total))
        best = max(write, key=lambda w: write[w])
        if best != "push":
            axes.text(
                cell[0] + 0.94,
                cell[1] + 0.06,
                show(best),
                fontsize=6,
                ha="right",
                va="bottom",
                gid="write",
            )
    if arrows:
        axes.quiver(*zip(*arrows, strict=True), gid="arrow", color=_BLUE, **_ARROWS)
    if dots:
        x_of, y_of, sizes = zip(*dots, strict=True)
        axes.scatter(
            x_of, y_of, sizes, _ORANGE, edgecolors="black", linewidths=0.5, gid="write", zorder=4
        )


_ARROWS: dict[str, Any] = {
    "angles": "xy",
    "scale_units": "xy",
    "scale": 1,  # lengths are in cells
    "units": "inches",
    "width": 1.3 / 72,
    "headwidth": 3.8,
    "headlength": 4.2,
    "headaxislength": 4.2,
    "minshaft": 2,
    "minlength": 0,
    "zorder": 3,
}
"""Arrows with full heads; short ones are smaller throughout."""


def _normal(row: Ways) -> Ways:
    total = sum(row.values())
    return {way: x / total for way, x in row.items()}


def _shares(
    m: Any, row: Ways, moves: Mapping[Label, GridCell]
) -> tuple[dict[GridCell, float], dict[Label, float]]:
    """The probability of each direction, and of each write that changes the memory."""
    go: dict[GridCell, float] = {}
    write: dict[Label, float] = {}
    for (action, (east, north)), prob in row.items():
        a, w = (action, None) if m is _NO_MEMORY else action
        ahead, left = moves[a]
        way = (ahead * east - left * north, ahead * north + left * east)
        go[way] = go.get(way, 0.0) + float(prob)
        if w is not None and w not in ("keep", "-", m):
            write[w] = write.get(w, 0.0) + float(prob)
    return go, write
