"""How much memory is left for this process, asked before something large is built.

Three things end a process that takes too much: the machine has no more, its container (a control
group of Linux, version 1 or 2, or any group around it) may not have more, or the process itself may
not (`ulimit -v`, `ulimit -d`). What is free is the least of what they leave.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

_PROC = Path("/proc")
_GROUPS = Path("/sys/fs/cgroup")

_UNKNOWN = 1 << 62
"""What is left where the system does not say."""


def free_bytes() -> int:
    """The bytes that this process can still take without being stopped, as far as the system says;
    a large number if it does not."""
    return max(0, min(_UNKNOWN, _machine(), *_groups(), *_process()))


def _machine() -> int:
    try:
        for line in (_PROC / "meminfo").read_text().splitlines():
            name, _, rest = line.partition(":")
            if name == "MemAvailable":
                return int(rest.split()[0]) * 1024
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return _UNKNOWN


def _process() -> Iterator[int]:
    """What the limits on addresses and on data leave."""
    try:
        import resource

        used = [int(x) for x in (_PROC / "self" / "statm").read_text().split()]
        page = resource.getpagesize()
    except (ImportError, OSError, ValueError):  # neither is on every system
        return
    for limit, pages in ((resource.RLIMIT_AS, used[0]), (resource.RLIMIT_DATA, used[5])):
        most, _ = resource.getrlimit(limit)
        if most != resource.RLIM_INFINITY:
            yield most - pages * page


def _groups() -> Iterator[int]:
    """What the groups leave that this process is in."""
    try:
        lines = (_PROC / "self" / "cgroup").read_text().splitlines()
    except OSError:
        return
    for line in lines:
        _, kinds, path = line.split(":", 2)
        if kinds == "":
            yield from _group(_GROUPS, path, "memory.max", "memory.current", "inactive_file")
        elif "memory" in kinds.split(","):
            names = "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"
            yield from _group(_GROUPS / "memory", path, *names)


def _group(root: Path, path: str, limit: str, usage: str, cache: str) -> Iterator[int]:
    """What a group and those around it leave; those that a container does not see are left out."""
    here = root / path.lstrip("/")
    for group in (here, *here.parents):
        if not group.is_relative_to(root):
            return
        try:
            most = int((group / limit).read_text())  # "max" where there is none
            left = most - int((group / usage).read_text())
            for line in (group / "memory.stat").read_text().splitlines():
                name, _, size = line.partition(" ")
                if name == cache:
                    left += int(size)  # copies of files, which are given up first
            yield left
        except (OSError, ValueError):
            continue
