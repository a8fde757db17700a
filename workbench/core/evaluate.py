"""Exact evaluation of a memoryless policy (Sections 5.1 and 5.2).

    v_pi    = r_pi + gamma P_pi v_pi
    q_pi(s,a) = R(s,a) + gamma sum_{s'} p(s'|s,a) v_pi(s')
    d_pi    = mu + P_pi^T d_pi                                  expected visits per episode
    P_pi(s|o) = d_pi(s) omega(o|s) / sum_{s'} d_pi(s') omega(o|s')     over the states that are not
                                                                       terminal
    q_pi(o,a) = sum_s P_pi(s|o) q_pi(s,a)

The paper does not say which weights P_pi(s|o) uses. `weights` chooses:

    "visits"       undiscounted expected visits: what every-visit Monte Carlo and Lemma C.1 mean
                   (the default)
    "discounted"   d = mu + gamma P^T d, the occupancy of the policy-gradient theorem
    "stationary"   the long-run share of time, episodes following one another

With criterion="average" a policy is worth its reward per step in the long run (`gain`): `value` is
the average reward from mu, v the bias, q(s,a) and q(o,a) differential values, and the weights are
"stationary". gamma plays no part. A task that ends begins anew (`repeat_episodes`).

gamma = 1 is legal when the policy reaches a terminal state with probability one from every state it
visits. What is not defined is NaN (None in exact arithmetic): q of observations with no visits,
and, with "visits", of observations that a policy which may not end goes on seeing for ever.

>>> from workbench.core.policy import uniform
>>> from workbench.core.pomdp import POMDP
>>> P = POMDP.from_functions(
...     name="two coins",
...     A=[0, 1],
...     p=lambda s, a: {(s + 1, a): 1},
...     omega=lambda s: {"o": 1},
...     mu={0: 1},
...     gamma=1,
...     terminal={2},
... )
>>> evaluate(P, uniform(P), exact=True).q["o", 1]
Fraction(5, 4)
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.chain import (
    Chain,
    Dynamics,
    FloatChain,
    dynamics,
    field_of,
    follow_policy,
)
from workbench.core.errors import NeverEnds, WorkbenchError, WrongType
from workbench.core.fields import RATIONALS, Field
from workbench.core.gain import Differential, differential_values
from workbench.core.numbers import Number, is_symbolic
from workbench.core.pair_kernels import action_values_with_errors, weighted_sum
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.repetition import repeat_episodes
from workbench.core.solve import Solution
from workbench.core.table import Conditional, Table, Vector
from workbench.core.visits import (
    given_observation,
    known,
    observation_errors,
    observation_values,
    occupancy,
    too_few,
)
from workbench.core.words import counted, escape_html, shown

WEIGHTS = ("visits", "discounted", "stationary")

CRITERIA = ("return", "average")
"""What a policy is worth: its expected return, or its average reward."""

_UNIT = 2.0**-53

_MOST_RATIONAL = 300
"""Up to so many states, whether an action changes the average is told in rationals where floats
cannot."""

_LARGE = 100_000
"""From so many states on, values and visits are found at the same time, by kernels that leave the
interpreter alone."""


@dataclass(frozen=True, eq=False)
class Evaluation:
    """What a policy is worth.

    Attributes
    ----------
    value : the expected return from mu; with criterion "average", the average reward from mu.
    v : `v[s]`; q_state : `q_state[s, a]`. With criterion "average", the bias and the differential
        values of actions; a terminal state is worth what the start is.
    visits : `visits[s]`, in the sense of `weights`.
    o_visits : `o_visits[o]`, the weight d(o) = sum_s visits(s) omega(o|s) of each observation, over
        the states that are not terminal; infinite (None when exact) where visits are.
    s_given_o : `s_given_o[o, s]`.
    q : `q[o, a]`; v_given_o : `v_given_o[o]` = sum_a pi(a|o) q[o, a].
    reached : `reached[o]`, whether o is seen in a state that is not terminal.
    error : a bound on |v - v_pi| for every state (on the gain, if that is the criterion) and on the
        error of `value`, rounding and the model's own numbers included; 0 in exact arithmetic.
    v_error, q_state_error, q_error : `v_error[s]`, `q_state_error[s, a]`, `q_error[o, a]`, bounds
        on the errors of single numbers; infinite where they are undefined.
    visits_error : `visits_error[s]`, a bound on the *relative* error of visits[s].
    method : how the linear systems were solved.
    note : a sentence on what is undefined and why, or "".
    criterion : "return" or "average".
    gain : `gain[s]`, the average reward from each state; None with criterion "return".
    """

    P: POMDP
    pi: Policy
    weights: str
    value: Number
    v: Vector
    q_state: Table
    visits: Vector
    o_visits: Vector
    s_given_o: Conditional
    q: Table
    v_given_o: Vector
    reached: Vector
    error: float
    v_error: Vector
    q_state_error: Table
    visits_error: Vector
    q_error: Table
    method: str
    note: str
    criterion: str = "return"
    gain: Vector | None = None

    @cached_property
    def average_reward(self) -> Number:
        """Reward per step under the weights: sum_s visits(s) r_pi(s) / sum_s visits(s), terminal
        states aside; where visits are infinite, in the long run. Undefined if no step is taken."""
        if self.criterion == "average":
            return self.value
        is_exact = self.v.raw.dtype == object
        field = field_of(self.P, self.pi, is_exact)
        alive = np.flatnonzero(~self.P.terminal.mask)
        share = self.visits.raw[alive]
        if not known(share).all():
            return evaluate(self.P, self.pi, is_exact, "stationary").average_reward
        total = share.sum() if len(alive) else field.one(0)
        if total == 0:
            return None if is_exact else np.nan
        chain = dynamics(self.P, field).follow(field.enter(self.pi.prob))
        return field.back((share * chain.r[alive]).sum() / total)

    def __repr__(self) -> str:
        bound = ""
        if self.v.raw.dtype != object:
            known_q = self.q_error.raw[~np.isnan(self.q.raw)]
            bound = f", |error| <= {self.error:.1g}"
            if known_q.size:
                bound += f", of q(o, a) <= {known_q.max():.1g}"
        what = "average reward" if self.criterion == "average" else "value"
        lines = [
            f"{self.P.name}: {what} {self.value}{bound}; q(o, a) with weights={self.weights!r}",
            self.q.text(),
        ]
        return "\n".join([*lines, self.note] if self.note else lines)

    def _repr_html_(self) -> str:
        what = "average reward" if self.criterion == "average" else "value"
        words = escape_html(f"{self.P.name}: {what} {shown(self.value)} ({self.weights})")
        return f"<p>{words}</p>{self.q._repr_html_()}<p>{escape_html(self.note)}</p>"

    def to_frame(self) -> Any:
        """q(o, a) as a pandas frame."""
        return self.q.to_frame()


def evaluate(
    P: POMDP,
    pi: Policy,
    exact: bool = False,
    weights: str = "visits",
    criterion: str = "return",
) -> Evaluation:
    """Evaluate a memoryless policy exactly.

    Parameters
    ----------
    P : the POMDP, augmented or not.
    pi : a policy for it.
    exact : rationals instead of floats; model and policy must hold no floats. With symbols in the
        model or the policy the result consists of rational functions in any case.
    weights : "visits", "discounted" or "stationary": see the module's text.
    criterion : "return", or "average": reward per step in the long run, with weights "stationary".
    """
    check_arguments(P, pi, weights)
    if check_criterion(criterion) == "average":
        if weights == "discounted":
            raise WorkbenchError('criterion="average" has weights="stationary", not "discounted"')
        return _evaluate_average(P, pi, exact)
    field = field_of(P, pi, exact)
    D = dynamics(P, field)
    chain = follow_policy(D, pi)
    (v, undefined, solved), (d, visited) = _values_and_weights(chain, weights)
    share, total, reached = given_observation(D, d.x, visited)
    if isinstance(chain, FloatChain):
        q_state, q_state_error = action_values_with_bounds(D, v, undefined, solved.error)
        q = observation_values(D, share, q_state)
        q_error = observation_errors(D, share, d.error, q_state, q_state_error, q)
        # with a bound of infinity a number says nothing; visits to this observation are too few
        faint = too_few(D, d.x, visited, total, reached)
        doubtful = np.isinf(q_error) & (np.isfinite(q) | faint[:, None])
        q[doubtful] = np.nan
    else:
        q_state = D.action_values(v, undefined)
        q_state_error = np.zeros(q_state.shape)
        q = observation_values(D, share, q_state)
        q_error, doubtful = np.zeros(q.shape), np.zeros(q.shape, dtype=bool)
        faint = np.zeros(len(q), dtype=bool)
    v_given_o = _mixed(field, field.enter(pi.prob), q)
    v_error = np.zeros(len(v)) if field.is_exact else solved.error
    if undefined.any():
        v, v_error = v.copy(), v_error.copy()
        v[undefined] = None if field.is_exact else np.nan
        v_error[undefined] = 0.0 if field.is_exact else np.inf
    d_error = np.zeros(len(v)) if field.is_exact else np.where(visited, d.error, 0.0)
    value, value_error = mean_over_starts(D, v, v_error)
    shown = _shown(field)
    return Evaluation(
        P=P,
        pi=pi,
        weights=weights,
        value=field.back(value),
        v=Vector(v, P.S, shown, "v"),
        q_state=Table(q_state, P.S, P.A, shown, "q(s, a)"),
        visits=Vector(d.x, P.S, shown, weights),
        o_visits=Vector(
            _endless_marked(field, total, share, D, reached & ~faint), P.O, shown, "d(o)"
        ),
        s_given_o=Conditional(share, D.entry_s, D.entry_o, P.S, P.O, shown),
        q=Table(q, P.O, P.A, shown, "q(o, a)"),
        v_given_o=Vector(v_given_o, P.O, shown, "v(o)"),
        reached=Vector(reached, P.O, None, "reached"),
        error=float(np.max(v_error, where=~undefined, initial=value_error)),
        v_error=Vector(v_error, P.S, None, "error of v"),
        q_state_error=Table(q_state_error, P.S, P.A, None, "error of q(s, a)"),
        visits_error=Vector(d_error, P.S, None, "relative error"),
        q_error=Table(q_error, P.O, P.A, None, "error of q(o, a)"),
        method="exact" if field.is_exact else f"v: {solved.method}, weights: {d.method}",
        note=describe_undefined(chain, weights, doubtful),
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


def check_criterion(criterion: Any) -> str:
    """The criterion, if it is one."""
    if criterion not in CRITERIA:
        raise WorkbenchError(f"criterion must be one of {', '.join(CRITERIA)}, not {criterion!r}")
    return str(criterion)


def _evaluate_average(P: POMDP, pi: Policy, exact: bool) -> Evaluation:
    """What a policy is worth by its average reward."""
    R = repeat_episodes(P)
    field = field_of(P, pi, exact)
    D = dynamics(R, field)
    chain = follow_policy(D, pi)
    found = differential_values(chain)
    visited = np.asarray(found.share != 0, dtype=bool)
    share, total, reached = given_observation(D, found.share, visited)
    astray, unclear = found.astray()
    if unclear.any() and P.is_exact and pi.is_exact and len(R.S) <= _MOST_RATIONAL:
        exactly = differential_values(follow_policy(dynamics(R, RATIONALS), pi))
        astray, unclear = exactly.astray()
    q_state, q_state_error = found.action_values(astray | unclear)
    q = observation_values(D, share, q_state)
    q_error, doubtful = np.zeros(q.shape), np.zeros(q.shape, dtype=bool)
    if not field.is_exact:
        q_error = observation_errors(D, share, found.share_error, q_state, q_state_error, q)
        doubtful = np.isinf(q_error) & np.isfinite(q)
        q[np.isinf(q_error)] = np.nan
    value, value_error = mean_over_starts(D, found.gain, found.gain_error)
    alive = np.flatnonzero(~P.terminal.mask)
    shown = _shown(field)

    def placed(values: NDArray[Any], elsewhere: Any) -> NDArray[Any]:
        """Over all states, the terminal ones included."""
        whole = np.empty((len(P.S), *values.shape[1:]), dtype=values.dtype)
        whole[:] = elsewhere
        whole[alive] = values
        return whole

    notes = describe_clash(R, found), describe_doubt(P, doubtful), _describe_unclear(R, unclear)
    undefined, nothing = field.undefined(1)[0], field.one(0)
    v_error = placed(found.bias_error, float(np.max(found.bias_error)))
    return Evaluation(
        P=P,
        pi=pi,
        weights="stationary",
        value=field.back(value),
        v=Vector(placed(found.bias, (D.mu * found.bias).sum()), P.S, shown, "bias"),
        q_state=Table(placed(q_state, undefined), P.S, P.A, shown, "q(s, a)"),
        visits=Vector(placed(found.share, nothing), P.S, shown, "stationary"),
        o_visits=Vector(total, P.O, shown, "d(o)"),
        s_given_o=Conditional(share, alive[D.entry_s], D.entry_o, P.S, P.O, shown),
        q=Table(q, P.O, P.A, shown, "q(o, a)"),
        v_given_o=Vector(_mixed(field, field.enter(pi.prob), q), P.O, shown, "v(o)"),
        reached=Vector(reached, P.O, None, "reached"),
        error=max(value_error, float(np.max(found.gain_error))),
        v_error=Vector(v_error, P.S, None, "error of the bias"),
        q_state_error=Table(placed(q_state_error, np.inf), P.S, P.A, None, "error of q(s, a)"),
        visits_error=Vector(placed(found.share_error, 0.0), P.S, None, "relative error"),
        q_error=Table(q_error, P.O, P.A, None, "error of q(o, a)"),
        method="exact" if field.is_exact else "sums until a reference state, bounded",
        note=" ".join(filter(None, notes)),
        criterion="average",
        gain=Vector(placed(found.gain, value), P.S, shown, "g(s)"),
    )


def _describe_unclear(P: POMDP, unclear: NDArray[np.bool_]) -> str:
    """A sentence on actions `[s, a]` that may change the average, as far as floats can tell; or
    ""."""
    if not unclear.any():
        return ""
    s, a = (int(x) for x in np.argwhere(unclear)[0])
    return (
        f"Floats cannot tell whether a={P.A.text(P.A[a])} in s={P.S.text(P.S[s])} changes the "
        "average reward: its value is undefined."
    )


def mean_over_starts(
    D: Dynamics, x: NDArray[Any], x_error: NDArray[np.float64]
) -> tuple[Any, float]:
    """sum_s mu(s) x(s), and a bound on its error."""
    starts = D.P.mu.support
    if D.field.is_exact:
        return (D.mu[starts] * x[starts]).sum(), 0.0
    given = 0.0 if D.P.mu.prob.is_exact else _UNIT
    mean, error = weighted_sum(D.mu_pair[:2, starts], x[starts], x_error[starts], given)
    return mean, float(error)


def describe_clash(P: POMDP, found: Differential) -> str:
    """A sentence on recurrent classes with different average rewards, or ""."""
    if (clash := found.clash()) is None:
        return ""
    s, t = (P.S.text(P.S[int(found.classes[c][0])]) for c in clash)
    return (
        f"The policy is multichain: it may stay for ever around s={s} or around s={t}, with "
        "different average rewards; q(o, a) is undefined where an action leads from one to the "
        "other."
    )


def _endless_marked(
    field: Field,
    total: NDArray[Any],
    share: NDArray[Any],
    D: Dynamics,
    reached: NDArray[np.bool_],
) -> NDArray[Any]:
    """The weights of the observations, marked where they are infinite: reached, without a share."""
    lacking = np.zeros(len(total), dtype=bool)
    lacking[D.entry_o[~known(share)]] = True
    lacking &= reached
    if lacking.any():
        total = total.copy()
        total[lacking] = None if field.is_exact else np.inf
    return total


def _shown(field: Field) -> Field | None:
    return field if field.is_exact else None


# ---------------------------------------------------------------------- v and q(s, a)


def _values_and_weights(
    chain: Chain, weights: str
) -> tuple[tuple[NDArray[Any], NDArray[np.bool_], Solution], tuple[Solution, NDArray[np.bool_]]]:
    """`state_values` and `occupancy`, at the same time where they take long."""
    if chain.D.field.is_exact or len(chain.D.P.S) < _LARGE:
        return state_values(chain), occupancy(chain, weights)
    with ThreadPoolExecutor(1, thread_name_prefix="visits") as other:
        visits = other.submit(occupancy, chain, weights)
        return state_values(chain), visits.result()


def state_values(chain: Chain) -> tuple[NDArray[Any], NDArray[np.bool_], Solution]:
    """v_pi, the mask of the states where it is undefined (v is 0 there), and how it was found."""
    D = chain.D
    undefined = np.zeros(len(D.P.S), dtype=bool)
    if not is_symbolic(D.P.gamma) and D.P.gamma == 1 and chain.may_not_end.any():
        if (lost := np.flatnonzero(chain.visited & chain.stuck)).size:
            raise NeverEnds(
                f"gamma is 1 and the policy never ends from s={D.P.S.text(D.P.S[int(lost[0])])}, "
                "which it visits, so its return "
                "is not defined; give a gamma below 1, or a policy that ends"
            )
        undefined = chain.may_not_end
    solution = chain.solve_values(undefined)
    return solution.x, undefined, solution


def action_values_with_bounds(
    D: Dynamics, v: NDArray[np.float64], undefined: NDArray[np.bool_], v_error: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """q(s, a) in floats and a bound on the error of each, for v off by at most `v_error`."""
    q, error = np.empty(D.shape[0] * D.shape[1]), np.empty(D.shape[0] * D.shape[1])
    p = D.P.p
    action_values_with_errors(p.row_ptr, p.s_next, D.prob, D.r, D.gamma, v, v_error, q, error)
    q, error = q.reshape(D.shape), error.reshape(D.shape)
    if (unknown := D.is_unknown(undefined)).any():
        q[unknown], error[unknown] = np.nan, np.inf
    return q, error


# ---------------------------------------------------------------------- v(o), errors and notes


def _mixed(field: Field, pi: NDArray[Any], q: NDArray[Any]) -> NDArray[Any]:
    """v(o) = sum_a pi(a|o) q(o,a), over the actions that pi takes."""
    defined = known(q)
    taken = np.asarray(pi != 0, dtype=bool)
    clean = np.where(defined & taken, q, field.zeros(q.shape))
    v = (pi * clean).sum(axis=1)
    v[(taken & ~defined).any(axis=1)] = None if field.is_exact else np.nan
    return v


def describe_undefined(chain: Chain, weights: str, doubtful: NDArray[np.bool_]) -> str:
    """A sentence on what is undefined because episodes never end, and on what floats cannot tell;
    or ""."""
    notes = []
    if weights == "visits" and (chain.visited & chain.stuck).any():
        s = chain.D.P.S[int(np.flatnonzero(chain.visited & chain.stuck)[0])]
        notes.append(
            f"The policy never ends from s={chain.D.P.S.text(s)}, which it visits: expected visits "
            "are infinite there and q(o, a) is undefined where such states are seen; "
            'weights="discounted" and "stationary" are defined.'
        )
    notes.append(describe_doubt(chain.D.P, doubtful))
    return " ".join(filter(None, notes))


def describe_doubt(P: POMDP, doubtful: NDArray[np.bool_]) -> str:
    """A sentence on entries `[o, a]` that floats cannot tell, or ""."""
    if not doubtful.any():
        return ""
    rows = np.flatnonzero(doubtful.any(axis=1))
    return (
        f"q(o, a) of {counted(len(rows), 'observation')} (o={P.O.text(P.O[int(rows[0])])} is one) "
        "could not be found to any accuracy in floats, and is undefined there."
    )
