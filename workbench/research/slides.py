"""Sliding equilibria: ties of two greedy policies on which the mean field stays.

Let g_0 and g_1 differ in one row o, and let A_i q + c_i be the mean field in their cells
(`mean_field`). On the tie q(o, g_0(o)) = q(o, g_1(o)) a solution in Filippov's sense may follow any
convex combination of the two fields, and it stays at q if one of them vanishes there:

    (1 - x) (A_0 q + c_0) + x (A_1 q + c_1) = 0,    q(o, g_0(o)) = q(o, g_1(o)),    0 <= x <= 1

x is the share of time that g_1 is the greedy policy. (It is *not* the mixed policy's own fixed
point: the weights P(s|o) of a mixture of behaviours are those of neither, nor of their mean.) For
each x the first equation has one solution q(x), a quotient of polynomials of degree at most |q|;
they are found by exact solutions at rational points and interpolation. So the shares x are the
real roots of a polynomial in [0, 1], isolated by exact arithmetic and narrowed until it is decided
whether any other action is better.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import Any

import flint
import numpy as np
import sympy
from numpy.typing import NDArray

from workbench.core.bootstrap import Bootstrap
from workbench.core.errors import NotExact, TooLarge, WorkbenchError, WrongType
from workbench.core.fields import RATIONALS
from workbench.core.learners import Learner, Target
from workbench.core.numbers import Number
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.rows import row_places
from workbench.core.space import Label
from workbench.equilibrium.learned_values import (
    check_epsilon,
    deciding_rows,
    exploring,
    target_of,
)
from workbench.equilibrium.mean_field import Flow

MOST_ENTRIES = 64
"""Tables with more entries that matter are not interpolated."""

WIDTH = Fraction(1, 10**12)
"""Shares are narrowed to this, and further where a comparison asks for it."""

_MOST_BITS = 4_000
_X = sympy.Symbol("x")


@dataclass(frozen=True, eq=False)
class Slide:
    """One tie on which the mean field stays.

    Attributes
    ----------
    policies : the two greedy policies; o : the row in which they differ.
    polynomial : the one of which the share x of the second policy is a root.
    low, high : an interval that holds x and no other root of it.
    q : `q[o, a]` in floats, at the middle of the interval.
    attracts : whether the fields on both sides point to the tie, so that the mean field comes back
        to it; None where one of them runs along it.
    """

    P: POMDP
    policies: tuple[Policy, Policy]
    o: Label
    polynomial: sympy.Expr
    low: Fraction
    high: Fraction
    q: NDArray[np.float64]
    attracts: bool | None

    @property
    def share(self) -> float:
        """The share of time of the second policy."""
        return float((self.low + self.high) / 2)

    @property
    def actions(self) -> tuple[Label, Label]:
        """What the two policies do in the row in which they differ."""
        place = self.P.O.index(self.o)
        first, second = (self.P.A[int(pi.actions[place])] for pi in self.policies)
        return first, second

    def __repr__(self) -> str:
        first, second = map(self.P.A.text, self.actions)
        pull = {True: "attracting", False: "repelling", None: "neither"}[self.attracts]
        return (
            f"sliding equilibrium of {self.P.name} at o={self.P.O.text(self.o)}: {second} for a "
            f"share {self.share:.6g} of the time, {first} else; {pull}"
        )


def slides(
    P: POMDP, learner: Learner, policy: Policy, o: Label, a: Label, epsilon: Number | None = None
) -> list[Slide]:
    """Find the sliding equilibria between a greedy policy and the one that takes a on o instead.

    Parameters
    ----------
    learner : a learner of one-step targets: `QLearning(...)` or `Sarsa(lam=0, ...)`.
    policy : a deterministic policy, the greedy one on one side of the tie.
    o, a : the row and its other action.
    epsilon : an exact number, instead of the learner's own.
    """
    target, epsilon, P = checked_for_slides(P, learner, epsilon)
    if not isinstance(policy, Policy) or not policy.is_deterministic:
        raise WrongType(f"a tie lies between deterministic policies, not at {policy!r}")
    policy.fits(P)
    row, action = P.O.index(o), P.A.index(a)
    rows = deciding_rows(P)
    if row not in rows:
        raise WorkbenchError(f"o={P.O.text(o)} is never seen where a policy matters")
    if policy.actions[row] == action:
        raise WorkbenchError(f"the policy takes a={P.A.text(a)} on o={P.O.text(o)} already")
    actions = policy.actions.copy()
    actions[row] = action
    edge = _Edge(P, target, epsilon, rows, (policy, Policy.from_actions(P, actions)), row)
    return list(edge.slides())


_LEAST = 0.001
"""Of the time for which an action was greedy, to be one that is mixed."""


def slides_of(flow: Flow, epsilon: Number) -> list[Slide]:
    """The sliding equilibria between the greedy policies that a flow's tail used, exactly.

    Every row in which several actions were greedy for at least a share of the time is mixed in
    turn, the other rows at their most frequent action.
    """
    P, found = flow.P, []
    actions = np.zeros(len(P.O), dtype=np.int64)
    actions[flow.rows] = flow.shares.argmax(axis=1)
    for i, o in enumerate(flow.rows.tolist()):
        for first, second in combinations(np.flatnonzero(flow.shares[i] >= _LEAST).tolist(), 2):
            base = actions.copy()
            base[o] = first
            found += slides(
                P, flow.learner, Policy.from_actions(P, base), P.O[o], P.A[second], epsilon
            )
    return found


def checked_for_slides(P: Any, learner: Any, epsilon: Any) -> tuple[Target, Number, POMDP]:
    """The target, an exact epsilon and P with the learner's gamma, refused where the mean field has
    no exact form."""
    if not isinstance(P, POMDP):
        raise WrongType(f"slides needs a POMDP, not {P!r}")
    target = target_of(learner)
    if not target.is_one_step:
        raise WorkbenchError("sliding equilibria are those of one-step targets: lambda is 0 there")
    epsilon = check_epsilon(learner.epsilon if epsilon is None else epsilon)
    if learner.gamma is not None:
        P = P.with_gamma(learner.gamma)
    P.require_exact()
    if isinstance(epsilon, float):
        raise NotExact(f"sliding equilibria need an exact epsilon, not the float {epsilon!r}")
    if not epsilon > 0:
        raise WorkbenchError("with epsilon 0 actions that are not greedy are never updated")
    entries = len(deciding_rows(P)) * len(P.A)
    if entries > MOST_ENTRIES:
        raise TooLarge(
            f"the table of {P.name} has {entries} entries that matter; up to {MOST_ENTRIES} are "
            "interpolated. Take a smaller memory"
        )
    return target, epsilon, P


def exact_mean_field(
    P: POMDP, target: Target, epsilon: Number, greedy: Policy, rows: NDArray[np.int64]
) -> tuple[list[list[Any]], list[Any]]:
    """The mean field dq/dt = A q + c in the cell of a greedy policy, in rationals. q is flat over
    (row, a)."""
    behaviour = exploring(P, greedy, epsilon)
    seen = Bootstrap(RATIONALS, P, behaviour, "stationary")
    D, nA = seen.D, len(P.A)
    place = {int(o): i for i, o in enumerate(rows)}
    size = len(rows) * nA
    A = [[flint.fmpq(0)] * size for _ in range(size)]
    c = [flint.fmpq(0)] * size
    b = RATIONALS.enter(behaviour.prob)
    v = RATIONALS.enter(greedy.prob) if target.greedy else b
    ended, o_ptr = P.terminal.mask, P.omega.row_ptr
    for e in seen.used.tolist():
        s, o = int(D.entry_s[e]), int(D.entry_o[e])
        for a in range(nA):
            at = place[o] * nA + a
            weight = seen.observed[o] * b[o, a] * seen.share[e, 0]
            A[at][at] -= weight
            for k in row_places(P.p.row_ptr, s * nA + a):
                part, s_next = weight * D.prob[k], int(P.p.s_next[k])
                c[at] += part * D.r[k]
                if not ended[s_next]:
                    for j in range(int(o_ptr[s_next]), int(o_ptr[s_next + 1])):
                        o_next = int(D.entry_o[j])
                        for then in range(nA):
                            A[at][place[o_next] * nA + then] += (
                                part * D.gamma * D.omega[j] * v[o_next, then]
                            )
    return A, c


class _Edge:
    """Two greedy policies that differ in one row."""

    def __init__(
        self,
        P: POMDP,
        target: Target,
        epsilon: Number,
        rows: NDArray[np.int64],
        policies: tuple[Policy, Policy],
        row: int,
    ):
        self.P, self.rows, self.policies, self.row = P, rows, policies, row
        fields = [exact_mean_field(P, target, epsilon, pi, rows) for pi in policies]
        self.n = len(fields[0][1])
        self.A = [
            flint.fmpq_mat(self.n, self.n, [x for line in A for x in line]) for A, _ in fields
        ]
        self.c = [flint.fmpq_mat(self.n, 1, c) for _, c in fields]
        base = int(np.flatnonzero(rows == row)[0]) * len(P.A)
        self.tied = [base + int(pi.actions[row]) for pi in policies]

    def slides(self) -> Iterator[Slide]:
        over, under = self._solution()
        gap = over[self.tied[1]] - over[self.tied[0]]
        if gap == 0:
            return  # tied whatever the share is: no border
        for low, high, factor in _roots_in_unit(gap):
            decided = self._decided(over, under, factor, low, high)
            if decided is not None:
                yield self._slide(over, under, factor, *decided)

    def _solution(self) -> tuple[list[Any], Any]:
        """The solution q(x) as polynomials over one denominator, by interpolation. The denominator
        is the determinant of (1 - x) A_0 + x A_1, of degree n at most, and the others have that
        degree too."""
        points: list[Any] = []
        dets: list[Any] = []
        values: list[list[Any]] = []
        k = 0
        while len(points) < self.n + 1:
            x = flint.fmpq(k, self.n + 1)
            k += 1
            B = self.A[0] * (1 - x) + self.A[1] * x
            det = B.det()
            if det == 0:  # cannot be inside [0, 1], and one further point is one further point
                continue
            q = B.solve((self.c[0] * (1 - x) + self.c[1] * x) * flint.fmpq(-1))
            points.append(x)
            dets.append(det)
            values.append([q[i, 0] * det for i in range(self.n)])
        basis = _lagrange(points)
        under = sum((d * f for d, f in zip(dets, basis, strict=True)), start=flint.fmpq_poly(0))
        over = [
            sum((v[i] * f for v, f in zip(values, basis, strict=True)), start=flint.fmpq_poly(0))
            for i in range(self.n)
        ]
        return over, under

    def _decided(
        self, over: list[Any], under: Any, factor: sympy.Poly, low: Fraction, high: Fraction
    ) -> tuple[Fraction, Fraction] | None:
        """The interval, narrowed until no comparison is open. None if another action is better."""
        nA = len(self.P.A)
        greedy = self.policies[0].actions
        waiting = [
            over[i * nA + int(greedy[o])] - over[i * nA + a]
            for i, o in enumerate(self.rows.tolist())
            for a in range(nA)
            if a != greedy[o] and i * nA + a not in self.tied
        ]
        waiting = [lead for lead in waiting if not _vanishes(lead, factor)]
        before, bits = flint.ctx.prec, 128
        try:
            while True:
                flint.ctx.prec = bits
                x = _ball(low, high)
                leads = [(lead, _at(lead, x) * _at(under, x)) for lead in waiting]
                if any(sign < 0 for _, sign in leads):
                    return None
                waiting = [lead for lead, sign in leads if not sign > 0]
                if not waiting:
                    return low, high
                if bits >= _MOST_BITS:
                    raise TooLarge("two actions could not be told apart at a sliding equilibrium")
                bits *= 2
                low, high = _narrowed(factor, low, high, Fraction(1, 2 ** (bits // 2)))
        finally:
            flint.ctx.prec = before

    def _slide(
        self, over: list[Any], under: Any, factor: sympy.Poly, low: Fraction, high: Fraction
    ) -> Slide:
        middle = (low + high) / 2
        x = flint.fmpq(middle.numerator, middle.denominator)
        q = flint.fmpq_mat(self.n, 1, [f(x) / under(x) for f in over])
        opening = []
        for A, c in zip(self.A, self.c, strict=True):
            rate = A * q + c
            opening.append(rate[self.tied[1], 0] - rate[self.tied[0], 0])
        table = np.full((len(self.P.O), len(self.P.A)), np.nan)
        flat = [int(q[i, 0].p) / int(q[i, 0].q) for i in range(self.n)]
        table[self.rows] = np.array(flat).reshape(len(self.rows), -1)
        pulls = (opening[0] > 0, opening[1] < 0)
        return Slide(
            P=self.P,
            policies=self.policies,
            o=self.P.O[self.row],
            polynomial=factor.as_expr(),
            low=low,
            high=high,
            q=table,
            attracts=True if all(pulls) else None if any(pulls) else False,
        )


def _lagrange(points: list[Any]) -> list[Any]:
    """The polynomials that are 1 at one point and 0 at the others."""
    found = []
    for i, x in enumerate(points):
        f = flint.fmpq_poly([1])
        for j, y in enumerate(points):
            if i != j:
                f = f * flint.fmpq_poly([-y, 1]) / (x - y)
        found.append(f)
    return found


def _poly(f: Any) -> sympy.Poly:
    terms = {(k,): sympy.Rational(int(c.p), int(c.q)) for k, c in enumerate(f.coeffs()) if c != 0}
    return sympy.Poly.from_dict(terms or {(0,): sympy.Integer(0)}, _X, domain="QQ")


def _roots_in_unit(f: Any) -> list[tuple[Fraction, Fraction, sympy.Poly]]:
    """Isolating intervals of the roots in [0, 1], each with its irreducible factor."""
    found = []
    width = sympy.Rational(WIDTH.numerator, WIDTH.denominator)
    for factor, _ in _poly(f).factor_list()[1]:
        for (low, high), _ in factor.intervals(inf=0, sup=1, eps=width):
            found.append((_fraction(low), _fraction(high), factor))
    return sorted(found, key=lambda item: item[0])


def _fraction(x: Any) -> Fraction:
    return Fraction(int(x.p), int(x.q))


def _ball(low: Fraction, high: Fraction) -> Any:
    ends = [flint.arb(flint.fmpq(x.numerator, x.denominator)) for x in (low, high)]
    return ends[0].union(ends[1])


def _at(f: Any, x: Any) -> Any:
    """The value of a rational polynomial on a ball."""
    total = flint.arb(0)
    for c in reversed(f.coeffs()):
        total = total * x + flint.arb(c)
    return total


def _vanishes(f: Any, factor: sympy.Poly) -> bool:
    """Whether f is zero at the roots of an irreducible polynomial."""
    return bool(_poly(f).rem(factor).is_zero)


def _narrowed(
    factor: sympy.Poly, low: Fraction, high: Fraction, width: Fraction
) -> tuple[Fraction, Fraction]:
    if low == high:
        return low, high
    a, b = factor.refine_root(
        sympy.Rational(low.numerator, low.denominator),
        sympy.Rational(high.numerator, high.denominator),
        eps=sympy.Rational(width.numerator, width.denominator),
    )
    return _fraction(a), _fraction(b)
