"""A linear program over occupancies and policies that bounds the return over a box of stochastic
policies.

The return is linear in the occupancies y(s,a) = d(s) pi(a|o(s)), and so is all that is asked of
them, but for the product itself:

    maximise  sum y(s,a) R(s,a),      sum_a y(s,a) = d(s),      d(s) = start(s) + gamma sum y p.

With pi(a|o) between low and high and d(s) between d- and d+, each product is replaced by the four
inequalities of McCormick (1976), of which y >= low d + d- pi - d- low is one. Unlike full
information the program has one pi(.|o) for all states that show o, and unlike an expansion around
the centre it stays tight in wide boxes.

The optimum of the solver (HiGHS) is not trusted. For any multipliers lambda of the rows, those with
the right sign,

    c z = lambda (A z) + (c - lambda A) z <= sum_rows lambda (side) + sum_j max over [l_j, u_j],

which is evaluated with room for rounding: the solver's multipliers only make it tight. The same sum
says how much is lost if a probability moves away from the side where it is best, and so which part
of the box holds nothing better than what is known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from workbench.extras import need

highspy = need("highspy", "bounds")

TableArray = NDArray[np.float64]

_EPS = float(np.finfo(float).eps)
_FEASIBLE = 1e-10
"""What the solver lets equations and multipliers be off by: no more can be asked of it."""

_ROOM = 1e-9
"""What a probability keeps beyond the place where it is cut off, as a share and as such."""

_KINDS = ((1.0, 0, 0), (1.0, 1, 1), (-1.0, 0, 1), (-1.0, 1, 0))
"""McCormick's inequalities: below (1) or above (-1) the product, and which sides of pi and d."""


@dataclass(frozen=True, eq=False)
class Programmed:
    """What the program says of a box.

    Attributes
    ----------
    bound : no policy of the box is worth more; minus infinity if there is none.
    low, high : the part of the box that may hold something better than what was asked for.
    """

    bound: float
    low: TableArray
    high: TableArray


class OccupancyProgram:
    """The program of one process, solved for box after box, each from the optimum of the last.

    Parameters
    ----------
    T, R, gamma, start, seen : of the process, `T[i, a, j]` dense.
    observations : how many there are.
    """

    def __init__(
        self,
        T: TableArray,
        R: TableArray,
        gamma: float,
        start: TableArray,
        seen: NDArray[np.int64],
        observations: int,
    ):
        n, nA = R.shape
        self.n, self.nA, self.nO = n, nA, observations
        self.seen = seen
        pairs = n * nA
        self._s, self._a = np.repeat(np.arange(n), nA), np.tile(np.arange(nA), n)
        self._o = seen[self._s]
        step = sp.csr_array(T.reshape(pairs, n))
        own = sp.csr_array((np.ones(pairs), (self._s, np.arange(pairs))), shape=(n, pairs))
        one = sp.eye_array(n)
        rows = sp.csr_array(
            (
                np.ones(observations * nA),
                (np.repeat(np.arange(observations), nA), np.arange(observations * nA)),
            ),
            shape=(observations, observations * nA),
        )
        equal = sp.block_array(
            [[own, -one, None], [-gamma * step.T, one, None], [None, None, rows]], format="csr"
        )
        self._equal = equal
        self._sides = np.concatenate([np.zeros(n), start, np.ones(observations)])
        # the pattern of McCormick's rows never changes: y, d, pi, in this order
        columns = np.stack(
            [np.arange(pairs), pairs + self._s, pairs + n + self._o * nA + self._a], axis=1
        )
        self._columns = np.tile(columns, (4, 1)).reshape(-1).astype(np.int32)
        self._cost = np.concatenate([-R.reshape(-1), np.zeros(n + observations * nA)])
        self._solver = highspy.Highs()
        self._solver.setOptionValue("output_flag", False)
        self._solver.setOptionValue("threads", 1)
        for kind in ("primal", "dual"):  # at the usual 1e-7 gaps stay at 1e-8
            self._solver.setOptionValue(f"{kind}_feasibility_tolerance", _FEASIBLE)
        self._basis: Any = None
        self._units = 16.0 * (pairs + n + observations * nA + 16) * _EPS

    def solve(
        self, low: TableArray, high: TableArray, least: TableArray, most: TableArray, target: float
    ) -> Programmed | None:
        """Bound a box, given bounds on the occupancies. None if the solver gave nothing."""
        n, pairs = self.n, self.n * self.nA
        sides = np.stack([low, high])[:, self._o, self._a]
        visits = np.stack([least, most])[:, self._s]
        values, limits = [], []
        for sign, of_pi, of_d in _KINDS:
            x, d = sides[of_pi], visits[of_d]
            values.append(np.stack([np.full(pairs, -sign), sign * x, sign * d], axis=1))
            limits.append(sign * x * d)
        upper = np.concatenate([self._sides, *limits])
        lower = np.concatenate([self._sides, np.full(4 * pairs, -np.inf)])
        indices = np.concatenate([self._equal.indices, self._columns]).astype(np.int32)
        data = np.concatenate([self._equal.data, np.concatenate(values).reshape(-1)])
        ends = self._equal.indptr[-1] + 3 * np.arange(1, 4 * pairs + 1)
        indptr = np.concatenate([self._equal.indptr, ends]).astype(np.int32)
        z_low = np.concatenate([np.zeros(pairs), least, low.reshape(-1)])
        z_high = np.concatenate([sides[1] * visits[1], most, high.reshape(-1)])
        # the product of two upper sides is rounded, and must not cut off what it stands for
        z_high[:pairs] *= 1.0 + 4.0 * _EPS
        found = self._run(lower, upper, indptr, indices, data, z_low, z_high)
        if found is None:
            return None
        dual = found
        # a multiplier with the wrong sign, from the solver's tolerance, would make the bound false
        dual[len(self._sides) :] = np.minimum(dual[len(self._sides) :], 0.0)
        A = sp.csr_array((data, indices, indptr), shape=(len(upper), len(z_low)))
        reduced = self._cost - A.T @ dual
        # what the multipliers leave of a variable counts at the worse of its sides
        worst = np.minimum(reduced * z_low, reduced * z_high)
        largest = np.maximum(np.abs(z_low), np.abs(z_high))
        magnitude = np.abs(dual) @ (np.abs(upper) + abs(A) @ largest) + np.abs(self._cost) @ largest
        bound = float(-(dual @ upper + worst.sum()) + self._units * magnitude)
        if not np.isfinite(bound):
            return None
        spare = bound - target
        part_low, part_high = low, high
        if spare > 0:
            part_low, part_high = _cut(low, high, reduced[pairs + n :].reshape(low.shape), spare)
        return Programmed(bound, part_low, part_high)

    def _run(
        self,
        lower: TableArray,
        upper: TableArray,
        indptr: NDArray[np.int32],
        indices: NDArray[np.int32],
        data: TableArray,
        z_low: TableArray,
        z_high: TableArray,
    ) -> TableArray | None:
        """The multipliers of the rows at the solver's optimum."""
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = len(z_low), len(upper)
        program.col_cost_, program.col_lower_, program.col_upper_ = self._cost, z_low, z_high
        program.row_lower_, program.row_upper_ = lower, upper
        program.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        program.a_matrix_.start_, program.a_matrix_.index_ = indptr, indices
        program.a_matrix_.value_ = data
        self._solver.passModel(program)
        # neighbouring boxes have neighbouring optima: the last basis saves most of the pivots
        if self._basis is not None:
            self._solver.setBasis(self._basis)
        self._solver.run()
        if self._solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            self._basis = None
            return None
        self._basis = self._solver.getBasis()
        return np.array(self._solver.getSolution().row_dual)


def _cut(
    low: TableArray, high: TableArray, reduced: TableArray, spare: float
) -> tuple[TableArray, TableArray]:
    """What is left of a box when each probability alone may lose `spare` at most."""
    low, high = low.copy(), high.copy()
    with np.errstate(divide="ignore", over="ignore"):
        far = spare / np.abs(reduced) * (1.0 + _ROOM) + _ROOM
    rising, falling = reduced > 0, reduced < 0
    high[rising] = np.minimum(high, low + far)[rising]
    low[falling] = np.maximum(low, high - far)[falling]
    return low, high
