"""The progress display of cells: cells and steps done and left, steps per second, time left."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, TextColumn, TimeRemainingColumn
from rich.progress import Progress as Bar

from workbench.sweeps.run_cells import Progress, Report

_SECONDS_BETWEEN_LINES = 30.0
"""Where nobody watches a bar move, in a log, a line is written now and then."""


@contextmanager
def progress_display(console: Console | None = None) -> Iterator[Report]:
    """A function to report progress to; a bar in a terminal, a line now and then elsewhere."""
    console = console or Console(stderr=True)
    began = time.monotonic()
    if not console.is_terminal:
        yield _lines(console, began)
        return
    columns = (BarColumn(6), TextColumn("{task.description}"), TimeRemainingColumn())
    with Bar(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=None)

        def report(now: Progress) -> None:
            bar.update(
                task,
                completed=now.steps_done if now.steps else now.cells_done,
                total=now.steps or now.cells,
                description=describe(now, time.monotonic() - began),
            )

        yield report


def describe(now: Progress, seconds: float) -> str:
    """The state of a run in a line that leaves room for a bar in 80 columns.

    >>> describe(Progress(cells=12, cells_done=3, steps=40_000_000, steps_done=8_000_000, reused=4), seconds=2.0)
    'cells 3 done, 9 left; M steps 8 done, 32 left, 4.0/s'
    """
    speed = now.steps_done / seconds if seconds > 0 else 0.0
    return (
        f"cells {now.cells_done} done, {now.cells - now.cells_done} left; M steps "
        f"{now.steps_done / 1e6:.0f} done, "
        f"{(now.steps - now.steps_done) / 1e6:.0f} left, {speed / 1e6:.1f}/s"
    )


def duration(seconds: float) -> str:
    """A time in words, to two digits or so.

    >>> duration(0.4), duration(95), duration(7300), duration(400_000)
    ('0.4 s', '1.6 min', '2.0 h', '4.6 days')
    """
    for size, unit in ((86_400, "days"), (3_600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.1f} {unit}"
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


def _lines(console: Console, began: float) -> Report:
    last = began

    def report(now: Progress) -> None:
        nonlocal last
        if time.monotonic() - last >= _SECONDS_BETWEEN_LINES:
            last = time.monotonic()
            console.print(describe(now, last - began), soft_wrap=True)

    return report
