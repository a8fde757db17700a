"""Fixed points for every epsilon and gamma at once: a subdivision of the open unit square.

With epsilon, gamma or both as symbols, q_g(o, g(o)) - q_g(o, a) is a rational function of them for
each greedy policy g, and g is a fixed point where none of these is negative. So:

    refuted    one difference is negative on the whole open square (Bernstein coefficients): g is
               never a fixed point
    the rest   the factors of their numerators and denominators cut the square into cells: the
               resultants and discriminants of the factors, and their values on two sides of the
               square, give the values of the last symbol where curves meet, turn, enter or leave;
               between two of them the curves are ordered; a rational point of each cell, exactly
               evaluated, decides for the whole cell (no factor vanishes in it)

Cells of one and the same answer are listed one by one; `regions` puts them together.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np
import sympy
from numpy.typing import NDArray

from workbench.core.errors import TooLarge, WorkbenchError, WrongType
from workbench.core.evaluate import evaluate
from workbench.core.exact import RationalFunctions
from workbench.core.learners import Learner, Target
from workbench.core.numbers import Number, is_symbolic, number
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.space import Label
from workbench.equilibrium.greedy_cells import blocks
from workbench.equilibrium.learned_values import (
    Learned,
    check_epsilon,
    deciding_rows,
    target_of,
)
from workbench.plain_numbers import seconds_of
from workbench.progress import TimeOver, Waiting, check_time, ends_in
from workbench.research.square_sign import coefficients, sign_inside
from workbench.results.findings import Findings
from workbench.text import counted

MOST_SYMBOLIC = 25_000
"""So many greedy policies are looked at with symbols, at most."""

_SAMPLES = (Fraction(1, 100), Fraction(1, 2), Fraction(99, 100))
"""Places on the diagonal at which an action has to be better before its sign is asked for
everywhere, which is dear."""


@dataclass(frozen=True, eq=False)
class SquareCell:
    """A connected open part of the square in which nothing changes.

    Attributes
    ----------
    sample : {symbol: a rational point of the cell}.
    settled : the numbers, in `Subdivision.policies`, of the greedy policies that are fixed points.
    """

    sample: dict[sympy.Symbol, Fraction]
    settled: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Subdivision(Findings[SquareCell]):
    """Which greedy policies are fixed points where.

    Attributes
    ----------
    epsilon : how much is explored, a number or a symbol.
    symbols : the symbols, each between 0 and 1.
    policies : the greedy policies that are a fixed point in some cell; values : what they are
        worth.
    always_tied : for each of them, whether some row has several best actions in all cells.
    curves : the polynomials whose zeros part the cells.
    cells : how many greedy policies there are; looked_at : after symmetry.
    refuted : how many were refuted on the whole square by one inequality.
    refutations : of each of these the actions in the deciding rows, and the row and the action of
        the inequality, both as places.
    left : how many, after symmetry, were neither refuted nor placed in cells before the time was
        over; 0 for a whole answer.
    found : the cells; none where policies are left.
    """

    P: POMDP
    learner: Learner
    epsilon: Number
    symbols: tuple[sympy.Symbol, ...]
    policies: tuple[Policy, ...]
    values: tuple[Number, ...]
    always_tied: tuple[bool, ...]
    curves: tuple[sympy.Expr, ...]
    cells: int
    looked_at: int
    refuted: int
    refutations: tuple[tuple[tuple[int, ...], int, int], ...]
    left: int
    found: tuple[SquareCell, ...]

    @property
    def complete(self) -> bool:
        """Whether the whole square is answered for."""
        return not self.left

    @property
    def regions(self) -> dict[tuple[int, ...], list[SquareCell]]:
        """The cells by their answer."""
        found: dict[tuple[int, ...], list[SquareCell]] = {}
        for cell in self.found:
            found.setdefault(cell.settled, []).append(cell)
        return found

    @property
    def none_exists(self) -> bool:
        """Whether no greedy policy is a fixed point in any cell."""
        return self.complete and not self.policies

    def __repr__(self) -> str:
        names = ", ".join(map(str, self.symbols))
        lines = [
            f"{self.learner.kind} on {self.P.name}, {names} in (0, 1): "
            f"{counted(len(self.found), 'cell')}, {counted(len(self.curves), 'curve')}; "
            f"{self.refuted:,} of {self.looked_at:,} greedy policies refuted everywhere"
        ]
        rows, O, A = deciding_rows(self.P), self.P.O, self.P.A
        for i, (pi, value) in enumerate(zip(self.policies, self.values, strict=True)):
            acts = ", ".join(f"{O.text(O[o])}: {A.text(A[pi.actions[o]])}" for o in rows)
            lines.append(f"  policy {i}, worth {value}: {{{acts}}}")
        for settled, parts in self.regions.items():
            what = ", ".join(f"policy {i}" for i in settled) or "no fixed point"
            at = ", ".join(f"{s} = {x}" for s, x in parts[0].sample.items())
            lines.append(f"  {what}: {counted(len(parts), 'cell')}, one around {at}")
        if self.left:
            lines.append(f"  {self.left:,} not decided before the time was over")
        return "\n".join(lines)


def subdivide(
    P: POMDP,
    learner: Learner,
    epsilon: Number | None = None,
    gamma: Number | None = None,
    symmetry: bool = True,
    max_seconds: float | None = None,
) -> Subdivision:
    """Find the fixed points of a learner for all values of one or two symbols between 0 and 1.

    Parameters
    ----------
    P, learner : as for `equilibria`; P may hold symbols.
    epsilon, gamma : instead of the learner's and the POMDP's own: a symbol or an exact number.
    symmetry : whether, of policies that differ by the names of memory states, one is looked at.
    max_seconds : of all the work; the answer then has no cells, and counts in `left` the policies
        that are not refuted.

    >>> from workbench.improvement.batch import sequence_task
    >>> P = sequence_task([[1, 0], [0, 0]])
    >>> from workbench.core.learners import QLearning
    >>> found = subdivide(P, QLearning(), epsilon=sympy.Symbol("epsilon"))
    >>> [found.policies[i].row("o") for i in found[0].settled], found.refuted
    ([{0: Fraction(1, 1)}], 1)

    See also: `equilibria`, `soft_equilibria`.
    """
    P.require_all_actions("subdivide")
    seconds = seconds_of(max_seconds)
    target = target_of(learner)
    assert hasattr(learner, "epsilon")
    assert hasattr(learner, "gamma")
    epsilon = check_epsilon(learner.epsilon if epsilon is None else epsilon)
    gamma = learner.gamma if gamma is None else gamma
    if gamma is not None:
        P = P.with_gamma(gamma)
    P.require_exact()
    for name, x in (("epsilon", epsilon), ("lam", target.lam)):
        if isinstance(x, float):
            raise WrongType(f"with symbols {name} must be exact, not the float {x!r}")
    field = _field_of(P, epsilon)
    return _Subdividing(P, learner, target, epsilon, field).run(symmetry, seconds)


def refute_everywhere(
    P: POMDP, learner: Learner, policy: Policy, epsilon: Number
) -> tuple[Label, Label] | None:
    """A pair (o, a) that refutes a greedy policy for all values of the symbols in (0, 1). There
    q(o, a) > q(o, policy(o)) on the whole open square. None if no one pair does."""
    policy.fits(P)
    epsilon = check_epsilon(epsilon)
    search = _Subdividing(P, learner, target_of(learner), epsilon, _field_of(P, epsilon))
    actions = np.asarray(policy.actions)[search.rows]
    pair = search.refuting(search.learned.q(policy)[search.rows], actions)
    return None if pair is None else (P.O[int(search.rows[pair[0]])], P.A[pair[1]])


def _field_of(P: POMDP, epsilon: Number) -> RationalFunctions:
    found = P.symbols | (epsilon.free_symbols if is_symbolic(epsilon) else frozenset())
    if not 1 <= len(found) <= 2:
        raise WorkbenchError(
            f"a subdivision is over one or two symbols, not {len(found)}; `equilibria` answers "
            "for numbers"
        )
    return RationalFunctions(found)


class _Subdividing:
    def __init__(
        self,
        P: POMDP,
        learner: Learner,
        target: Target,
        epsilon: Number,
        field: RationalFunctions,
    ):
        self.P, self.learner, self.target, self.epsilon = P, learner, target, epsilon
        self.field = field
        self.symbols = field.symbols
        self.rows = deciding_rows(P)
        self.learned = Learned(P, target, epsilon, field)
        self.cells = len(P.A) ** len(self.rows)
        if self.cells > MOST_SYMBOLIC:
            raise TooLarge(
                f"{P.name} has {self.cells:,} greedy policies ({len(P.A)} actions in "
                f"{len(self.rows)} rows); with symbols {MOST_SYMBOLIC:,} are looked at. Give "
                "numbers, or a smaller memory"
            )

    def run(self, symmetry: bool, seconds: float) -> Subdivision:
        actions = np.concatenate(list(blocks(self.P, self.rows, 4096, symmetry)))
        kept: list[tuple[NDArray[np.int64], list[Any]]] = []
        refutations: list[tuple[tuple[int, ...], int, int]] = []
        curves: list[Any] = []
        points: list[tuple[Fraction, ...]] = []
        answers: list[tuple[int, ...]] = []
        left = 0
        try:
            what = f"fixed points on {self.P.name}, with symbols"
            with ends_in(seconds), Waiting(what) as waiting:
                for i, row in enumerate(actions):
                    check_time()
                    q = self.learned.q(self._policy(row))[self.rows]
                    pair = self.refuting(q, row)
                    if pair is not None:
                        refutations.append((tuple(row.tolist()), *pair))
                    else:
                        kept.append((row, self._differences(q, row)))
                    waiting.report(i / len(actions), f"{i:,} of {len(actions):,}")
                curves = self._curves(kept)
                points = _points(curves, len(self.symbols))
                for point in points:
                    check_time()
                    answers.append(
                        tuple(
                            i
                            for i, (_, d) in enumerate(kept)
                            if all(_value(x, point) >= 0 for x in d)
                        )
                    )
        except TimeOver:
            check_time()  # a limit around all of this
            left = len(actions) - len(refutations)
            points, answers = [], []
        used = sorted({i for answer in answers for i in answer})
        number_of = {i: k for k, i in enumerate(used)}
        policies = [self._policy(kept[i][0]) for i in used]
        return Subdivision(
            P=self.P,
            learner=self.learner,
            epsilon=self.epsilon,
            symbols=self.symbols,
            policies=tuple(policies),
            values=tuple(
                number(sympy.factor(evaluate(self.P, pi, exact=True).value)) for pi in policies
            ),
            always_tied=tuple(any(x == 0 for x in kept[i][1]) for i in used),
            curves=tuple(self.field._expression(c) for c in curves),
            cells=self.cells,
            looked_at=len(actions),
            refuted=len(refutations),
            refutations=tuple(refutations),
            left=left,
            found=tuple(
                SquareCell(
                    dict(zip(self.symbols, point, strict=True)),
                    tuple(number_of[i] for i in answer),
                )
                for point, answer in zip(points, answers, strict=True)
            ),
        )

    def _policy(self, actions: NDArray[np.int64]) -> Policy:
        whole = np.zeros(len(self.P.O), dtype=np.int64)
        whole[self.rows] = actions
        return Policy.from_actions(self.P, whole)

    def refuting(self, q: NDArray[Any], actions: NDArray[np.int64]) -> tuple[int, int] | None:
        """A row and an action whose difference is negative on the whole open square."""
        n = len(self.symbols)
        points = [(x,) * n for x in _SAMPLES]
        for o, own in enumerate(actions.tolist()):
            for a in range(q.shape[1]):
                d = q[o, a] - q[o, own]
                if d == 0 or min(_value(d, point) for point in points) <= 0:
                    continue
                over, under = (sign_inside(coefficients(x, n)) for x in (d.num, d.den))
                if over is not None and under is not None and over * under > 0:
                    return o, a
        return None

    def _differences(self, q: NDArray[Any], actions: NDArray[np.int64]) -> list[Any]:
        return [
            q[i, actions[i]] - q[i, a]
            for i in range(len(actions))
            for a in range(q.shape[1])
            if a != actions[i]
        ]

    def _curves(self, kept: list[tuple[NDArray[np.int64], list[Any]]]) -> list[Any]:
        """The irreducible factors that may vanish inside the square."""
        found: dict[str, Any] = {}
        for _, differences in kept:
            for d in differences:
                check_time()
                for part in (d.num, d.den):
                    if part == 0 or part.is_constant():
                        continue
                    for factor, _ in part.factor()[1]:
                        found.setdefault(str(factor), factor)
        n = len(self.symbols)
        return [f for f in found.values() if sign_inside(coefficients(f, n)) is None]


def _value(d: Any, point: tuple[Fraction, ...]) -> Any:
    at = [flint.fmpq(x.numerator, x.denominator) for x in point]
    return d.num(*at) / d.den(*at)


# ---------------------------------------------------------------------- one point in each cell


def _points(curves: list[Any], n: int) -> list[tuple[Fraction, ...]]:
    """A rational point in each open cell of (0, 1)^n between the curves."""
    if n == 1:
        return [(x,) for x in _between(_roots([_univariate(c, 0) for c in curves]))]
    # where, on the last axis, two curves cross, or one turns, goes to infinity, or passes a side of
    # the square: there the order changes
    special: list[Any] = []
    for i, c in enumerate(curves):
        if int(c.degrees()[0]) == 0:
            special.append(_univariate(c, 1))
            continue
        special.append(_univariate(_leading(c), 1))
        special += [_univariate(c.subs({0: side}), 1) for side in (0, 1)]
        if int(c.degrees()[0]) > 1:
            special.append(_univariate(c.discriminant(0), 1))
        for other in curves[:i]:
            check_time()
            if int(other.degrees()[0]) > 0:
                special.append(_univariate(c.resultant(other, 0), 1))
    found: list[tuple[Fraction, ...]] = []
    for y in _between(_roots(special)):
        check_time()
        at = flint.fmpq(y.numerator, y.denominator)
        lines = [_univariate(c.subs({1: at}), 0) for c in curves]
        found += [(x, y) for x in _between(_roots(lines))]
    return found


def _leading(c: Any) -> Any:
    """The leading coefficient of c as a polynomial in its first variable."""
    top = int(c.degrees()[0])
    y = c.context().gens()[1]
    total = c * 0
    for powers, a in c.terms():
        if int(powers[0]) == top:
            total = total + a * y ** int(powers[1])
    return total


def _univariate(c: Any, variable: int) -> sympy.Poly:
    """A flint polynomial in which only one variable occurs, as one of sympy's."""
    x = sympy.Symbol("x")
    terms = {
        (int(powers[variable]),): sympy.Rational(int(a.p), int(a.q)) for powers, a in c.terms()
    }
    return sympy.Poly.from_dict(terms or {(0,): sympy.Integer(0)}, x, domain="QQ")


def _roots(polynomials: list[sympy.Poly]) -> list[tuple[Fraction, Fraction]]:
    """Disjoint intervals, in order, each around one real root in (0, 1) of one of the
    polynomials."""
    factors: dict[sympy.Expr, sympy.Poly] = {}
    for p in polynomials:
        if not p.is_zero and p.degree() >= 1:
            for factor, _ in p.factor_list()[1]:
                factors.setdefault(factor.monic().as_expr(), factor)
    found = []
    for factor in factors.values():
        for (low, high), _ in factor.intervals(inf=0, sup=1, eps=sympy.Rational(1, 10**6)):
            if not (low == high and low in (0, 1)):
                found.append((low, high, factor))
    # irreducible factors that differ have no root in common: narrowing parts them
    while True:
        found.sort(key=lambda item: (item[0], item[1]))
        meet = [k for k in range(len(found) - 1) if found[k][1] >= found[k + 1][0]]
        if not meet:
            break
        for k in sorted({*meet, *(place + 1 for place in meet)}):
            low, high, factor = found[k]
            if low < high:
                width = (high - low) / 1000
                found[k] = (*factor.refine_root(low, high, eps=width), factor)
    ends = [(Fraction(int(a.p), int(a.q)), Fraction(int(b.p), int(b.q))) for a, b, _ in found]
    return [(max(a, Fraction(0)), min(b, Fraction(1))) for a, b in ends]


def _between(roots: list[tuple[Fraction, Fraction]]) -> list[Fraction]:
    """A rational number in each gap that the roots leave in (0, 1)."""
    ends = [Fraction(0), *(x for pair in roots for x in pair), Fraction(1)]
    gaps = zip(ends[::2], ends[1::2], strict=True)
    return [_simple(low, high) for low, high in gaps if low < high]


def _simple(low: Fraction, high: Fraction) -> Fraction:
    """A number between two others, with a small denominator."""
    middle = (low + high) / 2
    for digits in range(1, 20):
        rounded = Fraction(round(middle * 10**digits), 10**digits)
        if low < rounded < high:
            return rounded
    return middle
