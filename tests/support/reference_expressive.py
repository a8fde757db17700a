"""Definition A.2 as a question to z3: a second way to decide it, which shares no search with the
first.

One Boolean x(m,o,a,w) says that f(m,o,a) = w, one R(m,q) that the place q may be reached with the
memory state m:

    R(m,q)                                       for every start
    R(m,q) -> OR_w x(m,o,a,w)                    for every action that leads on
    R(m,q) and x(m,o,a,w) -> R(m',q')            for every m' that Gamma allows
    not (R(m,q1) and R(m,q2))              if q1, q2 have the same observation and different beliefs

Any model gives an f (of several writes true at once, any will do, since R holds for all of them).
z3 decides whether there is one.
"""

from __future__ import annotations

import itertools
from typing import Any

import z3

from workbench import POMDP
from workbench.agents.beliefs import explore_beliefs
from workbench.memories import Memory, attach
from workbench.sufficiency.belief_product import Supports, places, possible_pairs

MOST_PAIRS = 50_000


def separating_update(P: POMDP, family: Memory | str) -> dict[tuple[Any, Any, Any], Any] | None:
    """An f as {(m, o, a): w} by labels, or None if z3 proves that there is none."""
    memory = attach(family, P)
    graph = explore_beliefs(P)
    pairs = possible_pairs(graph, memory, MOST_PAIRS)
    assert pairs is not None
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
    assert answer != z3.unknown
    if answer == z3.unsat:
        return None
    model = solver.model()
    return {
        (memory.M[m], P.O[o], P.A[a]): memory.W[w]
        for (m, o, a, w), true in x.items()
        if z3.is_true(model[true])
    }
