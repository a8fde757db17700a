"""What Q-learning converges to while its behaviour is fixed, stationary or periodic.

Under a stationary behaviour b the limit is the q* of the observation MDP of b,

    q(o,a) = sum_s P_b(s|o) sum p(s',r|s,a) omega(o'|s') [ r + gamma max_a' q(o',a') ]

found by policy iteration, each step a linear system over the field. Under a behaviour of period L,
b_l at the times t = l modulo L, with one table for each hour, the limits are a cycle of tables,

    q_l(o,a) = sum_s P_l(s|o) sum p(s',r|s,a) omega(o'|s') [ r + gamma max_a' q_{l+1}(o',a') ],

P_l(s|o) the shares at the hour l (Sinha, Geist and Mahajan 2024, whose agent state is ours). With
the clock of L hours as a memory it is the same question: b is then a stationary behaviour that sees
the hour, and the shares of the product's long run are those of each hour.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.augment import augment
from workbench.core.bootstrap import Bootstrap
from workbench.core.errors import WorkbenchError, WrongType
from workbench.core.fields import Field, field_of
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.td import NStep
from workbench.core.weights import known
from workbench.tables.table import Table


def limit_values(P: POMDP, behaviour: Policy, exact: bool = False) -> Table:
    """What Q-learning converges to, with steps that decrease, while it follows a fixed behaviour.

    Rows that the behaviour never sees are undefined. Every action must be taken wherever the
    behaviour goes, or lead to rows that it sees.

    >>> from fractions import Fraction
    >>> from workbench.core.policy import uniform
    >>> from workbench.improvement.batch import sequence_task
    >>> P = sequence_task([[1, 0], [0, 0]]).with_gamma(Fraction(1, 2))
    >>> limit_values(P, uniform(P), exact=True)["o", 0]
    Fraction(1, 3)
    """
    if not isinstance(P, POMDP):
        raise WrongType(f"limit_values needs a POMDP, not {P!r}")
    q, field = _limit(P, behaviour, exact)
    return Table(q, P.O, P.A, field if field.is_exact else None, "q(o, a)")


def _limit(P: POMDP, behaviour: Policy, exact: bool) -> tuple[NDArray[Any], Field]:
    behaviour.fits(P)
    if P.symbols or behaviour.prob.symbols:
        raise WorkbenchError(f"{P.name} or the behaviour holds symbols: no maximum can be taken")
    field = field_of(P, behaviour, exact)
    actions = np.zeros(len(P.O), dtype=np.int64)
    while True:  # values rise from round to round, so that no policy comes twice
        met = Bootstrap(field, P, behaviour, "stationary")
        met.table = field.enter(Policy.from_actions(P, actions).prob)
        q, _ = met.q_values(NStep(1).solve(met))
        better = _improved(q, actions, field.is_exact)
        if np.array_equal(better, actions):
            return q, field
        actions = better


def _improved(q: NDArray[Any], actions: NDArray[np.int64], exact: bool) -> NDArray[np.int64]:
    """The greedy actions, the old ones where they are as good."""
    better = actions.copy()
    for o in np.flatnonzero(known(q).all(axis=1)).tolist():
        row = list(q[o])
        best = max(range(len(row)), key=lambda a: row[a])
        near = 0 if exact else 1e-12 * max(abs(x) for x in row)  # floats might go round
        if row[best] > row[int(actions[o])] + near:
            better[o] = best
    return better


def cyclic_limits(P: POMDP, behaviours: Sequence[Policy], exact: bool = False) -> list[Table]:
    """The cycle of tables that Q-learning converges to under a periodic behaviour: one `q[o, a]`
    for each hour.

    Parameters
    ----------
    behaviours : the policies for P that are followed, one after the other, for ever; an episode
        begins with the first.

    >>> from fractions import Fraction
    >>> from workbench.improvement.batch import sequence_task
    >>> P = sequence_task([[1, 0], [0, 0]]).with_gamma(Fraction(1, 2))
    >>> from workbench.core.policy import uniform
    >>> [q["o", 0] for q in cyclic_limits(P, [uniform(P)] * 2, exact=True)]
    [Fraction(1, 4), Fraction(1, 2)]
    """
    if not isinstance(P, POMDP):
        raise WrongType(f"cyclic_limits needs a POMDP, not {P!r}")
    if not len(behaviours):
        raise WorkbenchError("a periodic behaviour has one policy at least")
    for pi in behaviours:
        if not isinstance(pi, Policy):
            raise WrongType(f"a periodic behaviour is a sequence of policies, not of {pi!r}")
        pi.fits(P)
    E = augment(P, f"clock{len(behaviours)}")
    hours = {(m, o): {(a, "-"): x for a, x in behaviours[int(m)].row(o).items()} for m, o in E.O}
    q, field = _limit(E, Policy.from_mapping(E, hours), exact)
    tables = []
    for hour in range(len(behaviours)):
        raw = np.full((len(P.O), len(P.A)), None if field.is_exact else np.nan)
        for i, o in enumerate(P.O):
            if (hour, o) in E.O:
                raw[i] = q[E.O.index((hour, o))]  # one write: the actions are those of P
        shown = field if field.is_exact else None
        tables.append(Table(raw, P.O, P.A, shown, f"q(o, a) at the hour {hour}"))
    return tables
