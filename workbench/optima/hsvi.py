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

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from workbench.core.fields import FLOATS, Dynamics, dynamics
from workbench.core.pomdp import POMDP
from workbench.core.rows import pick_rows
from workbench.optima.hsvi_kernels import highest, sawtooth

_INFORMED_SWEEPS = 200
_SHALLOW, _DEEPEST = 16, 400
"""Beliefs along one way from the start that are looked at before going back up: at first, and at
most. Where gamma is 1, going deep from the start leaves tiger a gap of .4 instead of 1e-3."""

_STALLED = 0.98
"""If the lower bound closes no more than what is left of the gap besides this share on a way down
and up, the next ones may go deeper. The upper bound comes down on short ways too."""

FloatVector = NDArray[np.float64]

_After = tuple[NDArray[np.int64], FloatVector, NDArray[np.float64]]
"""Observations by number, their probabilities, and the beliefs after them."""


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
    step : for each action, p(s'|s,a) omega(o|s') as a sparse matrix from s to the pairs (s', o).
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
        self.step = []
        for a in range(nA):
            rows = reached[first] * nA + a
            indptr, k = pick_rows(P.p.row_ptr, rows)
            move = sp.csr_array((D.prob[k], P.p.s_next[k], indptr), shape=(len(first), len(P.S)))
            self.step.append(sp.csr_array(move @ emit))
        self._before = sp.csr_array(sp.vstack([step.T for step in self.step], format="csr"))
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

    def split(self, weights: NDArray[np.float64]) -> tuple[list[_After], NDArray[np.float64]]:
        """What may follow each row of weights over the pairs, and all beliefs in one table."""
        mass = np.add.reduceat(weights, self.first_entry, axis=1)
        seen = mass > 0
        place = (np.cumsum(seen) - 1).reshape(seen.shape)
        row, entry = np.nonzero(weights)
        beliefs = np.zeros((np.count_nonzero(seen), self.shape[0]))
        beliefs[place[row, self.group[entry]], self.e_s[entry]] = weights[row, entry]
        beliefs /= mass[seen][:, None]
        found, end = [], 0
        for chances in mass:
            groups = np.flatnonzero(chances > 0)
            begin, end = end, end + len(groups)
            found.append((groups, chances[groups], beliefs[begin:end]))
        return found, beliefs

    def after(self, b: FloatVector) -> tuple[list[_After], NDArray[np.float64]]:
        """What may follow each action at b, and all beliefs in one table."""
        return self.split((self._before @ b).reshape(self.shape[1], -1))


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
    pairs = []
    for step in model.step:  # for each (s, o) with o possible after s: a row over s'
        row = np.repeat(np.arange(n), np.diff(step.indptr)) * groups + model.group[step.indices]
        known, at = np.unique(row, return_inverse=True)
        pairs.append(
            (
                known // groups,
                sp.csr_array((step.data, (at, model.e_s[step.indices])), (len(known), n)),
            )
        )
    Q = np.repeat(above[:, None], nA, axis=1)
    for _ in range(_INFORMED_SWEEPS):
        lower = np.empty_like(Q)
        for a, (s, weight) in enumerate(pairs):
            best = np.asarray(weight @ Q).max(axis=1)
            lower[:, a] = model.R[:, a] + model.gamma * np.bincount(s, best, minlength=n)
        np.minimum(lower, Q, out=lower)
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
        (self.first,), _ = model.split(model.start[None])

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
        _, mass, beliefs = self.first
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
        _, mass, beliefs = self.first
        below = float(mass @ self.lower(beliefs))
        gaps = self.upper(beliefs) - self.lower(beliefs)
        size = float(mass @ gaps)
        worth = max(aim, size / 2)
        i = int(np.argmax(mass * gaps))
        b = beliefs[i]
        way: list[FloatVector] = []
        while len(way) < self._depth and time.monotonic() <= until:
            way.append(b)
            # a gap at depth t counts gamma^t at the start, so deeper down more of it is let pass
            worth = worth / self.model.gamma if 0 < self.model.gamma < 1 else worth
            found = self._look(b)
            # the action with the best upper bound: if it is not optimal, its bound comes down, and
            # another one is followed the next time; going by lower bounds would never find out
            a = int(np.argmax(found.high))
            groups, mass, beliefs = found.after[a]
            if not len(groups):
                break
            # of what may be seen, the one that the gap here is mostly made of
            excess = mass * (found.gaps[a] - worth)
            i = int(np.argmax(excess))
            if excess[i] <= 0:
                break
            b = beliefs[i]
        for b in reversed(way):  # from the end: each backup then uses the ones below it
            self._back_up(b)
            if time.monotonic() > until:
                return  # every bound on the way is valid, so any moment is good
        _, mass, beliefs = self.first
        # a way that closed little was too short to meet a reward; one that did need not be longer
        if float(mass @ self.lower(beliefs)) - below < (1 - _STALLED) * size:
            self._depth = min(_DEEPEST, self._depth + max(1, self._depth // 4))

    def _look(self, b: FloatVector) -> _Look:
        # all successors at once: calls into kernels cost as much as small tables of beliefs
        after, beliefs = self.model.after(b)
        low, high = b @ self.model.R, b @ self.model.R
        values, which = self._best(beliefs)
        above = self.upper(beliefs)
        gaps = above - values
        parts, end = [], 0
        for a, (_, mass, _) in enumerate(after):
            part = slice(end, end + len(mass))
            low[a] += self.model.gamma * (mass @ values[part])
            high[a] += self.model.gamma * (mass @ above[part])
            parts.append(part)
            end = part.stop
        return _Look(after, low, high, [which[p] for p in parts], [gaps[p] for p in parts])

    def _chosen(self, found: _Look) -> tuple[int, NDArray[np.int64]]:
        """The action with the best lower bound, and the vector to go on with for each observation
        that occurs. The first vector stands where one cannot follow."""
        a = int(np.argmax(found.low))
        chosen = np.zeros(int(self.model.group[-1]) + 1, dtype=np.int64)
        chosen[found.after[a][0]] = found.best[a]
        return a, chosen

    def _worth(self, a: int, chosen: NDArray[np.int64], alphas: NDArray[np.float64]) -> FloatVector:
        """The state values of "do a, then go on as those vectors"."""
        then = alphas[chosen[self.model.group], self.model.e_s]
        return np.asarray(self.model.R[:, a] + self.model.gamma * (self.model.step[a] @ then))

    def _back_up(self, b: FloatVector) -> None:
        self.backups += 1
        found = self._look(b)
        a, chosen = self._chosen(found)
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
        if self._count == len(self._values):
            self._points = np.vstack([self._points, np.zeros_like(self._points)])
            self._values = np.concatenate([self._values, np.zeros_like(self._values)])
            self._informed = np.vstack([self._informed, np.zeros_like(self._informed)])
        i = self._count
        self._points[i], self._values[i] = b, value
        self._informed[i, :-2] = b @ self.Q
        self._informed[i, -2:] = self.corner @ b, self._informed[i, :-2].max()
        self._count += 1


@dataclass(frozen=True, eq=False)
class _Look:
    """A one-step lookahead from a belief. It holds what follows each action, the bounds on its
    value, and at each successor the best vector and the gap."""

    after: list[_After]
    low: FloatVector
    high: FloatVector
    best: list[NDArray[np.int64]]
    gaps: list[FloatVector]
