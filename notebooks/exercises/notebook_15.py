"""The exercises of notebook 15: one row that frees a trapped bit, and where the gradient points.
[Section 5.2]"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from workbench import Policy, augment, evaluate, uniform
from workbench.improvement.batch import sequence_task

_TRAP = {("0", "o"): (0, "1"), ("1", "o"): (0, "1")}


def _product() -> Any:
    return augment(sequence_task([[5, 4], [0, 6]], "two"), "B1")


def exercise_1(answer: Any) -> bool | str:
    """A policy worth 6 that differs from the trap in one row."""
    if not isinstance(answer, dict) or set(answer) != set(_TRAP):
        return "Give a row for each of the two observations, as the trap does."
    E = _product()
    changed = sum(answer[o] != _TRAP[o] for o in _TRAP)
    if changed != 1:
        return f"It differs from the trap in {changed} rows."
    value = evaluate(E, Policy.deterministic(E, answer), exact=True).value
    return True if value == 6 else f"It is worth {value}."


def exercise_2(answer: Any) -> bool | str:
    """The largest advantage of the uniform policy, and where it is."""
    if not isinstance(answer, tuple) or len(answer) != 3:
        return "Give three things: the observation, the action, the advantage."
    o, a, advantage = answer
    E = _product()
    pi = uniform(E)
    found = evaluate(E, pi, exact=True)
    gains = {
        (one, action): found.q[one, action]
        - sum(pi[one, other] * found.q[one, other] for other in E.A)
        for one in E.O
        for action in E.A
    }
    if (o, a) not in gains:
        return f"There is no {(o, a)!r}."
    largest = max(gains.values())
    if gains[o, a] != largest:
        return "Another place has a larger one."
    return True if Fraction(advantage) == largest else "The place is right, the number is not."
