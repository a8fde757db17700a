"""The slow twins of the lab's spaces: classes by plain comparison, one pair of tasks after the
other."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product
from math import gcd

import numpy as np

from workbench.lab.sequences import KINDS

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


def images(space, code: tuple, kinds=KINDS) -> list[tuple]:
    """All images of a code under relabellings, each with its rewards in normal form."""
    (normal,) = space.normal(np.array([code]), space.usable(kinds)).tolist()
    sides = list(product(range(space.actions), repeat=space.length))
    table = dict(zip(sides, normal, strict=True))
    group = permutations(range(space.actions)) if "actions" in kinds else [range(space.actions)]
    return [tuple(relabelled(table, tuple(sigma))[done] for done in sides) for sigma in group]


def canonical(space, code: tuple, kinds=KINDS) -> tuple:
    """The first of a code's images."""
    return min(images(space, code, kinds))


def code_of(space, table) -> tuple:
    """The code of a reward table."""
    return tuple(space.values.index(Fraction(x)) for x in np.ravel(table))


def divisor(values: list[int]) -> int:
    """The greatest common divisor of some whole numbers."""
    found = 0
    for x in values:
        found = gcd(found, x)
    return found
