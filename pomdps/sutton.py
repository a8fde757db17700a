"""Sutton's grid as Littman made it partially observable: the benchmark of memoryless policies.

Six rows, nine columns, seven walls, a goal in the upper right corner. The agent sees which of the
eight neighbouring cells are walls, 30 different patterns in 46 cells, and pays 1 for every step. A
policy is judged by the total number of steps over all 46 starts.
"""

from __future__ import annotations

from fractions import Fraction

from pomdps.drawing import ARROWS, Drawing, Grid
from pomdps.task import task
from workbench.core.numbers import Number
from workbench.core.pomdp import POMDP

FIGURE = """
.......#G
..#....#.
..#....#.
..#......
.....#...
.........
"""

GRID = Grid.of_blocks(FIGURE)

_AROUND = ((-1, 1), (0, 1), (1, 1), (-1, 0), (1, 0), (-1, -1), (0, -1), (1, -1))
"""The neighbours of a cell, in the order in which they are read."""


def neighbours(cell: tuple[int, int]) -> str:
    """What is around a cell, # for a wall, row by row from above."""
    x, y = cell
    free = set(GRID.cells)
    return "".join("." if (x + dx, y + dy) in free else "#" for dx, dy in _AROUND)


@task(
    title="Sutton's grid, of which only the eight neighbours are seen",
    text="46 cells look like 30; each step costs 1, and episodes start in every cell alike. A "
    "state is a cell, an observation the walls around it, row by row from above.",
    source="Sutton 1990; Littman 1994; Loch and Singh 1998",
    known={
        "states": 47,
        "observations": 31,
        "actions": 4,
        "full information": Fraction(-404, 46),
        # 416 steps in all is widely quoted from Littman 1994
        "best deterministic memoryless": Fraction(-416, 46),
    },
    drawing=Drawing(FIGURE.strip("\n"), "G: the goal", GRID, lambda s, o: s, ARROWS),
)
def sutton_grid(gamma: Number = 1) -> POMDP:
    """Sutton's grid world, partially observable.

    >>> sutton_grid()
    POMDP sutton grid: 47 states (1 terminal), 31 observations, 4 actions, 184 outcomes, gamma 1
    """
    goal = GRID.marks["G"]
    starts = [cell for cell in GRID.cells if cell != goal]
    return POMDP.from_functions(
        name="sutton grid",
        A=tuple(ARROWS),
        p=lambda s, a: {(GRID.go(s, ARROWS[a]), -1): 1},
        omega=lambda s: {"goal" if s == goal else neighbours(s): 1},
        mu={s: Fraction(1, len(starts)) for s in starts},
        gamma=gamma,
        terminal={goal},
    )
