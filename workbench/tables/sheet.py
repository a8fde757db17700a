"""One table for every result: the same rows in a terminal, in Jupyter and as a pandas frame.

A result says its rows once (`Showing.sheet`). `text` lays them out for a terminal and wraps words
but never a number, `html` is what Jupyter shows, `to_frame` keeps the numbers as they are.

>>> from fractions import Fraction
>>> sheet = Sheet(
...     "Two policies",
...     (Column("policy"), Column("value", "what the policy is worth")),
...     (("left", Fraction(1, 3)), ("right", 2)),
...     "The second policy is better.",
... )
>>> print(sheet.text())
Two policies
policy  value
─────────────
left      1/3
right       2
<BLANKLINE>
The second policy is better.
value: what the policy is worth.
"""

from __future__ import annotations

import importlib
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from workbench.core.errors import WorkbenchError
from workbench.text import brief, escape_html

if TYPE_CHECKING:
    import pandas as pd

_NARROWEST = 10
"""Characters that a column of words keeps, however narrow the terminal is."""


class Column(NamedTuple):
    """The heading of a column, its legend (may be empty), and whether it is aligned right.

    By default a column of numbers is aligned right and one of words left.
    """

    name: str
    meaning: str = ""
    right: bool | None = None


BEST = Column("best", "value of the best deterministic memoryless policy")
"""The column that stands beside every value that was learned, improved or settled at."""


class WrittenNumber(NamedTuple):
    """A cell whose text says more than its number, such as 0.7 ± 0.1."""

    value: Any
    text: str


@dataclass(frozen=True)
class Sheet:
    """A table as a person reads it.

    Attributes
    ----------
    title : what the rows are about; a table without one has no rule below its headings.
    rows : `rows[i][j]`, numbers, words or `WrittenNumber`; a word may have several lines.
    conclusion : the answer in a sentence.
    notes : what else has to be said, a sentence each.
    """

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Any, ...], ...]
    conclusion: str = ""
    notes: tuple[str, ...] = ()

    @classmethod
    def join(cls, title: str, first: Column, sheets: dict[str, Sheet]) -> Sheet:
        """The rows of several results of one kind, each behind the name of its result."""
        one = next(iter(sheets.values()))
        if len(sheets) == 1:
            told, notes = [one.conclusion], dict.fromkeys(one.notes)
        else:
            told = [f"{name}: {x.conclusion}" for name, x in sheets.items() if x.conclusion]
            notes = dict.fromkeys(
                note if all(note in x.notes for x in sheets.values()) else f"{name}: {note}"
                for name, sheet in sheets.items()
                for note in sheet.notes
            )
        rows = ((name, *row) for name, sheet in sheets.items() for row in sheet.rows)
        return cls(title, (first, *one.columns), tuple(rows), "\n".join(told), tuple(notes))

    @property
    def legend(self) -> list[str]:
        """The meaning of each column, in a sentence. Nothing where there are no rows."""
        if not self.rows:
            return []
        return [f"{c.name}: {c.meaning}." for c in self.columns if c.meaning]

    def _is_right(self, j: int) -> bool:
        said = self.columns[j].right
        return not any(isinstance(row[j], str) for row in self.rows) if said is None else said

    def text(self, width: int = 80) -> str:
        """The table for a terminal of so many characters. Words are wrapped, numbers never."""
        if self.title and not self.rows:
            told = [self.title, self.conclusion, *self.notes]
            return "\n".join(line for text in told if text for line in _wrapped(text, width))
        cells = [[_write(x) for x in row] for row in self.rows]
        widths = self._widths([[c.name for c in self.columns], *cells], width)
        right = [self._is_right(j) for j in range(len(widths))]
        lines = _lay_out([c.name for c in self.columns], widths, right)
        if self.title:
            lines = [*_wrapped(self.title, width), *lines]
            lines.append("─" * (sum(widths) + 2 * (len(widths) - 1)))
        for row in cells:
            lines += _lay_out(row, widths, right)
        below = [self.conclusion, *self.legend] if self.title else []
        told = [line for text in below if text for line in _wrapped(text, width)]
        notes = [line for note in self.notes for line in _wrapped(note, width)]
        return "\n".join([*lines, *([""] if told else []), *told, *notes])

    def _widths(self, cells: list[list[str]], width: int) -> list[int]:
        """Widths of the columns. If the table is too wide, the widest columns of words shrink, and
        where that is not enough, those of numbers with words between."""
        widths = [
            max(len(part) for x in column for part in x.split("\n"))
            for column in zip(*cells, strict=True)
        ]
        least = [
            max(_NARROWEST, *(len(word) for row in cells for word in row[j].split()))
            if self.title
            else widths[j]
            for j in range(len(widths))
        ]
        for _ in range(sum(widths) + 2 * (len(widths) - 1) - width):
            giving = [j for j in range(len(widths)) if widths[j] > least[j]]
            if giving:
                widths[max(giving, key=lambda j: (not self._is_right(j), widths[j]))] -= 1
        return widths

    __str__ = text

    def html(self) -> str:
        """The table for Jupyter."""
        top = "".join(
            f"<th{self._style(j)}>{escape_html(c.name)}</th>" for j, c in enumerate(self.columns)
        )
        body = "".join(f"<tr>{self._html_row(row)}</tr>" for row in self.rows)
        table = f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"
        if self.title and not self.rows:
            table = ""
        if not self.title:
            return table + "<br>".join(map(escape_html, self.notes))
        answer = escape_html(self.conclusion).replace("\n", "<br>")
        below = "<br>".join(map(escape_html, (*self.legend, *self.notes)))
        return (
            f"<p><b>{escape_html(self.title)}</b></p>{table}"
            + (f"<p>{answer}</p>" if answer else "")
            + (f"<p><small>{below}</small></p>" if below else "")
        )

    def _html_row(self, row: tuple[Any, ...]) -> str:
        found = []
        for j, x in enumerate(row):
            tag = "th" if j == 0 and not self.title else "td"
            text = escape_html(_write(x)).replace("\n", "<br>")
            found.append(f"<{tag}{self._style(j)}>{text}</{tag}>")
        return "".join(found)

    def _style(self, j: int) -> str:
        return "" if self._is_right(j) else ' style="text-align: left"'

    def to_frame(self) -> pd.DataFrame:
        """The rows as a pandas frame, numbers as they are."""
        plain = [[x.value if isinstance(x, WrittenNumber) else x for x in row] for row in self.rows]
        return _pandas().DataFrame(plain, columns=[c.name for c in self.columns])


ANSWERS = {True: "Yes", False: "No", None: "Not decided"}
"""The first word of a conclusion about a question."""


class Showing:
    """A result that shows itself: `print(result.sheet())` is what its command prints.

    Jupyter shows the same, and `to_frame` has the same rows. The repr stays one line.
    """

    def sheet(self) -> Sheet:
        """The result as a table."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return self.sheet().html()

    def to_frame(self) -> Any:
        """The rows of its table as a pandas frame."""
        return self.sheet().to_frame()


class Drawn:
    """A result of which there is a picture."""

    figure: ClassVar[str]
    """The function of `workbench.figures` that draws it."""

    def drawn_from(self) -> tuple[Any, ...]:
        """What that function is given: the result itself, or what the result is about."""
        return (self,)

    def plot(self, axes: Any = None) -> Any:
        """Draw the result, and return the axes."""
        # Figures import results, and so can be loaded only when a result is there.
        figures = importlib.import_module("workbench.figures")
        return getattr(figures, self.figure)(*self.drawn_from(), axes=axes)


def beside_best(value: str, best: Any) -> str:
    """The end of a sentence that says what a policy is worth: whether that is the best.

    >>> beside_best("3/4", 1), beside_best("1", 1)
    ('; the best deterministic policy is worth 1', ', and no deterministic policy is worth more')
    """
    most = _write(best)
    if isinstance(best, WrittenNumber) and best.value is None:
        return ""
    if value == most:
        return ", and no deterministic policy is worth more"
    return f"; the best deterministic policy is worth {most}"


def _pandas() -> Any:
    try:
        import pandas
    except ModuleNotFoundError:
        raise WorkbenchError(
            "a frame needs pandas; where the workbench is: pip install -e '.[frames]'"
        ) from None
    return pandas


def _write(x: Any) -> str:
    if isinstance(x, WrittenNumber):
        return x.text
    return x if isinstance(x, str) else brief(x)


def _lay_out(row: list[str], widths: list[int], right: list[bool]) -> list[str]:
    """One row as lines: cells of words are wrapped to the widths of their columns."""
    parts = [_wrapped(x, w) for x, w in zip(row, widths, strict=True)]
    lines = []
    for i in range(max(map(len, parts))):
        now = [part[i] if i < len(part) else "" for part in parts]
        lines.append(
            "  ".join(
                x.rjust(w) if r else x.ljust(w) for x, w, r in zip(now, widths, right, strict=True)
            ).rstrip()
        )
    return lines


def _wrapped(text: str, width: int) -> list[str]:
    """Wrap a text into lines. One that fits stays as it is, spaces included."""
    found = []
    for part in text.split("\n"):
        # A hyphen is not a place to break a line: it stands in 1e-5 and in names of options.
        short = len(part) <= width
        found += [part] if short else textwrap.wrap(part, width, break_on_hyphens=False)
    return found
