"""The sampling tables of a POMDP, packed once and shared by all runs on it. What does not fit into
memory is refused before it is taken."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import ModelError, TooLarge
from workbench.core.footprint import free_bytes
from workbench.core.numbers import frozen
from workbench.core.pomdp import POMDP
from workbench.core.rows import row_places
from workbench.learning.sampling_kernels import (
    OUTCOME,
    ROW,
    TWO53,
    count_outcomes,
    fill_sampling_rows,
)

MOST = 2**32 - 2
"""Rows, outcomes, states, observations and table entries are counted in 32 bits; the last number
means the end."""


@dataclass(frozen=True, eq=False)
class SamplingTables:
    """A POMDP as the kernels read it: see `workbench.learning.sampling_kernels`.

    Attributes
    ----------
    nO, nA : |O| and |A|.
    rows : one record for each (s, a); outcomes : those of the rows with several; starts : of an
        episode.
    """

    nO: int
    nA: int
    rows: NDArray[Any]
    outcomes: NDArray[Any]
    starts: NDArray[Any]

    @classmethod
    def of(cls, P: POMDP) -> SamplingTables:
        """Pack a POMDP. Symbols in it need values first."""
        check_countable(P)
        p, omega = P.p, P.omega
        count = count_outcomes(
            p.row_ptr, p.s_next, p.prob.floats, omega.row_ptr, omega.prob.floats, P.terminal.mask
        )
        if count > MOST:
            raise TooLarge(
                f"{P.name} has {count:,} outcomes to sample from; the learners count in 32 bits"
            )
        rows, outcomes = np.zeros(len(p.row_ptr) - 1, dtype=ROW), np.zeros(count + 1, dtype=OUTCOME)
        fill_sampling_rows(
            p.row_ptr,
            p.s_next,
            p.r.floats,
            p.prob.floats,
            omega.row_ptr,
            omega.o,
            omega.prob.floats,
            P.terminal.mask,
            rows,
            outcomes,
        )
        return cls(len(P.O), len(P.A), frozen(rows), frozen(outcomes), frozen(_starts(P)))


def check_countable(P: POMDP) -> None:
    """Raise `TooLarge` if the rows of P do not fit the 32-bit counters of its records."""
    if (rows := max(len(P.S), len(P.O)) * len(P.A)) > MOST:
        raise TooLarge(
            f"{P.name} has {rows:,} rows, a table of {rows * ROW.itemsize / 1e9:.1f} GB; the "
            "learners count in 32 bits: take a smaller memory"
        )


def _starts(P: POMDP) -> NDArray[Any]:
    """Where episodes start: mu(s) omega(o|s), given that s is not terminal (an episode of no steps
    teaches nothing)."""
    support = P.mu.support[~P.terminal.mask[P.mu.support]]
    found = [
        (s, int(P.omega.o[e]), float(P.mu.prob.floats[s] * P.omega.prob.floats[e]))
        for s in support.tolist()
        for e in row_places(P.omega.row_ptr, s)
        if P.omega.prob.floats[e] > 0
    ]
    if not found:
        raise ModelError(
            f"every episode of {P.name} starts in a terminal state: there is nothing to learn"
        )
    whole = 1.0 if len(support) == len(P.mu.support) else sum(x for *_, x in found)
    starts = np.zeros(len(found), dtype=OUTCOME)
    cumulative = 0.0
    for k, (s, o, x) in enumerate(found):
        cumulative += x / whole
        starts[k] = (int(min(cumulative, 1.0) * TWO53), 0.0, s, o)
    return starts


def refuse_too_large(what: str, parts: dict[str, int], advice: str) -> None:
    """Raise `TooLarge`, with the largest part named, if the bytes of all parts are not free."""
    needed, free = sum(parts.values()), free_bytes()
    if needed > free:
        largest = max(parts, key=lambda part: parts[part])
        raise TooLarge(
            f"{what} needs {needed / 1e9:.1f} GB, most of it for {largest} "
            f"({parts[largest] / 1e9:.1f} GB), but only {free / 1e9:.1f} GB are free: {advice}"
        )
