"""The graph of reachable beliefs, layered by the number of steps."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from workbench.agents.beliefs import BeliefGraph, explore_beliefs
from workbench.core.errors import TooLarge
from workbench.core.pomdp import POMDP
from workbench.figures.argument import none_left, require_result, split_axes, task_of
from workbench.figures.canvas import Arrow, Canvas, snake, text_size, uncrossed
from workbench.text import shown

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_NODES = 30
"""Larger graphs are refused."""

_STATES = 4
"""States named in a node; the others are counted."""

_LINE = 22
"""Longer labels are broken into lines."""

_WIDTH, _FONT = 7.0, 7.5
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#555555", "#CC79A7", "#E69F00", "#56B4E9")
_DASHES = ("-", (0, (5, 2)), (0, (1, 1.2)), (0, (6, 2, 1, 2)))


def belief_graph(graph: Any, *given: Any, axes: Axes | None = None) -> Axes:
    """Nodes are last observations with beliefs, arrows are labelled action / observation.

    A node names the observation (where the task has several) and the states with their
    probabilities; a belief that is certain shows its state alone. Actions that lead to the same
    node share an arrow. Nodes with a dashed frame were not walked further. An action with which the
    episode is over for certain has no arrow.

    Parameters
    ----------
    graph : from `reachable_beliefs(P)` or, where there are infinitely many, `explore_beliefs(P,
        limit=...)`; or P, or (P, memory).
    """
    given, axes = split_axes(given, axes)
    if isinstance(graph, POMDP):
        task, given = task_of(graph, given)
        graph = explore_beliefs(task, limit=MOST_NODES)
    none_left("belief_graph", given)
    require_result("belief_graph", graph, ("nodes", "edges"), "reachable_beliefs(P)")
    if len(graph) > MOST_NODES:
        raise TooLarge(
            f"the graph has {len(graph)} beliefs and can be read up to {MOST_NODES}: "
            "explore_beliefs(P, limit=...)"
        )
    texts: dict[Hashable, str] = {n: _text(graph, n) for n in range(len(graph))}
    walked = range(len(graph.edges))
    labels = _edges(graph)
    layers: dict[int, list[int]] = {}
    for n in range(len(graph)):
        layers.setdefault(len(graph.history(n)) // 2, []).append(n)
    widest = max((text_size(label, _FONT)[0] for label in labels.values()), default=0.0)
    sizes = {n: text_size(text, _FONT) for n, text in texts.items()}
    step_of = {n: step for step, layer in layers.items() for n in layer}
    beside = any(
        n != end and step_of[n] == step_of[end] for n, end in labels
    )  # arrows within a layer need room
    loops = any(n == end for n, end in labels)
    gap = (widest + 0.5, 0.75 if beside or loops else 0.42)
    ordered = uncrossed([layers[step] for step in sorted(layers)], labels.keys())
    rows = snake(ordered, sizes, gap, width=_WIDTH - 0.9)
    height = sum(row.height for row in rows) + 0.8 * len(rows) + 0.8
    canvas = Canvas(width=_WIDTH, height=height, font=_FONT, floor=0.03)
    top = height - 0.75
    for row in rows:
        for key, (x, y) in row.places.items():
            look = {} if key in walked else {"linestyle": (0, (3, 2)), "edgecolor": "0.4"}
            canvas.node(key, texts[key], x + 0.5, top - row.height + y, **look)
        top -= row.height + 0.8
    for edge in graph.starts:
        canvas.start(edge.node)
    for (n, end), label in labels.items():
        colour = _COLOURS[n % len(_COLOURS)]
        line = {"color": colour, "linewidth": 1.2, "linestyle": _DASHES[n % len(_DASHES)]}
        canvas.arrow(Arrow(n, end, label, line, {"color": colour}, "belief"))
    return canvas.draw(axes)


def _text(graph: BeliefGraph, n: int) -> str:
    o, b = graph.nodes[n]
    states = sorted(b.items(), key=lambda item: (-item[1], graph.P.S.index(item[0])))
    S, O = graph.P.S, graph.P.O
    lines = [
        S.text(s) if x == 1 else f"{S.text(s)}: {shown(x, digits=3, longest=7)}"
        for s, x in states[:_STATES]
    ]
    if len(states) > _STATES:
        lines.append(f"+{len(states) - _STATES} more")
    return "\n".join(([f"o = {O.text(o)}"] if len(O) > 1 else []) + lines)


def _edges(graph: BeliefGraph) -> dict[tuple[int, int], str]:
    """The label of each arrow by (from, to): actions by observation, all actions as "any"."""
    found: dict[tuple[int, int], dict[int, list[int]]] = {}
    for n, by_action in enumerate(graph.edges):
        for a, edges in enumerate(by_action):
            for edge in edges:
                found.setdefault((n, edge.node), {}).setdefault(edge.o, []).append(a)
    return {
        pair: "\n".join(_label(graph, o, actions) for o, actions in by_observation.items())
        for pair, by_observation in found.items()
    }


def _label(graph: BeliefGraph, o: int, actions: list[int]) -> str:
    P = graph.P
    named = "any" if len(actions) == len(P.A) > 1 else ", ".join(P.A.text(P.A[a]) for a in actions)
    if len(P.O) == 1:
        return named
    if len(named) + len(P.O.text(P.O[o])) <= _LINE:
        return f"{named} / {P.O.text(P.O[o])}"
    if len(named) > _LINE:
        named = named.replace(", ", ",\n")
    return f"{named}\n/ {P.O.text(P.O[o])}"
