"""The best stochastic memoryless policy, certified: branch and bound over boxes of policies.

A box holds the policies with low(o,a) <= pi(a|o) <= high(o,a). Two bounds on the return J over it,
of which the smaller counts:

1.  Every state chooses for itself within the box: u >= T u with T u(s) = max_{x in box(o)} sum_a
    x_a q_u(s,a). As good as full information on the whole simplex, and exact on a point; the error
    shrinks with the width of the box.
2.  For any vector v, with b(s,a) = R(s,a) + gamma sum p v - v(s) and d_pi the occupancy of pi,

        J(pi) = start . v + sum_s d_pi(s) sum_a pi(a|o(s)) b(s,a),

    an identity (the performance difference of Kakade and Langford 2002). With v the values at the
    centre of the box the inner sum is of the size of the box, and with d_pi between d- and d+ all
    over it, J is at most

        start . v + sum_o max_x sum_a x_a sum_{s in o} d(s) b(s,a) + sum_s (d+ - d-)/2 max_x |sum_a
        x_a b(s,a)|,

    d the mean of d- and d+. The error shrinks with the square of the width, which keeps the boxes
    around a maximum from multiplying as their width goes down.

d+ is any vector with d+ >= start + gamma d+ P for the entrywise largest P of the box: then every
partial sum of start (gamma P_pi)^t stays below it. d- likewise. What was computed in floats is
checked with room for rounding, so the bounds hold for certain; no box is dropped otherwise.

Boxes are split where the policy's advantage times the occupancy spreads most; actions that do the
same in every state of an observation are one (`follow.alternatives`).
"""

from __future__ import annotations

import heapq
import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from workbench.optima.box_kernels import bound_box, centre, tighten
from workbench.optima.follow import alternatives
from workbench.optima.mdp import MDP
from workbench.progress import Waiting

Table = NDArray[np.float64]

_Box = tuple[float, int, Table, Table, int, int]
"""Minus the bound, a number to break ties by, low, high, and the row and action to split at."""

_THINNEST = 1e-12
"""A box no side of which is wider is not split: floats cannot tell its policies apart."""


@dataclass(frozen=True, eq=False)
class BoxReport:
    """What a search over boxes came to: the bound, how many boxes were bounded, how many are left
    that may hold something better, and whether the search was cut short."""

    bound: float
    boxes: int
    left: int
    ended: str


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
        improve: Callable[[Table], tuple[Table, float]],
        ceiling: float,
    ):
        assert M.dense is not None
        self.M = M
        self._improve = improve
        self._tables = (
            np.ascontiguousarray(M.dense),
            np.ascontiguousarray(M.R, dtype=np.float64),
            np.ascontiguousarray(M.sizes),
            float(M.gamma),
            np.ascontiguousarray(M.start, dtype=np.float64),
            M.seen,
        )
        low = np.zeros((observations, M.shape[1]))
        high = np.zeros_like(low)
        for o, actions in enumerate(alternatives(M, observations)):
            high[o, actions if len(actions) else [0]] = 1.0
        self.boxes = 0
        self._closed = -math.inf
        self._heap: list[_Box] = []
        self._root = low, high, ceiling

    def run(
        self, best: Table, value: float, aim: float, most: float, until: float, name: str
    ) -> tuple[Table, float, BoxReport]:
        """Search until nothing can be better than the best by more than `aim`, or a limit is met.

        Returns the best policy, its value, and what is certain.
        """
        low, high, ceiling = self._root
        ended = ""
        if not self._heap:
            self._heap.append(self._bound(low, high, ceiling)[0])
        with Waiting(f"boxes of policies of {name}") as waiting:
            try:
                while self._heap and -self._heap[0][0] > value + aim and not ended:
                    if self.boxes >= most:
                        ended = f"stopped at {self.boxes:,} boxes"
                    elif time.monotonic() > until:
                        ended = "stopped by the time limit"
                    else:
                        best, value = self._split(best, value, aim)
                        text = (
                            f"{self.boxes:,} boxes, {value:.6g} to {-self._heap[0][0]:.6g}"
                            if self._heap
                            else ""
                        )
                        waiting.report(0.0, text)
            except KeyboardInterrupt:
                ended = "interrupted"
        left = sum(-box[0] > value + aim for box in self._heap)
        bound = max([value, self._closed, *(-box[0] for box in self._heap[:1])])
        return best, value, BoxReport(bound, self.boxes, left, ended)

    def _split(self, best: Table, value: float, aim: float) -> tuple[Table, float]:
        """Halve the box with the largest bound; the best policy and value after that.

        The box stays on the heap until both halves are, so that an interruption leaves a bound that
        holds.
        """
        parent, _, low, high, o, a = self._heap[0]
        if high[o, a] - low[o, a] < _THINNEST:
            self._closed = max(self._closed, -parent)
            heapq.heappop(self._heap)
            return best, value
        middle = 0.5 * (low[o, a] + high[o, a])
        kept = []
        for side in (0, 1):
            low_half, high_half = low.copy(), high.copy()
            (high_half if side == 0 else low_half)[o, a] = middle
            tighten(low_half, high_half)
            box, there = self._bound(low_half, high_half, -parent)
            kept.append(box)
            if there > value:  # a start in a basin that no climb had reached
                climbed, worth = self._improve(centre(low_half, high_half))
                if worth > value:
                    best, value = climbed, worth
        heapq.heappop(self._heap)
        for box in kept:
            if -box[0] <= value + aim:
                self._closed = max(self._closed, -box[0])
            else:
                heapq.heappush(self._heap, box)
        return best, value

    def _bound(self, low: Table, high: Table, ceiling: float) -> tuple[_Box, float]:
        """A box with its bound, and the value at its centre."""
        self.boxes += 1
        bound, value, o, a = bound_box(*self._tables, low, high)
        return (-min(float(bound), ceiling), self.boxes, low, high, int(o), int(a)), float(value)
