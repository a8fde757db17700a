"""What an external memory is: <M, W, Gamma, eta> (Definition 4.1), and how one is made for a POMDP.

    M      memory states
    W      memory-writing actions
    Gamma(m' | m, w, o, a, r, o')    how a write changes the memory; o is the *current* observation
    eta    where the memory starts

A `Memory` is all four. A `MemoryFamily` becomes one when it meets a POMDP, because what it holds
depends on O and A, or because M is not listed but *discovered*: then it is what can be reached from
eta when the memory runs beside the POMDP, in the order of a breadth-first walk.

Memories multiply: the product of two runs both, M = M1 x M2, W = W1 x W2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.check import check_rows
from workbench.core.errors import ModelError, TooLarge, UnknownLabel, WrongType
from workbench.core.numbers import Number, Numbers
from workbench.core.space import Label, Product, Space
from workbench.progress import Waiting
from workbench.text import show

if TYPE_CHECKING:
    from workbench.core.pomdp import POMDP

MOST_DISCOVERED = 10_000
"""A memory whose states are discovered is refused when it has more of them than this, unless it is
given another limit."""

_LONGEST = 60
"""Characters of a memory state in an error; exact beliefs have thousands."""

Gamma = Callable[[Label, Label, Label, Label, Number, Label], Mapping[Label, Number]]


@dataclass(frozen=True, eq=False)
class IndexRule:
    """Gamma of a built-in family as arithmetic on places, which the compiled walk of `augment`
    runs.

    `m' = w` if `overwrite`; else `m' = (m mod base^(k-1)) base + entry[o, a]` where `pushes[w]`,
    and `m' = m` elsewhere.
    """

    overwrite: bool
    keep_modulus: int
    base: int
    entry: NDArray[np.int64]
    pushes: NDArray[np.bool_]


class Memory:
    """An external memory <M, W, Gamma, eta>.

    Parameters
    ----------
    name : shown in tables.
    M, W : labels of the memory states and of the writes, lower writes first.
    Gamma : `Gamma(m, w, o, a, r, o_next)` returns {m_next: probability}.
    eta : {m: probability}, where the memory starts.
    rule : Gamma in places, of the families that are walked at compiled speed.
    parts : the memories that this one is a product of; itself alone if empty.
    """

    def __init__(
        self,
        name: str,
        M: Iterable[Label],
        W: Iterable[Label],
        Gamma: Gamma,
        eta: Mapping[Label, Number],
        rule: IndexRule | None = None,
        parts: tuple[Memory, ...] = (),
    ):
        self.name = name
        self.M = M if isinstance(M, Space) else Space(M)
        self.W = W if isinstance(W, Space) else Space(W)
        if not callable(Gamma):
            raise WrongType(
                f"Gamma must be a function that returns {{m_next: probability}}, not {Gamma!r}"
            )
        self.Gamma = Gamma
        self.eta = dict(check_distribution(eta, self.M, f"eta of {name}"))
        self.rule = rule
        self.parts = parts or (self,)

    @classmethod
    def discovered(
        cls,
        name: str,
        W: Iterable[Label],
        Gamma: Gamma,
        eta: Mapping[Label, Number],
        limit: int = MOST_DISCOVERED,
        advice: str | None = None,
    ) -> Discovered:
        """A memory whose states are not listed, but discovered when it meets a POMDP.

        Parameters
        ----------
        W, Gamma, eta : as for a memory whose states are listed.
        limit : more memory states than this are refused.
        advice : what the refusal proposes; to give a larger limit if None.

        >>> from workbench.core.pomdp import POMDP
        >>> P = POMDP.from_functions(
        ...     name="three steps",
        ...     A=["go"],
        ...     p=lambda s, a: {(s + 1, 0): 1},
        ...     omega=lambda s: {"o": 1},
        ...     mu={0: 1},
        ...     gamma=1,
        ...     terminal={3},
        ... )
        >>> steps = Memory.discovered(
        ...     "steps", ["-"], lambda m, w, o, a, r, o_next: {m + 1: 1}, {0: 1}
        ... )
        >>> steps.on(P).M
        {0, 1, 2, 3} (4)
        """
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 1:
            raise WrongType(f"the limit of {name} is a positive integer, not {limit!r}")
        given = () if advice is None else (advice,)
        return Discovered(name, tuple(W), Gamma, dict(eta), limit, *given)

    def on(self, P: POMDP) -> Memory:
        """Itself: a memory that is already attached."""
        return self

    def __mul__(self, other: Memory | MemoryFamily) -> MemoryFamily:
        return Both(self, other)

    def __repr__(self) -> str:
        return f"Memory {self.name}: {len(self.M):,} memory states, {len(self.W):,} writes"


def check_distribution(found: Any, space: Space, where: str) -> Mapping[Label, Number]:
    """`found` itself, if it is a distribution over labels of `space`."""
    if not isinstance(found, Mapping):
        raise WrongType(f"{where} must be a distribution {{label: probability}}, not {found!r}")
    if not found:
        raise ModelError(f"{where} is empty")
    for label in found:
        if label not in space:
            raise UnknownLabel(f"{where}: {space._unknown(label)}")
    if len(found) == 1 and next(iter(found.values())) == 1:
        return found  # most are certain, and this is asked for every argument of a Gamma
    check_rows(np.array([0, len(found)]), Numbers.of(list(found.values())), lambda _: where)
    return found


class MemoryFamily:
    """A memory that takes shape when it meets a POMDP: `on(P)` makes it."""

    @property
    def name(self) -> str:
        """What it is called in tables and on the command line."""
        raise NotImplementedError

    def on(self, P: POMDP) -> Memory:
        """The memory for the observations and actions of P."""
        raise NotImplementedError

    def __mul__(self, other: Memory | MemoryFamily) -> MemoryFamily:
        return Both(self, other)

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True, eq=False, repr=False)
class Discovered(MemoryFamily):
    """A memory whose states are discovered from Gamma and eta: see `Memory.discovered`."""

    called: str
    W: tuple[Label, ...]
    update: Gamma
    eta: Mapping[Label, Number]
    limit: int = MOST_DISCOVERED
    advice: str = "give a larger limit if it is finite"

    @property
    def name(self) -> str:
        return self.called

    def on(self, P: POMDP) -> Memory:
        with Waiting(f"memory states of {self.name} on {P.name}") as waiting:
            return _Discovery(self, P).walked(waiting)


class _Discovery:
    """The walk that finds the memory states, on places: memory states may be vectors of long
    fractions, and rewards are fractions, whose hashes take longer than the walk."""

    def __init__(self, family: Discovered, P: POMDP):
        self.family, self.P = family, P
        self.places = {m: i for i, m in enumerate(family.eta)}
        self.labels = list(self.places)
        self.writes = {w: i for i, w in enumerate(family.W)}
        self.events: dict[tuple[Label, Label, Number, Label], int] = {}
        self.answers: dict[tuple[int, int, int], tuple[Mapping[Label, Number], list[int]]] = {}
        self._moves: dict[tuple[int, int], list[tuple[int, int, int]]] = {}

    def walked(self, waiting: Waiting) -> Memory:
        P, family = self.P, self.family
        pairs = dict.fromkeys(
            (P.S.index(s), P.O.index(o), m)
            for s in P.mu
            for o, x in P.omega(s).items()
            if x != 0
            for m in range(len(self.labels))
        )
        queue = list(pairs)
        ended = P.terminal.mask
        for count, (s, o, m) in enumerate(queue):  # grows while we walk
            if not count % 64:
                waiting.tell(f"{len(self.labels):,} of at most {family.limit:,}")
            if ended[s]:
                continue
            for event, s_next, o_next in self._moves_of(s, o):
                for w in range(len(family.W)):
                    for m_next in self._asked(m, w, event):
                        reached = s_next, o_next, m_next
                        if reached not in pairs:
                            pairs[reached] = None
                            queue.append(reached)
        return Memory(family.name, self.labels, family.W, self._gamma, family.eta)

    def _moves_of(self, s: int, o: int) -> list[tuple[int, int, int]]:
        """What follows (s, o) with probability above zero: the place of (o, a, r, o'), s' and
        o'."""
        if (s, o) not in self._moves:
            P, events = self.P, self.events
            self._moves[s, o] = [
                (
                    events.setdefault((P.O[o], a, r, o_next), len(events)),
                    P.S.index(s_next),
                    P.O.index(o_next),
                )
                for a in P.A
                for (s_next, r), x in P.p(P.S[s], a).items()
                for o_next, y in P.omega(s_next).items()
                if x * y != 0
            ]
            self.shown = list(events)
        return self._moves[s, o]

    def _asked(self, m: int, w: int, event: int) -> list[int]:
        """The places of the m' with Gamma(m'|m, w, o, a, r, o') > 0."""
        key = m, w, event
        if key not in self.answers:
            row = self.family.update(self.labels[m], self.family.W[w], *self.shown[event])
            self.answers[key] = row, [self._place(m_next) for m_next, x in row.items() if x != 0]
        return self.answers[key][1]

    def _place(self, m: Label) -> int:
        place = self.places.setdefault(m, len(self.labels))
        if place == len(self.labels):
            self.labels.append(m)
            if len(self.labels) > self.family.limit:
                raise self._open_ended(m)
        return place

    def _open_ended(self, last: Label) -> TooLarge:
        family = self.family
        return TooLarge(
            f"the memory {family.name} does not close on {self.P.name}: more than "
            f"{family.limit:,} memory states, which is its limit, the last one "
            f"{_shortened(last)}: {family.advice}"
        )

    def _gamma(
        self, m: Label, w: Label, o: Label, a: Label, r: Number, o_next: Label
    ) -> Mapping[Label, Number]:
        """Gamma, with what was asked during the walk remembered: `augment` asks it all again."""
        event = self.events.get((o, a, r, o_next), -1)
        known = self.answers.get((self.places.get(m, -1), self.writes.get(w, -1), event))
        return self.family.update(m, w, o, a, r, o_next) if known is None else known[0]


def _shortened(m: Label) -> str:
    """A memory state in an error: exact beliefs have thousands of digits, which Python does not
    write."""
    try:
        text = show(m)
    except ValueError:
        return f"of very long numbers ({type(m).__name__})"
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."


@dataclass(frozen=True, eq=False, repr=False)
class Both(MemoryFamily):
    """Two memories beside each other."""

    first: Memory | MemoryFamily
    second: Memory | MemoryFamily

    @property
    def name(self) -> str:
        return f"{self.first.name}*{self.second.name}"

    def on(self, P: POMDP) -> Memory:
        one, two = self.first.on(P), self.second.on(P)
        if len(one.M) * len(two.M) > 1 << 62:
            raise TooLarge(
                f"{self.name} on {P.name} has {len(one.M):,} times {len(two.M):,} memory states"
            )

        def Gamma(
            m: Label, w: Label, o: Label, a: Label, r: Number, o_next: Label
        ) -> dict[Label, Number]:
            return {
                (x, y): p * q
                for x, p in one.Gamma(m[0], w[0], o, a, r, o_next).items()
                for y, q in two.Gamma(m[1], w[1], o, a, r, o_next).items()
            }

        eta = {(x, y): p * q for x, p in one.eta.items() for y, q in two.eta.items()}
        both = Product(one.M, two.M), Product(one.W, two.W)
        return Memory(self.name, *both, Gamma, eta, parts=one.parts + two.parts)
