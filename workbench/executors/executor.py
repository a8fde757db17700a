"""Executors compute independent items of work: in threads, in processes, or on a Dask cluster.

    with make_executor("local", workers=4) as e:
        for place, result in e.run(work, items):
            ...

`work` is a function of one item that can be pickled: one of a module, or a `functools.partial` of
one. Items are taken one by one, when there is room for them, so that there may be very many;
results come as they finish, each with the place of its item (0, 1, 2, ...). What is computed never
depends on the executor: it only decides where.

| executor | what runs the work | for |
|---|---|---|
| `threads` | `ThreadPoolExecutor` | compiled kernels, which hold no interpreter lock |
| `local` | processes forked from a clean server, a pipe for each | plain Python on all cores |
| `dask` | `dask.distributed`: a cluster by its address, or one of its own here | many machines |

Ctrl-C, or any error, cancels what has not begun and ends what has: processes at once, threads and
Dask tasks at their next `pulse`. A command that is stopped waits for no thread. A process that is
killed costs the item that it was computing, which is computed again by a new one. On a cluster,
Dask does the same. An item whose worker is lost each time is given up with an `ExecutorError`.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import Empty, SimpleQueue
from types import TracebackType
from typing import Any, Self, TypeVar

from workbench.core.errors import WorkbenchError
from workbench.progress import was_stopped
from workbench.text import shorten

Item = TypeVar("Item")
Result = TypeVar("Result")
Tick = Callable[[], None]

EXECUTORS = ("threads", "local", "dask")

THREAD = "executor"
"""What the names of threads that compute begin with."""

_A_TICK = 0.1
"""Seconds between two calls of `tick` while nothing finishes."""

_LOSSES = 5
"""How often the worker of an item may be lost before the item is given up."""


class ExecutorError(WorkbenchError):
    """An executor cannot be started, or has lost its workers."""


class WorkerLost(Exception):
    """The process that computed an item is gone. Another one may compute it."""


class Cancelled(Exception):
    """Raised by `pulse` in work whose result nobody waits for any more."""


def make_executor(
    name: str = "local", workers: int | None = None, scheduler: str | None = None
) -> Executor:
    """Make the executor of a name, to be used in a `with` statement.

    Parameters
    ----------
    name : "threads", "local" or "dask".
    workers : how many threads or processes, by default as many as this process may use cores. A
        cluster that is given by its address has its own.
    scheduler : for "dask", the address of a running cluster, such as "tcp://10.0.0.1:8786"; None
        for one of its own, with worker processes on this machine.

    >>> with make_executor("threads", workers=2) as e:
    ...     sorted(e.run(abs, [-3, 2, -1]))
    [(0, 3), (1, 2), (2, 1)]
    """
    if name not in EXECUTORS:
        raise ExecutorError(f"unknown executor {name!r}: choose one of {', '.join(EXECUTORS)}")
    if workers is not None and workers < 1:
        raise ExecutorError(f"workers must be at least 1, not {workers}")
    if name == "dask":
        if scheduler is not None and workers is not None:
            raise ExecutorError(
                f"the cluster at {scheduler} has its own workers: leave the number of workers out"
            )
        from workbench.executors.dask_executor import DaskExecutor

        return DaskExecutor(workers, scheduler)
    if scheduler is not None:
        raise ExecutorError(
            f"a scheduler ({scheduler}) belongs to the executor dask, not to {name}"
        )
    if name == "threads":
        return _Threads(workers or cores())
    from workbench.executors.process_executor import ProcessExecutor

    return ProcessExecutor(workers or cores())


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


own = threading.local()
"""In a thread that computes: `beat`, what a pulse does there."""


def pulse(done: int = 0) -> None:
    """Tell the executor how much of this item is done. Long work calls it now and then.

    It raises `Cancelled` when nobody waits for the result any more.

    Outside of an executor it does nothing.
    """
    beat = getattr(own, "beat", None)
    if beat is not None:
        beat(done)


class Executor:
    """What all executors share: items in flight, and results as they finish.

    Attributes
    ----------
    workers : how many items are computed at the same time.
    """

    def __init__(self, workers: int):
        self.workers = workers

    def run(
        self, work: Callable[[Item], Result], items: Iterable[Item], tick: Tick | None = None
    ) -> Iterator[tuple[int, Result]]:
        """Compute `work` on all items and yield the results as they finish, each with the place of
        its item.

        Parameters
        ----------
        tick : called about ten times a second, in the thread of the caller.
        """
        finished: SimpleQueue[tuple[int, Any]] = SimpleQueue()
        waiting = enumerate(items)
        in_flight: dict[int, tuple[Item, int, Any]] = {}
        """At a place: the item, how often its worker was lost, and the future of its result."""

        def submit(place: int, item: Item, losses: int) -> None:
            future = self._submit(work, place, item)
            in_flight[place] = item, losses, future
            future.add_done_callback(lambda future: finished.put((place, future)))

        more = True
        try:
            while more or in_flight:
                while more and len(in_flight) < self._room():
                    taken = next(waiting, None)
                    if taken is None:
                        more = False
                        break
                    submit(*taken, 0)
                if tick is not None:
                    tick()
                if not in_flight:
                    break
                for place, result in self._results(_all(finished)):
                    item, losses, _ = in_flight[place]
                    if not isinstance(result, WorkerLost):
                        del in_flight[place]
                        yield place, result
                    elif losses < _LOSSES:
                        submit(place, item, losses + 1)
                    else:
                        raise ExecutorError(
                            f"a worker process was lost {losses + 1} times while this was in "
                            f"flight: {shorten(repr(item), 200)}. "
                            "Was it killed, or is there too little memory for so many workers?"
                        )
        finally:
            self._cancel([future for _, _, future in in_flight.values()])

    @property
    def within(self) -> int:
        """Work reported so far by the items that are running. 0 if the executor cannot know."""
        return 0

    def _room(self) -> int:
        """How many items may be in flight: a second one for each worker, so that none waits for the
        next."""
        return 2 * self.workers

    def _submit(self, work: Callable[[Any], Any], place: int, item: Any) -> Any:
        """A future of `work(item)`."""
        raise NotImplementedError

    def _results(self, finished: list[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
        """The results of finished futures. The loss of a worker is a result, and other errors are
        raised."""
        for place, future in finished:
            try:
                result = future.result()
            except WorkerLost as lost:
                result = lost
            yield place, result

    def _cancel(self, futures: list[Any]) -> None:
        """Begin none of these that has not begun."""
        for future in futures:
            future.cancel()

    def _close(self) -> None:
        """End everything. It is called once."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._close()


def _all(finished: SimpleQueue[tuple[int, Any]]) -> list[tuple[int, Any]]:
    """Everything in the queue, after at most one tick."""
    found = []
    with contextlib.suppress(Empty):
        found.append(finished.get(timeout=_A_TICK))
        while True:
            found.append(finished.get_nowait())
    return found


# ---------------------------------------------------------------------- threads


class _Threads(Executor):
    def __init__(self, workers: int):
        super().__init__(workers)
        self.told: dict[int, int] = {}
        self.stop = threading.Event()
        self.executor = ThreadPoolExecutor(workers, thread_name_prefix=THREAD)

    @property
    def within(self) -> int:
        return sum(self.told.copy().values())

    def _submit(self, work: Callable[[Any], Any], place: int, item: Any) -> Any:
        return self.executor.submit(self._call, work, place, item)

    def _call(self, work: Callable[[Any], Any], place: int, item: Any) -> Any:
        def beat(done: int) -> None:
            self.told[place] = done
            if self.stop.is_set():
                raise Cancelled

        own.beat = beat
        try:
            return work(item)
        finally:
            own.beat = None
            self.told.pop(place, None)

    def _close(self) -> None:
        self.stop.set()
        # What is being compiled gives no pulse for seconds or minutes. After Ctrl-C the command
        # ends without it.
        self.executor.shutdown(wait=not was_stopped(), cancel_futures=True)


# ---------------------------------------------------------------------- elsewhere


def call(work: Callable[[Any], Any], item: Any) -> Any:
    """Run `work(item)` in another process. An error that cannot be sent back is put into words."""
    try:
        return work(item)
    except Exception as error:
        try:
            pickle.loads(pickle.dumps(error))
        except Exception:
            raise ExecutorError(f"{type(error).__name__}: {error}") from None
        raise
