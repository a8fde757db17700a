"""The exercises of notebook 04: the point between two valleys, and a reward that frees the loop.
[Appendix C]"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from pomdps.recalls import RECALL4_REWARDS
from workbench import POMDP, Policy, augment, evaluate, improve, uniform
from workbench.core.numbers import number


def exercise_1(answer: Any) -> bool | str:
    """(alpha, beta) at which both rows are indifferent."""
    alpha, beta = map(number, answer)
    if isinstance(alpha, float) or isinstance(beta, float):
        return (
            "Give fractions, such as Fraction(1, 2): with floats 'the same' cannot "
            "be told from 'nearly'."
        )
    if not (0 <= alpha <= 1 and 0 <= beta <= 1):
        return "alpha and beta are probabilities."
    E = augment(_task(RECALL4_REWARDS), "B1")
    zero, one = ("0", "o"), ("1", "o")
    rows = {zero: {(0, "1"): alpha, (1, "1"): 1 - alpha}, one: {(2, "1"): beta, (3, "1"): 1 - beta}}
    q = evaluate(E, Policy.from_mapping(E, rows), exact=True).q
    for o, a, b in ((zero, (0, "1"), (1, "1")), (one, (2, "1"), (3, "1"))):
        if q[o, a] != q[o, b]:
            return f"In memory {o[0]} action {a[0]} has {q[o, a]} and action {b[0]} has {q[o, b]}."
    return True


def exercise_2(answer: Any) -> bool | str:
    """(first, then, reward): one changed reward with which the loop finds 0, then 2."""
    first, then, r = answer
    if first not in range(4) or then not in range(4):
        return "The actions are 0, 1, 2 and 3."
    if (first, then) == (0, 2):
        return "The reward of 0 then 2 is to stay as it is."
    if not (r := number(r)) < 1:
        return (
            f"Then {first} then {then} is worth {r}: 0 then 2 is not the only best pair any more."
        )
    rewards = [list(row) for row in RECALL4_REWARDS]
    rewards[first][then] = r
    E = augment(_task(rewards), "B1")
    run = improve(E, uniform(E), step=Fraction(1, 50))
    return True if run.limit_value == 1 else f"The loop does not find the optimum: {run}."


def _task(rewards: Any) -> POMDP:
    """The 4-action recall task with any table of rewards."""

    def p(s: str, a: int) -> dict[tuple[str, Any], int]:
        return {(f"s{a}", 0): 1} if s == "s*" else {("end", rewards[int(s[1])][a]): 1}

    return POMDP.from_functions(
        name="recall4",
        A=range(4),
        p=p,
        omega=lambda s: {"o": 1},
        mu={"s*": 1},
        gamma=1,
        terminal={"end"},
    )
