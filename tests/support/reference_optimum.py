"""Slow, obvious twins of the yardsticks: every policy is tried, every history is followed, in
Fractions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import scipy.sparse as sp
from reference import solve
from scipy.optimize import Bounds, LinearConstraint, milp

from workbench import POMDP

Choice = dict
"""A deterministic memoryless policy {o: a}."""


def worth(P: POMDP, choice: Choice) -> Fraction | None:
    """The return of a deterministic policy; None if gamma is 1 and it may go on for ever."""
    reached = [s for s in P.mu if s not in P.terminal]
    steps: dict = {}
    for s in reached:  # grows while we walk
        row: dict = {}
        reward = Fraction(0)
        for o, y in P.omega(s).items():
            for (t, r), x in P.p(s, choice[o]).items():
                if x * y:
                    row[t] = row.get(t, 0) + x * y
                    reward += x * y * r
        steps[s] = reward, row
        reached += [t for t in row if t not in P.terminal and t not in reached]
    if P.gamma == 1 and not _ends(P, steps):
        return None
    rows = [
        [Fraction(int(s == t)) - P.gamma * steps[s][1].get(t, 0) for t in reached] for s in reached
    ]
    v = dict(zip(reached, solve(rows, [steps[s][0] for s in reached]), strict=True))
    return sum((x * v[s] for s, x in P.mu.items() if s in v), Fraction(0))


def _ends(P: POMDP, steps: dict) -> bool:
    """Whether an end can be reached from every state of the chain."""
    good: set = set()
    while True:
        more = {
            s
            for s, (_, row) in steps.items()
            if s not in good and any(t in P.terminal or t in good for t in row)
        }
        if not more:
            return good == set(steps)
        good |= more


def all_choices(P: POMDP) -> list[Choice]:
    return [dict(zip(P.O, actions, strict=True)) for actions in product(*map(P.actions, P.O))]


def best_deterministic(P: POMDP) -> Fraction | None:
    """The best value of a deterministic memoryless policy; None if none has one."""
    values = [x for choice in all_choices(P) if (x := worth(P, choice)) is not None]
    return max(values, default=None)


def best_of_horizon(P: POMDP, horizon: int) -> Fraction:
    """The best return of the first `horizon` steps over all history-based policies, history by
    history."""

    def after(weights: dict, left: int) -> Fraction:
        """`weights[s]`: the probability of the history so far together with s."""
        alive = {s: x for s, x in weights.items() if s not in P.terminal}
        if not alive or left == 0:
            return Fraction(0)
        return max(_act(alive, a, left) for a in P.A if all(P.p(s, a) for s in alive))

    def _act(weights: dict, a: object, left: int) -> Fraction:
        total = Fraction(0)
        seen: dict = {}
        for s, x in weights.items():
            for (t, r), y in P.p(s, a).items():
                total += x * y * r
                for o, z in P.omega(t).items():
                    by_state = seen.setdefault(o, {})
                    by_state[t] = by_state.get(t, 0) + x * y * z
        return total + P.gamma * sum(
            (after(found, left - 1) for found in seen.values()), Fraction(0)
        )

    start: dict = {}
    for s, x in P.mu.items():
        for o, z in P.omega(s).items():
            start.setdefault(o, {})[s] = x * z
    return sum((after(found, horizon) for found in start.values()), Fraction(0))


def rewards_bound(P: POMDP) -> Fraction:
    return max(abs(Fraction(r)) for r in P.R)


def best_informed(P: POMDP) -> Fraction | None:
    """Every deterministic policy on pairs (s, o) that show themselves."""
    shown = POMDP.from_functions(
        name="shown",
        A=P.A,
        p=lambda s, a: _pairs(P, s[0], a),
        omega=lambda s: {s: 1},
        mu={(s, o): x * y for s, x in P.mu.items() for o, y in P.omega(s).items()},
        gamma=P.gamma,
        terminal=lambda s: s[0] in P.terminal,
    )
    return best_deterministic(shown)


def _pairs(P: POMDP, s: object, a: object) -> dict:
    found: dict = {}
    for (t, r), x in P.p(s, a).items():
        for o, y in P.omega(t).items():
            found[(t, o), r] = found.get(((t, o), r), 0) + x * y
    return found


def best_by_integer_program(P: POMDP) -> float:
    """The best deterministic policy of a discounted task, states that show one observation, by
    mixed-integer programming.

    Maximise sum d(s,a) R(s,a) over occupancies d >= 0 with sum_a d(s,a) = mu(s) + gamma sum
    p(s|s',a) d(s',a) and d(s,a) <= x(o(s),a) / (1 - gamma), where x(o,.) chooses one action.
    """
    gamma = float(P.gamma)
    S = {s: i for i, s in enumerate(s for s in P.S if s not in P.terminal)}
    shown = {s: next(iter(P.omega(s))) for s in S}
    O = {o: i for i, o in enumerate(dict.fromkeys(shown.values()))}
    nA, choices = len(P.A), len(S) * len(P.A)
    size = choices + len(O) * nA
    reward = np.zeros(size)
    flow, fixed = sp.lil_array((len(S), size)), sp.lil_array((choices, size))
    for s, i in S.items():
        for j, a in enumerate(P.A):
            d = i * nA + j
            flow[i, d] += 1
            fixed[d, d], fixed[d, choices + O[shown[s]] * nA + j] = 1, -1 / (1 - gamma)
            for (t, r), x in P.p(s, a).items():
                reward[d] += float(x * r)
                if t in S:
                    flow[S[t], d] -= gamma * float(x)
    one = sp.lil_array((len(O), size))
    for i in range(len(O)):
        one[i, choices + i * nA : choices + (i + 1) * nA] = 1
    start = np.array([float(P.mu.get(s, 0)) for s in S])
    found = milp(
        -reward,
        constraints=[
            LinearConstraint(flow.tocsr(), start, start),
            LinearConstraint(fixed.tocsr(), -np.inf, 0),
            LinearConstraint(one.tocsr(), 1, 1),
        ],
        bounds=Bounds(0, np.concatenate([np.full(choices, np.inf), np.ones(len(O) * nA)])),
        integrality=np.concatenate([np.zeros(choices), np.ones(len(O) * nA)]),
    )
    return float(-found.fun)
