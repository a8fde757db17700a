"""How fast the filter forgets its prior, and what windows lose for it (Kara and Yueksel 2022).

With delta(K) = min_{x,x'} sum_y min(K(y|x), K(y|x')), Dobrushin's coefficient of a kernel, let

    alpha = (1 - min_a delta(p(. | ., a))) (2 - delta(omega))

If alpha < 1 the filter forgets its prior at the rate alpha, and the best policy of the last N pairs
(o, a) and the current observation loses at most 4 max|r| alpha^N / (1 - gamma)^2. The theorem is
about tasks that never end.

That windows are near-optimal, at a rate that is exponential under explicit filter stability, is
what the paper says of itself. Its theorem is not at hand: alpha and the constant above are our
reading, and `READING` says so wherever the bound is shown.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import combinations

from workbench.core.numbers import Number
from workbench.core.pomdp import POMDP
from workbench.core.space import Label
from workbench.research.dynamics_rank import states_that_go_on

READING = "the bound by the rate of the filter is our reading of Kara and Yueksel (2022)"


def filter_rate(P: POMDP) -> Fraction | None:
    """The rate alpha at which the filter forgets its prior. None for tasks that end.

    >>> from workbench.core.pomdp import POMDP
    >>> P = POMDP.from_functions(
    ...     name="ears",
    ...     A=["listen"],
    ...     p=lambda s, a: {(t, 0): Fraction(1, 2) for t in "lr"},
    ...     omega=lambda s: {s: 1},
    ...     mu={"l": 1},
    ...     gamma=Fraction(1, 2),
    ... )
    >>> filter_rate(P)
    Fraction(0, 1)
    """
    if len(P.terminal):
        return None
    S = states_that_go_on(P)
    moves = min(_dobrushin([_marginal(P, s, a) for s in S]) for a in P.A)
    return (1 - moves) * (2 - _dobrushin([P.omega(s) for s in S]))


def _marginal(P: POMDP, s: Label, a: Label) -> dict[Label, Number]:
    found: dict[Label, Number] = {}
    for (t, _), x in P.p(s, a).items():
        found[t] = found.get(t, 0) + x
    return found


def _dobrushin(rows: Sequence[Mapping[Label, Number]]) -> Fraction:
    """Dobrushin's coefficient of a kernel: how much any two of its rows overlap at least."""
    return min(
        (
            sum((min(x, other.get(y, 0)) for y, x in row.items()), Fraction(0))
            for row, other in combinations(rows, 2)
        ),
        default=Fraction(1),
    )


def window_bound(P: POMDP, alpha: Fraction, N: int) -> Fraction | None:
    """A bound on the loss of a policy of the last N pairs (o, a). None if the theorem does not
    apply."""
    if alpha >= 1 or P.gamma == 1:
        return None
    most = max((abs(r) for r in P.R), default=0)
    bound: Fraction = 4 * most * alpha**N / (1 - P.gamma) ** 2
    return bound
