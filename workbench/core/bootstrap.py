"""What bootstrapping on observations starts from, and the one system of its fixed points.

A policy meets states behind its observations (`weights`); a target takes a first step from there
and goes on in its own way. The unknowns of the system are, in this order,

    v(o)   the values that are bootstrapped from, sum_s P(s|o) y(s,o)
    y      sum_a pi(a|o) [ R(s,a) + gamma sum p(s'|s,a) w(s') ] for each entry (s,o), floats only
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
from workbench.core.numbers import Number
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.rows import keep_entries, own_rows, pick_rows
from workbench.core.walk_kernels import reachable, reverse_edges
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


class _Begin(NamedTuple):
    """The first transition from each unit of an observation. It leads from unit `rows` to state
    `columns`, with gamma times its probability, and that times its reward. `owner` is the
    observation of a unit, and `outer` its part of it."""

    rows: Array
    columns: Array
    values: Array
    rewards: Array
    owner: Array
    outer: Array


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
    def _begin(self) -> _Begin:
        """The first step from each observation."""
        D, s, o = self.D, self.D.entry_s[self.used], self.D.entry_o[self.used]
        share, table = self.share[self.used], self.table[o]
        share = np.where(known(share), share, self.field.one(0))
        entry, a = np.nonzero(np.asarray(share * table != 0, dtype=bool))
        row_ptr, k = pick_rows(self.P.p.row_ptr, s[entry] * len(self.P.A) + a)
        counts = np.diff(row_ptr)
        if share.shape[1] == 1:  # P(s|o): one mean over actions for each entry (s, o)
            unit, inner, outer, owner = entry, table[entry, a], share[:, 0], o
        else:  # P(s|o,a): each action has its own mean
            unit, owner = np.arange(len(entry)), o[entry]
            inner, outer = np.full(len(entry), self.field.one(1)), (share * table)[entry, a]
        values = np.repeat(inner, counts) * D.prob[k]
        rows = np.repeat(unit, counts)
        return _Begin(rows, self.P.p.s_next[k], values * D.gamma, values * D.r[k], owner, outer)

    def solve(self, later: Later) -> Found:
        """The fixed point of a target.

        In floats the means y of R + gamma p w over actions are unknowns too, so that v is a mean of
        y by P(s|o) and what P(s|o) is off by costs no more than what y varies by.
        """
        field, nO, begin = self.field, len(self.P.O), self._begin
        units = 0 if field.is_exact else len(begin.owner)
        m, n = nO + units, nO + units + len(later.side)
        v, w = slice(0, nO), slice(m, m + len(self.P.S))
        if field.is_exact:
            rows, values = begin.owner[begin.rows], begin.outer[begin.rows] * begin.values
            first = field.sums(rows, begin.outer[begin.rows] * begin.rewards, nO)
            mean = Entries(rows, begin.columns + m, values)
            side = np.concatenate([first, later.side])
        else:
            first, sizes = (
                np.bincount(begin.rows, x, units) for x in (begin.rewards, abs(begin.rewards))
            )
            mean = Entries(
                np.concatenate([begin.owner, begin.rows + nO]),
                np.concatenate([nO + np.arange(units), begin.columns + m]),
                np.concatenate([begin.outer, begin.values]),
            )
            side = np.concatenate([np.zeros(nO), first, later.side])
            side = np.stack([side, 0 * side, np.concatenate([np.zeros(nO), sizes, later.size])])
        inner = later.inner._replace(rows=later.inner.rows + m, columns=later.inner.columns + m)
        onto = later.onto._replace(rows=later.onto.rows + m)
        parts = zip(mean, inner, onto, strict=True)
        indptr, indices, values = _compressed(Entries(*map(np.concatenate, parts)), field, n)
        back = reverse_edges(indptr, indices)
        lacks = reachable(*back, np.flatnonzero(self.lacks))
        if self.D.is_undiscounted:
            over = m + np.flatnonzero(np.asarray(later.leave != 0, dtype=bool))
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
            leave[0, nO:m], leave[0, m:], leave[0, lacks] = 1 - self.D.gamma, later.leave, 1.0
            given = self.chain.given + (np.diff(indptr) + len(self.P.A) + 12) * UNIT
            given[v] += self._doubt_of_shares()
            given[m:] = later.given
            entries = np.stack([values, 0 * values])
            system = LinearSystem(indptr, indices, entries, ONE, leave, given)
        found = field.solve_system(system, side, self.P.name)
        if not np.isfinite(found.error).all():
            raise NotSolved(refusal(n, f"{self.P.name}: the system for a fixed point of TD"))
        x, error = found.x, found.error
        return Found(x[v], error[v], lacks[v], x[w], error[w], lacks[w], found.method)

    def _doubt_of_shares(self) -> NDArray[np.float64]:
        """By which share the weights behind each observation may be off, relative to each other."""
        most = np.zeros(len(self.P.O))
        behind = self.seen.share_error[self.D.entry_s[self.used]].max(axis=1)
        np.maximum.at(most, self.D.entry_o[self.used], np.minimum(behind, 0.5))
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
