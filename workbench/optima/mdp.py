"""Optimal policies with full information: the Markov decision process under a POMDP.

    v(s) = max_a [ R(s,a) + gamma sum_{s'} p(s'|s,a) v(s') ]

Here a state shows an observation, and an action may be forbidden in it. Forbidding all actions but
one wherever an observation o is seen says "pi(o) is fixed, everything else may still depend on all
that is hidden": the relaxation of which `branch_and_bound` takes its bounds. States are pairs (s,
o) with s not terminal and omega(o|s) > 0, or beliefs (`history`); what leads to a terminal state
leaves the process.

Policy iteration (Howard 1960) over floats or over rationals. With gamma = 1 only policies that end
with probability one have a value: states from which none does are taken out, the iteration starts
with a policy that ends, and changes an action only for a strict gain, which keeps it ending unless
some loop has a positive average reward; then values are unbounded and the optimum is reported as
infinite.

Float optima carry a certificate, a vector u >= T u, which bounds every policy that has a value. It
is v + w with w what the residuals add up to along the policy found, and the room for rounding that
checking it takes. Where that fails and gamma < 1, it is v + max(Tv - v) / (1 - gamma).

Rounding is accounted for entry by entry: q(s,a) is known to a few units in the last place of |R| +
gamma sum p |v|, so a penalty of 10^9 blurs only the states that pay it or lead to it, and neither
the choice of an action nor a bound elsewhere.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from workbench.core import linear
from workbench.core.errors import ModelError, NeverEnds, NotSolved
from workbench.core.fields import FLOATS, Field, dynamics
from workbench.core.linear_kernels import reachable, strong_components
from workbench.core.pomdp import POMDP
from workbench.core.rows import add_rows, merge_rows, own_rows, pick_rows, pick_spans
from workbench.optima.mdp_kernels import reached_by, solve_leaving, surely_ending

STRICT = 1e-13
"""A float gain counts as one above this share of the numbers that it is the difference of."""

_ROOM = 4
"""A certificate leaves so many times the room that checking it takes."""

_DENSE = 50_000
"""Up to this many entries the transitions are kept as a dense array, whose solves start at once."""

_MOST_ITERATIONS = 1_000

Actions = NDArray[np.int64]
Mask = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class MDP:
    """A Markov decision process with an observation in every state. Row `i nA + a` of its outcomes
    belongs to (i, a).

    Attributes
    ----------
    seen : the place in O of the observation that each state shows.
    behind : the place in S of the s that each state stands for, or the number of its belief.
    row_ptr, successors, prob : outcomes that do not end the process; probabilities over `field`.
    ends : `ends[i, a]`, whether the process may end.
    R : `R[i, a]`, the expected reward; gamma; start : the distribution of the first state.
    leaving : `[i, a]`, the chance that the process ends, in floats.
    sizes : `sizes[i, a]`, the expected |r|: where rewards cancel, R is rounded at their size and
        not at its own.
    remainders : `[i, a]`, whether some of the probabilities are what others leave of 1, so that
        floats round them at the size of 1 and not at their own; None if none are.
    """

    field: Field
    seen: NDArray[np.int64]
    behind: NDArray[np.int64]
    row_ptr: NDArray[np.int64]
    successors: NDArray[np.int32]
    prob: NDArray[Any]
    ends: Mask
    R: NDArray[Any]
    gamma: Any
    start: NDArray[Any]
    leaving: NDArray[np.float64]
    sizes: NDArray[np.float64]
    remainders: Mask | None = None

    @property
    def shape(self) -> tuple[int, int]:
        return self.R.shape[0], self.R.shape[1]

    @property
    def undiscounted(self) -> bool:
        return bool(self.gamma == 1)

    @cached_property
    def starts(self) -> NDArray[np.int64]:
        return np.flatnonzero(np.asarray(self.start != 0, dtype=bool))

    @cached_property
    def _step(self) -> sp.csr_array:
        n, nA = self.shape
        return sp.csr_array((self.prob, self.successors, self.row_ptr), shape=(n * nA, n))

    @cached_property
    def longest_row(self) -> int:
        return int(np.max(np.diff(self.row_ptr), initial=0))

    @cached_property
    def is_acyclic(self) -> bool:
        """Whether no state can come back, so that every policy ends after finitely many steps."""
        indptr = np.ascontiguousarray(self.row_ptr[:: self.shape[1]])
        count, _ = strong_components(indptr, self.successors)
        own = own_rows(indptr) == self.successors
        return count == self.shape[0] and not own.any()

    @cached_property
    def dense(self) -> NDArray[np.float64] | None:
        """p(j | i, a) as `[i, a, j]`, if that is small."""
        n, nA = self.shape
        if self.field is not FLOATS or n * nA * n > _DENSE:
            return None
        table = np.zeros((n * nA, n))
        row = own_rows(self.row_ptr)
        np.add.at(table, (row, self.successors), self.prob)
        return table.reshape(n, nA, n)

    @cached_property
    def leave(self) -> NDArray[np.float64]:
        """1 - gamma sum_j p(j | i, a), without the rounding errors of that sum."""
        gamma = float(self.gamma)
        return np.asarray((1.0 - gamma) + gamma * self.leaving)

    def solve_dense(
        self,
        states: NDArray[np.int64],
        policy: Actions,
        r: NDArray[np.float64],
        start: NDArray[np.float64],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Solve v = r + gamma P v and d = start + gamma P^T d. The states are those that a policy
        leaves only at the end."""
        assert self.dense is not None
        P = self.gamma * self.dense[states, policy[states]][:, states]
        v, d = np.empty(len(states)), np.empty(len(states))
        away = self.leave[states, policy[states]]
        if not solve_leaving(P, away, r.copy(), start.copy(), v, d):
            raise NotSolved("floats cannot tell a policy from one that never ends")
        return v, d

    def q(self, v: NDArray[Any]) -> NDArray[Any]:
        """`q[i, a]` = R + gamma sum p v."""
        if self.dense is not None:
            return np.asarray(self.R + self.gamma * (self.dense @ v))
        if self.field is FLOATS:
            return np.asarray(self.R + self.gamma * (self._step @ v).reshape(self.shape))
        sums = add_rows(
            self.row_ptr, self.prob * v[self.successors], self.field.zeros(len(self.row_ptr) - 1)
        )
        return np.asarray(self.R + self.gamma * sums.reshape(self.shape))

    def magnitude(self, v: NDArray[np.float64]) -> NDArray[np.float64]:
        """`[i, a]`: the size of the numbers that q(i, a) adds up, and so of its rounding errors."""
        size = np.abs(v)
        if self.dense is not None:
            return np.asarray(self.sizes + self.gamma * (self.dense @ size))
        return np.asarray(self.sizes + self.gamma * (self._step @ size).reshape(self.shape))

    def scale(self, v: NDArray[np.float64]) -> float:
        """The size of the numbers at hand: tolerances are shares of it."""
        return float(max(np.max(self.sizes, initial=0.0), np.max(np.abs(v), initial=0.0)))

    def chain(
        self, policy: Actions, alive: Mask | None = None, R: NDArray[Any] | None = None
    ) -> tuple[sp.csr_array, NDArray[Any], NDArray[Any]]:
        """Pattern, probabilities and rewards of the chain of a deterministic policy. Rows outside
        `alive` are empty. R stands for the rewards, if it is given."""
        n, nA = self.shape
        rows = np.arange(n) * nA + policy
        counts = self.row_ptr[rows + 1] - self.row_ptr[rows]
        r = (self.R if R is None else R)[np.arange(n), policy]
        if alive is not None and not alive.all():
            counts = np.where(alive, counts, 0)
            r = r.copy()
            r[~alive] = self.field.one(0)
        indptr, places = pick_spans(self.row_ptr[rows], counts)
        pattern = sp.csr_array(
            (np.ones(len(places)), self.successors[places], indptr), shape=(n, n)
        )
        return pattern, self.prob[places], r

    def evaluate(
        self, policy: Actions, alive: Mask | None = None, R: NDArray[Any] | None = None
    ) -> linear.Solution:
        """The values v of a deterministic policy, 0 outside `alive`. R stands for the rewards, if
        it is given."""
        if self.dense is not None:
            return self._evaluate_dense(policy, alive, self.R if R is None else R)
        pattern, data, r = self.chain(policy, alive, R)
        if self.field is not FLOATS:
            return self.field.solve(pattern, data, self.gamma, r, "the decision process")
        P = sp.csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)
        found = linear.solve(P, self.gamma, r)
        missed = r + self.gamma * (P @ found.x) - found.x
        return replace(found, residual=float(np.max(np.abs(missed), initial=0.0)))

    def _evaluate_dense(
        self, policy: Actions, alive: Mask | None, R: NDArray[np.float64]
    ) -> linear.Solution:
        assert self.dense is not None
        inside = np.arange(len(policy)) if alive is None else np.flatnonzero(alive)
        r, v = R[inside, policy[inside]], np.zeros(len(policy))
        v[inside], _ = self.solve_dense(inside, policy, r, np.zeros(len(inside)))
        P = self.dense[inside, policy[inside]]
        missed = r + self.gamma * (P @ v) - v[inside]
        return linear.Solution(v, "dense", residual=float(np.max(np.abs(missed), initial=0.0)))


def size_of_values(M: MDP) -> float:
    """The size of rewards, and of values with full information. Margins are shares of it, so that
    the unit of reward does not matter."""
    return M.scale(optimal(M).v) if M.shape[0] else 0.0


def from_states(P: POMDP, field: Field) -> MDP:
    """The process over the pairs (s, o) that some policy reaches, with all actions everywhere."""
    P = P.with_all_actions()
    D, nA = dynamics(P, field), len(P.A)
    shown = np.flatnonzero(np.asarray(D.omega != 0, dtype=bool) & ~P.terminal.mask[D.entry_s])
    s = D.entry_s[shown]
    entries = np.bincount(
        s, minlength=len(P.S)
    )  # how many observations each state shows; none if terminal
    first_entry = np.cumsum(entries) - entries

    # outcomes of (s, a), each followed by the observations of its successor
    real = np.flatnonzero(np.asarray(D.prob != 0, dtype=bool))
    row = own_rows(P.p.row_ptr)[real]
    s_next = P.p.s_next[real]
    last = P.terminal.mask[s_next]
    ends = np.zeros(len(P.S) * nA, dtype=bool)
    ends[row[last]] = True
    leaving = np.bincount(row[last], P.p.prob.floats[real[last]], minlength=len(P.S) * nA)
    counts = entries[s_next]
    _, to = pick_spans(first_entry[s_next], counts)
    k = np.repeat(np.arange(len(real)), counts)
    row_counts = np.bincount(row[k], minlength=len(P.S) * nA)
    row_first = np.cumsum(row_counts) - row_counts
    prob = D.prob[real[k]] * D.omega[shown[to]]

    # the rows of (s, o) are those of s
    rows = (s[:, None] * nA + np.arange(nA)).ravel()
    row_ptr, places = pick_spans(row_first[rows], row_counts[rows])
    whole = MDP(
        field=field,
        seen=np.asarray(P.omega.o[shown], dtype=np.int64),
        behind=s,
        row_ptr=row_ptr,
        successors=to[places].astype(np.int32),
        prob=prob[places],
        ends=ends.reshape(-1, nA)[s],
        R=D.R[s],
        gamma=D.gamma,
        start=D.mu[s] * D.omega[shown],
        leaving=np.asarray(leaving.reshape(-1, nA)[s], dtype=np.float64),
        sizes=reward_sizes(P)[s],
    )
    return _reachable_part(whole)


def in_rationals(P: POMDP) -> POMDP | None:
    """The model with its floats read as decimals, if that is a model."""
    if P.is_exact:
        return P
    try:
        return P.rationalised()
    except ModelError:
        return None


def reward_sizes(P: POMDP) -> NDArray[np.float64]:
    """The expected |r|, for each `[s, a]`."""
    flat = add_rows(
        P.p.row_ptr, P.p.prob.floats * np.abs(P.p.r.floats), np.zeros(len(P.S) * len(P.A))
    )
    return np.asarray(flat.reshape(len(P.S), len(P.A)))


def _reachable_part(M: MDP) -> MDP:
    nA = M.shape[1]
    found = reachable(merge_rows(M.row_ptr, nA), M.successors, M.starts)
    if found.all():
        return M
    kept = np.flatnonzero(found)
    place = np.cumsum(found) - 1
    rows = (kept[:, None] * nA + np.arange(nA)).ravel()
    row_ptr, places = pick_rows(M.row_ptr, rows)
    return MDP(
        field=M.field,
        seen=M.seen[kept],
        behind=M.behind[kept],
        row_ptr=row_ptr,
        successors=place[M.successors[places]].astype(np.int32),
        prob=M.prob[places],
        ends=M.ends[kept],
        R=M.R[kept],
        gamma=M.gamma,
        start=M.start[kept],
        leaving=M.leaving[kept],
        sizes=M.sizes[kept],
    )


# ---------------------------------------------------------------------- policy iteration


@dataclass(frozen=True, eq=False)
class Optimum:
    """What `optimal` found.

    Attributes
    ----------
    value : start . v; minus infinity if no allowed policy ends (gamma = 1), infinity if values are
        unbounded.
    v, policy : the optimum; meaningless where `alive` is False, from where no allowed policy surely
        ends.
    allowed : the actions that were allowed and do not lead there.
    """

    value: Any
    v: NDArray[Any]
    policy: Actions
    alive: Mask
    allowed: Mask


def optimal(M: MDP, allowed: Mask | None = None, first: Actions | None = None) -> Optimum:
    """Policy iteration.

    Parameters
    ----------
    allowed : `allowed[i, a]`; at least one action in every state. All of them, if None.
    first : the policy to begin with, near the optimum if one is known; corrected where it is not
        allowed.
    """
    n, nA = M.shape
    allowed = np.ones((n, nA), dtype=bool) if allowed is None else allowed
    policy = first_policy(allowed, first)
    alive = np.ones(n, dtype=bool)
    if M.undiscounted:
        alive, allowed, ending = surely_ending(M.row_ptr, M.successors, M.ends, allowed)
        nothing = np.zeros(n, dtype=np.int64)
        if not alive[M.starts].all():
            return Optimum(-np.inf, M.field.zeros(n), nothing, alive, allowed)
        if not (allowed[np.arange(n), policy] | ~alive).all() or not _ends(M, policy, alive):
            policy = np.where(alive, ending, 0)
    tried = set()
    for _ in range(_MOST_ITERATIONS):
        tried.add(policy.tobytes())
        solution = M.evaluate(policy, alive)
        v, better = solution.x, _improved(M, solution, policy, alive, allowed)
        if better is None or better.tobytes() in tried:  # only rounding errors lead back
            value = (M.start * v).sum()
            return Optimum(float(value) if M.field is FLOATS else value, v, policy, alive, allowed)
        policy = better
        if M.undiscounted and not _ends(M, policy, alive):
            return Optimum(np.inf, M.field.zeros(n), policy, alive, allowed)
    raise NotSolved(
        f"policy iteration did not settle within {_MOST_ITERATIONS:,} iterations on {n:,} states"
    )


def require_end(P: POMDP, found: Optimum) -> None:
    """Raise `NeverEnds` if no policy has a value."""
    if isinstance(found.value, float) and found.value == -np.inf:
        raise NeverEnds(
            f"gamma is 1 and no policy of {P.name} ends with probability one, so no return is "
            "defined; give a gamma below 1"
        )


def first_policy(allowed: Mask, first: Actions | None) -> Actions:
    fallback = np.argmax(allowed, axis=1)
    if first is None:
        return fallback
    return np.where(allowed[np.arange(len(first)), first], first, fallback)


def _ends(M: MDP, policy: Actions, alive: Mask) -> bool:
    """Whether a policy ends with probability one from every state of `alive`, which it does not
    leave."""
    only = np.zeros(M.shape, dtype=bool)
    only[np.arange(len(policy)), policy] = alive
    inside, _, _ = surely_ending(M.row_ptr, M.successors, M.ends, only)
    return bool(inside[alive].all())


def _improved(
    M: MDP, solution: linear.Solution, policy: Actions, alive: Mask, allowed: Mask
) -> Actions | None:
    """Switch each action that can be switched for a strict gain. None if there is none."""
    v = solution.x
    q = M.q(v)
    everyone = np.arange(len(policy))
    if M.field is FLOATS:
        size = M.magnitude(v)
        q[~allowed & alive[:, None]] = -np.inf
        best = np.argmax(q, axis=1)
        gain = q[everyone, best] - q[everyone, policy]
        size = np.maximum(size[everyone, best], size[everyone, policy])
        missed = np.abs(q[everyone, policy] - v)
        noise = STRICT * size
        if M.undiscounted or M.dense is None:
            # A false gain could lead onto a loop, or to slow sweeps. So the error of one state
            # counts for all, as a share of their values where that is less.
            met = alive & (size > 0)
            share = np.max(missed[met] / size[met], initial=0.0)
            noise += 4 * np.minimum(solution.residual, share * size)
        else:  # a direct solve errs state by state, so one large value does not blur the others
            noise += 4 * missed
        changed = alive & (gain > noise)
        return np.where(changed, best, policy) if changed.any() else None
    return switched(q, policy, allowed & alive[:, None])


def switched(q: NDArray[Any], policy: Actions, allowed: Mask) -> Actions | None:
    """The policy with the exactly better actions of `q[i, a]`. None if there are none."""
    better = policy.copy()
    for i in np.flatnonzero(allowed.any(axis=1)).tolist():
        top = max(np.flatnonzero(allowed[i]).tolist(), key=lambda a: q[i, a])
        if q[i, top] > q[i, policy[i]]:
            better[i] = top
    return None if np.array_equal(better, policy) else better


# ---------------------------------------------------------------------- certificates


def superharmonic(M: MDP, found: Optimum, slack: float = 0.0) -> NDArray[np.float64] | None:
    """A vector u >= T u over the allowed actions, near v: no allowed policy is worth more. None if
    none was found, as where values are unbounded. `slack` is how much too small the rewards of M
    may be."""
    return _certificate(M, found, slack, +1) if np.isfinite(found.value) else None


def upper_bound(M: MDP, found: Optimum, slack: float = 0.0) -> float:
    """A certified upper bound on the value of all allowed policies. It is infinite if none could be
    certified."""
    if not np.isfinite(float(found.value)):
        return float(found.value)
    u = superharmonic(M, found, slack)
    return np.inf if u is None else float(M.start @ u) + _rounding_at_start(M, u)


def lower_bound(M: MDP, found: Optimum, slack: float = 0.0) -> float:
    """A certified lower bound on the value of the policy found. Minus infinity if none could be
    certified."""
    only = np.zeros(M.shape, dtype=bool)
    only[np.arange(M.shape[0]), found.policy] = True
    u = _certificate(M, replace(found, allowed=only & found.allowed), slack, -1)
    return -np.inf if u is None else float(M.start @ u) - _rounding_at_start(M, u)


def visited_size(M: MDP, found: Optimum) -> float:
    """The largest value or expected |r| along the optimal policy. Tolerances are shares of it: what
    the policy never meets, such as the price of a forbidden action, is no measure of its value."""
    if not np.isfinite(float(found.value)):
        return M.scale(found.v)
    met = reached_by(M.row_ptr, M.successors, M.shape[1], found.policy, M.starts)
    paid = M.sizes[met, found.policy[met]]
    return float(max(np.max(paid, initial=0.0), np.max(np.abs(found.v[met]), initial=0.0)))


def explained_gap(M: MDP, size: float, steps: float) -> float:
    """The largest gap between bound and value of a policy that rounding explains. It depends on the
    size of rewards and values, and on the number of time steps."""
    return 2 * _ROOM * relative_rounding(M.longest_row) * size * steps


def relative_rounding(terms: int) -> float:
    """More than the relative error of a sum of so many products of rounded numbers."""
    return 4 * (terms + 4) * sys.float_info.epsilon


def round_up(M: MDP, v: NDArray[np.float64]) -> NDArray[np.float64]:
    """`[i, a]`: more than the rounding error of q(i, a) - v(i)."""
    return np.asarray(relative_rounding(M.longest_row) * (M.magnitude(v) + np.abs(v)[:, None]))


def _rounding_at_start(M: MDP, u: NDArray[np.float64]) -> float:
    return relative_rounding(len(M.starts)) * float(M.start @ np.abs(u))


def _certificate(M: MDP, found: Optimum, slack: float, sign: int) -> NDArray[np.float64] | None:
    """Certify u >= T u (sign 1) or u <= T u (sign -1), rounding included. T ranges over the actions
    that `found.allowed` leaves."""
    v, rough = found.v, None
    missed = sign * (M.q(v) - v[:, None])
    if not M.undiscounted:
        error = relative_rounding(M.longest_row) * M.magnitude(v) + slack
        step = np.where(found.allowed, missed + error, -np.inf)
        off = max(0.0, float(step.max(initial=0.0))) / (1 - M.gamma) * (1 + 1e-9)
        rough = np.asarray(v + sign * off) if math.isfinite(off) else None
    step = np.where(found.allowed, missed + _ROOM * round_up(M, v) + slack, -np.inf)
    everyone = np.arange(len(v))
    # costs along the policy found must not be negative, so that their sums are not either
    step[everyone, found.policy] = np.maximum(step[everyone, found.policy], 0.0)
    for _ in range(2):  # what is lacking the first time is added to the steps
        w = _along_policy(M, found, step)
        if w is None:
            return rough
        u = v + sign * w
        needed = round_up(M, u) + slack - sign * (u[:, None] - M.q(u))
        lacking = np.where(found.allowed, needed, 0.0).max(axis=1)[:, None]
        if not (lacking > 0).any():
            return u
        step = step + 2 * np.maximum(lacking, 0.0)
    return rough


def _along_policy(M: MDP, found: Optimum, step: NDArray[np.float64]) -> NDArray[np.float64] | None:
    """Sum the per-state rounding errors along the optimal policy's trajectory. That bounds them
    where other actions are clearly worse."""
    try:
        w = M.evaluate(found.policy, found.alive, step).x
    except NotSolved:
        return None
    return np.asarray(np.where(found.alive, np.maximum(w, 0.0), 0.0))
