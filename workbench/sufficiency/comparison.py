"""One task, several memories, side by side: what each can represent, where the oracle loop ends,
what misleads TD.

For each memory: the size of the augmented POMDP; the best value of a deterministic memoryless
policy (what the memory is good for); where the oracle loop of Section 5.2 ends from the uniform
policy; how many non-Markovian shortcuts the optimal deterministic policies have (Section 5.1);
whether the memory is sufficiently expressive (Definition A.2). What a limit of size or time leaves
undecided is None.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from workbench.core.augment import augment
from workbench.core.errors import NeverEnds, WorkbenchError
from workbench.core.improve import BUDGET, Improvement, improve, weights_for
from workbench.core.policy import uniform
from workbench.core.pomdp import POMDP
from workbench.memories import Family, Memory, attach
from workbench.optima.best_history import best_history
from workbench.optima.best_memoryless import best_memoryless
from workbench.optima.optimum import HistoryOptimum, MemorylessOptimum
from workbench.optima.shortcut_count import ShortcutCount, count_shortcuts
from workbench.plain_numbers import deadline, share_of
from workbench.sufficiency.expressive import is_sufficiently_expressive

MOST_STATES = 20_000
"""Larger augmented POMDPs are only counted."""

MOST_OPTIMAL = 200
"""Optimal policies whose shortcuts are counted."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """One memory on one task. Parts that a limit left undecided are None."""

    memory: str
    P: POMDP
    best: MemorylessOptimum | None
    oracle: Improvement | None
    shortcuts: ShortcutCount | None
    expressive: bool | None


def compare(
    P: POMDP,
    memories: Iterable[Memory | Family | str],
    step: float = 0.02,
    budget: int = BUDGET,
    max_nodes: int = 2_000,
    max_seconds: float | None = None,
) -> Iterator[Comparison]:
    """Compare memories on a task, one after the other.

    Parameters
    ----------
    step, budget : of the oracle loop from the uniform policy.
    max_nodes : of the branch and bound for the best memoryless policy.
    max_seconds : of each memory, shared among the searches; what they do not decide is None.

    >>> from workbench.improvement.batch import sequence_task
    >>> P = sequence_task([[1, 0], [0, 0]])
    >>> [(row.memory, row.best.value, row.expressive) for row in compare(P, ["none", "OA1"])]
    [('none', 1.0, False), ('OA1', 1.0, True)]
    """
    for one in memories:
        memory = attach(one, P)
        E = augment(P, memory)
        if len(E.S) > MOST_STATES:
            yield Comparison(memory.name, E, None, None, None, None)
            continue
        until = deadline(max_seconds)
        best = _best(E, max_nodes, share_of(until, 4))
        pi = uniform(E)
        oracle = improve(
            E, pi, step, budget=budget, weights=weights_for(E, pi), max_seconds=share_of(until, 3)
        )
        is_optimal = best is not None and best.certified
        yield Comparison(
            memory=memory.name,
            P=E,
            best=best,
            oracle=oracle,
            shortcuts=_shortcuts(E, share_of(until, 2)) if is_optimal else None,
            expressive=_expressive(P, memory, share_of(until, 1)),
        )


def ceiling(P: POMDP, max_seconds: float | None = None) -> HistoryOptimum:
    """The best history-based value: no memory that stores observations and actions does better."""
    return best_history(P, max_seconds=max_seconds)


def _best(E: POMDP, max_nodes: int, seconds: float | None) -> MemorylessOptimum | None:
    try:
        return best_memoryless(E, deterministic=True, max_nodes=max_nodes, max_seconds=seconds)
    except NeverEnds:
        return None  # gamma is 1 and no deterministic policy ends


def _shortcuts(E: POMDP, seconds: float | None) -> ShortcutCount | None:
    try:
        return count_shortcuts(E, most=MOST_OPTIMAL, max_seconds=seconds)
    except WorkbenchError:
        return None  # too many candidates, too little time, or values that are not defined


def _expressive(P: POMDP, memory: Memory, seconds: float | None) -> bool | None:
    try:
        return is_sufficiently_expressive(P, memory, max_seconds=seconds).holds
    except WorkbenchError:
        return None  # beliefs that are too many, or a model of floats
