"""Policies of a smaller memory are policies of a larger one.

Let f map the memory states of a larger memory onto those of a smaller one, and i the smaller one's
writes into the larger one's, such that

    f(eta) = eta_small      and      f(Gamma(m, i(w), o, a)) = Gamma_small(f(m), w, o, a).

Then a memoryless policy pi of <P, smaller> lifts: pi'((m, o)) does what pi does at (f(m), o), with
the write i(w); both see the same and are worth the same. Among the paper's families:

    none in everything     K(j) in K(k), O(k), OA(k)     O(j) in O(k), OA(k)     OA(j) in OA(k)
    B(j) in B(k),     j <= k

f keeps the last j cells of a buffer, and of a cell the observation alone where the smaller memory
stores no actions; of a binary memory it keeps the last j bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.core.pomdp import POMDP
from workbench.core.space import Subset
from workbench.memories import OA, B, Family, K, Memory, O, none


def family_of(memory: Memory) -> Family | None:
    """The paper's family of an attached memory, or None for other memories."""
    return memory.family if isinstance(memory.family, Family) else None


def smaller_families(family: Family) -> list[Family]:
    """The smaller memories whose policies embed, smallest first. Those with fewer choices come
    before those with more."""
    if family.kind == "B":
        return [none, *(B(j) for j in range(1, family.k))]
    if family.kind == "K":
        return [none, *(K(j) for j in range(1, family.k))]
    if family.kind in ("O", "OA"):
        kinds = (K, O, OA) if family.kind == "OA" else (K, O)
        cells = [make(j) for j in range(1, family.k + 1) for make in kinds]
        return [none, *cells[:-1]]
    return []


def lift(E: POMDP, small: POMDP, choice: NDArray[np.int64]) -> NDArray[np.int64]:
    """Lift a deterministic policy `choice[o]` from the product with a smaller memory to the product
    E."""
    assert E.origin is not None
    assert small.origin is not None
    assert isinstance(E.O, Subset)
    assert isinstance(small.O, Subset)
    larger, smaller = family_of(E.origin.memory), family_of(small.origin.memory)
    assert larger is not None
    assert smaller is not None
    nO, nA = len(E.origin.P.O), len(E.origin.P.A)
    m, o = np.divmod(E.O.places, nO)
    places = _project(larger, smaller, m, nO, nA) * nO + o
    order = np.argsort(small.O.places)
    ordered = small.O.places[order]
    at = np.minimum(np.searchsorted(ordered, places), len(ordered) - 1)
    # a pair that the smaller product never meets is not met by the lifted policy either
    known = ordered[at] == places
    action = np.where(known, choice[order[at]], 0)
    a, w = np.divmod(action, len(small.origin.memory.W))
    return np.asarray(a * len(E.origin.memory.W) + _written(larger, smaller, w), dtype=np.int64)


def _project(
    larger: Family, smaller: Family, m: NDArray[np.int64], nO: int, nA: int
) -> NDArray[np.int64]:
    """f, on the places of memory states."""
    if smaller.kind == "none":
        return np.zeros_like(m)
    if larger.kind == "B":
        return m % (1 << smaller.k)
    base = 1 + (nO * nA if larger.kind == "OA" else nO)
    base_small = 1 + (nO * nA if smaller.kind == "OA" else nO)
    found = np.zeros_like(m)
    for cell in range(smaller.k):  # the last cell is the last digit
        entry = m // base**cell % base
        if base != base_small:
            entry = np.where(entry == 0, 0, 1 + (entry - 1) // nA)
        found += entry * base_small**cell
    return found


def _written(larger: Family, smaller: Family, w: NDArray[np.int64]) -> NDArray[np.int64]:
    """i, on the places of writes: what pushes always is a push, what writes j bits writes zeros
    before them."""
    pushes_always = smaller.kind == "K" and larger.kind != "K"
    return np.ones_like(w) if pushes_always else w
