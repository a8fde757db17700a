"""Exercises of notebook 08: a trap with two actions, and a small memory that is not trapped."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from workbench import augment, improve, uniform
from workbench.improvement.batch import sequence_task
from workbench.lab.statements import as_statement
from workbench.memories import attach

LARGEST = 3

TRAP = ((-1, 2, 0), (0, 0, 0), (0, 0, 1))
"""The smallest trap of the notebook."""


def exercise_1(answer: Any) -> bool | str:
    """Two steps, two actions, whole rewards from -3 to 3: the loop with B1 is stuck."""
    table = np.asarray(answer, dtype=object)
    if table.shape != (2, 2):
        return "The answer is a table [[r, r], [r, r]]: a row for each first action."
    values = [Fraction(x) for x in table.ravel()]
    if any(x.denominator != 1 or abs(x) > LARGEST for x in values):
        return f"The rewards are whole numbers from {-LARGEST} to {LARGEST}."
    verdict = as_statement("oracle-stuck", memory="B1").exactly(
        sequence_task([values[:2], values[2:]])
    )
    if verdict.holds is None:
        return "The loop has no limit here: it circles around a stochastic policy."
    if not verdict.holds:
        return f"Here the loop ends at {verdict.facts['B1 ends at']}, and nothing is worth more."
    return True


def exercise_2(answer: Any) -> bool | str:
    """A memory of two states with which the loop finds 0, then 1."""
    P = sequence_task(TRAP)
    memory = attach(answer, P)
    if len(memory.M) > 2:
        return f"It has {len(memory.M)} memory states; two are enough."
    E = augment(P, memory)
    run = improve(E, uniform(E), step=Fraction(1, 50))
    if run.limit_value is None:
        return "The loop has no limit with this memory."
    if run.limit_value != 2:
        return f"The loop ends at {run.limit_value}."
    return True
