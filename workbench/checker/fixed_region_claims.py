"""Re-checking at which greedy policies a learner can settle, for all epsilon and gamma in (0, 1).

fixed-point-regions   each greedy policy of a task with a memory is refuted by one pair (o, a)
                      everywhere, or the signs of a few curves say where it is a fixed point

epsilon, gamma and rewards may hold one or two names, which take all values in (0, 1). Let g be a
greedy policy, d the visits of its epsilon-greedy behaviour, polynomials in epsilon, W(o) their sum
behind o, and R(o,a) and K(o,a) rewards and steps weighed by d. Then v solves

    W(o) v(o) - gamma sum K(o, g(o))[o'] v(o') = R(o, g(o))        (Sarsa(0): the behaviour's mean)

so that by Cramer's rule v = N / D with polynomials, and

    f(o, a) = (R(o,g(o)) - R(o,a)) D + gamma sum (K(o,g(o)) - K(o,a))[o'] N(o')

has the sign of q(o, g(o)) - q(o, a): W > 0, since epsilon > 0 and only places that can be reached
are there, and D > 0. For no place is met twice (other tasks are refused): from the last place
behind o one goes on to a later one or ends, so that the steps between rows leave every set of rows,
and the determinant of such an M-matrix is positive for 0 < gamma <= 1.

A policy is *refuted* if one f(o, a) is negative on the whole open square (Bernstein coefficients).
For every other policy each f is divided by the *curves* as often as they divide it; what is left
must have one sign on the square, or be zero everywhere (then the two actions tie). So the signs of
the curves decide, and one sample point of each cell does (`plane_polynomials`).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from workbench.checker.expressions import Polynomial, read_polynomial
from workbench.checker.fixed_point_claims import (
    GreedyActions,
    GreedyTables,
    greedy_policy,
    note_policy,
    told_values,
)
from workbench.checker.place_graph import PlaceGraph, PolicyValues
from workbench.checker.plane_polynomials import check_cells
from workbench.checker.polynomials import ONE, ZERO, eliminated
from workbench.checker.positivity import is_positive_within
from workbench.checker.reader import (
    count,
    field,
    read_entries,
    read_fraction,
    read_polynomial_number,
    shown_task,
)
from workbench.checker.spoiled import Spoiled

MOST_REGION_POLICIES, MOST_REGION_ROWS, MOST_CURVES = 2_000, 6, 16


class SquareTables:
    """The differences f(o, a) of a greedy policy, as polynomials in the names.

    Attributes
    ----------
    names : one or two names.
    """

    def __init__(self, certificate: dict[str, Any]):
        self.names = field(certificate, "names", list)
        if not 1 <= len(self.names) <= 2 or not all(isinstance(x, str) for x in self.names):
            raise Spoiled("there are one or two names")
        if len(set(self.names)) < len(self.names):
            raise Spoiled(f"{self.names[0]} is named twice")
        self.tables = GreedyTables.read(certificate, read_polynomial_number)
        E = self.tables.E
        if self.tables.turn is None:
            raise Spoiled("regions are about tasks in which no place is met twice")
        if len(E.rows) > MOST_REGION_ROWS:
            raise Spoiled(f"{len(E.rows)} rows are more than {MOST_REGION_ROWS}")
        probabilities = [*E.start.values(), *(x for row in E.steps.values() for x in row.values())]
        if not all(isinstance(x, Fraction) for x in probabilities):
            raise Spoiled("probabilities of the task hold no names here")
        for what, x in (("epsilon", self.tables.epsilon), ("the discount", E.task.gamma)):
            if not isinstance(x, Fraction) and x not in map(Polynomial.name, self.names):
                raise Spoiled(f"{what} is a number or one of the names")
        if isinstance(E.task.gamma, Fraction) and E.task.gamma == 0:
            raise Spoiled("a discount of 0 is none of (0, 1]")
        self.gamma = Polynomial.of(E.task.gamma)
        self.R = {pair: self.in_names(Polynomial.of(r)) for pair, r in E.R.items()}

    def in_names(self, f: Polynomial) -> Polynomial:
        """A polynomial, if it holds no other names."""
        if strange := f.names - set(self.names):
            raise Spoiled(f"{min(strange)} is none of the names {', '.join(self.names)}")
        return f

    def differences(self, g: GreedyActions) -> list[list[Polynomial]]:
        """`f[row][action]` of the greedy policy with the actions g[row]."""
        tables, E, none = self.tables, self.tables.E, Polynomial({})
        n = len(tables.actions)
        number_of = {o: i for i, o in enumerate(tables.rows)}
        share = Polynomial.of(tables.epsilon) / n
        own = 1 - share * (n - 1)
        visits = [Polynomial.of(E.start.get(place, ZERO)) for place in E.places]
        W = [none for _ in g]
        R = [[none for _ in range(n)] for _ in g]
        K: list[list[dict[int, Polynomial]]] = [[{} for _ in range(n)] for _ in g]
        assert tables.turn is not None
        for k in tables.turn:
            place = E.places[k]
            i, d = number_of[place[1:]], visits[k]
            W[i] = W[i] + d
            # of the actions that share a probability, what is done is added up before multiplying
            onward: dict[bool, dict[int, Fraction]] = {True: {}, False: {}}
            for j, a in enumerate(tables.actions):
                R[i][j] = R[i][j] + d * self.R[place, a]
                for there, x in E.steps[place, a].items():
                    o = number_of[there[1:]]
                    K[i][j][o] = K[i][j].get(o, none) + d * x
                    to, part = tables.index[there], onward[j == g[i]]
                    part[to] = part.get(to, ZERO) + x
            for is_own, part in onward.items():
                moved = d * (own if is_own else share) if part else none
                for to, x in part.items():
                    visits[to] = visits[to] + moved * x
        matrix: list[dict[int, Polynomial]] = []
        right: list[Polynomial] = []
        for i, taken in enumerate(g):
            every = {j: own if j == taken else share for j in range(n)}
            row, side = {i: W[i]}, none
            for j, x in ({taken: ONE} if tables.greedy_target else every).items():
                side = side + x * R[i][j]
                for o, y in K[i][j].items():
                    row[o] = row.get(o, none) - self.gamma * (x * y)
            matrix.append({o: f for o, f in row.items() if f.terms})
            right.append(side)
        N, D = eliminated(matrix, right)
        if not N:
            raise Spoiled("the equations of a greedy policy depend on one another")
        found = []
        for i, taken in enumerate(g):
            worth = [
                R[i][j] * D + self.gamma * sum((y * N[o] for o, y in K[i][j].items()), none)
                for j in range(n)
            ]
            found.append([worth[taken] - f for f in worth])
        return found

    def sign(self, f: Polynomial) -> int:
        """The sign of f, shown on the whole open square: 1, -1, or 0 if f is 0."""
        if not f.terms:
            return 0
        box = dict.fromkeys(self.names, (False, ZERO, ONE, False))
        for sign in (1, -1):
            if is_positive_within(sign * f, box):
                return sign
        raise Spoiled("what the curves leave of a difference is not shown to have one sign")


class SignRule:
    """A difference as a product of curves and of what has one sign on the square."""

    def __init__(self, f: Polynomial, curves: list[Polynomial], tables: SquareTables):
        self.odd = []
        for i, curve in enumerate(curves):
            while f.terms and (quotient := f.over(curve)) is not None:
                f = quotient
                self.odd.append(i)
        self.rest = tables.sign(f)

    def sign(self, signs: tuple[int, ...]) -> int:
        """Of the difference where the curves have these signs."""
        found = self.rest
        for i in self.odd:
            found *= signs[i]
        return found


def check_fixed_regions(certificate: dict[str, Any]) -> str:
    """Check every greedy policy: it is refuted on the whole square, or fixed exactly in the named
    cells."""
    tables = SquareTables(certificate)
    cells = tables.tables
    rows, base = len(cells.rows), len(cells.actions)
    total = base**rows
    if total > MOST_REGION_POLICIES:
        raise Spoiled(f"{total:,} greedy policies are more than {MOST_REGION_POLICIES:,}")
    seen: set[int] = set()
    for g, row, action in read_entries(field(certificate, "refuted", list), 3, "refuted"):
        note_policy(count(g, 0, total - 1), seen)
        policy = greedy_policy(g, rows, base)
        i, j = count(row, 0, rows - 1), count(action, 0, base - 1)
        if tables.sign(tables.differences(policy)[i][j]) >= 0:
            raise Spoiled(f"policy {list(policy)} is not refuted by row {i}, action {j}")
    shown = field(certificate, "curves", list)
    if len(shown) > MOST_CURVES:
        raise Spoiled(f"there are more than {MOST_CURVES} curves")
    curves = [tables.in_names(read_polynomial(c)) for c in shown]
    if not all(f.names for f in curves):
        raise Spoiled("a number is no curve")
    points, settled = _read_cells(field(certificate, "cells", list), len(tables.names))
    check_cells(curves, points, tables.names)
    places = [dict(zip(tables.names, x, strict=True)) for x in points]
    signs = [tuple(1 if f.at(x) > 0 else -1 for f in curves) for x in places]
    fixed: list[tuple[bool, Any]] = []
    listed: dict[int, int] = {}
    for k, (g, strict, value) in enumerate(
        read_entries(field(certificate, "fixed", list), 3, "fixed")
    ):
        note_policy(count(g, 0, total - 1), seen)
        listed[g] = k
        if not isinstance(strict, bool):
            raise Spoiled("a fixed point is strict or not")
        fixed.append((strict, _checked_worth(cells, greedy_policy(g, rows, base), value)))
    refuted = seen - set(listed)
    for g in range(total):
        if g not in refuted:
            _check_regions(
                tables, greedy_policy(g, rows, base), curves, signs, settled, listed.get(g), fixed
            )
    return _told(tables, certificate, fixed, signs, settled, total)


def _read_cells(
    found: list[Any], names: int
) -> tuple[list[tuple[Fraction, ...]], list[tuple[int, ...]]]:
    """Sample points, and the places of the fixed points in their list."""
    points, settled = [], []
    for point, fixed in read_entries(found, 2, "cells"):
        if not isinstance(point, list) or len(point) != names or not isinstance(fixed, list):
            raise Spoiled(f"a cell is a point of {names} numbers and a list")
        points.append(tuple(read_fraction(x) for x in point))
        settled.append(tuple(count(k, 0) for k in fixed))
    if len(set(points)) < len(points):
        raise Spoiled("a sample point is there twice")
    return points, settled


def _checked_worth(cells: GreedyTables, g: GreedyActions, shown: Any) -> Any:
    value = read_polynomial_number(shown)
    pi = {o: {cells.actions[d]: ONE} for o, d in zip(cells.rows, g, strict=True)}
    found = PolicyValues(PlaceGraph(cells.E.task, cells.memory, pi)).value
    if found != value:
        raise Spoiled(f"policy {list(g)} is not worth {shown}")
    return shown


def _check_regions(
    tables: SquareTables,
    g: GreedyActions,
    curves: list[Polynomial],
    signs: list[tuple[int, ...]],
    settled: list[tuple[int, ...]],
    place: int | None,
    fixed: list[tuple[bool, Any]],
) -> None:
    """g is a fixed point in exactly the cells that list its place, and strict if it says so."""
    rules = [
        SignRule(f, curves, tables)
        for i, row in enumerate(tables.differences(g))
        for j, f in enumerate(row)
        if j != g[i]
    ]
    anywhere = False
    for here, listed in zip(signs, settled, strict=True):
        is_fixed = all(rule.sign(here) >= 0 for rule in rules)
        if is_fixed != (place is not None and place in listed):
            raise Spoiled(
                f"policy {list(g)} is{'' if is_fixed else ' not'} a fixed point in a cell"
            )
        anywhere = anywhere or is_fixed
    if place is not None:
        if not anywhere:
            raise Spoiled(f"policy {list(g)} is a fixed point nowhere")
        if fixed[place][0] != all(rule.rest for rule in rules):
            raise Spoiled(
                f"policy {list(g)} is{'' if fixed[place][0] else ' not'} said to be strict"
            )


def _told(
    tables: SquareTables,
    certificate: dict[str, Any],
    fixed: list[tuple[bool, Any]],
    signs: list[tuple[int, ...]],
    settled: list[tuple[int, ...]],
    total: int,
) -> str:
    cells, names = tables.tables, tables.names
    regions: dict[tuple[int, ...], set[tuple[int, ...]]] = {}
    for here, listed in zip(signs, settled, strict=True):
        if any(k >= len(fixed) for k in listed) or len(set(listed)) < len(listed):
            raise Spoiled(f"a cell lists {list(listed)}, which are not fixed points")
        regions.setdefault(tuple(sorted(listed)), set()).add(here)
    told = []
    for listed, there in sorted(regions.items()):
        what = told_values([fixed[k] for k in listed])
        where = " or ".join(
            "".join("+" if x > 0 else "-" for x in here) for here in sorted(there, reverse=True)
        )
        told.append(what if not signs[0] else f"{what} where the signs are {where}")
    curves = certificate["curves"]
    off = f", off the curves {'; '.join(f'{c} = 0' for c in curves)}" if curves else ""
    epsilon = certificate["epsilon"]
    return (
        f"{cells.learner} with epsilon {epsilon} and discount {certificate['model']['gamma']} on "
        f"{shown_task(cells.E.task, cells.memory)}, for all {' and '.join(names)} in (0, 1){off}: "
        f"{'; '.join(told)}, among {total:,} greedy policies"
    )
