"""External memories <M, W, Gamma, eta> (Definition 4.1) and the paper's families.

    M      memory states
    W      memory-writing actions
    Gamma(m' | m, w, o, a, r, o')    how a write changes the memory; o is the *current* observation
    eta    where the memory starts

| family | Definition | M | W | Gamma |
|---|---|---|---|---|
| `none` | | {-} | {-} | nothing to remember |
| `B(k)` | 4.3 | {0,1}^k | {0,1}^k | m' = w |
| `O(k)` | 4.4 | (O + empty)^k | keep, push | push drops the oldest cell and appends o |
| `K(k)` | A.3 | (O + empty)^k | push | always pushes o |
| `OA(k)` | A.4 | (O x A + empty)^k | keep, push | push appends (o, a) |

Buffers read oldest first. `keep` is the paper's bottom and `push` its top; a later write counts as
the higher one. A family becomes a `Memory` when it meets a POMDP, since O and A belong to the
POMDP:

>>> from workbench.model.pomdp import POMDP
>>> P = POMDP.from_functions(name="one step", A=[1, 2], p=lambda s, a: {("end", a): 1}, omega=lambda s: {"o": 1},
...                          mu={"s": 1}, gamma=1, terminal={"end"})
>>> memory = OA(1).on(P)
>>> memory.M, memory.W
({∅, o 1, o 2} (3), {keep, push} (2))
>>> memory.Gamma((None,), "push", "o", 2, 0, "o")
{(('o', 2),): 1}

A memory of one's own is four arguments, for instance one bit that flips when a reward arrives:

>>> flip = Memory("flip", M=[0, 1], W=["-"], Gamma=lambda m, w, o, a, r, o_next: {(m + (r > 0)) % 2: 1}, eta={0: 1})
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.errors import ModelError, TooLarge, UnknownLabel, WorkbenchError, WrongType
from workbench.model.check import check_rows
from workbench.model.numbers import Number, Numbers
from workbench.model.space import Bits, Buffer, Label, Product, Space
from workbench.text import nearest, show

if TYPE_CHECKING:
    from workbench.model.pomdp import POMDP

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

    def on(self, P: POMDP) -> Memory:
        """Itself: a memory that is already attached."""
        return self

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


# ---------------------------------------------------------------------- the families


@dataclass(frozen=True)
class Family:
    """A kind of memory and its size; `on(P)` makes the memory for a POMDP."""

    kind: str
    k: int = 0

    @property
    def name(self) -> str:
        return self.kind if self.kind == "none" else f"{self.kind}{self.k}"

    def on(self, P: POMDP) -> Memory:
        """The memory of this family for the observations and actions of P."""
        if self.kind == "none":
            return _overwritten("none", Space(["-"]))
        if self.kind == "B":
            return _overwritten(self.name, Bits(self.k))
        return _buffer(self, P)

    def __repr__(self) -> str:
        return self.name


@dataclass(frozen=True)
class FamilyRow:
    """What a table says of a family: its definition in the paper, M, W and Gamma in words."""

    name: str
    definition: str
    M: str
    W: str
    Gamma: str


FAMILIES = {
    "none": FamilyRow("none", "", "{-}", "{-}", "nothing to remember"),
    "B": FamilyRow("B(k)", "4.3", "{0,1}^k", "{0,1}^k", "m' = w"),
    "O": FamilyRow(
        "O(k)", "4.4", "(O + empty)^k", "keep, push", "push drops the oldest cell and appends o"
    ),
    "K": FamilyRow("K(k)", "A.3", "(O + empty)^k", "push", "always pushes o"),
    "OA": FamilyRow("OA(k)", "A.4", "(O x A + empty)^k", "keep, push", "push appends (o, a)"),
}
"""The families by their kind."""


def _overwritten(name: str, words: Space) -> Memory:
    """M = W and m' = w: a binary memory, or none at all."""
    rule = IndexRule(True, 1, 1, np.zeros((1, 1), dtype=np.int64), np.ones(1, dtype=bool))
    return Memory(name, words, words, lambda m, w, o, a, r, o_next: {w: 1}, {words[0]: 1}, rule)


def _buffer(family: Family, P: POMDP) -> Memory:
    """K, O and OA: a buffer of k cells, oldest first."""
    stores_action = family.kind == "OA"
    entries = Product(P.O, P.A) if stores_action else P.O
    cells = 1 + len(entries)
    if family.k * np.log2(cells) > 62:
        raise TooLarge(
            f"{family.name} on {P.name} has {cells}^{family.k} memory states; take a smaller k"
        )
    M = Buffer(entries, family.k)
    writes = ("push",) if family.kind == "K" else ("keep", "push")

    def Gamma(
        m: Label, w: Label, o: Label, a: Label, r: Number, o_next: Label
    ) -> dict[Label, Number]:
        if w not in writes:
            raise UnknownLabel(f"{family.name} has the writes {', '.join(writes)}, not {show(w)}")
        return {(*m[1:], (o, a) if stores_action else o): 1} if w == "push" else {m: 1}

    nO, nA = len(P.O), len(P.A)
    entry = 1 + (
        np.arange(nO * nA).reshape(nO, nA)
        if stores_action
        else np.repeat(np.arange(nO)[:, None], nA, axis=1)
    )
    pushes = np.array([w == "push" for w in writes])
    rule = IndexRule(False, cells ** (family.k - 1), cells, entry.astype(np.int64), pushes)
    return Memory(family.name, M, writes, Gamma, {(None,) * family.k: 1}, rule)


def _sized(kind: str, k: int) -> Family:
    if isinstance(k, bool) or not isinstance(k, int | np.integer):
        raise WrongType(f"the size of a {kind} memory is a positive integer, not {k!r}")
    if k < 1:
        raise WorkbenchError(f"the size of a {kind} memory must be at least 1, not {k}")
    if kind == "B" and k > 24:
        raise TooLarge(f"B{k} has 2^{k} memory states and as many writes; take at most B24")
    return Family(kind, int(k))


none = Family("none")
"""No memory: one memory state and one write, both "-"."""


def B(k: int) -> Family:
    """Binary memory of k bits: the write replaces the whole memory."""
    return _sized("B", k)


def K(k: int) -> Family:
    """The last k observations before the current one (a k-order memory)."""
    return _sized("K", k)


def O(k: int) -> Family:  # noqa: E743
    """A buffer of k observations; the agent decides whether to push the current one."""
    return _sized("O", k)


def OA(k: int) -> Family:
    """A buffer of k pairs (observation, action); the agent decides whether to push the current
    one."""
    return _sized("OA", k)


def parse_memory(text: str) -> Family:
    """The family that a name such as "OA2", "B1" or "none" stands for.

    >>> parse_memory("OA2"), parse_memory("None")
    (OA2, none)
    """
    if not isinstance(text, str):
        raise WrongType(f"a memory's name is a string such as 'OA2', not {text!r}")
    if text.lower() == "none":
        return none
    if match := re.fullmatch(r"(OA|O|K|B)(\d{1,3})", text):
        return _sized(match[1], int(match[2]))
    raise WorkbenchError(f"unknown memory {text!r}{_meant(text)}: {_HOW_TO_NAME}")


_HOW_TO_NAME = "write none, or K, B, O, OA with a size, such as OA2"


def _meant(text: str) -> str:
    """A proposal for a misspelt name: the letters of a family, however written, and a size."""
    if match := re.fullmatch(r"\s*([A-Za-z]+)[\s_(-]*(\d{0,3})\)?\s*", text):
        kind, size = nearest(match[1], FAMILIES), int(match[2] or 1)
        if kind and size:
            return f" (did you mean {kind[0] if kind[0] == 'none' else f'{kind[0]}{size}'}?)"
    return ""


def attach(memory: Memory | Family | str, P: POMDP) -> Memory:
    """The memory itself, whichever way it was named."""
    if isinstance(memory, str):
        memory = parse_memory(memory)
    if not isinstance(memory, Memory | Family):
        raise WrongType(
            "a memory is a Memory, one of workbench.model.memories or a name such as 'OA2', not "
            f"{memory!r}"
        )
    return memory.on(P)
