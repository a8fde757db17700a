"""Slow, obvious twins of the model layer and of evaluation: dictionaries and Fractions, straight
from the definitions."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

from toy_tasks import small_task

from workbench import POMDP, Policy
from workbench.memories import attach


def solve(rows: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """Gauss and Jordan on Fractions."""
    n = len(right)
    table = [[*row, side] for row, side in zip(rows, right, strict=True)]
    for i in range(n):
        pivot = next(j for j in range(i, n) if table[j][i] != 0)
        table[i], table[pivot] = table[pivot], table[i]
        table[i] = [x / table[i][i] for x in table[i]]
        for j in range(n):
            if j != i and table[j][i] != 0:
                table[j] = [x - table[j][i] * y for x, y in zip(table[j], table[i], strict=True)]
    return [row[n] for row in table]


def value_function(P: POMDP, pi: Policy, gamma: Fraction) -> dict:
    """v(s) by solving the Bellman equation state by state."""
    S = [s for s in P.S if s not in P.terminal]
    rows, right = [], []
    for s in S:
        row, side = {t: Fraction(int(s == t)) for t in S}, Fraction(0)
        for o, y in P.omega(s).items():
            for a, x in pi.row(o).items():
                for (t, r), z in P.p(s, a).items():
                    side += y * x * z * r
                    if t in row:
                        row[t] -= gamma * y * x * z
        rows.append([row[t] for t in S])
        right.append(side)
    return {**dict.fromkeys(P.S, Fraction(0)), **dict(zip(S, solve(rows, right), strict=True))}


def expected_visits(P: POMDP, pi: Policy, gamma: Fraction) -> dict:
    """d(s) = mu(s) + gamma sum over predecessors."""
    S = [s for s in P.S if s not in P.terminal]
    table = {(t, s): Fraction(int(s == t)) for t in S for s in S}
    for s in S:
        for o, y in P.omega(s).items():
            for a, x in pi.row(o).items():
                for (t, _), z in P.p(s, a).items():
                    if t in S:
                        table[t, s] -= gamma * y * x * z
    found = solve([[table[t, s] for s in S] for t in S], [Fraction(P.mu.get(t, 0)) for t in S])
    return dict(zip(S, found, strict=True))


def q_values(P: POMDP, pi: Policy, weights: str = "visits") -> dict:
    """q(o, a) for the observations that are reached, by the definition of Section 5.2."""
    gamma = Fraction(P.gamma)
    v = value_function(P, pi, gamma)
    d = expected_visits(P, pi, gamma if weights == "discounted" else Fraction(1))
    q = {}
    for o, a in ((seen, act) for seen in P.O for act in P.actions(seen)):
        share = {s: d[s] * P.omega(s).get(o, 0) for s in d}
        total = sum(share.values())
        if total:
            q[o, a] = sum(
                share[s] / total * sum(x * (r + gamma * v[t]) for (t, r), x in P.p(s, a).items())
                for s in share
            )
    return q


def augmented(P: POMDP, memory) -> POMDP:
    """Appendix A.1 as it is written: dictionaries of tuples, reachable from mu'."""
    memory = attach(memory, P)

    def p(state, action):
        (s, m, o), (a, w) = state, action
        found: dict = {}
        for (t, r), x in P.p(s, a).items():
            for o_next, y in P.omega(t).items():
                for m_next, z in memory.Gamma(m, w, o, a, r, o_next).items():
                    if x * y * z:
                        key = ((t, m_next, o_next), r)
                        found[key] = found.get(key, 0) + x * y * z
        return found

    mu = {
        (s, m, o): x * y * z
        for s, x in P.mu.items()
        for m, y in memory.eta.items()
        for o, z in P.omega(s).items()
    }
    return small_task(
        "by hand",
        p,
        mu,
        A=[(a, w) for a in P.A for w in memory.W],
        omega=lambda state: {(state[1], state[2]): 1},
        gamma=P.gamma,
        terminal=lambda state: state[0] in P.terminal,
        allowed=lambda seen: product(P.actions(seen[1]), memory.writes(*seen)),
    )


def same_model(P: POMDP, Q: POMDP) -> bool:
    """Equal as labelled models, whatever the order of their labels."""
    if (set(P.S), set(P.O), set(P.A), P.gamma) != (set(Q.S), set(Q.O), set(Q.A), Q.gamma):
        return False
    if dict(P.mu) != dict(Q.mu) or set(P.terminal) != set(Q.terminal):
        return False
    if any(set(P.actions(o)) != set(Q.actions(o)) for o in P.O):
        return False
    pairs = [(s, a) for s in P.S for a in P.A if s not in P.terminal]
    return all(P.omega(s) == Q.omega(s) for s in P.S) and all(
        P.p(s, a) == Q.p(s, a) for s, a in pairs
    )
