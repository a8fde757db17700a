"""Exercises of notebook 02: a policy for two bits, and counting states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pomdps import recall
from workbench import Policy, augment, evaluate
from workbench.text import shown


def exercise_1(answer: Any) -> bool | str:
    """A policy of recall with B2 that wins."""
    P = recall()
    E = augment(P, "B2")
    if not isinstance(answer, Mapping | Policy):
        return "The answer is a dictionary {(m, 'o'): (a, w), ...}."
    pi = answer if isinstance(answer, Policy) else Policy.deterministic(E, answer)
    value = evaluate(E, pi, exact=True).value
    if value != P.gamma**2:
        return f"This policy is worth {shown(value)}; winning always is worth {shown(P.gamma**2)}."
    return True


def exercise_2(answer: Any) -> bool | str:
    """The number of reachable states of recall with B(k)."""
    if not callable(answer):
        return "The answer is a function of k."
    for k in range(1, 7):
        states = len(augment(recall(), f"B{k}").S)
        if (found := answer(k)) != states:
            return (
                f"For k = {k} it gives {found}, "
                f"{'more' if found > states else 'fewer'} than there are."
            )
    return True
