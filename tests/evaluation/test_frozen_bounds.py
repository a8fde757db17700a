"""Bounds on errors are those that were looked at once, up to a third.

That they hold, and are close to the errors, is tested beside it. Most leave so much room that half
of one holds as well: so a bound that is counted otherwise is seen here.
`PYTHONPATH=.:tests/support python tests/evaluation/test_frozen_bounds.py` writes the list anew.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from fractions import Fraction as F
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from toy_tasks import small_task

from pomdps import cheese_maze, gravity, recall, recall4, shuttle, tiger
from workbench import POMDP, Policy, augment, evaluate, td_values, uniform
from workbench.core import linear
from workbench.core.horizon import unroll

FROZEN = Path(__file__).parents[1] / "data" / "bounds.json"
ROOM = 4 / 3
"""Rounding differs from machine to machine, and residuals are part of a bound."""


def random_task(seed: int, exits: F, states: int = 9, ends: bool = True) -> POMDP:
    """States that are seen through noise, rewards of both signs, and a rare end or none."""
    rng = np.random.default_rng(seed)

    def row(size: int) -> list[F]:
        weights = rng.integers(0, 6, size) + np.eye(size, dtype=int)[rng.integers(size)]
        return [F(int(w), int(weights.sum())) for w in weights]

    p = {(s, a): row(states) for s in range(states) for a in range(3)}
    r = {(s, a): F(int(rng.integers(-9, 9)), 7) for s in range(states) for a in range(3)}
    omega = {s: row(3) for s in range(states)}
    return small_task(
        "random",
        lambda s, a: {
            **{(t, r[s, a]): x * (1 - exits * ends) for t, x in enumerate(p[s, a]) if x},
            **({("end", r[s, a]): exits} if ends else {}),
        },
        {0: F(1, 3), 1: F(2, 3)},
        A=[0, 1, 2],
        omega=lambda s: {"end": 1} if s == "end" else {o: x for o, x in enumerate(omega[s]) if x},
        gamma=1 if ends else F(9, 10),
        terminal={"end"} if ends else set(),
    )


def leaning(P: POMDP) -> Policy:
    """A policy with large and small chances."""
    rng = np.random.default_rng(5)
    table = 10.0 ** -rng.integers(0, 5, (len(P.O), len(P.A)))
    rows = table / table.sum(axis=1, keepdims=True)
    return Policy.from_mapping(
        P, {o: dict(zip(P.A, map(float, x), strict=True)) for o, x in zip(P.O, rows, strict=True)}
    )


def summary(*bounds: Any) -> list[float]:
    """The largest and the mean of the logarithms of the bounds that say something."""
    found = []
    for bound in bounds:
        x = np.asarray(getattr(bound, "raw", bound), dtype=float).ravel()
        x = x[np.isfinite(x) & (x > 1e-290)]  # the ends are off by the least of all floats
        found += [float(x.max()), float(np.exp(np.log(x).mean()))] if len(x) else [0.0, 0.0]
    return found


def of_values(P: POMDP, how: Callable[[POMDP], Policy], **options: Any) -> list[float]:
    """Bounds of `evaluate`."""
    e = evaluate(P, how(P), **options)
    return summary(e.error, e.v_error, e.q_state_error, e.q_error, e.visits_error)


def of_targets(P: POMDP, how: Callable[[POMDP], Policy], **options: Any) -> list[float]:
    """Bounds of `td_values`."""
    found = td_values(P, how(P), **options)
    return summary(found.error, found.q_error)


def of_levels(P: POMDP, weights: str) -> list[float]:
    """Bounds of the compiled loop where no state comes back."""
    found = unroll(P, np.arange(len(P.A)), weights)
    return [found.error, found.growth]


def tasks() -> Iterator[tuple[str, POMDP]]:
    yield "random", random_task(1, F(1, 4))
    yield "random, long", random_task(2, F(1, 10_000))
    yield "gravity", gravity()
    yield "recall4 x B1", augment(recall4(), "B1")
    yield "cheese", cheese_maze()


def cases() -> Iterator[tuple[str, Callable[[], list[float]]]]:
    for name, P in tasks():
        for how in (uniform, leaning):
            said = f"{name}, {how.__name__}"
            yield said, partial(of_values, P, how)
            yield f"{said}, TD", partial(of_targets, P, how)
        for weights in ("discounted", "first-visit"):
            yield f"{name}, {weights}", partial(of_values, P, leaning, weights=weights)
        yield f"{name}, 3 steps", partial(of_targets, P, uniform, n=3)
        yield f"{name}, lambda", partial(of_targets, P, uniform, lam=0.7)
    for name, P in (
        ("endless", random_task(3, F(0), ends=False)),
        ("shuttle", shuttle()),
        ("tiger", tiger(gamma=0.95)),
    ):
        yield f"{name}, stationary", partial(of_values, P, leaning, weights="stationary")
        yield f"{name}, average", partial(of_values, P, leaning, criterion="average")
        yield f"{name}, TD", partial(of_targets, P, leaning, weights="stationary")
    for name, P in (("recall", recall()), ("recall4 x O1", augment(recall4(), "O1"))):
        for weights in ("visits", "discounted"):
            yield f"{name}, levels, {weights}", partial(of_levels, P, weights)


def large(name: str) -> bool:
    """Whether a case is asked of the method for large chains as well."""
    return "random" in name or "gravity" in name


def answers() -> Iterator[tuple[str, Callable[[], list[float]]]]:
    for name, ask in cases():
        yield name, ask
        if large(name):
            yield f"{name}, Krylov", partial(with_krylov, ask)


def with_krylov(ask: Callable[[], list[float]]) -> list[float]:
    """The same with the method for large chains."""
    with patch.object(linear, "solvers_for", lambda n: [linear.Krylov]):
        return ask()


@pytest.mark.parametrize(("name", "ask"), [pytest.param(*each, id=each[0]) for each in answers()])
def test_bounds_are_those_that_were_looked_at(name, ask):
    found, due = np.array(ask()), np.array(json.loads(FROZEN.read_text())[name])
    assert ((found == 0) == (due == 0)).all(), (found, due)
    assert (found <= ROOM * due).all(), found / due
    assert (found >= due / ROOM).all(), found / due


if __name__ == "__main__":
    record = {name: [float(f"{x:.3g}") for x in ask()] for name, ask in answers()}
    FROZEN.write_text(",\n".join(json.dumps(record).split(', "')).replace("\n", '\n"') + "\n")
