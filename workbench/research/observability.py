"""How much one observation tells about the state (Golowich, Moitra and Rohatgi 2022): the largest g
with

    |omega^T b - omega^T b'|_1 >= g |b - b'|_1        for all distributions b, b' over states

It is zero exactly if the rows of omega are linearly dependent. Otherwise b and b' may be taken to
have disjoint supports, and each way to divide the states between them is a linear program, solved
in rationals. The definition is widely quoted, and was not read again in the paper.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations

from workbench.agents.beliefs import require_rational
from workbench.core.errors import TooLarge
from workbench.core.pomdp import POMDP
from workbench.research.dynamics_rank import Span, states_that_go_on
from workbench.research.rational_program import least_difference

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
