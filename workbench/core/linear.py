"""Linear systems x = b + gamma P x, or with P^T, in floats with rigorous error bounds.

P is substochastic. A solution is judged by its residual, computed in double-double
(`double_kernels`) from the numbers of the model as they were written, so that the rounding of
fractions to floats is part of it. I - gamma P is an M-matrix: its inverse has no negative entry.
Hence a vector h with

    h - gamma P h >= |residual|    implies    |error| <= h,

and it does not matter how h was found, since the inequality is checked, in double-double again. So
a solver need only be a little right. There is one for small chains, elimination without
subtractions, and one for large chains, BiCGSTAB on sweeps of Gauss and Seidel.

Expected visits d = mu + P^T d run from 1e4 down to 1e-70 and less, and P(s|o) is a ratio of them:
every single one has to be right. With D = diag(d), the unknowns d = D x turn the system into that
of the chain run backwards, D^-1 P^T D, whose rows sum to at most one and whose solution is 1: its
residual is the relative residual of d. A rough d does for D. Sweeps from zero give every state its
order of magnitude, since they add and multiply non-negative numbers only.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from workbench.core import double_kernels as double
from workbench.core.double_kernels import FEWEST
from workbench.core.errors import NotSolved
from workbench.core.linear_kernels import bicgstab, eliminate, scale_rows, substitute, sweep
from workbench.core.rows import own_rows, without_signs

ELIMINATED, ELIMINATED_AT_LAST = 1_000, 40_000
"""Up to so many states: elimination, some milliseconds; the same, of up to half a minute, where
BiCGSTAB has failed."""

_UNDERFLOW = 1e-280

_ATTEMPTS = ((0.0, 0.1), (2.0**-46, 1e-3), (2.0**-46, 1e-6))
"""How h is found: to the second accuracy, and where h is large beside what a state asks of it, its
own rounding is more than that, so the first share of h is asked instead."""

_SWEEPS, _TRIALS, _STEPS, _ITERATIONS = 20, 12, 20, 4_000
"""First sweeps for visits; then so many times so many iterations, scaled anew each time: a better
scaling helps more than patience. Iterations for everything else."""

ONE = np.array([1.0, 0.0])

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Solution:
    """A solution, a bound on the error of each entry (0 for exact numbers), and how it was found.
    The bound of a float holds for `x` alone. Who measures the largest residual puts it here."""

    x: NDArray[Any]
    method: str
    error: Any = 0.0
    residual: float = 0.0


@dataclass(frozen=True)
class LinearSystem:
    """A substochastic matrix in double-double, in compressed rows, and a discount.

    Attributes
    ----------
    P, gamma : both parts of the entries and of the discount.
    leave : both parts of 1 - gamma times the sum of each row, found without a subtraction where
        that matters. What a state keeps for itself is what the other numbers of its row leave.
    given : by which share the entries of a row may be off, where numbers were given as floats or
        are weights of a mean.
    """

    indptr: NDArray[Any]
    indices: NDArray[Any]
    P: Floats
    gamma: Floats
    leave: Floats
    given: Floats

    @property
    def n(self) -> int:
        return len(self.given)

    @cached_property
    def factors(self) -> Any:
        """Those of elimination: values and visits of a policy are systems of one matrix."""
        return eliminate(self.indptr, self.indices, self.P[0], self.gamma[0], self.leave[0])

    def residual(
        self, b: Floats, x: Floats, transposed: bool, given: Floats
    ) -> tuple[Floats, Floats]:
        """b + gamma P x - x, and a bound on its rounding."""
        found, bound = np.empty(self.n), np.empty(self.n)
        kernel = double.residual_backward if transposed else double.residual_forward
        tables = self.indptr, self.indices, self.P, self.gamma, self.leave
        kernel(*tables, b, x, given, found, bound)
        return found, bound

    def solve(self, b: Floats, transposed: bool = False) -> Solution:
        """Solve for x with error bounds, which are infinite if no solver gave any accuracy. `b` has
        three rows: both parts of each number, and the size of its summands.

        By the matrix-tree theorem each entry of the inverse is a ratio of sums of products of at
        most n probabilities, of leaving or of going elsewhere. So if these are off by a share e,
        visits are off by about 2 n e, however long episodes are: used where it is the less.
        """
        b = np.ascontiguousarray(b)  # kernels are compiled for one order
        x, error, name = self._enclose_by_any(b, transposed, self.given)
        doubt = 1.01 * (2 * self.n + 2) * _largest(self.given)
        if transposed and 0 < doubt < 0.01 and (error > doubt * x).any():
            y, off, name = self._enclose_by_any(b, transposed, 0 * self.given)
            off = off * (1 + doubt) + doubt * y
            if np.max(off / np.maximum(y, FEWEST)) < np.max(error / np.maximum(x, FEWEST)):
                return Solution(y, name, off)
        return Solution(x, name, error)

    def _enclose_by_any(
        self, b: Floats, transposed: bool, given: Floats
    ) -> tuple[Floats, Floats, str]:
        """x, bounds on its errors, and how it was found."""
        for kind in solvers_for(self.n):
            solver = kind(self, transposed)
            x, error = _enclose(self, b, transposed, solver, given)
            if np.isfinite(error).all():
                break
        return x, error, solver.name


class Elimination:
    """Elimination without subtractions (`linear_kernels`)."""

    name = "elimination"
    is_uniform, aim = False, 0.0

    def __init__(self, system: LinearSystem, transposed: bool):
        self._factors = system.factors
        self._transposed = transposed

    def __call__(self, y: Floats, accuracy: float = 0.0) -> Floats:
        found: Floats = substitute(*self._factors, y, self._transposed)
        return found


class Krylov:
    """BiCGSTAB on rows in sweep order, preconditioned by the diagonal: T = (I - diag)^-1 (gamma P -
    diag).

    States are numbered as they are discovered from mu. Visits come from earlier states and are
    swept upwards; values come from later ones, so the order of states is turned round for them.
    Errors are of one size for all states, those of visits as shares of them; residuals below `aim`
    of the solution are not corrected.
    """

    name = "bicgstab"
    is_uniform, aim = True, 1e-15

    def __init__(self, system: LinearSystem, transposed: bool):
        shape = (system.n, system.n)
        Q = sp.csr_array((system.gamma[0] * system.P[0], system.indices, system.indptr), shape)
        self._turn = slice(None) if transposed else slice(None, None, -1)
        if transposed:
            Q = sp.csr_array(Q.T)
        else:
            indices, indptr = system.n - 1 - Q.indices[::-1], len(Q.data) - Q.indptr[::-1]
            Q = sp.csr_array((Q.data[::-1].copy(), indices, indptr), shape)
        rows = own_rows(Q.indptr)
        stays = Q.indices == rows
        loops = np.bincount(rows[stays], Q.data[stays], minlength=system.n)
        self._moves = np.maximum(1.0 - loops, np.finfo(float).tiny)
        Q.data /= self._moves[rows]
        Q.data[stays] = 0.0
        Q.eliminate_zeros()
        self._T = (*without_signs(Q.indptr, Q.indices), Q.data)
        self._scaled = Q.data
        self._scale = None if transposed else np.ones(system.n)

    def __call__(self, y: Floats, accuracy: float = 1e-12) -> Floats:
        b = y[self._turn] / self._moves
        if self._scale is None:
            return self._visits(b)
        b /= self._scale
        x, size = np.zeros(len(b)), max(_largest(b), np.finfo(float).tiny)
        b /= size  # else the squares of tiny numbers underflow
        bicgstab(*self._T[:2], self._scaled, b, x, accuracy, _ITERATIONS)
        return (self._scale * (size * x))[self._turn]

    def _visits(self, b: Floats) -> Floats:
        """The first solution, which is the scale of the others."""
        d = np.zeros(len(b))
        for i in range(_SWEEPS):
            change = sweep(*self._T, b, d, i % 2 == 0)
        for _ in range(_TRIALS):
            if change < 1e-12:
                break
            self._scale_by(d)
            right = np.divide(b, d, out=np.zeros(len(b)), where=d > 0)
            x = (d > 0).astype(float)
            bicgstab(*self._T[:2], self._scaled, right, x, 1e-14, _STEPS)
            # where BiCGSTAB diverged the old value is better
            d = np.where((x > 0) & np.isfinite(x), x, 1.0) * d
            for i in range(3):  # sweeps do not subtract: rare states gain digits
                change = sweep(*self._T, b, d, i % 2 == 0)
        self._scale_by(d)
        return d.copy()

    def _scale_by(self, d: Floats) -> None:
        self._scale, self._scaled = np.maximum(d, FEWEST), np.empty_like(self._T[2])
        scale_rows(*self._T, d, self._scaled)


def solvers_for(n: int) -> list[type[Elimination] | type[Krylov]]:
    """Those to try for a chain of n states. The first that gives a bound is taken."""
    if n <= ELIMINATED:
        return [Elimination]
    return [Krylov, Elimination] if n <= ELIMINATED_AT_LAST else [Krylov]


def solve(P: sp.csr_array, gamma: float, b: Floats, transposed: bool = False) -> Solution:
    """Solve x = b + gamma P x for floats. `NotSolved` is raised if that gives no accuracy at all.

    Bounds do not count that the chance of leaving is a difference here, right to 1e-19.
    """
    n = len(b)
    entries, sides, sums = np.zeros((2, P.nnz)), np.zeros((3, n)), np.zeros((2, n))
    entries[0], sides[0], sides[2] = P.data, b, np.abs(b)
    double.leaving(P.indptr, entries, np.ones(P.nnz, dtype=bool), np.zeros(n), ONE, sums)
    rest = np.maximum(1 - gamma * (np.longdouble(sums[0]) + sums[1]), 0)
    leave = np.stack([rest.astype(float), (rest - rest.astype(float)).astype(float)])
    rows = P.indptr.astype(np.int64), P.indices.astype(np.int32)
    system = LinearSystem(*rows, entries, np.array([gamma, 0.0]), leave, np.zeros(n))
    found = system.solve(sides, transposed)
    if not np.isfinite(found.error).all():
        raise NotSolved(refusal(n, "a linear system"))
    return found


# ---------------------------------------------------------------------- the bound


def _enclose(
    system: LinearSystem, b: Floats, transposed: bool, solver: Elimination | Krylov, given: Floats
) -> tuple[Floats, Floats]:
    """A solution, corrected by its residual as long as that halves it, and bounds on its errors."""
    x, error = np.zeros((2, system.n)), np.full(system.n, np.inf)
    x[0] = solver(b[0].copy())
    if not np.isfinite(x[0]).all():  # a probability of leaving has underflowed
        return x[0], error
    # visits have relative errors, values absolute ones
    scale = np.maximum(x[0], FEWEST) if transposed else np.ones(system.n)
    if solver.is_uniform and transposed:
        x[0] = np.where(x[0] > 0, scale, 0.0)
    residual, bound = system.residual(b, x, transposed, given)
    size = _largest(residual / scale)
    while size > max(_largest(bound / scale), solver.aim * _largest(x[0] / scale)):
        trial = x.copy()
        double.add_correction(trial, solver(residual))
        after, its_bound = system.residual(b, trial, transposed, given)
        left = _largest(after / scale)
        if not left < size / 2:
            break
        x, residual, bound, size = trial, after, its_bound, left
    # ask for twice as much, so that the check below has room for its own rounding and underflow
    needed = 2 * (np.abs(residual) + bound) + _UNDERFLOW
    if solver.is_uniform:
        # a Krylov method reduces the largest residual only: ask for the same in every state
        few = x[0] < 2 * FEWEST if transposed else np.zeros(system.n, dtype=bool)
        usual = _largest(np.where(few, 0.0, needed / scale))
        needed = np.where(few, np.maximum(needed, usual * scale), usual * scale)
    h = np.zeros_like(x)
    for least, accuracy in _ATTEMPTS:
        needed = np.maximum(needed, least * h[0])
        h[0] = solver(needed, accuracy)
        if not np.isfinite(h[0]).all():
            break
        negative, rounding = system.residual(np.zeros((3, system.n)), h, transposed, given)
        enough = float(np.min((-negative - rounding) / needed, initial=1.0))
        if enough > 0.1:
            error = np.abs(x[1]) + h[0] * (0.5 * (1 + 1e-12) / enough)
            break
    return x[0], error


def share_errors(found: Solution, visited: NDArray[np.bool_]) -> Solution:
    """Bounds on |d - computed| / d for visits. They are infinite where visits are too few for
    floats."""
    share = np.full(len(found.x), np.inf)
    np.divide(found.error, found.x, out=share, where=found.x > found.error)
    # |d - x| <= e x means |d - x| / d <= e / (1 - e)
    share = np.where(share < 0.5, share / np.maximum(1 - share, 0.5), np.inf)
    share[(found.x == 0) & ~visited] = 0.0
    return Solution(found.x, found.method, share)


def refusal(n: int, what: str) -> str:
    """The sentence for systems that floats cannot solve."""
    return (
        f"{what} of {n:,} states is singular in floats; the policy may take extremely long to end. "
        "A smaller gamma, or exact=True for small models, may help"
    )


def _largest(x: Floats) -> float:
    return float(np.max(np.abs(x), initial=0.0))
