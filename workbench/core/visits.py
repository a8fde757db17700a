"""How often a policy visits each state, and what an observation tells about the state.

visits        d = mu + P_pi^T d               expected visits per episode
discounted    d = mu + gamma P_pi^T d         the occupancy of the policy-gradient theorem
stationary    the long-run share of time, episodes following one another
P(s | o)      = d(s) omega(o|s) / sum_{s'} d(s') omega(o|s')   over the states that are not terminal
q(o, a)       = sum_s P(s | o) q(s, a)
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.chain import Chain, Dynamics
from workbench.core.numbers import is_symbolic
from workbench.core.observation_kernels import (
    average_values,
    bound_values,
    share_observations,
)
from workbench.core.rows import add_groups, own_rows
from workbench.core.solve import Solution

_ROUNDING = 4 * float(np.finfo(float).eps)

MOST_DOUBT = 0.5
"""An observation whose visits may be off by more than this share has no q(o, a): it is
undefined."""


def known(x: NDArray[Any]) -> NDArray[np.bool_]:
    """Where numbers are defined and finite."""
    if x.dtype == object:
        return np.array([y is not None for y in x.ravel()], dtype=bool).reshape(x.shape)
    return np.isfinite(x)


def occupancy(chain: Chain, weights: str) -> tuple[Solution, NDArray[np.bool_]]:
    """The weight of every state, and the mask of the states that have one.

    Among floats `error` of the solution bounds the relative error of each weight.
    """
    D = chain.D
    if weights == "discounted" and (is_symbolic(D.P.gamma) or D.P.gamma != 1):
        if not is_symbolic(D.P.gamma) and D.P.gamma == 0:  # the first step alone has weight
            error = 0.0 if D.field.is_exact else np.where(D.mu > 0, _ROUNDING, 0.0)
            return Solution(D.mu.copy(), "mu", 0.0, error), np.asarray(D.mu != 0, dtype=bool)
        return chain.solve_visits(np.zeros(len(D.P.S), dtype=bool), True), chain.visited
    classes = chain.recurrent_classes() if (chain.visited & chain.stuck).any() else []
    d = _expected_visits(chain, classes)
    if weights == "stationary":
        return _long_run(chain, classes, d)
    return d, chain.visited


def _expected_visits(chain: Chain, classes: list[NDArray[np.int64]]) -> Solution:
    """d = mu + P^T d; infinite (None when exact) on recurrent classes, whose inflow is kept apart
    by `_inflow`."""
    # nobody comes to the others, and the system would be singular if some of them never ended
    left_out = ~chain.visited
    for members in classes:
        left_out[members] = True
    solution = chain.solve_visits(left_out, False)
    if classes:
        x = solution.x.copy()
        x[np.concatenate(classes)] = None if chain.D.field.is_exact else np.inf
        return replace(solution, x=x)
    return solution


def _long_run(
    chain: Chain, classes: list[NDArray[np.int64]], d: Solution
) -> tuple[Solution, NDArray[np.bool_]]:
    """The long-run share of time in each state when episodes follow one another."""
    D, field = chain.D, chain.D.field
    alive = ~D.P.terminal.mask
    if not classes:  # every episode ends: shares are visits
        x = np.where(alive, d.x, field.zeros(len(d.x)))
        total = x.sum()
        if total == 0:  # all is over at once
            return replace(d, x=x), np.zeros(len(x), dtype=bool)
        error = d.error if field.is_exact else _error_of_shares(x, d.error)
        return replace(d, x=x / total, error=error), chain.visited & alive
    x, error = field.zeros(len(d.x)), np.zeros(len(d.x))
    entered = _inflow(chain, classes, d.x)
    for members, weight in zip(classes, entered, strict=True):
        found = chain.solve_returns(members)
        x[members] = found.x * (weight / (found.x.sum() * entered.sum()))
        error[members] = 0.0 if field.is_exact else _error_of_shares(found.x, found.error)
    if not field.is_exact:  # of the flows into classes, each a sum without subtractions
        error = 3 * (error + np.max(np.where(np.isfinite(d.x), d.error, 0.0)))
        error += len(d.x) * _ROUNDING
    return replace(d, x=x, error=error), np.asarray(x != 0, dtype=bool)


def _error_of_shares(x: NDArray[np.float64], error: NDArray[np.float64]) -> NDArray[np.float64]:
    """Bounds on the relative errors of x / sum x, for those of x."""
    used = x > 0
    mean = float((x[used] * np.minimum(error[used], 1.0)).sum() / x.sum())
    if mean > MOST_DOUBT:
        return np.where(used, np.inf, 0.0)
    # |a/b - a'/b'| / (a'/b') <= (e + m) / (1 - m), for a and b off by shares e and m
    rounding = (len(x) + 8) * float(np.finfo(float).eps)
    return np.asarray((error + mean) / (1 - mean) * (1 + 1e-12) + rounding)


def _inflow(chain: Chain, classes: list[NDArray[np.int64]], d: NDArray[Any]) -> NDArray[Any]:
    """The probability that an episode ends up in each recurrent class."""
    D, field = chain.D, chain.D.field
    owner = np.full(len(d), -1)
    for i, members in enumerate(classes):
        owner[members] = i
    rows = own_rows(chain.indptr)
    entering = (owner[rows] < 0) & (owner[chain.indices] >= 0)
    flow = chain.data[entering] * d[rows[entering]]
    through = add_groups(owner[chain.indices[entering]], flow, field.zeros(len(classes)))
    starts = np.flatnonzero(owner >= 0)
    return add_groups(owner[starts], D.mu[starts], field.zeros(len(classes))) + through


def given_observation(
    D: Dynamics, d: NDArray[Any], visited: NDArray[np.bool_]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_]]:
    """P(s|o) for each entry of omega, the total weight of each o, and which o are reached."""
    field, nO = D.field, len(D.P.O)
    if not field.is_exact:
        found = np.empty(len(D.entry_o)), np.zeros(nO), np.zeros(nO, dtype=bool)
        counts = visited & ~D.P.terminal.mask
        share_observations(D.entry_s, D.entry_o, D.omega, d, counts, *found)
        return found
    counted = (visited & ~D.P.terminal.mask)[D.entry_s]
    reached = np.zeros(nO, dtype=bool)
    reached[D.entry_o[counted]] = True
    endless = ~known(d)[D.entry_s] & counted
    unclear = np.zeros(nO, dtype=bool)
    unclear[D.entry_o[endless]] = True
    usable = np.flatnonzero(counted & ~unclear[D.entry_o])
    weight = d[D.entry_s[usable]] * D.omega[usable]
    total = add_groups(D.entry_o[usable], weight, field.zeros(nO))
    weighed = ~unclear[D.entry_o[usable]]
    share = field.undefined(len(D.entry_o))
    share[~unclear[D.entry_o] & reached[D.entry_o]] = field.one(0)
    share[usable[weighed]] = weight[weighed] / total[D.entry_o[usable[weighed]]]
    return share, total, reached


def too_few(
    D: Dynamics, d: NDArray[np.float64], visited: NDArray[np.bool_], total: NDArray[np.float64],
    reached: NDArray[np.bool_],
) -> NDArray[np.bool_]:  # fmt: skip
    """The observations that are reached, so seldom that floats count no visit."""
    found: NDArray[np.bool_] = reached & (total == 0)
    if found.any():
        counted = (visited & ~D.P.terminal.mask)[D.entry_s]
        found[D.entry_o[counted & ~np.isfinite(d[D.entry_s])]] = False  # these have too many
    return found


def observation_values(D: Dynamics, share: NDArray[Any], q_state: NDArray[Any]) -> NDArray[Any]:
    """q(o,a) = sum_s P(s|o) q(s,a)."""
    field, (nO, nA) = D.field, (len(D.P.O), D.shape[1])
    if not field.is_exact:
        found = np.empty((nO, nA))
        average_values(D.entry_s, D.entry_o, share, q_state, found)
        return found
    used = np.flatnonzero(known(share) & np.asarray(share != 0, dtype=bool))
    o, rows = D.entry_o[used], q_state[D.entry_s[used]]
    defined = known(rows)
    if not defined.all():
        rows = rows.copy()
        rows[~defined] = field.one(0)
    q = add_groups(o, share[used][:, None] * rows, field.zeros((nO, nA)))
    blank = np.ones((nO, nA), dtype=bool)
    blank[np.unique(o)] = False
    bad_entry, bad_action = np.nonzero(~defined)
    blank[o[bad_entry], bad_action] = True
    q[blank] = None
    return q


def observation_errors(
    D: Dynamics,
    share: NDArray[np.float64],
    share_error: NDArray[np.float64],
    q_state: NDArray[np.float64],
    q_state_error: NDArray[np.float64],
    q: NDArray[np.float64],
) -> NDArray[np.float64]:
    """A bound on the error of each q(o,a) in floats, for weights with relative errors `share_error`
    by state.

    With weights w instead of the computed u, sum_s u(s) = 1, and e(s) the relative errors,

        q - computed = sum_s w(s) (q(s) - computed) / sum_s w(s)
        |q - computed| <= [ sum_s u(s) e(s) |q(s) - computed| + sum_s u(s) error of q(s) ]
                          / (1 - sum_s u(s) e(s))

    plus rounding. It is infinite where the weights cannot be told from zero.
    """
    error = np.empty(q.shape)
    bound_values(
        D.entry_s,
        D.entry_o,
        share,
        share_error,
        MOST_DOUBT,
        q_state,
        q_state_error,
        q,
        error,
    )
    return error
