"""The best stochastic memoryless policy: ascent from many starts, and branch and bound over boxes.

The ascent follows the exact gradient (`ascent`); what it finds is bounded by full information, by
the best history-based value, and, in small tasks, by branch and bound over boxes of policies
(`policy_boxes`).

Returns may have no bound: gamma = 1, and a loop that pays. Let the uniform policy end with
probability one, and let pi_0 be a policy, g and h its gain and bias (g = 0 where it ends), such
that each of its recurrent classes pays more than nothing a step, and one of them is reached from
mu. The mixtures pi_e = (1 - e) pi_0 + e (uniform) end with probability one. With d_e(s) the
visits to s,

    J(pi_e) = mu . h + sum_s d_e(s) [ g(s) + O(e) ]           (performance difference)

where g >= 0, and g > 0 in the classes. A class is left with a probability of order e at each step
and the next one, or the end, is come to after a bounded time: visits elsewhere are of the order of
1 + e (visits to classes), which grow without bound as e goes to 0, and J(pi_e) with them. There is
then no best policy.
"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from itertools import chain
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from workbench.core.chain import Chain
from workbench.core.double_kernels import UNIT
from workbench.core.errors import NeverEnds, Unbounded
from workbench.core.fields import FLOATS, dynamics
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.optima.ascent import Climbed, ascend, slope
from workbench.optima.branch_and_bound import (
    BranchSearch,
    ReturnCriterion,
    float_above,
    search_over_states,
)
from workbench.optima.cap import MOST_SECONDS, history_cap
from workbench.optima.memoryless import START_NODES, Help, SearchLimits
from workbench.optima.optimum import MemorylessOptimum
from workbench.progress import Waiting
from workbench.research.policy_boxes import BoxReport, BoxSearch, is_boxable, too_large_for_boxes
from workbench.text import counted

_ASCENT = 1e-9
"""The first-order gain, as a share of the values, at which an ascent stops."""

_BOX_GAP = 1e-9
"""The gap at which a search over boxes of policies stops, as a share of the values."""

_EVALUATIONS = 2_000
"""Policies evaluated on the way up from each start."""


@dataclass(frozen=True, eq=False, repr=False)
class StochasticOptimum(MemorylessOptimum):
    """The best stochastic policy that was found, and how good any could be.

    Attributes
    ----------
    kkt : what the best mixture with another policy gains, to first order; zero at a first-order
        optimum.
    first_order : whether kkt is within the tolerance.
    starts : where each start led, best first.
    boxes : boxes of policies that were bounded; left : those that may still hold something better.
    """

    kind: ClassVar[str] = "stochastic"

    kkt: float = math.nan
    first_order: bool = False
    starts: tuple[float, ...] = ()
    boxes: int = 0
    left: int = 0


def stochastic_optimum(
    P: POMDP,
    tolerance: float | None,
    starts: int,
    seed: int,
    limits: SearchLimits,
    start: Policy | None = None,
) -> StochasticOptimum:
    """`best_memoryless` for stochastic policies, its arguments checked."""
    began = time.monotonic()
    criterion = ReturnCriterion(P)
    M = criterion.M
    nO, nA = len(P.O), len(P.A)
    even = np.full((nO, nA), 1 / nA)
    if M.shape[0] == 0:
        how = "every episode ends at once"
        return StochasticOptimum(
            P, Policy(P, even), 0.0, 0.0, 0.0, True, 0.0, 0, how, 0.0, kkt=0.0, first_order=True
        )
    informed = criterion.informed()
    share = _ASCENT if tolerance is None else min(tolerance, _ASCENT)
    until = began + limits.seconds
    search = search_over_states(criterion, informed.noise, False, informed.optimum, until)
    search.lower_cap(informed.bound)
    help_ = Help(criterion, until)
    rng = np.random.default_rng(seed)
    found: list[Climbed] = []
    interrupted = late = False
    soon = began + limits.seconds / 4  # on large tasks one node may take all of the time
    with Waiting(f"stochastic policies of {P.name}") as waiting:
        try:
            help_.give(search, capped=P.origin is not None)  # boxes bound a task by itself
            while not search.finished and search.nodes < START_NODES and time.monotonic() < soon:
                search.run_one()
                waiting.report(0.0, f"a deterministic start: {search.nodes:,} nodes")
            drawn = (rng.dirichlet(np.ones(nA), nO) for _ in range(starts))
            given = [] if start is None else [np.array(start.prob.floats)]
            for i, pi in enumerate(chain(given, _first_starts(search, even), drawn)):
                # half of the time is for the bounds
                if late := i > 0 and time.monotonic() > began + limits.seconds / 2:
                    break
                found.append(ascend(M, pi, share, _EVALUATIONS, began + limits.seconds / 2))
                if informed.unbounded:
                    require_bound(P, found[-1].pi)
                highest = max(climbed.value for climbed in found)
                waiting.report((i + 1) / (starts + 2), f"{i + 1} starts, best {highest:.6g}")
        except KeyboardInterrupt:
            interrupted = True
            found = found or [ascend(M, pi, share, 0) for pi in _first_starts(search, even)]
    found = sorted((c for c in found if c.value > -math.inf), key=lambda c: (-c.value, c.kkt))
    if not found:
        raise NeverEnds(
            f"gamma is 1 and none of the starts is a policy of {P.name} that ends with "
            "probability one; give a gamma below 1, or a start that ends"
        )
    pi = found[0].pi
    value, _ = criterion.worth(Policy(P, pi))
    # the root may take minutes, and says little that the cap does not
    bound = max(value, float_above(search.cap if interrupted else min(search.root, search.cap)))
    absolute = (_BOX_GAP if tolerance is None else tolerance) * max(informed.size, abs(value))
    how = f"ascent along the exact gradient from {counted(len(found), 'start')}"
    report = BoxReport(bound, 0, 0, "")
    if bound > value + absolute and not interrupted:
        boxes = None
        if is_boxable(M):
            boxes = BoxSearch(M, nO, lambda x: _climb(criterion, x, share, until), bound)
            soon = time.monotonic() + min(help_.left / 4, MOST_SECONDS)
            pi, value, report = boxes.run(pi, value, absolute, limits.nodes, soon, P.name)
        # boxes alone close most small tasks; what histories can reach takes longer to bound
        if report.bound > value + absolute and report.ended != "interrupted" and help_.left > 0:
            cap = history_cap(P, help_.left / 4)
            bound = report.bound if cap is None else min(report.bound, float_above(cap.upper))
            report = replace(report, bound=max(value, bound))
            if boxes is not None:
                boxes.ceiling = bound
                pi, value, report = boxes.run(pi, value, absolute, limits.nodes, until, P.name)
        bound = report.bound
        interrupted = report.ended == "interrupted"
        if boxes is not None:
            how += f", {report.boxes:,} boxes of policies bounded"
        elif bound > value + absolute:
            how += f"; {too_large_for_boxes(M)}"
    ended = report.ended or (f"stopped after {limits.seconds:g} seconds" if late else "")
    if interrupted or ended:
        how += f", {'interrupted' if interrupted else ended}"
    slope_there = slope(M, pi)
    value, error = criterion.worth(Policy(P, pi))
    return StochasticOptimum(
        P=P,
        policy=Policy(P, pi),
        value=value,
        bound=bound,
        gap=bound - value,
        certified=search.certified and bool(bound - value + error <= absolute),
        tolerance=absolute,
        nodes=search.nodes,
        how=how,
        seconds=time.monotonic() - began,
        interrupted=interrupted,
        kkt=slope_there.kkt(pi),
        first_order=bool(slope_there.kkt(pi) <= share * max(slope_there.size, informed.size)),
        starts=tuple(c.value for c in found),
        boxes=report.boxes,
        left=report.left,
    )


def _climb(
    criterion: ReturnCriterion, pi: NDArray[np.float64], share: float, until: float
) -> tuple[NDArray[np.float64], float]:
    climbed = ascend(criterion.M, pi, share, _EVALUATIONS, until)
    if climbed.value == -math.inf:
        return climbed.pi, climbed.value
    # an ascent mixes the values of states that the policy never meets into its own
    return climbed.pi, criterion.worth(Policy(criterion.P, climbed.pi))[0]


def _first_starts(search: BranchSearch, even: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    """The uniform policy, and the best deterministic one that is known."""
    if search.best is None:
        return [even]
    pure = np.zeros_like(even)
    pure[np.arange(len(even)), np.maximum(search.best, 0)] = 1.0
    return [pure, even]


# ---------------------------------------------------------------------- returns without bound

_NEAR = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1)
"""Probabilities below these are left out of a policy to look for the loop that it goes towards."""


def require_bound(P: POMDP, pi: NDArray[np.float64]) -> None:
    """Raise `Unbounded` if policies near `pi[o, a]` have arbitrarily large values. gamma is 1."""
    D = dynamics(P, FLOATS)
    every = D.follow(np.full(pi.shape, 1 / pi.shape[1]))
    if (every.visited & every.may_not_end).any():
        return
    for least in _NEAR:
        rounded = np.where(pi >= least, pi, 0.0)
        rounded /= rounded.sum(axis=1, keepdims=True)
        loop = _find_paying_loop(D.follow(rounded), every.visited, P.terminal.mask)
        if loop is not None:
            s, gain = loop
            raise Unbounded(
                f"gamma is 1 and the return of {P.name} has no bound: a loop through "
                f"s={P.S.text(P.S[s])} pays {gain:.6g} a step, and policies may stay in it as long "
                'as they like; give a gamma below 1, or ask for criterion="average"'
            )


def _find_paying_loop(
    chain: Chain, met: NDArray[np.bool_], terminal: NDArray[np.bool_]
) -> tuple[int, float] | None:
    """A state of a class that is reached, and its gain, if all classes that some policy meets
    surely pay."""
    classes = chain.classes()
    found = None
    for members in classes:
        if terminal[members[0]] or not met[members[0]]:
            continue
        (visits,) = chain.returns([members])
        share, r = visits.x / visits.x.sum(), chain.r[members]
        gain = float(share @ r)
        # a share is a ratio: off by what its part and the sum are off by
        off = 3 * float(np.max(visits.error)) + (len(members) + 8) * 4 * UNIT
        if not gain > off * float(share @ np.abs(r)):
            return None
        if found is None and chain.visited[members[0]]:
            found = int(members[0]), gain
    return found
