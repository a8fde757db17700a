"""Sets of greedy policies that bounds refute, and what share of all is left:
`python tests/benchmarks/equilibria.py`.

Nothing here passes or fails; numbers move with what else the machine does.
"""

from __future__ import annotations

import time
from fractions import Fraction

from rich.console import Console
from rich.table import Table

from pomdps import gravity, recall, recall4, recall_variant
from workbench import QLearning, augment, equilibria

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


if __name__ == "__main__":
    bounded()
