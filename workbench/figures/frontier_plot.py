"""Best values against numbers of memory states: families as marks, all controllers as a line."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from workbench.core.pomdp import POMDP
from workbench.figures.argument import none_left, require_result, split_axes
from workbench.figures.curves import memory_style
from workbench.figures.style import SMALL, style_axes
from workbench.sufficiency.frontier import Frontier, FrontierPoint, frontier

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LINE = "#0072B2"
_BESIDE = 0.12
"""Between marks of the same place."""


def frontier_plot(result: Frontier | POMDP, *given: Any, axes: Axes | None = None) -> Axes:
    """The frontier of a task.

    The stairs are the best controllers of n nodes, shaded up to the bound where they are not
    certified; marks are the families' memories at their numbers of memory states, hollow where they
    are not certified; the dashed line is the best value of the whole history, a band where it is
    only bounded.

    Parameters
    ----------
    result : from `frontier(P)`; or P, whose frontier of up to three nodes is computed.
    """
    given, axes = split_axes(given, axes)
    none_left("frontier_plot", given)
    if isinstance(result, POMDP):
        result = frontier(result, up_to=3)
    require_result("frontier_plot", result, ("points", "steps"), "frontier(P)")
    from matplotlib import pyplot

    if axes is None:
        axes = pyplot.figure(figsize=(7.0, 3.6), layout="constrained").add_subplot()
    steps = [x for x in result.steps if math.isfinite(x.value)]
    edges = [x.nodes for x in steps] + ([steps[-1].nodes + 1] if steps else [])
    axes.stairs(
        [float(x.value) for x in steps], edges, baseline=None, color=_LINE, linewidth=1.6,
        label="controllers",
    )  # fmt: skip
    for x in steps:
        if not x.certified:
            axes.fill_between(
                [x.nodes, x.nodes + 1], float(x.value), float(x.bound), color=_LINE, alpha=0.15
            )
    alike: dict[tuple[int, float], list[FrontierPoint]] = {}
    for point in result.points:
        if math.isfinite(point.value) and not point.memory.startswith("F"):
            alike.setdefault((point.states, float(point.value)), []).append(point)
    named: set[str] = set()
    for (states, value), points in alike.items():
        for i, point in enumerate(points):
            kind = point.memory.rstrip("0123456789")
            look = memory_style(point.memory)
            axes.plot(
                [states + 0.5 + _BESIDE * (i - (len(points) - 1) / 2)],
                [value],
                color=look["color"],
                marker=look["marker"],
                fillstyle="full" if point.certified else "none",
                linestyle="",
                markersize=6,
                label=None if kind in named else kind,
                gid=point.memory,
            )
            named.add(kind)
        words = ", ".join(point.memory for point in points)
        axes.annotate(
            words,
            (states + 0.5, value),
            (0, 6),
            textcoords="offset points",
            fontsize=7,
            ha="center",
        )
    lower, upper = float(result.history.lower), float(result.history.upper)
    if math.isfinite(upper):
        axes.axhline(upper, color="0.3", linestyle="--", linewidth=1, label="histories")
        if upper - lower > 1e-9 * max(1.0, abs(upper)):
            axes.axhspan(lower, upper, color="0.5", alpha=0.15)
    ticks = sorted({*edges[:-1], *(states for states, _ in alike)})
    axes.set_xticks([x + 0.5 for x in ticks], [str(x) for x in ticks])
    axes.margins(y=0.12)
    axes.set_xlabel("memory states (nodes)")
    axes.set_ylabel("best value")
    style_axes(axes, result.P.name)
    axes.legend(fontsize=SMALL, frameon=False)
    return axes
