"""Processes of the tests: started, watched, killed."""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]

ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join([str(HERE), str(ROOT)]), "COLUMNS": "80"}


def alive(pid):
    """Whether a process runs; one that ended and that nobody has asked after counts as ended."""
    return _state(pid)[0] not in ("gone", "Z")


def children(pid):
    """The processes that a process has started."""
    pids = (int(name) for name in os.listdir("/proc") if name.isdigit())
    return [child for child in pids if _state(child)[1] == pid]


def _state(pid):
    try:
        fields = (Path("/proc") / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()
        return fields[0], int(fields[1])
    except (FileNotFoundError, ProcessLookupError):
        return "gone", 0


def until(condition, seconds=60.0):
    """Wait until something is so."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.01)


def start_sweep(spec, folder, *options, **settings):
    """`workbench sweep SPEC -o FOLDER ...` as a process of its own."""
    command = [
        sys.executable,
        str(HERE / "sweep_driver.py"),
        "sweep",
        str(spec),
        "-o",
        str(folder),
        *options,
    ]
    return subprocess.Popen(
        command,
        env=ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **settings,
    )


def ended(process, seconds=60):
    """How many cells a sweep has computed and found."""
    out, errors = process.communicate(timeout=seconds)
    assert process.returncode == 0, out + errors
    return tuple(
        int(re.search(rf"(\d+)( cells)? {word}", out)[1]) for word in ("computed", "found")
    )
