"""All memories: those of the paper, other agent states of the literature, and one's own.

    none  B(k)  O(k)  K(k)  OA(k)                                   `workbench.core.families`
    F(n)  window(k)  clock(L)  counter(n)  trace(lam)  belief()     `workbench.agents.agent_states`
    function(f)  reward_machine(...)

A family becomes a `Memory` when it meets a POMDP, since O and A belong to the POMDP:

>>> from pomdps import recall_variant
>>> memory = OA(1).on(recall_variant())
>>> memory.M, memory.W
({∅, o 0, o 1} (3), {keep, push} (2))
>>> memory.Gamma((None,), "push", "o", 1, 0, "o")
{(('o', 1),): 1}

Families multiply, and have names:

>>> clock(2) * OA(1), parse_memory("trace1/2@3")
(clock2*OA1, trace1/2@3)

A memory of one's own is four arguments, for instance one bit that flips when a reward arrives:

>>> flip = Memory(
...     "flip",
...     M=[0, 1],
...     W=["-"],
...     Gamma=lambda m, w, o, a, r, o_next: {(m + (r > 0)) % 2: 1},
...     eta={0: 1},
... )

See also: `Memory`, `augment`.
"""

from workbench.agents.agent_states import (
    BeliefMemory,
    Clock,
    Counter,
    F,
    Trace,
    Window,
    function,
    reward_machine,
)
from workbench.core.families import (
    FAMILIES,
    OA,
    B,
    BufferFamily,
    Family,
    K,
    NoMemory,
    O,
    Overwritten,
    attach,
    empty_buffer,
    none,
    parse_memory,
    push_onto,
    register,
)
from workbench.core.memory import About, Both, Memory, MemoryFamily

clock, counter, window, trace, belief = Clock, Counter, Window, Trace, BeliefMemory

__all__ = [
    "FAMILIES",
    "OA",
    "About",
    "B",
    "BufferFamily",
    "F",
    "Family",
    "K",
    "Memory",
    "MemoryFamily",
    "O",
    "Overwritten",
    "attach",
    "belief",
    "clock",
    "counter",
    "describe_family",
    "empty_buffer",
    "function",
    "list_sized",
    "none",
    "parse_memory",
    "push_onto",
    "register",
    "reward_machine",
    "trace",
    "window",
]


def list_sized() -> dict[str, type[Family]]:
    """The families that a kind and a size name, by kind."""
    return {
        kind: family
        for kind, family in FAMILIES.items()
        if issubclass(family, Family) and family is not NoMemory
    }


def describe_family(memory: Memory | MemoryFamily) -> About:
    """A sentence on a memory for the catalogue. A product has one for each factor."""
    family = memory.family if isinstance(memory, Memory) else memory
    if isinstance(family, Both):
        one, two = describe_family(family.first), describe_family(family.second)
        both = (f"{x}; {y}" for x, y in ((one.W, two.W), (one.Gamma, two.Gamma)))
        return About(family.name, "", f"{one.M} x {two.M}", *both)
    if family is None or not family.kind:
        return About(memory.name, "", "its own", "its own", "a function")
    return family.about
