"""The grammar of Cassandra's `.POMDP` files, read by recursive descent into a `Record`.

    file      = { discount | values | states | actions | observations | start | T | O | R }
    discount  = "discount" ":" number                       in [0, 1]
    values    = "values" ":" ("reward" | "cost")
    states    = "states" ":" (count | name { name })        likewise actions, observations
    start     = "start" ":" (number x |S| | "uniform" | state { state })
              | "start" ("include" | "exclude") ":" state { state }
    T         = "T" ":" action ":" state ":" state number
              | "T" ":" action ":" state (number x |S| | "uniform" | "reset")
              | "T" ":" action (number x |S||S| | "uniform" | "identity" | "reset")
    O         = the same with observations for the second state, without "reset"
    R         = "R" ":" action ":" state ":" state ":" observation number
              | "R" ":" action ":" state ":" state (number x |O|)
              | "R" ":" action ":" state (number x |S||O|)

An action, state or observation is a name, a number counted from 0, or `*` for all of them. Line
breaks mean nothing. The five header lines come before the first T, O or R; `start` may stand
anywhere after `states`. A file without `observations` is an MDP: R then ends at the second state
(or at `: *` after it), and `R: action` may be followed by |S||S| numbers. The format is that of
`pomdp-solve` (A. Cassandra, pomdp.org, "POMDP file format"); accepted beyond it are numbers such as
`.5` and `5.`, names with dots and apostrophes, `T: a reset`, `O: a identity` where |O| = |S|,
`values: rewards`, and several states after `start:`, which mean the same as after `start include:`.
"""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import NoReturn

from workbench.interop.pomdp_file.source import NAME, NotANumber, Source, Spelled, Value

EVERY = -1
"""The wildcard `*`."""

_HEADER = ("discount", "values", "states", "actions", "observations", "start")
RESERVED = frozenset(
    {*_HEADER, "include", "exclude", "T", "O", "R", "uniform", "identity", "reset"}
    | {"reward", "cost"}
)
"""The words of the format, which can name nothing."""

_NUMBER_BEGINS = frozenset("0123456789+-.")
_MOST = Fraction(100_001, 100_000)
"""The largest probability accepted: rounding in printed files may exceed one a little; sums are
judged later."""


class Names:
    """The states, actions or observations of a file: `count` of them, with names or without.

    Indexing with a token gives its number; names and numbers may both be used, as the format says.
    """

    def __init__(self, kind: str, count: int, names: list[str] | None = None):
        self.kind, self.count, self.names = kind, count, names
        self._numbers = {name: i for i, name in enumerate(names or ())}

    def __getitem__(self, token: str) -> int:
        number = self._numbers.get(token)
        if number is None:
            if not (token.isascii() and token.isdigit() and len(token) <= 18):
                raise KeyError(token)
            number = int(token)
            if number >= self.count:
                raise KeyError(token)
            self._numbers[token] = number
        return number

    def __len__(self) -> int:
        return self.count

    @property
    def labels(self) -> list[str] | range:
        """The labels of a POMDP: the names, or the numbers where the file gives a count."""
        return range(self.count) if self.names is None else self.names

    @property
    def a_kind(self) -> str:
        return f"{'an' if self.kind[0] in 'ao' else 'a'} {self.kind}"

    def expected(self) -> str:
        """What a reader should have written here."""
        numbers = "the number 0" if self.count == 1 else f"a number from 0 to {self.count - 1}"
        if self.names is not None:
            some = ", ".join(self.names[:5]) + (", ..." if self.count > 5 else "")
            numbers = f"{some}, or {numbers}"
        return f"{self.a_kind} ({numbers})"


@dataclass(frozen=True)
class Line:
    """A line for T or O.

    a, s, column : numbers, or `EVERY`. The column is None where the line fills whole rows.
    content : the one number; for whole rows the numbers of one row, or of |S| rows one after the
        other, or "uniform", "identity" or "reset".
    at : the number of its first token, which leads errors back to the text.
    """

    at: int
    a: int
    s: int
    column: int | None
    content: str | list[Value]


def parse_record(source: Source, exact: bool, limit: int) -> Record:
    """Read a file into a record.

    Parameters
    ----------
    exact : read decimals as rationals.
    limit : the largest |S||A|, |S| and |O| accepted.
    """
    record = Record(source, exact, limit)
    record.read()
    return record


class Record:
    """The parsed text of a file, before it is interpreted.

    Each method reads one thing at token `i` and moves past it.

    Attributes
    ----------
    gamma, cost, exact : the discount, whether rewards are costs, and whether numbers are rationals.
    start : the token of the line, and a weight for each state.
    O, observations : None where the file declares none: the state itself is then observed.
    R : {(a, s, s', o): (at, value)}, `EVERY` in any of the four, the last line for each.
    """

    def __init__(self, source: Source, exact: bool, limit: int):
        self.source, self.exact, self.limit = source, exact, limit
        self.tokens = [*source.tokens, "", "", ""]  # so that looking ahead never leaves the list
        self.end = len(source.tokens)
        self.i = 0
        self.spelled = Spelled(exact)
        self.one: Value = Fraction(1) if exact else 1.0
        self.probable: set[str] = set()
        self.seen: dict[str, int] = {}
        self.gamma: Value = 0.0
        self.cost = False
        self.names: dict[str, Names] = {}
        self.start: tuple[int, list[Value]] = (self.end, [])
        self.tables: dict[str, list[Line]] = {}
        self.R: dict[tuple[int, ...], tuple[int, Value]] = {}

    def read(self) -> None:
        """Read the whole file."""
        readers = {
            "discount": self._discount,
            "values": self._values,
            "states": self._list,
            "actions": self._list,
            "observations": self._list,
            "start": self._start,
            "T": self._table,
            "O": self._table,
            "R": self._reward,
        }
        while self.i < self.end:
            word = self.tokens[self.i]
            if word not in readers:
                raise self.source.error(
                    self.i, f"a line that begins with {', '.join(_HEADER)}, T, O or R"
                )
            if word in self.seen:
                line = self.source.place(self.seen[word])[0]
                raise self.source.fault(
                    self.i, f"{word} is given a second time; the first is in line {line}"
                )
            if word not in ("T", "O", "R"):
                self.seen[word] = self.i
            readers[word]()
        for word in ("discount", "values", "states", "actions"):
            if word not in self.seen:
                raise self.source.error(self.end, f"the line '{word}:'")
        if "T" not in self.tables:
            raise self.source.error(self.end, "a line for T")
        if "O" not in self.tables and "observations" in self.names:
            raise self.source.error(
                self.end, "a line for O, because the file declares observations"
            )
        self.states, self.actions = self.names["states"], self.names["actions"]
        self.observations = self.names.get("observations")
        self.T, self.O = self.tables["T"], self.tables.get("O")
        if not self.start[1]:
            self.start = self.end, self._even(range(len(self.states)))

    # ------------------------------------------------------------------ tokens

    def _colon(self) -> None:
        if self.tokens[self.i] != ":":
            raise self.source.error(self.i, "':'")
        self.i += 1

    def _head(self, *needed: str) -> int:
        """Skip a keyword and its colon. The number of the keyword's token."""
        at = self.i
        for word in needed:
            if word not in self.seen:
                raise self.source.error(at, f"the line '{word}:' before this")
        self.i += 1
        self._colon()
        return at

    def _index(self, names: Names, star: bool = True) -> int:
        token = self.tokens[self.i]
        if token == "*" and star:
            self.i += 1
            return EVERY
        try:
            number = names[token]
        except KeyError:
            wanted = names.expected() + (" or '*'" if star else "")
            raise self.source.error(self.i, wanted) from None
        self.i += 1
        return number

    def _at_number(self, ahead: int = 0) -> bool:
        """Whether a number stands here, or so many tokens ahead."""
        return self.tokens[self.i + ahead][:1] in _NUMBER_BEGINS and self.i + ahead < self.end

    def _number(self) -> Value:
        try:
            value = self.spelled[self.tokens[self.i]]
        except NotANumber as wrong:
            raise self.source.error(self.i, str(wrong)) from None
        self.i += 1
        return value

    def _numbers(self, shape: tuple[int, ...], what: str, hint: str = "") -> list[Value]:
        """Read exactly as many numbers as a table of this shape has."""
        count, first = math.prod(shape), self.i
        wanted = self.tokens[first : min(first + count, self.end)]
        try:
            found = [self.spelled[token] for token in wanted]
        except NotANumber:
            found = []
        if len(found) < count:
            self._complain(wanted, shape, f"the {count:,} numbers for this {what}{hint}")
        self.i = first + count
        matrix = f" ({shape[0]} rows of {shape[1]})" if len(shape) == 2 else ""
        self._no_more(f"{count:,} number{'s' if count > 1 else ''} for this {what}{matrix}{hint}")
        return found

    def _complain(self, wanted: list[str], shape: tuple[int, ...], whole: str) -> NoReturn:
        """Point at the first token that is not the number it should be."""
        for k, token in enumerate([*wanted, ""]):
            try:
                self.spelled[token]
            except NotANumber as wrong:
                row, column = divmod(k, shape[-1])
                entry = (
                    f"row {row + 1}, column {column + 1}" if len(shape) == 2 else f"entry {k + 1}"
                )
                raise self.source.error(self.i + k, f"{wrong}: {entry} of {whole}") from None
        raise AssertionError("the last token is no number")

    def _no_more(self, all_there: str) -> None:
        if self._at_number():
            raise self.source.error(self.i, f"the next line, after {all_there}")

    def _probabilities(self, first: int) -> None:
        """Refuse numbers read since token `first` that are no probabilities. Each spelling is
        judged once."""
        tokens = self.tokens[first : self.i]
        for token in set(tokens) - self.probable:
            if not 0 <= self.spelled[token] <= _MOST:
                raise self.source.error(first + tokens.index(token), "a probability from 0 to 1")
            self.probable.add(token)

    # ------------------------------------------------------------------ the header

    def _discount(self) -> None:
        self._head()
        self.gamma = self._number()
        if not 0 <= self.gamma <= 1:
            raise self.source.error(self.i - 1, "a discount from 0 to 1")

    def _values(self) -> None:
        self._head()
        if self.tokens[self.i] not in ("reward", "cost", "rewards", "costs"):
            raise self.source.error(self.i, "'reward' or 'cost'")
        self.cost = self.tokens[self.i].startswith("cost")
        self.i += 1

    def _list(self) -> None:
        word = self.tokens[self.i]
        kind = word[:-1]
        if word == "observations" and ("O" in self.tables or self.R):
            raise self.source.fault(
                self.i, "observations must be declared before the first line for O or R"
            )
        self._head()
        first, token = self.i, self.tokens[self.i]
        if token.isascii() and token.isdigit():
            self.i += 1
            # int() of very many digits takes quadratic time
            self.names[word] = Names(kind, int(token) if len(token) <= 18 else 10**18)
            if not len(self.names[word]):
                raise self.source.error(first, f"at least 1 for the number of {word}")
        else:
            while self.i < self.end and self.tokens[self.i] not in RESERVED:
                self.i += 1
            found = self.tokens[first : self.i]
            if not found:
                raise self.source.error(first, f"the number of {word} or their names")
            self.names[word] = Names(kind, len(found), found)
            self._check_names(self.names[word], found, first)
        self._check_size(first)

    def _check_names(self, names: Names, found: list[str], first: int) -> None:
        for k, name in enumerate(found):
            if not NAME.fullmatch(name):
                raise self.source.error(first + k, f"the name of {names.a_kind}")
        word = self.tokens[self.i]
        if word in RESERVED and self.tokens[self.i + 1] != ":" and word != "start":
            raise self.source.fault(
                self.i, f"{word} is a word of the format and cannot name a {names.kind}"
            )
        earlier: set[str] = set()
        for k, name in enumerate(found):
            if name in earlier:
                raise self.source.fault(first + k, f"{name} names two {names.kind}s")
            earlier.add(name)

    def _check_size(self, at: int) -> None:
        sizes = {word: len(names) for word, names in self.names.items()}
        rows = sizes.get("states", 1) * sizes.get("actions", 1)
        if max(rows, *sizes.values()) > self.limit:
            counted = ", ".join(f"{n:,} {word}" for word, n in sizes.items())
            raise self.source.fault(
                at,
                f"too large: {counted}; |S||A| and |O| may be {self.limit:,} at most "
                "(max_outcomes sets this limit)",
            )

    def _start(self) -> None:
        at = self.i
        if "states" not in self.seen:
            raise self.source.error(at, "the line 'states:' before this")
        states = self.names["states"]
        self.i += 1
        if (word := self.tokens[self.i]) in ("include", "exclude"):
            self.i += 1
            self._colon()
            chosen = self._some_states(states, star=True)
            if word == "exclude":
                chosen = set(range(len(states))) - chosen
            if not chosen:
                raise self.source.fault(at, "no state is left to start in")
            self.start = at, self._even(chosen)
            return
        self._colon()
        first = self.i
        # one number alone must be a state's and not a row of probabilities
        single = not self._at_number(1) and (len(states) > 1 or self.tokens[first] == "0")
        if self.tokens[first] == "uniform":
            self.i += 1
            self.start = at, self._even(range(len(states)))
        elif self._at_number() and not single:
            self.start = at, self._numbers((len(states),), "start")
            self._probabilities(first)
        else:
            self.start = at, self._even(self._some_states(states, star=False))

    def _even(self, chosen: Collection[int]) -> list[Value]:
        """Give each of the chosen states the same probability."""
        weights: list[Value] = [self.one * 0] * len(self.names["states"])
        for s in chosen:
            weights[s] = self.one / len(chosen)
        return weights

    def _some_states(self, states: Names, star: bool) -> set[int]:
        """The states that are listed up to the next word of the format, at least one."""
        chosen: set[int] = set()
        first = self.i
        while self.i == first or (self.i < self.end and self.tokens[self.i] not in RESERVED):
            s = self._index(states, star)
            chosen |= set(range(len(states))) if s == EVERY else {s}
        return chosen

    # ------------------------------------------------------------------ T, O and R

    def _table(self) -> None:
        letter = self.tokens[self.i]
        at = self._head("states", "actions", *(["observations"] if letter == "O" else []))
        states, actions = self.names["states"], self.names["actions"]
        columns = self.names["states" if letter == "T" else "observations"]
        lines = self.tables.setdefault(letter, [])
        a = self._index(actions)
        if self.tokens[self.i] != ":":
            shape: tuple[int, ...] = (len(states), len(columns))
            words: tuple[str, ...] = ("uniform", "identity", "reset")
            lines.append(Line(at, a, EVERY, None, self._rows(letter, words, shape)))
            return
        self.i += 1
        s = self._index(states)
        if self.tokens[self.i] != ":":
            words = ("uniform", "reset")
            lines.append(Line(at, a, s, None, self._rows(letter, words, (len(columns),))))
            return
        self.i += 1
        column, first = self._index(columns), self.i
        lines.append(Line(at, a, s, column, [self._number()]))
        if self.tokens[first] not in self.probable:
            self._probabilities(first)
        self._no_more(f"the one number of this {letter}")

    def _rows(
        self, letter: str, words: tuple[str, ...], shape: tuple[int, ...]
    ) -> str | list[Value]:
        """Read the contents of whole rows: one of the words, or numbers."""
        word, first = self.tokens[self.i], self.i
        if word in words:
            if word == "reset" and letter == "O":
                raise self.source.fault(
                    self.i, "reset leads to the start and has a meaning for T only"
                )
            if word == "identity" and shape[0] != shape[1]:
                raise self.source.fault(
                    self.i, f"identity needs |O| = |S|, but there are {shape[1]} and {shape[0]}"
                )
            self.i += 1
            return word
        if not self._at_number():
            allowed = ", ".join(w for w in words if letter == "T" or w != "reset")
            raise self.source.error(self.i, f"':', {allowed}, or {math.prod(shape):,} numbers")
        found = self._numbers(shape, letter)
        self._probabilities(first)
        return found

    def _reward(self) -> None:
        at = self._head("states", "actions")
        states, observations = self.names["states"], self.names.get("observations")
        spaces = [states, states] + ([observations] if observations is not None else [])
        key = [self._index(self.names["actions"])]
        while self.tokens[self.i] == ":" and len(key) <= len(spaces):
            self.i += 1
            key.append(self._index(spaces[len(key) - 1]))
        missing = spaces[len(key) - 1 :]
        if not missing:
            if observations is None and self.tokens[self.i : self.i + 2] == [":", "*"]:
                self.i += 2  # an MDP written with a column for the observation
            self.R[(*key, EVERY)[:4]] = at, self._number()
            self._no_more("the one number of this R")
            return
        if len(missing) > 2:
            raise self.source.error(self.i, "':' and a state")
        shape = tuple(map(len, missing))
        if not self._at_number():
            raise self.source.error(self.i, f"':' or {math.prod(shape):,} numbers")
        hint = ""
        if len(missing) == 1 and observations is not None:
            hint = (
                " (one for each observation; for all of them write R: action : "
                "state : state : * number)"
            )
        found = self._numbers(shape, "R", hint)
        for rest, value in zip(product(*map(range, shape)), found, strict=True):
            self.R[(*key, *rest, EVERY)[:4]] = at, value
