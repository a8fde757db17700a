"""Fixed points of learning among blocks of greedy policies, in floats.

The tables q fall into cells, one for each greedy policy g: |A|^rows of them, where a row is an
observation that some behaviour sees. In a cell behaviour and weights do not change, so that its
candidate for a fixed point is one table (`learned_values`), and g is a fixed point iff

    d(g) = max_{o, a} [ q_g(o, a) - q_g(o, g(o)) ] <= 0.

A block of cells is a batch of dense linear systems. Each d(g) comes with a bound on its error, so
that d(g) > bound refutes a cell for certain: with the residual rho of d = mu + P_b^T d and h the
expected number of steps to the end,

    |d - computed|_1 <= |rho|_1 max h
    |P(.|o) - computed|_1 <= 2 delta / (weight of o - delta) = eta
    |v - computed|   <= |(I - K)^-1| ( |residual| + eta (what the largest sum adds up) )

and rounding of every sum is added as (its length) times the unit of floats times its absolute sum.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import TooLarge
from workbench.core.fields import FLOATS, dynamics
from workbench.core.learners import Target
from workbench.core.numbers import to_float
from workbench.core.policy import uniform
from workbench.core.pomdp import POMDP
from workbench.core.rows import own_rows
from workbench.equilibrium.learned_values import deciding_rows
from workbench.optima.symmetry import Interchangeable, interchangeable

Floats = NDArray[np.float64]

_NUMBERS_A_BLOCK = 4_000_000
MOST_DENSE = 400
"""Products with more states than this that are not terminal are not looked at in blocks."""


@dataclass(frozen=True, eq=False)
class PolicyBlock:
    """What a block of cells leads to.

    Attributes
    ----------
    q : `q[cell, row, a]`; bound : `bound[cell]`, on the error of any difference of two entries.
    worst : `worst[cell]`, d(g); row, better : where it is taken, the row and the better action.
    """

    q: Floats
    bound: Floats
    worst: Floats
    row: NDArray[np.int64]
    better: NDArray[np.int64]


class DenseTask:
    """A POMDP as dense arrays over the states that are not terminal and the rows that matter."""

    def __init__(self, P: POMDP, target: Target, epsilon: float, most: int = MOST_DENSE):
        self.P, self.target, self.epsilon = P, target, epsilon
        self.rows = deciding_rows(P)
        alive = np.flatnonzero(~P.terminal.mask)
        if len(alive) > most:
            raise TooLarge(
                f"{P.name} has {len(alive):,} states that are not terminal, and its greedy "
                f"policies are looked at only up to {most:,}. Take a smaller memory"
            )
        nS, nA = len(P.S), len(P.A)
        outcome = own_rows(P.p.row_ptr)
        T, R = np.zeros((nS * nA, nS)), np.zeros(nS * nA)
        np.add.at(T, (outcome, P.p.s_next), P.p.prob.floats)
        np.add.at(R, outcome, P.p.prob.floats * P.p.r.floats)
        W = np.zeros((nS, len(P.O)))
        W[P.omega.s, P.omega.o] = P.omega.prob.floats
        self.states = alive
        self.T = np.ascontiguousarray(T.reshape(nS, nA, nS)[alive][:, :, alive])
        self.R, self.W = R.reshape(nS, nA)[alive], W[alive][:, self.rows]
        self.mu = P.mu.prob.floats[alive]
        self.gamma = to_float(P.gamma)
        self.nA = nA

    @cached_property
    def ends(self) -> bool:
        """Whether episodes surely end under every behaviour that takes every action. Only then the
        weights are expected visits, which is what blocks compute."""
        chain = dynamics(self.P, FLOATS).follow(uniform(self.P).prob.floats)
        return not bool((chain.visited & chain.stuck).any())

    @property
    def cells(self) -> int:
        """How many greedy policies there are."""
        return self.nA ** len(self.rows)

    def block_size(self) -> int:
        n = len(self.mu)
        wide = 1 if self.target.is_one_step else n
        table = len(self.rows) * self.nA * max(len(self.rows), wide)
        return max(1, _NUMBERS_A_BLOCK // (n * n + n * self.nA + table))

    def greedy(self, actions: NDArray[np.int64]) -> Floats:
        """The policies `[cell, row, a]` of greedy actions."""
        return np.eye(self.nA)[actions]

    def look_at(self, actions: NDArray[np.int64]) -> PolicyBlock:
        """Look at a block of cells."""
        g = self.greedy(actions)
        q, bound = self.values(g)
        own = np.take_along_axis(q, actions[:, :, None], axis=2)
        over = q - own
        flat = over.reshape(len(over), -1)
        place = np.argmax(flat, axis=1)
        return PolicyBlock(
            q=q,
            bound=bound,
            worst=np.take_along_axis(flat, place[:, None], axis=1)[:, 0],
            row=place // self.nA,
            better=place % self.nA,
        )

    def shares(self, b: Floats) -> tuple[Floats, Floats, Floats]:
        """P(s|o), the weight of each row and |P(.|o) - computed|_1, for behaviours `b[cell]`."""
        n, eye = len(self.mu), np.eye(len(self.mu))
        acts = np.einsum("so,coa->csa", self.W, b)
        step = np.einsum("csa,sat->cst", acts, self.T)
        back = eye - step.transpose(0, 2, 1)
        d = _solved(back, np.broadcast_to(self.mu[:, None], (len(b), n, 1)))[:, :, 0]
        h = _solved(eye - step, np.ones((len(b), n, 1)))[:, :, 0]
        slack = (h - np.einsum("cst,ct->cs", step, h)).min(axis=1)
        left = self.mu + np.einsum("cst,cs->ct", step, d) - d
        unit = 4 * (n + self.nA + b.shape[1]) * np.finfo(float).eps
        off = np.abs(left).sum(axis=1) + unit * (1 + 2 * np.abs(d).sum(axis=1))
        with np.errstate(divide="ignore", invalid="ignore"):
            delta = off * np.where(slack > 0.5, 2 * h.max(axis=1), np.inf)
            weighed = d[:, :, None] * self.W
            total = weighed.sum(axis=1)
            share = weighed / total[:, None, :]
            rest = total - delta[:, None]
            eta = np.where(rest > 0, 2 * delta[:, None] / rest, np.inf) + unit
        return share, total, eta

    def values(self, g: Floats) -> tuple[Floats, Floats]:
        """q `[cell, row, a]` of the (mixtures of) greedy policies `g[cell, row, a]`, and the bound.

        q = alone + through v, and w, what a target counts after its first step, is a sum of rewards
        and of v with weights of at most one together. With w off by `blur` for the computed v,

            |v - computed| <= |(I - target through)^-1| ( |residual| + eta size + gamma blur )
        """
        b = self.behaviours(g)
        target = g if self.target.greedy else b
        share, _, eta = self.shares(b)
        alone, through = self.after(b)
        first, then = self._tables(share, alone, through)
        r, M = np.einsum("coa,coa->co", target, first), np.einsum("coa,coap->cop", target, then)
        n = M.shape[1]
        with np.errstate(all="ignore"):
            system = np.stack([r, np.ones_like(r)], axis=2)
            v, h = np.moveaxis(_solved(np.eye(n) - M, system), 2, 0)
            q = first + np.einsum("coap,cp->coa", then, v)
            w = alone + np.einsum("cso,co->cs", through, v)
            unit = 4 * (len(self.mu) + self.nA + n) * np.finfo(float).eps
            size = np.abs(w).max(axis=1) + np.abs(v).max(axis=1) + np.abs(alone).max(axis=1)
            size += self.target.n * np.abs(self.R).max()  # at least the largest partial sum
            blur = self._blur(b, v, w, unit * size)
            left = np.abs(r + np.einsum("cop,cp->co", M, v) - v).max(axis=1)
            missed = eta.max(axis=1) * size + unit * size + self.gamma * blur
            bound = 2 * (missed + self.gamma * _bound_inverse(M, h) * (left + missed))
        return q, np.where(np.isfinite(bound), bound, np.inf)

    def _tables(self, share: Floats, alone: Floats, through: Floats) -> tuple[Floats, Floats]:
        """The parts of q = (alone) + (through) v: `[cell, row, a]` and `[cell, row, a, row']`."""
        if self.target.is_one_step:  # what follows is the same for all cells
            then = self.gamma * np.einsum("sat,tp->sap", self.T, self.W)
            first = np.einsum("cso,sa->coa", share, self.R)
            return first, np.einsum("cso,sap->coap", share, then)
        state = self.R + self.gamma * np.einsum("sat,ct->csa", self.T, alone)
        moves = self.gamma * np.einsum("cso,sat->coat", share, self.T)
        first = np.einsum("cso,csa->coa", share, state)
        return first, np.einsum("coat,ctp->coap", moves, through, optimize=True)

    def behaviours(self, g: Floats) -> Floats:
        """What the learner does that is greedy in `g[cell, row, a]`."""
        return (1 - self.epsilon) * g + self.epsilon / self.nA

    def after(self, b: Floats) -> tuple[Floats, Floats]:
        """The part w(s) of a target after its first time step, as (alone) + (through) v. See
        `td`."""
        n, nO = len(self.mu), b.shape[1]
        alone, through = np.zeros((len(b), n)), np.broadcast_to(self.W, (len(b), n, nO))
        if self.target.is_one_step:
            return alone, through
        acts = np.einsum("so,coa->csa", self.W, b)
        step = self.gamma * np.einsum("csa,sat->cst", acts, self.T)
        r = np.einsum("csa,sa->cs", acts, self.R)
        if self.target.n > 1:
            for _ in range(self.target.n - 1):
                alone = r + np.einsum("cst,ct->cs", step, alone)
                through = step @ through
            return alone, through
        lam = to_float(self.target.lam)
        right = np.concatenate([lam * r[:, :, None], (1 - lam) * through], axis=2)
        solved = _solved(np.eye(n) - lam * step, right)
        return solved[:, :, 0], solved[:, :, 1:]

    def affine(self, g: Floats) -> tuple[Floats, Floats]:
        """The mean field inside one cell as dq/dt = A q + c. q is flat over (row, a), and one unit
        of time is 1 / step time steps of the learner.

        q(o,a) moves towards its target at the share of steps that are spent in (o, a).
        """
        b = self.behaviours(g)[None]
        share, total, _ = self.shares(b)
        first, then = self._tables(share, *self.after(b))
        target = g if self.target.greedy else b[0]
        mix = (np.eye(len(g))[:, :, None] * target).reshape(len(g), -1)
        rate = ((total[0] / total[0].sum())[:, None] * b[0]).ravel()
        A = rate[:, None] * (then[0].reshape(-1, len(g)) @ mix - np.eye(g.size))
        return A, rate * first[0].ravel()

    def _blur(self, b: Floats, v: Floats, w: Floats, rounding: Floats) -> Floats:
        """How far w may be from what v leads to."""
        if self.target.n > 1 or self.target.is_one_step:
            return self.target.n * rounding  # n sums, one on top of the other
        acts = np.einsum("so,coa->csa", self.W, b)
        step = self.gamma * np.einsum("csa,sat->cst", acts, self.T)
        lam, ones = to_float(self.target.lam), np.ones((*w.shape, 1))
        r = np.einsum("csa,sa->cs", acts, self.R)
        seen = np.einsum("so,co->cs", self.W, v)
        left = lam * r + (1 - lam) * seen + lam * np.einsum("cst,ct->cs", step, w) - w
        h = _solved(np.eye(w.shape[1]) - lam * step, ones)[:, :, 0]
        found: Floats = _bound_inverse(lam * step, h) * (np.abs(left).max(axis=1) + rounding)
        return found


def _bound_inverse(M: Floats, h: Floats) -> Floats:
    """A bound on the row sums of (I - M)^-1 for M >= 0. It comes from h close to (I - M)^-1 1. It
    is infinite where h does not show one."""
    slack = (h - np.einsum("cst,ct->cs", M, h)).min(axis=1)
    return np.where((slack > 0.5) & (h.min(axis=1) > 0), 2 * h.max(axis=1), np.inf)


def _solved(system: Floats, right: Floats) -> Floats:
    """Solutions of a batch of systems, NaN for the singular ones."""
    try:
        return np.asarray(np.linalg.solve(system, right), dtype=np.float64)
    except np.linalg.LinAlgError:
        found = np.full(right.shape, np.nan)
        for i in range(len(system)):
            try:
                found[i] = np.linalg.solve(system[i], right[i])
            except np.linalg.LinAlgError:
                continue
        return found


def representatives(
    P: POMDP, rows: NDArray[np.int64], symmetry: bool = True
) -> Iterator[NDArray[np.int64]]:
    """Greedy actions `[row]`, at least one for each class of cells under permutations of memory
    states. Without symmetry, all."""
    exchange = interchangeable(P) if symmetry else None
    choice = np.full(len(P.O), -1, dtype=np.int64)
    yield from _extended(P, rows, 0, choice, exchange)


def _extended(
    P: POMDP,
    rows: NDArray[np.int64],
    depth: int,
    choice: NDArray[np.int64],
    symmetry: Interchangeable | None,
) -> Iterator[NDArray[np.int64]]:
    if depth == len(rows):
        yield choice[rows]
        return
    o = int(rows[depth])
    worth = range(len(P.A))
    tried = worth if symmetry is None else np.flatnonzero(symmetry.worth_trying(choice, o)).tolist()
    for a in tried:
        choice[o] = a
        yield from _extended(P, rows, depth + 1, choice, symmetry)
    choice[o] = -1


def blocks(
    P: POMDP, rows: NDArray[np.int64], size: int, symmetry: bool = True
) -> Iterator[NDArray[np.int64]]:
    """The representatives, `size` at a time."""
    left = representatives(P, rows, symmetry)
    while held := list(islice(left, size)):
        yield np.array(held)
