"""From lines to tables: T, O, R and the start, with every row checked.

Row (s, a) of T or O is number s |A| + a. A line that fills many rows gives all of them one
`FileRow`, and a later line for some of them splits it off. So time and memory are bounded by the
file plus the size of the result, however many rows a wildcard stands for.

R(a, s, s', o): |A||S||S||O| numbers are never written down. A value is looked up among the lines,
one wildcard pattern at a time (there are at most 16), and the line that comes last wins.

Printed probabilities are rounded, so a row of floats may miss one by `ROUNDING`; it is then divided
by its sum. Exact rows must sum to one, unless a tolerance is given.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import compress

from workbench.interop.pomdp_file.grammar import EVERY, Line, Record
from workbench.interop.pomdp_file.source import Source, Value

ROUNDING = 1e-5
"""How far a sum of printed probabilities may lie from one when a file is read in floats, as in
`pomdp-solve`."""

_AS_GOOD_AS_ONE = 1e-9
"""Float rows this close to one are left as they are, so that a file that was written reads back bit
for bit."""


class TooMany(Exception):
    """More entries than the limit. The argument is how many there would be at least."""


def within(count: int, limit: int) -> None:
    """Refuse more entries than the limit."""
    if count > limit:
        raise TooMany(count)


@dataclass(eq=False, slots=True)
class FileRow:
    """The probabilities of a row without zeros, the line that changed it last, and how many rows it
    stands for."""

    entries: dict[int, Value]
    at: int
    users: int


class FileTable:
    """The rows of T (columns: states) or O (columns: observations)."""

    def __init__(self, record: Record, width: int, limit: int):
        self.nS, self.nA = len(record.states), len(record.actions)
        self.width, self.limit = width, limit
        self.one: Value = Fraction(1) if record.exact else 1.0
        self.start = record.start[1]
        self.rows = [FileRow({}, -1, self.nS * self.nA)] * (self.nS * self.nA)
        self.size = 0

    def __getitem__(self, row: int) -> dict[int, Value]:
        return self.rows[row].entries

    def read(self, line: Line) -> None:
        """Carry out a line."""
        where, width = self._places(line.a, line.s), self.width
        numbers = line.content if isinstance(line.content, list) else self.start
        if line.content == "identity":
            for s in range(self.nS):
                self._fill(self._places(line.a, s), {s: self.one}, line.at)
        elif line.content == "uniform" or line.column == EVERY:
            value = self.one / width if line.content == "uniform" else numbers[0]
            within(len(where) * width if value else 0, self.limit)
            self._fill(where, dict.fromkeys(range(width), value) if value else {}, line.at)
        elif line.column is not None:
            self._change(where, line.column, numbers[0], line.at)
        elif len(numbers) == width:
            self._fill(where, _without_zeros(numbers), line.at)
        else:
            for s in range(self.nS):
                row = _without_zeros(numbers[s * width : (s + 1) * width])
                self._fill(self._places(line.a, s), row, line.at)

    def _places(self, a: int, s: int) -> range:
        """The rows of an action and a state, either of them perhaps `EVERY`."""
        nA, n = self.nA, self.nS * self.nA
        if a == EVERY:
            return range(n) if s == EVERY else range(s * nA, (s + 1) * nA)
        return range(a, n, nA) if s == EVERY else range(s * nA + a, s * nA + a + 1)

    def _among(self, where: range) -> Mapping[FileRow, int]:
        """How many of these places each row fills."""
        row = self.rows[where[0]]
        if len(where) == 1 or row.users == len(self.rows):
            return {row: len(where)}
        return Counter(self.rows[where.start : where.stop : where.step])

    def _fill(self, where: range, entries: dict[int, Value], at: int) -> None:
        for row, count in self._among(where).items():
            row.users -= count
            self.size -= count * len(row.entries)
        self.rows[where.start : where.stop : where.step] = [FileRow(entries, at, len(where))] * len(
            where
        )
        self.size += len(where) * len(entries)
        within(self.size, self.limit)

    def _change(self, where: range, column: int, value: Value, at: int) -> None:
        apart: dict[FileRow, FileRow] = {}
        for row, count in self._among(where).items():
            changed = row
            if count < row.users:  # other places keep the row as it is
                changed = apart[row] = FileRow(dict(row.entries), at, count)
                row.users -= count
            self.size -= count * len(changed.entries)
            changed.entries.pop(column, None)
            if value:
                changed.entries[column] = value
            changed.at = at
            self.size += count * len(changed.entries)
            within(self.size, self.limit)
        if apart:
            for i in where:
                self.rows[i] = apart.get(self.rows[i], self.rows[i])


def _without_zeros(numbers: list[Value]) -> dict[int, Value]:
    return {k: x for k, x in enumerate(numbers) if x}


def read_table(
    record: Record, letter: str, source: Source, tolerance: float, limit: int
) -> FileTable:
    """The table T or O of a record, each row scaled to sum to one."""
    columns = record.states if letter == "T" else record.observations
    # a file without observations is an MDP: every state shows itself
    mdp = [Line(0, EVERY, EVERY, None, "identity")]
    table = FileTable(record, len(columns or record.states), limit)
    for line in record.T if letter == "T" else record.O or mdp:
        table.read(line)
    nA, judged = len(record.actions), set[FileRow]()
    for i, row in enumerate(table.rows):
        if row in judged:
            continue
        judged.add(row)
        what = f"{letter}: {record.actions.labels[i % nA]} : {record.states.labels[i // nA]}"
        if row.at < 0:
            # no line to point to: the error is at the end of the file, where the line is missing
            raise source.error(
                len(source.tokens), f"a line for {what}, which no line gives a probability"
            )
        row.entries = scaled(row.entries, source, row.at, what, tolerance)
    return table


def scaled(
    row: dict[int, Value], source: Source, at: int, what: str, tolerance: float
) -> dict[int, Value]:
    """A row divided by its sum, in ascending order. Refused unless the sum lies within the
    tolerance of one."""
    row = dict(sorted(row.items()))
    exact = any(isinstance(x, Fraction) for x in row.values())
    total = sum(row.values()) if exact else math.fsum(row.values())
    off = abs(float(total - 1))
    if total == 1 or (not exact and off <= _AS_GOOD_AS_ONE):
        return row
    if off <= tolerance and tolerance > 0:
        return {column: x / total for column, x in row.items()}
    why = f"not to 1 (within the tolerance {tolerance:g})"
    if exact and off <= ROUNDING:
        why = (
            "and not exactly to 1: its decimals are rounded. Read the file with exact=False, or "
            f"with tolerance={ROUNDING:g}, which divides such rows by their sum (0.333333 three "
            "times becomes 1/3)"
        )
    comma = "" if why.startswith("and") else ","
    raise source.fault(at, f"{what} sums to {float(total):.12g}{comma} {why}")


class RewardTable:
    """Rewards R(a, s, s', o), looked up on demand. They are 0 where no line names them."""

    def __init__(self, record: Record):
        self.zero: Value = Fraction(0) if record.exact else 0.0
        patterns: dict[tuple[bool, ...], dict[tuple[int, ...], tuple[int, Value]]] = {}
        for place, (at, value) in record.R.items():
            named = tuple(part != EVERY for part in place)
            paid = self.zero - value if record.cost else value  # 0 - 0.0 is 0.0, not -0.0
            patterns.setdefault(named, {})[tuple(compress(place, named))] = at, paid
        self.patterns = list(patterns.items())
        self.reads_observation = any(named[3] for named in patterns)

    def __call__(self, *place: int) -> Value:
        """The reward at (a, s, s', o)."""
        last, found = -1, self.zero
        for named, lines in self.patterns:
            at, value = lines.get(tuple(compress(place, named)), (-1, self.zero))
            if at > last:
                last, found = at, value
        return found
