"""How good a task can be played against how much is remembered.

For a number n of memory states, the best value of a deterministic policy

    of a family                 K(k), B(k), O(k), OA(k), ... with |M| = n
    of any controller           of n nodes: m' chosen by (m, o) as freely as a, the memory F(n)

A deterministic policy of a memory whose updates are certain and read neither r nor o' is a
controller, of as many nodes as are left when it is minimised. So each family's policy is a lower
bound for all controllers of at least that many nodes. So is the best policy of the whole history
once its equal nodes are merged. From above, values are bounded by the search
over F(n), and by V*, the best value of the whole history. The frontier never falls, and is complete
where it meets V*.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from workbench.agents.controllers import Controller, controller_of
from workbench.core.augment import augment
from workbench.core.errors import NeverEnds, TooLarge, WorkbenchError, WrongType
from workbench.core.fields import FLOATS
from workbench.core.numbers import Number
from workbench.core.pomdp import POMDP
from workbench.memories import F, attach, list_sized, parse_memory
from workbench.optima.best_history import best_history
from workbench.optima.best_memoryless import best_memoryless
from workbench.optima.mdp import from_states, size_of_values
from workbench.optima.optimum import HistoryOptimum
from workbench.plain_numbers import deadline, share_of
from workbench.tables.sheet import Column, Drawn, Sheet, Showing
from workbench.text import between, brief, counted, did_you_mean

FAMILIES = ("K", "B", "O", "OA")
_MOST_STATES = 20_000
"""Larger products are not searched."""

_FOLDED = 50
"""Nodes up to which the best policy of histories is minimised; the work grows with their cube."""

_NEARLY = 1e-9
"""Floats this close, as a share of the size of rewards and values, count as equal."""


@dataclass(frozen=True, eq=False)
class FrontierPoint:
    """A memory, and the best deterministic policy found with it.

    Attributes
    ----------
    memory : its name.
    states : how many memory states can be reached.
    value, bound : what the policy is worth, and what none exceeds; minus infinity if none was found
        that ends.
    nodes : of its minimised controller; None where none was found.
    certified : whether the policy is optimal.
    """

    memory: str
    states: int
    value: Number
    bound: Number
    nodes: int | None
    certified: bool


@dataclass(frozen=True, eq=False)
class FrontierStep:
    """The best value of all deterministic controllers of n nodes. It holds a value that one
    reaches, a bound that none exceeds, whether they are equal (in floats: nearly), and who reached
    it."""

    nodes: int
    value: Number
    bound: Number
    certified: bool
    by: str


@dataclass(frozen=True, eq=False)
class Frontier(Showing, Drawn):
    """Best values against numbers of memory states.

    Attributes
    ----------
    points : the families' memories, in the order in which they were looked at.
    steps : all controllers of 1, 2, ... nodes.
    history : V*, or bounds on it.
    left_out : memories that were not searched, and why.
    margin : values this close count as equal: none in rationals, otherwise a small share of the
        size of rewards and values.
    """

    figure: ClassVar[str] = "frontier_plot"

    P: POMDP
    points: tuple[FrontierPoint, ...]
    steps: tuple[FrontierStep, ...]
    history: HistoryOptimum
    left_out: tuple[tuple[str, str], ...]
    margin: Number

    @property
    def enough(self) -> int | None:
        """The fewest nodes that reach V*, as far as the search went, or None."""
        least = self.history.upper - self.margin
        return next((x.nodes for x in self.steps if x.value >= least), None)

    def sheet(self) -> Sheet:
        """The families' memories, then all controllers of 1, 2, ... nodes."""
        columns = (
            Column("memory", "any: all controllers of so many nodes"),
            Column("states", "memory states that can be reached", right=True),
            Column("nodes", "of the best policy's smallest controller", right=True),
            Column("value", "of the best deterministic policy found", right=True),
            Column("at most", "no deterministic policy is worth more", right=True),
        )
        rows: list[tuple[Any, ...]] = [
            (
                x.memory,
                x.states,
                "" if x.nodes is None else x.nodes,
                "none ends" if x.nodes is None else x.value,
                x.bound,
            )
            for x in self.points
        ]
        rows += [
            (
                "any",
                "",
                step.nodes,
                step.value if step.by else "none found",
                step.bound,
            )
            for step in self.steps
        ]
        lower, upper = self.history.lower, self.history.upper
        best = between(lower, upper, self.margin)
        said = f"The best policy of the whole history is worth {best}"
        near = next((x for x in self.steps if x.value >= lower - self.margin), None)
        if self.enough is not None:
            said += f"; {counted(self.enough, 'node')} of memory reach it."
        elif near is not None:
            off = f"{float(upper - near.value):.1g}"
            said += f"; {counted(near.nodes, 'node')} of memory come within {off} of it."
        else:
            said += "; no controller looked at reaches that."
        notes = tuple(f"{name} was left out: {why}." for name, why in self.left_out)
        return Sheet(f"Value by memory on {self.P.name}", columns, tuple(rows), said, notes)

    def __repr__(self) -> str:
        values = ", ".join(
            f"{x.nodes}: {brief(x.value)}{'' if x.certified else f' to {brief(x.bound)}'}"
            for x in self.steps
        )
        return (
            f"frontier of {self.P.name} by nodes: {values}; histories {brief(self.history.upper)}"
        )


def frontier(
    P: POMDP,
    up_to: int = 4,
    families: Iterable[str] = FAMILIES,
    *,
    max_seconds: float = 60.0,
) -> Frontier:
    """The best value against the number of memory states, for families and for all controllers.

    Parameters
    ----------
    up_to : the most nodes of a controller; families go as far as they have no more memory states.
    families : of those that have a size, such as "K" or "clock".
    max_seconds : of all searches together; each may take its share of what is left. Memories
        that it does not come to are in `left_out`.

    >>> from workbench.improvement.batch import sequence_task
    >>> P = sequence_task([[0, 1], [1, 0]])
    >>> frontier(P, 2)
    frontier of sequence task by nodes: 1: 0, 2: 1; histories 1

    See also: `can_encode_optimal`, `best_memoryless`, `Controller`.
    """
    if isinstance(up_to, bool) or not isinstance(up_to, int) or up_to < 1:
        raise WrongType(f"up_to is a whole number from 1, not {up_to!r}")
    kinds = [families] if isinstance(families, str) else list(families)
    for kind in kinds:
        if kind not in (sized := list_sized()):
            raise WorkbenchError(
                f"unknown family {kind!r}{did_you_mean(kind, sized)}: one of {', '.join(sized)}"
            )
    until = deadline(max_seconds)
    names = ["none", *_names(kinds, P, up_to)]
    searches = len(names) + up_to  # V* is one of them, the controller of one node is "none"
    history = best_history(P, max_seconds=max_seconds / searches)
    search = _Search(P, history, until, searches - 1)
    for name in names:
        search.add(name)
    steps = [search.step(n) for n in range(1, up_to + 1)]
    margin: Number = 0 if history.exact and search.exact else search.near
    points, left_out = tuple(search.points), tuple(search.left_out)
    return Frontier(P, points, tuple(steps), history, left_out, margin)


def _names(kinds: list[str], P: POMDP, up_to: int) -> list[str]:
    """Memories of each family with at most `up_to` memory states, smallest first. The first of each
    family is always there."""
    found = []
    for kind in kinds:
        k = 1
        while k == 1 or (k <= up_to and _size(f"{kind}{k}", P) <= up_to):
            found.append(f"{kind}{k}")
            k += 1
    return found


def _size(name: str, P: POMDP) -> int:
    try:
        return len(attach(name, P).M)
    except TooLarge:
        return 1 << 62


class _Search:
    """The search for the frontier: memory families first, then all controllers. It holds what is
    known so far."""

    def __init__(self, P: POMDP, history: HistoryOptimum, until: float, searches: int):
        self.P, self.history, self.until, self.searches = P, history, until, searches
        self.exact = P.is_exact and not P.symbols
        self.margin = 0.0 if self.exact else self.near
        self.points: list[FrontierPoint] = []
        self.left_out: list[tuple[str, str]] = []
        self.controllers: list[tuple[Number, Controller, str]] = []
        self._fold()

    def _fold(self) -> None:
        """Merge the nodes of the best policy of the whole history, where it has few."""
        policy = self.history.policy
        if policy is None or len(policy.rows) > _FOLDED:
            return
        found = controller_of(self.P, policy.memory, policy.policy)
        if found.is_deterministic:
            found = found.posterior_unaware().minimised()
            self.controllers.append((self.history.lower, found, "histories"))

    @cached_property
    def near(self) -> float:
        """How close floats are that count as equal."""
        return _NEARLY * size_of_values(from_states(self.P, FLOATS))

    def add(self, name: str) -> FrontierPoint | None:
        """Look at a memory by its name."""
        seconds = share_of(self.until, self.searches)
        self.searches -= 1
        if self.points and time.monotonic() > self.until:
            self.left_out.append((name, "the time was over"))
            return None
        family = parse_memory(name)
        try:
            memory = family.on(self.P)
            if len(self.P.S) * len(memory.M) > _MOST_STATES:
                self.left_out.append((name, f"{len(self.P.S) * len(memory.M):,} pairs (s, m)"))
                return None
            E = augment(self.P, memory)
        except TooLarge as error:
            self.left_out.append((name, str(error)))
            return None
        states = len({m for m, _ in E.O})
        try:
            best = best_memoryless(E, exact=self.exact, max_seconds=seconds)
        except NeverEnds:
            worst = float("-inf")
            found = FrontierPoint(name, states, worst, self.history.upper, None, False)
        except KeyboardInterrupt:
            if not self.points:
                raise  # there is nothing to show
            self.left_out.append((name, "stopped by Ctrl-C"))
            return None
        else:
            controller = controller_of(self.P, memory, best.policy).minimised()
            bound = min(best.bound, max(self.history.upper, best.value))
            found = FrontierPoint(
                name,
                states,
                best.value,
                bound,
                len(controller),
                bool(bound - best.value <= self.margin),
            )
            if controller.is_deterministic and not {"r", "o'"} & set(controller.reads):
                self.controllers.append((best.value, controller, name))
        self.points.append(found)
        return found

    def step(self, n: int) -> FrontierStep:
        """All controllers of n nodes."""

        def known() -> list[tuple[Number, str]]:
            return [(value, name) for value, nodes, name in self.controllers if len(nodes) <= n]

        closed = any(value >= self.history.upper - self.margin for value, _ in known())
        point = self.points[0] if n == 1 else None
        if n > 1 and closed:
            self.searches -= 1
        elif n > 1:
            point = self.add(F(n).name)
        bound = self.history.upper if point is None else point.bound
        if not known():
            return FrontierStep(n, float("-inf"), bound, False, "")
        value = max(value for value, _ in known())
        by = next(x for v, x in known() if v == value)
        bound = max(bound, value)
        return FrontierStep(n, value, bound, bool(bound - value <= self.margin), by)
