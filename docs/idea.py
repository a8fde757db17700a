"""Draws docs/idea.svg, the picture of the README: `python docs/idea.py`.

Left: an agent whose memory is part of what it sees and of what it does. Right: the oracle loop on
4-action recall, computed here, without a memory, with one bit, and with the last pair remembered.
"""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.patches import FancyArrowPatch, FancyBboxPatch

from pomdps import recall4
from workbench import augment, uniform
from workbench.core.improve import iterates
from workbench.figures import memory_style

INK, PAPER = "#222222", "#FFFFFF"
TOLD = {"none": "no memory: 9/16", "B1": "one bit (B1): stuck at 3/4", "OA1": "last pair (OA1): 1"}
SHOWN = 300
"""Iterates of the loop."""


def box(axes: Any, x: float, y: float, width: float, height: float, text: str, colour: str) -> None:
    """A box with a text in the middle."""
    style = "round,pad=0,rounding_size=0.25"
    axes.add_patch(
        FancyBboxPatch((x, y), width, height, boxstyle=style, facecolor=colour, edgecolor=INK)
    )
    axes.text(x + width / 2, y + height / 2, text, ha="center", va="center", fontsize=10)


def arrow(axes: Any, start: tuple[float, float], end: tuple[float, float], bend: float) -> None:
    """An arrow that bends to one side."""
    style = f"arc3,rad={bend}"
    axes.add_patch(
        FancyArrowPatch(
            start, end, arrowstyle="-|>", mutation_scale=14, connectionstyle=style, color=INK
        )
    )


def draw_agent(axes: Any) -> None:
    """The loop of agent, task and memory, inside the box that is the new task."""
    axes.set(xlim=(0, 10), ylim=(0, 7))
    axes.axis("off")
    axes.add_patch(
        FancyBboxPatch(
            (4.6, 0.5),
            5.1,
            5.4,
            boxstyle="round,pad=0,rounding_size=0.3",
            facecolor="none",
            edgecolor=memory_style("OA1")["color"],
            linestyle="--",
            linewidth=1.6,
        )
    )
    axes.text(7.15, 6.05, "together: again a POMDP", ha="center", va="bottom", fontsize=10)
    box(axes, 0.3, 2.4, 2.2, 1.6, "agent\n$\\pi(a, w \\mid m, o)$", "#DCEBF7")
    box(axes, 5.2, 3.7, 3.9, 1.7, "task (a POMDP)\nhidden state $s$ → seen $o$", "#FFF3D6")
    box(axes, 5.2, 1.0, 3.9, 1.7, "memory $m$\n$m' = \\Gamma(m, w, o, a)$", "#DDF1E8")
    arrow(axes, (1.6, 4.1), (5.1, 5.0), -0.25)
    axes.text(2.55, 5.15, "action $a$", fontsize=10, ha="center")
    arrow(axes, (5.1, 4.1), (2.6, 3.5), 0.1)
    axes.text(3.75, 4.05, "$o$", fontsize=10, ha="center")
    arrow(axes, (5.1, 2.3), (2.6, 2.9), -0.1)
    axes.text(3.75, 2.1, "$m$", fontsize=10, ha="center")
    arrow(axes, (1.6, 2.3), (5.1, 1.4), 0.25)
    axes.text(2.55, 1.0, "write $w$", fontsize=10, ha="center")


def draw_loop(axes: Any) -> None:
    """Values of the oracle loop, with the place where each ends written beside it."""
    for memory, text in TOLD.items():
        E = augment(recall4(), memory)
        # Not `improve`: it stops as soon as the end is decided, before the line gets there.
        loop = islice(iterates(E, uniform(E), step=0.02), SHOWN + 1)
        values = [float(iterate.value) for iterate in loop]
        style = memory_style(memory)
        axes.plot(values, color=style["color"], linestyle=style.get("linestyle", "-"), linewidth=2)
        axes.annotate(
            text,
            (len(values) - 1, values[-1]),
            textcoords="offset points",
            xytext=(6, 0),
            va="center",
            color=style["color"],
            fontsize=10,
        )
    axes.hlines(1, 0, SHOWN, color="grey", linewidth=0.8, linestyle=":")
    axes.set(xlabel="small updates towards greedy", ylabel="value of the policy")
    axes.set_ylim(-0.75, 1.12)
    axes.set(xlim=(-10, SHOWN * 1.75), xticks=range(0, SHOWN + 1, 100))
    axes.set_title("4-action recall: the same loop with three memories", fontsize=11)
    axes.spines[["top", "right"]].set_visible(False)


def main() -> None:
    """Draw both halves and save them."""
    mpl.rcParams.update({"svg.hashsalt": "idea", "figure.facecolor": PAPER})
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(10, 3.9), width_ratios=(1.15, 1), layout="constrained"
    )
    draw_agent(left)
    draw_loop(right)
    figure.savefig(Path(__file__).with_name("idea.svg"), metadata={"Date": None})


if __name__ == "__main__":
    main()
