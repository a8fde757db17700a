"""Numbers that must not change when code moves: `python tests/support/golden.py` prints them.

Values of evaluation and of the oracle loop, exact tables, and digests of what learners earn, block
by block. `tests/data/golden.json` holds them as they were before the modules moved into rooms.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np

import pomdps
from workbench import (
    ActorCritic,
    QLearning,
    Sarsa,
    SoftQLearning,
    SoftSarsa,
    augment,
    best_history,
    best_memoryless,
    can_encode_optimal,
    evaluate,
    improve,
    is_sufficiently_expressive,
    learn,
    td_values,
    uniform,
)

TASKS = (
    "recall", "recall_variant", "recall4", "gravity", "tiger", "cheese_maze", "shuttle",
    "four_by_three", "load_unload", "t_maze", "short_corridor", "heaven_hell", "hallway_cookie",
    "hallway_keys",
)  # fmt: skip
MEMORIES = ("none", "B1", "K1", "O1", "OA1")
RECALLS = ("recall", "recall_variant", "recall4")


def digest(*arrays: Any) -> str:
    """The first characters of a digest of the bytes of some arrays."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()[:16]


def products() -> Iterator[tuple[str, Any]]:
    """Sizes, values and TD values of each task with each small memory, under the uniform policy."""
    for name in TASKS:
        P = getattr(pomdps, name)()
        weights = "discounted" if float(P.gamma) < 1 else "visits"
        for memory in MEMORIES if not name.startswith("hallway") else MEMORIES[:3]:
            E = augment(P, memory)
            pi = uniform(E)
            value = evaluate(E, pi, weights=weights).value
            td = np.asarray(td_values(E, pi, weights=weights).q.to_frame(), dtype=float)
            yield f"{name} {memory}", [repr(E), round(float(value), 9), round(np.nansum(td), 5)]


def loops() -> Iterator[tuple[str, Any]]:
    """Where the oracle loop ends, and what is exact about the recall tasks."""
    for name in RECALLS:
        P = getattr(pomdps, name)()
        yield f"history {name}", str(best_history(P).value)
        for memory in ("none", "B1", "B2", "B5", "K1", "O1", "OA1", "OA2"):
            E = augment(P, memory)
            run = improve(E, uniform(E), step=0.02, ties="last")
            yield f"improve {name} {memory}", [round(float(run.mean), 5), run.ended]
        for memory in ("B1", "OA1"):
            E = augment(P, memory)
            q = evaluate(E, uniform(E), exact=True).q
            yield f"q {name} {memory}", [[str(q[o, a]) for a in E.A] for o in E.O]
            yield f"best {name} {memory}", str(best_memoryless(E).value)
            yield (
                f"enough {name} {memory}",
                [bool(can_encode_optimal(P, memory)), bool(is_sufficiently_expressive(P, memory))],
            )


def runs() -> Iterator[tuple[str, Any]]:
    """Digests of the rewards that learners earn, which follow from the seed bit for bit."""
    pairs = (("recall", "OA1"), ("recall", "B2"), ("gravity", "O1"), ("recall4", "B1"))
    for name, memory in pairs:
        E = augment(getattr(pomdps, name)(), memory)
        kinds = {"Q": QLearning(), "Sarsa(.5)": Sarsa(lam=0.5), "Sarsa(0)": Sarsa()}
        for kind, learner in {**kinds, "actor-critic": ActorCritic(n=5)}.items():
            yield (
                f"{kind} {name} {memory}",
                digest(learn(E, learner, steps=50_000, seeds=2).rewards),
            )


def soft_runs() -> Iterator[tuple[str, Any]]:
    """The same of learners that act by a softmax."""
    for name, memory in (("recall", "OA1"), ("gravity", "O1"), ("recall4", "B1")):
        E = augment(getattr(pomdps, name)(), memory)
        for learner in (SoftQLearning(temperature=0.2), SoftSarsa(temperature=0.2)):
            run = learn(E, learner, steps=50_000, seeds=2)
            yield f"{learner.kind} {name} {memory}", digest(run.rewards, run.tables["q"])


PARTS = {"products": products, "loops": loops, "runs": runs, "soft runs": soft_runs}


if __name__ == "__main__":
    print(json.dumps({part: dict(make()) for part, make in PARTS.items()}, indent=1))
