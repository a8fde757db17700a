"""The families of memories that a rule m' = update(m, w, o, a) defines, and how they are named.

`none`, `B(k)` (Definition 4.3), `O(k)` (4.4), `K(k)` (A.3) and `OA(k)` (A.4); what each holds and
does is in its `about`. Buffers read oldest first. `keep` is the paper's bottom and `push` its top:
a later write is higher. `workbench.memories` has these and the agent states of the literature.

**A family of one's own** is a class with `@register`: its kind, its writes and its rule. A buffer
says what a write does with its cells, and has everything else from that: names such as "stack2",
Gamma, the compiled walk, the wrapper for environments and the slots of neural learners.

>>> @register
... class Stack(BufferFamily):
...     kind = "stack"
...     writes = ("keep", "pop", "push")
...     about = About("stack(k)", "", "(O + empty)^k", "keep, pop, push", "pop drops the newest")
...
...     def rearrange(self, m, w, entry):
...         return (None, *m[:-1]) if w == "pop" else super().rearrange(m, w, entry)
>>> parse_memory("stack2").update(("x", "y"), "pop", "z", None)
(None, 'x')
>>> _ = FAMILIES.pop("stack")
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import TooLarge, UnknownLabel, WorkbenchError, WrongType
from workbench.core.memory import About, Memory, MemoryFamily
from workbench.core.numbers import Number
from workbench.core.space import Bits, Label, Product, Space, buffer_space
from workbench.text import nearest, shorten, show

if TYPE_CHECKING:
    from workbench.core.pomdp import POMDP

Places = NDArray[np.int64]

FAMILIES: dict[str, type[MemoryFamily]] = {}
"""The families by their kind, in the order in which catalogues list them."""

Kind = TypeVar("Kind", bound=type[MemoryFamily])


def register(family: Kind) -> Kind:
    """Let a family be found by its name, here and on the command line."""
    if family.kind in FAMILIES:
        raise WorkbenchError(f"there is a family {family.kind!r} already")
    FAMILIES[family.kind] = family
    return family


@dataclass(frozen=True, repr=False)
class Family(MemoryFamily):
    """A family of deterministic memories of size k, whose rule reads m, w, o and a.

    A family of one's own defines `kind`, `about`, `writes`, `start`, `update` and `states`, and
    `step_arrays` if asking `update` once for each argument takes too long.
    """

    writes: ClassVar[tuple[Label, ...]] = ("-",)
    k: int = 1

    def __post_init__(self) -> None:
        if isinstance(self.k, bool) or not isinstance(self.k, int | np.integer):
            raise WrongType(
                f"the size of a {self.kind} memory is a positive integer, not {self.k!r}"
            )
        if self.k < 1:
            raise WorkbenchError(f"a {self.kind} memory has a size of at least 1, not {self.k}")
        object.__setattr__(self, "k", int(self.k))

    @property
    def name(self) -> str:
        return f"{self.kind}{self.k}"

    @classmethod
    def parse(cls, text: str) -> MemoryFamily | None:
        match = re.fullmatch(rf"{cls.kind}(\d{{1,3}})", text)
        return cls(int(match[1])) if match else None

    def states(self, O: Space, A: Space) -> Space:
        """M, for the observations and actions of a POMDP."""
        raise NotImplementedError

    def list_writes(self) -> Space:
        """W, lower writes first."""
        return Space(self.writes)

    @property
    def start(self) -> Label:
        """The memory state that episodes start with."""
        raise NotImplementedError

    def update(self, m: Label, w: Label, o: Label, a: Label) -> Label:
        """m', by labels."""
        raise NotImplementedError

    def step_arrays(self, P: POMDP, m: Places, o: Places) -> Places:
        """Memory states after one time step, `m_next[i, a, w]` from `m[i]` and `o[i]`, as indices.
        Here each comes from `update`."""
        M, W = self.states(P.O, P.A), self.list_writes()
        asked, inverse = np.unique(m * len(P.O) + o, return_inverse=True)
        rows = [
            [[M.index(self.update(M[i], w, P.O[j], a)) for w in W] for a in P.A]
            for i, j in (divmod(pair, len(P.O)) for pair in asked.tolist())
        ]
        return np.array(rows, dtype=np.int64)[inverse.ravel()]

    def on(self, P: POMDP) -> Memory:
        def Gamma(m: Label, w: Label, o: Label, a: Label, *_: Any) -> dict[Label, Number]:
            return {self.update(m, w, o, a): 1}

        def step(m: Places, o: Places) -> Places:
            return self.step_arrays(P, m, o)

        M, W = self.states(P.O, P.A), self.list_writes()
        return Memory(self.name, M, W, Gamma, {self.start: 1}, step, self)


# ---------------------------------------------------------------------- m' = w


class Overwritten(Family):
    """M = W and m' = w."""

    overwrites = True

    def states(self, O: Space, A: Space) -> Space:
        return self.list_writes()

    @property
    def start(self) -> Label:
        return self.list_writes()[0]

    def update(self, m: Label, w: Label, o: Label, a: Label) -> Label:
        return w

    def step_arrays(self, P: POMDP, m: Places, o: Places) -> Places:
        nW = len(self.list_writes())
        return np.broadcast_to(np.arange(nW), (len(m), len(P.A), nW))


@register
class NoMemory(Overwritten):
    """One memory state and one write, both "-"."""

    kind = "none"
    about = About("none", "", "{-}", "{-}", "nothing to remember")

    @property
    def name(self) -> str:
        return "none"

    @classmethod
    def parse(cls, text: str) -> MemoryFamily | None:
        return none if text.lower() == "none" else None


none = NoMemory()


@register
class B(Overwritten):
    """Binary memory of k bits: the write replaces the whole memory."""

    kind = "B"
    about = About("B(k)", "4.3", "{0,1}^k", "{0,1}^k", "m' = w")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.k > 24:
            raise TooLarge(
                f"B{self.k} has 2^{self.k} memory states and as many writes; take at most B24"
            )

    def list_writes(self) -> Space:
        return Bits(self.k)


# ---------------------------------------------------------------------- buffers of k cells


def empty_buffer(k: int) -> Label:
    """A buffer of k cells with nothing in it."""
    return (None,) * k


def push_onto(m: Label, entry: Label) -> Label:
    """A buffer after a push: the oldest cell is dropped, the entry appended.

    >>> push_onto((None, "x"), "y")
    ('x', 'y')
    """
    return m[1:] + (entry,)  # noqa: RUF005 - a buffer of any length can be added to, too


class BufferFamily(Family):
    """Buffers of k cells, oldest first, that a write rearranges. An entry is o, or (o, a) if
    `pairs`."""

    writes: ClassVar[tuple[Label, ...]] = ("keep", "push")
    pairs: ClassVar[bool] = False

    def rearrange(self, m: Label, w: Label, entry: Label) -> Label:
        """The cells after a write. None is an empty cell."""
        return push_onto(m, entry) if w == "push" else m

    @property
    def start(self) -> Label:
        return empty_buffer(self.k)

    def update(self, m: Label, w: Label, o: Label, a: Label) -> Label:
        if w not in self.writes:
            known = ", ".join(map(show, self.writes))
            raise UnknownLabel(f"{self.name} has the writes {known}, not {show(w)}")
        return self.rearrange(m, w, (o, a) if self.pairs else o)

    def on(self, P: POMDP) -> Memory:
        cells = 1 + len(P.O) * (len(P.A) if self.pairs else 1)
        if self.k * np.log2(cells) > 62:  # codes of memory states are 64-bit integers
            raise TooLarge(
                f"{self.name} on {P.name} has {cells}^{self.k} memory states; take a smaller k"
            )
        return super().on(P)

    def states(self, O: Space, A: Space) -> Space:
        return buffer_space(Product(O, A) if self.pairs else O, self.k)

    @cached_property
    def moves(self) -> Places:
        """`moves[w, cell]`: where the new content of a cell comes from.

        0, ..., k-1 are the old cells, k is the entry and k + 1 nothing. `rearrange` is asked for
        cells that hold their own numbers, so that one definition serves labels and indices.
        """
        sources = {i: i for i in range(self.k + 1)} | {None: self.k + 1}
        rows = [self.rearrange(tuple(range(self.k)), w, self.k) for w in self.writes]
        return np.array([[sources[x] for x in row] for row in rows], dtype=np.int64)

    def step_arrays(self, P: POMDP, m: Places, o: Places) -> Places:
        nA = len(P.A)
        base = 1 + len(P.O) * (nA if self.pairs else 1)
        value = base ** np.arange(self.k - 1, -1, -1, dtype=np.int64)  # of a digit, oldest first
        digits = [(m // v % base)[:, None] for v in value.tolist()]
        entry = o[:, None] * nA + np.arange(nA) if self.pairs else np.repeat(o[:, None], nA, axis=1)
        parts = [*digits, 1 + entry, np.zeros((1, 1), dtype=np.int64)]
        after = [sum(v * parts[i] for v, i in zip(value, row, strict=True)) for row in self.moves]
        return np.stack([np.broadcast_to(x, (len(m), nA)) for x in after], axis=-1)


@register
class O(BufferFamily):  # noqa: E742
    """A buffer of k observations. The agent decides whether to push the current one."""

    kind = "O"
    about = About(
        "O(k)", "4.4", "(O + empty)^k", "keep, push", "push drops the oldest cell and appends o"
    )


@register
class K(BufferFamily):
    """The last k observations before the current one (a k-order memory)."""

    kind = "K"
    about = About("K(k)", "A.3", "(O + empty)^k", "push", "always pushes o")
    writes = ("push",)


@register
class OA(BufferFamily):
    """A buffer of k pairs (observation, action). The agent decides whether to push the current
    one."""

    kind = "OA"
    about = About("OA(k)", "A.4", "(O x A + empty)^k", "keep, push", "push appends (o, a)")
    pairs = True


# ---------------------------------------------------------------------- by name


def parse_memory(text: str) -> MemoryFamily:
    """The family that a name such as "OA2", "none" or "B1*OA1" stands for.

    >>> parse_memory("OA2"), parse_memory("None"), parse_memory("B1*OA1")
    (OA2, none, B1*OA1)
    """
    if not isinstance(text, str):
        raise WrongType(f"a memory's name is a string such as 'OA2', not {text!r}")
    if "*" in text:
        first, _, rest = text.partition("*")
        return parse_memory(first.strip()) * parse_memory(rest.strip())
    for family in FAMILIES.values():
        if (found := family.parse(text)) is not None:
            return found
    known = ", ".join(family.about.name for family in FAMILIES.values())
    raise WorkbenchError(
        f"unknown memory {shorten(text)!r}{_meant(text)}: write a family with its size, such as "
        f"OA2, or a product of two, such as clock2*OA1; the families: {known}"
    )


def _meant(text: str) -> str:
    """A proposal for a misspelt name: the letters of a family, however written, and a size."""
    if match := re.fullmatch(r"\s*([A-Za-z]+)[\s_(-]*(\d{0,3})\)?\s*", text):
        kind, size = nearest(match[1], FAMILIES), match[2] or "1"
        for name in (f"{kind[0]}{size}", kind[0]) if kind else ():
            if int(size) and FAMILIES[kind[0]].parse(name) is not None:
                return f" (did you mean {name}?)"
    return ""


def attach(memory: Memory | MemoryFamily | str, P: POMDP) -> Memory:
    """The memory itself, whichever way it was named."""
    if isinstance(memory, str):
        memory = parse_memory(memory)
    if not isinstance(memory, Memory | MemoryFamily):
        raise WrongType(
            "a memory is a Memory, one of workbench.memories or a name such as 'OA2', not "
            f"{memory!r}"
        )
    return memory.on(P)
