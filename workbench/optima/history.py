"""The best history-based value (Appendix A.2): what an agent that remembers everything can reach.

A history matters only through its last observation and its belief b(H), so the best history-based
policy is that of an MDP whose states are the reachable pairs (o, b) (`beliefs`):

    V(b) = max_a [ sum_s b(s) R(s,a) + gamma sum_o P(o, goes on | b,a) V(b_{a,o}) ]

Where these are finitely many, as they are in every task of finite horizon, policy iteration solves
it: in rationals if the model is exact, else in floats with a certificate.
Where they are too many, `hsvi` closes in on V from both sides.
"""

from __future__ import annotations

import contextlib
import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.agents.beliefs import BeliefEdge, BeliefGraph, explore_beliefs
from workbench.core.errors import NotSolved, TooLarge
from workbench.core.evaluate import Evaluation, evaluate
from workbench.core.fields import FLOATS, RATIONALS, Field, dynamics
from workbench.core.numbers import Number, Numbers
from workbench.core.policy import Policy, uniform
from workbench.core.pomdp import POMDP
from workbench.optima.branch_and_bound import (
    BranchSearch,
    ReturnCriterion,
    search_over_states,
)
from workbench.optima.controller import HistoryPolicy, follow_beliefs, follow_memoryless
from workbench.optima.hsvi import BeliefModel, Bounds
from workbench.optima.mdp import (
    MDP,
    Optimum,
    from_states,
    in_rationals,
    lower_bound,
    optimal,
    relative_rounding,
    require_end,
    reward_sizes,
    superharmonic,
    upper_bound,
    visited_size,
)
from workbench.optima.optimum import HistoryOptimum
from workbench.progress import TimeOver, Waiting, check_time, ends_in
from workbench.text import counted

_START_NODES, _FEW_NODES = 64, 4
"""Nodes of branch and bound spent on a memoryless policy to begin the lower bound with; with a
discount there are others to begin with, and a few are enough."""

_FIRST, _LONG = 150, 128
"""Beliefs that are listed before the others, and bits of a weight among them that tell of
infinitely many. Where the tasks of the package have finitely many, weights have up to 3 bits; in
the tiger problem 156, and listing 2,000 takes longer than bounding the value."""

_FOLLOWED, _GRACE = 10_000, 0.75
"""Pairs of a state and a node up to which a controller is evaluated, for a higher lower bound, and
the seconds that it has when the time is over."""


@dataclass(frozen=True)
class HistoryLimits:
    """Of `best_history`: beliefs to list, backups, and seconds (may be infinite)."""

    beliefs: int
    backups: int
    seconds: float


def belief_process(graph: BeliefGraph, field: Field) -> MDP:
    """The MDP of a complete graph of beliefs, over a field, with all actions everywhere."""
    if graph.P.allowed is not None:
        may = graph.P.allowed[list(graph.o)]
        done = np.where(may, np.arange(may.shape[1]), may.argmax(axis=1)[:, None]).tolist()
        pairs = zip(graph.edges, done, strict=True)
        graph = replace(
            graph,
            P=graph.P.with_all_actions(),
            edges=tuple(tuple(by_action[a] for a in doing) for by_action, doing in pairs),
        )
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
        leaving=np.array([[float(1 - _total(row)) for row in rows] for rows in graph.edges]),
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
    return np.array([sizes[[s for s, _ in weights]].max(axis=0) for weights in graph.weights])


# ---------------------------------------------------------------------- the optimum, or bounds


def history_optimum(
    P: POMDP, exact: bool | None, limits: HistoryLimits, tolerance: float
) -> HistoryOptimum:
    """`best_history` with its arguments checked."""
    if P.allowed is not None:
        return of_all_actions(P, history_optimum, exact, limits, tolerance)
    began = time.monotonic()
    M = from_states(P, FLOATS)
    if M.shape[0] == 0:
        how = "every episode ends at once"
        anything = follow_memoryless(P, uniform(P))
        return _known(P, Fraction(0), True, 0, how, began, anything)
    informed = optimal(M)
    require_end(P, informed)
    listed = _listed(P, exact, limits, began)
    if isinstance(listed, HistoryOptimum):
        return listed
    if exact:
        raise TooLarge(
            f"{P.name}: {listed}, perhaps infinitely many, so that its best history-based value "
            "cannot be had exactly. Use exact=False for certified bounds, or a larger "
            "max_beliefs or max_seconds"
        )
    return _bounds(P, M, informed, limits, tolerance, began, listed)


def of_all_actions(
    P: POMDP, optimum: Callable[..., HistoryOptimum], *arguments: Any
) -> HistoryOptimum:
    """The optimum of a task in which every action may be taken, as that of P."""
    found = optimum(P.with_all_actions(), *arguments)
    if P.allowed is None or found.policy is None:
        return replace(found, P=P)
    rows = (x if isinstance(x, int) else Policy.within(P, x.prob) for x in found.policy.rows)
    return replace(found, P=P, policy=replace(found.policy, P=P, rows=tuple(rows)))


def _known(
    P: POMDP,
    value: Number,
    exact: bool,
    beliefs: int,
    how: str,
    began: float,
    policy: HistoryPolicy | None = None,
) -> HistoryOptimum:
    seconds = time.monotonic() - began
    return HistoryOptimum(P, value, value, value, exact, beliefs, how, seconds, policy=policy)


def _grows(graph: BeliefGraph) -> bool:
    """Whether the numbers of a recurrent task's first beliefs are too long for a finite list of
    beliefs. A task that cannot has finitely many, however long."""
    longest = max(w.bit_length() for weights in graph.weights for _, w in weights)
    return longest > _LONG and not from_states(graph.P, FLOATS).is_acyclic


def _listed(
    P: POMDP, exact: bool | None, limits: HistoryLimits, began: float
) -> HistoryOptimum | str:
    """The optimum over all beliefs, or why they were not listed. They are too many, or the model's
    distributions are not exact."""
    rational = in_rationals(P)
    if rational is None:
        return "beliefs not listed, since floats are no distributions as decimals"
    # half of the time at most: the rest is for bounds, if the beliefs turn out to be too many
    seconds = limits.seconds if exact else limits.seconds / 2
    until = began + seconds
    limit = min(limits.beliefs, _FIRST)
    graph = explore_beliefs(rational, limit, until=until)
    if not graph.complete and (exact or not _grows(graph)):
        limit = limits.beliefs
        graph = explore_beliefs(rational, limit, until=until)
    if not graph.complete:
        if len(graph) > limit:
            return f"more than {limit:,} beliefs"
        return f"too many beliefs to list in {seconds:g} seconds"
    M = belief_process(graph, FLOATS)
    found = optimal(M)
    require_end(P, found)
    count = counted(len(graph), "belief")
    if exact or (exact is None and P.is_exact):
        best = optimal(belief_process(graph, RATIONALS), first=found.policy)
        require_end(P, best)
        if isinstance(best.value, float):
            return _known(P, math.inf, True, len(graph), _loops(count), began)
        value = RATIONALS.back(best.value)
        how = f"policy iteration in rationals over {count}"
        policy = follow_beliefs(P, graph, best.policy)
        return _known(P, value, True, len(graph), how, began, policy)
    if found.value == math.inf:
        return _known(P, math.inf, False, len(graph), _loops(count), began)
    slack = 0.0 if P.is_exact else 4 * len(P.S) * sys.float_info.epsilon * M.scale(found.v)
    lower, upper = lower_bound(M, found, slack), upper_bound(M, found, slack)
    if not math.isfinite(upper - lower):
        return f"nothing certain in floats of the {count}"
    how = f"policy iteration in floats over {count}" + (
        "" if P.is_exact else ", floats read as decimals"
    )
    return HistoryOptimum(
        P=P,
        value=found.value,
        lower=lower,
        upper=upper,
        exact=False,
        beliefs=len(graph),
        how=how,
        seconds=time.monotonic() - began,
        policy=follow_beliefs(P, graph, found.policy),
    )


def _loops(count: str) -> str:
    return f"unbounded: gamma is 1 and a loop among {count} has a positive average reward"


def _bounds(
    P: POMDP,
    M: MDP,
    informed: Optimum,
    limits: HistoryLimits,
    tolerance: float,
    began: float,
    many: str,
) -> HistoryOptimum:
    """Bounds without a list of all beliefs. `many` says why there is no list."""
    until = began + limits.seconds
    size = visited_size(M, informed)
    search = search_over_states(ReturnCriterion(P), 1e-9 * size, False, informed, until)
    nodes = _START_NODES if M.undiscounted else _FEW_NODES
    while not search.finished and search.nodes < nodes and time.monotonic() <= until:
        search.run_one()
    above = superharmonic(M, informed)
    states, first = np.unique(M.behind, return_index=True)
    ways = _ways_to_go_on(P, states, search)
    if above is None or not ways or not informed.alive.all():
        # with gamma = 1, a state from which nothing surely ends has no value to bound it by
        best = None if search.best is None else Policy.from_actions(P, search.best)
        lower = -math.inf if best is None else _surely_worth(evaluate(P, best))
        upper = upper_bound(M, informed)
        how = (
            f"{many}, and no bounds by vectors: best memoryless policy found, and full information"
        )
        if lower == -math.inf and upper == math.inf:
            raise NotSolved(
                f"floats tell nothing of the best history-based value of {P.name}: some policy may "
                "take extremely long to end. Exact numbers, or a smaller gamma, may help"
            )
        policy = None if best is None else follow_memoryless(P, best)
        return HistoryOptimum.between(P, lower, upper, how, began, policy)
    model = BeliefModel(P, states)
    bounds = Bounds(model, above[first], np.concatenate([way.alphas for way in ways]))
    gap, aim, interrupted = bounds.gap(), tolerance * size, False
    with Waiting(f"bounds for {P.name}") as waiting:
        try:
            while (
                gap.upper - gap.lower > aim
                and bounds.backups < limits.backups
                and time.monotonic() <= until
            ):
                bounds.search(aim / 2, until)
                gap = bounds.gap()
                text = f"{bounds.backups:,} backups, {gap.lower:.6g} to {gap.upper:.6g}"
                waiting.report(bounds.backups / max(limits.backups, 1), text)
        except KeyboardInterrupt:
            interrupted, gap = True, bounds.gap()
    how = f"{many}; point-based bounds after {bounds.backups:,} backups"
    if interrupted:
        how += ", interrupted"
    elif gap.upper - gap.lower > aim and bounds.backups < limits.backups:
        how += f", stopped after {limits.seconds:g} seconds"
    found = _follow_vectors(P, bounds, ways)
    # vectors leave room for the largest number of the task, and full information and the policy
    # itself only for those that they meet
    lower, upper = gap.lower, min(gap.upper, upper_bound(M, informed))
    if upper - lower > aim and _followed_nodes(found) * len(states) <= _FOLLOWED:
        # vectors bound it already: their controller may take a little more than the time, no longer
        left = max(until - time.monotonic(), 0.0) + _GRACE + 0.1 * limits.seconds
        with contextlib.suppress(TimeOver), ends_in(left):
            lower = max(lower, _surely_worth(found.evaluate()))
        check_time()
    return HistoryOptimum.between(P, lower, upper, how, began, found, interrupted=interrupted)


def _surely_worth(found: Evaluation) -> float:
    """A float that the value of a policy is not below."""
    first = found.P.mu.support
    mu, v = found.P.mu.prob.floats[first], found.v.raw[first]
    off = found.v_error.raw[first] + relative_rounding(len(first)) * np.abs(v)
    return float(found.value) - float(mu @ off) * (1 + 1e-9)


def _followed_nodes(policy: HistoryPolicy) -> int:
    """The number of nodes that a controller may come to."""
    todo = set(policy.first[policy.first >= 0].tolist())
    seen: set[int] = set()
    while todo:
        seen |= todo
        todo = set(policy.after[list(todo)].ravel().tolist()) - seen
    return len(seen)


@dataclass(frozen=True, eq=False)
class _Way:
    """A memoryless policy with a value everywhere, and the state values `alphas[a]` of "do a, then
    follow it"."""

    pi: Policy
    alphas: NDArray[np.float64]


def _ways_to_go_on(P: POMDP, states: NDArray[np.int64], search: BranchSearch) -> list[_Way]:
    """Some memoryless policies that have values everywhere, each after one action of any kind."""
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
        solved, undefined = chain.values()
        q, error = D.action_values(solved.x, solved.error, undefined)
        alphas = (q - error)[states].T
        if np.isfinite(alphas).all():  # an infinite error bound says nothing about the value
            found.append(_Way(pi, alphas))
    return found


def _follow_vectors(P: POMDP, bounds: Bounds, ways: list[_Way]) -> HistoryPolicy:
    """The controller whose nodes are the vectors of the lower bound, and what they go on with.

    In front of them come the ways to begin with: a node for each memoryless policy, and one for
    each action that it is put off by.
    """
    nA, nO = len(P.A), len(P.O)
    rows: list[int | Policy] = []
    after: list[NDArray[np.int64]] = []
    for j in range(len(ways)):
        for a in range(nA):  # numbered as the vectors that `Bounds` begins with
            rows.append(a)
            after.append(np.full(nO, len(ways) * nA + j))
    pis = [way.pi for way in ways]
    last = [np.full(nO, len(ways) * nA + j) for j in range(len(ways))]
    shift = len(ways)  # vectors made by backups come after the memoryless policies
    made = len(ways) * nA

    def place(k: NDArray[np.int64]) -> NDArray[np.int64]:
        return np.where(k < made, k, k + shift)

    observed = bounds.model.e_o[bounds.model.first_entry]
    for step in bounds.steps:
        row = np.full(nO, int(place(np.array([step.otherwise]))[0]))
        row[observed] = place(step.then)
        rows.append(step.a)
        after.append(row)
    first = np.full(nO, -1)
    begin = bounds.first
    first[observed[begin.seen]] = place(bounds.nodes_at(begin.beliefs))
    ordered = [*rows[:made], *pis, *rows[made:]]
    table = np.array([*after[:made], *last, *after[made:]])
    return HistoryPolicy(P, first, table, tuple(ordered))
