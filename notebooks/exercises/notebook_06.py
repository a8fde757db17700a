"""The exercises of notebook 06: a policy for K1, and how long it takes to climb against the
force."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from numbers import Real
from typing import Any

from pomdps import gravity
from workbench import POMDP, Policy, augment, best_history, evaluate


@cache
def _with_last_cell() -> POMDP:
    return augment(gravity(), "K1")


def exercise_1(answer: Any) -> bool | str:
    """A mapping {(the cell before, or None; the cell): action} whose policy for gravity with K1 is
    optimal."""
    if not isinstance(answer, Mapping):
        return "The answer is a mapping {(the cell before, the cell): action}."
    E = _with_last_cell()
    choice = {}
    for (before, cell), action in answer.items():
        if action not in gravity().A:
            return f"{action!r} is not one of the actions {', '.join(gravity().A)}."
        if (o := ((before,), cell)) in E.O:
            choice[o] = (action, "push")
    value = evaluate(E, Policy.deterministic(E, choice, otherwise=("up", "push")), exact=True).value
    best = best_history(gravity()).value
    if value == best:
        return True
    worth = f"This policy is worth {float(value):.6f}, and the best one {float(best):.6f}."
    return worth + " Which cell does it leave too late, or for the wrong side?"


def exercise_2(answer: Any) -> bool | str:
    """The expected number of steps of the policy that always goes up."""
    if not isinstance(answer, Real):
        return "The answer is a number of steps."
    P = gravity()
    visits = evaluate(P, Policy.deterministic(P, {}, otherwise="up"), exact=True).visits
    steps = sum(visits[s] for s in P.S if s not in P.terminal)
    if answer == steps:
        return True
    return f"It takes {'more' if answer < steps else 'fewer'} steps than that."
