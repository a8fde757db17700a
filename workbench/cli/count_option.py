"""Whole numbers on the command line: 1000000, 1e6 and 1_000_000 mean the same."""

from __future__ import annotations

from fractions import Fraction

import typer


def whole(text: str) -> int:
    """Read a whole number, also one written as 1e6. The parser of options that count something.

    >>> whole("1e6"), whole("30"), whole("2.5e3")
    (1000000, 30, 2500)
    """
    try:
        found = Fraction(str(text))
    except (ValueError, ZeroDivisionError):
        found = Fraction(1, 2)
    if found.denominator != 1:
        raise typer.BadParameter(f"{text!r} is not a whole number, such as 1000000 or 1e6")
    return int(found)
