"""The hallway worlds of Section 6 (Appendix D.2): three rooms on a hallway that looks the same on
every walk through it.

The agent moves in the four directions; one move in twenty goes in one of the other three directions
instead, and a blocked move stays. It sees its own cell and what lies in the room that it is in.

`hallway_cookie`: entering the button's cell takes away the cookie, if there is one, and puts a
cookie on one of four sites, each equally likely. Reaching the cookie pays 1. As in the public
implementation of Toro Icarte et al. (2019), the cookie lies under the agent for the one step in
which it is eaten and is gone after the next action, wherever that leads.

`hallway_keys`: two keys, one for each of two doors on the way to the coffee; the agent carries one
key at a time, picked up on entering its cell. Moving into a closed door with a key opens it, uses
up the key and enters; without one it blocks. Reaching the coffee pays 1, brings the agent back to
its start, locks the doors and lays out the keys again.

Both tasks go on for ever: evaluate them with `weights="stationary"`, or under a limit with
`workbench.agents.step_limit.with_step_limit` (the paper's episodes have 10,000 steps). Cells are
(row, column) from the top left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from pomdps.drawing import Drawing, Grid, GridCell
from pomdps.task import task
from workbench.core.errors import WorkbenchError
from workbench.core.numbers import Number, is_symbolic, number
from workbench.core.pomdp import POMDP

ROOMS = """
###############
#nnn###########
#nnn###########
#nnn###########
##n############
##h############
##h#####eeeeee#
##h#####eeeeee#
##hhhhheeeeeee#
##h#####eeeeee#
##h#####eeeeee#
##h############
##s############
#sss###########
#sss###########
#sss###########
###############
"""
"""Which room a cell belongs to: north, hallway, south, east."""

COOKIE = """
###############
#c.c###########
#...###########
#...###########
##.############
##.############
##.#####......#
##.#####......#
##A..........B#
##.#####......#
##.#####......#
##.############
##.############
#...###########
#...###########
#c.c###########
###############
"""

KEYS = """
###############
#k.k###########
#...###########
#...###########
##.############
##.############
##.#####.#.#.G#
##.#####.#.#..#
##A......D.D..#
##.#####.#.#..#
##.#####.#.#..#
##.############
##.############
#...###########
#...###########
#k.k###########
###############
"""

MOVES = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}

ENDING_KEYS = {
    "states": 623,
    "observations": 213,
    "best with full information": 0.534618,
    "best": 0.520010,
}
"""What is known of `hallway_keys(ends=True)`."""


class Plan:
    """The free cells, the rooms and the marks of a drawing."""

    def __init__(self, drawing: str):
        self.rooms = {cell: mark for cell, mark in _marks(ROOMS) if mark != "#"}
        self.sites: dict[str, list[GridCell]] = {}
        self.free: set[GridCell] = set()
        for cell, mark in _marks(drawing):
            if mark != "#":
                self.free.add(cell)
                self.sites.setdefault(mark, []).append(cell)

    def go(self, cell: GridCell, move: str) -> GridCell:
        """Where a move leads: a blocked one stays."""
        there = (cell[0] + MOVES[move][0], cell[1] + MOVES[move][1])
        return there if there in self.free else cell

    def seen(self, cell: GridCell, things: tuple[GridCell, ...]) -> tuple[GridCell, ...]:
        """Those of the things that lie in the room of a cell."""
        return tuple(thing for thing in things if self.rooms[thing] == self.rooms[cell])


def _marks(drawing: str) -> Iterator[tuple[GridCell, str]]:
    for row, line in enumerate(drawing.strip("\n").split("\n")):
        for column, mark in enumerate(line):
            yield (row, column), mark


def _slipping(
    slip: Number, arrive: Callable[[Any, str], dict[tuple[Any, int], Number]]
) -> Callable[[Any, str], dict[tuple[Any, int], Number]]:
    """p(s', r | s, a) from what a move does when it goes where it was meant to."""
    amiss = number(slip)
    if not is_symbolic(amiss) and not 0 <= amiss <= 1:
        raise WorkbenchError(f"slip is a probability, not {slip}")

    def p(s: Any, a: str) -> dict[tuple[Any, int], Number]:
        found: dict[tuple[Any, int], Number] = {}
        for move in MOVES:
            x = 1 - amiss if move == a else amiss / 3
            if x != 0:
                for outcome, y in arrive(s, move).items():
                    found[outcome] = found.get(outcome, 0) + x * y
        return found

    return p


def _placed(s: Any, o: Any) -> tuple[int, int]:
    """The cell of a state, counted from the bottom left."""
    (row, column), *_ = s
    return column, _ROWS - 1 - row


_ROWS = len(ROOMS.strip("\n").split("\n"))


@task(
    title="The cookie world: press a button, look for the cookie",
    text="Entering the button's cell puts a cookie on one of four sites, each equally likely; "
    "reaching it pays 1, for ever. The agent sees its cell and what lies in the room that it is "
    "in; one move in twenty goes astray. A state is (cell, the site of the cookie or None).",
    source="Section 6, Appendix D.2; Toro Icarte et al. 2019",
    known={  # answers of dynamic programming over states and over reachable beliefs
        "states": 309,
        "observations": 102,
        "cells": 62,
        "cycle": 38,  # steps per cookie, seeing all and never slipping: 19 from the button and back
        "cycle by history": 42,  # the cookie's room to be found out: half the time 8 steps more
        "best with full information": 2.152562,  # gamma 99/100, to six digits, as the next one
        "best": 1.911209,  # history-based
        "steps per cookie": 45.381913,  # of the best history-based policy for the average reward
    },
    drawing=Drawing(
        COOKIE,
        "A the start, B the button, c the sites of the cookie, # walls",
        Grid.of_blocks(COOKIE),
        _placed,
    ),
)
def hallway_cookie(slip: Number = Fraction(1, 20), gamma: Number = Fraction(99, 100)) -> POMDP:
    """The cookie world. A state is (cell, the site of the cookie or None).

    Parameters
    ----------
    slip : the probability that a move goes in one of the other three directions.
    gamma : 0.99, the default of the PPO implementation that the paper uses.

    >>> P = hallway_cookie()
    >>> P
    POMDP hallway_cookie: 309 states, 102 observations, 4 actions, 4,624 outcomes, gamma 99/100
    >>> P.omega(((8, 2), (1, 1)))
    {((8, 2), None): Fraction(1, 1)}
    """
    plan = Plan(COOKIE)
    (start,), (button,), sites = plan.sites["A"], plan.sites["B"], plan.sites["c"]

    def arrive(s: tuple[GridCell, GridCell | None], move: str) -> dict[tuple[Any, int], Number]:
        cell, cookie = s
        left = None if cookie == cell else cookie
        there = plan.go(cell, move)
        if there == button and there != cell:
            return {((there, site), 0): Fraction(1, len(sites)) for site in sites}
        return {((there, left), int(there == left)): 1}

    def seen(s: tuple[GridCell, GridCell | None]) -> tuple[GridCell, GridCell | None]:
        cell, cookie = s
        return cell, cookie if cookie is not None and plan.seen(cell, (cookie,)) else None

    return POMDP.from_functions(
        name="hallway_cookie",
        A=tuple(MOVES),
        p=_slipping(slip, arrive),
        omega=lambda s: {seen(s): 1},
        mu={(start, None): 1},
        gamma=gamma,
    )


@task(
    title="The keys world: two keys, two doors, and coffee behind them",
    text="The agent carries one key at a time, picked up on entering its cell; a key opens one "
    "door. Reaching the coffee pays 1 and begins anew, for ever. The keys start in the north room, "
    "in the south room or one in each. A state is (cell, what is carried, sites with keys, closed "
    "doors).",
    source="Section 6, Appendix D.2; Toro Icarte et al. 2019",
    known={
        "states": 622,
        "observations": 212,
        "cells": 54,
        "cycle": 59,  # 8 to a key, 15 to the first door, 15 and 17 for the second, 4 to the coffee
        # when both keys are in the room not looked at first: 8 steps more
        "cycle by history": Fraction(185, 3),
        "best with full information": 1.135726,
        "best": 1.071766,
        "steps per coffee": 66.184441,
    },
    drawing=Drawing(
        KEYS,
        "A the start, k the sites of the keys, D the doors, G the coffee, # walls",
        Grid.of_blocks(KEYS),
        _placed,
    ),
)
def hallway_keys(
    slip: Number = Fraction(1, 20), gamma: Number = Fraction(99, 100), ends: bool = False
) -> POMDP:
    """The keys world. A state is (cell, "key" or "-" for what is carried, sites with keys, closed
    doors).

    The keys start in the north room, in the south room or one in each, equally likely; one in each
    takes a site of each room at random.

    Parameters
    ----------
    slip : the probability that a move goes in one of the other three directions.
    gamma : 0.99, the default of the PPO implementation that the paper uses.
    ends : whether the task is over at the coffee, instead of beginning anew.

    >>> hallway_keys(ends=True)
    POMDP hallway_keys: 623 states (1 terminal), 213 observations, 4 actions, 8,104 outcomes, gamma
    99/100
    """
    plan = Plan(KEYS)
    (start,), (coffee,), sites, doors = (plan.sites[mark] for mark in "AGkD")
    north, south = (tuple(site for site in sites if plan.rooms[site] == room) for room in "ns")
    layouts: dict[tuple[GridCell, ...], Number] = {north: Fraction(1, 3), south: Fraction(1, 3)}
    layouts |= {
        (one, other): Fraction(1, 3 * len(north) * len(south)) for one in north for other in south
    }
    begin = {(start, "-", keys, tuple(doors)): x for keys, x in layouts.items()}

    def arrive(
        s: tuple[GridCell, str, tuple[GridCell, ...], tuple[GridCell, ...]], move: str
    ) -> dict[tuple[Any, int], Number]:
        cell, carried, keys, closed = s
        there = plan.go(cell, move)
        if there in closed:
            if carried == "-":
                return {(s, 0): 1}
            return {((there, "-", keys, tuple(door for door in closed if door != there)), 0): 1}
        if there in keys and carried == "-":
            return {((there, "key", tuple(key for key in keys if key != there), closed), 0): 1}
        if there == coffee and not ends:
            return {(anew, 1): x for anew, x in begin.items()}
        return {((there, carried, keys, closed), int(there == coffee)): 1}

    def seen(s: tuple[GridCell, str, tuple[GridCell, ...], tuple[GridCell, ...]]) -> Any:
        cell, carried, keys, closed = s
        return cell, carried, plan.seen(cell, keys), plan.seen(cell, closed)

    return POMDP.from_functions(
        name="hallway_keys",
        A=tuple(MOVES),
        p=_slipping(slip, arrive),
        omega=lambda s: {seen(s): 1},
        mu=begin,
        gamma=gamma,
        terminal=lambda s: s[0] == coffee,
    )
