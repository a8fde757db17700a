"""Exact evaluation of a memoryless policy (Sections 5.1 and 5.2).

    v_pi    = r_pi + gamma P_pi v_pi
    q_pi(s,a) = R(s,a) + gamma sum_{s'} p(s'|s,a) v_pi(s')
    d_pi    = mu + P_pi^T d_pi                                  expected visits per episode
    P_pi(s|o) = d_pi(s) omega(o|s) / sum_{s'} d_pi(s') omega(o|s')     over the states that are not terminal
    q_pi(o,a) = sum_s P_pi(s|o) q_pi(s,a)

The paper does not say which weights P_pi(s|o) uses. `weights` chooses:

    "visits"       undiscounted expected visits: what every-visit Monte Carlo and Lemma C.1 mean (the default)
    "discounted"   d = mu + gamma P^T d, the occupancy of the policy-gradient theorem
    "stationary"   the long-run share of time, episodes following one another

gamma = 1 is legal when the policy reaches a terminal state with probability one from every state it visits. What is not
defined is NaN (None in exact arithmetic): q of observations with no visits, and, with "visits", of observations that
a policy which may not end goes on seeing for ever.

>>> from workbench.policy import uniform
>>> from workbench.pomdp import POMDP
>>> P = POMDP.from_functions(name="two coins", A=[0, 1], p=lambda s, a: {(s + 1, a): 1}, omega=lambda s: {"o": 1},
...                          mu={0: 1}, gamma=1, terminal={2})
>>> evaluate(P, uniform(P), exact=True).q["o", 1]
Fraction(5, 4)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from workbench import linear
from workbench.chain import Chain, Dynamics, dynamics, field_of, group_sums
from workbench.errors import NeverEnds, WorkbenchError, WrongType
from workbench.fields import Field
from workbench.numeric import Number, is_symbolic
from workbench.policy import Policy
from workbench.pomdp import POMDP
from workbench.space import show
from workbench.tables import Conditional, Table, Vector

WEIGHTS = ("visits", "discounted", "stationary")


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What a policy is worth.

    Attributes
    ----------
    value : the expected return from mu.
    v : `v[s]`; q_state : `q_state[s, a]`.
    visits : `visits[s]`, in the sense of `weights`.
    s_given_o : `s_given_o[o, s]`.
    q : `q[o, a]`; v_given_o : `v_given_o[o]` = sum_a pi(a|o) q[o, a].
    reached : `reached[o]`, whether o is seen in a state that is not terminal.
    error : a bound on |v - v_pi| for every state; 0 in exact arithmetic.
    q_error : `q_error[o]`, a bound on the error of q[o, .]; infinite where the visits are too few to tell.
    method : how the linear systems were solved.
    note : a sentence on what is undefined and why, or "".
    """

    P: POMDP
    pi: Policy
    weights: str
    value: Number
    v: Vector
    q_state: Table
    visits: Vector
    s_given_o: Conditional
    q: Table
    v_given_o: Vector
    reached: Vector
    error: float
    q_error: Vector
    method: str
    note: str

    @cached_property
    def average_reward(self) -> Number:
        """Reward per step under the weights: sum_s visits(s) r_pi(s) / sum_s visits(s), terminal states aside."""
        field = field_of(self.P, self.pi, self.v.raw.dtype == object)
        chain = dynamics(self.P, field).follow(field.enter(self.pi.prob))
        alive = np.flatnonzero(~self.P.terminal.mask & _known(self.visits.raw))
        share = self.visits.raw[alive]
        return field.back((share * chain.r[alive]).sum() / share.sum())

    def __repr__(self) -> str:
        bound = "" if self.v.raw.dtype == object else f", |error| <= {self.error:.1g}"
        lines = [f"{self.P.name}: value {self.value}{bound}; q(o, a) with weights={self.weights!r}", self.q.text()]
        return "\n".join([*lines, self.note] if self.note else lines)

    def _repr_html_(self) -> str:
        return f"<p>{self.P.name}: value {self.value} ({self.weights})</p>{self.q._repr_html_()}<p>{self.note}</p>"

    def to_frame(self) -> Any:
        """q(o, a) as a pandas frame."""
        return self.q.to_frame()


def evaluate(P: POMDP, pi: Policy, exact: bool = False, weights: str = "visits") -> Evaluation:
    """Evaluate a memoryless policy exactly.

    Parameters
    ----------
    P : the POMDP, augmented or not.
    pi : a policy for it.
    exact : rationals instead of floats; model and policy must hold no floats. With symbols in the model or the policy
        the result consists of rational functions in any case.
    weights : "visits", "discounted" or "stationary": see the module's text.
    """
    check_arguments(P, pi, weights)
    field = field_of(P, pi, exact)
    D = dynamics(P, field)
    chain = D.follow(field.enter(pi.prob))
    v, undefined, solved = state_values(chain)
    q_state = _q_state(D, v, undefined)
    d, visited = occupancy(chain, weights)
    share, total, reached = given_observation(D, d.x, visited)
    q = observation_values(D, share, q_state)
    v_given_o = _mixed(field, field.enter(pi.prob), q)
    if undefined.any():
        v = v.copy()
        v[undefined] = None if field.is_exact else np.nan
    error = 0.0 if field.is_exact else solved.residual * linear.inverse_norm(_matrix(chain, ~undefined), D.gamma)
    q_error = _q_error(chain, weights, error, d.residual, total, q_state)
    return Evaluation(
        P=P,
        pi=pi,
        weights=weights,
        value=field.back((D.mu[P.mu.support] * v[P.mu.support]).sum()),
        v=Vector(v, P.S, _shown(field), "v"),
        q_state=Table(q_state, P.S, P.A, _shown(field), "q(s, a)"),
        visits=Vector(d.x, P.S, _shown(field), weights),
        s_given_o=Conditional(share, D.entry_s, D.entry_o, P.S, P.O, _shown(field)),
        q=Table(q, P.O, P.A, _shown(field), "q(o, a)"),
        v_given_o=Vector(v_given_o, P.O, _shown(field), "v(o)"),
        reached=Vector(reached, P.O, None, "reached"),
        error=error,
        q_error=Vector(q_error, P.O, None, "error"),
        method="exact" if field.is_exact else f"v: {solved.method}, weights: {d.method}",
        note=_note(chain, weights),
    )


def check_arguments(P: Any, pi: Any, weights: str) -> None:
    """What every function that follows a policy asks of its arguments."""
    if not isinstance(P, POMDP):
        raise WrongType(f"expected a POMDP, not {P!r}")
    if not isinstance(pi, Policy):
        raise WrongType(f"expected a Policy, not {pi!r}")
    if weights not in WEIGHTS:
        raise WorkbenchError(f"weights must be one of {', '.join(WEIGHTS)}, not {weights!r}")
    pi.fits(P)


def _shown(field: Field) -> Field | None:
    return field if field.is_exact else None


def _known(x: NDArray[Any]) -> NDArray[np.bool_]:
    if x.dtype == object:
        return np.array([y is not None for y in x.ravel()], dtype=bool).reshape(x.shape)
    return np.isfinite(x)


def _matrix(chain: Chain, rows: NDArray[np.bool_]) -> sp.csr_array:
    """P_pi in floats, with only some rows."""
    kept = np.repeat(rows, np.diff(chain.pattern.indptr))
    data = np.where(kept, chain.data, 0.0)
    return sp.csr_array((data, chain.pattern.indices, chain.pattern.indptr), shape=chain.pattern.shape)


# ---------------------------------------------------------------------- v and q(s, a)


def state_values(chain: Chain) -> tuple[NDArray[Any], NDArray[np.bool_], linear.Solution]:
    """v_pi, the mask of the states where it is undefined (v is 0 there), and how it was found."""
    D, field = chain.D, chain.D.field
    undiscounted = not is_symbolic(D.P.gamma) and D.P.gamma == 1
    undefined = np.zeros(len(D.P.S), dtype=bool)
    data, r = chain.data, chain.r
    if undiscounted and chain.may_not_end.any():
        if (lost := np.flatnonzero(chain.visited & chain.stuck)).size:
            raise NeverEnds(
                f"gamma is 1 and the policy never ends from s={show(D.P.S[int(lost[0])])}, which it visits, so its return "
                "is not defined; give a gamma below 1, or a policy that ends"
            )
        undefined = chain.may_not_end
        kept = np.repeat(~undefined, np.diff(chain.pattern.indptr))
        data, r = data.copy(), r.copy()
        data[~kept], r[undefined] = field.one(0), field.one(0)
    solution = field.solve(chain.pattern, data, D.gamma, r, D.P.name)
    return solution.x, undefined, solution


def _q_state(D: Dynamics, v: NDArray[Any], undefined: NDArray[np.bool_]) -> NDArray[Any]:
    q = D.R + D.gamma * D.expected(v)
    unknown = np.repeat(D.P.terminal.mask[:, None], D.shape[1], axis=1)
    if undefined.any():
        unknown |= D.leads_to(undefined)
    if unknown.any():
        q[unknown] = None if D.field.is_exact else np.nan
    return q


# ---------------------------------------------------------------------- visits and P(s | o)


def occupancy(chain: Chain, weights: str) -> tuple[linear.Solution, NDArray[np.bool_]]:
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


def _expected_visits(chain: Chain, classes: list[NDArray[np.int64]]) -> linear.Solution:
    """d = mu + P^T d; infinite (None when exact) on recurrent classes, whose inflow is kept apart by `_inflow`."""
    D, field = chain.D, chain.D.field
    inner = _without_rows(chain, np.concatenate(classes)) if classes else chain.data
    pattern, data = _transpose(chain, inner)
    solution = field.solve(pattern, data, field.one(1), _only(D.mu, chain.visited, field), D.P.name, norm=1)
    if classes:
        x = solution.x.copy()
        x[np.concatenate(classes)] = None if field.is_exact else np.inf
        return linear.Solution(x, solution.method, solution.residual)
    return solution


def _only(mu: NDArray[Any], mask: NDArray[np.bool_], field: Field) -> NDArray[Any]:
    return mu if mask.all() else np.where(mask, mu, field.zeros(len(mu)))


def _without_rows(chain: Chain, states: NDArray[np.int64]) -> NDArray[Any]:
    """The data of the chain with nothing leaving some states."""
    leaves = np.zeros(chain.pattern.shape[0], dtype=bool)
    leaves[states] = True
    data = chain.data.copy()
    data[np.repeat(leaves, np.diff(chain.pattern.indptr))] = chain.D.field.one(0)
    return data


def _transpose(chain: Chain, data: NDArray[Any]) -> tuple[sp.csr_array, NDArray[Any]]:
    pattern, own = chain.transposed
    if data is chain.data:
        return pattern, own
    return pattern, data[chain.transposed_places]


def _long_run(
    chain: Chain, classes: list[NDArray[np.int64]], d: linear.Solution
) -> tuple[linear.Solution, NDArray[np.bool_]]:
    """The long-run share of time in each state when episodes follow one another."""
    D, field = chain.D, chain.D.field
    alive = ~D.P.terminal.mask
    if not classes:  # every episode ends: shares are visits
        x = np.where(alive, d.x, field.zeros(len(d.x)))
        return linear.Solution(x / x.sum(), d.method, d.residual), chain.visited & alive
    x = field.zeros(len(d.x))
    entered = _inflow(chain, classes, d.x)
    for members, weight in zip(classes, entered, strict=True):
        x[members] = _stationary(chain, members) * (weight / entered.sum())
    return linear.Solution(x, d.method, d.residual), np.asarray(x != 0, dtype=bool)


def _inflow(chain: Chain, classes: list[NDArray[np.int64]], d: NDArray[Any]) -> NDArray[Any]:
    """The probability that an episode ends up in each recurrent class."""
    D, field = chain.D, chain.D.field
    owner = np.full(len(d), -1)
    for i, members in enumerate(classes):
        owner[members] = i
    rows = np.repeat(np.arange(len(d)), np.diff(chain.pattern.indptr))
    entering = (owner[rows] < 0) & (owner[chain.pattern.indices] >= 0)
    flow = chain.data[entering] * d[rows[entering]]
    through = group_sums(owner[chain.pattern.indices[entering]], flow, len(classes), field.zeros(len(classes)))
    starts = np.flatnonzero(owner >= 0)
    return group_sums(owner[starts], D.mu[starts], len(classes), field.zeros(len(classes))) + through


def _stationary(chain: Chain, members: NDArray[np.int64]) -> NDArray[Any]:
    """The stationary distribution of a recurrent class: expected visits between two visits of its first state."""
    field = chain.D.field
    places = sp.csr_array((np.arange(len(chain.data)) + 1, chain.pattern.indices, chain.pattern.indptr), chain.pattern.shape)
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
    endless = ~_known(d)[D.entry_s] & counted
    unclear = np.zeros(nO, dtype=bool)
    unclear[D.entry_o[endless]] = True
    usable = np.flatnonzero(counted & ~unclear[D.entry_o])
    weight = d[D.entry_s[usable]] * D.omega[usable]
    total = group_sums(D.entry_o[usable], weight, nO, field.zeros(nO))
    share = field.undefined(len(D.entry_o))
    share[~unclear[D.entry_o] & reached[D.entry_o]] = field.one(0)
    share[usable] = weight / total[D.entry_o[usable]]
    return share, total, reached


def observation_values(D: Dynamics, share: NDArray[Any], q_state: NDArray[Any]) -> NDArray[Any]:
    """q(o,a) = sum_s P(s|o) q(s,a)."""
    field, (nO, nA) = D.field, (len(D.P.O), D.shape[1])
    used = np.flatnonzero(_known(share) & np.asarray(share != 0, dtype=bool))
    o, rows = D.entry_o[used], q_state[D.entry_s[used]]
    defined = _known(rows)
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


def _mixed(field: Field, pi: NDArray[Any], q: NDArray[Any]) -> NDArray[Any]:
    """v(o) = sum_a pi(a|o) q(o,a), over the actions that pi takes."""
    defined = _known(q)
    taken = np.asarray(pi != 0, dtype=bool)
    clean = np.where(defined & taken, q, field.zeros(q.shape))
    v = (pi * clean).sum(axis=1)
    v[(taken & ~defined).any(axis=1)] = None if field.is_exact else np.nan
    return v


# ---------------------------------------------------------------------- errors and notes


def _q_error(
    chain: Chain, weights: str, v_error: float, d_residual: float, total: NDArray[Any], q_state: NDArray[Any]
) -> NDArray[np.float64]:
    """|q(o,.) - computed| <= gamma |v error| + (change of P(.|o) in the 1-norm) max |q(s,a)|."""
    D = chain.D
    if D.field.is_exact:
        return np.zeros(len(D.P.O))
    if weights == "discounted":
        norm = linear.inverse_norm(chain.pattern, D.gamma) if D.gamma < 1 else np.inf
    else:
        norm = np.inf
    if not np.isfinite(norm):
        norm = linear.inverse_norm(_matrix(chain, ~chain.may_not_end), 1.0) if d_residual > 0 else 0.0
    d_error = d_residual * norm
    size = float(np.nanmax(np.abs(q_state), initial=0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        shift = np.where(total > d_error, 2 * d_error / (total - d_error), np.inf)
    return np.asarray(D.gamma * v_error + shift * size)


def _note(chain: Chain, weights: str) -> str:
    if weights != "visits" or not (chain.visited & chain.stuck).any():
        return ""
    s = chain.D.P.S[int(np.flatnonzero(chain.visited & chain.stuck)[0])]
    return (
        f"The policy never ends from s={show(s)}, which it visits: expected visits are infinite there and q(o, a) is "
        'undefined where such states are seen; weights="discounted" and "stationary" are defined.'
    )
