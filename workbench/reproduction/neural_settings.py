"""The settings of Figures 6 and 12: the candidates of the search, its log, and its choice.

Each memory of a figure, and the LSTM, is tried with the same settings (`CANDIDATES`), the same
seeds (`SEARCH_SEEDS`, which no figure uses) and the steps of the figure itself (`STEPS`): a search
that ends before learning does chooses by luck. As in the paper, the memories of a figure share
their settings, and the LSTM has its own: those with the highest final reward, mean over these seeds
and, for the memories, over all of them; the area under the curve decides among equals. (Two seeds
of one memory would choose by luck.) `neural_search` runs it; every run is a line of the log, in
which runs of other lengths count for nothing.
"""

from __future__ import annotations

import csv
import json
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from workbench.deep.settings import TUNED_HALLWAY

LOG = Path(__file__).with_name("neural_search.csv")
"""Every run of the search."""

COLUMNS = ("figure", "memory", "settings", "steps", "seed", "final", "area", "seconds")

SEARCH_SEEDS = (1000, 1001)

STEPS: dict[str, int] = {
    "fig6-cookie": 6_553_600,
    "fig6-keys": 6_553_600,
    "fig6-doors": 3_276_800,
    "fig6-memory": 6_553_600,
    "fig12-cookie": 1_638_400,
    "fig12-doors": 1_638_400,
    "fig12-keys": 1_638_400,
    "fig12-memory": 1_638_400,
}
"""Of each seed of a figure and of its search: whole numbers of updates in a hundredth, whatever the
candidate."""

_PPO: tuple[dict[str, Any], ...] = (
    {"environments": 128, "n": 64, "learning_rate": 1e-3, "entropy": 0.02},
    {"environments": 128, "n": 64, "learning_rate": 1e-3, "entropy": 0.01},
    {"environments": 32, "n": 64, "learning_rate": 3e-3, "entropy": 0.01},
)
_DDQN: tuple[dict[str, Any], ...] = (
    {"environments": 16, "batch": 128, "learning_rate": 1e-3, "epsilon": 0.1},
    {"environments": 16, "batch": 128, "learning_rate": 3e-4, "epsilon": 0.1},
    {"environments": 16, "batch": 128, "learning_rate": 1e-3, "epsilon": 0.1, "gamma": 0.9},
)

_HALLWAY: tuple[dict[str, Any], ...] = tuple(
    {**TUNED_HALLWAY, "environments": environments, "n": n}
    for environments, n in ((128, 128), (64, 256), (32, 512))
)

CANDIDATES: dict[str, tuple[dict[str, Any], ...]] = {
    "fig6-cookie": _HALLWAY,
    "fig6-keys": _HALLWAY,
    "fig6-doors": _PPO,
    "fig6-memory": _PPO,
    "fig12-cookie": _DDQN,
    "fig12-doors": _DDQN,
    "fig12-keys": _DDQN,
    "fig12-memory": _DDQN,
}
"""What is tried, as changes of `tuned()`: two layers of 64 (the LSTM: one, and 64 cells)."""


@dataclass(frozen=True)
class SearchRow:
    """A run of the search: `settings` is the text of a candidate, rewards as in `NeuralCell`."""

    figure: str
    memory: str
    settings: str
    steps: int
    seed: int
    final: float
    area: float


def read_log(path: Path = LOG) -> list[SearchRow]:
    """Every run of the search so far."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return [
            SearchRow(
                row["figure"],
                row["memory"],
                row["settings"],
                int(row["steps"]),
                int(row["seed"]),
                float(row["final"]),
                float(row["area"]),
            )
            for row in csv.DictReader(file)
        ]


def settings_text(settings: dict[str, Any]) -> str:
    """A candidate as it stands in the log."""
    return json.dumps(settings, sort_keys=True)


def missing_runs(
    figure: str, memory: str, rows: list[SearchRow]
) -> list[tuple[dict[str, Any], int]]:
    """The candidates and seeds that the search has not run yet."""
    have = {
        (row.figure, row.memory, row.settings, row.seed)
        for row in rows
        if row.steps == STEPS[row.figure]
    }
    return [
        (settings, seed)
        for settings in CANDIDATES[figure]
        for seed in SEARCH_SEEDS
        if (figure, memory, settings_text(settings), seed) not in have
    ]


def found_settings(
    figure: str, memories: Sequence[str], rows: list[SearchRow]
) -> dict[str, Any] | None:
    """The best candidate of memories that share their settings. None while some were not tried."""
    if any(missing_runs(figure, memory, rows) for memory in memories):
        return None
    scores: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for row in rows:
        if row.figure == figure and row.memory in memories and row.steps == STEPS[figure]:
            scores[row.settings].append((row.final, row.area))

    def score(settings: dict[str, Any]) -> tuple[float, float]:
        own = scores[settings_text(settings)]
        return sum(final for final, _ in own), sum(area for _, area in own)

    return max(CANDIDATES[figure], key=score)
