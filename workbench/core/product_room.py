"""How large a product <P, memory> may become: what is wanted, what takes a reasonable time, what
fits into the memory that is left.

What a product takes while it is built is bounded from above state by state, so that a walk stops as
soon as what it has met would not fit. The numbers are measured peaks with a fifth to spare.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from workbench.core.errors import TooLarge
from workbench.core.memories import Memory
from workbench.core.pomdp import POMDP
from workbench.core.product_size import ProductSize, largest_fitting, state_outcomes
from workbench.core.room import free_bytes
from workbench.core.rows import own_rows


class _Bytes(NamedTuple):
    """What the parts of a product take while it is built: a state (labels, rows of omega and mu,
    its place in the walk); an outcome, its share of a row included, where probabilities are
    multiplied and rows added up; and a row without outcomes, of a terminal state."""

    state: int
    outcome: int
    idle_row: int


_COMPILED = _Bytes(128, 80, 32)
_ASKED = _Bytes(512, 320, 64)
"""Where Gamma is a Python function, its answers are kept as well."""

_MOST_COMPILED = 1 << 31
_MOST_ASKED = 10_000_000
"""Outcomes of a product whose Gamma is a Python function: more would take minutes."""

_SHARE = 0.75
"""The share of the free memory that a product may take: who builds it wants to use it."""


class ProductRoom:
    """How many outcomes <P, memory> may have, and how many bytes it may take.

    Attributes
    ----------
    most : outcomes, `wanted` if that is given.
    bytes : while the product is built.
    width, cost : `[s]`: the outcomes, and the bytes, of a state (s, m, o) of the product.
    met : how large the product is at least, as far as it was walked.
    """

    def __init__(self, P: POMDP, memory: Memory, wanted: int | None = None):
        self.P, self.memory = P, memory
        asked = memory.rule is None
        self.each = _ASKED if asked else _COMPILED
        self.free = free_bytes()
        self.bytes = int(self.free * _SHARE)
        limit = _MOST_ASKED if asked else _MOST_COMPILED
        self.most = limit if wanted is None else wanted
        once = state_outcomes(P)
        self.width = once * len(memory.W)
        idle = np.where(once == 0, len(P.A) * len(memory.W), 0)
        self.cost = self.each.state + self.width * self.each.outcome + idle * self.each.idle_row
        self.met = ProductSize(0, 0)

    def holds(self, size: ProductSize) -> bool:
        """Whether a product of at least this size may fit."""
        taken = size.states * self.each.state + size.outcomes * self.each.outcome
        return size.outcomes <= self.most and taken <= self.bytes

    def holds_all(self, nM: int, nW: int) -> bool:
        """Whether the product with a memory of so many states and writes surely fits, whatever of
        it is reached."""
        once = state_outcomes(self.P)[own_rows(self.P.omega.row_ptr)]
        states, outcomes = len(once) * nM, int(once.sum()) * nM * nW
        idle = int((once == 0).sum()) * nM * len(self.P.A) * nW * self.each.idle_row
        taken = states * self.each.state + outcomes * self.each.outcome + idle
        return outcomes <= self.most and taken <= self.bytes

    def refuse(self, size: ProductSize, base: int = 0) -> TooLarge:
        """A refusal of a product of at least this size that says what would fit; `base` is by what
        the memory shrinks if it keeps one entry less, 0 if that is not known."""
        return TooLarge(
            f"{self._name} has more than {size.states:,} states and {size.outcomes:,} outcomes; "
            f"{self._limit(size)}: {self._advice(base)}"
        )

    def exhausted(self) -> TooLarge:
        """The refusal of a product for which the memory did not suffice after all."""
        size = f", of {self.met.states:,} states and {self.met.outcomes:,} outcomes,"
        return TooLarge(
            f"memory ran out while {self._name}{size if self.met.states else ''} was built, of "
            f"{_giga(self.free)} that were free: {self._advice(0)}"
        )

    @property
    def _name(self) -> str:
        return f"{self.P.name}×{self.memory.name}"

    def _limit(self, size: ProductSize) -> str:
        if size.outcomes > self.most:
            return f"{self.most:,} outcomes are its limit"
        return (
            f"some {self.bytes // self.each.outcome:,} outcomes fit into {_giga(self.bytes)}, "
            f"{_SHARE:.0%} of the free memory"
        )

    def _advice(self, base: int) -> str:
        memory, advice = self.memory, "take a smaller memory"
        if base > 1:
            fits = len(memory.M) // base
            if fits > 0 and self.holds_all(fits, len(memory.W)):
                advice += f": one of {fits:,} memory states, an entry less, fits"
        elif len(memory.parts) > 1:
            named = largest_fitting(self.P, memory, self.holds_all)
            advice += "" if named is None else f": {named} fits"
        return advice


def _giga(size: int) -> str:
    return f"{size / 2**30:.1f} GB"
