"""The yardsticks: how good can a policy be, with all of the history, and with none of it?

    best_history(P)       the best value that any policy pi(a | o_0, a_0, ..., o_t) reaches (Appendix A.2)
    best_memoryless(P)    the best memoryless policy pi(a | o): deterministic by branch and bound, or stochastic by ascent
    best_informed(P)      the best value if the agent saw the state: an upper bound on both

For an augmented POMDP the memoryless policies are those that use the memory, so
`best_memoryless(augment(P, memory))` is what that memory is good for; it never exceeds
`best_history(P)` unless the memory reads rewards, which histories of observations and actions do
not hold. Each answer says how certain it is: exact, certified within a gap, or a bound.

With gamma = 1 a policy that may go on for ever has no value. Such policies are left out of every
comparison here; if none is left, `NeverEnds` is raised.
"""

from __future__ import annotations

import math
from typing import Any, Literal, overload

import numpy as np

from workbench.errors import NotExact, WorkbenchError, WrongType
from workbench.evaluation.fields import FLOATS, RATIONALS
from workbench.model.numbers import Number
from workbench.model.pomdp import POMDP
from workbench.optima.history import history_optimum
from workbench.optima.mdp import from_states, optimal, require_end
from workbench.optima.memoryless import SearchLimits, deterministic_optimum, stochastic_optimum
from workbench.optima.optimum import HistoryOptimum, MemorylessOptimum, StochasticOptimum

__all__ = [
    "HistoryOptimum",
    "MemorylessOptimum",
    "StochasticOptimum",
    "best_history",
    "best_informed",
    "best_memoryless",
]

INFORMATION = ("auto", "states", "beliefs")

MAX_BELIEFS = 10_000
MAX_BACKUPS = 2_000
MAX_NODES = 100_000
MAX_OPTIMAL = 10_000
STARTS = 16


# ---------------------------------------------------------------------- full information


def best_informed(P: POMDP, exact: bool = False) -> Number:
    """The best value if the agent saw the state: no history and no memory gives more.

    >>> from workbench.model.pomdp import POMDP
    >>> P = POMDP.from_functions(name="coin", A=["heads", "tails"], p=lambda s, a: {("end", int(s == a)): 1}, gamma=1,
    ...                          omega=lambda s: {"o": 1}, mu={"heads": 0.5, "tails": 0.5}, terminal={"end"})
    >>> best_informed(P)
    1.0
    """
    _check(P, exact)
    field = RATIONALS if exact else FLOATS
    M = from_states(P, field)
    first = optimal(from_states(P, FLOATS)).policy if exact else None
    found = optimal(M, first=first)
    require_end(P, found)
    return found.value if isinstance(found.value, float) else field.back(found.value)


def _check(P: Any, exact: Any) -> None:
    if not isinstance(P, POMDP):
        raise WrongType(f"expected a POMDP, not {P!r}")
    if P.symbols:
        names = ", ".join(sorted(map(str, P.symbols)))
        raise NotExact(f"optima need numbers, but {P.name} holds {names}: give it a value first")
    if exact is not None and not isinstance(exact, bool | np.bool_):
        raise WrongType(f"exact is True or False, not {exact!r}")
    if exact:
        P.require_exact()


def _whole(name: str, value: Any, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise WrongType(f"{name} is a whole number, not {value!r}")
    if value < least:
        raise WorkbenchError(f"{name} must be at least {least}, not {value}")
    return int(value)


def _positive(name: str, value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float | np.number):
        raise WrongType(f"{name} is a number, not {value!r}")
    if not 0 < float(value) < math.inf:
        raise WorkbenchError(f"{name} must be positive and finite, not {value}")
    return float(value)


# ---------------------------------------------------------------------- histories


def best_history(
    P: POMDP,
    exact: bool | None = None,
    *,
    max_beliefs: int = MAX_BELIEFS,
    max_backups: int = MAX_BACKUPS,
    tolerance: float = 1e-6,
) -> HistoryOptimum:
    """The value of the best policy pi(a | o_0, a_0, ..., o_t).

    Exact where the reachable beliefs are finitely many, as in every task of finite horizon;
    otherwise lower and upper bounds that hold for certain, closed in on by heuristic search until
    they are `tolerance` apart or `max_backups` are spent. `Ctrl-C` during that search ends it with
    the bounds so far.

    Parameters
    ----------
    exact : True demands a Fraction, or raises; False is content with floats and a certified gap;
        None gives a Fraction where the model is exact and the belief MDP is not too entangled.
    max_beliefs : how many beliefs are listed before they count as too many.
    tolerance : as a share of the size of the values.

    >>> from workbench.model.pomdp import POMDP
    >>> P = POMDP.from_functions(name="twice", A=[0, 1], p=lambda s, a: {(s + (a,) if not s else "end", 0 if not s else
    ...                          int(s != (a,))): 1}, omega=lambda s: {"o": 1}, mu={(): 1}, gamma=1, terminal={"end"})
    >>> best_history(P)
    best history-based value of twice: 1 (policy iteration in rationals over 3 beliefs)
    """
    _check(P, exact)
    max_beliefs = _whole("max_beliefs", max_beliefs)
    max_backups = _whole("max_backups", max_backups, 0)
    tolerance = _positive("tolerance", tolerance)
    return history_optimum(P, exact, max_beliefs, max_backups, tolerance)


# ---------------------------------------------------------------------- memoryless policies


@overload
def best_memoryless(
    P: POMDP,
    deterministic: Literal[True] = True,
    *,
    exact: bool = ...,
    all_optimal: bool = ...,
    information: str = ...,
    tolerance: float = ...,
    max_nodes: int = ...,
    max_seconds: float | None = ...,
    max_optimal: int = ...,
) -> MemorylessOptimum: ...
@overload
def best_memoryless(
    P: POMDP,
    deterministic: Literal[False],
    *,
    tolerance: float = ...,
    starts: int | None = ...,
    seed: int | None = ...,
) -> StochasticOptimum: ...
def best_memoryless(
    P: POMDP,
    deterministic: bool = True,
    *,
    exact: bool = False,
    all_optimal: bool = False,
    information: str = "auto",
    tolerance: float = 1e-9,
    max_nodes: int = MAX_NODES,
    max_seconds: float | None = None,
    max_optimal: int = MAX_OPTIMAL,
    starts: int | None = None,
    seed: int | None = None,
) -> MemorylessOptimum:
    """The best memoryless policy.

    Parameters
    ----------
    P : the POMDP; an augmented one, to ask what a memory is good for.
    deterministic : True: the optimal deterministic policy, by branch and bound, with a certificate;
        `Ctrl-C` or a limit ends it with the best policy so far, the bound and the gap. False: a
        good stochastic policy, by ascent along the exact gradient; a lower bound, with the
        first-order conditions checked.
    exact : compare values and bounds as rationals, and return a Fraction.
    all_optimal : list all optimal deterministic policies as well, counted by what they do where
        they come.
    information : what a decision that is still open may depend on when it is bounded: "states",
        "beliefs" (tighter, needs finitely many), or "auto": states first, beliefs if those do not
        settle it.
    tolerance : the gap allowed for, as a share of the largest reward or value.
    max_nodes, max_seconds : limits of the search.
    max_optimal : more optimal policies than this are an error.
    starts, seed : of the ascent: random policies to start from, beside the uniform and a
        deterministic one.

    >>> from workbench.model.pomdp import POMDP
    >>> P = POMDP.from_functions(name="twice", A=[0, 1], p=lambda s, a: {(s + (a,) if not s else "end", 0 if not s else
    ...                          int(s != (a,))): 1}, omega=lambda s: {"o": 1}, mu={(): 1}, gamma=1, terminal={"end"})
    >>> best_memoryless(P, exact=True)
    best memoryless policy of twice: value 0, certified optimal (branch and bound, 3 nodes)
    >>> best_memoryless(P, deterministic=False, seed=1).value
    0.5
    """
    _check(P, exact)
    tolerance = _positive("tolerance", tolerance)
    if not isinstance(deterministic, bool | np.bool_):
        raise WrongType(f"deterministic is True or False, not {deterministic!r}")
    if information not in INFORMATION:
        raise WorkbenchError(
            f"information must be one of {', '.join(INFORMATION)}, not {information!r}"
        )
    if not deterministic:
        if exact or all_optimal or information != "auto":
            raise WorkbenchError("exact, all_optimal and information belong to deterministic=True")
        count = STARTS if starts is None else _whole("starts", starts, 0)
        return stochastic_optimum(
            P, tolerance, count, 0 if seed is None else _whole("seed", seed, 0)
        )
    if starts is not None or seed is not None:
        raise WorkbenchError(
            "starts and seed belong to deterministic=False: branch and bound draws nothing"
        )
    seconds = math.inf if max_seconds is None else _positive("max_seconds", max_seconds)
    most = _whole("max_optimal", max_optimal) if all_optimal else None
    limits = SearchLimits(_whole("max_nodes", max_nodes), seconds, most)
    return deterministic_optimum(P, exact, information, tolerance, limits)
