r"""How numbers and labels are written for people, and which name a misspelt one means.

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

import contextlib
import difflib
import html
import math
import unicodedata
from collections.abc import Iterable
from decimal import MAX_EMAX, MIN_EMIN, Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import sympy

UNDEFINED = "-"
"""What stands where a number is undefined."""

_LONGEST_FRACTION = 14
"""Characters: a longer fraction is written as a decimal number, because nobody reads it."""

_LONGEST_EXPRESSION = 40


def show(label: Any) -> str:
    """A label as a person reads it: the empty sign for None, no quotes, tuples in brackets.

    >>> show(("s2", (None, ("o", 1)), "01"))
    '(s2, (∅, (o, 1)), 01)'
    """
    if label is None:
        return "∅"
    if isinstance(label, tuple):
        inner = ", ".join(show(part) for part in label)
        return f"({inner},)" if len(label) == 1 else f"({inner})"
    return str(label)


def shown(
    x: Any,
    digits: int = 6,
    longest: int = _LONGEST_FRACTION,
    undefined: str = UNDEFINED,
    noise: float = 0.0,
) -> str:
    """A number as text: a short fraction as it is, anything else with some digits.

    Parameters
    ----------
    digits : of floats, and of fractions that are too long.
    longest : characters that a fraction may have.
    undefined : what stands for None and NaN.
    noise : floats below this size are rounding errors of zero.

    >>> shown(Fraction(-11, 12)), shown(Fraction(116490258898219, 204800000000000)), shown(2.0)
    ('-11/12', '0.5688', '2')
    >>> shown(None), shown(float("nan"), undefined=""), shown(True), shown(1e-17, noise=5e-13)
    ('-', '', 'yes', '0')
    """
    if x is None:
        return undefined
    if isinstance(x, bool | np.bool_):
        return "yes" if x else "no"
    if isinstance(x, float | np.floating):
        if np.isnan(x):
            return undefined
        return f"{0.0 if abs(float(x)) < noise else x:.{digits}g}"
    if isinstance(x, Fraction | int | np.integer):
        exact = Fraction(int(x)) if isinstance(x, np.integer) else Fraction(x)
        # Asked before its digits are written, which Python refuses for thousands of them.
        few = exact.numerator.bit_length() + exact.denominator.bit_length() <= 4 * longest
        text = str(exact) if few else ""
        return text if few and len(text) <= longest else _rounded(exact, digits)
    return shorten(str(x).replace("**", "^"), _LONGEST_EXPRESSION)


def typeset(x: Any) -> str:
    r"""A number as text inside HTML that Jupyter shows: symbols as LaTeX, anything else as `shown`.

    >>> from sympy import Symbol
    >>> typeset(Symbol("gamma") ** 2), typeset(Fraction(1, 3))
    ('$\\gamma^{2}$', '1/3')
    """
    if getattr(x, "free_symbols", None):
        return f"${sympy.latex(x)}$"
    return shown(x)


def brief(x: Any) -> str:
    """A number inside a sentence or a narrow table: a fraction only if it is short.

    >>> brief(Fraction(3, 4)), brief(Fraction(6643, 3125))
    ('3/4', '2.12576')
    """
    return shown(x, longest=8)


def between(lower: Any, upper: Any, margin: Any = 0) -> str:
    """A value, or the two bounds on it if they are further apart than the margin.

    >>> between(1.0, 1.5, 1e-6), between(1.0, 1.0 + 1e-9, 1e-6), between(3, float("inf"))
    ('1 to 1.5', '1', 'at least 3')
    >>> between(Fraction(729, 2000), 0.729)
    '0.3645 to 0.729'
    """
    if isinstance(upper, float):
        lower = float(lower)
    if upper - lower <= margin:
        return brief(lower)
    return f"at least {brief(lower)}" if upper == math.inf else f"{brief(lower)} to {brief(upper)}"


def _rounded(x: Fraction, digits: int) -> str:
    """Some digits of a number that may be larger, or nearer to zero, than any float."""
    with contextlib.suppress(OverflowError):
        if (near := float(x)) != 0 or x == 0:
            return f"{near:.{digits}g}"
    with localcontext() as context:
        context.prec, context.Emax, context.Emin = digits, MAX_EMAX, MIN_EMIN
        return f"{(Decimal(x.numerator) / Decimal(x.denominator)).normalize():e}"


def counted(n: int, word: str) -> str:
    """How many there are, in words.

    >>> counted(1, "state"), counted(1250, "state")
    ('1 state', '1,250 states')
    """
    return f"{n:,} {word}{'' if n == 1 else 's'}"


def shorten(text: str, longest: int = 60) -> str:
    """A text whose end is left out if it is long: labels of compiled environments are whole
    screens.

    >>> shorten("a screen of text", 9), shorten("short", 9)
    ('a screen…', 'short')
    """
    return text if len(text) <= longest else text[: longest - 1] + "…"


def escape_html(text: Any) -> str:
    """A text that can stand between tags and inside quoted attributes, whoever wrote it.

    >>> escape_html("<img src=x onerror='f()'>")
    '&lt;img src=x onerror=&#x27;f()&#x27;&gt;'
    """
    return html.escape(str(text), quote=True)


def nearest(name: str, known: Iterable[str]) -> list[str]:
    """A list with the known name that is most like a name, or an empty one.

    Capitals, spaces and hyphens do not count.

    >>> (
    ...     nearest("b1", ["none", "B1", "B2"]),
    ...     nearest("q-learning", ["qlearning", "sarsa"]),
    ...     nearest("xyz", ["B1"]),
    ... )
    (['B1'], ['qlearning'], [])
    """
    plain: dict[str, str] = {}
    for other in known:
        plain.setdefault(_plain(other), other)
    given = _plain(name)
    found = difflib.get_close_matches(given, plain, n=1, cutoff=0.5)
    if not found:  # "lemma c.3" holds the name C3
        found = sorted((x for x in plain if len(x) > 1 and x in given), key=len, reverse=True)[:1]
    return [plain[x] for x in found]


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of an error message: a proposal in brackets, or nothing where no name is near.

    >>> did_you_mean("OA 1", ["OA1", "B1"]), did_you_mean("xyz", ["OA1"])
    (' (did you mean OA1?)', '')
    """
    found = nearest(name, known)
    return f" (did you mean {found[0]}?)" if found else ""


def _plain(name: str) -> str:
    return "".join(c for c in name.lower() if c not in " -_.")


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
