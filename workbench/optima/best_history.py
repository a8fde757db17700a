"""The best value that a policy pi(a | o_0, a_0, ..., o_t) of the whole history reaches (Appendix
A.2).

For an augmented POMDP the memoryless policies are those that use the memory; they never exceed
`best_history(P)` of the task unless the memory reads rewards, which histories of observations and
actions do not hold. With gamma = 1 a policy that may go on for ever has no value. Such policies are
left out; if none is left, `NeverEnds` is raised.
"""

from __future__ import annotations

import math

from workbench.core.evaluate import check_criterion
from workbench.core.pomdp import POMDP
from workbench.optima.arguments import require_real_numbers
from workbench.optima.history import HistoryLimits, history_optimum, of_all_actions
from workbench.optima.optimum import HistoryOptimum
from workbench.plain_numbers import positive_number, whole_number

MAX_BELIEFS = 2_000
"""No task of the package has more and finitely many; where there are infinitely many, a longer list
takes most of the time of the search."""

MAX_BACKUPS = 2_000


def best_history(
    P: POMDP,
    exact: bool | None = None,
    *,
    max_beliefs: int = MAX_BELIEFS,
    max_backups: int = MAX_BACKUPS,
    max_seconds: float | None = None,
    tolerance: float = 1e-6,
    criterion: str = "return",
) -> HistoryOptimum:
    """The value of the best policy pi(a | o_0, a_0, ..., o_t), and a policy that reaches it.

    Exact where the reachable beliefs are finitely many, as in every task of finite horizon;
    otherwise lower and upper bounds that hold for certain, closed in on by heuristic search until
    they are `tolerance` apart or `max_backups` or `max_seconds` are spent. `Ctrl-C` during that
    search ends it with the bounds so far. The policy is a finite controller, worth at least the
    lower bound (`HistoryOptimum.policy`).

    Parameters
    ----------
    exact : True demands a Fraction, or raises; False is content with floats and a certified gap;
        None gives a Fraction where the model is exact and the belief MDP is not too entangled.
    max_beliefs : how many beliefs are listed before they count as too many.
    max_seconds : of the search for bounds, and of listing beliefs before it. The first call after
        installation also compiles, which takes seconds of its own.
    tolerance : as a share of the size of the values.
    criterion : "return", or "average": reward per step in the long run, exact where the beliefs are
        finitely many; else between the best memoryless policy found and full information.

    >>> from workbench.improvement.batch import sequence_task
    >>> P = sequence_task([[0, 1], [1, 0]])
    >>> best_history(P)
    best history-based value of sequence task: 1 (policy iteration in rationals over 3 beliefs)

    See also: `best_memoryless`, `reachable_beliefs`, `frontier`.
    """
    require_real_numbers(P, exact)
    limits = HistoryLimits(
        beliefs=whole_number("max_beliefs", max_beliefs),
        backups=whole_number("max_backups", max_backups, 0),
        seconds=math.inf if max_seconds is None else positive_number("max_seconds", max_seconds),
    )
    if check_criterion(criterion) == "average":
        from workbench.research.average import best_average_history  # loaded for who asks

        return of_all_actions(P, best_average_history, exact, limits)
    return history_optimum(P, exact, limits, positive_number("tolerance", tolerance))
