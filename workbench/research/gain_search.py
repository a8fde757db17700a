"""The best memoryless policy by its average reward: branch and bound, and cycles.

Deterministic policies. A node fixes pi(o) for some observations; its bound lets every other
decision depend on the state (`gain_process`). A policy is read off the optimum of the bound: at
each observation the action with the largest share of time. The node is branched at the observation
where that leaves out the most time. Policies with several recurrent classes are policies like any
other, worth the mixture from mu.

Stochastic policies. If there is a state that every policy comes back to, the process is a sequence
of cycles, and for every c

    gain(pi) = E[reward of a cycle] / E[length],        gain(pi) <= c + max(0, W_c) /
                                                        (shortest E[length]),
    W_c = max_pi E[ sum over a cycle of (r - c) ],

the best stochastic policy of a task that ends, which `best_memoryless` bounds. With c the gain of
the policy found, repeated until W_c is next to nothing (Dinkelbach 1967), the bound closes.
Episodes that surely end are such cycles. Elsewhere the gain is not a continuous function of pi, and
the bound is that of full information.
"""

from __future__ import annotations

import heapq
import math
import time
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import TooLarge
from workbench.core.evaluate import evaluate
from workbench.core.fields import FLOATS, RATIONALS
from workbench.core.numbers import Number
from workbench.core.policy import Policy, uniform
from workbench.core.pomdp import POMDP
from workbench.core.repetition import repeat_episodes, require_time
from workbench.model.beliefs import explore_beliefs
from workbench.optima.branch_and_bound import OPEN, forced
from workbench.optima.controller import follow_beliefs, follow_memoryless
from workbench.optima.follow import alternatives
from workbench.optima.history import (
    MOST_EXACT,
    HistoryLimits,
    belief_process,
    in_rationals,
    largest_part,
)
from workbench.optima.mdp import Actions, from_states, optimal, visited_size
from workbench.optima.memoryless import SearchLimits
from workbench.optima.optimum import HistoryOptimum, MemorylessOptimum
from workbench.progress import Waiting
from workbench.research.gain_process import (
    bound_gain_below,
    continue_process,
    end_components,
    optimal_gain,
    policy_gain,
)
from workbench.research.policy_boxes import is_boxable, too_large_for_boxes
from workbench.research.stochastic_search import StochasticOptimum, stochastic_optimum
from workbench.text import counted

_NOISE = 1e-11
"""Differences below this share of the largest reward are not told apart in floats."""

_ROUNDS = 12
"""Of Dinkelbach's iteration, whose convergence is faster than linear."""

_FEW_NODES = 200
"""Nodes spent on a memoryless policy below the best history-based one."""

_STEPS, _HALVINGS = 200, 30
"""Steps towards greedy that look for a stochastic policy where there are no cycles, and how often
each may be halved."""


@dataclass(order=True)
class _Node:
    rank: tuple[float, int, int]
    bound: Any = field(compare=False)
    choice: Actions = field(compare=False)
    branch: int = field(compare=False)


class GainSearch:
    """Branch and bound over deterministic policies.

    Attributes
    ----------
    best, value : the best policy so far and its gain; root : the bound with nothing fixed.
    """

    def __init__(
        self, P: POMDP, exact: bool, tolerance: float | None, until: float = math.inf
    ) -> None:
        self.P, self.exact, self.until = P, exact, until
        self.M = continue_process(from_states(P, RATIONALS if exact else FLOATS))
        self.observations = len(P.O)
        size = float(np.max(self.M.sizes, initial=0.0))
        share = _NOISE if tolerance is None else tolerance
        self.room: Any = 0 if exact and tolerance is None else share * max(size, 1e-300)
        self.options = alternatives(self.M, self.observations)
        self.best: Actions = np.zeros(self.observations, dtype=np.int64)
        self.value: Any = self._worth(self.best)
        self.nodes = 0
        self._closed: Any = self.value
        self._heap: list[_Node] = []
        self._look(np.full(self.observations, OPEN))
        self.root = self.bound

    @property
    def bound(self) -> Any:
        """No deterministic memoryless policy has a larger gain."""
        return max([self.value, self._closed, *(node.bound for node in self._heap)])

    @property
    def finished(self) -> bool:
        while self._heap and self._settles(self._heap[0].bound):
            self._closed = max(self._closed, heapq.heappop(self._heap).bound)
        return not self._heap

    def run_one(self) -> None:
        """Branch the node with the largest bound. It stays until its children are there, so that an
        interruption leaves a bound that holds."""
        node = self._heap[0]
        count = len(self._heap)
        for a in self.options[node.branch].tolist():
            choice = node.choice.copy()
            choice[node.branch] = a
            self._look(choice)
        assert len(self._heap) >= count
        self._heap.remove(node)
        heapq.heapify(self._heap)

    def offer(self, choice: Actions) -> None:
        """A policy that may be better; climbed from, one observation at a time, if it is."""
        value = self._worth(choice)
        while value > self.value:
            self.best, self.value = choice, value
            better = self._neighbour(choice, value)
            if better is not None:
                choice, value = better

    def _neighbour(self, choice: Actions, value: Any) -> tuple[Actions, Any] | None:
        """The first better policy among those that differ in one row, the most promising first."""
        for o, a in self._promising(choice):
            if time.monotonic() > self.until:
                return None
            changed = choice.copy()
            changed[o] = a
            worth = self._worth(changed)
            if worth > value + self.room:
                return changed, worth
        return None

    def _promising(self, choice: Actions) -> list[tuple[int, int]]:
        """Changes by falling first-order gain: sum over the states of o of share times q(s,a)."""
        found = policy_gain(self.M, choice[self.M.seen])
        q = self.M.q(found.bias) - (found.gain + found.bias)[:, None]
        gain = np.zeros((self.observations, self.M.shape[1]))
        share = np.array([float(x) for x in found.share])
        np.add.at(gain, self.M.seen, share[:, None] * q.astype(np.float64))
        rows = [
            (gain[o, a], o, int(a))
            for o in np.unique(self.M.seen[share > 0]).tolist()
            for a in self.options[o]
            if a != choice[o] and gain[o, a] > float(self.room)
        ]
        return [(o, a) for _, o, a in sorted(rows, reverse=True)]

    def _worth(self, choice: Actions) -> Any:
        return policy_gain(self.M, choice[self.M.seen]).value

    def _settles(self, bound: Any) -> bool:
        return bool(bound <= self.value + self.room)

    def _look(self, choice: Actions) -> None:
        """Bound a partial policy; keep it if it may hold something better."""
        self.nodes += 1
        found = optimal_gain(self.M, forced(self.M, choice), self.until)
        if self._settles(found.bound):
            self._closed = max(self._closed, found.bound)
            return
        votes = self._votes(found.policy)
        candidate = np.where(choice >= 0, choice, np.argmax(votes, axis=1))
        self.offer(candidate)
        conflict = np.where(choice >= 0, 0.0, votes.sum(axis=1) - votes.max(axis=1))
        if self._settles(found.bound) or conflict.max(initial=0.0) <= 0:
            # without a conflict the policy read off is the bound's own
            self._closed = max(self._closed, found.bound)
            return
        branch = int(np.argmax(conflict))
        depth = int((choice >= 0).sum())
        rank = (-float(found.bound), -depth, self.nodes)
        heapq.heappush(self._heap, _Node(rank, found.bound, choice, branch))

    def _votes(self, policy: Actions) -> NDArray[np.float64]:
        """`[o, a]`: the share of time that a policy of the states takes a at o; states that it
        passes through count a little."""
        found = policy_gain(self.M, policy)
        weight = np.array([float(x) for x in found.share])
        weight = weight + 1e-6 * found.chain.visited
        votes = np.zeros((self.observations, self.M.shape[1]))
        np.add.at(votes, (self.M.seen, policy), weight)
        return votes


def best_average_deterministic(
    P: POMDP, exact: bool, tolerance: float | None, limits: SearchLimits, start: Policy | None
) -> MemorylessOptimum:
    """`best_memoryless(P, criterion="average")`, its arguments checked."""
    began = time.monotonic()
    require_time(P)
    search = GainSearch(P, exact, tolerance, began + limits.seconds)
    if start is not None:
        search.offer(start.actions)
    ended = _run(search, limits, began)
    pi = Policy.from_actions(P, search.best)
    found = evaluate(P, pi, exact=exact, criterion="average")
    value = found.value
    bound = RATIONALS.back(search.bound) if exact else max(float(search.bound), float(value))
    gap = bound - value
    room = float(search.room) + found.error
    if not ended and gap > room and time.monotonic() - began >= limits.seconds:
        ended = f"stopped after {limits.seconds:g} seconds"  # within the first bound
    how = f"branch and bound over end components, {counted(search.nodes, 'node')}"
    return MemorylessOptimum(
        P=P,
        policy=pi,
        value=value,
        bound=bound,
        gap=gap,
        certified=not ended and bool(gap <= room),
        tolerance=room,
        nodes=search.nodes,
        how=how + (f", {ended}" if ended else ""),
        seconds=time.monotonic() - began,
        interrupted=ended == "interrupted",
        criterion="average",
    )


def _run(search: GainSearch, limits: SearchLimits, began: float) -> str:
    """Branch until nothing can be better, or a limit is met; how it ended, if early."""
    with Waiting(f"best average reward of {search.P.name}") as waiting:
        try:
            while not search.finished:
                if search.nodes >= limits.nodes:
                    return f"stopped at {search.nodes:,} nodes"
                if time.monotonic() - began >= limits.seconds:
                    return f"stopped after {limits.seconds:g} seconds"
                search.run_one()
                low, high = float(search.value), float(search.bound)
                waiting.report(0.0, f"{search.nodes:,} nodes, best {low:.6g}, bound {high:.6g}")
        except KeyboardInterrupt:
            return "interrupted"
    return ""


# ---------------------------------------------------------------------- stochastic policies


def find_return_state(P: POMDP) -> int | None:
    """The place of a state that every policy comes back to from everywhere, the one of largest
    probability at the start first; None if there is none. P has no terminal states."""
    M = continue_process(from_states(P, FLOATS))
    left = np.unique(M.behind)
    left = left[np.argsort(-P.mu.prob.floats[left], kind="stable")]
    while len(left):
        # a policy can stay away for ever only in an end component without s
        away = M.behind != left[0]
        part, _ = end_components(M, np.repeat(away[:, None], M.shape[1], axis=1))
        if (part < 0).all():
            return int(left[0])
        left = left[np.isin(left, M.behind[part == 0])]  # it has to be in that component as well
    return None


def cut_at(P: POMDP, s: int) -> POMDP:
    """The task of one cycle: it begins in s, and ends on coming back."""
    back = "back"
    while back in P.S:
        back += "'"
    name, o = P.S[s], next(iter(P.omega(P.S[s])))

    def p(x: Any, a: Any) -> dict[tuple[Any, Number], Number]:
        found: dict[tuple[Any, Number], Number] = {}
        for (y, r), chance in P.p(x, a).items():
            key = (back if y == name else y, r)
            found[key] = found.get(key, 0) + chance
        return found

    return POMDP.from_functions(
        name=f"cycles of {P.name}",
        O=list(P.O),
        A=list(P.A),
        p=p,
        omega=lambda x: {o: 1} if x == back else P.omega(x),
        mu={name: 1},
        gamma=1,
        terminal={back},
    )


def pay_less(P: POMDP, c: Number) -> POMDP:
    """The same task with c taken from every reward, and no discount."""
    r = P.p.r.map(lambda x: x - c)
    return replace(P.with_gamma(1), p=replace(P.p, r=r))


def best_average_stochastic(
    P: POMDP,
    tolerance: float | None,
    starts: int,
    seed: int,
    limits: SearchLimits,
    start: Policy | None,
) -> StochasticOptimum:
    """`best_memoryless(P, deterministic=False, criterion="average")`, its arguments checked."""
    began = time.monotonic()
    R = repeat_episodes(P)
    search = GainSearch(P, False, None, began + limits.seconds / 4)
    interrupted = _run(search, SearchLimits(64, limits.seconds / 4, None), began) == "interrupted"
    pi = Policy.from_actions(P, search.best)
    value = float(evaluate(P, pi, criterion="average").value)
    for other in [uniform(P), *([] if start is None else [start])]:
        worth = float(evaluate(P, other, criterion="average").value)
        pi, value = (other, worth) if worth > value else (pi, value)
    size = max(float(np.max(search.M.sizes, initial=0.0)), 1e-300)
    room = size * (1e-9 if tolerance is None else tolerance)
    ceiling = max(float(search.root), value)
    cycle = _cycles(P, R)
    how, boxes, left, ended = "", 0, 0, ""
    if interrupted:
        how, bound = "full information, interrupted", ceiling
    elif cycle is None:
        why = "no state is one that every policy comes back to"
        if not is_boxable(search.M):
            why = too_large_for_boxes(search.M)
        how = f"ascent, and full information: {why}"
        climbed, worth = _climb_average(P, uniform(P), began + limits.seconds)
        pi, value = (climbed, worth) if worth > value else (pi, value)
        bound = max(ceiling, value)
    else:
        bound = ceiling
        for round_ in range(_ROUNDS):
            spare = limits.seconds - (time.monotonic() - began)
            if spare <= 0:
                ended = f"stopped after {limits.seconds:g} seconds"
                break
            c = Fraction(value) if P.is_exact else value
            first = Policy(cycle, pi.prob)
            # all but the last round only look for a better policy
            quick = stochastic_optimum(
                pay_less(cycle, c),
                1e-9,
                starts if round_ == 0 else 0,
                seed,
                SearchLimits(0, spare, None),
                first,
            )
            worth = float(evaluate(P, Policy(P, quick.policy.prob), criterion="average").value)
            better = worth > value + room / 8
            if better:
                pi, value = Policy(P, quick.policy.prob), worth
            if interrupted := quick.interrupted:
                break
            if better:
                continue
            found = stochastic_optimum(
                pay_less(cycle, c),
                room / 4 / max(_inner_size(cycle, c), 1e-300),
                0,
                seed,
                SearchLimits(limits.nodes, spare, None),
                first,
            )
            boxes, left, ended = boxes + found.boxes, found.left, ""
            # a cycle takes one step at least
            bound = min(bound, max(float(c), float(c) + float(found.bound)))
            worth = float(evaluate(P, Policy(P, found.policy.prob), criterion="average").value)
            better = worth > value + room / 8
            if worth > value:
                pi, value = Policy(P, found.policy.prob), worth
            interrupted = found.interrupted
            if not better or found.left or interrupted:
                break
        bound = max(bound, value)
        ended = "interrupted" if interrupted else ended
        how = f"cycles, {boxes:,} boxes of policies bounded" + (f", {ended}" if ended else "")
    here = evaluate(P, pi, criterion="average")
    kkt = _first_order(here)
    return StochasticOptimum(
        P=P,
        policy=pi,
        value=value,
        bound=bound,
        gap=bound - value,
        certified=bool(bound - value <= room + here.error),
        tolerance=room + here.error,
        nodes=search.nodes,
        how=how,
        seconds=time.monotonic() - began,
        interrupted=interrupted,
        kkt=kkt,
        first_order=bool(kkt <= math.sqrt(room * size)),
        boxes=boxes,
        left=left,
        criterion="average",
    )


def _cycles(P: POMDP, R: POMDP) -> POMDP | None:
    """A task that ends, one cycle of P, if every policy goes through it again and again."""
    if len(P.terminal):
        M = from_states(P, FLOATS)
        part, _ = end_components(M, ~M.ends)
        if (part < 0).all():
            return P.with_gamma(1)
    if not is_boxable(from_states(R, FLOATS)):
        return None  # cycles would be found in quadratic time, and not be bounded
    s = find_return_state(R)
    return None if s is None else cut_at(R, s)


def _inner_size(cycle: POMDP, c: Number) -> float:
    """The size of the values that a share of stands for in `stochastic_optimum`."""
    M = from_states(pay_less(cycle, c), FLOATS)
    return visited_size(M, optimal(M))


def _climb_average(P: POMDP, pi: Policy, until: float) -> tuple[Policy, float]:
    """Steps towards greedy on differential values, each halved until it pays; none after the clock
    (`time.monotonic`) passes `until`."""
    here = evaluate(P, pi, criterion="average")
    for _ in range(_STEPS):
        q = here.q.raw
        rows = here.reached.raw & np.isfinite(q).all(axis=1)
        if _first_order(here) <= 1e-12 * float(np.max(np.abs(q[rows]), initial=1e-300)):
            break
        table = np.array(pi.prob.floats)
        goal = table.copy()
        goal[rows] = 0.0
        goal[rows, np.argmax(q[rows], axis=1)] = 1.0
        for halving in range(_HALVINGS):
            if time.monotonic() > until:
                return pi, float(here.value)
            # no full step: a vertex may have several recurrent classes, and rows without q-values
            moved = Policy(P, table + 0.5 ** (halving + 2) * (goal - table))
            there = evaluate(P, moved, criterion="average")
            if float(there.value) > float(here.value) + here.error + there.error:
                pi, here = moved, there
                break
        else:
            break
    return pi, float(here.value)


def _first_order(found: Any) -> float:
    """What the best mixture with another policy gains, to first order."""
    q, d = found.q.raw, found.o_visits.raw
    rows = np.flatnonzero(found.reached.raw & np.isfinite(q).all(axis=1))
    return float(sum(d[o] * (q[o].max() - found.v_given_o.raw[o]) for o in rows))


# ---------------------------------------------------------------------- histories


def best_average_history(P: POMDP, exact: bool | None, limits: HistoryLimits) -> HistoryOptimum:
    """`best_history(P, criterion="average")`, its arguments checked.

    Where the beliefs are finitely many, they are the states of a process whose best gain is known
    to the last digit; an episode that ends is followed by one that begins with the belief mu, since
    the agent sees that it has ended. Where they are too many, between a memoryless policy and full
    information: no algorithm closes that gap for every task (Madani, Hanks and Condon 2003).
    """
    began = time.monotonic()
    require_time(P)
    rational = in_rationals(P)
    graph = None
    if rational is not None:
        graph = explore_beliefs(rational, limits.beliefs, until=began + limits.seconds / 2)
    if graph is not None and graph.complete:
        M = continue_process(belief_process(graph, FLOATS))
        wants_exact = exact or (exact is None and P.is_exact and largest_part(M) <= MOST_EXACT)
        if wants_exact:
            M = continue_process(belief_process(graph, RATIONALS))
        found = optimal_gain(M)
        reached = policy_gain(M, found.policy).value
        policy = follow_beliefs(P, graph, found.policy)
        count = counted(len(graph), "belief")
        low: Number = RATIONALS.back(reached) if wants_exact else float(reached)
        value, high = low, low
        if wants_exact:
            assert reached == found.bound
        else:
            low = float(bound_gain_below(M, found.policy))
            value = max(float(reached), low)
            high = max(float(found.bound), value)
        return HistoryOptimum(
            P=P,
            value=value,
            lower=low,
            upper=high,
            gap=high - low,
            exact=bool(wants_exact),
            beliefs=len(graph),
            how=f"policy iteration over {count}"
            + ("" if P.is_exact else ", floats read as decimals"),
            seconds=time.monotonic() - began,
            policy=policy,
            criterion="average",
        )
    if exact:
        raise TooLarge(
            f"{P.name} has more than {limits.beliefs:,} reachable beliefs, perhaps infinitely "
            "many: its best history-based average cannot be had exactly. Use exact=False for "
            "certified bounds"
        )
    spare = max(limits.seconds - (time.monotonic() - began), 0.1)
    nodes = SearchLimits(_FEW_NODES, spare, None)
    below = best_average_deterministic(P, False, None, nodes, None)
    room = below.tolerance
    lower = float(below.value) - room
    upper = max(float(optimal_gain(continue_process(from_states(P, FLOATS))).bound), lower)
    return HistoryOptimum(
        P=P,
        value=lower,
        lower=lower,
        upper=upper,
        gap=upper - lower,
        exact=False,
        beliefs=None,
        how=f"more than {limits.beliefs:,} beliefs: best memoryless policy, and full information",
        seconds=time.monotonic() - began,
        policy=follow_memoryless(P, below.policy),
        criterion="average",
    )
