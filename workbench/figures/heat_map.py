"""Policies and q-values as heat maps. There is a row for each observation, a column for each
action, and the number in each cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import TooLarge
from workbench.core.evaluate import evaluate
from workbench.core.improve import weights_for
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.space import Label, Space
from workbench.figures.argument import none_left, policy_in, refuse, split_axes, task_and_policy
from workbench.figures.canvas import text_size
from workbench.tables.table import Table
from workbench.text import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_CELLS = 1_200
"""Larger tables are refused."""

_SHORT = 7
"""Exact numbers of more characters than this are shown as decimals."""

_MOST_COLUMNS = 16
"""Of a table that does not stand up."""

_WIDTH = 7.0
_FONT = 8.0


def _cell(x: Any) -> str:
    """A number for a cell: a short fraction or three digits. Nothing where it is undefined."""
    return shown(x, digits=3, longest=_SHORT, undefined="", noise=5e-13)


def policy_table(
    pi: Any, *given: Any, axes: Axes | None = None, rows: Sequence[Label] | None = None
) -> Axes:
    """pi(a | o) as a heat map: dark is probable, an empty cell is never.

    Parameters
    ----------
    pi : a policy, or a result that has one, such as `improve(E)` or `best_memoryless(E)`; or (E,
        pi), E or (P, memory). Without a policy the best one is drawn.
    rows : the observations to show; all if None.
    """
    given, axes = split_axes(given, axes)
    call = "uniform(E), Policy(E, ...) or best_memoryless(E).policy"
    if isinstance(pi, POMDP):
        policy: Policy | None = task_and_policy("policy_table", pi, given, call)[1]
    else:
        none_left("policy_table", given)
        policy = policy_in(pi)
    if policy is None:
        refuse("policy_table", pi, call)
    pi = policy
    places = [pi.O.index(o) for o in rows] if rows is not None else list(range(len(pi.O)))
    numbers = pi.prob.objects if pi.is_exact else pi.prob.floats
    cells = np.asarray(numbers)[places].astype(object)
    heat = pi.prob.floats[places].astype(float)
    texts = [["" if x == 0 else _cell(x) for x in row] for row in cells]
    return _heat_map(
        "π(a | o)", heat, texts, [pi.O[i] for i in places], pi.O, pi.A, "Blues", (0.0, 1.35), axes
    )


def q_table(
    values: Any,
    *given: Any,
    axes: Axes | None = None,
    pi: Policy | None = None,
    rows: Sequence[Label] | None = None,
) -> Axes:
    """The q-values q(o, a) as a heat map: light is high. Undefined cells are hatched.

    Parameters
    ----------
    values : an `Evaluation`, or `TDValues`, or a table of numbers such as `switch_values(E, pi)`;
        or (E, pi), E, (P, memory) or a result that has a policy. Without a policy the uniform one
        is evaluated.
    pi : a policy whose actions get a frame, such as the greedy one.
    rows : the observations to show; all on which the agent acts if None.
    """
    given, axes = split_axes(given, axes)
    if isinstance(values, Table):
        none_left("q_table", given)
        title, q, O, A = values.title, values, values.rows, values.columns
        places = list(range(len(O))) if rows is None else [O.index(o) for o in rows]
        return _number_map(title or "q(o, a)", q, O, A, places, pi, axes)
    if not hasattr(values, "q"):
        call = "evaluate(E, pi) or td_values(E, pi)"
        E, followed = task_and_policy("q_table", values, given, call, best=False)
        values = evaluate(E, followed, weights=weights_for(E, followed))
    else:
        none_left("q_table", given)
    P, q = values.P, values.q
    places = (
        [P.O.index(o) for o in rows] if rows is not None else np.flatnonzero(P.decides).tolist()
    )
    return _number_map("q(o, a)", q, P.O, P.A, places, pi, axes)


def _number_map(
    title: str,
    q: Table,
    O: Space,
    A: Space,
    places: list[int],
    pi: Policy | None,
    axes: Axes | None,
) -> Axes:
    """Draw some rows of a table, with a frame around the actions that pi takes."""
    cells = q.array[places].astype(object)
    heat = np.array([[np.nan if x is None else float(x) for x in row] for row in cells]).reshape(
        cells.shape
    )
    texts = [[_cell(x) for x in row] for row in cells]
    known = heat[~np.isnan(heat)]
    low, high = (float(known.min()), float(known.max())) if known.size else (0.0, 1.0)
    if low == high:
        low, high = low - 1, high + 1
    chosen = (
        np.zeros(heat.shape, dtype=bool)
        if pi is None
        else (pi.prob.floats[places] > 0) & ~np.isnan(heat)
    )
    return _heat_map(
        title,
        heat,
        texts,
        [O[i] for i in places],
        O,
        A,
        "cividis",
        (low, high),
        axes,
        chosen,
    )


@dataclass(frozen=True)
class _Layout:
    """The layout of a table: labels of rows and columns, and sizes in inches. It says whether the
    table was transposed and its column labels stand upright."""

    rows: list[str]
    columns: list[str]
    turned: bool
    upright: bool
    room: float
    height: float


def _layout(rows: list[str], columns: list[str]) -> _Layout:
    turned = len(columns) > _MOST_COLUMNS and len(rows) < len(
        columns
    )  # wide and low reads better standing up
    if turned:
        rows, columns = columns, rows
    room = (_WIDTH - 0.3 - max(text_size(label, _FONT)[0] for label in rows)) / len(columns)
    widest = max(text_size(label, _FONT)[0] for label in columns)
    upright = widest + 0.1 > room
    return _Layout(
        rows, columns, turned, upright, room, 0.27 * len(rows) + 0.55 + (widest if upright else 0.2)
    )


def _heat_map(
    title: str,
    heat: NDArray[np.float64],
    texts: list[list[str]],
    observations: list[Label],
    O: Space,
    A: Space,
    colours: str,
    limits: tuple[float, float],
    axes: Axes | None,
    chosen: NDArray[np.bool_] | None = None,
) -> Axes:
    if heat.size > MOST_CELLS:
        raise TooLarge(
            f"a table of {heat.shape[0]} rows and {heat.shape[1]} columns cannot be read; name "
            "some rows"
        )
    names = O.legend or "observation", A.legend or "action"
    chosen = np.zeros(heat.shape, dtype=bool) if chosen is None else chosen
    layout = _layout([O.text(o) for o in observations], [A.text(a) for a in A])
    rows, columns = layout.rows, layout.columns
    if layout.turned:
        names = (names[1], names[0])
        heat, chosen, texts = (
            heat.T,
            chosen.T,
            [list(column) for column in zip(*texts, strict=True)],
        )
    if axes is None:
        from matplotlib import pyplot

        axes = pyplot.figure(figsize=(_WIDTH, layout.height), layout="constrained").add_subplot()
    _fill(axes, heat, texts, chosen, colours, limits, layout.room)
    axes.set_xticks(
        range(len(columns)), columns, fontsize=_FONT, rotation=90 if layout.upright else 0
    )
    axes.set_yticks(range(len(rows)), rows, fontsize=_FONT)
    axes.set_xticks(np.arange(len(columns) + 1) - 0.5, minor=True)
    axes.set_yticks(np.arange(len(rows) + 1) - 0.5, minor=True)
    axes.grid(which="minor", color="white", linewidth=1)
    axes.tick_params(which="both", length=0)
    axes.set_title(f"{title}   rows: {names[0]}; columns: {names[1]}", fontsize=9)
    return axes


def _fill(
    axes: Axes,
    heat: NDArray[np.float64],
    texts: list[list[str]],
    chosen: NDArray[np.bool_],
    colours: str,
    limits: tuple[float, float],
    room: float,
) -> None:
    """Draw colours, numbers, hatches and frames. `room` is the width of a cell in inches."""
    from matplotlib import colormaps
    from matplotlib.patches import Rectangle

    longest = max((text_size(text, _FONT)[0] for line in texts for text in line), default=0.1)
    size = _FONT * min(1.0, 0.92 * room / max(longest, 1e-9))
    axes.imshow(heat, cmap=colours, vmin=limits[0], vmax=limits[1], aspect="auto")
    for i, j in np.ndindex(heat.shape):
        if np.isnan(heat[i, j]):
            axes.add_patch(
                Rectangle(
                    (j - 0.5, i - 0.5),
                    1,
                    1,
                    hatch="////",
                    facecolor="white",
                    edgecolor="0.65",
                    linewidth=0,
                    gid="undefined",
                )
            )
        elif texts[i][j]:
            red, green, blue, _ = colormaps[colours](
                (heat[i, j] - limits[0]) / (limits[1] - limits[0])
            )
            dark = 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.5
            axes.text(
                j,
                i,
                texts[i][j],
                ha="center",
                va="center",
                fontsize=size,
                color="white" if dark else "black",
                gid="number",
            )
        if chosen[i, j]:
            axes.add_patch(
                Rectangle(
                    (j - 0.47, i - 0.44),
                    0.94,
                    0.88,
                    fill=False,
                    edgecolor="#D55E00",
                    linewidth=2,
                    gid="chosen",
                )
            )
