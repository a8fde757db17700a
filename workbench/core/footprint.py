"""How large a product <P, memory> is at least, and how much memory is left for it.

A buffer of k cells that may be kept or pushed to can be filled with anything that is seen in a
strongly connected component C of P: go to the first thing, push it, go to the next while keeping,
and in the end go anywhere in C. With B the entries that can be pushed without leaving C,

    |S'| >= |entries (s, o) of C|  B^k.

That is known before anything is walked. What is not known then is found out by the walk, which
stops as soon as it has met more than fits.
"""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import numpy as np

from workbench.core.errors import TooLarge
from workbench.core.families import BufferFamily
from workbench.core.memory import Memory
from workbench.core.pomdp import POMDP
from workbench.core.rows import own_rows
from workbench.core.walk_kernels import reachable, strong_components

_OUTCOME_BYTES = 80
"""A product's peak while it is built, by outcome: 75 were measured on gravity x OA2. Rows without
outcomes, of terminal states, are not counted."""

_SHARE = 0.75
"""Of the free memory, for a product: who builds it wants to use it."""


def free_bytes() -> int:
    """The bytes that the machine, the container and the limits of the process leave."""
    left = [1 << 62]
    with suppress(OSError, ValueError, IndexError):
        told = Path("/proc/meminfo").read_text().partition("MemAvailable:")[2]
        left.append(int(told.split()[0]) * 1024)
    for group in ("/sys/fs/cgroup/memory.{}", "/sys/fs/cgroup/memory/memory.{}_in_bytes"):
        most, used = ("max", "current") if group.endswith("{}") else ("limit", "usage")
        with suppress(OSError, ValueError):  # "max" where there is no limit
            left.append(
                int(Path(group.format(most)).read_text())
                - int(Path(group.format(used)).read_text())
            )
    with suppress(ImportError, OSError):  # not on every system
        import resource

        pages = Path("/proc/self/statm").read_text().split()
        for limit, taken in ((resource.RLIMIT_AS, pages[0]), (resource.RLIMIT_DATA, pages[5])):
            if (most_bytes := resource.getrlimit(limit)[0]) != resource.RLIM_INFINITY:
                left.append(most_bytes - int(taken) * os.sysconf("SC_PAGE_SIZE"))
    return max(0, min(left))


def most_outcomes() -> int:
    """How many outcomes of a product fit into the free memory."""
    return int(free_bytes() * _SHARE) // _OUTCOME_BYTES


def refuse_if_larger(P: POMDP, memory: Memory, most: int, states: int, outcomes: int) -> None:
    """Raise `TooLarge` if a product of at least this size has more than `most` outcomes."""
    if outcomes > most:
        fits = f"{most:,} fit into {_SHARE:.0%} of the free memory, or are the limit that was given"
        raise TooLarge(
            f"{P.name}×{memory.name} has more than {states:,} states and {outcomes:,} outcomes; "
            f"{fits}: take a smaller memory"
        )


def least_size(P: POMDP, memory: Memory) -> tuple[int, int]:
    """A lower bound on the states and outcomes of the product, from P alone. It is (0, 0) unless
    the memory is a buffer with writes keep and push."""
    family, nA = memory.family, len(P.A)
    if not isinstance(family, BufferFamily) or not {"keep", "push"} <= set(family.writes):
        return 0, 0
    by_state = np.ascontiguousarray(P.p.row_ptr[::nA])
    _, component = strong_components(by_state, P.p.s_next)
    met = reachable(by_state, P.p.s_next, P.mu.support)
    rows = own_rows(P.p.row_ptr)
    stays = np.zeros(len(P.S) * nA, dtype=bool)
    stays[rows[component[rows // nA] == component[P.p.s_next]]] = True
    owner = own_rows(P.omega.row_ptr)
    width = outcomes_by_state(P)
    largest = 0, 0
    for c in np.unique(component[met]):
        here = np.flatnonzero(component[owner] == c)
        e, a = np.nonzero(stays.reshape(-1, nA)[owner[here]])
        pushed = P.omega.o[here[e]].astype(np.int64) * nA + (a if family.pairs else 0)
        fills = len(np.unique(pushed)) ** family.k
        size = len(here) * fills, int(width[owner[here]].sum()) * len(memory.W) * fills
        largest = max(largest, size, key=lambda found: found[1])
    return largest


def outcomes_by_state(P: POMDP) -> np.ndarray:
    """How many (a, s', r, o') follow each state of P."""
    seen = np.concatenate(([0], np.cumsum(np.diff(P.omega.row_ptr)[P.p.s_next])))
    return np.diff(seen[P.p.row_ptr[:: len(P.A)]])
