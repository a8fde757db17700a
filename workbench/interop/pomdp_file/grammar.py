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

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from workbench.interop.pomdp_file.cursor import Cursor
from workbench.interop.pomdp_file.record import (
    EVERY,
    Block,
    Kind,
    Names,
    Record,
    RewardLines,
    Start,
    TableLines,
)
from workbench.interop.pomdp_file.source import NAME, Source
from workbench.interop.pomdp_file.spelling import Value

RESERVED = frozenset(
    (
        "discount",
        "values",
        "states",
        "actions",
        "observations",
        "start",
        "include",
        "exclude",
        "T",
        "O",
        "R",
        "uniform",
        "identity",
        "reset",
        "reward",
        "cost",
    )
)
_LINES = "discount, values, states, actions, observations, start, T, O or R"


def parse_record(
    source: Source, exact: bool, spellings: Mapping[str, Fraction], limit: int
) -> Record:
    """Read a file into a record.

    Parameters
    ----------
    exact : read decimals as rationals.
    spellings : numbers that mean something else than their decimals, used when exact (`notes.py`).
    limit : the largest |S||A|, |S| and |O| accepted.
    """
    return _Parser(source, exact, spellings, limit).file()


class _Parser(Cursor):
    def __init__(self, source: Source, exact: bool, spellings: Mapping[str, Fraction], limit: int):
        super().__init__(source, exact, spellings)
        self.exact = exact
        self.limit = limit
        self.seen: dict[str, int] = {}
        self.gamma: Value = 0.0
        self.cost = False
        self.names: dict[str, Names] = {}
        self.start: Start | None = None
        self.T: TableLines | None = None
        self.O: TableLines | None = None
        self.R = RewardLines()

    # ------------------------------------------------------------------ the file

    def file(self) -> Record:
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
                raise self.source.error(self.i, f"a line that begins with {_LINES}")
            if word not in ("T", "O", "R"):
                self._only_once(word)
            readers[word]()
        for word in ("discount", "values", "states", "actions"):
            if word not in self.seen:
                raise self.source.error(self.end, f"the line '{word}:'")
        if self.T is None:
            raise self.source.error(self.end, "a line for T")
        if self.O is None and "observations" in self.names:
            raise self.source.error(
                self.end, "a line for O, because the file declares observations"
            )
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
            raise self.source.fault(
                self.i, f"{word} is given a second time; the first is in line {line}"
            )
        self.seen[word] = self.i

    def _needs(self, word: str, at: int) -> None:
        if word not in self.seen:
            raise self.source.error(at, f"the line '{word}:' before this")

    # ------------------------------------------------------------------ the header

    def _discount(self) -> None:
        self.head()
        self.gamma = self.number()
        if not 0 <= self.gamma <= 1:
            raise self.source.error(self.i - 1, "a discount from 0 to 1")

    def _values(self) -> None:
        self.head()
        if self.tokens[self.i] not in ("reward", "cost", "rewards", "costs"):
            raise self.source.error(self.i, "'reward' or 'cost'")
        self.cost = self.tokens[self.i].startswith("cost")
        self.i += 1

    def _list(self) -> None:
        word = self.tokens[self.i]
        kind = word[:-1]
        if word == "observations" and (self.O is not None or self.R.cells or self.R.blocks):
            raise self.source.fault(
                self.i, "observations must be declared before the first line for O or R"
            )
        self.head()
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
                raise self.source.error(
                    first + k, f"the name of {'an' if kind[0] in 'ao' else 'a'} {kind}"
                )
        if (
            self.tokens[self.i] in RESERVED
            and self.tokens[self.i + 1] != ":"
            and self.tokens[self.i] != "start"
        ):
            raise self.source.fault(
                self.i, f"{self.tokens[self.i]} is a word of the format and cannot name a {kind}"
            )
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
                f"too large: {counted}; |S||A| and |O| may be {self.limit:,} at most "
                "(max_outcomes sets this limit)",
            )

    def _start(self) -> None:
        at = self.i
        self._needs("states", at)
        states = self.names["states"]
        self.i += 1
        if self.tokens[self.i] in ("include", "exclude"):
            included = self.tokens[self.i] == "include"
            self.i += 1
            self.colon()
            chosen = self._some_states(states, star=True)
            chosen = chosen if included else ~chosen
            if not chosen.any():
                raise self.source.fault(at, "no state is left to start in")
            self.start = Start(at, states=np.flatnonzero(chosen))
            return
        self.colon()
        if self.tokens[self.i] == "uniform":
            self.i += 1
            self.start = Start(at)
        elif self.at_number() and not self._is_single_state(states):
            self.start = Start(
                at, vector=self.probability_row(len(states), "start", (len(states),))
            )
        else:
            self.start = Start(at, states=np.flatnonzero(self._some_states(states, star=False)))

    def _some_states(self, states: Names, star: bool) -> NDArray[np.bool_]:
        """The states that are listed up to the next word of the format, at least one."""
        chosen = np.zeros(len(states), dtype=bool)
        first = self.i
        while self.i == first or (self.i < self.end and self.tokens[self.i] not in RESERVED):
            place = self.index(states, star)
            chosen[slice(None) if place == EVERY else place] = True
        return chosen

    def _is_single_state(self, states: Names) -> bool:
        """Whether `start:` is followed by one number that must be a state's and not a row of
        probabilities."""
        return not self.at_number(1) and (len(states) > 1 or self.tokens[self.i] == "0")

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
            table = TableLines(letter, states if letter == "T" else self.names["observations"])
            self.T, self.O = (table, self.O) if letter == "T" else (self.T, table)
        self.head()
        a = self.index(actions)
        if self.tokens[self.i] != ":":
            table.blocks.append(
                self._block(table, a, EVERY, at, ("uniform", "identity", "reset"), "matrix")
            )
            return
        self.i += 1
        s = self.index(states)
        if self.tokens[self.i] != ":":
            table.blocks.append(self._block(table, a, s, at, ("uniform", "reset"), "row"))
            return
        self.i += 1
        column = self.index(table.columns)
        value = self.probability()
        if column == EVERY:
            table.blocks.append(Block(a, s, "constant", at, value))
        else:
            table.cells.append((a, s, column, at))
            table.cell_values.append(value)
        self.no_more_numbers(f"the one number of this {letter}")

    def _block(
        self, table: TableLines, a: int, s: int, at: int, words: tuple[Kind, ...], shape: Kind
    ) -> Block:
        word = self.tokens[self.i]
        columns, nS = len(table.columns), len(self.names["states"])
        allowed = [w for w in words if table.letter == "T" or w != "reset"]
        for kind in words:
            if word == kind:
                if kind not in allowed:
                    raise self.source.fault(
                        self.i, "reset leads to the start and has a meaning for T only"
                    )
                if kind == "identity" and columns != nS:
                    raise self.source.fault(
                        self.i, f"identity needs |O| = |S|, but there are {columns} and {nS}"
                    )
                self.i += 1
                return Block(a, s, kind, at)
        if not self.at_number():
            count = columns if shape == "row" else nS * columns
            raise self.source.error(self.i, f"':', {', '.join(allowed)}, or {count:,} numbers")
        if shape == "row":
            return Block(a, s, "row", at, self.probability_row(columns, table.letter, (columns,)))
        found = self.probability_row(nS * columns, table.letter, (nS, columns))
        return Block(a, s, "matrix", at, found.reshape(nS, columns))

    # ------------------------------------------------------------------ R

    def _reward(self) -> None:
        at = self.i
        for word in ("states", "actions"):
            self._needs(word, at)
        states, observations = self.names["states"], self.names.get("observations")
        spaces = [states, states] + ([observations] if observations is not None else [])
        self.head()
        key = [self.index(self.names["actions"])]
        while self.tokens[self.i] == ":" and len(key) <= len(spaces):
            self.i += 1
            key.append(self.index(spaces[len(key) - 1]))
        if (
            observations is None
            and len(key) == 3
            and self.tokens[self.i : self.i + 2] == [":", "*"]
        ):
            self.i += 2  # an MDP written with a place for the observation
        given = len(key) - 1
        if given == len(spaces):
            self.R.cells.append((*self._filled(key), at))  # type: ignore[arg-type]
            self.R.cell_values.append(self.number())
            self.no_more_numbers("the one number of this R")
            return
        missing = spaces[given:]
        if len(missing) > 2:
            raise self.source.error(self.i, "':' and a state")
        shape = tuple(len(space) for space in missing)
        count = int(np.prod(shape, dtype=object))
        if not self.at_number():
            raise self.source.error(self.i, f"':' or {count:,} numbers")
        hint = ""
        if len(missing) == 1 and observations is not None:
            hint = (
                " (one for each observation; for all of them write R: action : "
                "state : state : * number)"
            )
        numbers = self.numbers(count, "R", shape, hint)
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
