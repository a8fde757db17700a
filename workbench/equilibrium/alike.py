"""Policies that play alike: what a person need not be told twice.

Fixed points of a learner with a memory often differ only where it makes no difference: in rows that
the greedy policy never reaches, in names of memory states, in a write before the end. Two policies
play alike if they visit every state of the task, and take every action there, equally often:

    n(s, a) = sum over m and o of n(s, m, o) [pi(m, o) = (a, .)]
"""

from __future__ import annotations

import numpy as np

from workbench.core.augment import ActionsAndWrites
from workbench.core.chain import reached_rows
from workbench.core.errors import NeverEnds
from workbench.core.evaluate import evaluate
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.space import Product, Subset

_DIGITS = 9
"""Visits that agree in so many decimal places count as equal."""


def played(P: POMDP, pi: Policy) -> bytes:
    """A key that deterministic policies share if they play alike.

    >>> from workbench.core.augment import augment
    >>> from workbench.improvement.batch import sequence_task
    >>> E = augment(sequence_task([[0, 1], [1, 0]]), "B1")
    >>> plays = [
    ...     Policy.deterministic(E, {("0", "o"): (0, "1"), ("1", "o"): (1, last)})
    ...     for last in ("0", "1")
    ... ]
    >>> played(E, plays[0]) == played(E, plays[1])
    True
    """
    actions, states = pi.actions, np.arange(len(P.S))
    if isinstance(P.A, ActionsAndWrites):
        actions = actions // len(P.A.factors[1])
    if isinstance(P.S, Subset) and isinstance(P.S.parent, Product):
        inner = P.S.parent.factors[1:]
        states = P.S.places // int(np.prod([len(factor) for factor in inner]))
    try:
        visits = evaluate(P, pi).visits.raw
    except NeverEnds:
        visits = np.full(len(P.S), np.nan)
    if not np.isfinite(visits[~P.terminal.mask]).all():
        rows = reached_rows(P, pi)
        return np.array([*rows, *pi.actions[rows]], dtype=np.int64).tobytes()
    table = np.zeros((int(states.max()) + 1, len(P.A)))
    of_entry = np.repeat(np.arange(len(P.S)), np.diff(P.omega.row_ptr))
    acting = np.where(P.terminal.mask, 0.0, visits)  # no action is taken at the end
    weights = acting[of_entry] * P.omega.prob.floats
    np.add.at(table, (states[of_entry], actions[P.omega.o]), weights)
    return (np.round(table, _DIGITS) + 0.0).tobytes()
