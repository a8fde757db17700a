"""The search for the settings of Figures 6 and 12 (`neural_settings`), run by run."""

from __future__ import annotations

import csv
import time
from pathlib import Path
from typing import Any

import numpy as np

from workbench.core.pomdp import POMDP
from workbench.deep.pair import MemoryPair
from workbench.learning.learn import learn
from workbench.reproduction.neural_figures import LSTM, NeuralFigure, found_learner
from workbench.reproduction.neural_settings import (
    COLUMNS,
    LOG,
    missing_runs,
    read_log,
    settings_text,
)

SearchItem = tuple[str, dict[str, Any], int]
"""A memory, settings and a seed."""


def missing_search(figure: NeuralFigure, path: Path = LOG) -> list[SearchItem]:
    """List the runs that the search of a figure lacks, the LSTM's last."""
    rows = read_log(path)
    return [
        (memory, settings, seed)
        for memory in sorted(figure.learners, key=lambda memory: memory == LSTM)
        for settings, seed in missing_runs(figure.id, memory, rows)
    ]


def run_search(figure: NeuralFigure, P: POMDP, item: SearchItem) -> dict[str, Any]:
    """Train once, and return the line of the log."""
    memory, settings, seed = item
    began = time.perf_counter()
    run: Any = learn(
        MemoryPair(P, "none" if memory == LSTM else memory),
        found_learner(figure.id, memory, settings),
        steps=figure.steps,
        seeds=[seed],
        policies=False,
    )
    parts = np.array_split(np.arange(run.rewards.shape[1]), 10)
    rewards = np.array([run.rewards[0, part].sum() for part in parts])
    by = np.array([run.episodes[0, part].sum() for part in parts])
    if not figure.by_episode:
        by = np.array([np.diff(run.ends, prepend=0)[part].sum() for part in parts]) / 100
    with np.errstate(invalid="ignore"):
        by_tenth = rewards / by
    return {
        "figure": figure.id,
        "memory": memory,
        "settings": settings_text(settings),
        "steps": run.steps,
        "seed": seed,
        "final": f"{by_tenth[-1]:.4f}",
        "area": f"{np.nanmean(by_tenth):.4f}",
        "seconds": f"{time.perf_counter() - began:.1f}",
    }


def append_search(line: dict[str, Any], path: Path = LOG) -> None:
    """Write a line to the end of the log."""
    fresh = not path.exists()
    with path.open("a", newline="") as file:
        rows = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        if fresh:
            rows.writeheader()
        rows.writerow(line)
