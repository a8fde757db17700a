"""How a file is to be read, and its tables once they are: T, O, R and mu with every row checked.

Printed probabilities are rounded, so a row of floats may miss one by `ROUNDING`; it is then divided
by its sum. Exact rows must sum to one, unless a tolerance is given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from workbench.core.space import Label, Space
from workbench.interop.pomdp_file.entries import RewardTable, Rows, resolve, scaled
from workbench.interop.pomdp_file.notes import Notes
from workbench.interop.pomdp_file.record import Names, Record
from workbench.interop.pomdp_file.source import PomdpFileError, Source
from workbench.interop.pomdp_file.spelling import Value, Values, full, zeros

ROUNDING = 1e-5
"""How far a sum of printed probabilities may lie from one when a file is read in floats, as in
`pomdp-solve`."""


@dataclass(frozen=True)
class FileReading:
    """How a file is to be read: the arguments of `load_pomdp`."""

    first: str = "auto"
    episodic: bool | None = None
    goals: tuple[Label, ...] | None = None
    tolerance: float | None = None
    max_outcomes: int = 10_000_000


@dataclass(frozen=True)
class FileTables:
    """A file's tables, checked: T and O with one row for each (s, a), O the observations on
    entering s by a."""

    S: Space
    A: Space
    O: Space
    T: Rows
    omega: Rows
    resets: NDArray[np.bool_]
    R: RewardTable
    mu: Values
    gamma: Value

    @property
    def nA(self) -> int:
        return len(self.A)


def tables_of(record: Record, notes: Notes, source: Source, reading: FileReading) -> FileTables:
    nS, nA, exact, limit = (
        len(record.states),
        len(record.actions),
        record.exact,
        reading.max_outcomes,
    )
    tolerance = reading.tolerance if reading.tolerance is not None else (0.0 if exact else ROUNDING)
    refuse = _Refusal(record, source, tolerance)
    mu = _start(record, tolerance, refuse)
    T, resets = resolve(record.T, nS, nA, mu, exact, limit)
    T = scaled(T, tolerance, refuse.of("T", T))
    # a file without observations is an MDP: every state shows itself
    if record.O is None:
        shown = np.repeat(np.arange(nS), nA)
        one: Value = Fraction(1) if exact else 1.0
        omega = Rows(np.arange(nS * nA + 1), shown, full(nS * nA, one), np.full(nS * nA, -1))
    else:
        omega, _ = resolve(record.O, nS, nA, None, exact, limit)
        omega = scaled(omega, tolerance, refuse.of("O", omega))
    observations = record.observations or record.states
    R = RewardTable(record.R, exact, sign=-1 if record.cost else 1)
    S, A = (
        _labels(kind, names, notes, source)
        for kind, names in (("states", record.states), ("actions", record.actions))
    )
    O = (
        _labels("observations", observations, notes, source)
        # an MDP has one space for both, so that labels of states are labels of observations
        if record.observations is not None
        else S
    )
    return FileTables(S, A, O, T, omega, resets, R, mu, record.gamma)


def _labels(kind: str, names: Names, notes: Notes, source: Source) -> Space:
    """The labels of the file, or those of its notes; copies are states without a label of their
    own."""
    if kind not in notes.labels:
        return Space(names.labels)
    labels = list(notes.labels[kind])
    if kind == "states":
        labels += [object() for _ in notes.copies]
    if len(labels) != len(names):
        raise source.fault_at_line(
            notes.lines[kind],
            f"expected a label for each of the {len(names)} {kind}, found "
            f"{len(notes.labels[kind])}",
        )
    return Space(labels)


class _Refusal:
    """Errors about sums that are not one, at the line that filled the row last."""

    def __init__(self, record: Record, source: Source, tolerance: float):
        self.record, self.source, self.tolerance = record, source, tolerance

    def of(self, letter: str, rows: Rows) -> Callable[[int, Value], PomdpFileError]:
        record, nA = self.record, len(self.record.actions)

        def refuse(row: int, total: Value) -> PomdpFileError:
            what = f"{letter}: {record.actions.label(row % nA)} : {record.states.label(row // nA)}"
            # no line to point to: the error is at the end of the file, where the line is missing
            if rows.at[row] < 0:
                return self.source.error(
                    len(self.source.tokens), f"a line for {what}, which no line gives a probability"
                )
            return self.sum_error(what, total, int(rows.at[row]))

        return refuse

    def sum_error(self, what: str, total: Value, at: int) -> PomdpFileError:
        if self.record.exact and abs(float(total) - 1) <= ROUNDING:
            return self.source.fault(
                at,
                f"{what} sums to {float(total):.12g} and not exactly to 1: its decimals are "
                f"rounded. Read the file with exact=False, or with tolerance={ROUNDING:g}, which "
                "divides such rows by their sum (0.333333 three times becomes 1/3)",
            )
        return self.source.fault(
            at,
            f"{what} sums to {float(total):.12g}, not to 1 (within the tolerance "
            f"{self.tolerance:g})",
        )


def _start(record: Record, tolerance: float, refuse: _Refusal) -> Values:
    nS, start = len(record.states), record.start
    one: Value = Fraction(1) if record.exact else 1.0
    if start.vector is None:
        chosen = np.arange(nS) if start.states is None else start.states
        mu = zeros(nS, record.exact)
        mu[chosen] = one / len(chosen)
        return mu
    row = Rows(np.array([0, nS]), np.arange(nS), start.vector, np.array([start.at]))
    return scaled(row, tolerance, lambda _, total: refuse.sum_error("start", total, start.at)).value
