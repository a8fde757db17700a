"""Can a graph be coloured with so many colours? Exactly: a colouring, a clique that is too large,
or an exhausted search.

Neighbours need different colours. The vertex with the fewest colours left is coloured first (Brélaz
1979), and of the colours not used so far only the first is tried, since one is as good as another.
If that works without taking anything back, the colouring is found; if not, a clique of more members
than there are colours settles the question; else everything is tried.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass

from workbench.progress import Waiting

_STARTS = 64


@dataclass(frozen=True)
class Colouring:
    """The answer.

    Attributes
    ----------
    colours : for each vertex its colour 0, 1, ...; None if there is no colouring (or none was
        found, see `finished`).
    clique : vertices that are all neighbours of one another and more than the colours; empty if
        that was not the reason.
    searched : how many partial colourings were looked at.
    finished : False if the search was given up.
    """

    colours: tuple[int, ...] | None
    clique: tuple[int, ...]
    searched: int
    finished: bool


def colour(
    neighbours: Sequence[AbstractSet[int]], colours: int, budget: int, until: float = math.inf
) -> Colouring:
    """Colour a graph.

    Parameters
    ----------
    neighbours : for each vertex, the vertices that need another colour.
    colours : how many there are.
    budget : give up after so many partial colourings.
    until : give up also when the clock (`time.monotonic`) passes this.

    >>> triangle = [{1, 2}, {0, 2}, {0, 1}]
    >>> colour(triangle, 3, budget=10).colours, colour(triangle, 2, budget=10).clique
    ((0, 1, 2), (0, 1, 2))
    """
    colours = min(colours, len(neighbours))  # more are of no use
    attempt = _Attempt(neighbours, colours)
    if attempt.extend_greedily():
        return Colouring(tuple(attempt.chosen), (), len(neighbours), True)
    clique = large_clique(neighbours)
    if len(clique) > colours:
        return Colouring(None, clique, len(neighbours), True)
    return _exhaust(neighbours, colours, clique, budget, until)


class _Attempt:
    """A partial colouring. `near[v][c]` counts the neighbours of v that have the colour c."""

    def __init__(self, neighbours: Sequence[AbstractSet[int]], colours: int):
        self.neighbours, self.colours = neighbours, colours
        self.chosen = [-1] * len(neighbours)
        self.near = [[0] * colours for _ in neighbours]
        self.left = [colours] * len(neighbours)
        self.bare = set(range(len(neighbours)))

    def put(self, v: int, c: int) -> None:
        self.chosen[v] = c
        self.bare.remove(v)
        for w in self.neighbours[v]:
            self.near[w][c] += 1
            self.left[w] -= self.near[w][c] == 1

    def take(self, v: int) -> None:
        c, self.chosen[v] = self.chosen[v], -1
        self.bare.add(v)
        for w in self.neighbours[v]:
            self.near[w][c] -= 1
            self.left[w] += self.near[w][c] == 0

    def hardest(self) -> int:
        """The vertex without a colour that has the fewest left, then the most neighbours."""
        return min(self.bare, key=lambda v: (self.left[v], -len(self.neighbours[v]), v))

    def options(self, v: int, used: int) -> list[int]:
        """The colours that v can have, of those used and one more."""
        return [c for c in range(min(used + 1, self.colours)) if self.near[v][c] == 0]

    def extend_greedily(self) -> bool:
        """Give each vertex its first free colour, without backtracking. Returns whether that
        works."""
        used = 0
        while self.bare:
            v = self.hardest()
            options = self.options(v, used)
            if not options:
                return False
            self.put(v, options[0])
            used = max(used, options[0] + 1)
        return True


def _exhaust(
    neighbours: Sequence[AbstractSet[int]],
    colours: int,
    clique: Sequence[int],
    budget: int,
    until: float,
) -> Colouring:
    """Try everything, the clique being coloured beforehand."""
    attempt = _Attempt(neighbours, colours)
    for c, v in enumerate(clique):
        attempt.put(v, c)
    v, used, searched = attempt.hardest(), len(clique), 0
    stack = [(v, list(reversed(attempt.options(v, used))), used)]
    with Waiting("colouring") as waiting:
        while stack:
            v, options, used = stack[-1]
            if attempt.chosen[v] >= 0:
                attempt.take(v)
            if not options:
                stack.pop()
                continue
            if searched == budget or time.monotonic() > until:
                return Colouring(None, (), searched, False)
            searched += 1
            waiting.report(
                len(stack) / len(neighbours), f"{searched:,} partial colourings, {colours} colours"
            )
            attempt.put(v, c := options.pop())
            if not attempt.bare:
                return Colouring(tuple(attempt.chosen), (), searched, True)
            used = max(used, c + 1)
            v = attempt.hardest()
            stack.append((v, list(reversed(attempt.options(v, used))), used))
    return Colouring(None, (), searched, True)


def large_clique(neighbours: Sequence[AbstractSet[int]]) -> tuple[int, ...]:
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
