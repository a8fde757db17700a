"""Oracles for q_pi(o, a) that answer for one policy after another (Section 5.2), and the loop that
follows them.

All that no policy changes is computed once. Three ways, chosen by `loop_for`:

    finite horizon, floats    states in topological order; the whole loop is compiled (`improvement_kernels`)
    otherwise, floats         P_pi on a fixed pattern; v and the visits by BiCGSTAB, v starting from the last policy's
    exact                     `evaluation` over the rationals

A loop keeps pi and moves it: look at q_pi, find the greedy actions, take a step towards them. Rows
that pi does not visit stay as they are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from numpy.typing import NDArray

from workbench.evaluation import solve as linear
from workbench.evaluation.chain import Chain, Dynamics, dynamics
from workbench.evaluation.evaluate import state_values
from workbench.evaluation.fields import FLOATS, RATIONALS, Field
from workbench.evaluation.krylov_kernels import bicgstab
from workbench.evaluation.visits import given_observation, observation_values, occupancy
from workbench.improvement import loop_kernels as kernels
from workbench.model.numbers import Number, Numbers
from workbench.model.policy import NEAR, Policy, greedy_actions, tie_order
from workbench.model.pomdp import POMDP
from workbench.model.walk_kernels import strong_components

_ITERATIONS = 4_000

_ENOUGH, _SWEEPS = 1e-12, 300
"""Visits are polished until each changes by less than this share of itself, in at most so many
sweeps; else LU."""

Table = NDArray[Any]


class Oracle:
    """Answers over any field, by `evaluation`."""

    def __init__(self, P: POMDP, weights: str, field: Field):
        self.P, self.weights, self.field = P, weights, field
        self.D: Dynamics = dynamics(P, field)

    def look(self, pi: Table) -> tuple[Any, Table]:
        """The value of pi, and q[o, a] with undefined entries where it has none."""
        chain = self.D.follow(pi)
        v, undefined, _ = state_values(chain)
        d, visited = occupancy(chain, self.weights)
        share, _, _ = given_observation(self.D, d.x, visited)
        q = observation_values(self.D, share, self.D.action_values(v, undefined))
        return (self.D.mu * v).sum(), q


class SparseOracle(Oracle):
    """Answers in floats: the graph is looked at again only when the support of pi changes."""

    def __init__(self, P: POMDP, weights: str):
        super().__init__(P, weights, FLOATS)
        nS, nA = len(P.S), len(P.A)
        self._row = np.repeat(np.arange(nS * nA), np.diff(P.p.row_ptr))
        places, self._slot = np.unique(self._row // nA * nS + P.p.s_next, return_inverse=True)
        indptr = np.searchsorted(places, np.arange(nS + 1) * nS)
        self._pattern = sp.csr_array((np.arange(len(places)), places % nS, indptr), shape=(nS, nS))
        self._turned = sp.csr_array(self._pattern.T)
        alive = np.flatnonzero(~P.terminal.mask[self.D.entry_s])
        self._seen = alive[
            np.argsort(self.D.entry_o[alive], kind="stable")
        ]  # entries (s, o) of omega, by o
        self._seen_ptr = np.searchsorted(self.D.entry_o[self._seen], np.arange(len(P.O) + 1))
        self._carry = self.D.gamma if weights == "discounted" else 1.0
        self._support: NDArray[np.bool_] | None = None
        self._plain, self._visited = False, np.empty(0, dtype=bool)
        self._v = np.zeros(nS)

    def look(self, pi: Table) -> tuple[Any, Table]:
        support = pi > 0
        if self._support is None or not np.array_equal(support, self._support):
            self._support = support
            self._plain, self._visited = self._graph(self.D.follow(pi))
        if not self._plain:
            return super().look(pi)
        acts = self.D.acts(pi)
        data = np.bincount(
            self._slot, acts.reshape(-1)[self._row] * self.D.prob, minlength=len(self._pattern.data)
        )
        r = (acts * self.D.R).sum(axis=1)
        self._v = self._solved(self._pattern, data, self.D.gamma, r, self._v, np.inf)
        d = self._visits(data[self._turned.data])
        q_state = self.D.R + self.D.gamma * self.D.expected(self._v)
        return self.D.mu @ self._v, self._averaged(d, q_state)

    def _averaged(self, d: NDArray[Any], q_state: Table) -> Table:
        """q(o,a) = sum_s d(s) omega(o|s) q(s,a) / sum_s d(s) omega(o|s)."""
        s = self.D.entry_s[self._seen]
        weight = d[s] * self.D.omega[self._seen]
        behind = sp.csr_array((weight, s, self._seen_ptr), shape=(len(self.P.O), len(self.P.S)))
        total = np.asarray(behind.sum(axis=1))[:, None]
        return np.divide(
            behind @ q_state,
            total,
            out=np.full((len(total), len(self.P.A)), np.nan),
            where=total > 0,
        )

    def _graph(self, chain: Chain) -> tuple[bool, NDArray[np.bool_]]:
        """Whether values and visits are finite everywhere, and the states visited."""
        endless = (chain.visited & chain.stuck).any() or (
            self.D.gamma == 1 and chain.may_not_end.any()
        )
        return not endless, chain.visited

    def _solved(
        self,
        pattern: sp.csr_array,
        data: NDArray[Any],
        gamma: float,
        b: NDArray[Any],
        start: NDArray[Any],
        norm: float,
    ) -> NDArray[Any]:
        x = start.copy()
        aim = linear.TOLERANCE * float(np.linalg.norm(b, norm))
        residual, _ = bicgstab(
            pattern.indptr, pattern.indices, data, gamma, b, x, aim, norm == np.inf, _ITERATIONS
        )
        if residual <= aim:
            return x
        return linear.solve(
            sp.csr_array((data, pattern.indices, pattern.indptr), pattern.shape), gamma, b, norm
        ).x

    def _visits(self, data: NDArray[Any]) -> NDArray[Any]:
        """d = mu + carry P^T d. P(s|o) is a ratio of visits, so that small ones have to be right as
        well."""
        mu = np.where(self._visited, self.D.mu, 0.0)
        turned = self._turned
        d = np.maximum(self._solved(turned, data, self._carry, mu, mu, 1), 0.0)
        if not kernels.polish(
            turned.indptr, turned.indices, data, self._carry, mu, d, _ENOUGH, _SWEEPS
        ):
            P = sp.csr_array((data, turned.indices, turned.indptr), shape=turned.shape)
            d = np.asarray(sla.splu(sp.csc_array(sp.eye_array(len(d)) - self._carry * P)).solve(mu))
        return d


# ---------------------------------------------------------------------- loops


class Loop:
    """pi, moved step by step towards the greedy policy of each iterate.

    Attributes
    ----------
    pi : `pi[o, a]` over the field, as it is now; greedy : the greedy actions of the last iterate,
        -1 for unvisited rows.
    kept : the product of 1 - step since the greedy actions last changed: how much of the policy of
        then is left.
    """

    field: Field
    kept: float
    greedy: NDArray[np.int64]

    @property
    def pi(self) -> Table:
        raise NotImplementedError

    def look(self, pi: Table) -> tuple[Any, Table, NDArray[np.int64]]:
        """The value, q and the greedy actions of a policy, which need not be the loop's own."""
        raise NotImplementedError

    def restore(self, pi: Table) -> None:
        """Go back to a policy that the loop had before."""
        raise NotImplementedError

    def advance(
        self, steps: Sequence[Number], settled: float = -1.0, fresh: float = -1.0
    ) -> tuple[NDArray[Any], NDArray[np.uint64]]:
        """Make iterates: their values, and a mark of each greedy policy.

        It ends when the steps are used up, or when `kept` is at most `settled`, or `fresh` once
        greedy has changed.
        """
        raise NotImplementedError


def mixed(pi: Table, greedy: NDArray[np.int64], x: Any) -> Table:
    """x pi + (1 - x) greedy, on the rows that have a greedy action."""
    rows = np.flatnonzero(greedy >= 0)
    table = pi.copy()
    table[rows] = table[rows] * x
    table[rows, greedy[rows]] += 1 - x
    return table


class Stepwise(Loop):
    """A loop that asks an oracle."""

    def __init__(self, oracle: Oracle, pi: Policy, ties: str):
        self.oracle, self.field = oracle, oracle.field
        self._order = tie_order(pi.A, ties)
        self._pi = self.field.enter(pi.prob).copy()
        self.kept, self._last = 1.0, -1
        self.greedy = np.full(len(pi.O), -1)

    @property
    def pi(self) -> Table:
        return self._pi.copy()

    def restore(self, pi: Table) -> None:
        self._pi = pi

    def look(self, pi: Table) -> tuple[Any, Table, NDArray[np.int64]]:
        value, q = self.oracle.look(pi)
        return value, q, greedy_actions(q, self._order)

    def advance(
        self, steps: Sequence[Number], settled: float = -1.0, fresh: float = -1.0
    ) -> tuple[NDArray[Any], NDArray[np.uint64]]:
        values, marks = [], []
        for step in steps:
            value, _, self.greedy = self.look(self._pi)
            values.append(value)
            marks.append(
                int.from_bytes(hashlib.blake2b(self.greedy.tobytes(), digest_size=8).digest())
            )
            if marks[-1] != self._last:
                self._last, self.kept, settled = marks[-1], 1.0, fresh
            self._pi = mixed(self._pi, self.greedy, 1 - self.field.one(step))
            self.kept *= 1 - float(step)
            if self.kept <= settled:
                break
        found = np.array(values, dtype=object if self.field.is_exact else np.float64)
        return found, np.array(marks, dtype=np.uint64)


class FiniteHorizon(Loop):
    """The compiled loop."""

    field = FLOATS

    def __init__(self, P: POMDP, pi: Policy, ties: str, weights: str):
        self._order = tie_order(P.A, ties)
        self._tables = _unrolled(P, self._order, weights)
        nS, nO, nA = len(self._tables.mu), len(P.O), len(P.A)
        self._pi = np.ascontiguousarray(pi.prob.floats[:, self._order])
        self._room = (
            np.empty(nS),
            np.empty(nS),
            np.empty((1, nA)),
            np.empty((nO, nA)),
            np.empty(nO),
        )
        self._greedy = np.full(nO, -1, dtype=np.int64)
        self._kept, self._last = np.ones(1), np.zeros(1, dtype=np.uint64)

    @property
    def pi(self) -> Table:
        return self._labelled(self._pi)

    def restore(self, pi: Table) -> None:
        self._pi = np.ascontiguousarray(pi[:, self._order])

    def _labelled(self, table: Table) -> Table:
        """Columns back in the order of A."""
        found = np.empty_like(table)
        found[:, self._order] = table
        return found

    @property
    def kept(self) -> float:  # type: ignore[override]
        return float(self._kept[0])

    @property
    def greedy(self) -> NDArray[np.int64]:  # type: ignore[override]
        return np.where(self._greedy < 0, -1, self._order[self._greedy])

    def look(self, pi: Table) -> tuple[Any, Table, NDArray[np.int64]]:
        d, v, own, q, weight = (np.empty_like(x) for x in self._room)
        greedy = np.empty_like(self._greedy)
        value = kernels.evaluate_policy(
            self._tables, np.ascontiguousarray(pi[:, self._order]), d, v, own, q, weight
        )
        kernels.choose_greedy(q, weight, NEAR, greedy)
        with np.errstate(divide="ignore", invalid="ignore"):
            q = np.where(weight[:, None] > 0, q / weight[:, None], np.nan)
        return value, self._labelled(q), np.where(greedy < 0, -1, self._order[greedy])

    def advance(
        self, steps: Sequence[Number], settled: float = -1.0, fresh: float = -1.0
    ) -> tuple[NDArray[Any], NDArray[np.uint64]]:
        sizes = np.asarray(steps, dtype=np.float64)
        values, marks = np.empty(len(sizes)), np.empty(len(sizes), dtype=np.uint64)
        made = kernels.run_loop(
            self._tables,
            self._pi,
            sizes,
            NEAR,
            settled,
            fresh,
            *self._room,
            self._greedy,
            values,
            marks,
            self._kept,
            self._last,
        )
        return values[:made], marks[:made]


def loop_for(P: POMDP, pi: Policy, ties: str, weights: str, exact: bool) -> Loop:
    """The fastest loop there is for a task."""
    if exact:
        return Stepwise(Oracle(P, weights, RATIONALS), pi, ties)
    if has_finite_horizon(P):
        return FiniteHorizon(P, pi, ties, weights)
    return Stepwise(SparseOracle(P, weights), pi, ties)


def has_finite_horizon(P: POMDP) -> bool:
    """Whether no state can come back, whatever is done."""
    indptr = np.ascontiguousarray(P.p.row_ptr[:: len(P.A)])
    count, _ = strong_components(indptr, P.p.s_next)
    own = np.repeat(np.arange(len(P.S)), np.diff(indptr)) == P.p.s_next
    return count == len(P.S) and not own.any()


def _unrolled(P: POMDP, order: NDArray[np.int64], weights: str) -> kernels.LoopTables:
    """The tables of the compiled loop: states that are not terminal, level by level, actions in
    the order of ties."""
    D, nA = dynamics(P, FLOATS), len(P.A)
    indptr = np.ascontiguousarray(P.p.row_ptr[::nA])
    _, component = strong_components(indptr, P.p.s_next)
    level = kernels.levels(indptr, P.p.s_next, np.argsort(-component))
    alive = np.flatnonzero(~P.terminal.mask)
    first_o = P.omega.o[P.omega.row_ptr[alive]]
    states = alive[
        np.lexsort((first_o, level[alive]))
    ]  # rows of pi that belong together are then read together
    place = np.full(len(P.S), -1, dtype=np.int32)
    place[states] = np.arange(len(states))

    rows = (states[:, None] * nA + order).ravel()
    counts = np.diff(P.p.row_ptr)[rows]
    ends = np.cumsum(counts)
    k = np.repeat(P.p.row_ptr[rows] - ends + counts, counts) + np.arange(ends[-1])
    goes_on = np.flatnonzero((place[P.p.s_next[k]] >= 0) & (D.prob[k] != 0))
    k, owner = k[goes_on], np.repeat(np.arange(len(rows)), counts)[goes_on]
    leads_on = np.zeros(len(states), dtype=bool)
    leads_on[owner // nA] = True
    inner = np.where(leads_on, np.cumsum(leads_on) - 1, -1)
    per_row = np.bincount(inner[owner // nA] * nA + owner % nA, minlength=int(leads_on.sum()) * nA)

    rewards, reward_row = _distinct_rows(np.ascontiguousarray(D.R[states][:, order]))
    entries = np.diff(P.omega.row_ptr)[states]
    entry_ptr = np.concatenate(([0], np.cumsum(entries)))
    e = np.repeat(P.omega.row_ptr[states] - entry_ptr[:-1], entries) + np.arange(entry_ptr[-1])
    carry = D.gamma if weights == "discounted" else 1.0
    return kernels.LoopTables(
        mu=D.mu[states],
        entry_ptr=entry_ptr,
        entry_o=P.omega.o[e].astype(np.int64),
        entry_prob=D.omega[e],
        reward_row=reward_row,
        R=rewards,
        inner=inner,
        row_ptr=np.concatenate(([0], np.cumsum(per_row))),
        successor=place[P.p.s_next[k]],
        prob=D.prob[k],
        gamma=D.gamma,
        carry=carry,
    )


def _distinct_rows(table: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The different rows of a table, and for each row which of them it is."""
    packed = table.view(np.dtype((np.void, table.dtype.itemsize * table.shape[1]))).ravel()
    _, first, inverse = np.unique(packed, return_index=True, return_inverse=True)
    return np.ascontiguousarray(table[first]), inverse.ravel().astype(np.int64)


# ---------------------------------------------------------------------- exact values of
# deterministic policies


def exact_value(P: POMDP, actions: NDArray[np.int64]) -> Number:
    """The value of the deterministic policy that takes `actions[o]`, exact, by the states that it
    reaches and no others."""
    nA = len(P.A)
    places = {s: i for i, s in enumerate(P.mu.support.tolist())}
    rows, columns, chances, rewards = [], [], [], []
    for s in (states := list(places)):  # grows while we walk
        total = RATIONALS.one(0)
        for e in range(int(P.omega.row_ptr[s]), int(P.omega.row_ptr[s + 1])):
            row, seen = s * nA + int(actions[P.omega.o[e]]), RATIONALS.one(P.omega.prob[e])
            for k in range(int(P.p.row_ptr[row]), int(P.p.row_ptr[row + 1])):
                x = seen * RATIONALS.one(P.p.prob[k])
                total += x * RATIONALS.one(P.p.r[k])
                s_next = int(P.p.s_next[k])
                if x != 0 and s_next not in places:
                    places[s_next] = len(states)
                    states.append(s_next)
                if x != 0:
                    rows.append(places[s])
                    columns.append(places[s_next])
                    chances.append(x)
        rewards.append(total)
    n = len(states)
    indptr = np.searchsorted(np.array(rows), np.arange(n + 1))
    pattern = sp.csr_array(
        (np.ones(len(rows)), np.array(columns, dtype=np.int32), indptr), shape=(n, n)
    )
    data, b = np.array(chances, dtype=object), np.array(rewards, dtype=object)
    v = RATIONALS.solve(pattern, data, RATIONALS.one(P.gamma), b, P.name).x
    start = RATIONALS.enter(Numbers.of([P.mu.prob[s] for s in P.mu.support.tolist()]))
    return RATIONALS.back((start * v[: len(start)]).sum())
