"""All optimal deterministic memoryless policies.

Two policies that differ only where neither ever comes behave the same, so policies are counted by
their behaviour: a choice for each observation that the policy itself reaches. The walk decides
observations in the order in which the partial policy reaches them, so that every behaviour is met
once, and drops a partial policy when its bound (`mdp`, full information at what is still open) is
below the optimum. Nothing is identified that differs: actions with the same effect and
interchangeable memory states count as often as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import TooLarge
from workbench.optima.branch_and_bound import OPEN, forced
from workbench.optima.follow import first_open, follow
from workbench.optima.mdp import MDP, Actions, optimal
from workbench.progress import Waiting


def optimal_behaviours(
    M: MDP,
    exact: MDP | None,
    observations: int,
    value: Any,
    tolerance: float,
    limit: int,
    name: str,
) -> list[Actions]:
    """The choices `choice[o]` (-1 where o is not reached) of all policies worth `value`.

    Parameters
    ----------
    exact : the process over the rationals, in which equality is decided; if None, within
        `tolerance`.
    limit : more policies than this raise `TooLarge`.
    """
    found: list[Actions] = []
    stack: list[tuple[Actions, NDArray[np.int64] | None]] = [(np.full(observations, OPEN), None)]
    nodes = 0
    with Waiting(f"optimal policies of {name}") as waiting:
        while stack:
            choice, warm = stack.pop()
            nodes += 1
            waiting.report(0.0, f"{len(found):,} found, {nodes:,} partial policies")
            o = first_open(M, choice, M.starts)
            if o is None:
                if _is_optimal(M, exact, choice, value, tolerance):
                    found.append(choice)
                if len(found) > limit:
                    raise TooLarge(
                        f"{name} has more than {limit:,} optimal policies; ask for more, or for "
                        "one of them"
                    )
                continue
            best = optimal(M, forced(M, choice), warm)
            if best.value < float(value) - tolerance:
                continue
            for a in reversed(range(M.shape[1])):
                child = choice.copy()
                child[o] = a
                stack.append((child, best.policy))
    return found


def _is_optimal(M: MDP, exact: MDP | None, choice: Actions, value: Any, tolerance: float) -> bool:
    if follow(M, choice).value < float(value) - tolerance:
        return False
    return exact is None or bool(exact.field.back(follow(exact, choice).value) == value)
