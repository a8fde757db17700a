"""Evaluating gravity with large memories, policy by policy: processor time and peak memory.

    python tests/benchmarks/evaluation.py                        # O2, OA2 and O3
    python tests/benchmarks/evaluation.py O2 --beside OTHER      # and another tree

Each evaluation runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import time
from typing import Any

import numpy as np

from pomdps import gravity
from workbench import POMDP, Policy, augment, best_memoryless, evaluate, uniform


def policies(E: POMDP, P: POMDP) -> dict[str, Policy]:
    """Uniform; the best policy with little else mixed in; random rows; rows near the corners.

    The best policy is that of gravity with O1, which is as good as any with full information: the
    newest entry of a longer memory does what the only one of O1 does.
    """
    small = augment(P, "O1")
    choice = best_memoryless(small).policy.actions

    def newest(m: Any) -> Any:
        entry = m[-1]
        return entry[0] if entry is not None and entry[1] in P.A else entry

    to = [E.A.index(a) for a in small.A]
    best = Policy.deterministic(
        E,
        {(m, o): E.A[to[choice[small.O.index(((newest(m),), o))]]] for m, o in E.O},
    )
    rough = np.random.default_rng(0).dirichlet(np.full(len(E.A), 0.1), len(E.O))
    return {
        "uniform": uniform(E),
        "sharp 1e-2": best.toward(uniform(E), 1e-2),
        "sharp 1e-4": best.toward(uniform(E), 1e-4),
        "random": Policy.random(E, 0),
        "rough": Policy(E, rough / rough.sum(axis=1, keepdims=True)),
    }


def measure_policy(memory: str, name: str) -> dict[str, Any]:
    """Evaluate gravity with one memory under one policy: processor seconds, memory, and whether the
    numbers can be right."""
    P = gravity()
    small = augment(P, "O1")
    evaluate(small, Policy.random(small, 0))  # compiles
    E = augment(P, memory)
    pi = policies(E, P)[name]
    found: dict[str, Any] = {"memory": memory, "policy": name}
    for weights in ("discounted", "visits"):
        result = None  # one at a time
        start = time.process_time()
        result = evaluate(E, pi, weights=weights)
        found[weights] = time.process_time() - start
    q, q_state = result.q.raw, result.q_state.raw
    error = np.asarray(result.q_error.raw, dtype=float)
    known = np.isfinite(error) & np.isfinite(q) if error.ndim == 2 else np.isfinite(error)
    return found | {
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        "negative": int((result.visits.raw < 0).sum()),
        "outside": int(((q < np.nanmin(q_state) - 1e-9) | (q > np.nanmax(q_state) + 1e-9)).sum()),
        "q_error": float(np.max(error[known], initial=0.0)),
        "no bound": int(np.isinf(error).sum()),
    }


def by_policy(memories: tuple[str, ...], other: str | None) -> None:
    print(
        f"{'tree':>6} {'memory':>6} {'policy':>10} {'discounted':>10} {'visits':>8} {'peak':>8} "
        f"{'visits < 0':>10} {'q out of range':>14}  error of q"
    )
    trees = {"this": os.environ.get("PYTHONPATH", "")} | ({"other": other} if other else {})
    for memory in memories:
        for policy in ("uniform", "sharp 1e-2", "sharp 1e-4", "random", "rough"):
            for tree, path in trees.items():
                try:
                    shown = subprocess.run(
                        [sys.executable, __file__, "--policy", memory, policy],
                        capture_output=True,
                        text=True,
                        check=True,
                        timeout=600,
                        env=os.environ | {"PYTHONPATH": path},
                    )
                except subprocess.TimeoutExpired:
                    print(f"{tree:>6} {memory:>6} {policy:>10}  not within ten minutes")
                    continue
                row = json.loads(shown.stdout.splitlines()[-1])
                print(
                    f"{tree:>6} {memory:>6} {policy:>10} {row['discounted']:>9.2f}s "
                    f"{row['visits']:>7.2f}s {row['peak']:>6.2f}GB {row['negative']:>10} "
                    f"{row['outside']:>14}  {row['q_error']:.0e}",
                    flush=True,
                )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--policy"]:
        print(json.dumps(measure_policy(*sys.argv[2:4])))
    else:
        chosen = sys.argv[1:]
        beside = chosen.index("--beside") if "--beside" in chosen else len(chosen)
        by_policy(
            tuple(chosen[:beside]) or ("O2", "OA2", "O3"), (chosen[beside + 1 :] or [None])[0]
        )
