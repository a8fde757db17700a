"""Building and evaluating large augmented POMDPs: time, peak memory, growth, and a peer.

    python tests/benchmarks/evaluation.py            # about two minutes
    python tests/benchmarks/evaluation.py O1 O2      # only some memories
    python tests/benchmarks/evaluation.py --visits O2 OA2 O3              # by policy
    python tests/benchmarks/evaluation.py --visits O2 --beside OTHER      # and another tree

Each memory runs in a process of its own, so that its peak memory is its own. Times are the best of
a few repetitions after one that compiles. The peer is `quantecon.markov.DiscreteDP.evaluate_policy`
on the same chain, measured in the same process and interleaved; it is skipped where it is not
installed.
"""

from __future__ import annotations

import json
import math
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from pomdps import gravity
from workbench import POMDP, Policy, augment, best_memoryless, evaluate, uniform

MEMORIES = ("O1", "O2", "OA1", "OA2", "O3", "B4")


def best_of(repetitions: int, run: Callable[[], Any]) -> float:
    """The shortest time of several runs."""
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def measure(memory: str) -> dict[str, Any]:
    """Build and evaluate gravity with one memory under a random stochastic policy."""
    P = gravity()
    small = augment(P, "B1")
    evaluate(small, Policy.random(small, 0))  # compiles
    E = augment(P, memory)
    pi = Policy.random(E, 0)
    found = evaluate(E, pi)
    repetitions = 3 if len(E.S) < 100_000 else 1
    return {
        "memory": memory,
        "states": len(E.S),
        "outcomes": len(E.p.s_next),
        "build": best_of(repetitions, lambda: augment(P, memory)),
        "discounted": best_of(repetitions, lambda: evaluate(E, pi, weights="discounted")),
        "visits": best_of(repetitions, lambda: evaluate(E, pi)),
        "error": found.error,
        "method": found.method,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
    }


# ---------------------------------------------------------------------- by policy


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


def banded_chain(n: int, rng: np.random.Generator) -> tuple[sp.csr_array, np.ndarray]:
    """A random walk that steps up to two places either way."""
    offsets = (-2, -1, 0, 1, 2)
    weights = rng.random((n, len(offsets)))
    rows = np.repeat(np.arange(n), len(offsets)).reshape(n, -1)
    columns = np.clip(rows + np.array(offsets), 0, n - 1)
    data = weights / weights.sum(axis=1, keepdims=True)
    P = sp.coo_array((data.ravel(), (rows.ravel(), columns.ravel())), shape=(n, n)).tocsr()
    return P, rng.random(n)


def against_quantecon() -> None:
    try:
        from quantecon.markov import DiscreteDP
    except ImportError:
        print("quantecon is not installed: pip install -e '.[bench]'")
        return
    from workbench.core.linear import solve

    print(f"\n{'banded chain, n':>16} {'workbench':>10} {'quantecon':>10} {'ratio':>6}")
    for n in (1_000, 10_000, 100_000):
        P, r = banded_chain(n, np.random.default_rng(n))
        peer = DiscreteDP(r, sp.csr_matrix(P), 0.95, np.arange(n), np.zeros(n, dtype=int))
        sigma = np.zeros(n, dtype=int)
        ours, theirs = [], []
        for _ in range(5):
            ours.append(best_of(1, lambda: solve(P, 0.95, r)))  # noqa: B023
            theirs.append(best_of(1, lambda: peer.evaluate_policy(sigma)))  # noqa: B023
        difference = np.max(np.abs(solve(P, 0.95, r).x - peer.evaluate_policy(sigma)))
        assert difference < 1e-9, difference
        print(f"{n:>16,} {min(ours):>9.4f}s {min(theirs):>9.4f}s {min(ours) / min(theirs):>6.2f}")


def main(memories: tuple[str, ...]) -> None:
    print(
        f"{'memory':>6} {'states':>9} {'outcomes':>10} {'build':>8} {'discounted':>10} "
        f"{'visits':>8} {'peak':>8}  error, method"
    )
    rows = []
    for memory in memories:
        shown = subprocess.run(
            [sys.executable, __file__, "--one", memory], capture_output=True, text=True, check=True
        )
        row = json.loads(shown.stdout.splitlines()[-1])
        rows.append(row)
        print(
            f"{row['memory']:>6} {row['states']:>9,} {row['outcomes']:>10,} {row['build']:>7.3f}s "
            f"{row['discounted']:>9.3f}s "
            f"{row['visits']:>7.3f}s {row['peak']:>6.2f}GB {row['error']:.0e}"
        )
    large = [row for row in rows if row["states"] > 20_000]
    if len(large) > 1:
        small, big = min(large, key=lambda r: r["states"]), max(large, key=lambda r: r["states"])
        for what in ("build", "discounted", "visits"):
            exponent = math.log(big[what] / small[what]) / math.log(big["states"] / small["states"])
            print(
                f"growth of {what} with the number of states, {small['memory']} to "
                f"{big['memory']}: exponent {exponent:.2f}"
            )
    against_quantecon()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--policy"]:
        print(json.dumps(measure_policy(*sys.argv[2:4])))
    elif sys.argv[1:2] == ["--visits"]:
        chosen = sys.argv[2:]
        beside = chosen.index("--beside") if "--beside" in chosen else len(chosen)
        by_policy(
            tuple(chosen[:beside]) or ("O2", "OA2", "O3"), (chosen[beside + 1 :] or [None])[0]
        )
    elif sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(sys.argv[2])))
    else:
        main(tuple(sys.argv[1:]) or MEMORIES)
