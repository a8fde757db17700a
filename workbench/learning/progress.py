"""A progress bar for learners: steps done, time left, steps per second."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text


class _Speed(ProgressColumn):
    """Millions of steps per second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed / 1e6:.1f} M steps/s")


@contextmanager
def steps_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar on the error stream that goes away when done; it yields a function of (steps done, steps to do)."""
    columns = (TextColumn("{task.description}"), BarColumn(), _Speed(), TimeRemainingColumn())
    console = Console(stderr=True)
    unseen = not (console.is_terminal or console.is_jupyter)
    with Progress(*columns, console=console, transient=True, disable=unseen) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
