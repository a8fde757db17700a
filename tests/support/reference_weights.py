"""The slow twin of first-visit weights: step an episode on until it first takes a at o.

Everything is dense floats; no linear system is solved. An episode that has taken a at o is taken
out, so what is added up is the probability that the first time happens in each state.
"""

from __future__ import annotations

import numpy as np
from reference_td import STEPS, Tables, _monte_carlo

from workbench import POMDP, Policy


def first_visit_q(P: POMDP, pi: Policy) -> np.ndarray:
    """q[o, a] that first-visit Monte Carlo converges to; NaN where a is never taken at o."""
    tables = Tables(P, pi)
    true = _monte_carlo(tables)
    q = np.full(tables.pi.shape, np.nan)
    for o, a in np.ndindex(q.shape):
        takes = np.where(tables.ended, 0.0, tables.omega[:, o] * tables.pi[o, a])
        others = tables.acts.copy()
        others[:, a] -= takes
        first, now = np.zeros(len(tables.mu)), tables.mu
        for _ in range(STEPS):
            first = first + now * takes
            now = np.einsum("s,sa,sat->t", now, others, tables.p)
        if first.sum() > 0:
            q[o, a] = first @ true[:, a] / first.sum()
    return q
