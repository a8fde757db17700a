"""The exercises of notebook 12: rewards without a fixed point, and an epsilon with one. [Section
5]"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from pomdps import recall
from workbench import QLearning, augment, equilibria
from workbench.improvement.batch import sequence_task


def exercise_1(answer: Any) -> bool | str:
    """A 2x2 table of whole numbers from 0 to 3 on which Q-learning without memory, epsilon 1/10,
    has two strict fixed points of different worth."""
    table = np.asarray(answer)
    if table.shape != (2, 2) or table.dtype.kind != "i":
        return "Give two rows of two whole numbers."
    if table.min() < 0 or table.max() > 3:
        return "The rewards go from 0 to 3."
    found = equilibria(
        sequence_task(table.tolist()), QLearning(epsilon=Fraction(1, 10)), exact=True
    )
    strict = {e.value for e in found if e.strict}
    if len(strict) > 1:
        return True
    return f"There are {len(strict)} different values among the strict fixed points; two are asked."


def exercise_2(answer: Any) -> bool | str:
    """An epsilon in (0, 1), as a fraction, at which Q-learning on recall with B1 and gamma 1/2 has
    a strict fixed point."""
    epsilon = Fraction(answer)
    if not 0 < epsilon < 1:
        return "epsilon lies between 0 and 1."
    E = augment(recall(gamma=Fraction(1, 2)), "B1")
    found = equilibria(E, QLearning(epsilon=epsilon), exact=True)
    return True if any(e.strict for e in found) else f"At {epsilon} no fixed point is strict."
