"""A census of tasks: what each is worth to whom.

    informed        if the state were seen
    history         to policies of the whole history
    deterministic   to deterministic memoryless policies
    stochastic      to stochastic memoryless policies
    one bit         to deterministic policies with B1
    K, B, O, OA     the smallest k of each family that is worth what the history is, where asked

Each value is a pair (value, bound): a policy reaches the value, and none exceeds the bound; equal
where the answer is exact. A task is resumed where it was left: rows are kept one by one in a
journal, and a row is done again only if the task, the limits or the way it is found has changed.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.augment import augment
from workbench.core.errors import (
    NeverEnds,
    NotExact,
    NotSolved,
    TooLarge,
    Unbounded,
    WorkbenchError,
)
from workbench.core.numbers import to_float
from workbench.core.pomdp import POMDP
from workbench.extras import need
from workbench.memories import none
from workbench.optima.best_history import best_history
from workbench.optima.best_informed import best_informed
from workbench.optima.best_memoryless import best_memoryless
from workbench.optima.optimum import HistoryOptimum, MemorylessOptimum
from workbench.sufficiency.gap import Attempt, GapCloser, Limits
from workbench.sufficiency.needs_memory import FAMILIES, InFamily, try_family

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = ("informed", "history", "deterministic", "stochastic", "one_bit")
MOST_OUTCOMES = 200_000
"""Larger tasks are listed without values."""

_METHOD = 2
"""Raised when rows are found in another way, so that a journal's older ones are done again."""

_ROUNDING = 1e-9
CLOSE = 1e-6
"""Values that differ by less than this share of the largest count as equal."""


@dataclass(frozen=True)
class CensusRow:
    """One task of the census. Values and bounds are floats, or None where there is none.

    Attributes
    ----------
    task, source : its name and where it comes from.
    digest : of the model, the time limit and the method: whether a row is up to date.
    states, observations, actions, gamma : its sizes.
    value, bound : by column: what a policy reaches, and what none exceeds.
    seconds : what the row took.
    note : why values are missing; empty where none are.
    memories : by family, the smallest k as `InFamily` tells it; empty where it was not asked.
    """

    task: str
    source: str
    digest: str
    states: int
    observations: int
    actions: int
    gamma: float | None
    value: Mapping[str, float | None]
    bound: Mapping[str, float | None]
    seconds: float
    note: str = ""
    memories: Mapping[str, str] = field(default_factory=dict)

    @property
    def size(self) -> float:
        """The largest of its values and bounds, which those that count as equal are a share of."""
        return max(
            (abs(x) for x in (*self.value.values(), *self.bound.values()) if x is not None),
            default=0.0,
        )

    @property
    def needs_memory(self) -> bool | None:
        """Whether every memoryless policy is worth less than some history-based one.

        None if the bounds and the memories leave it open.
        """
        if any(_is_more_than_none(told) for told in self.memories.values()):
            return True
        best, most = self.value["history"], self.bound["stochastic"]
        if best is None or most is None:
            return None
        margin = CLOSE * self.size
        if most < best - margin:
            return True
        reached = [self.value[c] for c in ("stochastic", "deterministic")]
        upper = self.bound["history"]
        if upper is not None and any(x is not None and x >= upper - margin for x in reached):
            return False
        return None


def _is_more_than_none(told: str) -> bool:
    """Whether the smallest k of a family, in words, is surely 1 or more."""
    return told != "0" and (told.isdigit() or told.startswith((">", "? (>")))


def model_digest(P: POMDP, seconds: float, up_to: int = 0) -> str:
    """A digest of the numbers of a model, of the limits, and of the way rows are found."""
    found = hashlib.sha256()
    for part in (P.p.row_ptr, P.p.s_next, P.omega.row_ptr, P.omega.o, P.terminal.mask):
        found.update(np.ascontiguousarray(part).tobytes())
    for numbers in (P.p.prob, P.p.r, P.omega.prob, P.mu.prob):
        found.update(np.ascontiguousarray(numbers.floats).tobytes())
    families = f" {up_to}" if up_to else ""
    found.update(f"{to_float(P.gamma)!r} {seconds!r} {_METHOD}{families}".encode())
    return found.hexdigest()[:16]


def count_task(P: POMDP, source: str = "", seconds: float = 10.0, up_to: int = 0) -> CensusRow:
    """One row of the census.

    Parameters
    ----------
    seconds : of each search, and four times as much for all memories.
    up_to : the largest k of each family of memories to try; 0 for none.

    >>> from workbench.improvement.batch import sequence_task
    >>> P = sequence_task([[0, 1], [1, 0]])
    >>> row = count_task(P, seconds=1)
    >>> (
    ...     row.value["history"],
    ...     row.value["deterministic"],
    ...     round(row.value["stochastic"], 6),
    ...     row.needs_memory,
    ... )
    (1.0, 0.0, 0.5, True)
    """
    began = time.monotonic()
    value: dict[str, float | None] = dict.fromkeys(COLUMNS)
    bound: dict[str, float | None] = dict.fromkeys(COLUMNS)
    notes: list[str] = []
    best: list[HistoryOptimum] = []

    def history() -> tuple[float, float]:
        best.append(best_history(P, max_seconds=seconds))
        return to_float(best[0].lower), to_float(best[0].upper)

    def enter(column: str, find: Callable[[], tuple[float, float]]) -> None:
        try:
            value[column], bound[column] = find()
        except (NeverEnds, NotExact, NotSolved, TooLarge, Unbounded) as error:
            notes.append(f"{column}: {error}")

    if len(P.p.s_next) > MOST_OUTCOMES:
        notes.append(f"{len(P.p.s_next):,} outcomes: too large")
    else:
        enter("informed", lambda: (to_float(best_informed(P)),) * 2)
        enter("history", history)
        enter("deterministic", lambda: _ends(best_memoryless(P, max_seconds=seconds)))
        enter(
            "stochastic",
            lambda: _ends(best_memoryless(P, deterministic=False, max_seconds=seconds)),
        )
        enter("one_bit", lambda: _ends(best_memoryless(augment(P, "B1"), max_seconds=seconds)))
        _tighten(value, bound)
    row = CensusRow(
        task=P.name,
        source=source,
        digest=model_digest(P, seconds, up_to),
        states=len(P.S),
        observations=len(P.O),
        actions=len(P.A),
        gamma=to_float(P.gamma),
        value=value,
        bound=bound,
        seconds=time.monotonic() - began,
        note="; ".join(notes),
    )
    if not (up_to and best):
        return row
    memories = _memories(P, best[0], row.needs_memory, seconds, up_to)
    return replace(row, memories=memories, seconds=time.monotonic() - began)


def _memories(
    P: POMDP, history: HistoryOptimum, needed: bool | None, seconds: float, up_to: int
) -> dict[str, str]:
    """The smallest memory of each family, as far as it is found."""
    without = Attempt("none", None if needed is None else not needed, "by the values")
    if without.holds:
        return dict.fromkeys(FAMILIES, "0")
    limits = Limits(seconds=seconds)
    asked = GapCloser(P, history, limits, time.monotonic() + 4 * seconds)
    if needed is None:
        without = asked.about(none)
    found = {}
    for kind in FAMILIES:
        tried = [without]
        try_family(asked, kind, tried, up_to)
        found[kind] = str(InFamily(kind, tuple(tried)))
    return found


_MORE = (
    ("deterministic", "stochastic"),
    ("deterministic", "one_bit"),
    ("stochastic", "history"),
    ("one_bit", "history"),
    ("history", "informed"),
)
"""Pairs (less, more): what is worth the first is open to the second too."""


def _tighten(value: dict[str, float | None], bound: dict[str, float | None]) -> None:
    """Raise values and lower bounds by those of columns that can do less, or more."""
    for less, more in _MORE:
        x, y = value[less], value[more]
        # A column that is exact is not moved by the rounding of another.
        if x is not None and y is not None and x > y + _ROUNDING * max(abs(x), abs(y)):
            value[more] = x
    for less, more in reversed(_MORE):
        x, y, reached = bound[less], bound[more], value[less]
        if x is not None and y is not None and reached is not None:
            bound[less] = max(reached, min(x, y))
    for column in COLUMNS:
        x, y = value[column], bound[column]
        if x is not None and y is not None:
            bound[column] = max(x, y)  # rounding


def _ends(found: MemorylessOptimum) -> tuple[float, float]:
    return to_float(found.value), to_float(found.bound)


# ---------------------------------------------------------------------- many tasks


def take_census(
    tasks: Iterable[tuple[str, Callable[[], POMDP]]],
    journal: Path,
    seconds: float = 10.0,
    up_to: int = 0,
    refusals: tuple[type[WorkbenchError], ...] = (TooLarge,),
) -> Iterator[tuple[CensusRow, bool]]:
    """Census rows of tasks given as (source, how to make it), as they are known.

    Each comes with whether it was in the journal. New rows are added to the journal at once. A task
    whose making ends in one of `refusals` has a row that says why.
    """
    kept = {(row.source, row.digest): row for row in read_journal(journal)}
    if journal.exists() and not (text := journal.read_text(encoding="utf-8")).endswith("\n"):
        journal.write_text(text[: text.rfind("\n") + 1], encoding="utf-8")  # drop what was cut off
    for source, make in tasks:
        refused = f"refused {seconds:g} {_METHOD}"
        if (source, refused) in kept:
            yield kept[source, refused], True
            continue
        try:
            P = make()
        except refusals as error:
            nothing: dict[str, float | None] = dict.fromkeys(COLUMNS)
            row = CensusRow(
                source, source, refused, 0, 0, 0, None, nothing, nothing, 0.0, str(error)
            )
        else:
            if (known := kept.get((source, model_digest(P, seconds, up_to)))) is not None:
                yield known, True
                continue
            row = count_task(P, source, seconds, up_to)
        with journal.open("a", encoding="utf-8") as file:
            file.write(_line(row))
        yield row, False


def _line(row: CensusRow) -> str:
    """A row as a line of the journal, with a digest that tells whether it was changed later."""
    told = asdict(row)
    return json.dumps({"check": _digest_of(told), **told}) + "\n"


def _digest_of(told: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(told).encode()).hexdigest()[:12]


def read_journal(journal: Path) -> list[CensusRow]:
    """The rows of a journal. A last line that was cut off is left out.

    A row that was changed after it was written is refused.
    """
    if not journal.exists():
        return []
    found = []
    lines = journal.read_text(encoding="utf-8").split("\n")
    for i, line in enumerate(lines):
        if not line:
            continue
        try:
            told = json.loads(line)
            if "check" not in told:
                raise ValueError("it is from an older version; move the file to begin anew")
            if told.pop("check") != _digest_of(told):
                raise ValueError("it was changed after it was written; delete it to find it again")
            found.append(CensusRow(**told))
        except (ValueError, TypeError, AttributeError) as error:
            if i == len(lines) - 1:
                break  # written only in part
            raise WorkbenchError(
                f"{journal}, line {i + 1} is no row of a census: {error}"
            ) from None
    return found


def to_frame(rows: Iterable[CensusRow]) -> pd.DataFrame:
    """The census as a table, a column for each value and each bound."""
    pd = need("pandas", "frames")

    return pd.DataFrame(
        [
            {
                "task": row.task,
                "source": row.source,
                "states": row.states,
                "observations": row.observations,
                "actions": row.actions,
                "gamma": row.gamma,
                **{
                    name: value
                    for column in COLUMNS
                    for name, value in (
                        (column, row.value[column]),
                        (f"{column}_bound", row.bound[column]),
                    )
                },
                "needs_memory": row.needs_memory,
                **{kind: row.memories.get(kind) for kind in FAMILIES},
                "seconds": row.seconds,
                "note": row.note,
            }
            for row in rows
        ]
    )
