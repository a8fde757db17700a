r"""How numbers and labels are written for people: `core.words` and what else reports need.

| what | function | example |
|---|---|---|
| a label as it is | `show` | `(s2, (∅, (o, 1)), 01)` |
| a label of a space, in short | `Space.text` of `core.space` | `s2 / ∅ | o 1` |
| a number | `shown`, `brief` | `-11/12`, `0.333333`, `-` where it is undefined |
| a number in a notebook | `typeset` | `$\gamma^{2}$` |
| a number as the paper prints it | `decimal` | `0.75`, but `1/3` |
| how many | `counted`, `rounded_count` | `3 states`, `20M` |
| how long | `duration` | `1.6 min` |
| a long text | `shorten` | `the first characters…` |
| a text on a terminal | `printable` | `a\x00b` |
| a text inside HTML | `escape_html` | `&lt;b&gt;` |
| the name that was meant | `nearest`, `did_you_mean` | ` (did you mean OA1?)` |
"""

from __future__ import annotations

import unicodedata
from fractions import Fraction
from typing import Any

from workbench.core.words import (
    UNDEFINED,
    brief,
    counted,
    did_you_mean,
    escape_html,
    nearest,
    shorten,
    show,
    shown,
    typeset,
)

__all__ = [
    "UNDEFINED",
    "brief",
    "counted",
    "decimal",
    "did_you_mean",
    "duration",
    "escape_html",
    "nearest",
    "printable",
    "rounded_count",
    "shorten",
    "show",
    "shown",
    "typeset",
]


def printable(text: str) -> str:
    r"""The text with control characters written as escapes: names come from files.

    >>> printable("a\0b \x1b[31m\n∅")
    'a\\x00b \\x1b[31m\n∅'
    """
    if text.isprintable():
        return text
    return "".join(
        x.encode("unicode_escape").decode() if _is_control(x) and x not in "\n\t" else x
        for x in text
    )


def _is_control(x: str) -> bool:
    kind = unicodedata.category(x)
    return x not in "\n\t" and (kind[0] == "C" or kind in ("Zl", "Zp"))


def decimal(x: Any) -> str:
    """A fraction as the paper prints it: halves, quarters, fifths and tenths as decimal numbers.

    >>> decimal(Fraction(3, 4)), decimal(Fraction(1, 3)), decimal(2)
    ('0.75', '1/3', '2')
    """
    x = Fraction(x)
    return f"{float(x):g}" if x.denominator in (2, 4, 5, 10) else str(x)


def rounded_count(n: int) -> str:
    """A large number in few characters.

    >>> rounded_count(700), rounded_count(1500), rounded_count(20_000_000)
    ('700', '1.5k', '20M')
    """
    for size, unit in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if n >= size:
            return f"{n / size:g}{unit}"
    return str(n)


def duration(seconds: float) -> str:
    """A time in words, to two digits or so.

    >>> duration(0.4), duration(95), duration(7300), duration(400_000)
    ('0.4 s', '1.6 min', '2.0 h', '4.6 days')
    """
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"
