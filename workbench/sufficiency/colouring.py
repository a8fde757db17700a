"""Colour a graph greedily, or find a clique that needs more colours.

Neighbours need different colours. The vertex with the fewest colours left is coloured first (Brélaz
1979), and gets its first free colour. Neither answer is sure to be found: where both fail, the
question is open.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

_STARTS = 64
"""Vertices from which a clique is grown."""

Graph = Sequence[AbstractSet[int]]
"""For each vertex its neighbours."""


def colour_greedily(neighbours: Graph, colours: int) -> list[int] | None:
    """Colour a graph, or return None if some vertex has no colour left.

    >>> triangle = [{1, 2}, {0, 2}, {0, 1}]
    >>> colour_greedily(triangle, 3), colour_greedily(triangle, 2)
    ([0, 1, 2], None)
    """
    chosen = [-1] * len(neighbours)
    taken: list[set[int]] = [set() for _ in neighbours]
    bare = set(range(len(neighbours)))
    while bare:
        v = min(bare, key=lambda v: (-len(taken[v]), -len(neighbours[v]), v))
        # neighbours block one colour each, so the first free one comes soon
        c = next(c for c in range(len(taken[v]) + 1) if c not in taken[v])
        if c >= colours:
            return None
        chosen[v] = c
        bare.remove(v)
        for w in neighbours[v]:
            taken[w].add(c)
    return chosen


def large_clique(neighbours: Graph) -> tuple[int, ...]:
    """A clique that no further vertex extends: the largest found by starting at vertices with many
    neighbours."""
    best: tuple[int, ...] = ()
    by_degree = sorted(range(len(neighbours)), key=lambda v: -len(neighbours[v]))
    for start in by_degree[:_STARTS]:
        if len(neighbours[start]) < len(best):
            continue
        members, candidates = [start], set(neighbours[start])
        while candidates:
            v = max(candidates, key=lambda v: (len(neighbours[v]), -v))
            members.append(v)
            candidates &= neighbours[v]
        if len(members) > len(best):
            best = tuple(sorted(members))
    return best
