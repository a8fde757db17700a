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

from workbench.errors import ModelError, TooLarge, UnknownLabel, WrongType
from workbench.model.check import check_rows
from workbench.model.numbers import Number, Numbers
from workbench.model.space import Label, Product, Space
from workbench.text import show

if TYPE_CHECKING:
    from workbench.model.pomdp import POMDP

MOST_DISCOVERED = 100_000
"""A memory whose states are discovered is refused when it has more of them than this."""

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
    """

    def __init__(
        self,
        name: str,
        M: Iterable[Label],
        W: Iterable[Label],
        Gamma: Gamma,
        eta: Mapping[Label, Number],
        rule: IndexRule | None = None,
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

    @classmethod
    def discovered(
        cls,
        name: str,
        W: Iterable[Label],
        Gamma: Gamma,
        eta: Mapping[Label, Number],
        limit: int = MOST_DISCOVERED,
    ) -> Discovered:
        """A memory whose states are not listed, but discovered when it meets a POMDP.

        Parameters
        ----------
        W, Gamma, eta : as for a memory whose states are listed.
        limit : more memory states than this are refused.

        >>> from workbench.model.pomdp import POMDP
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
        return Discovered(name, tuple(W), Gamma, dict(eta), limit)

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

    @property
    def name(self) -> str:
        return self.called

    def on(self, P: POMDP) -> Memory:
        found: dict[Label, None] = dict.fromkeys(self.eta)
        answers: dict[tuple[Label, ...], Mapping[Label, Number]] = {}

        def ask(*given: Any) -> Mapping[Label, Number]:
            # Asked again by `augment`, which walks the product of what is found here.
            if given not in answers:
                answers[given] = self.update(*given)
            return answers[given]

        pairs = dict.fromkeys(
            (s, o, m) for s in P.mu for o, x in P.omega(s).items() if x != 0 for m in self.eta
        )
        waiting = list(pairs)
        for s, o, m in waiting:  # grows while we walk
            if s in P.terminal:
                continue
            for reached in self._after(P, ask, s, o, m):
                if reached not in pairs:
                    pairs[reached] = None
                    waiting.append(reached)
                    found[reached[2]] = None
                    if len(found) > self.limit:
                        raise TooLarge(
                            f"the memory {self.name} does not close on {P.name}: more than "
                            f"{self.limit:,} memory states, the last one {show(reached[2])}"
                        )
        return Memory(self.name, list(found), self.W, ask, self.eta)

    def _after(
        self, P: POMDP, ask: Gamma, s: Label, o: Label, m: Label
    ) -> Iterable[tuple[Label, Label, Label]]:
        """The (s', o', m') that follow (s, o, m) with probability above zero."""
        for a in P.A:
            for (s_next, r), x in P.p(s, a).items():
                seen = [o_next for o_next, y in P.omega(s_next).items() if x * y != 0]
                for o_next in seen:
                    for w in self.W:
                        for m_next, z in ask(m, w, o, a, r, o_next).items():
                            if z != 0:
                                yield s_next, o_next, m_next


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
        return Memory(self.name, Product(one.M, two.M), Product(one.W, two.W), Gamma, eta)
