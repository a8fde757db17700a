"""The MDP over observations that a behaviour makes of a POMDP (Singh, Jaakkola and Jordan 1994).

A learner that keeps one row for each observation treats o as if it were a state. While it follows a
fixed behaviour pi, what it sees are the transitions of an MDP whose states are the observations:

    p(o', r | o, a) = sum_s P_pi(s|o) sum_{s'} p(s', r | s, a) omega(o'|s')       s' not terminal
    p(end, r | o, a) = sum_s P_pi(s|o) sum_{s' terminal} p(s', r | s, a)
    mu(o)           = sum_s mu(s) omega(o|s)

with the weights P_pi(s|o) of `evaluate`. Q-learning under pi converges to the q* of this MDP, and
one-step TD to its q_pi: the numbers that `td_values` gives.

>>> from fractions import Fraction
>>> from workbench.core.evaluate import evaluate
>>> from workbench.core.td import td_values
>>> from workbench.core.policy import uniform
>>> from workbench.improvement.batch import sequence_task
>>> P = sequence_task([[1, 0], [0, 0]]).with_gamma(Fraction(1, 2))
>>> M = observation_mdp(P, uniform(P), exact=True)
>>> M.p("o", 1)
{('o', Fraction(0, 1)): Fraction(1, 2), ('end', Fraction(0, 1)): Fraction(1, 2)}
>>> evaluate(M, uniform(P), exact=True).q["o", 0], td_values(P, uniform(P), exact=True).q["o", 0]
(Fraction(7, 24), Fraction(7, 24))
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import WorkbenchError
from workbench.core.evaluate import check_arguments
from workbench.core.fields import Dynamics, dynamics, field_of
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.rows import row_places
from workbench.core.space import Label
from workbench.core.weights import Weighting, known

END = "end"
"""The label of the one terminal state, with primes added where an observation has that name."""


def observation_mdp(
    P: POMDP, behaviour: Policy, weights: str | Weighting = "visits", exact: bool = False
) -> POMDP:
    """The MDP over the observations of P whose transitions are those seen under a behaviour.

    Its states are the observations that the behaviour sees in states that are not terminal, and
    "end"; its observations and actions are those of P, so that a policy for P is one for it.

    Parameters
    ----------
    behaviour : the policy that is followed. From every observation that it sees, every action must
        lead to observations that it sees: elsewhere P(s|o) is not defined.
    weights : which P(s|o), as for `evaluate`; "stationary" for tasks that do not end.
    exact : rationals instead of floats; symbols anywhere give rational functions in any case.

    >>> from pomdps import recall4
    >>> from workbench import uniform
    >>> observation_mdp(recall4(), uniform(recall4()), exact=True)
    POMDP recall4 by observation: 2 states (1 terminal), 1 observation, 4 actions, 12 outcomes,
    gamma 1

    See also: `mean_field`, `td_values`, `evaluate`.
    """
    P.require_all_actions("observation_mdp")
    weighing = check_arguments(P, behaviour, weights)
    field = field_of(P, behaviour, exact)
    D = dynamics(P, field)
    seen = weighing.solve(D.follow(field.enter(behaviour.prob)))
    share, reached = seen.share, seen.reached
    _check_weights(P, share, reached, D, weighing.name)
    labels = [P.O[int(o)] for o in np.flatnonzero(reached)]
    end = _end_label(labels)
    rows = {
        (o, a): _row(D, share, reached, P.O.index(o), j, end)
        for o in labels
        for j, a in enumerate(P.A)
    }
    mu: dict[Label, Any] = {}
    for s, o, x in zip(D.entry_s, D.entry_o, D.mu[D.entry_s] * D.omega, strict=True):
        first = end if P.terminal.mask[s] else P.O[int(o)]
        mu[first] = mu[first] + x if first in mu else x
    start = {o: field.back(x) for o, x in mu.items() if x != 0}
    ends = end in start or any(key[0] == end for row in rows.values() for key in row)
    shown = {end: P.O[_end_observation(P)]} if ends else {}
    return POMDP.from_functions(
        name=f"{P.name} by observation",
        S=[*labels, *shown],
        O=P.O,
        A=P.A,
        p=lambda o, a: {key: field.back(x) for key, x in rows[o, a].items()},
        omega=lambda o: {shown.get(o, o): 1},
        mu=start,
        gamma=P.gamma,
        terminal=set(shown),
    )


def _check_weights(
    P: POMDP, share: NDArray[Any], reached: NDArray[np.bool_], D: Dynamics, weights: str
) -> None:
    unclear = ~known(share).all(axis=1) & reached[D.entry_o]
    if unclear.any():
        o = P.O[int(D.entry_o[np.flatnonzero(unclear)[0]])]
        raise WorkbenchError(
            f"P(s|o) is not defined for o={P.O.text(o)} with weights={weights!r}: the behaviour "
            "goes on seeing it for ever; take weights='stationary' or 'discounted'"
        )


def _row(
    D: Dynamics, share: NDArray[Any], reached: NDArray[np.bool_], o: int, a: int, end: Label
) -> dict[tuple[Label, Any], Any]:
    """The outcomes {(o' or the end, reward): probability} of an action at an observation."""
    P, nA = D.P, len(D.P.A)
    found: dict[tuple[Label, Any], Any] = {}

    def add(label: Label, k: int, x: Any) -> None:
        key = label, P.p.r[k]
        found[key] = found[key] + x if key in found else x

    column = a if share.shape[1] > 1 else 0  # P(s|o,a), or P(s|o)
    for e in np.flatnonzero((D.entry_o == o) & ~P.terminal.mask[D.entry_s]).tolist():
        for k in row_places(P.p.row_ptr, int(D.entry_s[e]) * nA + a):
            x, s_next = share[e, column] * D.prob[k], int(P.p.s_next[k])
            if x == 0:
                continue
            if P.terminal.mask[s_next]:
                add(end, k, x)
                continue
            for f in row_places(P.omega.row_ptr, s_next):
                o_next = int(D.entry_o[f])
                if D.omega[f] != 0:
                    _check_successor(P, reached, o, a, o_next)
                    add(P.O[o_next], k, x * D.omega[f])
    return found


def _check_successor(P: POMDP, reached: NDArray[np.bool_], o: int, a: int, o_next: int) -> None:
    if not reached[o_next]:
        raise WorkbenchError(
            f"o={P.O.text(P.O[o])}, a={P.A.text(P.A[a])} leads to "
            f"o={P.O.text(P.O[o_next])}, which the behaviour never sees, so that "
            "P(s|o) is not defined there; give a behaviour that takes every action"
        )


def _end_label(taken: list[Label]) -> Label:
    label = END
    while label in taken:
        label += "'"
    return label


def _end_observation(P: POMDP) -> int:
    """What the end shows: the first observation of the first terminal state. Nobody acts on it."""
    return int(P.omega.o[P.omega.row_ptr[int(np.flatnonzero(P.terminal.mask)[0])]])
