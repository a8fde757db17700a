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
The shares of time d are the stationary weights (`weights`).

Floats come with bounds: y at a reference says by how much g is off, since the sum of r - g over a
cycle vanishes, and an error e of the right side is worth at most e T.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.chain import Chain
from workbench.core.double_kernels import UNIT
from workbench.core.fields import Mask
from workbench.core.linear_kernels import reachable
from workbench.core.numbers import Numbers
from workbench.core.rows import add_rows, own_rows
from workbench.core.weights import WEIGHTS, weighted_means

Array = NDArray[Any]
Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Differential:
    """The average reward of a policy from every state, and what each state is worth beside it.

    Attributes
    ----------
    gain, bias : `[s]`, over the chain's field; gain_error, bias_error : bounds, zero if exact.
    classes : the recurrent classes; class_gain, class_error : the gain of each, and its bound.
    """

    chain: Chain
    gain: Array
    bias: Array
    gain_error: Floats
    bias_error: Floats
    classes: list[NDArray[np.int64]]
    class_gain: Array
    class_error: Floats

    @property
    def value(self) -> Any:
        """The average reward from mu."""
        return (self.chain.D.mu * self.gain).sum()

    @cached_property
    def share(self) -> Array:
        """The long-run share of time of each state, from mu."""
        return WEIGHTS["stationary"].occupancy(self.chain)[0].x

    def clash(self) -> tuple[int, int] | None:
        """A state of each of two classes reached from mu whose gains differ, in floats surely."""
        there = [c for c, s in enumerate(self.classes) if self.chain.visited[s[0]]]
        for c in there[1:]:
            room = self.class_error[there[0]] + self.class_error[c]
            apart = self.class_gain[there[0]] - self.class_gain[c]
            if apart != 0 if self.chain.D.field.is_exact else abs(apart) > room:
                return int(self.classes[there[0]][0]), int(self.classes[c][0])
        return None

    def action_values(self, astray: Mask) -> tuple[Array, Floats]:
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

    def astray(self) -> tuple[Mask, Mask]:
        """Actions `[s, a]` whose successors have another average reward than s, and those where
        floats cannot tell."""
        D = self.chain.D
        none = np.zeros(D.shape, dtype=bool)
        if len(self.classes) == 1:
            return none, none
        drift = D.expected(self.gain) - self.gain[:, None]
        if D.field.is_exact:
            return np.asarray(drift != 0, dtype=bool), none
        # rounding does not matter for a state that leads to one class alone, whose gain it has, nor
        # for an action that the policy always takes
        kind, several = np.full(len(self.gain), -1), np.zeros(len(self.gain), dtype=bool)
        for i, members in enumerate(self.classes):
            there = reachable(*self.chain.backwards, members[:1])
            several |= there & (kind >= 0)
            kind[there] = i
        kind[several] = -1
        own = np.repeat(np.repeat(kind, D.shape[1]), np.diff(D.P.p.row_ptr))
        others = (kind[D.P.p.s_next] != own) | (own < 0)
        taken = self.chain.acts > 0
        keeps = add_rows(D.P.p.row_ptr, others.astype(np.int64)).reshape(D.shape) == 0
        keeps |= taken & (taken.sum(axis=1, keepdims=True) == 1)
        room = 4 * float(np.max(self.gain_error)) + 4 * UNIT * float(np.max(np.abs(self.gain)))
        found = ~keeps & (np.abs(drift) > room)
        return found, ~keeps & ~found

    def describe(self, unclear: Mask) -> str:
        """Say which classes have different average rewards, or "". Of the actions `unclear[s, a]`
        floats cannot tell whether they change the average."""
        P, said = self.chain.D.P, []
        if (clash := self.clash()) is not None:
            s, t = (P.S.text(P.S[state]) for state in clash)
            said.append(
                f"The policy is multichain: it may stay for ever around s={s} or around s={t}, "
                "with different average rewards; q(o, a) is undefined where an action leads from "
                "one to the other."
            )
        if unclear.any():
            i, j = (int(x) for x in np.argwhere(unclear)[0])
            said.append(
                f"Floats cannot tell whether a={P.A.text(P.A[j])} in s={P.S.text(P.S[i])} changes "
                "the average reward: its value is undefined."
            )
        return " ".join(said)


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

    def spread(self, at: Array, at_error: Floats, longest: Array) -> tuple[Array, Floats]:
        """The expected value of `at[c]`, c the class that is reached, from each state."""
        n = len(self.chain.r)
        if len(self.refs) == 1:
            return self.field.zeros(n) + at[0], np.full(n, float(at_error[0]))
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
    """Gain and bias of a policy on a task without terminal states."""
    with np.errstate(invalid="ignore"):  # 0 * inf is NaN; such bounds become inf below
        return _differential_values(chain)


def _differential_values(chain: Chain) -> Differential:
    classes, field, n = chain.classes(), chain.D.field, len(chain.r)
    returns = chain.returns(classes)
    # refer to a frequent state of each class: sums until a rare one, and their errors, are large
    often = [0 if field.is_exact else int(np.argmax(found.x)) for found in returns]
    refs = np.array([members[i] for members, i in zip(classes, often, strict=True)])
    system, none = _Sums(chain, refs), np.zeros(len(refs))
    one = field.enter_side(Numbers.of([1]))[..., np.zeros(n, dtype=int)]
    steps, steps_error = system.until(one)
    total, _ = system.until(chain.side)
    class_gain, class_error = total[refs] / steps[refs], none
    longest = steps if field.is_exact else steps + steps_error
    gain, gain_error = system.spread(class_gain, none, longest)
    y, y_error = system.until(system.rewards_less(gain))
    if not field.is_exact:
        # from a reference back to itself r - g sums to 0: the computed sum shows the error of g
        slack = np.maximum(steps[refs] - steps_error[refs], 0.5)
        class_error = (np.abs(y[refs]) + y_error[refs]) / slack
        own = np.max(gain_error, initial=0.0) * longest[refs] / slack
        class_error += own + 4 * UNIT * np.abs(class_gain)
        gain_error = gain_error + float(np.max(class_error))
        y_error = y_error + np.max(gain_error) * longest + 4 * UNIT * np.abs(y)
    # the mean of y in each class, by the shares of time there
    share = np.concatenate([found.x / found.x.sum() for found in returns])
    off = np.concatenate([found.error for found in returns])
    inside, owner = np.concatenate(classes), np.repeat(np.arange(len(refs)), [*map(len, classes)])
    share_error = np.zeros(n)
    share_error[inside] = off
    means, means_error = weighted_means(
        field, inside, owner, len(refs), share[:, None], share_error[:, None], y[:, None],
        (np.zeros(n) + y_error)[:, None],
    )  # fmt: skip
    shift, shift_error = system.spread(means[:, 0], means_error[:, 0], longest)
    bias, bias_error = y - shift, np.zeros(n)
    if not field.is_exact:
        bias_error = y_error + shift_error + 4 * UNIT * (np.abs(y) + np.abs(shift))
    # a bound that is NaN says nothing
    bounds = (np.where(np.isnan(e), np.inf, e) for e in (gain_error, bias_error, class_error))
    gain_error, bias_error, class_error = bounds
    return Differential(chain, gain, bias, gain_error, bias_error, classes, class_gain, class_error)
