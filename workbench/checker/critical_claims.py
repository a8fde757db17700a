"""Re-checking Kuhn-Tucker points of the return over memoryless policies.

A point lies on a face: at each row some actions are taken, the last of them with what the others
leave. Their probabilities y lie in a box of fractions. On the face the return is n(y) / d(y), and
n(y, z) / d(y, z) if action a takes z from the last one. That these are the return is seen on a grid
of policies: by Cramer's rule the return is N / D with D of degree at most the number of places that
show a row in its probabilities, so n D - N d vanishes if it does at more points for each variable
than its degree. Then, in intervals with ends that are fractions, with F_i = n_i d - n d_i,

    Krawczyk   c - Y F(c) + (I - Y F'(X)) (X - c) inside X  one root of F in the box X, c its centre
    outside     the derivative along z at z = 0 is negative on X
    Hessian     F' / d^2 at the root: negative definite, positive definite, or neither

make it a local maximum, minimum or saddle. Nothing is said about points that are not listed.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from itertools import product
from typing import Any

from workbench.checker.expressions import Polynomial, read_polynomial
from workbench.checker.place_graph import PlaceGraph, PolicyValues, solved
from workbench.checker.reader import (
    CheckedTask,
    MemoryRule,
    PlainLabel,
    done_label,
    field,
    read_entries,
    read_fraction,
    read_label,
    read_memory,
    read_task,
    seen_label,
    shown_task,
)
from workbench.checker.spoiled import Spoiled

MOST_POLICIES = 3_000
"""Policies on the grids of one certificate."""

Interval = tuple[Fraction, Fraction]
Row = tuple[PlainLabel, list[PlainLabel]]

_EXTRA = "z"


def check_critical_points(certificate: dict[str, Any]) -> str:
    """Each of the points that are listed is what it is said to be."""
    task = read_task(field(certificate, "model", dict))
    memory = read_memory(field(certificate, "memory"))
    if memory.name == "B(k)":
        raise Spoiled("points are about one memory, not about all B(k)")
    everywhere = PlaceGraph(task, memory)
    kinds: dict[str, int] = {}
    left = [MOST_POLICIES]
    seen: list[tuple[Any, tuple[Interval, ...]]] = []
    for point in field(certificate, "points", list):
        one = _Point(task, memory, everywhere, point, left)
        kind = one.check()
        key = tuple((o, tuple(acts)) for o, acts in one.rows)
        if any(key == other and _overlap(one.box, box) for other, box in seen):
            raise Spoiled("a point is listed twice")
        seen.append((key, one.box))
        kinds[kind] = kinds.get(kind, 0) + 1
    if not kinds:
        raise Spoiled("no point is listed")
    listed = ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items()))
    return (
        f"Kuhn-Tucker points of the return of {shown_task(task, memory)}: {listed}; each the only "
        "root in its box, with the signs of slopes and Hessian in fractions; whether there are "
        "other points is not checked"
    )


class _Point:
    """One point of a certificate."""

    def __init__(
        self,
        task: CheckedTask,
        memory: MemoryRule,
        everywhere: PlaceGraph,
        point: Any,
        left: list[int],
    ):
        self.task, self.memory, self.everywhere, self.left = task, memory, everywhere, left
        self.kind, self.strict = field(point, "kind", str), field(point, "strict", bool)
        self.rows = self._read_rows(field(point, "supports", list))
        self.names = [
            (f"y{i}_{j}", o, a)
            for i, (o, acts) in enumerate(self.rows)
            for j, a in enumerate(acts[:-1])
        ]
        self.box = tuple(
            (read_fraction(low), read_fraction(high))
            for low, high in read_entries(field(point, "box", list), 2, "the box")
        )
        if len(self.box) != len(self.names) or any(low > high for low, high in self.box):
            raise Spoiled("the box has other sides than the point has free probabilities")
        self.places = _counts(everywhere)
        self.formula = self._read_formula(field(point, "return"), None)
        self.outside = {
            (
                seen_label(task, memory, read_label(o)),
                done_label(task, memory, read_label(a)),
            ): formula
            for o, a, formula in read_entries(field(point, "outside", list), 3, "outside")
        }
        ends = [read_fraction(x) for x in field(point, "value", list)]
        if len(ends) != 2:
            raise Spoiled("the value of a point lies between two numbers")
        self.value = ends[0], ends[1]

    def _read_rows(self, listed: Any) -> list[Row]:
        actions, rows = set(self.everywhere.actions), list[Row]()
        for o, acts in read_entries(listed, 2, "supports"):
            if not isinstance(acts, list) or not acts:
                raise Spoiled("a support is a list of actions")
            seen = seen_label(self.task, self.memory, read_label(o))
            done = [done_label(self.task, self.memory, read_label(a)) for a in acts]
            if not set(done) <= actions or len(set(done)) < len(done):
                raise Spoiled(f"the support at {seen!r} is no set of actions")
            rows.append((seen, done))
        if sorted(map(repr, (o for o, _ in rows))) != sorted(map(repr, self.everywhere.rows)):
            raise Spoiled("supports are given for other rows than those that can be met")
        return rows

    def _read_formula(self, shown: Any, extra: tuple[Any, Any] | None) -> list[Polynomial]:
        if not isinstance(shown, list) or len(shown) != 2:
            raise Spoiled("a return is given as [numerator, denominator]")
        top, bottom = (read_polynomial(str(text)) for text in shown)
        allowed = {name for name, _, _ in self.names} | ({_EXTRA} if extra else set())
        if (top.names | bottom.names) - allowed:
            raise Spoiled("a return holds names that are no probabilities of the point")
        self._compare(top, bottom, extra)
        return [top, bottom]

    # ---------------------------------------------------------------- the return is what is said

    def _compare(self, top: Polynomial, bottom: Polynomial, extra: tuple[Any, Any] | None) -> None:
        """Compare a formula with the return on a grid."""
        variables = [(name, o) for name, o, _ in self.names]
        if extra is not None:
            variables.append((_EXTRA, extra[0]))
        grids = []
        for name, o in variables:
            size = self.places[o] + max(_degree(top, name), _degree(bottom, name)) + 1
            # inside the simplex of the row, whatever the others are
            share = 1 + sum(other == o for _, other in variables)
            grids.append([Fraction(i + 1, (size + 1) * share) for i in range(size)])
        for values in product(*grids):
            self.left[0] -= 1
            if self.left[0] < 0:
                raise Spoiled("the points have too many free probabilities to be looked at here")
            at = dict(zip([name for name, _ in variables], values, strict=True))
            below = bottom.at(at)
            if below == 0 or top.at(at) / below != self._worth(at, extra):
                raise Spoiled("the return is not the formula that is given")

    def _worth(self, at: Mapping[str, Fraction], extra: tuple[Any, Any] | None) -> Fraction:
        rows: dict[Any, dict[Any, Fraction]] = {}
        free = {(o, a): at[name] for name, o, a in self.names}
        for o, acts in self.rows:
            row = {a: free[o, a] for a in acts[:-1]}
            if extra is not None and extra[0] == o:
                row[extra[1]] = at[_EXTRA]
            row[acts[-1]] = 1 - sum(row.values(), Fraction(0))
            rows[o] = row
        found = PolicyValues(PlaceGraph(self.task, self.memory, rows, aside=False)).value
        assert isinstance(found, Fraction)
        return found

    # ---------------------------------------------------------------- the point

    def check(self) -> str:
        """The kind, if all of it holds."""
        self._require_inside()
        names = [name for name, _, _ in self.names]
        box = dict(zip(names, self.box, strict=True))
        top, bottom = self.formula
        F = [_slope(top, bottom, name) for name in names]
        J = [[f.derivative(name) for name in names] for f in F]
        H = [[_range(f, box) for f in row] for row in J]
        if names:
            _require_root(F, J, H, names, self.box)
        low, high = _quotient(_range(top, box), _range(bottom, box))
        if not self.value[0] <= low or not high <= self.value[1]:
            raise Spoiled("the value of the point does not lie where it is said to")
        whole = self._slopes_fall(box)
        kind = _kind_of(H, whole)
        if kind != self.kind:
            raise Spoiled(f"a point is a {kind}, not a {self.kind}")
        if self.strict != (kind == "maximum" and self._reaches_all()):
            raise Spoiled("a maximum is strict if it is one and all rows that matter are reached")
        return f"strict {kind}" if self.strict else kind

    def _require_inside(self) -> None:
        left: dict[Any, Fraction] = {}
        for (_, o, _), (low, high) in zip(self.names, self.box, strict=True):
            if low <= 0:
                raise Spoiled("a probability of a support may be zero")
            left[o] = left.get(o, Fraction(1)) - high
        if any(x <= 0 for x in left.values()):
            raise Spoiled("a probability of a support may be zero")

    def _slopes_fall(self, box: dict[str, Interval]) -> bool:
        """Whether every slope that leads out of the face is negative. It holds if the face is the
        whole polytope."""
        reached, whole = self._reached(), True
        for o, acts in self.rows:
            if o not in reached:
                continue
            for a in self.everywhere.actions:
                if a in acts or any(self._are_alike(o, a, b) for b in acts):
                    continue
                whole = False
                if (o, a) not in self.outside:
                    raise Spoiled(f"nothing is said about taking {a!r} at {o!r}")
                top, bottom = self._read_formula(self.outside[o, a], (o, a))
                rise = _range(_slope(top, bottom, _EXTRA), {**box, _EXTRA: _ZERO})
                if not rise[1] < 0:
                    raise Spoiled(f"taking {a!r} at {o!r} is not seen to lose")
        return whole

    def _reached(self) -> set[PlainLabel]:
        rows = {o: {a: Fraction(1, len(acts)) for a in acts} for o, acts in self.rows}
        graph = PlaceGraph(self.task, self.memory, rows, aside=False)
        return {place[1:] for place in graph.places}

    def _reaches_all(self) -> bool:
        """Whether every row that has a choice is reached."""
        reached = self._reached()
        for o, acts in self.rows:
            others = [a for a in self.everywhere.actions if not self._are_alike(o, a, acts[0])]
            if others and o not in reached:
                return False
        return True

    def _are_alike(self, o: PlainLabel, a: PlainLabel, b: PlainLabel) -> bool:
        """Whether two actions do the same at every place of a row."""
        E = self.everywhere
        return all(
            E.steps[place, a] == E.steps[place, b] and E.R[place, a] == E.R[place, b]
            for place in E.places
            if place[1:] == o
        )


def _counts(everywhere: PlaceGraph) -> dict[PlainLabel, int]:
    counts: dict[PlainLabel, int] = {}
    for place in everywhere.places:
        counts[place[1:]] = counts.get(place[1:], 0) + 1
    return counts


# ---------------------------------------------------------------------- roots and signs


def _kind_of(H: list[list[Interval]], whole: bool) -> str:
    minors = [_determinant([row[:m] for row in H[:m]]) for m in range(1, len(H) + 1)]
    if any(low <= 0 <= high for low, high in minors):
        raise Spoiled("the signs of the Hessian are not seen")
    if all((low > 0) == (m % 2 == 1) for m, (low, _) in enumerate(minors)):
        return "maximum"
    return "minimum" if whole and all(low > 0 for low, _ in minors) else "saddle"


def _require_root(
    F: list[Polynomial],
    J: list[list[Polynomial]],
    H: list[list[Interval]],
    names: list[str],
    box: tuple[Interval, ...],
) -> None:
    """One root in the box, by Krawczyk's test."""
    centre = [(low + high) / 2 for low, high in box]
    at = dict(zip(names, centre, strict=True))
    Y = _inverse([[f.at(at) for f in row] for row in J])
    here = [f.at(at) for f in F]
    for i, (low, high) in enumerate(box):
        total: Interval = (centre[i], centre[i])
        total = _plus(total, _scaled(_point(1), -sum(Y[i][j] * here[j] for j in range(len(F)))))
        for j, (left, right) in enumerate(box):
            entry: Interval = _point(Fraction(int(i == j)))
            for k in range(len(F)):
                entry = _plus(entry, _scaled(H[k][j], -Y[i][k]))
            total = _plus(total, _times(entry, (left - centre[j], right - centre[j])))
        if not (low < total[0] and total[1] < high):
            raise Spoiled("a box is not seen to hold one root")


def _inverse(A: list[list[Fraction]]) -> list[list[Fraction]]:
    """An approximate inverse. It is rounded, since any matrix near the inverse will do."""
    unit = [[Fraction(int(i == j)) for j in range(len(A))] for i in range(len(A))]
    # x = (1 - A) x + e solves A x = e
    rest = [
        {j: e - a for j, (e, a) in enumerate(zip(*pair, strict=True))}
        for pair in zip(unit, A, strict=True)
    ]
    try:
        columns = [solved(rest, e, None) for e in unit]
    except Spoiled:
        raise Spoiled("a root is not simple") from None
    return [[x.limit_denominator(10**12) for x in row] for row in zip(*columns, strict=True)]


def _degree(f: Polynomial, name: str) -> int:
    return max((k for e in f.terms for other, k in e if other == name), default=0)


def _slope(top: Polynomial, bottom: Polynomial, name: str) -> Polynomial:
    return top.derivative(name) * bottom - top * bottom.derivative(name)


_ZERO: Interval = (Fraction(0), Fraction(0))


def _point(x: int | Fraction) -> Interval:
    return Fraction(x), Fraction(x)


def _plus(x: Interval, y: Interval) -> Interval:
    return x[0] + y[0], x[1] + y[1]


def _times(x: Interval, y: Interval) -> Interval:
    ends = [a * b for a in x for b in y]
    return min(ends), max(ends)


def _scaled(x: Interval, c: Fraction | int) -> Interval:
    return (x[0] * c, x[1] * c) if c >= 0 else (x[1] * c, x[0] * c)


def _quotient(x: Interval, y: Interval) -> Interval:
    if y[0] <= 0 <= y[1]:
        raise Spoiled("a denominator is not seen to keep its sign")
    return _times(x, (1 / y[1], 1 / y[0]))


def _range(f: Polynomial, box: Mapping[str, Interval]) -> Interval:
    """An interval that holds all values on a box: around the centre, to first order."""
    centre = {name: (low + high) / 2 for name, (low, high) in box.items()}
    total = _point(f.at({**centre}))
    for name, (low, high) in box.items():
        if low < high:
            slope = _terms_range(f.derivative(name), box)
            total = _plus(total, _times(slope, (low - centre[name], high - centre[name])))
    return total


def _terms_range(f: Polynomial, box: Mapping[str, Interval]) -> Interval:
    total = _ZERO
    for e, c in f.terms.items():
        part = _point(c)
        for name, k in e:
            for _ in range(k):
                part = _times(part, box[name])
        total = _plus(total, part)
    return total


def _determinant(A: list[list[Interval]]) -> Interval:
    if len(A) == 1:
        return A[0][0]
    total = _ZERO
    for j, x in enumerate(A[0]):
        minor = _determinant([row[:j] + row[j + 1 :] for row in A[1:]])
        total = _plus(total, _scaled(_times(x, minor), -1 if j % 2 else 1))
    return total


def _overlap(x: tuple[Interval, ...], y: tuple[Interval, ...]) -> bool:
    return all(a[0] <= b[1] and b[0] <= a[1] for a, b in zip(x, y, strict=True))
