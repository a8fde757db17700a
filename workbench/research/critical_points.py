"""All Kuhn-Tucker points of the return over the polytope of memoryless policies, face by face.

A policy is a point of a product of simplices, and its return is a rational function J = n / d of
the probabilities, of degree at most the number of states that show o in the row of o (Mueller and
Montufar 2022, the degree of partial observability). Write G(o,a) for the derivative of J towards
action a. At a Kuhn-Tucker point, with S(o) the actions that pi takes at o,

    G(o,a) = G(o,b)   for a, b in S(o),          G(o,a) <= G(o,b)   for a outside, b in S(o).

Every choice of supports S is a face, on which the equations are polynomials (d > 0 is multiplied
out) in as many variables; their roots are isolated with certificates in ball arithmetic
(`enclosures`). The kind of a point comes from the signs of the outside gains and of the projected
Hessian, which are certain as well:

    maximum      outside gains negative, Hessian on the face negative definite
    minimum      the face is the whole polytope, Hessian positive definite
    saddle       up in a direction of the face, down in another of the polytope
    degenerate   an outside gain is zero, or a sign is not certain: orders one and two do not tell

Observations that a policy never reaches do not matter to J; their rows are listed at each vertex,
and a maximum with such rows is not strict. Numbers must be exact.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias, overload

import flint
import numpy as np
import sympy
from numpy.typing import NDArray

from workbench.core.errors import NeverEnds, TooLarge
from workbench.core.evaluate import evaluate
from workbench.core.exact import RationalFunctions
from workbench.core.fields import FLOATS
from workbench.core.linear_kernels import reachable, reverse_edges
from workbench.core.numbers import Number, Numbers
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.rows import keep_entries, merge_rows, own_rows
from workbench.optima.arguments import require_real_numbers
from workbench.optima.follow import alternatives
from workbench.optima.mdp import MDP, Mask, from_states
from workbench.plain_numbers import deadline, whole_number
from workbench.progress import TimeOver, check_time, ends_in
from workbench.research.enclosures import (
    PRECISION,
    BallPolynomial,
    Box,
    PolynomialSystem,
    ball,
    isolate,
)
from workbench.tables.sheet import Column, Drawn, Sheet, Showing
from workbench.text import brief, counted

MAX_FACES = 2_000
MAX_BOXES = 5_000
MAX_SECONDS = 60.0

_MOST_SHOWN = 12
"""Points that a table lists."""

_EDGE = 1e-9
"""How far beyond a face roots are looked for, so that those near its rim are isolated too."""

_ON_THE_RIM = 1e-20

_SMALLEST = 1e-5
"""Boxes narrower than this that hold neither no root nor one for certain are undecided."""

SupportPattern = tuple[tuple[int, ...], ...]

Polynomial: TypeAlias = flint.fmpq_mpoly


@dataclass(frozen=True, eq=False)
class CriticalPoint:
    """A Kuhn-Tucker point of the return.

    Attributes
    ----------
    policy, value : floats next to the exact point, or Fractions where it is a vertex. The float has
        no bound: it is the value of a policy within `radius`.
    kind : "maximum", "saddle", "minimum" or "degenerate".
    strict : whether it is a maximum and every other policy nearby is worth less; actions that do
        the same in every state of an observation count as one.
    dimension : of the face that it lies inside; 0 for a deterministic policy.
    radius : the largest error of a probability; the root is the only one within it.
    """

    policy: Policy
    value: Number
    kind: str
    strict: bool
    dimension: int
    radius: float

    def __repr__(self) -> str:
        return f"{'strict ' if self.strict else ''}{self.kind} worth {float(self.value):.9g}"


@dataclass(frozen=True, eq=False, repr=False)
class CriticalPoints(Sequence[CriticalPoint], Showing, Drawn):
    """The Kuhn-Tucker points of a POMDP's return, the best first.

    Attributes
    ----------
    complete : whether every face was decided; if not, `undecided` boxes may hold further points,
        which are then not simple roots, or needed more boxes than allowed.
    flat : faces on which the return does not change along some direction; points there are not
        isolated and not listed.
    most : `most[o]`, how many states show o, which bounds the degree of J in the row of o.

    `plot` draws the policy of the best point.
    """

    figure = "policy_table"

    P: POMDP
    points: tuple[CriticalPoint, ...]
    undecided: int
    flat: int
    most: tuple[int, ...]

    def drawn_from(self) -> tuple[Any, ...]:
        return (self.points[0].policy,) if self.points else (self,)

    @property
    def complete(self) -> bool:
        return self.undecided == 0

    def of_kind(self, kind: str) -> tuple[CriticalPoint, ...]:
        """Those of one kind."""
        return tuple(point for point in self.points if point.kind == kind)

    @overload
    def __getitem__(self, i: int) -> CriticalPoint: ...
    @overload
    def __getitem__(self, i: slice) -> Sequence[CriticalPoint]: ...
    def __getitem__(self, i: Any) -> Any:
        return self.points[i]

    def __len__(self) -> int:
        return len(self.points)

    def sheet(self) -> Sheet:
        """The points, the best first, a row each."""
        columns = (
            Column("value", "what the policy is worth"),
            Column(
                "kind",
                "maximum: gradient ascent can stop (strict: all policies near are worse); "
                "saddle: some changes help, others harm; degenerate: second derivatives do not "
                "decide",
            ),
            Column("free", "how many probabilities can move both ways; 0: a deterministic policy"),
            Column("policy", self.points[0].policy.legend if self.points else ""),
        )
        rows = []
        deciding = [o for o in range(len(self.P.O)) if self.most[o]]
        for point in self.points[:_MOST_SHOWN]:
            kind = f"strict {point.kind}" if point.strict else point.kind
            lines = point.policy.lines(deciding, most=4)
            rows.append((point.value, kind, point.dimension, "\n".join(lines)))
        title = f"Critical points of the return on {self.P.name}"
        return Sheet(title, columns, tuple(rows), self._conclusion(), self._notes())

    def _conclusion(self) -> str:
        tops = [brief(point.value) for point in self.of_kind("maximum")]
        if not tops:
            return "No isolated local maximum was found."
        if len(tops) == 1:
            return f"The return has one local maximum, worth {tops[0]}."
        return (
            f"The return has {len(tops)} local maxima, worth {tops[-1]} to {tops[0]}: gradient "
            "ascent can stop at each of them."
        )

    def _notes(self) -> tuple[str, ...]:
        notes = ["All isolated critical points are listed." if self.complete else self._open]
        if self.flat:
            notes.append(
                "On some sets of actions the return stays the same along a direction; points there "
                "are not isolated, and not listed."
            )
        if len(self) > _MOST_SHOWN:
            notes.append(f"{counted(len(self) - _MOST_SHOWN, 'more point')} not shown.")
        return tuple(notes)

    @property
    def _open(self) -> str:
        return f"There may be more: {counted(self.undecided, 'region')} of policies not decided."

    def __repr__(self) -> str:
        kinds = {"maximum": "maxima", "saddle": "saddles", "minimum": "minima"}
        found = [
            f"{n} {kind if n == 1 else kinds.get(kind, kind)}"
            for kind in (*kinds, "degenerate")
            if (n := len(self.of_kind(kind)))
        ]
        sure = "all isolated points" if self.complete else f"{self.undecided:,} regions undecided"
        return f"critical points of {self.P.name}: {', '.join(found) or 'none'} ({sure})"


def critical_points(
    P: POMDP,
    *,
    max_faces: int = MAX_FACES,
    max_boxes: int = MAX_BOXES,
    max_seconds: float = MAX_SECONDS,
) -> CriticalPoints:
    """All Kuhn-Tucker points of the return over memoryless policies.

    Parameters
    ----------
    P : a small POMDP in exact numbers; an augmented one, to see what a memory adds.
    max_faces : more faces than this raise `TooLarge`.
    max_boxes : for each face; what is not decided then is counted in `undecided`.
    max_seconds : of the search; faces that it does not come to are counted there as well.

    >>> from workbench.improvement.batch import sequence_task
    >>> P = sequence_task([[0, 1], [1, 0]])
    >>> critical_points(P)
    critical points of sequence task: 1 maximum (all isolated points)

    See also: `best_memoryless`, `gradient`, `improve`.
    """
    P.require_all_actions("critical_points")
    require_real_numbers(P, True)
    max_faces = whole_number("max_faces", max_faces)
    max_boxes = whole_number("max_boxes", max_boxes)
    until = deadline(max_seconds)
    M = from_states(P, FLOATS)
    options = [tuple(row.tolist()) or (0,) for row in alternatives(M, len(P.O))]
    shown = np.bincount(M.seen, minlength=len(P.O))
    # rows that no state shows change nothing; one choice stands for all
    options = [row if shown[o] else (0,) for o, row in enumerate(options)]
    faces = list(itertools.islice(_faces(M, options), max_faces + 1))
    if len(faces) > max_faces:
        rows = sum(len(row) > 1 for row in options)
        raise TooLarge(
            f"{P.name} has more than {max_faces:,} faces to look at: {rows} rows of up to "
            f"{max(map(len, options))} actions. A face says for each row which actions may be "
            "taken. Take a smaller memory, or a larger max_faces"
        )
    if not faces:
        raise NeverEnds(
            f"gamma is 1 and no memoryless policy of {P.name} ends with probability one, so its "
            "return has no critical points; give a gamma below 1"
        )
    _require_ending(P, M, options)
    with flint.ctx.workprec(PRECISION):
        surface = _surface(P, options, until)
        found: list[CriticalPoint] = []
        undecided = flat = 0
        # vertices cost nothing, so that time that runs out leaves the largest faces undecided
        for face in sorted(faces, key=lambda face: face.dimension):
            if surface is None or time.monotonic() > until:
                undecided += 1
                continue
            try:
                looked = _look_at(surface, face, max_boxes, until)
            except KeyboardInterrupt:
                if not found:
                    raise  # there is nothing to show
                until, looked = -math.inf, _Looked([], 1)
            if looked is None:
                flat += 1
                continue
            found += looked.points
            undecided += looked.undecided
    found.sort(key=lambda point: (-float(point.value), point.dimension))
    return CriticalPoints(
        P=P,
        points=tuple(found),
        undecided=undecided,
        flat=flat,
        most=tuple(int(x) for x in shown),
    )


def _surface(P: POMDP, options: list[tuple[int, ...]], until: float) -> ReturnSurface | None:
    """The return as a quotient of polynomials. None if the time is over before it is computed."""
    try:
        with ends_in(until - time.monotonic()):
            return ReturnSurface(P, options)
    except TimeOver:
        check_time()  # a limit around this search
        return None


# ---------------------------------------------------------------------- the return


class ReturnSurface:
    """J = n / d as polynomials in the probabilities, and the numerators of its derivatives.

    Where row o takes the actions S(o), x(o,a) are the probabilities of all of them but the last.
    The linear system of v_pi has entries that are linear in x. Where every policy has a value d
    does not vanish, so the derivative vanishes where its numerator n' d - n d' does.

    Attributes
    ----------
    options : for each observation, the actions that its row may take; the first ones are free.
    x : the place of each free probability among the variables, by (o, a).
    top, bottom : n and d; slopes : the numerators of the derivatives, by (o, a).
    """

    def __init__(self, P: POMDP, options: list[tuple[int, ...]]):
        self.P, self.options = P, options
        self.x: dict[tuple[int, int], int] = {}
        symbols: list[sympy.Symbol] = []
        table = np.full((len(P.O), len(P.A)), Fraction(0), dtype=object)
        for o, (*free, last) in enumerate(options):
            for a in free:
                self.x[o, a] = len(symbols)
                symbols.append(sympy.Symbol(f"x{len(symbols):06d}"))  # the field sorts by name
                table[o, a] = symbols[-1]
            table[o, last] = 1 - sum((table[o, a] for a in free), sympy.Integer(0)) if free else 1
        J = evaluate(P, Policy(P, Numbers.of(table)), exact=True).value
        quotient = RationalFunctions(symbols or [sympy.Symbol("none")]).one(J)
        self.top, self.bottom = quotient.num, quotient.den
        # the sign of d is that of a policy that has a value, and the same all over the polytope
        self.slopes = {
            key: self.top.derivative(i) * self.bottom - self.top * self.bottom.derivative(i)
            for key, i in self.x.items()
        }

    def slope(self, o: int, a: int) -> Polynomial:
        """The numerator of the derivative towards action a and away from the row's last. It is zero
        if a is the last."""
        return self.slopes.get((o, a), self.top * 0)


# ---------------------------------------------------------------------- the faces


@dataclass(frozen=True)
class _Face:
    """The actions taken at each observation, and which observations are reached."""

    supports: SupportPattern
    reached: frozenset[int]

    @property
    def dimension(self) -> int:
        return sum(len(support) - 1 for support in self.supports)


def _faces(M: MDP, options: list[tuple[int, ...]]) -> Iterator[_Face]:
    """The faces whose policies have a value: any support where a row is reached, a vertex where it
    is not."""
    stack: list[dict[int, tuple[int, ...]]] = [{}]
    while stack:
        chosen = stack.pop()
        reached, lost = _follow(M, chosen)
        # choose only rows that are met: supports elsewhere would list the same policies again
        fresh = next((o for o in M.seen[reached].tolist() if o not in chosen), None)
        if fresh is not None:
            row = options[fresh]
            for size in range(len(row), 0, -1):
                for support in itertools.combinations(row, size):
                    stack.append({**chosen, fresh: support})
            continue
        if M.undiscounted and lost.any():
            continue
        # the return does not depend on rows never met: inside their simplex no point is isolated
        idle = [o for o in range(len(options)) if o not in chosen]
        for rest in itertools.product(*(options[o] for o in idle)):
            whole = {**chosen, **{o: (a,) for o, a in zip(idle, rest, strict=True)}}
            yield _Face(tuple(whole[o] for o in range(len(options))), frozenset(chosen))


def _follow(M: MDP, chosen: dict[int, tuple[int, ...]]) -> tuple[Mask, Mask]:
    """The states that the chosen actions reach, and those of them from which no end is reached. A
    row without a choice is met and not passed."""
    taken = np.zeros(M.shape, dtype=bool)
    for o, support in chosen.items():
        taken[np.ix_(M.seen == o, support)] = True
    used = taken.reshape(-1)[own_rows(M.row_ptr)]
    indptr, to = keep_entries(merge_rows(M.row_ptr, M.shape[1]), used), M.successors[used]
    reached = np.asarray(reachable(indptr, to, M.starts), dtype=bool)
    ending = np.flatnonzero((M.ends & taken).any(axis=1))
    return reached, reached & ~reachable(*reverse_edges(indptr, to), ending)


def _require_ending(P: POMDP, M: MDP, options: list[tuple[int, ...]]) -> None:
    """Raise an error if policies inside the polytope may never end. Then the return is a function
    on some of its faces only."""
    _, lost = _follow(M, dict(enumerate(options)))
    if not M.undiscounted or not lost.any():
        return
    s = P.S[int(M.behind[np.flatnonzero(lost)[0]])]
    raise NeverEnds(
        f"gamma is 1 and policies of {P.name} that take every action never end from "
        f"s={P.S.text(s)}, so that the return is defined on a part of the "
        "policies only; give a gamma below 1, or leave out the actions that lead there"
    )


# ---------------------------------------------------------------------- what a face holds


@dataclass(frozen=True, eq=False)
class _Looked:
    """What a face holds."""

    points: list[CriticalPoint]
    undecided: int


def _look_at(surface: ReturnSurface, face: _Face, most: int, until: float) -> _Looked | None:
    """The Kuhn-Tucker points inside a face. None if the return is constant along some direction of
    it, so that no point is isolated."""
    variables: list[tuple[int, int]] = [
        (o, a) for o, support in enumerate(face.supports) for a in support[:-1]
    ]
    names = [f"y{i}" for i in range(len(variables))] or ["none"]
    context = flint.fmpq_mpoly_ctx.get(names, flint.Ordering.degrevlex)
    gens = dict(zip(variables, context.gens(), strict=False))
    nothing = context.constant(0)
    place = [nothing] * max(len(surface.x), 1)
    for (o, a), i in surface.x.items():
        support = face.supports[o]
        if a == support[-1]:
            place[i] = 1 - sum((gens[o, b] for b in support[:-1]), nothing)
        else:
            place[i] = gens.get((o, a), nothing)

    def difference(o: int, a: int, b: int) -> Polynomial:
        found = surface.slope(o, a) - surface.slope(o, b)
        return found.compose(*place, ctx=context)

    equations = [difference(o, a, face.supports[o][-1]) for o, a in variables]
    outside = [
        difference(o, a, face.supports[o][-1])
        for o in sorted(face.reached)
        for a in surface.options[o]
        if a not in face.supports[o]
    ]
    # an equation that says nothing leaves a curve of solutions
    if any(equation == 0 for equation in equations):
        return None
    rim = [place for key, place in gens.items()]
    rim += [
        1 - sum((gens[o, b] for b in support[:-1]), nothing)
        for o, support in enumerate(face.supports)
        if len(support) > 1
    ]
    system_of = [_strip(equation, rim) for equation in equations]
    roots: list[Box] = [[]]
    undecided = 0
    if equations:
        # a little beyond the cube, so that a root on the rim is isolated and then left to its face
        cube = [ball(-_EDGE, 1 + _EDGE)] * len(equations)
        looked = isolate(PolynomialSystem(system_of), cube, most, least=_SMALLEST, until=until)
        roots, undecided = looked.zeros, len(looked.left)
    points = []
    for root in roots:
        if not _is_inside(face, variables, root):
            continue
        gains = [BallPolynomial(poly).at(root or [flint.arb(0)]) for poly in outside]
        if any(gain > 0 for gain in gains):
            continue
        # a gain of exactly zero outside: neither a strict maximum nor excluded
        flat = any(not gain < 0 for gain in gains)
        kind = "degenerate" if flat else _kind(surface, face, equations, root)
        points.append(_point(surface, face, variables, root, kind))
    return _Looked(points, undecided)


def _strip(poly: Polynomial, rim: list[Polynomial]) -> Polynomial:
    """Divide a polynomial by the factors that vanish only on the boundary. Their powers would make
    multiple roots outside the face."""
    for factor in rim:
        while poly.total_degree() > 0:
            quotient, rest = divmod(poly, factor)
            if rest != 0:
                break
            poly = quotient
    return poly


def _is_inside(face: _Face, variables: list[tuple[int, int]], root: Box) -> bool:
    """Whether every probability of the supports is positive. A point on the boundary belongs to a
    smaller face."""
    left: dict[int, flint.arb] = {}
    for (o, _), x in zip(variables, root, strict=True):
        if not x > _ON_THE_RIM:
            return False
        left[o] = left.get(o, flint.arb(1)) - x
    return all(x > _ON_THE_RIM for x in left.values())


def _kind(surface: ReturnSurface, face: _Face, equations: list[Polynomial], root: Box) -> str:
    """The kind of a critical point, from the definiteness of the Hessian (Sylvester's criterion).
    Its outside gains are negative."""
    k = len(equations)
    if k == 0:
        return "maximum"
    H = [[BallPolynomial(f.derivative(i)).at(root) for i in range(k)] for f in equations]
    minors = [
        flint.arb_mat([[H[i][j] for j in range(m)] for i in range(m)]).det()
        for m in range(1, k + 1)
    ]
    if all(minor < 0 if m % 2 == 0 else minor > 0 for m, minor in enumerate(minors)):
        return "maximum"
    # some curvature upwards and some downwards, seen in a minor of the wrong sign for either
    pairs = [H[i][i] * H[j][j] - H[i][j] * H[j][i] for i in range(k) for j in range(i)]
    both = any(pair < 0 for pair in pairs)
    rises = both or any(H[i][i] > 0 for i in range(k))
    rises |= any(minor > 0 if m % 2 == 0 else minor < 0 for m, minor in enumerate(minors))
    falls = both or any(H[i][i] < 0 for i in range(k)) or any(minor < 0 for minor in minors)
    whole = all(len(face.supports[o]) == len(surface.options[o]) for o in range(len(face.supports)))
    if whole and all(minor > 0 for minor in minors):
        return "minimum"
    return "saddle" if rises and (falls or not whole) else "degenerate"


def _point(
    surface: ReturnSurface,
    face: _Face,
    variables: list[tuple[int, int]],
    root: Box,
    kind: str,
) -> CriticalPoint:
    P = surface.P
    strict = kind == "maximum" and all(
        o in face.reached for o in range(len(P.O)) if len(surface.options[o]) > 1
    )
    table: NDArray[Any] = np.full((len(P.O), len(P.A)), Fraction(0), dtype=object)
    for o, support in enumerate(face.supports):
        table[o, support[-1]] = Fraction(1)
    if not root:
        policy = Policy(P, Numbers.of(table))
        value = evaluate(P, policy, exact=True).value
        return CriticalPoint(policy, value, kind, strict, 0, 0.0)
    for (o, a), x in zip(variables, root, strict=True):
        # rows must sum to one exactly; the radius says how far the point may be
        near = Fraction(float(x.mid()))
        table[o, a] = near
        table[o, face.supports[o][-1]] -= near
    policy = Policy(P, table.astype(np.float64))
    radius = max(float(x.rad()) for x in root) + 2e-16 * len(P.A)
    return CriticalPoint(policy, evaluate(P, policy).value, kind, strict, len(root), radius)
