"""A progress bar that appears once a computation has taken two seconds, and leaves nothing behind.

Where standard error is neither a terminal nor a notebook, nothing appears.
"""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE = 2.0
"""Seconds before anything is shown."""

_BETWEEN = 0.1


class Waiting:
    """`with Waiting("best memoryless of gravity") as waiting: ... waiting.report(0.3, "12
    nodes")`."""

    def __init__(self, what: str):
        self.what = what
        self.began = time.monotonic()
        self._next = self.began + PATIENCE
        self._bar: Progress | None = None

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.monotonic() - self.began

    def report(self, share: float, text: str) -> None:
        """How much is done, as a share of one, and a few words."""
        now = time.monotonic()
        if now < self._next:
            return
        self._next = now + _BETWEEN
        if self._bar is None:
            self._bar = _bar(self.what)
            self._bar.start()
        self._bar.update(self._bar.task_ids[0], completed=min(max(share, 0.0), 1.0), text=text)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()


def _bar(what: str) -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(12),
        TimeElapsedColumn(),
        TextColumn("{task.fields[text]}"),
    )
    console = Console(stderr=True)
    bar = Progress(
        *columns,
        console=console,
        transient=True,
        disable=not (console.is_terminal or console.is_jupyter),
    )
    bar.add_task(what, total=1.0, text="")
    return bar
