"""From lines to tables: T, O, R and the start, with every row checked.

The rows of T and O and the rewards R(a, s, s', o) are never written down for a wildcard: they are
looked up among the lines, one wildcard pattern at a time, and the line that comes last wins. So
time and memory are bounded by the file plus the size of the result.

Printed probabilities are rounded, so a row of floats may miss one by `ROUNDING`; it is then divided
by its sum. Exact rows must sum to one, unless a tolerance is given.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import compress, product

from workbench.interop.pomdp_file.grammar import EVERY, Line, Record
from workbench.interop.pomdp_file.source import Source, Value

ROUNDING = 1e-5
"""How far a sum of printed probabilities may lie from one when a file is read in floats, as in
`pomdp-solve`."""

_AS_GOOD_AS_ONE = 1e-9
"""Float rows this close to one are left as they are: rounding of the sum, not of the file."""

Row = dict[int, Value]
"""The probabilities of a row without its zeros."""


class TooMany(Exception):
    """More entries than the limit. The argument is how many there would be at least."""


def within(count: int, limit: int) -> None:
    """Refuse more entries than the limit."""
    if count > limit:
        raise TooMany(count)


@dataclass(slots=True)
class _Pattern:
    """The lines for one (a, s), either of them perhaps `EVERY`.

    The last one that fills the row, and what later ones put into single columns. A row of None is
    that of the identity.
    """

    at: int = -1
    row: Row | None = field(default_factory=dict)
    entries: dict[int, tuple[int, Value]] = field(default_factory=dict)


class FileTable:
    """The rows of T (columns: states) or O (columns: observations)."""

    def __init__(self, record: Record, width: int, limit: int):
        self.nS, self.nA = len(record.states), len(record.actions)
        self.width, self.limit = width, limit
        self.one: Value = Fraction(1) if record.exact else 1.0
        self.start = record.start[1]
        self.patterns: dict[tuple[int, int], _Pattern] = {}
        self.size = 0

    def read(self, line: Line) -> None:
        """Carry out a line."""
        width, a, s = self.width, line.a, line.s
        if line.column is not None and line.column != EVERY:
            pattern = self.patterns.setdefault((a, s), _Pattern())
            pattern.entries[line.column] = line.at, line.content[0]  # type: ignore[assignment]
        elif line.content == "identity":
            self._fill(a, s, None, line.at)
        elif line.content == "uniform" or line.column == EVERY:
            value = self.one / width if line.content == "uniform" else line.content[0]
            self._fill(a, s, dict.fromkeys(range(width), value) if value else {}, line.at)  # type: ignore[arg-type]
        else:
            numbers = line.content if isinstance(line.content, list) else self.start
            rows = [numbers[k : k + width] for k in range(0, len(numbers), width)]
            for i, row in enumerate(rows):
                entries = {k: x for k, x in enumerate(row) if x}
                self._fill(a, s if len(rows) == 1 else i, entries, line.at)

    def _fill(self, a: int, s: int, row: Row | None, at: int) -> None:
        before = self.patterns.get((a, s), _Pattern())
        self.size += len(row or ()) - len(before.row or ())
        within(self.size, self.limit)
        self.patterns[a, s] = _Pattern(at, row)

    def row(self, s: int, a: int) -> tuple[Row, int]:
        """The row of (s, a), and its last line, or -1 without any."""
        keys = product((a, EVERY), (s, EVERY))
        found = [pattern for key in keys if (pattern := self.patterns.get(key)) is not None]
        if not found:
            return {}, -1
        whole = max(found, key=lambda pattern: pattern.at)
        row = {s: self.one} if whole.row is None else whole.row
        changes = [
            (at, column, x)
            for pattern in found
            for column, (at, x) in pattern.entries.items()
            if at > whole.at
        ]
        if changes:
            row = row | {column: x for _, column, x in sorted(changes, key=lambda one: one[0])}
        return {k: x for k, x in row.items() if x} if changes else row, max(
            [whole.at, *(at for at, _, _ in changes)]
        )


def read_table(
    record: Record, letter: str, source: Source, tolerance: float, limit: int
) -> list[Row]:
    """The rows of T or O, each scaled to sum to one. That of (s, a) is number s |A| + a."""
    columns = record.states if letter == "T" else record.observations
    # a file without observations is an MDP: every state shows itself
    mdp = [Line(0, EVERY, EVERY, None, "identity")]
    table = FileTable(record, len(columns or record.states), limit)
    for line in record.T if letter == "T" else record.O or mdp:
        table.read(line)
    found, size, done = list[Row](), 0, dict[int, tuple[Row, Row]]()
    for s, a in product(range(len(record.states)), range(len(record.actions))):
        row, at = table.row(s, a)
        what = f"{letter}: {record.actions.labels[a]} : {record.states.labels[s]}"
        if at < 0:
            # no line to point to: the error is at the end of the file, where the line is missing
            raise source.error(
                len(source.tokens), f"a line for {what}, which no line gives a probability"
            )
        size += max(1, len(row))
        within(size, limit)
        if id(row) not in done:  # a wildcard's row is one row, whatever it stands for
            done[id(row)] = row, scaled(row, source, at, what, tolerance)
        found.append(done[id(row)][1])
    return found


def scaled(row: Row, source: Source, at: int, what: str, tolerance: float) -> Row:
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
