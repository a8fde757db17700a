"""How often a policy visits each state, and what an observation tells about the state.

visits        d = mu + P_pi^T d               expected visits per episode
discounted    d = mu + gamma P_pi^T d         the occupancy of the policy-gradient theorem
stationary    the long-run share of time, episodes following one another
P(s | o)      = d(s) omega(o|s) / sum_{s'} d(s') omega(o|s')     over the states that are not terminal
q(o, a)       = sum_s P(s | o) q(s, a)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from workbench.evaluation.chain import Chain, Dynamics, group_sums
from workbench.evaluation.solve import Solution
from workbench.model.numbers import is_symbolic


def known(x: NDArray[Any]) -> NDArray[np.bool_]:
    """Where numbers are defined and finite."""
    if x.dtype == object:
        return np.array([y is not None for y in x.ravel()], dtype=bool).reshape(x.shape)
    return np.isfinite(x)


def occupancy(chain: Chain, weights: str) -> tuple[Solution, NDArray[np.bool_]]:
    """The weight of every state, and the mask of the states that have one."""
    D = chain.D
    if weights == "discounted" and (is_symbolic(D.P.gamma) or D.P.gamma != 1):
        pattern, data = chain.transposed
        return D.field.solve(pattern, data, D.gamma, D.mu, D.P.name, norm=1), chain.visited
    classes = chain.recurrent_classes() if (chain.visited & chain.stuck).any() else []
    d = _expected_visits(chain, classes)
    if weights == "stationary":
        return _long_run(chain, classes, d)
    return d, chain.visited


def _expected_visits(chain: Chain, classes: list[NDArray[np.int64]]) -> Solution:
    """d = mu + P^T d; infinite (None when exact) on recurrent classes, whose inflow is kept apart
    by `_inflow`."""
    D, field = chain.D, chain.D.field
    left_out = (
        ~chain.visited
    )  # nobody comes there, and the system would be singular if some of them never ended
    for members in classes:
        left_out[members] = True
    pattern, data = _transpose(chain, _without_rows(chain, left_out))
    solution = field.solve(pattern, data, field.one(1), D.mu, D.P.name, norm=1)
    if classes:
        x = solution.x.copy()
        x[np.concatenate(classes)] = None if field.is_exact else np.inf
        return Solution(x, solution.method, solution.residual)
    return solution


def _without_rows(chain: Chain, states: NDArray[np.bool_]) -> NDArray[Any]:
    """The data of the chain with nothing leaving some states."""
    if not states.any():
        return chain.data
    data = chain.data.copy()
    data[np.repeat(states, np.diff(chain.pattern.indptr))] = chain.D.field.one(0)
    return data


def _transpose(chain: Chain, data: NDArray[Any]) -> tuple[sp.csr_array, NDArray[Any]]:
    pattern, own = chain.transposed
    if data is chain.data:
        return pattern, own
    return pattern, data[chain.transposed_places]


def _long_run(
    chain: Chain, classes: list[NDArray[np.int64]], d: Solution
) -> tuple[Solution, NDArray[np.bool_]]:
    """The long-run share of time in each state when episodes follow one another."""
    D, field = chain.D, chain.D.field
    alive = ~D.P.terminal.mask
    if not classes:  # every episode ends: shares are visits
        x = np.where(alive, d.x, field.zeros(len(d.x)))
        return Solution(x / x.sum(), d.method, d.residual), chain.visited & alive
    x = field.zeros(len(d.x))
    entered = _inflow(chain, classes, d.x)
    for members, weight in zip(classes, entered, strict=True):
        x[members] = _stationary(chain, members) * (weight / entered.sum())
    return Solution(x, d.method, d.residual), np.asarray(x != 0, dtype=bool)


def _inflow(chain: Chain, classes: list[NDArray[np.int64]], d: NDArray[Any]) -> NDArray[Any]:
    """The probability that an episode ends up in each recurrent class."""
    D, field = chain.D, chain.D.field
    owner = np.full(len(d), -1)
    for i, members in enumerate(classes):
        owner[members] = i
    rows = np.repeat(np.arange(len(d)), np.diff(chain.pattern.indptr))
    entering = (owner[rows] < 0) & (owner[chain.pattern.indices] >= 0)
    flow = chain.data[entering] * d[rows[entering]]
    through = group_sums(
        owner[chain.pattern.indices[entering]], flow, len(classes), field.zeros(len(classes))
    )
    starts = np.flatnonzero(owner >= 0)
    return (
        group_sums(owner[starts], D.mu[starts], len(classes), field.zeros(len(classes))) + through
    )


def _stationary(chain: Chain, members: NDArray[np.int64]) -> NDArray[Any]:
    """The stationary distribution of a recurrent class: expected visits between two visits of its
    first state."""
    field = chain.D.field
    places = sp.csr_array(
        (np.arange(len(chain.data)) + 1, chain.pattern.indices, chain.pattern.indptr),
        chain.pattern.shape,
    )
    inner = sp.csr_array(places[members][:, members].T)
    data = chain.data[inner.data - 1].copy()
    data[: inner.indptr[1]] = field.one(0)  # returns to the first state end the count
    b = field.zeros(len(members))
    b[0] = field.one(1)
    pattern = sp.csr_array((np.ones(len(data)), inner.indices, inner.indptr), shape=inner.shape)
    x = field.solve(pattern, data, field.one(1), b, chain.D.P.name, norm=1).x
    return x / x.sum()


def given_observation(
    D: Dynamics, d: NDArray[Any], visited: NDArray[np.bool_]
) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.bool_]]:
    """P(s|o) for each entry of omega, the total weight of each o, and which o are reached."""
    field, nO = D.field, len(D.P.O)
    counted = (visited & ~D.P.terminal.mask)[D.entry_s]
    reached = np.zeros(nO, dtype=bool)
    reached[D.entry_o[counted]] = True
    endless = ~known(d)[D.entry_s] & counted
    unclear = np.zeros(nO, dtype=bool)
    unclear[D.entry_o[endless]] = True
    usable = np.flatnonzero(counted & ~unclear[D.entry_o])
    weight = d[D.entry_s[usable]] * D.omega[usable]
    total = group_sums(D.entry_o[usable], weight, nO, field.zeros(nO))
    unclear |= reached & np.asarray(total == 0, dtype=bool)  # floats too small to be told from zero
    weighed = ~unclear[D.entry_o[usable]]
    share = field.undefined(len(D.entry_o))
    share[~unclear[D.entry_o] & reached[D.entry_o]] = field.one(0)
    share[usable[weighed]] = weight[weighed] / total[D.entry_o[usable[weighed]]]
    return share, total, reached


def observation_values(D: Dynamics, share: NDArray[Any], q_state: NDArray[Any]) -> NDArray[Any]:
    """q(o,a) = sum_s P(s|o) q(s,a)."""
    field, (nO, nA) = D.field, (len(D.P.O), D.shape[1])
    used = np.flatnonzero(known(share) & np.asarray(share != 0, dtype=bool))
    o, rows = D.entry_o[used], q_state[D.entry_s[used]]
    defined = known(rows)
    if not defined.all():
        rows = rows.copy()
        rows[~defined] = field.one(0)
    q = group_sums(o, share[used][:, None] * rows, nO, field.zeros((nO, nA)))
    blank = np.ones((nO, nA), dtype=bool)
    blank[np.unique(o)] = False
    bad_entry, bad_action = np.nonzero(~defined)
    blank[o[bad_entry], bad_action] = True
    q[blank] = None if field.is_exact else np.nan
    return q
