"""The exercises of notebook 10: a sweep as text, and what makes finished cells useless."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from pomdps import gravity
from workbench.cli.task_name import find_task
from workbench.core.learners import QLearning
from workbench.sweeps.cell import fingerprint, key_of
from workbench.sweeps.spec import parse_spec

SPEC = """
[grid]
task = "gravity"
memory = ["B1", "O1"]
learner = "sarsa"
lam = [0.0, 1.0]
seeds = 10
steps = 50_000
"""


def exercise_1(answer: Any) -> bool | str:
    """Q-learning on recall with OA1 and B2, steps 0.05, 0.1 and 0.2, the seeds 0 to 19."""
    cells = parse_spec(answer, find_task).cells
    if {(cell.task, cell.memory) for cell in cells} != {("recall", "OA1"), ("recall", "B2")}:
        return "The task is recall, the memories are OA1 and B2."
    if not all(isinstance(cell.method, QLearning) for cell in cells):
        return "The learner is Q-learning."
    if {cell.method.step for cell in cells} != {0.05, 0.1, 0.2}:
        return "The learner's step sizes are not the three asked for."
    seeds = {seed for cell in cells for seed in cell.seeds}
    if seeds != set(range(20)):
        return f"There are to be 20 seeds, 0 to 19; here are {len(seeds)}."
    return (
        True
        if len(cells) == 24
        else f"That makes {len(cells)} cells, and one sweep of everything makes 24."
    )


def exercise_2(answer: Any) -> bool | str:
    """Which changes make finished cells useless; the letters as a set."""
    before = _keys(SPEC)
    after = {
        "a": _keys(SPEC.replace('["B1", "O1"]', '["O1", "OA1", "B1"]')),
        "b": _keys(SPEC.replace("seeds = 10", "seeds = 30")),
        "c": _keys(SPEC.replace("seeds", "epsilon = 0.01\nseeds")),
        "d": _keys(SPEC, p_down=Fraction(8, 10)),
        "e": _keys(SPEC.replace("50_000", "60_000")),
    }
    given = set(answer)
    if not given <= after.keys():
        return f"Give some of the letters {', '.join(after)}, as a set."
    useless = {letter for letter, keys in after.items() if before - keys}
    return (
        True
        if given == useless
        else f"{len(given & useless)} of your {len(given)} do, and some others may."
    )


def _keys(spec: str, **settings: Any) -> set[str]:
    tables = fingerprint(gravity(**settings))
    return {key_of(cell.content(tables)) for cell in parse_spec(spec, find_task).cells}
