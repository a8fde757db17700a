"""Expected visits of a large chain, accurate for each state however seldom it is visited: the chain
run backwards.

    d = mu + gamma P^T d,      d(s) from 1e4 down to 1e-70 and less

With D = diag(d) the unknowns d = D x turn the system into the one of the chain run backwards,

    x(s) = mu(s)/d(s) + sum_{s'} [ gamma P(s',s) d(s') / d(s) ] x(s'),       x = 1,

whose rows sum to at most one: where did the episode come from that is in s now? The residual of
this system is the relative residual of the visits, and the norm of its inverse is the largest
expected *age*, the number of steps taken so far. d is not known, but a rough one does: a few sweeps
of Gauss and Seidel from zero, which add and multiply non-negative numbers only, give every state
its order of magnitude. BiCGSTAB on the scaled system, each of whose steps is a sweep, gives the
rest; sweeps polish what it leaves in rare states; and so on, with a better D, until nothing gets
better. Where that gets on slowly, because episodes stay among a few states for long, groups of
states (`aggregation`) take over. In the end groups take away what subtractions left. Sweeps go
upwards: states are numbered as they are discovered from mu, and episodes come from there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.core.aggregation import Aggregation
from workbench.core.aggregation_kernels import subtract_rows
from workbench.core.krylov_kernels import UPWARDS, bicgstab, scale_rows, sweep
from workbench.core.reversal_kernels import add_departures, turn_rows
from workbench.core.rows import without_signs

_FIRST_SWEEPS, _POLISH = 20, 3
_ROUNDS = 12
_TRIAL, _GETTING_ON = 20, 0.1
"""Iterations of BiCGSTAB in one round, and how much smaller each has to make a sweep's change: a
better scaling helps more than patience, and groups more than either."""

_STILL_FAR = 1e-3
"""A change that two rounds leave if BiCGSTAB will take many more."""

_ROUGH = 0.1
"""As long as sweeps change visits by more than this share, groups are asked once for each d."""

_CYCLES = 12
"""Steps of GMRES for one d, at most."""

_AIM = 4e-15
"""The relative change in a sweep at which visits are as good as floats allow."""

_ENOUGH = 4e-14
"""That at which an iteration has done what it can: long sums leave as much."""

_SETTLINGS = 90
"""Rounds of sums and products at the end, at most."""

_PATIENCE, _GAIN = 10, 0.1
"""So many of them have to make what a round changes so much smaller."""

_RETURNS, _FINE = 4, 1e-10
"""So often groups and Krylov methods take turns, while a round changes more than the second."""

_AGE_STEPS, _AGE_ROUNDS = 10, 40
"""Iterations between two looks at the inequality that is asked of ages, and how many of these."""

Floats = NDArray[np.float64]


class _Rows(NamedTuple):
    """A sparse matrix in compressed rows."""

    indptr: NDArray[np.uint64]
    indices: NDArray[np.uint32]
    data: Floats


class Backwards:
    """A chain run backwards: gamma P^T without its diagonal, each row divided by 1 - gamma P(s,s).

    Parameters
    ----------
    indptr, indices, data, gamma : the chain, in compressed rows.
    leave : the probability of ending from each state, which 1 - gamma is a part of.

    1 - gamma P(s,s) is what leads elsewhere, a sum: so it has a small relative error, and is the
    same on all levels of groups where rows sum to one up to rounding only.
    """

    def __init__(
        self,
        indptr: NDArray[Any],
        indices: NDArray[Any],
        data: Floats,
        gamma: float,
        leave: Floats,
    ):
        moving = leave.copy()
        add_departures(indptr, indices, data, gamma, moving)
        moving[moving == 0] = 1.0  # nobody who is there comes elsewhere, and nothing asks
        turned_ptr, turned, T = turn_rows(indptr, indices, data, gamma, moving)
        self.T = _Rows(*without_signs(turned_ptr, turned), T)
        self.moving, self.leave = moving, leave
        self.in_groups = False

    def visits(self, start: Floats) -> tuple[Floats, str]:
        """d, and how it was found; nothing is promised about its error."""
        T, b = self.T, start / self.moving
        d = np.zeros(len(start))
        change = np.inf
        for i in range(_FIRST_SWEEPS):
            change = sweep(*T, b, d, i % 2 == 0)
            if change <= _AIM:
                return d, "sweeps"
        # what a sweep changes on the way up from zero says nothing about how far it is
        d = self._iterated(b, d, np.inf)
        for again in reversed(range(_RETURNS)):
            d, off = self._settled(b, d, is_patient=again == 0)
            if off <= _ENOUGH:
                break
            if again:  # from visits that are right to a digit Krylov methods get on
                d = self._iterated(b, d, np.inf)
        for i in range(_FIRST_SWEEPS):
            if sweep(*T, b, d, i % 2 == 0) <= _AIM:
                break
        return d, "aggregation" if self.in_groups else "bicgstab, backwards"

    def _iterated(self, b: Floats, d: Floats, change: float) -> Floats:
        """Visits by rounds of Krylov methods, the best by the change of a sweep."""
        best, least = d, change
        for taken in range(_ROUNDS):
            d, change = self._take_round(b, best)
            gain = change / least
            if change < least:
                best, least = d, change
            # what is left is for the groups alone; they would answer a second time as they did
            if least <= _ENOUGH or (self.in_groups and gain >= 1):
                break
            self.in_groups |= gain > _GETTING_ON or (taken > 0 and least > _STILL_FAR)
        return best

    def _settled(self, b: Floats, d: Floats, is_patient: bool) -> tuple[Floats, float]:
        """Visits without what the subtractions of Krylov methods left in them, a share of rounding
        times the longest stay, which no sweep can see; and how much the last round changed them.

        Unless it `is_patient` it comes back when it gets on slowly from visits that are no longer
        rough."""
        offs: list[float] = []
        for _ in range(_SETTLINGS):
            scaled, right = self._scaled(b, d)
            x = Aggregation(*self.T, scaled, self.moving, self.leave, d).settle(right)
            d = np.where(d > 0, d * x, d)
            offs.append(float(np.max(np.abs(x - 1), where=d > 0, initial=0.0)))
            before = min(offs[:-_PATIENCE], default=np.inf)
            if offs[-1] <= _ENOUGH or offs[-1] > _GAIN * before:
                break
            is_slow = len(offs) > 1 and offs[-1] > _GETTING_ON * offs[-2]
            if not is_patient and is_slow and _FINE < offs[-1] < _ROUGH:
                break
        return d, offs[-1]

    def _take_round(self, b: Floats, d: Floats) -> tuple[Floats, float]:
        """Better visits by the system scaled by d, polished, and the largest relative change of the
        last sweep."""
        T, x = self.T, (d > 0).astype(float)
        scaled, right = self._scaled(b, d)
        if self.in_groups:
            groups = Aggregation(*T, scaled, self.moving, self.leave, d)
            self._ask_groups(groups, right, x)
        else:
            bicgstab(T.indptr, T.indices, scaled, 1.0, right, x, _AIM, True, _TRIAL, UPWARDS)
        # where the iteration went astray the old value is the better one
        found: Floats = np.where((x > 0) & np.isfinite(x), x, 1.0) * d
        for i in range(_POLISH):
            change = sweep(*T, b, found, i % 2 == 0)
        return found, change

    def _ask_groups(self, groups: Aggregation, right: Floats, x: Floats) -> None:
        missed = np.empty(len(x))
        subtract_rows(self.T.indptr, self.T.indices, groups.levels[0].T, x, missed)
        missed = right - missed
        if float(np.max(np.abs(missed))) > _ROUGH:
            x += groups.correct(missed)
        else:
            groups.improve(right, x, _AIM, _CYCLES)

    def _scaled(self, b: Floats, d: Floats) -> tuple[Floats, Floats]:
        scaled, right = np.empty_like(self.T.data), np.zeros(len(d))
        scale_rows(*self.T, b, d, scaled, right)
        return scaled, right

    def ages(self, d: Floats, weight: Floats, aim: float, first: Floats | None = None) -> Floats:
        """About the expected weight of the states before a visit of each state, that visit included
        (its age, for a weight of 1): g with d g = d weight + gamma P^T (d g), or at least with a
        share `aim` of the first term."""
        T = self.T
        scaled, right = self._scaled(d * weight / self.moving, d)
        g: Floats = right.copy() if first is None else first.copy()
        groups = Aggregation(*T, scaled, self.moving, self.leave, d) if self.in_groups else None
        kept, asked = np.empty(len(d)), right > 0
        for _ in range(_AGE_ROUNDS):
            if groups is not None:
                # far beyond what is asked of the sum, so that it holds for each
                left = groups.improve(right, g, 0.0, _CYCLES // 2)
            else:
                left, _ = bicgstab(
                    T.indptr, T.indices, scaled, 1.0, right, g, 0.0, True, _AGE_STEPS, UPWARDS
                )
            subtract_rows(T.indptr, T.indices, scaled, g, kept)
            if not np.isfinite(left) or np.all(kept[asked] >= aim * right[asked]):
                break
        return g
