"""Actions that do the same, and states that are worth the same: equal for a reason, not by numbers.

Rows are compared by hashes of 64 bits.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.numbers import Numbers
from workbench.core.pomdp import POMDP
from workbench.core.rows import add_rows, own_rows


def same_actions(P: POMDP, kind: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """`same[o, a]`: actions with the same entry have the same outcomes in every state behind o.

    Such actions tie under every policy: a write on the last step, a step into one of two walls.
    Outcomes that end are the same if they pay the same. With `kind[s]`, outcomes in states of the
    same kind are the same (`kinds_of_states`).
    """
    nA, nO = len(P.A), len(P.O)
    rows = _Outcomes(P).rows(np.arange(len(P.S)) if kind is None else kind)
    entry_s = own_rows(P.omega.row_ptr)
    seen = np.flatnonzero(~P.terminal.mask[entry_s])
    found = np.zeros((nO, nA), dtype=np.uint64)
    state = _scramble(entry_s[seen].astype(np.uint64))[:, None]
    np.add.at(found, P.omega.o[seen], _scramble(rows[entry_s[seen]] ^ state))
    return found.view(np.int64)


def kinds_of_states(
    P: POMDP, twin: NDArray[np.int64], begin: NDArray[np.int64] | None = None
) -> NDArray[np.int64]:
    """`kind[s]`: states of the same kind have the same value under every policy whose rows are
    equal where `twin[o]` is.

    States are of one kind if they are seen through the same twins with the same chances, and each
    action leads to the same kinds with the same chances and rewards: kinds are split until that
    holds (Paige and Tarjan 1987; by hashes of 64 bits). A memory that a policy does not look at
    makes no difference, for example, and what is written to it ties. Splitting may begin with the
    kinds for twins of which these are parts.
    """
    outcomes, entry_s = _Outcomes(P), own_rows(P.omega.row_ptr)
    seen = _scramble(_codes(P.omega.prob).astype(np.uint64) ^ _scramble(_whole(twin[P.omega.o])))
    looks = np.zeros(len(P.S), dtype=np.uint64)
    np.add.at(looks, entry_s, seen)
    columns = _scramble(np.arange(len(P.A), dtype=np.uint64))
    kind = np.zeros(len(P.S), dtype=np.int64) if begin is None else begin
    count = int(kind.max(initial=0)) + (begin is not None)
    while True:
        acts = _scramble(outcomes.rows(kind) ^ columns).sum(axis=1, dtype=np.uint64)
        found = np.where(P.terminal.mask, np.uint64(0), _scramble(acts ^ looks))
        # what was told apart stays apart: kinds are only ever split
        found = _scramble(found ^ _scramble(_whole(kind)))
        distinct, kind = np.unique(found, return_inverse=True)
        if len(distinct) == count:
            return np.asarray(kind.reshape(-1), dtype=np.int64)
        count = len(distinct)


class _Outcomes:
    """The outcomes of each (s, a), to be compared."""

    def __init__(self, P: POMDP):
        self._s_next, self._row_ptr = P.p.s_next, P.p.row_ptr
        self._shape = len(P.S), len(P.A)
        self._ends = P.terminal.mask[P.p.s_next]
        first = _scramble(_codes(P.p.prob).astype(np.uint64))
        self._rest = _scramble(first ^ _codes(P.p.r).astype(np.uint64))

    def rows(self, kind: NDArray[np.int64]) -> NDArray[np.uint64]:
        """A hash of the outcomes of each `[s, a]`, whatever their order. Successors of the same
        kind have the same hash."""
        goal = np.where(self._ends, len(kind), kind[self._s_next])
        outcome = _scramble(self._rest ^ _scramble(_whole(goal)))
        nS, nA = self._shape
        found = add_rows(self._row_ptr, outcome, np.zeros(nS * nA, dtype=np.uint64))
        return found.reshape(nS, nA)


def _whole(x: NDArray[Any]) -> NDArray[np.uint64]:
    return x.astype(np.uint64)


def _codes(numbers: Numbers) -> NDArray[Any]:
    """A whole number for each entry, the same for equal ones."""
    if numbers.codes is not None:
        return numbers.codes.astype(np.int64)
    return np.unique(numbers.floats, return_inverse=True)[1].reshape(numbers.shape)


def _scramble(x: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The mixing function of splitmix64 (Steele, Lea and Flood 2014)."""
    with np.errstate(over="ignore"):
        x = x + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(x ^ (x >> np.uint64(31)))
