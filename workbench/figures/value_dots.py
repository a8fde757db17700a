"""The exact values of the policies that learners end with, beside lines that bound them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from workbench.figures.curves import memory_style
from workbench.figures.style import style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_DASHES = ("--", ":", "-.")
_HALF_COLUMN = 0.36


class MeasuredRun(Protocol):
    """A result that `value_dots` draws, for instance a `Run` with measured values."""

    @property
    def measured(self) -> NDArray[np.float64] | None:
        """`measured[seed, block]`, NaN where nothing is known."""


class CheckedRun(MeasuredRun, Protocol):
    """A result that `value_curves` draws, for instance a `Run` with some measured values."""

    @property
    def ends(self) -> NDArray[np.int64]:
        """`ends[block]`: how many steps were done at the end of each block."""


def value_dots(
    runs: Mapping[str, MeasuredRun],
    lines: Mapping[str, float],
    axes: Axes,
    reach: Mapping[str, tuple[float, float]] | None = None,
) -> Axes:
    """Dots for the last exact value of each seed, in a column for each memory. There is a line for
    each named value. A column without a known value says so.

    Parameters
    ----------
    runs : by the name of the memory.
    lines : values by what they are, drawn from side to side.
    reach : between which two values the best with a memory lies: a line across its column where
        they are one, a bar from one to the other where they are not.
    """
    for place, (memory, run) in enumerate(runs.items()):
        assert run.measured is not None
        if reach is not None and memory in reach:
            least, most = reach[memory]
            left, right = place - _HALF_COLUMN, place + _HALF_COLUMN
            if most > least:
                axes.fill_between([left, right], least, most, color="0.88", linewidth=0, zorder=-1)
            axes.hlines(sorted({least, most}), left, right, color="0.45", linewidth=2, zorder=0)
        known = run.measured[:, -1]
        known = known[np.isfinite(known)]
        style = memory_style(memory)
        shift = np.linspace(-0.2, 0.2, len(known)) if len(known) > 1 else np.zeros(len(known))
        axes.plot(
            place + shift, known, color=style["color"], marker=style["marker"], linestyle="none"
        )
        if not len(known):
            axes.annotate(
                "no value", (place, 0.02), xycoords=("data", "axes fraction"), ha="center", size=7
            )
    for i, (name, value) in enumerate(lines.items()):
        axes.axhline(value, color="black", linewidth=1, linestyle=_DASHES[i % 3], zorder=0)
        axes.annotate(
            name,
            (1.01, value),
            xycoords=("axes fraction", "data"),
            va="center",
            size=8,
            annotation_clip=False,
        )
    axes.set_xticks(range(len(runs)), [memory_style(memory)["label"] for memory in runs])
    axes.set_xlim(-0.6, len(runs) - 0.4)
    axes.margins(y=0.15)
    axes.set_ylabel("exact value, greedy")
    style_axes(axes)
    return axes


def value_curves(runs: Mapping[str, CheckedRun], lines: Mapping[str, float], axes: Axes) -> Axes:
    """The exact values of greedy policies during training, by memory. They are shown by the median
    over seeds, and the range from the worst to the best seed.

    Parameters
    ----------
    runs : by the name of the memory; blocks in which nothing was measured are left out.
    lines : values by what they are, drawn from side to side.
    """
    for memory, run in runs.items():
        assert run.measured is not None
        known = np.isfinite(run.measured).any(axis=0)
        if not known.any():
            continue
        x, values = run.ends[known] / 1e6, run.measured[:, known]
        style = memory_style(memory)
        least, most = np.nanmin(values, axis=0), np.nanmax(values, axis=0)
        axes.fill_between(x, least, most, color=style["color"], alpha=0.12, linewidth=0)
        axes.plot(x, np.nanmedian(values, axis=0), **style)
    for i, value in enumerate(lines.values()):
        axes.axhline(value, color="black", linewidth=1, linestyle=_DASHES[i % 3], zorder=0)
    axes.set_xlabel("steps (millions)")
    axes.set_ylabel("exact value, greedy")
    axes.set_ylim(bottom=0)
    style_axes(axes)
    return axes
