"""How the fixed points of `td` are found: linear systems over observations, and over states and
observations.

With `begin` = gamma sum_s P(s|o) sum_a pi(a|o) p(s'|s,a), the first step from an observation, and
`step` = gamma P_pi,

    n steps       v = b + (begin step^(n-1) omega) v                  a system over observations
    TD(lambda)    w = lambda r + lambda step w + (1 - lambda) omega v,  v = b + begin w
                  one over both, sparse

Both matrices are substochastic: a fixed point fails to exist only where gamma is 1 and nothing ever
ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse.linalg as sla
from numpy.typing import NDArray

from workbench.core import solve as linear
from workbench.core.chain import Chain, FloatChain, dynamics, follow_policy
from workbench.core.errors import NeverEnds, NotSolved
from workbench.core.evaluate import action_values_with_bounds, state_values
from workbench.core.fields import FLOATS, Field
from workbench.core.matrix import Matrix, stacked
from workbench.core.numbers import Number, is_symbolic
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.rows import add_groups, pick_rows
from workbench.core.solve import Solution
from workbench.core.visits import (
    given_observation,
    known,
    observation_errors,
    observation_values,
    occupancy,
    too_few,
)
from workbench.core.walk_kernels import reachable

_UNIT = 2.0**-53

MOST_FORMED = 600
"""With floats and more observations than this, the n-step matrix over observations is applied and
not formed."""


class Seen:
    """The observations of a policy: what it meets behind them, and where the first step leads from
    there."""

    def __init__(self, field: Field, P: POMDP, pi: Policy, weights: str):
        self.P, self.field = P, field
        self.D = dynamics(P, field)
        self.table = field.enter(pi.prob)
        self.chain: Chain = follow_policy(self.D, pi)
        d, visited = occupancy(self.chain, weights)
        self.share_error = d.error
        self.share, total, self.reached = given_observation(self.D, d.x, visited)
        self.observed_error, self.faint = 0.0, np.zeros(len(P.O), dtype=bool)
        if not field.is_exact:
            self.faint = too_few(self.D, d.x, visited, total, self.reached)
            # a ratio of sums of weights is off by twice as much as these are
            most = float(np.max(np.where(visited, d.error, 0.0), initial=0.0))
            most += 4 * len(P.S) * _UNIT
            self.observed_error = 2 * most / (1 - most) if most < 0.5 else np.inf
        everything = total.sum()
        self.observed = total / everything if everything != 0 else field.undefined(len(P.O))
        entries = np.flatnonzero(known(self.share))
        self.used = entries[np.asarray(self.share[entries] != 0, dtype=bool)]
        self.lacks = np.ones(len(P.O), dtype=bool)  # no P(s|o)
        self.lacks[self.D.entry_o[self.used]] = False
        self.undiscounted = not is_symbolic(P.gamma) and P.gamma == 1

    @cached_property
    def step(self) -> Matrix:
        """gamma P_pi."""
        return Matrix(self.field, self.chain.pattern, self.chain.data).times(self.D.gamma)

    @cached_property
    def omega(self) -> Matrix:
        """omega(o|s) for the states that are not terminal."""
        alive = np.flatnonzero(~self.P.terminal.mask[self.D.entry_s])
        shape = (len(self.P.S), len(self.P.O))
        return Matrix.of_entries(
            self.field, self.D.entry_s[alive], self.D.entry_o[alive], self.D.omega[alive], shape
        )

    @cached_property
    def begin(self) -> Matrix:
        """gamma sum_s P(s|o) sum_a pi(a|o) p(s'|s,a), `[o, s']`."""
        s, o = self.D.entry_s[self.used], self.D.entry_o[self.used]
        weight = self.share[self.used][:, None] * self.table[o]
        entry, a = np.nonzero(np.asarray(weight != 0, dtype=bool))
        row = s[entry] * len(self.P.A) + a
        row_ptr, k = pick_rows(self.P.p.row_ptr, row)
        counts = np.diff(row_ptr)
        values = np.repeat(weight[entry, a], counts) * self.D.prob[k] * self.D.gamma
        shape = (len(self.P.O), len(self.P.S))
        return Matrix.of_entries(
            self.field, np.repeat(o[entry], counts), self.P.p.s_next[k], values, shape
        )

    @cached_property
    def begin_reward(self) -> NDArray[Any]:
        """sum_s P(s|o) sum_a pi(a|o) R(s,a)."""
        s, o = self.D.entry_s[self.used], self.D.entry_o[self.used]
        terms = self.share[self.used] * (self.table[o] * self.D.R[s]).sum(axis=1)
        return add_groups(o, terms, self.field.zeros(len(self.P.O)))

    def roll(self, w: NDArray[Any], steps: int) -> NDArray[Any]:
        """w_steps from w_0."""
        for _ in range(steps):
            w = self.chain.r + self.step.apply(w)
        return w

    def first(self, v: NDArray[Any]) -> tuple[Number, float]:
        """sum_o P(o is the first observation) v(o), and a bound on what rounding does to it."""
        entry = np.flatnonzero(np.asarray(self.D.mu != 0, dtype=bool)[self.D.entry_s])
        entry = entry[~self.P.terminal.mask[self.D.entry_s[entry]]]
        known_v = known(v)[self.D.entry_o[entry]]
        if not known_v.all():
            return (None, 0.0) if self.field.is_exact else (np.nan, 0.0)
        terms = self.D.mu[self.D.entry_s[entry]] * self.D.omega[entry] * v[self.D.entry_o[entry]]
        total = self.field.back(terms.sum() if len(terms) else self.field.one(0))
        if self.field.is_exact:
            return total, 0.0
        return total, (len(terms) + 8) * _UNIT * float(np.abs(terms).sum())


@dataclass(frozen=True)
class Found:
    """v(o) and w(s), with 0 where they are undefined, the masks of those places, and how they were
    found.

    `steps` bounds the sum of a row of the inverse of the system, `missed` what is wrong with w
    apart from v: both are 0 in exact arithmetic.
    """

    v: NDArray[Any]
    lacks_o: NDArray[np.bool_]
    w: NDArray[Any]
    lacks_s: NDArray[np.bool_]
    steps: float
    missed: float
    method: str


def q_values(seen: Seen, found: Found) -> NDArray[Any]:
    """q(o,a) = sum_s P(s|o) [R(s,a) + gamma sum p(s'|s,a) w(s')]."""
    return observation_values(seen.D, seen.share, seen.D.action_values(found.w, found.lacks_s))


def bounded_q_values(seen: Seen, found: Found) -> tuple[NDArray[Any], NDArray[np.float64], float]:
    """`q_values`, bounds on the errors of each, and one on those of v and w.

    v is a fixed point of a map that moves its argument's error on by less than one in all but
    `steps` steps. It misses that by what v(o) and sum_a pi(a|o) q(o,a) differ in, by what the
    shares and rounding may do to q(o,a), and by what w misses of its own equation; the error is at
    most so much in each of those steps.
    """
    D = seen.D
    if seen.field.is_exact:
        q = q_values(seen, found)
        return q, np.zeros(q.shape), 0.0
    w_missed = np.full(len(found.w), found.missed)
    q_state, doubt = action_values_with_bounds(D, found.w, found.lacks_s, w_missed)
    q = observation_values(D, seen.share, q_state)
    own = observation_errors(D, seen.share, seen.share_error, q_state, doubt, q)
    taken = (seen.table > 0) & ~found.lacks_o[:, None]
    mean = np.where(taken, seen.table * np.where(taken, q, 0.0), 0.0).sum(axis=1)
    off = np.where(taken, seen.table * np.where(taken, own, 0.0), 0.0).sum(axis=1)
    off += np.abs(mean - np.where(found.lacks_o, 0.0, found.v))
    off += (len(D.P.A) + 4) * _UNIT * np.abs(found.v)
    most = float(np.max(np.where(np.isnan(off), np.inf, off), initial=0.0))
    if found.steps == 0:  # nothing was bootstrapped: w is v_pi, with an error of its own
        return q, own, found.missed + most
    error = (
        found.missed + 1.01 * found.steps * most
    )  # the shares themselves change `steps` a little
    q_state, carried = action_values_with_bounds(
        D, found.w, found.lacks_s, np.full(len(found.w), error)
    )
    return q, observation_errors(D, seen.share, seen.share_error, q_state, carried, q), error


# ---------------------------------------------------------------------- the three targets


def monte_carlo_values(seen: Seen) -> Found:
    """lambda = 1: nothing is bootstrapped, w is v_pi."""
    w, undefined, solution = state_values(seen.chain)
    lacks_o = seen.lacks | seen.begin.touches(undefined)
    v = seen.begin_reward + seen.begin.apply(w)
    v[lacks_o] = seen.field.one(0)
    return Found(
        v,
        lacks_o,
        w,
        undefined,
        0.0,
        float(np.max(solution.error, initial=0.0)) if seen.field is FLOATS else 0.0,
        solution.method,
    )


def n_step(seen: Seen, n: int) -> Found:
    """v = b + K v over observations, K = (begin) (gamma P)^(n-1) omega."""
    b = seen.begin_reward + seen.begin.apply(seen.roll(seen.field.zeros(len(seen.P.S)), n - 1))
    if seen.field is FLOATS and n > 1 and len(seen.P.O) > MOST_FORMED:
        lacks_o = seen.lacks | _unformed_lacks(seen, n)
        v, steps, method = _solve_unformed(seen, n, np.where(lacks_o, 0.0, b), ~lacks_o)
    else:
        lacks_o, solution, steps = _solve(seen, _formed(seen, n), b, _may_end(seen, n), seen.lacks)
        v, method = solution.x, solution.method
    w = seen.roll(seen.omega.apply(v), n - 1)
    lacks_s = seen.omega.touches(lacks_o)
    for _ in range(n - 1):
        lacks_s = seen.step.touches(lacks_s)
    w[lacks_s] = seen.field.one(0)
    missed = 0.0
    if isinstance(
        seen.chain, FloatChain
    ):  # rounding in n - 1 steps and in what is bootstrapped from
        size = float(np.max(np.abs(w), initial=0.0)) + float(np.max(np.abs(v), initial=0.0))
        size += n * float(np.max(seen.chain.r_pair[2], initial=0.0))
        missed = n * (_longest(seen) + 8) * _UNIT * size
    return Found(v, lacks_o, w, lacks_s, steps, missed, method)


def _longest(seen: Seen) -> int:
    """The most terms that a step or an emission adds up."""
    return max(
        int(np.max(np.diff(pointers), initial=0))
        for pointers in (seen.chain.indptr, seen.P.omega.row_ptr)
    )


def _formed(seen: Seen, n: int) -> Matrix:
    K = seen.begin
    for _ in range(n - 1):
        if not K.data.size:  # every episode is over by then
            break
        K = K @ seen.step
    return K @ seen.omega


def _may_end(seen: Seen, n: int) -> NDArray[np.bool_]:
    """For each o, whether an episode can be over within n steps after it."""
    over = seen.P.terminal.mask
    for _ in range(n - 1):
        over = seen.P.terminal.mask | seen.step.touches(over)
    return seen.begin.touches(over)


def mixture(seen: Seen, lam: Any) -> Found:
    """w and v as one sparse system: w = lam r + lam gamma P w + (1 - lam) omega v, v = b + (begin)
    w."""
    field, nS = seen.field, len(seen.P.S)
    system = stacked(field, [[seen.step.times(lam), seen.omega.times(1 - lam)], [seen.begin, None]])
    b = np.concatenate([lam * seen.chain.r, seen.begin_reward])
    over = np.concatenate([seen.P.terminal.mask, np.zeros(len(seen.P.O), dtype=bool)])
    lacks = np.concatenate([np.zeros(nS, dtype=bool), seen.lacks])
    lacks, solution, steps = _solve(seen, system, b, over, lacks)
    missed = 0.0
    if field is FLOATS:  # what w misses of its equation, and rounding in saying so
        x = solution.x
        rounding = (_longest(seen) + 12) * _UNIT
        size = np.abs(system.floats) @ np.abs(x) + np.abs(x) + np.abs(b)
        assert isinstance(seen.chain, FloatChain)
        size[:nS] += lam * seen.chain.r_pair[2]  # rewards that cancel may have been floats
        off = np.abs(b + system.floats @ x - x) + rounding * size
        missed = steps * float(np.max(np.where(lacks, 0.0, off), initial=0.0))
    return Found(
        solution.x[nS:], lacks[nS:], solution.x[:nS], lacks[:nS], steps, missed, solution.method
    )


def _solve(
    seen: Seen, system: Matrix, b: NDArray[Any], over: NDArray[np.bool_], lacks: NDArray[np.bool_]
) -> tuple[NDArray[np.bool_], Solution, float]:
    """x = b + (system) x where it is defined: which places are not, x with 0 there, a bound on its
    error.

    The system is substochastic, so it is singular only where gamma is 1 and nothing ever ends.
    """
    field, back = seen.field, system.pattern.T.tocsr()
    lacks = reachable(back.indptr, back.indices, np.flatnonzero(lacks))
    system = system.without_rows(lacks)
    b = np.where(lacks, field.zeros(len(b)), b)
    if seen.undiscounted:
        ends = reachable(back.indptr, back.indices, np.flatnonzero(over))
        if (lost := np.flatnonzero(~ends & ~lacks)).size:
            raise _no_fixed_point(seen, int(lost[-1]) - (len(b) - len(seen.P.O)))
    solution = system.solve(b, seen.P.name)
    steps = 0.0 if seen.field.is_exact else linear.inverse_norm(system.floats, 1.0)
    return lacks, solution, steps


def _no_fixed_point(seen: Seen, o: int) -> NeverEnds:
    return NeverEnds(
        f"gamma is 1 and no episode ends after o={seen.P.O.text(seen.P.O[o])}, so that its value "
        "is not determined; give a gamma below 1, or a policy that ends"
    )


# ---------------------------------------------------------------------- many observations, floats


def _unformed_lacks(seen: Seen, n: int) -> NDArray[np.bool_]:
    """The observations whose n-step targets read, now or later, one that has no P(s|o)."""
    lacks = seen.lacks
    while True:
        lacks_s = seen.omega.touches(lacks)
        for _ in range(n - 1):
            lacks_s = seen.step.touches(lacks_s)
        more = lacks | seen.begin.touches(lacks_s)
        if (more == lacks).all():
            return lacks
        lacks = more


def _solve_unformed(
    seen: Seen, n: int, b: NDArray[np.float64], defined: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], float, str]:
    """v = b + K v by GMRES, K applied factor by factor; the bound is |residual| / (1 - the largest
    row sum of K)."""
    begin, step, omega = seen.begin.floats, seen.step.floats, seen.omega.floats

    def apply(v: NDArray[np.float64]) -> NDArray[np.float64]:
        w = omega @ v
        for _ in range(n - 1):
            w = step @ w
        return np.where(defined, begin @ w, 0.0)

    if seen.undiscounted:
        ends = _may_end(seen, n) & defined
        while (more := ends | (apply(ends.astype(float)) > 0)).sum() > ends.sum():
            ends = more
        if (lost := np.flatnonzero(defined & ~ends)).size:
            raise _no_fixed_point(seen, int(lost[0]))
    aim = linear.TOLERANCE * max(float(np.abs(b).max()), np.finfo(float).tiny)
    operator = sla.LinearOperator(
        (len(b), len(b)), matvec=lambda v: v - apply(v.ravel()), dtype=float
    )
    v, method = _krylov(operator, b, aim / np.sqrt(len(b)))
    residual = float(np.abs(b + apply(v) - v).max())
    if residual > 1e3 * aim:
        raise NotSolved(
            f"the {n}-step fixed point of {seen.P.name} was found only to a residual of "
            f"{residual:.1e}"
        )
    # steps: the largest entry of (I - K)^-1 1, of which any g with g - K g >= slack > 0 gives a
    # bound
    g = np.ones(len(b))
    slack = 1 - float(apply(g).max())
    if slack <= 1e-6:
        g, _ = _krylov(operator, defined.astype(float), 1e-3 / np.sqrt(len(b)))
        slack = float(np.min((g - apply(g))[defined], initial=1.0))
    return v, float(g.max()) / slack if slack > 0 else np.inf, method


def _krylov(
    operator: sla.LinearOperator, b: NDArray[np.float64], aim: float
) -> tuple[NDArray[np.float64], str]:
    """A solution by BiCGSTAB, whose work grows with its iterations and not with their square, or by
    GMRES if that misses."""
    x, failed = sla.bicgstab(operator, b, rtol=0, atol=aim, maxiter=1_000)
    if not failed and np.isfinite(x).all():
        return np.asarray(x), "bicgstab"
    x, _ = sla.gmres(operator, b, rtol=0, atol=aim, restart=60, maxiter=100)
    return np.asarray(x), "gmres"
