"""The best deterministic controller of n nodes, the slow obvious way: try them all."""

from __future__ import annotations

from itertools import product

from workbench import evaluate
from workbench.agents.controllers import Controller


def best_controller_value(P, n: int):
    """The best value over all maps (node, o) -> (a, next node) that start in node 0."""
    entries = [(k, o) for k in range(n) for o in P.O]
    best = None
    for choice in product(product(P.A, range(n)), repeat=len(entries)):
        tables = dict(zip(entries, choice, strict=True))
        act = {entry: {a: 1} for entry, (a, _) in tables.items()}
        after = {
            (k, o, a, r, o_next): {tables[k, o][1]: 1}
            for k, o in entries
            for a in P.A
            for r in P.R
            for o_next in P.O
        }
        controller = Controller(P, tuple(map(str, range(n))), {0: 1}, act, after)
        value = evaluate(controller.product, controller.policy, exact=True).value
        best = value if best is None else max(best, value)
    return best
