"""Average reward: the gain g and the bias h of a policy on a task that goes on for ever.

    g = P g,        g + h = r + P h,        P* h = 0  P* the long-run shares of time from each state
    q(s,a) = R(s,a) - g(s) + sum_{s'} p(s'|s,a) h(s')           the differential value of an action
    P(s|o) ~ d(s) omega(o|s),   q(o,a) = sum_s P(s|o) q(s,a)   d the long-run shares of time from mu

(Puterman 1994, Section 8.2; Jaakkola, Singh and Jordan 1995 for observations.) A chain may have
several recurrent classes, each with a gain of its own; a state from which several are reached has
the mixture. One state of each class is its reference, in floats one that is visited often. With P'
the chain without the ways into references, and all sums until the first of them,

    T = 1 + P' T,   x = r + P' x,  g(reference) = x / T,  g = P' g + (P - P') g,  y = (r - g) + P' y

and h = y - (the mean of y over the class that is reached). Where classes differ in gain, an action
that leads from one to another changes the average itself: its q(s,a) is infinite, so undefined.

Floats come with bounds: y at a reference says by how much g is off, since the sum of r - g over a
cycle vanishes, and an error e of the right side is worth at most e T.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.bounds import PairChain, bounded_values
from workbench.core.chain import Chain, FloatChain
from workbench.core.pair_kernels import action_values_with_errors
from workbench.core.rows import add_groups, add_rows, own_rows
from workbench.core.solve import Solution
from workbench.core.walk_kernels import first_to_reach, reverse_edges, strong_components

_UNIT = 2.0**-53
_ONE = np.array([1.0, 0.0])

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Differential:
    """The average reward of a policy from every state, and what each state is worth beside it.

    Attributes
    ----------
    gain, bias : `[s]`, over the chain's field; gain_error, bias_error : bounds, zero if exact.
    share : `[s]`, the long-run share of time from mu; share_error : bounds on relative errors.
    classes : the recurrent classes; class_gain, class_error : the gain of each, and its bound.
    owner : `[s]`, the class of each recurrent state, -1 elsewhere.
    visited : `[class]`, whether episodes can get there from mu.
    """

    chain: Chain
    gain: Array
    bias: Array
    gain_error: NDArray[np.float64]
    bias_error: NDArray[np.float64]
    share: Array
    share_error: NDArray[np.float64]
    classes: tuple[NDArray[np.int64], ...]
    class_gain: Array
    class_error: NDArray[np.float64]
    owner: NDArray[np.int64]
    visited: NDArray[np.bool_]

    @property
    def value(self) -> Any:
        """The average reward from mu."""
        return (self.chain.D.mu * self.gain).sum()

    def are_apart(self, i: int, j: int) -> bool:
        """Whether the gains of two classes differ; in floats, whether they surely do."""
        if self.chain.D.field.is_exact:
            return bool(self.class_gain[i] != self.class_gain[j])
        room = self.class_error[i] + self.class_error[j]
        return bool(abs(self.class_gain[i] - self.class_gain[j]) > room)

    def clash(self) -> tuple[int, int] | None:
        """Two classes reached from mu whose gains differ, if there are any."""
        there = np.flatnonzero(self.visited).tolist()
        return next(((there[0], j) for j in there[1:] if self.are_apart(there[0], j)), None)

    def action_values(self, astray: NDArray[np.bool_]) -> tuple[Array, NDArray[np.float64]]:
        """q(s,a) and bounds on its errors; undefined where an action goes astray, or may."""
        D = self.chain.D
        if D.field.is_exact:
            q, error = D.R + D.expected(self.bias) - self.gain[:, None], np.zeros(D.shape)
        else:
            flat, bound = np.empty(D.shape[0] * D.shape[1]), np.empty(D.shape[0] * D.shape[1])
            p = D.P.p
            action_values_with_errors(
                p.row_ptr, p.s_next, D.prob, D.r, 1.0, self.bias, self.bias_error, flat, bound
            )
            q = flat.reshape(D.shape) - self.gain[:, None]
            error = bound.reshape(D.shape) + self.gain_error[:, None]
            error += 4 * _UNIT * (np.abs(flat.reshape(D.shape)) + np.abs(self.gain)[:, None])
        q[astray] = D.field.undefined(1)[0]
        error[astray] = np.inf
        return q, error

    def astray(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """`[s, a]`: whether what follows has another gain than s; and where floats cannot tell."""
        D = self.chain.D
        unclear = np.zeros(D.shape, dtype=bool)
        if len(self.classes) == 1:
            return unclear, unclear
        if D.field.is_exact:
            found = np.asarray(D.expected(self.gain) != self.gain[:, None], dtype=bool)
            return found, unclear
        room = 4 * float(np.max(self.gain_error)) + 4 * _UNIT * float(np.max(np.abs(self.gain)))
        drift = np.abs(D.expected(self.gain) - self.gain[:, None])
        # what leads to one class alone has its gain, however that is rounded, and so does what the
        # policy always does
        kind = _leads_to(self.chain, self.classes)
        row_ptr, s_next = D.P.p.row_ptr, D.P.p.s_next
        counts = np.diff(row_ptr)
        own = np.repeat(np.repeat(kind, D.shape[1]), counts)
        others = add_rows(row_ptr, ((kind[s_next] != own) | (own < 0)).astype(np.int64))
        taken = self.chain.acts > 0
        keeps = (others == 0).reshape(D.shape) | (taken & (taken.sum(axis=1, keepdims=True) == 1))
        found = ~keeps & (drift > room)
        return found, ~keeps & ~found


def _leads_to(chain: Chain, classes: tuple[NDArray[np.int64], ...]) -> NDArray[np.int64]:
    """For each state the class that it leads to; -1 if there are several."""
    back = reverse_edges(chain.indptr, chain.indices)
    ends = np.array([members[0] for members in classes])
    first, last = first_to_reach(*back, ends), len(ends) - 1 - first_to_reach(*back, ends[::-1])
    return np.where(first == last, first, -1)


def find_classes(chain: Chain) -> tuple[tuple[NDArray[np.int64], ...], NDArray[np.int64]]:
    """The recurrent classes of a chain, and for each state the number of its class or -1."""
    count, component = strong_components(chain.indptr, chain.indices)
    rows = own_rows(chain.indptr)
    leaves = component[rows] != component[chain.indices]
    closed = np.ones(count, dtype=bool)
    closed[component[rows[leaves]]] = False
    number = np.where(closed, np.cumsum(closed) - 1, -1)
    owner = number[component]
    # a terminal state has no way out and is no class: here there are none
    return tuple(np.flatnonzero(owner == c) for c in range(int(closed.sum()))), owner


def differential_values(chain: Chain) -> Differential:
    """Gain, bias and shares of time of a policy on a task without terminal states."""
    with np.errstate(invalid="ignore"):  # nothing times a bound of infinity is made infinity below
        return _differential_values(chain)


def _differential_values(chain: Chain) -> Differential:
    classes, owner = find_classes(chain)
    returns = [chain.solve_returns(members) for members in classes]
    field, n = chain.D.field, len(owner)
    system: _Sums
    if isinstance(chain, FloatChain):
        # where a reference is seen rarely, sums until it are long, and so are their errors
        often = [members[np.argmax(x.x)] for members, x in zip(classes, returns, strict=True)]
        system = _FloatSums(chain, np.array(often))
    else:
        system = _Sums(chain, np.array([members[0] for members in classes]))
    refs = system.refs
    steps, steps_error = system.until(system.constant(1))
    total, _ = system.until(system.rewards())
    class_gain = total[refs] / steps[refs]
    longest = steps if field.is_exact else steps + steps_error
    gain, gain_error = system.spread(class_gain, np.zeros(len(refs)), longest)
    y, y_error = system.until(system.rewards(gain))
    class_error = np.zeros(len(refs))
    if not field.is_exact:
        # over a cycle r - g adds up to nothing: what it does add up to is the error of g
        slack = np.maximum(steps[refs] - steps_error[refs], 0.5)
        class_error = (np.abs(y[refs]) + y_error[refs]) / slack
        own = np.max(gain_error, initial=0.0) * longest[refs] / slack
        class_error += own + 4 * _UNIT * np.abs(class_gain)
        gain_error = gain_error + float(np.max(class_error))
        y_error = y_error + np.max(gain_error) * longest + 4 * _UNIT * np.abs(y)
    means, means_error = _class_means(chain, classes, returns, y, y_error)
    shift, shift_error = system.spread(means, means_error, longest)
    bias, bias_error = y - shift, np.zeros(n)
    if not field.is_exact:
        bias_error = y_error + shift_error + 4 * _UNIT * (np.abs(y) + np.abs(shift))
    share, share_error, visited = _shares(chain, classes, returns, system, longest)
    return Differential(
        chain=chain,
        gain=gain,
        bias=bias,
        gain_error=_bound(gain_error),
        bias_error=_bound(bias_error),
        share=share,
        share_error=_bound(share_error),
        classes=classes,
        class_gain=class_gain,
        class_error=_bound(class_error),
        owner=owner,
        visited=visited,
    )


def _bound(error: NDArray[np.float64]) -> NDArray[np.float64]:
    """A bound that is no number bounds nothing."""
    return np.where(np.isnan(error), np.inf, error)


def _class_means(
    chain: Chain,
    classes: tuple[NDArray[np.int64], ...],
    returns: list[Solution],
    y: Array,
    y_error: NDArray[np.float64],
) -> tuple[Array, NDArray[np.float64]]:
    """The mean of y over the long-run shares of time in each class."""
    field = chain.D.field
    means, error = field.zeros(len(classes)), np.zeros(len(classes))
    for c, (members, found) in enumerate(zip(classes, returns, strict=True)):
        share, at = found.x / found.x.sum(), y[members]
        means[c] = (share * at).sum()
        if not field.is_exact:
            off = np.minimum(found.error, 0.5)
            away = np.abs(at - means[c]) + y_error[members]
            size = float((share * np.abs(at)).sum())
            error[c] = 4 * float((share * off * away).sum()) + float(np.max(y_error[members]))
            error[c] += (len(members) + 8) * 4 * _UNIT * size
            error[c] += np.inf if not np.isfinite(found.error).all() else 0.0
    return means, error


def _shares(
    chain: Chain,
    classes: tuple[NDArray[np.int64], ...],
    returns: list[Solution],
    system: _Sums,
    longest: Array,
) -> tuple[Array, NDArray[np.float64], NDArray[np.bool_]]:
    """The long-run share of time of each state from mu, and which classes are reached."""
    field, D = chain.D.field, chain.D
    visited = np.array([bool(chain.visited[members[0]]) for members in classes])
    share, error = field.zeros(len(chain.r)), np.zeros(len(chain.r))
    only = int(visited.sum()) == 1
    for c, (members, found) in enumerate(zip(classes, returns, strict=True)):
        if not visited[c]:
            continue
        part = found.x / found.x.sum()
        share[members] = part
        if not field.is_exact:  # a share is a ratio: the error of the sum is that of its parts
            off = found.error + float((part * np.minimum(found.error, 1.0)).sum())
            error[members] = 3 * off + (len(members) + 8) * 4 * _UNIT
        if not only:
            one = field.zeros(len(classes))
            one[c] = field.one(1)
            into, into_error = system.spread(one, np.zeros(len(classes)), longest)
            weight = (D.mu * into).sum()
            share[members] = part * weight
            if not field.is_exact:
                lost = float((D.mu * into_error).sum()) / float(weight)
                error[members] += 2 * lost if lost < 0.25 else np.inf
    return share, error, visited


class _Sums:
    """Sums until the first reference, over an exact field."""

    def __init__(self, chain: Chain, refs: NDArray[np.int64]):
        self.chain, self.field = chain, chain.D.field
        self.single = len(refs) == 1
        self.refs = refs
        self.number = np.full(len(chain.r), -1)
        self.number[refs] = np.arange(len(refs))
        self.into = self.number[chain.indices] >= 0

    def constant(self, x: int) -> Array:
        b = self.field.zeros(len(self.chain.r))
        b[:] = self.field.one(x)
        return b

    def rewards(self, less: Array | None = None) -> Array:
        """r, or r - g."""
        return self.chain.r if less is None else self.chain.r - less

    def until(self, b: Array) -> tuple[Array, Any]:
        """x = b + P' x."""
        data = self.chain.data.copy()
        data[self.into] = self.field.one(0)
        field, chain = self.field, self.chain
        found = field.solve(chain.pattern, data, field.one(1), b, chain.D.P.name)
        return found.x, np.zeros(len(b))

    def spread(self, at: Array, at_error: Array, longest: Array) -> tuple[Array, Any]:
        """The expected value of `at[c]`, c the class that is reached, from each state."""
        n = len(self.chain.r)
        if self.single:
            values = self.field.zeros(n)
            values[:] = at[0]
            return values, np.full(n, float(at_error[0]))
        values, error = self.until(self._entering(at))
        return values, error + float(np.max(at_error))

    def _entering(self, at: Array) -> Array:
        """(P - P') at."""
        k = np.flatnonzero(self.into)
        rows = own_rows(self.chain.indptr)[k]
        terms = self.chain.data[k] * at[self.number[self.chain.indices[k]]]
        return add_groups(rows, terms, self.field.zeros(len(self.chain.r)))


class _FloatSums(_Sums):
    """The same in floats, with bounds on errors; right sides are pairs and a size."""

    chain: FloatChain

    def __init__(self, chain: FloatChain, refs: NDArray[np.int64]):
        super().__init__(chain, refs)
        P = chain.P.copy()
        P[:, self.into] = 0.0
        leave = add_rows(chain.indptr, np.where(self.into, chain.P[0], 0.0))
        self._system = PairChain(
            chain.indptr, chain.indices, P, _ONE, leave, chain.excess, chain.given
        )

    def constant(self, x: int) -> Array:
        b = np.zeros((3, len(self.chain.r)))
        b[0], b[2] = x, abs(x)
        return b

    def rewards(self, less: Array | None = None) -> Array:
        b = self.chain.r_pair.copy()
        if less is None:
            return b
        # Knuth's two-sum: what rounding r - g drops is kept in the second part
        high = b[0] - less
        part = high - b[0]
        b[1] += (b[0] - (high - part)) + (-less - part)
        b[0] = high
        b[2] += np.abs(less)
        return b

    def until(self, b: Array) -> tuple[Array, Any]:
        found = bounded_values(self._system, b)
        return found.x, found.error

    def spread(self, at: Array, at_error: Array, longest: Array) -> tuple[Array, Any]:
        if self.single:
            return super().spread(at, at_error, longest)
        b = np.zeros((3, len(self.chain.r)))
        b[0] = self._entering(at)
        b[2] = self._entering(np.abs(at))
        values, error = self.until(b)
        terms = float(np.max(np.diff(self.chain.indptr))) + 4
        room = 4 * terms * _UNIT * float(np.max(np.abs(at))) * longest
        return values, error + float(np.max(at_error)) + room
