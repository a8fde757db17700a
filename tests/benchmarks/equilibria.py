"""How many greedy policies are looked at: `python tests/benchmarks/equilibria.py`.

    cells       how many greedy policies there are, and how many are looked at after symmetry
    floats      greedy policies a second in floats
    exact       the same in rationals: floats refute within their error bounds, the rest is exact
    bounds      sets of policies that are refuted by bounds instead, and what share of all is left

Nothing here passes or fails; numbers move with what else the machine does.
"""

from __future__ import annotations

import time
from fractions import Fraction

from rich.console import Console
from rich.table import Table

from pomdps import gravity, recall, recall4, recall_variant
from workbench import QLearning, augment, equilibria

CASES = (
    (recall_variant, "none"),
    (recall, "B1"),
    (recall4, "B1"),
    (recall_variant, "OA1"),
    (recall, "OA1"),
    (recall_variant, "B2"),
    (recall, "B2"),
    (recall4, "OA1"),
    (recall4, "B2"),
)


BOUNDED = (
    (recall, "OA1", 100),
    (recall_variant, "OA2", 100),
    (recall4, "B2", 100),
    (gravity, "none", 50),
    (gravity, "B1", 20),
)
"""Product and how many sets of policies are bounded at most."""


def bounded() -> None:
    """Greedy policies that bounds decide, beside those that have to be looked at."""
    table = Table("product", "cells", "looked at", "sets", "left", "sets/s", "fixed points")
    for make, memory, nodes in BOUNDED:
        E = augment(make(), memory)
        began = time.perf_counter()
        found = equilibria(E, QLearning(epsilon=Fraction(1, 10)), branch=True, nodes=nodes)
        speed = found.nodes / (time.perf_counter() - began)
        left = (found.cells - found.covered) / found.cells
        cells = f"{len(E.A)}^{len(found.rows)}"
        row = (f"{found.looked_at:,}", f"{found.nodes:,}", f"{left:.2g}", f"{speed:.1f}")
        table.add_row(E.name, cells, *row, str(len(found)))
    Console(width=100).print(table)


def main() -> None:
    table = Table("product", "states", "cells", "looked at", "floats/s", "exact/s", "fixed points")
    learner = QLearning(epsilon=Fraction(1, 10))
    for make, memory in CASES:
        E = augment(make(), memory)
        speeds = []
        for exact in (False, True):
            # the shortest of three: the first one compiles, and others use the machine too
            took = []
            for _ in range(3):
                began = time.perf_counter()
                found = equilibria(E, learner, exact=exact)
                took.append(time.perf_counter() - began)
            speeds.append(found.looked_at / min(took))
        counts = (f"{found.cells:,}", f"{found.looked_at:,}")
        rates = (f"{x:,.0f}" for x in speeds)
        table.add_row(E.name, str(len(E.S)), *counts, *rates, str(len(found)))
    Console(width=100).print(table)
    bounded()


if __name__ == "__main__":
    main()
