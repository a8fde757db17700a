"""The flow of the oracle loop and its basins of attraction, on a slice with two free
probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.pomdp import POMDP
from workbench.figures.argument import none_left, require_result, split_axes, task_of
from workbench.figures.style import SMALL, style_axes
from workbench.improvement.slice import Pair, PolicySlice, policy_slice

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_LOOKS = (
    ("#FFFFFF", ""),
    ("#F2D8A0", "...."),
    ("#8CC4E8", "////"),
    ("#5FB89A", "xxxx"),
    ("#C98BAE", "++++"),
)
_MOST_ARROWS = 15


def policy_flow(found: Any, *given: Any, axes: Axes | None = None) -> Axes:
    """Arrows show which way the oracle loop sets out, the background which end it reaches from
    there.

    Parameters
    ----------
    found : from `policy_slice(E, pi, x=(o, a), y=(o, a))`; or (E, pi), E or (P, memory): then the
        first two actions at the first observation vary.
    """
    given, axes = split_axes(given, axes)
    if isinstance(found, POMDP):
        task, given = task_of(found, given)
        found = policy_slice(task, *given[:1])
        given = given[1:]
    none_left("policy_flow", given)
    require_result("policy_flow", found, ("at", "basin"), "policy_slice(E, pi, x, y)")
    from matplotlib.patches import Patch, Rectangle

    if axes is None:
        from matplotlib import pyplot

        axes = pyplot.figure(figsize=(7.0, 4.2), layout="constrained").add_subplot()
    cell = 1 / len(found.at)
    for j, i in np.argwhere(found.basin >= 0).tolist():
        colour, hatch = _LOOKS[found.basin[j, i] % len(_LOOKS)]
        corner = (found.at[i] - cell / 2, found.at[j] - cell / 2)
        axes.add_patch(
            Rectangle(
                corner,
                cell,
                cell,
                facecolor=colour,
                edgecolor="0.75",
                hatch=hatch,
                linewidth=0,
                gid="basin",
            )
        )
    every = -(-len(found.at) // _MOST_ARROWS)
    inside = found.basin >= 0
    inside &= (np.indices(inside.shape) % every == every // 2).all(axis=0)
    rows, columns = np.nonzero(inside)
    flow = found.flow[rows, columns]
    speed = np.hypot(*flow.T)
    moving = speed > 1e-9
    reach = 0.62 * cell * every * flow / np.maximum(speed, 1e-12)[:, None]
    axes.quiver(
        found.at[columns][moving],
        found.at[rows][moving],
        *reach[moving].T,
        angles="xy",
        scale_units="xy",
        scale=1,
        pivot="mid",
        width=0.0035,
        color="black",
        gid="flow",
        zorder=3,
    )
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.set_aspect("equal")
    axes.set_xlabel(_name(found, found.x))
    axes.set_ylabel(_name(found, found.y))
    style_axes(axes, closed=True)
    handles = [
        Patch(
            facecolor=_LOOKS[k % len(_LOOKS)][0],
            hatch=_LOOKS[k % len(_LOOKS)][1],
            edgecolor="0.55",
            label=f"value {end}",
        )
        for k, end in enumerate(found.ends)
    ]
    axes.legend(
        handles=handles,
        title="the loop ends at",
        loc="upper left",
        bbox_to_anchor=(1.02, 1),
        fontsize=SMALL,
        title_fontsize=SMALL,
        frameon=False,
        handlelength=2.4,
        handleheight=1.4,
    )
    return axes


def _name(found: PolicySlice, pair: Pair) -> str:
    o, a = pair
    return f"π({found.P.A.text(a)} | {found.P.O.text(o)})"
