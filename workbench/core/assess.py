"""Evaluation without labels, over any field: loops and searches call it for one policy after
another. `evaluate` has the formulas.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.core.chain import Chain
from workbench.core.double_kernels import FEWEST, UNIT, weighted_sum
from workbench.core.errors import Multichain
from workbench.core.fields import Dynamics, Mask
from workbench.core.gain import Differential, differential_values
from workbench.core.weights import WEIGHTS, Seen, Weighting, known, weights_named

Array = NDArray[Any]


@dataclass(frozen=True)
class Assessment:
    """The values of a policy as elements of a field. In exact arithmetic all errors are 0.

    Attributes
    ----------
    value, value_error : from mu.
    v, v_error : `[s]`; undefined where `undefined[s]`.
    q_state, q_state_error : `[s, a]`; q, q_error : `[o, a]`. Nothing is known of a float whose
        error is infinite.
    seen : the weights, P(s|o), and which observations are reached.
    method : how the linear systems were solved.
    """

    chain: Chain
    value: Any
    value_error: float
    v: Array
    v_error: NDArray[np.float64]
    undefined: Mask
    q_state: Array
    q_state_error: NDArray[np.float64]
    q: Array
    q_error: NDArray[np.float64]
    seen: Seen
    method: str

    @property
    def doubtful(self) -> Mask:
        """`[o, a]`: floats found nothing about it, so that q is undefined there."""
        return self.seen.doubtful(self.q, self.q_error)

    @property
    def error(self) -> NDArray[np.float64]:
        """Error bounds `[o]` on the numbers of each row of q. They are 0 where the row has none."""
        return np.where(known(self.q), self.q_error, 0.0).max(axis=1)


def assess(chain: Chain, weights: Weighting) -> Assessment:
    """Evaluate the policy of a chain."""
    D = chain.D
    solved, undefined = chain.values()
    seen = weights.solve(chain)
    v, v_error = solved.x, solved.error
    q_state, q_state_error = D.action_values(v, v_error, undefined)
    q, q_error = seen.observe(D, q_state, q_state_error)
    value, value_error = mean_over_starts(D, v, v_error)
    if undefined.any():
        v, v_error = v.copy(), v_error.copy()
        v[undefined] = D.field.undefined(1)[0]
        v_error[undefined] = 0.0 if D.field.is_exact else np.inf
    method = "exact" if D.field.is_exact else f"v: {solved.method}, weights: {seen.method}"
    return Assessment(
        chain, value, value_error, v, v_error, undefined, q_state, q_state_error, q, q_error, seen,
        method,
    )  # fmt: skip


def assess_average(chain: Chain, found: Differential, undefined: Mask) -> Assessment:
    """Evaluate the policy of a chain by its average reward. v is the bias, and q are differential
    values, but for the actions `undefined[s, a]`."""
    D, seen = chain.D, WEIGHTS["stationary"].solve(chain)
    q_state, q_state_error = found.action_values(undefined)
    q, q_error = seen.observe(D, q_state, q_state_error)
    value, value_error = mean_over_starts(D, found.gain, found.gain_error)
    error = max(value_error, float(np.max(found.gain_error)))
    method = "exact" if D.field.is_exact else "sums until a reference state, bounded"
    return Assessment(
        chain, value, error, found.bias, found.bias_error, ~D.alive, q_state, q_state_error, q,
        q_error, seen, method,
    )  # fmt: skip


class Look(NamedTuple):
    """What the oracle of the loop says of a policy, by observation.

    Attributes
    ----------
    value : of the policy; q : `q[o, a]`, undefined where there is none.
    error : `error[o]`, a bound on the error of the row, infinite where nothing is known about it.
    weight : `weight[o]`, of the observation; 0 where it has none, so that q is undefined.
    lacking : `lacking[o]`, whether q is undefined because the policy sees o infinitely often.
    """

    value: Any
    q: Array
    error: NDArray[np.float64]
    weight: Array
    lacking: Mask


def look_at(
    D: Dynamics, pi: Array, weights: str, average: bool = False, roundings: int = 1
) -> Look:
    """Evaluate the policy with the table pi, whose probabilities were rounded so often.

    Values may be relative to the average reward (Jaakkola, Singh and Jordan 1995). A small step
    towards greedy on these raises it, where it does not depend on where the process starts.
    """
    chain = D.follow(pi)
    if not D.field.is_exact:
        chain.given += (roundings - 1) * UNIT  # the chain of a policy of floats counts one
    if average:
        relative = differential_values(chain)
        if (clash := relative.clash()) is not None:
            s, t = (D.P.S.text(D.P.S[state]) for state in clash)
            raise Multichain(
                f"{D.P.name}: the policy is multichain: it may stay for ever around s={s} or "
                f"around s={t}, with different average rewards, so that small steps need not "
                "improve it"
            )
        # where floats cannot tell whether an action changes the average, the bounds say so
        found = assess_average(chain, relative, relative.astray()[0])
    else:
        found = assess(chain, weights_named(weights))
    seen, q, error, weight = found.seen, found.q, found.error, found.seen.total
    lacking = seen.reached & ~known(q).any(axis=1) & (not average)
    if not D.field.is_exact:
        # smaller weights underflow: such a row counts as one that is not seen
        few = seen.reached & ~seen.endless & (weight <= FEWEST)
        lacking &= ~few
        q = np.where(few[:, None], np.nan, q)
        error, weight = np.where(few, 0.0, error), np.where(few, 0.0, weight)
    return Look(found.value, q, error, weight, lacking)


def mean_over_starts(D: Dynamics, x: Array, x_error: NDArray[np.float64]) -> tuple[Any, float]:
    """sum_s mu(s) x(s), and a bound on its error."""
    starts = D.P.mu.support
    if D.field.is_exact:
        return (D.mu[starts] * x[starts]).sum(), 0.0
    given = 0.0 if D.P.mu.prob.is_exact else UNIT
    mean, error = weighted_sum(D.mu_side[:2, starts], x[starts], x_error[starts], given)
    return mean, float(error)
