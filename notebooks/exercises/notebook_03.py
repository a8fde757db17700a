"""Exercises of notebook 03: the lambda that removes a shortcut, and a memory without shortcuts."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from pomdps import recall
from workbench import POMDP, Policy, augment, evaluate, shortcuts, td_values, uniform
from workbench.text import shown

LENGTH = 4

EXPLORED = Fraction(1, 10**6)
"""How much the policy of the first exercise explores; it moves the crossing by less than `NEAR`."""

NEAR = Fraction(1, 1000)


def longer_recall() -> POMDP:
    """Press 1, 2, 3, 4; the state is what was pressed."""
    secret = tuple(range(1, LENGTH + 1))

    def p(s: tuple[int, ...], a: int) -> dict[tuple[Any, int], int]:
        done = (*s, a)
        return {("end", int(done == secret)): 1} if len(done) == LENGTH else {(done, 0): 1}

    return POMDP.from_functions(
        name="longer recall",
        A=secret,
        p=p,
        omega=lambda s: {"o": 1},
        mu={(): 1},
        gamma=Fraction(19, 20),
        terminal={"end"},
    )


def _lead(lam: Fraction) -> Fraction:
    """How much more TD(lambda) believes of 3 push than of 1 push, at the start, under the winning
    policy."""
    E = augment(longer_recall(), "OA1")
    moves = {((("o", a),), "o"): (min(a + 1, LENGTH), "push") for a in range(1, LENGTH + 1)}
    start = ((None,), "o")
    pi = Policy.deterministic(E, moves | {start: (1, "push")}).toward(uniform(E), EXPLORED)
    q = td_values(E, pi, lam=lam, exact=True).q
    return q[start, (3, "push")] - q[start, (1, "push")]


def exercise_1(answer: Any) -> bool | str:
    """Where TD(lambda) stops to prefer (empty, 3 push)."""
    lam = Fraction(answer)
    if not 0 <= lam <= 1:
        return "A lambda lies between 0 and 1."
    if _lead(min(lam + NEAR, Fraction(1))) > 0:
        return "With this lambda 3 push still looks better."
    if lam > NEAR and _lead(lam - NEAR) < 0:
        return "A smaller lambda is enough."
    return True


def exercise_2(answer: Any) -> bool | str:
    """A memory and a winning policy of recall without shortcuts."""
    if (
        not isinstance(answer, tuple)
        or len(answer) != 2
        or not isinstance(answer[1], Mapping | Policy)
    ):
        return "The answer is a pair (memory, {o: a, ...})."
    memory, moves = answer
    P = recall()
    E = augment(P, memory)
    pi = moves if isinstance(moves, Policy) else Policy.deterministic(E, moves, otherwise=E.A[0])
    value = evaluate(E, pi, exact=True).value
    if value != P.gamma**2:
        return f"This policy is worth {shown(value)}; winning is worth {shown(P.gamma**2)}."
    if found := shortcuts(E, pi, exact=True):
        return f"It wins, but there is a {found[0].kind} shortcut: {found[0]}."
    return True
