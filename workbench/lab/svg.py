"""A sequence task as a picture: the tree of its sequences, with the rewards at the leaves.

It is inline SVG, made of nothing but text.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from workbench.core.pomdp import POMDP
from workbench.lab.sequences import table_of
from workbench.text import escape_html, shown

MOST_LEAVES = 64

_INK, _SOFT, _GOOD = "#1f2937", "#9ca3af", "#0072B2"
_FONT = "font-family='sans-serif' font-size='11'"


def diagram(P: POMDP) -> str:
    """The picture as an `<svg>` element. "" for other tasks, and for those too large for one.

    >>> from workbench.improvement.batch import sequence_task
    >>> diagram(sequence_task([[0, 1], [2, 0]]))[:50]
    "<svg xmlns='http://www.w3.org/2000/svg' viewBox='0"
    """
    table = table_of(P)
    return "" if table is None or table.size > MOST_LEAVES else _tree(P, table)


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
