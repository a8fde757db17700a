"""How much memory is left on this machine, asked before something large is built."""

from __future__ import annotations

import os
from pathlib import Path

_GROUP = Path("/sys/fs/cgroup")
"""Where Linux says what a container may use."""


def free_bytes() -> int:
    """The bytes that this process can still take without being stopped, as far as the system says;
    a large number if it does not."""
    found = [_machine(), *_container()]
    return min(found)


def _machine() -> int:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            name, _, rest = line.partition(":")
            if name == "MemAvailable":
                return int(rest.split()[0]) * 1024
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 1 << 62


def _container() -> list[int]:
    try:
        most, now = (
            (_GROUP / name).read_text().strip() for name in ("memory.max", "memory.current")
        )
        return [] if most == "max" else [max(int(most) - int(now), 0)]
    except (OSError, ValueError):
        return []
