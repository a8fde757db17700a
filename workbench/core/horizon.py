"""Tasks of finite horizon, laid out for the compiled loop; and which actions do the same.

With T levels of states, u = 2^-53 and K additions at most in any sum, a visit is a sum of products
of at most 4 T numbers >= 0 with as many sums: it is right to T (K + 8) u of itself. Values lose
(K + 8) u of the largest return at each level. pi(a|o) after n steps is right to 3 n u of itself:
step and 1 - step are each right to u, then come a product and a sum. It enters T times each way.
Altogether q(o, a) times the weight of o is off by at most

    size weight(o) (2 T (K + 8) + 2 K + 6 T n) u,        size = T max |r|

which `error` and `growth` spell out. The bound is meant to be safe, not sharp: what it leaves open
is decided exactly.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core import loop_kernels as kernels
from workbench.core.chain import dynamics
from workbench.core.fields import FLOATS
from workbench.core.numbers import Numbers
from workbench.core.oracle import UNIT
from workbench.core.pomdp import POMDP
from workbench.core.rows import add_rows, merge_rows, own_rows, pick_rows, point_rows
from workbench.core.walk_kernels import strong_components


def has_finite_horizon(P: POMDP) -> bool:
    """Whether no state can come back, whatever is done."""
    indptr = merge_rows(P.p.row_ptr, len(P.A))
    count, _ = strong_components(indptr, P.p.s_next)
    own = own_rows(indptr) == P.p.s_next
    return count == len(P.S) and not own.any()


@dataclass(frozen=True, eq=False)
class Unrolled:
    """A task of finite horizon for the kernels, and how far its floats can be trusted.

    Attributes
    ----------
    tables : what the kernels read, actions in the order of ties.
    error, growth : after n steps q(o, a) is off by at most error + n growth.
    """

    tables: kernels.LoopTables
    error: float
    growth: float


def unroll(P: POMDP, order: NDArray[np.int64], weights: str) -> Unrolled:
    """The tables of `loop_kernels`: states that are not terminal, level by level."""
    D, nA = dynamics(P, FLOATS), len(P.A)
    indptr = merge_rows(P.p.row_ptr, nA)
    _, component = strong_components(indptr, P.p.s_next)
    level = kernels.levels(indptr, P.p.s_next, np.argsort(-component))
    alive = np.flatnonzero(~P.terminal.mask)
    first_o = P.omega.o[P.omega.row_ptr[alive]]
    states = alive[
        np.lexsort((first_o, level[alive]))
    ]  # rows of pi that belong together are then read together
    place = np.full(len(P.S), -1, dtype=np.int32)
    place[states] = np.arange(len(states))

    rows = (states[:, None] * nA + order).ravel()
    row_ptr, k = pick_rows(P.p.row_ptr, rows)
    goes_on = np.flatnonzero((place[P.p.s_next[k]] >= 0) & (D.prob[k] != 0))
    k, owner = k[goes_on], own_rows(row_ptr)[goes_on]
    leads_on = np.zeros(len(states), dtype=bool)
    leads_on[owner // nA] = True
    inner = np.where(leads_on, np.cumsum(leads_on) - 1, -1)
    per_row = np.bincount(inner[owner // nA] * nA + owner % nA, minlength=int(leads_on.sum()) * nA)

    rewards, reward_row = _distinct_rows(np.ascontiguousarray(D.R[states][:, order]))
    entry_ptr, e = pick_rows(P.omega.row_ptr, states)
    tables = kernels.LoopTables(
        mu=D.mu[states],
        entry_ptr=entry_ptr,
        entry_o=P.omega.o[e].astype(np.int64),
        entry_prob=D.omega[e],
        reward_row=reward_row,
        R=rewards,
        inner=inner,
        row_ptr=point_rows(per_row),
        successor=place[P.p.s_next[k]],
        prob=D.prob[k],
        gamma=float(D.gamma),
        carry=float(D.gamma) if weights == "discounted" else 1.0,
    )
    T = int(level[alive].max(initial=0)) + 1
    size = T * float(np.abs(D.r).max(initial=0.0))
    most = [
        int(x.max(initial=0))
        for x in (
            np.bincount(tables.successor),  # ways into a state
            np.diff(row_ptr),  # outcomes of an action
            np.diff(entry_ptr),
            np.bincount(tables.entry_o),  # states behind an observation
        )
    ]
    sums = sum(most) + nA
    return Unrolled(tables, size * (2 * T * (sums + 8) + 2 * sums) * UNIT, 6 * T * size * UNIT)


def _distinct_rows(table: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The different rows of a table, and for each row which of them it is."""
    packed = table.view(np.dtype((np.void, table.dtype.itemsize * table.shape[1]))).ravel()
    _, first, inverse = np.unique(packed, return_index=True, return_inverse=True)
    return np.ascontiguousarray(table[first]), inverse.ravel().astype(np.int64)


# ---------------------------------------------------------------------- actions that do the same


def same_actions(P: POMDP, kind: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """`same[o, a]`: actions with the same entry have the same outcomes in every state behind o.

    Such actions tie under every policy: a write on the last step, a step into one of two walls.
    Outcomes that end are the same if they pay the same. Rows are compared by hashes of 64 bits.
    With `kind[s]`, outcomes in states of the same kind are the same (`kinds_of_states`).
    """
    nA, nO = len(P.A), len(P.O)
    rows = _Outcomes(P).rows(np.arange(len(P.S)) if kind is None else kind)
    entry_s = own_rows(P.omega.row_ptr)
    seen = np.flatnonzero(~P.terminal.mask[entry_s])
    found = np.zeros((nO, nA), dtype=np.uint64)
    state = _scramble(entry_s[seen].astype(np.uint64))[:, None]
    np.add.at(found, P.omega.o[seen], _scramble(rows[entry_s[seen]] ^ state))
    return found.view(np.int64)


def kinds_of_states(P: POMDP, twin: NDArray[np.int64]) -> NDArray[np.int64]:
    """`kind[s]`: states of the same kind have the same value under every policy whose rows are
    equal where `twin[o]` is.

    States are of one kind if they are seen through the same twins with the same chances, and each
    action leads to the same kinds with the same chances and rewards: kinds are split until that
    holds (Paige and Tarjan 1987; by hashes of 64 bits). A memory that a policy does not look at
    makes no difference, for example, and what is written to it ties.
    """
    outcomes, entry_s = _Outcomes(P), own_rows(P.omega.row_ptr)
    seen = _scramble(_codes(P.omega.prob).astype(np.uint64) ^ _scramble(_whole(twin[P.omega.o])))
    looks = np.zeros(len(P.S), dtype=np.uint64)
    np.add.at(looks, entry_s, seen)
    columns = _scramble(np.arange(len(P.A), dtype=np.uint64))
    kind, count = np.zeros(len(P.S), dtype=np.int64), 0
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
        """A hash of the outcomes of each `[s, a]`, whatever their order; those in states of the
        same kind are the same."""
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
