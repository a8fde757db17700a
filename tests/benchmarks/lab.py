"""The oracle loop on many tasks: runs a minute on one core and on two, beside `improve`, which runs
them one by one.

    python tests/benchmarks/lab.py            # half a minute on an idle machine

Tables of 4 x 4 (4-action recall, the rewards of Figure 7 disturbed) and 2 x 2 x 2, step 0.02;
integers and normal numbers. Loops that chatter cost most: they have to be followed until their
period is sure. Threads share the work; best of two runs.
"""

from __future__ import annotations

import time

import numpy as np

from pomdps.recalls import RECALL4_REWARDS
from workbench import augment, improve, uniform
from workbench.improvement.batch import sequence_task, stuck

COUNT = 10_000


def runs_a_minute(tables: np.ndarray, memory: str, workers: int) -> tuple[float, float]:
    """Runs a minute, and the share of runs that do not end at a limit."""
    best = 0.0
    for _ in range(2):
        start = time.perf_counter()
        found = stuck(tables, memory, workers=workers)
        best = max(best, len(tables) / (time.perf_counter() - start) * 60)
    return best, float((found.ended != "fixed").mean())


def one_by_one(tables: np.ndarray, memory: str) -> float:
    start, count = time.perf_counter(), 40
    for rewards in tables[:count]:
        E = augment(sequence_task(rewards.tolist()), memory)
        improve(E, uniform(E), step=0.02)
    return count / (time.perf_counter() - start) * 60


def main() -> None:
    rng = np.random.default_rng(0)
    near_recall4 = np.array(RECALL4_REWARDS, dtype=float) + 0.1 * rng.normal(size=(COUNT, 4, 4))
    kinds = {
        "near recall4": near_recall4,
        "4x4 integers": rng.integers(-3, 4, (COUNT, 4, 4)).astype(float),
        "4x4 normal": rng.normal(size=(COUNT, 4, 4)),
        "2x2x2 normal": rng.normal(size=(COUNT, 2, 2, 2)),
    }
    print(
        f"{'tables':>14} {'memory':>6} {'one core':>12} {'two cores':>12} {'improve':>9} "
        f"{'no limit':>9}"
    )
    for name, tables in kinds.items():
        for memory in ("B1", "B2", "OA1"):
            stuck(tables[:10], memory)
            one, _ = runs_a_minute(tables, memory, 1)
            two, cycling = runs_a_minute(tables, memory, 2)
            slow = one_by_one(tables, memory)
            print(
                f"{name:>14} {memory:>6} {one:>12,.0f} {two:>12,.0f} {slow:>9,.0f} {cycling:>9.1%}"
            )


if __name__ == "__main__":
    main()
