"""Mazes in which cells look alike: the cheese maze, the 4x3 maze, T-mazes, heaven and hell.

Start states show their observation before the first action. The files of `pomdp-solve` define no
such observation, and values published for them begin with none: what is `known` of a task says
which is which.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from pomdps.drawing import COMPASS, Drawing, Grid
from pomdps.task import task
from workbench.core.errors import WorkbenchError
from workbench.core.numbers import Number, number
from workbench.core.pomdp import POMDP

DISCOUNT = Fraction(19, 20)
MOVES = {"N": (-1, 0), "S": (1, 0), "E": (0, 1), "W": (0, -1)}
"""(row, column), rows counted from the top."""


class _Cells:
    """The numbers of the cells of a drawing, three characters to each.

    Attributes
    ----------
    at : the number by (row, column); of : (row, column) by the number.
    """

    def __init__(self, text: str):
        self.text, rows = text, text.split("\n")
        self.at = {
            (i, j // 3): int(row[j : j + 3])
            for i, row in enumerate(rows)
            for j in range(0, len(row), 3)
            if row[j : j + 3].strip()
        }
        self.of = {number: cell for cell, number in self.at.items()}
        self.last = len(rows) - 1

    def place(self, number: Any) -> tuple[int, int] | None:
        """Where a cell is, counted from the bottom left."""
        if number not in self.of:
            return None
        row, column = self.of[number]
        return column, self.last - row

    def step(self, number: int, move: str) -> int:
        """The cell that a move leads to. A wall blocks it."""
        row, column = self.of[number]
        return self.at.get((row + MOVES[move][0], column + MOVES[move][1]), number)


# ---------------------------------------------------------------------- the cheese maze

_CHEESE = _Cells(" 0  1  2  3  4\n 5     6     7\n 8    10     9")
_CHEESE_SEEN = (0, 1, 2, 1, 3, 4, 4, 4, 5, 5, 6)


@task(
    title="McCallum's cheese maze",
    text="Eleven cells, seven kinds of walls around them, cheese at the bottom in the middle. "
    "Entering cell 10 pays 1; from there every action leads to one of the other cells, uniformly. "
    "A state is the number of a cell.",
    source="McCallum 1993; cheese.95.POMDP of pomdp-solve",
    known={
        "states": 11,
        "observations": 7,
        "actions": 4,
        "best": 3.578880,  # value iteration on the 15 reachable beliefs
        "best without a first observation": 3.486207,  # the convention of pomdp-solve
        "full information": 3.936065,
        "best deterministic memoryless": 0.557722,  # by enumeration
    },
    drawing=Drawing(
        _CHEESE.text,
        "10: the cheese",
        Grid.of_blocks(".....\n.#.#.\n.#C#."),
        lambda s, o: _CHEESE.place(s),
        COMPASS,
    ),
)
def cheese_maze(gamma: Number = DISCOUNT) -> POMDP:
    """McCallum's cheese maze: eleven cells, seven kinds of walls, cheese at the bottom in the
    middle. [McCallum 1993]

    >>> cheese_maze()
    POMDP cheese maze: 11 states, 7 observations, 4 actions, 80 outcomes, gamma 19/20
    """
    anywhere = dict.fromkeys(range(10), Fraction(1, 10))

    def p(s: int, a: str) -> dict[tuple[int, int], Number]:
        if s == 10:
            return {(cell, 0): x for cell, x in anywhere.items()}
        after = _CHEESE.step(s, a)
        return {(after, int(after == 10)): 1}

    return POMDP.from_functions(
        name="cheese maze",
        S=range(11),
        O=range(7),
        A=tuple(MOVES),
        p=p,
        omega=lambda s: {_CHEESE_SEEN[s]: 1},
        mu=anywhere,
        gamma=gamma,
    )


# ---------------------------------------------------------------------- the 4x3 maze

_FOUR_BY_THREE = _Cells(" 0  1  2  3\n 4     5  6\n 7  8  9 10")


@task(
    title="The 4x3 maze of Parr and Russell",
    text="The agent senses walls on the left and on the right only. A move goes astray to either "
    "side with probability 1/10 each. Acting in 3 pays 1, in 6 costs 1, anywhere else costs 0.04; "
    "from 3 and 6 every action leads to one of the other cells, uniformly. A state is the number "
    "of a cell.",
    source="Parr and Russell 1995; 4x3.95.POMDP of pomdp-solve, whose 0.111111 is 1/9 and whose "
    "move east from 9 goes astray to 8 where the maze has a wall",
    known={
        "states": 11,
        "observations": 6,
        "actions": 4,
        # value iteration; an upper bound for every history-based policy
        "full information": 2.481438,
        "best deterministic memoryless": 0.429290,  # by enumeration; 0.416193 as in the file
    },
    drawing=Drawing(
        _FOUR_BY_THREE.text,
        "3: +1, 6: -1",
        Grid.of_blocks("...+\n.#.-\n...."),
        lambda s, o: _FOUR_BY_THREE.place(s),
        COMPASS,
    ),
)
def four_by_three(gamma: Number = DISCOUNT) -> POMDP:
    """The 4x3 maze of Parr and Russell, with sensors for walls on the left and on the right only.

    >>> four_by_three()
    POMDP 4x3: 11 states, 6 observations, 4 actions, 168 outcomes, gamma 19/20
    """
    goals = {3: ("good", Fraction(1)), 6: ("bad", Fraction(-1))}
    anywhere = {cell: Fraction(1, 9) for cell in range(11) if cell not in goals}
    sideways = {"N": "EW", "S": "EW", "E": "NS", "W": "NS"}

    def p(s: Any, a: str) -> dict[tuple[Any, Fraction], Number]:
        if s in goals:
            return {(cell, goals[s][1]): x for cell, x in anywhere.items()}
        found: dict[tuple[Any, Fraction], Number] = {}
        for move, x in ((a, 8), (sideways[a][0], 1), (sideways[a][1], 1)):
            outcome = (_FOUR_BY_THREE.step(s, move), Fraction(-1, 25))
            found[outcome] = found.get(outcome, 0) + Fraction(x, 10)
        return found

    def omega(s: Any) -> dict[str, int]:
        if s in goals:
            return {goals[s][0]: 1}
        walls = tuple(_FOUR_BY_THREE.step(s, side) == s for side in "WE")
        return {
            {(True, False): "left", (False, True): "right", (True, True): "both"}.get(
                walls, "neither"
            ): 1
        }

    return POMDP.from_functions(
        name="4x3",
        S=range(11),
        O=("left", "right", "neither", "both", "good", "bad"),
        A=tuple(MOVES),
        p=p,
        omega=omega,
        mu=anywhere,
        gamma=gamma,
    )


# ---------------------------------------------------------------------- T-mazes


def draw_t_maze(n: int = 5) -> Drawing:
    """The drawing of a T-maze with n cells between sign and junction.

    >>> print(draw_t_maze(2))
       +
    S..J
       +
    S the sign, J the junction, + the ways up and down
    """
    arm = " " * (n + 1) + "+"
    text = f"{arm}\nS{'.' * n}J\n{arm}"
    key = "S the sign, J the junction, + the ways up and down"
    return Drawing(text, key, Grid.of_blocks(text), lambda s, o: None if s == "end" else (s[1], 1))


@task(
    title="A T-maze: a sign at the start says which way to turn at the end",
    text="A corridor of 5 cells with a junction at its end. A state is (goal, position), with "
    "position 0 at the sign and 6 at the junction. Up or down at the junction ends the episode "
    "with 4 if it is the goal's way, else with -0.1; left and right move along the corridor.",
    source="Bakker 2001; tmaze5.POMDP of lambda_discrepancy has n = 5",
    known={
        "states": lambda n: 2 * (n + 2) + 1,
        "observations": 5,
        "actions": 4,
        # n + 1 steps to the junction, then the right way
        "best": lambda n, gamma: 4 * gamma ** (n + 1),
        # a coin at the junction
        "best memoryless": lambda n, gamma: Fraction(39, 20) * gamma ** (n + 1),
    },
    drawing=draw_t_maze(),
)
def t_maze(n: int = 5, gamma: Number = Fraction(9, 10), bump: Number = 0) -> POMDP:
    """A corridor of n cells with a junction at its end. The first cell shows which way the goal is,
    once.

    A state is (goal, position) with goal "up" or "down" and positions 0 (the sign), 1 to n (the
    corridor) and n + 1 (the junction). Up or down at the junction ends the episode with 4 if it is
    the goal's way, else with -0.1. Left and right move along the corridor; what is blocked stays.

    Parameters
    ----------
    n : cells between the sign and the junction.
    bump : the reward of a blocked move; -1/10 in Bakker (2001), 0 in the published files.

    >>> t_maze()
    POMDP t-maze 5: 15 states (1 terminal), 5 observations, 4 actions, 56 outcomes, gamma 9/10
    """
    if n < 0:
        raise WorkbenchError(f"a corridor has no {n} cells")
    junction = n + 1
    blocked = number(bump)

    def p(s: Any, a: str) -> dict[tuple[Any, Number], int]:
        goal, x = s
        if x == junction and a in ("up", "down"):
            return {("end", Fraction(4) if a == goal else Fraction(-1, 10)): 1}
        after = {"right": min(x + 1, junction), "left": max(x - 1, 0)}.get(a, x)
        return {((goal, after), blocked if after == x else Fraction(0)): 1}

    def omega(s: Any) -> dict[str, int]:
        if s == "end":
            return {"end": 1}
        return {f"goal {s[0]}" if s[1] == 0 else "junction" if s[1] == junction else "corridor": 1}

    return POMDP.from_functions(
        name=f"t-maze {n}",
        S=[*((goal, x) for x in range(n + 2) for goal in ("up", "down")), "end"],
        O=("goal up", "goal down", "corridor", "junction", "end"),
        A=("up", "down", "right", "left"),
        p=p,
        omega=omega,
        mu={("up", 0): Fraction(1, 2), ("down", 0): Fraction(1, 2)},
        gamma=gamma,
        terminal={"end"},
    )


# ---------------------------------------------------------------------- heaven and hell

_HEAVEN_HELL = _Cells(" 4  3  2  5  6\n       1\n       0\n       7  8  9")


@task(
    title="Heaven and hell: only the priest knows which is which",
    text="Heaven is at one end of a T, hell at the other, and only the priest, down a side path, "
    "knows where. Any action in heaven pays 1, in hell -1, and ends the episode. A state is (where "
    "heaven is, cell).",
    source="Geffner and Bonet 1998 (attributed to S. Thrun); heavenhell.POMDP of "
    "lambda_discrepancy",
    known={
        "states": 21,
        "observations": 12,
        "actions": 4,
        # 3 steps to the priest, 3 back, 4 to heaven, paid on leaving it
        "best": Fraction(99, 100) ** 10,
        "best deterministic memoryless": Fraction(0),  # half heaven, half hell, or neither
    },
    drawing=Drawing(
        _HEAVEN_HELL.text,
        "0: the start, 4 and 6: heaven and hell or hell and heaven, 9: the priest",
        Grid.of_blocks("?...?\n##.##\n##A##\n##..P"),
        lambda s, o: None if s == "end" else _HEAVEN_HELL.place(s[1]),
        COMPASS,
    ),
)
def heaven_hell(gamma: Number = Fraction(99, 100)) -> POMDP:
    """Heaven is at one end of a T, hell at the other. Only the priest, down a side path, knows
    which is which: he says "left" or "right". [Geffner and Bonet 1998]

    >>> heaven_hell()
    POMDP heaven-hell: 21 states (1 terminal), 12 observations, 4 actions, 80 outcomes, gamma 99/100
    """

    def p(s: Any, a: str) -> dict[tuple[Any, int], int]:
        heaven, cell = s
        if cell in (4, 6):
            return {("end", 1 if (cell == 4) == (heaven == "left") else -1): 1}
        return {((heaven, _HEAVEN_HELL.step(cell, a)), 0): 1}

    return POMDP.from_functions(
        name="heaven-hell",
        S=[*((heaven, cell) for heaven in ("left", "right") for cell in range(10)), "end"],
        O=(*(f"s{i}" for i in range(9)), "left", "right", "end"),
        A=tuple(MOVES),
        p=p,
        omega=lambda s: {"end" if s == "end" else s[0] if s[1] == 9 else f"s{s[1]}": 1},
        mu={("left", 0): Fraction(1, 2), ("right", 0): Fraction(1, 2)},
        gamma=gamma,
        terminal={"end"},
    )
