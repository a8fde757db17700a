"""How much one observation tells about the state (Golowich, Moitra and Rohatgi 2022): the largest g
with

    |omega^T b - omega^T b'|_1 >= g |b - b'|_1        for all distributions b, b' over states

It is zero exactly if the rows of omega are linearly dependent. Otherwise b and b' may be taken to
have disjoint supports, and each way to divide the states between them is a linear program, solved
in rationals: how close can two mixtures of distributions come,

    min  (1/2) |sum_{i in left} x_i row_i - sum_{j not in left} y_j row_j|_1,     x, y distributions

With u, v >= 0 for the positive and the negative part of the difference it is in standard form with
a vertex at hand (x and y certain), from which the simplex method goes on with Bland's rule (Bland
1977), which never cycles. The definition is widely quoted, and was not read again in the paper.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations

from workbench.agents.beliefs import require_rational
from workbench.core.errors import TooLarge
from workbench.core.pomdp import POMDP
from workbench.research.dynamics_rank import Span, states_that_go_on

Row = list[Fraction]

MOST_DIVIDED = 10
"""States of a task whose observability is computed, unless it is 0 or 1 at first sight."""


def observability(P: POMDP) -> Fraction:
    """The largest g for which P is g-observable, over the states that can be reached.

    >>> from workbench.core.pomdp import POMDP
    >>> P = POMDP.from_functions(
    ...     name="ears",
    ...     A=["listen"],
    ...     p=lambda s, a: {(s, 0): 1},
    ...     omega=lambda s: {o: Fraction(17 if o == s else 3, 20) for o in "lr"},
    ...     mu={"l": Fraction(1, 2), "r": Fraction(1, 2)},
    ...     gamma=Fraction(1, 2),
    ... )
    >>> observability(P)
    Fraction(7, 10)
    """
    require_rational(P)
    S = states_that_go_on(P)
    rows = [{o: Fraction(x) for o, x in P.omega(s).items() if x != 0} for s in S]
    span = Span()
    if not all(span.add(dict(row)) for row in rows):
        return Fraction(0)
    if len({o for row in rows for o in row}) == sum(map(len, rows)):
        return Fraction(1)  # no two states share an observation
    if len(S) > MOST_DIVIDED:
        raise TooLarge(
            f"{P.name} has {len(S):,} states; its observability is above 0, and is computed up to "
            f"{MOST_DIVIDED}"
        )
    return min(least_difference(rows, left) for left in _divisions(len(S)))


def _divisions(n: int) -> Iterator[frozenset[int]]:
    """The ways to divide n things in two, neither part empty, the first thing on the left."""
    for size in range(1, n):
        for rest in combinations(range(1, n), size - 1):
            yield frozenset((0, *rest))


def least_difference(
    rows: Sequence[Mapping[Hashable, Fraction]], left: Collection[int]
) -> Fraction:
    """Half the least L1 distance between a mixture of the rows in `left` and one of the others.

    >>> least_difference([{"a": Fraction(1)}, {"b": Fraction(1)}], [0])
    Fraction(1, 1)
    """
    columns = list(dict.fromkeys(o for row in rows for o in row))
    n, k = len(rows), len(columns)
    # Variables: weights of the n rows, then u and v for each column. Equations: one for each
    # column (difference - u + v = 0), then both weights sum to one.
    table: list[Row] = []
    for c, o in enumerate(columns):
        line = [row.get(o, Fraction(0)) * (1 if i in left else -1) for i, row in enumerate(rows)]
        line += [Fraction(-(c == d)) for d in range(k)] + [Fraction(c == d) for d in range(k)]
        table.append([*line, Fraction(0)])
    for side in (True, False):
        line = [Fraction((i in left) == side) for i in range(n)]
        table.append([*line, *[Fraction(0)] * (2 * k), Fraction(1)])
    cost = [Fraction(0)] * n + [Fraction(1, 2)] * (2 * k) + [Fraction(0)]
    one, other = min(i for i in range(n) if i in left), min(i for i in range(n) if i not in left)
    basis = []
    for c, o in enumerate(columns):
        difference = rows[one].get(o, Fraction(0)) - rows[other].get(o, Fraction(0))
        basis.append(n + c if difference >= 0 else n + k + c)
    basis += [one, other]
    # The weights enter first: then each column's equation has its own variable left to pivot on.
    for at, variable in [(k, one), (k + 1, other), *enumerate(basis[:k])]:
        _pivot(table, cost, at, variable)
    return -_minimised(table, cost, basis)


def _pivot(table: list[Row], cost: Row, line: int, variable: int) -> None:
    """Make a column the unit vector of a line."""
    top = table[line][variable]
    table[line] = [x / top for x in table[line]]
    for other in [*table[:line], *table[line + 1 :], cost]:
        if factor := other[variable]:
            for j, x in enumerate(table[line]):
                if x:
                    other[j] -= factor * x


def _minimised(table: list[Row], cost: Row, basis: list[int]) -> Fraction:
    """Simplex pivots until no reduced cost is negative. Returns minus the least cost."""
    while True:
        entering = next((j for j, x in enumerate(cost[:-1]) if x < 0), None)
        if entering is None:
            return cost[-1]
        ratios = [
            (row[-1] / row[entering], basis[i], i)
            for i, row in enumerate(table)
            if row[entering] > 0
        ]
        _, _, line = min(ratios)
        basis[line] = entering
        _pivot(table, cost, line, entering)
