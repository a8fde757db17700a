"""Lambda sweeps: TD(lambda) values from one-step TD to Monte Carlo, one panel for each
observation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import WorkbenchError
from workbench.core.improve import weights_for
from workbench.core.space import Label
from workbench.evaluation.lambda_sweep import LambdaSweep, sweep_lambda
from workbench.figures.argument import none_left, split_axes, task_and_policy
from workbench.figures.style import style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7", "#56B4E9", "#000000")
_DASHES = ("-", (0, (5, 2)), (0, (1, 1.3)), (0, (6, 2, 1, 2)), (0, (3, 1, 1, 1, 1, 1)))
_SAME = 1e-9
_NAMES = 4
"""Actions named beside a curve; the others are counted."""

_FONT = 8.0

_WIDTH, _CURVES, _LETTER = 7.0, 1.9, 0.062
"""Inches: of a figure, of a panel without names, of a letter of a name."""


def lambda_sweep(sweep: Any, *given: Any, axes: Any = None) -> NDArray[Any]:
    """TD(lambda) values of each action against lambda, one panel for each observation.

    A circle at lambda = 1 marks the Monte Carlo value, which is the true one; a diamond and a
    dotted line mark where greedy changes. Thick lines are the actions that the policy takes.
    Actions with the same values share a curve; those whose values are undefined for some lambda are
    left out.

    Parameters
    ----------
    sweep : from `sweep_lambda(E, pi)`; or (E, pi), E, (P, memory) or a result that has a policy.
        Without a policy the uniform one is followed.
    axes : an array of as many axes as there are observations in the sweep.
    """
    given, axes = split_axes(given, axes)
    if not isinstance(sweep, LambdaSweep):
        call = "sweep_lambda(E, pi)"
        E, pi = task_and_policy("lambda_sweep", sweep, given, call, best=False)
        sweep = sweep_lambda(E, pi, weights=weights_for(E, pi))
    else:
        none_left("lambda_sweep", given)
    axes = _panels(sweep, axes)
    for place, (o, one) in enumerate(zip(sweep.o, axes.ravel(), strict=False)):
        _draw(sweep, place, o, one)
    for one in axes.ravel()[len(sweep.o) :]:
        one.set_axis_off()
    return axes


def _panels(sweep: LambdaSweep, axes: Any) -> NDArray[Any]:
    count = len(sweep.o)
    if axes is not None:
        given = np.atleast_1d(np.asarray(axes, dtype=object))
        if given.size < count:
            raise WorkbenchError(
                f"the sweep has {count} observations: give as many axes, not {given.size}"
            )
        return given
    from matplotlib import pyplot

    # Names stand beside their curves: as many panels in a row as leave the curves some width.
    longest = max(
        len(_names(sweep, members))
        for place in range(count)
        for members in _distinct(sweep.q[:, place, :]) or [[]]
    )
    across = max(1, min(count, 3, int(_WIDTH / (_CURVES + _LETTER * longest))))
    down = -(-count // across)
    figure = pyplot.figure(figsize=(_WIDTH, 2.7 * down), layout="constrained")
    found: NDArray[Any] = figure.subplots(down, across, squeeze=False)
    return found


def _draw(sweep: LambdaSweep, place: int, o: Label, axes: Axes) -> None:
    P = sweep.P
    curves = _distinct(sweep.q[:, place, :])
    taken = sweep.pi.prob.floats[P.O.index(o)] > 0
    ends = []
    for k, members in enumerate(curves):
        q = sweep.q[:, place, members[0]]
        own = bool(taken[members].any())
        look: dict[str, Any] = {
            "color": _COLOURS[k % len(_COLOURS)],
            "linestyle": _DASHES[k % len(_DASHES)],
            "linewidth": 2.4 if own else 1.2,
        }
        axes.plot(sweep.lam, q, label=_names(sweep, members), gid="curve", **look)
        axes.plot(
            [1],
            [q[-1]],
            "o",
            color=look["color"],
            markersize=5,
            markeredgecolor="black",
            gid="true",
            zorder=4,
            clip_on=False,
        )
        ends.append((float(q[-1]), _names(sweep, members), look["color"]))
    for crossing in sweep.crossings:
        if crossing.o == o:
            axes.plot(
                [crossing.lam],
                [crossing.q],
                "D",
                color="black",
                markersize=5,
                gid="crossing",
                zorder=5,
                clip_on=False,
            )
            axes.axvline(crossing.lam, color="0.4", linewidth=0.8, linestyle=":", zorder=0)
    _label_ends(axes, ends)
    axes.set_xlim(0, 1)
    axes.set_xticks([0, 0.5, 1], ["0\nTD", "0.5", "1\nMC"])
    axes.set_xlabel("λ", labelpad=-6)
    style_axes(axes, f"q at {P.O.text(o)}")


def _distinct(q: NDArray[np.float64]) -> list[list[int]]:
    """Actions grouped by equal curves `q[lam, a]`."""
    groups: list[list[int]] = []
    for a in range(q.shape[1]):
        if np.isnan(q[:, a]).any():
            continue
        for group in groups:
            if np.allclose(q[:, group[0]], q[:, a], rtol=0, atol=_SAME):
                group.append(a)
                break
        else:
            groups.append([a])
    return groups


def _names(sweep: LambdaSweep, members: list[int]) -> str:
    P = sweep.P
    shown = ", ".join(P.A.text(P.A[a]) for a in members[:_NAMES])
    return shown + (f" +{len(members) - _NAMES}" if len(members) > _NAMES else "")


def _label_ends(axes: Axes, ends: list[tuple[float, str, str]]) -> None:
    """The names at the right end of their curves, pushed apart where they would touch."""
    if not ends:
        return
    axes.margins(y=0.12)
    axes.autoscale_view()
    low, high = axes.get_ylim()
    apart = 0.085 * (high - low)
    at = -np.inf
    named = sorted(ends, key=lambda end: end[0])
    heights = []
    for y, _, _ in named:
        at = max(y, at + apart)
        heights.append(at)
    if (over := heights[-1] - high) > 0:
        heights[-1] -= over
        for i in range(len(heights) - 2, -1, -1):
            heights[i] = min(heights[i], heights[i + 1] - apart)
    for (y, name, colour), height in zip(named, heights, strict=True):
        axes.annotate(
            name,
            (1, y),
            (1.09, height),
            textcoords="data",
            fontsize=_FONT,
            color=colour,
            va="center",
            annotation_clip=False,
            gid="name",
            arrowprops={
                "arrowstyle": "-",
                "color": colour,
                "linewidth": 0.6,
                "relpos": (0, 0.5),  # at the left end of the name, so that it crosses no other
                "shrinkA": 0,
                "shrinkB": 3,
            },
        )
