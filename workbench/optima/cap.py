"""The best history-based bound of the task that a product is made of, computed once and shared.

In <P, memory> with a Gamma that reads no rewards the pair (m_t, o_t) is a function of the history
o_0, a_0, ..., o_t and of chance, and chance does not help the best history-based policy. So

    J(pi) <= V*(P)      for every memoryless policy pi of <P, memory>, deterministic or not,

for every such memory at once. Where Gamma reads rewards, the bound is that of the product itself.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

from workbench.core.memory import Memory
from workbench.core.numbers import Number
from workbench.core.pomdp import POMDP
from workbench.core.space import Label
from workbench.optima.history import HistoryLimits, history_optimum

MOST_SECONDS = 10.0
"""For the bound, unless the search it serves has less."""

_LIMITS = 1_500, 10_000
"""Beliefs to list, and backups."""

_CLOSE = 1e-10
"""The gap asked of the bound, as a share of the values: it is to be met by policies."""


@dataclass(frozen=True)
class Cap:
    """Bounds on the best history-based value. No memoryless policy is worth more than `upper`, and
    some history-based one is worth `lower`."""

    lower: Number
    upper: Number
    exact: bool


def history_cap(P: POMDP, seconds: float = math.inf) -> Cap | None:
    """Bounds on the history-based value of a task, or of the task of a product. None where values
    are unbounded.

    It is kept with the task, since every memory asks for it; one that was found in less time than
    there is now, and left a gap, is computed again.
    """
    task = P
    if P.origin is not None and not reads_rewards(P.origin.P, P.origin.memory):
        task = P.origin.P
    seconds = min(seconds, MOST_SECONDS)
    kept: tuple[float, Cap | None] | None = task.__dict__.get("_history_cap")
    if kept is not None:
        spent, cap = kept
        if cap is None or cap.exact or seconds <= spent:
            return cap
    beliefs, backups = _LIMITS
    found = history_optimum(task, None, HistoryLimits(beliefs, backups, seconds), _CLOSE)
    if found.interrupted:
        raise KeyboardInterrupt  # it is meant for the search that asks
    cap = None
    if float(found.upper) < math.inf:
        upper = found.upper if found.exact else float(found.upper)
        cap = Cap(found.lower, upper, found.exact)
    task.__dict__["_history_cap"] = seconds, cap
    return cap


_READS = 100_000
"""Whether Gamma reads rewards is found by asking it, up to so many arguments; else it may."""


def reads_rewards(P: POMDP, memory: Memory) -> bool:
    """Whether Gamma gives different distributions for different rewards of P, or may."""
    if memory.step is not None or len(P.R) <= 1:
        return False
    arguments = (memory.M, memory.W, P.O, P.A, P.O)
    if len(memory.M) * len(memory.W) * len(P.O) ** 2 * len(P.A) * len(P.R) > _READS:
        return True

    def row(r: Number, *labels: Any) -> dict[Label, Number]:
        m, w, o, a, o_next = labels
        return {t: x for t, x in memory.Gamma(m, w, o, a, r, o_next).items() if x != 0}

    first, *others = P.R
    return any(
        row(r, *labels) != row(first, *labels)
        for labels in itertools.product(*arguments)
        if labels[1] in memory.writes(labels[0], labels[2])
        for r in others
    )
