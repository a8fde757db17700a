"""Whether greedy stays what it is on all of the way to a policy, for tasks of finite horizon.

While greedy is tau, pi_n lies on x pi + (1-x) tau with x in (0, 1]. There visits, values and

    weight(o) (q(o, tau(o)) - q(o, b))

are polynomials in x, of degree T - 1 at most if T levels of states lie one behind the other: tau
stays greedy if none of them is negative, nor zero where b comes before tau(o) among ties. Floats
decide most of them by bounds on their errors (`way_kernels`). What they leave open is decided in
fractions, if the task, the start and the steps are exact, and the work is not too much.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property
from itertools import pairwise
from typing import Any, NamedTuple

import flint
import numpy as np
from numpy.typing import NDArray

from workbench.core import way_kernels as kernels
from workbench.core.chain import dynamics
from workbench.core.decision import MOST_WORK
from workbench.core.fields import RATIONALS
from workbench.core.horizon import Unrolled
from workbench.core.loop_kernels import FEWEST_VISITS
from workbench.core.pomdp import POMDP
from workbench.core.rows import merge_rows
from workbench.core.trail import Actions
from workbench.core.walk_kernels import strong_components

_MOST_LEVELS = 40
"""With more levels forms cost more than a look at places on the way: their products take the square
of that."""

_MOST_HALVINGS = 60
"""What is neither positive nor negative on so small an interval touches zero, or comes near."""

_USUAL_BITS = 2_000
"""Numbers of so many bits are multiplied in about the time that Python takes to ask for it."""


class Way(NamedTuple):
    """What is known about the rows of a policy on the way to it.

    Attributes
    ----------
    leaving : `leaving[o]`, whether greedy leaves the row's goal somewhere.
    open : `open[o]`, whether it may.
    """

    leaving: NDArray[np.bool_]
    open: NDArray[np.bool_]

    @property
    def is_clear(self) -> bool:
        """Whether the goal is greedy on all of the way."""
        return not (self.leaving.any() or self.open.any())


class WayForms:
    """A task of finite horizon, laid out for forms; actions in the order of ties."""

    def __init__(self, unrolled: Unrolled):
        self._tables, self._growth = unrolled.tables, unrolled.growth
        self._level = kernels.state_levels(self._tables)
        self.T = int(self._level.max(initial=0)) + 1

    @property
    def is_short(self) -> bool:
        """Whether forms are worth their work."""
        return self.T <= _MOST_LEVELS

    @cached_property
    def _pascal(self) -> NDArray[np.float64]:
        return np.asarray(kernels.binomials(self.T))

    @cached_property
    def _least(self) -> float:
        """The logarithm of the least factor that the task gives to the weight of a way."""
        tables = self._tables
        with np.errstate(divide="ignore"):
            parts = (x[x > 0].min(initial=1.0) for x in (tables.prob, tables.entry_prob))
            step = sum(map(np.log, parts)) + np.log(tables.carry)
            return float(self.T * step + np.log(tables.mu[tables.mu > 0].min()))

    def judge(
        self, pi: NDArray[np.float64], goal: Actions, error: float, alike: NDArray[np.int64]
    ) -> NDArray[np.int8]:
        """`verdict[o, a]` on the way from pi to a goal. q(o, a) is off by at most `error`."""
        nO, nA = pi.shape
        Q, weight = np.empty((nO, nA, self.T)), np.empty((nO, self.T))
        verdict = np.empty((nO, nA), dtype=np.int8)
        kernels.fill_way(self._tables, self._level, self._pascal, pi, goal, Q, weight)
        # to raise a form, and to multiply two, takes as many sums more as there are levels
        error += self.T * self._growth
        kernels.judge_way(Q, weight, error, goal, alike, self._pascal, verdict)
        if self._least + self.T * math.log(pi[pi > 0].min()) < math.log(FEWEST_VISITS):
            lost = self._visited(pi, goal) & (weight < FEWEST_VISITS)
            others = (goal >= 0)[:, None] & (alike != np.take_along_axis(alike, goal[:, None], 1))
            verdict[np.asarray(lost.any(axis=1))[:, None] & others] = kernels.OPEN
        return verdict

    def _visited(self, pi: NDArray[np.float64], goal: Actions) -> NDArray[np.bool_]:
        """Which coefficients of weights are not zero, however small they are."""
        tables = self._tables
        ones = tables._replace(
            mu=(tables.mu > 0).astype(np.float64),
            entry_prob=(tables.entry_prob > 0).astype(np.float64),
            prob=(tables.prob > 0).astype(np.float64),
            carry=float(tables.carry > 0),
            gamma=0.0,
        )
        Q, weight = np.empty((*pi.shape, self.T)), np.empty((len(pi), self.T))
        support = (pi > 0).astype(np.float64)
        kernels.fill_way(ones, self._level, self._pascal, support, goal, Q, weight)
        return np.asarray(weight > 0)


# ---------------------------------------------------------------------- in fractions


def stays_exactly(
    P: POMDP,
    weights: str,
    pi: NDArray[Any],
    goal: Actions,
    rivals: dict[int, list[int]],
    rank: Actions,
) -> dict[int, bool] | None:
    """For rows whether the goal stays greedy beside some rivals on the way from pi to it, in
    fractions; a row on which two q-values only touch may count as one that does not. None where it
    would be too much work.

    `pi` holds rationals, `rank[a]` is the place of an action among ties.
    """
    order, T = _topological(P)
    bits = max(int(x.q).bit_length() for x in pi.ravel())
    if len(P.p.s_next) * T * max(1.0, bits / _USUAL_BITS) > MOST_WORK:
        return None
    d, q = _polynomials(P, weights, pi, goal, order)
    D, found = dynamics(P, RATIONALS), {}
    entries: dict[int, list[int]] = {o: [] for o in rivals}
    for e, (s, o) in enumerate(zip(D.entry_s.tolist(), D.entry_o.tolist(), strict=True)):
        if o in entries and s in q:
            entries[o].append(e)
    for o, actions in rivals.items():
        best = int(goal[o])
        visits = [(s := int(D.entry_s[e]), d[s] * D.omega[e]) for e in entries[o]]
        found[o] = all(weight == 0 for _, weight in visits) or all(
            is_never_below(
                sum((weight * (q[s][best] - q[s][b]) for s, weight in visits), _constant(0)),
                strict=bool(rank[b] < rank[best]),
            )
            for b in actions
        )
    return found


def _constant(x: Any) -> Any:
    return flint.fmpq_poly([x])


def _topological(P: POMDP) -> tuple[list[int], int]:
    """The states that are not terminal, each before those that it leads to, and how many levels
    there are."""
    _, component = strong_components(merge_rows(P.p.row_ptr, len(P.A)), P.p.s_next)
    order = np.argsort(-component)
    alive = order[~P.terminal.mask[order]].tolist()
    level = dict.fromkeys(alive, 1)
    for s in alive:
        first, last = P.p.row_ptr[s * len(P.A)], P.p.row_ptr[(s + 1) * len(P.A)]
        for s_next in set(P.p.s_next[first:last].tolist()) & level.keys():
            level[s_next] = max(level[s_next], level[s] + 1)
    return alive, max(level.values(), default=1)


def _polynomials(
    P: POMDP, weights: str, pi: NDArray[Any], goal: Actions, order: Iterable[int]
) -> tuple[dict[int, Any], dict[int, list[Any]]]:
    """Visits d[s] and values q[s][a] as polynomials in x on the way from pi (x = 1) to the goal."""
    D, (nO, nA) = dynamics(P, RATIONALS), pi.shape
    x, zero = flint.fmpq_poly([0, 1]), _constant(0)
    carry = D.gamma if weights == "discounted" else 1
    rows: list[list[Any]] = []
    for o in range(nO):
        fixed = [_constant(p) for p in pi[o]]
        ends = fixed if goal[o] < 0 else [_constant(int(a == goal[o])) for a in range(nA)]
        rows.append([end + x * (p - end) for p, end in zip(fixed, ends, strict=True)])
    order = list(order)
    d = {s: _constant(D.mu[s]) for s in order}
    acts = {}
    for s in order:
        seen = range(P.omega.row_ptr[s], P.omega.row_ptr[s + 1])
        acts[s] = [sum((rows[P.omega.o[e]][a] * D.omega[e] for e in seen), zero) for a in range(nA)]
        for a in range(nA):
            flow = d[s] * acts[s][a] * carry
            for k in range(P.p.row_ptr[s * nA + a], P.p.row_ptr[s * nA + a + 1]):
                if (s_next := int(P.p.s_next[k])) in d:
                    d[s_next] += flow * D.prob[k]
    v: dict[int, Any] = {}
    q: dict[int, list[Any]] = {}
    for s in reversed(order):
        q[s] = []
        for a in range(nA):
            outcomes = range(P.p.row_ptr[s * nA + a], P.p.row_ptr[s * nA + a + 1])
            ahead = [(v[s_next], k) for k in outcomes if (s_next := int(P.p.s_next[k])) in v]
            later = sum((value * D.prob[k] for value, k in ahead), zero)
            q[s].append(later * D.gamma + _constant(D.R[s, a]))
        v[s] = sum((acts[s][a] * q[s][a] for a in range(nA)), zero)
    return d, q


def is_never_below(f: Any, strict: bool) -> bool:
    """Whether a polynomial is positive on (0, 1], or, if that is not strict, not negative; False
    where it is neither, but touches zero.

    >>> [is_never_below(flint.fmpq_poly(c), True) for c in ([0, 1], [1, -4, 3], [0, 2, -1])]
    [True, False, True]
    """
    coefficients = f.coeffs()
    while coefficients and coefficients[0] == 0:  # a power of x, which is positive
        coefficients = coefficients[1:]
    if not coefficients:
        return not strict
    n = len(coefficients) - 1
    shares = [c / math.comb(n, j) for j, c in enumerate(coefficients)]
    bernstein = [sum(math.comb(i, j) * shares[j] for j in range(i + 1)) for i in range(n + 1)]
    left = [(bernstein, 0)]
    while left:
        b, halvings = left.pop()
        ends = min(b[0], b[-1])
        if ends < 0 or (strict and ends == 0) or halvings == _MOST_HALVINGS:
            return False
        if min(b) >= 0:
            continue
        lower, upper = [b[0]], [b[-1]]
        while len(b) > 1:
            b = [(x + y) / 2 for x, y in pairwise(b)]
            lower.append(b[0])
            upper.append(b[-1])
        left += [(lower, halvings + 1), (upper[::-1], halvings + 1)]
    return True
