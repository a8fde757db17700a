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
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.core.asked import Asked, require_function
from workbench.core.build import check_rows
from workbench.core.errors import NeedsAllActions, TooLarge, UnknownLabel, WrongType
from workbench.core.numbers import Number, Numbers
from workbench.core.space import Label, Product, Space

if TYPE_CHECKING:
    from workbench.core.pomdp import POMDP

MOST_DISCOVERED = 10_000
"""A memory whose states are discovered is refused beyond this many, unless it is given a limit."""

Gamma = Callable[[Label, Label, Label, Label, Number, Label], Mapping[Label, Number]]

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
        allowed: Callable[[Label, Label], Iterable[Label]] | None = None,
    ):
        self.name = name
        self.M = M if isinstance(M, Space) else Space(M)
        self.W = W if isinstance(W, Space) else Space(W)
        require_function("Gamma", Gamma, "{m_next: probability}")
        if allowed is not None:
            require_function("allowed", allowed, "a set")
        self.Gamma = Gamma
        start = outcomes_in(
            Asked(lambda: eta, "eta", members="memory states", of=f" of {name}"), self.M
        )
        self.eta = {self.M[m]: x for m, x in start}
        self.step = step if allowed is None else None
        self.family = family
        self.allowed = allowed

    def may_write(self, m: Label, o: Label) -> NDArray[np.bool_]:
        """The mask of the writes that may be made in a memory state at an observation."""
        if self.allowed is None:
            return np.ones(len(self.W), dtype=bool)
        return Asked(self.allowed, "allowed({}, {})", of=f" of {self.name}").choice(self.W, m, o)

    def writes(self, m: Label, o: Label) -> tuple[Label, ...]:
        """The writes that may be made in a memory state at an observation."""
        return tuple(itertools.compress(self.W, self.may_write(m, o)))

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
    ) -> MemoryFamily:
        """A memory whose states are not listed, but discovered when it meets a POMDP.

        Parameters
        ----------
        W, Gamma, eta : as for a memory whose states are listed.
        limit : more memory states than this are refused.
        advice : what the refusal proposes.

        >>> from pomdps import recall4
        >>> steps = Memory.discovered(
        ...     "steps", ["-"], lambda m, w, o, a, r, o_next: {m + 1: 1}, {0: 1}
        ... )
        >>> steps.on(recall4()).M
        {0, 1, 2} (3)
        """
        from workbench.core.augment import Discovered

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


def outcomes_in(asked: Asked, M: Any, *labels: Label) -> list[tuple[int, Number]]:
    """A distribution over memory states that a user's function returns, by their indices."""
    found = asked.outcomes(*labels)
    for m, _ in found:
        if m not in M:
            raise UnknownLabel(f"{asked.at(*labels)}: {M._unknown(m)}")
    if len(found) > 1 or found[0][1] != 1:  # most are certain, and this is asked often
        prob = Numbers.of([x for _, x in found])
        check_rows(np.array([0, len(found)]), prob, lambda _: asked.at(*labels))
    return [(M.index(m), x) for m, x in found]


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

        def Gamma(m: Label, w: Label, *seen: Any) -> dict[Label, Number]:
            first, second = one.Gamma(m[0], w[0], *seen), two.Gamma(m[1], w[1], *seen)
            return {(x, y): p * q for x, p in first.items() for y, q in second.items()}

        def step(m: NDArray[np.int64], o: NDArray[np.int64]) -> NDArray[np.int64]:
            assert one.step is not None
            assert two.step is not None
            m_one, m_two = np.divmod(m, len(two.M))
            after = one.step(m_one, o)[..., None] * len(two.M) + two.step(m_two, o)[:, :, None, :]
            return after.reshape(len(m), len(P.A), -1)

        def allowed(m: Label, o: Label) -> list[Label]:
            return list(itertools.product(one.writes(m[0], o), two.writes(m[1], o)))

        eta = {(x, y): p * q for x, p in one.eta.items() for y, q in two.eta.items()}
        has_step = one.step is not None and two.step is not None
        is_free = one.allowed is None and two.allowed is None
        M, W = Product(one.M, two.M), Product(one.W, two.W)
        rules = step if has_step else None, self, None if is_free else allowed
        return Memory(self.name, M, W, Gamma, eta, *rules)
