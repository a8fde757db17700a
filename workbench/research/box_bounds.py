"""Bounds on the return over a box of stochastic policies. `policy_boxes` searches with them.

A box holds the policies with low(o,a) <= x(a|o) <= high(o,a). Let c be its centre, v and d the
values and the occupancy of c (any vectors next to them will do), and b(s,a) = R(s,a) + gamma sum p
v - v(s). Write x = c + delta for a policy of the box, d_x for its occupancy and D = d_x - d.

1.  Every state chooses for itself within the box: u >= T u with T u(s) = max_x sum_a x_a q_u(s,a).
    The rewards 1 and -1 in one state bound the occupancy d_x of that state in the same way, and the
    rewards b and -b bound v_x - v.
2.  Slope and curvature. Let w be linear in delta with w - gamma P_c w = b_x, that is w = sum_{o,a}
    W(., oa) delta(o,a). From D (I - gamma P_c) = gamma d_x (P_x - P_c) follows, without any error,

        J(x) = start . v + d . b_c + g . delta + delta' H delta + sum_s D(s) Q_s(delta),
        Q_s(delta) = sum_a delta(o,a) gamma sum_{s'} p(s'|s,a) w(s'),
        g(o,a) = sum_{s in o} d(s) b(s,a),          delta' H delta = sum_s d(s) Q_s(delta).

    The last sum is of third order: |D| and |Q| are bounded over the box. The quadratic form is
    bounded by a concave one: along eigenvectors with a positive eigenvalue the square is replaced
    by its chord over the box. A concave function lies below its tangent at any point, and the best
    point of a tangent is found row by row.

Floats propose and are checked: W and d need not be exact, what they leave of their equations is
added to the bound, with room for the rounding of that.
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


_MOST_STEPS = 400
"""Pairs of probabilities changed on the way to the top of a concave function; any point gives a
bound."""

_FEW = 40
"""States up to which occupancies are bounded, one process for each; slope and curvature need
them."""


class BoundedBox(NamedTuple):
    """No policy of a box is worth more than `bound`, which may be infinite.

    `value` is that of the centre, minus infinity if it is not defined; (o, a) is the row and the
    action to split by. `least` and `most` enclose the occupancies; `most` is infinite if nothing is
    known.
    """

    bound: float
    value: float
    o: int
    a: int
    least: TableArray
    most: TableArray


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

    def bound_box(self, low: TableArray, high: TableArray, target: float) -> BoundedBox:
        """Bound a box, and evaluate its centre. A bound below `target` is good enough; otherwise
        slope and curvature come in."""
        pi = centre(low, high)
        # the cheapest bound goes first: most boxes of a search end here
        bound = float(self.informed_bound(self.R[None], self.sizes[None], low, high, pi)[0])
        least, most = np.zeros(self.n), np.full(self.n, np.inf)
        acts = pi[self.seen]
        A = self._chain(acts[None])[0]
        v = _solve(A, (acts * self.R).sum(axis=1)[:, None])[:, 0]
        d = _solve(A.T, self.start[:, None])[:, 0]
        if not (np.isfinite(v).all() and np.isfinite(d).all()):
            o, a = divmod(int(np.argmax(high - low)), self.nA)
            return BoundedBox(bound, -np.inf, o, a, least, most)
        B = self.R - v[:, None] + self.after(v)
        # split where width, visits and advantage leave most of the bound open; the small term keeps
        # rows alive that the centre does not visit
        score = self._shows @ ((np.abs(d) + 1e-9)[:, None] * np.abs(B)) * (high - low)
        o, a = divmod(int(np.argmax(score)), self.nA)
        if bound > target and self.n <= _FEW:
            least, most = self.visits(low, high, pi)
            if np.isfinite(most).all():
                curve = _Curve(self, low, high, pi, A, v, d, B, least, most)
                bound = min(bound, curve.bound())
        return BoundedBox(bound, float(self.start @ v), o, a, least, most)

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


class _Curve:
    """Slope and curvature of the return over one box. Names are those of the module's head.

    `away` bounds |D|, `open_` and `loose` what W and d leave of their equations, `third` all that
    is not in g and H.
    """

    def __init__(
        self,
        process: ProcessBounds,
        low: TableArray,
        high: TableArray,
        pi: TableArray,
        A: TableArray,
        v: TableArray,
        d: TableArray,
        B: TableArray,
        least: TableArray,
        most: TableArray,
    ):
        self.process, self.low, self.high, self.pi = process, low, high, pi
        self.A, self.v, self.d, self.B = A, v, d, B
        n, nA, nO, seen = process.n, process.nA, process.nO, process.seen
        k = nO * nA
        self.units = units = 16.0 * (n + k + 16) * _EPS
        self.size = process._sizes_of(process.sizes, v)
        self.reach = np.where(high > low, np.maximum(np.maximum(high - pi, pi - low), 0.0), 0.0)
        self.free = self.reach > 0.0
        free = self.free[seen]
        table = np.zeros((n, nO, nA))
        table[np.arange(n), seen] = np.where(free, B, 0.0)
        columns = table.reshape(n, k)
        W = _solve(A, columns)
        self.solved = bool(np.isfinite(W).all())
        self.widest = np.abs(W).max(axis=0)
        self.open_ = np.abs(columns - A @ W) + units * (np.abs(columns) + 3.0 * self.widest)
        # gamma d P is of the size of d where it comes from
        self.loose = np.abs(process.start - d @ A) + units * (
            process.start + 2.0 * np.abs(d) + np.abs(d) @ np.abs(A)
        )
        self.away = np.maximum(np.maximum(most - d, d - least), 0.0) * (1.0 + units)
        K = np.moveaxis(process.after(W.T), 0, 2)
        # the mean over the actions of a row does not matter, since delta sums to zero there
        count = np.maximum(free.sum(axis=1), 1)[:, None, None]
        mean = np.where(free[..., None], K, 0.0).sum(axis=1, keepdims=True) / count
        self.K = np.where(free[..., None], K - mean, 0.0)
        self.H = np.einsum("oi,i,iak->oak", process._shows, d, self.K).reshape(k, k)
        self.g = np.where(self.free, process._shows @ (d[:, None] * B), 0.0)
        # what is open in each state, beside third order
        self.left = self.open_ @ self.reach.reshape(-1)
        self.left += np.abs((pi[seen] * B).sum(axis=1)) + units * self.size

    def bound(self) -> float:
        """An upper bound on the value of the policies of the box. It is infinite if none is
        certain."""
        if not self.solved:
            return np.inf
        process, d, away, reach = self.process, self.d, self.away, self.reach
        span = float(self.widest @ reach.reshape(-1))
        K = self.K.reshape(*self.K.shape[:2], *reach.shape)
        spread = (reach * _off_middle(K, self.free)).sum(axis=(-2, -1))
        bent = (reach[process.seen] * (spread + self.units * span)).sum(axis=1)
        third = float(away @ (bent + self.left) + self.loose.sum() * span)
        third += self.units * float((np.abs(d) + away) @ (4.0 * self.size + process.nA * span))
        value = float(process.start @ self.v)
        value += process.units * float(process.start @ np.abs(self.v))
        value += float(d @ (self.pi[process.seen] * self.B).sum(axis=1))
        return value + self._quadratic_top() + third * (1.0 + 1e-9)

    def _over_rows(self, weight: TableArray, pi: TableArray) -> TableArray:
        """max of sum_oa (x - pi)(o,a) weight(o,a) over the policies x of the box."""
        # a constant in a row does not matter, and rounding does
        moved = weight - weight.mean(axis=-1, keepdims=True)
        rows = largest_mean(moved, self.low, self.high) - (pi * moved).sum(axis=-1)
        return np.asarray((rows * self.free.any(axis=1)).sum(axis=-1))

    def _quadratic_top(self) -> float:
        """An upper bound on max of g . delta + delta' H delta over the box."""
        nO, nA = self.reach.shape
        k, free = nO * nA, self.free.reshape(-1)
        # onto differences of policies: rows of delta sum to zero
        row = np.repeat(np.arange(nO), nA)
        same = (row[:, None] == row) & free & free[:, None]
        onto = np.diag(free.astype(np.float64)) - same / np.maximum(same.sum(axis=1), 1)
        S = onto @ (0.5 * (self.H + self.H.T)) @ onto
        S = 0.5 * (S + S.T)
        values, vectors = np.linalg.eigh(S)
        up = values > 0.0
        values, vectors = values[up], vectors[:, up]
        table = vectors.T.reshape(-1, nO, nA)
        most, least = self._over_rows(table, self.pi), -self._over_rows(-table, self.pi)
        # t^2 <= (most + least) t - most least between least and most
        chord = (vectors @ (values * (most + least))).reshape(nO, nA)
        constant = -float(values @ (most * least))
        bent = S - (vectors * values) @ vectors.T
        units = 16.0 * (k + 8) ** 2 * _EPS
        size = float(np.abs(self.H).max() * self.reach.sum())
        largest = float(np.abs(self.g).max() + np.abs(chord).max()) + size
        return (
            self._concave_top(self.g + chord, bent)
            + constant
            + units * largest * float(self.reach.sum())
            + units * nA * size
        )

    def _concave_top(self, g: TableArray, S: TableArray) -> float:
        """An upper bound on max of g . delta + delta' S delta, S without positive eigenvalues on
        differences of policies: the tangent at a point next to the top."""
        delta = np.zeros(g.shape)
        climb_concave(g.copy(), S, self.low - self.pi, self.high - self.pi, delta)
        slope = (S @ delta.reshape(-1)).reshape(g.shape)
        height = float((delta * (g + slope)).sum())
        return height + float(self._over_rows(g + 2.0 * slope, self.pi + delta))


def _off_middle(weight: TableArray, free: Mask) -> TableArray:
    """The distance of free entries to the middle of their range, 0 elsewhere.

    delta sums to zero in a row, so that this times `reach` bounds |sum delta weight|.
    """
    least = np.where(free, weight, np.inf).min(axis=-1, keepdims=True)
    most = np.where(free, weight, -np.inf).max(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore"):  # a row without a free entry has no middle
        return np.asarray(np.where(free, np.abs(weight - (0.5 * least + 0.5 * most)), 0.0))


@compile_kernel
def climb_concave(slope: Any, S: Any, down: Any, up: Any, delta: Any) -> None:
    """Climb a concave function from delta = 0, in place. Each move goes along the most promising
    pair of a row, as far as it pays."""
    nO, nA = slope.shape
    smallest = 1e-15 * np.abs(slope).max()
    for _ in range(_MOST_STEPS):
        gain, at, to, by = 0.0, -1, -1, -1
        for o in range(nO):
            best, worst = -1, -1
            for a in range(nA):
                if delta[o, a] < up[o, a] and (best < 0 or slope[o, a] > slope[o, best]):
                    best = a
                if delta[o, a] > down[o, a] and (worst < 0 or slope[o, a] < slope[o, worst]):
                    worst = a
            if best >= 0 and worst >= 0:
                room = min(up[o, best] - delta[o, best], delta[o, worst] - down[o, worst])
                rise = slope[o, best] - slope[o, worst]
                if rise * room > gain:
                    gain, at, to, by = rise * room, o, best, worst
        if at < 0:
            return
        i, j = at * nA + to, at * nA + by
        room = min(up[at, to] - delta[at, to], delta[at, by] - down[at, by])
        bend = -2.0 * (S[i, i] - 2.0 * S[i, j] + S[j, j])
        step = room if bend <= 0.0 else min(room, (slope[at, to] - slope[at, by]) / bend)
        delta[at, to] += step
        delta[at, by] -= step
        for o in range(nO):
            for a in range(nA):
                slope[o, a] += 2.0 * step * (S[o * nA + a, i] - S[o * nA + a, j])
        if gain <= smallest:
            return
