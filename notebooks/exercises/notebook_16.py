"""Exercises of notebook 16: ten seeds at one look, and a moment at which a run is worth nothing."""

from __future__ import annotations

from typing import Any

from pomdps import recall
from workbench import QLearning, augment, learn

EVERY = 10_000
MOST = 4_000_000


def exercise_1(answer: Any) -> bool | str:
    """The probability that ten independent seeds are all at the optimum."""
    if isinstance(answer, bool) or not isinstance(answer, int | float):
        return "The answer is a number between 0 and 1."
    if not 0 <= answer <= 1:
        return "A probability lies between 0 and 1."
    if abs(answer - 0.9875**10) > 0.005:
        return "Each of the ten seeds has to be there, independently of the others."
    return True


def exercise_2(answer: Any) -> bool | str:
    """A number of steps after which the greedy policy of seed 0 is worth nothing."""
    if isinstance(answer, bool) or not isinstance(answer, int):
        return "The answer is a whole number of steps."
    if not 0 < answer <= MOST or answer % EVERY:
        return f"The answer is a multiple of {EVERY:,}, up to {MOST:,}."
    run = learn(augment(recall(), "OA1"), QLearning(), steps=answer, seeds=1, every=EVERY)
    value = run.values(gamma=1)[0, -1]
    if value != 0:
        return f"After {answer:,} steps its greedy policy is worth {value:g}."
    return True
