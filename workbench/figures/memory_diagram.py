"""The memory-state transition diagram of Figure 3."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from workbench.core.errors import TooLarge
from workbench.core.improve import weights_for
from workbench.core.shortcuts import shortcuts
from workbench.evaluation.transition_diagram import (
    DiagramEdge,
    TransitionDiagram,
    action_label,
    transition_diagram,
)
from workbench.figures.argument import none_left, split_axes, task_and_policy
from workbench.figures.canvas import Arrow, Canvas, snake, text_size, uncrossed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_NODES = 40
"""Larger diagrams are refused."""

_MOST_WITH_ALL = 6
"""Up to this many nodes all transitions are shown; larger diagrams leave the other ones out."""

_NAMED = 2
"""Other transitions carry labels where at most this many actions lead from node to node; loops may
say o/w, otherwise."""

_WIDTH, _FONT = 7.0, 9.0
_KEY = 0.25
"""Inches above a diagram for the line that explains its letters."""

_BLUE, _RED, _GREY = "#0072B2", "#D55E00", "#9A9A9A"
_LINES: dict[str, dict[str, Any]] = {
    "policy": {"color": _BLUE, "linewidth": 2.2, "zorder": 2.5},
    "strict": {"color": _RED, "linewidth": 1.8, "zorder": 2.4},
    "weak": {"color": _RED, "linewidth": 1.3, "linestyle": (0, (4, 2.5)), "zorder": 2.3},
    "other": {"color": _GREY, "linewidth": 0.8, "zorder": 1},
}
_FRAME = {"facecolor": "white", "edgecolor": _RED, "linewidth": 0.9, "pad": 1.2}
_TEXTS: dict[str, dict[str, Any]] = {
    "policy": {"color": _BLUE, "fontweight": "bold"},
    "strict": {"color": "#A04000", "bbox": _FRAME},
    "weak": {"color": "#A04000", "bbox": {**_FRAME, "linestyle": (0, (3, 2))}},
    "other": {"color": "#6A6A6A"},
}
_WORDS = {
    "policy": "the policy",
    "strict": "strict shortcut",
    "weak": "weak shortcut",
    "other": "other transitions",
}


def memory_diagram(diagram: Any, *given: Any, axes: Axes | None = None) -> Axes:
    """Memory states and their transitions: the policy blue, shortcuts orange, weak ones dashed.

    Labels read as in the paper: `2T` does 2 and pushes, `2F` does 2 and keeps, `2:01` does 2 and
    writes 01. A node is a memory state, with the observation below it where there are several.
    `end` marks steps that may end the episode.

    Parameters
    ----------
    diagram : from `transition_diagram(E, pi, shortcuts(E, pi))`; or (E, pi), (P, memory), E or a
        result that has a policy. Without a policy the best one is drawn.
    """
    given, axes = split_axes(given, axes)
    if not isinstance(diagram, TransitionDiagram):
        call = "transition_diagram(E, pi, shortcuts(E, pi))"
        E, pi = task_and_policy("memory_diagram", diagram, given, call)
        weights = weights_for(E, pi)
        diagram = transition_diagram(E, pi, shortcuts(E, pi, weights=weights))
    else:
        none_left("memory_diagram", given)
    whole = len(diagram.nodes) <= _MOST_WITH_ALL
    edges = [edge for edge in diagram.edges if whole or edge.kind != "other"]
    used = {node for edge in edges for node in (edge.start, edge.end)}
    nodes = [node for node in diagram.nodes if whole or node in used]
    if len(nodes) > MOST_NODES:
        raise TooLarge(
            f"a diagram of {diagram.P.name} has {len(nodes)} memory states and observations; it "
            f"can be read up to {MOST_NODES}: take a smaller memory, or a policy that meets fewer"
        )
    labels = [_label(diagram, edge) for edge in edges]
    canvas = _layers(diagram, nodes, edges, labels)
    for node in diagram.starts:
        canvas.start(node)
    for edge, label in zip(edges, labels, strict=True):
        canvas.arrow(
            Arrow(edge.start, edge.end, label, _LINES[edge.kind], _TEXTS[edge.kind], edge.kind)
        )
    axes = canvas.draw(axes)
    _legend(axes, edges)
    # Small axes have smaller text, and so have the words above it.
    scale = min(float(x.get_fontsize()) for x in axes.texts if x.get_text()) / canvas.font
    axes.text(
        canvas.width / 2,
        canvas.height - 0.06,
        _key(diagram, nodes, labels),
        fontsize=7.5 * scale,
        color="0.25",
        ha="center",
        va="top",
        gid="key",
    )
    return axes


def _label(diagram: TransitionDiagram, edge: DiagramEdge) -> str:
    names = ", ".join(action_label(diagram.P, action) for action in edge.actions)
    if edge.kind != "other":
        return names + (" end" if edge.ends else "")
    ways: dict[Any, int] = {}
    for other in diagram.edges:
        if other.start == edge.start:
            ways[other.end] = ways.get(other.end, 0) + len(other.actions)
    if ways[edge.end] <= _NAMED:
        return names
    return (
        "o/w"
        if edge.end == edge.start and all(n <= _NAMED for end, n in ways.items() if end != edge.end)
        else ""
    )


def _key(diagram: TransitionDiagram, nodes: list[Any], labels: list[str]) -> str:
    """Explain the letters and boxes that are drawn."""
    written = " ".join(labels)
    words = [f"box: {diagram.P.O.legend.replace(' / ', ', below it the ')}"]
    if re.search(r"[0-9 ]T\b", written) or re.search(r"[0-9 ]F\b", written):
        words.append("T: push, F: keep")
    if ":" in written:
        words.append("a:w: do a, write w")
    if "o/w" in written:
        words.append("o/w: all other actions")
    if "end" in written:
        words.append("end: the episode may end")
    if any(_look(diagram, node) for node in nodes):
        words.append("dashed: not visited")
    return "; ".join(words)


def _name(diagram: TransitionDiagram, node: Any) -> str:
    return diagram.P.O.text(node).replace(" / ", "\n")


def _look(diagram: TransitionDiagram, node: Any) -> dict[str, Any]:
    return {} if node in diagram.steps else {"edgecolor": _GREY, "linestyle": (0, (3, 2))}


def _layers(
    diagram: TransitionDiagram, nodes: list[Any], edges: list[DiagramEdge], labels: list[str]
) -> Canvas:
    """Step by step from left to right, then in the next row from right to left, and so on."""
    last = max(diagram.steps.values()) + 1
    layers: dict[int, list[Any]] = {}
    for node in nodes:
        layers.setdefault(diagram.steps.get(node, last), []).append(node)
    gap = max(text_size(label, _FONT)[0] for label in labels) + 0.45
    sizes = {node: text_size(_name(diagram, node), _FONT) for node in nodes}
    drawn = {(edge.start, edge.end) for edge in edges}
    ordered = uncrossed([layers[step] for step in sorted(layers)], drawn)
    # Loops and other transitions run between the nodes of a layer where they are shown.
    apart = 0.8 if any(edge.kind == "other" for edge in edges) else 0.45
    rows = snake(ordered, sizes, gap=(gap, apart), width=_WIDTH - 0.9)
    past = len(ordered) > 2 and any(edge.kind == "other" for edge in edges)
    above = 0.6 if past else 0.0  # for arrows that pass over a layer
    height = sum(row.height for row in rows) + 0.85 * len(rows) + 0.8 + above
    canvas = Canvas(width=_WIDTH, height=height + _KEY, font=_FONT, ceiling=_KEY)
    top = height - 0.6 - above / 2
    for row in rows:
        for node, (x, y) in row.places.items():
            canvas.node(
                node,
                _name(diagram, node),
                x + 0.5,
                top - row.height + y,
                **_look(diagram, node),
            )
        top -= row.height + 0.85
    return canvas


def _legend(axes: Axes, edges: list[DiagramEdge]) -> None:
    from matplotlib.lines import Line2D

    kinds = [kind for kind in _LINES if any(edge.kind == kind for edge in edges)]
    look = ("color", "linewidth", "linestyle")
    handles = [
        Line2D([], [], **{k: v for k, v in _LINES[kind].items() if k in look}) for kind in kinds
    ]
    axes.legend(
        handles,
        [_WORDS[kind] for kind in kinds],
        loc="lower center",
        ncols=4,
        frameon=False,
        fontsize=9,
        borderaxespad=0.1,
        handlelength=2.6,
    )
