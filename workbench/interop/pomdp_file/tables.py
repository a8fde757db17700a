"""From lines to tables: T, O, R and the start, with every row checked.

T and O: row (s, a), stored as row s |A| + a, is filled by the last *block* (a line for whole rows)
that applies to it; single entries that come later than this block override it, the last one for
each entry. Only blocks that have the last word somewhere are looked at, and what single entries
with wildcards stand for is counted before it is written down: time and memory are bounded by the
file plus the size of the result.

R(a, s, s', o): |A||S||S||O| numbers are never written down. The value at some places is looked up
among the lines, one wildcard pattern at a time (there are at most 16), and the line that comes last
wins.

Printed probabilities are rounded, so a row of floats may miss one by `ROUNDING`; it is then divided
by its sum. Exact rows must sum to one, unless a tolerance is given.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from workbench.core.rows import add_rows, own_rows, pick_rows, point_rows
from workbench.interop.pomdp_file.grammar import EVERY, Block, Record, TableLines
from workbench.interop.pomdp_file.source import PomdpFileError, Source, Value, Values, full, values

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

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


def distinct(numbers: Ints) -> Ints:
    """The distinct numbers, ascending. `np.unique` hashes them, which takes seconds where they are
    evenly spaced."""
    ordered = np.sort(numbers)
    return ordered[np.diff(ordered, prepend=-1) != 0]


@dataclass(frozen=True)
class Rows:
    """A sparse table in compressed rows: row i holds `column[ptr[i]:ptr[i+1]]`, ascending, and
    `value` likewise."""

    ptr: Ints
    column: Ints
    value: Values

    @property
    def counts(self) -> Ints:
        return np.diff(self.ptr)

    @property
    def row(self) -> Ints:
        """The row of each entry."""
        return own_rows(self.ptr)

    def gather(self, rows: Ints, limit: int) -> tuple[Ints, Ints]:
        """The entries of some rows, one row after the other. Each has its index, and which of
        `rows` it is of."""
        within(int(self.counts[rows].sum()), limit)
        row_ptr, entries = pick_rows(self.ptr, rows)
        return entries, own_rows(row_ptr)

    def same(self, rows: Ints, others: Ints) -> Flags:
        """For each pair of rows, whether they hold the same."""
        equal = self.counts[rows] == self.counts[others]
        asked = np.flatnonzero(equal)
        ptr, one = pick_rows(self.ptr, rows[asked])
        _, other = pick_rows(self.ptr, others[asked])
        differs = self.column[one] != self.column[other]
        differs |= (self.value[one] != self.value[other]).astype(bool)
        equal[asked[own_rows(ptr)[differs]]] = False
        return equal

    def same_for_all_actions(self, nA: int) -> Flags:
        """For each state s, whether the rows s |A| + a are the same for every a."""
        rows = np.arange(len(self.ptr) - 1)
        return np.asarray(self.same(rows, rows - rows % nA).reshape(-1, nA).all(axis=1))


@dataclass(frozen=True)
class FileTables:
    """The checked tables T and O of a file, with one row for each (s, a). O holds the observations
    on entering s by a.

    resets : the rows of T that are written `reset` and nothing else.
    """

    T: Rows
    O: Rows
    resets: Flags
    R: RewardTable
    mu: Values


def tables_of(record: Record, source: Source, tolerance: float | None, limit: int) -> FileTables:
    """The tables of a record. Rows whose sum lies within the tolerance of one are scaled."""
    nS, nA, exact = len(record.states), len(record.actions), record.exact
    if tolerance is None:
        tolerance = 0.0 if exact else ROUNDING
    mu = _start(record, source, tolerance)
    T, resets = _checked(record, record.T, mu, source, tolerance, limit)
    if record.O is None:
        # a file without observations is an MDP: every state shows itself
        n = nS * nA
        O = Rows(np.arange(n + 1), np.arange(n) // nA, full(n, 1, exact))
    else:
        O, _ = _checked(record, record.O, mu, source, tolerance, limit)
    return FileTables(T, O, resets, RewardTable(record), mu)


def _start(record: Record, source: Source, tolerance: float) -> Values:
    nS, start = len(record.states), record.start
    if start.vector is None:
        chosen = np.arange(nS) if start.states is None else start.states
        mu = full(nS, 0, record.exact)
        mu[chosen] = full(1, 1, record.exact)[0] / len(chosen)
        return mu

    def refuse(_: int, total: Value) -> PomdpFileError:
        return _sum_error(source, start.at, "start", total, tolerance, record.exact)

    return scaled(Rows(np.array([0, nS]), np.arange(nS), start.vector), tolerance, refuse).value


def _checked(
    record: Record, lines: TableLines, mu: Values, source: Source, tolerance: float, limit: int
) -> tuple[Rows, Flags]:
    rows, at, resets = resolve(lines, mu, record.exact, limit)
    nA = len(record.actions)

    def refuse(row: int, total: Value) -> PomdpFileError:
        a, s = record.actions.labels[row % nA], record.states.labels[row // nA]
        what = f"{lines.letter}: {a} : {s}"
        # no line to point to: the error is at the end of the file, where the line is missing
        if at[row] < 0:
            return source.error(
                len(source.tokens), f"a line for {what}, which no line gives a probability"
            )
        return _sum_error(source, int(at[row]), what, total, tolerance, record.exact)

    return scaled(rows, tolerance, refuse), resets


def _sum_error(
    source: Source, at: int, what: str, total: Value, tolerance: float, exact: bool
) -> PomdpFileError:
    if exact and abs(float(total) - 1) <= ROUNDING:
        return source.fault(
            at,
            f"{what} sums to {float(total):.12g} and not exactly to 1: its decimals are "
            f"rounded. Read the file with exact=False, or with tolerance={ROUNDING:g}, which "
            "divides such rows by their sum (0.333333 three times becomes 1/3)",
        )
    return source.fault(
        at, f"{what} sums to {float(total):.12g}, not to 1 (within the tolerance {tolerance:g})"
    )


def scaled(rows: Rows, tolerance: float, refuse: Callable[[int, Value], Exception]) -> Rows:
    """Rows whose sums lie within `tolerance` of one, divided by their sums. Otherwise
    `refuse(row, sum)` is raised."""
    exact = rows.value.dtype == object
    total = add_rows(rows.ptr, rows.value, full(len(rows.ptr) - 1, 0, exact))
    off = np.abs((total - 1).astype(np.float64))
    uneven = (total != 1).astype(bool) if exact else off > _AS_GOOD_AS_ONE
    if (bad := np.flatnonzero(uneven & ((off > tolerance) | (tolerance == 0)))).size:
        raise refuse(int(bad[0]), total[bad[0]])
    if not uneven.any():
        return rows
    divisor = np.where(uneven, total, total * 0 + 1)
    return replace(rows, value=rows.value / divisor[rows.row])


# ---------------------------------------------------------------------- T and O


def resolve(lines: TableLines, mu: Values, exact: bool, limit: int) -> tuple[Rows, Ints, Flags]:
    """The nonzero entries of T or O. For each row it gives the line that filled it last, -1 where
    none does, and whether the row is only `reset`."""
    nS, nA, width = lines.last.shape[0] - 1, lines.last.shape[1] - 1, len(lines.columns)
    # blocks are numbered in their order, so that the last of a row is the largest among those for
    # (s, a), for s and every action, for every state and a, and for everything
    last = np.maximum(lines.last[:-1, :-1], lines.last[:-1, -1:])
    last = np.maximum(last, np.maximum(lines.last[-1:, :-1], lines.last[-1:, -1:])).ravel()
    base = _fill(last, lines.blocks, nS, nA, width, mu, exact, limit)
    when = np.array([block.at for block in lines.blocks] + [-1])[last]
    resets = np.array([block.kind == "reset" for block in lines.blocks] + [False])[last]
    key, value, at = _spread(lines, nS, nA, exact, limit)
    # a block that comes after a single entry fills its whole row anew
    later = at > when[key // width]
    key, value, at = key[later], value[later], at[later]
    # an error about the row's sum points to the line that changed it last, entry or block
    np.maximum.at(when, key // width, at)
    resets[key // width] = False
    base_key = base.row * width + base.column
    # an entry overrides by where it is, a zero as well: zeros go only after that
    kept = ~np.isin(base_key, key)
    all_keys = np.concatenate((base_key[kept], key))
    all_values = np.concatenate((base.value[kept], value))
    nonzero = all_values.astype(bool)
    order = np.flatnonzero(nonzero)[np.argsort(all_keys[nonzero], kind="stable")]
    row, column = np.divmod(all_keys[order], width)
    ptr = point_rows(np.bincount(row, minlength=nS * nA))
    return Rows(ptr, column, all_values[order]), when, resets


def _fill(
    last: Ints,
    blocks: list[Block],
    nS: int,
    nA: int,
    width: int,
    mu: Values,
    exact: bool,
    limit: int,
) -> Rows:
    """The rows that the last block of each row defines, without zeros. They are empty where there
    is none."""
    counts, columns = [np.zeros(1, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    numbers = [full(0, 0, exact)]
    # for each block its first row among those collected, and whether it has one for each state
    first, many = np.zeros(len(blocks) + 1, dtype=np.int64), np.zeros(len(blocks) + 1, dtype=bool)
    collected, size = 1, 0
    for k in distinct(last[last >= 0]).tolist():
        n, column, value = _block_rows(blocks[k], nS, width, mu, exact)
        first[k], many[k] = collected, len(n) > 1
        collected, size = collected + len(n), size + len(column)
        within(size, limit)
        counts.append(n)
        columns.append(column)
        numbers.append(value)
    used = first[last] + many[last] * np.repeat(np.arange(nS), nA)
    ptr = point_rows(np.concatenate(counts))
    within(int((ptr[used + 1] - ptr[used]).sum()), limit)
    row_ptr, entries = pick_rows(ptr, used)
    return Rows(row_ptr, np.concatenate(columns)[entries], np.concatenate(numbers)[entries])


def _block_rows(
    block: Block, nS: int, width: int, mu: Values, exact: bool
) -> tuple[Ints, Ints, Values]:
    """A block without zeros, as one row or as one for each state: entries in each row, columns,
    values."""
    match block.kind:
        case "identity":
            return np.ones(nS, dtype=np.int64), np.arange(nS), full(nS, 1, exact)
        case "uniform" | "constant":
            value = full(1, 1, exact)[0] / width if block.kind == "uniform" else block.content
            columns = np.arange(width if value else 0)
            return np.array([len(columns)]), columns, full(len(columns), value, exact)
        case "reset" | "row" | "matrix":
            dense = np.atleast_2d(mu if block.kind == "reset" else block.content)
            row, columns = np.nonzero(dense.astype(bool))
            return np.bincount(row, minlength=len(dense)), columns, dense[row, columns]
    raise AssertionError(f"unknown kind of block {block.kind}")


def _spread(
    lines: TableLines, nS: int, nA: int, exact: bool, limit: int
) -> tuple[Ints, Values, Ints]:
    """Single entries without wildcards: keys (row, column) in ascending order, their values and
    their lines."""
    n = len(lines.entries)
    a, s, column = np.array(list(lines.entries), dtype=np.int64).reshape(n, 3).T
    at = np.fromiter((at for at, _ in lines.entries.values()), dtype=np.int64, count=n)
    number = values((value for _, value in lines.entries.values()), n, exact)
    states, actions = np.where(s == EVERY, nS, 1), np.where(a == EVERY, nA, 1)
    within(int((states * actions).sum()), limit)
    ptr = point_rows(states * actions)
    k = own_rows(ptr)
    s_step, a_step = np.divmod(np.arange(ptr[-1]) - ptr[k], actions[k])
    row = (np.maximum(s, 0)[k] + s_step) * nA + np.maximum(a, 0)[k] + a_step
    key = row * len(lines.columns) + column[k]
    last = _last_of_each(key, at[k])  # lines of different patterns may meet at one entry
    return key[last], number[k[last]], at[k[last]]


def _last_of_each(key: Ints, when: Ints) -> Ints:
    """For each distinct key, in ascending order, where it occurs with the largest `when`."""
    order = np.lexsort((when, key))
    return order[np.flatnonzero(np.diff(key[order], append=-1) != 0)]


# ---------------------------------------------------------------------- R


class RewardTable:
    """Rewards R(a, s, s', o), looked up on demand. They are 0 where no line names them."""

    def __init__(self, record: Record):
        n, exact = len(record.R), record.exact
        self._places = np.array(list(record.R), dtype=np.int64).reshape(n, 4)
        self._when = np.fromiter((at for at, _ in record.R.values()), dtype=np.int64, count=n)
        numbers = values((value for _, value in record.R.values()), n, exact)
        numbers = 0 - numbers if record.cost else numbers  # 0 - 0.0 is 0.0, not -0.0
        self._numbers = np.append(numbers, full(1, 0, exact))  # the last for where no line speaks
        self._nS, self._nO = len(record.states), len(record.observations or record.states)
        wild = self._places == EVERY
        # which of the four columns each pattern names, and the lines of that pattern
        self._patterns = [
            (~np.array(pattern), np.flatnonzero((wild == pattern).all(axis=1)))
            for pattern in {tuple(row) for row in wild.tolist()}
        ]

    def __call__(self, a: Ints, s: Ints, s_next: Ints, o: Ints) -> Values:
        """The rewards at some places."""
        return self._numbers[self._last_line(a, s, s_next, o)]

    def names_observation(self, a: Ints, s: Ints, s_next: Ints) -> Flags:
        """For each (a, s, s'), whether a line that names an observation applies to it."""
        return self._last_line(a, s, s_next, None) >= 0

    def _last_line(self, a: Ints, s: Ints, s_next: Ints, o: Ints | None) -> Ints:
        """The line that decides each entry, -1 if none. Without o, among the lines that name
        one."""
        asked = np.stack((a, s, s_next, np.zeros_like(a) if o is None else o), axis=1)
        best, when = np.full(len(asked), -1), np.full(len(asked), -1)
        for named, chosen in self._patterns:
            if o is None and not named[3]:
                continue
            used = named & [True, True, True, o is not None]
            lines, wanted = self._codes(self._places[chosen] * used, asked * used)
            last = _last_of_each(lines, self._when[chosen])
            index = np.searchsorted(lines[last], wanted)
            index[index == len(last)] = 0  # beyond the end: any line, since it is compared below
            pick = chosen[last[index]]
            better = (lines[last[index]] == wanted) & (self._when[pick] > when)
            best[better], when[better] = pick[better], self._when[pick[better]]
        return best

    def _codes(self, lines: Ints, asked: Ints) -> tuple[Ints, Ints]:
        """One number for each row of either array, equal where the rows are equal. -1 for rows that
        no line has."""
        line_code, asked_code = np.zeros(len(lines), np.int64), np.zeros(len(asked), np.int64)
        # the product of four sizes may not fit into 64 bits: each half is numbered among the lines
        for k, size in ((0, self._nS), (2, self._nO)):
            distinct, rank = np.unique(lines[:, k] * size + lines[:, k + 1], return_inverse=True)
            wanted = asked[:, k] * size + asked[:, k + 1]
            index = np.minimum(np.searchsorted(distinct, wanted), len(distinct) - 1)
            known = (distinct[index] == wanted) & (asked_code >= 0)
            line_code = line_code * len(distinct) + rank
            asked_code = np.where(known, asked_code * len(distinct) + index, -1)
        return line_code, asked_code
