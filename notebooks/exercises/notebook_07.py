"""The exercises of notebook 07: a memory-update function, and a task that needs no memory.
[Appendix A.2]"""

from __future__ import annotations

from typing import Any

from pomdps import recall
from workbench import POMDP, can_encode_optimal, is_sufficiently_expressive
from workbench.sufficiency.update import verify_f
from workbench.text import show

WORDS = [format(i, "03b") for i in range(8)]


def exercise_1(answer: Any) -> bool | str:
    """f for B3 that keeps the beliefs of recall apart."""
    if callable(answer):
        f = answer
    else:
        table = dict(answer)

        def f(m: Any, o: Any, a: Any) -> Any:
            if (m, o, a) not in table:
                raise ValueError(f"f({m}, {o}, {a}) is asked for, and the mapping does not have it")
            return table[m, o, a]

    def checked(m: Any, o: Any, a: Any) -> Any:
        if (w := f(m, o, a)) not in WORDS:
            raise ValueError(f"f({m}, {o}, {a}) is {w!r}, which is not a memory state of B3")
        return w

    found = verify_f(recall(), "B3", checked)
    if found.collision is None:
        return True
    one, other = (
        ", ".join(map(show, h)) for h in (found.collision.history_1, found.collision.history_2)
    )
    return (
        f"The memory is at {found.collision.m} both after {one} and after {other}, "
        "where the beliefs differ."
    )


def exercise_2(answer: Any) -> bool | str:
    """A POMDP whose optimum needs no memory, although its beliefs do."""
    if not isinstance(answer, POMDP):
        return "An answer is a POMDP."
    if is_sufficiently_expressive(answer, "none"):
        return (
            "Without memory all its beliefs are told apart: no two beliefs share a "
            "last observation."
        )
    encodes = can_encode_optimal(answer, "none")
    return True if encodes else f"A policy without memory is not as good as the history: {encodes}."
