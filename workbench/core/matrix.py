"""Sparse matrices over a field: the few operations that fixed points of observations need.

A matrix is a compressed pattern and an array of elements (`fields`): float64, or exact numbers as
objects. Entries that are zero are dropped, so that the pattern is the graph of what depends on
what.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from workbench.core.fields import FLOATS, Field
from workbench.core.rows import add_groups, add_rows, own_rows, pick_rows
from workbench.core.solve import Solution


class Matrix:
    """`pattern` holds the places (its own entries mean nothing), `data` the elements."""

    def __init__(self, field: Field, pattern: sp.csr_array, data: NDArray[Any]):
        self.field = field
        self.pattern = pattern
        self.data = data
        self.shape: tuple[int, int] = pattern.shape

    @classmethod
    def of_entries(
        cls,
        field: Field,
        rows: NDArray[Any],
        columns: NDArray[Any],
        values: NDArray[Any],
        shape: tuple[int, int],
    ) -> Matrix:
        """From triples; those of one place are added up."""
        if field is FLOATS:
            found = sp.csr_array(sp.coo_array((values, (rows, columns)), shape=shape))
            found.eliminate_zeros()
            return cls(field, found, found.data)
        keys = rows.astype(np.int64) * shape[1] + columns
        places, inverse = np.unique(keys, return_inverse=True)
        data = add_groups(inverse, values, field.zeros(len(places)))
        kept = np.asarray(data != 0, dtype=bool)
        places, data = places[kept], data[kept]
        indptr = np.searchsorted(places, np.arange(shape[0] + 1) * shape[1])
        pattern = sp.csr_array((np.ones(len(places)), places % shape[1], indptr), shape=shape)
        return cls(field, pattern, data)

    @property
    def rows(self) -> NDArray[np.int64]:
        """The row of each entry."""
        return own_rows(self.pattern.indptr)

    @property
    def floats(self) -> sp.csr_array:
        return sp.csr_array(
            (self.data, self.pattern.indices, self.pattern.indptr), shape=self.shape
        )

    def times(self, factor: Any) -> Matrix:
        """Every entry multiplied by one element."""
        if factor != 0:  # the pattern stays
            return Matrix(self.field, self.pattern, self.data * factor)
        return Matrix.of_entries(
            self.field, self.rows, self.pattern.indices, self.data * factor, self.shape
        )

    def without_rows(self, mask: NDArray[np.bool_]) -> Matrix:
        """The same matrix with some rows emptied."""
        if not mask.any():
            return self
        rows, kept = self.rows, ~mask[self.rows]
        return Matrix.of_entries(
            self.field, rows[kept], self.pattern.indices[kept], self.data[kept], self.shape
        )

    def apply(self, x: NDArray[Any]) -> NDArray[Any]:
        """The product with a vector."""
        if self.field is FLOATS:
            return np.asarray(self.floats @ x)
        terms = self.data * x[self.pattern.indices]
        return add_rows(self.pattern.indptr, terms, self.field.zeros(self.shape[0]))

    def touches(self, mask: NDArray[np.bool_]) -> NDArray[np.bool_]:
        """For each row, whether some entry lies in a set of columns."""
        return np.asarray(self.pattern @ mask.astype(np.float64) > 0)

    def __matmul__(self, other: Matrix) -> Matrix:
        if self.field is FLOATS:
            found = sp.csr_array(self.floats @ other.floats)
            pattern = sp.csr_array(
                (np.ones(found.nnz), found.indices, found.indptr), shape=found.shape
            )
            return Matrix(self.field, pattern, found.data)
        inner = self.pattern.indices
        row_ptr, places = pick_rows(other.pattern.indptr, inner)
        counts = np.diff(row_ptr)
        values = np.repeat(self.data, counts) * other.data[places]
        shape = (self.shape[0], other.shape[1])
        return Matrix.of_entries(
            self.field, np.repeat(self.rows, counts), other.pattern.indices[places], values, shape
        )

    def solve(self, b: NDArray[Any], what: str) -> Solution:
        """x with x = b + (this matrix) x."""
        return self.field.solve(self.pattern, self.data, self.field.one(1), b, what)


def stacked(field: Field, blocks: list[list[Matrix | None]]) -> Matrix:
    """A matrix of blocks; None stands for zeros, and each row and column of blocks has a matrix
    that tells its size."""
    heights = [next(m.shape[0] for m in row if m is not None) for row in blocks]
    widths = [
        next(m.shape[1] for m in column if m is not None) for column in zip(*blocks, strict=True)
    ]
    top, left = np.concatenate(([0], np.cumsum(heights))), np.concatenate(([0], np.cumsum(widths)))
    parts = [(i, j, m) for i, row in enumerate(blocks) for j, m in enumerate(row) if m is not None]
    rows = np.concatenate([m.rows + top[i] for i, _, m in parts])
    columns = np.concatenate([m.pattern.indices + left[j] for _, j, m in parts])
    values = np.concatenate([m.data for _, _, m in parts])
    return Matrix.of_entries(field, rows, columns, values, (int(top[-1]), int(left[-1])))
