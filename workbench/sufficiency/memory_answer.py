"""The answer to whether a memory is enough for a task: yes, no or undecided, and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from workbench.core.errors import WorkbenchError
from workbench.tables.sheet import ANSWERS, Column, Drawn, Sheet, Showing
from workbench.text import counted, show

if TYPE_CHECKING:
    from workbench.core.pomdp import POMDP

BUDGET = 1_000_000
"""A search gives up after this many decisions, unless told otherwise."""

_MOST_SHOWN = 20
"""Rows of a table; the others are counted."""


@dataclass(frozen=True)
class MemoryAnswer(Showing, Drawn):
    """Whether a memory is enough, and why. True or False as a condition; undecided raises.

    Attributes
    ----------
    task, memory : what was asked.
    holds : the answer; None if undecided.
    method : how it was found, in a word; reason : a sentence.
    P : the task.
    """

    question: ClassVar[str]
    said: ClassVar[str]
    verbs: ClassVar[tuple[str, str, str]]
    """What `said` says of a memory that is enough, is not, and may be."""

    task: str
    memory: str
    holds: bool | None
    method: str
    reason: str
    P: POMDP | None = field(default=None, compare=False, kw_only=True)

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        """The rows (m, o, a, w) of the policy or update that was found."""
        raise NotImplementedError

    def __bool__(self) -> bool:
        if self.holds is None:
            raise WorkbenchError(f"undecided: {self.reason}")
        return self.holds

    def sheet(self) -> Sheet:
        """The answer, and what was found to show it."""
        columns = (Column("memory"), Column("observation"), Column("action"), Column("write"))
        rows = tuple(tuple(map(show, row)) for row in self.rows)
        more = len(rows) - _MOST_SHOWN
        title = self.question.format(memory=self.memory, task=self.task)
        notes = (f"And {counted(more, 'more row')}.",) if more > 0 else ()
        said = f"{ANSWERS[self.holds]}: {self.reason}."
        return Sheet(title, columns, rows[:_MOST_SHOWN], said, notes)

    def __repr__(self) -> str:
        verb = self.verbs[(True, False, None).index(self.holds)]
        said = self.said.format(memory=self.memory, verb=verb, task=self.task)
        return f"{said}: {self.reason}"
