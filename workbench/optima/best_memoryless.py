"""The best memoryless policy pi(a | o): deterministic by branch and bound, or stochastic.

For an augmented POMDP the memoryless policies are those that use the memory, so
`best_memoryless(augment(P, memory))` is what that memory is good for; it never exceeds
`best_history(P)` unless the memory reads rewards. Each answer says how certain it is: exact,
certified within a gap, or a bound. With gamma = 1 a policy that may go on for ever has no value.
Such policies are left out of every comparison; if none is left, `NeverEnds` is raised.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, overload

import numpy as np

from workbench.core.errors import WorkbenchError, WrongType
from workbench.core.evaluate import check_criterion
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.optima.arguments import require_real_numbers
from workbench.optima.branch_and_bound import ReturnCriterion
from workbench.optima.memoryless import SearchLimits, deterministic_optimum
from workbench.optima.optimum import MemorylessOptimum
from workbench.plain_numbers import positive_number, whole_number

if TYPE_CHECKING:
    from workbench.research.stochastic_search import StochasticOptimum

MAX_NODES = 100_000
MAX_BOXES = 1_000
STARTS = 16


@overload
def best_memoryless(
    P: POMDP,
    deterministic: Literal[True] = True,
    *,
    exact: bool = ...,
    start: Policy | None = ...,
    max_nodes: int = ...,
    max_seconds: float | None = ...,
    criterion: str = ...,
) -> MemorylessOptimum: ...
@overload
def best_memoryless(
    P: POMDP,
    deterministic: Literal[False],
    *,
    start: Policy | None = ...,
    max_seconds: float | None = ...,
    max_boxes: int | None = ...,
    starts: int | None = ...,
    seed: int | None = ...,
    criterion: str = ...,
) -> StochasticOptimum: ...
def best_memoryless(
    P: POMDP,
    deterministic: bool = True,
    *,
    exact: bool = False,
    start: Policy | None = None,
    max_nodes: int = MAX_NODES,
    max_seconds: float | None = None,
    max_boxes: int | None = None,
    starts: int | None = None,
    seed: int | None = None,
    criterion: str = "return",
) -> MemorylessOptimum:
    """The best memoryless policy.

    Parameters
    ----------
    P : the POMDP; an augmented one, to ask what a memory is good for.
    deterministic : True: the optimal deterministic policy, by branch and bound, with a certificate;
        `Ctrl-C` or a limit ends it with the best policy so far, the bound and the gap. False: the
        best stochastic policy, by ascent along the exact gradient, bounded by branch and bound over
        boxes of policies; with few stochastic rows the gap closes.
    exact : compare values and bounds as rationals, and return a Fraction.
    start : a policy to begin with; the answer is never worse. A stochastic one is rounded to its
        most probable actions if the answer is to be deterministic.
    max_nodes, max_seconds : limits of the search. The first call after installation also compiles,
        which takes seconds of its own.
    max_boxes : of policies, if stochastic; None: 1,000, or as many as `max_seconds` allow.
    starts, seed : of the ascent: random policies to start from, beside the uniform and a
        deterministic one.
    criterion : "return", or "average": reward per step in the long run, for tasks that go on, and
        for episodes that follow one another. Stochastic policies are then bounded where some state
        is one that every policy comes back to, or every episode surely ends.

    >>> from workbench.improvement.batch import sequence_task
    >>> P = sequence_task([[0, 1], [1, 0]])
    >>> best_memoryless(P, exact=True)
    best deterministic memoryless policy of sequence task: value 0, certified optimal (branch and
    bound, 3
    nodes)
    >>> best_memoryless(P, deterministic=False, seed=1).value
    0.5

    See also: `best_history`, `critical_points`, `can_encode_optimal`.
    """
    require_real_numbers(P, exact)
    if not isinstance(deterministic, bool | np.bool_):
        raise WrongType(f"deterministic is True or False, not {deterministic!r}")
    _check_start(P, start)
    if P.allowed is not None:
        every = P.with_all_actions()
        if P.origin is not None:  # bounds of the task hold for its product with a memory
            origin = replace(P.origin, P=P.origin.P.with_all_actions())
            object.__setattr__(every, "origin", origin)
        again: Any = best_memoryless
        found: MemorylessOptimum = again(
            every, deterministic, exact=exact, start=start,
            max_nodes=max_nodes, max_seconds=max_seconds, max_boxes=max_boxes, starts=starts,
            seed=seed, criterion=criterion,
        )  # fmt: skip
        return replace(found, P=P, policy=Policy.within(P, found.policy.prob))
    average = check_criterion(criterion) == "average"
    seconds = math.inf if max_seconds is None else positive_number("max_seconds", max_seconds)
    if not deterministic:
        if exact:
            raise WorkbenchError("exact belongs to deterministic=True")
        count = STARTS if starts is None else whole_number("starts", starts, 0)
        drawn = 0 if seed is None else whole_number("seed", seed, 0)
        boxes = MAX_BOXES if max_seconds is None else math.inf
        if max_boxes is not None:
            boxes = whole_number("max_boxes", max_boxes, 0)
        limits = SearchLimits(boxes, seconds)
        # `research` is a later room than this one: import it only when it is asked for
        from workbench.research.average import best_average_stochastic
        from workbench.research.stochastic_search import stochastic_optimum

        if average:
            return best_average_stochastic(P, count, drawn, limits, start)
        return stochastic_optimum(P, None, count, drawn, limits, start)
    if starts is not None or seed is not None or max_boxes is not None:
        raise WorkbenchError("starts, seed and max_boxes belong to deterministic=False")
    limits = SearchLimits(whole_number("max_nodes", max_nodes), seconds)
    if average:
        from workbench.research.average import AverageCriterion

        return deterministic_optimum(AverageCriterion(P), exact, limits, start)
    return deterministic_optimum(ReturnCriterion(P), exact, limits, start)


def _check_start(P: POMDP, start: Any) -> None:
    if start is None:
        return
    if not isinstance(start, Policy):
        raise WrongType(f"start is a Policy, not {start!r}")
    start.fits(P)
    if start.prob.symbols:
        raise WrongType("start holds symbols: give them values first")
