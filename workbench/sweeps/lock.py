"""Claims on cells, so that processes that share a folder do not compute the same cell twice.

A claim is a lock on one byte of the file `.claims` in the folder of cells; the key of the cell says
on which byte. There is no list to keep and nothing to clean up: the kernel gives a lock to one
process at a time, and takes it back when that process ends, however it ends.

These are the record locks of POSIX, which network file systems know too: NFS 4, NFS 3 with its lock
daemon, CephFS, GPFS, and Lustre mounted with `flock`. There a claim of a machine that is lost stays
until the server's lease on it runs out. On a file system without locks every claim is granted
(`works` is False): drivers may then compute a cell twice, and the results are whole all the same,
since both write the same numbers and files are replaced at once.

Locks of this kind belong to a process, not to a thread; what this process has claimed is kept here.
Windows has such locks too (`msvcrt`). A lock file for each cell, as the package filelock makes
them, would take a descriptor for each claim: a driver of 64 workers holds thousands of claims at a
time, and a process may usually open 1,024 files.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
from pathlib import Path

if sys.platform == "win32":
    import msvcrt

    def _set_lock(file: int, place: int, locked: bool) -> None:
        os.lseek(file, place % 2**30, os.SEEK_SET)  # its offsets are positive 32-bit numbers
        msvcrt.locking(file, msvcrt.LK_NBLCK if locked else msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _set_lock(file: int, place: int, locked: bool) -> None:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB if locked else fcntl.LOCK_UN, 1, place)


_TAKEN = {errno.EACCES, errno.EAGAIN}
_NO_LOCKS = {errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EINVAL}


class Claims:
    """The claims of this process in one folder.

    Attributes
    ----------
    works : whether the file system has locks.
    """

    def __init__(self, path: Path):
        self.file = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        self.held: set[str] = set()
        self.guard = threading.Lock()
        self.works = True

    def take(self, key: str) -> bool:
        """Claim a cell, unless this or another process has claimed it."""
        with self.guard:
            if key in self.held:
                return False
            try:
                _set_lock(self.file, _place(key), True)
            except OSError as error:
                if error.errno in _TAKEN:
                    return False
                if error.errno not in _NO_LOCKS:
                    raise
                self.works = False
            self.held.add(key)
            return True

    def give_back(self, key: str) -> None:
        """Let others claim the cell."""
        with self.guard:
            if key not in self.held:
                return
            if self.works:
                _set_lock(self.file, _place(key), False)
            self.held.remove(key)


def _place(key: str) -> int:
    """The byte of each key: 60 bits of it. Two of a million cells share one with a probability
    below 10^-6."""
    return int(key[:15], 16)


_opened: dict[tuple[int, int], Claims] = {}


def claims_of(path: Path) -> Claims:
    """The claims of this process on the cells of a folder. The same object each time.

    Closing a file gives up all locks of the process on it, hence it is opened once and stays open.
    """
    path.touch()
    state = path.stat()
    file = state.st_dev, state.st_ino
    if file not in _opened:
        _opened[file] = Claims(path)
    return _opened[file]
