"""The result of a search: its finds, and the share of the space that was looked at."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from workbench.core.pomdp import POMDP
from workbench.lab.sequences import table_of
from workbench.lab.spaces import TaskSpace
from workbench.lab.statements import Statement, Verdict, listed
from workbench.text import counted

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, eq=False)
class Find:
    """A task on which a statement holds, confirmed exactly.

    Attributes
    ----------
    task : the POMDP.
    statement, verdict : what holds, and the numbers and certificates that show it.
    provenance : where it comes from, as JSON values: space, code, method, seed, versions.
    larger : the find that it was shrunk from, or None.
    """

    task: POMDP
    statement: Statement
    verdict: Verdict
    provenance: dict[str, Any] = field(default_factory=dict)
    larger: Find | None = None

    @property
    def rewards(self) -> Any:
        """The reward table of a sequence task as nested lists. None for another task."""
        table = table_of(self.task)
        return None if table is None else _plain(table.tolist())

    def shrunk(self) -> Find:
        """A locally minimal task on which the statement holds: see `lab.shrink.shrink`."""
        from workbench.lab.shrink import shrink

        return shrink(self)

    def save(self, folder: str | Path | None = None) -> str:
        """Put the find into the gallery, and return its name there."""
        from workbench.lab.gallery import Gallery

        return Gallery(folder).add(self)

    def __repr__(self) -> str:
        from workbench.lab.print import describe_find

        return describe_find(self)

    def _repr_html_(self) -> str:
        from workbench.lab.print import described_html

        return described_html(self)


def _plain(x: Any) -> Any:
    if isinstance(x, list):
        return [_plain(part) for part in x]
    return int(x) if x.denominator == 1 else x


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The finds of a search, in the order in which it met them.

    Attributes
    ----------
    judged : how many tasks were judged; with symmetric copies merged, one for each class.
    looked_at : how many codes of the space these stand for, if it was gone through in order; else
        0.
    merged : the symmetries that were merged.
    undecided : tasks that could not be judged, or seemed to be finds but were neither confirmed nor
        refuted exactly.
    seeming : tasks that seem to be finds in floats and were not looked at further, since there were
        enough.
    exact : whether every task was judged in rationals, not only the finds.
    provable : whether merging these symmetries is certain to change no answer.
    interrupted : whether Ctrl-C or the time limit ended it.
    """

    statement: Statement
    space: TaskSpace
    method: str
    seed: int
    finds: tuple[Find, ...]
    judged: int
    looked_at: int
    merged: tuple[str, ...]
    undecided: int
    seeming: int
    exact: bool
    provable: bool
    interrupted: bool
    seconds: float

    @property
    def exhaustive(self) -> bool:
        """Whether the whole space was gone through."""
        return self.method == "exhaustive" and self.looked_at == self.space.size

    @property
    def theorem(self) -> bool:
        """Whether "no others" is proved for this space: all of it was judged, in rationals, and
        nothing left undecided."""
        return (
            self.exhaustive
            and self.exact
            and self.provable
            and not self.undecided
            and not self.seeming
        )

    def __iter__(self) -> Iterator[Find]:
        return iter(self.finds)

    def __len__(self) -> int:
        return len(self.finds)

    def __getitem__(self, i: int) -> Find:
        return self.finds[i]

    def coverage(self) -> str:
        """Describe how much was looked at, and what follows from it."""
        size = self.space.size
        if self.method != "exhaustive":
            return (
                f"{self.judged:,} tasks judged of {_large(size)}, found by "
                f"{self.method} from seed {self.seed}"
            )
        alike = [kind if kind in ("scale", "shift") else f"names of {kind}" for kind in self.merged]
        merged = f" ({self.judged:,} up to {listed(alike)})" if alike else ""
        if not self.exhaustive:
            share = self.looked_at / size
            return (
                f"the first {self.looked_at:,} of {_large(size)} tasks{merged}, {100 * share:.3g}%"
            )
        what = f"all {size:,} tasks{merged}"
        if self.theorem:
            return f"{what}, each judged exactly: there are no others"
        unsure = f"; {self.undecided:,} undecided" if self.undecided else ""
        if self.seeming:
            unsure += (
                f"; {self.seeming:,} more "
                f"{'seems to be a find' if self.seeming == 1 else 'seem to be finds'}"
            )
        how = "each judged exactly" if self.exact else "judged in floats and the finds exactly"
        return f"{what}, {how}{unsure}"

    @property
    def many(self) -> str:
        """The number of finds, in words."""
        return counted(len(self.finds), "find") if self.finds else "no find"

    def __repr__(self) -> str:
        how = " Interrupted." if self.interrupted else ""
        return f"{self.statement}\n{self.many} among {self.space}:\n{self.coverage()}.{how}"


def _large(n: int) -> str:
    return f"{n:,}" if n < 10**12 else f"{Decimal(n):.1e}"
