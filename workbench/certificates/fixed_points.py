"""The fixed points of a learner as plain JSON: one line for each greedy policy, which
`workbench.checker` derives again.

A policy is written as a number whose digits, in base |A|, are the places of its actions in the list
of actions, the first row's first. Every policy is listed: as a fixed point, strict or tied, with
what it is worth, or as refuted, with a row and an action that is better there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from workbench.core.errors import WorkbenchError
from workbench.core.learners import Learner, Target
from workbench.core.numbers import Number
from workbench.core.pomdp import POMDP
from workbench.equilibrium.equilibria import Equilibria
from workbench.equilibrium.learned_values import target_of
from workbench.results.json import encode, model_json

MOST_LISTED = 100_000
"""The checker looks at no more policies one by one; beyond, sets of them are refuted
(`set_bounds`)."""


def fixed_points_certificate(P: POMDP, memory: str, found: Equilibria) -> dict[str, Any]:
    """The certificate of a complete search without symmetry, in rationals.

    Parameters
    ----------
    P : the task; `found` belongs to it with the memory of this name.
    """
    if not found.exact or not found.complete or found.undefined:
        raise WorkbenchError("only a complete search in rationals, nothing undefined, is certain")
    if found.looked_at < found.cells:
        raise WorkbenchError("a certificate lists every policy: search with symmetry=False")
    target = one_step_target(found.learner)
    base = len(found.P.A)
    refuted = zip(found.refuted, found.refuted_row, found.refuted_action, strict=True)
    return {
        "kind": "fixed-points",
        **learning_fields(P, memory, found.P, target, found.epsilon, found.rows),
        "fixed": [
            [number_policy(e.policy.actions[np.asarray(found.rows)], base), e.strict, str(e.value)]
            for e in found
        ],
        "refuted": [[number_policy(g, base), int(o), int(a)] for g, o, a in refuted],
    }


def one_step_target(learner: Learner) -> Target:
    """The one-step target of a learner. Certificates are about one-step targets."""
    target = target_of(learner)
    if not target.is_one_step:
        raise WorkbenchError("certificates are about Q-learning and Sarsa(0)")
    return target


def learning_fields(
    P: POMDP, memory: str, E: POMDP, target: Target, epsilon: Number, rows: Iterable[Any]
) -> dict[str, Any]:
    """The certificate's fields that name task, memory and learner. E is P with the memory of this
    name, and `rows` are the indices of the observations at which a greedy policy has a choice."""
    return {
        "model": model_json(P.with_gamma(E.gamma)),
        "memory": memory,
        "learner": "Q-learning" if target.greedy else "Sarsa(0)",
        "epsilon": str(epsilon),
        "rows": [encode(E.O[int(o)]) for o in rows],
        "actions": [encode(a) for a in E.A],
    }


def number_policy(actions: Iterable[Any], base: int) -> int:
    """The number whose digits, in this base, are the actions, the first row's first."""
    return sum(int(a) * base**i for i, a in enumerate(actions))
