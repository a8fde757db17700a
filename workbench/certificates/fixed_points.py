"""The fixed points of a learner as plain JSON: one line for each greedy policy, which
`workbench.checker` derives again.

A policy is written as a number whose digits, in base |A|, are the places of its actions in the list
of actions, the first row's first. Every policy is listed: as a fixed point, strict or tied, with
what it is worth, or as refuted, with a row and an action that is better there.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from workbench.equilibrium.equilibria import Equilibria
from workbench.equilibrium.learned_values import target_of
from workbench.errors import WorkbenchError
from workbench.model.json import encode, model_json
from workbench.model.pomdp import POMDP

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
    target = target_of(found.learner)
    if not target.is_one_step:
        raise WorkbenchError("certificates are about Q-learning and Sarsa(0)")
    base = len(found.P.A)
    powers = [base**i for i in range(len(found.rows))]

    def number_of(actions: Any) -> int:
        return sum(int(a) * power for a, power in zip(actions, powers, strict=True))

    refuted = zip(found.refuted, found.refuted_row, found.refuted_action, strict=True)
    return {
        "kind": "fixed-points",
        "model": model_json(P.with_gamma(found.P.gamma)),
        "memory": memory,
        "learner": "Q-learning" if target.greedy else "Sarsa(0)",
        "epsilon": str(found.epsilon),
        "rows": [encode(found.P.O[int(o)]) for o in found.rows],
        "actions": [encode(a) for a in found.P.A],
        "fixed": [
            [number_of(e.policy.actions[np.asarray(found.rows)]), e.strict, str(e.value)]
            for e in found
        ],
        "refuted": [[number_of(g), int(o), int(a)] for g, o, a in refuted],
    }
