"""Claims: one process at a time, and none that outlives its process."""

import errno
import fcntl
import importlib.util
import os
import subprocess
import sys
from types import ModuleType

import pytest

from workbench.sweeps import lock
from workbench.sweeps.lock import Claims, claims_of

KEY, OTHER = "ab" * 20, "cd" * 20

HOLD = """
import sys
from pathlib import Path
from workbench.sweeps.lock import Claims
claims = Claims(Path(sys.argv[1]))
print(claims.take(sys.argv[2]), flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / ".claims"


@pytest.fixture
def hold(path, processes):
    """A function that starts a process which claims a key and holds it; returns the process and
    whether it got it."""

    def hold(key):
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        process = processes.python("-c", HOLD, path, key, **pipes)
        return process, process.stdout.readline().strip() == "True"

    return hold


def test_a_claim_is_granted_once_until_it_is_given_back(path):
    claims = claims_of(path)
    assert claims.take(KEY)
    assert not claims.take(KEY)
    assert claims.take(OTHER)
    claims.give_back(KEY)
    claims.give_back(KEY)
    assert claims.take(KEY)


def test_another_process_holds_its_claim_until_it_is_killed(path, hold):
    process, got = hold(KEY)
    assert got
    claims = claims_of(path)
    assert not claims.take(KEY)
    assert claims.take(OTHER)
    process.kill()
    process.wait()
    assert claims.take(KEY)
    assert not hold(OTHER)[1]


def test_a_folder_has_one_set_of_claims_in_a_process_however_it_is_named(path, tmp_path):
    (tmp_path / "link").symlink_to(path)
    assert claims_of(path) is claims_of(path) is claims_of(tmp_path / "link")
    claims_of(path).take(KEY)
    assert not claims_of(tmp_path / "link").take(KEY)


def test_where_there_are_no_locks_every_claim_is_granted_and_that_is_known(path, monkeypatch):
    def no_locks(*arguments):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "lockf", no_locks)
    claims = Claims(path)
    assert claims.works
    assert claims.take(KEY)
    assert not claims.works
    claims.give_back(KEY)
    assert claims.take(KEY)


def test_other_errors_of_locks_are_not_hidden(path, monkeypatch):
    def broken(*arguments):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(fcntl, "lockf", broken)
    with pytest.raises(OSError, match="Input/output error"):
        Claims(path).take(KEY)


def test_windows_has_no_fcntl_and_locks_bytes_all_the_same(path, monkeypatch):
    asked = []
    windows = ModuleType("msvcrt")
    windows.LK_NBLCK, windows.LK_UNLCK = 2, 0

    def locking(file, how, count):
        asked.append((how, count, os.lseek(file, 0, os.SEEK_CUR)))
        if len(asked) == 2:
            raise OSError(errno.EACCES, "Permission denied")

    windows.locking = locking
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setitem(sys.modules, "msvcrt", windows)
    monkeypatch.setitem(sys.modules, "fcntl", None)
    spec = importlib.util.spec_from_file_location("lock_on_windows", lock.__file__)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    claims = module.Claims(path)
    assert claims.take(KEY)
    assert not claims.take(OTHER)  # another process has it
    claims.give_back(KEY)
    place = int(KEY[:15], 16) % 2**30
    assert [asked[0], asked[2]] == [(2, 1, place), (0, 1, place)]
