"""External memories <M, W, Gamma, eta> (Definition 4.1), and families that become one on a POMDP.

    M      memory states
    W      memory-writing actions
    Gamma(m' | m, w, o, a, r, o')    how a write changes the memory; o is the *current* observation
    eta    where the memory starts

A `Memory` is all four. A `MemoryFamily` becomes one when it meets a POMDP, because what it holds
depends on O and A, or because M is not listed but *discovered*: the states that can be reached from
eta when the memory runs beside the POMDP, in the order of a breadth-first walk.

Memories multiply: the product of two runs both, M = M1 x M2, W = W1 x W2.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.core.build import chosen_actions
from workbench.core.check import check_rows
from workbench.core.errors import ModelError, NeedsAllActions, TooLarge, UnknownLabel, WrongType
from workbench.core.numbers import Number, Numbers
from workbench.core.space import Label, Product, Space
from workbench.text import show

if TYPE_CHECKING:
    from workbench.core.pomdp import POMDP

MOST_DISCOVERED = 10_000
"""A memory whose states are discovered is refused beyond this many, unless it is given a limit."""

_LONGEST = 60
"""Characters of a memory state in an error; exact beliefs have thousands."""

Gamma = Callable[[Label, Label, Label, Label, Number, Label], Mapping[Label, Number]]

Allowed = Callable[[Label, Label], Iterable[Label]]

IndexStep = Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.int64]]
"""Gamma of a deterministic memory that reads o and a alone, in indices: given `m[i]` and `o[i]` it
returns `m_next[i, a, w]`. The compiled walk of `augment` runs on it."""


class Memory:
    """An external memory <M, W, Gamma, eta>.

    Parameters
    ----------
    name : shown in tables.
    M, W : labels of the memory states and of the writes, lower writes first.
    Gamma : `Gamma(m, w, o, a, r, o_next)` returns {m_next: probability}.
    eta : {m: probability}, where the memory starts.
    step : Gamma in indices, where it is deterministic and reads neither r nor o_next.
    family : the family that made it.
    allowed : `allowed(m, o)` returns the writes that may be made there; None: all. Gamma is asked
        for these alone, and `step` is not used.

    >>> def Gamma(m, w, o, a, r, o_next):
    ...     return {"yes" if r > 0 else m: 1}
    >>> Memory("was I paid?", M=["no", "yes"], W=["-"], Gamma=Gamma, eta={"no": 1})
    Memory was I paid?: 2 memory states, 1 writes

    See also: `augment`, `controller_of`, `MemoryWrapper`.
    """

    def __init__(
        self,
        name: str,
        M: Iterable[Label],
        W: Iterable[Label],
        Gamma: Gamma,
        eta: Mapping[Label, Number],
        step: IndexStep | None = None,
        family: MemoryFamily | None = None,
        allowed: Allowed | None = None,
    ):
        self.name = name
        self.M = M if isinstance(M, Space) else Space(M)
        self.W = W if isinstance(W, Space) else Space(W)
        if not callable(Gamma):
            raise WrongType(
                f"Gamma must be a function that returns {{m_next: probability}}, not {Gamma!r}"
            )
        self.Gamma = Gamma
        self.eta = dict(check_distribution(eta, self.M, lambda: f"eta of {name}"))
        if allowed is not None and not callable(allowed):
            raise WrongType(f"allowed must be a function that returns a set, not {allowed!r}")
        self.step = step if allowed is None else None
        self.family = family
        self.allowed = allowed

    def writes(self, m: Label, o: Label) -> tuple[Label, ...]:
        """The writes that may be made in a memory state at an observation."""
        if self.allowed is None:
            return tuple(self.W)
        found = chosen_actions(self.allowed, self.W, o, f"allowed of {self.name}", m)
        return tuple(w for w in self.W if w in found)

    def require_all_writes(self, function: str) -> None:
        """Raise `NeedsAllActions` if not every write may be made everywhere."""
        if self.allowed is not None:
            raise NeedsAllActions(
                f"{function} needs all writes in every observation; {self.name} allows some of "
                "them only"
            )

    @classmethod
    def discovered(
        cls,
        name: str,
        W: Iterable[Label],
        Gamma: Gamma,
        eta: Mapping[Label, Number],
        limit: int = MOST_DISCOVERED,
        advice: str = "give a larger limit if it is finite",
    ) -> Discovered:
        """A memory whose states are not listed, but discovered when it meets a POMDP.

        Parameters
        ----------
        W, Gamma, eta : as for a memory whose states are listed.
        limit : more memory states than this are refused.
        advice : what the refusal proposes.

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
        return Discovered(name, tuple(W), Gamma, dict(eta), limit, advice)

    def on(self, P: POMDP) -> Memory:
        """Itself: a memory that is already attached."""
        return self

    @property
    def overwrites(self) -> bool:
        """Whether M = W and a write replaces the memory: m' = w."""
        return self.family is not None and self.family.overwrites and self.allowed is None

    def __mul__(self, other: Memory | MemoryFamily) -> MemoryFamily:
        return Both(self, other)

    def __repr__(self) -> str:
        return f"Memory {self.name}: {len(self.M):,} memory states, {len(self.W):,} writes"


def check_distribution(
    found: Any, space: Space, where: Callable[[], str]
) -> Mapping[Label, Number]:
    """Return `found` if it is a distribution over labels of `space`. `where` names it in errors."""
    if not isinstance(found, Mapping):
        raise WrongType(f"{where()} must be a distribution {{label: probability}}, not {found!r}")
    if not found:
        raise ModelError(f"{where()} is empty")
    for label in found:
        if label not in space:
            raise UnknownLabel(f"{where()}: {space._unknown(label)}")
    if len(found) == 1 and next(iter(found.values())) == 1:
        return found  # most are certain, and this is asked for every argument of a Gamma
    check_rows(np.array([0, len(found)]), Numbers.of(list(found.values())), lambda _: where())
    return found


class About(NamedTuple):
    """What a catalogue says of a family: its place in the paper, M, W and Gamma in words."""

    name: str
    definition: str
    M: str
    W: str
    Gamma: str


class MemoryFamily:
    """A memory that takes shape when it meets a POMDP: `on(P)` makes it."""

    kind: ClassVar[str] = ""
    """The word under which `families.FAMILIES` knows it; "" if it has no name to be parsed."""

    about: ClassVar[About]

    overwrites: ClassVar[bool] = False
    """Whether M = W and m' = w."""

    @property
    def name(self) -> str:
        """What it is called in tables and on the command line."""
        raise NotImplementedError

    @classmethod
    def parse(cls, text: str) -> MemoryFamily | None:
        """The member of this family that a text names, or None."""
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
    limit: int
    advice: str

    @property
    def name(self) -> str:
        return self.called

    def on(self, P: POMDP) -> Memory:
        # Memory states may be vectors of long fractions: each is hashed once for each argument.
        Gamma = cache(self.update)
        M = dict.fromkeys(self.eta)

        @cache
        def moves(s: Label, o: Label) -> list[tuple[Label, ...]]:
            """(a, r, o', s') for all that can follow (s, o)."""
            return [
                (a, r, o_next, s_next)
                for a in P.A
                for s_next, r in P.p(s, a)
                for o_next in P.omega(s_next)
            ]

        queue = dict.fromkeys((s, o, m) for s in P.mu for o in P.omega(s) for m in M)
        waiting = list(queue)
        for s, o, m in waiting:  # grows while we walk
            for a, r, o_next, s_next in moves(s, o):
                for w in self.W:
                    for m_next, x in Gamma(m, w, o, a, r, o_next).items():
                        reached = s_next, o_next, m_next
                        if x != 0 and reached not in queue:
                            queue[reached] = None
                            waiting.append(reached)
                            M[m_next] = None
                            if len(M) > self.limit:
                                raise self._open_ended(P, m_next)
        return Memory(self.name, M, self.W, Gamma, self.eta)

    def _open_ended(self, P: POMDP, last: Label) -> TooLarge:
        try:
            shown = show(last)
        except ValueError:  # Python does not write numbers of thousands of digits
            shown = f"of very long numbers ({type(last).__name__})"
        if len(shown) > _LONGEST:
            shown = f"{shown[:_LONGEST]}..."
        return TooLarge(
            f"the memory {self.name} does not close on {P.name}: more than {self.limit:,} memory "
            f"states, which is its limit, the last one {shown}: {self.advice}"
        )


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

        def step(m: NDArray[np.int64], o: NDArray[np.int64]) -> NDArray[np.int64]:
            assert one.step is not None
            assert two.step is not None
            m_one, m_two = np.divmod(m, len(two.M))
            after = one.step(m_one, o)[..., None] * len(two.M) + two.step(m_two, o)[:, :, None, :]
            return after.reshape(len(m), len(P.A), -1)

        def allowed(m: Label, o: Label) -> list[Label]:
            return list(itertools.product(one.writes(m[0], o), two.writes(m[1], o)))

        eta = {(x, y): p * q for x, p in one.eta.items() for y, q in two.eta.items()}
        is_free = one.allowed is None and two.allowed is None
        both = Product(one.M, two.M), Product(one.W, two.W)
        is_rule = one.step is not None and two.step is not None
        return Memory(
            self.name,
            *both,
            Gamma,
            eta,
            step if is_rule else None,
            self,
            None if is_free else allowed,
        )
