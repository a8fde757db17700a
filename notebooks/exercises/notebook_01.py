"""Exercises of notebook 01: another secret, and recall with a clock."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Any

from pomdps import recall
from workbench import POMDP, Policy, evaluate
from workbench.agents.simulate import alone

SECRET = (1, 2, 1)

BEST = Fraction(361, 400) * Fraction(2, 3) ** 2 * Fraction(1, 3)
"""The most that gamma^2 x^2 y can be for x + y = 1; the judge compares with it to nine decimals, so
that floats may do."""


def another_recall() -> POMDP:
    """Recall with the secret 1, 2, 1; the state is what was pressed."""

    def p(s: tuple[int, ...], a: int) -> dict[tuple[Any, int], int]:
        done = (*s, a)
        return {("end", int(done == SECRET)): 1} if len(done) == 3 else {(done, 0): 1}

    return POMDP.from_functions(
        name="recall of 1, 2, 1",
        A=(1, 2, 3),
        p=p,
        omega=lambda s: {"o": 1},
        mu={(): 1},
        gamma=Fraction(19, 20),
        terminal={"end"},
    )


def exercise_1(answer: Any) -> bool | str:
    """The best memoryless policy of recall with the secret 1, 2, 1."""
    if not isinstance(answer, Mapping):
        return "The answer is a dictionary {1: ..., 2: ..., 3: ...}."
    P = another_recall()
    value = evaluate(P, Policy.from_mapping(P, {"o": answer})).value
    if float(BEST) - float(value) > 1e-9:
        return f"This policy is worth {float(value):.6f}, and there is a better one."
    return True


def exercise_2(answer: Any) -> bool | str:
    """Recall that shows the number of steps and nothing else."""
    P = recall()
    if not isinstance(answer, POMDP):
        return "The answer is a POMDP."
    if set(answer.A) != set(P.A):
        return "Its actions are not 1, 2, 3."
    if answer.gamma != P.gamma:
        return "Its discount is not that of recall."
    shown: list[set[Any]] = [set(), set(), set()]
    for actions in product(P.A, repeat=3):
        if (found := _play(answer, actions)) is None:
            return f"An episode of {actions} does not last three steps."
        if any(len(seen) > 1 for seen in found[0]):
            return "The observation is drawn by chance; a clock shows one thing at each step."
        if found[1] != [0, 0, int(actions == (1, 2, 3))]:
            return f"The rewards of {actions} are not those of recall."
        for step, seen in enumerate(found[0]):
            shown[step] |= seen
    if any(len(seen) > 1 for seen in shown):
        return (
            "What is seen tells more than the number of steps: it differs from one "
            "episode to another."
        )
    if len(set.union(*shown)) < 3:
        return "What is seen is the same at two of the three steps."
    return True


def _play(P: POMDP, actions: tuple[Any, ...]) -> tuple[list[set[Any]], list[Any]] | None:
    """What can be seen before each of the actions, and the expected rewards; None if an episode
    ends too early or too late."""
    process = alone(P)
    states, seen, rewards = dict(process.start), [], []
    for a in actions:
        if any(process.ended(state) for state in states):
            return None
        seen.append({process.seen(state) for state in states})
        outcomes = [
            (s, r, x * y)
            for state, x in states.items()
            for (s, r), y in process.step(state, a).items()
        ]
        rewards.append(sum(r * x for _, r, x in outcomes))
        states = {s: sum(x for other, _, x in outcomes if other == s) for s, _, _ in outcomes}
    return (seen, rewards) if all(process.ended(state) for state in states) else None
