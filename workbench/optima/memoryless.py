"""The best deterministic memoryless policy by branch and bound, until its end or a limit.

Bounds of `branch_and_bound` let open decisions depend on the state. Three things that are known
elsewhere help a search that is long: the best history-based value caps every bound (`cap`), the
optimum of a smaller memory is a policy to begin with (`embedding`), and so are short climbs from
drawn policies.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from workbench.core.augment import augment
from workbench.core.errors import NeverEnds
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.optima.branch_and_bound import (
    BranchSearch,
    ReturnCriterion,
    float_above,
    search_over_states,
)
from workbench.optima.cap import Cap, history_cap
from workbench.optima.embedding import family_of, lift, smaller_families
from workbench.optima.mdp import MDP
from workbench.optima.optimum import MemorylessOptimum
from workbench.progress import Waiting
from workbench.text import counted

_PATIENCE, _SMALL_WORK = 64, 200_000
"""Nodes that branch and bound spends before it looks for help; more of them on a small process,
until nodes times pairs of a state and an action are so many. On the tiger problem with two nodes of
memory help takes 40 times as long as the search."""

_CLOSE_CAP = 1e-6
"""The gap of a cap, as a share of the value, within which a search need not tell policies apart."""

START_NODES = 300
"""Nodes spent on a good deterministic policy from which to ascend."""

_LARGE = 20_000
"""Pairs of a state and an action beyond which a product is helped before its first bound."""

_CLIMBS, _CLIMBED = 32, 1_000
"""Local searches from drawn policies that help branch and bound, and the states up to which they
do."""


@dataclass(frozen=True)
class SearchLimits:
    """Limits of a search: nodes or boxes, and seconds. Either may be infinite."""

    nodes: float
    seconds: float


def deterministic_optimum(
    criterion: ReturnCriterion,
    exact: bool,
    limits: SearchLimits,
    start: Policy | None = None,
) -> MemorylessOptimum:
    """`best_memoryless` for deterministic policies, its arguments checked."""
    began = time.monotonic()
    P, M = criterion.P, criterion.M
    if M.shape[0] == 0:
        pi = Policy.from_actions(P, np.zeros(len(P.O), dtype=np.int64))
        value = Fraction(0) if exact else 0.0
        how = "every episode ends at once"
        return MemorylessOptimum(P, pi, value, value, value, True, 0.0, 0, how, 0.0)
    until = criterion.until = began + limits.seconds
    informed = criterion.informed()
    search = search_over_states(criterion, informed.noise, exact, informed.optimum, until)
    search.lower_cap(informed.bound)
    if start is not None:
        search.offer(start.actions)
    help_ = Help(criterion, until)
    ended = _run(search, limits, began, help_)
    if ended and not search.nodes and informed.optimum is not None:  # nothing else is known
        search.lower_cap(criterion.upper_bound(informed.optimum))
    if search.best is None and (ended or criterion.always_defined):  # before the first was found
        for a in range(len(P.A)):
            search.offer(np.full(len(P.O), a, dtype=np.int64), climb=False)
    if search.best is None:
        raise NeverEnds(
            f"the search of {P.name} ended before it found a deterministic memoryless policy that "
            "ends with probability one: give it more time, or a gamma below 1"
            if ended
            else f"gamma is 1 and no deterministic memoryless policy of {P.name} ends with "
            "probability one; give a gamma below 1, or ask for deterministic=False"
        )
    bound, allowed_gap = search.bound, search.allowance
    certified = bool(search.finished and search.certified and search.is_met)
    decided = False
    if not exact and not ended and search.is_decidable:
        again = search.in_rationals()
        if again is not None:
            ended = _run(again, limits, began, help_)
            decided = bool(again.finished and again.certified)
            certified = certified or decided
            if P.is_exact or bound == math.inf:  # else it is to hold however floats are read
                bound = min(bound, again.bound)
            search = again
    assert search.best is not None
    policy = Policy.from_actions(P, search.best)
    value = search.value
    if not exact:
        bound = float_above(bound)
        # what rationals found belongs to the decimals of a model in floats, and to no other reading
        if search.exact and P.is_exact:
            value = float(value)
        else:
            value, error = criterion.worth(policy)
            if decided and error < math.inf:
                # nothing else is as good: the bound is what the policy is worth
                bound = min(bound, math.nextafter(value + error, math.inf) if error else value)
    bound = max(value, bound)
    nodes = search.nodes
    how = _how(P, nodes, ended, search)
    return MemorylessOptimum(
        P=P,
        policy=policy,
        value=value,
        bound=bound,
        gap=bound - value,
        certified=certified,
        tolerance=allowed_gap,
        nodes=nodes,
        how=how,
        seconds=time.monotonic() - began,
        interrupted=ended == "interrupted",
        criterion=criterion.name,
    )


def _is_large(M: MDP) -> bool:
    return M.shape[0] * M.shape[1] > _LARGE


def _is_hard(search: BranchSearch, limits: SearchLimits) -> bool:
    """Whether a search is long enough, or near enough to its limit, to be worth help."""
    states, actions = search.M.shape
    return search.nodes >= max(_PATIENCE, min(_SMALL_WORK / (states * actions), limits.nodes / 2))


class Help:
    """Help for a search that is not easy. It may be a cap, policies of smaller memories, and the
    best of some local searches. It is worked out once."""

    def __init__(self, criterion: ReturnCriterion, until: float):
        self.criterion, self.P, self.until = criterion, criterion.P, until
        self.cap: Cap | None = None
        self.given = False

    @property
    def left(self) -> float:
        """Seconds."""
        return max(self.until - time.monotonic(), 0.0)

    def give(self, search: BranchSearch, capped: bool = True) -> None:
        if self.given:
            return
        self.given = True
        if capped and self.left > 0 and self.criterion.name == "return":
            self.cap = history_cap(self.P, self.left / 4)
            if self.cap is not None:
                search.lower_cap(self.cap.upper)
        self._offer_smaller(search)
        # bounds guide the search to policies that look good with the state in sight; where memory
        # has to be built up, many short climbs from anywhere are the better guide
        rng = np.random.default_rng(0)
        for _ in range(_CLIMBS if search.M.shape[0] <= _CLIMBED else 0):
            if search.finished or self.left <= 0:
                return
            search.climb_from(rng.integers(search.M.shape[1], size=search.observations))

    def _offer_smaller(self, search: BranchSearch) -> None:
        """Offer the optima of smaller memories, the smallest first. One that meets the cap makes
        the larger ones, and all bounds over P, unnecessary.

        They share half of the time, and what one leaves is for those after it.
        """
        family = family_of(self.P.origin.memory) if self.P.origin is not None else None
        tasks = [] if family is None else smaller_families(family)
        until = time.monotonic() + self.left / 2
        for i, smaller in enumerate(tasks):
            spare = until - time.monotonic()
            if search.finished or spare <= 0:
                return
            assert self.P.origin is not None
            small = type(self.criterion)(augment(self.P.origin.P, smaller))
            limits = SearchLimits(START_NODES, spare / (len(tasks) - i))
            try:
                found = deterministic_optimum(small, False, limits)
            except NeverEnds:
                continue
            # a climb on a large product costs more than the next smaller memory
            climb = not (found.interrupted or _is_large(search.M))
            search.offer(lift(self.P, small.P, found.policy.actions), climb)
            if found.interrupted:
                raise KeyboardInterrupt  # it is meant for the whole search, not for this part

    def is_met_by(self, value: Any) -> bool:
        """Whether a value is as good as the bounds on history-based policies can tell. Their gap
        has to be small."""
        cap = self.cap
        if cap is None or cap.exact:
            return False
        close = cap.upper - cap.lower <= _CLOSE_CAP * max(abs(cap.upper), abs(cap.lower))
        return bool(close and value >= cap.lower)


def _run(search: BranchSearch, limits: SearchLimits, began: float, help_: Help) -> str:
    """Branch until the search is finished or a limit is met. Returns how it ended."""
    until = began + limits.seconds
    with Waiting(f"best memoryless of {help_.P.name}") as waiting:
        try:
            while not search.finished:
                if help_.is_met_by(search.value):
                    return "as good as any history-based policy that is known"
                if search.nodes >= limits.nodes:
                    return f"stopped at {limits.nodes:,} nodes"
                if time.monotonic() >= until:
                    return f"stopped after {limits.seconds:g} seconds"
                # where one bound may take minutes, cheap help comes first
                if not help_.given and (_is_hard(search, limits) or _is_large(search.M)):
                    help_.give(search)
                    continue
                search.run_one()
                low, high = float(search.value), float(search.highest)
                root = float(search.root)
                share = (root - high) / (root - low) if root > low > -math.inf else 0.0
                waiting.report(share, f"{search.nodes:,} nodes, best {low:.6g}, bound {high:.6g}")
        except KeyboardInterrupt:
            if search.best is None:
                raise  # there is nothing to show
            return "interrupted"
    return ""


def _how(P: POMDP, nodes: int, ended: str, search: BranchSearch) -> str:
    text = f"branch and bound, {counted(nodes, 'node')}"
    if search.exact and not P.is_exact:
        text += ", floats read as decimals"
    if ended:
        text += f", {ended}"
    if not search.certified:
        text += "; floats certify no bound: use an exact model"
    return text
