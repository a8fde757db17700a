"""The exercises of notebook 11: a wider gap on two actions, and a reward that frees OA1.
[Appendices B and C]"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.improvement.batch import stuck

FREED = [[[0, 0], [2, 0]], [[0, 0], [0, 1]]]


def exercise_1(answer: Any) -> bool | str:
    """A 2x2 table of whole numbers from 0 to 12 on which B1, B2, B3 end at least 2 below the best
    and OA1 does not."""
    table = np.asarray(answer)
    if table.shape != (2, 2) or table.dtype.kind != "i":
        return "Give two rows of two whole numbers."
    if table.min() < 0 or table.max() > 12:
        return "The rewards go from 0 to 12."
    for memory in ("B1", "B2", "B3"):
        run = stuck([table], memory)
        if not (run.ended.item() == "fixed" and run.gap.item() >= 2):
            return (
                f"{memory} ends at {run.value.item():g} and the best is "
                f"{run.best.item():g}: the gap is to be 2 or more."
            )
    return True if not stuck([table], "OA1").stuck.item() else "OA1 is stuck as well."


def exercise_2(answer: Any) -> bool | str:
    """((a1, a2, a3), reward): one of the six zeros of the task raised, to less than 2, so that OA1
    reaches 2."""
    place, reward = answer
    table = np.array(FREED, dtype=float)
    place = tuple(place)
    if len(place) != 3 or any(a not in (0, 1) for a in place):
        return "A sequence is three actions, each 0 or 1."
    if table[place] != 0:
        return f"The sequence {place} is paid already; change one of the six that are not."
    if not 0 < reward < 2:
        return "The reward is to be more than 0 and less than 2."
    table[place] = float(reward)
    run = stuck([table], "OA1")
    return True if run.value.item() == 2 else f"OA1 ends at {run.value.item():.4g}."
