"""The way to a policy, looked at in places: whether greedy stays what it is.

The places x pi + (1-x) tau lie on a grid from x = 1 down to next to nothing. Between two of them
greedy may change, and change back. A difference q(o, tau(o)) - q(o, b) that is smooth in x and far
from zero at both does not: places are added where it bends by more than is left of it. That is a
rule of thumb, not a proof.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from workbench.core.oracle_loop import Loop
from workbench.core.trail import Actions

GRID = tuple(Fraction(7, 10) ** j for j in range(37))
"""The places that are always looked at, as shares of what is left of pi; the last is some 3e-6."""

_NOISE = 2.0**-40
"""Differences that are so small a share of a row's q-values are not judged by how they bend."""

RowMask = NDArray[np.bool_]


class WayPlaces:
    """A look at the way from the policy of a loop to a goal; rows without one stay."""

    def __init__(self, loop: Loop, goal: Actions):
        self._loop, self._goal = loop, goal
        self._ahead: dict[Fraction, NDArray[np.float64]] = {}

    def leaving_on_grid(self, counts: RowMask) -> RowMask:
        """The rows whose goal is not greedy, up to the first place where one that counts is among
        them; without that one, if others left before: they may be the reason."""
        found, at = np.zeros(len(self._goal), dtype=bool), 0
        while (at := self._loop.first_doubt(self._goal, GRID, at)) < len(GRID):
            leaving = self._leaving(GRID[at])
            if (leaving & counts).any():
                return found if found.any() else leaving
            found |= leaving
            at += 1
        return found

    def leaving_between(self, keep: float, most: int) -> RowMask:
        """The rows whose goal is not greedy at the first place that is found between those of the
        grid. Places come no closer than iterates, of which each keeps a share of pi, and are no
        more than some number."""
        for x in GRID:
            if x not in self._ahead:  # passed over, since it left no doubt
                self._leaving(x)
        places = sorted(self._ahead, reverse=True)
        while most > 0:
            wide = [(high, low) for high, low in self._bent(places) if low < keep * high][:most]
            if not wide:
                break
            for high, low in wide:
                if (leaving := self._leaving((high + low) / 2)).any():
                    return leaving
            most -= len(wide)
            places = sorted(self._ahead, reverse=True)
        return np.zeros(len(self._goal), dtype=bool)

    def _leaving(self, x: Fraction) -> RowMask:
        """The rows whose goal is not greedy at a place. How far ahead of other actions it is there
        is kept, NaN where it is not, or may not be."""
        glance, goal = self._loop.look_ahead(self._goal, x), self._goal
        q = np.array(self._loop.field.leave(glance.q), dtype=np.float64)
        ahead = np.take_along_axis(q, goal[:, None], axis=1) - q
        is_sure = ahead > _NOISE * np.abs(q).max(axis=1, keepdims=True)
        self._ahead[x] = np.where((goal >= 0)[:, None] & is_sure, ahead, np.nan)
        return np.asarray((goal >= 0) & (glance.greedy != goal))

    def _bent(self, places: list[Fraction]) -> list[tuple[Fraction, Fraction]]:
        """Neighbours among places, from large to small, between which a difference may fall below
        zero: at one of them it is farther from the line through its neighbours than from zero."""
        if len(places) < 3:
            return []
        x = np.array([float(place) for place in places])[:, None, None]
        ahead = np.array([self._ahead[place] for place in places])
        share = (x[1:-1] - x[2:]) / (x[:-2] - x[2:])
        bend = np.full_like(ahead, np.nan)
        bend[1:-1] = np.abs(ahead[1:-1] - share * ahead[:-2] - (1 - share) * ahead[2:])
        largest, least = np.fmax(bend[1:], bend[:-1]), np.minimum(ahead[1:], ahead[:-1])
        found = np.flatnonzero((largest > least).any(axis=(1, 2)))
        return [(places[j], places[j + 1]) for j in found.tolist()]
