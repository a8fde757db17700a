"""Recall tasks: one observation, so that only what was done before tells the states apart.

`recall` (Section 5, Example 5.1), its variant (Appendix B) and the 4-action recall task (Appendix
C). Actions carry the paper's names; the only observation is "o".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from pomdps.task import task
from workbench.core.errors import UnknownLabel, WorkbenchError
from workbench.core.numbers import Number, number
from workbench.core.pomdp import POMDP
from workbench.core.space import Label

SEQUENCE = (1, 2, 3)

VARIANT_REWARDS: dict[tuple[int, int, int], Number] = {
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

RECALL4_REWARDS: Sequence[Sequence[Number]] = (
    (-5, Fraction(1, 2), 1, Fraction(1, 2)),
    (0, Fraction(1, 2), Fraction(-1, 2), Fraction(3, 4)),
    (0, Fraction(1, 2), -5, Fraction(1, 2)),
    (0, Fraction(1, 2), -5, Fraction(1, 2)),
)
"""The table of Figure 7: r[a1][a2], paid at the end."""


@task(
    title="Recall: do 1, 2, 3 in this order",
    text="Three steps of three actions; reward 1 at the end if they were the sequence, else 0. A "
    "state is the number of steps taken and whether all of them were right so far.",
    source="Section 5, Example 5.1",
    known={"states": 6, "observations": 1, "actions": 3, "best": lambda gamma: gamma**2},
)
def recall(gamma: Number = Fraction(19, 20), sequence: Sequence[Label] = SEQUENCE) -> POMDP:
    """The recall task: reward 1 for doing a sequence of actions, else 0. [Example 5.1]

    Parameters
    ----------
    gamma : 0.95, as in Appendix D.1.
    sequence : what has to be done, of the actions 1, 2, 3; 1, 2, 3 in the paper.

    >>> recall()
    POMDP recall: 6 states (1 terminal), 1 observation, 3 actions, 15 outcomes, gamma 19/20
    >>> recall(sequence=(2, 2)).p("1 right", 2)
    {('end', Fraction(1, 1)): Fraction(1, 1)}
    """
    wanted = tuple(sequence)
    if not wanted or set(wanted) - set(SEQUENCE):
        raise WorkbenchError(f"a sequence consists of the actions 1, 2, 3, not of {sequence!r}")

    def p(s: str, a: int) -> dict[tuple[str, int], int]:
        steps, so_far = s.split(" ")
        right = so_far == "right" and a == wanted[int(steps)]
        if int(steps) + 1 == len(wanted):
            return {("end", int(right)): 1}
        return {(f"{int(steps) + 1} {'right' if right else 'wrong'}", 0): 1}

    return POMDP.from_functions(
        name="recall",
        A=SEQUENCE,
        p=p,
        omega=lambda s: {"o": 1},
        mu={"0 right": 1},
        gamma=gamma,
        terminal={"end"},
    )


@task(
    title="A variation of recall, rewarded by the whole sequence",
    text="Three steps of two actions, rewarded at the end by a table over their sequences. A state "
    "is the tuple of the actions taken.",
    source="Appendix B",
    known={"states": 8, "observations": 1, "actions": 2, "best": 3},
)
def recall_variant(
    gamma: Number = 1, rewards: Mapping[tuple[int, int, int], Number] | None = None
) -> POMDP:
    """The variation of the recall task. [Appendix B]

    Parameters
    ----------
    rewards : {(a1, a2, a3): reward} to put in the place of entries of the paper's table, numbers or
        symbols.

    >>> recall_variant().p((0, 1), 0)
    {('end', Fraction(3, 1)): Fraction(1, 1)}
    >>> recall_variant(rewards={(0, 1, 0): 7}).p((0, 1), 0)
    {('end', Fraction(7, 1)): Fraction(1, 1)}
    """
    table = VARIANT_REWARDS | dict(rewards or {})
    if unknown := set(table) - set(VARIANT_REWARDS):
        raise UnknownLabel(f"no sequence of three actions 0 and 1: {next(iter(unknown))!r}")

    def p(s: tuple[int, ...], a: int) -> dict[tuple[object, Number], int]:
        done = (*s, a)
        return {("end", table[done[0], done[1], done[2]]): 1} if len(done) == 3 else {(done, 0): 1}

    return POMDP.from_functions(
        name="recall_variant",
        A=(0, 1),
        p=p,
        omega=lambda s: {"o": 1},
        mu={(): 1},
        gamma=gamma,
        terminal={"end"},
    )


@task(
    title="The 4-action recall task",
    text="Two steps of four actions; reward r[a1][a2] at the end, by the table of Figure 7. A "
    "state is s* or s with the first action.",
    source="Appendix C, Figure 7",
    known={
        "states": 6,
        "observations": 1,
        "actions": 4,
        "best": 1,
        "stuck": Fraction(3, 4),  # where the oracle loop ends from uniform with any B(k)
    },
)
def recall4(
    scale: Number = 1, gamma: Number = 1, rewards: Sequence[Sequence[Number]] = RECALL4_REWARDS
) -> POMDP:
    """The 4-action recall task: two steps, reward r[a1][a2] at the end. [Appendix C, Figure 7]

    Parameters
    ----------
    scale : multiplies every reward (Proposition C.1).
    rewards : r[a1][a2], four rows of four, numbers or symbols; the table of Figure 7 by default.

    >>> recall4().p("s0", 2)
    {('end', Fraction(1, 1)): Fraction(1, 1)}
    """
    if len(rewards) != 4 or any(len(row) != 4 for row in rewards):
        raise WorkbenchError("rewards are four rows r[a1] of four entries r[a1][a2]")
    factor = number(scale)

    def p(s: str, a: int) -> dict[tuple[str, Number], int]:
        return (
            {(f"s{a}", 0): 1} if s == "s*" else {("end", factor * number(rewards[int(s[1])][a])): 1}
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
