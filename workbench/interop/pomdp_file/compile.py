"""Convert a file's record into a POMDP. O(o | s', a) and R(a, s, s', o) take the form p(s', r | s,
a), omega(o | s).

The paper's observation depends on the state alone and its reward is drawn with the successor. A
file says more: what is observed on entering s' may depend on the action, and the reward on what is
observed. Nothing of this is lost:

- s' stays one state, labelled as in the file, if all actions that can lead there (and the start,
  see below) show the same observations with the same probabilities and no reward of entering it
  depends on the observation;
- otherwise s' becomes the states (s', o), "in s', having shown o", for each o that can be shown
  there. Then p((s', o), r | s, a) = T(s' | s, a) O(o | s', a) for r = R(a, s, s', o), and omega(o |
  (s', o)) = 1.

The first observation, before any action, is not defined by a file. With `first="auto"` a start
state shows it where O gives each start state the same row for every action. Otherwise, and with
`first="start"`, nothing is known yet: start states s become additional states (s, "start") that
show the observation "start".

Goals end episodes: a state that pays nothing more is terminal itself, and another leads, by every
action or by the named one, to the added terminal state "end". A goal that every action stays in and
that pays for staying what it pays for entering comes from a line such as `R: * : * : goal : * 1`,
which means the entering: staying pays nothing more.

Inside, a state of the POMDP is a pair, its *code*: (s, 0) for (s, "start"), (s, 1) for s itself,
(s, 2 + o) for (s, o). The state "end" is (|S|, 1).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Sized
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import UnknownLabel, WorkbenchError
from workbench.core.numbers import Numbers
from workbench.core.pomdp import POMDP, Distribution, Emissions, StateSet, Transitions
from workbench.core.rows import point_rows
from workbench.core.space import Label, Space
from workbench.interop.pomdp_file.grammar import Names, Record
from workbench.interop.pomdp_file.notes import Notes
from workbench.interop.pomdp_file.source import PomdpFileError, Source, Value
from workbench.interop.pomdp_file.tables import (
    ROUNDING,
    RewardTable,
    TooMany,
    read_table,
    scaled,
    within,
)
from workbench.text import show

_START, _PLAIN, _SHOWN = 0, 1, 2

START = "start"
"""The observation of start states that show nothing; a word of the format, so that no file has it
for a name."""

Code = tuple[int, int]
Outcomes = dict[tuple[Code, Value], Value]
"""{(state, reward): probability}."""


@dataclass(frozen=True)
class FileReading:
    """How a file is to be read: the arguments of `load_pomdp`."""

    first: str
    goals: tuple[Label, ...]
    tolerance: float | None
    max_outcomes: int


def compile_record(
    record: Record, notes: Notes, source: Source, reading: FileReading, name: str
) -> POMDP:
    """The POMDP that a record describes, read in a given way."""
    try:
        return _Compiler(record, notes, source, reading).pomdp(name)
    except TooMany as many:
        raise PomdpFileError(
            f"too large: at least {many.args[0]:,} outcomes; the limit is {reading.max_outcomes:,} "
            "(max_outcomes sets this limit)",
            source.name,
        ) from None
    except PomdpFileError:
        raise
    except WorkbenchError as wrong:
        raise PomdpFileError(str(wrong), source.name) from wrong


class _Compiler:
    def __init__(self, record: Record, notes: Notes, source: Source, reading: FileReading):
        self.notes, self.source, self.limit = notes, source, reading.max_outcomes
        self.gamma = record.gamma
        tolerance = reading.tolerance
        if tolerance is None:
            tolerance = 0.0 if record.exact else ROUNDING
        at, weights = record.start
        start = {s: x for s, x in enumerate(weights) if x}
        self.mu = scaled(start, source, at, "start", tolerance)
        self.T = read_table(record, "T", source, tolerance, self.limit)
        self.O = read_table(record, "O", source, tolerance, self.limit)
        self.R = RewardTable(record)
        self.one = self.R.zero + 1
        self.states = self._labels("states", record.states)
        self.actions = self._labels("actions", record.actions)
        # an MDP has one space for both, so that labels of states are labels of observations
        self.observations = (
            self.states
            if record.observations is None
            else self._labels("observations", record.observations)
        )
        self.nS, self.nA, self.nO = map(len, (self.states, self.actions, self.observations))
        # the state that each state is a copy of according to the notes, or itself
        kept = self.nS - len(notes.copies)
        self.owner = [*range(kept), *notes.copies]
        if kept < 1 or any(s >= kept for s in notes.copies):
            raise self._wrong_copies("the last states must be copies of earlier ones")
        self.ends, self.terminal = self._endings(reading.goals)
        self.with_start = reading.first == "start" or any(
            self._shown(s, a) != self._shown(s, 0) for s in self.mu for a in range(1, self.nA)
        )

    def _labels(self, kind: str, names: Names) -> Space:
        """The labels of the file, or those of its notes. Copies have no label of their own."""
        if kind not in self.notes.labels:
            return Space(names.labels)
        labels = list(self.notes.labels[kind])
        if kind == "states":
            labels += [object() for _ in self.notes.copies]
        if len(labels) != len(names):
            raise self.source.fault_at_line(
                self.notes.lines[kind],
                f"expected a label for each of the {len(names)} {kind}, found "
                f"{len(self.notes.labels[kind])}",
            )
        return Space(labels)

    def _wrong_copies(self, why: str) -> PomdpFileError:
        return self.source.fault_at_line(
            self.notes.lines["copies"], f"the note copies does not fit this file: {why}"
        )

    # ------------------------------------------------------------------ the tables

    def _moves(self, s: int, a: int) -> dict[int, Value]:
        return self.T[s * self.nA + a]

    def _shown(self, s: int, a: int) -> dict[int, Value]:
        """What is observed on entering s by a."""
        return self.O[s * self.nA + a]

    def _paid(self, s: int, a: int, s_next: int) -> set[Value]:
        """The rewards of a move, one for each observation that it depends on."""
        seen: Iterable[int] = self._shown(s_next, a) if self.R.reads_observation else (0,)
        return {self.R(a, s, s_next, o) for o in seen}

    # ------------------------------------------------------------------ the ends of episodes

    def _endings(self, goals: tuple[Label, ...]) -> tuple[set[Code], set[int]]:
        """The pairs (s, a) that end an episode, and the states that are terminal themselves."""
        ends = {pair for goal in goals for pair in self._pairs(goal)}
        if not goals:
            for s in self.notes.terminal:
                if s >= self.nS:
                    raise self.source.fault_at_line(
                        self.notes.lines["terminal"], f"there is no state number {s}"
                    )
            return set(), set(self.notes.terminal)
        # A state that still pays must be acted in once more before the end.
        silent = {
            s
            for s in {s for s, _ in ends}
            if all((s, a) in ends for a in range(self.nA))
            and (self._stays_for_the_same(s) or not any(self._pays(s, a) for a in range(self.nA)))
        }
        return ends, silent

    def _pairs(self, goal: Label) -> list[Code]:
        """What a goal names: a state, or a pair (state, action)."""
        S, A = self.states, self.actions
        try:
            if goal not in S and isinstance(goal, tuple) and len(goal) == 2:
                return [(S.index(goal[0]), A.index(goal[1]))]
            return [(S.index(goal), a) for a in range(self.nA)]
        except UnknownLabel as unknown:
            raise PomdpFileError(
                f"the goal {show(goal)} is neither a state nor a pair (state, action): {unknown}"
            ) from None

    def _pays(self, s: int, a: int) -> bool:
        return any(any(self._paid(s, a, s_next)) for s_next in self._moves(s, a))

    def _stays_for_the_same(self, goal: int) -> bool:
        """Whether every action stays in a state, and staying pays what entering it pays. A start
        state that nothing else leads to is never entered."""
        if any(list(self._moves(goal, a)) != [goal] for a in range(self.nA)):
            return False
        ways = [(s, a) for s in range(self.nS) for a in range(self.nA) if goal in self._moves(s, a)]
        paid = set().union(*(self._paid(s, a, goal) for s, a in ways))
        return len(paid) == 1 and (goal not in self.mu or any(s != goal for s, _ in ways))

    # ------------------------------------------------------------------ the states

    def pomdp(self, name: str) -> POMDP:
        shown, split = self._entered()
        outcomes = self._outcomes(split)
        self._check_copies(outcomes, shown, split)
        starts: dict[Code, Value] = {}
        for s, x in self.mu.items():
            kinds = {_START if self.with_start else _PLAIN: self.one}
            if split[s] and not self.with_start:
                kinds = {_SHOWN + o: y for o, y in self._shown(s, 0).items()}
            for kind, y in kinds.items():
                code = self.owner[s], kind
                starts[code] = starts.get(code, 0 * x) + x * y
        codes = {code for row in outcomes.values() for code, _ in row} | set(starts)
        codes |= {
            (self.owner[s], _PLAIN)
            for s in range(self.nS)
            # a start state that is never entered is there only as (s, "start")
            if not split[s] and not (self.with_start and s in self.mu and s not in shown)
        }
        return self._assemble(name, sorted(codes), outcomes, shown, starts)

    def _entered(self) -> tuple[dict[int, tuple[int, int]], list[bool]]:
        """What the states that are entered show, and which states are split.

        What a state shows is told by a pair (s', a), the row of O. It is split if a reward depends
        on the observation, or if two ways to enter it show different things.
        """
        shown: dict[int, tuple[int, int]] = {}
        split = [False] * self.nS
        if not self.with_start:
            shown = {s: (s, 0) for s in self.mu}
        for s in range(self.nS):
            for a in range(self.nA):
                # a row that ends an episode enters nothing, so it must not split states
                if s in self.terminal or (s, a) in self.ends:
                    continue
                for s_next in self._moves(s, a):
                    known = self._shown(*shown.setdefault(s_next, (s_next, a)))
                    here = self._shown(s_next, a)
                    if (known is not here and known != here) or len(self._paid(s, a, s_next)) > 1:
                        split[s_next] = True
        return shown, split

    def _outcomes(self, split: list[bool]) -> dict[Code, Outcomes]:
        """What each pair (s, a) leads to, with ways into a copy as ways into its state.

        States that are split come once for each observation.
        """
        found: dict[Code, Outcomes] = {}
        count = 0
        for s in range(self.nS):
            for a in range(self.nA):
                if s in self.terminal:
                    continue
                ends, row = (s, a) in self.ends, Outcomes()
                for s_next, x in self._moves(s, a).items():
                    parts: Iterable[tuple[Code, Value, Value]]
                    if ends or split[s_next]:
                        parts = (
                            (
                                (self.nS, _PLAIN) if ends else (self.owner[s_next], _SHOWN + o),
                                self.R(a, s, s_next, o),
                                x * y,
                            )
                            for o, y in self._shown(s_next, a).items()
                        )
                    else:
                        (r,) = self._paid(s, a, s_next)
                        parts = [((self.owner[s_next], _PLAIN), r, x)]
                    for code, r, prob in parts:
                        row[code, r] = row.get((code, r), 0 * prob) + prob
                if ends and len(row) == 1:  # whatever the rounding of a sum, it is sure
                    row = dict.fromkeys(row, self.one)
                count += len(row)
                within(count, self.limit)
                found[s, a] = row
        return found

    def _check_copies(
        self,
        outcomes: dict[Code, Outcomes],
        shown: dict[int, tuple[int, int]],
        split: list[bool],
    ) -> None:
        """A note is a claim about the file, which others may have edited since."""
        for i, s in enumerate(self.owner):
            alike = (
                split[i] == split[s]
                and (i in self.terminal) == (s in self.terminal)
                and (split[i] or self._emission(i, shown) == self._emission(s, shown))
                and all(outcomes.get((i, a)) == outcomes.get((s, a)) for a in range(self.nA))
            )
            if not alike:
                raise self._wrong_copies(
                    f"state number {i} differs from state number {s} in more than the reward of "
                    "entering it"
                )

    def _emission(self, s: int, shown: dict[int, tuple[int, int]]) -> dict[int, Value]:
        """What a state shows that is not split."""
        return self._shown(*shown.get(s, (s, 0)))

    # ------------------------------------------------------------------ the POMDP

    def _assemble(
        self,
        name: str,
        codes: list[Code],
        outcomes: dict[Code, Outcomes],
        shown: dict[int, tuple[int, int]],
        starts: dict[Code, Value],
    ) -> POMDP:
        """The POMDP whose states have these codes, ascending."""
        end = self.nS, _PLAIN
        states = [*self.states, _fresh("end", self.states)]
        shows = [START, "", *self.observations]
        S = Space(states[s] if k == _PLAIN else (states[s], shows[k]) for s, k in codes)
        O = Space(
            [
                *self.observations,
                *([START] if self.with_start else []),
                *([_fresh("end", self.observations)] if end in codes[-1:] else []),
            ]
        )
        place = {code: i for i, code in enumerate(codes)}
        rows = [
            sorted(
                ((place[code], r, x) for (code, r), x in outcomes.get((s, a), {}).items()),
                key=itemgetter(0),
            )
            for s, _ in codes
            for a in range(self.nA)
        ]
        # split states share the rows of their state, which multiplies them
        within(sum(map(len, rows)), self.limit)
        terminal = {*self.terminal, self.nS}
        emissions = []
        for s, kind in codes:
            if (s, kind) == end:
                emissions.append({len(O) - 1: self.one})
            elif kind == _PLAIN:
                emissions.append(self._emission(s, shown))
            else:
                emissions.append({self.nO if kind == _START else kind - _SHOWN: self.one})
        p = [outcome for row in rows for outcome in row]
        omega = [(o, x) for row in emissions for o, x in sorted(row.items())]
        return POMDP(
            name=name,
            S=S,
            O=O,
            A=self.actions,
            p=Transitions(
                S,
                self.actions,
                _pointers(rows),
                np.array([k for k, _, _ in p], dtype=np.int32),
                Numbers.of([r for _, r, _ in p]),
                Numbers.of([x for _, _, x in p]),
            ),
            omega=Emissions(
                S,
                O,
                _pointers(emissions),
                np.array([o for o, _ in omega], dtype=np.int32),
                Numbers.of([x for _, x in omega]),
            ),
            gamma=self.gamma,
            mu=Distribution(S, Numbers.of([starts.get(code, 0 * self.one) for code in codes])),
            terminal=StateSet(S, np.array([s in terminal for s, _ in codes])),
        )


def _pointers(rows: Sequence[Sized]) -> NDArray[np.int64]:
    return point_rows(np.array([len(row) for row in rows]))


def _fresh(label: str, space: Space) -> str:
    """A label that the file does not use. Its names hold no blanks."""
    return label if label not in space else f"{label} of the episode"
