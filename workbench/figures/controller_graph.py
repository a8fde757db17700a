"""A finite-state controller as a graph: its nodes, and what leads from one to another."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from workbench.agents.controllers import Controller, Event, probability_text
from workbench.core.errors import TooLarge
from workbench.figures.argument import require_result
from workbench.figures.canvas import Arrow, Canvas
from workbench.text import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_NODES = 12
"""Larger controllers are refused."""

_LINES = 4
"""Lines of a label; the others are counted."""

_WIDTH, _FONT = 7.0, 8.5
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#555555", "#CC79A7", "#E69F00", "#56B4E9")


def controller_graph(controller: Controller, axes: Axes | None = None) -> Axes:
    """Boxes are nodes, arrows are labelled `o: a`: on seeing o it does a and goes there.

    Where the next node depends on the next observation too, the label goes on with it: `o: a, o'`;
    probabilities that are not one stand behind. What never happens on the task is not drawn; steps
    with which the episode ends for certain stand in the box.

    Parameters
    ----------
    controller : from `controller_of(P, memory, policy)`; `minimised()` makes it smaller.
    """
    require_result("controller_graph", controller, ("act", "after"), "controller_of(P, memory, pi)")
    if len(controller) > MOST_NODES:
        raise TooLarge(
            f"the controller has {len(controller)} nodes and can be read up to {MOST_NODES}: draw "
            "its minimised()"
        )
    labels = controller_labels(controller)
    texts = [_text(controller, n) for n in range(len(controller))]
    n = len(texts)
    height = 2.6 if n <= 2 else 4.4 if n < 5 else 6.0
    canvas = Canvas(width=_WIDTH, height=height, font=_FONT, floor=0.05)
    for k, text in enumerate(texts):
        angle = math.pi * (1 - 2 * k / n)
        wide, high = (2.1, height / 2 - 0.9) if n > 1 else (0.0, 0.0)
        canvas.node(
            k, text, _WIDTH / 2 + wide * math.cos(angle), height / 2 + high * math.sin(angle)
        )
    for k, x in controller.start.items():
        if x != 0:
            canvas.start(k)
    for (k, end), lines in labels.items():
        colour = _COLOURS[k % len(_COLOURS)]
        more = [f"+{len(lines) - _LINES} more"] if len(lines) > _LINES else []
        label = "\n".join([*lines[:_LINES], *more])
        canvas.arrow(Arrow(k, end, label, {"color": colour, "linewidth": 1.2}, {"color": colour}))
    return canvas.draw(axes)


def controller_labels(controller: Controller) -> dict[tuple[int, int], list[str]]:
    """What is written on each arrow (n, n'), a line for each observation and action."""
    aware = "o'" in controller.reads
    paid = "r" in controller.reads
    found: dict[tuple[int, int], dict[str, None]] = {}
    for event in controller.events:
        for k, x in controller.after[event].items():
            if x != 0:
                line = _line(controller, event, aware, paid)
                found.setdefault((event[0], k), {})[line + probability_text(x)] = None
    return {pair: list(lines) for pair, lines in found.items()}


def _line(controller: Controller, event: Event, aware: bool, paid: bool) -> str:
    n, o, a, r, o_next = event
    P = controller.P
    line = P.A.text(a) + probability_text(controller.act[n, o][a])
    if len(P.O) > 1:
        line = f"{P.O.text(o)}: {line}"
    return line + (f", r = {shown(r)}" if paid else "") + (f", {P.O.text(o_next)}" if aware else "")


def _text(controller: Controller, n: int) -> str:
    """The node's name, and what it does where the episode ends for certain."""
    P = controller.P
    going = {event[:3] for event in controller.events}
    last = [
        (f"{P.O.text(o)}: " if len(P.O) > 1 else "") + f"{P.A.text(a)}{probability_text(x)}, end"
        for k, o in sorted(controller.visited, key=lambda entry: P.O.index(entry[1]))
        if k == n
        for a, x in controller.act[k, o].items()
        if x != 0 and (k, o, a) not in going
    ]
    more = [f"+{len(last) - _LINES} more"] if len(last) > _LINES else []
    return "\n".join([controller.names[n], *last[:_LINES], *more])
