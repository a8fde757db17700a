"""The executor `local` of `workbench.executors.executor`: processes, each at the end of a pipe of
its own.

A thread for each process hands it an item and waits for the answer. Processes share nothing, no
queue and no lock: one that is killed, at whatever moment, can hold up no other, and costs only the
item that it was computing. The pools of the standard library and of loky do not survive that: a
worker that is killed while it takes an item leaves their queue locked, and one that is killed while
it writes a large answer leaves half of it in a pipe whose other end the reader itself holds open.
Either pool, of one worker and killed 0.24 s into an answer of 100 MB, waited for ever.

The pipe is the lifeline, too: the kernel closes this end when this process is killed, and a worker
whose pipe is closed ends at once, so that none outlives its driver.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import signal
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing import get_all_start_methods, get_context
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

from workbench.executors.executor import Cancelled, Executor, WorkerLost, call


class ProcessExecutor(Executor):
    """Processes on this machine, forked from a clean server that has imported the work's module. A
    new one costs milliseconds, so that replacing one that is lost is cheap."""

    def __init__(self, workers: int):
        super().__init__(workers)
        self.threads = ThreadPoolExecutor(workers, thread_name_prefix="executor")
        self.idle: list[_Worker] = []
        self.running: set[_Worker] = set()
        self.closed = False
        self.lock = threading.Lock()

    def _submit(self, work: Callable[[Any], Any], place: int, item: Any) -> Any:
        return self.threads.submit(self._ask, work, item)

    def _ask(self, work: Callable[[Any], Any], item: Any) -> Any:
        """In a thread: `work(item)`, computed by an idle process or by a new one."""
        worker = self._worker(work)
        try:
            value, error = worker.ask(work, item)
        except (EOFError, OSError) as lost:
            self._discard(worker)
            raise WorkerLost from lost
        self.idle.append(worker)
        if error is not None:
            raise error
        return value

    def _worker(self, work: Callable[[Any], Any]) -> _Worker:
        with contextlib.suppress(IndexError):
            return self.idle.pop()
        with self.lock:  # nothing is started behind the back of `_close`
            if self.closed:
                raise Cancelled
            worker = _Worker(_module(work))
            self.running.add(worker)
            return worker

    def _discard(self, worker: _Worker) -> None:
        with self.lock:
            self.running.discard(worker)
        worker.end()

    def _close(self) -> None:
        """Idle processes have nothing to lose, and nobody waits for what the others compute."""
        with self.lock:
            self.closed = True
            left = list(self.running)
        for worker in left:
            worker.kill()  # a thread that waits for an answer reads the end of the pipe
        self.threads.shutdown(cancel_futures=True)
        for worker in left:
            worker.end()


class _Worker:
    """A process that computes one item at a time, and this end of its pipe."""

    def __init__(self, module: str):
        if "forkserver" in get_all_start_methods():
            context: Any = get_context("forkserver")
            context.set_forkserver_preload([module])
        else:
            context = get_context("spawn")  # Windows
        self.pipe, other = context.Pipe()
        self.process = context.Process(target=_serve, args=(other,))
        try:
            self.process.start()
        except OSError as error:
            self.pipe.close()
            raise WorkerLost from error  # killed before it was told what to do
        finally:
            other.close()

    def ask(self, work: Callable[[Any], Any], item: Any) -> tuple[Any, BaseException | None]:
        """The value of `work(item)` and None, or None and an error. An `OSError` or `EOFError` of
        the pipe where the process is gone."""
        message = pickle.dumps((work, item))
        self.pipe.send_bytes(message)
        answer: tuple[Any, BaseException | None] = pickle.loads(self.pipe.recv_bytes())
        return answer

    def kill(self) -> None:
        self.process.kill()

    def end(self) -> None:
        """Leave nothing of the process behind."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _module(work: Any) -> str:
    while isinstance(work, partial):
        work = work.func
    return str(work.__module__)


def _serve(pipe: Connection) -> None:
    """In a worker: answer what comes through the pipe, and end with it, whatever is under way.

    Ctrl-C is left to the process that started this one.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    messages: SimpleQueue[bytes] = SimpleQueue()

    def listen() -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                messages.put(pipe.recv_bytes())
        os._exit(1)

    threading.Thread(target=listen, name="lifeline", daemon=True).start()
    while True:
        pipe.send_bytes(_answer(messages.get()))


def _answer(message: bytes) -> bytes:
    """What goes back for a message: a value and None, or None and an error with its trace."""
    try:
        work, item = pickle.loads(message)
        return pickle.dumps((call(work, item), None))
    except BaseException as error:
        error.add_note(f"In a worker process:\n{traceback.format_exc()}")
        return pickle.dumps((None, error))
