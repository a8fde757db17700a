"""Returns without bound: gamma = 1, and a loop that pays.

Let the uniform policy end with probability one, and let pi_0 be a policy, g and h its gain and bias
(g = 0 where it ends), such that each of its recurrent classes pays more than nothing a step, and
one of them is reached from mu. The mixtures pi_e = (1 - e) pi_0 + e (uniform) end with probability
one. With d_e(s) the visits to s,

    J(pi_e) = mu . h + sum_s d_e(s) [ g(s) + O(e) ]           (performance difference)

where g >= 0, and g > 0 in the classes. A class is left with a probability of order e at each step
and the next one, or the end, is come to after a bounded time: visits elsewhere are of the order of
1 + e (visits to classes), which grow without bound as e goes to 0, and J(pi_e) with them. There is
then no best policy.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.core.chain import Chain
from workbench.core.double_kernels import UNIT
from workbench.core.dynamics import dynamics
from workbench.core.errors import Unbounded
from workbench.core.fields import FLOATS
from workbench.core.pomdp import POMDP

_NEAR = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1)
"""Probabilities below these are left out of a policy to look for the loop that it goes towards."""


def require_bound(P: POMDP, pi: NDArray[np.float64]) -> None:
    """Raise `Unbounded` if policies near `pi[o, a]` have arbitrarily large values. gamma is 1."""
    D = dynamics(P, FLOATS)
    every = D.follow(np.full(pi.shape, 1 / pi.shape[1]))
    if (every.visited & every.may_not_end).any():
        return
    for least in _NEAR:
        rounded = np.where(pi >= least, pi, 0.0)
        rounded /= rounded.sum(axis=1, keepdims=True)
        loop = _find_paying_loop(D.follow(rounded), every.visited, P.terminal.mask)
        if loop is not None:
            s, gain = loop
            raise Unbounded(
                f"gamma is 1 and the return of {P.name} has no bound: a loop through "
                f"s={P.S.text(P.S[s])} pays {gain:.6g} a step, and policies may stay in it as long "
                'as they like; give a gamma below 1, or ask for criterion="average"'
            )


def _find_paying_loop(
    chain: Chain, met: NDArray[np.bool_], terminal: NDArray[np.bool_]
) -> tuple[int, float] | None:
    """A state of a class that is reached, and its gain, if all classes that some policy meets
    surely pay."""
    classes = chain.classes()
    found = None
    for members in classes:
        if terminal[members[0]] or not met[members[0]]:
            continue
        visits = chain.returns(members)
        share, r = visits.x / visits.x.sum(), chain.r[members]
        gain = float(share @ r)
        # a share is a ratio: off by what its part and the sum are off by
        off = 3 * float(np.max(visits.error)) + (len(members) + 8) * 4 * UNIT
        if not gain > off * float(share @ np.abs(r)):
            return None
        if found is None and chain.visited[members[0]]:
            found = int(members[0]), gain
    return found
