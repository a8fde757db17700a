"""The search behind `PPO.tuned()`, `RecurrentPPO.tuned()` and `DDQN.tuned()`: `python
tests/benchmarks/tuning.py [ppo] [lstm-ppo] [ddqn] [--minutes 7]`.

    task          memory    steps      a run's score
    recall4       OA1       30,000     exact value of the greedy policy / best history-based value
    t_maze        O1        150,000    likewise; with the LSTM, which has no table over (m, o), the
    memory_s7     O3        400,000      reward per episode over the last tenth / the best of it

Settings are tried one setting after the other (coordinate search, from where the last one was
best), each with the seeds 1000, 1001 and 1002, which no figure, test or notebook uses; the score of
settings is the mean over tasks and seeds. Every run is a line of `tuning.csv`; what is there is not
run again, so the search goes on where it stopped.
"""

from __future__ import annotations

import argparse
import csv
import json
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from pomdps import memory_s7, recall4, t_maze
from workbench import MemoryPair, best_history, learn
from workbench.deep.settings import NEURAL_LEARNERS

SEEDS = (1000, 1001, 1002)
FOUND = Path(__file__).with_suffix(".csv")
COLUMNS = ("learner", "settings", "task", "memory", "steps", "seed", "score")

TASKS = {
    "recall4": (recall4, "OA1", 30_000),
    "t_maze": (t_maze, "O1", 150_000),
    "memory_s7": (memory_s7, "O3", 400_000),
}

FIXED: dict[str, dict[str, Any]] = {
    "ppo": {"hidden": (64, 64), "n": 64, "environments": 32},
    "lstm-ppo": {"hidden": (64,), "cells": 64, "n": 64, "environments": 32},
    "ddqn": {"hidden": (64, 64), "environments": 16, "capacity": 32_000},
}
"""What is not searched for: sizes that two cores do quickly."""

TRIED: dict[str, dict[str, tuple[Any, ...]]] = {
    "ppo": {
        "learning_rate": (1e-3, 3e-4, 3e-3),
        "entropy": (0.01, 0.0, 0.03),
        "lam": (0.95, 0.8, 1.0),
        "clip": (0.2, 0.1),
    },
    "lstm-ppo": {"learning_rate": (1e-3, 3e-3), "entropy": (0.01,)},
    "ddqn": {
        "learning_rate": (1e-3, 3e-4),
        "batch": (128, 32),
        "epsilon": (0.1, 0.2),
        "target_every": (100,),
    },
}
"""The values of each setting, the first being where the search starts."""


def read() -> dict[tuple[str, str, str, int], float]:
    """The scores so far, by learner, settings, task and seed."""
    if not FOUND.exists():
        return {}
    with FOUND.open(newline="") as file:
        return {
            (row["learner"], row["settings"], row["task"], int(row["seed"])): float(row["score"])
            for row in csv.DictReader(file)
        }


@cache
def best_value(task: str) -> float:
    return float(best_history(TASKS[task][0]()).value)


def score_of(run: Any, task: str) -> np.ndarray[Any, Any]:
    """The score of each seed."""
    if run.says is not None:
        return np.nan_to_num(run.final_values() / best_value(task))
    last = max(1, run.rewards.shape[1] // 10)
    per_episode = run.rewards[:, -last:].sum(axis=1) / np.maximum(
        run.episodes[:, -last:].sum(axis=1), 1
    )
    best = {"recall4": 1.0, "t_maze": 4.0, "memory_s7": 1.0}
    return np.asarray(per_episode / best[task])


def try_settings(name: str, settings: dict[str, Any], until: float) -> float | None:
    """The mean score of settings, from the file or run now; None if the time is up."""
    text = json.dumps(settings, sort_keys=True)
    for task, (make, memory, steps) in TASKS.items():
        known = read()
        if all((name, text, task, seed) in known for seed in SEEDS):
            continue
        if time.monotonic() > until:
            return None
        P = make()
        learner = NEURAL_LEARNERS[name](**FIXED[name], **settings)
        pair = MemoryPair(P, "none" if name == "lstm-ppo" else memory)
        run = learn(pair, learner, steps=steps, seeds=SEEDS, every=steps // 10, policies=False)
        scores = score_of(run, task)
        fresh = not FOUND.exists()
        with FOUND.open("a", newline="") as file:
            rows = csv.writer(file, lineterminator="\n")
            if fresh:
                rows.writerow(COLUMNS)
            for seed, score in zip(SEEDS, scores, strict=True):
                shown = "LSTM" if name == "lstm-ppo" else memory
                rows.writerow([name, text, task, shown, steps, seed, f"{score:.6f}"])
        print(name, text, task, np.round(scores, 3), run.seconds, flush=True)
    found = read()
    return float(np.mean([found[name, text, task, seed] for task in TASKS for seed in SEEDS]))


def search(name: str, until: float) -> Iterator[tuple[dict[str, Any], float]]:
    """The settings that are tried and their scores; the last of them that is best is chosen."""
    best = {setting: values[0] for setting, values in TRIED[name].items()}
    best_score = try_settings(name, best, until)
    if best_score is None:
        return
    yield best, best_score
    for setting, values in TRIED[name].items():
        for value in values[1:]:
            one = best | {setting: value}
            score = try_settings(name, one, until)
            if score is None:
                return
            yield one, score
        scores = {
            value: try_settings(name, best | {setting: value}, until) or 0.0 for value in values
        }
        best = best | {setting: max(values, key=lambda value: scores[value])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("learners", nargs="*", default=list(TRIED))
    parser.add_argument("--minutes", type=float, default=7)
    given = parser.parse_args()
    until = time.monotonic() + 60 * given.minutes
    for name in given.learners:
        for settings, score in search(name, until):
            print(f"{name} {score:.4f} {settings}", flush=True)


if __name__ == "__main__":
    main()
