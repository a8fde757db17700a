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

The first observation, before any action, is not defined by a file. `first` chooses it:

- "auto": where O gives each start state the same row for every action, the start state shows it;
  otherwise as "start";
- "start": nothing is known yet. Start states s become additional states (s, "start") that show the
  observation "start";
- "after ACTION": as if that action had just led to the start state;
- "uniform": as if an action chosen uniformly had.

Inside, a state of the POMDP is one number, its *code*: s (|O| + 2), plus 0 for (s, "start"), 1 for
s itself and 2 + o for (s, o). The state "end" that the episodic reading adds is state |S| itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from workbench.core.errors import WorkbenchError
from workbench.core.numbers import Numbers
from workbench.core.pomdp import POMDP, Distribution, Emissions, StateSet, Transitions
from workbench.core.rows import add_groups, own_rows, pick_rows, point_rows
from workbench.core.space import Label, Space
from workbench.interop.pomdp_file.episodes import detected, named, stays_for_the_same
from workbench.interop.pomdp_file.grammar import Names, Record
from workbench.interop.pomdp_file.notes import Notes
from workbench.interop.pomdp_file.source import PomdpFileError, Source, Values, full
from workbench.interop.pomdp_file.tables import (
    Flags,
    Ints,
    Rows,
    TooMany,
    distinct,
    tables_of,
    within,
)

_START, _PLAIN, _SHOWN = 0, 1, 2

START = "start"
"""The observation of start states that show nothing; a word of the format, so that no file has it
for a name."""


@dataclass(frozen=True)
class FileReading:
    """How a file is to be read: the arguments of `load_pomdp`."""

    first: str
    episodic: bool | None
    goals: tuple[Label, ...] | None
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


@dataclass(frozen=True)
class _Outcomes:
    """What rows lead to: the code of a state with a reward."""

    row: Ints
    code: Ints
    prob: Values
    r: Values

    def take(self, order: Ints) -> _Outcomes:
        return _Outcomes(self.row[order], self.code[order], self.prob[order], self.r[order])


class _Compiler:
    def __init__(self, record: Record, notes: Notes, source: Source, reading: FileReading):
        self.notes, self.source, self.reading = notes, source, reading
        self.limit, self.exact, self.gamma = reading.max_outcomes, record.exact, record.gamma
        tables = tables_of(record, source, reading.tolerance, self.limit)
        self.T, self.O, self.R, self.mu = tables.T, tables.O, tables.R, tables.mu
        self.resets = tables.resets
        self.states = self._labels("states", record.states)
        self.actions = self._labels("actions", record.actions)
        # an MDP has one space for both, so that labels of states are labels of observations
        self.observations = (
            self.states
            if record.observations is None
            else self._labels("observations", record.observations)
        )
        self.nS, self.nA, self.nO = map(len, (self.states, self.actions, self.observations))
        self.support = np.flatnonzero(self.mu.astype(bool))

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

    def _code(self, s: int | Ints, kind: int | Ints) -> Any:
        return s * (self.nO + _SHOWN) + kind

    def pomdp(self, name: str) -> POMDP:
        row, s_next, nA = self.T.row, self.T.column, self.nA
        r, varies, pays = self._rewards(row, s_next)
        # An absorbing state that pays for staying what it pays for entering comes from a line
        # such as `R: * : * : goal`, which means the entering: it counts as paying nothing more.
        pays &= ~np.repeat(stays_for_the_same(self.T, r, varies, self.mu.astype(bool), nA), nA)
        ends, terminal = self._ends(pays)
        # Rows that end an episode lead to the added terminal state and nowhere else, so what
        # the file says about where they lead must not split states or count as entering them.
        ended = ends & ~np.repeat(terminal, nA)
        live = np.flatnonzero(~ends[row] & ~np.repeat(terminal, nA)[row])
        first = self._first_rows()
        entered = distinct(s_next[live] * nA + row[live] % nA)
        shown = entered if first is None else distinct(np.append(entered, first.row))
        split = self._split(shown, s_next[live[varies[live]]], first)
        outcomes = self._merge_copies(self._outcomes(live, r, split, ended), shown, split, terminal)
        starts, mu = self._starts(first, split)
        plain = ~split
        if first is None:
            # a start state that is never entered again is there only as its copy (s, "start")
            plain[self.support] &= np.isin(self.support, entered // nA)
        codes = distinct(
            np.concatenate(
                (
                    self._code(self._owner()[np.flatnonzero(plain)], _PLAIN),
                    outcomes.code,
                    starts,
                )
            )
        )
        return self._assemble(name, codes, outcomes, shown, (starts, mu), terminal, first is None)

    # ------------------------------------------------------------------ rewards and episodes

    def _rewards(self, row: Ints, s_next: Ints) -> tuple[Values, Flags, Flags]:
        """For each entry of T its reward, whether that depends on the observation, and which rows
        pay anything."""
        a, s = row % self.nA, row // self.nA
        r = full(len(row), 0, self.exact)
        varies, pays = np.zeros(len(row), dtype=bool), np.zeros(self.nS * self.nA, dtype=bool)
        # Only where some line names an observation need the reward be looked up for each of
        # them: on the large files that is a small part.
        named = self.R.names_observation(a, s, s_next)
        plain, asked = np.flatnonzero(~named), np.flatnonzero(named)
        r[plain] = self.R(a[plain], s[plain], s_next[plain], np.zeros_like(plain))
        places, which = self.O.gather(s_next[asked] * self.nA + a[asked], self.limit)
        k = asked[which]
        each = self.R(a[k], s[k], s_next[k], self.O.column[places])
        # Where a reward depends on the observation one of its values is kept; `varies` says
        # that it must not be used, and the state is split.
        r[k] = each
        varies[k[(each != r[k]).astype(bool)]] = True
        pays[row[k[each.astype(bool)]]] = True
        pays[row[plain[r[plain].astype(bool)]]] = True
        return r, varies, pays

    def _ends(self, pays: Flags) -> tuple[Flags, Flags]:
        """The rows that end an episode, and the states that are terminal themselves."""
        if self.reading.goals is not None:
            ends = named(self.reading.goals, self.states, self.actions)
        elif self.reading.episodic:
            ends = detected(self.T, self.resets, pays, self.mu.astype(np.float64), self.nA)
            if not ends.any():
                raise PomdpFileError(
                    "no state of this file ends an episode: none is absorbing or leads to the "
                    "start under every action and no row is `reset`. Name some: goals=[state, ...] "
                    "or goals=[(state, action), ...]",
                    self.source.name,
                )
        else:
            terminal = np.zeros(self.nS, dtype=bool)
            if self.reading.episodic is None:
                for s in self.notes.terminal:
                    if s >= self.nS:
                        raise self.source.fault_at_line(
                            self.notes.lines["terminal"], f"there is no state number {s}"
                        )
                    terminal[s] = True
            return np.zeros(self.nS * self.nA, dtype=bool), terminal
        # A state whose rows all end without paying is terminal itself; one that still pays
        # must be acted in once more before the end.
        silent: Flags = (ends & ~pays).reshape(self.nS, self.nA)
        return ends, np.asarray(silent.all(axis=1))

    # ------------------------------------------------------------------ observations

    def _first_rows(self) -> _First | None:
        """The rows of O that start states show first, or None when the first observation is
        "start"."""
        first, rows = self.reading.first, self.support * self.nA
        none_mixed = np.zeros(len(rows), dtype=bool)
        if first.startswith("after "):
            wanted = {str(label): i for i, label in enumerate(self.actions)}
            if first[6:] not in wanted:
                raise PomdpFileError(
                    f"first={first!r} names no action of this file; it has {self.actions}",
                    self.source.name,
                )
            return _First(rows + wanted[first[6:]], none_mixed)
        if first == "start":
            return None
        if first not in ("auto", "uniform"):
            raise PomdpFileError(
                f"first must be 'auto', 'start', 'uniform' or 'after ACTION', not {first!r}"
            )
        mixed = ~self.O.same_for_all_actions(self.nA)[self.support]
        # Some start state shows different things after different actions: a file does not say
        # which action came before the first one.
        if first == "auto" and mixed.any():
            return None
        return _First(rows, mixed)

    def _split(self, shown: Ints, varying: Ints, first: _First | None) -> Flags:
        """The states that become (s, o): a reward depends on o, or two ways to enter them show
        different things."""
        state = shown // self.nA
        # `shown` is sorted by state, so this is the first way to enter each state; the state
        # stays whole only if every other way shows the same.
        reference = shown[np.searchsorted(state, state)]
        split = np.zeros(self.nS, dtype=bool)
        split[state[~self.O.same(shown, reference)]] = True
        split[varying] = True
        if first is not None:
            split[self.support[first.mixed]] = True
        return split

    def _outcomes(self, live: Ints, r: Values, split: Flags, ended: Flags) -> _Outcomes:
        """The entries of T as outcomes. Those that lead to split states come once for each
        observation, and those that end an episode once for each reward."""
        T, O, nA = self.T, self.O, self.nA
        row, s_next = T.row, T.column
        whole, parted = live[~split[s_next[live]]], live[split[s_next[live]]]
        last = np.flatnonzero(ended[row])
        asked = np.concatenate((parted, last))
        places, which = O.gather(s_next[asked] * nA + row[asked] % nA, self.limit - len(whole))
        k, o = asked[which], O.column[places]
        goes_on = which < len(parted)
        code = np.where(goes_on, self._code(s_next[k], _SHOWN + o), self._code(self.nS, _PLAIN))
        prob = T.value[k] * O.value[places]
        reward = self.R(row[k] % nA, row[k] // nA, s_next[k], o)
        found = _Outcomes(row[k], code, prob, reward)
        parts = (
            _Outcomes(row[whole], self._code(s_next[whole], _PLAIN), T.value[whole], r[whole]),
            found.take(np.flatnonzero(goes_on)),
            _add_equal(found.take(np.flatnonzero(~goes_on))),
        )
        return _Outcomes(
            *(
                np.concatenate([getattr(part, column) for part in parts])
                for column in ("row", "code", "prob", "r")
            )
        )

    def _starts(self, first: _First | None, split: Flags) -> tuple[Ints, Values]:
        """The codes that it can start in, and their probabilities."""
        owner = self._owner()[self.support]
        if first is None:
            return self._code(owner, _START), self.mu[self.support]
        whole, parted = np.flatnonzero(~split[self.support]), np.flatnonzero(split[self.support])
        # after an action chosen uniformly, what any of the |A| rows of O shows may come first
        count = np.where(first.mixed[parted], self.nA, 1)
        ptr = point_rows(count)
        k = own_rows(ptr)
        rows = first.row[parted][k] + np.arange(ptr[-1]) - ptr[k]
        places, which = self.O.gather(rows, self.limit)
        k = k[which]
        shown, group = np.unique(parted[k] * self.nO + self.O.column[places], return_inverse=True)
        nothing = full(len(shown), 0, self.exact)
        chance = add_groups(group, self.O.value[places] / count[k], nothing)
        i, o = np.divmod(shown, self.nO)
        return (
            np.concatenate((self._code(owner[whole], _PLAIN), self._code(owner[i], _SHOWN + o))),
            np.concatenate((self.mu[self.support[whole]], self.mu[self.support[i]] * chance)),
        )

    # ------------------------------------------------------------------ copies of states

    def _owner(self) -> Ints:
        """For each state, and the end, the state that it is a copy of according to the notes, or
        itself."""
        kept = self.nS - len(self.notes.copies)
        return np.concatenate(
            (np.arange(kept), np.array([*self.notes.copies, self.nS], dtype=np.int64))
        )

    def _merge_copies(
        self, outcomes: _Outcomes, shown: Ints, split: Flags, terminal: Flags
    ) -> _Outcomes:
        """The outcomes in the order of their rows, with ways into a copy as ways into its state."""
        copies, nA = np.array(self.notes.copies, dtype=np.int64), self.nA
        kept = self.nS - len(copies)

        def wrong(why: str) -> PomdpFileError:
            return self.source.fault_at_line(
                self.notes.lines["copies"], f"the note copies does not fit this file: {why}"
            )

        if kept < 1 or (copies >= kept).any():
            raise wrong("the last states must be copies of earlier ones")
        s, kind = np.divmod(outcomes.code, self.nO + _SHOWN)
        outcomes = replace(outcomes, code=self._code(self._owner()[s], kind))
        outcomes = outcomes.take(np.lexsort((outcomes.code, outcomes.row)))
        ptr = point_rows(np.bincount(outcomes.row, minlength=self.nS * nA))
        actions = np.arange(nA)
        rows, others = (
            (states[:, None] * nA + actions).ravel()
            for states in (np.arange(kept, self.nS), copies)
        )
        same = Rows(ptr, outcomes.code, outcomes.prob).same(rows, others)
        same &= Rows(ptr, outcomes.code, outcomes.r).same(rows, others)
        alike = same.reshape(-1, nA).all(axis=1)
        alike &= (split[kept:] == split[copies]) & (terminal[kept:] == terminal[copies])
        reference = self._reference(shown)
        alike &= split[kept:] | self.O.same(reference[kept:], reference[copies])
        # a note is a claim about the file, which others may have edited since
        for i in np.flatnonzero(~alike)[:1].tolist():
            raise wrong(
                f"state number {kept + i} differs from state number {copies[i]} in more than the "
                "reward of entering it"
            )
        return outcomes

    # ------------------------------------------------------------------ the POMDP

    def _reference(self, shown: Ints) -> Ints:
        """For each state the row of O that it shows while it is one state."""
        reference = np.arange(self.nS) * self.nA
        reference[shown // self.nA] = shown
        return reference

    def _assemble(
        self,
        name: str,
        codes: Ints,
        outcomes: _Outcomes,
        shown: Ints,
        starts: tuple[Ints, Values],
        terminal: Flags,
        with_start: bool,
    ) -> POMDP:
        """The POMDP whose states have these codes, ascending."""
        nA, base = self.nA, self.nO + _SHOWN
        owner, kind = np.divmod(codes, base)
        with_end = bool(owner[-1] == self.nS)
        ptr = point_rows(np.bincount(outcomes.row, minlength=(self.nS + 1) * nA))
        rows = (owner[:, None] * nA + np.arange(nA)).ravel()
        # copies share the rows of their state, which multiplies them: count before they are written
        within(int((ptr[rows + 1] - ptr[rows]).sum()), self.limit)
        row_ptr, entries = pick_rows(ptr, rows)
        target = np.searchsorted(codes, outcomes.code)[entries].astype(np.int32)
        states = [*self.states, _fresh("end", self.states)]
        shows = [START, "", *self.observations]
        S = Space(
            states[s] if k == _PLAIN else (states[s], shows[k])
            for s, k in zip(owner.tolist(), kind.tolist(), strict=True)
        )
        O = Space(
            [
                *self.observations,
                *([START] if with_start else []),
                *([_fresh("end", self.observations)] if with_end else []),
            ]
        )
        omega = self._emissions(owner, kind, self._reference(shown), len(O) - 1)
        at = np.searchsorted(codes, starts[0])
        mu = add_groups(at, starts[1], full(len(codes), 0, self.exact))
        return POMDP(
            name=name,
            S=S,
            O=O,
            A=self.actions,
            p=Transitions(
                S,
                self.actions,
                row_ptr,
                target,
                Numbers.of(outcomes.r[entries]),
                Numbers.of(outcomes.prob[entries]),
            ),
            omega=Emissions(
                S, O, omega.ptr, omega.column.astype(np.int32), Numbers.of(omega.value)
            ),
            gamma=self.gamma,
            mu=Distribution(S, Numbers.of(mu)),
            terminal=StateSet(S, np.append(terminal, True)[owner]),
        )

    def _emissions(self, owner: Ints, kind: Ints, reference: Ints, end: int) -> Rows:
        """omega(o | s): the file's row for a state of the file, one observation for the others."""
        is_end = owner == self.nS
        plain = np.flatnonzero((kind == _PLAIN) & ~is_end)
        fixed = np.flatnonzero((kind != _PLAIN) | is_end)
        places, which = self.O.gather(reference[owner[plain]], self.limit)
        shows = np.where(is_end, end, np.where(kind == _START, self.nO, kind - _SHOWN))[fixed]
        state = np.concatenate((plain[which], fixed))
        column = np.concatenate((self.O.column[places], shows))
        value = np.concatenate((self.O.value[places], full(len(fixed), 1, self.exact)))
        order = np.lexsort((column, state))
        ptr = point_rows(np.bincount(state, minlength=len(owner)))
        return Rows(ptr, column[order], value[order])


@dataclass(frozen=True)
class _First:
    """The row of O that each start state shows first. Where `mixed`, it is that row or one of the
    other actions', all with the same probability."""

    row: Ints
    mixed: Flags


def _add_equal(found: _Outcomes) -> _Outcomes:
    """Outcomes with the same row and reward as one. A row with one outcome leads there surely."""
    rewards, code = np.unique(found.r, return_inverse=True)
    key = found.row * max(len(rewards), 1) + code
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    merged = found.take(first)
    total = add_groups(group, found.prob, merged.prob * 0)
    _, where, count = np.unique(merged.row, return_inverse=True, return_counts=True)
    return replace(merged, prob=np.where(count[where] == 1, total * 0 + 1, total))


def _fresh(label: str, space: Space) -> str:
    """A label that the file does not use. Its names hold no blanks."""
    return label if label not in space else f"{label} of the episode"
