"""Shares of seeds: exact intervals, exact tests, and the correction for their number.

Seeds are independent runs, and late rewards are near 0 or near 1, so seeds are counted:

    share   of seeds with a property
    ahead   of pairs of seeds, one of each of two methods, in which the first method is ahead; pairs
            in which the two are level say nothing (the sign test; for yes and no, McNemar's)

Both have the exact interval of Clopper and Pearson and the exact binomial test. `which_hold` says
which of several tests hold together (Holm). Scores of games are not near 0 or 1: for these there is
`difference` of two means, with Welch's t interval; with fewer than two seeds it has none: NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """An effect, its interval and the name of the interval.

    Attributes
    ----------
    count, of : the numbers that a share is made of; 0 of 0 for a number without chance.
    """

    effect: float
    low: float
    high: float
    interval: str
    count: int = 0
    of: int = 0

    def p_value(self, bound: float, above: bool) -> float:
        """The chance of such a count, or one further off, if the share were at the bound.

        >>> share([True] * 5).p_value(0.5, above=True), share([True] * 5).p_value(0.5, above=False)
        (0.03125, 1.0)
        """
        from scipy.special import bdtr

        if self.interval == DETERMINISTIC:
            return float(self.effect <= bound if above else self.effect >= bound)
        if above:
            return float(bdtr(self.of - self.count, self.of, 1 - bound))
        return float(bdtr(self.count, self.of, bound))


DETERMINISTIC = "deterministic"


def share(has: Sequence[bool] | np.ndarray) -> Estimate:
    """The share of seeds with a property.

    >>> found = share([True] * 10)
    >>> found.effect, round(found.low, 3), found.high
    (1.0, 0.692, 1.0)
    """
    from scipy.special import betaincinv

    n, k = len(has), int(np.sum(has))
    if n == 0:
        return Estimate(np.nan, 0.0, 1.0, "Clopper-Pearson")
    tail = (1 - CONFIDENCE) / 2
    low = float(betaincinv(k, n - k + 1, tail)) if k > 0 else 0.0
    high = float(betaincinv(k + 1, n - k, 1 - tail)) if k < n else 1.0
    return Estimate(k / n, low, high, "Clopper-Pearson", k, n)


def ahead(x: ArrayLike, y: ArrayLike) -> Estimate:
    """The share of the pairs of seeds that differ in which x is the larger.

    >>> found = ahead([1, 1, 0, 1], [0, 0, 0, 1])
    >>> found.count, found.of
    (2, 2)
    """
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    return share((a > b)[a != b])


def difference(x: ArrayLike, y: ArrayLike) -> Estimate:
    """The mean of x minus the mean of y, x and y independent."""
    from scipy.special import stdtrit

    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    effect = float(a.mean() - b.mean())
    if min(len(a), len(b)) < 2:
        return Estimate(effect, np.nan, np.nan, "Welch t")
    u, v = (float(one.var(ddof=1) / len(one)) for one in (a, b))
    freedom = (u + v) ** 2 / (u**2 / (len(a) - 1) + v**2 / (len(b) - 1)) if u + v > 0 else np.inf
    half = float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * float(np.sqrt(u + v)) if u + v else 0.0
    return Estimate(effect, effect - half, effect + half, "Welch t")


def exactly(x: float) -> Estimate:
    """Estimate a number that does not depend on chance."""
    return Estimate(x, x, x, DETERMINISTIC)


def holm(p: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values, in the order given.

    >>> [round(x, 3) for x in holm([0.01, 0.04, 0.03])]
    [0.03, 0.06, 0.06]
    """
    order = np.argsort(p, kind="stable")
    adjusted = np.empty(len(p))
    highest = 0.0
    for rank, i in enumerate(order):
        highest = max(highest, min(1.0, (len(p) - rank) * p[i]))
        adjusted[i] = highest
    return [float(x) for x in adjusted]


def which_hold(p_values: Sequence[float], level: float = (1 - CONFIDENCE) / 2) -> list[bool]:
    """Which of several tests hold, with one chance for all of them together of a false one.

    >>> which_hold([0.001, 0.02, 0.013]), which_hold([0.001, 0.02, 0.012])
    ([True, False, False], [True, True, True])
    """
    return [x <= level for x in holm(p_values)]
