"""The oracle loop on a sequence task, one task at a time, by the loop of the workbench: the batch's
slow twin."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product

import numpy as np

from workbench import POMDP, augment, improve, uniform
from workbench.core.ties import ROUNDING
from workbench.improvement.batch import sequence_task


@dataclass(frozen=True)
class Ending:
    """What the batch says of one task."""

    value: float
    ended: str
    amplitude: float
    unsure: bool


def ending(
    rewards: object, memory: str, step: float = 0.02, ties: str = "last", budget: int = 20_000
) -> Ending:
    """`improve` on the product, as a person would call it."""
    E = augment(sequence_task(rewards), memory)
    run = improve(E, uniform(E), step=step, ties=ties, budget=budget)
    unsure = any(tie.how == ROUNDING for tie in run.ties)
    value = run.value if run.ended == "budget" else run.mean
    return Ending(float(value), run.ended, run.amplitude, unsure)


def encodable_sequences(E: POMDP, length: int) -> set[tuple[int, ...]]:
    """The sequences of actions that some deterministic memoryless policy makes, by trying all
    policies."""
    found = set()
    deciding = [o for o in E.O if E.decides[E.O.index(o)]]
    for choice in product(list(E.A), repeat=len(deciding)):
        policy = dict(zip(deciding, choice, strict=True))
        s = next(iter(dict(E.mu.items())))
        done: list[int] = []
        while len(done) < length:
            (o,) = E.omega(s)
            a = policy[o]
            done.append(a[0])
            ((s, _),) = E.p(s, a)
        found.add(tuple(done))
    return found


def random_table(rng: np.random.Generator, actions: int, length: int, most: int = 3) -> list:
    """Integers from -most to most, as nested lists of Fractions."""
    table = rng.integers(-most, most + 1, (actions,) * length)
    return np.vectorize(lambda x: Fraction(int(x)), otypes=[object])(table).tolist()
