"""Results of an experiment: the curves of every method and memory, put together from cells."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.errors import UnknownLabel
from workbench.experiments.cells import Cell, cells_of
from workbench.experiments.computing import Arrays
from workbench.experiments.records import GREEDY, ORACLE, Experiment, Method

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Curves:
    """What a learner did with one memory.

    Attributes
    ----------
    ends : `ends[block]`, the steps done at the end of each block.
    per_100 : `per_100[seed, block]`, the average reward per 100 steps.
    values : `values[seed, block]`, the exact undiscounted values of the greedy policies, if they were measured.
    """

    ends: NDArray[np.int64]
    per_100: NDArray[np.float64]
    values: NDArray[np.float64] | None = None

    def late(self, share: float = 0.1) -> NDArray[np.float64]:
        """`late[seed]`: the average reward per 100 steps over the last share of the blocks."""
        blocks = max(1, round(share * self.per_100.shape[1]))
        lengths = np.diff(self.ends, prepend=0)[-blocks:]
        return self.per_100[:, -blocks:] @ lengths / lengths.sum()


@dataclass(frozen=True, eq=False)
class LoopValues:
    """What the oracle loop did with one memory: the value of every iterate, and where and how it ended."""

    values: NDArray[np.float64]
    value: float
    amplitude: float
    ended: str


Outcome = Curves | LoopValues


@dataclass(frozen=True, eq=False)
class Results:
    """The outcomes of an experiment; `results[method, memory]` is one of them."""

    experiment: Experiment
    outcomes: Mapping[tuple[Method, str], Outcome]

    def __getitem__(self, pair: tuple[Method, str]) -> Any:
        if pair not in self.outcomes:
            raise UnknownLabel(f"{self.experiment.place} has no {pair[0]} with memory {pair[1]}")
        return self.outcomes[pair]

    @classmethod
    def of(cls, experiment: Experiment, computed: Mapping[Cell, Arrays]) -> Results:
        """Put the cells of an experiment together, seeds in order."""
        parts: dict[tuple[Method, str], list[Arrays]] = {}
        for cell in cells_of(experiment):
            parts.setdefault((cell.method, cell.memory), []).append(computed[cell])
        join = _loop if experiment.measure == ORACLE else _curves
        return cls(experiment, {pair: join(arrays) for pair, arrays in parts.items()})

    def to_frame(self) -> pd.DataFrame:
        """The numbers, tidy: a row for each panel, memory, seed and point of a curve."""
        import pandas as pd

        frames = []
        for panel in self.experiment.panels:
            for memory in panel.memories:
                outcome = self[panel.method, memory]
                frames.append(_tidy(outcome, self.experiment.measure).assign(panel=panel.title, memory=memory))
        tidy = pd.concat(frames, ignore_index=True)
        first = ["panel", "memory"]
        return tidy[first + [column for column in tidy.columns if column not in first]]


def _loop(parts: list[Arrays]) -> LoopValues:
    (a,) = parts
    return LoopValues(a["values"], float(a["value"]), float(a["amplitude"]), str(a["ended"]))


def _curves(parts: list[Arrays]) -> Curves:
    values = np.concatenate([a["values"] for a in parts]) if "values" in parts[0] else None
    return Curves(parts[0]["ends"], np.concatenate([a["per_100"] for a in parts]), values)


def _tidy(outcome: Outcome, measure: str) -> pd.DataFrame:
    import pandas as pd

    if isinstance(outcome, LoopValues):
        return pd.DataFrame({"iterate": np.arange(len(outcome.values)), "value": outcome.values})
    seeds, blocks = outcome.per_100.shape
    columns: dict[str, Any] = {
        "seed": np.repeat(np.arange(seeds), blocks),
        "step": np.tile(outcome.ends, seeds),
        "per_100": outcome.per_100.ravel(),
    }
    if measure == GREEDY and outcome.values is not None:
        columns["value"] = outcome.values.ravel()
    return pd.DataFrame(columns)
