"""The best history-based value (Appendix A.2): what an agent that remembers everything can reach.

A history matters only through its last observation and its belief b(H), so the best history-based
policy is that of an MDP whose states are the reachable pairs (o, b) (`beliefs`):

    V(b) = max_a [ sum_s b(s) R(s,a) + gamma sum_o P(o, goes on | b,a) V(b_{a,o}) ]

Where these are finitely many, as they are in every task of finite horizon, policy iteration solves
it: in rationals unless a strongly connected part is too large, in floats with a certificate then.
Where they are too many, `point_based` closes in on V from both sides.
"""

from __future__ import annotations

import math
import sys
import time
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.errors import ModelError, TooLarge
from workbench.evaluation.chain import dynamics
from workbench.evaluation.evaluate import state_values
from workbench.evaluation.fields import FLOATS, RATIONALS, Field
from workbench.model.beliefs import BeliefEdge, BeliefGraph, explore_beliefs
from workbench.model.numbers import Number, Numbers
from workbench.model.policy import Policy, uniform
from workbench.model.pomdp import POMDP
from workbench.model.walk_kernels import strong_components
from workbench.optima.branch_and_bound import BranchSearch, search_over_states
from workbench.optima.hsvi import BeliefModel, Bounds
from workbench.optima.mdp import (
    MDP,
    Optimum,
    from_states,
    lower_bound,
    optimal,
    require_end,
    reward_sizes,
    superharmonic,
    upper_bound,
)
from workbench.optima.optimum import HistoryOptimum
from workbench.progress import Waiting
from workbench.text import counted

MOST_EXACT = 400
"""Belief MDPs with more states than this in one strongly connected part are solved in floats unless
asked otherwise."""

_START_NODES = 64
"""Nodes of branch and bound spent on a memoryless policy to begin the lower bound with."""


def belief_process(graph: BeliefGraph, field: Field) -> MDP:
    """The MDP of a complete graph of beliefs, over a field."""
    nA = len(graph.P.A)
    row_ptr, successors, prob = [0], [], []
    ends = np.zeros((len(graph), nA), dtype=bool)
    for n, by_action in enumerate(graph.edges):
        for a, edges in enumerate(by_action):
            successors += [e.node for e in edges]
            prob += [e.prob for e in edges]
            ends[n, a] = _total(edges) != 1
            row_ptr.append(len(successors))
    start = [Fraction(0)] * len(graph)
    for e in graph.starts:
        start[e.node] += e.prob
    return MDP(
        field=field,
        seen=np.array(graph.o, dtype=np.int64),
        behind=np.arange(len(graph)),
        row_ptr=np.array(row_ptr, dtype=np.int64),
        successors=np.array(successors, dtype=np.int32),
        prob=field.enter(Numbers.of(prob)),
        ends=ends,
        R=_rewards(graph, field),
        gamma=field.one(graph.P.gamma),
        start=field.enter(Numbers.of(start)),
        sizes=_sizes(graph),
    )


def _total(edges: tuple[BeliefEdge, ...]) -> Fraction:
    return sum((e.prob for e in edges), Fraction(0))


def _rewards(graph: BeliefGraph, field: Field) -> Any:
    """R(b, a) = sum_s b(s) R(s, a)."""
    R = dynamics(graph.P, field).R
    found = field.zeros((len(graph), len(graph.P.A)))
    for n, weights in enumerate(graph.weights):
        total = sum(w for _, w in weights)
        for s, w in weights:
            found[n] = found[n] + field.one(Fraction(w, total)) * R[s]
    return found


def _sizes(graph: BeliefGraph) -> NDArray[np.float64]:
    sizes = reward_sizes(graph.P)
    return np.array([max(sizes[s] for s, _ in weights) for weights in graph.weights])


def largest_part(M: MDP) -> int:
    """The number of states in the largest strongly connected part."""
    _, part = strong_components(np.ascontiguousarray(M.row_ptr[:: M.shape[1]]), M.successors)
    return int(np.max(np.bincount(part), initial=0))


# ---------------------------------------------------------------------- the optimum, or bounds


def history_optimum(
    P: POMDP, exact: bool | None, max_beliefs: int, max_backups: int, tolerance: float
) -> HistoryOptimum:
    """`optimum.best_history` with its arguments checked."""
    began = time.monotonic()
    M = from_states(P, FLOATS)
    if M.shape[0] == 0:
        return HistoryOptimum(P, *_same(Fraction(0)), True, 0, "every episode ends at once", 0.0)
    informed = optimal(M)
    require_end(P, informed)
    listed = _listed(P, exact, max_beliefs, began)
    if listed is not None:
        return listed
    if exact:
        raise TooLarge(
            f"{P.name} has more than {max_beliefs:,} reachable beliefs, perhaps infinitely many: "
            "its best history-based "
            "value cannot be had exactly. Use exact=False for certified bounds, or a larger "
            "max_beliefs"
        )
    return _bounds(P, M, informed, max_beliefs, max_backups, tolerance, began)


def _same(value: Number) -> tuple[Number, Number, Number, Number]:
    """value, lower, upper and gap of a value known exactly."""
    return value, value, value, value - value


def _listed(P: POMDP, exact: bool | None, max_beliefs: int, began: float) -> HistoryOptimum | None:
    """The optimum over all beliefs; None if they are too many, or the model is not one of exact
    distributions."""
    rational = in_rationals(P)
    if rational is None:
        return None
    graph = explore_beliefs(rational, max_beliefs)
    if not graph.complete:
        return None
    M = belief_process(graph, FLOATS)
    found = optimal(M)
    require_end(P, found)
    count = counted(len(graph), "belief")
    wants_exact = exact or (exact is None and P.is_exact)
    if wants_exact and (exact or largest_part(M) <= MOST_EXACT):
        best = optimal(belief_process(graph, RATIONALS), first=found.policy)
        require_end(P, best)
        if isinstance(best.value, float):
            return HistoryOptimum(P, *_UNBOUNDED, True, len(graph), _loops(count), _since(began))
        value = RATIONALS.back(best.value)
        how = f"policy iteration in rationals over {count}"
        return HistoryOptimum(P, *_same(value), True, len(graph), how, _since(began))
    if found.value == math.inf:
        return HistoryOptimum(P, *_UNBOUNDED, False, len(graph), _loops(count), _since(began))
    slack = 0.0 if P.is_exact else 4 * len(P.S) * sys.float_info.epsilon * M.scale(found.v)
    lower, upper = lower_bound(M, found, slack), upper_bound(M, found, slack)
    how = f"policy iteration in floats over {count}" + (
        "" if P.is_exact else ", floats read as decimals"
    )
    return HistoryOptimum(
        P, found.value, lower, upper, upper - lower, False, len(graph), how, _since(began)
    )


_UNBOUNDED = math.inf, math.inf, math.inf, 0.0
"""value, lower, upper and gap where policies that end can collect any amount on their way."""


def _loops(count: str) -> str:
    return f"unbounded: gamma is 1 and a loop among {count} has a positive average reward"


def _since(began: float) -> float:
    return time.monotonic() - began


def in_rationals(P: POMDP) -> POMDP | None:
    """The model with its floats read as decimals, if that is a model."""
    if P.is_exact:
        return P
    try:
        return P.rationalised()
    except ModelError:
        return None


def _bounds(
    P: POMDP,
    M: MDP,
    informed: Optimum,
    max_beliefs: int,
    max_backups: int,
    tolerance: float,
    began: float,
) -> HistoryOptimum:
    """Bounds without a list of all beliefs."""
    many = f"more than {max_beliefs:,} beliefs"
    search = search_over_states(P, M, 1e-9 * M.scale(informed.v), exact=False)
    while not search.finished and search.nodes < _START_NODES:
        search.run_one()
    above = superharmonic(M, informed)
    states, first = np.unique(M.behind, return_index=True)
    below = _ways_to_go_on(P, states, search)
    if above is None or below is None or not informed.alive.all():
        lower, upper = float(search.value), float(upper_bound(M, informed))
        how = (
            f"{many}, and policies that may never end: best memoryless policy found, "
            "and full information"
        )
        return HistoryOptimum(
            P, lower, lower, upper, upper - lower, False, None, how, _since(began)
        )
    bounds = Bounds(BeliefModel(P, states), above[first], below)
    gap, aim, interrupted = bounds.gap(), tolerance * M.scale(informed.v), False
    with Waiting(f"bounds for {P.name}") as waiting:
        try:
            while gap.upper - gap.lower > aim and bounds.backups < max_backups:
                bounds.search(aim / 2)
                gap = bounds.gap()
                text = f"{bounds.backups:,} backups, {gap.lower:.6g} to {gap.upper:.6g}"
                waiting.report(bounds.backups / max_backups, text)
        except KeyboardInterrupt:
            interrupted, gap = True, bounds.gap()
    how = f"{many}; point-based bounds after {bounds.backups:,} backups" + (
        ", interrupted" if interrupted else ""
    )
    width = gap.upper - gap.lower
    return HistoryOptimum(
        P, gap.lower, gap.lower, gap.upper, width, False, None, how, _since(began), interrupted
    )


def _ways_to_go_on(
    P: POMDP, states: NDArray[np.int64], search: BranchSearch
) -> NDArray[np.float64] | None:
    """State values of "do a, then follow pi", for every a and some memoryless policies pi that have
    values everywhere."""
    policies = [
        uniform(P),
        *(Policy.from_actions(P, np.full(len(P.O), a)) for a in range(len(P.A))),
    ]
    if search.best is not None:
        policies.append(Policy.from_actions(P, search.best))
    found, D = [], dynamics(P, FLOATS)
    for pi in policies:
        chain = D.follow(pi.prob.floats)
        if D.gamma == 1 and chain.may_not_end[states].any():
            continue
        v, _, solved = state_values(chain)
        error = float(np.max(solved.error[states], initial=0.0))
        q = D.R + D.gamma * D.expected(v)
        found.append(q[states].T - error)
    return np.concatenate(found) if found else None
