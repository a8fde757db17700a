"""The settings of Figures 6 and 12, searched for with the same budget for every memory.

    python tests/benchmarks/section6_search.py fig6-doors fig6-memory fig12-doors

Each memory, and the LSTM, is tried with the same settings (`CANDIDATES`), the same seeds (`SEEDS`,
which no figure uses) and the same steps (`STEPS`). A figure takes, for each memory, the settings
with the highest reward per episode over the last tenth (per 100 steps in the hallway), mean over
seeds; the area under the curve decides among equals. Every run is a line of `section6_search.csv`;
what is there is not run again, so the search goes on where it stopped.
"""

from __future__ import annotations

import csv
import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from pomdps import TASKS
from workbench import MemoryPair, learn
from workbench.deep.settings import DDQN, PPO, Neural, RecurrentPPO
from workbench.reproduction.neural_figures import FADES, LIMITS

SEEDS = (1000, 1001)
FOUND = Path(__file__).with_suffix(".csv")
COLUMNS = ("figure", "memory", "settings", "steps", "seed", "final", "area", "seconds")

STEPS = {
    "fig6-doors": 1_000_000,
    "fig6-memory": 2_000_000,
    "fig12-doors": 500_000,
    "fig12-memory": 500_000,
}
TASK_OF = {
    "fig6-doors": "red_blue_doors",
    "fig6-memory": "memory_s7",
    "fig12-doors": "red_blue_doors",
    "fig12-memory": "memory_s7",
}
MEMORIES = ("O3", "OA3", "none", "K3", "B3")

CANDIDATES: dict[str, tuple[dict[str, Any], ...]] = {
    "fig6": (
        {"environments": 128, "n": 64, "learning_rate": 1e-3, "entropy": 0.02},
        {"environments": 128, "n": 64, "learning_rate": 1e-3, "entropy": 0.01},
        {"environments": 32, "n": 64, "learning_rate": 3e-3, "entropy": 0.01},
    ),
    "fig12": (
        {"environments": 16, "batch": 128, "learning_rate": 1e-3, "epsilon": 0.1},
        {"environments": 16, "batch": 128, "learning_rate": 3e-4, "epsilon": 0.1},
        {"environments": 16, "batch": 128, "learning_rate": 1e-3, "epsilon": 0.1, "gamma": 0.9},
    ),
}
"""What differs; networks are 2 x 64 (the LSTM: 64 and 64 cells), with 4 epochs of 8 minibatches."""


def learner_of(figure: str, memory: str, settings: dict[str, Any]) -> Neural:
    task = TASK_OF[figure]
    limit: dict[str, Any] = {"max_episode_steps": LIMITS[task], "fade": FADES.get(task, 0.0)}
    if figure.startswith("fig12"):
        return DDQN.tuned(**settings, **limit)
    return (RecurrentPPO if memory == "LSTM" else PPO).tuned(**settings, **limit)


def done() -> set[tuple[str, str, str, int]]:
    if not FOUND.exists():
        return set()
    with FOUND.open(newline="") as file:
        return {
            (row["figure"], row["memory"], row["settings"], int(row["seed"]))
            for row in csv.DictReader(file)
        }


def keep(row: list[Any]) -> None:
    fresh = not FOUND.exists()
    with FOUND.open("a", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        if fresh:
            rows.writerow(COLUMNS)
        rows.writerow(row)


def main(figures: list[str]) -> None:
    for figure in figures:
        P = TASKS[TASK_OF[figure]].make()
        ppo = figure.startswith("fig6")
        for memory in (*MEMORIES, *(("LSTM",) if ppo else ())):
            for settings in CANDIDATES[figure.split("-")[0]]:
                text = json.dumps(settings, sort_keys=True)
                for seed in SEEDS:
                    if (figure, memory, text, seed) in done():
                        continue
                    began = time.process_time()
                    run = learn(
                        MemoryPair(P, "none" if memory == "LSTM" else memory),
                        learner_of(figure, memory, settings),
                        steps=STEPS[figure],
                        seeds=[seed],
                        policies=False,
                    )
                    parts = np.array_split(np.arange(run.rewards.shape[1]), 10)
                    r = np.array([run.rewards[0, part].sum() for part in parts])
                    n = np.array([run.episodes[0, part].sum() for part in parts])
                    by_tenth = r / n
                    took = time.process_time() - began
                    keep(
                        [
                            figure,
                            memory,
                            text,
                            run.steps,
                            seed,
                            f"{by_tenth[-1]:.4f}",
                            f"{np.nanmean(by_tenth):.4f}",
                            f"{took:.1f}",
                        ]
                    )


if __name__ == "__main__":
    main(sys.argv[1:])
