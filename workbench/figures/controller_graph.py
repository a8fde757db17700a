"""A finite-state controller as a graph: its nodes, and what leads from one to another."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from workbench.agents.controllers import Controller, Event, controller_of, probability_text
from workbench.core.errors import TooLarge
from workbench.core.pomdp import POMDP
from workbench.figures.argument import none_left, require_result, split_axes, task_and_policy
from workbench.figures.canvas import Arrow, Canvas, in_layers, snake, text_size
from workbench.memories import attach
from workbench.text import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_NODES = 12
"""Larger controllers are refused."""

_LINES = 4
"""Lines of a label; the others are counted."""

_WIDTH, _FONT = 7.0, 8.5
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#555555", "#CC79A7", "#E69F00", "#56B4E9")


def controller_graph(controller: Any, *given: Any, axes: Axes | None = None) -> Axes:
    """Boxes are nodes, arrows are labelled `o: a`: on seeing o it does a and goes there.

    Where the next node depends on the next observation too, the label goes on with it: `o: a, o'`;
    probabilities that are not one stand behind. What never happens on the task is not drawn; steps
    with which the episode ends for certain stand in the box.

    Parameters
    ----------
    controller : from `controller_of(P, memory, policy)`; `minimised()` makes it smaller. Or (P,
        memory, pi), or (P, memory) for the best policy with this memory.
    """
    given, axes = split_axes(given, axes)
    call = "controller_of(P, memory, pi)"
    if isinstance(controller, POMDP):
        memory = attach(given[0] if given else "none", controller)
        _, pi = task_and_policy("controller_graph", controller, (memory, *given[1:]), call)
        controller = controller_of(controller, memory, pi).minimised()
    else:
        none_left("controller_graph", given)
    require_result("controller_graph", controller, ("act", "after"), call)
    if len(controller) > MOST_NODES:
        raise TooLarge(
            f"the controller has {len(controller)} nodes and can be read up to {MOST_NODES}: draw "
            "its minimised()"
        )
    labels = controller_labels(controller)
    texts: dict[Hashable, str] = {n: _text(controller, n) for n in range(len(controller))}
    layers = in_layers([k for k, x in controller.start.items() if x != 0], texts, labels.keys())
    words = {pair: "\n".join(_shortened(lines)) for pair, lines in labels.items()}
    widest = max((text_size(label, _FONT)[0] for label in words.values()), default=0.0)
    sizes = {n: text_size(text, _FONT) for n, text in texts.items()}
    rows = snake(layers, sizes, (widest + 0.5, 0.9), width=_WIDTH - 0.9)
    height = sum(row.height for row in rows) + 1.1 * len(rows) + 0.8
    canvas = Canvas(width=_WIDTH, height=height, font=_FONT, floor=0.05)
    top = height - 0.95
    for row in rows:
        for k, (x, y) in row.places.items():
            canvas.node(k, texts[k], x + 0.5, top - row.height + y)
        top -= row.height + 1.1
    for k, x in controller.start.items():
        if x != 0:
            canvas.start(k)
    for (k, end), label in words.items():
        colour = _COLOURS[k % len(_COLOURS)]
        canvas.arrow(Arrow(k, end, label, {"color": colour, "linewidth": 1.2}, {"color": colour}))
    return canvas.draw(axes)


def _shortened(lines: list[str]) -> list[str]:
    more = [f"+{len(lines) - _LINES} more"] if len(lines) > _LINES else []
    return [*lines[:_LINES], *more]


def controller_labels(controller: Controller) -> dict[tuple[int, int], list[str]]:
    """The label of each arrow (n, n'), a line for each observation and action."""
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
    return "\n".join([controller.names[n], *_shortened(last)])
