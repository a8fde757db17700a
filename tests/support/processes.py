"""Processes of the tests: started, watched, and ended with the test or fixture that started them.

Tests wait for events. The one time limit here, `HANGS`, is far beyond what anything takes on a busy
machine: it only ends a test that would wait for ever.
"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), str(ROOT)]), "COLUMNS": "80"}

HANGS = 900
"""Seconds after which what a test waits for is taken to never happen."""

_FRESH = """
import os, signal, sys
for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
    signal.signal(number, signal.SIG_DFL)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""
"""Runs Python with the signals that it has in a terminal: what a script starts in the background
ignores SIGINT, and so would everything that is started from there."""


class Processes:
    """Some processes, each in a group of its own, which are killed with all that they have started
    when this is left."""

    def __init__(self):
        self.started = []

    def __enter__(self):
        return self

    def __exit__(self, *error):
        for process in reversed(self.started):
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    with suppress(BrokenPipeError):
                        pipe.close()

    def python(self, *arguments, **settings):
        """Start `python ARGUMENTS`, as it would run in a terminal."""
        process = subprocess.Popen(
            [sys.executable, "-c", _FRESH, *map(str, arguments)],
            env=ENVIRONMENT,
            start_new_session=True,
            **settings,
        )
        self.started.append(process)
        return process

    def sweep(self, spec, folder, *options, **settings):
        """Start `workbench sweep SPEC -o FOLDER ...`."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        driver = HERE / "sweep_driver.py"
        return self.python(driver, "sweep", spec, "-o", folder, *options, **pipes, **settings)


def until(condition, *needed):
    """Wait until something is so; the needed processes must not end before."""
    end = time.monotonic() + HANGS
    while not condition():
        for process in needed:
            if process.poll() is not None and not condition():
                said = process.stderr.read() if process.stderr else ""
                raise AssertionError(f"it ended with {process.returncode}: {said}")
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.01)


def whole_json(path):
    """What a JSON file holds, or None while it is not written to its end."""
    with suppress(FileNotFoundError, json.JSONDecodeError):
        return json.loads(path.read_text())
    return None


def alive(pid):
    """Whether a process runs; one that ended and that nobody has asked after counts as ended."""
    return _state(pid)[0] not in ("gone", "Z")


def children(pid):
    """The processes that a process has started and that run."""
    pids = (int(name) for name in os.listdir("/proc") if name.isdigit())
    return [child for child in pids if _state(child)[1] == pid and alive(child)]


def descendants(pid):
    """The children of a process and theirs."""
    return [one for child in children(pid) for one in (child, *children(child))]


def _state(pid):
    try:
        fields = (Path("/proc") / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()
        return fields[0], int(fields[1])
    except (FileNotFoundError, ProcessLookupError):
        return "gone", 0


def ended(process):
    """How many cells a sweep has computed, and how many were there already."""
    out, errors = process.communicate(timeout=HANGS)
    assert process.returncode == 0, out + errors
    return tuple(
        int(re.search(rf"(\d+)( cells)? {word}", out)[1]) for word in ("computed", "were there")
    )
