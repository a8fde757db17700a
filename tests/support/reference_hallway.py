"""The hallway worlds a second time, from boxes of coordinates, and plain dynamic programming over
their states and beliefs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import scipy.sparse as sp

BOXES = {
    "north": ((0, 0), (4, 4)),
    "hallway": ((5, 0), (11, 6)),
    "south": ((12, 0), (16, 4)),
    "east": ((5, 7), (11, 14)),
}
SITES = ((1, 1), (1, 3), (15, 1), (15, 3))
STEPS = {"up": (-1, 0), "down": (1, 0), "left": (0, -1), "right": (0, 1)}


def room(cell):
    return next(
        name
        for name, (a, b) in BOXES.items()
        if a[0] <= cell[0] <= b[0] and a[1] <= cell[1] <= b[1]
    )


def block(rows, columns):
    return {(i, j) for i in range(rows[0], rows[1] + 1) for j in range(columns[0], columns[1] + 1)}


COMMON = (
    block((1, 3), (1, 3))
    | block((13, 15), (1, 3))
    | {(4, 2), (12, 2)}
    | block((5, 11), (2, 2))
    | block((8, 8), (3, 6))
)
COOKIE_CELLS = COMMON | {(8, 7)} | block((6, 10), (8, 13))
KEYS_CELLS = (
    COMMON
    | {(8, 7), (8, 9), (8, 11)}
    | block((6, 10), (8, 8))
    | block((6, 10), (10, 10))
    | block((6, 10), (12, 13))
)


def outcomes(cell, a, cells, slip=Fraction(1, 20)):
    """{cell the agent heads for: probability}, walls already refused."""
    found = {}
    for move, (di, dj) in STEPS.items():
        there = (cell[0] + di, cell[1] + dj)
        there = there if there in cells else cell
        found[there] = found.get(there, 0) + (1 - slip if move == a else slip / 3)
    return {c: x for c, x in found.items() if x}


def cookie_step(s, a, slip=Fraction(1, 20)):
    """p of the cookie world."""
    cell, cookie = s
    found = {}
    for there, x in outcomes(cell, a, COOKIE_CELLS, slip).items():
        after = None if cookie == cell else cookie
        if there == (8, 13) and cell != (8, 13):
            for site in SITES:
                found[(there, site), 0] = found.get(((there, site), 0), 0) + x / 4
        else:
            r = 1 if after is not None and after == there else 0
            found[(there, after), r] = found.get(((there, after), r), 0) + x
    return found


def layouts():
    """{sites with keys: probability}."""
    found = {SITES[:2]: Fraction(1, 3), SITES[2:]: Fraction(1, 3)}
    for a in SITES[:2]:
        for b in SITES[2:]:
            found[a, b] = Fraction(1, 12)
    return found


def keys_step(s, a, ends=False, slip=Fraction(1, 20)):
    """p of the keys world."""
    cell, carried, keys, closed = s
    found = {}

    def add(s_next, r, x):
        found[s_next, r] = found.get((s_next, r), 0) + x

    for there, x in outcomes(cell, a, KEYS_CELLS, slip).items():
        if there in closed and carried != "key":
            add(s, 0, x)
        elif there in closed:
            add((there, "-", keys, tuple(d for d in closed if d != there)), 0, x)
        elif there == (6, 13):
            if ends:
                add((there, carried, keys, closed), 1, x)
            else:
                for fresh, y in layouts().items():
                    add(((8, 2), "-", fresh, ((8, 9), (8, 11))), 1, x * y)
        elif there in keys and carried == "-":
            add((there, "key", tuple(k for k in keys if k != there), closed), 0, x)
        else:
            add((there, carried, keys, closed), 0, x)
    return found


# ---------------------------------------------------------------------- dynamic programming


def tables(states, actions, step):
    """p[a] as sparse matrices [s, s'] and r[a, s] of a model given by a function; states without
    steps stay where they are."""
    place = {s: i for i, s in enumerate(states)}
    r = np.zeros((len(actions), len(states)))
    p = []
    for j, a in enumerate(actions):
        rows, columns, weights = [], [], []
        for s in states:
            for (s_next, reward), x in (step(s, a) or {(s, 0): 1}).items():
                rows.append(place[s])
                columns.append(place[s_next])
                weights.append(float(x))
                r[j, place[s]] += float(x * reward)
        p.append(sp.csr_array((weights, (rows, columns)), shape=(len(states), len(states))))
    return p, r


def best_values(p, r, gamma):
    """The optimal values of an MDP by value iteration, to within 1e-9."""
    v = np.zeros(r.shape[1])
    while True:
        moved = (r + gamma * np.array([m @ v for m in p])).max(axis=0)
        if np.abs(moved - v).max() < 1e-9 * (1 - gamma):
            return moved
        v = moved


def best_average(p, r):
    """The optimal reward per step of a unichain MDP by relative value iteration, made aperiodic by
    half a step of rest."""
    h = np.zeros(r.shape[1])
    while True:
        moved = (r + np.array([m @ h for m in p]) + h).max(axis=0) / 2
        change = moved - h
        if change.max() - change.min() < 1e-11:
            return 2 * float(change.mean())
        h = moved - moved[0]


def belief_mdp(P, step):
    """The reachable beliefs of a POMDP with deterministic observations, and how actions lead from
    one to the next.

    A belief is a frozenset of pairs (s, probability); `step(s, a)` is p. Rewards stay attached to
    the beliefs they lead to.
    """
    see = {s: next(iter(P.omega(s))) for s in P.S}

    def split(weights):
        by_o = {}
        for (s, r), x in weights.items():
            cell = by_o.setdefault((see[s], r), {})
            cell[s] = cell.get(s, 0) + x
        return {
            (frozenset((s, x / sum(b.values())) for s, x in b.items()), r): sum(b.values())
            for (_, r), b in by_o.items()
        }

    starts = [b for b, _ in split({(s, 0): x for s, x in P.mu.items()})]
    found, rows = dict.fromkeys(starts), {}
    waiting = list(starts)
    while waiting:
        b = waiting.pop()
        for a in P.A:
            total = {}
            for s, x in b:
                if s not in P.terminal:
                    for outcome, y in step(s, a).items():
                        total[outcome] = total.get(outcome, 0) + x * y
            rows[b, a] = split(total)
            for b_next, _ in rows[b, a]:
                if b_next not in found:
                    found[b_next] = None
                    waiting.append(b_next)
    return list(found), rows
