"""The oracle of the loop (Section 5.2): q_pi(o, a), told row by row, over any field."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.core.assess import assess
from workbench.core.chain import Chain
from workbench.core.double_kernels import UNIT
from workbench.core.errors import Multichain
from workbench.core.fields import Dynamics
from workbench.core.gain import differential_values
from workbench.core.loop_kernels import FEWEST_VISITS
from workbench.core.weights import known, weights_named

Array = NDArray[Any]
Mask = NDArray[np.bool_]


class Look(NamedTuple):
    """What a policy is worth, by observation.

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
    """Evaluate the policy with the table pi, whose probabilities were rounded so often. Values may
    be relative to the average reward (Jaakkola, Singh and Jordan 1995)."""
    chain = D.follow(pi)
    if not D.field.is_exact:
        chain.given += (roundings - 1) * UNIT  # the chain of a policy of floats counts one
    if average:
        return _look_at_average(chain)
    found = assess(chain, weights_named(weights))
    seen, q, error, weight = found.seen, found.q, found.error, found.seen.total
    lacking = seen.reached & ~known(q).any(axis=1)
    if not D.field.is_exact:
        # floats run out of numbers below: such a row counts as one that is not seen
        few = seen.reached & ~seen.endless & (weight <= FEWEST_VISITS)
        lacking &= ~few
        q = np.where(few[:, None], np.nan, q)
        error, weight = np.where(few, 0.0, error), np.where(few, 0.0, weight)
    return Look(found.value, q, error, weight, lacking)


def _look_at_average(chain: Chain) -> Look:
    """q(o,a) from differential values and long-run shares of time. A small step towards greedy on
    these raises the average, where that does not depend on where the process starts."""
    found, P = differential_values(chain), chain.D.P
    if (clash := found.clash()) is not None:
        s, t = (P.S.text(P.S[state]) for state in clash)
        raise Multichain(
            f"{P.name}: the policy is multichain: it may stay for ever around s={s} or around "
            f"s={t}, with different average rewards, so that small steps need not improve it"
        )
    seen = weights_named("stationary").solve(chain)
    # where floats cannot tell whether an action changes the average, the bounds say so
    q, each = seen.observe(chain.D, *found.action_values(found.astray()[0]))
    error = np.where(known(q), each, 0.0).max(axis=1)
    return Look(found.value, q, error, seen.total, np.zeros(len(q), dtype=bool))
