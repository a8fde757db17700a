"""Compressed rows: tables with few entries in each row, laid end to end.

Row i of a table has its entries at the places row_ptr[i], ..., row_ptr[i+1] - 1 of every column
(`s_next`, `r`, `prob` for p; `o`, `prob` for omega). This module alone knows how such rows are
measured, added up, picked and thinned; kernels read them as they are.

>>> row_ptr = point_rows(np.array([2, 0, 1]))
>>> (
...     row_ptr.tolist(),
...     own_rows(row_ptr).tolist(),
...     add_rows(row_ptr, np.array([1.0, 2.0, 4.0])).tolist(),
... )
([0, 2, 2, 3], [0, 0, 2], [3.0, 0.0, 4.0])
>>> pick_rows(row_ptr, np.array([2, 0]))[1].tolist()
[2, 0, 1]
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from workbench.core.numbers import Number, Numbers, frozen
from workbench.core.space import Label, Space

Places = NDArray[np.int64]


def point_rows(counts: NDArray[Any]) -> Places:
    """Row pointers of rows with so many entries each."""
    row_ptr = np.zeros(len(counts) + 1, dtype=np.int64)
    np.cumsum(counts, out=row_ptr[1:])
    return row_ptr


def row_places(row_ptr: NDArray[Any], row: int) -> range:
    """The places of the entries of one row."""
    return range(int(row_ptr[row]), int(row_ptr[row + 1]))


def merge_rows(row_ptr: NDArray[Any], n: int) -> Places:
    """Row pointers of a table in which every n rows become one. The rows s |A| + a of a model
    become those of its states."""
    return np.ascontiguousarray(row_ptr[::n])


def own_rows(row_ptr: NDArray[Any]) -> Places:
    """For each entry the row that it is in."""
    return np.repeat(np.arange(len(row_ptr) - 1), np.diff(row_ptr))


def without_signs(
    row_ptr: NDArray[Any], indices: NDArray[Any]
) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
    """The same rows with unsigned indices, for kernels that go through them often. An unsigned
    index needs no test for counting from the end, which takes a fifth of their time."""
    places = np.ascontiguousarray(row_ptr, dtype=np.int64).view(np.uint64)
    return places, np.ascontiguousarray(indices, dtype=np.int32).view(np.uint32)


def add_rows(
    row_ptr: NDArray[Any], values: NDArray[Any], zero: NDArray[Any] | None = None
) -> NDArray[Any]:
    """The sum over each row, `zero` where it is empty. The entries are floats or exact numbers."""
    filled = row_ptr[1:] > row_ptr[:-1]
    total: NDArray[Any] = np.zeros(len(filled)) if zero is None else zero.copy()
    if values.dtype == object:
        return _add_one_by_one(own_rows(row_ptr), values, total)
    if filled.any():
        total[filled] = np.add.reduceat(values, row_ptr[:-1][filled])  # they lie back to back
    return total


def add_groups(keys: NDArray[Any], values: NDArray[Any], zero: NDArray[Any]) -> NDArray[Any]:
    """Add to `zero`, at each key, the values (or rows of values) with that key. They are floats or
    exact numbers."""
    total = zero.copy()
    if values.dtype == object:
        return _add_one_by_one(keys, values, total)
    order = np.argsort(keys, kind="stable")
    found, starts = np.unique(keys[order], return_index=True)
    if len(found):
        total[found] = np.add.reduceat(values[order], starts, axis=0)
    return total


def _add_one_by_one(keys: NDArray[Any], values: NDArray[Any], total: NDArray[Any]) -> NDArray[Any]:
    """Add exact numbers. numpy's `reduceat` goes on after an exception of one of them, Ctrl-C say,
    and then fails with another."""
    for key, value in zip(keys.tolist(), values, strict=True):
        total[key] = total[key] + value
    return total


def pick_spans(first: NDArray[Any], counts: NDArray[Any]) -> tuple[Places, Places]:
    """Row pointers and places of rows that start at `first` and have `counts` entries each."""
    row_ptr = point_rows(counts)
    return row_ptr, np.arange(row_ptr[-1]) + np.repeat(first - row_ptr[:-1], counts)


def pick_rows(row_ptr: NDArray[Any], rows: NDArray[Any]) -> tuple[Places, Places]:
    """Row pointers of some rows of a table, and the places of their entries in it."""
    return pick_spans(row_ptr[rows], row_ptr[rows + 1] - row_ptr[rows])


def keep_entries(row_ptr: NDArray[Any], kept: NDArray[np.bool_]) -> Places:
    """Row pointers of a table of which only some entries are kept."""
    return np.concatenate(([0], np.cumsum(kept)))[row_ptr]


class Rows:
    """Columns in compressed rows: each field of the dataclass that holds one number an entry."""

    columns: ClassVar[tuple[str, ...]]
    row_ptr: NDArray[np.int64]
    prob: Numbers

    def pick(self, row_ptr: Places, k: NDArray[Any]) -> Self:
        """The same table with other rows, whose entries are those at the places k, or of a mask."""
        taken: dict[str, Any] = {}
        for name in self.columns:
            column = getattr(self, name)
            taken[name] = column.take(k) if isinstance(column, Numbers) else frozen(column[k])
        return replace(self, row_ptr=frozen(row_ptr), **taken)  # type: ignore[type-var]

    def keep(self, kept: NDArray[np.bool_]) -> Self:
        """The same rows with some of their entries."""
        return self if kept.all() else self.pick(keep_entries(self.row_ptr, kept), kept)


@dataclass(frozen=True, eq=False)
class Transitions(Rows):
    """Transition probabilities p(s', r | s, a) in compressed rows. Row `s * |A| + a`. Called with
    labels it returns {(s_next, r): prob}."""

    columns = ("s_next", "r", "prob")
    S: Space
    A: Space
    row_ptr: NDArray[np.int64]
    s_next: NDArray[np.int32]
    r: Numbers
    prob: Numbers

    def __call__(self, s: Label, a: Label) -> dict[tuple[Label, Number], Number]:
        span = row_places(self.row_ptr, self.S.index(s) * len(self.A) + self.A.index(a))
        return {(self.S[int(self.s_next[k])], self.r[k]): self.prob[k] for k in span}


@dataclass(frozen=True, eq=False)
class Emissions(Rows):
    """omega(o | s) in compressed rows, one for each state. Called with a label it returns {o:
    prob}.

    Attributes
    ----------
    s : the state of each entry.
    is_deterministic : whether every state has one observation. `o` is then that of each state.
    """

    columns = ("o", "prob")
    S: Space
    O: Space
    row_ptr: NDArray[np.int64]
    o: NDArray[np.int32]
    prob: Numbers
    s: NDArray[np.int64] = field(init=False)
    is_deterministic: bool = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "s", frozen(own_rows(self.row_ptr)))
        object.__setattr__(self, "is_deterministic", len(self.o) == len(self.S))

    def __call__(self, s: Label) -> dict[Label, Number]:
        span = row_places(self.row_ptr, self.S.index(s))
        return {self.O[int(self.o[k])]: self.prob[k] for k in span}
