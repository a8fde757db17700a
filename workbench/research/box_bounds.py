"""Bounds on the return over a box of stochastic policies. `policy_boxes` searches with them.

A box holds the policies with low(o,a) <= x(a|o) <= high(o,a). Every state chooses for itself within
the box: u >= T u with T u(s) = max_x sum_a x_a q_u(s,a) bounds the return. The rewards 1 and -1 in
one state bound the occupancy of that state in the same way.

Floats propose and are checked: u need not be the optimum of anything, with room for the rounding of
the check.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.core.kernels import compile_kernel
from workbench.core.rows import own_rows
from workbench.optima.mdp import MDP, Mask

TableArray = NDArray[np.float64]

_EPS = float(np.finfo(float).eps)

_ITERATIONS = 60
"""Of a policy in every state; what is found is checked, so that it need not be the best."""


class BoundedBox(NamedTuple):
    """No policy of a box is worth more than `bound`, which may be infinite. `value` is that of the
    centre, minus infinity if it is not defined; (o, a) is the row and the action to split by."""

    bound: float
    value: float
    o: int
    a: int


def fill(weight: TableArray, low: TableArray, high: TableArray) -> TableArray:
    """The x of each row of a box with the largest sum_a x_a weight_a: the largest weights first."""
    nA = weight.shape[-1]
    found = np.empty(weight.shape)
    fill_rows(weight.reshape(-1, nA), low, high, found.reshape(-1, nA))
    return found


@compile_kernel
def fill_rows(weight: Any, low: Any, high: Any, found: Any) -> None:
    """Fill rows, those of the box again and again, with the largest weights first, in place."""
    rows, nA = low.shape
    for i in range(len(weight)):
        o = i % rows
        left = 1.0
        for a in range(nA):
            found[i, a] = low[o, a]
            left -= low[o, a]
        order = np.argsort(-weight[i])
        for a in order:
            more = min(max(left, 0.0), high[o, a] - low[o, a])
            found[i, a] += more
            left -= more


def largest_mean(weight: TableArray, low: TableArray, high: TableArray) -> TableArray:
    """max of sum_a x_a weight_a over each row of a box."""
    return np.asarray((fill(weight, low, high) * weight).sum(axis=-1))


def tighten(low: TableArray, high: TableArray) -> None:
    """Cut a box down to what the simplex leaves of it, row by row, in place."""
    for _ in range(2):  # the first turn moves sides by which the second may move others
        others_low = low.sum(axis=1, keepdims=True) - low
        others_high = high.sum(axis=1, keepdims=True) - high
        np.minimum(high, 1.0 - others_low, out=high)
        np.maximum(low, np.maximum(1.0 - others_high, 0.0), out=low)
        np.maximum(high, low, out=high)


def centre(low: TableArray, high: TableArray) -> TableArray:
    """A point of the box whose rows sum to one."""
    room = (high - low).sum(axis=1, keepdims=True)
    left = 1.0 - low.sum(axis=1, keepdims=True)
    return np.asarray(low + (high - low) * (left / np.where(room > 0, room, np.inf)))


class ProcessBounds:
    """Bounds for boxes of the policies of one process.

    Attributes
    ----------
    T : `T[i, a, j]`, transition probabilities; R, sizes : `[i, a]`, rewards and expected |r|.
    """

    def __init__(self, M: MDP, observations: int):
        n, nA = M.shape
        self.n, self.nA, self.nO = n, nA, observations
        T = np.zeros((n * nA, n))
        np.add.at(T, (own_rows(M.row_ptr), M.successors), M.prob)
        self._rows = T
        self.T = T.reshape(n, nA, n)
        self.R, self.sizes = np.asarray(M.R, dtype=np.float64), np.asarray(M.sizes)
        self.gamma, self.start = float(M.gamma), np.asarray(M.start, dtype=np.float64)
        self.seen, self.ends = M.seen, M.ends
        self.units = 8.0 * (n + nA + 8) * _EPS

    @cached_property
    def _shows(self) -> TableArray:
        """`[o, i]`, 1 where a state shows o."""
        return np.asarray(self.seen == np.arange(self.nO)[:, None], dtype=np.float64)

    def after(self, v: TableArray) -> TableArray:
        """`[..., i, a]`: gamma sum_j p(j | i, a) v(j)."""
        return np.asarray(self.gamma * (v @ self._rows.T).reshape(*v.shape[:-1], self.n, self.nA))

    def _chain(self, acts: TableArray) -> TableArray:
        """I - gamma P of policies `acts[k, i, a]` that may act on the state."""
        P = np.matmul(acts.swapaxes(0, 1), self.T).swapaxes(0, 1)
        return np.asarray(np.eye(self.n) - self.gamma * P)

    def _sizes_of(self, sizes: TableArray, v: TableArray) -> TableArray:
        """`[..., i]`: the size of what is added up in T v - v."""
        return np.asarray((sizes + self.after(np.abs(v))).max(axis=-1) + np.abs(v))

    # ------------------------------------------------------------------ a choice in every state

    def _iterate(
        self, R: TableArray, low: TableArray, high: TableArray, acts: TableArray
    ) -> tuple[TableArray, TableArray]:
        """Policy iteration for rewards `R[k, i, a]`, each state choosing within its row of the box.
        It returns the values and the policies, NaN where a policy on the way has none."""
        for _ in range(_ITERATIONS):
            v = _solve(self._chain(acts), (acts * R).sum(axis=-1)[..., None])[..., 0]
            q = R + self.after(v)
            new = fill(q, low, high)
            old, more = (acts * q).sum(axis=-1), (new * q).sum(axis=-1)
            better = more > old + 1e-12 * (np.abs(more) + np.abs(old))
            if not better.any():
                break
            acts = np.where(better[..., None], new, acts)
        return v, acts

    def informed_values(
        self, R: TableArray, sizes: TableArray, low: TableArray, high: TableArray, pi: TableArray
    ) -> TableArray:
        """Upper bounds `v[k, i]` on the rewards `R[k]` collected from i on, with full information.
        Each state may choose for itself. They are infinite where they cannot be certified."""
        low, high = low[self.seen], high[self.seen]
        acts = np.broadcast_to(pi[self.seen], R.shape)
        v, acts = self._iterate(R, low, high, acts)
        if self.gamma < 1.0:
            # u + c is an upper solution if c (1 - gamma) is at least the excess of u
            worst = self._excess(R, sizes, low, high, v)
            v = v + (np.maximum(worst, 0.0) / (1.0 - self.gamma) * (1.0 + 1e-9))[:, None]
            return np.asarray(np.where(np.isfinite(worst)[:, None], v, np.inf))
        found = np.full(v.shape, np.inf)
        # raise the rewards by more than rounding does to them, and solve again; where episodes are
        # long, by more than the iteration can tell apart
        size = self._sizes_of(sizes, v)[..., None]
        for share in (4.0, 1e4, 1e8):
            v, acts = self._iterate(R + share * self.units * size, low, high, acts)
            fits = self._excess(R, sizes, low, high, v) <= 0.0
            found[fits] = np.minimum(found[fits], v[fits])
            if np.isfinite(found).all():
                break
        return found

    def _excess(
        self, R: TableArray, sizes: TableArray, low: TableArray, high: TableArray, v: TableArray
    ) -> TableArray:
        """The largest T v - v over the states, `[k]`, with an allowance for rounding. v is a bound
        if it is not positive, and the process is discounted or v is the value of a policy that
        ends."""
        here = largest_mean(R + self.after(v), low, high)
        return np.asarray((here + self.units * self._sizes_of(sizes, v) - v).max(axis=-1))

    def informed_bound(
        self, R: TableArray, sizes: TableArray, low: TableArray, high: TableArray, pi: TableArray
    ) -> TableArray:
        """`[k]`: no policy of the box is worth more from the start on, with the rewards `R[k]`."""
        v = self.informed_values(R, sizes, low, high, pi)
        met = self.start > 0.0
        start, v = self.start[met], v[:, met]
        return np.asarray(v @ start + self.units * (np.abs(v) @ start))

    def visits(
        self, low: TableArray, high: TableArray, pi: TableArray
    ) -> tuple[TableArray, TableArray]:
        """Enclose the occupancies of all policies of the box: that of s is a return, with reward 1
        in s."""
        one = np.zeros((self.n, self.n, self.nA))
        one[np.arange(self.n), np.arange(self.n)] = 1.0
        both = np.concatenate([one, -one])
        bound = self.informed_bound(both, np.abs(both), low, high, pi)
        return np.maximum(-bound[self.n :], 0.0), bound[: self.n]

    # ------------------------------------------------------------------ one box

    def bound_box(self, low: TableArray, high: TableArray) -> BoundedBox:
        """Bound a box by full information, and evaluate its centre."""
        pi = centre(low, high)
        bound = float(self.informed_bound(self.R[None], self.sizes[None], low, high, pi)[0])
        acts = pi[self.seen]
        A = self._chain(acts[None])[0]
        v = _solve(A, (acts * self.R).sum(axis=1)[:, None])[:, 0]
        d = _solve(A.T, self.start[:, None])[:, 0]
        if not (np.isfinite(v).all() and np.isfinite(d).all()):
            o, a = divmod(int(np.argmax(high - low)), self.nA)
            return BoundedBox(bound, -np.inf, o, a)
        advantage = self.R - v[:, None] + self.after(v)
        # split where width, visits and advantage leave most of the bound open; the small term keeps
        # rows alive that the centre does not visit
        score = self._shows @ ((np.abs(d) + 1e-9)[:, None] * np.abs(advantage)) * (high - low)
        o, a = divmod(int(np.argmax(score)), self.nA)
        return BoundedBox(bound, float(self.start @ v), o, a)

    def cut_traps(self, low: TableArray, high: TableArray) -> bool:
        """Cut off, in place, policies without a value at discount 1. They may come to where no
        policy of the box ends. False if none of the box is left.

        A state is a trap if no action that the box allows leads on to the end. An action that may
        lead into one from a state that every policy of the box may come to has probability zero.
        """
        leads = self.T > 0.0
        while True:
            allowed, forced = high[self.seen] > 0.0, low[self.seen] > 0.0
            safe = _closure(self.ends & allowed, leads & allowed[..., None])
            # met by every policy: by actions that none of the box can avoid
            met: Mask = self.start > 0.0
            step = np.asarray((leads & forced[..., None]).any(axis=1))
            while (more := met | step[met].any(axis=0)).sum() > met.sum():
                met = more
            if (met & ~safe).any():
                return False
            into = met[:, None] & allowed & leads[..., ~safe].any(axis=-1)
            if not into.any():
                return True
            if (into & forced).any():  # every policy of the box takes it, and none has a value
                return False
            i, a = np.nonzero(into)
            high[self.seen[i], a] = 0.0
            if (high.sum(axis=1) < 1.0 - 1e-12).any():
                return False
            tighten(low, high)


def _closure(ends: Mask, leads: Mask) -> Mask:
    """The states from which an end can be reached by the steps `leads[i, a, j]`."""
    safe = np.asarray(ends.any(axis=1))
    step = np.asarray(leads.any(axis=1))
    while (more := safe | step[:, safe].any(axis=1)).sum() > safe.sum():
        safe = more
    return safe


def _solve(A: TableArray, b: TableArray) -> TableArray:
    """Solve systems `A[k] x = b[k]`. NaN where A is singular."""
    try:
        return np.asarray(np.linalg.solve(A, b))
    except np.linalg.LinAlgError:
        if A.ndim == 2:
            return np.full(b.shape, np.nan)
        return np.array([_solve(one, side) for one, side in zip(A, b, strict=True)])
