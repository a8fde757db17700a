"""What bootstrapping on observations starts from, and the one system of its fixed points.

A policy meets states behind its observations (`weights`); a target takes a first step from there
and goes on in its own way. The unknowns of the system are, in this order,

    v(o)   the values that are bootstrapped from,
           sum_s P(s|o) sum_a pi(a|o) [ R(s,a) + gamma sum p(s'|s,a) w(s') ]
    w(s)   layer by layer, the first of which is what a target counts after its first step

so that each depends on later ones, and the last layer on v: solvers go from the last to the first.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.core.chain import follow_policy
from workbench.core.double_kernels import UNIT
from workbench.core.errors import NeverEnds, NotSolved
from workbench.core.fields import Field, Mask, dynamics
from workbench.core.linear import ONE, LinearSystem, refusal
from workbench.core.linear_kernels import reachable, reverse_edges
from workbench.core.numbers import Number
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.rows import keep_entries, own_rows, pick_rows
from workbench.core.weights import Weighting, known, weights_named

Array = NDArray[Any]


class Found(NamedTuple):
    """Solved values v(o) and w(s), with error bounds. They are 0 where they are undefined, and
    masks say where that is."""

    v: Array
    v_error: NDArray[np.float64]
    lacks_o: Mask
    w: Array
    w_error: NDArray[np.float64]
    lacks_s: Mask
    method: str


class Entries(NamedTuple):
    """Entries of a matrix: values at (rows, columns)."""

    rows: Array
    columns: Array
    values: Array


class Later(NamedTuple):
    """A target after its first step: w = side + inner w + onto v.

    Attributes
    ----------
    side : the rewards on the way, layer by layer; size : their sizes, without signs.
    leave : what the rows of both matrices lack of 1.
    given : by which share the numbers of a row may be off.
    """

    inner: Entries
    onto: Entries
    side: Array
    size: Array
    leave: Array
    given: float


class Bootstrap:
    """What a policy meets: its chain, what lies behind observations, and the first step from there.

    Attributes
    ----------
    table : the policy of a target's first action; Q-learning puts a greedy one here.
    share : P(s|o) by entry of omega, or P(s|o,a); used : the entries that have one.
    lacks : `[o]`, whether there is none.
    observed : `[o]`, the weight of each observation as a share of all; observed_error : its bound.
    """

    def __init__(self, field: Field, P: POMDP, pi: Policy, weights: str | Weighting):
        self.P, self.field, self.weights = P, field, weights_named(weights)
        self.D = dynamics(P, field)
        self.table = field.enter(pi.prob)
        self.chain = follow_policy(self.D, pi)
        self.seen = self.weights.solve(self.chain)
        self.share, total = self.seen.share, self.seen.total
        present = known(self.share) & np.asarray(self.share != 0, dtype=bool)
        self.used = np.flatnonzero(present.any(axis=1))
        self.lacks = np.ones(len(P.O), dtype=bool)
        self.lacks[self.D.entry_o[self.used]] = False
        everything, endless = total.sum(), self.seen.endless.any()
        undefined = endless or everything == 0  # a part of something infinite is no number
        self.observed = field.undefined(len(P.O)) if undefined else total / everything

    @cached_property
    def observed_error(self) -> float:
        """A bound on the relative errors of `observed`: a ratio of sums, so twice that of terms."""
        if self.field.is_exact:
            return 0.0
        most = float(np.max(self.seen.d_error, initial=0.0)) + 4 * len(self.P.S) * UNIT
        return 2 * most / (1 - most) if most < 0.5 else np.inf

    @cached_property
    def step(self) -> Entries:
        """gamma P_pi."""
        chain = self.chain
        return Entries(own_rows(chain.indptr), chain.indices, chain.data * self.D.gamma)

    @cached_property
    def omega(self) -> Entries:
        """omega(o|s) for the states that are not terminal."""
        D = self.D
        alive = np.flatnonzero(D.alive[D.entry_s])
        return Entries(D.entry_s[alive], D.entry_o[alive], D.omega[alive])

    @cached_property
    def _first_step(self) -> tuple[Entries, Array, Array]:
        """The first step from each observation, what it pays, and that without signs."""
        D, o = self.D, self.D.entry_o[self.used]
        share = self.share[self.used]
        weight = np.where(known(share), share, self.field.one(0)) * self.table[o]
        entry, a = np.nonzero(np.asarray(weight != 0, dtype=bool))
        pairs = self.D.entry_s[self.used][entry] * len(self.P.A) + a
        row_ptr, k = pick_rows(self.P.p.row_ptr, pairs)
        rows = np.repeat(o[entry], np.diff(row_ptr))
        values = np.repeat(weight[entry, a], np.diff(row_ptr)) * D.prob[k]
        paid, nO = values * D.r[k], len(self.P.O)
        size = np.zeros(nO) if self.field.is_exact else np.bincount(rows, abs(paid), nO)
        to = Entries(rows, self.P.p.s_next[k], values * D.gamma)
        return to, self.field.sums(rows, paid, nO), size

    def solve(self, later: Later) -> Found:
        """The fixed point of a target."""
        field, nO = self.field, len(self.P.O)
        n, (to, paid, size) = nO + len(later.side), self._first_step
        v, w = slice(0, nO), slice(nO, nO + len(self.P.S))
        first = to._replace(columns=to.columns + nO)
        inner = later.inner._replace(rows=later.inner.rows + nO, columns=later.inner.columns + nO)
        onto = later.onto._replace(rows=later.onto.rows + nO)
        parts = zip(first, inner, onto, strict=True)
        indptr, indices, values = _compressed(Entries(*map(np.concatenate, parts)), field, n)
        side = np.concatenate([paid, later.side])
        if not field.is_exact:
            side = np.stack([side, 0 * side, np.concatenate([size, later.size])])
        back = reverse_edges(indptr, indices)
        lacks = reachable(*back, np.flatnonzero(self.lacks))
        if self.D.is_undiscounted:
            over = nO + np.flatnonzero(np.asarray(later.leave != 0, dtype=bool))
            if (lost := np.flatnonzero((~reachable(*back, over) & ~lacks)[v])).size:
                raise NeverEnds(
                    f"gamma is 1 and no episode ends after o={self.P.O.text(self.P.O[lost[-1]])}, "
                    "so that its value is not determined; give a gamma below 1, or a policy that "
                    "ends"
                )
        side[..., lacks] = field.one(0)
        kept = ~lacks[own_rows(indptr)]
        indptr, indices, values = keep_entries(indptr, kept), indices[kept], values[kept]
        none = np.zeros(n)
        if field.is_exact:
            system = LinearSystem(indptr, indices, values, field.one(1), none, none)
        else:
            leave = np.stack([none, none])
            leave[0, v], leave[0, nO:], leave[0, lacks] = 1 - self.D.gamma, later.leave, 1.0
            given = np.full(n, later.given)
            terms = np.bincount(to.rows, minlength=nO)  # each rounded, and added to others
            given[v] = self.chain.given + (terms + 12) * UNIT + self._doubt_of_shares()
            entries = np.stack([values, 0 * values])
            system = LinearSystem(indptr, indices, entries, ONE, leave, given)
        found = field.solve_system(system, side, self.P.name)
        if not np.isfinite(found.error).all():
            raise NotSolved(refusal(n, f"{self.P.name}: the system for a fixed point of TD"))
        x, error = found.x, found.error
        return Found(x[v], error[v], lacks[v], x[w], error[w], lacks[w], found.method)

    def _doubt_of_shares(self) -> NDArray[np.float64]:
        """By which share P(s|o) may be off behind each observation: not at all for one state."""
        most = np.zeros(len(self.P.O))
        behind = self.seen.share_error[self.D.entry_s[self.used]].max(axis=1)
        np.maximum.at(most, self.D.entry_o[self.used], np.minimum(behind, 0.5))
        most[np.bincount(self.D.entry_o[self.used], minlength=len(most)) == 1] = 0.0
        return most / (1 - most)

    @property
    def sizes(self) -> NDArray[np.float64]:
        """The expected |r| of a step from each state, 0 in exact arithmetic."""
        exact = self.field.is_exact
        return np.zeros(len(self.P.S)) if exact else np.asarray(self.chain.side[2])

    def q_values(self, found: Found) -> tuple[Array, NDArray[np.float64]]:
        """q(o,a) = sum_s P(s|o) [R(s,a) + gamma sum p(s'|s,a) w(s')], and bounds on its errors."""
        q_state = self.D.action_values(found.w, found.w_error, found.lacks_s)
        return self.seen.observe(self.D, *q_state)

    def first(self, v: Array, v_error: float) -> tuple[Number, float]:
        """sum_o P(o is the first observation) v(o), and a bound on its error."""
        D, field = self.D, self.field
        entry = np.flatnonzero((np.asarray(D.mu != 0, dtype=bool) & D.alive)[D.entry_s])
        values = v[D.entry_o[entry]]
        if not known(values).all():
            return field.undefined(1)[0], 0.0
        terms = D.mu[D.entry_s[entry]] * D.omega[entry] * values
        total = field.back(terms.sum() if len(terms) else field.one(0))
        if field.is_exact:
            return total, 0.0
        return total, v_error + (len(terms) + 8) * UNIT * float(np.abs(terms).sum())


def _compressed(entries: Entries, field: Field, n: int) -> tuple[Array, Array, Array]:
    """The rows of a matrix of n columns from its entries. Equal positions are added up and zeros
    dropped: the pattern is the graph of what depends on what."""
    keys = entries.rows.astype(np.int64) * n + entries.columns
    places, group = np.unique(keys, return_inverse=True)
    values = field.sums(group, entries.values, len(places))
    kept = np.asarray(values != 0, dtype=bool)
    places, values = places[kept], values[kept]
    indptr = np.searchsorted(places, np.arange(n + 1) * n)
    return indptr, (places % n).astype(np.int32), values
