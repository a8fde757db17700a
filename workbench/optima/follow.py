"""Deterministic memoryless policies of a decision process: their values, and changes of one action.

A policy is an array `choice[o]` of actions. Only the states that it reaches matter, and they are
few: a policy of gravity x O1 reaches some dozens of 1,200 states, so a value costs a small linear
system. With gamma = 1 a policy that may go on for ever has no value; it counts as minus infinity
here, and so is never chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from workbench.core import linear
from workbench.core.errors import NotSolved
from workbench.core.fields import FLOATS
from workbench.core.rows import pick_rows
from workbench.optima.mdp import MDP, Actions, Mask
from workbench.optima.mdp_kernels import reached_by, solve_leaving, surely_ending

_DENSE = 200
"""Up to this many states a dense solve is the fastest."""


@dataclass(frozen=True, eq=False)
class Followed:
    """What following a deterministic policy amounts to.

    Attributes
    ----------
    value : start . v; minus infinity if it is not defined.
    states : the states reached; d : their (discounted) occupancy, empty where the value is not
        defined.
    """

    value: Any
    states: NDArray[np.int64]
    d: NDArray[np.float64]


def follow(M: MDP, choice: Actions) -> Followed:
    """Follow `choice` from the start. It must name an action wherever it leads."""
    return follow_states(M, choice[M.seen])


def follow_states(M: MDP, policy: Actions) -> Followed:
    """The same for a policy that may see the state, an action `policy[i]` for each."""
    nA = M.shape[1]
    states = reached_by(M.row_ptr, M.successors, nA, policy, M.starts)
    rows = states * nA + policy[states]
    indptr, places = pick_rows(M.row_ptr, rows)
    local = np.empty(len(policy), dtype=np.int32)
    local[states] = np.arange(len(states))
    to = local[M.successors[places]]
    if M.undiscounted:
        ends = M.ends.reshape(-1)[rows][:, None]
        inside, _, _ = surely_ending(indptr, to, ends, np.ones((len(states), 1), dtype=bool))
        if not inside.all():
            return Followed(-np.inf, states, np.empty(0))
    r, start = M.R.reshape(-1)[rows], M.start[states]
    if M.dense is not None:
        v, d = M.solve_dense(states, policy, r, start)
        return Followed(float(start @ v), states, d)
    pattern = sp.csr_array((np.ones(len(to)), to, indptr), shape=(len(states), len(states)))
    if M.field is not FLOATS:
        v = M.field.solve(pattern, M.prob[places], M.gamma, r, "the policy's chain").x
        return Followed((start * v).sum(), states, np.empty(0))
    P = sp.csr_array((M.prob[places], to, indptr), shape=pattern.shape)
    if len(states) <= _DENSE:
        v, d = np.empty(len(states)), np.empty(len(states))
        away = M.leave.reshape(-1)[rows]
        if not solve_leaving(M.gamma * P.toarray(), away, r.copy(), start.copy(), v, d):
            raise NotSolved("floats cannot tell a policy from one that never ends")
    else:
        d = linear.solve(P, M.gamma, start, transposed=True).x
    return Followed(float(d @ r), states, d)


def first_open(M: MDP, choice: Actions, starts: NDArray[np.int64]) -> int | None:
    """The first observation without an action that is met from some states, breadth first, or
    None."""
    nA = M.shape[1]
    queue = list(starts.tolist())
    seen = set(queue)
    for i in queue:  # grows while we walk
        o = int(M.seen[i])
        if choice[o] < 0:
            return o
        row = i * nA + int(choice[o])
        for j in M.successors[M.row_ptr[row] : M.row_ptr[row + 1]].tolist():
            if j not in seen:
                seen.add(j)
                queue.append(j)
    return None


def alternatives(M: MDP, observations: int) -> list[NDArray[np.int64]]:
    """For each observation the actions that differ: of those that do the same in each of its
    states, the first."""
    n, nA = M.shape
    members: list[list[int]] = [[] for _ in range(observations)]
    for i, o in enumerate(M.seen.tolist()):
        members[o].append(i)
    row = _row_signatures(M).reshape(n, nA)
    found = []
    for states in members:
        first: dict[bytes, int] = {}
        for a in range(nA):
            first.setdefault(row[states, a].tobytes(), a)
        found.append(np.array(sorted(first.values()), dtype=np.int64))
    return found


def _row_signatures(M: MDP) -> NDArray[np.int64]:
    """A number for each row, equal for rows with the same reward and outcomes in the same order."""
    known: dict[Any, int] = {}
    prob, R = M.prob, M.R.reshape(-1)
    ptr = M.row_ptr.tolist()
    exact = M.field is not FLOATS
    signs = np.empty(len(ptr) - 1, dtype=np.int64)
    for row in range(len(ptr) - 1):
        span = slice(ptr[row], ptr[row + 1])
        weights = tuple(map(str, prob[span])) if exact else prob[span].tobytes()
        key = (str(R[row]) if exact else R[row], M.successors[span].tobytes(), weights)
        signs[row] = known.setdefault(key, len(known))
    return signs


def first_order_gains(M: MDP, choice: Actions, observations: int) -> NDArray[np.float64]:
    """First-order gains `[o, a]` of changes of one action.

    They are sum_s d(s) (q(s,a) - v(s)) over the states that show o, minus infinity where the
    changed policy may never end.
    """
    now = follow(M, choice)
    policy = choice[M.seen]
    alive = np.ones(len(policy), dtype=bool)
    if M.undiscounted:
        only: Mask = np.zeros(M.shape, dtype=bool)
        only[np.arange(len(policy)), policy] = True
        alive, _, _ = surely_ending(M.row_ptr, M.successors, M.ends, only)
    v = M.evaluate(policy, alive).x
    q = M.q(v)
    if not alive.all():
        steps = sp.csr_array((np.ones(len(M.prob)), M.successors, M.row_ptr), (q.size, len(policy)))
        q[(steps @ ~alive).reshape(q.shape) > 0] = -np.inf
    gain = np.zeros((observations, M.shape[1]))
    np.add.at(gain, M.seen[now.states], now.d[:, None] * (q[now.states] - v[now.states, None]))
    return gain


def sort_changes(
    gain: NDArray[np.float64],
    options: list[NDArray[np.int64]],
    choice: Actions,
    met: NDArray[np.int64],
    room: float,
) -> list[tuple[int, int]]:
    """The changes (o, a) at the observations met that gain more than `room`, by falling gain."""
    rows = [
        (gain[o, a], o, int(a))
        for o in met.tolist()
        for a in options[o]
        if a != choice[o] and gain[o, a] > room
    ]
    return [(o, a) for _, o, a in sorted(rows, reverse=True)]
