"""Draw design.png, the figure of the paper: `python paper/design.py`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.patches import FancyBboxPatch

INK = "#222222"
MODEL, QUESTION, PROOF = "#DCE9F7", "#F3EBD8", "#DFF0DF"


def box(
    axes: Any, x: float, y: float, width: float, text: str, colour: str, high: float = 1
) -> None:
    """A box around (x, y) with a text in the middle."""
    style = "round,pad=0,rounding_size=0.15"
    corner = (x - width / 2, y - high / 2)
    patch = FancyBboxPatch(corner, width, high, boxstyle=style, facecolor=colour, edgecolor=INK)
    axes.add_patch(patch)
    axes.text(x, y, text, ha="center", va="center", fontsize=9, linespacing=1.35)


def arrow(axes: Any, start: tuple[float, float], end: tuple[float, float]) -> None:
    axes.annotate("", end, start, arrowprops={"arrowstyle": "-|>", "color": INK})


def draw() -> Any:
    """The figure."""
    mpl.rcParams["font.family"] = "DejaVu Sans"
    figure, axes = plt.subplots(figsize=(8.6, 3.0))
    axes.set(xlim=(0, 17.2), ylim=(0, 6))
    axes.axis("off")
    box(axes, 1.5, 4.6, 2.6, "POMDP\n⟨S,O,A,R,p,ω,γ,μ⟩", MODEL, 1.3)
    box(axes, 1.5, 1.4, 2.6, "memory\n⟨M,W,Γ,η⟩", MODEL, 1.3)
    box(axes, 5.3, 3, 2.6, "augment:\nagain a POMDP", MODEL, 1.5)
    asked = ("evaluate, TD values", "improve, equilibria", "best values, bounds", "learn, search")
    heights = [5.25 - 1.5 * i for i in range(len(asked))]
    for text, y in zip(asked, heights, strict=True):
        box(axes, 9.5, y, 3.4, text, QUESTION)
        arrow(axes, (6.6, 3), (7.8, y))
        arrow(axes, (11.2, y), (12.3, 3))
    box(axes, 13.2, 3, 1.8, "result,\ncertificate", PROOF, 1.5)
    for text, y in (("figures,\nlessons", 5), ("checker\n(stdlib only)", 3), ("Coq", 1)):
        box(axes, 16, y, 2.1, text, PROOF, 1.2)
        arrow(axes, (14.1, 3), (14.95, y))
    arrow(axes, (2.8, 4.6), (4, 3.3))
    arrow(axes, (2.8, 1.4), (4, 2.7))
    figure.tight_layout(pad=0.2)
    return figure


if __name__ == "__main__":
    draw().savefig(Path(__file__).with_name("design.png"), dpi=160)
