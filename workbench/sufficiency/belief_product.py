"""The graph of reachable beliefs beside a memory: what the memory depends on, by places.

A memory state is followed along histories: (m, n) is reached if some history ends in the node n =
(o, b) and may leave the memory in m. Gamma may read rewards, which the history does not tell but
the hidden state does; then m and s have to be followed together. So a *place* is a pair (node, s),
or just the node if Gamma does not depend on rewards.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from workbench.agents.beliefs import BeliefGraph
from workbench.core.numbers import Number
from workbench.core.rows import row_places
from workbench.memories import Memory
from workbench.optima.cap import reads_rewards


@dataclass(frozen=True, eq=False)
class BeliefPlaces:
    """The belief graph as the memory sees it.

    Attributes
    ----------
    node : `node[q]`, the node of a place.
    starts : the places of the first step.
    edges : `edges[q][a]`, triples (o_next, r, q_next); r is that of one outcome, or any where it
        does not matter.
    """

    node: tuple[int, ...]
    starts: tuple[int, ...]
    edges: tuple[tuple[tuple[tuple[int, Number, int], ...], ...], ...]


def places(graph: BeliefGraph, memory: Memory) -> BeliefPlaces:
    """The places for a memory."""
    P = graph.P
    if not reads_rewards(P, memory):
        r = P.R[0] if P.R else None
        edges = tuple(
            tuple(tuple((e.o, r, e.node) for e in row) for row in rows) for rows in graph.edges
        )
        return BeliefPlaces(tuple(range(len(graph))), tuple(e.node for e in graph.starts), edges)
    pairs = [(n, s) for n, weights in enumerate(graph.weights) for s, _ in weights]
    number = {pair: q for q, pair in enumerate(pairs)}

    def follow(n: int, s: int, a: int) -> tuple[tuple[int, Number, int], ...]:
        node_after = {e.o: e.node for e in graph.edges[n][a]}
        row = s * len(P.A) + a
        found: dict[tuple[int, Number, int], None] = {}
        for k in row_places(P.p.row_ptr, row):
            s_next = int(P.p.s_next[k])
            if P.p.prob[k] == 0 or P.terminal.mask[s_next]:
                continue
            for i in row_places(P.omega.row_ptr, s_next):
                if P.omega.prob[i] != 0:
                    o_next = int(P.omega.o[i])
                    found[o_next, P.p.r[k], number[node_after[o_next], s_next]] = None
        return tuple(found)

    return BeliefPlaces(
        node=tuple(n for n, _ in pairs),
        starts=tuple(number[e.node, s] for e in graph.starts for s, _ in graph.weights[e.node]),
        edges=tuple(tuple(follow(n, s, a) for a in range(len(P.A))) for n, s in pairs),
    )


class Supports:
    """The possible memory states under eta and Gamma, by place. Gamma is asked once for each
    argument."""

    def __init__(self, graph: BeliefGraph, memory: Memory):
        self.P, self.memory = graph.P, memory
        self.eta = tuple(memory.M.index(m) for m, x in memory.eta.items() if x != 0)
        self._found: dict[tuple[object, ...], tuple[int, ...]] = {}

    def after(self, m: int, w: int, o: int, a: int, r: Number, o_next: int) -> tuple[int, ...]:
        """The places of the m' with Gamma(m'|m, w, o, a, r, o') > 0."""
        built_in = self.memory.step is not None  # then Gamma reads neither r nor o'
        key = (m, w, o, a) if built_in else (m, w, o, a, r, o_next)
        if key not in self._found:
            M, W, O, A = self.memory.M, self.memory.W, self.P.O, self.P.A
            row = self.memory.Gamma(M[m], W[w], O[o], A[a], r, O[o_next])
            self._found[key] = tuple(M.index(m_next) for m_next, x in row.items() if x != 0)
        return self._found[key]


def possible_pairs(graph: BeliefGraph, memory: Memory, most: int) -> set[tuple[int, int]] | None:
    """The pairs (m, place) reached under some writes, or None if there are more than `most`."""
    where, supports = places(graph, memory), Supports(graph, memory)
    found = {(m, q) for m in supports.eta for q in where.starts}
    queue = list(found)
    while queue:
        m, q = queue.pop()
        o = graph.o[where.node[q]]
        for a, edges in enumerate(where.edges[q]):
            for (o_next, r, q_next), w in itertools.product(edges, range(len(memory.W))):
                fresh = {
                    (m_next, q_next) for m_next in supports.after(m, w, o, a, r, o_next)
                } - found
                found |= fresh
                queue += fresh
        if len(found) > most:
            return None
    return found
