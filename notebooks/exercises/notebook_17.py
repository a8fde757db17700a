"""Exercises of notebook 17: how often to listen, and how sure to be."""

from __future__ import annotations

from functools import cache
from typing import Any

from pomdps import tiger
from workbench import best_history


def exercise_1(answer: Any) -> bool | str:
    """The number of sounds from one side after which the agent opens a door."""
    if isinstance(answer, bool) or not isinstance(answer, int):
        return "The answer is a whole number."
    if not 1 <= answer <= 50:
        return "The answer is between 1 and 50."
    if _after(answer) == "listen":
        return f"After {answer} it listens once more: ask agent.action for the history."
    if answer > 1 and _after(answer - 1) != "listen":
        return f"It opens a door after {answer - 1} already."
    return True


def exercise_2(answer: Any) -> bool | str:
    """The probability of the left side from which on the agent opens the right door."""
    if isinstance(answer, bool) or not isinstance(answer, int | float):
        return "The answer is a number between 0 and 1."
    if not 0 <= answer <= 1:
        return "A probability lies between 0 and 1."
    if _at(min(answer + 0.01, 1.0)) != "open-right":
        return f"At {answer + 0.01:.3f} it does not open the right door yet."
    if _at(answer - 0.01) == "open-right":
        return f"At {answer - 0.01:.3f} it opens the right door already."
    return True


@cache
def _agent() -> Any:
    return best_history(tiger()).policy


def _after(n: int) -> Any:
    return _agent().action(["start", *["listen", "hear-left"] * n])


def _at(left: float) -> Any:
    return _agent().action({("left", "hear-left"): left, ("right", "hear-left"): 1 - left})
