"""Small tasks of the tests' own."""

from __future__ import annotations

from fractions import Fraction

from workbench import POMDP


def doors() -> POMDP:
    """Go left or right, then open the door, or go back. The left one pays 3, the right one costs 1;
    what was done is not seen. Doors can only be opened where one stands."""

    def p(s, a):
        if s == "start":
            return {
                (a, 0): Fraction(3, 4),
                ("left" if a == "right" else "right", 0): Fraction(1, 4),
            }
        if a == "back":
            return {("start", Fraction(-1, 2)): 1}
        return {("end", 3 if s == "left" else -1): 1}

    return POMDP.from_functions(
        name="doors",
        A=["left", "right", "back", "open"],
        p=p,
        omega=lambda s: {{"start": "hall", "end": "over"}.get(s, "door"): 1},
        mu={"start": 1},
        gamma=Fraction(9, 10),
        terminal={"end"},
        allowed=lambda o: ["left", "right"] if o == "hall" else ["back", "open"],
    )
