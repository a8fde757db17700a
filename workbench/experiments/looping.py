"""What a cell of the oracle loop computes."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.improvement import improve, iterates
from workbench.policy import uniform
from workbench.pomdp import POMDP


def compute_loop(E: POMDP, step: float, ties: str, budget: int, shown: int) -> dict[str, NDArray[Any]]:
    """`values[iterate]` of the first iterates from the uniform policy; and where the loop goes: `value`, `amplitude`, `ended`."""
    stream = iterates(E, uniform(E), step=step, ties=ties)
    found = improve(E, uniform(E), step=step, ties=ties, budget=budget)
    return {
        "values": np.array([float(iterate.value) for iterate in islice(stream, shown)]),
        "value": np.array(float(found.value)),
        "amplitude": np.array(float(found.amplitude)),
        "ended": np.array(found.ended),
    }
