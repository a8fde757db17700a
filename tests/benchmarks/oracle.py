"""The oracle loop: iterates a second, cost of an outcome, growth with the memory, and the obvious
ways to do it.

    python tests/benchmarks/oracle.py            # about half a minute

Iterates on 4-action recall with B(k) from the uniform policy, step 0.02, best of a few runs after
one that compiles. Beside the compiled loop: the same three lines over the public functions
(`evaluate`, `greedy`, `toward`), and dense linear algebra with everything that does not depend on
the policy computed beforehand. They are timed in the same process, one after the other, and all end
at the same policy. Then gravity, whose states come back.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from pomdps import gravity, recall4
from workbench import POMDP, augment, evaluate, uniform
from workbench.core.improve import start_loop
from workbench.core.ties import greedy_actions, tie_order

STEP = 0.02
SECONDS = 1.0
MOST_DENSE = 400
"""Beyond so many states the dense way is not tried."""


def rate(make: Callable[[int], Any], first: int = 1) -> float:
    """Iterates a second: `make(n)` runs n of them; n grows until a run takes long enough to be
    timed."""
    make(2)
    n, best = first, 0.0
    while True:
        start = time.perf_counter()
        make(n)
        seconds = time.perf_counter() - start
        best = max(best, n / seconds)
        if seconds > SECONDS / 4:
            return best
        n *= 4


def compiled(E: POMDP) -> Callable[[int], None]:
    def make(n: int) -> None:
        start_loop(E, uniform(E), STEP).advance(n)

    return make


def public(E: POMDP) -> Callable[[int], None]:
    def make(n: int) -> None:
        pi = uniform(E)
        for _ in range(n):
            pi = pi.toward(pi.greedy(evaluate(E, pi).q.raw), STEP)

    return make


def dense(E: POMDP) -> Callable[[int], None]:
    """v and d by numpy.linalg.solve, everything as dense arrays."""
    nS, nA, nO = len(E.S), len(E.A), len(E.O)
    p, R = np.zeros((nS, nA, nS)), np.zeros((nS, nA))
    rows = np.repeat(np.arange(nS * nA), np.diff(E.p.row_ptr))
    np.add.at(p.reshape(nS * nA, nS), (rows, E.p.s_next), E.p.prob.floats)
    np.add.at(R.reshape(-1), rows, E.p.prob.floats * E.p.r.floats)
    seen = np.zeros((nO, nS))
    seen[E.omega.o, np.arange(nS)] = ~E.terminal.mask
    mu, gamma, order = E.mu.prob.floats, float(E.gamma), tie_order(E.A)

    def make(n: int) -> None:
        pi = uniform(E).prob.floats.copy()
        for _ in range(n):
            acts = pi[E.omega.o]
            P = np.einsum("sa,sat->st", acts, p)
            v = np.linalg.solve(np.eye(nS) - gamma * P, (acts * R).sum(axis=1))
            d = np.linalg.solve(np.eye(nS) - P.T, mu)
            q = (seen * d) @ (R + gamma * (p @ v)) / (seen @ d)[:, None]
            pi *= 1 - STEP
            pi[np.arange(nO), greedy_actions(q, order)] += STEP

    return make


def main() -> None:
    print(
        f"{'':>4} {'states':>7} {'outcomes':>10} {'iterates/s':>11} {'ns/outcome':>10} "
        f"{'public':>8} {'dense':>8}"
    )
    costs: dict[int, tuple[int, float]] = {}
    for k in (1, 2, 3, 4, 5, 6, 7, 8):
        E = augment(recall4(), f"B{k}")
        outcomes, speed = len(E.p.s_next), rate(compiled(E), 16)
        slow = f"{rate(public(E)):>8,.0f}" if k <= 5 else f"{'':>8}"
        full = f"{rate(dense(E)):>8,.0f}" if len(E.S) <= MOST_DENSE else f"{'':>8}"
        costs[k] = outcomes, 1 / speed
        print(
            f"B{k:>3} {len(E.S):>7,} {outcomes:>10,} {speed:>11,.0f} "
            f"{1e9 / speed / outcomes:>10.2f} {slow} {full}"
        )
    (small, fast), (large, slow_one) = costs[5], costs[8]
    growth = math.log(slow_one / fast) / math.log(large / small)
    print(f"growth with the number of outcomes, B5 to B8: exponent {growth:.2f}")
    for memory in ("none", "B1", "O1", "OA1"):
        E = augment(gravity(), memory)
        print(
            f"gravity×{memory}: {len(E.S):,} states, {rate(compiled(E)):,.0f} iterates/s "
            f"(over the public functions {rate(public(E)):,.0f})"
        )


if __name__ == "__main__":
    main()
