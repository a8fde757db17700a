"""Where an augmented POMDP comes from: the task and the memory of Appendix A.1 that it is made of.

What is known about the task is known about the product: its best history-based value bounds every
memoryless policy of <P, memory>, as long as Gamma reads no rewards, because (m, o) is then a
function of the history and of chance.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.core.memories import Memory
from workbench.core.numbers import Number

if TYPE_CHECKING:
    from workbench.core.pomdp import POMDP

_ASKED = 100_000
"""Whether a Gamma given as a function reads rewards is found by asking it, up to so many arguments;
else it may."""


@dataclass(frozen=True, eq=False)
class Origin:
    """The sub-environment and the memory that `augment` has joined."""

    P: POMDP
    memory: Memory


def reads_rewards(P: POMDP, memory: Memory) -> bool:
    """Whether Gamma gives different distributions for different rewards of P (or may, if it is too
    large to ask)."""
    if memory.rule is not None or len(P.R) <= 1:
        return False
    arguments = (memory.M, memory.W, P.O, P.A, P.O)
    if len(memory.M) * len(memory.W) * len(P.O) ** 2 * len(P.A) * len(P.R) > _ASKED:
        return True
    first, *others = P.R
    return any(
        _row(memory, m, w, o, a, r, o_next) != _row(memory, m, w, o, a, first, o_next)
        for m, w, o, a, o_next in itertools.product(*arguments)
        for r in others
    )


def _row(memory: Memory, *arguments: object) -> dict[object, Number]:
    return {m: x for m, x in memory.Gamma(*arguments).items() if x != 0}
