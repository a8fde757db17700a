"""The exercises of notebook 14: a policy with a selective buffer for the invisible door, and a
shortcut of the last observation. [Section 4]"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from pomdps import invisible_door
from workbench import Policy, augment, best_memoryless, evaluate, shortcuts

BEST = Fraction(9, 10) ** 6


def exercise_1(answer: Any) -> bool | str:
    """A policy {(held, cell): (action, write)} for O1 that is worth the most."""
    E = augment(invisible_door(), "O1")
    rows = dict(answer)
    pi = Policy.deterministic(E, rows, otherwise=E.A[0])
    found = evaluate(E, pi, exact=True)
    for o in E.O:
        if found.reached[o] and o not in rows:
            return f"The policy comes to {E.O.text(o)}, about which nothing is said."
    return True if found.value == BEST else f"It is worth {found.value}; {BEST} is possible."


def exercise_2(answer: Any) -> bool | str:
    """A shortcut of the optimal policy with K1: the row and the action."""
    E = augment(invisible_door(), "K1")
    o, a = answer
    E.O.index(o)
    E.A.index(a)
    found = shortcuts(E, best_memoryless(E, exact=True).policy)
    if any((one.o, one.a) == (o, a) for one in found):
        return True
    return f"In {E.O.text(o)} TD does not take {E.A.text(a)} for better than it is."
