"""Memories whose Gamma is a Python function, walked beside their POMDP.

The walk is breadth first from mu' and asks Gamma once for each argument that occurs. Where M is not
listed, its states are those that the walk meets, in their order.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.core.build import Asked
from workbench.core.errors import TooLarge
from workbench.core.memory import Gamma, Memory, MemoryFamily, outcomes_in
from workbench.core.numbers import Number, Numbers
from workbench.core.rows import row_places
from workbench.core.space import Label
from workbench.progress import check_time
from workbench.text import show

if TYPE_CHECKING:
    from workbench.core.pomdp import POMDP

_LONGEST = 60
"""Characters of a memory state in an error; exact beliefs have thousands."""


class Walked(NamedTuple):
    """The reachable product of a POMDP and a memory, in compressed rows. A state is an entry (s, o)
    of omega and a memory state. An outcome has its state, its outcome of p and its entry of omega.
    `written` is what Gamma gave it (None: 1)."""

    entry: NDArray[np.int64]
    m: NDArray[np.int64]
    counts: NDArray[np.int64]
    s_next: NDArray[np.int32]
    k: NDArray[np.int32]
    e: NDArray[np.int32]
    written: Numbers | None


def starts_of(P: POMDP, memory: Memory, M: Any) -> dict[tuple[int, int], Number]:
    """mu' by entry and memory state, in the order s, m, o."""
    return {
        (e, M.index(m)): prob
        for s in P.mu.support.tolist()
        for m, x in memory.eta.items()
        for e in row_places(P.omega.row_ptr, s)
        if (prob := P.mu.prob[s] * x * P.omega.prob[e]) != 0
    }


def walk_gamma(
    P: POMDP, memory: Memory, M: Any, check_size: Callable[[int, int], None] = lambda *_: None
) -> Walked:
    """Walk a POMDP with its memory, breadth first, where Gamma is a Python function. It is asked
    once for each argument. `check_size` is told how many states and outcomes there are."""
    nA, nW = len(P.A), len(memory.W)
    p_ptr, o_ptr = P.p.row_ptr.tolist(), P.omega.row_ptr.tolist()
    leads_to, o_of = P.p.s_next.tolist(), P.omega.o.tolist()
    owner = P.omega.s.tolist()
    rewards: dict[Number, int] = {}
    r_of = [rewards.setdefault(P.p.r[k], len(rewards)) for k in range(len(P.p.r))]
    r_label = list(rewards)
    names = ("m=", ", w=", ", o=", ", a=", ", r=", ", o_next=")
    Gamma = Asked(memory.Gamma, "Gamma(. | ", names, f") of {memory.name}")

    @cache
    def asked(m: int, w: int, o: int, a: int, r: int, o_next: int) -> list[tuple[int, Number]]:
        labels = M[m], memory.W[w], P.O[o], P.A[a], r_label[r], P.O[o_next]
        return outcomes_in(Gamma, M, *labels)

    @cache
    def may_write(m: int, o: int) -> list[bool]:
        found: list[bool] = memory.may_write(M[m], P.O[o]).tolist()
        return found

    queue = list(starts_of(P, memory, M))
    places = {state: i for i, state in enumerate(queue)}
    counts: list[int] = []
    outcomes: list[tuple[int, int, int]] = []
    written: list[Number] = []
    for e, m in queue:  # grows while we walk
        check_time()
        s, o = owner[e], o_of[e]
        writable = may_write(m, o)
        for a, w in itertools.product(range(nA), range(nW)):
            before = len(outcomes)
            row = s * nA + a
            for k in range(p_ptr[row], p_ptr[row + 1]) if writable[w] else ():
                for e_next in range(o_ptr[leads_to[k]], o_ptr[leads_to[k] + 1]):
                    for m_next, x in asked(m, w, o, a, r_of[k], o_of[e_next]):
                        place = places.setdefault((e_next, m_next), len(queue))
                        if place == len(queue):
                            queue.append((e_next, m_next))
                        outcomes.append((place, k, e_next))
                        written.append(x)
            counts.append(len(outcomes) - before)
        check_size(len(queue), len(outcomes))
    entry, at = np.array(queue, dtype=np.int64).reshape(-1, 2).T
    columns = np.array(outcomes, dtype=np.int32).reshape(-1, 3).T
    s_next, taken, seen = np.ascontiguousarray(columns)
    return Walked(entry, at, np.array(counts), s_next, taken, seen, Numbers.of(written))


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
        # what is found stays known, so that `augment` asks for nothing again
        Gamma, M = cache(self.update), _Growing(self, P)
        memory = Memory(self.name, self.eta, self.W, Gamma, self.eta)
        list(map(M.index, self.eta))
        walk_gamma(P, memory, M)
        return Memory(self.name, M.places, self.W, Gamma, self.eta)


@dataclass(frozen=True)
class _Growing:
    """Memory states in the order in which a walk meets them."""

    family: Discovered
    P: POMDP
    places: dict[Label, int] = field(default_factory=dict)
    labels: list[Label] = field(default_factory=list)

    def __contains__(self, m: Label) -> bool:
        return True

    def __getitem__(self, i: int) -> Label:
        return self.labels[i]

    def __len__(self) -> int:
        return len(self.labels)

    def index(self, m: Label) -> int:
        place = self.places.setdefault(m, len(self.labels))
        if place == len(self.labels):
            self.labels.append(m)
            if place == self.family.limit:
                raise self._open_ended(m)
        return place

    def _open_ended(self, last: Label) -> TooLarge:
        try:
            shown = show(last)
        except ValueError:  # Python does not write numbers of thousands of digits
            shown = f"of very long numbers ({type(last).__name__})"
        if len(shown) > _LONGEST:
            shown = f"{shown[:_LONGEST]}..."
        return TooLarge(
            f"the memory {self.family.name} does not close on {self.P.name}: more than "
            f"{self.family.limit:,} memory states, which is its limit, the last one {shown}: "
            f"{self.family.advice}"
        )
