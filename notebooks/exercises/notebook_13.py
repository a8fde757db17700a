"""The exercises of notebook 13: two bits that fail where one succeeds, and a table for every k.
[Own theorems]"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.improvement.batch import stuck


def _table(answer: Any, most: int) -> np.ndarray | str:
    table = np.asarray(answer)
    if table.shape != (2, 2) or table.dtype.kind != "i":
        return "Give two rows of two whole numbers."
    if table.min() < 0 or table.max() > most:
        return f"The rewards go from 0 to {most}."
    return table


def exercise_1(answer: Any) -> bool | str:
    """A table of whole numbers from 0 to 12 on which B1 reaches the best reward and B2 does not,
    other than [[3,2],[0,4]] and its mirror image."""
    table = _table(answer, 12)
    if isinstance(table, str):
        return table
    if table.tolist() in ([[3, 2], [0, 4]], [[4, 0], [2, 3]]):
        return "That one is in the text."
    for memory, due in (("B1", False), ("B2", True)):
        run = stuck([table], memory)
        if bool(run.stuck.item()) is not due:
            return f"{memory} ends at {run.value.item():g}, the best is {run.best.item():g}."
    return True


def exercise_2(answer: Any) -> bool | str:
    """A table of whole numbers from 0 to 20 on which B1 is stuck, and loses at least 3."""
    table = _table(answer, 20)
    if isinstance(table, str):
        return table
    run = stuck([table], "B1")
    gap = run.best.item() - run.value.item()
    return True if run.stuck.item() and gap >= 3 else f"B1 loses {gap:.3g}."
