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

gamma = 1 is legal when the policy reaches a terminal state with probability one from every state it
visits. What is not defined is NaN (None in exact arithmetic): q of observations with no visits,
and, with "visits", of observations that a policy which may not end goes on seeing for ever.

>>> from workbench.model.policy import uniform
>>> from workbench.model.pomdp import POMDP
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

from workbench.errors import NeverEnds, WorkbenchError, WrongType
from workbench.evaluation import solve as linear
from workbench.evaluation.chain import Chain, dynamics, field_of
from workbench.evaluation.fields import Field
from workbench.evaluation.visits import given_observation, known, observation_values, occupancy
from workbench.model.numbers import Number, is_symbolic
from workbench.model.policy import Policy
from workbench.model.pomdp import POMDP
from workbench.model.table import Conditional, Table, Vector
from workbench.text import show

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
    q_error : `q_error[o]`, a bound on the error of q[o, .]; infinite where the visits are too few
        to tell.
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
        """Reward per step under the weights: sum_s visits(s) r_pi(s) / sum_s visits(s), terminal
        states aside."""
        field = field_of(self.P, self.pi, self.v.raw.dtype == object)
        chain = dynamics(self.P, field).follow(field.enter(self.pi.prob))
        alive = np.flatnonzero(~self.P.terminal.mask & known(self.visits.raw))
        share = self.visits.raw[alive]
        return field.back((share * chain.r[alive]).sum() / share.sum())

    def __repr__(self) -> str:
        bound = "" if self.v.raw.dtype == object else f", |error| <= {self.error:.1g}"
        lines = [
            f"{self.P.name}: value {self.value}{bound}; q(o, a) with weights={self.weights!r}",
            self.q.text(),
        ]
        return "\n".join([*lines, self.note] if self.note else lines)

    def _repr_html_(self) -> str:
        return (
            f"<p>{self.P.name}: value {self.value} "
            f"({self.weights})</p>{self.q._repr_html_()}<p>{self.note}</p>"
        )

    def to_frame(self) -> Any:
        """q(o, a) as a pandas frame."""
        return self.q.to_frame()


def evaluate(P: POMDP, pi: Policy, exact: bool = False, weights: str = "visits") -> Evaluation:
    """Evaluate a memoryless policy exactly.

    Parameters
    ----------
    P : the POMDP, augmented or not.
    pi : a policy for it.
    exact : rationals instead of floats; model and policy must hold no floats. With symbols in the
        model or the policy the result consists of rational functions in any case.
    weights : "visits", "discounted" or "stationary": see the module's text.
    """
    check_arguments(P, pi, weights)
    field = field_of(P, pi, exact)
    D = dynamics(P, field)
    chain = D.follow(field.enter(pi.prob))
    v, undefined, solved = state_values(chain)
    q_state = D.action_values(v, undefined)
    d, visited = occupancy(chain, weights)
    share, total, reached = given_observation(D, d.x, visited)
    q = observation_values(D, share, q_state)
    v_given_o = _mixed(field, field.enter(pi.prob), q)
    if undefined.any():
        v = v.copy()
        v[undefined] = None if field.is_exact else np.nan
    error = (
        0.0
        if field.is_exact
        else solved.residual * linear.inverse_norm(_matrix(chain, ~undefined), D.gamma)
    )
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


def _matrix(chain: Chain, rows: NDArray[np.bool_]) -> sp.csr_array:
    """P_pi in floats, with only some rows."""
    kept = np.repeat(rows, np.diff(chain.pattern.indptr))
    data = np.where(kept, chain.data, 0.0)
    return sp.csr_array(
        (data, chain.pattern.indices, chain.pattern.indptr), shape=chain.pattern.shape
    )


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
                f"gamma is 1 and the policy never ends from s={show(D.P.S[int(lost[0])])}, which "
                "it visits, so its return "
                "is not defined; give a gamma below 1, or a policy that ends"
            )
        undefined = chain.may_not_end
        kept = np.repeat(~undefined, np.diff(chain.pattern.indptr))
        data, r = data.copy(), r.copy()
        data[~kept], r[undefined] = field.one(0), field.one(0)
    solution = field.solve(chain.pattern, data, D.gamma, r, D.P.name)
    return solution.x, undefined, solution


# ---------------------------------------------------------------------- v(o), errors and notes


def _mixed(field: Field, pi: NDArray[Any], q: NDArray[Any]) -> NDArray[Any]:
    """v(o) = sum_a pi(a|o) q(o,a), over the actions that pi takes."""
    defined = known(q)
    taken = np.asarray(pi != 0, dtype=bool)
    clean = np.where(defined & taken, q, field.zeros(q.shape))
    v = (pi * clean).sum(axis=1)
    v[(taken & ~defined).any(axis=1)] = None if field.is_exact else np.nan
    return v


def _q_error(
    chain: Chain,
    weights: str,
    v_error: float,
    d_residual: float,
    total: NDArray[Any],
    q_state: NDArray[Any],
) -> NDArray[np.float64]:
    """|q(o,.) - computed| <= gamma |v error| + (change of P(.|o) in the 1-norm) max |q(s,a)|."""
    D = chain.D
    if D.field.is_exact:
        return np.zeros(len(D.P.O))
    discount = D.gamma if weights == "discounted" else 1.0
    d_error = (
        d_residual * linear.inverse_norm(_matrix(chain, ~chain.may_not_end), discount)
        if d_residual
        else 0.0
    )
    size = float(np.nanmax(np.abs(q_state), initial=0.0))
    error = np.full(len(total), np.inf)
    enough = total > d_error
    error[enough] = D.gamma * v_error + size * 2 * d_error / (total[enough] - d_error)
    return error


def _note(chain: Chain, weights: str) -> str:
    if weights != "visits" or not (chain.visited & chain.stuck).any():
        return ""
    s = chain.D.P.S[int(np.flatnonzero(chain.visited & chain.stuck)[0])]
    return (
        f"The policy never ends from s={show(s)}, which it visits: expected visits are infinite "
        "there and q(o, a) is "
        'undefined where such states are seen; weights="discounted" and "stationary" are defined.'
    )
