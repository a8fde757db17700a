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

from workbench.core.bounds import PairChain, bounded_values, bounded_visits
from workbench.core.errors import NotSolved
from workbench.core.fields import FLOATS, Field
from workbench.core.numbers import Numbers
from workbench.core.pair_kernels import follow_rows, mix_rows
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.rows import add_groups, add_rows, keep_entries, merge_rows, own_rows
from workbench.core.solve import Solution
from workbench.core.walk_kernels import reachable, reverse_edges, strong_components

_UNIT = 2.0**-53

_LARGEST, _SMALLEST = 1e250, 1e-280
"""Rewards and probabilities beyond these leave floats no room for the sums and products that bound
errors."""


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
        if field is FLOATS:
            check_range(P)
        self.prob = field.enter(P.p.prob)
        self.r = field.enter(P.p.r)
        self.omega = field.enter(P.omega.prob)
        self.mu = field.enter(P.mu.prob)
        self.gamma: Any = field.one(P.gamma)
        self.shape = (len(P.S), len(P.A))
        self.entry_s = own_rows(P.omega.row_ptr)
        self.entry_o = P.omega.o

    @cached_property
    def gamma_pair(self) -> NDArray[np.float64]:
        """gamma and what its float leaves out."""
        gamma = Numbers.of([self.P.gamma])
        return np.array([gamma.floats[0], gamma.tails[0]])

    @cached_property
    def mu_pair(self) -> NDArray[np.float64]:
        """mu, what its floats leave out, and its size."""
        both = paired(self.P.mu.prob)
        return np.concatenate([both, both[:1]])

    @cached_property
    def given(self) -> float:
        """By which share a product of the model's numbers may be off, where they are floats."""
        floats = [not numbers.is_exact for numbers in self.P._numbers()]
        return (sum(floats) + isinstance(self.P.gamma, float)) * _UNIT

    @cached_property
    def excess(self) -> float:
        """By how much the float sums of p and omega may exceed one."""
        return max(
            float(np.max(add_rows(row_ptr, prob.floats, np.ones(len(row_ptr) - 1))) - 1)
            + int(np.max(np.diff(row_ptr))) * np.finfo(float).eps
            for row_ptr, prob in (
                (self.P.p.row_ptr, self.P.p.prob),
                (self.P.omega.row_ptr, self.P.omega.prob),
            )
        )

    @cached_property
    def R(self) -> NDArray[Any]:
        flat = add_rows(
            self.P.p.row_ptr, self.prob * self.r, self.field.zeros(self.shape[0] * self.shape[1])
        )
        return flat.reshape(self.shape)

    def expected(self, v: NDArray[Any]) -> NDArray[Any]:
        """sum_{s'} p(s' | s, a) v(s') for each `[s, a]`."""
        if self.field is FLOATS:
            return np.asarray(self._step @ v).reshape(self.shape)
        flat = add_rows(
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
        hits = add_rows(
            row_ptr,
            mask[self.P.p.s_next].astype(np.int64),
            np.zeros(len(row_ptr) - 1, dtype=np.int64),
        )
        return hits.reshape(self.shape) > 0

    def action_values(self, v: NDArray[Any], undefined: NDArray[np.bool_]) -> NDArray[Any]:
        """R(s,a) + gamma sum_{s'} p(s'|s,a) v(s'); undefined in terminal states, and where v may be
        that follows."""
        q = self.R + self.gamma * self.expected(v)
        if (unknown := self.is_unknown(undefined)).any():
            q[unknown] = self.field.undefined(1)[0]
        return q

    def is_unknown(self, undefined: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """Where q(s,a) is undefined, for v that is in some states."""
        unknown = np.repeat(self.P.terminal.mask[:, None], self.shape[1], axis=1)
        if undefined.any() and self.gamma != 0:
            unknown |= self.leads_to(undefined)
        return unknown

    def acts(self, pi: NDArray[Any]) -> NDArray[Any]:
        """pi(a | s) from pi(a | o)."""
        if self.P.omega.is_deterministic:
            chosen = pi[self.entry_o]
            return chosen if self.P.omega.prob.values == (1,) else self.omega[:, None] * chosen
        return add_groups(
            self.entry_s, self.omega[:, None] * pi[self.entry_o], self.field.zeros(self.shape)
        )

    def follow(self, pi: NDArray[Any], tail: NDArray[np.float64] | None = None) -> Chain:
        """The chain of the policy with table `pi[o, a]`; `tail` is what the floats of an exact one
        leave out."""
        if self.field is FLOATS:
            return FloatChain(self, pi, tail)
        return Chain(self, self.acts(pi))


def check_range(P: POMDP) -> None:
    """Refuse a model whose numbers are too large or too small for floats, by its label."""
    instead = "use exact=True" if P.is_exact else "change the unit"
    if (k := P.p.r.find(lambda x: abs(x) > _LARGEST)) is not None:
        s, a = divmod(int(own_rows(P.p.row_ptr)[k]), len(P.A))
        where = f"s={P.S.text(P.S[s])}, a={P.A.text(P.A[a])}"
        raise NotSolved(
            f"{P.name}: a reward of p(. | {where}) is larger than {_LARGEST:.0e}, too large for "
            f"floats: {instead}, or scale_rewards"
        )
    for prob, row_ptr, what in (
        (P.p.prob, P.p.row_ptr, "p"),
        (P.omega.prob, P.omega.row_ptr, "omega"),
        (P.mu.prob, np.arange(len(P.S) + 1), "mu"),
    ):
        if (k := _find_faint(prob)) is not None:
            s = int(own_rows(row_ptr)[k]) // (len(P.A) if what == "p" else 1)
            raise NotSolved(
                f"{P.name}: a probability of {what} at s={P.S.text(P.S[s])} is smaller than "
                f"{_SMALLEST:.0e}, too small for floats: {instead}, or leave it out"
            )


def follow_policy(D: Dynamics, pi: Policy) -> Chain:
    """The chain of a policy; in floats an exact one enters with what its floats leave out, and is
    refused by label if its probabilities are too small for floats."""
    if D.field.is_exact or not pi.is_exact:
        return D.follow(D.field.enter(pi.prob))
    if (k := _find_faint(pi.prob)) is not None:
        o = pi.O[k // len(pi.A)]
        raise NotSolved(
            f"a probability of pi(. | o={pi.O.text(o)}) is smaller than {_SMALLEST:.0e}, too small "
            "for floats: use exact=True"
        )
    chain = D.follow(D.field.enter(pi.prob), pi.prob.tails)
    assert isinstance(chain, FloatChain)
    if chain.lost:
        raise NotSolved(
            f"{D.P.name}: products of probabilities of model and policy are too small for floats: "
            "use exact=True"
        )
    return chain


def _find_faint(prob: Numbers) -> int | None:
    """The first place of a probability that is too small for floats, and not zero."""
    small = np.flatnonzero(np.abs(prob.floats) < _SMALLEST)
    if prob.codes is None:
        faint = small[prob.floats.ravel()[small] != 0]
    else:
        codes = prob.codes.ravel()[small]
        used = np.unique(codes)
        faint = small[np.isin(codes, [c for c in used.tolist() if prob.values[c] != 0])]
    return int(faint[0]) if faint.size else None


def paired(numbers: Numbers) -> NDArray[np.float64]:
    """Numbers as floats, and what these leave out."""
    pair = np.zeros((2, *numbers.shape))
    pair[0], pair[1] = numbers.floats, numbers.tails
    return pair


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
    from workbench.core.errors import NotExact
    from workbench.core.fields import exact_field

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
        row_ptr = merge_rows(P.p.row_ptr, nA)
        if kept.all():
            indices, indptr = P.p.s_next, row_ptr
        else:
            indices, data = P.p.s_next[kept], data[kept]
            indptr = keep_entries(row_ptr, kept)
        self.data = data
        self.indptr, self.indices = indptr, indices
        self.r = add_rows(
            np.arange(0, nS * nA + 1, nA), weight * D.R.reshape(-1), D.field.zeros(nS)
        )

    @cached_property
    def pattern(self) -> sp.csr_array:
        n = len(self.indptr) - 1
        return sp.csr_array((np.ones(len(self.indices)), self.indices, self.indptr), shape=(n, n))

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

    def solve_values(self, undefined: NDArray[np.bool_]) -> Solution:
        """v = r + gamma P v, with 0 where it is undefined."""
        D, data, r = self.D, self.data, self.r
        if undefined.any():
            r = np.where(undefined, D.field.zeros(len(r)), r)
            data = self._without_rows(undefined)
        return D.field.solve(self.pattern, data, D.gamma, r, D.P.name)

    def solve_visits(self, left_out: NDArray[np.bool_], discounted: bool) -> Solution:
        """d = mu + P^T d, or discounted, with nothing leaving some states."""
        D = self.D
        pattern, data = self.transposed
        if left_out.any():
            data = self._without_rows(left_out)[self.transposed_places]
        gamma = D.gamma if discounted else D.field.one(1)
        return D.field.solve(pattern, data, gamma, D.mu, D.P.name, norm=1)

    def _without_rows(self, states: NDArray[np.bool_]) -> NDArray[Any]:
        data = self.data.copy()
        data[np.repeat(states, np.diff(self.indptr))] = self.D.field.one(0)
        return data

    def solve_returns(self, members: NDArray[np.int64]) -> Solution:
        """The expected visits of each state of a recurrent class between two visits of its first
        state."""
        field = self.D.field
        inner, places = self._inside(members)
        turned = sp.csr_array(
            sp.csr_array((np.arange(len(places)) + 1, inner.indices, inner.indptr), inner.shape).T
        )
        data = self.data[places[turned.data - 1]].copy()
        data[: turned.indptr[1]] = field.one(0)  # returns to the first state end the count
        b = field.zeros(len(members))
        b[0] = field.one(1)
        pattern = sp.csr_array(
            (np.ones(len(data)), turned.indices, turned.indptr), shape=turned.shape
        )
        return field.solve(pattern, data, field.one(1), b, self.D.P.name, norm=1)

    def _inside(self, members: NDArray[np.int64]) -> tuple[sp.csr_array, NDArray[np.int64]]:
        """The pattern of the transitions among some states, and where they are in the chain."""
        n = len(self.indptr) - 1
        whole = sp.csr_array(
            (np.arange(len(self.data)) + 1, self.indices, self.indptr), shape=(n, n)
        )
        inner = sp.csr_array(whole[members][:, members])
        return inner, inner.data - 1

    @cached_property
    def visited(self) -> NDArray[np.bool_]:
        """The states that an episode can reach."""
        return reachable(self.indptr, self.indices, self.D.P.mu.support)

    @cached_property
    def _backwards(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The graph with every edge turned round."""
        found: tuple[NDArray[np.int64], NDArray[np.int32]] = reverse_edges(
            self.indptr, self.indices
        )
        return found

    @cached_property
    def stuck(self) -> NDArray[np.bool_]:
        """The states from which no terminal state can be reached at all."""
        return ~reachable(*self._backwards, np.flatnonzero(self.D.P.terminal.mask))

    @cached_property
    def may_not_end(self) -> NDArray[np.bool_]:
        """The states from which an episode goes on for ever with positive probability."""
        if not self.stuck.any():
            return self.stuck
        return reachable(*self._backwards, np.flatnonzero(self.stuck))

    def recurrent_classes(self) -> list[NDArray[np.int64]]:
        """The sets of visited states that are never left again, terminal states aside."""
        places = np.flatnonzero(self.visited)
        inner, _ = self._inside(places)
        count, component = strong_components(inner.indptr, inner.indices)
        rows = own_rows(inner.indptr)
        leaves = component[rows] != component[inner.indices]
        closed = np.ones(count, dtype=bool)
        closed[component[rows[leaves]]] = False
        closed[component[self.D.P.terminal.mask[places]]] = False
        return [places[component == c] for c in np.flatnonzero(closed)]


class FloatChain(Chain):
    """The chain of one policy in floats, its numbers as pairs (`pair_kernels`).

    Attributes
    ----------
    P : `P[0]` and `P[1]`, both parts of the probabilities.
    r_pair : both parts of r_pi, and its size, the expected |r|.
    excess : by how much the sum of a row may exceed one.
    given : by which share an entry may be off, because numbers were given as floats.
    lost : whether a product of probabilities was too small for floats.
    """

    def __init__(self, D: Dynamics, pi: NDArray[Any], tail: NDArray[np.float64] | None):
        self.D = D
        p, omega, (nS, nA) = D.P.p, D.P.omega, D.shape
        # a policy without a tail is one of floats
        self.given = D.given + (_UNIT if tail is None else 0.0)
        tail = np.zeros((1, 1)) if tail is None else tail
        if omega.is_deterministic and omega.prob.values == (1,):
            acts = pi[D.entry_o]
            rest = tail if tail.size == 1 else tail[D.entry_o]
        else:
            acts, rest = np.zeros((nS, nA)), np.zeros((nS, nA))
            both = paired(omega.prob)
            tails = np.broadcast_to(tail, pi.shape)
            mix_rows(omega.row_ptr, omega.o, both[0], both[1], pi, tails, acts, rest)
        self.acts = acts
        self.r_pair = np.zeros((3, nS))
        indptr, indices = np.empty(nS + 1, dtype=np.int64), np.empty(len(p.s_next), dtype=np.int32)
        P = np.empty((2, len(p.s_next)))
        tables = (p.prob.floats, p.prob.tails, p.r.floats, p.r.tails)
        size, self.lost = follow_rows(
            p.row_ptr, p.s_next, *tables, acts, rest, indptr, indices, self.r_pair, P
        )
        self.indptr, self.indices = indptr, indices[:size]
        self.P = P if size == P.shape[1] else np.ascontiguousarray(P[:, :size])
        self.data, self.r = self.P[0], self.r_pair[0]
        over = float(np.max(pi.sum(axis=1))) - 1 + nA * np.finfo(float).eps
        self.excess = (1 + D.excess) ** 2 * (1 + over) - 1

    def solve_values(self, undefined: NDArray[np.bool_]) -> Solution:
        r = self.r_pair
        if undefined.any():
            r = np.where(undefined, 0.0, r)
        return bounded_values(self.in_pairs(undefined, self.D.gamma_pair), r)

    def solve_visits(self, left_out: NDArray[np.bool_], discounted: bool) -> Solution:
        gamma = self.D.gamma_pair if discounted else ONE_PAIR
        return bounded_visits(self.in_pairs(left_out, gamma), self.D.mu_pair, self.visited)

    def in_pairs(self, dropped: NDArray[np.bool_], gamma: NDArray[np.float64]) -> PairChain:
        """The chain with a discount, without the rows of some states."""
        P = self.P
        if dropped.any():
            P = P.copy()
            P[:, np.repeat(dropped, np.diff(self.indptr))] = 0.0
        # terminal states are states of the matrix too, so that going there is no way out of it
        leave = np.where(dropped | self.D.P.terminal.mask, 1.0, 1.0 - gamma[0] - gamma[1])
        return PairChain(self.indptr, self.indices, P, gamma, leave, self.excess, self.given)

    def solve_returns(self, members: NDArray[np.int64]) -> Solution:
        inner, places = self._inside(members)
        P = np.ascontiguousarray(self.P[:, places])
        back = inner.indices == 0
        rows = own_rows(inner.indptr)
        # who returns to the first state leaves
        leave = np.bincount(rows[back], P[0, back], minlength=len(members)).astype(float)
        P[:, back] = 0.0
        b = np.zeros((3, len(members)))
        b[[0, 2], 0] = 1.0
        indptr, indices = inner.indptr.astype(np.int64), inner.indices.astype(np.int32)
        whole = np.ones(len(members), dtype=bool)
        return bounded_visits(
            PairChain(indptr, indices, P, ONE_PAIR, leave, self.excess, self.given), b, whole
        )


ONE_PAIR = np.array([1.0, 0.0])
