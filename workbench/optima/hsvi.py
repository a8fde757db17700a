"""Bounds on the best history-based value where the beliefs are too many to list.

A belief b over the states that are not terminal has the value

    V(b) = max_a [ sum_s b(s) R(s,a) + gamma sum_o P(o, goes on | b,a) V(b_{a,o}) ].

Below: V(b) >= max_k b . alpha_k for vectors alpha_k that are the state values of some way to go on:
"do a, then follow a memoryless policy", and what backups make of them. Above: the fast informed
bound of Hauskrecht (2000),

    Q(s,a) = R(s,a) + gamma sum_o max_{a'} sum_{s'} p(s'|s,a) omega(o|s') Q(s',a'),    V(b) <= max_a
    b . Q(., a),

and a sawtooth over points (b_i, v_i), v_i >= V(b_i). A point remembers by which teeth its v_i was
found: once those come down, v_i follows without looking at a single belief again, so that sweeps
over all points carry every gain to the start at next to no cost. Heuristic search (HSVI, Smith and
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

from workbench.core.chain import Dynamics, dynamics
from workbench.core.fields import FLOATS
from workbench.core.pomdp import POMDP
from workbench.core.rows import pick_rows
from workbench.optima.hsvi_kernels import highest, lower_points, sawtooth

_INFORMED_SWEEPS = 200
_SHALLOW, _DEEPEST = 16, 400
"""Beliefs along one way from the start that are looked at before going back up: at first, and at
most."""

_STALLED = 0.98
"""If the lower bound closes no more than what is left of the gap besides this share on a way down
and up, the next ones may go deeper. The upper bound comes down on short ways too."""

_SWEEPS = 50
"""Sweeps over the points after each way down and up, at most."""

_ROUND = 500
"""Vectors times states up to which plans that go round are solved as a linear system: up to there
it takes as long as a few backups."""

_GROWN, _FEW = 1.3, 100
"""Points and vectors are pruned when there are so many times as many as after the last time, and at
least so many."""

FloatVector = NDArray[np.float64]


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
        self._before = [sp.csr_array(step.T) for step in self.step]
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

    def split(
        self, weights: FloatVector
    ) -> tuple[NDArray[np.int64], FloatVector, NDArray[np.float64]]:
        """Observations, their probabilities and the beliefs after them, from weights over the
        pairs."""
        mass = np.add.reduceat(weights, self.first_entry)
        groups = np.flatnonzero(mass > 0)
        beliefs = np.zeros((len(mass), self.shape[0]))
        beliefs[self.group, self.e_s] = weights
        return groups, mass[groups], beliefs[groups] / mass[groups, None]

    def after(
        self, b: FloatVector, a: int
    ) -> tuple[NDArray[np.int64], FloatVector, NDArray[np.float64]]:
        """What may be observed after doing a at b, with what probability, and the beliefs then."""
        return self.split(self._before[a] @ b)


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
    vector itself is pruned, so that plans that build on it can still be followed.
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
        self._supports = _Supports()
        self._links = _Links(model.shape[1])
        self._active = np.zeros(0, dtype=np.int64)
        self._place: dict[bytes, int] = {}
        self._count = 0
        self._size_pruned = _FEW
        self._depth = _SHALLOW
        self.backups = 0
        self.steps: list[PlanStep] = []
        self._begun = len(below)
        self._node_of = np.arange(self._begun)
        self._made_at: list[FloatVector] = []
        self.first = model.split(model.start)

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
        return self._teeth(beliefs).values

    def _teeth(
        self, beliefs: NDArray[np.float64], active: NDArray[np.int64] | None = None
    ) -> _Teeth:
        """The upper bound at each belief, and by which tooth."""
        m = len(beliefs)
        values, which, ratios = np.empty(m), np.empty(m, dtype=np.int64), np.empty(m)
        sawtooth(
            self.corner,
            self.Q,
            self._supports.row_ptr,
            self._supports.places,
            self._supports.weights,
            self._informed,
            self._values,
            self._active if active is None else active,
            beliefs,
            values,
            which,
            ratios,
        )
        return _Teeth(values, which, ratios)

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
            excess = mass * (self.upper(beliefs) - self.lower(beliefs) - worth)
            i = int(np.argmax(excess))
            if excess[i] <= 0:
                break
            b = beliefs[i]
        for b in reversed(way):  # from the end: each backup then uses the ones below it
            self._back_up(b)
            if time.monotonic() > until:
                return  # every bound on the way is valid, so any moment is good
        self._sweep(1e-3 * worth)
        self._go_round()
        if max(len(self._active), len(self.alphas)) > _GROWN * self._size_pruned:
            self._prune()
        _, mass, beliefs = self.first
        # a way that closed little was too short to meet a reward; one that did need not be longer
        if float(mass @ self.lower(beliefs)) - below < (1 - _STALLED) * size:
            self._depth = min(_DEEPEST, self._depth + max(1, self._depth // 4))

    def _look(self, b: FloatVector) -> _Look:
        nA = self.model.shape[1]
        after = [self.model.after(b, a) for a in range(nA)]
        low, high = b @ self.model.R, b @ self.model.R
        # all successors at once: calls into kernels cost as much as small tables of beliefs
        beliefs = np.vstack([found[2] for found in after])
        values, which = self._best(beliefs)
        teeth = self._teeth(beliefs)
        ends = np.cumsum([len(found[1]) for found in after])
        best = np.split(which, ends[:-1])
        for a, (part, above) in enumerate(
            zip(np.split(values, ends[:-1]), np.split(teeth.values, ends[:-1]), strict=True)
        ):
            low[a] += self.model.gamma * (after[a][1] @ part)
            high[a] += self.model.gamma * (after[a][1] @ above)
        return _Look(after, low, high, best, teeth)

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

    def _go_round(self) -> None:
        """Raise the vectors to what they are worth if each goes on as the best of them for ever.

        A backup goes on as vectors that were made before it, so that a plan that comes back to a
        belief is worked out one round after the other. Here the rounds are a linear system. Its
        solution x is lowered until one more step raises it: then the plan is worth x at least.
        """
        n, gamma = self.model.shape[0], self.model.gamma
        made = np.flatnonzero(self._node_of >= self._begun)
        size = len(self.alphas) * n
        if gamma == 1 or not len(made) or size > _ROUND:
            return
        beliefs = np.array([self._made_at[k] for k in self._node_of[made] - self._begun])
        plans = [self._chosen(self._look(b)) for b in beliefs]
        A, right = np.eye(size), self.alphas.copy()
        for k, (a, chosen) in zip(made.tolist(), plans, strict=True):
            columns = chosen[self.model.group] * n + self.model.e_s
            rows = np.arange(k * n, (k + 1) * n)
            np.subtract.at(A, np.ix_(rows, columns), gamma * self.model.step[a].toarray())
            right[k] = self.model.R[:, a]
        x = np.linalg.solve(A, right.reshape(-1)).reshape(right.shape)
        x[self._node_of < self._begun] = self.alphas[self._node_of < self._begun]
        again = np.array([self._worth(a, chosen, x) for a, chosen in plans])
        x[made] -= max(0.0, float((x[made] - again).max())) / (1 - gamma) * (1 + 1e-9)
        if not ((beliefs * x[made]).sum(axis=1) > self.lower(beliefs)).any():
            return
        nodes = self._node_of.copy()
        nodes[made] = self._begun + len(self.steps) + np.arange(len(made))
        self.steps += [PlanStep(a, nodes[chosen], int(nodes[0])) for a, chosen in plans]
        self._made_at += list(beliefs)
        beaten = np.array([(alpha <= x[made]).all(axis=1).any() for alpha in self.alphas])
        beaten[0] = False
        kept = ~beaten
        self.alphas, self._node_of = (
            np.vstack([self.alphas[kept], x[made]]),
            np.concatenate([self._node_of[kept], nodes[made]]),
        )  # together: an interruption must not part them

    def _back_up(self, b: FloatVector) -> None:
        self.backups += 1
        found = self._look(b)
        a, chosen = self._chosen(found)
        alpha = self._worth(a, chosen, self.alphas)
        if b @ alpha > self.lower(b[None])[0]:
            self._made_at.append(b)
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
            self._add_point(b, value, found)

    def _add_point(self, b: FloatVector, value: float, found: _Look) -> None:
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
        self._supports.add(b)
        self._informed[i, :-2] = b @ self.Q
        self._informed[i, -2:] = self.corner @ b, self._informed[i, :-2].max()
        self._links.add(b @ self.model.R, self._parts(found))
        self._count += 1
        self._active = np.append(self._active, i)
        # who refers to an older point at this belief refers to it from now on: where beliefs come
        # back, sweeps then go round in cycles, and close the bound without further backups
        older = self._place.get(b.tobytes())
        self._place[b.tobytes()] = i
        if older is not None:
            self._links.retarget(older, i)
            self._active = self._active[self._active != older]

    def _parts(self, found: _Look) -> list[tuple[float, NDArray[np.int64], FloatVector]]:
        """The parts of each action's upper bound. They are a number that can only become too large,
        and shares of the values of points."""
        teeth, gamma, first = found.teeth, self.model.gamma, 0
        parts = []
        for _, mass, _ in found.after:
            span = slice(first, first + len(mass))
            which, ratios = teeth.which[span], teeth.ratios[span]
            used = which >= 0
            # what bounds the rest of b stays as it is while v_i comes down
            fixed = teeth.values[span] - np.where(used, ratios * self._values[which], 0.0)
            parts.append((gamma * float(mass @ fixed), which[used], gamma * (mass * ratios)[used]))
            first += len(mass)
        return parts

    def _sweep(self, least: float) -> None:
        """Let the values of points follow those that they were found by."""
        if not self._count:
            return
        links = self._links
        lower_points(
            self._values,
            self._count,
            links.base[: self._count],
            links.row_ptr,
            links.to,
            links.coef,
            _SWEEPS,
            least,
        )

    def _prune(self) -> None:
        """Remove the points above the sawtooth bound of others, and the vectors that are best at no
        point. Points put aside stay what others refer to."""
        reach = self._informed[self._active, -1] - self._values[self._active]
        order = self._active[np.argsort(-reach, kind="stable")]
        kept: list[int] = []
        for i in order.tolist():
            others = np.array(kept, dtype=np.int64)
            if self._values[i] < self._teeth(self._points[i : i + 1], others).values[0]:
                kept.append(i)
        self._active = np.array(sorted(kept), dtype=np.int64)
        # beliefs at which vectors were made: plans lead there, be they points above or not
        _, best = self._best(np.vstack([*self._made_at, self.first[2]]))
        # vectors to begin with are good at beliefs that nobody has come to yet
        used = np.union1d(np.flatnonzero(self._node_of < self._begun), best)
        self.alphas, self._node_of = (
            self.alphas[used],
            self._node_of[used],
        )  # together: an interruption must not part them
        self._size_pruned = max(_FEW, len(self._active), len(self.alphas))


@dataclass(frozen=True, eq=False)
class _Teeth:
    """Upper bounds at some beliefs, the points whose teeth they are, and the ratios."""

    values: FloatVector
    which: NDArray[np.int64]
    ratios: FloatVector


class _Supports:
    """Points without their zeros, in compressed rows that grow. The largest entries come first,
    since other beliefs most likely have too little there."""

    def __init__(self) -> None:
        self.row_ptr = np.zeros(65, dtype=np.int64)
        self.places, self.weights = np.zeros(1024, dtype=np.int64), np.zeros(1024)
        self._rows = 0

    def add(self, b: FloatVector) -> None:
        """Add one point."""
        if self._rows + 1 == len(self.row_ptr):
            self.row_ptr = np.concatenate([self.row_ptr, np.zeros_like(self.row_ptr)])
        order = np.argsort(-b, kind="stable")[: np.count_nonzero(b)]
        end = int(self.row_ptr[self._rows])
        while end + len(order) > len(self.places):
            self.places = np.concatenate([self.places, np.zeros_like(self.places)])
            self.weights = np.concatenate([self.weights, np.zeros_like(self.weights)])
        self.places[end : end + len(order)] = order
        self.weights[end : end + len(order)] = b[order]
        self._rows += 1
        self.row_ptr[self._rows] = end + len(order)


class _Links:
    """The dependence of each point's bound on other points. For each point and action there are a
    number and shares of other points' values, in compressed rows that grow."""

    def __init__(self, actions: int):
        self.base = np.zeros((64, actions))
        self.row_ptr = np.zeros(64 * actions + 1, dtype=np.int64)
        self.to, self.coef = np.zeros(1024, dtype=np.int64), np.zeros(1024)
        self._rows = self._points = 0

    def add(
        self, rewards: FloatVector, parts: list[tuple[float, NDArray[np.int64], FloatVector]]
    ) -> None:
        """Add the rows of one point."""
        if self._points == len(self.base):
            self.base = np.vstack([self.base, np.zeros_like(self.base)])
            more = np.zeros(len(self.row_ptr) - 1, dtype=np.int64)
            self.row_ptr = np.concatenate([self.row_ptr, more])
        for a, (base, to, coef) in enumerate(parts):
            end = int(self.row_ptr[self._rows])
            while end + len(to) > len(self.to):
                self.to = np.concatenate([self.to, np.zeros_like(self.to)])
                self.coef = np.concatenate([self.coef, np.zeros_like(self.coef)])
            self.to[end : end + len(to)], self.coef[end : end + len(to)] = to, coef
            self.base[self._points, a] = rewards[a] + base
            self._rows += 1
            self.row_ptr[self._rows] = end + len(to)
        self._points += 1

    def retarget(self, old: int, new: int) -> None:
        """Put one point in the place of another."""
        to = self.to[: int(self.row_ptr[self._rows])]
        to[to == old] = new


@dataclass(frozen=True, eq=False)
class _Look:
    """A one-step lookahead from a belief. It holds what follows each action, the bounds on its
    value, the best vector at each successor, and the sawtooth bounds above all of them."""

    after: list[tuple[NDArray[np.int64], FloatVector, NDArray[np.float64]]]
    low: FloatVector
    high: FloatVector
    best: list[NDArray[np.int64]]
    teeth: _Teeth
