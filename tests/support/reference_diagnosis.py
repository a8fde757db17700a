"""What theory says of agent states, the slow obvious way: by listing histories, tests, windows."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import sympy
from scipy.optimize import linprog


def histories(P, depth: int):
    """Every history o_0 a_0 ... o_t (t <= depth) with its weights over the states that go on."""
    found = []
    now = {}
    for s, x in P.mu.items():
        if s not in P.terminal:
            for o, y in P.omega(s).items():
                if x * y:
                    now.setdefault((o,), {})[s] = x * y
    for t in range(depth + 1):
        found += now.items()
        if t == depth:
            break
        after = {}
        for past, weights in now.items():
            for a in P.A:
                for o, moved in advanced(P, weights, a).items():
                    after[(*past, a, o)] = moved
        now = after
    return found


def advanced(P, weights, a):
    """For each next observation the weights after an action, while the episode goes on."""
    found = {}
    for s, w in weights.items():
        for (t, _), x in P.p(s, a).items():
            if t not in P.terminal:
                for o, y in P.omega(t).items():
                    if w * x * y:
                        row = found.setdefault(o, {})
                        row[t] = row.get(t, 0) + w * x * y
    return found


def rank_by_listing(P, depth: int) -> int:
    """The rank of P(test | history) over histories and tests up to a depth."""
    tests = [
        tuple(test)
        for k in range(depth + 1)
        for test in product(product(P.A, P.O), repeat=k)
    ]  # fmt: skip
    rows = []
    for _, weights in histories(P, depth):
        total = sum(weights.values())
        row = []
        for test in tests:
            left = weights
            for a, o in test:
                left = advanced(P, left, a).get(o, {})
            row.append(
                sympy.Rational(
                    *Fraction(sum(left.values(), Fraction(0)) / total).as_integer_ratio()
                )
            )
        rows.append(row)
    return sympy.Matrix(rows).rank()


def windows(P, L: int, depth: int) -> dict:
    """For each window of L observations (fewer at the start) that can be seen up to a depth, the
    states that it may end in."""
    found = {}
    for past, weights in histories(P, depth):
        start = max(0, len(past) - (2 * L - 1))
        # a window that is shorter shows that the episode has just begun
        key = (len(past) >= 2 * L - 1, past[start:])
        found.setdefault(key, set()).update(weights)
    return found


def observability_by_floats(rows, n: int) -> float:
    """The least |omega^T (b - b')|_1 / 2 over divided supports, by scipy."""
    columns = sorted({o for row in rows for o in row}, key=str)
    O = np.array([[float(row.get(o, 0)) for o in columns] for row in rows])
    best = np.inf
    for sides in product((1, -1), repeat=n):
        if len(set(sides)) == 1:
            continue
        k = len(columns)
        signed = (O.T * np.array(sides)).astype(float)
        above = np.block([[signed, -np.eye(k)], [-signed, -np.eye(k)]])
        equal = np.zeros((2, n + k))
        equal[0, :n] = [s == 1 for s in sides]
        equal[1, :n] = [s == -1 for s in sides]
        cost = np.concatenate([np.zeros(n), np.full(k, 0.5)])
        best = min(best, linprog(cost, above, np.zeros(2 * k), equal, [1, 1]).fun)
    return best


def facts_by_listing(E, depth: int):
    """For each z and action, the reward and the law of the next z after each history."""
    found = {}
    for past, weights in histories(E, depth):
        total = sum(weights.values())
        for a in E.A:
            law = {o: sum(w.values()) / total for o, w in advanced(E, weights, a).items()}
            if rest := 1 - sum(law.values(), Fraction(0)):
                law[None] = rest
            r = sum(w * x * paid for s, w in weights.items() for (_, paid), x in E.p(s, a).items())
            found.setdefault((past[-1], a), set()).add((r / total, frozenset(law.items())))
    return found
