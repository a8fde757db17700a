"""The ends of the oracle loop on all small tasks, recorded once and compared ever after.

    python tests/support/frozen_loops.py > tests/data/oracle_loops.json    records this tree

A line for each run from the uniform policy: how it ended, the value there, how many iterates it
took, and how many ties were told.
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

from pomdps import TASKS
from workbench import augment, improve, uniform
from workbench.core.improve import weights_for

MEMORIES = ("none", "K1", "B1", "O1", "OA1", "B2")
MOST_STATES = 2_500
STEP, BUDGET = 0.1, 2_000


def record_run(task: str, memory: str) -> dict[str, Any] | None:
    """Run the loop on a product; None if it is too large."""
    P = TASKS[task].make()
    if len(P.S) > MOST_STATES:
        return None
    E = augment(P, memory)
    if len(E.S) > MOST_STATES:
        return None
    start = uniform(E)
    weights = weights_for(E, start)
    began = time.process_time()
    run = improve(E, start, step=STEP, weights=weights, budget=BUDGET)
    print(f"{time.process_time() - began:7.2f} s {len(E.S):5} {weights} {run!r}", file=sys.stderr)
    return {
        "task": task,
        "memory": memory,
        "weights": weights,
        "ended": run.ended,
        "value": float(run.mean if run.ended == "limit cycle" else run.value),
        "limit": None if run.limit_value is None else str(run.limit_value),
        "iterates": run.iterates,
        "period": run.period,
        "ties": len(run.ties),
    }


if __name__ == "__main__":
    chosen = [x for x in sys.argv[1:] if x in TASKS] or [*TASKS]
    found = [x for task in chosen for memory in MEMORIES if (x := record_run(task, memory))]
    print("[\n" + ",\n".join(map(json.dumps, found)) + "\n]")
