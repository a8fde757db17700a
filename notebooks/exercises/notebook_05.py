"""The exercises of notebook 05: the stochastic point for another reward, and a start that avoids
it. [Appendix B]"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from pomdps import recall_variant
from pomdps.recalls import VARIANT_REWARDS
from workbench import POMDP, Policy, augment, evaluate, improve
from workbench.core.numbers import number

EMPTY, HELD0, HELD1 = ((None,), "o"), ((("o", 0),), "o"), ((("o", 1),), "o")
LEAST = Fraction(1, 50)


def exercise_1(answer: Any) -> bool | str:
    """y at which the two actions of HELD0 tie, with 1 in place of the reward 2."""
    y = number(answer)
    if isinstance(y, float):
        return (
            "Give a fraction, such as Fraction(3, 8): with floats 'the same' cannot "
            "be told from 'nearly'."
        )
    if not 0 < y < 1:
        return "y is a probability, and both actions are taken."
    E = augment(_task({**VARIANT_REWARDS, (0, 0, 1): 1}), "OA1")
    rows = {
        EMPTY: {(0, "push"): 1},
        HELD0: {(0, "push"): y, (1, "keep"): 1 - y},
        HELD1: {(1, "push"): 1},
    }
    q = evaluate(E, Policy.from_mapping(E, rows), exact=True).q
    push, keep = q[HELD0, (0, "push")], q[HELD0, (1, "keep")]
    return True if push == keep else f"There (0, push) has {push} and (1, keep) has {keep}."


def exercise_2(answer: Any) -> bool | str:
    """A start, {row: {action: probability}}, from which the loop finds the optimum."""
    P = recall_variant()
    E = augment(P, "OA1")
    pi = Policy.from_mapping(E, answer)
    for o in (EMPTY, HELD0, HELD1):
        for a in E.A:
            if pi[o, a] < LEAST:
                return (
                    f"In the row {o} the action {a} has the probability {pi[o, a]}, "
                    f"less than {LEAST}."
                )
    run = improve(E, pi, step=LEAST)
    return (
        True if run.limit_value == 3 else f"From there the loop does not find the optimum: {run}."
    )


def _task(rewards: Any) -> POMDP:
    """The variation of the recall task with any table of rewards."""

    def p(s: tuple[int, ...], a: int) -> dict[tuple[Any, Any], int]:
        done = (*s, a)
        return {("end", rewards[done]): 1} if len(done) == 3 else {(done, 0): 1}

    return POMDP.from_functions(
        name="recall_variant",
        A=(0, 1),
        p=p,
        omega=lambda s: {"o": 1},
        mu={(): 1},
        gamma=1,
        terminal={"end"},
    )
