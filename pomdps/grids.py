"""The gravity domain (Section 4, Figure 2): a cookie above, a force that pulls down, a button that
switches it off.

The agent sees its cell and not the force. With the force on, `up` moves down with probability
`p_down`. Entering the button's cell toggles the force; entering the cookie's cell pays 1 and ends
the episode.
"""

from __future__ import annotations

from fractions import Fraction

from pomdps.drawing import ARROWS, Drawing, Grid
from pomdps.task import task
from workbench.core.errors import WorkbenchError
from workbench.core.numbers import Number, is_symbolic, number
from workbench.core.pomdp import POMDP

FIGURE = """
+---+---+---+---+---+
| C                 |
+   +   +   +   +   +
|                   |
+   +   +   +   +   +
|                   |
+   +   +   +   +   +
|                   |
+   +---+---+---+---+
| A               B |
+---+---+---+---+---+
"""
"""The paper's drawing; `-` and `|` between two cells are walls."""

MOVES = ARROWS


@task(
    title="Gravity: fetch a cookie against a force that a button turns off",
    text="The agent sees its cell and not the force. With the force on, up moves down with "
    "probability 9/10. Entering the button's cell toggles the force; entering the cookie's cell "
    "pays 1 and ends the episode. A state is (cell, force).",
    source="Section 4, Figure 2",
    known={
        "states": 50,
        "observations": 25,
        "actions": 4,
        "steps": 12,  # of the best policy: 4 to the button, 4 back, 4 up
        "best": Fraction(19, 20) ** 11,  # full information and history-based; = 0.568800...
        "best memoryless": 0.010263,  # to six digits; deterministic, found by exhaustive search
    },
    drawing=Drawing(
        FIGURE, "A the start, B the button, C the cookie", Grid(FIGURE), lambda s, o: s[0]
    ),
)
def gravity(
    press: str = "enter", p_down: Number = Fraction(9, 10), gamma: Number = Fraction(19, 20)
) -> POMDP:
    """Gravity: fetch a cookie against a downward force that a button turns off; the force is
    hidden.

    Parameters
    ----------
    press : "enter" toggles the force on entering the button's cell; "arrive" after every step that
        ends there, bumps included. They differ only for policies that bump at the button.
    p_down : the probability that `up` moves down while the force is on.
    gamma : 0.95, as in Appendix D.1.

    >>> gravity()
    POMDP gravity: 50 states (2 terminal), 25 observations, 4 actions, 212 outcomes, gamma 19/20
    """
    if press not in ("enter", "arrive"):
        raise WorkbenchError(f"press must be 'enter' or 'arrive', not {press!r}")
    down = number(p_down if not isinstance(p_down, float) else Fraction(repr(p_down)))
    if not is_symbolic(down) and not 0 <= down <= 1:
        raise WorkbenchError(f"p_down must lie in [0, 1], not {p_down}")
    grid = Grid(FIGURE)
    start, button, cookie = grid.marks["A"], grid.marks["B"], grid.marks["C"]

    def arrive(
        cell: tuple[int, int], force: str, move: str
    ) -> tuple[tuple[tuple[int, int], str], int]:
        after = grid.go(cell, MOVES[move])
        toggles = after == button and (press == "arrive" or after != cell)
        if toggles:
            force = "off" if force == "on" else "on"
        return (after, force), int(after == cookie)

    def p(
        s: tuple[tuple[int, int], str], a: str
    ) -> dict[tuple[tuple[tuple[int, int], str], int], Number]:
        cell, force = s
        moves = {"up": 1 - down, "down": down} if (a, force) == ("up", "on") else {a: 1}
        found: dict[tuple[tuple[tuple[int, int], str], int], Number] = {}
        for move, x in moves.items():
            outcome = arrive(cell, force, move)
            if x != 0:
                found[outcome] = found.get(outcome, 0) + x
        return found

    return POMDP.from_functions(
        name="gravity",
        A=tuple(MOVES),
        p=p,
        omega=lambda s: {s[0]: 1},
        mu={(start, "on"): 1},
        gamma=gamma,
        terminal=lambda s: s[0] == cookie,
    )
