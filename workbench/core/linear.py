"""Linear systems x = b + gamma P x, or with P^T, in floats with rigorous error bounds.

P is substochastic. A solution is judged by its residual, computed in double-double
(`double_kernels`) from the numbers of the model as they were written, so that the rounding of
fractions to floats is part of it. I - gamma P is an M-matrix: its inverse has no negative entry.
Hence a vector h with

    h - gamma P h >= |residual|    implies    |error| <= h,

and it does not matter how h was found, since the inequality is checked, in double-double again. So
a solver need only be a little right (`solvers`).

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
from workbench.core.errors import NotSolved
from workbench.core.linear_kernels import eliminate
from workbench.core.solvers import (
    FEWEST,
    Elimination,
    Floats,
    Solver,
    factorize,
    largest,
    refusal,
    solvers_for,
)

_ROUNDS = 4
"""Corrections of a solution by its own residual, at most."""

_UNDERFLOW = 1e-280

_ATTEMPTS = ((0.0, 0.1), (2.0**-46, 1e-3), (2.0**-46, 1e-6))
"""How h is found: to the second accuracy, and where h is large beside what a state asks of it, its
own rounding is more than that, so the first share of h is asked instead."""

ONE = np.array([1.0, 0.0])


@dataclass(frozen=True)
class Solution:
    """A solution, a bound on the error of each entry (0 for exact numbers), and how it was found.

    The bound of a float holds for `x` alone, whose residual is at most `residual`.
    """

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

    @property
    def matrix(self) -> sp.csr_array:
        return sp.csr_array((self.P[0], self.indices, self.indptr), shape=(self.n, self.n))

    # values and visits of a policy are systems of one matrix: factors are found once

    @cached_property
    def eliminated(self) -> tuple[Floats, bool]:
        F, lost = eliminate(self.indptr, self.indices, self.P[0], self.gamma[0], self.leave[0])
        return F, bool(lost)

    @cached_property
    def factors(self) -> Any:
        """LU factors of I - gamma P, or None if it is singular in floats."""
        return factorize(sp.eye_array(self.n) - self.gamma[0] * self.matrix)

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
        x, h, method, residual = self._enclose_by_any(b, transposed, self.given)
        found = Solution(x[0], method, np.abs(x[1]) + h, residual)
        doubt = 1.01 * (2 * self.n + 2) * largest(self.given)
        if transposed and 0 < doubt < 0.01 and (found.error > doubt * np.abs(x[0])).any():
            x, h, method, residual = self._enclose_by_any(b, transposed, 0 * self.given)
            error = (np.abs(x[1]) + h) * (1 + doubt) + doubt * np.abs(x[0])
            if np.max(error / _positive(x[0])) < np.max(found.error / _positive(found.x)):
                return Solution(x[0], method, error, residual)
        return found

    def _enclose_by_any(
        self, b: Floats, transposed: bool, given: Floats
    ) -> tuple[Floats, Floats, str, float]:
        """x in double-double, bounds on its errors, how it was found, and its largest residual."""
        for kind in solvers_for(self.n):
            solver = kind(self, transposed)
            found = _enclose(self, b, transposed, solver, given)
            if np.isfinite(found[1]).all():
                break
            if isinstance(solver, Elimination):
                found = solver.enclose(b, given)
        return found


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
    none = np.zeros(n)
    rows = P.indptr.astype(np.int64), P.indices.astype(np.int32)
    system = LinearSystem(*rows, entries, np.array([gamma, 0.0]), leave, none)
    found = system.solve(sides, transposed)
    if not np.isfinite(found.error).all():
        raise NotSolved(refusal(n))
    return found


# ---------------------------------------------------------------------- the bound


def _enclose(
    system: LinearSystem, b: Floats, transposed: bool, solver: Solver, given: Floats
) -> tuple[Floats, Floats, str, float]:
    """A solution, corrected by its residual as long as that halves it, and h."""
    x = np.zeros((2, system.n))
    x[0] = solver(b[0].copy())
    if not np.isfinite(x[0]).all():  # a chance of leaving that underflows
        return x, np.full(system.n, np.inf), solver.name, np.inf
    # errors of visits count as shares of them, errors of values as they are
    scale = np.maximum(x[0], FEWEST) if transposed else np.ones(system.n)
    if solver.is_uniform and transposed:
        x[0] = np.where(x[0] > 0, scale, 0.0)
    residual, bound = system.residual(b, x, transposed, given)
    size = largest(residual / scale)
    for _ in range(_ROUNDS):
        if not size > max(largest(bound / scale), solver.aim * largest(x[0] / scale)):
            break
        trial = x.copy()
        double.add_correction(trial, solver(residual))
        after, its_bound = system.residual(b, trial, transposed, given)
        left = largest(after / scale)
        if not left < size / 2:
            break
        x, residual, bound, size = trial, after, its_bound, left
    # twice what is needed and more than what underflows: the check has room for its own rounding
    needed = 2 * (np.abs(residual) + bound) + _UNDERFLOW
    if solver.is_uniform:
        # a Krylov method makes the largest residual small, and no other: ask the same of all
        few = x[0] < 2 * FEWEST if transposed else np.zeros(system.n, dtype=bool)
        usual = largest(np.where(few, 0.0, needed / scale))
        needed = np.where(few, np.maximum(needed, usual * scale), usual * scale)
    h, error = np.zeros_like(x), np.full(system.n, np.inf)
    for least, accuracy in _ATTEMPTS:
        needed = np.maximum(needed, least * h[0])
        h[0] = solver(needed, accuracy)
        if not np.isfinite(h[0]).all():
            break
        negative, rounding = system.residual(np.zeros((3, system.n)), h, transposed, given)
        enough = float(np.min((-negative - rounding) / needed, initial=1.0))
        if enough > 0.1:
            error = h[0] * (0.5 * (1 + 1e-12) / enough)
            break
    return x, error, solver.name, size


def _positive(x: Floats) -> Floats:
    return np.maximum(x, FEWEST)


def share_errors(found: Solution, visited: NDArray[np.bool_]) -> Solution:
    """Bounds on |d - computed| / d for visits. They are infinite where visits are too few for
    floats."""
    share = np.full(len(found.x), np.inf)
    np.divide(found.error, found.x, out=share, where=found.x > found.error)
    # |d - x| <= e x means |d - x| / d <= e / (1 - e)
    share = np.where(share < 0.5, share / np.maximum(1 - share, 0.5), np.inf)
    share[(found.x == 0) & ~visited] = 0.0
    return Solution(found.x, found.method, share, found.residual)
