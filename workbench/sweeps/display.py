"""The progress of cells in words: cells and steps done and left, steps per second."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from workbench.progress import Waiting
from workbench.sweeps.run_cells import Progress, Report


@contextmanager
def progress_display(console: Console | None = None) -> Iterator[Report]:
    """A function to report progress to. A bar in a terminal, a line now and then elsewhere."""
    with Waiting("", steady=True, console=console) as waiting:

        def report(now: Progress) -> None:
            done, all_ = (now.steps_done, now.steps) if now.steps else (now.cells_done, now.cells)
            waiting.report(done / all_ if all_ else None, describe(now, waiting.seconds))

        yield report


def describe(now: Progress, seconds: float) -> str:
    """The state of a run in a line that leaves room for a bar in 80 columns.

    >>> describe(
    ...     Progress(cells=12, cells_done=3, steps=40_000_000, steps_done=8_000_000, reused=4),
    ...     seconds=2.0,
    ... )
    '3 of 12 cells, 8 of 40 M steps, 4.0/s'
    >>> describe(Progress(12, 3, 9_000_000, 2_000_000, 0), seconds=80.0)
    '3 of 12 cells, 2 of 9 M steps, 0.025/s'
    """
    speed = now.steps_done / seconds if seconds > 0 else 0.0
    digits = 1 if speed >= 1e5 else 3  # networks do a few ten thousand
    return (
        f"{now.cells_done} of {now.cells} cells, {now.steps_done / 1e6:.0f} of "
        f"{now.steps / 1e6:.0f} M steps, {speed / 1e6:.{digits}f}/s"
    )
