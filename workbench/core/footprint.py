"""How much memory is left for a product <P, memory>. Its walk stops as soon as it has met more."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

_OUTCOME_BYTES = 80
"""A product's peak while it is built, by outcome: 75 were measured on gravity x OA2."""

_SHARE = 0.75
"""Of the free memory, for a product: who builds it wants to use it."""


def free_bytes() -> int:
    """The bytes that the machine, the container and the limits of the process leave."""
    left = [1 << 62]
    with suppress(OSError, ValueError, IndexError):
        told = Path("/proc/meminfo").read_text().partition("MemAvailable:")[2]
        left.append(int(told.split()[0]) * 1024)
    for group in ("/sys/fs/cgroup/memory.{}", "/sys/fs/cgroup/memory/memory.{}_in_bytes"):
        names = ("max", "current") if group.endswith("{}") else ("limit", "usage")
        with suppress(OSError, ValueError):  # "max" where there is no limit
            limit, used = (int(Path(group.format(name)).read_text()) for name in names)
            left.append(limit - used)
    with suppress(ImportError, OSError):  # not on every system
        import resource

        pages = Path("/proc/self/statm").read_text().split()
        for kind, taken in ((resource.RLIMIT_AS, pages[0]), (resource.RLIMIT_DATA, pages[5])):
            if (limit := resource.getrlimit(kind)[0]) != resource.RLIM_INFINITY:
                left.append(limit - int(taken) * os.sysconf("SC_PAGE_SIZE"))
    return max(0, min(left))


def most_outcomes() -> int:
    """How many outcomes of a product fit into the free memory."""
    return int(free_bytes() * _SHARE) // _OUTCOME_BYTES
