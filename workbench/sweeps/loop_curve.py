"""What a cell of the oracle loop computes."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.improvement.improve import improve, iterates
from workbench.model.policy import uniform
from workbench.model.pomdp import POMDP


def compute_loop(
    E: POMDP, step: float, ties: str, budget: int, shown: int
) -> dict[str, NDArray[Any]]:
    """A row for each of the first iterates from the uniform policy: `iterate` and its `value`.

    The same in all rows is where the loop goes: `end_value`, `amplitude` and `ended`.
    """
    stream = iterates(E, uniform(E), step=step, ties=ties)
    found = improve(E, uniform(E), step=step, ties=ties, budget=budget)
    values = np.array([float(iterate.value) for iterate in islice(stream, shown)])
    return {
        "iterate": np.arange(len(values)),
        "value": values,
        "end_value": np.full(len(values), float(found.value)),
        "amplitude": np.full(len(values), float(found.amplitude)),
        "ended": np.full(len(values), found.ended),
    }
