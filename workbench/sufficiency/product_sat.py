"""Definition A.2 as a question to a solver: a second way to decide it, which shares no search with
the first.

One Boolean x(m,o,a,w) says that f(m,o,a) = w, one R(m,q) that the place q may be reached with the
memory state m:

    R(m,q)                                       for every start
    R(m,q) -> OR_w x(m,o,a,w)                    for every action that leads on
    R(m,q) and x(m,o,a,w) -> R(m',q')            for every m' that Gamma allows
    not (R(m,q1) and R(m,q2))              if q1, q2 have the same observation and different beliefs

Any model gives an f (of several writes true at once, any will do, since R holds for all of them).
z3 (package z3-solver) decides whether there is one.
"""

from __future__ import annotations

import itertools
from typing import Any

from workbench.agents.beliefs import BeliefGraph
from workbench.core.errors import NotSolved, TooLarge
from workbench.extras import need
from workbench.memories import Memory
from workbench.sufficiency.belief_product import Supports, places, possible_pairs

MOST_PAIRS = 50_000
"""Larger products are refused."""


def decide_by_solver(graph: BeliefGraph, memory: Memory) -> dict[tuple[int, int, int], int] | None:
    """An f as {(m, o, a): w} by places, or None if z3 proves that there is none."""
    z3 = need("z3", "proofs")
    pairs = possible_pairs(graph, memory, MOST_PAIRS)
    if pairs is None:
        raise TooLarge(
            f"{memory.name} on {graph.P.name} has more than {MOST_PAIRS:,} pairs of memory state "
            "and belief for z3"
        )
    where, supports = places(graph, memory), Supports(graph, memory)
    solver = z3.Solver()
    R = {(m, q): z3.Bool(f"R{m},{q}") for m, q in pairs}
    x: dict[tuple[int, int, int, int], Any] = {}
    rivals: dict[tuple[int, int], dict[int, list[Any]]] = {}
    for m, q in pairs:
        n = where.node[q]
        o = graph.o[n]
        rivals.setdefault((m, o), {}).setdefault(n, []).append(R[m, q])
        for a, edges in enumerate(where.edges[q]):
            if not edges:
                continue
            for w in range(len(memory.W)):
                x.setdefault((m, o, a, w), z3.Bool(f"x{m},{o},{a},{w}"))
                for o_next, r, q_next in edges:
                    for m_next in supports.after(m, w, o, a, r, o_next):
                        solver.add(z3.Or(z3.Not(R[m, q]), z3.Not(x[m, o, a, w]), R[m_next, q_next]))
            solver.add(z3.Or(z3.Not(R[m, q]), *(x[m, o, a, w] for w in range(len(memory.W)))))
    solver.add(*(R[m, q] for m in supports.eta for q in where.starts))
    for groups in rivals.values():
        for one, other in itertools.combinations(groups.values(), 2):
            solver.add(*(z3.Or(z3.Not(r1), z3.Not(r2)) for r1 in one for r2 in other))
    answer = solver.check()
    if answer == z3.unknown:
        raise NotSolved(
            f"z3 did not decide about {memory.name} on {graph.P.name}: {solver.reason_unknown()}"
        )
    if answer == z3.unsat:
        return None
    model = solver.model()
    return {(m, o, a): w for (m, o, a, w), true in x.items() if z3.is_true(model[true])}
