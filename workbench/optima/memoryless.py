"""The best memoryless policy: branch and bound run to its end or to a limit, and ascent from many
starts.

`branch_and_bound` searches over one relaxation. Here it starts with the states of the POMDP; if
those do not settle it soon and the reachable beliefs are few, it starts again over beliefs, whose
bounds are tighter: an open decision may then depend on the history, but not on what is hidden from
it.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain

import numpy as np
from numpy.typing import NDArray

from workbench.errors import NeverEnds, NotExact, TooLarge
from workbench.evaluation.fields import FLOATS, RATIONALS
from workbench.model.beliefs import explore_beliefs, reachable_beliefs
from workbench.model.policy import Policy
from workbench.model.pomdp import POMDP
from workbench.optima.all_optimal import optimal_behaviours
from workbench.optima.ascent import Climbed, ascend
from workbench.optima.branch_and_bound import BranchSearch, search_over_states
from workbench.optima.history import belief_process, in_rationals
from workbench.optima.mdp import from_states, optimal, require_end
from workbench.optima.optimum import MemorylessOptimum, StochasticOptimum
from workbench.optima.symmetry import interchangeable
from workbench.progress import Waiting
from workbench.text import counted

_PATIENCE = 64
"""Nodes that branch and bound spends on bounds from states before it looks whether beliefs are
few."""

_FEW_BELIEFS = 4_000

_START_NODES = 300
"""Nodes spent on a good deterministic policy from which to ascend."""

_EVALUATIONS = 2_000
"""Policies evaluated on the way up from each start."""


@dataclass(frozen=True)
class SearchLimits:
    """Of a search: nodes, seconds (may be infinite), and how many optimal policies to list (None:
    do not)."""

    nodes: int
    seconds: float
    optimal: int | None


def _belief_search(
    P: POMDP, tolerance: float, exact: bool, limit: int | None
) -> BranchSearch | None:
    """The search with bounds over beliefs; None (if a limit is given) where they are too many."""
    rational = in_rationals(P)
    if rational is None:
        if limit is None:
            raise NotExact(
                f"the floats of {P.name} are no distributions as decimals: its beliefs cannot be "
                "listed"
            )
        return None
    graph = reachable_beliefs(rational) if limit is None else explore_beliefs(rational, limit)
    if not graph.complete:
        return None
    floats = belief_process(graph, FLOATS)
    return BranchSearch(
        floats,
        lambda: belief_process(graph, RATIONALS),
        len(P.O),
        interchangeable(P),
        tolerance,
        exact,
    )


def deterministic_optimum(
    P: POMDP, exact: bool, information: str, tolerance: float, limits: SearchLimits
) -> MemorylessOptimum:
    """`optimum.best_memoryless` for deterministic policies, its arguments checked."""
    began = time.monotonic()
    M = from_states(P, FLOATS)
    if M.shape[0] == 0:
        pi = Policy.from_actions(P, np.zeros(len(P.O), dtype=np.int64))
        value = Fraction(0) if exact else 0.0
        only = None if limits.optimal is None else (pi,)
        how = "every episode ends at once"
        return MemorylessOptimum(P, pi, value, value, value, True, 0.0, 0, how, 0.0, optimal=only)
    informed = optimal(M)
    require_end(P, informed)
    absolute = tolerance * M.scale(informed.v)
    search = _belief_search(P, absolute, exact, None) if information == "beliefs" else None
    search = search or search_over_states(P, M, absolute, exact)
    search, before, ended = _run(P, search, limits, exact, information == "auto", absolute, began)
    if search.best is None:
        raise NeverEnds(
            f"gamma is 1 and no deterministic memoryless policy of {P.name} "
            + ("was found that ends" if ended else "ends")
            + " with probability one; give a gamma below 1, or ask for deterministic=False"
        )
    value, bound = search.value, search.bound
    allowed_gap = 0.0 if exact else max(absolute, tolerance * abs(value))
    certified = search.certified and search.finished and bool(bound - value <= allowed_gap)
    nodes = before + search.nodes
    how = _how(nodes, ended, certified, search)
    if limits.optimal is not None and not certified:
        raise TooLarge(
            f"the optimal policies of {P.name} cannot be listed before the optimum is certain: "
            f"{how}"
        )
    listed = None
    if limits.optimal is not None:
        rational = from_states(P, RATIONALS) if exact else None
        choices = optimal_behaviours(M, rational, len(P.O), value, absolute, limits.optimal, P.name)
        listed = tuple(Policy.from_actions(P, np.maximum(choice, 0)) for choice in choices)
    return MemorylessOptimum(
        P=P,
        policy=Policy.from_actions(P, search.best),
        value=value,
        bound=bound,
        gap=bound - value,
        certified=certified,
        tolerance=allowed_gap,
        nodes=nodes,
        how=how,
        seconds=time.monotonic() - began,
        interrupted=ended == "interrupted",
        optimal=listed,
    )


def _run(
    P: POMDP,
    search: BranchSearch,
    limits: SearchLimits,
    exact: bool,
    look: bool,
    absolute: float,
    began: float,
) -> tuple[BranchSearch, int, str]:
    """Branch until the search is finished or a limit is met: the search, the nodes spent before it,
    how it ended.

    `look` says whether to look for tighter bounds over beliefs.
    """
    before, root = 0, search.root
    with Waiting(f"best memoryless of {P.name}") as waiting:
        try:
            while not search.finished:
                spent = before + search.nodes
                if spent >= limits.nodes:
                    return search, before, f"stopped at {limits.nodes:,} nodes"
                if time.monotonic() - began >= limits.seconds:
                    return search, before, f"stopped after {limits.seconds:g} seconds"
                if look and spent >= _PATIENCE:
                    look = False
                    tighter = _belief_search(P, absolute, exact, _FEW_BELIEFS)
                    if tighter is not None and tighter.root < search.highest - (
                        0 if exact else absolute
                    ):
                        if search.best is not None:
                            tighter.offer(search.best)
                        before, search = spent, tighter
                        continue
                search.run_one(began + limits.seconds)
                low, high = float(search.value), float(search.highest)
                share = (
                    (float(root) - high) / (float(root) - low)
                    if float(root) > low > -math.inf
                    else 0.0
                )
                waiting.report(share, f"{spent:,} nodes, best {low:.6g}, bound {high:.6g}")
        except KeyboardInterrupt:
            return search, before, "interrupted"
    return search, before, ""


def _how(nodes: int, ended: str, certified: bool, search: BranchSearch) -> str:
    text = f"branch and bound, {counted(nodes, 'node')}"
    if ended:
        text += f", {ended}"
    if not certified and not search.certified:
        text += (
            "; gamma is 1 and loops without reward keep floats from certifying the "
            "bound: use an exact model"
        )
    return text


# ---------------------------------------------------------------------- stochastic policies


def stochastic_optimum(P: POMDP, tolerance: float, starts: int, seed: int) -> StochasticOptimum:
    """`optimum.best_memoryless` for stochastic policies, its arguments checked."""
    began = time.monotonic()
    M = from_states(P, FLOATS)
    nO, nA = len(P.O), len(P.A)
    even = np.full((nO, nA), 1 / nA)
    if M.shape[0] == 0:
        how = "every episode ends at once"
        return StochasticOptimum(
            P, Policy(P, even), 0.0, 0.0, 0.0, True, 0.0, 0, how, 0.0, kkt=0.0, first_order=True
        )
    informed = optimal(M)
    require_end(P, informed)
    absolute = tolerance * M.scale(informed.v)
    search = search_over_states(P, M, absolute, exact=False)
    rng = np.random.default_rng(seed)
    found: list[Climbed] = []
    interrupted = False
    with Waiting(f"stochastic policies of {P.name}") as waiting:
        try:
            while not search.finished and search.nodes < _START_NODES:
                search.run_one()
                waiting.report(0.0, f"a deterministic start: {search.nodes:,} nodes")
            drawn = (rng.dirichlet(np.ones(nA), nO) for _ in range(starts))
            for i, pi in enumerate(chain(_first_starts(search, even), drawn)):
                found.append(ascend(M, pi, tolerance, _EVALUATIONS))
                highest = max(climbed.value for climbed in found)
                waiting.report((i + 1) / (starts + 2), f"{i + 1} starts, best {highest:.6g}")
        except KeyboardInterrupt:
            interrupted = True
            found = found or [ascend(M, even, tolerance, 0)]
    found = sorted((c for c in found if c.value > -math.inf), key=lambda c: (-c.value, c.kkt))
    if not found:
        raise NeverEnds(
            f"gamma is 1 and none of the starts is a policy of {P.name} that ends with "
            "probability one"
        )
    best = found[0]
    policy, value = Policy(P, best.pi), best.value
    bound = max(value, float(search.root))
    how = f"ascent along the exact gradient from {len(found)} starts, a lower bound"
    return StochasticOptimum(
        P=P,
        policy=policy,
        value=value,
        bound=bound,
        gap=bound - value,
        certified=search.certified and bool(bound - value <= absolute),
        tolerance=absolute,
        nodes=search.nodes,
        how=how + (", interrupted" if interrupted else ""),
        seconds=time.monotonic() - began,
        interrupted=interrupted,
        kkt=best.kkt,
        first_order=bool(best.kkt <= absolute),
        starts=tuple(c.value for c in found),
    )


def _first_starts(search: BranchSearch, even: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """The uniform policy, and the best deterministic one that is known."""
    if search.best is None:
        return [even]
    pure = np.zeros_like(even)
    pure[np.arange(len(even)), np.maximum(search.best, 0)] = 1.0
    return [pure, even]
