"""The best average reward with full information, and a bound on it that holds.

Whatever a policy does, it ends up in an *end component*: states and actions that it may stay among
for ever. The maximal ones are found by taking out actions that leave a strongly connected part (de
Alfaro 1997). Within one, all states can be reached from each other, so the best gain is one number,
and for any vector h

    gain <= u = max_{i, a} [ R(i,a) + sum_j p(j|i,a) h(j) - h(i) ]            over its states and
    actions (Odoni 1969).

Howard's policy iteration for several recurrent classes (Puterman 1994, Section 9.2) finds the h for
which this is tight. What is left is to get to a good component: the process in which each maximal
component is one state, where one may stop and be paid u, or leave by an action that leaves. It
surely ends, and its optimum with gamma = 1 (`mdp`) is the bound. Floats or rationals; in floats
each step adds a bound on its own rounding errors, so that what is returned holds.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from workbench.core.chain import Chain
from workbench.core.errors import NotSolved
from workbench.core.fields import FLOATS
from workbench.core.gain import Differential, differential_values
from workbench.core.linear_kernels import reachable, strong_components
from workbench.core.rows import pick_rows, pick_spans, point_rows
from workbench.optima.mdp import (
    MDP,
    Actions,
    Mask,
    first_policy,
    optimal,
    relative_rounding,
    round_up,
    switched,
    upper_bound,
)

_STRICT = 1e-12
"""A float gain counts as one above this share of the numbers at hand."""

_MOST_ITERATIONS = 1_000


def continue_process(M: MDP) -> MDP:
    """The process without discount in which an end leads to the start."""
    field, (n, nA) = M.field, M.shape
    M = replace(M, gamma=field.one(1))
    rows = np.flatnonzero(M.ends.reshape(-1))
    if not len(rows):
        return M
    starts = M.starts
    if field.is_exact:
        left = np.full(n * nA, field.one(1), dtype=object)
        for row in rows.tolist():
            for k in range(int(M.row_ptr[row]), int(M.row_ptr[row + 1])):
                left[row] = left[row] - M.prob[k]
    else:  # what others leave of 1 is 0 in floats where the chance of ending is 1e-20
        left = M.leaving.reshape(-1)
    extra = np.zeros(n * nA, dtype=np.int64)
    extra[rows] = len(starts)
    counts = np.diff(M.row_ptr) + extra
    row_ptr = point_rows(counts)
    successors = np.empty(int(row_ptr[-1]), dtype=np.int32)
    prob = np.empty(len(successors), dtype=M.prob.dtype)
    _, old = pick_spans(row_ptr[:-1], np.diff(M.row_ptr))
    successors[old], prob[old] = M.successors, M.prob
    _, new = pick_spans(row_ptr[:-1] + np.diff(M.row_ptr), extra)
    successors[new] = np.tile(starts, len(rows))
    prob[new] = np.tile(M.start[starts], len(rows)) * np.repeat(left[rows], len(starts))
    return replace(
        M,
        row_ptr=row_ptr,
        successors=successors,
        prob=prob,
        ends=np.zeros_like(M.ends),
        leaving=np.zeros_like(M.leaving),
        remainders=M.ends,
    )


class PolicyChain(Chain):
    """The chain of a deterministic policy of a process that goes on for ever."""

    def __init__(self, M: MDP, policy: Actions):
        n, nA = M.shape
        self.indptr, places = pick_rows(M.row_ptr, np.arange(n) * nA + policy)
        self.indices, data = M.successors[places], M.prob[places]

        def side(x: NDArray[Any]) -> NDArray[Any]:
            return x if M.field.is_exact else np.stack([x, 0 * x, np.abs(x)])

        self.P = data if M.field.is_exact else np.stack([data, 0 * data])
        self.side = side(M.R[np.arange(n), policy])
        self.given, self._stops = 0.0, np.zeros(n)
        self.starts = M.starts
        name = SimpleNamespace(name="the decision process")
        alive = np.ones(n, dtype=bool)
        self.D = cast(
            Any,
            SimpleNamespace(
                field=M.field, mu=M.start, mu_side=side(M.start), P=name, shape=M.shape, alive=alive
            ),
        )

    @property
    def visited(self) -> NDArray[np.bool_]:
        found: NDArray[np.bool_] = reachable(self.indptr, self.indices, self.starts)
        return found


def policy_gain(M: MDP, policy: Actions) -> Differential:
    """Gain, bias and shares of time of a deterministic policy. Floats carry no bounds here."""
    return differential_values(PolicyChain(M, policy))


# ---------------------------------------------------------------------- end components


def end_components(M: MDP, allowed: Mask) -> tuple[NDArray[np.int64], Mask]:
    """The maximal end component of each state, -1 if it is in none. It also returns the actions
    that stay in it."""
    n, nA = M.shape
    staying = allowed.copy()
    own = np.repeat(np.arange(n * nA), np.diff(M.row_ptr))
    while True:
        used = staying.reshape(-1)[own]
        pattern = sp.csr_array(
            (np.ones(int(used.sum())), (own[used] // nA, M.successors[used])), shape=(n, n)
        )
        _, part = strong_components(pattern.indptr, pattern.indices)
        leaving = np.zeros(n * nA, dtype=bool)
        leaving[own[part[own // nA] != part[M.successors]]] = True
        fewer = staying & ~leaving.reshape(n, nA)
        if np.array_equal(fewer, staying):
            break
        staying = fewer
    inside = staying.any(axis=1)
    number = np.full(n, -1)
    number[inside] = np.unique(part[inside], return_inverse=True)[1]
    return number, staying


@dataclass(frozen=True, eq=False)
class GainOptimum:
    """The best average reward with full information.

    Attributes
    ----------
    bound : no allowed policy's average reward from the start exceeds it; exact over rationals.
    policy : a policy that reaches it, up to rounding.
    """

    bound: Any
    policy: Actions


def optimal_gain(
    M: MDP, allowed: Mask | None = None, until: float = math.inf, warm: Actions | None = None
) -> GainOptimum:
    """The best gain of a process made by `continue_process`, with some actions forbidden. `warm` is
    a policy to begin with.

    The bound holds for any h, so that the iteration may stop when the clock (`time.monotonic`)
    passes `until`; it is then not tight.
    """
    n, nA = M.shape
    allowed = np.ones((n, nA), dtype=bool) if allowed is None else allowed
    part, staying = end_components(M, allowed)
    inside = part >= 0
    first = np.zeros((n, nA), dtype=bool)
    first[np.arange(n), np.argmax(allowed, axis=1)] = True
    policy, h = _iterate(M, np.where(inside[:, None], staying, first), until, warm)
    levels = _levels(M, part, staying, h)
    if len(levels) == 1 and inside.all():
        return GainOptimum(levels[0], policy)
    return _reach(M, allowed, part, staying, levels, policy)


def bound_gain_below(M: MDP, policy: Actions) -> Any:
    """A lower bound on the gain of a deterministic policy from the start. It is exact over
    rationals.

    What no policy loses more than, where that policy is the only one.
    """
    only = np.zeros(M.shape, dtype=bool)
    only[np.arange(M.shape[0]), policy] = True
    return -optimal_gain(replace(M, R=-M.R), only).bound


def without_rewards(M: MDP) -> MDP:
    """The same process, paying nothing: its q is the mean of what follows."""
    return replace(M, R=M.field.zeros(M.shape), sizes=np.zeros(M.shape))


def _iterate(
    M: MDP, allowed: Mask, until: float, warm: Actions | None
) -> tuple[Actions, NDArray[Any]]:
    """Howard's policy iteration: a policy with the best gain from every state, and its bias. If
    time is up, it is the last policy evaluated."""
    everyone = np.arange(M.shape[0])
    policy = first_policy(allowed, warm)
    tried: set[bytes] = set()
    exact, still = M.field is not FLOATS, without_rewards(M)
    for _ in range(_MOST_ITERATIONS):
        found = policy_gain(M, policy)
        tried.add(policy.tobytes())
        if time.monotonic() > until:
            return policy, found.bias
        far, near = still.q(found.gain), M.q(found.bias)
        if exact:
            better = switched(far, policy, allowed)
            if better is None:
                level = far == found.gain[:, None]
                better = switched(near, policy, allowed & np.asarray(level, dtype=bool))
        else:
            # rounded entry by entry: the price of a forbidden action blurs that action alone
            units = _STRICT * (1 + M.longest_row)
            size = units * still.magnitude(found.gain)
            better = _switched_floats(far, policy, allowed, size)
            if better is None:
                own = size[everyone, policy][:, None]
                level = far >= far[everyone, policy][:, None] - np.maximum(size, own)
                size = units * (M.magnitude(found.bias) + np.abs(found.bias)[:, None])
                better = _switched_floats(near, policy, allowed & level, size)
        if better is None or better.tobytes() in tried:  # only rounding errors lead back
            return policy, found.bias
        policy = better
    raise NotSolved(f"policy iteration did not settle within {_MOST_ITERATIONS:,} iterations")


def _switched_floats(
    q: NDArray[np.float64], policy: Actions, allowed: Mask, room: NDArray[np.float64]
) -> Actions | None:
    everyone = np.arange(len(policy))
    masked = np.where(allowed, q, -np.inf)
    best = np.argmax(masked, axis=1)
    off = np.maximum(room[everyone, best], room[everyone, policy])
    changed = masked[everyone, best] > q[everyone, policy] + off
    return np.where(changed, best, policy) if changed.any() else None


def _levels(M: MDP, part: NDArray[np.int64], staying: Mask, h: NDArray[Any]) -> list[Any]:
    """u of each maximal end component."""
    slack = M.q(h) - h[:, None]
    if M.field is FLOATS:
        slack = slack + round_up(M, h) + _rounded_remainders(M, h[M.starts])[:, None]
    levels: list[Any] = []
    for c in range(int(part.max(initial=-1)) + 1):
        i, a = np.nonzero(staying & (part == c)[:, None])
        levels.append(max(slack[i, a].tolist()))
    return levels


def _rounded_remainders(M: MDP, v: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each state, more than what the rounding of remainders changes in a mean of v after it."""
    if M.remainders is None:
        return np.zeros(M.shape[0])
    size = relative_rounding(M.longest_row) * float(np.max(np.abs(v), initial=0.0))
    return np.asarray(size * M.remainders.any(axis=1))


def _reach(
    M: MDP,
    allowed: Mask,
    part: NDArray[np.int64],
    staying: Mask,
    levels: list[Any],
    policy: Actions,
) -> GainOptimum:
    """The process of getting to a component, and what it says about the whole."""
    field = M.field
    outside = np.flatnonzero(part < 0)
    node = part.copy()
    node[outside] = len(levels) + np.arange(len(outside))
    ways: list[list[tuple[int, int]]] = [[] for _ in range(len(levels) + len(outside))]
    for i, a in zip(*np.nonzero(allowed & ~staying), strict=True):
        ways[node[i]].append((int(i), int(a)))
    nA = 1 + max(map(len, ways), default=0)
    row_ptr, successors, prob = [0], [], []
    ends, R = np.zeros((len(ways), nA), dtype=bool), field.zeros((len(ways), nA))
    open_ = np.zeros((len(ways), nA), dtype=bool)
    for k, out in enumerate(ways):
        for slot in range(nA):
            if slot < len(out):
                i, a = out[slot]
                merged: dict[int, list[Any]] = {}
                span = slice(
                    int(M.row_ptr[i * M.shape[1] + a]), int(M.row_ptr[i * M.shape[1] + a + 1])
                )
                for j, x in zip(M.successors[span].tolist(), M.prob[span], strict=True):
                    merged.setdefault(int(node[j]), []).append(x)
                successors += list(merged)
                # rounded once, however many are merged
                prob += [
                    math.fsum(x) if field is FLOATS else sum(x[1:], x[0]) for x in merged.values()
                ]
                open_[k, slot] = True
            elif slot == nA - 1 and k < len(levels):  # stop here
                ends[k, slot], R[k, slot], open_[k, slot] = True, levels[k], True
            row_ptr.append(len(successors))
    start = field.zeros(len(ways))
    for i in M.starts.tolist():
        start[node[i]] = start[node[i]] + M.start[i]
    values = np.empty(len(prob), dtype=M.prob.dtype)
    values[:] = prob
    Q = MDP(
        field=field,
        seen=np.arange(len(ways)),
        behind=np.arange(len(ways)),
        row_ptr=np.array(row_ptr, dtype=np.int64),
        successors=np.array(successors, dtype=np.int32),
        prob=values,
        ends=ends,
        R=R,
        gamma=field.one(1),
        start=start,
        leaving=ends.astype(np.float64),
        sizes=np.abs(np.array([[float(x) for x in row] for row in R])).reshape(ends.shape),
    )
    found = optimal(Q, open_)
    bound = found.value
    if field is FLOATS:
        slack = float(np.max(_rounded_remainders(M, np.array(levels)), initial=0.0))
        bound = upper_bound(Q, found, slack)
    if field is FLOATS and not np.isfinite(bound):
        bound = max(levels)
    whole = policy.copy()
    for k, out in enumerate(ways):
        slot = int(found.policy[k])
        if slot >= len(out):
            continue  # stop: the policy of the component
        i, a = out[slot]
        if k < len(levels):
            _lead_to(M, part == k, staying, i, whole)
        whole[i] = a
    return GainOptimum(bound, whole)


def _lead_to(M: MDP, members: Mask, staying: Mask, goal: int, policy: Actions) -> None:
    """Let a policy go to one state of a component, by shortest ways."""
    nA = M.shape[1]
    known, wave = {goal}, [goal]
    left = [i for i in np.flatnonzero(members).tolist() if i != goal]
    while wave:
        wave = []
        for i in left:
            for a in np.flatnonzero(staying[i]).tolist():
                span = slice(int(M.row_ptr[i * nA + a]), int(M.row_ptr[i * nA + a + 1]))
                if not known.isdisjoint(M.successors[span].tolist()):
                    policy[i] = a
                    wave.append(i)
                    break
        known.update(wave)
        left = [i for i in left if i not in known]
