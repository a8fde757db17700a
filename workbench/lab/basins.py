"""Which local optimum does the oracle loop of Section 5.2 go to, and from what share of starts?

Starts are policies drawn uniformly from the product of simplices; each is improved by small greedy
steps until it ends, and counted for the Kuhn-Tucker point (`critical_points`) that its limit is
nearest to, if it is near one. With a fixed step the loop may chatter about a stochastic point
within a distance of the order of the step, so nearness is a multiple of it. Shares come with
intervals (`frequencies.Share`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workbench.core.errors import WorkbenchError, WrongType
from workbench.core.improve import improve
from workbench.core.policy import Policy
from workbench.lab.frequencies import Share
from workbench.lab.loop_statements import BUDGET
from workbench.plain_numbers import positive_number, whole_number
from workbench.research.critical_points import CriticalPoint, CriticalPoints

_NEAR = 4
"""Limits are at a point if no probability of an observation that both reach is further off than
this many steps."""


@dataclass(frozen=True, eq=False)
class Basin:
    """A Kuhn-Tucker point, or None for limits near none, and the share of starts that led there."""

    point: CriticalPoint | None
    share: Share

    def __repr__(self) -> str:
        return f"{self.share}: {'near no isolated point' if self.point is None else self.point}"


def find_basins(
    points: CriticalPoints,
    *,
    starts: int = 100,
    seed: int = 0,
    step: float = 0.01,
) -> tuple[Basin, ...]:
    """The share of random starts from which the oracle loop goes to each critical point. The
    largest comes first, and points without any are left out.

    Parameters
    ----------
    points : what `critical_points(P)` returned.
    starts, seed : policies drawn, and from what.
    step : of the oracle loop.
    """
    if not isinstance(points, CriticalPoints):
        raise WrongType(f"find_basins needs the result of critical_points, not {points!r}")
    starts, seed = whole_number("starts", starts), whole_number("seed", seed, 0)
    step = positive_number("step", step)
    if step > 1:
        raise WorkbenchError(f"a step lies in (0, 1], not {step}")
    P = points.P
    weights = "visits" if P.gamma == 1 else "discounted"  # along these, greedy is uphill
    rng = np.random.default_rng(seed)
    counts: dict[int | None, int] = {}
    for _ in range(starts):
        start = Policy(P, rng.dirichlet(np.ones(len(P.A)), len(P.O)))
        run = improve(P, start, step=step, budget=BUDGET, weights=weights)
        place = _nearest(points, run.pi.prob.floats, _NEAR * step)
        counts[place] = counts.get(place, 0) + 1
    return tuple(
        Basin(None if place is None else points[place], Share(count, starts))
        for place, count in sorted(counts.items(), key=lambda item: -item[1])
    )


def _nearest(points: CriticalPoints, pi: np.ndarray, near: float) -> int | None:
    off = [float(np.abs(point.policy.prob.floats - pi).max()) for point in points]
    best = int(np.argmin(off)) if off else -1
    return best if off and off[best] <= near else None
