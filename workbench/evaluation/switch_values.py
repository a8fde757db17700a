"""What a policy is worth when it is changed at one observation (Perkins 2002, MCESP).

    switch(o, a) = the value of pi with pi(. | o) replaced by the action a, everywhere o is seen

Monte Carlo exploring starts for POMDPs follows these numbers instead of q(o, a), which a change
makes at the current visit only. A deterministic policy that no switch improves is a local optimum
under switches: where MCESP can stop.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from workbench.core.errors import NeverEnds
from workbench.core.evaluate import evaluate
from workbench.core.numbers import Number, Numbers
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.progress import Waiting
from workbench.tables.table import Table
from workbench.text import counted


def switch_values(P: POMDP, pi: Policy, exact: bool = False) -> Table:
    """The value of pi switched to a at o, for each `[o, a]`.

    Parameters
    ----------
    exact : rationals instead of floats, which come with bounds (`.error`); symbols anywhere give
        rational functions in any case.

    A system is solved for each o that pi meets and each action: for gravity about a minute with O1
    (600 observations are met), six with OA1 (2,304).

    Undefined (NaN, or None if exact) where the switched policy may never end and gamma is 1. A
    switch at an observation that pi never meets changes nothing.

    >>> from pomdps import recall4
    >>> from workbench import augment, uniform
    >>> E = augment(recall4(), "B1")
    >>> switch_values(E, uniform(E), exact=True)[("1", "o"), (3, "1")]
    Fraction(-5, 128)

    See also: `evaluate`, `gradient`, `improve`.
    """
    pi.fits(P)
    weights = "visits" if len(P.terminal) else "discounted"
    now = evaluate(P, pi, exact=exact, weights=weights)
    is_float = now.v.raw.dtype != object
    raw = np.full((len(P.O), len(P.A)), np.nan if is_float else None, float if is_float else object)
    error = np.full(raw.shape, np.inf)
    with Waiting(f"switch values of {P.name}", steady=True) as waiting:
        for i in range(len(P.O)):
            waiting.report(i / len(P.O), f"{i:,} of {counted(len(P.O), 'observation')}")
            for a in range(len(P.A)):
                if P.allowed is not None and not P.allowed[i, a]:
                    continue
                if not now.reached.raw[i]:
                    raw[i, a], error[i, a] = now.value, now.error
                    continue
                rows = pi.prob.objects.copy() if pi.is_exact else pi.prob.floats.copy()
                rows[i] = Fraction(0) if pi.is_exact else 0.0
                rows[i, a] = Fraction(1) if pi.is_exact else 1.0
                try:
                    switched = Policy(P, Numbers.of(rows))
                    found = evaluate(P, switched, exact=exact, weights=weights)
                    raw[i, a], error[i, a] = found.value, found.error
                except NeverEnds:
                    pass
    return Table(raw, P.O, P.A, None, "switch(o, a)", error if is_float else None)


def improving_switches(P: POMDP, pi: Policy) -> dict[tuple[object, object], Number]:
    """The switches (o, a) that are worth more than an exact policy, with their values. There are
    none at a local optimum."""
    found = switch_values(P, pi, exact=True)
    weights = "visits" if len(P.terminal) else "discounted"
    value = evaluate(P, pi, exact=True, weights=weights).value
    return {
        (o, a): x
        for o in P.O
        for a in P.A
        if (x := found[o, a]) is not None and x > value
    }  # fmt: skip
