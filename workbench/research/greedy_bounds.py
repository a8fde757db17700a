"""Bounds over many greedy policies at once: which actions can be greedy at a fixed point at all?

Let D(o) be the actions that are still possible in row o. Behaviours are b = epsilon-greedy of g
with g(o) in D(o), and a learner of one-step targets at a fixed point has

    q(o,a) = sum_s P_b(s|o) [ R(s,a) + gamma sum_{o'} K(o'|s,a) v(o') ],      v(o) = max_a q(o,a)

(Sarsa: v(o) = (1 - epsilon) max_a q(o,a) + epsilon mean_a q(o,a)). Everything is bounded over all
these b, and over the larger set of those that choose in each state by itself, which is an MDP:

    shares    the largest P_b(s|o) is the least x with  max_b sum_{s'} d_b(s') omega(o|s')
                                                        (1{s' = s} - x) <= 0
    values    v_low <= v <= v_high by repeated backups, the worst and the best shares in each
    actions   a in D(o) cannot be greedy if some a' is better: with delta(s) the least lead of a'
              over a in s,  min_b sum_s d_b(s) omega(o|s) delta(s) > 0   (no quotient is needed)

and what cannot be greedy leaves D(o), until nothing more does. A row without actions means that
there is no fixed point with greedy actions in D.

All of it is in floats and holds for certain: an optimum of an MDP is found by policy iteration and
then enlarged by its residual times the expected number of steps, and sums by their rounding.

A walk. Rows are decided one after the other: D(o) narrowed is nothing (the branch is done), few
policies (they are listed, for somebody to look at), or many; then the row that is visited most is
decided, one branch for each of its actions. What is in no branch that is still open is covered, so
that a search that runs out of its budget can tell how much it knows.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import product

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import WorkbenchError
from workbench.equilibrium.greedy_cells import DenseTask, Floats
from workbench.equilibrium.learned_values import deciding_states

Domains = NDArray[np.bool_]
"""`domains[row, a]`: whether a is still possible there."""

_NUMBERS_AT_ONCE = 4_000_000
_MOST_ROUNDS = 60
_MOST_SWEEPS = 400
_CHALLENGERS = 3
MOST_SHARED = 250
"""With more states than this, shares are bounded by 0 and 1: MDPs would take too long."""


@dataclass(frozen=True, eq=False)
class ValueBounds:
    """Bounds on v at every fixed point, by row."""

    low: Floats
    high: Floats


class GreedyBounds:
    """Bounds for one task that rule out greedy policies. Call `narrow`."""

    def __init__(self, task: DenseTask):
        if not task.target.is_one_step:
            raise WorkbenchError("bounds over many policies are for one-step targets")
        if not task.ends or not task.epsilon > 0:
            raise WorkbenchError(
                "bounds over many policies need episodes that end and an epsilon above 0"
            )
        self.task = task
        self.kept = kept = _reached(task)
        self.T = np.ascontiguousarray(task.T[kept][:, :, kept])
        self.R, self.W, self.mu = task.R[kept], task.W[kept], task.mu[kept]
        self.n, self.nA = self.R.shape
        self.epsilon, self.gamma = task.epsilon, task.gamma
        self.K = np.einsum("sat,to->sao", self.T, self.W)
        self.pair_s, self.pair_o = np.nonzero(self.W)
        self.pair_w = self.W[self.pair_s, self.pair_o]
        states = [np.flatnonzero(self.W[:, o]) for o in range(self.W.shape[1])]
        widest = max(map(len, states))
        self.behind = np.array([np.resize(s, widest) for s in states])
        self.is_behind = np.arange(widest) < np.array([[len(s)] for s in states])
        self.unit = 8 * (self.n + self.nA + self.W.shape[1]) * float(np.finfo(float).eps)
        self.uses_shares = self.n <= MOST_SHARED and bool(np.isfinite(self.steps).all())

    # ------------------------------------------------------------------ MDPs

    @cached_property
    def steps(self) -> Floats:
        """More than the expected number of steps from each state, under every behaviour."""
        everything = np.ones((self.W.shape[1], self.nA), dtype=bool)
        h = self.iterate(np.ones((1, self.n)), everything)
        slack = h - self.backed_up(h, everything)
        if not slack.min() > 0.5:
            return np.full(self.n, np.inf)
        return 2 * h[0]

    def most(self, r: Floats, domains: Domains) -> Floats:
        """An upper bound on max_b sum_s d_b(s) r[k, s], for each k."""
        found = np.empty(len(r))
        size = max(1, _NUMBERS_AT_ONCE // self.n**2)
        for k in range(0, len(r), size):
            part = r[k : k + size]
            U = self.iterate(part, domains)
            left = (part + self.backed_up(U, domains) - U).max(axis=1)
            off = np.maximum(left, 0) + self.unit * (np.abs(part) + np.abs(U)).max(axis=1)
            found[k : k + size] = U @ self.mu + off * float(self.steps @ self.mu)
            found[k : k + size] += self.unit * (np.abs(U) @ self.mu)
        return found

    def _lead(self, U: Floats, domains: Domains) -> tuple[Floats, Floats]:
        """What follows each action, `[k, s, a]`, and `[k, pair, a]` with -inf for what is out."""
        then = np.einsum("sat,kt->ksa", self.T, U, optimize=True)
        return then, np.where(domains[self.pair_o], then[:, self.pair_s], -np.inf)

    def backed_up(self, U: Floats, domains: Domains) -> Floats:
        """max over the behaviours of P_b U."""
        then, allowed = self._lead(U, domains)
        mixed = self.epsilon * then.mean(axis=2) * self.W.sum(axis=1)
        best = np.zeros_like(mixed)
        np.add.at(best.T, self.pair_s, (self.pair_w * allowed.max(axis=2)).T)
        return np.asarray(mixed + (1 - self.epsilon) * best)

    @cached_property
    def _mean(self) -> Floats:
        """What exploration adds to the chain of every behaviour."""
        return np.asarray(self.T.mean(axis=1) * (self.epsilon * self.W.sum(axis=1))[:, None])

    def _chain(self, choice: NDArray[np.int64]) -> Floats:
        """P_b `[k, s, s']` of the behaviours with the greedy actions `choice[k, pair]`."""
        chosen = self.T[self.pair_s, choice] * ((1 - self.epsilon) * self.pair_w)[:, None]
        if len(self.pair_s) == self.n:  # one observation in each state
            return np.asarray(self._mean + chosen)
        step = np.broadcast_to(self._mean, (len(choice), self.n, self.n)).copy()
        np.add.at(step.transpose(1, 0, 2), self.pair_s, chosen.transpose(1, 0, 2))
        return step

    def iterate(self, r: Floats, domains: Domains) -> Floats:
        """Policy iteration, a batch of rewards at once: values of good behaviours, `[k, s]`."""
        choice = np.broadcast_to(
            domains.argmax(axis=1)[self.pair_o], (len(r), len(self.pair_s))
        ).copy()
        U: Floats = np.zeros_like(r)
        for _ in range(_MOST_ROUNDS):
            step = self._chain(choice)
            U = np.asarray(np.linalg.solve(np.eye(self.n) - step, r[:, :, None])[:, :, 0])
            _, allowed = self._lead(U, domains)
            own = np.take_along_axis(allowed, choice[:, :, None], axis=2)[:, :, 0]
            better = allowed.max(axis=2) > own + 1e-9 * (1 + np.abs(own))
            if not better.any():
                break
            choice = np.where(better, allowed.argmax(axis=2), choice)
        return np.asarray(U, dtype=np.float64)

    # ------------------------------------------------------------------ shares

    def shares(self, domains: Domains) -> tuple[Floats, Floats]:
        """Bounds `[s, row]` on P_b(s|o) over all behaviours."""
        low, high = np.zeros_like(self.W), np.where(self.W > 0, 1.0, 0.0)
        alone = self.is_behind.sum(axis=1) == 1
        low[:, alone] = high[:, alone]
        if not self.uses_shares:
            return low, high
        open_pairs = np.flatnonzero(~alone[self.pair_o])
        if len(open_pairs):
            s, o = self.pair_s[open_pairs], self.pair_o[open_pairs]
            high[s, o] = self._largest(s, o, domains, sign=1.0)
            low[s, o] = 1 - self._largest(s, o, domains, sign=-1.0)
        return np.clip(low, 0, 1), np.clip(high, 0, 1)

    def _largest(
        self, s: NDArray[np.int64], o: NDArray[np.int64], domains: Domains, sign: float
    ) -> Floats:
        """The largest share of s (sign 1) or of the other states (sign -1) behind o, for each
        pair."""
        weight = self.W.T[o]  # [k, s']
        inside = np.zeros_like(weight)
        inside[np.arange(len(s)), s] = weight[np.arange(len(s)), s]
        if sign < 0:
            inside = weight - inside
        x = np.zeros(len(s))
        sure = np.ones(len(s))
        for _ in range(8):  # Dinkelbach's steps: the optimal behaviour's own share is the next x
            U = self._visits_of_best(inside - x[:, None] * weight, domains)
            total = np.einsum("ks,ks->k", U, weight)
            share = np.einsum("ks,ks->k", U, inside) / np.where(total > 0, total, 1.0)
            if not (share > x + 1e-9).any():
                break
            x = np.maximum(x, share)
        for slack in (1e-7, 1e-5, 1e-3, 1e-2, 1e-1):
            ask = np.flatnonzero((sure == 1.0) & (x + slack < 1))
            if not len(ask):
                break
            tried = x[ask] + slack
            holds = self.most(inside[ask] - tried[:, None] * weight[ask], domains) <= 0
            sure[ask[holds]] = tried[holds]
        return sure

    def _visits_of_best(self, r: Floats, domains: Domains) -> Floats:
        """The expected visits `[k, s]` of a behaviour that is best for each r[k]."""
        found = np.empty_like(r)
        size = max(1, _NUMBERS_AT_ONCE // self.n**2)
        for k in range(0, len(r), size):
            part = r[k : k + size]
            U = self.iterate(part, domains)
            step = self._chain(self._lead(U, domains)[1].argmax(axis=2))
            back = np.eye(self.n) - step.transpose(0, 2, 1)
            start = np.broadcast_to(self.mu[:, None], (len(part), self.n, 1))
            found[k : k + size] = np.linalg.solve(back, start)[:, :, 0]
        return found

    # ------------------------------------------------------------------ values

    def values(self, domains: Domains, low: Floats, high: Floats) -> ValueBounds:
        """Bounds on v at every fixed point, given bounds on the shares."""
        bottom, top = value_range(self.task)
        rows = len(self.behind)
        v = ValueBounds(np.full(rows, bottom), np.full(rows, top))
        if not np.isfinite([bottom, top]).all():
            return v
        shares = self.by_row(low), self.by_row(high)
        for sweep in range(_MOST_SWEEPS):
            up, down = self.backups(domains, *shares, v)
            wide = self.unit * (np.abs(self.R).max() + np.abs(up) + np.abs(down))
            new = ValueBounds(np.maximum(v.low, down - wide), np.minimum(v.high, up + wide))
            moved = max((v.high - new.high).max(), (new.low - v.low).max())
            v = new
            if sweep and moved < 1e-7 * (1 + np.abs(v.high).max()):
                break
        return v

    def by_row(self, x: Floats) -> Floats:
        """x[s, row] as [row, k] over the states behind each row, 0 where there are fewer."""
        return np.where(self.is_behind, x[self.behind, np.arange(len(self.behind))[:, None]], 0.0)

    def backups(
        self, domains: Domains, low: Floats, high: Floats, v: ValueBounds
    ) -> tuple[Floats, Floats]:
        """Upper and lower bounds on v after one backup of bounds on it. Shares are by row."""
        ceiling = (self.R + self.gamma * self.K @ v.high)[self.behind]
        floor = (self.R + self.gamma * self.K @ v.low)[self.behind]
        most, least = extreme(ceiling, low, high), -extreme(-floor, low, high)
        best, sure = np.where(domains, most, -np.inf).max(axis=1), least.max(axis=1)
        if self.task.target.greedy:
            return best, sure
        return (
            (1 - self.epsilon) * best + self.epsilon * most.mean(axis=1),
            (1 - self.epsilon) * sure + self.epsilon * least.mean(axis=1),
        )

    # ------------------------------------------------------------------ actions

    def narrow(self, domains: Domains) -> Domains | None:
        """Remove the actions that cannot be greedy. None if some row has none left, so that no
        fixed point has its greedy actions in `domains`."""
        domains = domains.copy()
        while True:
            low, high = self.shares(domains)
            before = int(domains.sum())
            while True:
                v = self.values(domains, low, high)
                if not np.isfinite([v.low, v.high]).all():
                    return domains
                here = int(domains.sum())
                waiting = self._by_shares(domains, low, high, v)
                if not domains.any(axis=1).all():
                    return None
                if int(domains.sum()) == here:
                    break
            if self.uses_shares:
                self._by_visits(domains, waiting)
                if not domains.any(axis=1).all():
                    return None
            if int(domains.sum()) == before:
                return domains

    def _by_shares(
        self, domains: Domains, low: Floats, high: Floats, v: ValueBounds
    ) -> list[tuple[int, int, Floats]]:
        """Remove the actions that bounds on the shares refute. Returns the leads
        `(row, action, delta[s])` that stay open."""
        waiting: list[tuple[int, int, Floats]] = []
        R, K = self.R[self.behind], self.K[self.behind]  # [row, k, a], [row, k, a, row']
        low, high = self.by_row(low), self.by_row(high)
        blur = self.unit * (np.abs(self.R).max() + np.abs(v.low).max() + np.abs(v.high).max())
        refuted = np.zeros_like(domains)
        for a in range(self.nA):
            rows = np.flatnonzero(domains[:, a])
            change = K[rows] - K[rows][:, :, [a]]
            lead = R[rows] - R[rows][:, :, [a]] - blur
            lead += self.gamma * (np.maximum(change, 0) @ v.low + np.minimum(change, 0) @ v.high)
            lead[:, :, a] = -1.0
            least = -extreme(-lead, low[rows], high[rows])
            refuted[rows, a] = least.max(axis=1) > 0
            if not self.uses_shares:
                continue
            for i in np.flatnonzero(~refuted[rows, a]).tolist():
                o, real = int(rows[i]), self.is_behind[rows[i]]
                hopeful = np.flatnonzero(lead[i][real].max(axis=0) > 0)
                for other in hopeful[np.argsort(-least[i, hopeful])][:_CHALLENGERS].tolist():
                    s, delta = self.behind[o][real], np.zeros(self.n)
                    delta[s] = self.W[s, o] * lead[i][real][:, other]
                    waiting.append((o, a, delta))
        domains &= ~refuted
        return waiting

    def _by_visits(self, domains: Domains, waiting: list[tuple[int, int, Floats]]) -> None:
        """Take out what is refuted for every behaviour."""
        if waiting:
            sure = self.most(-np.array([delta for _, _, delta in waiting]), domains) < 0
            for (o, a, _), holds in zip(waiting, sure.tolist(), strict=True):
                if holds:
                    domains[o, a] = False


def value_range(task: DenseTask) -> tuple[float, float]:
    """Two numbers between which v lies at every fixed point, whatever the behaviour is. They are
    infinite where gamma is 1 and rewards are paid before the end, or where a policy may never end.

    c is an upper one if R + gamma P(goes on) c <= c in all states and for all actions, and nothing
    goes on for ever without loss.
    """
    if task.gamma == 1 and _goes_round(task):
        return -np.inf, np.inf
    unit = 8 * (len(task.mu) + task.nA) * float(np.finfo(float).eps)
    rest = 1 - task.gamma * task.T.sum(axis=2)
    closed = rest <= unit
    if (closed & (task.R != 0)).any():
        return -np.inf, np.inf
    ratio = task.R[~closed] / rest[~closed]
    low, high = float(ratio.min(initial=0.0)), float(ratio.max(initial=0.0))
    wide = unit * (1 + abs(low) + abs(high))
    return low - wide, high + wide


def extreme(y: Floats, low: Floats, high: Floats) -> Floats:
    """The largest sum_k w(k) y(k, a) over weights low <= w <= high with sum 1. Arrays are
    `y[row, k, a]`, `low[row, k]`, `high[row, k]`.

    >>> extreme(np.array([[[1.0], [0.0]]]), np.array([[0.1, 0.2]]), np.array([[0.7, 0.9]]))
    array([[0.7]])
    """
    order = np.argsort(-y, axis=1)
    room = np.take_along_axis((high - low)[:, :, None] + 0 * y, order, axis=1)
    spare = np.maximum(1 - low.sum(axis=1), 0.0)[:, None, None]
    extra = np.clip(spare - (np.cumsum(room, axis=1) - room), 0, room)
    more = np.einsum("oka,oka->oa", extra, np.take_along_axis(y, order, axis=1))
    return np.asarray(np.einsum("ok,oka->oa", low, y) + more)


def _goes_round(task: DenseTask) -> bool:
    """Whether some policy comes back to a state, of those that some behaviour reaches."""
    kept = _reached(task)
    leads = task.T[kept][:, :, kept].max(axis=1) > 0
    left = np.ones(len(kept), dtype=bool)
    while left.any():
        last = left & ~(leads & left).any(axis=1)
        if not last.any():
            return True
        left &= ~last
    return False


def _reached(task: DenseTask) -> NDArray[np.int64]:
    """The states that some behaviour reaches."""
    return np.flatnonzero(deciding_states(task.P)[task.states])


# ---------------------------------------------------------------------- the walk

MOST_LISTED_AT_ONCE = 1_024
"""Branches with no more policies than this are listed."""


class GreedyTree:
    """A walk through the tree of greedy policies. `lists` yields the policies that bounds leave.

    Attributes
    ----------
    nodes : how many nodes were looked at so far; open : how many policies lie in branches that were
        not, all when it begins and 0 at the end.
    """

    def __init__(self, task: DenseTask):
        self.task, self.bounds = task, GreedyBounds(task)
        self.waiting = [np.ones((len(task.rows), task.nA), dtype=bool)]
        self.nodes = 0
        self.cells = task.cells

    @property
    def open(self) -> int:
        return sum(map(count_choices, self.waiting))

    def lists(self, most_nodes: int, until: float = math.inf) -> Iterator[NDArray[np.int64]]:
        """Yield the greedy actions `[cell, row]` of small branches. The walk ends after so many
        nodes, or when the clock passes `until`. If nothing stays open, every fixed point is among
        them."""
        while self.waiting and self.nodes < most_nodes and time.monotonic() <= until:
            node = self.waiting.pop()
            self.nodes += 1
            domains = self.bounds.narrow(node)
            if domains is None:
                continue
            if count_choices(domains) <= MOST_LISTED_AT_ONCE:
                yield np.array(list(product(*map(np.flatnonzero, domains))), dtype=np.int64)
                continue
            row = branching_row(self.task, domains)
            for a in np.flatnonzero(domains[row]).tolist():
                child = domains.copy()
                child[row] = np.arange(self.task.nA) == a
                self.waiting.append(child)


def branching_row(task: DenseTask, domains: Domains) -> int:
    """The next row to decide. Of those with several actions it is the one visited most under the
    behaviour that takes what is left."""
    b = domains / domains.sum(axis=1, keepdims=True)
    b = (1 - task.epsilon) * b + task.epsilon / task.nA
    _, total, _ = task.shares(b[None])
    return int(np.where(domains.sum(axis=1) > 1, total[0], -1.0).argmax())


def count_choices(domains: Domains) -> int:
    """How many greedy policies there are with these actions."""
    return math.prod(domains.sum(axis=1).tolist())
