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

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

from workbench.core.errors import UnknownLabel, WorkbenchError
from workbench.core.pomdp import POMDP
from workbench.core.space import Label, Space
from workbench.interop.pomdp_file.grammar import Record
from workbench.interop.pomdp_file.source import PomdpFileError, Source, Value
from workbench.interop.pomdp_file.tables import (
    ROUNDING,
    RewardTable,
    Row,
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
    """The arguments of `load_pomdp`: how to read a file."""

    first: str = "auto"
    goals: tuple[Label, ...] = ()
    exact: bool | None = None
    tolerance: float | None = None
    max_outcomes: int = 10_000_000

    def __post_init__(self) -> None:
        goals = (self.goals,) if isinstance(self.goals, str) else tuple(self.goals)
        object.__setattr__(self, "goals", goals)
        if self.first not in ("auto", "start"):
            raise PomdpFileError(f"first must be 'auto' or 'start', not {self.first!r}")
        if self.tolerance is not None and not 0 <= self.tolerance < 1:
            raise PomdpFileError(f"tolerance must lie in [0, 1), not {self.tolerance}")


def compile_record(record: Record, source: Source, reading: FileReading, name: str) -> POMDP:
    """The POMDP that a record describes, read in a given way."""
    try:
        return _Compiler(record, source, reading).pomdp(name)
    except PomdpFileError:
        raise
    except WorkbenchError as wrong:
        raise PomdpFileError(str(wrong), source.name) from wrong


class _Compiler:
    def __init__(self, record: Record, source: Source, reading: FileReading):
        self.limit, self.gamma = reading.max_outcomes, record.gamma
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
        self.states, self.actions = Space(record.states.labels), Space(record.actions.labels)
        # an MDP has one space for both, so that labels of states are labels of observations
        seen = record.observations
        self.observations = self.states if seen is None else Space(seen.labels)
        self.nS, self.nA = len(self.states), len(self.actions)
        self.ends, self.terminal = self._endings(reading.goals)
        self.with_start = reading.first == "start" or any(
            self._shown(s, a) != self._shown(s, 0) for s in self.mu for a in range(1, self.nA)
        )

    # ------------------------------------------------------------------ the tables

    def _moves(self, s: int, a: int) -> Row:
        return self.T[s * self.nA + a]

    def _shown(self, s: int, a: int) -> Row:
        """The observations on entering s by a."""
        return self.O[s * self.nA + a]

    def _paid(self, s: int, a: int, s_next: int) -> set[Value]:
        """The rewards of a move, one for each observation that it depends on."""
        seen: Iterable[int] = self._shown(s_next, a) if self.R.reads_observation else (0,)
        return {self.R(a, s, s_next, o) for o in seen}

    # ------------------------------------------------------------------ the ends of episodes

    def _endings(self, goals: tuple[Label, ...]) -> tuple[set[Code], set[int]]:
        """The pairs (s, a) that end an episode, and the states that are terminal themselves."""
        ends = {pair for goal in goals for pair in self._pairs(goal)}
        # A state that still pays must be acted in once more before the end.
        silent = {
            s
            for s in {s for s, _ in ends}
            if all((s, a) in ends for a in range(self.nA))
            and (self._stays_for_the_same(s) or not any(self._pays(s, a) for a in range(self.nA)))
        }
        return ends, silent

    def _pairs(self, goal: Label) -> list[Code]:
        """Look up a goal: a state, or a pair (state, action)."""
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
        ways = [x for x in product(range(self.nS), range(self.nA)) if goal in self._moves(*x)]
        paid = set().union(*(self._paid(s, a, goal) for s, a in ways))
        return len(paid) == 1 and (goal not in self.mu or any(s != goal for s, _ in ways))

    # ------------------------------------------------------------------ the states

    def pomdp(self, name: str) -> POMDP:
        shown, split = self._entered()
        outcomes = self._outcomes(split)
        starts: dict[Code, Value] = {}
        for s, x in self.mu.items():
            kinds = {_START if self.with_start else _PLAIN: self.one}
            if split[s] and not self.with_start:
                kinds = {_SHOWN + o: y for o, y in self._shown(s, 0).items()}
            starts |= {(s, kind): x * y for kind, y in kinds.items()}
        codes = {code for row in outcomes.values() for code, _ in row} | set(starts)
        codes |= {
            (s, _PLAIN)
            for s in range(self.nS)
            # a start state that is never entered is there only as (s, "start")
            if not split[s] and not (self.with_start and s in self.mu and s not in shown)
        }
        # split states share the rows of their state, which multiplies them
        sizes = {s: sum(len(outcomes.get((s, a), ())) for a in range(self.nA)) for s, _ in codes}
        within(sum(sizes[s] for s, _ in codes), self.limit)
        end = self.nS, _PLAIN
        shows = [START, "", *self.observations]
        label_of: dict[Code, Label] = {
            (s, kind): (
                _fresh("end", self.states) if (s, kind) == end
                else self.states[s] if kind == _PLAIN
                else (self.states[s], shows[kind])
            )
            for s, kind in sorted(codes)
        }  # fmt: skip
        code_of = {label: code for code, label in label_of.items()}
        ended = {*self.terminal, self.nS}
        over = [_fresh("end", self.observations)] if end in codes else []

        def omega(label: Label) -> dict[Label, Value]:
            s, kind = code_of[label]
            if (s, kind) == end:
                return {over[0]: self.one}
            if kind != _PLAIN:
                return {shows[kind]: self.one}
            return {self.observations[o]: x for o, x in self._shown(*shown.get(s, (s, 0))).items()}

        def p(label: Label, a: Label) -> Outcomes:
            row = outcomes.get((code_of[label][0], self.actions.index(a)), {})
            ordered = sorted(row.items(), key=lambda one: one[0][0])
            return {(label_of[code], r): x for (code, r), x in ordered}

        return POMDP.from_functions(
            name=name,
            S=code_of,
            O=[*self.observations, *([START] if self.with_start else []), *over],
            A=self.actions,
            p=p,
            omega=omega,
            mu={label_of[code]: x for code, x in starts.items()},
            gamma=self.gamma,
            terminal=lambda label: code_of[label][0] in ended,
        )

    def _entered(self) -> tuple[dict[int, tuple[int, int]], list[bool]]:
        """List what each entered state shows, and which states are split.

        What a state shows is told by a pair (s', a), the row of O. It is split if a reward depends
        on the observation, or if two ways to enter it show different things.
        """
        shown: dict[int, tuple[int, int]] = {}
        split = [False] * self.nS
        if not self.with_start:
            shown = {s: (s, 0) for s in self.mu}
        for s, a in product(range(self.nS), range(self.nA)):
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
        """The outcomes of each pair (s, a). Split states come once for each observation."""
        found: dict[Code, Outcomes] = {}
        count = 0
        for s, a in product(range(self.nS), range(self.nA)):
            if s in self.terminal:
                continue
            ends, row = (s, a) in self.ends, Outcomes()
            for s_next, x in self._moves(s, a).items():
                if not ends and not split[s_next]:
                    (r,) = self._paid(s, a, s_next)
                    row[(s_next, _PLAIN), r] = x
                    continue
                for o, y in self._shown(s_next, a).items():
                    code = (self.nS, _PLAIN) if ends else (s_next, _SHOWN + o)
                    outcome = code, self.R(a, s, s_next, o)
                    row[outcome] = row.get(outcome, 0 * x) + x * y
            if ends and len(row) == 1:  # whatever the rounding of a sum, it is sure
                row = dict.fromkeys(row, self.one)
            count += len(row)
            within(count, self.limit)
            found[s, a] = row
        return found


def _fresh(label: str, space: Space) -> str:
    """A label that the file does not use. Its names hold no blanks."""
    return label if label not in space else f"{label} of the episode"
