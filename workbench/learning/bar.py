"""A progress bar on the error stream: what is done, how fast, how long it will take."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, Task, TextColumn, TimeRemainingColumn
from rich.text import Text


class _Speed(ProgressColumn):
    """How many units are done in a second."""

    def __init__(self, unit: str, scale: float):
        super().__init__()
        self.unit, self.scale = unit, scale

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed / self.scale:.1f} {self.unit}/s")


@contextmanager
def progress_bar(
    what: str, unit: str = "M steps", scale: float = 1e6
) -> Iterator[Callable[[int, int], None]]:
    """A bar that goes away when done and is silent where nobody can see it; it yields a function of
    (done, to do)."""
    console = Console(stderr=True)
    unseen = not (console.is_terminal or console.is_jupyter)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(20),
        _Speed(unit, scale),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, transient=True, disable=unseen) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
