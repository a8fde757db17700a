"""Controllers, the slow obvious way: the law of what is seen, done and paid, by following every
path; and the fewest nodes by trying every way to merge them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any


def law_with_memory(P, memory, pi, steps: int) -> dict[tuple[Any, ...], Fraction]:
    """P(o_0, a_0, r_0, o_1, ...) of a memoryless policy of <P, memory>, memory and writes summed
    out."""

    def acts(m, o):
        return pi.row((m, o)).items()

    def goes(m, o, action, r, o_next):
        a, w = action
        return memory.Gamma(m, w, o, a, r, o_next).items()

    return _law(P, memory.eta, acts, goes, lambda action: action[0], steps)


def law_of_controller(P, controller, steps: int) -> dict[tuple[Any, ...], Fraction]:
    """The same law of a controller, from its own tables."""

    def acts(n, o):
        return controller.act[n, o].items()

    def goes(n, o, a, r, o_next):
        return controller.after[n, o, a, r, o_next].items()

    return _law(P, controller.start, acts, goes, lambda a: a, steps)


def _law(P, eta, acts: Callable, goes: Callable, action_of: Callable, steps: int):
    found: dict[tuple[Any, ...], Fraction] = {}

    def walk(t, s, m, o, past, x):
        if x == 0:
            return
        if s in P.terminal or t == steps:
            found[past] = found.get(past, 0) + x
            return
        for choice, y in acts(m, o):
            a = action_of(choice)
            for (s_next, r), z in P.p(s, a).items():
                for o_next, u in P.omega(s_next).items():
                    now = (*past, a, r, o_next)
                    if s_next in P.terminal:
                        walk(t + 1, s_next, m, o_next, (*now, "end"), x * y * z * u)
                        continue
                    for m_next, v in goes(m, o, choice, r, o_next):
                        walk(t + 1, s_next, m_next, o_next, now, x * y * z * u * v)

    for s, x in P.mu.items():
        for o, y in P.omega(s).items():
            for m, z in eta.items():
                walk(0, s, m, o, (o,), x * y * z)
    return {past: x for past, x in found.items() if x != 0}


def partitions(n: int) -> Iterator[list[int]]:
    """Every way to put n things into blocks: the block of each, blocks numbered as they occur."""

    def extend(blocks: list[int]) -> Iterator[list[int]]:
        if len(blocks) == n:
            yield list(blocks)
            return
        for k in range(max(blocks, default=-1) + 2):
            yield from extend([*blocks, k])

    yield from extend([])


def fewest_nodes(controller) -> int:
    """The fewest blocks of nodes that act alike where visited and go on to the same blocks."""
    return min(
        max(blocks) + 1 for blocks in partitions(len(controller)) if _sound(controller, blocks)
    )


def _sound(controller, blocks: list[int]) -> bool:
    acts: dict[Any, Any] = {}
    for n, o in controller.visited:
        row = {a: x for a, x in controller.act[n, o].items() if x != 0}
        if acts.setdefault((blocks[n], o), row) != row:
            return False
    goes: dict[Any, Any] = {}
    for n, *rest in controller.events:
        row: dict[int, Fraction] = {}
        for k, x in controller.after[(n, *rest)].items():
            if x != 0:
                row[blocks[k]] = row.get(blocks[k], 0) + x
        if goes.setdefault((blocks[n], *rest), row) != row:
            return False
    return True
