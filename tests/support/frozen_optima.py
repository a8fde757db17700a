"""Optima, fixed points and critical points of known tasks, as one file keeps them.

    python -m tests.support.frozen_optima           # adds to tests/data/optima.json

Each question is asked with a budget. What was certain must stay certain and the same; where a
budget ended a search, old and new bounds must leave room for one value.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

from pomdps import TASKS
from workbench import (
    POMDP,
    QLearning,
    Sarsa,
    augment,
    best_history,
    best_memoryless,
    critical_points,
    equilibria,
    load_pomdp,
    memories,
)

DATA = Path(__file__).parent.parent / "data"
FILE = DATA / "optima.json"

MOST_STATES = 120
"""Larger tasks take minutes."""

SECONDS = 10.0

SMALL = (
    "recall4",
    "recall_variant",
    "recall",
    "alternation",
    "delayed_match",
    "short_corridor",
    "periodic_counter",
    "parity_check",
    "float_reset",
    "tiger",
    "belief_corridor",
    "invisible_door",
)
"""Tasks whose fixed points are listed."""

FEW_FACES = ("recall4", "recall_variant", "recall", "alternation", "short_corridor", "tiger")
"""Tasks whose critical points are listed."""


def tasks() -> dict[str, Callable[[], POMDP]]:
    """The tasks of docs/census.md that are small: by name, and by file."""
    found: dict[str, Callable[[], POMDP]] = {
        name: record.make for name, record in TASKS.items() if not record.extra
    }
    for path in sorted(DATA.iterdir()):
        if path.suffix.lower() == ".pomdp":
            found[path.name] = lambda path=path: load_pomdp(path)  # type: ignore[misc]
    return found


def _number(x: Any) -> str | float:
    return str(x) if isinstance(x, Fraction | int) else float(x)


def _memoryless(found: Any) -> dict[str, Any]:
    return {
        "lower": _number(found.value),
        "upper": _number(found.bound),
        "certain": bool(found.certified),
    }


def _history(found: Any) -> dict[str, Any]:
    return {
        "lower": _number(found.lower),
        "upper": _number(found.upper),
        "certain": bool(found.exact),
    }


def _fixed(found: Any) -> dict[str, Any]:
    """How many fixed points there are, which in a digest, and the best and the worst value."""
    points = sorted([str([int(a) for a in e.policy.actions]), bool(e.strict)] for e in found)
    values = [float(e.value) for e in found if e.value == e.value]  # NaN where it never ends
    return {
        "count": len(points),
        "digest": hashlib.sha256(json.dumps(points).encode()).hexdigest()[:16],
        "values": [min(values), max(values)] if values else [],
        "certain": bool(found.complete),
    }


def _critical(found: Any) -> dict[str, Any]:
    points = sorted([round(float(c.value), 9), str(c.kind)] for c in found)
    return {"points": points, "certain": bool(found.complete)}


Question = Callable[[], dict[str, Any]]


def questions(name: str, P: POMDP, seconds: float = SECONDS) -> Iterator[tuple[str, Question]]:
    """What is asked of a task, by name, with a time limit for each."""
    yield "history", lambda: _history(best_history(P, max_seconds=seconds))
    for criterion in ("return", "average"):
        for kind, deterministic in (("deterministic", True), ("stochastic", False)):
            yield (
                f"{kind} {criterion}",
                lambda c=criterion, d=deterministic: _memoryless(
                    best_memoryless(P, d, criterion=c, max_seconds=seconds)
                ),
            )
    yield (
        "history average",
        lambda: _history(best_history(P, criterion="average", max_seconds=seconds)),
    )
    if P.is_exact:
        yield "exact", lambda: _memoryless(best_memoryless(P, exact=True, max_seconds=seconds))
    if name in SMALL:
        for memory in ("none", "B1"):
            E = augment(P, memories.none if memory == "none" else memories.B(1))
            for learner in (QLearning(epsilon=Fraction(1, 10)), Sarsa(epsilon=Fraction(1, 10))):
                yield (
                    f"{type(learner).__name__} {memory}",
                    lambda E=E, x=learner: _fixed(equilibria(E, x, most=3_000, nodes=100)),
                )
    if name in FEW_FACES:
        yield "critical", lambda: _critical(critical_points(P, max_faces=300))


def answer(question: Question) -> dict[str, Any]:
    try:
        return question()
    except Exception as error:
        return {"error": type(error).__name__}


def complaint(old: dict[str, Any], new: dict[str, Any]) -> str:
    """What is worse than it was, or different; empty if nothing is."""
    if "error" in old:
        return ""  # an answer where there was none is welcome, and another refusal is no loss
    if "error" in new:
        return f"{new['error']} in place of an answer"
    if old["certain"] and not new["certain"]:
        return "no longer certain"
    if "lower" not in old:
        return "" if not old["certain"] or _alike(old, new) else f"{new}, not {old}"
    if old["certain"] and not _is_near(new["lower"], old["lower"]):
        return f"{new['lower']}, not {old['lower']}"
    low = max(float(Fraction(x["lower"])) for x in (old, new))
    high = min(float(Fraction(x["upper"])) for x in (old, new))
    fits = low <= high or _is_near(low, high)
    return "" if fits else f"{new['lower']} to {new['upper']} excludes {old['lower']}"


def _alike(old: Any, new: Any) -> bool:
    """The same numbers and words, in the same order."""
    if isinstance(old, dict):
        return all(_alike(old[key], new[key]) for key in old)
    if isinstance(old, list):
        return len(old) == len(new) and all(map(_alike, old, new))
    return _is_near(old, new) if isinstance(old, float) else bool(old == new)


def _is_near(x: Any, y: Any) -> bool:
    if isinstance(x, str) and isinstance(y, str):
        return x == y  # fractions, or infinite
    return math.isclose(float(Fraction(x)), float(Fraction(y)), rel_tol=1e-8, abs_tol=1e-9)


def main() -> None:
    frozen: dict[str, Any] = json.loads(FILE.read_text()) if FILE.exists() else {}
    for name, make in tasks().items():
        P = make()
        if name in frozen or len(P.S) > MOST_STATES:
            continue
        frozen[name] = {}
        for what, question in questions(name, P):
            began = time.monotonic()
            frozen[name][what] = answer(question)
            print(f"{name}: {what}: {time.monotonic() - began:.1f} s", flush=True)
        FILE.write_text(json.dumps(frozen))


if __name__ == "__main__":
    main()
