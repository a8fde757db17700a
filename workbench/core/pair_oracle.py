"""Which action of an observation is the largest, in twice the precision of floats.

q(o,a) > q(o,b) means sum_s d(s) omega(o|s) (q(s,a) - q(s,b)) > 0. Visits d and values v are found
in pairs of floats, by a solver of float precision and residuals in pairs, with bounds that hold
(`evaluation.bounds`); so is the sum. Numbers that differ by more than some 1e-28 of the terms that
make them up are told apart, at the cost of a few evaluations in floats: q-values that come closer
and closer on the way to a limit need no balls as a rule.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.core.chain import Chain, dynamics
from workbench.core.fields import FLOATS
from workbench.core.linear import ONE as ONE_PAIR
from workbench.core.linear import LinearSystem
from workbench.core.pair_kernels import largest_actions
from workbench.core.pomdp import POMDP
from workbench.core.rows import point_rows

Floats = NDArray[np.float64]

_MOST_STATES = 5_000
"""Larger chains are not factored."""

_LEAST = 1e-250
"""Parts of products of smaller probabilities underflow."""


class PairPolicy(NamedTuple):
    """A policy in pairs of floats, `high + low`, each probability off by at most a `share` of
    itself."""

    high: Floats
    low: Floats
    share: float


class PairOracle:
    """Comparisons for one policy after another, of an exact model."""

    def __init__(self, P: POMDP, weights: str):
        self.P, self.weights, self.D = P, weights, dynamics(P, FLOATS)
        discounted = weights == "discounted" and P.gamma != 1
        self._carry = self.D.gamma_side if discounted else ONE_PAIR
        self.can_answer = (
            P.is_exact
            and P.gamma != 0
            and weights in ("visits", "discounted")
            and len(P.S) <= _MOST_STATES
        )

    @cached_property
    def _tables(self) -> tuple[Floats, Floats, Floats]:
        """omega, p and r in pairs."""
        P, enter = self.P, FLOATS.enter_side
        return enter(P.omega.prob)[:2], enter(P.p.prob)[:2], enter(P.p.r)[:2]

    @cached_property
    def _entries(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The entries of omega by observation: where those of o begin, and which they are."""
        entry_o = self.D.entry_o
        order = np.argsort(entry_o, kind="stable").astype(np.int64)
        return np.searchsorted(entry_o[order], np.arange(len(self.P.O) + 1)), order

    def largest(self, pi: PairPolicy, rivals: dict[int, NDArray[np.int64]]) -> dict[int, int]:
        """The largest of some actions of each observation, where it can be told."""
        positive = pi.high[pi.high > 0]
        if not self.can_answer or not rivals or positive.min() < _LEAST:
            return {}
        chain = self.D.follow(pi.high, pi.low)
        chain.given += pi.share
        endless = self._carry is ONE_PAIR and (chain.visited & chain.stuck).any()
        if endless or (self.P.gamma == 1 and chain.may_not_end.any()):
            return {}
        v, v_error, d, d_error = self._solved(chain)
        counted = chain.visited & ~self.P.terminal.mask
        omega, p, r = self._tables
        begin, order = self._entries
        asked, best = np.array([*rivals]), np.empty(len(rivals), dtype=np.int64)
        rival_ptr = point_rows(np.array([len(places) for places in rivals.values()]))
        largest_actions(
            asked, rival_ptr, np.concatenate([*rivals.values()]), begin, order, self.D.entry_s,
            omega, counted, d, d_error, self.P.p.row_ptr, self.P.p.s_next, p, r, self.D.gamma_side,
            v, v_error, len(self.P.A), best,
        )  # fmt: skip
        told = best >= 0
        return dict(zip(asked[told].tolist(), best[told].tolist(), strict=True))

    def _solved(self, chain: Chain) -> tuple[Floats, Floats, Floats, Floats]:
        """v and d in pairs, and bounds on their errors."""
        nobody = np.zeros(len(self.P.S), dtype=bool)
        left_out = ~chain.visited if self._carry is ONE_PAIR else nobody
        v, v_error, _, _ = _system(chain, nobody, self.D.gamma_side).enclose(chain.side)
        away = _system(chain, left_out, self._carry)
        d, d_error, _, _ = away.enclose(self.D.mu_side, transposed=True)
        return v, v_error, d, d_error


def _system(chain: Chain, dropped: NDArray[np.bool_], gamma: Floats) -> LinearSystem:
    """The chain with a discount, without the rows of some states."""
    P = chain.P
    if dropped.any():
        P = P.copy()
        P[:, np.repeat(dropped, np.diff(chain.indptr))] = 0.0
    leave = np.where(dropped | ~chain.D.alive, 1.0, 1.0 - gamma[0] - gamma[1])
    doubt = np.full(len(leave), chain.given), np.zeros(len(leave))
    return LinearSystem(chain.indptr, chain.indices, P, gamma, leave, *doubt)
