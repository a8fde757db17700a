"""The best memoryless policy by its average reward: branch and bound, and cycles.

Deterministic policies. Branch and bound as for the return (`branch_and_bound`), with bounds on the
average reward (`gain_process`). The node is branched at the observation where the policy that is
read off leaves out the most time. Policies with several recurrent classes are policies like any
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

import math
import time
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.agents.beliefs import explore_beliefs
from workbench.core.errors import TooLarge
from workbench.core.evaluate import evaluate
from workbench.core.fields import FLOATS, RATIONALS, Field
from workbench.core.gain import Differential
from workbench.core.numbers import Number
from workbench.core.policy import Policy, uniform
from workbench.core.pomdp import POMDP
from workbench.core.repetition import repeat_episodes, require_time
from workbench.optima.branch_and_bound import Informed, ReturnCriterion
from workbench.optima.controller import follow_beliefs, follow_memoryless
from workbench.optima.follow import Followed, sort_changes
from workbench.optima.history import HistoryLimits, belief_process
from workbench.optima.mdp import (
    MDP,
    Actions,
    Mask,
    Optimum,
    explained_gap,
    from_states,
    in_rationals,
    optimal,
    visited_size,
)
from workbench.optima.memoryless import SearchLimits, deterministic_optimum
from workbench.optima.optimum import HistoryOptimum
from workbench.research.gain_process import (
    GainOptimum,
    bound_gain_below,
    continue_process,
    end_components,
    optimal_gain,
    policy_gain,
)
from workbench.research.policy_boxes import is_boxable, too_large_for_boxes
from workbench.research.stochastic_search import StochasticOptimum, stochastic_optimum
from workbench.text import counted

_ROOM = 1e-9
"""The gap between an average and its bound that counts as none, as a share of what is met."""

_FIRST_NODES = 64
"""Nodes spent on a deterministic policy to begin with."""

_ROUNDS = 12
"""Of Dinkelbach's iteration, whose convergence is faster than linear."""

_FEW_NODES = 200
"""Nodes spent on a memoryless policy below the best history-based one."""

_STEPS, _HALVINGS = 200, 30
"""Steps towards greedy that look for a stochastic policy where there are no cycles, and how often
each may be halved."""


class AverageCriterion(ReturnCriterion):
    """The average reward: what a policy is worth, and how full information bounds it.

    A policy is read off by votes: at each observation the action with the largest share of time.
    """

    name = "average"
    always_defined = True

    def __init__(self, P: POMDP):
        require_time(P)
        super().__init__(P)
        self._last: tuple[bytes, Differential] | None = None

    def process(self, P: POMDP, field: Field) -> MDP:
        return continue_process(from_states(P, field))

    def informed(self) -> Informed:
        origin = self.P.origin
        process = self.M if origin is None else self.process(origin.P, FLOATS)
        found = optimal_gain(process, until=self.until)
        size = _size_on_the_way(process, found.policy, policy_gain(process, found.policy))
        noise = explained_gap(process, size, 1.0)
        if origin is None:
            return Informed(size, noise, math.inf, False, self._optimum(found, None))
        return Informed(size, noise, float(found.bound), False, None)

    def worth(self, pi: Policy) -> tuple[float, float]:
        found = evaluate(self.P, pi, criterion="average")
        return float(found.value), found.error

    def _gain(self, choice: Actions) -> Differential:
        """Gain and bias of a memoryless policy, kept until another one is asked for."""
        key = choice.tobytes()
        if self._last is None or self._last[0] != key:
            self._last = key, policy_gain(self.M, choice[self.M.seen])
        return self._last[1]

    def follow(self, choice: Actions) -> Followed:
        found = self._gain(choice)
        return Followed(float(found.value), np.flatnonzero(found.chain.visited), np.empty(0))

    def exact_value(self, choice: Actions) -> Any:
        return RATIONALS.back(policy_gain(self.Mx, choice[self.Mx.seen]).value)

    def explained(self, choice: Actions, followed: Followed) -> float:
        size = _size_on_the_way(self.M, choice[self.M.seen], self._gain(choice))
        return explained_gap(self.M, size, 1.0)

    def promising(
        self, options: list[NDArray[np.int64]], choice: Actions, room: float
    ) -> list[tuple[int, int]]:
        """Changes by falling first-order gain: sum over the states of o of share times q(s,a)."""
        found, M = self._gain(choice), self.M
        gain = np.zeros((len(options), M.shape[1]))
        q = M.q(found.bias) - (found.gain + found.bias)[:, None]
        np.add.at(gain, M.seen, found.share[:, None] * q)
        return sort_changes(gain, options, choice, np.unique(M.seen[found.share > 0]), room)

    def optimum(self, allowed: Mask, warm: Actions | None, exact: bool = False) -> Optimum:
        M = self.Mx if exact else self.M
        return self._optimum(optimal_gain(M, allowed, self.until, warm), allowed)

    def _optimum(self, found: GainOptimum, allowed: Mask | None) -> Optimum:
        n = len(found.policy)
        allowed = np.ones(self.M.shape, dtype=bool) if allowed is None else allowed
        return Optimum(found.bound, np.zeros(n), found.policy, np.ones(n, dtype=bool), allowed)

    def upper_bound(self, found: Optimum) -> float:
        return float(found.value)

    def weights(self, policy: Actions) -> NDArray[np.float64]:
        found = policy_gain(self.M, policy)
        # transient states get a small weight, so that branching considers them too
        return np.asarray(found.share + 1e-6 * found.chain.visited)

    def scores(self, found: Optimum) -> NDArray[np.float64]:
        votes = np.zeros(self.M.shape)
        votes[np.arange(len(found.policy)), found.policy] = 1.0
        return votes


def _full_information(informed: Informed) -> float:
    """The bound on all policies."""
    return float(informed.bound if informed.optimum is None else informed.optimum.value)


def _size_on_the_way(M: MDP, policy: Actions, found: Differential) -> float:
    """The largest expected |r| or bias that a policy meets. Tolerances are shares of it, since the
    price of an action that it never takes is no measure of its value."""
    met = np.flatnonzero(found.chain.visited)
    paid = M.sizes[met, policy[met]]
    return float(max(np.max(paid, initial=0.0), np.max(np.abs(found.bias[met]), initial=0.0)))


# ---------------------------------------------------------------------- stochastic policies


def find_return_state(P: POMDP) -> int | None:
    """The index of a state that every policy comes back to from everywhere. Of several, it is the
    most probable one at the start. None if there is none. P has no terminal states."""
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
    starts: int,
    seed: int,
    limits: SearchLimits,
    start: Policy | None,
) -> StochasticOptimum:
    """`best_memoryless(P, deterministic=False, criterion="average")`, its arguments checked."""
    began = time.monotonic()
    R = repeat_episodes(P)
    criterion = AverageCriterion(P)
    few = SearchLimits(_FIRST_NODES, limits.seconds / 4)
    search = deterministic_optimum(criterion, False, few)
    interrupted, pi, value = search.interrupted, search.policy, float(search.value)
    for other in [uniform(P), *([] if start is None else [start])]:
        worth = float(evaluate(P, other, criterion="average").value)
        pi, value = (other, worth) if worth > value else (pi, value)
    criterion.until = began + limits.seconds
    informed = criterion.informed()
    size = max(informed.size, abs(value))
    room = _ROOM * size
    ceiling = max(_full_information(informed), value)
    cycle = _cycles(P, R)
    how, boxes, left, ended = "", 0, 0, ""
    if interrupted:
        how, bound = "full information, interrupted", ceiling
    elif cycle is None:
        why = "no state is one that every policy comes back to"
        if not is_boxable(criterion.M):
            why = too_large_for_boxes(criterion.M)
        how = f"ascent, and full information: {why}"
        climbed, worth = _climb_average(P, uniform(P), began + limits.seconds)
        pi, value = (climbed, worth) if worth > value else (pi, value)
        bound = max(ceiling, value)
    else:
        bound, bounding = ceiling, False
        for round_ in range(2 * _ROUNDS):
            spare = limits.seconds - (time.monotonic() - began)
            if spare <= 0:
                ended = f"stopped after {limits.seconds:g} seconds"
                break
            c = Fraction(value) if P.is_exact else value
            task = pay_less(cycle, c)
            M = from_states(task, FLOATS)
            found = stochastic_optimum(
                task,
                room / 4 / max(visited_size(M, optimal(M)), 1e-300),
                starts if round_ == 0 else 0,
                seed,
                SearchLimits(limits.nodes if bounding else 0, spare),
                Policy(cycle, pi.prob),
            )
            if bounding:
                boxes, left = boxes + found.boxes, found.left
                # a cycle takes one step at least
                bound = min(bound, max(float(c), float(c) + float(found.bound)))
            worth = float(evaluate(P, Policy(P, found.policy.prob), criterion="average").value)
            better = worth > value + room / 8
            if worth > value:
                pi, value = Policy(P, found.policy.prob), worth
            interrupted = found.interrupted
            if interrupted or (bounding and (not better or found.left)):
                break
            # boxes are bounded once no better policy is found without them
            bounding = not better
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


def _climb_average(P: POMDP, pi: Policy, until: float) -> tuple[Policy, float]:
    """Move towards greedy on differential values, halving each move until it pays. None after the
    clock (`time.monotonic`) passes `until`."""
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
        wants_exact = exact or (exact is None and P.is_exact)
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
    criterion = AverageCriterion(P)
    criterion.until = began + limits.seconds
    above = _full_information(criterion.informed())
    spare = max(criterion.until - time.monotonic(), 0.1)
    below = deterministic_optimum(criterion, False, SearchLimits(_FEW_NODES, spare))
    value, error = criterion.worth(below.policy)
    lower = value - error
    upper = max(above, lower)
    how = f"more than {limits.beliefs:,} beliefs: best memoryless policy, and full information"
    policy = follow_memoryless(P, below.policy)
    return HistoryOptimum.between(P, lower, upper, how, began, policy, criterion="average")
