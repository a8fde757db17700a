"""Evaluation without labels, over any field: loops and searches call it for one policy after
another. `evaluate` has the formulas.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.chain import Chain
from workbench.core.double_kernels import UNIT, weighted_sum
from workbench.core.fields import Dynamics, Mask
from workbench.core.weights import Seen, Weighting, known

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


def mean_over_starts(D: Dynamics, x: Array, x_error: NDArray[np.float64]) -> tuple[Any, float]:
    """sum_s mu(s) x(s), and a bound on its error."""
    starts = D.P.mu.support
    if D.field.is_exact:
        return (D.mu[starts] * x[starts]).sum(), 0.0
    given = 0.0 if D.P.mu.prob.is_exact else UNIT
    mean, error = weighted_sum(D.mu_side[:2, starts], x[starts], x_error[starts], given)
    return mean, float(error)
