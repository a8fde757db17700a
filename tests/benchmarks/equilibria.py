"""How many greedy policies are looked at: `python tests/benchmarks/equilibria.py`.

    cells       how many greedy policies there are, and how many are looked at after symmetry
    floats      greedy policies a second in floats
    exact       the same in rationals: floats refute within their error bounds, the rest is exact

Nothing here passes or fails; numbers move with what else the machine does.
"""

from __future__ import annotations

import time
from fractions import Fraction

from rich.console import Console
from rich.table import Table

from pomdps import recall, recall4, recall_variant
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


def main() -> None:
    table = Table("product", "states", "cells", "looked at", "floats/s", "exact/s", "fixed points")
    learner = QLearning(epsilon=Fraction(1, 10))
    for make, memory in CASES:
        E = augment(make(), memory)
        speeds = []
        for exact in (False, True):
            began = time.perf_counter()
            found = equilibria(E, learner, exact=exact)
            speeds.append(found.looked_at / (time.perf_counter() - began))
        counts = (f"{found.cells:,}", f"{found.looked_at:,}")
        rates = (f"{x:,.0f}" for x in speeds)
        table.add_row(E.name, str(len(E.S)), *counts, *rates, str(len(found)))
    Console(width=100).print(table)


if __name__ == "__main__":
    main()
