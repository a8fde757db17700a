"""One display of progress: it appears once a computation has taken two seconds, and leaves nothing
behind. And the two ways to stop what is under way: Ctrl-C in commands of several searches, and a
time limit.

A search that is stopped by Ctrl-C returns what it has, so a command that runs several of them would
go on with the next. The command notes the key (`note_ctrl_c`); whatever begins to wait after that
is stopped as well.

What takes no `max_seconds` can be given a time limit from outside (`ends_in`): whatever reports
within it, and the loops in fractions, which ask `check_time`, raise `TimeOver` once it is reached.

Where standard error is neither a terminal nor a notebook, a line appears every half minute. The
display is drawn by the thread that reports: a thread of its own may use the global random generator
at any time, and the import of environments watches that generator.
"""

from __future__ import annotations

import contextlib
import math
import signal
import threading
import time
from collections.abc import Iterator, Sized
from contextvars import ContextVar
from types import TracebackType
from typing import TYPE_CHECKING, Self

from workbench.text import duration

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress

PATIENCE = 2.0
"""Seconds before anything is shown."""

_BETWEEN = 0.1
"""Seconds between two drawings of the bar."""

_BETWEEN_LINES = 30.0
"""Seconds between two lines of a log, where nobody watches a bar move."""


_stopped = threading.Event()


@contextlib.contextmanager
def note_ctrl_c() -> Iterator[threading.Event]:
    """Within it, Ctrl-C stops all work that reports progress, not only what is under way."""
    _stopped.clear()
    before = signal.getsignal(signal.SIGINT)

    def stop(*_: object) -> None:
        _stopped.set()
        raise KeyboardInterrupt

    here = threading.current_thread() is threading.main_thread()  # others get no signals
    if here:
        signal.signal(signal.SIGINT, stop)
    try:
        yield _stopped
    finally:
        if here:
            signal.signal(signal.SIGINT, before)
        _stopped.clear()


def was_stopped() -> bool:
    """Whether Ctrl-C was pressed during this command."""
    return _stopped.is_set()


def check_ctrl_c() -> None:
    """Raise KeyboardInterrupt if Ctrl-C was pressed.

    Ctrl-C is meant for the whole command. Compiled libraries may make another error of it.
    """
    if was_stopped():
        raise KeyboardInterrupt


@contextlib.contextmanager
def until_ctrl_c(found: Sized) -> Iterator[None]:
    """Let Ctrl-C end the work within this context. If anything was found, the command goes on to
    show it."""
    try:
        yield
    except KeyboardInterrupt:
        _stopped.set()
        if not len(found):
            raise


_end: ContextVar[float] = ContextVar("_end", default=math.inf)


class TimeOver(BaseException):
    """The time limit is reached. What keeps its results at Ctrl-C does not catch it: half an answer
    is none for the work that set the limit."""


@contextlib.contextmanager
def ends_in(seconds: float) -> Iterator[None]:
    """Within it, work that takes longer than that is stopped by `TimeOver`."""
    token = _end.set(min(time.monotonic() + seconds, _end.get()))
    try:
        yield
    finally:
        _end.reset(token)


def time_left() -> float:
    """The seconds that the time limit around this call leaves, infinitely many without one."""
    return _end.get() - time.monotonic()


def check_time() -> None:
    """Raise `TimeOver` if the time limit around this call is reached."""
    if time.monotonic() > _end.get():
        raise TimeOver


class Waiting:
    """What a computation tells of itself while it works.

    Parameters
    ----------
    what : the computation, in a few words; they stand before the bar.
    wanted : whether anything may appear.
    steady : whether the share grows evenly, so that the time left can be told.
    console : where; the error stream if None.

    >>> with Waiting("best memoryless of gravity") as waiting:
    ...     waiting.report(0.3, "12 nodes")
    """

    def __init__(
        self,
        what: str,
        wanted: bool = True,
        steady: bool = False,
        console: Console | None = None,
    ):
        self.what, self.wanted, self.steady = what, wanted, steady
        self.began = time.monotonic()
        self._next = self.began + PATIENCE
        self._told = self.began
        self._console = console
        self._bar: Progress | None = None

    @property
    def seconds(self) -> float:
        """Since the beginning."""
        return time.monotonic() - self.began

    def tell(self, text: str) -> None:
        """A few words, where nobody knows how much is left."""
        self.report(None, text)

    def report(self, share: float | None, text: str) -> None:
        """How much is done, as a share of one (None if nobody knows), and a few words."""
        check_time()
        now = time.monotonic()
        if now < self._next or not self.wanted:
            return
        self._next = now + _BETWEEN
        if self._bar is None:
            self._bar = self._start()
        if self._bar.disable:
            if now - self._told >= _BETWEEN_LINES:
                self._told = now
                line = ": ".join(part for part in (self.what, text) if part)
                self._bar.console.print(line, soft_wrap=True)
            return
        done = None if share is None else min(max(share, 0.0), 1.0)
        self._bar.tasks[0].total = None if done is None else 1.0  # `update` cannot take it away
        self._bar.update(
            self._bar.task_ids[0],
            completed=0.0 if done is None else done,
            text=text,
            left=_left(now - self.began, done) if self.steady else "",
        )
        self._bar.refresh()

    def _start(self) -> Progress:
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        from workbench.console import plain_console

        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(12),
            TimeElapsedColumn(),
            TextColumn("{task.fields[text]}", markup=False),
            TextColumn("{task.fields[left]}", markup=False),
        )
        console = plain_console(stderr=True) if self._console is None else self._console
        bar = Progress(
            *columns,
            console=console,
            transient=True,
            auto_refresh=False,
            disable=not (console.is_terminal or console.is_jupyter),
        )
        bar.add_task(self.what, total=1.0, text="", left="")
        bar.start()
        return bar

    def __enter__(self) -> Self:
        check_ctrl_c()
        check_time()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            # A notebook takes the bar away with its widget. The codes that erase a line of a
            # terminal would be an empty output there.
            self._bar.console.quiet = self._bar.console.is_jupyter
            self._bar.stop()


def _left(seconds: float, share: float | None) -> str:
    """The time that is left if it goes on like this.

    >>> _left(30.0, 0.25), _left(30.0, 0.0), _left(30.0, None)
    ('1.5 min left', '', '')
    """
    if not share or share >= 1.0:
        return ""
    return f"{duration(seconds * (1.0 - share) / share)} left"
