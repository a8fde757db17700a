"""Draws the pictures of the slides: `python docs/slides/pictures.py`.

Every number in them is computed here. Letters are large and lines thick: they are for a projector.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from itertools import islice
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
from matplotlib.patches import Circle, FancyArrowPatch, FancyBboxPatch, Rectangle

from pomdps import gravity, recall, recall4, recall_variant
from pomdps.recalls import RECALL4_REWARDS
from workbench import QLearning, augment, evaluate, learn, uniform
from workbench.core.improve import iterates
from workbench.figures import memory_style

INK, GREY, RED, GOLD, BLUE = "#222222", "#8a8a8a", "#b3261e", "#d79b00", "#0072b2"
WORDS = {"none": "no memory", "B1": "one bit (B1)", "O1": "O1", "OA1": "OA1"}
PICTURES: dict[str, Callable[[], Any]] = {}


def picture(draw: Callable[[], Any]) -> Callable[[], Any]:
    """Add a picture to those that are drawn; its file has the name of the function."""
    PICTURES[draw.__name__.replace("_", "-")] = draw
    return draw


def blank(width: float, height: float) -> tuple[Any, Any]:
    """A drawing without axes, in units of its own."""
    figure, axes = plt.subplots(figsize=(8.6, 8.6 * height / width), layout="constrained")
    axes.set(xlim=(0, width), ylim=(0, height), aspect="equal")
    axes.axis("off")
    return figure, axes


def box(axes: Any, x: float, y: float, width: float, height: float, text: str, colour: str) -> None:
    """A box with a text in the middle."""
    shape = FancyBboxPatch(
        (x, y), width, height, boxstyle="round,pad=0,rounding_size=0.2", fc=colour, ec=INK, lw=2
    )
    axes.add_patch(shape)
    axes.text(x + width / 2, y + height / 2, text, ha="center", va="center", fontsize=19)


def arrow(axes: Any, start: Any, end: Any, colour: str = INK, bend: float = 0.0) -> None:
    """A thick arrow, bent to one side."""
    style = {"arrowstyle": "-|>", "mutation_scale": 26, "lw": 2.6, "color": colour}
    axes.add_patch(
        FancyArrowPatch(
            start, end, connectionstyle=f"arc3,rad={bend}", shrinkA=0, shrinkB=0, **style
        )
    )


@picture
def t_maze() -> Any:
    """The T-maze with a corridor of three cells."""
    figure, axes = blank(11, 4.2)
    cells = [(x, 1.6) for x in range(1, 6)] + [(5, 2.6), (5, 0.6)]
    fills = {0: "#dcebf7", 4: "#fff3d6", 5: "#ddf1e8", 6: "#ddf1e8"}
    for i, (x, y) in enumerate(cells):
        axes.add_patch(Rectangle((x, y), 1, 1, fc=fills.get(i, "white"), ec=INK, lw=2.5))
    words = ("start:\nsign", "same", "same", "same", "junction", "4 or 0", "4 or 0")
    for (x, y), text in zip(cells, words, strict=True):
        axes.text(x + 0.5, y + 0.5, text, ha="center", va="center", fontsize=11.5)
    axes.text(1.5, 1.2, "“up” or “down”\nis shown here only", ha="center", va="top", fontsize=17)
    axes.text(3.5, 2.75, "all corridor cells\nlook alike", ha="center", va="bottom", fontsize=17)
    axes.text(6.25, 2.1, "here the agent must know\nwhat the sign said", va="center", fontsize=17)
    return figure


@picture
def gravity_grid() -> Any:
    """The gravity domain, as in Figure 2 of the paper."""
    figure, axes = blank(11, 5.4)
    for x in range(5):
        for y in range(5):
            axes.add_patch(Rectangle((x + 0.2, y + 0.2), 1, 1, fc="white", ec="#cccccc", lw=1))
            if (x, y) not in ((0, 0), (0, 4), (4, 0)):
                arrow(axes, (x + 0.7, y + 0.95), (x + 0.7, y + 0.45), "#b0b0b0")
    axes.add_patch(Rectangle((0.2, 0.2), 5, 5, fc="none", ec=INK, lw=4))
    axes.plot([1.2, 5.2], [1.2, 1.2], color=INK, lw=4)
    axes.plot([0.7], [0.7], marker="^", color="#7b3fa0", ms=30)
    axes.add_patch(Circle((4.7, 0.7), 0.32, fc="#9fd4d0", ec=INK, lw=3))
    axes.add_patch(Circle((0.7, 4.7), 0.32, fc="#a5673f", ec=INK, lw=2))
    lines = (
        (4.7, "cookie (brown): reward 1"),
        (3.7, "a force pulls down: moving up\nfails nine times in ten"),
        (2.4, "the agent sees where it is,\nnot whether the force is on"),
        (0.75, "button (green): turns the force\noff, or on again"),
    )
    for y, text in lines:
        axes.text(5.7, y, text, fontsize=19, va="center")
    return figure


@picture
def agent_and_memory() -> Any:
    """Agent, task and memory (Figure 1 of the paper)."""
    figure, axes = blank(11, 4.8)
    shape = FancyBboxPatch(
        (4.9, 0.2), 5.8, 4.0, boxstyle="round,pad=0,rounding_size=0.3", fc="none"
    )
    shape.set(edgecolor=memory_style("OA1")["color"], linestyle="--", linewidth=2.5)
    axes.add_patch(shape)
    axes.text(7.8, 4.3, "together: again a POMDP", ha="center", va="bottom", fontsize=19)
    box(axes, 0.2, 1.5, 2.7, 1.4, "agent\n$\\pi(a, w \\mid m, o)$", "#dcebf7")
    box(axes, 5.4, 2.5, 4.8, 1.4, "task: hidden state $s$,\nseen as $o$", "#fff3d6")
    box(axes, 5.4, 0.5, 4.8, 1.4, "memory $m$\n$m' \\sim \\Gamma(m, w, o, a, r, o')$", "#ddf1e8")
    arrow(axes, (1.5, 3.0), (5.3, 3.6), bend=-0.2)
    arrow(axes, (5.3, 2.9), (3.0, 2.4))
    arrow(axes, (5.3, 1.4), (3.0, 2.0))
    arrow(axes, (1.5, 1.4), (5.3, 0.9), bend=0.2)
    for x, y, text in (
        (3.0, 4.0, "action $a$"),
        (4.2, 2.9, "$o$"),
        (4.2, 1.35, "$m$"),
        (3.0, 0.35, "write $w$"),
    ):
        axes.text(x, y, text, ha="center", va="center", fontsize=19)
    return figure


@picture
def recall_q() -> Any:
    """What pressing each button is worth in recall under the uniform policy."""
    P = recall()
    q = evaluate(P, uniform(P), exact=True).q
    figure, axes = plt.subplots(figsize=(9, 4.2), layout="constrained")
    values = [float(q["o", a]) for a in P.A]
    bars = axes.bar([f"press {a}" for a in P.A], values, color=[GREY, GREY, GOLD], width=0.55)
    axes.bar_label(bars, [str(q["o", a]) for a in P.A], fontsize=22, padding=4)
    axes.set(ylabel="$q(o, a)$", ylim=(0, 1.25 * max(values)), yticks=[0, 0.01, 0.02, 0.03, 0.04])
    return figure


def loop_values(E: Any, step: float, count: int) -> list[float]:
    """The values of the first iterates of the oracle loop from the uniform policy."""
    return [float(x.value) for x in islice(iterates(E, uniform(E), step=step), count + 1)]


def lines(
    P: Any, names: tuple[str, ...], step: float, count: int, best: float, low: float | None = None
) -> Any:
    """The oracle loop with some memories, each line with its name at its end."""
    figure, axes = plt.subplots(figsize=(9, 4.6), layout="constrained")
    ends = []
    for name in names:
        values = loop_values(augment(P, name), step, count)
        colour = memory_style(name)["color"]
        axes.plot(values, color=colour, lw=4, ls="--" if name == "none" else "-")
        ends.append((values[-1], f"{WORDS[name]}: {values[-1]:.2g}", colour))
        low = min(values) if low is None else low
    assert low is not None
    span = best - low
    place = best + 0.02 * span
    for value, text, colour in sorted(ends, reverse=True):
        place = min(value, place)  # labels keep a distance, lines may not
        axes.text(count * 1.02, place, text, color=colour, fontsize=20, va="center")
        place -= 0.12 * span
    axes.plot([0, count], [best, best], color=GREY, ls=":", lw=2.5)
    text = f"best possible: {best:.2g}"
    axes.text(0.01 * count, best + 0.02 * span, text, color=GREY, fontsize=18, va="bottom")
    axes.set(xlabel="small updates towards greedy", ylabel="value", xlim=(0, count * 1.36))
    axes.set(ylim=(low - 0.05 * span, best + 0.16 * span))
    axes.set_xticks([x for x in axes.get_xticks() if x <= count])
    return figure


@picture
def gravity_lines() -> Any:
    """The loop on gravity without memory, with one bit and with O1."""
    return lines(gravity(), ("none", "B1", "O1"), 0.1, 120, float(gravity().gamma) ** 11)


@picture
def recall4_lines() -> Any:
    """The loop on 4-action recall."""
    return lines(recall4(), ("none", "B1", "OA1"), 0.02, 400, 1.0)


@picture
def variant_lines() -> Any:
    """The loop on the variation of recall: OA1 goes back and forth below the best."""
    return lines(recall_variant(), ("OA1", "B1"), 0.02, 400, 3.0, low=-8.0)


@picture
def recall_shortcut() -> Any:
    """Recall with OA1: the winning way in blue, the shortcut in red."""
    figure, axes = blank(11, 4.6)
    places = {"∅": (1.2, 2.6), "1": (4.2, 2.6), "2": (7.2, 2.6)}
    for name, (x, y) in places.items():
        axes.add_patch(Circle((x, y), 0.55, fc="white", ec=INK, lw=3))
        axes.text(x, y, name, ha="center", va="center", fontsize=26)
    axes.text(10.2, 2.6, "end", ha="center", va="center", fontsize=26)
    for x, text in ((1.8, "press 1, push"), (4.8, "press 2, push"), (7.8, "press 3")):
        arrow(axes, (x, 2.6), (x + 1.75, 2.6), BLUE)
        axes.text(x + 0.85, 2.85, text, color=BLUE, ha="center", fontsize=13)
    arrow(axes, (1.4, 2.05), (7.0, 2.05), RED, bend=0.32)
    axes.text(4.2, 0.55, "press 2 and push at once", color=RED, ha="center", fontsize=20)
    axes.text(10.2, 2.0, "1 by the blue way\n0 by the red one", ha="center", va="top", fontsize=17)
    axes.text(0.2, 4.2, "nodes: what the memory holds", fontsize=18, color=GREY)
    return figure


@picture
def recall_jumps() -> Any:
    """The greedy policy of Q-learning on recall, every 10,000 steps."""
    figure, panels = plt.subplots(2, 1, figsize=(9, 4.8), layout="constrained", sharex=True)
    for axes, name in zip(panels, ("OA1", "B2"), strict=True):
        E = augment(recall(), name)
        run = learn(E, QLearning(), steps=4_000_000, seeds=1, every=10_000)
        values = run.values(gamma=1)[0]
        colour = memory_style(name)["color"]
        axes.step([10_000 * (i + 1) / 1e6 for i in range(len(values))], values, color=colour, lw=2)
        axes.set(ylim=(-0.15, 1.15), yticks=[0, 1], ylabel=name)
    panels[1].set_xlabel("million time steps")
    return figure


@picture
def recall4_table() -> Any:
    """The rewards of 4-action recall, and the mean of each column."""
    figure, axes = blank(11, 5.6)
    n = len(RECALL4_REWARDS)
    top = max(map(max, RECALL4_REWARDS))
    for i, row in enumerate(RECALL4_REWARDS):
        axes.text(2.6, 4.3 - 0.8 * i, f"first {i}", ha="right", va="center", fontsize=19)
        for j, r in enumerate(row):
            fill = "#ddf1e8" if r == top else "white"
            axes.add_patch(Rectangle((2.9 + 1.3 * j, 3.9 - 0.8 * i), 1.3, 0.8, fc=fill, ec=INK))
            axes.text(3.55 + 1.3 * j, 4.3 - 0.8 * i, str(r), ha="center", va="center", fontsize=19)
    for j in range(n):
        mean = Fraction(sum(row[j] for row in RECALL4_REWARDS)) / n
        x = 3.55 + 1.3 * j
        axes.text(x, 4.95, f"then {j}", ha="center", va="center", fontsize=19)
        colour = RED if j == 2 else INK
        axes.text(x, 0.75, str(mean), ha="center", fontsize=21, color=colour)
    axes.text(2.6, 0.75, "mean", ha="right", fontsize=21)
    axes.text(8.5, 4.2, "best: 0, then 2", fontsize=19, color="#0b6b3a")
    axes.text(8.5, 0.8, "2 looks terrible", fontsize=19, color=RED)
    return figure


def main() -> None:
    """Draw all pictures, or those that are named."""
    mpl.rcParams.update(
        {
            "svg.hashsalt": "slides",
            "svg.fonttype": "path",
            "font.size": 18,
            "axes.spines.top": False,
            "axes.spines.right": False,
        }
    )
    for name in sys.argv[1:] or PICTURES:
        figure = PICTURES[name]()
        figure.savefig(Path(__file__).with_name(f"{name}.svg"), metadata={"Date": None})
        plt.close(figure)


if __name__ == "__main__":
    main()
