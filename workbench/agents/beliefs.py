"""Beliefs, exactly, and the graph of those that an agent can come to hold (Appendix A.2).

A history is H = o_0, a_0, ..., a_{t-1}, o_t; the belief b(H) is what it tells about the state:

    b_0(s)      ∝ mu(s) omega(o_0|s)
    b_{t+1}(s') ∝ omega(o_{t+1}|s') sum_s p(s'|s,a_t) b_t(s)

The paper's b_0 leaves mu out; with it left out a belief is not what the history tells (it is the
belief of the task that starts in any state alike), and Proposition A.1 fails.

**Episodes end.** An agent decides only while its episode goes on, and it is told when the episode
is over. A history that matters is thus one whose episode still goes on, and b(H) is conditioned on
that: beliefs live on the states that are not terminal.

The graph has a node (o, b) for each last observation and belief of some history, and an edge (a,
o') from it for each observation possible after an action. It is finite or it is not;
`reachable_beliefs` walks it breadth first up to a stated limit. Inside, a belief is a row of
integers without a common divisor, which makes equality exact and quick.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

from workbench.core.errors import NotExact, TooLarge, WorkbenchError
from workbench.core.numbers import Number, Numbers
from workbench.core.pomdp import POMDP
from workbench.core.rows import row_places
from workbench.core.space import Label
from workbench.progress import Waiting
from workbench.tables.sheet import Column, Drawn, Sheet, Showing
from workbench.text import brief, counted, show

_MOST_SHOWN = 20
"""Beliefs that a table lists."""

LIMIT = 10_000
"""`reachable_beliefs` stops with an error beyond this many nodes, unless told otherwise."""

Weights = tuple[tuple[int, int], ...]
"""A belief inside: pairs (place of s, weight), places rising, weights positive and without a common
divisor."""


class TooManyBeliefs(TooLarge):
    """More reachable beliefs than the stated limit, or infinitely many."""


class Belief(Mapping[Label, Fraction]):
    """A distribution over states: `b[s]`, 0 outside its support. It is hashable and compared
    exactly.

    >>> b = Belief({"left": Fraction(1, 3), "right": Fraction(2, 3)})
    >>> b, b["middle"]
    ({left: 1/3, right: 2/3}, Fraction(0, 1))
    """

    def __init__(self, b: Mapping[Label, Fraction]):
        self._b = {s: x for s, x in b.items() if x != 0}

    def __getitem__(self, s: Label) -> Fraction:
        return self._b.get(s, Fraction(0))

    def __contains__(self, s: object) -> bool:
        return s in self._b

    def __iter__(self) -> Iterator[Label]:
        return iter(self._b)

    def __len__(self) -> int:
        return len(self._b)

    @cached_property
    def _hash(self) -> int:
        return hash(frozenset(self._b.items()))

    def __hash__(self) -> int:
        return self._hash  # of long fractions, and asked for often

    def __repr__(self) -> str:
        return "{" + ", ".join(f"{show(s)}: {x}" for s, x in self._b.items()) + "}"


class BeliefNode(NamedTuple):
    """A last observation and a belief."""

    o: Label
    b: Belief


class BeliefEdge(NamedTuple):
    """By places: observing `o` leads to the node `node`, which happens with probability `prob`."""

    o: int
    node: int
    prob: Fraction


@dataclass(frozen=True, eq=False, repr=False)
class BeliefGraph(Showing, Drawn):
    """The reachable beliefs of a POMDP. Nodes are numbered in order of discovery, shortest
    histories first.

    Attributes
    ----------
    P : of what.
    o : `o[n]`, the place of the last observation; weights : `weights[n]`, the belief inside.
    starts : the edges that o_0 makes; their probabilities fall short of one by that of starting in
        a terminal state.
    edges : `edges[n][a]`, one `BeliefEdge` for each observation after action a (a place); the
        probabilities are given that the episode had not ended before a, and fall short of one by
        that of ending now.
    complete : whether all nodes were found; if not, `edges` holds those of the nodes walked before
        the limit.
    """

    figure: ClassVar[str] = "belief_graph"

    P: POMDP
    o: tuple[int, ...]
    weights: tuple[Weights, ...]
    starts: tuple[BeliefEdge, ...]
    edges: tuple[tuple[tuple[BeliefEdge, ...], ...], ...]
    complete: bool
    _parents: tuple[tuple[int, int] | None, ...]

    def __len__(self) -> int:
        return len(self.o)

    def sheet(self) -> Sheet:
        """The beliefs, shortest histories first."""
        columns = (
            Column("steps", "after how many time steps it can first be held"),
            Column("observation", "the last one"),
            Column("belief", "probabilities of the states"),
        )
        rows = [
            (
                len(self.history(n)) // 2,
                self.P.O.text(node.o),
                ", ".join(f"{self.P.S.text(s)}: {brief(x)}" for s, x in node.b.items()),
            )
            for n, node in zip(range(_MOST_SHOWN), self.nodes, strict=False)
        ]
        more = len(self) - len(rows)
        notes = (f"And {counted(more, 'more belief')}.",) if more > 0 else ()
        part = "all" if self.complete else "not all"
        said = f"{len(self):,} beliefs were found; these are {part} that can be reached."
        title = f"Beliefs of {self.P.name}"
        return Sheet(title, columns, tuple(rows), said, notes)

    @cached_property
    def nodes(self) -> tuple[BeliefNode, ...]:
        """The nodes in labels: (o, b)."""
        return tuple(
            BeliefNode(self.P.O[o], self._belief(w))
            for o, w in zip(self.o, self.weights, strict=True)
        )

    def _belief(self, weights: Weights) -> Belief:
        total = sum(w for _, w in weights)
        return Belief({self.P.S[s]: Fraction(w, total) for s, w in weights})

    @cached_property
    def _places(self) -> dict[BeliefNode, int]:
        return {node: n for n, node in enumerate(self.nodes)}

    def index(self, node: tuple[Label, Mapping[Label, Fraction]]) -> int:
        """The number of a node given as (o, b)."""
        o, b = node
        found = self._places.get(BeliefNode(o, Belief(b)))
        if found is None:
            raise WorkbenchError(
                f"no history of {self.P.name} ends in {show(o)} with the belief {Belief(b)!r}"
            )
        return found

    @cached_property
    def start(self) -> dict[BeliefNode, Fraction]:
        """The first nodes and their probabilities."""
        return {self.nodes[e.node]: e.prob for e in self.starts}

    def after(
        self, node: tuple[Label, Mapping[Label, Fraction]], a: Label
    ) -> dict[BeliefNode, Fraction]:
        """The nodes that an action may lead to, and with what probabilities."""
        edges = self.edges[self.index(node)][self.P.A.index(a)]
        return {self.nodes[e.node]: e.prob for e in edges}

    def history(self, n: int) -> tuple[Label, ...]:
        """A shortest history o_0, a_0, ..., o_t that leads to node number n."""
        found: list[Label] = [self.P.O[self.o[n]]]
        while (parent := self._parents[n]) is not None:
            n, a = parent
            found += [self.P.A[a], self.P.O[self.o[n]]]
        return tuple(reversed(found))

    def beliefs(self, o: Label) -> tuple[Belief, ...]:
        """The beliefs of the histories that end in o."""
        place = self.P.O.index(o)
        return tuple(node.b for node, last in zip(self.nodes, self.o, strict=True) if last == place)

    @cached_property
    def u(self) -> int:
        """max_o |{b(H) : H ends in o}|, the u of Proposition A.2."""
        return max(Counter(self.o).values(), default=0)

    def reward(self, n: int, a: int) -> Number:
        """R(b, a) = sum_s b(s) sum_{s',r} p(s',r|s,a) r, by places."""
        P, weights = self.P, self.weights[n]
        total: Number = Fraction(0)
        for s, w in weights:
            row = s * len(P.A) + a
            for k in row_places(P.p.row_ptr, row):
                total += w * P.p.prob[k] * P.p.r[k]
        return total / sum(w for _, w in weights)

    def mdp(self) -> POMDP:
        """The belief MDP. The same task with the node (o, b) as a state that the agent sees, and
        R(b, a) as reward.

        Its best policy is the best history-based policy of P. The end of an episode is the state
        None.
        """
        names = {node: n for n, node in enumerate(self.nodes)}

        def with_end(edges: Sequence[BeliefEdge]) -> dict[BeliefNode | None, Fraction]:
            found: dict[BeliefNode | None, Fraction] = {self.nodes[e.node]: e.prob for e in edges}
            if (rest := 1 - sum(found.values(), Fraction(0))) != 0:
                found[None] = rest
            return found

        def p(s: BeliefNode, a: Label) -> dict[tuple[BeliefNode | None, Number], Number]:
            n, i = names[s], self.P.A.index(a)
            r = self.reward(n, i)
            return {(s_next, r): x for s_next, x in with_end(self.edges[n][i]).items()}

        return POMDP.from_functions(
            name=f"beliefs of {self.P.name}",
            A=self.P.A,
            p=p,
            omega=lambda s: {s: 1},
            mu=with_end(self.starts),
            gamma=self.P.gamma,
            terminal=lambda s: s is None,
            allowed=lambda s: self.P.actions(s.o),
        )

    def __repr__(self) -> str:
        count = f"{len(self):,}{'' if self.complete else ' and more'}"
        return (
            f"BeliefGraph of {self.P.name}: {count} nodes (o, b), at most {self.u} "
            "with the same observation"
        )


# ---------------------------------------------------------------------- walking the graph


def require_rational(P: POMDP) -> None:
    """Raise `NotExact` if p, omega or mu holds floats or symbols: beliefs are compared exactly."""
    for what, numbers in (("p", P.p.prob), ("omega", P.omega.prob), ("mu", P.mu.prob)):
        if not numbers.is_exact:
            raise NotExact(
                f"beliefs are compared exactly, but {what} of {P.name} was given as floats: write "
                "ints and Fractions, or "
                "use P.rationalised(), which reads each float as the decimal it prints as"
            )
        if numbers.symbols:
            names = ", ".join(sorted(map(str, numbers.symbols)))
            raise NotExact(
                f"beliefs need numbers, but {what} of {P.name} holds {names}: give it a value first"
            )


class BeliefDynamics:
    """mu, p (rewards summed out) and omega as integers, scaled by one common factor each."""

    def __init__(self, P: POMDP):
        self.P = P
        require_rational(P)
        mu, self.mu_scale = _integers(P.mu.prob)
        p, self.p_scale = _integers(P.p.prob)
        omega, self.omega_scale = _integers(P.omega.prob)
        counted = ~P.terminal.mask
        nA = len(P.A)
        self.mu = {int(s): mu[s] for s in P.mu.support if counted[s]}
        self.omega = [
            [(int(P.omega.o[k]), omega[k]) for k in row_places(P.omega.row_ptr, s) if omega[k] != 0]
            for s in range(len(P.S))
        ]
        self.p: list[dict[int, int]] = []
        for row in range(len(P.S) * nA):
            joint: dict[int, int] = {}
            for k in row_places(P.p.row_ptr, row):
                if p[k] != 0 and counted[s_next := int(P.p.s_next[k])]:
                    joint[s_next] = joint.get(s_next, 0) + p[k]
            self.p.append(joint)

    def first(self) -> dict[int, dict[int, int]]:
        """For each o_0, the weights mu(s) omega(o_0|s)."""
        return self._observe(self.mu)

    def step(self, weights: Weights, a: int) -> dict[int, dict[int, int]]:
        """For each o', the weights omega(o'|s') sum_s p(s'|s,a) b(s)."""
        return self._observe(self.moved(weights, a))

    def moved(self, weights: Weights, a: int) -> dict[int, int]:
        """The weights sum_s p(s'|s,a) b(s), before anything is observed."""
        found: dict[int, int] = {}
        nA = len(self.P.A)
        for s, w in weights:
            for s_next, x in self.p[s * nA + a].items():
                found[s_next] = found.get(s_next, 0) + w * x
        return found

    def observed(self, weights: Mapping[int, int], o: int) -> dict[int, int]:
        """The weights once o is observed."""
        return self._observe(weights).get(o, {})

    def _observe(self, weights: Mapping[int, int]) -> dict[int, dict[int, int]]:
        found: dict[int, dict[int, int]] = {}
        for s, w in weights.items():
            for o, y in self.omega[s]:
                found.setdefault(o, {})[s] = w * y
        return dict(sorted(found.items()))


def _integers(numbers: Numbers) -> tuple[list[int], int]:
    """Exact numbers times the least common multiple of their denominators."""
    scale = math.lcm(*(x.denominator for x in numbers.values))
    table = [x.numerator * (scale // x.denominator) for x in numbers.values]
    assert numbers.codes is not None
    return [table[c] for c in numbers.codes.tolist()], scale


def canonical_weights(weights: Mapping[int, int]) -> Weights:
    divisor = math.gcd(*weights.values())
    return tuple(sorted((s, w // divisor) for s, w in weights.items()))


def explore_beliefs(
    P: POMDP,
    limit: int = LIMIT,
    crowd: int | None = None,
    until: float = math.inf,
) -> BeliefGraph:
    """The graph of reachable beliefs as far as a limit: `complete` says whether that is all of it.

    Parameters
    ----------
    limit : stop when there are more nodes than this.
    crowd : stop also when more than this many nodes share an observation.
    until : stop also when the clock (`time.monotonic`) passes this.
    """
    dynamics = BeliefDynamics(P)
    o_of: list[int] = []
    weights_of: list[Weights] = []
    parents: list[tuple[int, int] | None] = []
    places: dict[tuple[int, Weights], int] = {}
    sharing: Counter[int] = Counter()

    def edges(
        found: dict[int, dict[int, int]], total: int, parent: tuple[int, int] | None
    ) -> tuple[BeliefEdge, ...]:
        made = []
        for o, raw in found.items():
            key = o, canonical_weights(raw)
            if key not in places:
                places[key] = len(o_of)
                o_of.append(o)
                weights_of.append(key[1])
                parents.append(parent)
                sharing[o] += 1
            made.append(BeliefEdge(o, places[key], Fraction(sum(raw.values()), total)))
        return tuple(made)

    def too_many() -> bool:
        return len(o_of) > limit or (crowd is not None and max(sharing.values(), default=0) > crowd)

    starts = edges(dynamics.first(), dynamics.mu_scale * dynamics.omega_scale, None)
    walked: list[tuple[tuple[BeliefEdge, ...], ...]] = []
    scale = dynamics.p_scale * dynamics.omega_scale
    with Waiting(f"beliefs of {P.name}") as waiting:
        while len(walked) < len(o_of) and not too_many() and time.monotonic() <= until:
            n = len(walked)
            weights = weights_of[n]
            total = sum(w for _, w in weights) * scale
            walked.append(
                tuple(edges(dynamics.step(weights, a), total, (n, a)) for a in range(len(P.A)))
            )
            waiting.report(n / len(o_of), f"{len(o_of):,} found, {n:,} walked")
    complete = len(walked) == len(o_of) and not too_many()
    return BeliefGraph(
        P, tuple(o_of), tuple(weights_of), starts, tuple(walked), complete, tuple(parents)
    )


def reachable_beliefs(P: POMDP, limit: int = LIMIT) -> BeliefGraph:
    """The graph of all reachable beliefs, in exact rationals.

    Parameters
    ----------
    P : a POMDP without floats in p, omega and mu.
    limit : more nodes than this raise `TooManyBeliefs`; some tasks have infinitely many.

    >>> from fractions import Fraction
    >>> P = POMDP.from_functions(
    ...     name="two doors",
    ...     A=["listen"],
    ...     p=lambda s, a: {(s, 0): 1},
    ...     mu={"left": Fraction(1, 2), "right": Fraction(1, 2)},
    ...     omega=lambda s: {"quiet": Fraction(1, 2), s: Fraction(1, 2)},
    ...     gamma=Fraction(9, 10),
    ... )
    >>> graph = reachable_beliefs(P)
    >>> graph
    BeliefGraph of two doors: 5 nodes (o, b), at most 3 with the same observation
    >>> graph.beliefs("quiet")
    ({left: 1/2, right: 1/2}, {left: 1}, {right: 1})

    See also: `best_history`, `is_sufficiently_expressive`.
    """
    graph = explore_beliefs(P, limit)
    if not graph.complete:
        raise TooManyBeliefs(
            f"{P.name} has more than {limit:,} beliefs ({len(graph):,} found after histories of "
            f"{len(graph.history(len(graph) - 1)) // 2} actions); there may be infinitely many: "
            "give a larger limit, or use a method that needs no list of beliefs"
        )
    return graph


def belief(P: POMDP, history: Sequence[Label]) -> Belief:
    """b(H) of a history o_0, a_0, o_1, ..., o_t, in the numbers of the model.

    >>> P = POMDP.from_functions(
    ...     name="two steps",
    ...     A=[0, 1],
    ...     p=lambda s, a: {(("start", a) if s == "start" else "end", 0): 1},
    ...     omega=lambda s: {"o": 1},
    ...     mu={"start": 1},
    ...     gamma=1,
    ...     terminal={"end"},
    ... )
    >>> belief(P, ("o", 1, "o"))
    {(start, 1): 1}
    """
    if len(history) % 2 == 0:
        raise WorkbenchError(
            f"a history o_0, a_0, ..., o_t has an odd number of entries, not {len(history)}"
        )
    if P.symbols:
        require_rational(P)
    found = first_beliefs(P)
    for t, label in enumerate(history):
        if t % 2 == 0:
            P.O.index(label)  # refuses an unknown one by its name
            if label not in found:
                shown = ", ".join(show(x) for x in history[: t + 1])
                raise WorkbenchError(
                    f"no episode of {P.name} goes on after the history {shown}: it has "
                    "probability 0"
                )
            total = sum(found[label].values())
            b = {s: x / total for s, x in found[label].items()}
        else:
            P.A.index(label)
            found = next_beliefs(P, b, label)
    return Belief({s: b[s] for s in sorted(b, key=P.S.index)})


def first_beliefs(P: POMDP) -> dict[Label, dict[Label, Any]]:
    """The weights mu(s) omega(o|s) by observation, over the states in which the episode goes on."""
    return _seen(P, P.mu.items())


def next_beliefs(P: POMDP, b: Mapping[Label, Any], a: Label) -> dict[Label, dict[Label, Any]]:
    """The weights P(o, s' | b, a) by observation, over the states in which the episode goes on."""
    moves = ((s_next, x * y) for s, x in b.items() for (s_next, _), y in P.p(s, a).items())
    return _seen(P, moves)


def _seen(P: POMDP, weights: Iterable[tuple[Label, Any]]) -> dict[Label, dict[Label, Any]]:
    found: dict[Label, dict[Label, Any]] = {}
    for s, x in weights:
        if s not in P.terminal and x:
            for o, y in P.omega(s).items():
                row = found.setdefault(o, {})
                row[s] = row.get(s, Fraction(0)) + x * y
    return found
