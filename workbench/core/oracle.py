"""Oracles for q_pi(o, a) that answer for one policy after another (Section 5.2).

All that no policy changes is computed once. Besides `loop_kernels`, which serve tasks of finite
horizon, there are two:

    any field     `evaluation`, over rationals, balls or residues
    floats  P_pi on a fixed pattern; v and the visits by BiCGSTAB, v starting from the last policy's

Floats come with a bound on the error of each row of q. I - gamma P has an inverse without negative
entries, so residuals bound errors:

    |v - v_pi| <= |residual of v| h,                h >= (I - gamma P)^-1 1
    |d - d_pi| <= (largest residual of d / d) w,    w >= (I - c P^T)^-1 d          entry by entry

where h and w are any vectors that pass the test (I - gamma P) h >= 1/4, (I - c P^T) w >= d/4: they
are found once and kept while they pass. P(s|o) is a ratio of visits, so that small visits have to
be right as well.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from workbench.core import linear
from workbench.core import loop_kernels as kernels
from workbench.core.chain import Chain, Dynamics, dynamics
from workbench.core.errors import NotSolved
from workbench.core.evaluate import assess
from workbench.core.fields import FLOATS, Field
from workbench.core.krylov_kernels import bicgstab_of_products
from workbench.core.pomdp import POMDP
from workbench.core.rows import own_rows, without_signs
from workbench.core.weights import weights_named

_ITERATIONS = 4_000

_ENOUGH, _SWEEPS = 2e-15, 300
"""Visits are polished until each changes by less than this share of itself, in at most so many
sweeps."""

_POOR = 1e-12
"""Visits that still change by more than this share of themselves are found by LU instead."""

_AIM, _TOLERANCE = 2e-14, 1e-12
"""Residuals that solutions aim at, as a share of the right side; the second is enough."""

_SLACK = 0.25
"""What (I - gamma P) h has to be at least, for h to bound errors."""

UNIT = 2.0**-53
"""The largest error of rounding, as a share."""

TableArray = NDArray[Any]


_NONE = np.empty(0, dtype=np.int64)


class Look(NamedTuple):
    """What an oracle says about a policy.

    Attributes
    ----------
    value : of the policy; q : `q[o, a]`, undefined where there is none.
    error : `error[o]`, a bound on the error of the row.
    lacking : the observations that the policy sees although their q is undefined, because it sees
        them infinitely often.
    doubtful : those whose q is defined, and nothing is known about it: floats found no bound.
    """

    value: Any
    q: TableArray
    error: NDArray[np.float64]
    lacking: NDArray[np.int64]
    doubtful: NDArray[np.int64] = _NONE


class Oracle:
    """Answers over any exact field, by `evaluation`."""

    def __init__(self, P: POMDP, weights: str, field: Field):
        self.P, self.weights, self.field = P, weights, field
        self.D: Dynamics = dynamics(P, field)

    def look(self, pi: TableArray, roundings: int = 1) -> Look:
        """What the policy with the table pi is worth; each probability was rounded so often."""
        chain = self.D.follow(pi)
        if not self.field.is_exact:
            chain.given += (roundings - 1) * UNIT  # the chain of a policy of floats counts one
        found = assess(chain, weights_named(self.weights))
        if (found.seen.is_faint & ~self.field.is_exact).any():
            o = self.P.O.text(self.P.O[int(np.flatnonzero(found.seen.is_faint)[0])])
            raise NotSolved(f"{self.P.name}: floats cannot find how often o={o} is seen")
        lacking = np.flatnonzero(found.seen.reached & found.seen.endless)
        return Look(
            found.value, found.q, found.error, lacking, np.flatnonzero(np.isinf(found.error))
        )


class SparseOracle(Oracle):
    """Answers in floats: the graph is looked at again only when the support of pi changes."""

    def __init__(self, P: POMDP, weights: str):
        super().__init__(P, weights, FLOATS)
        nS, nA = len(P.S), len(P.A)
        self._row = own_rows(P.p.row_ptr)
        places, self._slot = np.unique(self._row // nA * nS + P.p.s_next, return_inverse=True)
        indptr = np.searchsorted(places, np.arange(nS + 1) * nS)
        self._pattern = sp.csr_array((np.arange(len(places)), places % nS, indptr), shape=(nS, nS))
        self._turned = sp.csr_array(self._pattern.T)
        # matrices whose numbers are replaced at each look: to make one takes longer than to use it
        self._matrix = self._pattern.astype(np.float64)
        alive = np.flatnonzero(~P.terminal.mask[self.D.entry_s])
        self._seen = alive[
            np.argsort(self.D.entry_o[alive], kind="stable")
        ]  # entries (s, o) of omega, by o
        self._seen_ptr = np.searchsorted(self.D.entry_o[self._seen], np.arange(len(P.O) + 1))
        self._behind = sp.csr_array(
            (self.D.omega[self._seen], self.D.entry_s[self._seen], self._seen_ptr),
            shape=(len(P.O), nS),
        )
        self._carry = self.D.gamma if weights == "discounted" else 1.0
        self._support: NDArray[np.bool_] | None = None
        self._plain, self._visited = False, np.empty(0, dtype=bool)
        self._v = np.zeros(nS)
        self._h, self._w, self._ratio = np.ones(nS), np.ones(nS), 0.0
        # roundings on the way to one entry of P, r, q(s, a): products, and sums of so many terms
        self._sums = (
            8
            + nA
            + int(np.bincount(self._slot).max(initial=0))
            + int(np.diff(self._pattern.indptr).max(initial=0))
        )
        in_degree = int(np.diff(self._turned.indptr).max(initial=0))
        self._visit_sums = self._sums + in_degree
        self._R_abs = np.asarray(
            sp.csr_array(
                (np.abs(self.D.r) * self.D.prob, P.p.s_next, P.p.row_ptr), shape=(nS * nA, nS)
            ).sum(axis=1)
        ).reshape(nS, nA)
        self._R_size = self._R_abs.max(axis=1)

    def look(self, pi: TableArray, roundings: int = 1) -> Look:
        support = pi > 0
        if self._support is None or not np.array_equal(support, self._support):
            self._support = support
            self._plain, self._visited = self._graph(self.D.follow(pi))
        if not self._plain:
            return super().look(pi, roundings)
        acts = chain_acts(self.D, pi)
        data = np.bincount(
            self._slot, acts.reshape(-1)[self._row] * self.D.prob, minlength=len(self._pattern.data)
        )
        r = (acts * self.D.R).sum(axis=1)
        self._v = self._solved(self._pattern, data, self.D.gamma, r, self._v, np.inf)
        inside = self._visited[self._turned.indices]  # other states may be such as never end
        turned = np.where(inside, data[self._turned.data], 0.0)
        d = self._visits(turned)
        q_state = self.D.R + self.D.gamma * self.D.expected(self._v)
        drift = roundings * UNIT
        v_error = self._v_error(data, acts, r, drift)
        error = self._q_error(v_error, self._visit_errors(turned, d, drift), q_state)
        return Look(self.D.mu @ self._v, self._averaged(d, q_state), error, _NONE)

    # ---------------------------------------------------------------- errors

    def _v_error(self, data: TableArray, acts: TableArray, r: TableArray, drift: float) -> float:
        """A bound on |v - v_pi|: the residual, what rounding hides of it, and h."""
        v, gamma = self._v, self.D.gamma
        size = np.abs(v).max(initial=0.0)
        self._matrix.data = data
        seen = np.abs(r - v + gamma * (self._matrix @ v)).max(initial=0.0)
        rewards = (acts * self._R_abs).sum(axis=1).max(initial=0.0)
        residual = seen + (self._sums * 2 * UNIT + drift) * (2 * size + rewards)
        if gamma < 1:
            return float(residual / (1 - gamma) * (1 + 8 * UNIT / (1 - gamma)))
        everywhere, ones = np.ones(len(v), dtype=bool), np.ones(len(v))
        pattern = self._pattern

        def slack() -> float:
            return float(
                kernels.least_slack(
                    pattern.indptr, pattern.indices, data, gamma, everywhere, ones, self._h
                )
            )

        if slack() < _SLACK:
            self._h = self._solved(pattern, data, gamma, ones, self._h, np.inf)
        found = slack() - drift * float(self._h.max())
        return float(residual * self._h.max() / found) if found > 0 else np.inf

    def _visit_errors(self, data: TableArray, d: TableArray, drift: float) -> TableArray:
        """For each state a bound on the error of its visits, as a share of them."""
        turned, mu, visited = self._turned, self.D.mu, self._visited
        counted = visited & (d > 0)
        if (counted != visited).any():
            return np.full(len(d), np.inf)
        csr = turned.indptr, turned.indices, data, self._carry
        missed = kernels.balance_errors(*csr, mu, visited, d)
        missed += 2 * self._visit_sums * UNIT + drift
        weights = np.where(visited, d, 1.0)
        for attempt in (1, 2):
            slack = kernels.least_slack(*csr, visited, weights, self._w)
            ratio = _quotients(self._w, weights * slack, visited) if slack > 0 else None
            if ratio is not None and slack >= _SLACK and ratio.max() <= 4 * self._ratio:
                break
            if attempt == 1:  # it no longer bounds, or bounds badly: find it again
                b = np.where(visited, d, 0.0)
                self._w = np.maximum(self._solved(turned, data, self._carry, b, b, 1), b)
                kernels.polish(*csr, b, visited, self._w, 1e-4, _SWEEPS)
                self._ratio = np.inf
        if ratio is None:
            return np.full(len(d), np.inf)
        self._ratio = min(self._ratio, float(ratio.max()))
        return np.asarray(missed * ratio)

    def _q_error(self, v_error: float, share_error: TableArray, q_state: TableArray) -> TableArray:
        """|q(o,.) - computed| <= gamma |v error| + the change of P(.|o) times the range of
        q(s,.)."""
        s = self.D.entry_s[self._seen]
        used = self._visited[s]
        o, nO = self.D.entry_o[self._seen][used], len(self.P.O)
        rows, worst, paid = q_state[s[used]], np.zeros(nO), np.zeros(nO)
        high, low = np.full((nO, rows.shape[1]), -np.inf), np.full((nO, rows.shape[1]), np.inf)
        np.maximum.at(high, o, rows)
        np.minimum.at(low, o, rows)
        np.maximum.at(worst, o, share_error[s[used]])
        np.maximum.at(paid, o, self._R_size[s[used]])  # where rewards cancel, R is less than these
        with np.errstate(invalid="ignore"):
            size = np.maximum(np.abs(high), np.abs(low)).max(axis=1)
            spread = (high - low).max(axis=1)
            rounding = (self._sums + np.bincount(o, minlength=nO)) * 4 * UNIT * (size + paid)
            # weights off by shares up to e move a mean by at most 2e/(1-e) times the range
            shares = np.where(worst < 0.25, 3 * worst * (spread + 8 * UNIT * size), np.inf)
            found = self.D.gamma * v_error + rounding + shares
        return np.where(np.isfinite(high[:, 0]), found, 0.0)

    # ---------------------------------------------------------------- solving

    def _averaged(self, d: NDArray[Any], q_state: TableArray) -> TableArray:
        """q(o,a) = sum_s d(s) omega(o|s) q(s,a) / sum_s d(s) omega(o|s)."""
        s = self.D.entry_s[self._seen]
        self._behind.data = d[s] * self.D.omega[self._seen]
        total = np.asarray(self._behind.sum(axis=1))[:, None]
        return np.divide(
            self._behind @ q_state,
            total,
            out=np.full((len(total), len(self.P.A)), np.nan),
            where=total > 0,
        )

    def _graph(self, chain: Chain) -> tuple[bool, NDArray[np.bool_]]:
        """Whether values and visits are finite everywhere, and the states visited."""
        discounted = self._carry < 1  # then visits are finite whether episodes end or not
        endless = (chain.visited & chain.stuck).any() and not discounted
        endless = endless or (self.D.gamma == 1 and chain.may_not_end.any())
        # With gamma = 0 nothing after the first step has a discounted weight.
        return not endless, self.D.mu > 0 if self._carry == 0 else chain.visited

    def _solved(
        self,
        pattern: sp.csr_array,
        data: NDArray[Any],
        gamma: float,
        b: NDArray[Any],
        start: NDArray[Any],
        norm: float,
    ) -> NDArray[Any]:
        x, size = start.copy(), float(np.linalg.norm(b, norm))
        residual, _ = bicgstab_of_products(
            *without_signs(pattern.indptr, pattern.indices),
            data,
            gamma,
            b,
            x,
            _AIM * size,
            norm == np.inf,
            _ITERATIONS,
        )
        if residual <= _TOLERANCE * size:
            return x
        P = sp.csr_array((data, pattern.indices, pattern.indptr), pattern.shape)
        return linear.solve(P if norm == np.inf else sp.csr_array(P.T), gamma, b, norm == 1).x

    def _visits(self, data: NDArray[Any]) -> NDArray[Any]:
        """d = mu + carry P^T d. P(s|o) is a ratio of visits, so that small ones have to be right as
        well."""
        mu = np.where(self._visited, self.D.mu, 0.0)
        turned = self._turned
        d = np.maximum(self._solved(turned, data, self._carry, mu, mu, 1), 0.0)
        moved = kernels.polish(
            turned.indptr,
            turned.indices,
            data,
            self._carry,
            mu,
            self._visited,
            d,
            _ENOUGH,
            _SWEEPS,
        )
        if not moved <= _POOR:
            P = sp.csr_array((data, turned.indices, turned.indptr), shape=turned.shape)
            what = f"{self.P.name}: the system of visits"
            factors = linear.factorize(sp.eye_array(len(d)) - self._carry * P, what)
            d = np.asarray(factors.solve(mu))
        return d


def chain_acts(D: Dynamics, pi: TableArray) -> TableArray:
    """pi(a | s) in floats."""
    omega = sp.csr_array((D.omega, D.entry_o, D.P.omega.row_ptr), shape=(D.shape[0], len(pi)))
    return np.asarray(omega @ pi)


def _quotients(x: TableArray, y: TableArray, asked: NDArray[np.bool_]) -> TableArray:
    """x / y where it is asked for, infinite where y is too small for it, and 0 elsewhere."""
    found = np.where(asked, np.inf, 0.0)
    with np.errstate(over="ignore"):
        return np.divide(x, y, out=found, where=asked & (y > 0))
