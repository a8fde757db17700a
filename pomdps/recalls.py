"""Recall tasks: one observation, so that only what was done before tells the states apart.

`recall` (Section 5, Example 5.1), its variant (Appendix B) and the 4-action recall task (Appendix
C). Actions carry the paper's names; the only observation is "o".
"""

from __future__ import annotations

from fractions import Fraction

from workbench.model.numbers import Number, number
from workbench.model.pomdp import POMDP

SEQUENCE = (1, 2, 3)

VARIANT_REWARDS = {
    (0, 0, 0): 0,
    (1, 0, 0): -100,
    (0, 0, 1): 2,
    (1, 0, 1): -100,
    (0, 1, 0): 3,
    (1, 1, 0): -10,
    (0, 1, 1): 1,
    (1, 1, 1): -10,
}
"""The table of Appendix B: the reward of the last action, by (a1, a2, a3)."""

RECALL4_REWARDS = (
    (-5, Fraction(1, 2), 1, Fraction(1, 2)),
    (0, Fraction(1, 2), Fraction(-1, 2), Fraction(3, 4)),
    (0, Fraction(1, 2), -5, Fraction(1, 2)),
    (0, Fraction(1, 2), -5, Fraction(1, 2)),
)
"""The table of Figure 7: r[a1][a2], paid at the end."""

KNOWN = {
    "recall": {"states": 6, "observations": 1, "actions": 3, "best": lambda gamma: gamma**2},
    "recall_variant": {"states": 8, "observations": 1, "actions": 2, "best": 3},
    "recall4": {"states": 6, "observations": 1, "actions": 4, "best": 1, "stuck": Fraction(3, 4)},
}
"""Sizes and best history-based values; `stuck` is where the oracle loop ends from uniform with any
B(k)."""


def recall(gamma: Number = Fraction(19, 20)) -> POMDP:
    """The recall task: reward 1 for doing 1, 2, 3 in this order, else 0; three steps. [Example 5.1]

    A state is the number of steps taken and whether all of them were right so far. gamma is 0.95 as
    in Appendix D.1.

    >>> recall()
    POMDP recall: 6 states (1 terminal), 1 observation, 3 actions, 15 outcomes, gamma 19/20
    """

    def p(s: str, a: int) -> dict[tuple[str, int], int]:
        done, right = int(s[0]), s.endswith("right")
        right = right and a == SEQUENCE[done]
        if done + 1 == len(SEQUENCE):
            return {("end", int(right)): 1}
        return {(f"{done + 1} {'right' if right else 'wrong'}", 0): 1}

    return POMDP.from_functions(
        name="recall",
        A=(1, 2, 3),
        p=p,
        omega=lambda s: {"o": 1},
        mu={"0 right": 1},
        gamma=gamma,
        terminal={"end"},
    )


def recall_variant(gamma: Number = 1) -> POMDP:
    """The variation of the recall task: three steps of two actions, rewarded at the end by their
    sequence. [Appendix B]

    A state is the tuple of the actions taken.

    >>> recall_variant().p((0, 1), 0)
    {('end', Fraction(3, 1)): Fraction(1, 1)}
    """

    def p(s: tuple[int, ...], a: int) -> dict[tuple[object, int], int]:
        done = (*s, a)
        return {("end", VARIANT_REWARDS[done]): 1} if len(done) == 3 else {(done, 0): 1}

    return POMDP.from_functions(
        name="recall_variant",
        A=(0, 1),
        p=p,
        omega=lambda s: {"o": 1},
        mu={(): 1},
        gamma=gamma,
        terminal={"end"},
    )


def recall4(scale: Number = 1, gamma: Number = 1) -> POMDP:
    """The 4-action recall task: two steps, reward r[a1][a2] at the end. [Appendix C, Figure 7]

    Parameters
    ----------
    scale : multiplies every reward (Proposition C.1).

    >>> recall4().p("s0", 2)
    {('end', Fraction(1, 1)): Fraction(1, 1)}
    """
    factor = number(scale)

    def p(s: str, a: int) -> dict[tuple[str, Number], int]:
        return (
            {(f"s{a}", 0): 1} if s == "s*" else {("end", factor * RECALL4_REWARDS[int(s[1])][a]): 1}
        )

    return POMDP.from_functions(
        name="recall4",
        A=(0, 1, 2, 3),
        p=p,
        omega=lambda s: {"o": 1},
        mu={"s*": 1},
        gamma=gamma,
        terminal={"end"},
    )
