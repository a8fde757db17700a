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
>>> P = POMDP.from_functions(
...     name="two coins",
...     A=[0, 1],
...     p=lambda s, a: {(s + 1, s * a): 1},
...     omega=lambda s: {"o": 1},
...     mu={0: 1},
...     gamma=Fraction(1, 2),
...     terminal={2},
... )
>>> M = observation_mdp(P, uniform(P), exact=True)
>>> M.p("o", 1)
{('end', Fraction(1, 1)): Fraction(1, 2), ('o', Fraction(0, 1)): Fraction(1, 2)}
>>> evaluate(M, uniform(P), exact=True).q["o", 1], td_values(P, uniform(P), exact=True).q["o", 1]
(Fraction(7, 12), Fraction(7, 12))
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.dynamics import Dynamics, dynamics, field_of
from workbench.core.errors import WorkbenchError
from workbench.core.evaluate import check_arguments
from workbench.core.fields import Field
from workbench.core.numbers import Numbers, frozen
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP, Distribution, Emissions, StateSet, Transitions
from workbench.core.rows import add_groups, own_rows, pick_rows, point_rows
from workbench.core.space import Label, Space
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
    row, o_next, r, prob = _outcomes(D, share)
    _check_successors(P, reached, row, o_next)
    return _assembled(D, field, reached, row, o_next, r, prob)


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


def _check_successors(
    P: POMDP, reached: NDArray[np.bool_], row: NDArray[np.int64], o_next: NDArray[np.int64]
) -> None:
    strange = np.flatnonzero((o_next >= 0) & ~reached[o_next])
    if strange.size:
        o, a = divmod(int(row[strange[0]]), len(P.A))
        raise WorkbenchError(
            f"o={P.O.text(P.O[o])}, a={P.A.text(P.A[a])} leads to "
            f"o={P.O.text(P.O[int(o_next[strange[0]])])}, which the behaviour never sees, so that "
            "P(s|o) is not defined there; give a behaviour that takes every action"
        )


def _outcomes(
    D: Dynamics, share: NDArray[Any]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
    """The outcomes (o |A| + a, o' or -1 for the end, number of the reward, probability), merged."""
    P, nA = D.P, len(D.P.A)
    known_share = np.flatnonzero(known(share).all(axis=1))
    entry = known_share[np.asarray(share[known_share] != 0, dtype=bool).any(axis=1)]
    entry = entry[~P.terminal.mask[D.entry_s[entry]]]
    pair = (D.entry_s[entry][:, None] * nA + np.arange(nA)).reshape(-1)
    first, k = _spread(P.p.row_ptr, pair)
    s_next = P.p.s_next[k]
    # a terminal successor has one outcome, the end, whatever it emits
    o_ptr, ended = P.omega.row_ptr, P.terminal.mask
    second, e = _spread(o_ptr, np.where(ended[s_next], 0, s_next))
    once = ~ended[s_next][second] | (e == o_ptr[0])
    second, e = second[once], e[once]
    k, first = k[second], first[second]
    over = ended[P.p.s_next[k]]
    o_next = np.where(over, -1, D.entry_o[e])
    column = first % nA if share.shape[1] > 1 else 0  # P(s|o,a), or P(s|o)
    prob = share[entry[first // nA], column] * D.prob[k]
    prob = prob * np.where(over, D.field.one(1), D.omega[e])
    row = D.entry_o[entry[first // nA]].astype(np.int64) * nA + first % nA
    r = _reward_numbers(P)[k]
    keys = (row * (len(P.O) + 1) + o_next + 1) * (int(r.max(initial=0)) + 1) + r
    places, at, inverse = np.unique(keys, return_index=True, return_inverse=True)
    merged = add_groups(inverse, prob, D.field.zeros(len(places)))
    kept = np.asarray(merged != 0, dtype=bool)
    at = at[kept]
    return row[at], o_next[at], k[at], merged[kept]


def _spread(row_ptr: NDArray[np.int64], rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """For compressed rows that are asked for one after the other: which request, which entry."""
    found, places = pick_rows(row_ptr, rows)
    return own_rows(found), places


def _reward_numbers(P: POMDP) -> NDArray[np.int64]:
    """A number for each outcome's reward, equal for equal rewards."""
    r = P.p.r
    source = r.floats if r.codes is None else r.codes
    return np.asarray(np.unique(source, return_inverse=True)[1], dtype=np.int64).reshape(-1)


def _assembled(
    D: Dynamics,
    field: Field,
    reached: NDArray[np.bool_],
    row: NDArray[np.int64],
    o_next: NDArray[np.int64],
    k: NDArray[np.int64],
    prob: NDArray[Any],
) -> POMDP:
    P, nA = D.P, len(D.P.A)
    seen = np.flatnonzero(reached)
    place = np.full(len(P.O) + 1, -1)
    place[seen] = np.arange(len(seen))
    start = _first_observations(D)
    ends = bool((o_next < 0).any()) or start[-1] != 0
    place[-1] = len(seen)
    labels = [P.O[int(o)] for o in seen]
    S = Space([*labels, *([_end_label(labels)] if ends else [])])
    rows = place[row // nA] * nA + row % nA
    counts = np.bincount(rows, minlength=len(S) * nA)
    row_ptr = point_rows(counts)
    emitted = np.append(seen, _end_observation(P)) if ends else seen
    mu = start[np.append(seen, len(P.O))] if ends else start[seen]
    mask = np.zeros(len(S), dtype=bool)
    mask[len(seen) :] = True
    return POMDP(
        name=f"{P.name} by observation",
        S=S,
        O=P.O,
        A=P.A,
        p=Transitions(
            S,
            P.A,
            frozen(row_ptr),
            frozen(place[o_next].astype(np.int32)),
            P.p.r.take(k),
            _numbers(field, prob),
        ),
        omega=Emissions(
            S,
            P.O,
            frozen(np.arange(len(S) + 1)),
            frozen(emitted.astype(np.int32)),
            Numbers.full(len(S), 1),
        ),
        gamma=P.gamma,
        mu=Distribution(S, _numbers(field, mu)),
        terminal=StateSet(S, mask),
    )


def _numbers(field: Field, x: NDArray[Any]) -> Numbers:
    return Numbers.of(field.leave(x))


def _first_observations(D: Dynamics) -> NDArray[Any]:
    """P(o is the first observation), and at the end the probability that nothing begins."""
    P = D.P
    alive = ~P.terminal.mask[D.entry_s]
    keys = np.where(alive, D.entry_o, len(P.O))
    return add_groups(keys, D.mu[D.entry_s] * D.omega, D.field.zeros(len(P.O) + 1))


def _end_label(taken: list[Label]) -> Label:
    label = END
    while label in taken:
        label += "'"
    return label


def _end_observation(P: POMDP) -> int:
    """What the end shows: the first observation of the first terminal state. Nobody acts on it."""
    return int(P.omega.o[P.omega.row_ptr[int(np.flatnonzero(P.terminal.mask)[0])]])
