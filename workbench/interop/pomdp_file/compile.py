"""From a record to a POMDP: omega(o | s', a) and R(a, s, s', o) brought into the form p(s', r | s,
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
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import WorkbenchError
from workbench.core.pomdp import POMDP
from workbench.core.space import Label
from workbench.interop.pomdp_file.assemble import Copies, assemble
from workbench.interop.pomdp_file.entries import Ints, TooMany
from workbench.interop.pomdp_file.episodes import detected, named, stays_for_the_same
from workbench.interop.pomdp_file.notes import Notes
from workbench.interop.pomdp_file.record import Record
from workbench.interop.pomdp_file.source import PomdpFileError, Source
from workbench.interop.pomdp_file.spelling import Value, Values, zeros
from workbench.interop.pomdp_file.tables_of import FileReading, FileTables, tables_of


def compile_record(
    record: Record, notes: Notes, source: Source, reading: FileReading, name: str
) -> POMDP:
    """The POMDP that a record describes, read in a given way."""
    try:
        model = tables_of(record, notes, source, reading)
        return _Compiler(model, notes, source, reading, name).pomdp()
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


# ---------------------------------------------------------------------- into the paper's form


@dataclass(frozen=True)
class Outcomes:
    """Entries (row, s', o or -1, prob, r): what a row of T leads to, with the observation where the
    state is split."""

    row: Ints
    s_next: Ints
    o: Ints
    prob: Values
    r: Values


class _Compiler:
    def __init__(
        self, model: FileTables, notes: Notes, source: Source, reading: FileReading, name: str
    ):
        self.model, self.notes, self.source, self.reading = model, notes, source, reading
        self.name = name
        self.exact = model.mu.dtype == object
        self.nS, self.nA = len(model.S), len(model.A)
        self.one: Value = Fraction(1) if self.exact else 1.0

    def pomdp(self) -> POMDP:
        T = self.model.T
        row, s_next = T.row, T.column
        r, varies, pays = self._rewards(row, s_next)
        starts = self.model.mu.astype(bool)
        # An absorbing state that pays for staying what it pays for entering comes from a line
        # such as `R: * : * : goal`, which means the entering: it counts as paying nothing more.
        pays &= ~np.repeat(stays_for_the_same(T, r, varies, starts, self.nA), self.nA)
        ends, terminal = self._ends(pays)
        # Rows that end an episode lead to the added terminal state and nowhere else, so what
        # the file says about where they lead must not split states or count as entering them.
        live = ~ends[row] & ~np.repeat(terminal, self.nA)[row]
        first_row, first_mixed = self._first_observation()
        split = self._split(row[live], s_next[live], varies[live], first_row, first_mixed)
        outcomes = self._outcomes(row[live], s_next[live], T.value[live], r[live], split)
        ended = np.repeat(~terminal, self.nA) & ends
        copies = self._copies(outcomes, split, first_row, first_mixed)
        return assemble(
            self.model,
            copies,
            outcomes,
            self._endings(np.flatnonzero(ended[row]), ended),
            terminal,
            self.name,
            self.notes,
            self.source,
            self.reading.max_outcomes,
        )

    # ------------------------------------------------------------------ rewards

    def _rewards(
        self, row: Ints, s_next: Ints
    ) -> tuple[Values, NDArray[np.bool_], NDArray[np.bool_]]:
        """For each entry of T its reward, whether that depends on the observation, and which rows
        pay anything."""
        a, s = row % self.nA, row // self.nA
        R, omega = self.model.R, self.model.omega
        r = zeros(len(row), self.exact)
        varies = np.zeros(len(row), dtype=bool)
        pays = np.zeros(self.nS * self.nA, dtype=bool)
        # Only where some line names an observation need the reward be looked up for each of
        # them: on the large files that is a small part.
        asked = R.speaks_of_observations(a, s, s_next) if R.names_observations else varies.copy()
        plain = np.flatnonzero(~asked)
        r[plain] = R(a[plain], s[plain], s_next[plain], np.zeros_like(plain))
        asked = np.flatnonzero(asked)
        shown = s_next[asked] * self.nA + a[asked]
        self._within_limit(int(omega.counts[shown].sum()))
        entries, which = omega.gather(shown)
        k = asked[which]
        each = R(a[k], s[k], s_next[k], omega.column[entries])
        # Where a reward depends on the observation one of its values is kept; `varies` says
        # that it must not be used, and the state is split.
        r[k] = each
        varies[k[(each != r[k]).astype(bool)]] = True
        pays[row[k[each.astype(bool)]]] = True
        pays[row[plain[r[plain].astype(bool)]]] = True
        return r, varies, pays

    def _within_limit(self, count: int) -> None:
        if count > self.reading.max_outcomes:
            raise TooMany(count)

    # ------------------------------------------------------------------ episodes

    def _ends(self, pays: NDArray[np.bool_]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        """The rows that end an episode, and the states that are terminal themselves."""
        model, reading = self.model, self.reading
        ends = np.zeros(self.nS * self.nA, dtype=bool)
        if reading.goals is not None:
            ends = named(reading.goals, model.S, model.A)
        elif reading.episodic:
            ends = detected(model.T, model.resets, pays, model.mu.astype(np.float64), self.nA)
            if not ends.any():
                raise PomdpFileError(
                    "no state of this file ends an episode: none is absorbing or leads to the "
                    "start under every action and no row is `reset`. Name some: goals=[state, ...] "
                    "or goals=[(state, action), ...]",
                    self.source.name,
                )
        elif reading.episodic is None:
            return ends, self._terminal_of_notes()
        # A state whose rows all end without paying is terminal itself; one that still pays
        # must be acted in once more before the end.
        silent: NDArray[np.bool_] = (ends & ~pays).reshape(self.nS, self.nA)
        return ends, np.asarray(silent.all(axis=1))

    def _terminal_of_notes(self) -> NDArray[np.bool_]:
        terminal = np.zeros(self.nS, dtype=bool)
        for s in self.notes.terminal:
            if s >= self.nS:
                raise self.source.fault_at_line(
                    self.notes.lines["terminal"], f"there is no state number {s}"
                )
            terminal[s] = True
        return terminal

    def _endings(self, entries: Ints, ended: NDArray[np.bool_]) -> dict[int, dict[Any, Value]]:
        """For each row that ends an episode in the added state, its rewards and their
        probabilities."""
        T, omega = self.model.T, self.model.omega
        row, s_next = T.row[entries], T.column[entries]
        a = row % self.nA
        shown = s_next * self.nA + a
        self._within_limit(int(omega.counts[shown].sum()))
        places, which = omega.gather(shown)
        r = self.model.R(a[which], row[which] // self.nA, s_next[which], omega.column[places])
        prob = T.value[entries][which] * omega.value[places]
        found: dict[int, dict[Any, Value]] = {int(k): {} for k in np.flatnonzero(ended)}
        for k, reward, x in zip(row[which].tolist(), r.tolist(), prob.tolist(), strict=True):
            found[k][reward] = found[k].get(reward, 0 * self.one) + x
        return {
            k: dist if len(dist) > 1 else dict.fromkeys(dist, self.one) for k, dist in found.items()
        }

    # ------------------------------------------------------------------ observations

    def _first_observation(self) -> tuple[dict[int, int] | None, dict[int, Values]]:
        """How start states show their first observation.

        Returns
        -------
        rows : for each start state a row of O; None when the first observation is "start".
        mixed : for start states whose actions differ, a distribution over observations (a dense
            row) in its place.
        """
        first, omega, A = self.reading.first, self.model.omega, self.model.A
        support = np.flatnonzero(self.model.mu.astype(bool))
        base = support * self.nA
        if first.startswith("after "):
            wanted = {str(label): i for i, label in enumerate(A)}
            if first[6:] not in wanted:
                raise PomdpFileError(
                    f"first={first!r} names no action of this file; it has {A}", self.source.name
                )
            return dict(zip(support.tolist(), (base + wanted[first[6:]]).tolist(), strict=True)), {}
        if first == "start":
            return None, {}
        if first not in ("auto", "uniform"):
            raise PomdpFileError(
                f"first must be 'auto', 'start', 'uniform' or 'after ACTION', not {first!r}"
            )
        same = omega.same_for_all_actions(self.nA)[support]
        # Some start state shows different things after different actions: a file does not say
        # which action came before the first one.
        if first == "auto" and not same.all():
            return None, {}
        mixed = {int(s): self._mixture(int(s)) for s in support[~same]}
        return dict(zip(support.tolist(), base.tolist(), strict=True)), mixed

    def _mixture(self, s: int) -> Values:
        """The observations of a state after an action chosen uniformly."""
        omega = self.model.omega
        dense = zeros(len(self.model.O), self.exact)
        places, _ = omega.gather(s * self.nA + np.arange(self.nA))
        for o, x in zip(omega.column[places].tolist(), omega.value[places].tolist(), strict=True):
            dense[o] += x / self.nA
        return dense

    def _split(
        self,
        row: Ints,
        s_next: Ints,
        varies: NDArray[np.bool_],
        first: dict[int, int] | None,
        mixed: dict[int, Values],
    ) -> NDArray[np.bool_]:
        """The states that become (s, o): a reward depends on o, or two ways to enter them show
        different things."""
        entered = np.unique(s_next * self.nA + row % self.nA)
        if first is not None:
            entered = np.unique(
                np.concatenate((entered, np.array(list(first.values()), dtype=np.int64)))
            )
        state = entered // self.nA
        # `entered` is sorted by state, so this is the first way to enter each state; the state
        # stays whole only if every other way shows the same.
        reference = entered[np.searchsorted(state, state)]
        split = np.zeros(self.nS, dtype=bool)
        split[state[~self.model.omega.same(entered, reference)]] = True
        split[s_next[varies]] = True
        split[list(mixed)] = True
        return split

    def _outcomes(
        self, row: Ints, s_next: Ints, prob: Values, r: Values, split: NDArray[np.bool_]
    ) -> Outcomes:
        """The entries of T, those that lead to split states once for each observation."""
        omega = self.model.omega
        whole = np.flatnonzero(~split[s_next])
        parted = np.flatnonzero(split[s_next])
        shown = s_next[parted] * self.nA + row[parted] % self.nA
        self._within_limit(len(whole) + int(omega.counts[shown].sum()))
        places, which = omega.gather(shown)
        k = parted[which]
        o = omega.column[places]
        return Outcomes(
            row=np.concatenate((row[whole], row[k])),
            s_next=np.concatenate((s_next[whole], s_next[k])),
            o=np.concatenate((np.full(len(whole), -1), o)),
            prob=np.concatenate((prob[whole], prob[k] * omega.value[places])),
            r=np.concatenate(
                (r[whole], self.model.R(row[k] % self.nA, row[k] // self.nA, s_next[k], o))
            ),
        )

    def _copies(
        self,
        outcomes: Outcomes,
        split: NDArray[np.bool_],
        first: dict[int, int] | None,
        mixed: dict[int, Values],
    ) -> Copies:
        """The states of the POMDP, what they show, and where it starts."""
        model, nO = self.model, len(self.model.O)
        support = np.flatnonzero(model.mu.astype(bool))
        entered = np.zeros(self.nS, dtype=bool)
        entered[outcomes.s_next] = True
        plain = ~split
        starts: list[
            tuple[int, int, Value]
        ] = []  # s, what it shows (-1: a plain state), probability
        if first is None:
            # A start state that is never entered again is there only as its copy (s, "start").
            plain[support] &= entered[support]
            starts = [(s, nO, model.mu[s]) for s in support.tolist()]
        else:
            for s, row in first.items():
                if not split[s]:
                    starts.append((s, -1, model.mu[s]))
                    continue
                if s in mixed:
                    shown = [
                        (o, mixed[s][o]) for o in np.flatnonzero(mixed[s].astype(bool)).tolist()
                    ]
                else:
                    span = slice(model.omega.ptr[row], model.omega.ptr[row + 1])
                    shown = list(
                        zip(
                            model.omega.column[span].tolist(),
                            model.omega.value[span].tolist(),
                            strict=True,
                        )
                    )
                starts += [(s, o, model.mu[s] * x) for o, x in shown]
        reference = (
            np.arange(self.nS) * self.nA
        )  # for each plain state a way to enter it, if there is one
        reference[outcomes.s_next] = outcomes.s_next * self.nA + outcomes.row % self.nA
        for s, row in (first or {}).items():
            if s not in mixed:
                reference[s] = row
        s_split = outcomes.o >= 0
        keys = np.concatenate(
            (
                np.flatnonzero(plain) * (nO + 2)
                + 1,  # a state before its copies, the copy "start" before it
                outcomes.s_next[s_split] * (nO + 2) + 2 + outcomes.o[s_split],
                np.array([_key(s, o, nO) for s, o, _ in starts], dtype=np.int64),
            )
        )
        distinct = np.unique(keys)
        owner, code = np.divmod(distinct, nO + 2)
        shows = np.where(code == 0, nO, np.where(code == 1, -1, code - 2))
        mu = zeros(len(distinct), self.exact)
        for s, o, x in starts:
            mu[np.searchsorted(distinct, _key(s, o, nO))] += x
        return Copies(distinct, owner, shows, reference, mu, with_start=first is None)


def _key(s: int, shows: int, nO: int) -> int:
    """Orders the states of the POMDP: by the file's state, "start" first, the plain state, then by
    observation."""
    return s * (nO + 2) + (0 if shows == nO else 1 if shows < 0 else 2 + shows)


def reading_of(
    first: str,
    episodic: bool | None,
    goals: Iterable[Label] | None,
    tolerance: float | None,
    max_outcomes: int,
) -> FileReading:
    """The arguments of `load_pomdp`, checked."""
    if goals is not None:
        if episodic is False:
            raise PomdpFileError("goals are for the episodic reading; leave out episodic=False")
        goals = (goals,) if isinstance(goals, str) else tuple(goals)
    if tolerance is not None and not 0 <= tolerance < 1:
        raise PomdpFileError(f"tolerance must lie in [0, 1), not {tolerance}")
    return FileReading(first, episodic, goals, tolerance, max_outcomes)
