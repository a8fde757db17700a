"""The one style of the pictures: how large words are, and which sides axes have."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WORDS, SMALL = 9, 8
"""Points of the words of titles and axes, and of ticks and legends."""


def style_axes(axes: Axes, title: str = "", closed: bool = False) -> None:
    """Give axes the style of all pictures.

    Parameters
    ----------
    title : above them; none if empty.
    closed : a plane or an image has a frame; lines over a scale have two sides.
    """
    axes.xaxis.label.set_fontsize(WORDS)
    axes.yaxis.label.set_fontsize(WORDS)
    axes.tick_params(labelsize=SMALL)
    if title:
        axes.set_title(title, fontsize=WORDS)
    if not closed:
        axes.spines[["top", "right"]].set_visible(False)
