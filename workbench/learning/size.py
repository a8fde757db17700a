"""A run's memory is computed, and refused if it is not there, before it is taken."""

from __future__ import annotations

import os

from workbench.core.errors import TooLarge
from workbench.core.pomdp import POMDP
from workbench.memories import Memory

GB = 1e9


def available_bytes() -> int:
    """Memory that is free to use, as the system reports it."""
    try:
        with open("/proc/meminfo") as lines:
            found = next(line for line in lines if line.startswith("MemAvailable:"))
        return int(found.split()[1]) * 1024
    except (OSError, StopIteration):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def check_memory(P: POMDP, memory: Memory, seeds: int = 1) -> None:
    """Raise `TooLarge` before P and the memory are multiplied out, if their table cannot fit.

    Only where every memory state can be written at every step is the size known beforehand; other
    memories pass.
    """
    if not memory.overwrites:
        return
    entries = len(memory.M) * len(P.O) * len(P.A) * len(memory.W)
    parts = {f"{seeds} times {entries:,} entries": 8 * entries * seeds}
    refuse_too_large(
        f"a table for {P.name}×{memory.name}", parts, "take a smaller memory or fewer seeds"
    )


def refuse_too_large(what: str, parts: dict[str, int], advice: str) -> None:
    """Raise `TooLarge`, with the largest part named, if the bytes of all parts are not free."""
    needed, free = sum(parts.values()), available_bytes()
    if needed > free:
        largest = max(parts, key=lambda part: parts[part])
        raise TooLarge(
            f"{what} needs {needed / GB:.1f} GB, most of it for {largest} "
            f"({parts[largest] / GB:.1f} GB), but only {free / GB:.1f} GB are free: {advice}"
        )
