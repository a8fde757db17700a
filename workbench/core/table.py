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
from workbench.core.words import escape_html, shown, typeset

if TYPE_CHECKING:
    import pandas as pd


class NumberField(Protocol):
    """What a table asks of the number field its elements belong to: the way back to numbers."""

    def back(self, x: Any) -> Number: ...

    def leave(self, raw: NDArray[Any]) -> NDArray[Any]: ...


_ROWS_SHOWN = 20
_COLUMNS_SHOWN = 16


class _Labelled:
    """What vectors and tables have in common: an array of elements and the field they belong to."""

    def __init__(self, raw: NDArray[Any], field: NumberField | None):
        self.raw = raw
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


class Vector(_Labelled):
    """Numbers by the labels of one space."""

    def __init__(
        self, raw: NDArray[Any], space: Space, field: NumberField | None = None, title: str = ""
    ):
        super().__init__(raw, field)
        self.space = space
        self.title = title

    def __getitem__(self, label: Label) -> Any:
        return self._present(self.raw[self.space.index(label)])

    def __len__(self) -> int:
        return len(self.space)

    def to_frame(self) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame({self.title or "value": self.array}, index=_pandas_index(self.space))

    def _cells(
        self, write: Callable[[Any], str] = shown
    ) -> tuple[list[str], list[str], list[list[str]]]:
        rows = range(min(len(self.space), _ROWS_SHOWN))
        cells = [[write(self._present(self.raw[i]))] for i in rows]
        return ["", self.title], [self.space.text(self.space[i]) for i in rows], cells

    def text(self) -> str:
        return _text(*self._cells(), len(self.space), 1) + self._legend()

    __repr__ = text

    def _repr_html_(self) -> str:
        return _html(*self._cells(typeset), len(self.space), 1, self._legend())

    def _legend(self) -> str:
        return _legend(rows=self.space.legend)


class Table(_Labelled):
    """Numbers by the labels of two spaces: `table[row, column]`.

    `error`, where it is known, is a table of bounds on the errors of floats.
    """

    def __init__(
        self,
        raw: NDArray[Any],
        rows: Space,
        columns: Space,
        field: NumberField | None = None,
        title: str = "",
        error: NDArray[np.float64] | None = None,
    ):
        super().__init__(raw, field)
        self.rows = rows
        self.columns = columns
        self.title = title
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

    def _cells(
        self, write: Callable[[Any], str] = shown
    ) -> tuple[list[str], list[str], list[list[str]]]:
        rows = range(min(len(self.rows), _ROWS_SHOWN))
        columns = range(min(len(self.columns), _COLUMNS_SHOWN))
        cells = [[write(self._present(self.raw[i, j])) for j in columns] for i in rows]
        return (
            [self.title, *(self.columns.text(self.columns[j]) for j in columns)],
            [self.rows.text(self.rows[i]) for i in rows],
            cells,
        )

    def text(self) -> str:
        head, labels, cells = self._cells()
        if len(head) > 9 and len(labels) <= 8:  # wide and low reads better standing up
            turned = [list(column) for column in zip(*cells, strict=True)]
            body = _text(
                [head[0], *labels],
                head[1:],
                turned,
                len(self.columns),
                len(self.rows),
                ("columns", "rows"),
            )
            legend = _legend(rows=self.columns.legend, columns=self.rows.legend)
            return body + legend + self._bound()
        body = _text(head, labels, cells, len(self.rows), len(self.columns))
        return body + self._legend() + self._bound()

    __repr__ = text

    def _repr_html_(self) -> str:
        legend = self._legend() + self._bound()
        return _html(*self._cells(typeset), len(self.rows), len(self.columns), legend)

    def _legend(self) -> str:
        return _legend(rows=self.rows.legend, columns=self.columns.legend)

    def _bound(self) -> str:
        if self.error is None:
            return ""
        bounds = self.error.raw[~np.isnan(self.raw)]
        return f"\n|error| <= {np.max(bounds, initial=0.0):.1g}"


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
        """P(s | o) for `[o, s]`; 0 where s does not emit o."""
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


def _rest(shown_count: int, total: int, what: str) -> str:
    return f"... and {total - shown_count:,} more {what}\n" if total > shown_count else ""


def _legend(**legends: str) -> str:
    """What the parts of the labels are, in a line below the table; nothing for plain labels."""
    told = [f"{axis}: {legend}" for axis, legend in legends.items() if legend]
    return "\n" + "; ".join(told) if told else ""


def _text(
    head: list[str],
    labels: list[str],
    cells: list[list[str]],
    rows: int,
    columns: int,
    words: tuple[str, str] = ("rows", "columns"),
) -> str:
    lines = [head, *([label, *row] for label, row in zip(labels, cells, strict=True))]
    widths = [max(len(line[j]) for line in lines) for j in range(len(head))]
    out = ""
    for line in lines:
        first = line[0].ljust(widths[0])
        out += (
            "  ".join(
                [first, *(x.rjust(w) for x, w in zip(line[1:], widths[1:], strict=True))]
            ).rstrip()
            + "\n"
        )
    out += _rest(len(labels), rows, words[0]) + _rest(len(head) - 1, columns, words[1])
    return out.rstrip("\n")


def _html(
    head: list[str],
    labels: list[str],
    cells: list[list[str]],
    rows: int,
    columns: int,
    legend: str,
) -> str:
    top = "".join(f"<th>{escape_html(x)}</th>" for x in head)
    body = "".join(
        f"<tr><th>{escape_html(label)}</th>"
        + "".join(f"<td>{escape_html(x)}</td>" for x in row)
        + "</tr>"
        for label, row in zip(labels, cells, strict=True)
    )
    rest = _rest(len(labels), rows, "rows") + _rest(len(head) - 1, columns, "columns") + legend
    rest = escape_html(rest.strip("\n")).replace("\n", "<br>")
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>{rest}"
