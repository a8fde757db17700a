"""A small task as a picture: inline SVG, made of nothing but text.

A sequence task is the tree of its sequences, with the rewards at the leaves. Any other task is a
graph, its states in layers by the number of steps in which they can be reached; each state shows
its name and its observations, each arrow the actions that may take it and their rewards. Pictures
are for people: beyond `MOST_STATES` there is none.
"""

from __future__ import annotations

import math
from itertools import product
from typing import Any

from workbench.core.pomdp import POMDP
from workbench.core.space import Label
from workbench.lab.sequences import table_of
from workbench.text import escape_html, shown

MOST_STATES = 14
MOST_LEAVES = 64

_INK, _SOFT, _GOOD = "#1f2937", "#9ca3af", "#0072B2"
_FONT = "font-family='sans-serif' font-size='11'"


def diagram(P: POMDP) -> str:
    """The picture as an `<svg>` element. "" for a task that is too large for one.

    >>> from workbench.improvement.batch import sequence_task
    >>> diagram(sequence_task([[0, 1], [2, 0]]))[:50]
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0"
    """
    table = table_of(P)
    if table is not None and table.size <= MOST_LEAVES:
        return _tree(P, table)
    return _graph(P) if len(P.S) <= MOST_STATES else ""


def _svg(width: float, height: float, parts: list[str], title: str) -> str:
    return (
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width:.0f} {height:.0f}' "
        f"width='{width:.0f}' height='{height:.0f}' "
        f"role='img'><title>{escape_html(title)}</title>{''.join(parts)}</svg>"
    )


_HALO = "stroke='#fff' stroke-width='3' paint-order='stroke'"
"""White around letters, which keeps lines from crossing them."""


def _text(x: float, y: float, text: str, anchor: str = "middle", colour: str = _INK) -> str:
    return (
        f"<text x='{x:.1f}' y='{y:.1f}' text-anchor='{anchor}' fill='{colour}' {_HALO} "
        f"{_FONT}>{escape_html(text)}</text>"
    )


def _line(x1: float, y1: float, x2: float, y2: float, colour: str, width: float) -> str:
    return (
        f"<line x1='{x1:.1f}' y1='{y1:.1f}' x2='{x2:.1f}' y2='{y2:.1f}' "
        f"stroke='{colour}' stroke-width='{width}'/>"
    )


def _tree(P: POMDP, table: Any) -> str:
    """A tree with its root on the left. The branch of the largest reward is coloured."""
    n, length = len(table), table.ndim
    across, down = 90.0, 16.0
    width, height = across * length + 110, down * table.size + 20
    best = max(table.ravel())
    good = {
        tuple(done[:k])
        for done in product(range(n), repeat=length)
        if table[done] == best
        for k in range(length + 1)
    }

    def place(done: tuple[int, ...]) -> tuple[float, float]:
        block = n ** (length - len(done))
        first = sum(a * n ** (length - 1 - i) for i, a in enumerate(done))
        return 15 + across * len(done), 18 + down * (first + (block - 1) / 2)

    lines, texts = [], []
    for k in range(1, length + 1):
        for done in product(range(n), repeat=k):
            (x1, y1), (x2, y2) = place(done[:-1]), place(done)
            colour = _GOOD if done in good else _SOFT
            lines.append(_line(x1, y1, x2, y2, colour, 2 if done in good else 1))
            texts.append(_text(x2 - 22, y2 - 3, P.A.text(P.A[done[-1]]), colour=colour))
            if k == length:
                texts.append(_text(x2 + 8, y2 + 4, shown(table[done]), "start", _INK))
    dots = [
        f"<circle cx='{x:.1f}' cy='{y:.1f}' r='3.5' fill='{_INK}'/>"
        for k in range(length)
        for x, y in (place(done) for done in product(range(n), repeat=k))
    ]
    return _svg(
        width,
        height,
        [*lines, *dots, *texts],
        f"{P.name}: the sequences of actions and their rewards",
    )


def _layers(P: POMDP) -> list[list[Label]]:
    layer, seen, found = list(P.mu), set(P.mu), []
    while layer:
        found.append(layer)
        after = dict.fromkeys(
            t for s in layer if s not in P.terminal for a in P.A for t, _ in P.p(s, a)
        )
        layer = [t for t in after if t not in seen]
        seen |= set(layer)
    return found


def _places(P: POMDP) -> tuple[dict[Label, tuple[float, float]], float, float]:
    """The positions of the states, and the picture's size. They stand in layers if every action
    leads to a later layer, else in a circle."""
    layers = _layers(P)
    depth = {s: i for i, layer in enumerate(layers) for s in layer}
    steps = [(s, t) for s in depth if s not in P.terminal for a in P.A for t, _ in P.p(s, a)]
    if all(depth[t] > depth[s] for s, t in steps):
        across, down = 190.0, 110.0
        tallest = max(map(len, layers))
        at = {
            s: (across * (i + 0.5), 20 + down * (j + 0.5 + (tallest - len(layer)) / 2))
            for i, layer in enumerate(layers)
            for j, s in enumerate(layer)
        }
        return at, across * len(layers), down * tallest + 40
    round_ = max(95.0, 38.0 * len(depth))
    middle = round_ + 75
    at = {}
    for k, s in enumerate(depth):
        angle = math.pi + 2 * math.pi * k / len(depth)
        at[s] = middle + round_ * math.cos(angle), middle + round_ * math.sin(angle)
    return at, 2 * middle, 2 * middle


def _graph(P: POMDP) -> str:
    radius = 24.0
    at, width, height = _places(P)
    arrows: dict[tuple[Label, Label], list[str]] = {}
    for s in at:
        if s not in P.terminal:
            for a in P.A:
                for (t, r), x in P.p(s, a).items():
                    chance = "" if x == 1 else f" [{shown(x)}]"
                    arrows.setdefault((s, t), []).append(f"{P.A.text(a)}: {shown(r)}{chance}")
    parts = [
        "<defs><marker id='tip' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='7' "
        f"markerHeight='7' orient='auto'><path d='M0,0 L8,4 L0,8 z' fill='{_INK}'/></marker></defs>"
    ]
    for (s, t), labels in arrows.items():
        parts.append(
            _loop(at[s], radius, labels) if s == t else _arrow(at[s], at[t], radius, labels)
        )
    for s, (x, y) in at.items():
        ended = s in P.terminal
        ink = f"fill='white' stroke='{_SOFT if ended else _INK}' stroke-width='1.5'"
        parts.append(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='{radius}' {ink}/>")
        parts.append(_text(x, y + (4 if ended else -1), P.S.text(s)))
        if not ended:
            parts.append(
                _text(x, y + 12, "sees " + "/".join(P.O.text(o) for o in P.omega(s)), colour=_GOOD)
            )
        if P.mu[s] != 0:
            parts.append(
                _text(
                    x,
                    y - radius - 5,
                    f"start {shown(P.mu[s])}" if P.mu[s] != 1 else "start",
                    colour=_SOFT,
                )
            )
    return _svg(width, height, parts, f"{P.name}: states, what they show, actions with rewards")


def _arrow(
    start: tuple[float, float], end: tuple[float, float], radius: float, labels: list[str]
) -> str:
    """A curve from one circle to another, bent to its left so that the way back is another
    curve."""
    (x1, y1), (x2, y2) = start, end
    far = math.hypot(x2 - x1, y2 - y1)
    ux, uy = (x2 - x1) / far, (y2 - y1) / far
    bend = 0.16 * far
    mx, my = (x1 + x2) / 2 + uy * bend, (y1 + y2) / 2 - ux * bend
    a, b = _towards(start, (mx, my), radius), _towards(end, (mx, my), radius + 2)
    path = f"M{a[0]:.1f},{a[1]:.1f} Q{mx:.1f},{my:.1f} {b[0]:.1f},{b[1]:.1f}"
    curve = (
        f"<path d='{path}' fill='none' stroke='{_INK}' stroke-width='1.2' marker-end='url(#tip)'/>"
    )
    tx, ty = (x1 + x2) / 4 + mx / 2, (y1 + y2) / 4 + my / 2
    lines = "".join(
        _text(tx + uy * 8, ty - ux * 8 - 12 * (len(labels) - 1 - i) + 4, x)
        for i, x in enumerate(labels)
    )
    return curve + lines


def _towards(
    start: tuple[float, float], to: tuple[float, float], distance: float
) -> tuple[float, float]:
    far = math.hypot(to[0] - start[0], to[1] - start[1]) or 1.0
    return start[0] + (to[0] - start[0]) * distance / far, start[1] + (
        to[1] - start[1]
    ) * distance / far


def _loop(at: tuple[float, float], radius: float, labels: list[str]) -> str:
    x, y = at
    top, low = y + radius - 1, y + radius + 30
    path = (
        f"M{x - 9:.1f},{top:.1f} C{x - 30:.1f},{low:.1f} {x + 30:.1f},{low:.1f} "
        f"{x + 9:.1f},{top:.1f}"
    )
    curve = (
        f"<path d='{path}' fill='none' stroke='{_INK}' stroke-width='1.2' marker-end='url(#tip)'/>"
    )
    return curve + "".join(
        _text(x, y + radius + 33 + 12 * i, label) for i, label in enumerate(labels)
    )
