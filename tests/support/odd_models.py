"""Random exact models of the kinds on which floats go wrong: traps, ties, numbers that nearly tie,
zeros that are written down, rewards of odd sizes, discounts from 0 to 1."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from fractions import Fraction as F
from typing import Any

import numpy as np
from toy_tasks import small_task

from workbench import POMDP, Policy, uniform
from workbench.core.errors import WorkbenchError
from workbench.core.numbers import Numbers

KINDS = ("episodic", "continuing", "trap", "tie", "near")


def draw_model(rng: random.Random) -> POMDP | None:
    """A model of one to six states; None if what was drawn is refused."""
    kind = rng.choice(KINDS)
    states, actions = list(range(rng.randint(1, 6))), list(range(rng.randint(1, 3)))
    seen = [f"o{i}" for i in range(rng.randint(1, 3))]
    discounts = [F(9, 10), F(1, 2), F(999, 1000), F(0)]
    gamma = rng.choice(discounts if kind == "continuing" else [F(1), F(1), *discounts])
    scale = rng.choice([F(1), F(1), F(2) ** -40, F(2) ** 30, F(10) ** 6, F(1, 7)])
    shifts = [F(0), F(0), rng.choice([F(1, 10**3), F(1, 10**6), F(1, 10**10)])]
    ends = kind in ("episodic", "tie", "near") or (kind == "trap" and rng.random() < 0.5)

    def distribution(keys: Sequence[Any]) -> dict[Any, F]:
        weights = [rng.choice([0, 0, 1, 1, 2, 3]) for _ in keys]
        if kind == "near" and rng.random() < 0.3:
            weights = [x * 10**6 + rng.randint(0, 1) for x in weights]
        if sum(weights) == 0:
            weights[rng.randrange(len(weights))] = 1
        # now and then a zero is written down
        return {
            k: F(x, sum(weights))
            for k, x in zip(keys, weights, strict=True)
            if x or rng.random() < 0.1
        }

    def outcomes(s: int) -> dict[tuple[Any, F], F]:
        if kind == "trap" and s == states[-1]:
            pays = rng.randint(-1, 1) if gamma < 1 and rng.random() < 0.5 else 0
            return {(s, F(pays)): F(1)}
        following = distribution([*states, "end"] if ends else states)
        if ends and rng.random() < 0.6 and "end" not in following:
            following = {k: x / 2 for k, x in following.items()} | {"end": F(1, 2)}
        found: Counter[tuple[Any, F]] = Counter()
        for k, x in following.items():
            shift = rng.choice(shifts) if kind == "near" else F(0)
            found[k, (rng.randint(-2, 2) + shift) * scale] += x  # type: ignore[assignment]
        return dict(found)  # type: ignore[arg-type]

    rows = {(s, a): outcomes(s) for s in states for a in actions}
    if kind == "tie":
        for s in states:
            if rng.random() < 0.7:
                rows[s, actions[-1]] = rows[s, 0]
    looks = {s: distribution(seen) for s in states} | {"end": {seen[0]: F(1)}}
    try:
        return small_task(
            kind,
            lambda s, a: rows[s, a],
            distribution(states),
            A=actions,
            omega=lambda s: looks[s],
            gamma=gamma,
            terminal={"end"} if ends else set(),
        )
    except WorkbenchError:
        return None


def draw_policy(rng: random.Random, P: POMDP) -> Policy:
    """The uniform policy, or one with zeros and with probabilities of very different size."""
    if rng.random() < 0.3:
        return uniform(P)
    rows = []
    for _ in P.O:
        weights = [rng.choice([0, 1, 1, 2, 10**4]) for _ in P.A]
        weights[0] += sum(weights) == 0
        rows.append([F(x, sum(weights)) for x in weights])
    return Policy(P, Numbers.of(np.array(rows, dtype=object)))
