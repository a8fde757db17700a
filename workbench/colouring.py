"""Can a graph be coloured with so many colours? Exactly: a colouring, a clique that is too large, or an exhausted search.

Neighbours need different colours. A clique of more members than there are colours settles the question at once; else
the vertex with the fewest colours left is coloured first (Brélaz 1979), and of the colours not used so far only the first
is tried, since one is as good as another.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from workbench.waiting import Waiting

_STARTS = 64


@dataclass(frozen=True)
class Colouring:
    """The answer.

    Attributes
    ----------
    colours : for each vertex its colour 0, 1, ...; None if there is no colouring (or none was found, see `finished`).
    clique : vertices that are all neighbours of one another and more than the colours; empty if that was not the reason.
    searched : how many partial colourings were looked at.
    finished : False if the search was given up.
    """

    colours: tuple[int, ...] | None
    clique: tuple[int, ...]
    searched: int
    finished: bool


def colour(neighbours: Sequence[AbstractSet[int]], colours: int, budget: int) -> Colouring:
    """Colour a graph.

    Parameters
    ----------
    neighbours : for each vertex, the vertices that need another colour.
    colours : how many there are.
    budget : give up after so many partial colourings.

    >>> triangle = [{1, 2}, {0, 2}, {0, 1}]
    >>> colour(triangle, 3, budget=10).colours, colour(triangle, 2, budget=10).clique
    ((0, 1, 2), (0, 1, 2))
    """
    clique = large_clique(neighbours)
    if len(clique) > colours:
        return Colouring(None, clique, 0, True)
    n = len(neighbours)
    chosen = [-1] * n
    near: list[list[int]] = [[0] * colours for _ in range(n)]  # near[v][c]: neighbours of v that have the colour c
    open_colours = [colours] * n

    def put(v: int, c: int) -> None:
        chosen[v] = c
        for w in neighbours[v]:
            near[w][c] += 1
            open_colours[w] -= near[w][c] == 1

    def take(v: int) -> None:
        c, chosen[v] = chosen[v], -1
        for w in neighbours[v]:
            near[w][c] -= 1
            open_colours[w] += near[w][c] == 0

    def first_choice(used: int) -> tuple[int, list[int], int] | None:
        """The next vertex, its colours in reverse order of trial, and how many colours are used so far."""
        waiting_for = [v for v in range(n) if chosen[v] < 0]
        if not waiting_for:
            return None
        v = min(waiting_for, key=lambda v: (open_colours[v], -len(neighbours[v]), v))
        return v, [c for c in reversed(range(min(used + 1, colours))) if near[v][c] == 0], used

    for c, v in enumerate(clique):
        put(v, c)
    stack: list[tuple[int, list[int], int]] = []
    following = first_choice(len(clique))
    searched = 0
    with Waiting("colouring") as waiting:
        while following is not None:
            stack.append(following)
            while stack and not stack[-1][1]:
                stack.pop()
                if stack:
                    take(stack[-1][0])
            if not stack:
                return Colouring(None, (), searched, True)
            if searched == budget:
                return Colouring(None, (), searched, False)
            v, options, used = stack[-1]
            put(v, c := options.pop())
            searched += 1
            waiting.report(len(stack) / n, f"{searched:,} partial colourings, {colours} colours")
            following = first_choice(max(used, c + 1))
    return Colouring(tuple(chosen), (), searched, True)


def large_clique(neighbours: Sequence[AbstractSet[int]]) -> tuple[int, ...]:
    """A clique that no further vertex extends: the largest found by starting at vertices with many neighbours."""
    best: tuple[int, ...] = ()
    by_degree = sorted(range(len(neighbours)), key=lambda v: -len(neighbours[v]))
    for start in by_degree[:_STARTS]:
        if len(neighbours[start]) < len(best):
            continue
        members, candidates = [start], set(neighbours[start])
        while candidates:
            v = max(candidates, key=lambda v: (len(neighbours[v] & candidates), -v))
            members.append(v)
            candidates &= neighbours[v]
        if len(members) > len(best):
            best = tuple(sorted(members))
    return best
