"""Exact evaluation of a memoryless policy (Sections 5.1 and 5.2).

    v_pi    = r_pi + gamma P_pi v_pi
    q_pi(s,a) = R(s,a) + gamma sum_{s'} p(s'|s,a) v_pi(s')
    d_pi    = mu + P_pi^T d_pi                                  expected visits per episode
    P_pi(s|o) = d_pi(s) omega(o|s) / sum_{s'} d_pi(s') omega(o|s')     over the states that are not
                                                                       terminal
    q_pi(o,a) = sum_s P_pi(s|o) q_pi(s,a)

The paper does not say which weights P_pi(s|o) uses. `weights` chooses (see `weights`):

    "visits"       undiscounted expected visits: what every-visit Monte Carlo and Lemma C.1 mean
                   (the default)
    "discounted"   d = mu + gamma P^T d, the occupancy of the policy-gradient theorem
    "stationary"   the long-run share of time, episodes following one another
    "first-visit"  the states in which a is taken at o for the first time in an episode

`assess` does the work, over any field and without labels: loops and searches call it for one policy
after another. `evaluate` gives its numbers labels.

With criterion="average" a policy is worth its reward per step in the long run (`gain`): `value` is
the average reward from mu, v the bias, q(s,a) and q(o,a) differential values, and the weights are
"stationary". gamma plays no part. A task that ends begins anew (`repeat_episodes`).

gamma = 1 is legal when the policy reaches a terminal state with probability one from every state it
visits. What is not defined is NaN (None in exact arithmetic): q of observations with no visits,
and, with "visits", of observations that a policy which may not end goes on seeing for ever.

>>> from pomdps import recall
>>> from workbench import uniform
>>> evaluate(recall(), uniform(recall()), exact=True).q["o", 3]
Fraction(1, 27)
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from workbench.core.assess import Assessment, assess, assess_average
from workbench.core.chain import Chain, follow_policy
from workbench.core.double_kernels import UNIT
from workbench.core.errors import WorkbenchError, WrongType
from workbench.core.fields import RATIONALS, Bounded, Mask, dynamics, field_of
from workbench.core.gain import differential_values
from workbench.core.numbers import Number
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.repetition import repeat_episodes
from workbench.core.weights import (
    Weighting,
    known,
    mean_over_actions,
    weighted_means,
    weights_named,
)
from workbench.tables.sheet import Drawn
from workbench.tables.table import Conditional, Table, Vector
from workbench.text import counted, did_you_mean, escape_html, shown

CRITERIA = ("return", "average")
"""What a policy is worth: its expected return, or its average reward."""

MOST_DECIDED = 400
"""Up to so many states, what floats leave open is decided in rationals: some seconds."""

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Evaluation(Drawn):
    """What a policy is worth.

    Attributes
    ----------
    value : the expected return from mu; with criterion "average", the average reward from mu.
    v : `v[s]`; q_state : `q_state[s, a]`. With criterion "average", the bias and the differential
        values of actions; a terminal state is worth what the start is.
    visits : `visits[s]`, in the sense of `weights`; with "first-visit", all visits.
    o_visits : `o_visits[o]`, the weight d(o) = sum_s visits(s) omega(o|s) of each observation, over
        the states that are not terminal; infinite (None when exact) where visits are. Its relative
        error is at most e, the largest of `visits_error` behind o and 2.3e-16 for each state there.
    s_given_o : `s_given_o[o, s]`, from visits; off by at most the share 2 e / (1 - e).
    q : `q[o, a]`; v_given_o : `v_given_o[o]` = sum_a pi(a|o) q[o, a], off by at most the mean of
        q_error and the rounding of that sum.
    reached : `reached[o]`, whether o is seen in a state that is not terminal.
    error : a bound on |v - v_pi| for every state (on the gain, if that is the criterion) and on the
        error of `value`, rounding and the model's own numbers included; 0 in exact arithmetic. Rows
        of probabilities are taken to sum to one, and a gamma given as a float is what that float
        is in binary.
    v_error, q_state_error, q_error : `v_error[s]`, `q_state_error[s, a]`, `q_error[o, a]`, bounds
        on the errors of single numbers; infinite where they are undefined.
    visits_error : `visits_error[s]`, a bound on the *relative* error of visits[s].
    method : how the linear systems were solved.
    note : a sentence on what is undefined and why, or "".
    criterion : "return" or "average".
    gain : `gain[s]`, the average reward from each state; None with criterion "return".
    """

    figure: ClassVar[str] = "q_table"

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
        """Mean reward per time step: sum_s visits(s) r_pi(s) / sum_s visits(s), over non-terminal
        states. Where visits are infinite, it is the average in the long run. It is undefined if no
        action is taken. In floats it has a bound on its error, `average_reward.error`."""
        is_exact, d = self.v.raw.dtype == object, self.visits.raw
        if self.criterion == "average":
            return self.value if is_exact else Bounded(self.value, self.error)
        if not known(d).all():
            return evaluate(self.P, self.pi, is_exact, "stationary").average_reward
        D = dynamics(self.P, field_of(self.P, self.pi, is_exact))
        total = d[D.alive].sum() if D.alive.any() else D.field.one(0)
        if total == 0:
            return None if is_exact else np.nan
        chain = follow_policy(D, self.pi)
        share, states = np.where(D.alive, d, D.field.one(0)) / total, np.arange(len(d))
        off = np.zeros(len(d))
        if not is_exact:
            off = np.abs(chain.side[1]) + (chain.given + UNIT) * chain.side[2]
        columns = (x[:, None] for x in (share, self.visits_error.raw, chain.r, off))
        mean, error = weighted_means(D.field, states, 0 * states, 1, *columns)
        return D.field.back(mean[0, 0]) if is_exact else Bounded(mean[0, 0], error[0, 0])

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
    weights: str | Weighting = "visits",
    criterion: str = "return",
) -> Evaluation:
    """Evaluate a memoryless policy exactly.

    Parameters
    ----------
    P : the POMDP, augmented or not.
    pi : a policy for it.
    exact : rationals instead of floats; model and policy must hold no floats. With symbols in the
        model or the policy the result consists of rational functions in any case.
    weights : "visits", "discounted", "stationary" or "first-visit": see the module's text.
    criterion : "return", or "average": reward per step in the long run, with weights "stationary".

    >>> from pomdps import recall4
    >>> from workbench import augment, uniform
    >>> E = augment(recall4(), "B1")
    >>> evaluate(E, uniform(E), exact=True).q[("0", "o"), (0, "0")]
    Fraction(-11, 12)

    See also: `td_values`, `gradient`, `switch_values`, `improve`.
    """
    weighing = check_arguments(P, pi, weights)
    if check_criterion(criterion) == "average":
        if weighing.name not in ("visits", "stationary"):
            raise WorkbenchError(
                f'criterion="average" has weights="stationary", not "{weighing.name}"'
            )
        return _evaluate_average(P, pi, exact)
    chain = follow_policy(dynamics(P, field_of(P, pi, exact)), pi)
    found = assess(chain, weighing)
    notes = describe_endless(chain, weighing), describe_doubt(P, found.doubtful)
    return _label_values(P, pi, weighing.name, found, notes, chain.D.entry_s)


def _evaluate_average(P: POMDP, pi: Policy, exact: bool) -> Evaluation:
    """What a policy is worth by its average reward."""
    R, field = repeat_episodes(P), field_of(P, pi, exact)
    chain = follow_policy(dynamics(R, field), pi)
    relative = differential_values(chain)
    astray, unclear = relative.astray()
    if unclear.any() and P.is_exact and pi.is_exact and len(R.S) <= MOST_DECIDED:
        astray, unclear = differential_values(follow_policy(dynamics(R, RATIONALS), pi)).astray()
    found, alive = (
        assess_average(chain, relative, astray | unclear),
        np.flatnonzero(~P.terminal.mask),
    )

    def placed(values: Array, elsewhere: Any) -> Array:
        """Over all states, the terminal ones included."""
        whole = np.empty((len(P.S), *values.shape[1:]), dtype=values.dtype)
        whole[:] = elsewhere
        whole[alive] = values
        return whole

    nothing, start = field.undefined(1)[0], (chain.D.mu * relative.bias).sum()
    seen = replace(
        found.seen,
        d=placed(found.seen.d, field.one(0)),
        d_error=placed(found.seen.d_error, 0.0),
    )
    over = replace(
        found,
        v=placed(found.v, start),
        v_error=placed(found.v_error, float(np.max(found.v_error))),
        undefined=np.ones(len(P.S), dtype=bool),
        q_state=placed(found.q_state, nothing),
        q_state_error=placed(found.q_state_error, np.inf),
        seen=seen,
    )
    gain = placed(relative.gain, found.value)
    notes = relative.describe(unclear), describe_doubt(P, found.doubtful)
    labels = Vector(gain, P.S, field if field.is_exact else None, "g(s)")
    return _label_values(P, pi, "stationary", over, notes, alive[chain.D.entry_s], labels)


def _label_values(
    P: POMDP, pi: Policy, weights: str, found: Assessment, notes: tuple[str, ...],
    entry_s: NDArray[Any], gain: Vector | None = None,
) -> Evaluation:  # fmt: skip
    """Numbers with labels. `entry_s` names the states of P behind the chain's entries of omega."""
    D, seen = found.chain.D, found.seen
    field = D.field
    shown = field if field.is_exact else None
    q = found.q if field.is_exact else np.where(np.isinf(found.q_error), np.nan, found.q)
    met = seen  # first visits have one distribution for each action: show that of all visits
    if seen.share.shape[1] > 1:
        met = weights_named("visits").solve(found.chain)
    o_visits, behind = seen.total, met.share[:, 0]
    if met.endless.any():
        o_visits = o_visits.copy()
        o_visits[met.endless] = None if field.is_exact else np.inf
    v_given_o, _ = mean_over_actions(field, found.chain.pi, found.chain.given, q, found.q_error)
    largest = np.max(found.v_error, where=~found.undefined, initial=found.value_error)
    return Evaluation(
        P=P,
        pi=pi,
        weights=weights,
        value=field.back(found.value),
        v=Vector(found.v, P.S, shown, "v" if gain is None else "bias"),
        q_state=Table(found.q_state, P.S, P.A, shown, "q(s, a)"),
        visits=Vector(seen.d, P.S, shown, weights),
        o_visits=Vector(o_visits, P.O, shown, "d(o)"),
        s_given_o=Conditional(behind, entry_s, D.entry_o, P.S, P.O, shown),
        q=Table(q, P.O, P.A, shown, "q(o, a)"),
        v_given_o=Vector(v_given_o, P.O, shown, "v(o)"),
        reached=Vector(seen.reached, P.O, None, "reached"),
        error=float(largest),
        v_error=Vector(found.v_error, P.S, None, "error of v"),
        q_state_error=Table(found.q_state_error, P.S, P.A, None, "error of q(s, a)"),
        visits_error=Vector(seen.d_error, P.S, None, "relative error"),
        q_error=Table(found.q_error, P.O, P.A, None, "error of q(o, a)"),
        method=found.method,
        note=" ".join(filter(None, notes)),
        criterion="return" if gain is None else "average",
        gain=gain,
    )


def check_arguments(P: Any, pi: Any, weights: Any) -> Weighting:
    """The weights, once the arguments of a function that follows a policy are what they must be."""
    if not isinstance(P, POMDP):
        raise WrongType(f"expected a POMDP, not {P!r}")
    if not isinstance(pi, Policy):
        raise WrongType(f"expected a Policy, not {pi!r}")
    found = weights_named(weights)
    pi.fits(P)
    return found


def check_criterion(criterion: Any) -> str:
    """The criterion, if it is one."""
    if criterion not in CRITERIA:
        meant = did_you_mean(str(criterion), CRITERIA)
        raise WorkbenchError(
            f"criterion must be one of {', '.join(CRITERIA)}, not {criterion!r}{meant}"
        )
    return str(criterion)


def describe_endless(chain: Chain, weights: Weighting) -> str:
    """A sentence on what is undefined because episodes never end, or ""."""
    if weights.is_finite(chain):
        return ""
    P = chain.D.P
    s = P.S[int(np.flatnonzero(chain.visited & chain.stuck)[0])]
    return (
        f"The policy never ends from s={P.S.text(s)}, which it visits: expected visits "
        "are infinite there and q(o, a) is undefined where such states are seen; "
        'weights="discounted" and "stationary" are defined.'
    )


def describe_doubt(P: POMDP, doubtful: Mask) -> str:
    """A sentence on entries `[o, a]` that floats cannot tell, or ""."""
    if not doubtful.any():
        return ""
    rows = np.flatnonzero(doubtful.any(axis=1))
    return (
        f"q(o, a) of {counted(len(rows), 'observation')} (o={P.O.text(P.O[int(rows[0])])} is one) "
        "could not be found to any accuracy in floats, and is undefined there."
    )
