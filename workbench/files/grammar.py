"""The grammar of Cassandra's `.POMDP` files, read by recursive descent into a `Record`.

    file      = { discount | values | states | actions | observations | start | T | O | R }
    discount  = "discount" ":" number                       in [0, 1]
    values    = "values" ":" ("reward" | "cost")
    states    = "states" ":" (count | name { name })        likewise actions, observations
    start     = "start" ":" (number x |S| | "uniform" | state)
              | "start" ("include" | "exclude") ":" state { state }
    T         = "T" ":" action ":" state ":" state number
              | "T" ":" action ":" state (number x |S| | "uniform" | "reset")
              | "T" ":" action (number x |S||S| | "uniform" | "identity" | "reset")
    O         = the same with observations for the second state, without "reset"
    R         = "R" ":" action ":" state ":" state ":" observation number
              | "R" ":" action ":" state ":" state (number x |O|)
              | "R" ":" action ":" state (number x |S||O|)

An action, state or observation is a name, a number counted from 0, or `*` for all of them. Line breaks mean nothing.
The five header lines come before the first T, O or R; `start` may stand anywhere after `states`. A file without
`observations` is an MDP: R then ends at the second state, and `R: action` may be followed by |S||S| numbers.
The format is that of `pomdp-solve` (A. Cassandra, pomdp.org, "POMDP file format"); accepted beyond it are numbers such
as `.5` and `5.`, names with dots and apostrophes, `T: a reset`, and `O: a identity` where |O| = |S|.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from workbench.files.record import EVERY, Block, Kind, Names, Record, Rewards, Start, Table
from workbench.files.source import NAME, Source
from workbench.files.spelling import NotANumber, Spelled, Value, Values

RESERVED = frozenset(
    (
        "discount", "values", "states", "actions", "observations", "start", "include", "exclude", "T", "O", "R",
        "uniform", "identity", "reset", "reward", "cost",
    )
)  # fmt: skip
_LINES = "discount, values, states, actions, observations, start, T, O or R"
_NUMBER_BEGINS = frozenset("0123456789+-.")
_MOST = Fraction(100_001, 100_000)
"""The largest probability accepted: rounding in printed files may exceed one a little; sums are judged later."""


def parse(source: Source, exact: bool, spellings: Mapping[str, Fraction], limit: int) -> Record:
    """Read a file into a record.

    Parameters
    ----------
    exact : read decimals as rationals.
    spellings : numbers that mean something else than their decimals, used when exact (`notes.py`).
    limit : the largest |S||A|, |S| and |O| accepted.
    """
    return _Parser(source, exact, spellings, limit).file()


class _Parser:
    def __init__(self, source: Source, exact: bool, spellings: Mapping[str, Fraction], limit: int):
        self.source = source
        self.tokens = [*source.tokens, "", "", ""]  # so that looking ahead never leaves the list
        self.end = len(source.tokens)
        self.i = 0
        self.exact = exact
        self.spelled = Spelled(exact, spellings if exact else None)
        self.probabilities: set[str] = set()
        self.limit = limit
        self.seen: dict[str, int] = {}
        self.gamma: Value = 0.0
        self.cost = False
        self.names: dict[str, Names] = {}
        self.start: Start | None = None
        self.T: Table | None = None
        self.O: Table | None = None
        self.R = Rewards()

    # ------------------------------------------------------------------ the file

    def file(self) -> Record:
        readers = {
            "discount": self._discount, "values": self._values, "states": self._list, "actions": self._list,
            "observations": self._list, "start": self._start, "T": self._table, "O": self._table, "R": self._reward,
        }  # fmt: skip
        while self.i < self.end:
            word = self.tokens[self.i]
            if word not in readers:
                raise self.source.error(self.i, f"a line that begins with {_LINES}")
            if word not in ("T", "O", "R"):
                self._only_once(word)
            readers[word]()
        for word in ("discount", "values", "states", "actions"):
            self._needs(word, self.end)
        if self.T is None:
            raise self.source.error(self.end, "a line for T")
        if self.O is None and "observations" in self.names:
            raise self.source.error(self.end, "a line for O, because the file declares observations")
        return Record(
            gamma=self.gamma,
            cost=self.cost,
            states=self.names["states"],
            actions=self.names["actions"],
            observations=self.names.get("observations"),
            T=self.T,
            O=self.O,
            R=self.R,
            start=self.start or Start(at=self.end),
            exact=self.exact,
        )

    def _only_once(self, word: str) -> None:
        if word in self.seen:
            line = self.source.line_of(self.seen[word])
            raise self.source.fault(self.i, f"{word} is given a second time; the first is in line {line}")
        self.seen[word] = self.i

    def _needs(self, word: str, at: int) -> None:
        if word not in self.seen:
            raise self.source.error(at, f"the line '{word}:' before this")

    def _colon(self) -> None:
        if self.tokens[self.i] != ":":
            raise self.source.error(self.i, "':'")
        self.i += 1

    def _head(self) -> int:
        """Skip a keyword and its colon; the place of the keyword."""
        at = self.i
        self.i += 1
        self._colon()
        return at

    # ------------------------------------------------------------------ the header

    def _discount(self) -> None:
        self._head()
        self.gamma = self._number()
        if not 0 <= self.gamma <= 1:
            raise self.source.error(self.i - 1, "a discount from 0 to 1")

    def _values(self) -> None:
        self._head()
        if self.tokens[self.i] not in ("reward", "cost"):
            raise self.source.error(self.i, "'reward' or 'cost'")
        self.cost = self.tokens[self.i] == "cost"
        self.i += 1

    def _list(self) -> None:
        word = self.tokens[self.i]
        kind = word[:-1]
        if word == "observations" and (self.O is not None or self.R.cells or self.R.blocks):
            raise self.source.fault(self.i, "observations must be declared before the first line for O or R")
        self._head()
        first = self.i
        if self.tokens[first].isascii() and self.tokens[first].isdigit():
            self.i += 1
            self.names[word] = Names(kind, self._count(self.tokens[first], first, word))
        else:
            while self.i < self.end and self.tokens[self.i] not in RESERVED:
                self.i += 1
            found = self.tokens[first : self.i]
            if not found:
                raise self.source.error(first, f"the number of {word} or their names")
            self._check_names(found, first, kind)
            self.names[word] = Names(kind, len(found), found)
        self._check_size(first)

    def _check_names(self, found: list[str], first: int, kind: str) -> None:
        for k, name in enumerate(found):
            if not NAME.fullmatch(name):
                raise self.source.error(first + k, f"the name of {'an' if kind[0] in 'ao' else 'a'} {kind}")
        if self.tokens[self.i] in RESERVED and self.tokens[self.i + 1] != ":" and self.tokens[self.i] != "start":
            raise self.source.fault(self.i, f"{self.tokens[self.i]} is a word of the format and cannot name a {kind}")
        if len(set(found)) < len(found):
            earlier: set[str] = set()
            for k, name in enumerate(found):
                if name in earlier:
                    raise self.source.fault(first + k, f"{name} names two {kind}s")
                earlier.add(name)

    def _count(self, token: str, at: int, word: str) -> int:
        count = int(token) if len(token) <= 18 else 10**18
        if count == 0:
            raise self.source.error(at, f"at least 1 for the number of {word}")
        return count

    def _check_size(self, at: int) -> None:
        sizes = {word: len(names) for word, names in self.names.items()}
        rows = sizes.get("states", 1) * sizes.get("actions", 1)
        if max(rows, *sizes.values()) > self.limit:
            counted = ", ".join(f"{n:,} {word}" for word, n in sizes.items())
            raise self.source.fault(
                at,
                f"too large: {counted}; |S||A| and |O| may be {self.limit:,} at most (max_outcomes sets this limit)",
            )

    def _start(self) -> None:
        at = self.i
        self._needs("states", at)
        states = self.names["states"]
        self.i += 1
        if self.tokens[self.i] in ("include", "exclude"):
            included = self.tokens[self.i] == "include"
            self.i += 1
            self._colon()
            chosen = np.zeros(len(states), dtype=bool)
            first = self.i
            while self.i < self.end and self.tokens[self.i] not in RESERVED:
                place = self._index(states)
                chosen[slice(None) if place == EVERY else place] = True
            if self.i == first:
                raise self.source.error(self.i, states.expected())
            chosen = chosen if included else ~chosen
            if not chosen.any():
                raise self.source.fault(at, "no state is left to start in")
            self.start = Start(at, states=np.flatnonzero(chosen))
            return
        self._colon()
        if self.tokens[self.i] == "uniform":
            self.i += 1
            self.start = Start(at)
        elif self._at_number() and not self._is_single_state(states):
            self.start = Start(at, vector=self._probabilities(len(states), "start", (len(states),)))
        else:
            self.start = Start(at, states=np.array([self._index(states, star=False)]))

    def _is_single_state(self, states: Names) -> bool:
        """Whether `start:` is followed by one number that must be a state's and not a row of probabilities."""
        single = self.tokens[self.i + 1][:1] not in _NUMBER_BEGINS or self.i + 1 >= self.end
        return single and (len(states) > 1 or self.tokens[self.i] == "0")

    # ------------------------------------------------------------------ T and O

    def _table(self) -> None:
        letter = self.tokens[self.i]
        at = self.i
        for word in ("states", "actions"):
            self._needs(word, at)
        if letter == "O":
            self._needs("observations", at)
        states, actions = self.names["states"], self.names["actions"]
        table = self.T if letter == "T" else self.O
        if table is None:
            table = Table(letter, states if letter == "T" else self.names["observations"])
            self.T, self.O = (table, self.O) if letter == "T" else (self.T, table)
        self._head()
        a = self._index(actions)
        if self.tokens[self.i] != ":":
            table.blocks.append(self._block(table, a, EVERY, at, ("uniform", "identity", "reset"), "matrix"))
            return
        self.i += 1
        s = self._index(states)
        if self.tokens[self.i] != ":":
            table.blocks.append(self._block(table, a, s, at, ("uniform", "reset"), "row"))
            return
        self.i += 1
        column = self._index(table.columns)
        value = self._probability()
        if column == EVERY:
            table.blocks.append(Block(a, s, "constant", at, value))
        else:
            table.cells.append((a, s, column, at))
            table.cell_values.append(value)
        self._no_more_numbers(f"the one number of this {letter}")

    def _block(self, table: Table, a: int, s: int, at: int, words: tuple[Kind, ...], shape: Kind) -> Block:
        word = self.tokens[self.i]
        columns, nS = len(table.columns), len(self.names["states"])
        allowed = [w for w in words if table.letter == "T" or w != "reset"]
        for kind in words:
            if word == kind:
                if kind not in allowed:
                    raise self.source.fault(self.i, "reset leads to the start and has a meaning for T only")
                if kind == "identity" and columns != nS:
                    raise self.source.fault(self.i, f"identity needs |O| = |S|, but there are {columns} and {nS}")
                self.i += 1
                return Block(a, s, kind, at)
        if not self._at_number():
            count = columns if shape == "row" else nS * columns
            raise self.source.error(self.i, f"':', {', '.join(allowed)}, or {count:,} numbers")
        if shape == "row":
            return Block(a, s, "row", at, self._probabilities(columns, table.letter, (columns,)))
        found = self._probabilities(nS * columns, table.letter, (nS, columns))
        return Block(a, s, "matrix", at, found.reshape(nS, columns))

    # ------------------------------------------------------------------ R

    def _reward(self) -> None:
        at = self.i
        for word in ("states", "actions"):
            self._needs(word, at)
        states, observations = self.names["states"], self.names.get("observations")
        spaces = [states, states] + ([observations] if observations is not None else [])
        self._head()
        key = [self._index(self.names["actions"])]
        while self.tokens[self.i] == ":" and len(key) <= len(spaces):
            self.i += 1
            key.append(self._index(spaces[len(key) - 1]))
        given = len(key) - 1
        if given == len(spaces):
            self.R.cells.append((*self._filled(key), at))  # type: ignore[arg-type]
            self.R.cell_values.append(self._number())
            self._no_more_numbers("the one number of this R")
            return
        missing = spaces[given:]
        if len(missing) > 2:
            raise self.source.error(self.i, "':' and a state")
        shape = tuple(len(space) for space in missing)
        count = int(np.prod(shape, dtype=object))
        if not self._at_number():
            raise self.source.error(self.i, f"':' or {count:,} numbers")
        hint = ""
        if len(missing) == 1 and observations is not None:
            hint = " (one for each observation; for all of them write R: action : state : state : * number)"
        numbers = self._numbers(count, "R", shape, hint)
        places = np.empty((count, 5), dtype=np.int64)
        grid = np.indices(shape).reshape(len(shape), count)
        for k, one in enumerate(self._filled(key)):
            places[:, k] = one
        for k, column in enumerate(grid):
            places[:, len(key) + k] = column
        places[:, 4] = at
        self.R.blocks.append((places, numbers))

    @staticmethod
    def _filled(key: list[int]) -> tuple[int, ...]:
        """(a, s, s', o) with EVERY for what the line does not name."""
        return tuple(key + [EVERY] * (4 - len(key)))

    # ------------------------------------------------------------------ small things

    def _index(self, names: Names, star: bool = True) -> int:
        token = self.tokens[self.i]
        if token == "*" and star:
            self.i += 1
            return EVERY
        try:
            place = names[token]
        except KeyError:
            raise self.source.error(self.i, names.expected() + (" or '*'" if star else "")) from None
        self.i += 1
        return place

    def _at_number(self) -> bool:
        return self.tokens[self.i][:1] in _NUMBER_BEGINS and self.i < self.end

    def _number(self) -> Value:
        token = self.tokens[self.i]
        try:
            value = self.spelled[token]
        except NotANumber as wrong:
            raise self.source.error(self.i, str(wrong)) from None
        self.i += 1
        return value

    def _probability(self) -> Value:
        value = self._number()
        if (token := self.tokens[self.i - 1]) not in self.probabilities:
            self._check_probabilities([token], self.i - 1)
        return value

    def _check_probabilities(self, tokens: list[str], first: int) -> None:
        """Refuse numbers that are no probabilities; each spelling is judged once."""
        for token in set(tokens) - self.probabilities:
            if not 0 <= self.spelled[token] <= _MOST:
                raise self.source.error(first + tokens.index(token), "a probability from 0 to 1")
            self.probabilities.add(token)

    def _numbers(self, count: int, what: str, shape: tuple[int, ...], hint: str = "") -> Values:
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
        self._no_more_numbers(f"{count:,} numbers for this {what}{_as_matrix(shape)}{hint}")
        assert found is not None
        return found

    def _complain(
        self, first: int, wanted: list[str], count: int, what: str, shape: tuple[int, ...], hint: str
    ) -> None:
        """Point at the first token that is not the number it should be."""
        k = 0
        while True:  # the token after the last one wanted is no number, or nothing would be wrong
            try:
                self.spelled[[*wanted, ""][k]]
            except NotANumber as found:
                wrong = str(found)
                break
            k += 1
        entry = f"row {k // shape[1] + 1}, column {k % shape[1] + 1} of " if len(shape) == 2 else f"entry {k + 1} of "
        raise self.source.error(first + k, f"{wrong}: {entry}the {count:,} numbers for this {what}{hint}")

    def _probabilities(self, count: int, what: str, shape: tuple[int, ...]) -> Values:
        first = self.i
        found = self._numbers(count, what, shape)
        self._check_probabilities(self.tokens[first : self.i], first)
        return found

    def _no_more_numbers(self, all_there: str) -> None:
        if self._at_number():
            raise self.source.error(self.i, f"the next line, after {all_there}")


def _as_matrix(shape: tuple[int, ...]) -> str:
    return f" ({shape[0]} rows of {shape[1]})" if len(shape) == 2 else ""
