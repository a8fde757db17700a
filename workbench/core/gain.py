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

from workbench.core.chain import Chain
from workbench.core.double_kernels import UNIT
from workbench.core.linear import Solution
from workbench.core.numbers import Numbers
from workbench.core.rows import add_rows, own_rows
from workbench.core.walk_kernels import first_to_reach

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
        """Whether the average rewards of two classes differ. In floats, whether they surely do."""
        if self.chain.D.field.is_exact:
            return bool(self.class_gain[i] != self.class_gain[j])
        room = self.class_error[i] + self.class_error[j]
        return bool(abs(self.class_gain[i] - self.class_gain[j]) > room)

    def clash(self) -> tuple[int, int] | None:
        """Two classes reached from mu whose gains differ, if there are any."""
        there = np.flatnonzero(self.visited).tolist()
        return next(((there[0], j) for j in there[1:] if self.are_apart(there[0], j)), None)

    def action_values(self, astray: NDArray[np.bool_]) -> tuple[Array, NDArray[np.float64]]:
        """q(s,a) with error bounds. It is undefined where an action leads, or may lead, to another
        average reward."""
        D = self.chain.D
        q, error = D.action_values(self.bias, self.bias_error, ~D.alive, discounted=False)
        if not D.field.is_exact:
            error += 4 * UNIT * (np.abs(q) + np.abs(self.gain)[:, None]) + self.gain_error[:, None]
        missing = D.no_action
        q[missing] = D.field.one(0)
        q, missing = q - self.gain[:, None], missing | astray
        q[missing] = D.field.undefined(1)[0]
        error[missing] = np.inf
        return q, error

    def astray(self) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """Actions `[s, a]` whose successors have another average reward than s, and those where
        floats cannot tell."""
        D = self.chain.D
        unclear = np.zeros(D.shape, dtype=bool)
        if len(self.classes) == 1:
            return unclear, unclear
        if D.field.is_exact:
            found = np.asarray(D.expected(self.gain) != self.gain[:, None], dtype=bool)
            return found, unclear
        room = 4 * float(np.max(self.gain_error)) + 4 * UNIT * float(np.max(np.abs(self.gain)))
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
    """The recurrent class that each state leads to, or -1 if there are several."""
    ends, back = np.array([members[0] for members in classes]), chain.backwards
    first, last = first_to_reach(*back, ends), len(ends) - 1 - first_to_reach(*back, ends[::-1])
    return np.where(first == last, first, -1)


class _Sums:
    """Sums along the chain until it first comes to a reference, one for each class."""

    def __init__(self, chain: Chain, refs: NDArray[np.int64]):
        self.chain, self.field, self.refs = chain, chain.D.field, refs
        self.number = np.full(len(chain.r), -1)
        self.number[refs] = np.arange(len(refs))
        self.into = self.number[chain.indices] >= 0

    def until(self, side: Array) -> tuple[Array, Any]:
        """x = b + P' x."""
        found = self.chain.solve(side, False, self.into)
        return found.x, found.error

    def ones(self) -> Array:
        return self.field.enter_side(Numbers.of([1]))[..., np.zeros(len(self.chain.r), dtype=int)]

    def rewards_less(self, g: Array) -> Array:
        """r - g as a right-hand side. Knuth's two-sum keeps what rounding drops in the second
        part."""
        if self.field.is_exact:
            return self.chain.side - g
        b = self.chain.side.copy()
        high = b[0] - g
        part = high - b[0]
        b[1] += (b[0] - (high - part)) + (-g - part)
        b[0] = high
        b[2] += np.abs(g)
        return b

    def spread(
        self, at: Array, at_error: NDArray[np.float64], longest: Array
    ) -> tuple[Array, NDArray[np.float64]]:
        """The expected value of `at[c]`, c the class that is reached, from each state."""
        n = len(self.chain.r)
        if len(self.refs) == 1:
            values = self.field.zeros(n)
            values[:] = at[0]
            return values, np.full(n, float(at_error[0]))
        k = np.flatnonzero(self.into)
        rows = own_rows(self.chain.indptr)[k]
        terms = self.chain.data[k] * at[self.number[self.chain.indices[k]]]
        side = self.field.sums(rows, terms, n)
        if self.field.is_exact:
            return self.until(side)
        values, error = self.until(np.stack([side, 0 * side, np.bincount(rows, abs(terms), n)]))
        most = float(np.max(np.diff(self.chain.indptr))) + 4
        room = 4 * most * UNIT * float(np.max(np.abs(at))) * longest
        return values, error + float(np.max(at_error)) + room


def differential_values(chain: Chain) -> Differential:
    """Gain, bias and shares of time of a policy on a task without terminal states."""
    with np.errstate(invalid="ignore"):  # nothing times a bound of infinity is made infinity below
        return _differential_values(chain)


def _differential_values(chain: Chain) -> Differential:
    classes, field, n = tuple(chain.classes()), chain.D.field, len(chain.r)
    owner = np.full(n, -1)
    for c, members in enumerate(classes):
        owner[members] = c
    returns = [chain.returns(members) for members in classes]
    # where a reference is seen rarely, sums until it are long, and so are their errors
    often = [0 if field.is_exact else int(np.argmax(found.x)) for found in returns]
    system = _Sums(chain, np.array([m[i] for m, i in zip(classes, often, strict=True)]))
    refs = system.refs
    steps, steps_error = system.until(system.ones())
    total, _ = system.until(chain.side)
    class_gain = total[refs] / steps[refs]
    longest = steps if field.is_exact else steps + steps_error
    gain, gain_error = system.spread(class_gain, np.zeros(len(refs)), longest)
    y, y_error = system.until(system.rewards_less(gain))
    class_error = np.zeros(len(refs))
    if not field.is_exact:
        # over a cycle r - g adds up to nothing: what it does add up to is the error of g
        slack = np.maximum(steps[refs] - steps_error[refs], 0.5)
        class_error = (np.abs(y[refs]) + y_error[refs]) / slack
        own = np.max(gain_error, initial=0.0) * longest[refs] / slack
        class_error += own + 4 * UNIT * np.abs(class_gain)
        gain_error = gain_error + float(np.max(class_error))
        y_error = y_error + np.max(gain_error) * longest + 4 * UNIT * np.abs(y)
    means, means_error = _class_means(chain, classes, returns, y, y_error)
    shift, shift_error = system.spread(means, means_error, longest)
    bias, bias_error = y - shift, np.zeros(n)
    if not field.is_exact:
        bias_error = y_error + shift_error + 4 * UNIT * (np.abs(y) + np.abs(shift))
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
            error[c] += (len(members) + 8) * 4 * UNIT * size
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
            error[members] = 3 * off + (len(members) + 8) * 4 * UNIT
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
