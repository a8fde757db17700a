"""Curves over time: learning curves, values of greedy policies, and values of the oracle loop. It
also holds the style of each memory.

A memory's family gives the colour and the marker, its size the line (1 solid, 2 dashed, beyond
dotted), so that curves can be told apart in black and white and by people who do not see all
colours (the colours are those of Okabe and Ito).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.improve import improve
from workbench.core.pomdp import POMDP
from workbench.figures.argument import (
    none_left,
    refuse,
    require_result,
    results_by_memory,
    split_axes,
    task_of,
)
from workbench.figures.style import SMALL, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = {"none": "#0072B2", "K": "#7F7F7F", "B": "#009E73", "O": "#E69F00", "OA": "#D55E00"}
_MARKERS = {"none": "x", "K": "s", "B": "^", "O": "o", "OA": "D"}
_OTHER = ("#000000", "v")
_LINES = {0: "-", 1: "-", 2: (0, (5, 2))}
_LARGER = (0, (1, 1.5))
_MARKS_ON_A_CURVE = 8
_KEPT = "learn(E, learner, policies=True)"


def memory_style(memory: str) -> dict[str, Any]:
    """The line style of a memory, as keyword arguments of `Axes.plot`.

    >>> memory_style("B2")["color"] == memory_style("B1")["color"]
    True
    """
    found = re.fullmatch(r"(none|K|B|OA|O)(\d*)", memory)
    family, size = (found[1], int(found[2] or 0)) if found else (memory, 1)
    return {
        "color": _COLOURS.get(family, _OTHER[0]),
        "marker": _MARKERS.get(family, _OTHER[1]),
        "linestyle": _LINES.get(size, _LARGER),
        "markersize": 4,
        "linewidth": 1.4,
        "label": "None" if memory == "none" else memory,
    }


def learning_curves(
    runs: Any,
    axes: Axes | None = None,
    optimum: float | None = None,
    best: str = "optimum",
    by_episode: bool = False,
) -> Axes:
    """Average reward per 100 steps by memory: the mean over seeds, and half a standard deviation on
    either side.

    Parameters
    ----------
    runs : a run, several, or runs by the name of the memory.
    optimum : drawn as a horizontal line; best : what it is the best of, for the legend.
    by_episode : the reward per episode instead, over the seeds that ended one in a block.
    """
    call = "learn(E, learner)"
    runs = results_by_memory("learning_curves", runs, ("per_100", "ends"), call)
    new, axes = axes is None, _axes(axes)
    furthest, lowest = 0.0, 0.0 if optimum is None else optimum
    size, words = _unit(max((int(run.ends[-1]) for run in runs.values()), default=0))
    for place, (memory, run) in enumerate(runs.items()):
        x = run.ends / size
        mean, half = _mean_and_half(_per_episode(run) if by_episode else run.per_100)
        style = memory_style(memory)
        axes.fill_between(x, mean - half, mean + half, color=style["color"], alpha=0.2, linewidth=0)
        axes.plot(x, mean, markevery=_marks(len(x), place, len(runs)), **style)
        furthest, lowest = max(furthest, float(x[-1])), min(lowest, float(np.nanmin(mean - half)))
        axes.set_xlim(0, furthest)
    if new:
        axes.fill_between([], [], color="0.5", alpha=0.3, label="± s.d. / 2")
    _optimum(axes, optimum, best)
    if lowest >= 0:  # costs lie below zero and are not cut off
        axes.set_ylim(bottom=0)
    axes.set_xlabel(words)
    axes.set_ylabel("reward per episode" if by_episode else "reward per 100 steps")
    style_axes(axes)
    _legend(axes, new)
    return axes


def _per_episode(run: Any) -> NDArray[np.float64]:
    """The reward per episode that ended in a block, `[seed, block]`. NaN where none did."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(run.episodes > 0, run.rewards / run.episodes, np.nan)


def _mean_and_half(
    curves: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The mean over the seeds with a value, and half their standard deviation. NaN where none has
    one."""
    known = np.isfinite(curves)
    with np.errstate(invalid="ignore"):
        mean = np.where(known, curves, 0).sum(axis=0) / known.sum(axis=0)
        square = np.where(known, (curves - mean) ** 2, 0).sum(axis=0) / known.sum(axis=0)
    return mean, np.sqrt(square) / 2


def greedy_values(
    ends: Any,
    values: NDArray[np.float64] | None = None,
    memory: str = "",
    axes: Axes | None = None,
    optimum: float | None = None,
) -> Axes:
    """The value of the greedy policy at every checkpoint, of one run, drawn over the block that
    ends there.

    Parameters
    ----------
    ends, values : `ends[checkpoint]`, the steps done, and `values[checkpoint]`; or a run that kept
        its policies, whose first seed is drawn.
    """
    if values is None or isinstance(ends, POMDP):
        memory = memory or next(iter(results_by_memory("greedy_values", ends, ("ends",), _KEPT)))
        ends, values = _checkpoints("greedy_values", ends)
        values = values[0]
    axes = _axes(axes)
    style = memory_style(memory)
    size, words = _unit(int(ends[-1]))
    x, y = np.append(0, ends / size), np.append(values[:1], values)
    axes.plot(
        x, y, drawstyle="steps-pre", color=style["color"], linewidth=1.2, label=style["label"]
    )
    _optimum(axes, optimum)
    axes.set_xlim(0, ends[-1] / size)
    axes.set_ylim(-0.06, 1.12 * max(1.0, optimum or 0.0))
    axes.set_xlabel(words)
    axes.set_ylabel("value")
    style_axes(axes)
    return axes


def greedy_raster(
    ends: Any, values: NDArray[np.float64] | None = None, axes: Axes | None = None
) -> Axes:
    """The values of many runs' greedy policies as an image. There is a row for each seed and a
    column for each checkpoint. 1 is dark, 0 white.

    Parameters
    ----------
    ends, values : `ends[checkpoint]`, the steps done, and `values[seed, checkpoint]`; or a run that
        kept its policies.
    """
    from matplotlib.ticker import MaxNLocator

    if values is None or isinstance(ends, POMDP):
        ends, values = _checkpoints("greedy_raster", ends)
    axes = _axes(axes)
    size, words = _unit(int(ends[-1]))
    axes.imshow(
        values,
        aspect="auto",
        interpolation="nearest",
        cmap="Greys",
        vmin=0,
        vmax=1.4,
        extent=(0, ends[-1] / size, len(values) - 0.5, -0.5),
    )
    axes.set_xlabel(words)
    axes.set_ylabel("seed")
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    style_axes(axes, closed=True)
    return axes


def _checkpoints(figure: str, run: Any) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The ends of a run's blocks, and the values of its greedy policies there."""
    require_result(figure, run, ("ends", "values"), _KEPT)
    known = run.measured
    return run.ends, known if known is not None and np.isfinite(known).all() else run.values()


def oracle_values(
    loops: Any,
    *given: Any,
    axes: Axes | None = None,
    optimum: float | None = None,
    best: str = "optimum",
) -> Axes:
    """The value of the policy at each iterate of the oracle loop, by memory. `optimum` and `best`
    as in `learning_curves`.

    Parameters
    ----------
    loops : what `improve(E)` returns, several of these, or by the name of the memory; or E, or (P,
        memory), for which the loop is run.
    """
    given, axes = split_axes(given, axes)
    if isinstance(loops, POMDP):
        task, given = task_of(loops, given)
        loops = improve(task)
    none_left("oracle_values", given)
    loops = results_by_memory("oracle_values", loops, ("values",), "improve(E, pi)")
    new, axes = axes is None, _axes(axes)
    furthest = 0
    for place, (memory, loop) in enumerate(loops.items()):
        if callable(loop.values):  # a learner's run
            refuse("oracle_values", loop, "improve(E, pi)")
        values = [float(value) for value in loop.values]
        axes.plot(values, markevery=_marks(len(values), place, len(loops)), **memory_style(memory))
        furthest = max(furthest, len(values))
        axes.set_xlim(0, furthest)
    _optimum(axes, optimum, best)
    axes.set_xlabel("iterate")
    axes.set_ylabel("value")
    style_axes(axes)
    _legend(axes, new)
    return axes


def _unit(steps: int) -> tuple[float, str]:
    """The unit of an axis of steps, and the name of the axis."""
    if steps >= 1_000_000:
        return 1e6, "steps (millions)"
    return (1e3, "steps (thousands)") if steps >= 10_000 else (1.0, "steps")


def _axes(axes: Axes | None) -> Axes:
    if axes is not None:
        return axes
    from matplotlib import pyplot

    return pyplot.figure(figsize=(7.0, 3.2), layout="constrained").add_subplot()


def _legend(axes: Axes, new: bool) -> None:
    """Draw the legend beside the axes of a new figure. Who brings axes places the legend."""
    if new:
        axes.legend(
            loc="upper left",
            bbox_to_anchor=(1.01, 1),
            fontsize=SMALL,
            frameon=False,
            handlelength=3,
        )


def _marks(points: int, place: int, curves: int) -> tuple[int, int]:
    """Where the markers of a curve stand: evenly, and not on top of those of the other curves."""
    spacing = max(1, points // _MARKS_ON_A_CURVE)
    return place * spacing // max(1, curves), spacing


def _optimum(axes: Axes, optimum: float | None, best: str = "optimum") -> None:
    if optimum is not None:
        axes.axhline(
            optimum,
            color="black",
            linewidth=0.9,
            linestyle=(0, (8, 3, 1, 3)),
            label=best,
            zorder=0,
        )
