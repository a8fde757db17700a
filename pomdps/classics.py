"""Small tasks that every paper on partial observability uses: tiger, shuttle, load-unload, the
short corridor.

Each is exact and says where its numbers come from.
Continuing tasks stay continuing: tiger has an episodic variant too, because opening a door draws
the next tiger anew.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from pomdps.drawing import Drawing, Grid
from pomdps.task import task
from workbench.core.errors import WorkbenchError
from workbench.core.numbers import Number, number
from workbench.core.pomdp import POMDP

DISCOUNT = Fraction(19, 20)


def _tiger_best(gamma: Fraction = DISCOUNT, hears: Fraction = Fraction(17, 20)) -> Fraction:
    """The value of listening until one side was heard twice more often, then opening the other
    door.

    V0 = -1 + gamma V1,  V1 = -1 + gamma (p V2 + (1 - p) V0),  V2 = 10 b - 100 (1 - b) + gamma V0,
    where p is the probability to hear the same side again and b that it is the tiger's.
    """
    p = hears**2 + (1 - hears) ** 2
    opened = (10 * hears**2 - 100 * (1 - hears) ** 2) / p
    return (-1 + gamma * (-1 + gamma * p * opened)) / (1 - gamma**2 * (1 - p + gamma * p))


def short_corridor_value(p: Any) -> Any:
    """The value of going right with probability p in the short corridor: (2p - 4) / (p (1 - p))."""
    return (2 * p - 4) / (p * (1 - p))


@task(
    title="The tiger problem: two doors, a tiger behind one of them",
    text="Listen or open a door. Listening costs 1 and hears the right side with probability "
    "17/20; opening pays 10, or -100 at the tiger's door, and then the tiger is placed anew. A "
    "state is (where the tiger is, what was heard last).",
    source="Kaelbling, Littman and Cassandra 1998, Section 5.1; tiger.95.POMDP of pomdp-solve",
    known={
        "states": 6,  # two tigers, each with the three last observations
        "observations": 3,
        "actions": 3,
        "best": _tiger_best(),  # = 19.3714, the published value; closed form in _tiger_best
        "always listen": Fraction(-20),
        # by enumeration: nothing beats listening for ever
        "best deterministic memoryless": Fraction(-20),
    },
)
def tiger(
    gamma: Number = DISCOUNT, hears: Number = Fraction(17, 20), episodic: bool = False
) -> POMDP:
    """The tiger problem: two doors, a tiger behind one of them; listen or open. [Kaelbling et al.
    1998]

    A state is (where the tiger is, what was heard last). Listening costs 1 and hears the right side
    with probability `hears`; opening pays 10, or -100 at the tiger's door, and then tiger and
    observation are drawn uniformly.

    Parameters
    ----------
    hears : how reliable the ear is.
    episodic : opening a door ends the episode.

    >>> tiger()
    POMDP tiger: 6 states, 3 observations, 3 actions, 60 outcomes, gamma 19/20
    """
    sides = ("left", "right")
    right = number(hears)
    half, quarter = Fraction(1, 2), Fraction(1, 4)

    def p(s: Any, a: str) -> dict[tuple[Any, int], Number]:
        side = s[0]
        if a == "listen":
            return {
                ((side, f"hear-{heard}"), -1): right if heard == side else 1 - right
                for heard in sides
            }
        reward = -100 if a == f"open-{side}" else 10
        if episodic:
            return {("end", reward): 1}
        return {
            ((tiger_side, f"hear-{heard}"), reward): quarter
            for tiger_side in sides
            for heard in sides
        }

    return POMDP.from_functions(
        name="tiger, episodic" if episodic else "tiger",
        A=("listen", "open-left", "open-right"),
        O=("start", "hear-left", "hear-right", *(("end",) if episodic else ())),
        p=p,
        omega=lambda s: {"end" if s == "end" else s[1]: 1},
        mu={("left", "start"): half, ("right", "start"): half},
        gamma=gamma,
        terminal={"end"} if episodic else (),
    )


SHUTTLE_STATES = (
    "docked LRV",
    "at MRV, facing it",
    "space, facing MRV",
    "at LRV, back to it",
    "at MRV, back to it",
    "space, facing LRV",
    "at LRV, facing it",
    "docked MRV",
)
"""LRV and MRV: the least and the most recently visited of two stations. Docking in the one makes it
the other."""

_TURN = (1, 4, 5, 6, 1, 2, 3, 1)
_FORWARD = (4, 1, 1, 2, 5, 6, 6, 4)
_BACK: tuple[dict[int, int], ...] = (  # in tenths
    {7: 10},
    {1: 4, 2: 3, 4: 3},
    {2: 1, 3: 8, 6: 1},
    {0: 7, 3: 3},
    {4: 3, 7: 7},
    {1: 1, 4: 8, 5: 1},
    {3: 3, 5: 3, 6: 4},
    {7: 10},
)
_SEEN: tuple[dict[str, int], ...] = (  # in tenths
    {"docked LRV": 10},
    {"MRV": 10},
    {"MRV": 7, "nothing": 3},
    {"nothing": 10},
    {"nothing": 10},
    {"LRV": 7, "nothing": 3},
    {"LRV": 10},
    {"docked MRV": 10},
)


@task(
    title="Shuttle: carry supplies between two space stations",
    text="Dock by backing into a station, in turn; docking pays 10, bumping costs 3. LRV and MRV "
    "are the least and the most recently visited station; the view is unreliable from afar.",
    source="Chrisman 1992; shuttle.95.POMDP of pomdp-solve",
    known={
        "states": 8,
        "observations": 5,
        "actions": 3,
        "best": 32.889725,  # by value iteration; history suffices for the value of full information
        "full information": 32.889725,
        "best deterministic memoryless": 18.923360,  # by enumeration
    },
)
def shuttle(gamma: Number = DISCOUNT) -> POMDP:
    """Carry supplies between two space stations by backing into them. Bumping costs 3, docking pays
    10. [Chrisman 1992]

    >>> shuttle()
    POMDP shuttle: 8 states, 5 observations, 3 actions, 34 outcomes, gamma 19/20
    """

    def p(s: str, a: str) -> dict[tuple[str, int], Number]:
        i = SHUTTLE_STATES.index(s)
        if a == "turn around":
            return {(SHUTTLE_STATES[_TURN[i]], 0): 1}
        if a == "go forward":
            return {(SHUTTLE_STATES[_FORWARD[i]], -3 if i in (1, 6) else 0): 1}
        return {
            (SHUTTLE_STATES[j], 10 if (i, j) == (3, 0) else 0): Fraction(x, 10)
            for j, x in _BACK[i].items()
        }

    return POMDP.from_functions(
        name="shuttle",
        S=SHUTTLE_STATES,
        O=("LRV", "MRV", "docked MRV", "nothing", "docked LRV"),
        A=("turn around", "go forward", "back up"),
        p=p,
        omega=lambda s: {o: Fraction(x, 10) for o, x in _SEEN[SHUTTLE_STATES.index(s)].items()},
        mu={"docked MRV": 1},
        gamma=gamma,
    )


@task(
    title="Load and unload: a cart on a road",
    text="Load at the left end, unload at the right end, see only where the ends are. A state is "
    "(position, empty or loaded); acting at the left end while empty, or at the right end while "
    "loaded, pays 1. One bit of memory is enough.",
    source="Peshkin, Meuleau and Kaelbling 1999; loadunload.pomdp of gym-pomdps (D. Aberdeen 2001)",
    known={
        "states": lambda length: 2 * length,
        "observations": lambda length: 3 if length > 2 else 2,
        "actions": 2,
        # one unit at each end, for ever
        "best": lambda length, gamma: 1 / (1 - gamma ** (length - 1)),
        # length > 2: one trip
        "best deterministic memoryless": lambda length, gamma: 1 + gamma ** (length - 1),
    },
    drawing=Drawing(
        "L...U",
        "L the pile to load from, U where to unload",
        Grid.of_blocks("L...U"),
        lambda s, o: (s[0], 0),
    ),
)
def load_unload(length: int = 5, gamma: Number = DISCOUNT, start: str = "pile") -> POMDP:
    """A cart on a road: load at the left end, unload at the right end, see only where the ends are.
    [Peshkin et al. 1999]

    A state is (position, "empty" or "loaded"). Acting at the left end while empty, or at the right
    end while loaded, pays 1 and turns the cart's state; every action moves one step, or stays at an
    end. One bit of memory is enough.

    Parameters
    ----------
    length : the number of segments of the road, at least 2; the published files have 5.
    start : "pile" begins empty at the left end; "uniform" anywhere, empty or loaded.

    >>> load_unload()
    POMDP load-unload: 10 states, 3 observations, 2 actions, 20 outcomes, gamma 19/20
    """
    if length < 2:
        raise WorkbenchError(f"a road has at least 2 segments, not {length}")
    if start not in ("pile", "uniform"):
        raise WorkbenchError(f"start must be 'pile' or 'uniform', not {start!r}")
    last = length - 1
    states = [(x, load) for x in range(length) for load in ("loaded", "empty")]

    def p(s: tuple[int, str], a: str) -> dict[tuple[tuple[int, str], int], Number]:
        x, load = s
        works = s in ((0, "empty"), (last, "loaded"))
        if works:
            load = "loaded" if load == "empty" else "empty"
        x = min(x + 1, last) if a == "right" else max(x - 1, 0)
        return {((x, load), int(works)): 1}

    def omega(s: tuple[int, str]) -> dict[str, int]:
        return {"loading" if s[0] == 0 else "unloading" if s[0] == last else "travel": 1}

    return POMDP.from_functions(
        name="load-unload",
        S=states,
        A=("right", "left"),
        p=p,
        omega=omega,
        mu={(0, "empty"): 1}
        if start == "pile"
        else dict.fromkeys(states, Fraction(1, len(states))),
        gamma=gamma,
    )


@task(
    title="The short corridor with switched actions",
    text="Three cells that look alike, -1 a step, the goal on the right; in the second cell left "
    "and right are switched. Only stochastic policies do well without memory.",
    source="Sutton and Barto 2018, Example 13.1",
    known={
        "states": 4,
        "observations": 1,
        "actions": 2,
        "best memoryless": -6 - 4 * math.sqrt(2),  # = -11.66
        "right with probability": 2 - math.sqrt(2),  # = 0.586
        "epsilon-greedy right": short_corridor_value(Fraction(19, 20)),  # epsilon 0.1: -44.2
        "epsilon-greedy left": short_corridor_value(Fraction(1, 20)),  # -82.1
        "best": Fraction(-3),  # right, then left (the actions are switched), then right
    },
    drawing=Drawing(
        "A!.G",
        "A the start, ! left and right are switched, G the goal",
        Grid.of_blocks("A!.G"),
        lambda s, o: (s, 0),
    ),
)
def short_corridor(gamma: Number = 1) -> POMDP:
    """The short corridor with switched actions: three cells that look alike, -1 a step, the goal on
    the right.

    In the second cell left and right are switched. Only stochastic policies do well without memory.
    [Sutton and Barto 2018, Example 13.1]

    >>> short_corridor()
    POMDP short corridor: 4 states (1 terminal), 1 observation, 2 actions, 6 outcomes, gamma 1
    """

    def p(s: int, a: str) -> dict[tuple[int, int], int]:
        right = (a == "right") != (s == 1)
        return {(s + 1 if right else max(s - 1, 0), -1): 1}

    return POMDP.from_functions(
        name="short corridor",
        A=("left", "right"),
        p=p,
        omega=lambda s: {"o": 1},
        mu={0: 1},
        gamma=gamma,
        terminal={3},
    )
