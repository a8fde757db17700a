"""Exercises of notebook 00: a pair of labels, and the Gamma of O1."""

from __future__ import annotations

from itertools import product
from typing import Any

from pomdps import gravity, recall
from workbench import augment, memories
from workbench.text import show


def exercise_1(answer: Any) -> bool | str:
    """The labels of q(2, 3 push) in recall with OA1."""
    E = augment(recall(), "OA1")
    if not isinstance(answer, tuple) or len(answer) != 2:
        return "The answer is a pair (o, a)."
    o, a = answer
    if o not in E.O:
        return f"{show(o)} is no observation of {E.name}; E.O lists them."
    if a not in E.A:
        return f"{show(a)} is no action of {E.name}; E.A lists them."
    (m, _), (action, write) = o, a
    if m != (("o", 2),):
        return f"In this row the memory holds {show(m)}."
    if (action, write) != (3, "push"):
        return f"In this column the agent does {action} and writes {write}."
    return True


def exercise_2(answer: Any) -> bool | str:
    """Gamma of O1, on all arguments of a task with a few observations."""
    if not callable(answer):
        return "The answer is a function of m, w, o, a, r, o_next."
    P = gravity()
    memory = memories.O(1).on(P)
    places = list(P.O)[:4]
    for m, w, o, o_next in product([None, *places], memory.W, places, places):
        arguments = ((m,), w, o, "left", 0, o_next)
        found, expected = answer(*arguments), memory.Gamma(*arguments)
        if not isinstance(found, dict):
            return f"It returned {found!r}; a distribution is a dictionary {{m_next: probability}}."
        if {m_next: x for m_next, x in found.items() if x != 0} != expected:
            return (
                f"O1 does something else with m={show((m,))}, w={w}, o={show(o)}, "
                f"o_next={show(o_next)}."
            )
    return True
