"""The Markov chain that a policy makes of a POMDP.

    pi(a | s)  = sum_o omega(o | s) pi(a | o)
    P_pi(s, s') = sum_a pi(a | s) sum_r p(s', r | s, a)
    r_pi(s)    = sum_a pi(a | s) R(s, a),    R(s, a) = sum_{s', r} p(s', r | s, a) r

`Dynamics` is the part that no policy changes, as arrays over a field; `Chain` is what one policy
makes of it. A chain also knows its graph: which states it visits, and from which it surely ends.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from workbench.evaluation.fields import FLOATS, Field
from workbench.model.policy import Policy
from workbench.model.pomdp import POMDP
from workbench.model.walk_kernels import reachable, strong_components


def group_sums(
    keys: NDArray[Any], values: NDArray[Any], groups: int, zero: NDArray[Any]
) -> NDArray[Any]:
    """`zero` with, at each key, the sum of the values (or rows of values) that have it; float or
    exact."""
    order = np.argsort(keys, kind="stable")
    found, starts = np.unique(keys[order], return_index=True)
    total = zero.copy()
    if len(found):
        total[found] = np.add.reduceat(values[order], starts, axis=0)
    return total


def row_totals(
    row_ptr: NDArray[np.int64], values: NDArray[Any], zero: NDArray[Any]
) -> NDArray[Any]:
    """The sum over each compressed row; `zero` where it is empty."""
    filled = np.diff(row_ptr) > 0
    total = zero.copy()
    if filled.any():
        total[filled] = np.add.reduceat(values, row_ptr[:-1][filled])
    return total


class Dynamics:
    """A POMDP's numbers as arrays over a field.

    Attributes
    ----------
    prob, r : one for each outcome of p.
    R : `R[s, a]`, the expected reward.
    omega : one for each entry (s, o) of omega; `entry_s`, `entry_o` name it.
    mu, gamma
    """

    def __init__(self, P: POMDP, field: Field):
        self.P = P
        self.field = field
        self.prob = field.enter(P.p.prob)
        self.r = field.enter(P.p.r)
        self.omega = field.enter(P.omega.prob)
        self.mu = field.enter(P.mu.prob)
        self.gamma: Any = field.one(P.gamma)
        self.shape = (len(P.S), len(P.A))
        self.entry_s = np.repeat(np.arange(len(P.S)), np.diff(P.omega.row_ptr))
        self.entry_o = P.omega.o

    @cached_property
    def R(self) -> NDArray[Any]:
        flat = row_totals(
            self.P.p.row_ptr, self.prob * self.r, self.field.zeros(self.shape[0] * self.shape[1])
        )
        return flat.reshape(self.shape)

    def expected(self, v: NDArray[Any]) -> NDArray[Any]:
        """sum_{s'} p(s' | s, a) v(s') for each `[s, a]`."""
        if self.field is FLOATS:
            return np.asarray(self._step @ v).reshape(self.shape)
        flat = row_totals(
            self.P.p.row_ptr,
            self.prob * v[self.P.p.s_next],
            self.field.zeros(self.shape[0] * self.shape[1]),
        )
        return flat.reshape(self.shape)

    @cached_property
    def _step(self) -> sp.csr_array:
        size = (self.shape[0] * self.shape[1], self.shape[0])
        return sp.csr_array((self.prob, self.P.p.s_next, self.P.p.row_ptr), shape=size)

    def leads_to(self, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """For each `[s, a]`, whether some outcome lies in a set of states."""
        row_ptr = self.P.p.row_ptr
        hits = row_totals(
            row_ptr,
            mask[self.P.p.s_next].astype(np.int64),
            np.zeros(len(row_ptr) - 1, dtype=np.int64),
        )
        return hits.reshape(self.shape) > 0

    def action_values(self, v: NDArray[Any], undefined: NDArray[np.bool_]) -> NDArray[Any]:
        """R(s,a) + gamma sum_{s'} p(s'|s,a) v(s'); undefined in terminal states, and where v may be
        that follows."""
        q = self.R + self.gamma * self.expected(v)
        unknown = np.repeat(self.P.terminal.mask[:, None], self.shape[1], axis=1)
        if undefined.any() and self.gamma != 0:
            unknown |= self.leads_to(undefined)
        if unknown.any():
            q[unknown] = self.field.undefined(1)[0]
        return q

    def acts(self, pi: NDArray[Any]) -> NDArray[Any]:
        """pi(a | s) from pi(a | o)."""
        if self.P.omega.is_deterministic:
            chosen = pi[self.entry_o]
            return chosen if self.P.omega.prob.values == (1,) else self.omega[:, None] * chosen
        return group_sums(
            self.entry_s,
            self.omega[:, None] * pi[self.entry_o],
            len(self.P.S),
            self.field.zeros(self.shape),
        )

    def follow(self, pi: NDArray[Any]) -> Chain:
        """The chain of the policy with table `pi[o, a]`."""
        return Chain(self, self.acts(pi))


def dynamics(P: POMDP, field: Field) -> Dynamics:
    """The dynamics of P over a field; those over floats are kept with P, since every policy needs
    them."""
    if field is not FLOATS:
        return Dynamics(P, field)
    kept: Dynamics | None = P.__dict__.get("_float_dynamics")
    if kept is None:
        kept = P.__dict__["_float_dynamics"] = Dynamics(P, FLOATS)
    return kept


def field_of(P: POMDP, pi: Policy, exact: bool) -> Field:
    """Floats; or the exact field of the symbols of P and pi, if there are any or exactness is asked
    for."""
    from workbench.errors import NotExact
    from workbench.evaluation.fields import exact_field

    symbols = P.symbols | pi.prob.symbols
    if not exact and not symbols:
        return FLOATS
    P.require_exact()
    if not pi.is_exact:
        raise NotExact(
            "exact arithmetic needs an exact policy, but this one was given as floats: use "
            "Fractions"
        )
    return exact_field(symbols)


class Chain:
    """P_pi and r_pi of one policy, without the transitions of probability zero.

    Attributes
    ----------
    acts : pi(a | s).
    pattern : the transitions as a sparse matrix of ones; `data` holds their probabilities.
    r : r_pi(s).
    """

    def __init__(self, D: Dynamics, acts: NDArray[Any]):
        self.D = D
        self.acts = acts
        P, (nS, nA) = D.P, D.shape
        weight = acts.reshape(-1)
        data = np.repeat(weight, np.diff(P.p.row_ptr)) * D.prob
        kept = np.asarray(data != 0, dtype=bool)
        row_ptr = np.ascontiguousarray(P.p.row_ptr[::nA])
        if kept.all():
            indices, indptr = P.p.s_next, row_ptr
        else:
            indices, data = P.p.s_next[kept], data[kept]
            indptr = np.concatenate(([0], np.cumsum(kept)))[row_ptr]
        self.data = data
        self.pattern = sp.csr_array((np.ones(len(indices)), indices, indptr), shape=(nS, nS))
        self.r = row_totals(
            np.arange(0, nS * nA + 1, nA), weight * D.R.reshape(-1), D.field.zeros(nS)
        )

    @cached_property
    def _turned(self) -> sp.csr_array:
        """The transpose, its entries the places of the chain's."""
        places = np.arange(len(self.data))
        return sp.csr_array(
            sp.csr_array((places, self.pattern.indices, self.pattern.indptr), self.pattern.shape).T
        )

    @property
    def transposed_places(self) -> NDArray[np.int64]:
        return self._turned.data

    @cached_property
    def transposed(self) -> tuple[sp.csr_array, NDArray[Any]]:
        """The pattern and the data of the transpose."""
        turned = self._turned
        pattern = sp.csr_array(
            (np.ones(len(self.data)), turned.indices, turned.indptr), shape=self.pattern.shape
        )
        return pattern, self.data[turned.data]

    @cached_property
    def visited(self) -> NDArray[np.bool_]:
        """The states that an episode can reach."""
        return reachable(self.pattern.indptr, self.pattern.indices, self.D.P.mu.support)

    @cached_property
    def _backwards(self) -> sp.csr_array:
        return self.transposed[0]

    @cached_property
    def stuck(self) -> NDArray[np.bool_]:
        """The states from which no terminal state can be reached at all."""
        back = self._backwards
        return ~reachable(back.indptr, back.indices, np.flatnonzero(self.D.P.terminal.mask))

    @cached_property
    def may_not_end(self) -> NDArray[np.bool_]:
        """The states from which an episode goes on for ever with positive probability."""
        if not self.stuck.any():
            return self.stuck
        back = self._backwards
        return reachable(back.indptr, back.indices, np.flatnonzero(self.stuck))

    def recurrent_classes(self) -> list[NDArray[np.int64]]:
        """The sets of visited states that are never left again, terminal states aside."""
        places = np.flatnonzero(self.visited)
        inner = self.pattern[places][:, places]
        count, component = strong_components(inner.indptr, inner.indices)
        rows = np.repeat(np.arange(len(places)), np.diff(inner.indptr))
        leaves = component[rows] != component[inner.indices]
        closed = np.ones(count, dtype=bool)
        closed[component[rows[leaves]]] = False
        closed[component[self.D.P.terminal.mask[places]]] = False
        return [places[component == c] for c in np.flatnonzero(closed)]
