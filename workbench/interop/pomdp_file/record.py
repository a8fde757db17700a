"""What a `.POMDP` file says, before it means anything: names, start, and the lines for T, O and R
in their order.

Every line remembers `at`, the number of its first token. It orders the lines, because a later one
overrides an earlier one wherever both apply, and it leads an error back to the text. `EVERY` stands
for the wildcard `*`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from workbench.interop.pomdp_file.spelling import Value, Values, values

EVERY = -1


class Names:
    """The states, actions or observations of a file: `count` of them, with names or without.

    Indexing with a token gives its number; names and numbers may both be used, as the format says.
    """

    def __init__(self, kind: str, count: int, names: list[str] | None = None):
        self.kind, self.count, self.names = kind, count, names
        self._places: dict[str, int] = (
            {} if names is None else {name: i for i, name in enumerate(names)}
        )

    def __getitem__(self, token: str) -> int:
        """The number of a state, action or observation; KeyError if there is none of this name."""
        place = self._places.get(token)
        if place is None:
            if not (
                token.isascii() and token.isdigit() and len(token) <= 18 and int(token) < self.count
            ):
                raise KeyError(token)
            place = self._places[token] = int(token)
        return place

    def __len__(self) -> int:
        return self.count

    def label(self, i: int) -> str | int:
        """The label of a POMDP: the name, or the number where the file gives a count."""
        return i if self.names is None else self.names[i]

    @property
    def labels(self) -> list[str] | range:
        return range(self.count) if self.names is None else self.names

    def expected(self) -> str:
        """What a reader should have written here."""
        numbers = "the number 0" if self.count == 1 else f"a number from 0 to {self.count - 1}"
        article = "an" if self.kind[0] in "ao" else "a"
        if self.names is None:
            return f"{article} {self.kind} ({numbers})"
        some = ", ".join(self.names[:5]) + (", ..." if self.count > 5 else "")
        return f"{article} {self.kind} ({some}, or {numbers})"


Kind = Literal["row", "matrix", "uniform", "identity", "reset", "constant"]


@dataclass(frozen=True)
class Block:
    """A line for T or O that fills whole rows: those of action `a` in state `s`, either of which
    may be `EVERY`.

    content : for "row" one number for each column; for "matrix" |S| such rows; for "constant" the
        one number.
    """

    a: int
    s: int
    kind: Kind
    at: int
    content: Any = None


@dataclass
class TableLines:
    """The lines for T (columns: states) or O (columns: observations), blocks and single entries
    apart."""

    letter: str
    columns: Names
    blocks: list[Block] = field(default_factory=list)
    cells: list[tuple[int, int, int, int]] = field(default_factory=list)  # a, s, column, at
    cell_values: list[Value] = field(default_factory=list)

    def cell_arrays(self, exact: bool) -> tuple[NDArray[np.int64], Values]:
        """The single entries as an array with columns a, s, column, at, and their values."""
        places = np.array(self.cells, dtype=np.int64).reshape(len(self.cells), 4)
        return places, values(self.cell_values, len(self.cell_values), exact)


@dataclass
class RewardLines:
    """The lines for R: each a set of entries (a, s, s', o, at) with values; `EVERY` in any of the
    four places."""

    cells: list[tuple[int, int, int, int, int]] = field(default_factory=list)
    cell_values: list[Value] = field(default_factory=list)
    blocks: list[tuple[NDArray[np.int64], Values]] = field(default_factory=list)

    def arrays(self, exact: bool) -> tuple[NDArray[np.int64], Values]:
        """All entries as an array with columns a, s, s', o, at, and their values."""
        places = [np.array(self.cells, dtype=np.int64).reshape(len(self.cells), 5)]
        numbers = [values(self.cell_values, len(self.cell_values), exact)]
        for block, block_values in self.blocks:
            places.append(block)
            numbers.append(block_values)
        return np.concatenate(places), np.concatenate(numbers)


@dataclass
class Start:
    """The line for the start: which states it names (None: all), or a probability for each
    state."""

    at: int
    states: NDArray[np.int64] | None = None
    vector: Values | None = None


@dataclass
class Record:
    """A whole file. `O` is None and `observations` too when it declares none: the state itself is
    then observed."""

    gamma: Value
    cost: bool
    states: Names
    actions: Names
    observations: Names | None
    T: TableLines
    O: TableLines | None
    R: RewardLines
    start: Start
    exact: bool
