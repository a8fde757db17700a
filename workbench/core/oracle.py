"""Oracles for q_pi(o, a) that answer for one policy after another (Section 5.2).

`Oracle` is `evaluate` without labels, over any field. `WarmOracle` answers in floats where states
come back and every episode ends, or is discounted: each policy is close to the last one, so its
systems are solved by BiCGSTAB from where the last ones ended.

    v = r + gamma P v            d = mu + carry P^T d

Residuals bound errors, since I - gamma P has an inverse without negative entries:

    |v - v_pi| <= |residual of v| h,       h >= (I - gamma P)^-1 1        entry by entry

and h may be any vector that passes the test (I - gamma P) h >= 1/4: it is found once and kept while
it passes. P(s|o) is a ratio of visits, so that small ones have to be right as well. So they are
counted in those of the last policy, d = D x: x is close to 1, and obeys the chain run backwards,
D^-1 P^T D.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from workbench.core.assess import assess
from workbench.core.double_kernels import UNIT
from workbench.core.errors import Multichain
from workbench.core.fields import FLOATS, Field, dynamics
from workbench.core.gain import differential_values
from workbench.core.loop_kernels import FEWEST_VISITS
from workbench.core.pomdp import POMDP
from workbench.core.rows import own_rows, without_signs
from workbench.core.warm_kernels import LEAST_VISITS, WarmTables, look_warmly
from workbench.core.weights import known, weights_named

_MOST_WARM = 7
"""Policies in a row that are begun from the last one. Bounds of a warm start are rough where an
observation is seen rarely (with 15 the loop on t_maze(15) x O1 misses its limit), and an answer
without one takes two LUs: a third of the time on gravity x O1."""

Array = NDArray[Any]
Mask = NDArray[np.bool_]


class Look(NamedTuple):
    """What an oracle says about a policy.

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


class Oracle:
    """Exact policy values over any field. They can be relative to the average reward (Jaakkola,
    Singh and Jordan 1995)."""

    def __init__(self, P: POMDP, weights: str, field: Field, average: bool = False):
        self.P, self.weights, self.field, self.average = P, weights, field, average
        self.D = dynamics(P, field)
        self.solved: tuple[Array, Array] | None = None  # v and d of the last policy

    def look(self, pi: Array, roundings: int = 1) -> Look:
        """Evaluate the policy with the table pi, whose probabilities were rounded so often."""
        chain = self.D.follow(pi)
        if not self.field.is_exact:
            chain.given += (roundings - 1) * UNIT  # the chain of a policy of floats counts one
        if self.average:
            return self._look_at_average(chain)
        found = assess(chain, weights_named(self.weights))
        self.solved = found.v, found.seen.d
        seen, q, error, weight = found.seen, found.q, found.error, found.seen.total
        lacking = seen.reached & ~known(q).any(axis=1)
        if not self.field.is_exact:
            # floats run out of numbers below: such a row counts as one that is not seen
            few = seen.reached & ~seen.endless & (weight <= FEWEST_VISITS)
            lacking &= ~few
            q = np.where(few[:, None], np.nan, q)
            error, weight = np.where(few, 0.0, error), np.where(few, 0.0, weight)
        return Look(found.value, q, error, weight, lacking)

    def _look_at_average(self, chain: Any) -> Look:
        """q(o,a) from differential values and long-run shares of time. A small step towards greedy
        on these raises the average, where that does not depend on where the process starts."""
        found = differential_values(chain)
        if (clash := found.clash()) is not None:
            s, t = (self.P.S.text(self.P.S[state]) for state in clash)
            raise Multichain(
                f"{self.P.name}: the policy is multichain: it may stay for ever around s={s} or "
                f"around s={t}, with different average rewards, so that small steps need not "
                "improve it"
            )
        seen = weights_named("stationary").solve(chain)
        # where floats cannot tell whether an action changes the average, the bounds say so
        q, each = seen.observe(self.D, *found.action_values(found.astray()[0]))
        error = np.where(known(q), each, 0.0).max(axis=1)
        return Look(found.value, q, error, seen.total, np.zeros(len(q), dtype=bool))


class WarmOracle(Oracle):
    """Answers in floats that begin where the last one ended."""

    def __init__(self, P: POMDP, weights: str):
        super().__init__(P, weights, FLOATS)
        D, nS, nA = self.D, len(P.S), len(P.A)
        row = own_rows(P.p.row_ptr)
        places, slot = np.unique(row // nA * nS + P.p.s_next, return_inverse=True)
        indptr = np.searchsorted(places, np.arange(nS + 1) * nS)
        pattern = sp.csr_array((np.arange(len(places)), places % nS, indptr), shape=(nS, nS))
        turned = sp.csr_array(pattern.T)
        R_abs: Array = np.bincount(row, np.abs(D.r) * D.prob, nS * nA).reshape(nS, nA)
        degrees = (np.bincount(slot), np.diff(pattern.indptr), np.diff(turned.indptr))
        self._tables = WarmTables(
            P.p.row_ptr, P.p.s_next, D.prob, D.R, R_abs, P.omega.row_ptr, P.omega.o, D.omega, D.mu,
            ~P.terminal.mask, slot, *without_signs(pattern.indptr, pattern.indices),
            *without_signs(turned.indptr, turned.indices), turned.data, float(D.gamma),
            float(D.gamma) if weights == "discounted" else 1.0,
            # roundings on the way to one entry of P, r, q(s, a) or d
            8 + nA + sum(int(x.max(initial=0)) for x in degrees),
        )  # fmt: skip
        self._warm = 0
        self._support: Mask | None = None
        self._is_plain, self._visited = False, np.empty(0, dtype=bool)
        self._kept = np.zeros((4, nS))

    def look(self, pi: Array, roundings: int = 1) -> Look:
        support = pi > 0
        if self._support is None or not np.array_equal(support, self._support):
            self._support = support
            self._is_plain, self._visited = self._graph(pi)
            self._kept[1] = 0.0
        if self._is_plain and self._warm < _MOST_WARM and (self._kept[1] > 0).all():
            self._warm += 1
            q, error, weight = (np.empty(n) for n in (pi.shape, len(pi), len(pi)))
            value = look_warmly(
                self._tables, pi, roundings, self._visited, self._kept, q, error, weight
            )
            if not np.isnan(value):
                if self.P.allowed is not None:
                    q[~self.P.allowed] = np.nan
                return Look(value, q, error, weight, np.zeros(len(pi), dtype=bool))
        self._warm = 0
        found = super().look(pi, roundings)
        if self._is_plain:  # where the next one begins
            self._kept[:2] = self.solved
            self._kept[1] = np.where(self._visited, np.maximum(self._kept[1], LEAST_VISITS), 1.0)
        return found

    def _graph(self, pi: Array) -> tuple[bool, Mask]:
        """Whether values and visits are finite everywhere, and the states visited."""
        chain = self.D.follow(pi)
        endless = (chain.visited & chain.stuck).any() and self._tables.carry == 1
        endless = endless or (self.D.gamma == 1 and chain.may_not_end.any())
        # shares of time leave out the last step of an episode, which the kernel counts
        simple = self._tables.carry > 0 and self.weights != "stationary"
        return simple and not endless, chain.visited
