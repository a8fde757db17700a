"""Bounds on the best history-based value where the beliefs are too many to list.

A belief b over the states that are not terminal has the value

    V(b) = max_a [ sum_s b(s) R(s,a) + gamma sum_o P(o, goes on | b,a) V(b_{a,o}) ].

Below: V(b) >= max_k b . alpha_k for vectors alpha_k that are the state values of some way to go on:
"do a, then follow a memoryless policy", and what backups make of them. Above: the fast informed
bound of Hauskrecht (2000),

    Q(s,a) = R(s,a) + gamma sum_o max_{a'} sum_{s'} p(s'|s,a) omega(o|s') Q(s',a'),    V(b) <= max_a
    b . Q(., a),

and a sawtooth over points (b_i, v_i), v_i >= V(b_i). Heuristic search (HSVI, Smith and
Simmons 2004) decides where to back both up: from the start follow the action with the best upper
bound and the observation that contributes most to the gap, as long as the gap at the belief is
worth closing. Every bound on the way is valid, so it can stop at any time.

Floats; the bounds are widened by more than what rounding can have done to them.
"""

from __future__ import annotations

import math
import sys
import time
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from workbench.core.fields import FLOATS, Dynamics, dynamics
from workbench.core.pomdp import POMDP
from workbench.core.rows import pick_rows
from workbench.optima.hsvi_kernels import group_beliefs, highest, sawtooth, spread

_INFORMED_SWEEPS = 200
_SHALLOW, _DEEPEST = 16, 400
"""Beliefs along one way from the start that are looked at before going back up: at first, and at
most. Where gamma is 1, going deep from the start leaves tiger a gap of .4 instead of 1e-3."""

_STALLED = 0.98
"""If the lower bound closes no more than what is left of the gap besides this share on a way down
and up, the next ones may go deeper. The upper bound comes down on short ways too."""

FloatVector = NDArray[np.float64]


class Successors(NamedTuple):
    """The beliefs that may follow, one to an entry, each after an action and an observation."""

    action: NDArray[np.int64]
    seen: NDArray[np.int64]  # the observation's number among those that occur
    chance: FloatVector
    beliefs: NDArray[np.float64]

    def total(self, values: FloatVector, nA: int) -> FloatVector:
        """For each action, the mean of values times the chance of going on."""
        return np.asarray(np.bincount(self.action, self.chance * values, minlength=nA), np.float64)


class BeliefModel:
    """The POMDP over its states that are not terminal and can be reached, in floats, made for
    belief steps.

    States with the same rewards and the same outcomes of every action count as one: once its
    observation is known, the future does not tell them apart. (A state that remembers the last
    observation, as the reader of `.POMDP` files makes them, would otherwise keep beliefs apart that
    are alike.)

    Attributes
    ----------
    kind : for each state reached, the number that it has here.
    R : `R[s, a]`; gamma.
    e_s, e_o : the pairs (s, o) with omega(o|s) > 0, sorted by o.
    step : p(s'|s,a) omega(o|s') as a sparse matrix from rows s nA + a to the pairs (s', o);
        `by_action[a]` has the rows of a.
    start : mu(s) omega(o|s) over the pairs.
    """

    def __init__(self, P: POMDP, reached: NDArray[np.int64]):
        D: Dynamics = dynamics(P, FLOATS)
        nA = len(P.A)
        first, self.kind = _kinds(P, D, reached)
        kind = np.full(len(P.S), -1)
        kind[reached] = self.kind
        entries = np.flatnonzero((D.omega > 0) & (kind[D.entry_s] >= 0))
        pair = D.entry_o[entries] * len(first) + kind[D.entry_s[entries]]
        pairs, column = np.unique(pair, return_inverse=True)
        self.e_o, self.e_s = np.divmod(pairs, len(first))
        self.gamma = float(D.gamma)
        self.R = D.R[reached[first]]
        emit = sp.csr_array(
            (D.omega[entries], (D.entry_s[entries], column)), (len(P.S), len(pairs))
        )
        rows = (reached[first][:, None] * nA + np.arange(nA)).ravel()
        indptr, k = pick_rows(P.p.row_ptr, rows)
        move = sp.csr_array((D.prob[k], P.p.s_next[k], indptr), shape=(len(rows), len(P.S)))
        self.step = sp.csr_array(move @ emit)
        self.by_action = [self.step[a::nA] for a in range(nA)]
        self.start = np.asarray(D.mu @ emit)

    @property
    def shape(self) -> tuple[int, int]:
        return self.R.shape[0], self.R.shape[1]

    @cached_property
    def first_entry(self) -> NDArray[np.int64]:
        """Where the pairs of each observation that occurs begin."""
        return np.flatnonzero(np.concatenate(([True], self.e_o[1:] != self.e_o[:-1])))

    @cached_property
    def group(self) -> NDArray[np.int64]:
        """For each pair (s, o) the number of its observation among those that occur."""
        return np.cumsum(np.concatenate(([0], self.e_o[1:] != self.e_o[:-1])))

    def beginnings(self) -> Successors:
        """The beliefs after the first observation, as if action 0 led there."""
        return Successors(*group_beliefs(self.start[None], self.e_s, self.group, self.shape[0]))

    def after(self, b: FloatVector) -> Successors:
        """The beliefs that may follow b."""
        weights = np.zeros((self.shape[1], len(self.e_s)))
        spread(self.step.indptr, self.step.indices, self.step.data, b, weights)
        return Successors(*group_beliefs(weights, self.e_s, self.group, self.shape[0]))


def _kinds(
    P: POMDP, D: Dynamics, states: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Representatives of the states that look alike, as places in `states`, and the number of each
    state's."""
    nA = len(P.A)
    known: dict[tuple[bytes, ...], int] = {}
    first: list[int] = []
    kind = np.empty(len(states), dtype=np.int64)
    for i, s in enumerate(states.tolist()):
        row_ptr = P.p.row_ptr[s * nA : (s + 1) * nA + 1]
        span = slice(int(row_ptr[0]), int(row_ptr[-1]))
        ended = P.terminal.mask[P.p.s_next[span]]
        to = np.where(ended, -1, P.p.s_next[span])
        key = (D.R[s].tobytes(), np.diff(row_ptr).tobytes(), to.tobytes(), D.prob[span].tobytes())
        if key not in known:
            known[key] = len(first)
            first.append(i)
        kind[i] = known[key]
    return np.array(first, dtype=np.int64), kind


def informed(model: BeliefModel, above: FloatVector) -> NDArray[np.float64]:
    """The fast informed bound `Q[s, a]`, sweeping down from state values `above` that no policy
    exceeds."""
    n, nA = model.shape
    groups = int(model.group[-1]) + 1
    step = model.step  # for each (s, a, o) with o possible after them: a row over s'
    row = np.repeat(np.arange(n * nA), np.diff(step.indptr)) * groups + model.group[step.indices]
    known, at = np.unique(row, return_inverse=True)
    weight = sp.csr_array((step.data, (at, model.e_s[step.indices])), (len(known), n))
    Q = np.repeat(above[:, None], nA, axis=1)
    for _ in range(_INFORMED_SWEEPS):
        best = np.asarray(weight @ Q).max(axis=1)
        onward = np.bincount(known // groups, best, minlength=n * nA).reshape(n, nA)
        lower = np.minimum(model.R + model.gamma * onward, Q)
        if np.max(Q - lower, initial=0.0) <= 1e-10 * np.max(np.abs(lower), initial=1e-300):
            return lower
        Q = lower
    return Q


@dataclass(frozen=True, eq=False)
class PlanStep:
    """The plan behind an alpha vector that a backup made. Do a, then go on as the vectors `then`,
    one for each observation that occurs, or as `otherwise` for the rest.

    Vectors are numbered as they were made, those to begin with first; a number stays valid when the
    vector itself is left out for a better one, so that plans that build on it can be followed.
    """

    a: int
    then: NDArray[np.int64]
    otherwise: int


@dataclass(frozen=True)
class Gap:
    """Bounds at the start, and the number of backups they took."""

    lower: float
    upper: float
    backups: int


class Bounds:
    """Lower and upper bounds on V, and the search that closes them."""

    def __init__(self, model: BeliefModel, above: FloatVector, below: NDArray[np.float64]):
        """Start from upper bounds `above[s]` on state values and alpha vectors `below[k, s]`."""
        self.model = model
        n = model.shape[0]
        lowest, alphas = np.full(n, np.inf), np.full((n, len(below)), -np.inf)
        np.minimum.at(lowest, model.kind, above)
        np.maximum.at(alphas, model.kind, below.T)
        self.Q = informed(model, lowest)
        self.corner = self.Q.max(axis=1)
        self.alphas = np.ascontiguousarray(alphas.T)
        self._points = np.zeros((64, n))
        # for each point b . Q(., a), then corner . b and max_a b . Q(., a)
        self._informed = np.zeros((64, model.shape[1] + 2))
        self._values = np.zeros(64)
        self._count = 0
        self._depth = _SHALLOW
        self.backups = 0
        self.steps: list[PlanStep] = []
        self._begun = len(below)
        self._node_of = np.arange(self._begun)
        self.first = model.beginnings()

    # ------------------------------------------------------------------ the two bounds

    def lower(self, beliefs: NDArray[np.float64]) -> FloatVector:
        return self._best(beliefs)[0]

    def _best(self, beliefs: NDArray[np.float64]) -> tuple[FloatVector, NDArray[np.int64]]:
        """max_k b . alpha_k at each belief, and k."""
        values, which = np.empty(len(beliefs)), np.empty(len(beliefs), dtype=np.int64)
        highest(self.alphas, beliefs, values, which)
        return values, which

    def nodes_at(self, beliefs: NDArray[np.float64]) -> NDArray[np.int64]:
        """The numbers of the vectors that are best at some beliefs."""
        return np.asarray(self._node_of[self._best(beliefs)[1]])

    def upper(self, beliefs: NDArray[np.float64]) -> FloatVector:
        values = np.empty(len(beliefs))
        tables = self._points, self._informed, self._values, self._count
        sawtooth(self.corner, self.Q, *tables, beliefs, values)
        return values

    def gap(self) -> Gap:
        """At the start, with room for rounding errors."""
        mass, beliefs = self.first.chance, self.first.beliefs
        size = max(float(np.abs(self.corner).max()), float(np.abs(self.alphas).max()))
        steps = 1 / (1 - self.model.gamma) if self.model.gamma < 1 else self.backups + 1
        rounding = 8 * (self.model.shape[0] + 8) * sys.float_info.epsilon * size * steps
        low, high = float(mass @ self.lower(beliefs)), float(mass @ self.upper(beliefs))
        return Gap(low - rounding, high + rounding, self.backups)

    # ------------------------------------------------------------------ closing them

    def search(self, aim: float, until: float = math.inf) -> None:
        """One way down from the start and back up, backing up both bounds at each belief on it.

        It goes down as long as the gap is worth more than what would halve the gap at the start,
        and no further once the clock (`time.monotonic`) passes `until`.
        """
        mass, beliefs = self.first.chance, self.first.beliefs
        below = float(mass @ self.lower(beliefs))
        gaps = self.upper(beliefs) - self.lower(beliefs)
        size = float(mass @ gaps)
        worth = max(aim, size / 2)
        b = beliefs[np.argmax(mass * gaps)]
        way: list[tuple[FloatVector, Successors]] = []
        while len(way) < self._depth and time.monotonic() <= until:
            after = self.model.after(b)
            way.append((b, after))
            # a gap at depth t counts gamma^t at the start, so deeper down more of it is let pass
            worth = worth / self.model.gamma if 0 < self.model.gamma < 1 else worth
            found = self._look(b, after)
            # the action with the best upper bound: if it is not optimal, its bound comes down, and
            # another one is followed the next time; going by lower bounds would never find out
            follows = after.action == np.argmax(found.high)
            # of what may be seen, the one that the gap here is mostly made of
            excess = np.where(follows, after.chance * (found.gaps - worth), 0.0)
            i = int(np.argmax(excess)) if len(excess) else -1
            if i < 0 or excess[i] <= 0:
                break
            b = after.beliefs[i]
        for b, after in reversed(way):  # from the end: each backup then uses the ones below it
            self._back_up(b, after)
            if time.monotonic() > until:
                return  # every bound on the way is valid, so any moment is good
        # a way that closed little was too short to meet a reward; one that did need not be longer
        if float(mass @ self.lower(beliefs)) - below < (1 - _STALLED) * size:
            self._depth = min(_DEEPEST, self._depth + max(1, self._depth // 4))

    def _look(self, b: FloatVector, after: Successors) -> _Look:
        values, which = self._best(after.beliefs)
        above = self.upper(after.beliefs)
        now, gamma, nA = b @ self.model.R, self.model.gamma, self.model.shape[1]
        low = now + gamma * after.total(values, nA)
        return _Look(low, now + gamma * after.total(above, nA), which, above - values)

    def _worth(self, a: int, chosen: NDArray[np.int64], alphas: NDArray[np.float64]) -> FloatVector:
        """The state values of "do a, then go on as those vectors"."""
        then = alphas[chosen[self.model.group], self.model.e_s]
        return np.asarray(self.model.R[:, a] + self.model.gamma * (self.model.by_action[a] @ then))

    def _back_up(self, b: FloatVector, after: Successors) -> None:
        self.backups += 1
        found = self._look(b, after)
        a = int(np.argmax(found.low))
        # the vector to go on with by observation; the first vector stands where none can follow
        chosen = np.zeros(int(self.model.group[-1]) + 1, dtype=np.int64)
        follows = after.action == a
        chosen[after.seen[follows]] = found.best[follows]
        alpha = self._worth(a, chosen, self.alphas)
        if b @ alpha > self.lower(b[None])[0]:
            self.steps.append(PlanStep(a, self._node_of[chosen], int(self._node_of[0])))
            # the others are nowhere better than alpha
            kept = np.asarray((self.alphas > alpha).any(axis=1))
            kept[0] = True  # the default for observations that cannot follow
            self.alphas, self._node_of = (
                np.vstack([self.alphas[kept], alpha]),
                np.append(self._node_of[kept], self._begun + len(self.steps) - 1),
            )  # together: an interruption must not part them
        value = float(found.high.max())
        if value < self.upper(b[None])[0]:
            self._add_point(b, value)

    def _add_point(self, b: FloatVector, value: float) -> None:
        support = b > 0
        if support.sum() == 1:  # a corner: the plane below which all teeth are cut
            s = int(np.argmax(support))
            lowered = self.corner[s] - value
            if lowered > 0:  # the plane comes down with its corner
                self._informed[: self._count, -2] -= lowered * self._points[: self._count, s]
                self.corner[s] = value
            return
        new = np.append(b @ self.Q, [self.corner @ b, (b @ self.Q).max()])
        n = self._count
        teeth = self._points[:n], self._informed[:n], self._values[:n]
        # beliefs near each other are met again and again: a point that the new one undercuts goes
        under = np.empty(n)
        sawtooth(self.corner, self.Q, b[None], new[None], np.array([value]), 1, teeth[0], under)
        if not (kept := under > teeth[2]).all() or n == len(self._values):
            n = int(kept.sum())
            spare = [np.zeros((n + max(64, n), *old.shape[1:])) for old in teeth]
            for table, old in zip(spare, teeth, strict=True):
                table[:n] = old[kept]
            # together: an interruption must not part them
            self._points, self._informed, self._values, self._count = *spare, n
        self._points[n], self._informed[n], self._values[n] = b, new, value
        self._count = n + 1


class _Look(NamedTuple):
    """A one-step lookahead: bounds on the value of each action.

    For each successor it has the best vector and the gap.
    """

    low: FloatVector
    high: FloatVector
    best: NDArray[np.int64]
    gaps: FloatVector
