"""Slow, obvious twins for `workbench.equilibrium`: labels and dictionaries, fractions or floats.

Nothing is shared with the fast versions but the labelled model: visits are added up step by step,
an observation MDP is a dictionary, q-values come from repeated expected updates, and every greedy
policy is tried, one after the other.
"""

from __future__ import annotations

import math
from itertools import product

STEPS = 600


def visits(P, behaviour) -> dict:
    """Expected visits of (s, o), s not terminal, added up over the first steps of an episode."""
    alive = [s for s in P.S if s not in P.terminal]
    step: dict = {s: {} for s in alive}
    for s in alive:
        for o, y in P.omega(s).items():
            for a in P.A:
                chance = float(y) * behaviour(o, a)
                for (s_next, _), z in P.p(s, a).items():
                    if s_next not in P.terminal and chance * z > 0:
                        step[s][s_next] = step[s].get(s_next, 0.0) + chance * float(z)
    total: dict = {}
    now = {s: float(x) for s, x in P.mu.items() if s not in P.terminal}
    for _ in range(STEPS):
        later: dict = {}
        for s, x in now.items():
            for o, y in P.omega(s).items():
                total[s, o] = total.get((s, o), 0.0) + x * float(y)
            for s_next, z in step[s].items():
                later[s_next] = later.get(s_next, 0.0) + x * z
        now = later
        if sum(now.values()) < 1e-14:
            break
    return {pair: x for pair, x in total.items() if x > 0}


def transitions(P, behaviour) -> dict:
    """{(o, a): {(o_next or None, r): probability}} under a behaviour, in floats."""
    d = visits(P, behaviour)
    weight: dict = {}
    for (_, o), x in d.items():
        weight[o] = weight.get(o, 0.0) + x
    found: dict = {(o, a): {} for o in weight for a in P.A}
    for (s, o), x in d.items():
        for a in P.A:
            row = found[o, a]
            for (s_next, r), z in P.p(s, a).items():
                part = x / weight[o] * float(z)
                if s_next in P.terminal:
                    row[None, float(r)] = row.get((None, float(r)), 0.0) + part
                else:
                    for o_next, y in P.omega(s_next).items():
                        key = (o_next, float(r))
                        row[key] = row.get(key, 0.0) + part * float(y)
    return found


def values(rows: dict, A, gamma: float, v_of) -> dict:
    """q(o, a) of an MDP over observations, by repeated updates with v(o) = v_of(o, {a: q(o,
    a)})."""
    observations = {o for o, _ in rows}
    q = dict.fromkeys(rows, 0.0)
    for _ in range(STEPS):
        before = q
        v = {o: v_of(o, {a: q[o, a] for a in A}) for o in observations}
        q = {
            pair: sum(x * (r + (0.0 if o is None else gamma * v[o])) for (o, r), x in row.items())
            for pair, row in rows.items()
        }
        if max(abs(q[pair] - before[pair]) for pair in q) < 1e-14:
            break
    return q


def epsilon_greedy(P, g: dict, epsilon: float):
    return lambda o, a: (1 - epsilon) * (g[o] == a) + epsilon / len(P.A)


def equilibria_by_force(P, epsilon: float, sarsa: bool = False, tolerance: float = 1e-7) -> list:
    """Every greedy policy {o: a} that is greedy on the table it leads to, with its q."""
    rows = {o for s in P.S if s not in P.terminal for o in P.omega(s)}
    found = []
    for choice in product(P.A, repeat=len(rows)):
        g = dict(zip(rows, choice, strict=True))
        b = epsilon_greedy(P, g, epsilon)
        seen = transitions(P, b)
        if sarsa:
            q = values(
                seen, P.A, float(P.gamma), lambda o, row, b=b: sum(b(o, a) * row[a] for a in P.A)
            )
        else:
            q = values(seen, P.A, float(P.gamma), lambda _, row: max(row.values()))
        if all(q[o, g[o]] >= q[o, a] - tolerance for o, a in q):
            found.append((g, q))
    return found


def drift(P, q: dict, epsilon: float, sarsa: bool = False) -> dict:
    """The expected change of each q(o, a) by one step of a learner, divided by its step size."""
    rows = {o for o, _ in q}
    g = {o: max(P.A, key=lambda a, o=o: (q[o, a], -P.A.index(a))) for o in rows}
    b = epsilon_greedy(P, g, epsilon)
    d = visits(P, b)
    everything = sum(d.values())
    share: dict = dict.fromkeys(rows, 0.0)
    for (_, o), x in d.items():
        share[o] += x / everything
    found = {}
    for (o, a), row in transitions(P, b).items():
        target = 0.0
        for (o_next, r), x in row.items():
            later = 0.0
            if o_next is not None:
                values_there = {c: q[o_next, c] for c in P.A}
                later = (
                    sum(b(o_next, c) * y for c, y in values_there.items())
                    if sarsa
                    else max(values_there.values())
                )
            target += x * (r + float(P.gamma) * later)
        found[o, a] = share[o] * b(o, a) * (target - q[o, a])
    return found


def softmax(q: dict, A, o, tau: float) -> dict:
    """{a: probability} of the softmax of q(o, .) / tau."""
    top = max(q[o, a] for a in A)
    weight = {a: math.exp((q[o, a] - top) / tau) for a in A}
    return {a: x / sum(weight.values()) for a, x in weight.items()}


def soft_distance(P, q: dict, tau: float, sarsa: bool = False) -> float:
    """How far the table that the softmax behaviour of q leads to, in one update of every entry, is
    from q."""
    rows = {o for o, _ in q}
    b = {o: softmax(q, P.A, o, tau) for o in rows}
    v = {
        o: sum(b[o][a] * q[o, a] for a in P.A) if sarsa else max(q[o, a] for a in P.A) for o in rows
    }
    seen = transitions(P, lambda o, a: b[o][a])
    return max(
        abs(
            q[pair]
            - sum(
                x * (r + (0.0 if o is None else float(P.gamma) * v[o])) for (o, r), x in row.items()
            )
        )
        for pair, row in seen.items()
    )


def cycle_by_force(P, behaviours: list, steps: int = 400) -> list:
    """PASQL's limits by its own equations, in floats: [{(o, a): q} for each hour].

    The joint distribution of (s, hour) is followed step by step, an episode that ends beginning
    anew at the hour 0, and its average over time gives the shares; then updates are repeated.
    """
    L = len(behaviours)
    now = {(s, 0): float(x) for s, x in P.mu.items()}
    total: dict = {}
    for t in range(steps):
        later: dict = {}
        for (s, hour), x in now.items():
            for o, y in P.omega(s).items():
                if t >= steps // 2:
                    key = (hour, s, o)
                    total[key] = total.get(key, 0.0) + x * float(y)
                for a in P.A:
                    chance = x * float(y) * float(behaviours[hour][o, a])
                    for (s_next, _), z in P.p(s, a).items():
                        if s_next in P.terminal:
                            for first, w in P.mu.items():
                                key = (first, 0)
                                later[key] = later.get(key, 0.0) + chance * float(z) * float(w)
                        else:
                            key = (s_next, (hour + 1) % L)
                            later[key] = later.get(key, 0.0) + chance * float(z)
        now = later
    weight: dict = {}
    for (hour, _, o), x in total.items():
        weight[hour, o] = weight.get((hour, o), 0.0) + x
    q: dict = {(hour, o, a): 0.0 for hour, o in weight for a in P.A}
    for _ in range(STEPS):
        best = {(hour, o): max(q[hour, o, a] for a in P.A) for hour, o in weight}
        new = dict.fromkeys(q, 0.0)
        for (hour, s, o), x in total.items():
            for a in P.A:
                for (s_next, r), z in P.p(s, a).items():
                    later = float(r)
                    if s_next not in P.terminal:
                        later += float(P.gamma) * sum(
                            float(y) * best.get(((hour + 1) % L, o_next), 0.0)
                            for o_next, y in P.omega(s_next).items()
                        )
                    new[hour, o, a] += x / weight[hour, o] * float(z) * later
        moved = max(abs(new[key] - q[key]) for key in q)
        q = new
        if moved < 1e-9:
            break
    return [{(o, a): x for (h, o, a), x in q.items() if h == hour} for hour in range(L)]
