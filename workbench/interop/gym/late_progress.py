"""A line of progress that appears only when something has taken two seconds, and goes away when it
is done."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Any

AFTER, EVERY = 2.0, 0.2
"""Seconds before the line appears, and between two versions of it."""


class LateProgress:
    """Used as `with LateProgress("exploring") as tell: ... tell("12 states found")`; drawn by the
    caller.

    There is no thread behind it, because one that draws a bar may use the global random generator
    at any time, and the explorer watches that generator.
    """

    def __init__(self, what: str, wanted: bool = True):
        self.what, self.wanted = what, wanted
        self._live: Any = None

    def __enter__(self) -> LateProgress:
        self._due = time.monotonic() + AFTER
        return self

    def __call__(self, text: str) -> None:
        if not self.wanted or time.monotonic() < self._due:
            return
        self._due = time.monotonic() + EVERY
        if self._live is None:
            from rich.console import Console
            from rich.live import Live

            self._live = Live(console=Console(stderr=True), auto_refresh=False, transient=True)
            self._live.start()
        self._live.update(f"{self.what}: {text}", refresh=True)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()
