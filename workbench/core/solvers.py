"""Solvers of linear systems, whose solutions `linear` encloses.

There is one for small chains, elimination without subtractions, and one for large chains, BiCGSTAB
on sweeps of Gauss and Seidel; a chain of middling size is factored (sparse LU), and so is one that
defeats BiCGSTAB. Measurements: docs/core.md.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from numpy.typing import NDArray

from workbench.core import double_kernels as double
from workbench.core.errors import NotSolved
from workbench.core.linear_kernels import (
    bicgstab,
    scale_rows,
    substitute,
    substitute_transposed,
    sweep,
)
from workbench.core.rows import own_rows, without_signs

if TYPE_CHECKING:
    from workbench.core.linear import LinearSystem

ELIMINATED, FACTORED, FACTORED_AT_LAST = 200, 2_500, 40_000
"""Up to so many states: elimination; LU at once; LU where BiCGSTAB has failed."""

FEWEST = 1e-250
"""Visits below this are too few for floats: parts of their products underflow."""

_SWEEPS, _TRIALS, _STEPS = 20, 12, 20
"""First sweeps for visits; then so many times so many iterations, scaled anew each time: a better
scaling helps more than patience."""

_ITERATIONS = 4_000
Floats = NDArray[np.float64]


def factorize(A: sp.csr_array) -> Any:
    """LU factors of an M-matrix, or None if it is singular in floats.

    Pivots stay on the diagonal. Off it an M-matrix is then eliminated by sums of numbers of one
    sign, so that small entries of a solution are as right as large ones.
    """
    try:
        return sla.splu(sp.csc_array(A), diag_pivot_thresh=0.0, options={"SymmetricMode": True})
    except RuntimeError:
        return None


def refusal(n: int, what: str = "a linear system") -> str:
    """The sentence for systems that floats cannot solve."""
    return (
        f"{what} of {n:,} states is singular in floats; the policy may take extremely long to end. "
        "A smaller gamma, or exact=True for small models, may help"
    )


def largest(x: Floats) -> float:
    return float(np.max(np.abs(x), initial=0.0))


class Solver:
    """Solves one system for one right side after another, to some accuracy.

    Attributes
    ----------
    is_uniform : whether errors are of one size for all states, measured by `scale`.
    aim : residuals below this share of the solution are not corrected.
    """

    name: str
    is_uniform = False
    aim = 0.0

    def __call__(self, y: Floats, accuracy: float = 1e-12) -> Floats:
        raise NotImplementedError


class Elimination(Solver):
    name = "elimination"

    def __init__(self, system: LinearSystem, transposed: bool):
        self._F, self._lost = system.eliminated
        self._substitute = substitute_transposed if transposed else substitute

    def __call__(self, y: Floats, accuracy: float = 1e-12) -> Floats:
        try:
            found: Floats = self._substitute(self._F, y)
        except ZeroDivisionError:  # in floats nothing leaves the chain
            raise NotSolved(refusal(len(y))) from None
        return found

    def enclose(self, b: Floats, given: Floats) -> tuple[Floats, Floats, str, float]:
        """The solution as it is, where chances of leaving are too small for a residual to tell.

        Taking out a state rounds the numbers of m others by at most (m + 4) u of themselves, which
        costs each entry of the inverse at most 2 m times that (`LinearSystem.solve`). The sum over
        all states and the substitutions is below 4 n^3 u (O'Cinneide 1993).
        """
        n = len(self._F)
        doubt = 4 * (n + 4) ** 3 * double.UNIT + 3 * (n + 1) * largest(given)
        doubt = doubt if doubt < 0.01 and not self._lost else np.inf
        x = np.stack([self(b[0].copy()), np.zeros(n)])
        error = np.full(n, np.inf)
        if doubt < np.inf:
            error = doubt * self(b[2] + np.abs(b[0]) + np.abs(b[1]))
        return x, np.where(np.isfinite(x[0]) & ~np.isnan(error), error, np.inf), self.name, np.inf


class Factored(Solver):
    name = "direct"

    def __init__(self, system: LinearSystem, transposed: bool):
        self._how, self._lu = "T" if transposed else "N", system.factors

    def __call__(self, y: Floats, accuracy: float = 1e-12) -> Floats:
        return np.full(len(y), np.nan) if self._lu is None else self._lu.solve(y, self._how)


class Krylov(Solver):
    """BiCGSTAB on rows in sweep order, preconditioned by the diagonal: T = (I - diag)^-1 (gamma P -
    diag).

    States are numbered as they are discovered from mu. Visits come from earlier states and are
    swept upwards; values come from later ones, so the order of states is turned round for them.
    """

    name = "bicgstab"
    is_uniform = True
    aim = 1e-15

    def __init__(self, system: LinearSystem, transposed: bool):
        Q = system.gamma[0] * system.matrix
        self._turn = slice(None) if transposed else slice(None, None, -1)
        if transposed:
            Q = sp.csr_array(Q.T)
        else:
            indices, indptr = system.n - 1 - Q.indices[::-1], len(Q.data) - Q.indptr[::-1]
            Q = sp.csr_array((Q.data[::-1].copy(), indices, indptr), shape=Q.shape)
        rows = own_rows(Q.indptr)
        stays = Q.indices == rows
        loops = np.bincount(rows[stays], Q.data[stays], minlength=system.n)
        self._moves = np.maximum(1.0 - loops, np.finfo(float).tiny)
        Q.data /= self._moves[rows]
        Q.data[stays] = 0.0
        Q.eliminate_zeros()
        self._T = (*without_signs(Q.indptr, Q.indices), Q.data)
        self._scale: Floats | None = None
        self._scaled = Q.data
        self._transposed = transposed

    def __call__(self, y: Floats, accuracy: float = 1e-12) -> Floats:
        b = y[self._turn] / self._moves
        if not self._transposed:
            return self._solved(b, np.zeros(len(b)), accuracy, _ITERATIONS)[0][self._turn]
        if self._scale is None:
            return self._visits(b)
        scale = np.maximum(self._scale, FEWEST)
        return scale * self._solved(b / scale, np.zeros(len(b)), accuracy, _ITERATIONS)[0]

    def _solved(
        self, b: Floats, x: Floats, accuracy: float, iterations: int
    ) -> tuple[Floats, float]:
        aim = accuracy * largest(b)
        change, _ = bicgstab(*self._T[:2], self._scaled, b, x, aim, iterations)
        return x, change / max(largest(b), np.finfo(float).tiny)

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
            # where the iteration went astray the old value is the better one
            d = np.where((x > 0) & np.isfinite(x), x, 1.0) * d
            for i in range(3):  # rare states are polished by what does not subtract
                change = sweep(*self._T, b, d, i % 2 == 0)
        self._scale_by(d)
        return d.copy()

    def _scale_by(self, d: Floats) -> None:
        self._scale, self._scaled = d, np.empty_like(self._T[2])
        scale_rows(*self._T, d, self._scaled)


def solvers_for(n: int) -> list[Callable[[LinearSystem, bool], Solver]]:
    """Those to try for a chain of n states, the first that gives a bound is taken."""
    if n <= ELIMINATED:
        return [Elimination]
    if n <= FACTORED:
        return [Factored, Elimination]
    return [Krylov, Factored] if n <= FACTORED_AT_LAST else [Krylov]
