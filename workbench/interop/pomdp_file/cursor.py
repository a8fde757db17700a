"""A place in the tokens of a file: what every rule of the grammar reads with, and errors that say
what was expected."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import NoReturn

from workbench.interop.pomdp_file.record import EVERY, Names
from workbench.interop.pomdp_file.source import Source
from workbench.interop.pomdp_file.spelling import NotANumber, Spelled, Value, Values

_NUMBER_BEGINS = frozenset("0123456789+-.")
_MOST = Fraction(100_001, 100_000)
"""The largest probability accepted: rounding in printed files may exceed one a little; sums are
judged later."""


class Cursor:
    """The tokens of a file from place `i` on; each method reads one thing there and moves past
    it."""

    def __init__(self, source: Source, exact: bool, spellings: Mapping[str, Fraction]):
        self.source = source
        self.tokens = [*source.tokens, "", "", ""]  # so that looking ahead never leaves the list
        self.end = len(source.tokens)
        self.i = 0
        self.spelled = Spelled(exact, spellings if exact else None)
        self._probable: set[str] = set()

    def colon(self) -> None:
        if self.tokens[self.i] != ":":
            raise self.source.error(self.i, "':'")
        self.i += 1

    def head(self) -> int:
        """Skip a keyword and its colon; the place of the keyword."""
        at = self.i
        self.i += 1
        self.colon()
        return at

    def index(self, names: Names, star: bool = True) -> int:
        token = self.tokens[self.i]
        if token == "*" and star:
            self.i += 1
            return EVERY
        try:
            place = names[token]
        except KeyError:
            raise self.source.error(
                self.i, names.expected() + (" or '*'" if star else "")
            ) from None
        self.i += 1
        return place

    def at_number(self, ahead: int = 0) -> bool:
        """Whether a number stands here, or so many tokens ahead."""
        return self.tokens[self.i + ahead][:1] in _NUMBER_BEGINS and self.i + ahead < self.end

    def number(self) -> Value:
        token = self.tokens[self.i]
        try:
            value = self.spelled[token]
        except NotANumber as wrong:
            raise self.source.error(self.i, str(wrong)) from None
        self.i += 1
        return value

    def probability(self) -> Value:
        value = self.number()
        if (token := self.tokens[self.i - 1]) not in self._probable:
            self._check_probabilities([token], self.i - 1)
        return value

    def _check_probabilities(self, tokens: list[str], first: int) -> None:
        """Refuse numbers that are no probabilities; each spelling is judged once."""
        for token in set(tokens) - self._probable:
            if not 0 <= self.spelled[token] <= _MOST:
                raise self.source.error(first + tokens.index(token), "a probability from 0 to 1")
            self._probable.add(token)

    def numbers(self, count: int, what: str, shape: tuple[int, ...], hint: str = "") -> Values:
        """The next `count` numbers, and not one more."""
        first = self.i
        wanted = self.tokens[first : min(first + count, self.end)]
        try:
            found = self.spelled.array(wanted)
        except NotANumber:
            found = None
        if found is None or len(wanted) < count:
            self._complain(first, wanted, count, what, shape, hint)
        self.i = first + count
        self.no_more_numbers(
            f"{count:,} number{'s' if count > 1 else ''} for this {what}{_as_matrix(shape)}{hint}"
        )
        return found

    def _complain(
        self,
        first: int,
        wanted: list[str],
        count: int,
        what: str,
        shape: tuple[int, ...],
        hint: str,
    ) -> NoReturn:
        """Point at the first token that is not the number it should be."""
        k, wrong = self._first_fault([*wanted, ""])
        entry = (
            f"row {k // shape[1] + 1}, column {k % shape[1] + 1} of "
            if len(shape) == 2
            else f"entry {k + 1} of "
        )
        raise self.source.error(
            first + k, f"{wrong}: {entry}the {count:,} numbers for this {what}{hint}"
        )

    def _first_fault(self, tokens: list[str]) -> tuple[int, str]:
        """The place of the first token that is no number, and what it should be."""
        for k, token in enumerate(tokens):
            try:
                self.spelled[token]
            except NotANumber as wrong:
                return k, str(wrong)
        raise AssertionError("all of these are numbers")

    def probability_row(self, count: int, what: str, shape: tuple[int, ...]) -> Values:
        first = self.i
        found = self.numbers(count, what, shape)
        self._check_probabilities(self.tokens[first : self.i], first)
        return found

    def no_more_numbers(self, all_there: str) -> None:
        if self.at_number():
            raise self.source.error(self.i, f"the next line, after {all_there}")


def _as_matrix(shape: tuple[int, ...]) -> str:
    return f" ({shape[0]} rows of {shape[1]})" if len(shape) == 2 else ""
