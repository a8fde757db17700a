"""Drawings of tasks whose states lie on a grid: cells, walls, marks, and where a state is.

A `Drawing` is what a terminal prints and what `workbench.figures.grid_policy` puts arrows on. Cells
are (x, y), x to the right and y up.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

GridCell = tuple[int, int]

COMPASS = {"N": (0, 1), "S": (0, -1), "E": (1, 0), "W": (-1, 0)}
ARROWS = {"up": (0, 1), "down": (0, -1), "left": (-1, 0), "right": (1, 0)}


class Grid:
    """Cells, walls and marks of a drawing with `+`, `-` and `|` between the cells.

    >>> grid = Grid('''
    ... +---+---+
    ... | A   B |
    ... +---+---+
    ... ''')
    >>> grid.marks, grid.has_wall((0, 0), (0, 1)), grid.go((0, 0), (1, 0))
    ({'A': (0, 0), 'B': (1, 0)}, True, (1, 0))
    """

    def __init__(self, drawing: str):
        lines = drawing.strip("\n").split("\n")
        self.width = (len(lines[0]) - 1) // 4
        self.height = (len(lines) - 1) // 2
        self.cells: list[GridCell] = [(x, y) for y in range(self.height) for x in range(self.width)]
        self.signs: list[tuple[str, GridCell]] = []
        self._walls: set[tuple[GridCell, GridCell]] = set()
        for x, y in self.cells:
            row, column = 2 * (self.height - 1 - y) + 1, 4 * x + 2
            if (mark := lines[row][column]) != " ":
                self.signs.append((mark, (x, y)))
            if lines[row][column + 2] == "|":
                self._wall((x, y), (x + 1, y))
            if lines[row - 1][column] == "-":
                self._wall((x, y), (x, y + 1))
            if lines[row + 1][column] == "-":
                self._wall((x, y), (x, y - 1))
            if lines[row][column - 2] == "|":
                self._wall((x, y), (x - 1, y))

    @classmethod
    def of_blocks(cls, drawing: str) -> Grid:
        """Cells, walls and marks of a drawing with one character for each cell.

        `#` and blanks are walls, `.` is a free cell, anything else a free cell with a mark.

        >>> grid = Grid.of_blocks('''
        ... A.#
        ... #.G
        ... ''')
        >>> grid.cells, grid.signs, grid.has_wall((1, 0), (0, 1)), grid.has_wall((1, 1), (1, 0))
        ([(1, 0), (2, 0), (0, 1), (1, 1)], [('G', (2, 0)), ('A', (0, 1))], False, True)
        """
        grid = cls.__new__(cls)
        lines = drawing.strip("\n").split("\n")
        grid.width, grid.height = max(map(len, lines)), len(lines)
        marks = {
            (x, len(lines) - 1 - row): mark
            for row, line in enumerate(lines)
            for x, mark in enumerate(line)
            if mark not in "# "
        }
        grid.cells = sorted(marks, key=lambda cell: (cell[1], cell[0]))
        grid.signs = [(marks[cell], cell) for cell in grid.cells if marks[cell] != "."]
        grid._walls = set()
        for x, y in grid.cells:
            for dx, dy in ARROWS.values():
                if (x + dx, y + dy) not in marks:
                    grid._wall((x, y), (x + dx, y + dy))
        return grid

    def _wall(self, one: GridCell, other: GridCell) -> None:
        self._walls |= {(one, other), (other, one)}

    @property
    def marks(self) -> dict[str, GridCell]:
        """The marked cells by their letters. Of a letter that occurs twice the last one counts."""
        return dict(self.signs)

    def has_wall(self, cell: GridCell, move: GridCell) -> bool:
        """Whether a wall stands between a cell and its neighbour."""
        return (cell, (cell[0] + move[0], cell[1] + move[1])) in self._walls

    def go(self, cell: GridCell, move: GridCell) -> GridCell:
        """Where a move leads: a blocked one stays."""
        return cell if self.has_wall(cell, move) else (cell[0] + move[0], cell[1] + move[1])


@dataclass(frozen=True)
class Drawing:
    """A task on its grid.

    Attributes
    ----------
    text : the drawing for a terminal; key : what its letters mean.
    grid : its cells, walls and marks.
    place : the cell of a state s that shows o; None where it is nowhere on the grid.
    moves : where actions point.
    heading : the way an agent in s looks, if actions are told from there: then the move (1, 0) is
        ahead and (0, 1) to its left.
    """

    text: str
    key: str
    grid: Grid
    place: Callable[[Any, Any], GridCell | None]
    moves: Mapping[Any, GridCell] = field(default_factory=lambda: dict(ARROWS))
    heading: Callable[[Any], GridCell] | None = None

    def __str__(self) -> str:
        return f"{self.text.strip(chr(10))}\n{self.key}"
