"""MiniGrid's RedBlueDoors and MemoryS7 (Section 6, Appendix D.3), compiled from the `minigrid`
package itself.

Needs the extra `gym`. The agent sees the `view` x `view` cells in front of it, 3 x 3 in the paper;
the package's observation also holds the compass direction, which `compass` keeps.

`red_blue_doors`: a room with a red and a blue door on opposite sides, at random heights; opening
the blue door ends the episode and pays 1 if the red door was open before. `memory_s7`: the agent
starts near a key or a ball and has to go to the one of two objects at the end of a hallway that is
like it; either ends the episode, the right one pays 1.

Without a step counter success pays 1. The package pays 1 - 0.9 t/T for success at step t of at most
T (T is 1280 for 8x8, 720 for 6x6, 245 for MemoryS7): `step_limit=T` gives that, with the count in
the state.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache

from pomdps.drawing import Drawing, Grid
from pomdps.task import task
from workbench.agents.step_limit import with_step_limit
from workbench.core.numbers import Number
from workbench.core.pomdp import POMDP

HEADINGS = {"right": (1, 0), "down": (0, -1), "left": (-1, 0), "up": (0, 1)}

_TURNS = {
    "forward": (1, 0),
    "left": (0, 1),
    "right": (0, -1),
    **dict.fromkeys(("pickup", "drop", "toggle", "done"), (0, 0)),
}


def _drawing(text: str, key: str) -> Drawing:
    """Rooms drawn with one character for each cell. The package counts rows from above."""
    top = len(text.strip("\n").split("\n")) - 1
    return Drawing(
        text,
        f"{key} arrows: where it goes or turns",
        Grid.of_blocks(text),
        lambda s, o: None if s[0] == "end" else (s[0][0], top - s[0][1]),
        _TURNS,
        lambda s: HEADINGS[s[1]],
    )


SMALL_DOORS = {
    "states": 3_168,
    "terminal": 32,
    "actions": 7,
    "steps": 720,
    "best with full information": 0.888820,
}
"""What is known of `red_blue_doors(size=6)`."""


@task(
    title="RedBlueDoors: open the red door, then the blue one",
    text="A room with a red and a blue door on opposite sides, at random heights. Opening the blue "
    "door ends the episode and pays 1 if the red door was open before. The agent sees the 3 x 3 "
    "cells in front of it.",
    source="Section 6, Appendix D.3; MiniGrid-RedBlueDoors-8x8-v0 of the package minigrid",
    # For each of 36 placements of the doors, 36 cells and 4 directions with the red door closed, 55
    # cells with it open, 18 cells outside with it closed again: 36 * 4 * (36 + 55 + 18) = 15,696,
    # and 2 terminal states.
    known={"states": 15_768, "terminal": 72, "actions": 7, "steps": 1280},
    drawing=_drawing(
        "############\n" + 6 * "#...R......B\n" + "############",
        "R, B: one of these cells holds the red, the blue door;",
    ),
    extra="gym",
)
def red_blue_doors(
    size: int = 8,
    view: int = 3,
    compass: bool = False,
    actions: Sequence[str] | None = None,
    gamma: Number = Fraction(99, 100),
    step_limit: int | None = None,
) -> POMDP:
    """RedBlueDoors. Exploring the 8x8 version takes some ten seconds, the first time.

    Parameters
    ----------
    size : 8 or 6.
    view : the agent sees so many cells ahead and across, an odd number.
    compass : whether it also sees the direction it looks in.
    actions : some of left, right, forward, pickup, drop, toggle, done; all of them by default.
    gamma : 0.99, the default of the PPO implementation that the paper uses.
    step_limit : the length of an episode, with the reward of the package.
    """
    P = _compiled(
        f"MiniGrid-RedBlueDoors-{size}x{size}-v0", "red_blue_doors", view, compass, _names(actions)
    )
    return _finished(P, gamma, step_limit)


@task(
    title="MemoryS7: go to the object that is like the one at the start",
    text="The agent starts near a key or a ball and has to go to the one of two objects at the end "
    "of a hallway that is like it; either ends the episode, the right one pays 1. The agent sees "
    "the 3 x 3 cells in front of it.",
    source="Section 6, Appendix D.3; MiniGrid-MemoryS7-v0 of the package minigrid",
    known={
        "states": 168,
        "terminal": 8,
        "observations": 56,
        "actions": 7,
        "steps": 245,
        # gamma 99/100, by dynamic programming over states and over reachable beliefs
        "best with full information": 0.965496,
        "best": 0.929794,  # history-based
    },
    drawing=_drawing(
        """
#######
#####b#
#a..#.#
#.....#
#...#.#
#####b#
#######
""",
        "a: the object to remember; b: the objects to choose from;",
    ),
    extra="gym",
)
def memory_s7(
    view: int = 3,
    compass: bool = False,
    actions: Sequence[str] | None = None,
    gamma: Number = Fraction(99, 100),
    step_limit: int | None = None,
) -> POMDP:
    """MemoryS7. Only the actions left, right and forward change anything. Parameters as of
    `red_blue_doors`.

    >>> memory_s7(actions=("left", "right", "forward"))
    POMDP memory_s7: 168 states (8 terminal), 56 observations, 3 actions, 480 outcomes, gamma 99/100
    """
    return _finished(
        _compiled("MiniGrid-MemoryS7-v0", "memory_s7", view, compass, _names(actions)),
        gamma,
        step_limit,
    )


def _names(actions: Sequence[str] | None) -> tuple[str, ...] | None:
    return None if actions is None else tuple(actions)


@lru_cache(maxsize=8)
def _compiled(
    env_id: str, name: str, view: int, compass: bool, actions: tuple[str, ...] | None
) -> POMDP:
    from workbench.extras import need
    from workbench.interop.gym.import_env import from_gymnasium
    from workbench.interop.gym.minigrid_view import MiniGridView

    need("minigrid")
    env = need("gymnasium").make(env_id, agent_view_size=view)
    return from_gymnasium(env, observe=MiniGridView(compass=compass), actions=actions, name=name)


def _finished(P: POMDP, gamma: Number, step_limit: int | None) -> POMDP:
    P = P.with_gamma(gamma)
    if step_limit is None:
        return P
    T = step_limit
    return with_step_limit(P, T, lambda r, t: r * (1 - Fraction(9 * t, 10 * T)) if r > 0 else r)
