"""Corridors: one whose beliefs are in every textbook, and one with a door that looks shut when
open."""

from __future__ import annotations

from fractions import Fraction

from pomdps.drawing import ARROWS, COMPASS, Drawing, Grid
from pomdps.task import task
from workbench.core.errors import WorkbenchError
from workbench.core.numbers import Number
from workbench.core.pomdp import POMDP

_GOAL = 2

_EAST_WEST = {"EAST": COMPASS["E"], "WEST": COMPASS["W"]}


@task(
    title="Four cells in a row, the third of them the goal",
    text="EAST and WEST succeed with probability 0.9 and go the other way otherwise; a blocked "
    "move stays. Only the goal is seen. A state is a cell, 0 to 3.",
    source="Kaelbling, Littman and Cassandra 1998, Section 3.3",
    known={"states": 4, "observations": 2, "actions": 2},
    drawing=Drawing("..G.", "G: the goal", Grid.of_blocks("..G."), lambda s, o: (s, 0), _EAST_WEST),
)
def belief_corridor(gamma: Number = Fraction(19, 20), slip: Number = Fraction(1, 10)) -> POMDP:
    """The four-cell corridor. Entering the goal pays 1 and ends the episode.

    >>> from workbench.agents.beliefs import belief
    >>> belief(belief_corridor(), ("-", "EAST", "-"))
    {0: 1/10, 1: 9/20, 3: 9/20}
    """

    def p(s: int, a: str) -> dict[tuple[int, int], Number]:
        ahead = 1 if a == "EAST" else -1
        found: dict[tuple[int, int], Number] = {}
        for move, x in ((ahead, 1 - slip), (-ahead, slip)):
            cell = min(max(s + move, 0), 3)
            outcome = cell, int(cell == _GOAL)
            found[outcome] = found.get(outcome, 0) + x
        return found

    return POMDP.from_functions(
        name="belief corridor",
        A=("EAST", "WEST"),
        p=p,
        omega=lambda s: {"goal" if s == _GOAL else "-": 1},
        mu={s: Fraction(1, 3) for s in (0, 1, 3)},
        gamma=gamma,
        terminal={_GOAL},
        S=range(4),
    )


@task(
    title="A corridor with a button at one end and an invisible door at the other",
    text="From the middle, left to the button, which opens the door; the door before the goal does "
    "not look different when it is open. A state is the cell and whether the door is open, an "
    "observation the cell.",
    source="a homework of several courses on reinforcement learning",
    known={
        "states": 10,
        "observations": 6,
        "actions": 2,
        "best": lambda gamma: gamma**6,
        "best deterministic memoryless": 0,
    },
    drawing=Drawing(
        "B.A..G",
        "A: the start, B: the button, G: the goal behind the door",
        Grid.of_blocks("B.A..G"),
        lambda s, o: (s[0], 0),
        {name: ARROWS[name] for name in ("left", "right")},
    ),
)
def invisible_door(n: int = 6, start: int = 2, gamma: Number = Fraction(9, 10)) -> POMDP:
    """A corridor of n cells: the last one can be entered once the first one was visited.

    >>> invisible_door()
    POMDP invisible door: 10 states (1 terminal), 6 observations, 2 actions, 18 outcomes, gamma 9/10
    """
    if not 0 < start < n - 1:
        raise WorkbenchError(
            f"the start lies between the button 0 and the goal {n - 1}, not at {start}"
        )

    def p(s: tuple[int, bool], a: str) -> dict[tuple[tuple[int, bool], int], int]:
        cell, is_open = s
        last = n - 1 if is_open else n - 2
        cell = max(cell - 1, 0) if a == "left" else min(cell + 1, last)
        return {((cell, is_open or cell == 0), int(cell == n - 1)): 1}

    return POMDP.from_functions(
        name="invisible door",
        A=("left", "right"),
        p=p,
        omega=lambda s: {s[0]: 1},
        mu={(start, False): 1},
        gamma=gamma,
        terminal=lambda s: s[0] == n - 1,
    )
