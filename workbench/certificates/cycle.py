"""Exact certificates of limit cycles of the oracle loop (Section 5.2): chattering for ever, proved.

With a constant step e and keep = 1 - e, p steps towards tau_1, ..., tau_p take pi to keep^p pi + c,
an affine map with one fixed point. If greedy repeats tau_1, ..., tau_p from iterate n on, then the
iterates n + i, n + i + p, n + i + 2p, ... lie on the segment from pi_{n+i} to the fixed point
pi*_i, at x = 1, keep^p, keep^2p, ... . So it is enough that tau_i is greedy on the whole segment x
pi_{n+i} + (1-x) pi*_i, 0 < x <= 1, for each i: finitely many inequalities between polynomials, as
in `certificates`. Then the loop tends to the cycle pi*_1, ..., pi*_p, whose policies and values are
rational. If all of them are worth less than some policy, the certificate holds it and its claim is
"below". A cycle around the best point is below it too, by about the square of the step: how far
below is what tells that from being stuck.

Where the cycle begins is looked for in floats; the rest is exact. `checker.recheck` verifies the
result.
"""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import groupby
from typing import Any

import numpy as np

from workbench.certificates.loop import (
    Actions,
    TableArray,
    better_policy,
    checked_arguments,
    choices,
    differences,
    is_positive,
)
from workbench.core.chain import exact_value
from workbench.core.ending import LoopRun
from workbench.core.fields import RATIONALS
from workbench.core.improve import start_loop
from workbench.core.numbers import Number, Numbers
from workbench.core.oracle_loop import mixed
from workbench.core.policy import Policy, uniform
from workbench.core.pomdp import POMDP
from workbench.core.ties import tie_order
from workbench.memories import Family
from workbench.progress import Waiting
from workbench.results.json import model_json

LOOKED_AT = 6_000
"""Iterates in floats among which a period is looked for."""

MOST_BEFORE, LONGEST = 600, 200
"""A cycle has to begin by then, and to be no longer than this: its numbers have as many digits."""

_ATTEMPTS = 3
"""If greedy differs somewhere on the segments, they are tried again one period later, this often in
all."""

_DENOMINATOR = 10**6


def certify_cycle(
    P: POMDP, memory: Family | str, step: Number = Fraction(1, 50), ties: str = "last"
) -> dict[str, Any] | None:
    """Prove that the oracle loop from the uniform policy tends to a limit cycle. None if no proof
    is found.

    Returns
    -------
    JSON with `before` and `cycle` (runs of steps and the greedy choices), `lowest` and `highest`,
    between which the values of the cycle's policies lie, and `claim` "below", with a better policy,
    or "cycle".

    >>> from workbench.improvement.batch import sequence_task
    >>> found = certify_cycle(sequence_task([[0, 1], [1, 0]]), "none", Fraction(1, 4))
    >>> found["claim"], found["lowest"], found["highest"]
    ('below', '489795/1000000', '489796/1000000')
    """
    E, size = checked_arguments(P, memory, step, ties)
    order = tie_order(E.A, ties)
    where = _begins(E, size, ties)
    if where is None:
        return None
    start, period = where
    with Waiting(f"limit cycle of {E.name}") as waiting:
        keep = 1 - RATIONALS.one(size)
        loop = start_loop(E, uniform(E), size, ties, exact=True)
        policies, greedy = list[TableArray](), list[Actions]()
        last = start + _ATTEMPTS * period
        while len(greedy) < last:
            policies.append(loop.table)
            loop.advance(1, looks=False)
            greedy.append(loop.actions)
            waiting.report(len(greedy) / last, f"{len(greedy)} iterates")
        for begin in range(start, last - period + 1, period):
            found = _cycle(E, policies, greedy, begin, period, keep, order)
            if found is not None:
                break
        else:
            return None
    values = [exact_value(E, Policy(E, Numbers.of(RATIONALS.leave(pi)))) for pi in found]
    highest = math.ceil(max(values) * _DENOMINATOR)
    certificate = {
        "kind": "oracle-cycle",
        "status": "proved",
        "model": model_json(P),
        "memory": str(memory),
        "step": str(size),
        "ties": ties,
        "before": _runs(E, greedy[:begin]),
        "cycle": _runs(E, greedy[begin : begin + period]),
        "lowest": f"{math.floor(min(values) * _DENOMINATOR)}/{_DENOMINATOR}",
        "highest": f"{highest}/{_DENOMINATOR}",
    }
    better = better_policy(E, Fraction(highest, _DENOMINATOR))
    return certificate | (
        {"claim": "cycle"} if better is None else {"claim": "below", "better": better}
    )


def _begins(E: POMDP, step: Fraction, ties: str) -> tuple[int, int] | None:
    """The iterate from which greedy repeats itself, in floats, and the period."""
    loop = start_loop(E, uniform(E), step, ties)
    with Waiting(f"oracle loop on {E.name}") as waiting:
        period = LoopRun(loop, step, LOOKED_AT, 1, waiting).collect().get("period")
    if period is None or not 1 < period <= LONGEST:
        return None
    (marks,) = loop.marks
    start = len(marks) - period
    while start > 0 and marks[start - 1] == marks[start - 1 + period]:
        start -= 1
    return (start, period) if start <= MOST_BEFORE else None


def _cycle(
    E: POMDP,
    policies: list[TableArray],
    greedy: list[Actions],
    begin: int,
    period: int,
    keep: Any,
    order: Actions,
) -> list[TableArray] | None:
    """The policies of the limit cycle, if greedy is what it was on all segments to them."""
    around = greedy[begin : begin + period]
    unseen = around[0] < 0
    if any(((tau < 0) != unseen).any() for tau in around) or all(
        np.array_equal(tau, around[0]) for tau in around
    ):
        return None  # rows come and go; or a limit, around which only floats go in circles
    total = policies[begin] * 0
    for tau in around:
        total = mixed(total, tau, keep)
    goal = total / (1 - keep**period)
    goal[unseen] = policies[begin][unseen]  # what uniform does not reach stays as it is
    goals = []
    for i, tau in enumerate(around):
        if not all(
            is_positive(gap, strict)
            for gap, strict in differences(E, policies[begin + i], goal, tau, order)
        ):
            return None
        goals.append(goal)
        goal = mixed(goal, tau, keep)
    return goals


def _runs(E: POMDP, greedy: list[Actions]) -> list[Any]:
    """Greedy policies as runs of equal ones."""
    return [
        [len(list(run)), choices(E, np.array(tau))]
        for tau, run in groupby(greedy, key=lambda tau: tuple(tau.tolist()))
    ]
