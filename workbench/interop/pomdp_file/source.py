"""The text of a `.POMDP` file as tokens and numbers, and errors that point into it.

A token is a number (with its sign), a name, a colon, a star, or a run of characters that is none of
them and that no rule of the grammar accepts. Comments run from `#` to the end of their line, so
leaving them out moves no other token. Only the tokens are kept; the place of one is found again by
a second scan, when an error needs it.

Numbers are floats, or the rationals that the decimals spell.

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
import math
import re
from fractions import Fraction

from workbench.core.errors import WorkbenchError
from workbench.text import shorten

Value = float | Fraction

_UNSIGNED = r"(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w.])"
_NAME = r"[^\W\d][\w.'-]*"
_TOKEN = re.compile(rf"(?:[+-][ \t]*)?{_UNSIGNED}|{_NAME}|[:*]|[^\s:*]+")
_COMMENT = re.compile(r"#[^\n]*")
_EXPONENT = re.compile(r"[eE]([+-]?\d+)\Z")
_LONGEST_LINE_SHOWN = 100
_LONGEST_NUMBER = 400
"""Characters of a number, and the largest exponent of ten that exact reading accepts."""

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
        self.source_name, self.line, self.column = source_name, line, column
        self.text, self.expected = text, expected
        where = ":".join(str(part) for part in (source_name, line, column) if part is not None)
        shown = f"{where}: {message}" if where else message
        if line is not None and column is not None:
            shown += _excerpt(text, column)
        super().__init__(shown)


def _excerpt(text: str, column: int) -> str:
    """The line with a caret below the column. A long line only around it."""
    first = max(0, column - 1 - _LONGEST_LINE_SHOWN // 2)
    last = first + _LONGEST_LINE_SHOWN
    # a tab becomes one blank, so that the caret stays below its column
    visible = "".join(c if c.isprintable() else " " for c in text[first:last])
    before, after = "..." if first else "", "..." if last < len(text) else ""
    indent = len(before) + column - 1 - first
    return f"\n  {before}{visible}{after}\n  {' ' * indent}^"


class Source:
    """A file's text, its tokens, and where each of them stands."""

    def __init__(self, text: str, name: str = "text"):
        self.name = name
        self.text = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        self._bare = _COMMENT.sub("", self.text)
        self.tokens: list[str] = _TOKEN.findall(self._bare)

    def place(self, k: int) -> tuple[int, int, str]:
        """Line and column of token k, counted from 1, and the line itself. For a k past the last
        token it is the end of the text."""
        found = next(itertools.islice(_TOKEN.finditer(self._bare), k, None), None)
        offset = found.start() if found else len(self._bare.rstrip())
        line = self._bare.count("\n", 0, offset)
        column = offset - (self._bare.rfind("\n", 0, offset) + 1)
        return line + 1, column + 1, self.text.split("\n")[line]

    def error(self, k: int, expected: str) -> PomdpFileError:
        """Something else than `expected` stands at token k."""
        there = k < len(self.tokens)
        found = repr(shorten(self.tokens[k], 40)) if there else "the end of the file"
        message = f"expected {expected}, found {found}"
        return PomdpFileError(message, self.name, *self.place(k), expected=expected)

    def fault(self, k: int, message: str) -> PomdpFileError:
        """Report token k, which is well formed but cannot be meant."""
        return PomdpFileError(message, self.name, *self.place(k))

    def fault_at_line(self, line: int, message: str) -> PomdpFileError:
        """A fault in a comment, which has no tokens. `line` is counted from 1."""
        return PomdpFileError(message, self.name, line, 1, self.text.split("\n")[line - 1])


# ---------------------------------------------------------------------- numbers


class NotANumber(Exception):
    """Raised by `Spelled` for a token that spells no number. The argument says what is wrong."""


class Spelled(dict[str, Value]):
    """From the spelling of a number to the number, each spelling read once.

    >>> Spelled(exact=True)["2.5e-1"], Spelled(exact=False)["- 5"]
    (Fraction(1, 4), -5.0)
    """

    def __init__(self, exact: bool):
        super().__init__()
        self.exact = exact

    def __missing__(self, token: str) -> Value:
        if not NUMBER.fullmatch(token):
            raise NotANumber("a number")
        if len(token) > _LONGEST_NUMBER:
            raise NotANumber(f"a number of at most {_LONGEST_NUMBER} characters")
        bare = token.replace(" ", "").replace("\t", "")
        exponent = _EXPONENT.search(bare)
        # Fraction("1e999999999") would compute a number of a billion digits
        if self.exact and exponent and abs(int(exponent[1])) > _LONGEST_NUMBER:
            raise NotANumber(f"a number whose exponent of ten is at most {_LONGEST_NUMBER}")
        value: Value = Fraction(bare) if self.exact else float(bare)
        if isinstance(value, float) and not math.isfinite(value):
            raise NotANumber("a number within the range of floats")
        self[token] = value
        return value
