"""Results with labels: `table[o, a]`, `vector[s]`, printed for a terminal and for Jupyter,
`.to_frame()` for pandas.

The numbers inside are elements of a field (`fields`); they become Fractions or sympy expressions
when somebody looks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import WrongType
from workbench.core.numbers import Number, Numbers
from workbench.core.space import Label, Space
from workbench.tables.sheet import Column, Drawn, Sheet
from workbench.text import shown, typeset

if TYPE_CHECKING:
    import pandas as pd

_ROWS_SHOWN = 20
_COLUMNS_SHOWN = 16
_WIDE, _LOW = 8, 8
"""A table with more columns than this and no more rows than that is printed standing up."""


class NumberField(Protocol):
    """What a table asks of the number field its elements belong to: the way back to numbers."""

    def back(self, x: Any) -> Number: ...

    def leave(self, raw: NDArray[Any]) -> NDArray[Any]: ...


def _labelled_sheet(
    corner: str, above: list[str], beside: list[str], cells: list[list[str]], below: list[str]
) -> Sheet:
    """Numbers between the labels above and beside them."""
    columns = (Column(corner, right=False), *(Column(label, right=True) for label in above))
    rows = ((label, *row) for label, row in zip(beside, cells, strict=True))
    return Sheet("", columns, tuple(rows), notes=tuple(below))


def _left_out(shown_count: int, total: int, what: str) -> list[str]:
    return [f"... and {total - shown_count:,} more {what}"] if total > shown_count else []


def _legend(**legends: str) -> list[str]:
    """The names of the parts of the labels. Nothing for plain labels."""
    told = [f"{axis}: {legend}" for axis, legend in legends.items() if legend]
    return ["; ".join(told)] if told else []


class _Labelled:
    """What vectors and tables have in common: an array of elements and the field they belong to."""

    def __init__(self, raw: NDArray[Any], field: NumberField | None, title: str):
        self.raw = raw
        self.title = title
        self._field = field
        raw.setflags(write=False)

    def _present(self, x: Any) -> Any:
        if self._field is not None:
            return None if x is None else self._field.back(x)
        return x.item() if isinstance(x, np.generic) else x

    @property
    def array(self) -> NDArray[Any]:
        """The numbers without labels: float64, or objects (Fractions, expressions, None where
        undefined)."""
        return self.raw if self._field is None else self._field.leave(self.raw)

    def _sheet(self, write: Callable[[Any], str]) -> Sheet:
        raise NotImplementedError

    def __repr__(self) -> str:
        return self._sheet(shown).text()

    def _repr_html_(self) -> str:
        return self._sheet(typeset).html()


class Vector(_Labelled):
    """Numbers by the labels of one space."""

    def __init__(
        self, raw: NDArray[Any], space: Space, field: NumberField | None = None, title: str = ""
    ):
        super().__init__(raw, field, title)
        self.space = space

    def __getitem__(self, label: Label) -> Any:
        return self._present(self.raw[self.space.index(label)])

    def __len__(self) -> int:
        return len(self.space)

    def to_frame(self) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame({self.title or "value": self.array}, index=_pandas_index(self.space))

    def _sheet(self, write: Callable[[Any], str]) -> Sheet:
        labels = [self.space.text(label) for label in self.space[:_ROWS_SHOWN]]
        cells = [[write(self._present(x))] for x in self.raw[:_ROWS_SHOWN]]
        below = _left_out(len(labels), len(self.space), "rows") + _legend(rows=self.space.legend)
        return _labelled_sheet("", [self.title], labels, cells, below)


class Table(_Labelled, Drawn):
    """Numbers by the labels of two spaces: `table[row, column]`.

    `error`, where it is known, is a table of bounds on the errors of floats.
    """

    figure = "q_table"

    def __init__(
        self,
        raw: NDArray[Any],
        rows: Space,
        columns: Space,
        field: NumberField | None = None,
        title: str = "",
        error: NDArray[np.float64] | None = None,
    ):
        super().__init__(raw, field, title)
        self.rows = rows
        self.columns = columns
        self.error = None if error is None else Table(error, rows, columns, None, f"of {title}")

    @classmethod
    def of_numbers(cls, numbers: Numbers, rows: Space, columns: Space, title: str = "") -> Table:
        """From numbers that are already Fractions, expressions or floats."""
        raw = numbers.objects if numbers.is_exact else numbers.floats
        return cls(raw, rows, columns, None, title)

    def __getitem__(self, pair: tuple[Label, Label]) -> Any:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise WrongType(f"ask this table for [row, column], not for {pair!r}")
        return self._present(self.raw[self.rows.index(pair[0]), self.columns.index(pair[1])])

    def row(self, label: Label) -> dict[Label, Any]:
        """One row as {column label: number}."""
        i = self.rows.index(label)
        return {c: self._present(self.raw[i, j]) for j, c in enumerate(self.columns)}

    def to_frame(self) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame(
            self.array, index=_pandas_index(self.rows), columns=_pandas_index(self.columns)
        )

    def _sheet(self, write: Callable[[Any], str], standing: bool = False) -> Sheet:
        beside = [self.rows.text(label) for label in self.rows[:_ROWS_SHOWN]]
        above = [self.columns.text(label) for label in self.columns[:_COLUMNS_SHOWN]]
        cells = [
            [write(self._present(x)) for x in row[:_COLUMNS_SHOWN]]
            for row in self.raw[:_ROWS_SHOWN]
        ]
        rows = _left_out(len(beside), len(self.rows), "rows")
        columns = _left_out(len(above), len(self.columns), "columns")
        legends = {"rows": self.rows.legend, "columns": self.columns.legend}
        if standing:
            rows, columns = columns, rows
            legends = {"rows": self.columns.legend, "columns": self.rows.legend}
        below = [*rows, *columns, *_legend(**legends)]
        if self.error is not None:
            bounds = self.error.raw[~np.isnan(self.raw)]
            below.append(f"|error| <= {np.max(bounds, initial=0.0):.1g}")
        if standing:
            above, beside = beside, above
            cells = [list(column) for column in zip(*cells, strict=True)]
        return _labelled_sheet(self.title, above, beside, cells, below)

    def __repr__(self) -> str:
        wide = len(self.columns) > _WIDE and len(self.rows) <= _LOW
        return self._sheet(shown, wide).text()

    text = __repr__


class Conditional:
    """P(s | o): for each observation a distribution over the states that emit it, sparse."""

    def __init__(
        self,
        raw: NDArray[Any],
        s: NDArray[np.int64],
        o: NDArray[np.int32],
        S: Space,
        O: Space,
        field: NumberField | None = None,
    ):
        self.raw, self.s, self.o, self.S, self.O, self._field = raw, s, o, S, O, field

    def __getitem__(self, pair: tuple[Label, Label]) -> Number:
        """P(s | o) for `[o, s]`. It is 0 where s does not emit o."""
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise WrongType(f"ask for [o, s], not for {pair!r}")
        return self.row(pair[0]).get(self.S[self.S.index(pair[1])], 0)

    def row(self, o: Label) -> dict[Label, Number]:
        """P(. | o) over the states that emit o."""
        places = np.flatnonzero(self.o == self.O.index(o))
        one = Vector(self.raw[places], Space(range(len(places))), self._field)
        return {self.S[int(self.s[k])]: one[i] for i, k in enumerate(places)}

    def to_frame(self) -> pd.DataFrame:
        import pandas as pd

        numbers = self.raw if self._field is None else self._field.leave(self.raw)
        states = [self.S[int(s)] for s in self.s]
        return pd.DataFrame(
            {"o": [self.O[int(o)] for o in self.o], "s": states, "probability": numbers}
        )


def _pandas_index(space: Space) -> pd.Index:
    """Labels as they are: tuples stay single labels instead of becoming levels."""
    import pandas as pd

    return pd.Index(np.fromiter(space, dtype=object, count=len(space)), tupleize_cols=False)
