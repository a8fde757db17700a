"""The exercises of notebook 09: where a shortcut ends, as a formula, and a memory that keeps the
force by itself."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy

from pomdps import gravity, recall
from workbench import Memory, Policy, augment, best_history, best_memoryless, td_values

_GAMMAS = (Fraction(1, 2), Fraction(3, 4), Fraction(19, 20))
_CLOSE = 1e-9


def exercise_1(answer: Any) -> bool | str:
    """The lambda at which (2, push) stops looking better than (1, push), as an expression in gamma
    or a function of it."""
    for gamma in _GAMMAS:
        lam = _at(answer, gamma)
        if not 0 < lam < 1:
            return f"At gamma = {gamma} it is {lam:.6g}, and a lambda lies between 0 and 1."
        shortcut, path = _values(gamma, lam)
        if abs(shortcut - path) > _CLOSE:
            better = "shortcut" if shortcut > path else "path"
            return (
                f"At gamma = {gamma} it is {lam:.6g}, and there TD(lambda) still "
                f"prefers the {better}."
            )
    return True


def _at(answer: Any, gamma: Fraction) -> float:
    """The answer at one gamma."""
    if callable(answer):
        return float(answer(float(gamma)))
    expression = sympy.sympify(answer)
    symbols = expression.free_symbols
    if len(symbols) > 1:
        raise ValueError(
            f"one symbol is enough, gamma; this has {', '.join(sorted(map(str, symbols)))}"
        )
    return float(expression.subs({symbol: sympy.Rational(gamma) for symbol in symbols}))


def _values(gamma: Fraction, lam: float) -> tuple[float, float]:
    """The TD(lambda) values of the shortcut and of the path, at the start."""
    E = augment(recall(gamma=gamma), "OA1")
    empty, one = ((None,), "o"), ((("o", 1),), "o")
    blue = Policy.deterministic(E, {empty: (1, "push"), one: (2, "push")}, otherwise=(3, "keep"))
    q = td_values(E, blue, lam=lam).q
    return q[empty, (2, "push")], q[empty, (1, "push")]


def exercise_2(answer: Any) -> bool | str:
    """A memory of two states and one write with which a memoryless policy solves gravity."""
    if not isinstance(answer, Memory):
        return "The answer is a Memory(name, M=..., W=..., eta=..., Gamma=...)."
    if len(answer.M) > 2:
        return f"It has {len(answer.M)} memory states; two are enough."
    if len(answer.W) > 1:
        return f"It leaves the agent a choice of {len(answer.W)} writes; there should be one."
    P = gravity()
    found = best_memoryless(augment(P, answer), max_seconds=20)
    best = float(best_history(P).value)
    if abs(found.value - best) < _CLOSE:
        return True
    return (
        f"The best memoryless policy found with it is worth {found.value:.6f}, and "
        f"{best:.6f} is possible."
    )
