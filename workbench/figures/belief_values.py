"""The best value over the beliefs between two or three states, and where which action is best."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.errors import WorkbenchError
from workbench.core.pomdp import POMDP
from workbench.core.space import Label
from workbench.figures.argument import require_result
from workbench.figures.style import SMALL, style_axes
from workbench.optima.best_history import best_history
from workbench.optima.optimum import HistoryOptimum
from workbench.text import did_you_mean

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from workbench.optima.controller import HistoryPolicy

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#000000")
_SECONDS = 5.0
"""Of the search for the policy to draw, where none is given."""

_HATCHES = ("", "//", "..", "xx", "++", "--", "oo")
_POINTS, _SIDE = 241, 61
"""Beliefs on a line, and on the side of a triangle."""


def belief_values(policy: Any, o: Label | None = None, axes: Axes | None = None) -> Axes:
    """The value of acting by belief, over the beliefs about the states that show o.

    Two states make a line with the value above it, three a triangle with lines of equal value.
    Coloured regions name the best action.

    Parameters
    ----------
    policy : `best_history(P)`, its policy, or P itself.
    o : the observation; by default the first that two or three states show.
    """
    if isinstance(policy, POMDP):
        policy = best_history(policy, max_seconds=_SECONDS)
    if isinstance(policy, HistoryOptimum):
        policy = policy.policy
    require_result("belief_values", policy, ("action_values", "P"), "best_history(P).policy")
    P = policy.P
    shown = {x: [s for s in P.S if s not in P.terminal and x in P.omega(s)] for x in P.O}
    if o is None:
        o = next((x for x, states in shown.items() if len(states) in (2, 3)), None)
        if o is None:
            raise WorkbenchError(
                f"no observation of {P.name} is shown by two or three states: beliefs over others "
                "have no picture in the plane"
            )
    if o not in shown:
        raise WorkbenchError(
            f"{P.name} has no observation {o!r}{did_you_mean(str(o), map(str, P.O))}"
        )
    if len(shown[o]) not in (2, 3):
        raise WorkbenchError(
            f"{len(shown[o])} states of {P.name} show o={P.O.text(o)}: two or three can be drawn"
        )
    if axes is None:
        import matplotlib.pyplot as plt

        _, axes = plt.subplots(figsize=(5.2, 3.4), layout="constrained")
    draw = _line if len(shown[o]) == 2 else _triangle
    draw(policy, shown[o], axes)
    where = f" where o={P.O.text(o)} is seen" if len(P.O) > 1 else ""
    style_axes(axes, f"{P.name}: value of a belief{where}", closed=len(shown[o]) == 3)
    return axes


def _look(policy: HistoryPolicy, b: dict[Label, float]) -> tuple[int, float]:
    """The place of the best action, and its value."""
    values = [float(x) for x in policy.action_values(b).values()]
    best = int(np.argmax(values))
    return best, values[best]


def _line(policy: HistoryPolicy, states: list[Label], axes: Axes) -> None:
    P, x = policy.P, np.linspace(0.0, 1.0, _POINTS)
    found = [_look(policy, {states[0]: 1 - y, states[1]: y}) for y in x]
    actions, values = np.array([a for a, _ in found]), np.array([v for _, v in found])
    edges = np.flatnonzero(np.diff(actions)) + 1
    begin = np.concatenate(([0], edges))
    end = np.concatenate((edges, [len(x)]))
    named: set[int] = set()
    for i, j in zip(begin, end, strict=True):
        a = int(actions[i])
        left = 0.0 if i == 0 else (x[i - 1] + x[i]) / 2
        right = 1.0 if j == len(x) else (x[j - 1] + x[j]) / 2
        label = None if a in named else P.A.text(P.A[a])
        axes.axvspan(left, right, label=label, **_region(a))
        named.add(a)
    axes.plot(x, values, color="black", linewidth=1.6)
    axes.set_xlim(0, 1)
    axes.set_xlabel(f"probability of {P.S.text(states[1])} (else {P.S.text(states[0])})")
    axes.set_ylabel("value")
    axes.legend(title="best action", fontsize=SMALL, title_fontsize=SMALL, framealpha=0.9)


def _triangle(policy: HistoryPolicy, states: list[Label], axes: Axes) -> None:
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch
    from matplotlib.tri import Triangulation

    P, n = policy.P, _SIDE
    points = [(i, j) for i in range(n) for j in range(n - i)]
    shares = np.array([((n - 1 - i - j), i, j) for i, j in points]) / (n - 1)
    found = [_look(policy, dict(zip(states, map(float, b), strict=True))) for b in shares]
    corners = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
    x, y = (shares @ corners).T
    actions = np.array([a for a, _ in found])
    used = np.unique(actions).tolist()
    mesh = Triangulation(x, y)
    # a triangle has the colour of one of its corners: a mean of two actions would be a third
    code = np.searchsorted(used, actions).astype(float)[mesh.triangles[:, 0]]
    axes.tripcolor(
        mesh, facecolors=code, alpha=0.35, antialiased=True, linewidth=0, edgecolors="none",
        cmap=ListedColormap([_region(a)["color"] for a in used]), vmin=-0.5, vmax=len(used) - 0.5,
    )  # fmt: skip
    lines = axes.tricontour(mesh, [v for _, v in found], levels=7, colors="black", linewidths=0.8)
    axes.clabel(lines, fontsize=SMALL - 1)
    for s, (u, v), side in zip(states, corners, ("top", "top", "bottom"), strict=True):
        height = v - 0.03 if side == "top" else v + 0.03
        axes.text(u, height, P.S.text(s), ha="center", va=side, fontsize=SMALL)
    patches = [Patch(label=P.A.text(P.A[a]), **(_region(a) | {"hatch": ""})) for a in used]
    axes.legend(
        handles=patches, title="best action", fontsize=SMALL, title_fontsize=SMALL,
        loc="upper left", framealpha=0.9,
    )  # fmt: skip
    axes.set_aspect("equal")
    axes.set_axis_off()
    axes.set_xlim(-0.15, 1.15)
    axes.set_ylim(-0.12, 1.02)


def _region(a: int) -> dict[str, Any]:
    """The look of the region of an action."""
    return {
        "color": _COLOURS[a % len(_COLOURS)], "alpha": 0.35, "linewidth": 0,
        "hatch": _HATCHES[a % len(_HATCHES)],
    }  # fmt: skip
