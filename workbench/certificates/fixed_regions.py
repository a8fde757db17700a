"""The fixed points of a learner for all epsilon and gamma as plain JSON, which `workbench.checker`
derives again.

A greedy policy is written as a number, as in `fixed_points`. Those that one inequality refutes on
the whole open square are listed with its row and action; for the others the curves are given that
part the cells, a sample point of each cell, and which policies are fixed points in it.
"""

from __future__ import annotations

from typing import Any

import sympy

from workbench.certificates.fixed_points import learning_fields, number_policy, one_step_target
from workbench.core.errors import TooLarge, WorkbenchError
from workbench.core.pomdp import POMDP
from workbench.equilibrium.learned_values import deciding_rows
from workbench.research.subdivision import Subdivision

MOST_IN_REGIONS = 2_000
"""The checker looks at no more policies with symbols."""


def fixed_regions_certificate(P: POMDP, memory: str, found: Subdivision) -> dict[str, Any]:
    """The certificate of a subdivision without symmetry, for a task in which no state is met twice.

    Parameters
    ----------
    P : the task, whose rewards and discount may hold symbols; `found` belongs to it with the memory
        of this name.

    >>> from workbench.research.subdivision import subdivide
    >>> from workbench.core.learners import QLearning
    >>> P = POMDP.from_functions(
    ...     name="one step",
    ...     A=[0, 1],
    ...     p=lambda s, a: {("end", a): 1},
    ...     omega=lambda s: {"o": 1},
    ...     mu={"s": 1},
    ...     gamma=1,
    ...     terminal={"end"},
    ... )
    >>> found = subdivide(P, QLearning(), epsilon=sympy.Symbol("epsilon"), symmetry=False)
    >>> made = fixed_regions_certificate(P, "none", found)
    >>> made["fixed"], made["refuted"], made["cells"]
    ([[1, True, '1']], [[0, 0, 1]], [[['1/2'], [0]]])
    """
    target = one_step_target(found.learner)
    if not found.complete:
        raise WorkbenchError("a certificate answers for the whole square: give more seconds")
    if found.looked_at < found.cells:
        raise WorkbenchError("a certificate lists every policy: subdivide with symmetry=False")
    if found.cells > MOST_IN_REGIONS:
        raise TooLarge(
            f"{found.P.name} has {found.cells:,} greedy policies; a certificate with symbols lists "
            f"{MOST_IN_REGIONS:,} at most"
        )
    rows, base = deciding_rows(found.P), len(found.P.A)
    policies = zip(found.policies, found.always_tied, found.values, strict=True)
    return {
        "kind": "fixed-point-regions",
        **learning_fields(P, memory, found.P, target, found.epsilon, rows),
        "names": [str(s) for s in found.symbols],
        "fixed": [
            [number_policy(pi.actions[rows], base), not tied, _shown(value)]
            for pi, tied, value in policies
        ],
        "refuted": [[number_policy(g, base), o, a] for g, o, a in found.refutations],
        "curves": [_shown(c) for c in found.curves],
        "cells": [
            [[str(x) for x in cell.sample.values()], list(cell.settled)] for cell in found.found
        ],
    }


def _shown(x: Any) -> str:
    return str(sympy.expand(x))
