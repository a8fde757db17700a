"""The best stochastic memoryless policy, certified: branch and bound over boxes of policies.

A box holds the policies with low(o,a) <= pi(a|o) <= high(o,a). Three bounds on the return J over
it, of which the smallest counts:

1.  Every state chooses for itself within the box (`box_bounds`). As good as full information on the
    whole simplex, and exact on a point; the error shrinks with the width of the box.
2.  Slope and curvature at the centre, with an error of third order (`box_bounds`), which ends the
    boxes around a maximum where occupancies are bounded badly.
3.  A linear program over occupancies with one row for all states that show o (`occupancy_program`),
    the tightest in wide boxes.

Two things make a box smaller. The multipliers of the linear program say where in the box nothing
better than what is known can be. With gamma = 1 an action that may lead to where no policy of the
box ends has probability zero in every policy that has a value. What was computed in floats is
checked with room for rounding, so the bounds hold for certain; no box is dropped otherwise.

Boxes are split where the policy's advantage times the occupancy spreads most; actions that do the
same in every state of an observation are one (`follow.alternatives`).
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from workbench.optima.follow import alternatives
from workbench.optima.mdp import MDP
from workbench.progress import Waiting
from workbench.research.box_bounds import ProcessBounds, TableArray, centre, tighten
from workbench.research.occupancy_program import OccupancyProgram

_CUTS = 8
"""How often a box is bounded again without the parts in which there is no optimum."""

_WORTH = 0.9
"""A cut that leaves less than this share of the widths is followed by another bound."""

_FEW = 40
"""States up to which it is tried."""

_DENSE = 400_000
"""Entries of the transitions, dense, up to which boxes are bounded at all."""

_THINNEST = 1e-12
"""A box no side of which is wider is not split: floats cannot tell its policies apart."""


@dataclass(frozen=True, order=True)
class _Box:
    """A box, the largest bound first.

    Attributes
    ----------
    rank : minus the bound, and a number to break ties by.
    o, a, at : the row, the action and the probability to split at.
    """

    rank: tuple[float, int]
    low: TableArray = field(compare=False)
    high: TableArray = field(compare=False)
    o: int = field(compare=False)
    a: int = field(compare=False)
    at: float = field(compare=False)

    @property
    def bound(self) -> float:
        return -self.rank[0]


@dataclass(frozen=True, eq=False)
class BoxReport:
    """The result of a search over boxes. It holds the bound, how many boxes were bounded, how many
    are left that may hold something better, and whether the search was cut short."""

    bound: float
    boxes: int
    left: int
    ended: str


def is_boxable(M: MDP) -> bool:
    """Whether a process is small enough for its policies to be bounded box by box."""
    n, nA = M.shape
    return n * nA * n <= _DENSE


def too_large_for_boxes(M: MDP) -> str:
    """What is too large about a process whose policies cannot be bounded box by box, and what
    would fit."""
    n, nA = M.shape
    return (
        f"{n:,} states are too many to bound policies box by box: with {nA} actions up to "
        f"{math.isqrt(_DENSE // nA):,} fit"
    )


def is_empty(low: TableArray, high: TableArray) -> bool:
    """Whether no policy is in a box: probabilities of a row cannot sum to one."""
    rounding = 1e-12
    return bool(
        (low > high).any()
        or (low.sum(axis=1) > 1 + rounding).any()
        or (high.sum(axis=1) < 1 - rounding).any()
    )


class BoxSearch:
    """Branch and bound over boxes of policies.

    Parameters
    ----------
    M : the process over floats, small enough to be dense.
    observations : how many there are.
    improve : climbs from a policy and returns the policy and value reached.
    ceiling : no policy is worth more, for reasons known before.
    """

    def __init__(
        self,
        M: MDP,
        observations: int,
        improve: Callable[[TableArray], tuple[TableArray, float]],
        ceiling: float,
    ):
        n, nA = M.shape
        assert is_boxable(M)
        self.M = M
        self._improve = improve
        self._bounds = bounds = ProcessBounds(M, observations)
        low = np.zeros((observations, nA))
        high = np.zeros_like(low)
        for o, actions in enumerate(alternatives(M, observations)):
            high[o, actions if len(actions) else [0]] = 1.0
        self.boxes = 0
        self._closed = -math.inf
        self._heap: list[_Box] = []
        self._root = low, high
        self.ceiling = ceiling
        self._program: OccupancyProgram | None = None
        if n <= _FEW:
            self._program = OccupancyProgram(
                bounds.T, bounds.R, bounds.gamma, bounds.start, bounds.seen, observations
            )

    def run(
        self, best: TableArray, value: float, aim: float, most: float, until: float, name: str
    ) -> tuple[TableArray, float, BoxReport]:
        """Search until nothing can be better than the best by more than `aim`, or a limit is met.

        Returns the best policy, its value, and what is certain.
        """
        low, high = self._root
        ended = ""
        if not self.boxes:
            whole = self._bound(low, high, self.ceiling, value, aim)[0]
            self._heap.append(whole)
        with Waiting(f"boxes of policies of {name}") as waiting:
            try:
                while self._highest() > value + aim and not ended:
                    if self.boxes >= most:
                        ended = f"stopped at {self.boxes:,} boxes"
                    elif time.monotonic() > until:
                        ended = "stopped by the time limit"
                    else:
                        best, value = self._split(best, value, aim)
                        text = f"{self.boxes:,} boxes, {value:.6g} to {self._highest():.6g}"
                        waiting.report(0.0, text)
            except KeyboardInterrupt:
                ended = "interrupted"
        left = sum(min(self.ceiling, box.bound) > value + aim for box in self._heap)
        bound = max(value, min(self.ceiling, max(self._closed, self._highest())))
        return best, value, BoxReport(bound, self.boxes, left, ended)

    def _highest(self) -> float:
        """A bound on what the boxes that are left hold."""
        return min(self.ceiling, self._heap[0].bound) if self._heap else -math.inf

    def _split(self, best: TableArray, value: float, aim: float) -> tuple[TableArray, float]:
        """Halve the box with the largest bound. Returns the best policy and value after that.

        The box stays on the heap until both halves are, so that an interruption leaves a bound that
        holds.
        """
        parent = self._heap[0]
        o, a = parent.o, parent.a
        # floats cannot halve it any more; its bound stays in the answer
        if parent.high[o, a] - parent.low[o, a] < _THINNEST:
            self._closed = max(self._closed, parent.bound)
            heapq.heappop(self._heap)
            return best, value
        kept = []
        for side in (0, 1):
            low, high = parent.low.copy(), parent.high.copy()
            (high if side == 0 else low)[o, a] = parent.at
            tighten(low, high)
            box, there = self._bound(low, high, parent.bound, value, aim)
            kept.append(box)
            if there > value:  # a start in a basin that no climb had reached
                climbed, worth = self._improve(centre(low, high))
                if worth > value:
                    best, value = climbed, worth
        heapq.heappop(self._heap)
        for box in kept:
            if box.bound <= value + aim:
                self._closed = max(self._closed, box.bound)
            else:
                heapq.heappush(self._heap, box)
        return best, value

    def _bound(
        self,
        low: TableArray,
        high: TableArray,
        ceiling: float,
        value: float,
        aim: float,
    ) -> tuple[_Box, float]:
        """Bound a box, and evaluate its centre. Parts with nothing better than `value` are cut
        off."""
        bound, worth = ceiling, -math.inf
        if self.M.undiscounted:
            low, high = low.copy(), high.copy()
            if not self._bounds.cut_traps(low, high):
                self.boxes += 1
                return _Box((math.inf, self.boxes), low, high, 0, 0, 0.0), worth
        for _ in range(_CUTS):
            self.boxes += 1
            found = self._bounds.bound_box(low, high, value + aim)
            o, a = found.o, found.a
            bound, worth = min(bound, found.bound), max(worth, found.value)
            # nothing here is worth looking for; a tighter bound would not be used
            if self._program is None or bound <= value + aim or not np.isfinite(found.most).all():
                break
            said = self._program.solve(low, high, found.least, found.most, value + 0.5 * aim)
            if said is None or said.bound >= bound:
                break
            bound = said.bound
            if bound <= value + aim:
                break
            before = (high - low).sum()
            if not (np.array_equal(said.low, low) and np.array_equal(said.high, high)):
                # what is cut off is worth no more than this
                self._closed = max(self._closed, value + 0.5 * aim)
                low, high = said.low, said.high
                if is_empty(low, high):
                    bound = -math.inf
                    break
                tighten(low, high)
            # another turn pays only if the box became clearly smaller
            if (high - low).sum() > _WORTH * before:
                break
        if high[o, a] - low[o, a] < _THINNEST:  # cut off meanwhile
            o, a = divmod(int(np.argmax(high - low)), low.shape[1])
        at = 0.5 * float(low[o, a] + high[o, a])
        box = _Box((-bound, self.boxes), low, high, o, a, at)
        return box, worth
