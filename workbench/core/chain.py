"""The Markov chain that a policy makes of a POMDP.

    pi(a | s)  = sum_o omega(o | s) pi(a | o)
    P_pi(s, s') = sum_a pi(a | s) sum_r p(s', r | s, a)
    r_pi(s)    = sum_a pi(a | s) R(s, a),    R(s, a) = sum_{s', r} p(s', r | s, a) r

`Dynamics` is the part that no policy changes, as arrays over a field; `Chain` is what one policy
makes of it. A chain also knows its graph: which states it visits, from which it surely ends, and
which sets it never leaves again. In floats P_pi and r_pi are double-double.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.double_kernels import UNIT, follow_rows, leaving, mix_rows
from workbench.core.errors import NeverEnds, NotSolved
from workbench.core.fields import FLOATS, RATIONALS, Dynamics, Mask, check_policy_range, dynamics
from workbench.core.kernels import read_only
from workbench.core.linear import ONE, LinearSystem, Solution, refusal, share_errors
from workbench.core.linear_kernels import reachable, reverse_edges, strong_components
from workbench.core.numbers import Number, Numbers
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.rows import add_rows, keep_entries, merge_rows, own_rows


def follow_policy(D: Dynamics, pi: Policy) -> Chain:
    """The Markov chain of a policy. If floats stand for exact numbers, the chain knows the rounding
    errors. Probabilities too small for floats are refused by label."""
    if D.field.is_exact or not pi.is_exact:
        return D.follow(D.field.enter(pi.prob))
    check_policy_range(pi)
    chain = D.follow(pi.prob.floats, pi.prob.tails)
    if chain.lost:
        raise NotSolved(
            f"{D.P.name}: products of probabilities of model and policy are too small for floats: "
            "use exact=True"
        )
    return chain


class Chain:
    """P_pi and r_pi of one policy, without the transitions of probability zero.

    Attributes
    ----------
    pi, tail : the policy's table, and what its floats leave out.
    acts : pi(a | s).
    indptr, indices, P : the transitions in compressed rows; in floats P has two rows, hi and lo.
    side : r_pi as the right side of a system; in floats three rows, the last the expected |r|.
    given : by which share an entry may be off, because numbers were given as floats.
    lost : whether a product of probabilities was too small for floats.
    """

    def __init__(
        self,
        D: Dynamics,
        pi: NDArray[Any],
        tail: NDArray[np.float64] | None,
        stop: tuple[int, int] | None = None,
    ):
        self.D, self.pi, self.tail = D, pi, tail
        self.lost, self.given = False, 0.0
        self._systems: dict[bool, LinearSystem] = {}
        self._stops = np.zeros(D.shape[0])
        if stop is not None:
            behind = D.entry_o == stop[0]
            chance = D.omega[behind] * pi[stop]
            # exact systems ask only where an episode may stop, floats how likely that is
            self._stops[D.entry_s[behind]] = chance != 0 if D.field.is_exact else chance
            pi, tail = pi.copy(), None if tail is None else np.broadcast_to(tail, pi.shape).copy()
            pi[stop] = D.field.one(0)
            if tail is not None:
                tail[stop] = 0.0
        if D.field.is_exact:
            self._build(pi)
        else:
            self._build_floats(pi, tail)

    def _build(self, pi: NDArray[Any]) -> None:
        D, p, (nS, nA) = self.D, self.D.P.p, self.D.shape
        chosen = D.omega[:, None] * pi[D.entry_o]
        self.acts = D.field.sums(D.entry_s, chosen, nS)
        weight = self.acts.reshape(-1)
        data = np.repeat(weight, np.diff(p.row_ptr)) * D.prob
        kept = np.asarray(data != 0, dtype=bool)
        self.P, self.indices = data[kept], p.s_next[kept]
        self.indptr = keep_entries(merge_rows(p.row_ptr, nA), kept)
        rewards = weight * D.R.reshape(-1)
        self.side = add_rows(np.arange(0, nS * nA + 1, nA), rewards, D.field.zeros(nS))

    def _build_floats(self, pi: NDArray[Any], tail: NDArray[np.float64] | None) -> None:
        D, p, omega, (nS, nA) = self.D, self.D.P.p, self.D.P.omega, self.D.shape
        # without a tail the policy was given in floats, rounded once
        self.given = D.given + (UNIT if tail is None else 0.0)
        tail = np.zeros((1, 1)) if tail is None else tail
        if omega.is_deterministic and omega.prob.values == (1,):
            self.acts = pi[D.entry_o]
            rest = tail if tail.size == 1 else tail[D.entry_o]
        else:
            self.acts, rest = np.zeros((nS, nA)), np.zeros((nS, nA))
            tails, both = np.broadcast_to(tail, pi.shape), D.field.enter_side(omega.prob)
            read = read_only(omega.row_ptr, omega.o, both, pi, tails)
            mix_rows(*read, self.acts, rest)
        self.side, self.indptr = np.zeros((3, nS)), np.empty(nS + 1, dtype=np.int64)
        indices, P = np.empty(len(p.s_next), dtype=np.int32), np.empty((2, len(p.s_next)))
        tables = (p.prob.floats, p.prob.tails, p.r.floats, p.r.tails)
        read = read_only(p.row_ptr, p.s_next, *tables, self.acts, rest)
        size, self.lost = follow_rows(*read, self.indptr, indices, self.side, P)
        self.indices = indices[:size]
        self.P = P if size == P.shape[1] else np.ascontiguousarray(P[:, :size])

    @property
    def data(self) -> NDArray[Any]:
        """The probabilities, to the precision of the field."""
        return self.P if self.D.field.is_exact else self.P[0]

    @property
    def r(self) -> NDArray[Any]:
        return self.side if self.D.field.is_exact else self.side[0]

    # ---------------------------------------------------------------- linear systems

    def solve(
        self,
        b: NDArray[Any],
        discounted: bool,
        cut: Mask | None = None,
        transposed: bool = False,
    ) -> Solution:
        """Solve x = b + gamma P x, or the same with P^T. The transitions of `cut` leave the
        chain."""
        D, n = self.D, self.D.shape[0]
        if D.field.is_exact:
            kept = slice(None) if cut is None else ~cut
            indptr = self.indptr if cut is None else keep_entries(self.indptr, ~cut)
            gamma = D.gamma if discounted else D.field.one(1)
            none = np.zeros(n)
            system = LinearSystem(indptr, self.indices[kept], self.P[kept], gamma, none, none)
            return D.field.solve_system(system, b, D.P.name, transposed)
        discounted = discounted and not D.is_undiscounted
        if cut is None and (kept_system := self._systems.get(discounted)) is not None:
            return D.field.solve_system(kept_system, b, D.P.name, transposed)
        gamma = D.gamma_side if discounted else ONE
        # terminal states are states of the matrix too, so that going there is no way out of it
        leave, P = np.empty((2, n)), self.P
        cuts = np.zeros(0, dtype=bool) if cut is None else cut
        leaving(self.indptr, P, cuts, self._stops + ~D.alive, gamma, leave)
        if cut is not None:
            P = P.copy()
            P[:, cut] = 0.0
        # the chance of stopping is rounded
        given = np.where(self._stops > 0, self.given + 8 * UNIT, self.given)
        system = LinearSystem(self.indptr, self.indices, P, gamma, leave, given)
        if cut is None:
            self._systems[discounted] = system
        return D.field.solve_system(system, b, D.P.name, transposed)

    def stopping(self, o: int, a: int) -> Chain:
        """The chain of episodes that are over when they take a at o."""
        found = Chain(self.D, self.pi, self.tail, (o, a))
        found.given = self.given
        return found

    def rows_of(self, states: Mask) -> Mask | None:
        """The transitions from some states, or None if there are none."""
        return np.repeat(states, np.diff(self.indptr)) if states.any() else None

    def values(self) -> tuple[Solution, Mask]:
        """Solve v = r + gamma P v, and mark the states where v is undefined (v is 0 there)."""
        D = self.D
        undefined = np.zeros(D.shape[0], dtype=bool)
        if D.is_undiscounted and self.may_not_end.any():
            if (lost := np.flatnonzero(self.visited & self.stuck)).size:
                raise NeverEnds(
                    "gamma is 1 and the policy never ends from "
                    f"s={D.P.S.text(D.P.S[int(lost[0])])}, which it visits, so its return "
                    "is not defined; give a gamma below 1, or a policy that ends"
                )
            undefined = self.may_not_end
        side = self.side
        if undefined.any():
            side = side.copy()
            side[..., undefined] = D.field.one(0)
        found = self.solve(side, True, self.rows_of(undefined))
        if not np.isfinite(found.error).all():  # an infinite bound is no number
            raise NotSolved(refusal(D.shape[0], f"{D.P.name}: the system for values"))
        return found, undefined

    def visits(self, dropped: Mask, discounted: bool = False) -> Solution:
        """d = mu + P^T d with bounds on relative errors, nothing leaving some states."""
        found = self.solve(self.D.mu_side, discounted, self.rows_of(dropped), transposed=True)
        return found if self.D.field.is_exact else share_errors(found, self.visited)

    def returns(self, classes: list[NDArray[np.int64]]) -> list[Solution]:
        """Expected visits of each state between two visits of its recurrent class's first state,
        with relative error bounds. Classes do not meet: one system finds those of all."""
        field, n = self.D.field, self.D.shape[0]
        inside, first = np.zeros((2, n), dtype=bool)
        for members in classes:
            inside[members] = first[members[0]] = True
        cut = np.repeat(~inside, np.diff(self.indptr)) | first[self.indices]
        side = field.enter_side(Numbers.of([0, 1]))[..., first.astype(int)]
        found = self.solve(side, False, cut, transposed=True)
        found = found if field.is_exact else share_errors(found, inside)
        return [Solution(found.x[one], found.method, found.error[one]) for one in classes]

    # ---------------------------------------------------------------- the graph

    @cached_property
    def visited(self) -> Mask:
        """The states that an episode can reach."""
        return reachable(self.indptr, self.indices, self.D.P.mu.support)

    @cached_property
    def backwards(self) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
        """The graph with every edge turned round."""
        return reverse_edges(self.indptr, self.indices)

    @cached_property
    def stuck(self) -> Mask:
        """The states from which no episode can end at all."""
        ends = np.flatnonzero(~self.D.alive | (self._stops > 0))
        return ~reachable(*self.backwards, ends)

    @cached_property
    def may_not_end(self) -> Mask:
        """The states from which an episode goes on for ever with positive probability."""
        if not self.stuck.any():
            return self.stuck
        return reachable(*self.backwards, np.flatnonzero(self.stuck))

    def classes(self) -> list[NDArray[np.int64]]:
        """The recurrent classes: sets of states that are never left again, terminal ones aside."""
        count, component = strong_components(self.indptr, self.indices)
        rows = own_rows(self.indptr)
        closed = np.ones(count, dtype=bool)
        closed[component[rows[component[rows] != component[self.indices]]]] = False
        closed[component[~self.D.alive | (self._stops > 0)]] = False
        return [np.flatnonzero(component == c) for c in np.flatnonzero(closed)]


def reached_rows(P: POMDP, pi: Policy) -> list[int]:
    """The observations at which a policy decides when it is followed, by their places."""
    chain = dynamics(P, FLOATS).follow(pi.prob.floats)
    states = chain.visited & ~P.terminal.mask
    return sorted({int(o) for o in chain.D.entry_o[states[chain.D.entry_s]]})


def exact_value(P: POMDP, pi: Policy) -> Number:
    """The value of an exact policy, solved for the states that it reaches and no others."""
    chain = follow_policy(dynamics(P, RATIONALS), pi)
    elsewhere, side = ~chain.visited, chain.side.copy()
    side[elsewhere] = RATIONALS.one(0)
    v = chain.solve(side, True, chain.rows_of(elsewhere)).x
    return RATIONALS.back((chain.D.mu * v).sum())
