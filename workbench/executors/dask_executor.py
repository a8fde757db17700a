"""The executor `dask` of `workbench.executors.executor`: the same work on the machines of a Dask
cluster."""

from __future__ import annotations

import logging
import math
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError
from contextlib import contextmanager
from typing import Any, Self

from workbench.executors.executor import Cancelled, Executor, ExecutorError, call, cores, own
from workbench.extras import need

_ANSWER = 10
"""Seconds to wait for a scheduler to answer."""

_PATIENCE = 60
"""Seconds to wait for the first worker of a cluster."""

_STARTS = 3
"""How often a cluster of our own is started before it is given up."""

_COUNTING = 2.0
"""Seconds between two counts of a cluster's workers."""


class DaskExecutor(Executor):
    """A cluster by its scheduler's address, or one of its own on this machine."""

    def __init__(self, workers: int | None, scheduler: str | None):
        super().__init__(workers or cores())
        self.distributed = need("distributed", extra="cluster")
        self.scheduler = scheduler
        self.cluster: Any = None
        self.client: Any = None
        self.counted = -math.inf

    def __enter__(self) -> Self:
        try:
            if self.scheduler is None:
                self.cluster = self._started()
            self.client = self.distributed.Client(
                self.cluster or self.scheduler, set_as_default=False, timeout=_ANSWER
            )
            self.client.wait_for_workers(1, timeout=_PATIENCE)
        except BaseException as error:
            found = self.client is not None
            self._close()
            if found and isinstance(error, TimeoutError):
                where = self.scheduler
                raise ExecutorError(
                    f"the scheduler at {where} has no workers after {_PATIENCE} s: dask worker "
                    f"{where}"
                ) from None
            if self.scheduler is not None and isinstance(error, OSError | ValueError):
                raise ExecutorError(
                    f"no Dask scheduler answers at {self.scheduler}: {error}"
                ) from None
            raise
        return self

    def _started(self) -> Any:
        """A cluster on this machine. One whose workers are lost while they start is started
        again."""
        for attempt in range(_STARTS):
            try:
                return self._own_cluster()
            except Exception as error:
                if attempt == _STARTS - 1:
                    raise ExecutorError(
                        f"the workers of a Dask cluster on this machine did not start: {error}. "
                        "Were they killed, or is there too little memory for so many?"
                    ) from None
        raise AssertionError("unreachable")

    def _own_cluster(self) -> Any:
        """Worker processes of one thread each on the loopback interface, which write nothing to the
        disk."""
        import dask

        memory = {f"distributed.worker.memory.{key}": False for key in ("target", "spill", "pause")}
        with dask.config.set(memory), _no_interrupts():
            return self.distributed.LocalCluster(
                n_workers=self.workers,
                threads_per_worker=1,
                host="127.0.0.1",
                dashboard_address="127.0.0.1:0",
                silence_logs=logging.ERROR,
            )

    def _room(self) -> int:
        """How many items the cluster can take now. Workers may come and go, so they are counted
        again now and then. A cluster is far away, so it gets more."""
        if time.monotonic() - self.counted > _COUNTING:
            self.workers = max(1, sum(self.client.nthreads().values()))
            self.counted = time.monotonic()
        return 4 * self.workers

    def _submit(self, work: Callable[[Any], Any], place: int, item: Any) -> Any:
        return self.client.submit(_on_dask, work, item, pure=False)

    def _results(self, finished: list[tuple[int, Any]]) -> Iterator[tuple[int, Any]]:
        """The results of all finished items. They are fetched at once, since asking for one costs
        as much as asking for many. Errors come last, as they end the run."""
        well, other = list[tuple[int, Any]](), list[tuple[int, Any]]()
        for place, future in finished:  # asked once: a lost worker's results are pending again
            (well if future.status == "finished" else other).append((place, future))
        try:
            found = self.client.gather([future for _, future in well])
            yield from zip((place for place, _ in well), found, strict=True)
            for place, future in other:
                yield place, future.result()
        except self.distributed.KilledWorker as error:
            raise ExecutorError(
                f"workers of the cluster were lost again and again: {error}"
            ) from None
        except CancelledError:
            raise ExecutorError(
                f"the scheduler at {self.scheduler} is gone, or it cancelled the work"
            ) from None

    def _cancel(self, futures: list[Any]) -> None:
        """What has begun ends at its next pulse."""
        if self.client is not None and futures:
            self.client.cancel(futures, force=True)

    def _close(self) -> None:
        logger = logging.getLogger("distributed")
        level = logger.level
        logger.setLevel(logging.CRITICAL + 1)  # what is cancelled complains that nobody listens
        try:
            for part in (self.client, self.cluster):
                if part is not None:
                    part.close()
        finally:
            logger.setLevel(level)
            self.client = self.cluster = None


@contextmanager
def _no_interrupts() -> Iterator[None]:
    """Processes that are started meanwhile leave Ctrl-C to this one."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _on_dask(work: Callable[[Any], Any], item: Any) -> Any:
    """`work(item)` on a worker of the cluster, which ends when the task is cancelled."""
    from distributed import get_worker

    worker = get_worker()
    key = worker.get_current_task()

    def beat(done: int) -> None:
        task = worker.state.tasks.get(key)
        if task is None or task.state == "cancelled":
            raise Cancelled

    own.beat = beat
    try:
        return call(work, item)
    finally:
        own.beat = None
