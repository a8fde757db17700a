"""Search for writes so that a condition holds at every reachable pair of belief and memory state.

Two questions of Appendix A.2 have one shape. A pair (m, n) of a memory state and a node (o, b) of
the belief graph is reached or not, depending on what is chosen:

    separate    choose w = f(m, o, a) for every (m, o, a) reached, such that no two nodes with the
                same o but different b are reached with the same m: Definition A.2
    joint       choose (a, w) for every (m, o) reached, such that a is among the actions allowed at
                every node reached with m and o: a deterministic memoryless policy that never takes
                an action that is not optimal

What is chosen at a *slot* matters only if the slot is reached, so slots open as the search goes:
(m, o) for an action, if `joint`, and (m, o, a) for a write. Every conclusion carries the set of
decisions it rests on (a bit mask of levels). A conflict takes back all decisions down to the last
but one it rests on, and excludes the option of the last one for as long as the others stand; a slot
with one option left is no decision. When a conflict rests on nothing, there is no solution, and the
search has proved it.
"""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import NoReturn

from workbench.agents.beliefs import BeliefGraph
from workbench.memories import Memory
from workbench.progress import Waiting
from workbench.sufficiency.belief_product import Supports, places
from workbench.text import counted

Slot = tuple[int, ...]
"""(m, o) for an action, (m, o, a) for a write, by places."""

Choice = tuple[int, int]
"""(a, w), by places."""


@dataclass(frozen=True)
class Outcome:
    """What the search found.

    Attributes
    ----------
    chosen : (a, w) for every (m, o, a) reached, or for every (m, o) if `joint`, by places; None if
        there is no solution (or none was found, see `finished`).
    decisions, conflicts : how much was tried.
    finished : False if the search was given up.
    """

    chosen: dict[Slot, Choice] | None
    decisions: int
    conflicts: int
    finished: bool

    @property
    def effort(self) -> str:
        """How much was tried, in words."""
        return f"{counted(self.decisions, 'decision')}, {counted(self.conflicts, 'conflict')}"


@dataclass(eq=False)
class _Open:
    """A slot that is reached. Its options are actions, or writes.

    Attributes
    ----------
    reached : the decisions on which it rests that the slot is reached; level : how many there were
        when it was.
    excluded : the options that lead to a conflict, each with the decisions on which that rests.
    chosen, rests_on : the option chosen and why.
    """

    name: Slot
    options: Sequence[int]
    reached: int
    level: int
    excluded: dict[int, int] = field(default_factory=dict)
    chosen: int | None = None
    rests_on: int = 0

    @property
    def writes(self) -> bool:
        return len(self.name) == 3


class _Conflict(Exception):
    def __init__(self, rests_on: int):
        self.rests_on = rests_on


class WriteSearch:
    """One search for writes. `run` may be called once.

    Parameters
    ----------
    graph, memory : the product to search.
    allowed : for each node the actions that may be taken there (`joint`), or None (`separate`).
    interchangeable : whether the memory states but those of eta are alike, as in B(k): of those
        that nothing has mentioned one stands for all. For `joint` only.
    """

    def __init__(
        self,
        graph: BeliefGraph,
        memory: Memory,
        allowed: Sequence[AbstractSet[int]] | None = None,
        interchangeable: bool = False,
    ):
        self.graph, self.memory, self.allowed = graph, memory, allowed
        self.interchangeable = interchangeable
        self.places, self.supports = places(graph, memory), Supports(graph, memory)
        self.facts: dict[tuple[int, int], int] = {}  # (m, q) reached: on which decisions that rests
        self.at: dict[tuple[int, int], list[int]] = {}  # (m, o): the places reached there
        self.mentioned: set[int] = set()
        self.slots: dict[Slot, _Open] = {}
        self.undecided: dict[Slot, None] = {}
        self.watchers: dict[tuple[int, int], list[tuple[_Open, int, int, int]]] = {}
        self.blame: Counter[Slot] = Counter()
        self.undo: list[Callable[[], object]] = []
        self.levels: list[
            tuple[int, _Open, int]
        ] = []  # a decision, and how long `undo` was before it
        self.to_reach: list[tuple[int, int, int]] = []
        self.to_check: list[_Open] = []
        self.decisions = self.conflicts = 0

    def run(self, budget: int, what: str, until: float = math.inf) -> Outcome:
        """Search until solved, refuted, `budget` decisions have been made or the clock
        (`time.monotonic`) passes `until`."""
        with Waiting(what) as waiting:
            try:
                # What is reached before anything is chosen rests on no decision: a conflict there
                # is final.
                self.to_reach = [(m, q, 0) for m in self.supports.eta for q in self.places.starts]
                self._propagate()
            except _Conflict:
                return Outcome(None, 0, 1, True)
            while self.undecided:
                if self.decisions >= budget or time.monotonic() > until:
                    return Outcome(None, self.decisions, self.conflicts, False)
                waiting.report(0.0, f"{self.decisions:,} decisions, {self.conflicts:,} conflicts")
                try:
                    self._decide(self._next_slot())
                    self._propagate()
                except _Conflict as conflict:
                    if not self._resolve(conflict.rests_on):
                        return Outcome(None, self.decisions, self.conflicts, True)
        return Outcome(self._solution(), self.decisions, self.conflicts, True)

    def _solution(self) -> dict[Slot, Choice]:
        chosen = {name: slot.chosen for name, slot in self.slots.items() if slot.chosen is not None}
        if self.allowed is None:
            return {name: (name[2], w) for name, w in chosen.items()}
        # After a sure end nothing reads the memory, so any write will do.
        any_write = len(self.memory.W) - 1  # where the episode surely ends
        return {
            name: (a, chosen.get((*name, a), any_write))
            for name, a in chosen.items()
            if len(name) == 2
        }

    def _next_slot(self) -> _Open:
        """The slot most often at fault so far, else the one reached last."""
        # A slot that was at fault before is likely to be again: deciding it early keeps the
        # conflict near the root, where it cuts off more. Otherwise depth first, so that a
        # solution is completed rather than many begun.
        guilty = self.undecided.keys() & self.blame.keys()
        name = (
            max(guilty, key=lambda name: (self.blame[name], name))
            if guilty
            else next(reversed(self.undecided))
        )
        return self.slots[name]

    def _live(self, slot: _Open) -> list[int]:
        """The options worth trying, in order of trial."""
        found = [x for x in slot.options if x not in slot.excluded]
        if not (self.interchangeable and slot.writes):
            return found
        if not self.mentioned.issuperset(slot.excluded):
            # what led to a conflict with one fresh memory state does so with every other
            return [w for w in found if w in self.mentioned]
        fresh = next((m for m in range(len(self.memory.M)) if m not in self.mentioned), None)
        return [w for w in found if w in self.mentioned or w == fresh]

    # ------------------------------------------------------------------ drawing conclusions

    def _propagate(self) -> None:
        """Reach, exclude and choose until nothing changes. It reaches what is reachable, excludes
        what collides, and chooses where one option is left."""
        try:
            while self.to_reach or self.to_check:
                if self.to_reach:
                    self._reach(*self.to_reach.pop())
                else:
                    self._check(self.to_check.pop())
        finally:
            self.to_reach.clear()
            self.to_check.clear()

    def _check(self, slot: _Open) -> None:
        """Report a conflict if no option is left, and choose if one is."""
        if slot.chosen is not None:
            return
        live = self._live(slot)
        if len(live) > 1 or (
            live and self.interchangeable and slot.writes and live[0] not in self.mentioned
        ):
            return
        # That this is the last option follows from the slot being reached and from every
        # exclusion: a forced choice rests on all of them, and on no decision of its own.
        rests_on = slot.reached
        for mask in slot.excluded.values():
            rests_on |= mask
        if not live:
            self._fail(slot, rests_on)
        self._choose(slot, live[0], rests_on)

    def _fail(self, slot: _Open, rests_on: int) -> NoReturn:
        self.blame[slot.name] += 1
        raise _Conflict(rests_on)

    def _reach(self, m: int, q: int, rests_on: int) -> None:
        """(m, q) is reached."""
        if (m, q) in self.facts:
            return
        n = self.places.node[q]
        o = self.graph.o[n]
        here = self.at.setdefault((m, o), [])
        # One place per (m, o) stands for all that are there: they share their belief, or this
        # would have been a conflict before.
        if self.allowed is None and here and self.places.node[here[0]] != n:
            raise _Conflict(rests_on | self.facts[m, here[0]])
        self.facts[m, q] = rests_on
        here.append(q)
        # Undone in reverse order, so the last entry of `here` is this one.
        self.undo.append(lambda: (self.facts.pop((m, q)), here.pop()))
        if m not in self.mentioned:
            self.mentioned.add(m)
            self.undo.append(lambda: self.mentioned.remove(m))
        if self.allowed is None:
            # Writes that were looked at earlier and lead here with another belief are now wrong.
            for slot, w, demanded, mask in self.watchers.get((m, o), ()):
                if demanded != n:
                    self._exclude(slot, w, rests_on | mask)
            for a in range(len(self.graph.P.A)):
                self._take(m, o, a, q, rests_on)
            return
        action = self._open((m, o), range(len(self.graph.P.A)), rests_on)
        for a in action.options:
            if a not in self.allowed[n]:
                self._exclude(action, a, rests_on)
        if action.chosen is not None:
            self._take(m, o, action.chosen, q, rests_on | action.rests_on)

    def _open(self, name: Slot, options: Sequence[int], rests_on: int) -> _Open:
        if name not in self.slots:
            slot = self.slots[name] = _Open(name, options, rests_on, len(self.levels))
            self.undecided[name] = None
            self.undo.append(lambda: (self.slots.pop(name), self.undecided.pop(name)))
            self.to_check.append(slot)
        return self.slots[name]

    def _take(self, m: int, o: int, a: int, q: int, rests_on: int) -> None:
        """Take the action a at the place q with m. The write matters if the episode may go on."""
        # The episode surely ends: nothing is written that anyone reads.
        if not self.places.edges[q][a]:
            return
        # Higher writes first: `push` before `keep`, as everywhere in the package.
        slot = self._open((m, o, a), range(len(self.memory.W))[::-1], rests_on)
        if self.allowed is None:
            for w in slot.options:
                self._look_ahead(slot, w, q)
        if slot.chosen is not None:
            self._follow(slot, q)

    def _look_ahead(self, slot: _Open, w: int, q: int) -> None:
        """Exclude a write that leads to a memory state of another belief. Watch those yet to
        come."""
        rests_on = self.facts[slot.name[0], q]
        for m_next, q_next in self._ahead(slot, w, q):
            n_next = self.places.node[q_next]
            there = m_next, self.graph.o[n_next]
            if held := self.at.get(there):
                if self.places.node[held[0]] != n_next:
                    self._exclude(slot, w, rests_on | self.facts[m_next, held[0]])
            else:
                watchers = self.watchers.setdefault(there, [])
                watchers.append((slot, w, n_next, rests_on))
                self.undo.append(watchers.pop)

    def _ahead(self, slot: _Open, w: int, q: int) -> list[tuple[int, int]]:
        """The pairs (m', q') that a write leads to from a place."""
        m, o, a = slot.name
        return [
            (m_next, q_next)
            for o_next, r, q_next in self.places.edges[q][a]
            for m_next in self.supports.after(m, w, o, a, r, o_next)
        ]

    def _exclude(self, slot: _Open, option: int, rests_on: int) -> None:
        if option in slot.excluded:
            return
        # The option was chosen on other grounds: both grounds together are the conflict.
        if option == slot.chosen:
            self._fail(slot, rests_on | slot.rests_on)
        slot.excluded[option] = rests_on
        self.undo.append(lambda: slot.excluded.pop(option))
        self.to_check.append(slot)

    def _choose(self, slot: _Open, option: int, rests_on: int) -> None:
        slot.chosen, slot.rests_on = option, rests_on
        del self.undecided[slot.name]
        self.undo.append(lambda: self._unchoose(slot))
        m, o = slot.name[:2]
        for q in self.at[m, o]:
            if slot.writes:
                self._follow(slot, q)
            else:
                self._take(m, o, option, q, rests_on | self.facts[m, q])

    def _unchoose(self, slot: _Open) -> None:
        slot.chosen, slot.rests_on = None, 0
        self.undecided[slot.name] = None

    def _follow(self, slot: _Open, q: int) -> None:
        """What a write reaches from a place."""
        assert slot.chosen is not None
        # Reached because of the choice, because the slot is reached, and because q is.
        rests_on = slot.rests_on | slot.reached | self.facts[slot.name[0], q]
        self.to_reach += [
            (m_next, q_next, rests_on) for m_next, q_next in self._ahead(slot, slot.chosen, q)
        ]

    # ------------------------------------------------------------------ deciding and taking back

    def _decide(self, slot: _Open) -> None:
        self.decisions += 1
        live = self._live(slot)
        # The write that reaches least that is new leaves most room for what follows.
        option = min(live, key=lambda w: self._news(slot, w)) if slot.writes else live[0]
        self.levels.append((len(self.undo), slot, option))
        self._choose(slot, option, 1 << (len(self.levels) - 1))

    def _news(self, slot: _Open, w: int) -> int:
        """The number of new pairs (m', q') that a write would reach. Few new pairs leave more
        room."""
        here = self.at[slot.name[0], slot.name[1]]
        return sum(pair not in self.facts for q in here for pair in self._ahead(slot, w, q))

    def _resolve(self, rests_on: int) -> bool:
        """Take back the last decision that a conflict rests on, and exclude it. False if it rests
        on none."""
        while rests_on:
            self.conflicts += 1
            last = rests_on.bit_length() - 1
            _, slot, option = self.levels[last]
            # The last decision is wrong as long as the others stand, so the search may go back to
            # just after the latest of them, skipping decisions that had no part in it; but not to
            # before the slot was reached, where there is nothing to exclude.
            others = rests_on & ~(1 << last)
            self._take_back(max(others.bit_length(), slot.level))
            try:
                self._exclude(slot, option, others)
                self._propagate()
                return True
            except _Conflict as conflict:
                rests_on = conflict.rests_on
        self.conflicts += 1
        return False

    def _take_back(self, kept: int) -> None:
        """Undo all but the first `kept` decisions, and what followed from the others."""
        length = self.levels[kept][0]
        del self.levels[kept:]
        while len(self.undo) > length:
            self.undo.pop()()
