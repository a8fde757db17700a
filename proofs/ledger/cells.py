"""A buffer of any length: k cells, k a symbol, on which the memories' own code is run.

A history is a sequence of entries e_0, e_1, ...; what would be before it is nothing. A
`CellRun(i, n)` stands for the n cells e_i, ..., e_{i+n-1}, where i and n are formulas, and an empty
cell wherever the index is negative. `push_onto` and `empty_buffer` of `workbench.memories`,
and so Gamma and eta of K(k), O(k), OA(k), use nothing of a buffer but `m[1:]`, `+` and `(None,) *
k`: given a `Cells` they return one.

>>> from workbench.memories import push_onto
>>> k, t = sympy.symbols("k t")
>>> empty_buffer(CellCount(k)) == Cells.run(-k, k)
True
>>> push_onto(Cells.run(t - k, k), TimedEntry("o", t)) == Cells.run(t + 1 - k, k)
True
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy

from workbench.core.pomdp import POMDP
from workbench.memories import attach, empty_buffer

__all__ = [
    "CellCount",
    "CellRun",
    "Cells",
    "TimedEntry",
    "after_push",
    "drops_nothing",
    "k",
    "keeps_the_last",
    "t",
]

k, t = sympy.symbols("k t")
"""The number of cells, and of steps."""


@dataclass(frozen=True)
class TimedEntry:
    """What was seen ("o") or done ("a") at a time. The time is a formula."""

    what: str
    time: sympy.Expr

    def __post_init__(self) -> None:
        object.__setattr__(self, "time", sympy.expand(self.time))


@dataclass(frozen=True)
class CellRun:
    """The cells with the entries of the times start, ..., start + length - 1."""

    start: sympy.Expr
    length: sympy.Expr
    pairs: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "start", sympy.expand(self.start))
        object.__setattr__(self, "length", sympy.expand(self.length))

    @property
    def next(self) -> Any:
        """The entry that would make the run longer."""
        end = self.start + self.length
        return (TimedEntry("o", end), TimedEntry("a", end)) if self.pairs else TimedEntry("o", end)


@dataclass(frozen=True)
class Cells:
    """A buffer as a run and what was appended to it."""

    first: CellRun
    rest: tuple[Any, ...] = ()

    @classmethod
    def run(cls, start: Any, length: Any, pairs: bool = False) -> Cells:
        return cls(CellRun(sympy.sympify(start), sympy.sympify(length), pairs))

    def __getitem__(self, which: slice) -> Cells:
        """All cells but the oldest, of a buffer whose run is not over."""
        if which != slice(1, None, None):
            raise TypeError("only m[1:] is known without the length")
        run = self.first
        return Cells(CellRun(run.start + 1, run.length - 1, run.pairs), self.rest)

    def __add__(self, entries: tuple[Any, ...]) -> Cells:
        """The cells with others after them. An entry that goes on with the run belongs to it."""
        run, rest = self.first, self.rest
        for entry in entries:
            if not rest and entry == run.next:
                run = CellRun(run.start, run.length + 1, run.pairs)
            else:
                rest = (*rest, entry)
        return Cells(run, rest)


@dataclass(frozen=True)
class CellCount:
    """A number of cells that is a formula: `(None,) * CellCount(k)` is an empty buffer."""

    k: sympy.Expr

    def __rmul__(self, cell: tuple[Any, ...]) -> Cells:
        if cell != (None,):
            raise TypeError("an empty buffer is made of empty cells")
        return Cells.run(-self.k, self.k)


def after_push(kind: str, P: POMDP, m: Cells, write: str = "push", time: Any = t) -> Any:
    """What Gamma of a family makes of a buffer of any length at a time: `Gamma` reads no k."""
    memory = attach(f"{kind}1", P)
    ((m_next, chance),) = memory.Gamma(
        m, write, TimedEntry("o", time), TimedEntry("a", time), 0, TimedEntry("o", time + 1)
    ).items()
    return m_next if chance == 1 else None


def keeps_the_last(kind: str, P: POMDP, extra: int = 0) -> str | None:
    """Whether a buffer of k cells, always pushed to, holds the entries t - k, ..., t - 1. It is
    asked for every k, after t steps for every t. The answer is what it holds otherwise.

    Shown by induction on t, on the code of eta and Gamma. `extra`: how many cells more are claimed.

    >>> import pomdps
    >>> keeps_the_last("OA", pomdps.recall()) is None
    True
    """
    pairs = kind in ("OA", "window")
    start = empty_buffer(CellCount(k))  # type: ignore[arg-type]
    if start != Cells.run(-k - extra, k + extra):
        return f"at the start {kind}(k) holds {start}"
    due = Cells.run(t + 1 - k - extra, k + extra, pairs)
    found = after_push(kind, P, Cells.run(t - k - extra, k + extra, pairs))
    return None if found == due else f"after a push {kind}(k) holds {found}"


def drops_nothing(kind: str, P: POMDP, pushes: int) -> str | None:
    """Whether a buffer that is large enough holds all that was pushed. It has k >= pushes cells.
    What was pushed stands behind empty cells, whatever was kept in between. The answer is what they
    hold otherwise.

    So episodes of that many steps are the same with all these k, but for empty cells in front.

    >>> import pomdps
    >>> drops_nothing("OA", pomdps.recall(), 3) is None
    True
    """
    pairs = kind in ("OA", "window")
    m = Cells.run(-k, k, pairs)
    due: tuple[Any, ...] = ()
    for j in range(pushes):
        time = t + 2 * j  # any times, not one after the other
        if "keep" in attach(f"{kind}1", P).W and after_push(kind, P, m, "keep", time) != m:
            return f"keep changes {m}"
        m = after_push(kind, P, m, "push", time)
        due = (
            *due,
            (TimedEntry("o", time), TimedEntry("a", time)) if pairs else TimedEntry("o", time),
        )
        if m != Cells(CellRun(-k + j + 1, k - j - 1, pairs), due):
            return f"after {j + 1} pushes it holds {m}"
    return None
