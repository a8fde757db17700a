"""Exercises of notebook 18: what the hallway shows, and a rule for its crossing."""

from __future__ import annotations

from typing import Any

from pomdps import hallway_cookie
from pomdps.hallway import COOKIE, Plan

ROADS = {(8, 13): "up", (4, 2): "down", (1, 1): "right"}
"""Look up after the button, down after an empty upper room, and go back after a cookie."""

WHY = {
    (8, 13): "the button has just put a cookie somewhere, and the agent looks up first",
    (4, 2): "the upper room is empty, so the cookie lies in the other one",
    (1, 1): "the cookie is eaten, and the next one comes from the button",
}


def exercise_1(answer: Any) -> bool | str:
    """The number of observations in the hallway."""
    if isinstance(answer, bool) or not isinstance(answer, int):
        return "The answer is a whole number."
    P, plan = hallway_cookie(), Plan(COOKIE)
    seen = sum(plan.rooms[cell] == "h" for cell, _ in P.O)
    if answer != seen:
        return "Count the observations (cell, cookie) of P.O whose cell lies in the hallway."
    return True


def exercise_2(answer: Any) -> bool | str:
    """Where to go from the crossing, by what was seen before."""
    if not isinstance(answer, dict):
        return "The answer is a dictionary, such as {(8, 13): 'left', ...}."
    missing = [cell for cell in ROADS if cell not in answer]
    if missing:
        return f"The dictionary says nothing about {missing[0]}."
    for cell, road in ROADS.items():
        if answer[cell] not in ("up", "down", "right"):
            return f"After {cell}: 'up', 'down' or 'right' is needed, not {answer[cell]!r}."
        if answer[cell] != road:
            return f"After {cell} not {answer[cell]}: {WHY[cell]}."
    return True
