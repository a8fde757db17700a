"""Is a memory sufficiently expressive for a task? (Definition A.2, Appendix A.2)

A memory-update function f: M x O x A -> W says what to write once an action is chosen. Along a
history H = o_0, a_0, ..., o_t it makes some last memory states possible: the set Omega_f(H), over
all that eta, Gamma and the hidden states and rewards can do. A memory is *sufficiently expressive*
if some f satisfies, for any two histories with the same last observation,

    b(H1) != b(H2)   implies   Omega_f(H1) and Omega_f(H2) are disjoint.

Equivalently, on the graph of reachable beliefs: no memory state m is reached with two nodes (o,
b1), (o, b2). That is decided here, never sampled:

- more beliefs with one last observation than memory states possible there (each needs one of its
  own): no;
- `B(k)`, where a write is the next memory state: after a node n and an action the next memory state
  w must fit the map o' -> node that belongs to (n, a). Two such maps, or one and the map of the
  start, collide if they send some o' to different nodes. So 2^k memory states are enough exactly
  when the graph of collisions has a colouring with 2^k colours. A greedy colouring or a large
  clique settles it on all tasks of the package; else the search below does;
- one write only (`K(k)`): there is one f, and it is checked;
- else a search over f (`product_search`) that ends with an f or with a proof that there is none.

Histories are those whose episode goes on: see `workbench.agents.beliefs`.
Definition A.2 needs finitely many beliefs: infinitely many share some observation, and M is finite.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from workbench.agents.beliefs import LIMIT, BeliefGraph, TooManyBeliefs, explore_beliefs
from workbench.core.space import Label
from workbench.memories import Family, Memory, attach
from workbench.plain_numbers import deadline
from workbench.sufficiency.belief_product import places, possible_pairs
from workbench.sufficiency.memory_answer import BUDGET, MemoryAnswer
from workbench.sufficiency.product_search import WriteSearch
from workbench.sufficiency.update import verify_f
from workbench.text import counted

if TYPE_CHECKING:
    from workbench.core.pomdp import POMDP

_MOST_PAIRS = 10_000
"""The counting bound is skipped for products with more pairs (memory state, node) than this."""

History = tuple[Label, ...]


@dataclass(frozen=True, repr=False)
class Expressiveness(MemoryAnswer):
    """Whether a memory is sufficiently expressive, and why.

    Attributes
    ----------
    method : "beliefs" (there was no time to list them), "clique", "colouring", "the only f" or
        "search".
    f : the memory-update function found, {(m, o, a): w} for all arguments that occur (others do not
        matter); else None.
    clique : if the answer is no for want of memory states, what needs one each: histories o_0, a_0,
        ..., o_t that end alike with different beliefs; for B(k) also histories followed by an
        action, and () for the start.
    memory_states : how many there are for the members of the clique.

    `plot` draws the beliefs that the memory has to tell apart.
    """

    figure = "belief_graph"
    question = "Is {memory} sufficiently expressive for {task}?"
    said = "{memory} {verb} sufficiently expressive for {task}"
    verbs = ("is", "is not", "may or may not be")

    f: Mapping[tuple[Label, Label, Label], Label] | None = None
    clique: tuple[History, ...] = ()
    memory_states: int | None = None

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        return [(*key, w) for key, w in (self.f or {}).items()]

    def drawn_from(self) -> tuple[Any, ...]:
        return (self.P,)


def is_sufficiently_expressive(
    P: POMDP,
    memory: Memory | Family | str,
    limit: int = LIMIT,
    budget: int = BUDGET,
    max_seconds: float | None = None,
) -> Expressiveness:
    """Decide Definition A.2.

    Parameters
    ----------
    P : a POMDP without floats in p, omega and mu.
    memory : a memory, a family or its name.
    limit : the most reachable beliefs to look at; more of them raise `TooManyBeliefs`, unless they
        are too many for M.
    budget : the most decisions of the search; beyond it the answer is undecided.
    max_seconds : of listing beliefs and of the search; beyond it the answer is undecided.

    >>> from workbench.improvement.batch import sequence_task
    >>> P = sequence_task([[1, 0], [0, 0]])
    >>> is_sufficiently_expressive(P, "B1")
    B1 is not sufficiently expressive for sequence task: 3 beliefs share the last observation o,
    but only 2 memory states are possible there
    >>> is_sufficiently_expressive(P, "OA1").f
    {((None,), 'o', 0): 'push', ((None,), 'o', 1): 'push'}

    See also: `can_encode_optimal`, `reachable_beliefs`, `needs_memory`.
    """
    attached = attach(memory, P)
    attached.require_all_writes("is_sufficiently_expressive")
    return replace(_decide(P, attached, limit, budget, max_seconds), P=P)


def _decide(
    P: POMDP, attached: Memory, limit: int, budget: int, max_seconds: float | None
) -> Expressiveness:
    """Choose how to answer by how many beliefs there are and by how the memory is written."""
    until = deadline(max_seconds)
    graph = explore_beliefs(P, limit, crowd=len(attached.M), until=until)
    if not graph.complete:
        if len(graph) <= limit and graph.u <= len(attached.M):
            said = f"given up after listing {counted(len(graph), 'belief')} in the time given"
            return Expressiveness(P.name, attached.name, None, "beliefs", said)
        return _crowded(graph, attached, limit)
    if attached.overwrites:
        return _overwritten(graph, attached, budget, until)
    if len(attached.W) == 1:
        return _only_update(graph, attached)
    too_few = _too_few(graph, attached)
    return _searched(graph, attached, budget, until) if too_few is None else too_few


def _crowded(graph: BeliefGraph, memory: Memory, limit: int) -> Expressiveness:
    """Whether there are more beliefs with one observation than memory states, or too many beliefs
    to list."""
    if graph.u <= len(memory.M):
        raise TooManyBeliefs(
            f"{graph.P.name} has more than {limit:,} beliefs, too many to decide whether "
            f"{memory.name} with its "
            f"{len(memory.M):,} memory states can tell them apart: give a larger limit"
        )
    busiest = max(set(graph.o), key=graph.o.count)
    return _clique(graph, memory, [n for n, o in enumerate(graph.o) if o == busiest], len(memory.M))


def _clique(graph: BeliefGraph, memory: Memory, nodes: list[int], available: int) -> Expressiveness:
    o = graph.P.O.text(graph.P.O[graph.o[nodes[0]]])
    states = "1 memory state is" if available == 1 else f"{available} memory states are"
    reason = (
        f"{len(nodes)} beliefs share the last observation {o}, but only {states} possible there"
    )
    clique = tuple(graph.history(n) for n in nodes)
    return Expressiveness(
        graph.P.name, memory.name, False, "clique", reason, clique=clique, memory_states=available
    )


def _answer(
    graph: BeliefGraph,
    memory: Memory,
    f: dict[tuple[int, int, int], int] | None,
    method: str,
    otherwise: str,
) -> Expressiveness:
    """An f given by places, or its absence."""
    P = graph.P
    if f is None:
        return Expressiveness(P.name, memory.name, False, method, otherwise)
    labelled = {(memory.M[m], P.O[o], P.A[a]): memory.W[w] for (m, o, a), w in f.items()}
    reason = f"some f keeps its {len(graph):,} reachable beliefs apart"
    return Expressiveness(P.name, memory.name, True, method, reason, labelled)


# ---------------------------------------------------------------------- one way for each kind of
# memory


def _overwritten(graph: BeliefGraph, memory: Memory, budget: int, until: float) -> Expressiveness:
    """B(k): colour the maps o' -> node that belong to the start and to each (node, action)."""
    follows = {
        (n, a): {e.o: e.node for e in row}
        for n, rows in enumerate(graph.edges)
        for a, row in enumerate(rows)
        if row
    }
    start = {e.o: e.node for e in graph.starts}
    vertices: dict[tuple[tuple[int, int], ...], tuple[int, int] | None] = {
        tuple(sorted(start.items())): None
    }
    for pair, follow in follows.items():
        vertices.setdefault(tuple(sorted(follow.items())), pair)
    maps = [dict(v) for v in vertices]
    names = list(vertices.values())
    holders: dict[int, list[int]] = {}  # o: the vertices whose map speaks of it
    for v, each in enumerate(maps):
        for o in each:
            holders.setdefault(o, []).append(v)
    neighbours = [
        {w for o, n in each.items() for w in holders[o] if maps[w][o] != n} for each in maps
    ]
    colours = colour_greedily(neighbours, len(memory.M))
    if colours is not None:
        first = colours[0]  # the start has the memory state of eta, which is the first
        swap = {first: 0, 0: first}
        number = [swap.get(c, c) for c in colours]
        together: dict[tuple[int, int], int] = {
            (number[v], o): n for v, each in enumerate(maps) for o, n in each.items()
        }
        place = {v: number[i] for i, v in enumerate(vertices)}
        f = {
            (m, o, a): place[tuple(sorted(follows[n, a].items()))]
            for (m, o), n in sorted(together.items())
            for a in range(len(graph.P.A))
            if (n, a) in follows
        }
        return _answer(graph, memory, f, "colouring", "")
    members = large_clique(neighbours)
    if len(members) <= len(memory.M):
        return _searched(graph, memory, budget, until)
    clique = tuple(_after(graph, names[v]) for v in members)
    reason = (
        f"{len(clique)} situations must be told apart, since any two lead to different beliefs "
        f"with the same observation, but there are only {len(memory.M)} memory states"
    )
    answer = Expressiveness(graph.P.name, memory.name, False, "clique", reason)
    return replace(answer, clique=clique, memory_states=len(memory.M))


def _after(graph: BeliefGraph, pair: tuple[int, int] | None) -> History:
    return () if pair is None else (*graph.history(pair[0]), graph.P.A[pair[1]])


def _only_update(graph: BeliefGraph, memory: Memory) -> Expressiveness:
    """One write: the only f is checked."""
    only = memory.W[0]
    checked = verify_f(graph.P, memory, lambda m, o, a: only)
    if checked.collision is None:
        f = dict.fromkeys(checked.arguments, only)
        reason = f"its only f keeps the {len(graph):,} reachable beliefs apart"
        return Expressiveness(graph.P.name, memory.name, True, "the only f", reason, f)
    clique = (checked.collision.history_1, checked.collision.history_2)
    reason = f"its only f makes {checked.collision}"
    answer = Expressiveness(graph.P.name, memory.name, False, "the only f", reason)
    return replace(answer, clique=clique, memory_states=1)


def _searched(graph: BeliefGraph, memory: Memory, budget: int, until: float) -> Expressiveness:
    outcome = WriteSearch(graph, memory).run(
        budget, f"a memory-update function of {memory.name} for {graph.P.name}", until
    )
    if not outcome.finished:
        reason = f"the search for f was given up after {outcome.effort}"
        return Expressiveness(graph.P.name, memory.name, None, "search", reason)
    chosen = outcome.chosen
    f = None if chosen is None else {(m, o, a): w for (m, o, a), (_, w) in chosen.items()}
    otherwise = f"an exhaustive search finds no f ({outcome.effort})"
    return _answer(graph, memory, f, "search", otherwise)


# ---------------------------------------------------------------------- counting


def _too_few(graph: BeliefGraph, memory: Memory) -> Expressiveness | None:
    """Beliefs that share an observation and have, whatever is written, fewer memory states than
    they are (Hall 1935)."""
    pairs = possible_pairs(graph, memory, _MOST_PAIRS)
    if pairs is None:
        return None
    node = places(graph, memory).node
    options: list[set[int]] = [set() for _ in range(len(graph))]
    for m, q in pairs:
        options[node[q]].add(m)
    owner: dict[tuple[int, int], int] = {}  # (m, o): the node that has it
    for n in range(len(graph)):
        if rivals := _assign(n, graph.o[n], options, owner):
            return _clique(graph, memory, rivals, len(set().union(*(options[i] for i in rivals))))
    return None


def _assign(
    n: int, o: int, options: list[set[int]], owner: dict[tuple[int, int], int]
) -> list[int]:
    """Give n a memory state of its own, moving others if needed. If that fails, return the nodes
    that compete for too few."""
    asking, wanted_by = [n], dict[int, int]()
    for each in asking:
        for m in sorted(options[each] - wanted_by.keys()):
            wanted_by[m] = each
            if (m, o) in owner:
                asking.append(owner[m, o])
                continue
            while each != n:  # each takes m and leaves what it had to whoever asked for it
                had = next(x for x in options[each] if owner.get((x, o)) == each)
                owner[m, o] = each
                m, each = had, wanted_by[had]
            owner[m, o] = n
            return []
    return sorted(asking)


# ---------------------------------------------------------------------- colouring

_STARTS = 64
"""Vertices from which a clique is grown."""

Graph = Sequence[AbstractSet[int]]
"""For each vertex its neighbours."""


def colour_greedily(neighbours: Graph, colours: int) -> list[int] | None:
    """Colour a graph, or return None if some vertex has no colour left.

    Neighbours need different colours. The vertex with the fewest colours left comes first (Brélaz
    1979), and gets its first free colour.

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
