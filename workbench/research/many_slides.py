"""Sliding equilibria of many greedy policies: several rows tie, or several actions of one row.

Let each row o mix the actions of a set B(o) with shares x_o, rows independently of one another, so
that the greedy policy g is followed for the share lambda_g = prod_o x_o(g(o)) of the time. The mean
field stays at q if

    sum_g lambda_g (A_g q + c_g) = 0,      q(o,a) = q(o,a')  for all a, a' in B(o)

with A_g q + c_g the field in the cell of g (`mean_field`): as many ties as free shares. For one row
these are all mixtures in Filippov's sense; for several rows the mixtures of all policies are more
than those of independent rows (Alexander and Seidman 1998 call the latter blended), so that other
sliding equilibria may lie beside the ones found here. With x a point the first equation has one
solution q(x); the ties are then equations in x alone, whose zeros are enclosed (`enclosures`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import prod
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import TooLarge, WorkbenchError, WrongType
from workbench.core.learners import Learner, check_count
from workbench.core.numbers import Number
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.space import Label
from workbench.equilibrium.learned_values import deciding_rows
from workbench.equilibrium.mean_field import Flow
from workbench.research.enclosures import PRECISION, Box, ball, isolate
from workbench.research.slides import checked_for_slides, exact_mean_field

MOST_POLICIES = 64
"""So many greedy policies are mixed at most."""


@dataclass(frozen=True, eq=False)
class ManySlide:
    """A tie of many greedy policies on which the mean field stays.

    Attributes
    ----------
    shares : {o: {a: share of time}} for the rows that mix.
    policies : how many greedy policies are mixed.
    radius : each share is closer to the true one than this.
    q : `q[o, a]` in floats.
    """

    P: POMDP
    shares: dict[Label, dict[Label, float]]
    policies: int
    radius: float
    q: NDArray[np.float64]

    def __repr__(self) -> str:
        rows = "; ".join(
            f"{self.P.O.text(o)}: "
            + ", ".join(f"{self.P.A.text(a)} {x:.4g}" for a, x in row.items())
            for o, row in self.shares.items()
        )
        return f"sliding equilibrium of {self.policies} policies of {self.P.name} at {rows}"


@dataclass(frozen=True)
class ManySlides:
    """The sliding equilibria among some tied actions.

    Attributes
    ----------
    found : those that are certain; undecided : points at rest where an enclosure cannot tell
    whether
        another action ties or is better, or a share is 0.
    complete : whether no other mixture of these actions is at rest. looked_at : how many boxes of
        shares were looked at.
    """

    found: tuple[ManySlide, ...]
    undecided: tuple[ManySlide, ...]
    complete: bool
    looked_at: int


def slides_among(
    P: POMDP,
    learner: Learner,
    policy: Policy,
    ties: Mapping[Label, Sequence[Label]],
    epsilon: Number | None = None,
    *,
    near: Mapping[Label, Mapping[Label, float]] | None = None,
    most: int = 1_000,
) -> ManySlides:
    """Find the sliding equilibria at which some rows mix some actions.

    Parameters
    ----------
    policy : a deterministic policy, for the rows that do not mix.
    ties : {o: the actions that it mixes}.
    near : shares {o: {a: share}} to look at first, such as those of a flow.
    most : look at so many boxes of shares at most.
    """
    target, epsilon, P = checked_for_slides(P, learner, epsilon)
    if not isinstance(policy, Policy) or not policy.is_deterministic:
        raise WrongType(f"a tie lies between deterministic policies, not at {policy!r}")
    policy.fits(P)
    check_count("most", most)
    system = SlideSystem(P, target, epsilon, policy, ties)
    start = [] if near is None else [system.point(near)]
    result = isolate(system, [ball(0, 1)] * system.size, most, start)
    found: dict[bool | None, list[ManySlide]] = {True: [], None: [], False: []}
    for zero in result.zeros:
        found[system.judge(zero)].append(system.slide(zero))
    return ManySlides(tuple(found[True]), tuple(found[None]), result.complete, result.looked_at)


def slides_near(flow: Flow, epsilon: Number, least: float = 0.05, most: int = 1) -> ManySlides:
    """The sliding equilibrium around a flow's tail. All rows in which several actions were greedy
    for at least a share `least` of the time are mixed at once."""
    P = flow.P
    actions = np.zeros(len(P.O), dtype=np.int64)
    actions[flow.rows] = flow.shares.argmax(axis=1)
    near: dict[Label, dict[Label, float]] = {}
    for i, o in enumerate(flow.rows.tolist()):
        mixed = np.flatnonzero(flow.shares[i] >= least)
        if len(mixed) > 1:
            total = float(flow.shares[i, mixed].sum())
            near[P.O[o]] = {P.A[int(a)]: float(flow.shares[i, a]) / total for a in mixed}
    return slides_among(
        P,
        flow.learner,
        Policy.from_actions(P, actions),
        {o: list(row) for o, row in near.items()},
        epsilon,
        near=near,
        most=most,
    )


class SlideSystem:
    """The ties as equations in the free shares. Each row that mixes gives one for each of its
    actions but the first."""

    def __init__(
        self,
        P: POMDP,
        target: Any,
        epsilon: Number,
        policy: Policy,
        ties: Mapping[Label, Sequence[Label]],
    ):
        self.P, self.rows = P, deciding_rows(P)
        self.mixed = [(P.O.index(o), [P.A.index(a) for a in acts]) for o, acts in ties.items()]
        place = {int(o): i for i, o in enumerate(self.rows)}
        for o, acts in self.mixed:
            if o not in place:
                raise WorkbenchError(f"o={P.O.text(P.O[o])} is never seen where a policy matters")
            if len(acts) < 2 or len(set(acts)) < len(acts):
                raise WorkbenchError(f"o={P.O.text(P.O[o])} mixes two different actions at least")
        if not self.mixed:
            raise WorkbenchError("no row mixes actions: there is no tie to slide along")
        self.count = prod(len(acts) for _, acts in self.mixed)
        if self.count > MOST_POLICIES:
            raise TooLarge(
                f"{self.count} greedy policies would be mixed; up to {MOST_POLICIES} are. Tie "
                "fewer actions"
            )
        self.size = sum(len(acts) - 1 for _, acts in self.mixed)
        self.fixed = policy.actions.copy()
        self.start = [place[o] * len(P.A) for o, _ in self.mixed]
        self.n = len(self.rows) * len(P.A)
        before = flint.ctx.prec
        flint.ctx.prec = PRECISION
        try:
            self.fields = []
            for choice in product(*(range(len(acts)) for _, acts in self.mixed)):
                actions = self.fixed.copy()
                for (o, acts), k in zip(self.mixed, choice, strict=True):
                    actions[o] = acts[k]
                A, c = exact_mean_field(
                    P, target, epsilon, Policy.from_actions(P, actions), self.rows
                )
                A_balls = flint.arb_mat(self.n, self.n, [flint.arb(x) for row in A for x in row])
                self.fields.append(
                    (choice, A_balls, flint.arb_mat(self.n, 1, [flint.arb(x) for x in c]))
                )
        finally:
            flint.ctx.prec = before

    @cached_property
    def radii(self) -> list[list[float]]:
        return [[1.0] * self.size]

    def point(self, near: Mapping[Label, Mapping[Label, float]]) -> Box:
        """Shares as a point."""
        return [
            flint.arb(float(near[self.P.O[o]][self.P.A[a]]))
            for o, acts in self.mixed
            for a in acts[1:]
        ]

    def all_shares(self, x: Box) -> list[list[Any]]:
        """The shares of each row, the first action's included."""
        found, k = [], 0
        for _, acts in self.mixed:
            others = x[k : k + len(acts) - 1]
            found.append([1 - sum(others, flint.arb(0)), *others])
            k += len(others)
        return found

    def contract(self, x: Box) -> Box | None:
        """None where the shares of a row exceed 1."""
        return None if any(row[0] < 0 for row in self.all_shares(x)) else x

    def _mixture(self, x: Box, by: tuple[int, int] | None = None) -> tuple[Any, Any]:
        """The mixtures sum_g lambda_g A_g and sum_g lambda_g c_g, or their slopes. The slopes are
        in the share of the action number by[1] of the row number by[0]."""
        shares = self.all_shares(x)
        A, c = flint.arb_mat(self.n, self.n), flint.arb_mat(self.n, 1)
        for choice, A_g, c_g in self.fields:
            weight = flint.arb(1)
            for r, k in enumerate(choice):
                if by is not None and r == by[0]:
                    weight *= 1 if k == by[1] else -1 if k == 0 else 0
                else:
                    weight *= shares[r][k]
            A += A_g * weight
            c += c_g * weight
        return A, c

    def q(self, x: Box) -> Any:
        """The table at which the mixture of the fields vanishes."""
        A, c = self._mixture(x)
        return A.solve(c * flint.arb(-1))

    def _ties(self, q: Any) -> list[Any]:
        return [
            q[base + a, 0] - q[base + acts[0], 0]
            for base, (_, acts) in zip(self.start, self.mixed, strict=True)
            for a in acts[1:]
        ]

    def value(self, x: Box) -> list[Any]:
        return self._ties(self.q(x))

    def slopes(self, x: Box) -> Any:
        A, c = self._mixture(x)
        q = A.solve(c * flint.arb(-1))
        columns = []
        for r, (_, acts) in enumerate(self.mixed):
            for k in range(1, len(acts)):
                dA, dc = self._mixture(x, (r, k))
                columns.append(self._ties(A.solve((dA * q + dc) * flint.arb(-1))))
        flat = [columns[j][i] for i in range(self.size) for j in range(self.size)]
        return flint.arb_mat(self.size, self.size, flat)

    def judge(self, zero: Box) -> bool | None:
        """Whether a zero is a sliding equilibrium: every share positive, no other action better.
        None where its enclosure does not tell."""
        shares = [x for row in self.all_shares(zero) for x in row]
        q = self.q(zero)
        used = dict(self.mixed)
        leads = []
        for i, o in enumerate(self.rows.tolist()):
            acts = used.get(o, [int(self.fixed[o])])
            own = q[i * len(self.P.A) + acts[0], 0]
            leads += [
                own - q[i * len(self.P.A) + a, 0] for a in range(len(self.P.A)) if a not in acts
            ]
        if any(x < 0 for x in [*shares, *leads]):
            return False
        return True if all(x > 0 for x in [*shares, *leads]) else None

    def slide(self, zero: Box) -> ManySlide:
        """The record of a zero."""
        P, q = self.P, self.q(zero)
        table = np.full((len(P.O), len(P.A)), np.nan)
        flat = [float(q[i, 0].mid()) for i in range(self.n)]
        table[self.rows] = np.array(flat).reshape(len(self.rows), -1)
        shares = {
            P.O[o]: {P.A[a]: float(x.mid()) for a, x in zip(acts, row, strict=True)}
            for (o, acts), row in zip(self.mixed, self.all_shares(zero), strict=True)
        }
        radius = max(float(x.rad()) + 2**-52 for row in self.all_shares(zero) for x in row)
        return ManySlide(P, shares, self.count, radius, table)
