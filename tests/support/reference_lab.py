"""The slow twins of the lab's spaces: classes by plain comparison, one pair of tasks after the
other."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product
from math import gcd

import numpy as np

from workbench.lab.spaces import KINDS

Table = tuple


def relabelled(table: dict, sigma: tuple) -> dict:
    """A table {(a_1, ..., a_L): r} with action a called sigma[a]."""
    return {tuple(sigma[a] for a in done): r for done, r in table.items()}


def same_sequence_task(one: dict, other: dict, actions: int, kinds: set[str]) -> bool:
    """Whether two tables are alike up to the kinds of symmetry: some c > 0 and t with other = c one
    + t, relabelled."""
    group = permutations(range(actions)) if "actions" in kinds else [tuple(range(actions))]
    return any(_affine(relabelled(one, sigma), other, kinds) for sigma in group)


def _affine(one: dict, other: dict, kinds: set[str]) -> bool:
    x, y = [one[k] for k in one], [other[k] for k in one]
    shift = Fraction(0)
    if "shift" in kinds:
        x, y = [v - min(x) for v in x], [v - min(y) for v in y]
    if "scale" not in kinds:
        return x == y
    sizes = [(abs(v), abs(w)) for v, w in zip(x, y, strict=True) if v or w]
    if not sizes:
        return True
    c = Fraction(sizes[0][1]) / sizes[0][0] if sizes[0][0] else None
    return bool(c) and all(c * v + shift == w for v, w in zip(x, y, strict=True))


def count_classes(items: list, same) -> int:
    """How many classes, by comparing with one of each class met so far."""
    found: list = []
    for item in items:
        if not any(same(one, item) for one in found):
            found.append(item)
    return len(found)


def images(space, code: tuple, kinds) -> list[tuple]:
    """All images of a code under relabellings, each with its rewards in normal form."""
    kinds = space.usable(kinds)
    codes = space.normal(space.cleared(np.array([code])), kinds)
    return [tuple(space.cleared(one.of(codes))[0].tolist()) for one in space.relabellings(kinds)]


def canonical(space, code: tuple, kinds=KINDS) -> tuple:
    """The first of a code's images."""
    return min(images(space, code, kinds))


def code_of(space, table) -> tuple:
    """The code of a reward table."""
    return tuple(space.values.index(Fraction(x)) for x in np.ravel(table))


# ---------------------------------------------------------------------- POMDPs


def plain(P) -> tuple:
    """A POMDP as nested dicts, reachable part only (from_functions discovers no other)."""
    p = {(s, a): dict(P.p(s, a)) for s in P.S if s not in P.terminal for a in P.A}
    omega = {s: dict(P.omega(s)) for s in P.S if s not in P.terminal}
    return p, omega, dict(P.mu.items())


def same_pomdp(P, Q, kinds: set[str]) -> bool:
    """Whether some relabelling of the kinds, and a positive factor, turns P into Q."""
    one, other = plain(P), plain(Q)
    S, T = ([s for s in X.S if s not in X.terminal] for X in (P, Q))
    U, V = (sorted({o for row in x[1].values() for o in row}) for x in (one, other))
    if (len(S), len(U), len(P.A), len(P.terminal)) != (len(T), len(V), len(Q.A), len(Q.terminal)):
        return False
    choices = (
        _bijections(S, T, "states" in kinds),
        _bijections(U, V, "observations" in kinds),
        _bijections(list(P.A), list(Q.A), "actions" in kinds),
    )
    return any(
        _equal(one, other, f | {"end": "end"}, g, h, "scale" in kinds)
        for f, g, h in product(*choices)
    )


def _bijections(X: list, Y: list, free: bool) -> list[dict]:
    if free:
        return [dict(zip(X, image, strict=True)) for image in permutations(Y)]
    return [dict(zip(X, X, strict=True))] if set(X) == set(Y) else []


def _equal(one: tuple, other: tuple, f: dict, g: dict, h: dict, scale: bool) -> bool:
    factor = _size(other[0]) / _size(one[0]) if scale and _size(one[0]) and _size(other[0]) else 1
    p = {
        (f[s], h[a]): {(f[t], r * factor): x for (t, r), x in row.items()}
        for (s, a), row in one[0].items()
    }
    omega = {f[s]: {g[o]: x for o, x in row.items()} for s, row in one[1].items()}
    return (p, omega, {f[s]: x for s, x in one[2].items()}) == other


def _size(p: dict) -> Fraction:
    return Fraction(sum(abs(r) for row in p.values() for _, r in row))


def divisor(values: list[int]) -> int:
    """The greatest common divisor of some whole numbers."""
    found = 0
    for x in values:
        found = gcd(found, x)
    return found
