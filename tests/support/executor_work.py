"""Work for the tests of executors: functions of a module, so that other processes find them."""

import os
import signal
import sys
import threading
import time
from functools import partial
from pathlib import Path

from processes import HANGS

from workbench.core.errors import WorkbenchError
from workbench.executors.executor import make_executor, pulse


class Unsendable(Exception):
    """Pickles, but does not unpickle."""

    def __init__(self, one, two):
        super().__init__(f"{one} {two}")


def square(x):
    return x * x


def third_fails(x):
    if x == 3:
        raise WorkbenchError("three is too many")
    return x


def third_fails_badly(x):
    if x == 3:
        raise Unsendable("three", "is too many")
    return x


def die_once(folder, x):
    """The process that first gets the item 3 is killed."""
    mark = Path(folder) / f"{x}"
    with mark.open("a") as file:
        file.write("x")
    if x == 3 and mark.stat().st_size == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return x * x


def die_while_answering(folder, x):
    """The process that first gets an item is killed a little later: while it writes the answer,
    which is large, or just before or after."""
    mark = Path(folder) / f"{x}"
    if not mark.exists():
        mark.touch()
        threading.Timer(0.03 * x, os.kill, (os.getpid(), signal.SIGKILL)).start()
    return bytes([x]) * 40_000_000


def always_die(x):
    os.kill(os.getpid(), signal.SIGKILL)


def wait_long(folder, x):
    """Work that says where it runs and goes on until it is stopped."""
    (Path(folder) / f"{x}-{os.getpid()}").touch()
    end = time.monotonic() + HANGS
    while time.monotonic() < end:
        time.sleep(0.02)
        try:
            pulse(1)
        except BaseException:
            (Path(folder) / f"{x}-stopped").touch()
            raise


def workers_in(folder):
    """The processes that `wait_long` runs in."""
    return {int(path.name.split("-")[1]) for path in Path(folder).glob("*-[0-9]*")}


def drive(folder, name="local"):
    """A driver to be interrupted or killed."""
    with make_executor(name, workers=2) as e:
        for _ in e.run(partial(wait_long, folder), range(8)):
            pass


if __name__ == "__main__":
    drive(sys.argv[1])
