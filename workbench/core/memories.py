"""The families of memories: those of the paper, and other agent states of the literature.

The paper's, as <M, W, Gamma, eta> (see `memory`):

| family | Definition | M | W | Gamma |
|---|---|---|---|---|
| `none` | | {-} | {-} | nothing to remember |
| `B(k)` | 4.3 | {0,1}^k | {0,1}^k | m' = w |
| `O(k)` | 4.4 | (O + empty)^k | keep, push | push drops the oldest cell and appends o |
| `K(k)` | A.3 | (O + empty)^k | push | always pushes o |
| `OA(k)` | A.4 | (O x A + empty)^k | keep, push | push appends (o, a) |

`agent_states` has those of the literature: `clock`, `counter`, `F`, `window`, `trace`, `belief`,
`function`, `reward_machine`. Memories multiply: `clock(2) * OA(1)`.

Buffers read oldest first. `keep` is the paper's bottom and `push` its top; a later write counts as
the higher one. A family becomes a `Memory` when it meets a POMDP, since O and A belong to the
POMDP:

>>> from workbench.core.pomdp import POMDP
>>> P = POMDP.from_functions(
...     name="one step",
...     A=[1, 2],
...     p=lambda s, a: {("end", a): 1},
...     omega=lambda s: {"o": 1},
...     mu={"s": 1},
...     gamma=1,
...     terminal={"end"},
... )
>>> memory = OA(1).on(P)
>>> memory.M, memory.W
({∅, o 1, o 2} (3), {keep, push} (2))
>>> memory.Gamma((None,), "push", "o", 2, 0, "o")
{(('o', 2),): 1}

A memory of one's own is four arguments, for instance one bit that flips when a reward arrives:

>>> flip = Memory(
...     "flip",
...     M=[0, 1],
...     W=["-"],
...     Gamma=lambda m, w, o, a, r, o_next: {(m + (r > 0)) % 2: 1},
...     eta={0: 1},
... )
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from workbench.core.errors import TooLarge, UnknownLabel, WorkbenchError, WrongType
from workbench.core.memory import (
    Both,
    Discovered,
    Gamma,
    IndexRule,
    Memory,
    MemoryFamily,
    check_distribution,
)
from workbench.core.numbers import Number
from workbench.core.space import Bits, Buffer, Label, Product, Space
from workbench.model.agent_states import (
    AgentState,
    belief_memory,
    clock,
    counter,
    function,
    reward_machine,
    trace,
)
from workbench.text import nearest, show

if TYPE_CHECKING:
    from workbench.core.pomdp import POMDP

__all__ = [
    "OA",
    "SIZED",
    "AgentState",
    "B",
    "Both",
    "Discovered",
    "F",
    "Family",
    "Gamma",
    "IndexRule",
    "K",
    "Memory",
    "MemoryFamily",
    "O",
    "attach",
    "belief",
    "check_distribution",
    "clock",
    "counter",
    "function",
    "none",
    "parse_memory",
    "reward_machine",
    "trace",
    "window",
]


# ---------------------------------------------------------------------- the families


@dataclass(frozen=True, repr=False)
class Family(MemoryFamily):
    """A kind of memory of the paper and its size; `on(P)` makes the memory for a POMDP."""

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
        if self.kind == "F":
            return _overwritten(self.name, Space(map(str, range(self.k))))
        return _buffer(self, P)


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
    "F": FamilyRow("F(n)", "", "{0, ..., n-1}", "the same", "m' = w: a controller of n nodes"),
    "window": FamilyRow("window(k)", "", "(O x A + empty)^k", "push", "always pushes (o, a)"),
    "clock": FamilyRow("clock(L)", "", "{0, ..., L-1}", "{-}", "m' = m + 1 modulo L"),
    "counter": FamilyRow("counter(n)", "", "{0, ..., n-1}", "{-}", "m' = m + 1, at most n - 1"),
    "trace": FamilyRow("trace(lam)", "", "discovered", "{-}", "m' = lam m + (1 - lam) e_o"),
    "belief": FamilyRow("belief", "", "discovered", "{-}", "the belief about the state"),
}
"""The families by their kind."""


def describe_family(name: str) -> FamilyRow:
    """What a table says of a memory by its name; of a product, what it says of both."""
    if "*" in name:
        first, _, rest = name.partition("*")
        one, two = describe_family(first), describe_family(rest)
        both = (f"{x}; {y}" for x, y in ((one.W, two.W), (one.Gamma, two.Gamma)))
        return FamilyRow(name, "", f"{one.M} x {two.M}", *both)
    kind = re.match("[A-Za-z]*", name)
    assert kind is not None
    return FAMILIES[kind[0]]


def _overwritten(name: str, words: Space) -> Memory:
    """M = W and m' = w: a binary memory, or none at all."""
    rule = IndexRule(True, 1, 1, np.zeros((1, 1), dtype=np.int64), np.ones(1, dtype=bool))
    return Memory(name, words, words, lambda m, w, o, a, r, o_next: {w: 1}, {words[0]: 1}, rule)


def _buffer(family: Family, P: POMDP) -> Memory:
    """K, O, OA and windows: a buffer of k cells, oldest first."""
    stores_action = family.kind in ("OA", "window")
    entries = Product(P.O, P.A) if stores_action else P.O
    cells = 1 + len(entries)
    if family.k * np.log2(cells) > 62:
        raise TooLarge(
            f"{family.name} on {P.name} has {cells}^{family.k} memory states; take a smaller k"
        )
    M = Buffer(entries, family.k)
    writes = ("push",) if family.kind in ("K", "window") else ("keep", "push")

    def Gamma(
        m: Label, w: Label, o: Label, a: Label, r: Number, o_next: Label
    ) -> dict[Label, Number]:
        if w not in writes:
            raise UnknownLabel(f"{family.name} has the writes {', '.join(writes)}, not {show(w)}")
        return {push_onto(m, (o, a) if stores_action else o): 1} if w == "push" else {m: 1}

    nO, nA = len(P.O), len(P.A)
    entry = 1 + (
        np.arange(nO * nA).reshape(nO, nA)
        if stores_action
        else np.repeat(np.arange(nO)[:, None], nA, axis=1)
    )
    pushes = np.array([w == "push" for w in writes])
    rule = IndexRule(False, cells ** (family.k - 1), cells, entry.astype(np.int64), pushes)
    return Memory(family.name, M, writes, Gamma, {empty_buffer(family.k): 1}, rule)


def empty_buffer(k: int) -> Label:
    """A buffer of k cells with nothing in it.

    >>> empty_buffer(2)
    (None, None)
    """
    return (None,) * k


def push_onto(m: Label, entry: Label) -> Label:
    """A buffer after a push: the oldest cell is dropped, the entry appended.

    >>> push_onto((None, "x"), "y")
    ('x', 'y')
    """
    return m[1:] + (entry,)  # noqa: RUF005 - a buffer of any length can be added to, too


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


def F(n: int) -> Family:
    """A finite-state controller with n nodes: the write names the next node."""
    return _sized("F", n)


def window(k: int) -> Family:
    """The last k pairs (observation, action): OA(k) that has to push."""
    return _sized("window", k)


belief = belief_memory

SIZED = {
    "B": B,
    "K": K,
    "O": O,
    "OA": OA,
    "F": F,
    "clock": clock,
    "counter": counter,
    "window": window,
}
"""The families that have a size, by the name before it."""


def parse_memory(text: str) -> MemoryFamily:
    """The family that a name such as "OA2", "none", "trace2/3" or "clock2*OA1" stands for.

    >>> (
    ...     parse_memory("OA2"),
    ...     parse_memory("None"),
    ...     parse_memory("clock2*OA1"),
    ...     parse_memory("trace1/2"),
    ... )
    (OA2, none, clock2*OA1, trace1/2)
    """
    if not isinstance(text, str):
        raise WrongType(f"a memory's name is a string such as 'OA2', not {text!r}")
    if "*" in text:
        first, _, rest = text.partition("*")
        return parse_memory(first.strip()) * parse_memory(rest.strip())
    if text.lower() == "none":
        return none
    if match := re.fullmatch(r"belief([1-9]\d{0,2})?", text):
        return belief(None if match[1] is None else int(match[1]))
    if match := re.fullmatch(r"trace(\d+(?:/\d+|\.\d+)?)(?:@(\d+))?", text):
        return trace(Fraction(match[1]), None if match[2] is None else int(match[2]))
    if (match := re.fullmatch(r"([A-Za-z]+?)(\d{1,3})", text)) and match[1] in SIZED:
        return SIZED[match[1]](int(match[2]))
    raise WorkbenchError(f"unknown memory {text!r}{_meant(text)}: {_HOW_TO_NAME}")


_HOW_TO_NAME = (
    "write none, or K, B, O, OA with a size, such as OA2; or F3, clock2, counter5, window2, "
    "trace1/2, trace1/2@3, belief, belief5; or a product of two, such as clock2*OA1"
)


def _meant(text: str) -> str:
    """A proposal for a misspelt name: the letters of a family, however written, and a size."""
    if match := re.fullmatch(r"\s*([A-Za-z]+)[\s_(-]*(\d{0,3})\)?\s*", text):
        kind, size = nearest(match[1], ["none", *SIZED]), int(match[2] or 1)
        if kind and size:
            return f" (did you mean {kind[0] if kind[0] == 'none' else f'{kind[0]}{size}'}?)"
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
