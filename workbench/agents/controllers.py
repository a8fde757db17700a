"""Finite-state controllers: a memory and a policy for it, as one automaton.

    n_0 ~ start,      a_t ~ act(. | n_t, o_t),      n_{t+1} ~ after(. | n_t, o_t, a_t, r_t, o_{t+1})

`controller_of(P, memory, pi)` is the automaton that a memoryless policy pi of <P, memory> runs: its
nodes are the memory states that it meets, act is pi without the writes, and the writes are summed
out of Gamma:

    act(a | m, o)                 = sum_w pi(a, w | m, o)
    after(m' | m, o, a, r, o')    = sum_w pi(a, w | m, o) / act(a | m, o)
                                      Gamma(m' | m, w, o, a, r, o')

Back again: `controller.memory` is a memory without writes (W = {-}) and `controller.policy` a
memoryless policy of `controller.product` = <P, controller.memory>. Task and controller make the
same process of observations, actions and rewards either way.

A controller says what it does where it gets on P and may be silent elsewhere. Nodes merge when
nothing that can happen tells them apart. With every entry visited, merging gives the smallest
controller of the same behaviour (Moore 1956). Where entries are never visited the smallest is hard
to find (Pfleeger 1973); merging then gives one of which no two nodes can be merged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar

from workbench.boundary import check_fields
from workbench.core.augment import augment
from workbench.core.build import SUM_TOLERANCE
from workbench.core.errors import PolicyError, WrongType
from workbench.core.evaluate import evaluate
from workbench.core.families import attach
from workbench.core.improve import weights_for
from workbench.core.memory import Memory, MemoryFamily
from workbench.core.numbers import Number
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.space import Label
from workbench.tables.sheet import Column, Drawn, Sheet, Showing
from workbench.text import brief, counted, show, shown

_MOST_ROWS = 40
"""Lines of the table; the others are counted."""

Node = int
Entry = tuple[Node, Label]
"""(n, o): where an action is taken."""

Event = tuple[Node, Label, Label, Number, Label]
"""(n, o, a, r, o'): what the next node depends on."""

READABLE = ("a", "r", "o'")
"""What an update may depend on beside the node and the current observation."""


@dataclass(frozen=True, eq=False, repr=False)
class Controller(Showing, Drawn):
    """A finite-state controller for a task.

    Attributes
    ----------
    P : the task.
    names : `names[n]`, what node n is called.
    start : {n: probability}.
    act : {(n, o): {a: probability}}.
    after : {(n, o, a, r, o_next): {n_next: probability}}.

    `act` and `after` use the labels of P. They hold a row for everything that can happen, and each
    row is a distribution. A controller that breaks one of these rules is refused.

    >>> from pomdps import recall4
    >>> same = lambda a: {(0, "o", a, 0, "o"): {0: 1}}
    >>> Controller(recall4(), ("only",), {0: 1}, {(0, "o"): {3: 1}}, same(3))
    controller of 1 node for recall4

    See also: `controller_of`, `load_controller`, `save_controller`, `frontier`.
    """

    figure: ClassVar[str] = "controller_graph"

    P: POMDP
    names: tuple[str, ...]
    start: Mapping[Node, Number]
    act: Mapping[Entry, Mapping[Label, Number]]
    after: Mapping[Event, Mapping[Node, Number]]

    def __post_init__(self) -> None:
        check_fields(self)
        _check(self.start, range(len(self)), f"the start of a controller for {self.P.name}", "node")
        _ = self._met  # looks at every row that is used

    def __len__(self) -> int:
        return len(self.names)

    def sheet(self) -> Sheet:
        """What it does, node by node, and what it is worth."""
        columns = (
            Column("node", "what it remembers"),
            Column("sees"),
            Column("does"),
            Column("next node", "ends: the episode is over for certain"),
        )
        lines = self.lines()
        more = len(lines) - _MOST_ROWS
        notes = (f"And {counted(more, 'more line')}.",) if more > 0 else ()
        said = f"It has {counted(len(self), 'node')} and is worth {brief(self.value)}."
        title = f"Controller for {self.P.name}"
        return Sheet(title, columns, tuple(lines[:_MOST_ROWS]), said, notes)

    @cached_property
    def value(self) -> Number:
        """What it is worth on its task, exactly where both are exact."""
        E, pi = self.product, self.policy
        exact = E.is_exact and pi.is_exact and not E.symbols
        return evaluate(E, pi, exact=exact, weights=weights_for(E, pi)).value

    def __repr__(self) -> str:
        return f"controller of {counted(len(self), 'node')} for {self.P.name}"

    # ------------------------------------------------------------------ what can happen

    @cached_property
    def _met(self) -> tuple[dict[Entry, Any], dict[Event, Any]]:
        """The rows that are used. Missing or wrong ones raise `PolicyError`."""
        return _explore(self.P, self.start, self._acting, lambda event, row: self._going(event))

    def _acting(self, n: Node, o: Label) -> Mapping[Label, Number]:
        where = f"node {self.names[n]} where o={show(o)} is seen"
        if (n, o) not in self.act:
            raise PolicyError(f"the controller for {self.P.name} takes no action at {where}")
        _check(self.act[n, o], self.P.A, f"the action at {where}", "action")
        for a, x in self.act[n, o].items():
            if x != 0 and a not in self.P.actions(o):
                raise PolicyError(f"{self.P.name} does not allow {show(a)} at {where}")
        return self.act[n, o]

    def _going(self, event: Event) -> Mapping[Node, Number]:
        n, o, a, r, o_next = event
        where = (
            f"node {self.names[n]} after o={show(o)}, a={show(a)}, r={show(r)}, o'={show(o_next)}"
        )
        if event not in self.after:
            raise PolicyError(f"the controller for {self.P.name} goes nowhere from {where}")
        _check(self.after[event], range(len(self)), f"the node that follows {where}", "node")
        return self.after[event]

    @property
    def visited(self) -> frozenset[Entry]:
        """The (n, o) at which actions are taken on P."""
        return frozenset(self._met[0])

    @property
    def events(self) -> tuple[Event, ...]:
        """The (n, o, a, r, o') that can happen on P while the episode goes on."""
        return tuple(self._met[1])

    @cached_property
    def reads(self) -> tuple[str, ...]:
        """Of a, r and o', those that updates depend on, wherever all else is the same."""
        return tuple(
            what
            for place, what in enumerate(READABLE, start=2)
            if _differ(
                (tuple(x for i, x in enumerate(event) if i != place), self._next(event))
                for event in self.events
            )
        )

    def _next(self, event: Event) -> frozenset[tuple[Node, Number]]:
        return _row(self.after[event])

    @property
    def is_deterministic(self) -> bool:
        """Whether neither start nor actions nor updates are left to chance, where it gets."""
        rows = [
            self.start,
            *(self.act[entry] for entry in self.visited),
            *(self.after[event] for event in self.events),
        ]
        return all(sum(x != 0 for x in row.values()) == 1 for row in rows)

    def lines(self) -> list[tuple[str, str, str, str]]:
        """The controller as a table: node, what it sees, what it does, the node after that."""
        P = self.P
        following: dict[tuple[Node, Label, Label], dict[str, dict[str, None]]] = {}
        for n, o, a, r, o_next in self.events:
            by_node = following.setdefault((n, o, a), {})
            for k, x in self.after[n, o, a, r, o_next].items():
                if x != 0:
                    seen = P.O.text(o_next) + (f", r = {shown(r)}" if "r" in self.reads else "")
                    by_node.setdefault(self.names[k] + probability_text(x), {})[seen] = None
        found = []
        for n, o in sorted(self.visited, key=self._order):
            for a, x in self.act[n, o].items():
                if x == 0:
                    continue
                by_node = following.get((n, o, a), {})
                then = "; ".join(
                    k + (f" after {', '.join(seen)}" if len(by_node) > 1 else "")
                    for k, seen in by_node.items()
                )
                line = (
                    self.names[n],
                    P.O.text(o),
                    P.A.text(a) + probability_text(x),
                    then or "ends",
                )
                found.append(line)
        return found

    # ------------------------------------------------------------------ as a memory and a policy

    @cached_property
    def memory(self) -> Memory:
        """The controller as an external memory without writes. Where it has no row, the node
        stays."""

        def Gamma(
            m: Label, w: Label, o: Label, a: Label, r: Number, o_next: Label
        ) -> Mapping[Label, Number]:
            return self.after.get((m, o, a, r, o_next), {m: 1})

        return Memory("controller", range(len(self)), ["-"], Gamma, self.start)

    @cached_property
    def product(self) -> POMDP:
        """The task with the controller's memory."""
        return augment(self.P, self.memory)

    @cached_property
    def policy(self) -> Policy:
        """The memoryless policy of the product that runs the controller. It is uniform where the
        controller has no row."""
        E = self.product
        rows = {
            (n, o): {(a, "-"): x for a, x in self.act[n, o].items()}
            for n, o in E.O
            if (n, o) in self.act
        }
        return Policy.from_mapping(E, rows)

    # ------------------------------------------------------------------ other forms

    def pruned(self) -> Controller:
        """The same controller without the nodes, actions and updates that never happen."""
        used = sorted({n for n, _ in self.visited} | {n for n, x in self.start.items() if x != 0})
        return self._merged({n: used.index(n) for n in used})

    def minimised(self) -> Controller:
        """A controller with the same behaviour on P, of which no two nodes can be merged.

        Two nodes merge if they act alike wherever both are visited, and whatever follows merges
        too. Pairs are tried in the order of the nodes.
        """
        least = self.pruned()
        while (merged := least._merge_one()) is not None:
            least = merged
        return least

    def _merge_one(self) -> Controller | None:
        """Merge the first two nodes that can be merged, and all that have to follow. None if there
        are none."""
        for j in range(1, len(self)):
            for i in range(j):
                blocks = _closure(self, i, j)
                if blocks is not None:
                    return self._merged(blocks)
        return None

    def _merged(self, block: Mapping[Node, int]) -> Controller:
        """The controller whose nodes are blocks of nodes. What never happens is left out."""
        names: dict[int, str] = {}
        for n in sorted(block):
            names.setdefault(block[n], self.names[n])
        order = {old: new for new, old in enumerate(names)}
        to = {n: order[k] for n, k in block.items()}
        return Controller(
            self.P,
            tuple(names.values()),
            _pushed(self.start, to),
            {(to[n], o): dict(self.act[n, o]) for n, o in sorted(self.visited, key=self._order)},
            {
                (to[n], o, a, r, o_next): _pushed(self.after[n, o, a, r, o_next], to)
                for n, o, a, r, o_next in self.events
            },
        )

    def _order(self, entry: Entry) -> tuple[int, int]:
        return entry[0], self.P.O.index(entry[1])

    def posterior_unaware(self) -> Controller:
        """The same behaviour by updates that do not see what comes next: m' depends on n, o, a.

        The new nodes remember an event but for its last part, (n, o, a, r), and catch up when o' is
        seen: what the old controller would have done between two steps, the new one does at the
        beginning of the next. This needs updates that are not left to chance.
        """
        if "o'" not in self.reads:
            return self
        nodes: dict[Any, int] = {("start", n): n for n in range(len(self))}
        act: dict[Entry, Mapping[Label, Number]] = {
            entry: self.act[entry] for entry in self.visited if self.start.get(entry[0], 0) != 0
        }
        after: dict[Event, dict[Node, Number]] = {}
        for event in self.events:
            nodes.setdefault(event[:4], len(nodes))
        caught_up: dict[Entry, list[Node]] = {}
        for n in self.start:
            for o in self.P.O:
                caught_up.setdefault((n, o), []).append(n)
        for n, o, a, r, o_next in self.events:
            found = self._next((n, o, a, r, o_next))
            if len(found) > 1:
                raise PolicyError(
                    f"the update of node {self.names[n]} after o={show(o)}, a={show(a)} is "
                    "left to chance and depends on what is seen next"
                )
            ((n_next, _),) = found
            act[nodes[n, o, a, r], o_next] = self.act[n_next, o_next]
            caught_up.setdefault((n_next, o_next), []).append(nodes[n, o, a, r])
        for n, o, a, r, o_next in self.events:
            for late in caught_up.get((n, o), ()):
                after[late, o, a, r, o_next] = {nodes[n, o, a, r]: 1}
        return Controller(
            self.P, tuple(map(str, range(len(nodes)))), self.start, act, after
        ).minimised()


def controller_of(P: POMDP, memory: Memory | MemoryFamily | str, policy: Policy) -> Controller:
    """The finite-state controller that a policy with a memory is.

    Parameters
    ----------
    memory : a `Memory`, a family such as `memories.B(1)`, or its name.
    policy : a memoryless policy of `augment(P, memory)`, without symbols.

    >>> from workbench.core.policy import uniform
    >>> P = POMDP.from_functions(
    ...     name="guess",
    ...     A=[0, 1],
    ...     p=lambda s, a: {(s, a): 1},
    ...     omega=lambda s: {"o": 1},
    ...     mu={"s": 1},
    ...     gamma=Fraction(1, 2),
    ... )
    >>> controller = controller_of(P, "B1", uniform(augment(P, "B1")))
    >>> controller, controller.minimised()
    (controller of 2 nodes for guess, controller of 1 node for guess)

    See also: `Controller`, `save_controller`, `augment`.
    """
    if not isinstance(P, POMDP):
        raise WrongType(f"a controller belongs to a POMDP, not to {P!r}")
    attached = attach(memory, P)
    policy.fits(augment(P, attached))
    if policy.prob.symbols:
        raise PolicyError("a controller is made of numbers: give the symbols of its policy a value")

    def acting(m: Label, o: Label) -> dict[Label, Number]:
        found: dict[Label, Number] = {}
        for (a, _), x in policy.row((m, o)).items():
            found[a] = found.get(a, 0) + x
        return found

    def going(event: tuple[Any, ...], row: Mapping[Label, Number]) -> dict[Label, Number]:
        m, o, a, r, o_next = event
        writes = {w: x for (b, w), x in policy.row((m, o)).items() if b == a}
        found: dict[Label, Number] = {}
        for w, x in writes.items():
            for m_next, g in attached.Gamma(m, w, o, a, r, o_next).items():
                if g != 0:
                    share = g if len(writes) == 1 else _ratio(x, row[a]) * g
                    found[m_next] = found.get(m_next, 0) + share
        return found

    eta = {m: x for m, x in attached.eta.items() if x != 0}
    act, after = _explore(P, eta, acting, going)
    node = {
        m: n for n, m in enumerate(dict.fromkeys([*eta, *(m for x in after.values() for m in x)]))
    }
    return Controller(
        P,
        tuple(map(attached.M.text, node)),
        {node[m]: x for m, x in eta.items()},
        {(node[m], o): row for (m, o), row in act.items()},
        {(node[e[0]], *e[1:]): {node[m]: x for m, x in row.items()} for e, row in after.items()},
    )


def _explore(
    P: POMDP,
    start: Mapping[Any, Number],
    acting: Callable[[Any, Label], Mapping[Label, Number]],
    going: Callable[[Any, Mapping[Label, Number]], Mapping[Any, Number]],
) -> tuple[dict[Any, Mapping[Label, Number]], dict[Any, Mapping[Any, Number]]]:
    """Walk breadth first over what can happen on P. Returns the rows `acting(n, o)` and
    `going((n, o, a, r, o'), row)` that are met, in the order in which they are."""
    queue = [
        (s, o, n)
        for s in P.mu
        if s not in P.terminal
        for o, y in P.omega(s).items()
        for n, x in start.items()
        if x * y != 0
    ]
    known = set(queue)
    act: dict[Any, Mapping[Label, Number]] = {}
    after: dict[Any, Mapping[Any, Number]] = {}
    for s, o, n in queue:  # grows while we walk
        if (n, o) not in act:
            act[n, o] = acting(n, o)
        for a, x in act[n, o].items():
            if x == 0:
                continue
            for (s_next, r), y in P.p(s, a).items():
                if y == 0 or s_next in P.terminal:
                    continue
                for o_next, z in P.omega(s_next).items():
                    if z == 0:
                        continue
                    event = n, o, a, r, o_next
                    if event not in after:
                        after[event] = going(event, act[n, o])
                    for n_next, g in after[event].items():
                        if g != 0 and (s_next, o_next, n_next) not in known:
                            known.add((s_next, o_next, n_next))
                            queue.append((s_next, o_next, n_next))
    return act, after


def probability_text(x: Number) -> str:
    """What stands behind something that happens with a probability."""
    return "" if x == 1 else f" ({shown(x, digits=3)})"


def _ratio(x: Number, y: Number) -> Number:
    return x / y if isinstance(x, float) or isinstance(y, float) else Fraction(x) / Fraction(y)


def _check(row: Mapping[Any, Number], known: Any, where: str, word: str) -> None:
    """Raise `PolicyError` unless a row is a distribution over what is known."""
    for label, x in row.items():
        if label not in known:
            raise PolicyError(f"{where}: {show(label)} is no {word}")
        if not x >= 0:
            raise PolicyError(f"{where}: the probability of {show(label)} is {x}")
    total = sum(row.values())
    if not (abs(total - 1) <= SUM_TOLERANCE if isinstance(total, float) else total == 1):
        raise PolicyError(f"{where} sums to {total}, not to 1")


def _differ(pairs: Iterator[tuple[Any, Any]]) -> bool:
    """Whether two pairs have the same first part and another second one."""
    known: dict[Any, Any] = {}
    return any(known.setdefault(key, value) != value for key, value in pairs)


def _pushed(row: Mapping[Node, Number], to: Mapping[Node, Node]) -> dict[Node, Number]:
    found: dict[Node, Number] = {}
    for n, x in row.items():
        if x != 0:
            found[to[n]] = found.get(to[n], 0) + x
    return found


def _closure(controller: Controller, i: Node, j: Node) -> dict[Node, int] | None:
    """The blocks that merging two nodes leads to, or None if two nodes of a block act
    differently."""
    parent = list(range(len(controller)))

    def find(n: Node) -> Node:
        while parent[n] != n:
            n = parent[n]
        return n

    def join(one: Node, two: Node) -> bool:
        one, two = sorted((find(one), find(two)))
        parent[two] = one
        return one != two

    join(i, j)
    changed = True
    while changed:
        changed = False
        first: dict[Any, Node] = {}
        for event in controller.events:
            following = controller._next(event)
            if len(following) != 1:
                continue
            ((n_next, _),) = following
            key = (find(event[0]), *event[1:])
            changed |= join(first.setdefault(key, n_next), n_next)
    block = {n: find(n) for n in range(len(controller))}
    acts = (((block[n], o), _row(controller.act[n, o])) for n, o in controller.visited)
    goes = (
        ((block[event[0]], *event[1:]), _row(_pushed(controller.after[event], block)))
        for event in controller.events
    )
    return None if _differ(acts) or _differ(goes) else block


def _row(row: Mapping[Any, Number]) -> frozenset[tuple[Any, Number]]:
    return frozenset((label, x) for label, x in row.items() if x != 0)
