"""Building and evaluating large augmented POMDPs: time, peak memory, growth, and a peer.

    python tests/benchmarks/evaluation.py            # about two minutes
    python tests/benchmarks/evaluation.py O1 O2      # only some memories

Each memory runs in a process of its own, so that its peak memory is its own. Times are the best of
a few repetitions after one that compiles. The peer is `quantecon.markov.DiscreteDP.evaluate_policy`
on the same chain, measured in the same process and interleaved; it is skipped where it is not
installed.
"""

from __future__ import annotations

import json
import math
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from pomdps import gravity
from workbench import Policy, augment, evaluate
from workbench.evaluation.solve import solve

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
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(sys.argv[2])))
    else:
        main(tuple(sys.argv[1:]) or MEMORIES)
