"""Small directed graphs as pictures: nodes are boxes with text, arrows bend around them, labels
find free places.

Lengths are inches at the natural size of a picture; on smaller axes everything shrinks, the text
with it. The places are found one arrow after the other: among a few bends, and a few places along
each for the label, the cheapest is taken. Running through a box costs most, then a label on
something else, then a line through a label, then bending.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Edge = tuple[Hashable, Hashable]

_BENDS = (0.0, 0.18, -0.18, 0.32, -0.32, 0.5, -0.5, 0.75, -0.75)
_ALONG = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74)
_SAMPLES = 41
_PADDING = 0.16
"""Around the text of a node."""

_START = 0.3
"""The length of the arrow that marks where episodes begin."""

_STRETCH = 0.9
"""How much wider than asked the gaps of a single row may be."""

_ROUND = 0.55
"""What arrows that go from row to row have on both sides."""

_LOOP = 0.17
"""The radius of an arrow from a node to itself."""

_THROUGH_A_BOX, _LABEL_ON_SOMETHING, _OUTSIDE = 90.0, 200.0, 100.0
_LINE_THROUGH_LABEL, _POINT_UNDER_LABEL, _ON_A_LINE = 8.0, 4.0, 1.2


@lru_cache(maxsize=2_000)
def text_size(text: str, size: float) -> tuple[float, float]:
    """Width and height in inches of a text of one or more lines."""
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import TextPath

    if not text:
        return 0.0, 0.0
    lines = text.split("\n")
    font = FontProperties(size=size)
    width = max(
        TextPath((0, 0), line or " ", prop=font).get_extents().width if line.strip() else 0.0
        for line in lines
    )
    return width / 72 + 0.02, 1.25 * size * len(lines) / 72


@dataclass(frozen=True)
class CanvasBox:
    """A rectangle by its centre."""

    x: float
    y: float
    width: float
    height: float

    def holds(self, points: NDArray[np.float64], margin: float = 0.0) -> NDArray[np.bool_]:
        """Which of the points lie inside, the rectangle being larger by a margin."""
        inside: NDArray[np.bool_] = (np.abs(points[:, 0] - self.x) < self.width / 2 + margin) & (
            np.abs(points[:, 1] - self.y) < self.height / 2 + margin
        )
        return inside


def _corners(boxes: Sequence[CanvasBox]) -> NDArray[np.float64]:
    """`[box, (left, bottom, right, top)]`."""
    sides = [
        (b.x - b.width / 2, b.y - b.height / 2, b.x + b.width / 2, b.y + b.height / 2)
        for b in boxes
    ]
    return np.array(sides).reshape(-1, 4)


def _entered(corners: NDArray[np.float64], points: NDArray[np.float64], margin: float) -> int:
    """Count the boxes, widened by a margin, that a line enters."""
    inside = (points[None] > corners[:, None, :2] - margin) & (
        points[None] < corners[:, None, 2:] + margin
    )
    return int(np.count_nonzero(np.any(np.all(inside, axis=2), axis=1)))


@dataclass(frozen=True)
class Arrow:
    """From node to node: its label, and how line and label look (arguments of `FancyArrowPatch` and
    `Axes.text`)."""

    start: Hashable
    end: Hashable
    label: str
    line: dict[str, Any]
    text: dict[str, Any]
    kind: str = ""


@dataclass
class Canvas:
    """A picture of `width` times `height` inches with nodes and arrows. `draw` draws it.

    The strip below `floor` is left to a legend, the one of height `ceiling` at the top to words.
    """

    width: float
    height: float
    font: float = 9.0
    floor: float = 0.3
    ceiling: float = 0.03
    boxes: dict[Hashable, CanvasBox] = field(default_factory=dict)
    _looks: list[tuple[Hashable, str, dict[str, Any]]] = field(default_factory=list)
    _starts: list[tuple[float, float]] = field(default_factory=list)
    _labels: list[CanvasBox] = field(default_factory=list)
    _curves: list[NDArray[np.float64]] = field(default_factory=list)
    _routes: list[tuple[Arrow, NDArray[np.float64], CanvasBox | None]] = field(default_factory=list)

    def node(self, key: Hashable, text: str, x: float, y: float, **look: Any) -> None:
        """Add a node: a box around its text. `look` goes to the box."""
        width, height = text_size(text, self.font)
        self.boxes[key] = CanvasBox(x, y, max(width + _PADDING, 0.34), max(height + 0.1, 0.34))
        self._looks.append((key, text, look))

    def start(self, key: Hashable) -> None:
        """Mark a node as the start with a short arrow, as in automata. Labels stay away from it."""
        box = self.boxes[key]
        left = box.x - box.width / 2
        self._starts.append((left, box.y))
        self._labels.append(CanvasBox(left - _START / 2, box.y, _START, 0.1))

    def arrow(self, arrow: Arrow) -> None:
        """Put an arrow between two nodes where it disturbs least."""
        options = self._loops(arrow) if arrow.start == arrow.end else self._bends(arrow)
        taken = _corners([*self.boxes.values(), *self._labels])
        passed = np.concatenate(self._curves) if self._curves else np.empty((0, 2))
        best: tuple[float, NDArray[np.float64], CanvasBox | None] | None = None
        for price, points in options:
            price += self._price_of_line(points, arrow, passed)
            if best is not None and price >= best[0]:
                continue
            if not arrow.label:
                best = price, points, None
                continue
            prices, labels = self._places(points, arrow)
            lines = (
                np.concatenate([passed, points]) if arrow.start == arrow.end else passed
            )  # a loop stays visible
            totals = price + prices + self._price_of_labels(_corners(labels), taken, lines)
            k = int(np.argmin(totals))
            if best is None or totals[k] < best[0]:
                best = float(totals[k]), points, labels[k]
        assert best is not None
        _, points, label = best
        self._routes.append((arrow, points, label))
        self._curves.append(points[::2])
        if label is not None:
            self._labels.append(label)

    # ------------------------------------------------------------------ where things may go

    def _bends(self, arrow: Arrow) -> list[tuple[float, NDArray[np.float64]]]:
        one, other = self.boxes[arrow.start], self.boxes[arrow.end]
        a, b = np.array([one.x, one.y]), np.array([other.x, other.y])
        # Many places along the curve, so that a long arrow too begins at the edge of its box.
        t = np.linspace(0, 1, 12 * _SAMPLES)[:, None]
        normal = np.array([a[1] - b[1], b[0] - a[0]])
        found = []
        for bend in _BENDS:
            c = (a + b) / 2 + bend * normal
            points = (1 - t) ** 2 * a + 2 * t * (1 - t) * c + t**2 * b
            free = points[~one.holds(points, 0.01) & ~other.holds(points, 0.03)]
            if len(free) >= _SAMPLES:
                chosen = np.linspace(0, len(free) - 1, _SAMPLES).astype(int)
                found.append((6 * abs(bend), free[chosen]))
        return found

    def _loops(self, arrow: Arrow) -> list[tuple[float, NDArray[np.float64]]]:
        box = self.boxes[arrow.start]
        away = np.array([box.x - self.width / 2, box.y - self.height / 2])
        turn = np.linspace(0, 2 * np.pi, _SAMPLES + 12)
        found = []
        for angle in np.arange(8) * np.pi / 4:
            direction = np.array([np.cos(angle), np.sin(angle)])
            reach = min(
                box.width / 2 / max(abs(direction[0]), 1e-9),
                box.height / 2 / max(abs(direction[1]), 1e-9),
            )
            centre = np.array([box.x, box.y]) + direction * (reach + 0.75 * _LOOP)
            around = angle + np.pi + turn
            points = centre + _LOOP * np.column_stack([np.cos(around), np.sin(around)])
            outward = float(direction @ away) / (float(np.hypot(*away)) + 1e-9)
            found.append((2 * (1 - outward), points[~box.holds(points, 0.02)]))
        return found

    def _places(
        self, points: NDArray[np.float64], arrow: Arrow
    ) -> tuple[NDArray[np.float64], list[CanvasBox]]:
        """List the candidate positions of an arrow's label, each with its cost."""
        width, height = text_size(arrow.label, self.font)
        width, height = width + 0.08, height + 0.03
        lengths = np.append(0, np.hypot(*np.diff(points, axis=0).T).cumsum())
        prices, found = [], []
        for along in _ALONG:
            k = int(np.searchsorted(lengths, along * lengths[-1]))
            k = min(max(k, 1), len(points) - 2)
            (x, y), (dx, dy) = points[k], points[k + 1] - points[k - 1]
            size = math.hypot(dx, dy) or 1.0
            for side in (0, 1, -1):
                # beside the line: far enough for the box to clear it
                shift = side * (abs(dy) / size * width / 2 + abs(dx) / size * height / 2 + 0.04)
                found.append(CanvasBox(x - shift * dy / size, y + shift * dx / size, width, height))
                beside = (
                    abs(side) if arrow.start != arrow.end else 4 * (1 + side)
                )  # outside a loop is best
                prices.append(5 * abs(along - 0.5) + 0.5 * beside)
        return np.array(prices), found

    def _price_of_line(
        self, points: NDArray[np.float64], arrow: Arrow, passed: NDArray[np.float64]
    ) -> float:
        others = [box for key, box in self.boxes.items() if key not in (arrow.start, arrow.end)]
        price = _THROUGH_A_BOX * _entered(_corners(others), points, 0.05)
        price += _LINE_THROUGH_LABEL * _entered(_corners(self._labels), points, 0.0)
        apart = (points[::2, None, :] - passed[None, :, :]) ** 2
        price += _ON_A_LINE * float((apart.sum(axis=2) < 0.06**2).any(axis=1).sum())
        return price + _OUTSIDE * float(self._outside(points).any())

    def _price_of_labels(
        self, labels: NDArray[np.float64], taken: NDArray[np.float64], passed: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        low, high = labels[:, None, :2], labels[:, None, 2:]
        overlaps = (
            ((low < taken[None, :, 2:]) & (high > taken[None, :, :2])).all(axis=2).sum(axis=1)
        )
        crossed = ((low < passed[None]) & (high > passed[None])).all(axis=2).sum(axis=1)
        outside = self._outside(labels[:, :2]) | self._outside(labels[:, 2:])
        price: NDArray[np.float64] = (
            _LABEL_ON_SOMETHING * overlaps + _POINT_UNDER_LABEL * crossed + _OUTSIDE * outside
        )
        return price

    def _outside(self, points: NDArray[np.float64]) -> NDArray[np.bool_]:
        low = np.array([0.03, self.floor])
        high = np.array([self.width - 0.03, self.height - self.ceiling])
        return np.asarray(((points < low) | (points > high)).any(axis=1))

    # ------------------------------------------------------------------ drawing

    def draw(self, axes: Axes | None = None) -> Axes:
        """Draw on the axes given, shrunk if need be, or on a new figure of just this size."""
        from matplotlib.patches import FancyArrowPatch, FancyBboxPatch
        from matplotlib.path import Path

        if axes is None:
            from matplotlib import pyplot

            axes = pyplot.figure(figsize=(self.width, self.height)).add_axes((0, 0, 1, 1))
        axes.set_xlim(0, self.width)
        axes.set_ylim(0, self.height)
        axes.set_aspect("equal")
        axes.set_axis_off()
        scale = _scale(axes, self.width, self.height)
        for arrow, points, _ in self._routes:
            patch = FancyArrowPatch(
                path=Path(points),
                mutation_scale=11 * scale,
                shrinkA=0,
                shrinkB=0,
                gid=arrow.kind,
                **{
                    "arrowstyle": "-|>",
                    **arrow.line,
                    "linewidth": scale * arrow.line.get("linewidth", 1.0),
                },
            )
            axes.add_artist(patch)  # unlike add_patch, it leaves the limits of the axes alone
        for x, y in self._starts:
            axes.annotate(
                "",
                (x - 0.02, y),
                (x - _START, y),
                gid="start",
                arrowprops={"arrowstyle": "-|>", "color": "black", "shrinkA": 0, "shrinkB": 0},
            )
        for key, text, look in self._looks:
            box = self.boxes[key]
            style = {"facecolor": "white", "edgecolor": "black", "linewidth": 1.1, **look}
            style["linewidth"] = scale * style["linewidth"]
            corner = (box.x - box.width / 2, box.y - box.height / 2)
            axes.add_artist(
                FancyBboxPatch(
                    corner,
                    box.width,
                    box.height,
                    boxstyle="round,pad=0,rounding_size=0.14",
                    zorder=3,
                    gid="node",
                    **style,
                )
            )
            axes.text(
                box.x,
                box.y,
                text,
                fontsize=scale * self.font,
                ha="center",
                va="center",
                zorder=4,
                gid="node",
            )
        for arrow, _, label in self._routes:
            if label is not None:
                axes.text(
                    label.x,
                    label.y,
                    arrow.label,
                    fontsize=scale * self.font,
                    ha="center",
                    va="center",
                    zorder=5,
                    gid=arrow.kind,
                    **{"bbox": _background(), **arrow.text},
                )
        return axes


def _background() -> dict[str, Any]:
    return {"facecolor": "white", "edgecolor": "none", "pad": 1.0}


def _scale(axes: Axes, width: float, height: float) -> float:
    """The factor by which a picture is shrunk to fit these axes. It is never enlarged."""
    figure = axes.get_figure(root=True)
    assert figure is not None
    inches = (
        axes.get_position()
        .transformed(figure.transFigure)
        .transformed(figure.dpi_scale_trans.inverted())
    )
    return min(1.0, inches.width / width, inches.height / height)


@dataclass(frozen=True)
class CanvasRow:
    """Layers side by side: where their nodes are, from the lower left corner, and how high the row
    is."""

    places: dict[Hashable, tuple[float, float]]
    height: float


def in_layers(
    starts: Iterable[Hashable], nodes: Iterable[Hashable], edges: Collection[Edge]
) -> list[list[Hashable]]:
    """Nodes by their distance from the starts, without crossings where a few sweeps avoid them.

    Nodes that no edge leads to come last.

    >>> in_layers("a", "abcd", [("a", "b"), ("a", "c"), ("b", "d")])
    [['a'], ['b', 'c'], ['d']]
    """
    layers = [list(dict.fromkeys(starts))]
    seen = set(layers[0])
    while layers[-1]:
        reached = dict.fromkeys(y for x in layers[-1] for s, y in edges if s == x)
        layers.append([y for y in reached if y not in seen])
        seen |= set(layers[-1])
    layers[-1] = [x for x in nodes if x not in seen]
    return uncrossed([layer for layer in layers if layer], edges)


def uncrossed(
    layers: Sequence[Sequence[Hashable]], edges: Collection[Edge]
) -> list[list[Hashable]]:
    """The layers, each in the order of the mean places of its neighbours (Sugiyama et al. 1981).

    >>> uncrossed([["a", "b"], ["c", "d"]], [("a", "d"), ("b", "c")])
    [['a', 'b'], ['d', 'c']]
    """
    found = [list(layer) for layer in layers]
    beside: dict[Hashable, set[Hashable]] = {}
    for x, y in edges:
        beside.setdefault(x, set()).add(y)
        beside.setdefault(y, set()).add(x)
    pairs = list(zip(range(1, len(found)), range(len(found) - 1), strict=True))
    # Down and up again: a layer follows the one before it, then the one behind it, then before.
    for k, other in [*pairs, *((b, a) for a, b in reversed(pairs)), *pairs]:
        place = {x: i for i, x in enumerate(found[other])}
        keys: dict[Hashable, float] = {}
        for i, x in enumerate(found[k]):
            near = [place[y] for y in beside.get(x, ()) if y in place]
            keys[x] = sum(near) / len(near) if near else float(i)
        found[k].sort(key=keys.__getitem__)
    return found


def snake(
    layers: Sequence[Sequence[Hashable]],
    sizes: dict[Hashable, tuple[float, float]],
    gap: tuple[float, float],
    width: float,
) -> list[CanvasRow]:
    """Arrange layers in rows of a given width, every second row from right to left.

    Parameters
    ----------
    sizes : of the nodes' texts.
    gap : between layers, and between the nodes of one layer.
    """
    rows = _filled(layers, sizes, gap[0], width)
    if len(rows) == 1:  # use the width that there is
        taken = sum(max(sizes[key][0] for key in layer) + _PADDING for layer in rows[0])
        across = min(gap[0] + _STRETCH, (width - taken) / max(1, len(rows[0]) - 1))
        margin = (width - taken - across * (len(rows[0]) - 1)) / 2
        return [_row(rows[0], sizes, (across, gap[1]), width, False, margin)]
    # Arrows go round a turn one inside the other: there is room for them, and the next row is
    # turned over.
    margin = _ROUND if any(len(layer) > 1 for row in rows for layer in row) else 0.0
    rows = _filled(layers, sizes, gap[0], width - 2 * margin)
    found: list[CanvasRow] = []
    for place, row in enumerate(rows):
        turned = [layer[:: -1 if place % 2 else 1] for layer in row]
        found.append(_row(turned, sizes, gap, width, bool(place % 2), margin))
    return found


def _filled(
    layers: Sequence[Sequence[Hashable]],
    sizes: dict[Hashable, tuple[float, float]],
    gap: float,
    width: float,
) -> list[list[Sequence[Hashable]]]:
    """The layers of each row."""
    rows: list[list[Sequence[Hashable]]] = [[]]
    used = 0.0
    for layer in layers:
        breadth = max(sizes[key][0] for key in layer) + _PADDING
        if rows[-1] and used + gap + breadth > width:
            rows.append([])
            used = 0.0
        used += breadth + (gap if rows[-1] else 0.0)
        rows[-1].append(layer)
    return rows


def _row(
    layers: Sequence[Sequence[Hashable]],
    sizes: dict[Hashable, tuple[float, float]],
    gap: tuple[float, float],
    width: float,
    backwards: bool,
    x: float = 0.0,
) -> CanvasRow:
    heights = [
        sum(sizes[key][1] + _PADDING for key in layer) + gap[1] * (len(layer) - 1)
        for layer in layers
    ]
    places: dict[Hashable, tuple[float, float]] = {}
    for layer, height in zip(layers, heights, strict=True):
        breadth = max(sizes[key][0] for key in layer) + _PADDING
        y = (max(heights) + height) / 2
        for key in layer:
            middle = x + breadth / 2
            places[key] = (
                width - middle if backwards else middle,
                y - (sizes[key][1] + _PADDING) / 2,
            )
            y -= sizes[key][1] + _PADDING + gap[1]
        x += breadth + gap[0]
    return CanvasRow(places, max(heights))
