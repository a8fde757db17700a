"""A task and a memory beside each other, not multiplied out.

What an agent with memory sees is a vector of symbols, one for each slot:

    view = (o)                   no memory, or one that is part of the POMDP's own observations
           (o, m)                a memory that a write replaces: bits
           (o, m_1, ..., m_k)    a buffer, oldest first: 0 for an empty cell, else 1 + the entry

and its joint action is a |W| + w. Of <P, O6> there may be 10^16 states (s, m, o), but a step of it
is a step of P and a shift of the buffer; nothing else is needed to act, and a policy is a function
of the view.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from workbench.core.augment import augment
from workbench.core.errors import TooLarge, WrongType
from workbench.core.pomdp import POMDP
from workbench.core.space import Bits, Label, Subset
from workbench.deep.features import (
    Features,
    bit_features,
    cell_features,
    features_of,
    pair_features,
)
from workbench.memories import BufferFamily, Memory, MemoryFamily, attach

_SMALL_PRODUCT = 1 << 20
"""Products of at most so many pairs (m, o) are multiplied out: their policies are tables."""

_MOST_FEATURES = 4096
"""Beyond so many labels of a slot every label is a feature of its own, which takes no table."""

Views = NDArray[np.int32]
"""`views[i, slot]`."""


@dataclass(frozen=True, eq=False)
class MemoryPair:
    """A task with one of the paper's memories.

    Parameters
    ----------
    P : the sub-environment.
    memory : a family or its name; one that is no buffer and is not overwritten has to be multiplied
        out with `augment`.

    >>> from workbench.core.pomdp import POMDP
    >>> P = POMDP.from_functions(
    ...     name="guess",
    ...     A=[0, 1],
    ...     p=lambda s, a: {("end", a): 1},
    ...     omega=lambda s: {"o": 1},
    ...     mu={"s": 1},
    ...     gamma=1,
    ...     terminal={"end"},
    ... )
    >>> pair = MemoryPair(P, "OA6")
    >>> pair, pair.slots, pair.actions
    (guess×OA6, 7, 4)

    See also: `augment`, `PPO`, `learn`.
    """

    P: POMDP
    memory: Memory

    def __init__(self, P: POMDP, memory: Memory | MemoryFamily | str):
        if not isinstance(P, POMDP):
            raise WrongType(f"a pair needs a POMDP, not {P!r}")
        P.require_all_actions("MemoryPair")
        attached = attach(memory, P)
        if not _is_laid_out(attached) or attached.allowed is not None:
            raise WrongType(
                f"the memory {attached.name} is a Python function: multiply it out with "
                "augment(P, memory)"
            )
        object.__setattr__(self, "P", P)
        object.__setattr__(self, "memory", attached)

    @property
    def name(self) -> str:
        return f"{self.P.name}×{self.memory.name}"

    def __repr__(self) -> str:
        return self.name

    @property
    def cells(self) -> int:
        """The number of cells of a buffer, or 0 for other memories."""
        return self.buffer.k if self.buffer is not None else 0

    @property
    def buffer(self) -> BufferFamily | None:
        """The family of a buffer, or None for other memories."""
        family = self.memory.family
        return family if isinstance(family, BufferFamily) else None

    @cached_property
    def entries(self) -> NDArray[np.int32]:
        """`entries[o, a]`: the symbol that a buffer stores."""
        nO, nA = len(self.P.O), len(self.P.A)
        pairs = self.buffer is not None and self.buffer.pairs
        o = np.arange(nO)[:, None]
        return (1 + (o * nA + np.arange(nA) if pairs else o.repeat(nA, axis=1))).astype(np.int32)

    @property
    def overwrites(self) -> bool:
        """Whether a write replaces the memory, and there is something to replace."""
        return not self.cells and len(self.memory.M) > 1

    @property
    def slots(self) -> int:
        return 1 + (self.cells or int(self.overwrites))

    @property
    def actions(self) -> int:
        """|A| |W|."""
        return len(self.P.A) * len(self.memory.W)

    @cached_property
    def features(self) -> tuple[Features | None, ...]:
        """The features of each slot. None where each label is a feature of its own."""
        o = None if len(self.P.O) > _MOST_FEATURES else features_of(self.P.O)
        if self.overwrites:
            M = self.memory.M
            return o, bit_features(M.k) if isinstance(M, Bits) else None
        if not self.cells:
            return (o,)
        if o is None:
            return (None,) * self.slots
        pairs = self.buffer is not None and self.buffer.pairs
        entry = pair_features(o, features_of(self.P.A)) if pairs else o
        return (o, *[cell_features(entry)] * self.cells)

    @cached_property
    def symbols(self) -> tuple[int, ...]:
        """The number of symbols of each slot."""
        rest = [len(factor) for factor in self.memory.M.factors] if self.cells else []  # type: ignore[attr-defined]
        return (len(self.P.O), *([len(self.memory.M)] if self.overwrites else rest))

    def label(self, view: NDArray[np.integer]) -> tuple[Label, Label]:
        """The (m, o) that a view shows."""
        o, rest = self.P.O[int(view[0])], view[1:]
        if self.cells:
            m = tuple(f[int(x)] for f, x in zip(self.memory.M.factors, rest, strict=True))  # type: ignore[attr-defined]
        else:
            m = self.memory.M[int(rest[0]) if self.overwrites else 0]
        return m, o

    def views(self, E: POMDP) -> Views:
        """The agent's view at each observation (m, o) of the product, in the order of E.O."""
        assert isinstance(E.O, Subset)
        nO = len(self.P.O)
        m, o = E.O.places // nO, E.O.places % nO
        found = np.empty((len(E.O), self.slots), dtype=np.int32)
        found[:, 0] = o
        for slot in range(self.slots - 1, 0, -1):
            m, found[:, slot] = np.divmod(m, self.symbols[slot])
        return found


def _is_laid_out(memory: Memory) -> bool:
    """Whether a memory is a slot that writes replace, or a buffer of slots that they rearrange."""
    return memory.overwrites or isinstance(memory.family, BufferFamily)


def pair_of(E: POMDP | MemoryPair) -> MemoryPair:
    """The pair that a POMDP was made of, or the POMDP with no memory beside it."""
    if isinstance(E, MemoryPair):
        return E
    if E.origin is not None and _is_laid_out(E.origin.memory):
        return MemoryPair(E.origin.P, E.origin.memory)
    return MemoryPair(E, "none")


def views_of(E: POMDP) -> Views:
    """The agent's view at each observation of E, in order."""
    pair = pair_of(E)
    if pair.P is E:
        return np.arange(len(E.O), dtype=np.int32)[:, None]
    return pair.views(E)


def join(P: POMDP, memory: Memory | MemoryFamily | str) -> POMDP | MemoryPair:
    """The product of P and the memory if it is small, else a `MemoryPair`."""
    attached = attach(memory, P)
    if not _is_laid_out(attached) or len(P.O) * len(attached.M) <= _SMALL_PRODUCT:
        try:
            return augment(P, attached)
        except TooLarge:
            if not _is_laid_out(attached):
                raise
    return MemoryPair(P, attached)
