"""Does a task need memory, and how much? The best memoryless value against the best history-based
one (Appendix A.2).

    memory is needed          no memoryless policy pi(a | o) is worth V*, the best value of a policy
                              of the whole history
    a memory closes the gap   some memoryless policy of <P, memory> is worth V*

`gap.GapCloser` decides the second for one memory, exactly or by bounds; "none" among the memories
is the first. Here memories of growing size are tried, family by family.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.core.errors import NeverEnds, WorkbenchError, WrongType
from workbench.core.numbers import Number
from workbench.core.pomdp import POMDP
from workbench.memories import OA, B, K, O, none
from workbench.optima.best_history import best_history
from workbench.optima.best_memoryless import best_memoryless
from workbench.optima.optimum import HistoryOptimum, MemorylessOptimum
from workbench.plain_numbers import deadline
from workbench.sufficiency.gap import Attempt, GapCloser, Limits, climb_by_ascent
from workbench.tables.sheet import Column, Drawn, Sheet, Showing
from workbench.text import between, brief

KINDS = {"K": K, "B": B, "O": O, "OA": OA}
FAMILIES = tuple(KINDS)

_HURRY = 1.0
"""Seconds for what is still missing after Ctrl-C."""


@dataclass(frozen=True)
class InFamily:
    """What is known about the smallest memory of a family that closes the gap.

    Attributes
    ----------
    kind : "K", "B", "O" or "OA".
    tried : the attempts with k = 0, 1, ...; k = 0 is no memory.
    """

    kind: str
    tried: tuple[Attempt, ...]

    @property
    def k(self) -> int | None:
        """The smallest k found that closes the gap."""
        return next((k for k, x in enumerate(self.tried) if x.holds), None)

    @property
    def at_least(self) -> int:
        """Smaller k are refuted."""
        return next((k for k, x in enumerate(self.tried) if x.holds is not False), len(self.tried))

    def told(self, up_to: int) -> str:
        """The smallest memory that is enough, or the best value that was reached."""
        if self.k == 0:
            return "none is needed"
        if len(self.tried) == 1:
            return "not looked at"
        if self.k is not None:
            return f"{self.kind}{self.k} is as good as the history{self._smaller()}"
        values = [(x.value, x.memory) for x in self.tried[1:] if x.value is not None]
        best = f"; {max(values)[1]} reaches {brief(max(values)[0])}" if values else ""
        if self.at_least == len(self.tried):
            return f"none up to {self.kind}{len(self.tried) - 1} is as good{best}"
        return f"none was found up to {self.kind}{up_to}{self._smaller()}{best}"

    def _smaller(self) -> str:
        if self.k == self.at_least:
            return "; no smaller one is" if self.k > 1 else ""
        names = [x.memory for x in self.tried[1:] if x.holds is None]
        return f"; not decided: {', '.join(names)}"

    def __str__(self) -> str:
        """The smallest k: "2", "<= 2", "> 3", or "?" with what is known."""
        if self.k is not None:
            return str(self.k) if self.k == self.at_least else f"<= {self.k}"
        if self.at_least == len(self.tried):
            return f"> {len(self.tried) - 1}"
        return f"? (> {self.at_least - 1})" if self.at_least else "?"


@dataclass(frozen=True, eq=False)
class Necessity(Showing, Drawn):
    """Whether a task needs memory.

    Attributes
    ----------
    memoryless : the best deterministic memoryless policy; None if none ends (gamma = 1).
    stochastic : the best value of a stochastic memoryless policy found, where it is higher; else
        None.
    history : the best history-based value, or bounds.
    lower, upper : bounds on it, the lower one raised by the policies found with memories.
    without : whether no memory at all closes the gap.
    families : the families looked at, in order.
    up_to : the largest k.
    limits : of the search; margin : values closer than this count as equal where floats are
        compared.
    interrupted : whether Ctrl-C cut the search short.

    `plot` draws best values against numbers of memory states.
    """

    figure = "frontier_plot"

    P: POMDP
    memoryless: MemorylessOptimum | None
    stochastic: float | None
    history: HistoryOptimum
    lower: Number
    upper: Number
    without: Attempt
    families: tuple[InFamily, ...]
    up_to: int
    limits: Limits
    margin: float
    interrupted: bool = False

    def drawn_from(self) -> tuple[Any, ...]:
        return (self.P,)

    @property
    def needed(self) -> bool | None:
        """True, False, or None if undecided."""
        return None if self.without.holds is None else not self.without.holds

    @property
    def best_without(self) -> Number | None:
        """The best memoryless value found, deterministic or not."""
        return (
            self.stochastic
            if self.stochastic is not None
            else self.memoryless and self.memoryless.value
        )

    @property
    def bound_without(self) -> Number | None:
        """An upper bound on the value of deterministic memoryless policies. It comes from the
        search for the best one, or from the best history-based value. None if neither search
        ends."""
        return self.memoryless and min(self.memoryless.bound, self.upper)

    @property
    def gain(self) -> tuple[Number, Number] | None:
        """The advantage of the best history-based policy over the best memoryless one, as
        bounds."""
        if self.best_without is None:
            return None
        return max(self.lower - self.best_without, 0), self.upper - self.best_without

    def sheet(self) -> Sheet:
        """What policies with more and more memory reach, a row each."""
        columns = (
            Column("policies"),
            Column("value", "what the best of them is worth", right=True),
            Column("how it is known"),
        )
        best = self.memoryless
        rows: list[tuple[str, str, str]] = []
        if best is None:
            ends = "no deterministic policy ends with probability one"
            rows.append(("without memory", "none ends", ends))
        else:
            sure = "proved" if best.certified else f"at most {brief(self.bound_without)}"
            rows.append(("without memory, deterministic", brief(best.value), sure))
        if self.stochastic is not None:
            found = brief(self.stochastic)
            rows.append(("without memory, stochastic", found, "the best that was found"))
        value = between(self.lower, self.upper, self.margin)
        rows.append(("of the whole history", value, self.history.how))
        rows += [(f"with {f.kind}(k)", "", f.told(self.up_to)) for f in self.families]
        notes = [f"Looked at k up to {self.up_to}, {self.limits.seconds:g} s for each search."]
        if not self.history.exact:
            notes.append(f"Values within {self.margin:.1g} count as equal.")
        if self.interrupted:
            notes.append("Interrupted: the rest was not looked at.")
        title = f"Does {self.P.name} need memory?"
        return Sheet(title, columns, tuple(rows), self._conclusion(), tuple(notes))

    def _conclusion(self) -> str:
        if self.needed is None:
            return f"Not decided: {self.without.reason}."
        if not self.needed:
            return f"No: {self.without.reason}."
        enough = [f"{f.kind}{f.k}" for f in self.families if f.k]
        gain = "" if self.gain is None else f" Memory is worth {between(*self.gain, self.margin)}."
        which = f" Enough memory is {' or '.join(enough)}." if enough else ""
        return f"Yes: {self.without.reason}.{gain}{which}"

    def row(self) -> dict[str, str]:
        """One line of a table."""
        memoryless = "none ends" if self.memoryless is None else brief(self.memoryless.value)
        if self.memoryless is not None and not self.memoryless.certified:
            memoryless += f" <= {brief(self.bound_without)}"
        return {
            "task": self.P.name,
            "deterministic": memoryless,
            "stochastic": "" if self.stochastic is None else brief(self.stochastic),
            "history": between(self.lower, self.upper, self.margin),
            "memory?": verdict(self.needed),
            **{family.kind: str(family) for family in self.families},
        }

    def __repr__(self) -> str:
        found = ", ".join(f"{family.kind} {family}" for family in self.families)
        value = between(self.lower, self.upper, self.margin)
        return (
            f"{self.P.name} needs memory: {verdict(self.needed)}; best "
            f"history-based value {value}; smallest k: {found}"
        )


def verdict(holds: bool | None) -> str:
    """yes, no or undecided, in words."""
    return {True: "yes", False: "no", None: "not decided"}[holds]


# ---------------------------------------------------------------------- the question


def needs_memory(
    P: POMDP,
    families: Iterable[str] = FAMILIES,
    up_to: int = 3,
    limits: Limits | None = None,
    max_seconds: float | None = None,
) -> Necessity:
    """Whether a task needs memory, and the smallest memory of each family that closes the gap.

    Parameters
    ----------
    P : the task.
    families : of "K", "B", "O", "OA".
    up_to : the largest k to try.
    limits : of each search.
    max_seconds : of all searches; memories that they do not come to are not looked at.

    Ctrl-C ends the search with what was found.

    >>> from workbench.improvement.batch import sequence_task
    >>> P = sequence_task([[0, 1], [1, 0]])
    >>> needs_memory(P)
    sequence task needs memory: yes; best history-based value 1; smallest k: K 1, B 1, O 1, OA 1

    See also: `can_encode_optimal`, `is_sufficiently_expressive`, `best_memoryless`.
    """
    *_, last = in_stages(P, families, up_to, limits, max_seconds)
    return last


def in_stages(
    P: POMDP,
    families: Iterable[str] = FAMILIES,
    up_to: int = 3,
    limits: Limits | None = None,
    max_seconds: float | None = None,
) -> Iterator[Necessity]:
    """What `needs_memory` knows as it goes on: first without families, then with one more each
    time."""
    kinds = _kinds(families)
    if isinstance(up_to, bool) or not isinstance(up_to, int | np.integer) or up_to < 1:
        raise WrongType(f"up_to is a whole number from 1, not {up_to!r}")
    limits, until = limits or Limits(), deadline(max_seconds)
    # with a limit for all, the first searches leave time for those that come after them
    spare = math.inf if max_seconds is None else max_seconds / 8
    history = best_history(
        P,
        max_beliefs=limits.max_beliefs,
        max_backups=limits.max_backups,
        max_seconds=min(limits.seconds, spare),
        tolerance=limits.tolerance,
    )
    asked = GapCloser(P, history, limits, until)
    interrupted = history.interrupted
    memoryless = _deterministic(P, _HURRY if interrupted else min(asked.seconds, spare))
    interrupted |= memoryless is not None and memoryless.interrupted
    stochastic: float | None = None
    without = Attempt("none", None, "not asked: interrupted")
    found: list[InFamily] = []

    def known() -> Necessity:
        lower = max(history.lower, asked.lower)
        return Necessity(
            P,
            memoryless,
            stochastic,
            history,
            lower,
            max(lower, history.upper),
            without,
            tuple(found),
            int(up_to),
            limits,
            asked.margin,
            interrupted,
        )

    if not interrupted:
        try:
            without = asked.on_beliefs(none) or without  # kept if Ctrl-C ends what follows
            without, stochastic = _without(asked, without, memoryless)
        except KeyboardInterrupt:
            interrupted = True
    yield known()
    for kind in kinds:
        tried = [without]
        try:
            if not interrupted:
                try_family(asked, kind, tried, up_to)
        except KeyboardInterrupt:
            interrupted = True
        found.append(InFamily(kind, tuple(tried)))
        yield known()


def try_family(asked: GapCloser, kind: str, tried: list[Attempt], up_to: int) -> None:
    """Add attempts with k = 1, 2, ... to the one without memory.

    Ends when one closes the gap, k is `up_to`, or time is up.
    """
    while not tried[-1].holds and len(tried) <= up_to and time.monotonic() <= asked.until:
        tried.append(asked.about(KINDS[kind](len(tried))))


def _kinds(families: Iterable[str]) -> list[str]:
    kinds = [families] if isinstance(families, str) else list(families)
    for kind in kinds:
        if kind not in KINDS:
            raise WorkbenchError(f"unknown family {kind!r}: one of {', '.join(FAMILIES)}")
    return kinds


def _deterministic(P: POMDP, seconds: float) -> MemorylessOptimum | None:
    try:
        return best_memoryless(P, max_seconds=seconds)
    except NeverEnds:
        return None


def _without(
    asked: GapCloser, sure: Attempt, memoryless: MemorylessOptimum | None
) -> tuple[Attempt, float | None]:
    """Whether no memory is enough, unless that is already known. Returns a stochastic policy's
    value too, if it is better."""
    if sure.holds:
        return sure, None
    value = -math.inf if memoryless is None else float(memoryless.value)
    if memoryless is not None and sure.holds is None and asked.closes(value):
        return Attempt(
            "none", True, f"a memoryless policy is worth {brief(memoryless.value)}", value
        ), None
    climbed = climb_by_ascent(
        asked.P, asked.seconds, None if memoryless is None else memoryless.policy
    )
    stochastic = climbed[0] if climbed[0] > value + asked.margin else None
    return sure if sure.holds is False else asked.by_values(none, climbed, memoryless), stochastic
