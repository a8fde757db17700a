"""A cell of the oracle loop computes the values of its iterates, and where and how it ends."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.improve import improve
from workbench.core.policy import uniform
from workbench.core.pomdp import POMDP


@dataclass(frozen=True, eq=False)
class LoopValues:
    """What the oracle loop does with one memory.

    Attributes
    ----------
    values : of the first iterates.
    value, amplitude, ended : where the loop ends and how, as an `Improvement` says it.
    """

    values: NDArray[np.float64]
    value: float
    amplitude: float
    ended: str

    def columns(self) -> dict[str, NDArray[Any]]:
        """Columns `iterate` and `value`, with a row for each iterate. The same in all rows are
        `end_value`, `amplitude` and `ended`."""
        n = len(self.values)
        return {
            "iterate": np.arange(n),
            "value": self.values,
            "end_value": np.full(n, self.value),
            "amplitude": np.full(n, self.amplitude),
            "ended": np.full(n, self.ended),
        }

    @classmethod
    def from_columns(cls, columns: Mapping[str, NDArray[Any]]) -> LoopValues:
        """The loop that `columns` hold."""
        return cls(
            columns["value"],
            float(columns["end_value"][0]),
            float(columns["amplitude"][0]),
            str(columns["ended"][0]),
        )


def compute_loop(E: POMDP, step: float, ties: str, budget: int, shown: int) -> LoopValues:
    """Run the oracle loop from the uniform policy."""
    found = improve(E, uniform(E), step=step, ties=ties, budget=budget, least=shown)
    values = found.values[:shown].astype(np.float64)
    return LoopValues(values, float(found.mean), float(found.amplitude), found.ended)
