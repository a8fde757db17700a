"""Numbers of a `.POMDP` file: floats, or the rationals that the decimals spell.

Arrays are float64, or hold Fractions as objects; numpy's arithmetic works on both, so that what is
done with the tables of a file is written once. `Spelled` turns tokens into numbers and remembers
each spelling it has met.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.interop.pomdp_file.source import NUMBER

Value = float | Fraction
Values = NDArray[Any]
"""A float64 array, or an object array of Fractions."""

LONGEST_NUMBER = 400
"""Characters of a number, and the largest exponent of ten that exact reading accepts."""

_EXPONENT = re.compile(r"[eE]([+-]?\d+)\Z")


class NotANumber(Exception):
    """Raised by `Spelled` for a token that spells no number; the argument says what is wrong with
    it."""


class Spelled(dict[str, Value]):
    """From the spelling of a number to the number.

    >>> Spelled(exact=True)["2.5e-1"], Spelled(exact=False)["- 5"]
    (Fraction(1, 4), -5.0)
    """

    def __init__(self, exact: bool, known: Mapping[str, Fraction] | None = None):
        super().__init__(known or {})
        self.exact = exact

    def __missing__(self, token: str) -> Value:
        if not NUMBER.fullmatch(token):
            raise NotANumber("a number")
        if len(token) > LONGEST_NUMBER:
            raise NotANumber(f"a number of at most {LONGEST_NUMBER} characters")
        bare = token.replace(" ", "").replace("\t", "")
        value: Value = self._fraction(bare) if self.exact else float(bare)
        if isinstance(value, float) and not math.isfinite(value):
            raise NotANumber("a number within the range of floats")
        self[token] = value
        return value

    @staticmethod
    def _fraction(token: str) -> Fraction:
        exponent = _EXPONENT.search(token)
        if exponent and abs(int(exponent[1])) > LONGEST_NUMBER:
            raise NotANumber(f"a number whose exponent of ten is at most {LONGEST_NUMBER}")
        return Fraction(token)

    def array(self, tokens: Sequence[str]) -> Values:
        """The numbers of some tokens; raises `NotANumber` at the first that is none."""
        return values(map(self.__getitem__, tokens), len(tokens), self.exact)

    def one(self, numerator: int = 1, denominator: int = 1) -> Value:
        return Fraction(numerator, denominator) if self.exact else numerator / denominator


def values(items: Any, count: int, exact: bool) -> Values:
    """An array of numbers from an iterator."""
    if not exact:
        return np.fromiter(items, dtype=np.float64, count=count)
    array = np.empty(count, dtype=object)
    for i, item in enumerate(items):
        array[i] = item
    return array


def full(count: int, value: Value) -> Values:
    """An array with one value everywhere."""
    array = np.empty(count, dtype=np.float64 if isinstance(value, float) else object)
    array[:] = value
    return array


def zeros(count: int, exact: bool) -> Values:
    return full(count, Fraction(0) if exact else 0.0)
