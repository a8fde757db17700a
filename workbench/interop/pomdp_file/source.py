"""The text of a `.POMDP` file as tokens, and errors that point into it.

A token is a number (with its sign), a name, a colon, a star, or a run of characters that is none of
them and that no rule of the grammar accepts. Comments run from `#` to the end of their line, so
leaving them out moves no other token. Only the tokens are kept; the place of one is found again by
a second scan, when an error needs it.

>>> source = Source("T: listen  # both doors\\n identity", name="tiger")
>>> source.tokens
['T', ':', 'listen', 'identity']
>>> print(source.error(3, "a number"))
tiger:2:2: expected a number, found 'identity'
   identity
   ^
"""

from __future__ import annotations

import itertools
import re

from workbench.core.errors import WorkbenchError
from workbench.text import shorten

_UNSIGNED = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])"
_NAME = r"[^\W\d][\w.'-]*"
_TOKEN = re.compile(rf"(?:[+-][ \t]*)?{_UNSIGNED}|{_NAME}|[:*]|[^\s:*]+")
_COMMENT = re.compile(r"#[^\n]*")
_LONGEST_LINE_SHOWN = 100

NUMBER = re.compile(rf"(?:[+-][ \t]*)?{_UNSIGNED}")
NAME = re.compile(_NAME)


class PomdpFileError(WorkbenchError):
    """A `.POMDP` file that cannot be read, or a POMDP that cannot be written as one.

    Attributes
    ----------
    source_name : the file's name.
    line, column : where, counted from 1; None when no place in the text is to blame.
    text : the line itself.
    expected : what should have stood there, where that is known.
    """

    def __init__(
        self,
        message: str,
        source_name: str | None = None,
        line: int | None = None,
        column: int | None = None,
        text: str = "",
        expected: str | None = None,
    ):
        self.source_name, self.line, self.column, self.text, self.expected = (
            source_name,
            line,
            column,
            text,
            expected,
        )
        place = ":".join(str(part) for part in (source_name, line, column) if part is not None)
        shown = f"{place}: {message}" if place else message
        if line is not None and column is not None:
            shown += _excerpt(text, column)
        super().__init__(shown)


def _excerpt(text: str, column: int) -> str:
    """The line with a caret below the column; a long line only around it."""
    first = max(0, column - 1 - _LONGEST_LINE_SHOWN // 2)
    part = text[first : first + _LONGEST_LINE_SHOWN]
    before, after = "..." if first else "", "..." if first + _LONGEST_LINE_SHOWN < len(text) else ""
    indent = len(before) + column - 1 - first
    visible = "".join(
        c if c.isprintable() else " " for c in part
    )  # a tab becomes one blank, the caret stays below
    return f"\n  {before}{visible}{after}\n  {' ' * indent}^"


class Source:
    """A file's text, its tokens, and where each of them stands.

    Attributes
    ----------
    name : shown in errors.
    tokens : list of str.
    """

    def __init__(self, text: str, name: str = "text"):
        self.name = name
        self.text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        self._bare = _COMMENT.sub("", self.text)
        self.tokens: list[str] = _TOKEN.findall(self._bare)

    def offset(self, k: int) -> int:
        """Where token k starts in the text without comments; its end for a k past the last
        token."""
        found = next(itertools.islice(_TOKEN.finditer(self._bare), k, None), None)
        return found.start() if found else len(self._bare.rstrip())

    def place(self, k: int) -> tuple[int, int, str]:
        """Line and column of token k, counted from 1, and the line as it stands in the file."""
        offset = self.offset(k)
        line = self._bare.count("\n", 0, offset)
        column = offset - (self._bare.rfind("\n", 0, offset) + 1)
        return line + 1, column + 1, self.text.split("\n")[line]

    def line_of(self, k: int) -> int:
        return self.place(k)[0]

    def error(self, k: int, expected: str, found: str | None = None) -> PomdpFileError:
        """Something else than `expected` stands at token k."""
        if found is None:
            found = repr(_short(self.tokens[k])) if k < len(self.tokens) else "the end of the file"
        return PomdpFileError(
            f"expected {expected}, found {found}", self.name, *self.place(k), expected=expected
        )

    def fault(self, k: int, message: str) -> PomdpFileError:
        """What stands at token k is well formed but cannot be meant."""
        return PomdpFileError(message, self.name, *self.place(k))

    def fault_at_line(self, line: int, message: str) -> PomdpFileError:
        """A fault in a comment, which has no tokens; `line` is counted from 1."""
        return PomdpFileError(message, self.name, line, 1, self.text.split("\n")[line - 1])


def _short(token: str) -> str:
    return shorten(token, 40)
