"""Results of an experiment: the curves of every method and memory, put together from cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.errors import UnknownLabel
from workbench.sweeps.cell import Cell, cells_of
from workbench.sweeps.compute import Columns
from workbench.sweeps.experiment import GREEDY, ORACLE, Experiment, Method

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Curves:
    """What a learner did with one memory.

    Attributes
    ----------
    ends : `ends[block]`, the steps done at the end of each block.
    per_100 : `per_100[seed, block]`, the average reward per 100 steps.
    values : `values[seed, block]`, the exact values of the greedy policies, if they were measured;
        NaN in blocks where they were not.
    """

    ends: NDArray[np.int64]
    per_100: NDArray[np.float64]
    values: NDArray[np.float64] | None = None

    @classmethod
    def of(cls, parts: Sequence[Columns]) -> Curves:
        """Put the cells of one method and memory together, seeds in order."""
        return cls(
            ends=_by_seed(parts[0], "step")[0],
            per_100=np.concatenate([_by_seed(part, "per_100") for part in parts]),
            values=np.concatenate([_by_seed(part, "value") for part in parts])
            if "value" in parts[0]
            else None,
        )

    def early(self, share: float = 0.1) -> NDArray[np.float64]:
        """`early[seed]`: the average reward per 100 steps over the first share of the blocks."""
        return self._average(slice(0, self._blocks(share)))

    def late(self, share: float = 0.1) -> NDArray[np.float64]:
        """`late[seed]`: the average reward per 100 steps over the last share of the blocks."""
        return self._average(slice(-self._blocks(share), None))

    def _blocks(self, share: float) -> int:
        return max(1, round(share * self.per_100.shape[1]))

    def _average(self, blocks: slice) -> NDArray[np.float64]:
        lengths = np.diff(self.ends, prepend=0)[blocks]
        return self.per_100[:, blocks] @ lengths / lengths.sum()


@dataclass(frozen=True, eq=False)
class LoopValues:
    """What the oracle loop did with one memory: the value of every iterate, and where and how it
    ended."""

    values: NDArray[np.float64]
    value: float
    amplitude: float
    ended: str

    @classmethod
    def of(cls, parts: Sequence[Columns]) -> LoopValues:
        """From the one cell there is."""
        (part,) = parts
        return cls(
            part["value"],
            float(part["end_value"][0]),
            float(part["amplitude"][0]),
            str(part["ended"][0]),
        )


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
    def of(cls, experiment: Experiment, computed: Mapping[Cell, Columns]) -> Results:
        """Put the cells of an experiment together, seeds in order."""
        parts: dict[tuple[Method, str], list[Columns]] = {}
        for cell in cells_of(experiment):
            parts.setdefault((cell.method, cell.memory), []).append(computed[cell])
        join: Any = LoopValues.of if experiment.measure == ORACLE else Curves.of
        return cls(experiment, {pair: join(arrays) for pair, arrays in parts.items()})

    def to_frame(self) -> pd.DataFrame:
        """The numbers, tidy: a row for each panel, memory, seed and point of a curve."""
        import pandas as pd

        frames = []
        for panel in self.experiment.panels:
            for memory in panel.memories:
                outcome = self[panel.method, memory]
                frames.append(
                    _tidy(outcome, self.experiment.measure).assign(panel=panel.title, memory=memory)
                )
        tidy = pd.concat(frames, ignore_index=True)
        first = ["panel", "memory"]
        return tidy[first + [column for column in tidy.columns if column not in first]]


def _by_seed(part: Columns, name: str) -> NDArray[Any]:
    """`column[seed, block]`: the rows of a cell are its seeds in order, block by block."""
    return part[name].reshape(len(np.unique(part["seed"])), -1)


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
