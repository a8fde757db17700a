"""Phase portraits of learners: regions of greedy policies, the mean field, fixed points and
runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.augment import augment
from workbench.core.errors import WorkbenchError
from workbench.core.learners import Learner
from workbench.core.pomdp import POMDP
from workbench.equilibrium.equilibria import Equilibria
from workbench.equilibrium.phase_plane import Pair, PhasePlane, phase_plane
from workbench.figures.argument import require_result
from workbench.figures.style import SMALL, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = ("#F2D8A0", "#8CC4E8", "#5FB89A", "#C98BAE", "#E5E5E5", "#F4B6A6")
_HATCHES = ("", "//", "..", "xx", "\\\\", "++")
_MOST_ARROWS = 17
_MOST_POINTS = 6
"""Fixed points that are marked: there are as many markers."""


def phase_portrait(
    plane: Any,
    runs: Any = (),
    points: Any = None,
    axes: Axes | None = None,
) -> Axes:
    """The mean field on a plane of tables: the background tells the greedy policy, arrows the way.

    Parameters
    ----------
    plane : from `phase_plane(P, learner, x, y, ...)`; or (E, learner), or (P, memory, learner); or
        from `equilibria(P, learner)`, whose best fixed points are marked.
    runs : tables `[k, o, a]`, such as `run_path(...)` gives; each is drawn as a line.
    points : {name: a table `[o, a]`} to mark, such as the q of an equilibrium.
    """
    if isinstance(plane, POMDP) and isinstance(points, Learner):  # (P, memory, learner)
        plane, runs, points = augment(plane, runs), points, None
    if isinstance(plane, POMDP) and isinstance(runs, Learner):
        plane, runs = phase_plane(plane, runs), ()
    if isinstance(plane, Equilibria):
        plane, points = _around(plane)
    require_result("phase_portrait", plane, ("region", "flow"), "phase_plane(P, learner, ...)")
    from matplotlib.patches import Patch

    if axes is None:
        from matplotlib import pyplot

        axes = pyplot.figure(figsize=(7.0, 5.6), layout="constrained").add_subplot()
    count = len(plane.policies)
    for k in range(count):  # one by one: between regions 0 and 2 there is no region 1
        drawn = axes.contourf(
            plane.at_x,
            plane.at_y,
            plane.region == k,
            levels=[0.5, 1.5],
            colors=[_COLOURS[k % len(_COLOURS)]],
            hatches=[_HATCHES[k % len(_HATCHES)]],
        )
        drawn.set_edgecolor("0.6")
        drawn.set_linewidth(0.0)
    _arrows(plane, axes)
    handles: list[Any] = [
        Patch(
            facecolor=_COLOURS[k % len(_COLOURS)],
            hatch=_HATCHES[k % len(_HATCHES)],
            edgecolor="0.55",
            label=_policy_text(plane, k),
        )
        for k in range(count)
    ]
    for k, run in enumerate(runs):
        path = _projected(plane, run, 3)
        (line,) = axes.plot(*path, color="black", linewidth=0.9, gid="run", zorder=4)
        if k == 0:
            line.set_label("a run")
            handles.append(line)
    for marker, (name, table) in zip("o*sD^v", (points or {}).items(), strict=False):
        at = _projected(plane, table, 2)
        (dot,) = axes.plot(
            *at,
            marker,
            markersize=10,
            color="white",
            mec="black",
            label=name,
            zorder=5,
            gid="point",
        )
        handles.append(dot)
    axes.set_xlim(plane.at_x[0], plane.at_x[-1])
    axes.set_ylim(plane.at_y[0], plane.at_y[-1])
    axes.set_xlabel(_entry_text(plane, plane.x))
    axes.set_ylabel(_entry_text(plane, plane.y))
    style_axes(axes, closed=True)
    axes.legend(
        handles=handles,
        title="greedy policy",
        alignment="left",
        loc="upper left",
        bbox_to_anchor=(0.0, -0.14),
        fontsize=SMALL,
        title_fontsize=SMALL,
        frameon=False,
        handlelength=2.2,
    )
    return axes


def _around(found: Equilibria) -> tuple[PhasePlane, dict[str, Any]]:
    """The plane through the best fixed point, wide enough for the next best, and their tables."""
    tables = [np.asarray(one.q.array, dtype=float) for one in found.found[:_MOST_POINTS]]
    base = np.nan_to_num(tables[0]) if tables else None  # rows that are never seen are undefined
    plane = phase_plane(found.P, found.learner, base=base)
    if tables:
        x, y = _projected(plane, np.stack(tables), 3)
        ends = []
        for at, shown in ((plane.at_x, x), (plane.at_y, y)):
            low, high = min(at[0], np.nanmin(shown)), max(at[-1], np.nanmax(shown))
            ends.append((low - 0.05 * (high - low), high + 0.05 * (high - low)))
        plane = phase_plane(found.P, found.learner, base=base, width=ends[0], height=ends[1])
    return plane, {f"fixed point {i + 1}": table for i, table in enumerate(tables)}


def _arrows(plane: PhasePlane, axes: Axes) -> None:
    """Arrows of one length in the picture. The field's speed differs by orders of magnitude."""
    every = max(1, len(plane.at_x) // _MOST_ARROWS)
    at = slice(every // 2, None, every)
    flow = plane.flow[at, at]
    size = np.array([np.ptp(plane.at_x), np.ptp(plane.at_y)])
    shown = flow / size
    speed = np.hypot(shown[..., 0], shown[..., 1])
    shown = np.divide(shown, speed[..., None], out=np.zeros_like(shown), where=speed[..., None] > 0)
    axes.quiver(
        plane.at_x[at],
        plane.at_y[at],
        shown[..., 0],
        shown[..., 1],
        angles="uv",
        pivot="mid",
        scale=30,
        width=0.003,
        color="0.25",
        gid="flow",
        zorder=3,
    )


def _projected(plane: PhasePlane, tables: Any, dimensions: int) -> tuple[Any, Any]:
    found = np.asarray(tables, dtype=float)
    shape = (len(plane.P.O), len(plane.P.A))
    if found.ndim != dimensions or found.shape[-2:] != shape:
        raise WorkbenchError(f"a table of {plane.P.name} has the shape {shape}, not {found.shape}")
    spots = [(plane.P.O.index(o), plane.P.A.index(a)) for o, a in (plane.x, plane.y)]
    x, y = (found[..., o, a] for o, a in spots)
    return np.atleast_1d(x), np.atleast_1d(y)


def _entry_text(plane: PhasePlane, pair: Pair) -> str:
    o, a = pair
    return f"q({plane.P.O.text(o)}, {plane.P.A.text(a)})"


def _policy_text(plane: PhasePlane, k: int) -> str:
    return "; ".join(
        f"{plane.P.O.text(o)} → {plane.P.A.text(a)}" for o, a in plane.policies[k].items()
    )
