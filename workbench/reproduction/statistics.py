"""Estimates over seeds with two-sided 95% confidence intervals.

    mean         Student's t interval
    difference   of two means of independent runs, Welch's t interval
    share        of seeds with a property, the exact interval of Clopper and Pearson

Seeds are independent runs, so each seed gives one number. With fewer than two seeds there is no
interval: NaN.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Estimate:
    """An effect, its interval and the name of the interval."""

    effect: float
    low: float
    high: float
    interval: str


def mean(x: ArrayLike) -> Estimate:
    """The mean of one number for each seed.

    >>> found = mean([1.0, 2.0, 3.0])
    >>> found.effect, round(found.low, 3), round(found.high, 3)
    (2.0, -0.484, 4.484)
    """
    values = np.asarray(x, dtype=float)
    return _around(float(values.mean()), _variance_of_mean(values), len(values) - 1, "t")


def difference(x: ArrayLike, y: ArrayLike) -> Estimate:
    """The mean of x minus the mean of y, x and y independent."""
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    u, v = _variance_of_mean(a), _variance_of_mean(b)
    freedom = (u + v) ** 2 / (u**2 / (len(a) - 1) + v**2 / (len(b) - 1)) if u + v > 0 else np.inf
    return _around(float(a.mean() - b.mean()), u + v, freedom, "Welch t")


def share(has: Sequence[bool] | np.ndarray) -> Estimate:
    """The share of seeds with a property.

    >>> found = share([True] * 10)
    >>> found.effect, round(found.low, 3), found.high
    (1.0, 0.692, 1.0)
    """
    from scipy.special import betaincinv

    n, k = len(has), int(np.sum(has))
    tail = (1 - CONFIDENCE) / 2
    low = float(betaincinv(k, n - k + 1, tail)) if k > 0 else 0.0
    high = float(betaincinv(k + 1, n - k, 1 - tail)) if k < n else 1.0
    return Estimate(k / n, low, high, "Clopper-Pearson")


def exactly(x: float) -> Estimate:
    """A number that does not depend on chance."""
    return Estimate(x, x, x, "deterministic")


def _variance_of_mean(values: np.ndarray) -> float:
    return float(values.var(ddof=1) / len(values)) if len(values) > 1 else np.nan


def _around(effect: float, variance: float, freedom: float, name: str) -> Estimate:
    from scipy.special import stdtrit

    if not np.isfinite(variance):
        return Estimate(effect, np.nan, np.nan, name)
    half = (
        float(stdtrit(freedom, (1 + CONFIDENCE) / 2)) * float(np.sqrt(variance))
        if variance > 0
        else 0.0
    )
    return Estimate(effect, effect - half, effect + half, name)
