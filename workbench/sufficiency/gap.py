"""Whether one memory closes the gap between memoryless policies and policies of the whole history
(Appendix A.2).

A memory closes the gap of P if some memoryless policy of <P, memory> is worth V*, the best
history-based value (`can_encode.can_encode_optimal`). Two ways to answer, the first that applies:

1.  Finitely many beliefs: `can_encode_optimal` decides exactly.
2.  Otherwise values: policies are looked for by ascent along the exact gradient, their values
    bounded by branch and bound. Deterministic policies are enough for the bound if gamma < 1 or all
    episodes end within a fixed time (`can_encode` has the argument); else a bound on them refutes
    nothing.

Values that agree within `tolerance`, as a share of their size, count as equal in 2. The value
of every policy found with a memory is a lower bound on V*, since a memory holds no more than the
history.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from workbench.agents.beliefs import explore_beliefs
from workbench.core.augment import augment
from workbench.core.errors import NeverEnds, Unbounded
from workbench.core.evaluate import evaluate
from workbench.core.fields import FLOATS
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.memories import Family, attach, none
from workbench.optima.best_memoryless import best_memoryless
from workbench.optima.mdp import from_states, in_rationals, size_of_values
from workbench.optima.optimum import HistoryOptimum, MemorylessOptimum
from workbench.plain_numbers import LEAST_SECONDS
from workbench.sufficiency.can_encode import encoding_on_beliefs
from workbench.sufficiency.memory_answer import BUDGET
from workbench.text import brief

_CLIMBS = 40
"""Random policies to ascend from: one that is missed costs an answer, and makes none wrong."""


_REASONS: dict[bool | None, str] = {
    True: "some memoryless policy is worth as much as the best of the history",
    False: "no memoryless policy is worth as much as the best of the history",
}


@dataclass(frozen=True)
class Limits:
    """How long to search.

    Attributes
    ----------
    seconds : for each memory, for the best memoryless policy and for the best history-based one.
    max_beliefs : with more, beliefs count as too many to list; max_backups : of the bounds on V*
        then.
    max_states : larger augmented POMDPs are not searched for policies.
    tolerance : as a share of the largest reward, or value with full information; values this close
        count as equal.
    """

    seconds: float = 10.0
    max_beliefs: int = 2_000
    max_backups: int = 2_000
    max_states: int = 20_000
    tolerance: float = 1e-6


@dataclass(frozen=True)
class Attempt:
    """Whether a memory closes the gap: True, False, or None if undecided. It holds the best value
    found with it, if one was."""

    memory: str
    holds: bool | None
    reason: str
    value: float | None = None


class GapCloser:
    """A task that memories are tried on, with all that is shared between them."""

    def __init__(self, P: POMDP, history: HistoryOptimum, limits: Limits, until: float = math.inf):
        self.P, self.history, self.limits, self.until = P, history, limits, until
        self.lower = history.lower
        M = from_states(P, FLOATS)
        self.margin = limits.tolerance * size_of_values(M)
        self.mixing = P.gamma == 1 and not M.is_acyclic
        rational = None if history.beliefs is None else in_rationals(P)
        graph = None if rational is None else explore_beliefs(rational, limits.max_beliefs)
        self.graph = graph if graph is not None and graph.complete and len(graph) else None

    @property
    def seconds(self) -> float:
        """For the next search."""
        return max(min(self.limits.seconds, self.until - time.monotonic()), LEAST_SECONDS)

    def closes(self, value: float) -> bool:
        return value >= float(self.history.upper) - self.margin

    def about(self, family: Family) -> Attempt:
        """Whether a memory closes the gap, by the first way that applies."""
        return self.on_beliefs(family) or self.by_values(family)

    def on_beliefs(self, family: Family) -> Attempt | None:
        """The answer from a finite list of beliefs, or None where there is none."""
        if self.graph is None:
            return None
        until = time.monotonic() + self.seconds
        memory = attach(family, self.P)
        found = encoding_on_beliefs(self.P, self.graph, memory, BUDGET, until)
        plain = found.method == "beliefs" and found.lacks == 0
        return Attempt(
            family.name, found.holds, _REASONS.get(found.holds if plain else None, found.reason)
        )

    def by_values(
        self,
        family: Family,
        climbed: tuple[float, Policy | None] | None = None,
        bounded: MemorylessOptimum | None = None,
    ) -> Attempt:
        """The answer from the values of policies. A policy and a bound that are known need not be
        found again."""
        seconds = self.seconds
        memory = attach(family, self.P)
        size = len(self.P.S) * len(memory.M)
        if family is not none and size > self.limits.max_states:
            return Attempt(family.name, None, f"not searched: {size:,} states (s, m)")
        E = self.P if family is none else augment(self.P, memory)
        value, policy = climb_by_ascent(E, seconds / 2) if climbed is None else climbed
        if policy is not None:
            found = evaluate(E, policy, weights="discounted")
            self.lower = max(self.lower, float(found.value) - found.error)
        if self.closes(value):
            return Attempt(
                family.name,
                True,
                f"a policy is worth {brief(value)}, no history-based one more",
                value,
            )
        if bounded is None and not self.mixing:
            bounded = best_memoryless(E, max_seconds=seconds / 2)
            if bounded.interrupted:
                raise KeyboardInterrupt
        if bounded is not None and not self.mixing and bounded.bound < self.lower:
            reason = (
                f"a history-based policy is worth {brief(self.lower)}, no deterministic one more "
                f"than {brief(bounded.bound)}; then no stochastic one is as good either"
            )
            return Attempt(family.name, False, reason, value)
        return Attempt(family.name, None, f"the best policy found is worth {brief(value)}", value)


def climb_by_ascent(
    P: POMDP, seconds: float, start: Policy | None = None
) -> tuple[float, Policy | None]:
    """The value of a good stochastic memoryless policy, found by ascent within a time. Minus
    infinity if none is found that ends."""
    try:
        found = best_memoryless(
            P, deterministic=False, start=start, starts=_CLIMBS, max_boxes=0, max_seconds=seconds
        )
    except (NeverEnds, Unbounded):
        return -math.inf, None
    if found.interrupted:
        raise KeyboardInterrupt
    return float(found.value), found.policy
