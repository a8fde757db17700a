"""How long some cells would take and how much room they need, before they are computed.

A cell of n steps takes about a + b n seconds on one worker. Both are measured on this machine, for
a few combinations of task, memory and method: the cell is computed for one seed and two small n,
with as many blocks as it has. Steps of combinations that are not tried count as much as the others.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from dataclasses import replace

from workbench.core.pomdp import POMDP
from workbench.deep.pair import MemoryPair
from workbench.sweeps.cell import Cell, fingerprint
from workbench.sweeps.experiment import OracleLoop
from workbench.sweeps.worker import compute_cell, product_of

_MOST_KINDS = 12
_SECONDS = 4.0
"""No more combinations are tried after so many, or after so many seconds."""

_SHORT, _LONG = 20_000, 400_000
"""Steps of the two runs."""

_STORING = 0.003
"""Seconds to store a cell."""

_BYTES, _BYTES_A_ROW = 2_500, 24


def estimate_seconds(
    cells: Iterable[Cell],
    find: Callable[[str], POMDP],
    report: Callable[[float, str], None] = lambda share, text: None,
) -> float:
    """How many seconds one worker like this machine's would take.

    Parameters
    ----------
    report : called with the share done and a few words.
    """
    kinds: dict[tuple[str, str, type, str], list[Cell]] = {}
    for cell in cells:
        kinds.setdefault((cell.task, cell.memory, type(cell.method), cell.measure), []).append(cell)
    ordered = sorted(kinds.values(), key=lambda group: -sum(map(_weight, group)))
    spread = ordered[:: max(1, len(ordered) // _MOST_KINDS)][:_MOST_KINDS]
    began, seconds, tried = time.monotonic(), 0.0, 0
    for place, group in enumerate(spread):
        if tried and time.monotonic() - began > _SECONDS:
            break
        report(place / len(spread), f"{group[0].task} with {group[0].memory}")
        seconds += _seconds_of(group, find)
        tried += sum(map(_weight, group))
    return seconds * sum(_weight(cell) for group in ordered for cell in group) / max(1, tried)


def _weight(cell: Cell) -> int:
    """A share of the whole work, to tell what was not tried from what was."""
    return max(1, cell.work) if not isinstance(cell.method, OracleLoop) else _LONG


def _seconds_of(group: list[Cell], find: Callable[[str], POMDP]) -> float:
    """The seconds of cells of one kind, from the middle one at two small numbers of steps."""
    cell = group[len(group) // 2]
    P = find(cell.task)
    began = time.perf_counter()
    E = product_of(P, fingerprint(P), cell.memory, cell.method)
    built = time.perf_counter() - began
    if isinstance(cell.method, OracleLoop):
        return len(group) * (_seconds(cell, E) + built + _STORING)
    blocks = -(-cell.steps // cell.every)
    short, long = (_shortened(cell, min(n, cell.steps), blocks) for n in (_SHORT, _LONG))
    _seconds(short, E)  # compiles what is not compiled yet
    fixed, more = _seconds(short, E), _seconds(long, E)
    step = max(0.0, more - fixed) / max(1, long.steps - short.steps)
    seed = max(0.0, fixed - step * short.steps)
    return sum(_STORING + len(one.seeds) * (seed + step * one.steps) for one in group)


def _shortened(cell: Cell, steps: int, blocks: int) -> Cell:
    return replace(cell, seeds=cell.seeds[:1], steps=steps, every=max(1, steps // blocks))


def _seconds(cell: Cell, E: POMDP | MemoryPair) -> float:
    began = time.perf_counter()
    compute_cell(cell, E, lambda steps: None)
    return time.perf_counter() - began


def room(cells: Iterable[Cell]) -> int:
    """About how many bytes the files of some cells take, rather too many.

    >>> from workbench.core.learners import QLearning
    >>> room([Cell("recall", "B1", QLearning(), "reward", seeds=(0, 1), steps=1000, every=10)])
    7300
    """
    return sum(_BYTES + _BYTES_A_ROW * _rows(cell) for cell in cells)


def _rows(cell: Cell) -> int:
    if isinstance(cell.method, OracleLoop):
        return cell.method.shown
    return len(cell.seeds) * -(-cell.steps // cell.every)
