"""Certificates of Kuhn-Tucker points, in the form that `workbench.checker` verifies.

For each point: the face that it lies on, a box of fractions around its free probabilities, the
return on the face as a quotient of polynomials, and the same with one more action for each that is
not taken. The checker compares the formulas with the task, and finds root and signs again in
fractions. Degenerate points are left out: first and second order do not tell what they are.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import sympy

from workbench.certificates.values import Certificate
from workbench.core.errors import WorkbenchError
from workbench.core.evaluate import evaluate
from workbench.core.fields import FLOATS, dynamics
from workbench.core.numbers import Numbers
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.optima.mdp import MDP, from_states
from workbench.research.critical_points import CriticalPoint, CriticalPoints
from workbench.results.json import encode, model_json

_BITS = 40
"""Boxes are this many binary places wide."""


def critical_certificate(P: POMDP, memory: str, found: CriticalPoints) -> Certificate:
    """The points of `critical_points(augment(P, memory))` that are not degenerate."""
    listed = [point for point in found if point.kind != "degenerate"]
    if not listed:
        raise WorkbenchError(f"{found.P.name} has no point to certify: all are degenerate")
    return {
        "kind": "critical-points",
        "model": model_json(P),
        "memory": memory,
        "points": [_point(found.P, point) for point in listed],
    }


def _point(E: POMDP, point: CriticalPoint) -> dict[str, Any]:
    M = from_states(E, FLOATS)
    met = np.unique(M.seen).tolist()
    table = point.policy.prob.floats
    supports = {o: np.flatnonzero(table[o] > 0).tolist() for o in met}
    box = []
    for o in met:
        for a in supports[o][:-1]:
            near = Fraction(round(Fraction(float(table[o, a])) * 2**_BITS), 2**_BITS)
            box.append([str(near - Fraction(1, 2**_BITS)), str(near + Fraction(1, 2**_BITS))])
    chain = dynamics(E, FLOATS).follow(table)
    D = chain.D
    reached = {int(o) for o in D.entry_o[(chain.visited & ~E.terminal.mask)[D.entry_s]]}
    outside = [
        [encode(E.O[o]), encode(E.A[int(a)]), _formula(E, met, supports, (o, int(a)))]
        for o in met
        if o in reached
        for a in _not_taken(E, M, o, supports[o])
    ]
    room = Fraction(1, 2**20) if box else Fraction(0)
    value = Fraction(float(point.value)) if box else Fraction(point.value)
    return {
        "kind": point.kind,
        "strict": point.strict,
        "supports": [[encode(E.O[o]), [encode(E.A[a]) for a in supports[o]]] for o in met],
        "box": box,
        "return": _formula(E, met, supports, None),
        "outside": outside,
        "value": [str(value - room), str(value + room)],
    }


def _not_taken(E: POMDP, M: MDP, o: int, taken: list[int]) -> list[int]:
    """The actions outside a support that are like none in it."""
    states = np.flatnonzero(M.seen == o)
    dense = M.dense

    def like(a: int, b: int) -> bool:
        if a == b:
            return True
        if dense is not None:
            return bool(
                (dense[states, a] == dense[states, b]).all()
                and (M.R[states, a] == M.R[states, b]).all()
            )
        return False

    return [a for a in range(len(E.A)) if not any(like(a, b) for b in taken)]


def _formula(
    E: POMDP, met: list[int], supports: dict[int, list[int]], extra: tuple[int, int] | None
) -> list[str]:
    """The return on a face, or with one more action, as numerator and denominator."""
    table = np.full((len(E.O), len(E.A)), Fraction(0), dtype=object)
    table[:, 0] = Fraction(1)
    for i, o in enumerate(met):
        row = supports[o]
        table[o] = Fraction(0)
        rest: Any = Fraction(1)
        for j, a in enumerate(row[:-1]):
            table[o, a] = sympy.Symbol(f"y{i}_{j}")
            rest = rest - table[o, a]
        if extra is not None and extra[0] == o:
            table[o, extra[1]] = sympy.Symbol("z")
            rest = rest - table[o, extra[1]]
        table[o, row[-1]] = rest
    value = evaluate(E, Policy(E, Numbers.of(table)), exact=True).value
    top, bottom = sympy.fraction(sympy.together(sympy.sympify(value)))
    return [str(sympy.expand(top)), str(sympy.expand(bottom))]
