"""How often a memory adds local maxima: counts over many tasks, by memory.

For each task and memory all Kuhn-Tucker points of the return are listed (`critical_points`), which
says for certain whether

    worse      some local maximum is worth less than the best one
    strict     some strict one is
    added      some strict one is, although the memoryless return has one local maximum only
               (`more-memory-more-local-optima`)

Without strictness, rows that the policy does not reach may be anything. A task is not judged where
a box stayed undecided, or there are too many faces. Shares come with intervals.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from workbench.core.augment import augment
from workbench.core.errors import TooLarge
from workbench.core.pomdp import POMDP
from workbench.lab.frequencies import Share
from workbench.lab.optimum_statements import CLEARLY, has_one_maximum
from workbench.research.critical_points import CriticalPoint, CriticalPoints, critical_points

MEMORIES = ("none", "K1", "B1", "O1", "OA1")


@dataclass(frozen=True)
class MaximaCount:
    """What a memory does to the local maxima of some tasks.

    Attributes
    ----------
    worse, strict, added : see the module's text, among the tasks judged.
    most : the largest number of different values of local maxima of one task.
    not_judged : how many tasks were not.
    """

    memory: str
    worse: Share
    strict: Share
    added: Share
    most: int
    not_judged: int

    def __repr__(self) -> str:
        return (
            f"{self.memory}: worse {self.worse}, strict {self.strict}, added {self.added}, up to "
            f"{self.most} levels; {self.not_judged} not judged"
        )


def count_maxima(
    tasks: Iterable[POMDP], memories: Iterable[str] = MEMORIES, max_faces: int = 2_000
) -> dict[str, MaximaCount]:
    """Count local maxima of tasks with each memory.

    >>> from workbench.lab.sequences import discounted_sequence_task
    >>> count_maxima([discounted_sequence_task([[2, 0], [0, 1]])], ["none"])["none"].worse.hits
    1
    """
    tasks = list(tasks)
    alone = [_points(P, "none", max_faces) for P in tasks]
    found = {}
    for memory in memories:
        hits = {"worse": 0, "strict": 0, "added": 0}
        judged = most = 0
        for P, without in zip(tasks, alone, strict=True):
            points = without if memory == "none" else _points(P, memory, max_faces)
            if points is None or without is None:
                continue
            judged += 1
            maxima = points.of_kind("maximum")
            room = CLEARLY * max(abs(float(r)) for r in P.R)
            below = _clearly_below(maxima, room)
            strict = [point for point in below if point.strict]
            hits["worse"] += bool(below)
            hits["strict"] += bool(strict)
            hits["added"] += bool(strict) and memory != "none" and has_one_maximum(without) is True
            most = max(most, len(_levels(maxima, room)))
        found[memory] = MaximaCount(
            memory=memory,
            worse=Share(hits["worse"], judged),
            strict=Share(hits["strict"], judged),
            added=Share(hits["added"], judged),
            most=most,
            not_judged=len(tasks) - judged,
        )
    return found


def _points(P: POMDP, memory: str, max_faces: int) -> CriticalPoints | None:
    try:
        found = critical_points(augment(P, memory), max_faces=max_faces)
    except TooLarge:
        return None
    return found if found.complete else None


def _clearly_below(maxima: tuple[CriticalPoint, ...], room: float) -> list[CriticalPoint]:
    if not maxima:
        return []
    best = float(maxima[0].value)
    return [point for point in maxima if best - float(point.value) > room]


def _levels(maxima: tuple[CriticalPoint, ...], room: float) -> list[float]:
    """The different values of local maxima."""
    levels: list[float] = []
    for point in maxima:
        value = float(point.value)
        if all(abs(value - other) > room for other in levels):
            levels.append(value)
    return levels
