"""Sliding equilibria: ties of greedy policies on which the mean field stays.

Let each row o mix the actions of a set B(o) with shares x_o, rows independently of one another, so
that the greedy policy g is followed for the share lambda_g = prod_o x_o(g(o)) of the time. A
solution in Filippov's sense stays at q if

    sum_g lambda_g (A_g q + c_g) = 0,      q(o,a) = q(o,a')  for all a, a' in B(o)

with A_g q + c_g the mean field in the cell of g (`mean_field`): as many ties as free shares. (It is
*not* the fixed point of the mixed policy: the weights P(s|o) of a mixture of behaviours are those
of neither, nor of their mean.) For one row these are all mixtures; for several rows the mixtures of
all policies are more than those of independent rows (Alexander and Seidman 1998 call the latter
blended), so that other sliding equilibria may lie beside the ones found here.

The first equation has one solution q(x), whose entries are rational functions of the free shares.
The numerators of the ties are polynomials in the shares alone; their common zeros are enclosed
(`enclosures`), and one share is a root of a polynomial in one variable.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import Any

import flint
import numpy as np
import scipy.sparse as sp
import sympy
from numpy.typing import NDArray

from workbench.core.bootstrap import Bootstrap
from workbench.core.errors import NotExact, TooLarge, WorkbenchError, WrongType
from workbench.core.exact import RationalFunctions
from workbench.core.fields import RATIONALS
from workbench.core.learners import Learner, Target, check_count
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
from workbench.research.enclosures import (
    PRECISION,
    BallPolynomial,
    Box,
    PolynomialSystem,
    ball,
    isolate,
)

MOST_ENTRIES = 64
"""Tables with more entries that matter are not solved with shares as symbols."""

MOST_POLICIES = 64
"""So many greedy policies are mixed at most."""

_LEAST = 0.001
"""Of the time for which an action was greedy, to be one that is mixed."""


@dataclass(frozen=True, eq=False)
class Slide:
    """A tie of greedy policies on which the mean field stays.

    Attributes
    ----------
    shares : {o: {a: share of time}} for the rows that mix.
    policies : how many greedy policies are mixed.
    radius : each share is closer to the true one than this.
    q : `q[o, a]` in floats.
    polynomial : where one share is free, an irreducible polynomial in x of which the share of the
        second action is a root; else None.
    attracts : whether the fields of two policies both point to their tie, so that the mean field
        comes back to it; None where one of them runs along it, or more policies mix.
    """

    P: POMDP
    shares: dict[Label, dict[Label, float]]
    policies: int
    radius: float
    q: NDArray[np.float64]
    polynomial: sympy.Expr | None
    attracts: bool | None

    def __repr__(self) -> str:
        rows = "; ".join(
            f"{self.P.O.text(o)}: "
            + ", ".join(f"{self.P.A.text(a)} {x:.6g}" for a, x in row.items())
            for o, row in self.shares.items()
        )
        pull = {True: ", attracting", False: ", repelling", None: ""}[self.attracts]
        return f"sliding equilibrium of {self.policies} policies of {self.P.name} at {rows}{pull}"


@dataclass(frozen=True)
class Slides:
    """The sliding equilibria among some tied actions.

    Attributes
    ----------
    found : those that are certain.
    undecided : points at rest where an enclosure cannot tell whether another action is better, or a
        share is 0.
    complete : whether no other mixture of these actions is at rest; False as well where they tie
        for every share.
    looked_at : how many boxes of shares were looked at.
    """

    found: tuple[Slide, ...]
    undecided: tuple[Slide, ...]
    complete: bool
    looked_at: int


def slides(
    P: POMDP,
    learner: Learner,
    policy: Policy,
    ties: Mapping[Label, Sequence[Label]],
    epsilon: Number | None = None,
    *,
    most: int = 1_000,
) -> Slides:
    """Find the sliding equilibria at which some rows mix some actions.

    Actions that tie whatever the shares are, as writes before the end do, are not mixed: the first
    stands for them.

    Parameters
    ----------
    learner : a learner of one-step targets: `QLearning(...)` or `Sarsa(lam=0, ...)`.
    policy : a deterministic policy, for the rows that do not mix.
    ties : {o: the actions that it mixes}.
    epsilon : an exact number, instead of the learner's own.
    most : look at so many boxes of shares at most.
    """
    target, epsilon, P = _checked(P, learner, epsilon)
    if not isinstance(policy, Policy) or not policy.is_deterministic:
        raise WrongType(f"a tie lies between deterministic policies, not at {policy!r}")
    policy.fits(P)
    check_count("most", most)
    mixture = _Mixture(P, target, epsilon, policy, ties)
    while alike := mixture.alike:
        distinct = {o: [a for a in acts if (o, a) not in alike] for o, acts in ties.items()}
        ties = {o: acts for o, acts in distinct.items() if len(acts) > 1}
        if not ties:
            return Slides((), (), False, 0)
        mixture = _Mixture(P, target, epsilon, policy, ties)
    return mixture.slides(most)


def slides_of(flow: Flow, epsilon: Number) -> Slides:
    """The sliding equilibria between the greedy policies that a flow's tail used. All rows in which
    several actions were greedy for some of the time are mixed at once."""
    P = flow.P
    actions = np.zeros(len(P.O), dtype=np.int64)
    actions[flow.rows] = flow.shares.argmax(axis=1)
    mixed = (np.flatnonzero(row >= _LEAST) for row in flow.shares)
    ties = {
        P.O[int(o)]: [P.A[int(a)] for a in acts]
        for o, acts in zip(flow.rows, mixed, strict=True)
        if len(acts) > 1
    }
    return slides(P, flow.learner, Policy.from_actions(P, actions), ties, epsilon)


def _checked(P: Any, learner: Any, epsilon: Any) -> tuple[Target, Number, POMDP]:
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
            f"the table of {P.name} has {entries} entries that matter; up to {MOST_ENTRIES} fit. "
            "Take a smaller memory"
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


class _Shares(PolynomialSystem):
    """The ties as polynomials in the free shares, those of each row but the first action's."""

    def __init__(self, polynomials: list[Any], sizes: list[int]):
        super().__init__(polynomials)
        self.sizes = sizes

    def by_row(self, x: Sequence[Any]) -> list[list[Any]]:
        """The shares of each row, the first action's included."""
        found, k = [], 0
        for size in self.sizes:
            others = list(x[k : k + size - 1])
            found.append([1 - sum(others), *others])
            k += size - 1
        return found

    def contract(self, x: Box) -> Box | None:
        """None where the shares of a row exceed 1."""
        return None if any(row[0] < 0 for row in self.by_row(x)) else x


class _Mixture:
    """The table at which a mixture of mean fields vanishes, as rational functions of the shares."""

    def __init__(
        self,
        P: POMDP,
        target: Target,
        epsilon: Number,
        policy: Policy,
        ties: Mapping[Label, Sequence[Label]],
    ):
        self.P, self.rows, self.fixed = P, deciding_rows(P), policy.actions
        self.mixed = {P.O.index(o): [P.A.index(a) for a in acts] for o, acts in ties.items()}
        place = {int(o): i for i, o in enumerate(self.rows)}
        for o, acts in self.mixed.items():
            if o not in place:
                raise WorkbenchError(f"o={P.O.text(P.O[o])} is never seen where a policy matters")
            if len(acts) < 2 or len(set(acts)) < len(acts):
                raise WorkbenchError(f"o={P.O.text(P.O[o])} mixes two different actions at least")
        if not self.mixed:
            raise WorkbenchError("no row mixes actions: there is no tie to slide along")
        self.count = prod(map(len, self.mixed.values()))
        if self.count > MOST_POLICIES:
            raise TooLarge(
                f"{self.count} greedy policies would be mixed; up to {MOST_POLICIES} are. Tie "
                "fewer actions"
            )
        sizes = [len(acts) for acts in self.mixed.values()]
        names = [sympy.Symbol(f"x{i:02d}") for i in range(sum(sizes) - len(sizes))]
        field = RationalFunctions(names)
        shares = _Shares([], sizes).by_row([field.one(x) for x in names])
        n = len(self.rows) * len(P.A)
        A, c = field.zeros((n, n)), field.zeros(n)
        self.fields = []
        for choice in product(*(range(size) for size in sizes)):
            actions = self.fixed.copy()
            actions[list(self.mixed)] = [
                acts[k] for acts, k in zip(self.mixed.values(), choice, strict=True)
            ]
            greedy = Policy.from_actions(P, actions)
            A_g, c_g = exact_mean_field(P, target, epsilon, greedy, self.rows)
            self.fields.append((A_g, c_g))
            followed = (row[k] for row, k in zip(shares, choice, strict=True))
            weight = prod(followed, start=field.one(1))
            c = c + np.array([weight * x for x in c_g])
            for i, line in enumerate(A_g):
                for j, x in enumerate(line):
                    if x != 0:
                        A[i, j] = A[i, j] + weight * x
        A = A + np.diag([field.one(1)] * n)  # A q + c = 0 is q = (I + A) q + c
        kept = np.array([[x != 0 for x in line] for line in A])
        pattern = sp.csr_array(kept.astype(np.float64))
        solved = field.solve(pattern, A[kept], field.one(1), c, "the mixture of mean fields")
        self.q = solved.x.reshape(len(self.rows), len(P.A))
        compared = [(o, acts[0], a) for o, acts in self.mixed.items() for a in acts[1:]]
        self.ties = [self.q[place[o], a] - self.q[place[o], first] for o, first, a in compared]
        self.alike = {
            (P.O[o], P.A[a]) for (o, _, a), tie in zip(compared, self.ties, strict=True) if tie == 0
        }
        self.system = _Shares([tie.num for tie in self.ties], sizes)

    def slides(self, most: int) -> Slides:
        """The points at which the ties hold, sorted by what is certain of them."""
        found: dict[bool | None, list[Slide]] = {True: [], None: [], False: []}
        result = isolate(self.system, [ball(0, 1)] * len(self.ties), most)
        with flint.ctx.workprec(PRECISION):
            for zero in result.zeros:
                factor = self._factor(zero)
                found[self._judged(zero, factor)].append(self._slide(zero, factor))
        return Slides(tuple(found[True]), tuple(found[None]), result.complete, result.looked_at)

    def _factor(self, zero: Box) -> Any:
        """The irreducible factor of the one tie that vanishes at a zero. None if there are more."""
        if len(self.ties) > 1:
            return None
        factors = (f for f, _ in self.ties[0].num.factor()[1])
        return next(f for f in factors if BallPolynomial(f).at(zero).contains(0))

    def _judged(self, zero: Box, factor: Any) -> bool | None:
        """Whether a zero is a sliding equilibrium: every share positive, no other action better.
        None where its enclosure does not tell."""
        signs = [x for row in self.system.by_row(zero) for x in row]
        for i, o in enumerate(self.rows.tolist()):
            acts = self.mixed.get(o, [int(self.fixed[o])])
            for a in set(range(len(self.P.A))) - set(acts):
                lead = self.q[i, acts[0]] - self.q[i, a]
                if lead != 0 and (factor is None or divmod(lead.num, factor)[1] != 0):
                    over, under = (BallPolynomial(f).at(zero) for f in (lead.num, lead.den))
                    signs.append(over * under)
        if any(x < 0 for x in signs):
            return False
        return True if all(x > 0 for x in signs) else None

    def _slide(self, zero: Box, factor: Any) -> Slide:
        P, shares = self.P, self.system.by_row(zero)
        at = [flint.fmpq(*map(int, float(x.mid()).as_integer_ratio())) for x in zero]
        q = [f.num(*at) / f.den(*at) for f in self.q.flat]
        table = np.full((len(P.O), len(P.A)), np.nan)
        table[self.rows] = np.array([float(RATIONALS.back(x)) for x in q]).reshape(self.q.shape)
        attracts = None
        if self.count == 2:
            ((o, (first, second)),) = self.mixed.items()
            base = int(np.flatnonzero(self.rows == o)[0]) * len(P.A)
            opens = []
            for A, c in self.fields:
                rates = [
                    sum((x * y for x, y in zip(A[base + a], q, strict=True)), start=c[base + a])
                    for a in (first, second)
                ]
                opens.append(rates[1] - rates[0])
            pulls = opens[0] > 0, opens[1] < 0
            attracts = True if all(pulls) else None if any(pulls) else False
        polynomial = None
        if factor is not None:
            x = sympy.Symbol("x")
            polynomial = sympy.Add(
                *(sympy.Rational(int(c.p), int(c.q)) * x ** int(k) for (k,), c in factor.terms())
            )
        return Slide(
            P=P,
            shares={
                P.O[o]: {P.A[a]: float(x.mid()) for a, x in zip(acts, row, strict=True)}
                for (o, acts), row in zip(self.mixed.items(), shares, strict=True)
            },
            policies=self.count,
            radius=max(float(x.rad()) + 2**-52 for row in shares for x in row),
            q=table,
            polynomial=polynomial,
            attracts=attracts,
        )
