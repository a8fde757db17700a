"""From lines to tables: which line has the last word on each entry of T, O and R.

T and O: row (s, a), stored as row s |A| + a, is filled by the last *block* (a line for whole rows)
that applies to it; single entries that come later than this block override it, the last one for
each entry. Blocks are looked at from the last to the first, so that a line whose rows are all taken
costs nothing, and single entries with wildcards are spread only after repeated ones are gone: time
and memory are bounded by the file plus the size of the result.

R(a, s, s', o): |A||S||S||O| numbers are never written down. The value at some places is looked up
among the lines, one wildcard pattern at a time (there are at most 16), and the line that comes last
wins.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.core.rows import add_rows, own_rows, pick_rows, point_rows
from workbench.interop.pomdp_file.record import EVERY, Block, RewardLines, TableLines
from workbench.interop.pomdp_file.spelling import Value, Values, full, zeros

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Rows:
    """A sparse table in compressed rows: row i holds `column[ptr[i]:ptr[i+1]]`, ascending, and
    `value` likewise.

    at : for each row, the line that filled it last; -1 where no line does.
    """

    ptr: Ints
    column: Ints
    value: Values
    at: Ints

    def __len__(self) -> int:
        return len(self.ptr) - 1

    @property
    def counts(self) -> Ints:
        return np.diff(self.ptr)

    @property
    def row(self) -> Ints:
        """The row of each entry."""
        return own_rows(self.ptr)

    def gather(self, rows: Ints) -> tuple[Ints, Ints]:
        """The entries of some rows, one row after the other: for each entry its place, and which of
        `rows` it is of."""
        row_ptr, entries = pick_rows(self.ptr, rows)
        return entries, own_rows(row_ptr)

    def same(self, rows: Ints, others: Ints) -> NDArray[np.bool_]:
        """For each pair of rows, whether they hold the same."""
        equal = self.counts[rows] == self.counts[others]
        asked = np.flatnonzero(equal)
        one, which = self.gather(rows[asked])
        other, _ = self.gather(others[asked])
        differs = (self.column[one] != self.column[other]) | (
            self.value[one] != self.value[other]
        ).astype(bool)
        equal[asked[which[differs]]] = False
        return equal

    def same_for_all_actions(self, nA: int) -> NDArray[np.bool_]:
        """For each state s, whether the rows s |A| + a are the same for every a."""
        rows = np.arange(len(self))
        return np.asarray(self.same(rows, rows - rows % nA).reshape(-1, nA).all(axis=1))


class TooMany(Exception):
    """More entries than the limit; the argument is how many there would be at least."""


# ---------------------------------------------------------------------- T and O


def resolve(
    table: TableLines, nS: int, nA: int, mu: Values | None, exact: bool, limit: int
) -> tuple[Rows, NDArray[np.bool_]]:
    """The entries of T or O that are not zero, and which rows are `reset` and nothing else.

    Parameters
    ----------
    mu : the start distribution, which `reset` stands for; only T needs it.
    limit : raise `TooMany` rather than hold more entries than this.
    """
    width = len(table.columns)
    pool = _Pool(width, exact, limit)
    content, at, resets = _last_blocks(table.blocks, nS, nA, pool, mu)
    base = pool.rows(content)
    places, numbers = table.cell_arrays(exact)
    key, value, when = _spread(places, numbers, nS, nA, width, limit)
    # a block that comes after a single entry fills its whole row anew
    later = when > at[key // width]
    key, value, when = key[later], value[later], when[later]
    # an error about the row's sum points to the line that changed it last, entry or block
    np.maximum.at(at, key // width, when)
    resets[key // width] = False
    base_key = base.row * width + base.column
    # an entry overrides by its place, a zero as well: zeros go only after that
    kept = ~np.isin(base_key, key)
    all_keys = np.concatenate((base_key[kept], key))
    all_values = np.concatenate((base.value[kept], value))
    nonzero = all_values.astype(bool)
    order = np.flatnonzero(nonzero)[np.argsort(all_keys[nonzero], kind="stable")]
    row, column = np.divmod(all_keys[order], width)
    return Rows(_pointers(row, nS * nA), column, all_values[order], at), resets


def _pointers(row: Ints, n: int) -> Ints:
    return point_rows(np.bincount(row, minlength=n))


class _Pool:
    """The distinct rows that blocks put into a table, without their zeros."""

    def __init__(self, width: int, exact: bool, limit: int):
        self.width, self.exact, self.limit = width, exact, limit
        self.columns: list[Ints] = []
        self.values: list[Values] = []
        self.size = 0
        self.known: dict[tuple[str, Value | None], int] = {}

    def add(self, columns: Ints, numbers: Values) -> int:
        self.size += len(columns)
        if self.size > self.limit:
            raise TooMany(self.size)
        self.columns.append(columns)
        self.values.append(numbers)
        return len(self.columns) - 1

    def dense(self, numbers: Values) -> int:
        columns = np.flatnonzero(numbers.astype(bool))
        return self.add(columns, numbers[columns])

    def constant(self, value: Value) -> int:
        """A row with the same number everywhere, held once for each number."""
        known = self.known.get(("constant", value))
        if known is None:
            columns = np.arange(self.width if value != 0 else 0)
            known = self.known["constant", value] = self.add(columns, full(len(columns), value))
        return known

    def identity(self) -> int:
        """The first of `width` rows of the identity."""
        if ("identity", None) not in self.known:
            one = full(1, zeros(1, self.exact)[0] + 1)
            first = len(self.columns)
            for column in range(self.width):
                self.add(np.array([column]), one)
            self.known["identity", None] = first
        return self.known["identity", None]

    def start(self, mu: Values) -> int:
        """The start distribution, held once."""
        if ("reset", None) not in self.known:
            self.known["reset", None] = self.dense(mu)
        return self.known["reset", None]

    def rows(self, content: Ints) -> Rows:
        """The table whose row i is row `content[i]` of the pool; -1 is empty."""
        lengths = np.array(
            [len(columns) for columns in self.columns] + [0], dtype=np.int64
        )  # the last for -1
        total = int(lengths[content].sum())
        if total > self.limit:
            raise TooMany(total)
        pool = Rows(
            point_rows(lengths),
            np.concatenate((*self.columns, np.zeros(0, dtype=np.int64))),
            np.concatenate((*self.values, zeros(0, self.exact))),
            np.zeros(0, dtype=np.int64),
        )
        ptr, entries = pick_rows(pool.ptr, np.where(content < 0, len(lengths) - 1, content))
        return Rows(ptr, pool.column[entries], pool.value[entries], np.zeros(0, dtype=np.int64))


def _last_blocks(
    blocks: list[Block], nS: int, nA: int, pool: _Pool, mu: Values | None
) -> tuple[Ints, Ints, NDArray[np.bool_]]:
    """For each row the row of the pool that the last block puts there, its line, and whether it is
    `reset`."""
    content = np.full((nS, nA), -1, dtype=np.int64)
    at = np.full((nS, nA), -1, dtype=np.int64)
    resets = np.zeros((nS, nA), dtype=bool)
    state_done, action_done = np.zeros(nS, dtype=bool), np.zeros(nA, dtype=bool)
    for block in reversed(blocks):
        s: int | slice = slice(None) if block.s == EVERY else block.s
        a: int | slice = slice(None) if block.a == EVERY else block.a
        if _done(block, at, state_done, action_done):
            continue
        # we go from the last block to the first: what is filled already has been overridden
        free = np.atleast_1d(at[s, a] < 0)
        rows = np.atleast_1d(_pool_rows(block, nS, pool, mu))
        if block.s == EVERY and block.a == EVERY:
            rows = np.broadcast_to(rows.reshape(-1, 1), (nS, nA))
        content[s, a] = np.where(free, rows, content[s, a]).reshape(np.shape(content[s, a]))
        at[s, a] = np.where(free, block.at, at[s, a]).reshape(np.shape(at[s, a]))
        resets[s, a] = np.where(free, block.kind == "reset", resets[s, a]).reshape(
            np.shape(resets[s, a])
        )
        # counting rows would cost |S||A| for each line; these two say it of whole rows and columns
        if block.a == EVERY:
            state_done[s] = True
        if block.s == EVERY:
            action_done[a] = True
    return content.ravel(), at.ravel(), resets.ravel()


def _done(
    block: Block, at: Ints, state_done: NDArray[np.bool_], action_done: NDArray[np.bool_]
) -> bool:
    """Whether later blocks have taken all rows of this one. Only what whole blocks took counts for
    the wildcards."""
    if block.s == EVERY and block.a == EVERY:
        return bool(state_done.all() or action_done.all())
    if block.s == EVERY:
        return bool(action_done[block.a] or state_done.all())
    if block.a == EVERY:
        return bool(state_done[block.s] or action_done.all())
    return bool(at[block.s, block.a] >= 0)


def _pool_rows(block: Block, nS: int, pool: _Pool, mu: Values | None) -> int | Ints:
    """The rows of the pool that a block is made of: one for all its rows, or one for each state."""
    match block.kind:
        case "uniform":
            one: Value = zeros(1, pool.exact)[0] + 1
            return pool.constant(one / pool.width)
        case "constant":
            return pool.constant(block.content)
        case "identity":
            return pool.identity() + np.arange(nS)
        case "reset":
            assert mu is not None
            return pool.start(mu)
        case "row":
            return pool.dense(block.content)
        case "matrix":
            return np.array([pool.dense(row) for row in block.content])


def _spread(
    places: Ints, numbers: Values, nS: int, nA: int, width: int, limit: int
) -> tuple[Ints, Values, Ints]:
    """Single entries without wildcards: keys (row, column) in ascending order, their values and
    their lines."""
    keys, picks = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    total = 0
    for every_a, every_s in ((False, False), (True, False), (False, True), (True, True)):
        chosen = np.flatnonzero(
            ((places[:, 0] == EVERY) == every_a) & ((places[:, 1] == EVERY) == every_s)
        )
        a, s, column = (places[chosen, k] for k in range(3))
        own = ((np.where(every_s, 0, s) * nA) + np.where(every_a, 0, a)) * width + column
        # repeated lines of one pattern go before they are spread: a file that sets the same entry
        # for every state a thousand times costs no more than one that does so once
        last = _last_of_each(own, places[chosen, 3])
        chosen, own = chosen[last], own[last]
        steps = (
            np.arange(nS if every_s else 1)[:, None] * nA + np.arange(nA if every_a else 1)
        ).ravel() * width
        total += len(own) * len(steps)
        if total > limit:
            raise TooMany(total)
        keys.append((own[:, None] + steps).ravel())
        picks.append(np.repeat(chosen, len(steps)))
    # lines of different patterns may still meet at one place
    key, pick = np.concatenate(keys), np.concatenate(picks)
    last = _last_of_each(key, places[pick, 3])
    return key[last], numbers[pick[last]], places[pick[last], 3]


def _last_of_each(key: Ints, when: Ints) -> Ints:
    """For each distinct key, in ascending order, the place where it occurs with the largest
    `when`."""
    order = np.lexsort((when, key))
    ends = np.flatnonzero(np.diff(key[order], append=-1) != 0)
    return order[ends]


# ---------------------------------------------------------------------- R


class RewardTable:
    """R(a, s, s', o), looked up where it is asked for; 0 where no line speaks."""

    def __init__(self, rewards: RewardLines, exact: bool, sign: int = 1):
        places, numbers = rewards.arrays(exact)
        self._numbers = numbers if sign == 1 else 0 - numbers  # 0 - 0.0 is 0.0, not -0.0
        self._exact = exact
        self._when = places[:, 4]
        wild = places[:, :4] == EVERY
        self._patterns: list[tuple[NDArray[np.bool_], Ints]] = []
        for code in np.unique(wild @ (1, 2, 4, 8)).tolist():
            chosen = np.flatnonzero(wild @ (1, 2, 4, 8) == code)
            named = np.array([not code >> k & 1 for k in range(4)])
            self._patterns.append((named, chosen))
        self._places = places[:, :4]
        self.names_observations = any(named[3] for named, _ in self._patterns)
        """Whether some line speaks of a particular observation."""

    def __call__(self, a: Ints, s: Ints, s_next: Ints, o: Ints) -> Values:
        """The rewards at some places."""
        pick = self._last_line(np.stack((a, s, s_next, o), axis=1), [True] * 4)
        found = zeros(len(pick), self._exact)
        found[pick >= 0] = self._numbers[pick[pick >= 0]]
        return found

    def speaks_of_observations(self, a: Ints, s: Ints, s_next: Ints) -> NDArray[np.bool_]:
        """For each (a, s, s'), whether a line that names an observation applies to it."""
        asked = np.stack((a, s, s_next, np.zeros_like(a)), axis=1)
        return self._last_line(asked, [True, True, True, False]) >= 0

    def _last_line(self, asked: Ints, columns: list[bool]) -> Ints:
        """For each place the line that has the last word on it, -1 if none; o left out unless
        columns says so."""
        best = np.full(len(asked), -1, dtype=np.int64)
        when = np.full(len(asked), -1, dtype=np.int64)
        for named, chosen in self._patterns:
            # asked without o, only lines that name one count
            if not columns[3] and not named[3]:
                continue
            used = named & columns
            lines, places = _ranked(self._places[chosen][:, used], asked[:, used])
            last = _last_of_each(lines, self._when[chosen])
            index = np.searchsorted(lines[last], places)
            # beyond the end there is no such line; any place will do, since it is compared below
            index[index == len(last)] = 0
            pick = chosen[last[index]]
            better = (lines[last[index]] == places) & (self._when[pick] > when)
            best[better], when[better] = pick[better], self._when[pick[better]]
        return best


def _ranked(lines: Ints, places: Ints) -> tuple[Ints, Ints]:
    """One number for each row of either array, equal where the rows are equal; -1 for places that
    no line names."""
    line_key, place_key = (
        np.zeros(len(lines), dtype=np.int64),
        np.zeros(len(places), dtype=np.int64),
    )
    for k in range(lines.shape[1]):
        distinct, rank = np.unique(lines[:, k], return_inverse=True)
        index = np.searchsorted(distinct, places[:, k])
        index[index == len(distinct)] = 0
        known = distinct[index] == places[:, k]
        # ranks are packed anew after each column: products of four sizes would overflow 64 bits
        joined, line_key = np.unique(line_key * len(distinct) + rank, return_inverse=True)
        wanted = place_key * len(distinct) + index
        found = np.searchsorted(joined, wanted)
        found[found == len(joined)] = 0
        place_key = np.where(known & (place_key >= 0) & (joined[found] == wanted), found, -1)
    return line_key, place_key


# ---------------------------------------------------------------------- sums


def scaled(rows: Rows, tolerance: float, refuse: Callable[[int, Value], Exception]) -> Rows:
    """Rows whose sums lie within `tolerance` of one, divided by their sums; otherwise `refuse(row,
    sum)` is raised."""
    total = add_rows(rows.ptr, rows.value, zeros(len(rows.ptr) - 1, rows.value.dtype == object))
    off = np.abs((total - 1).astype(np.float64))
    uneven = (total != 1).astype(bool) if rows.value.dtype == object else off > _AS_GOOD_AS_ONE
    if (bad := np.flatnonzero(uneven & ((off > tolerance) | (tolerance == 0)))).size:
        raise refuse(int(bad[0]), total[bad[0]])
    if not uneven.any():
        return rows
    divisor = np.where(uneven, total, total * 0 + 1)
    return Rows(rows.ptr, rows.column, rows.value / divisor[rows.row], rows.at)


_AS_GOOD_AS_ONE = 1e-9
"""Float rows this close to one are left as they are, so that a file that was written reads back bit
for bit."""
