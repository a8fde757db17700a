"""Sparse linear systems x = b + gamma P x with a certificate, P substochastic.

Ways to solve one, tried in order until one meets the tolerance; a value that missed it is never
returned:

    direct     sparse LU, where the system is small or narrow-banded, refined once if need be
    bicgstab   compiled, two sweeps or products an iteration, started again where it breaks down
    gmres      slower, steadier
    direct     once more, whatever the band, as long as it is not hopeless

The certificate is the residual together with a bound on the inverse. I - gamma P has a non-negative
inverse, so its norm is the largest row sum, the largest entry of h = (I - gamma P)^-1 1. For gamma
< 1 that is at most 1/(1 - gamma). For gamma = 1, h(s) is the expected number of steps left; any
vector g with (I - P) g >= c > 0 bounds h by g / c, so a rough solution certifies.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from numpy.typing import NDArray

from workbench.core.errors import NotSolved
from workbench.core.krylov_kernels import DOWNWARDS, PLAIN, bicgstab
from workbench.core.rows import own_rows, pick_rows, without_signs

TOLERANCE = 1e-12
"""Relative residual asked of every solution, in the norm that its error bound uses."""

_SMALL = 1_500
_MOST_BAND_WORK = 2e9
"""n times the square of the bandwidth: beyond this, sparse LU in the given order is not tried
first."""

_LAST_RESORT = 40_000
"""Up to this many states LU is tried when nothing else met the tolerance."""

_ITERATIONS = 4_000

FloatVector = NDArray[np.float64]


@dataclass(frozen=True)
class Solution:
    """x, how it was found, and its residual b + gamma P x - x in the norm asked for.

    `error` bounds the error of each entry where one was computed (`bounds`), and is 0 for exact
    numbers; `again` solves the same system for another right-hand side, where that is cheap.
    """

    x: NDArray[Any]
    method: str
    residual: float
    error: Any = 0.0
    again: Callable[[FloatVector], FloatVector] | None = None


@dataclass(frozen=True)
class _System:
    """x = b + gamma P x, and what is asked of a solution."""

    P: sp.csr_array
    gamma: float
    b: FloatVector
    norm: float
    aim: float

    @property
    def A(self) -> sp.csr_array:
        return sp.csr_array(sp.eye_array(len(self.b), format="csr") - self.gamma * self.P)

    def residual(self, x: FloatVector) -> FloatVector:
        return np.asarray(self.b - x + self.gamma * (self.P @ x))

    def size(self, residual: FloatVector) -> float:
        return float(np.linalg.norm(residual, self.norm))


def solve(
    P: sp.csr_array,
    gamma: float,
    b: FloatVector,
    norm: float = np.inf,
    tolerance: float = TOLERANCE,
) -> Solution:
    """Solve x = b + gamma P x to a relative residual in the given norm (1 or infinity)."""
    scale = float(np.linalg.norm(b, norm))
    if scale == 0:
        return Solution(np.zeros(len(b)), "zero", 0.0)
    system = _System(P, gamma, b, norm, tolerance * scale)
    best = Solution(b, "none", np.inf)
    for name, method in _methods(P):
        x, again = method(system, best.x)
        if not np.all(np.isfinite(x)):
            continue
        residual = system.size(system.residual(x))
        if residual < best.residual:
            best = Solution(x, name, residual, np.nan, again)
        if best.residual <= system.aim:
            return best
    # what rounding alone leaves behind is no failure: the residual of the best float vector has
    # this size
    floor = (
        8
        * np.finfo(float).eps
        * system.size(np.abs(best.x) + gamma * (P @ np.abs(best.x)) + np.abs(b))
    )
    if best.residual <= floor:
        return best
    raise NotSolved(
        f"a linear system of {len(b):,} states was solved only to a residual of "
        f"{best.residual:.1e} (asked: {system.aim:.1e}); the policy may take extremely long to "
        "end. A smaller gamma, or exact=True for small models, may help"
    )


Again = Callable[[FloatVector], FloatVector] | None
Method = Callable[[_System, FloatVector], tuple[FloatVector, Again]]


def _methods(P: sp.csr_array) -> list[tuple[str, Method]]:
    n = P.shape[0]
    if n <= _SMALL or _is_banded(P):
        return [("direct", _direct), ("direct, refined", _direct)]
    krylov: list[tuple[str, Method]] = [("bicgstab", _bicgstab), ("gmres", _gmres)]
    return [*krylov, ("direct", _direct)] if n <= _LAST_RESORT else krylov


def _is_banded(P: sp.csr_array) -> bool:
    """Whether LU in the given order is cheap; a sample of the rows settles most cases."""
    n = P.shape[0]
    sample = np.unique(np.linspace(0, n - 1, 1_000).astype(np.int64))
    for rows in (sample, np.arange(n)):
        row_ptr, entries = pick_rows(P.indptr, rows)
        width = int(np.max(np.abs(rows[own_rows(row_ptr)] - P.indices[entries]), initial=0))
        if float(n) * width**2 > _MOST_BAND_WORK:
            return False
    return True


def _direct(system: _System, start: FloatVector) -> tuple[FloatVector, Again]:
    """LU on the residual of what is there, which refines a solution that LU has found before."""
    again = factorize(system.A).solve
    return start + np.asarray(again(system.residual(start))), again


def factorize(A: sp.csr_array, what: str = "a linear system") -> Any:
    """LU of a matrix; `NotSolved` if it is singular in floats."""
    try:
        return sla.splu(sp.csc_array(A))
    except RuntimeError:
        raise NotSolved(
            f"{what} of {A.shape[0]:,} states is singular in floats; the policy may take "
            "extremely long to end. A smaller gamma, or exact=True for small models, may help"
        ) from None


def _bicgstab(system: _System, start: FloatVector) -> tuple[FloatVector, Again]:
    x = start.copy()
    P, largest = system.P, system.norm == np.inf
    # values come from later states, which as a rule were discovered later; the residual is at most
    # twice what a sweep changes
    bicgstab(
        *without_signs(P.indptr, P.indices), P.data, system.gamma, system.b, x, system.aim / 2,
        largest, _ITERATIONS, DOWNWARDS if largest else PLAIN,
    )  # fmt: skip
    return x, None


def _gmres(system: _System, start: FloatVector) -> tuple[FloatVector, Again]:
    aim = system.aim / (
        1 if system.norm == np.inf else np.sqrt(len(start))
    )  # gmres speaks of the 2-norm
    x, _ = sla.gmres(
        system.A, system.b, x0=start, rtol=0, atol=aim, restart=40, maxiter=_ITERATIONS // 160
    )
    return np.asarray(x), None


def inverse_norm(P: sp.csr_array, gamma: float) -> float:
    """An upper bound on the largest row sum of (I - gamma P)^-1."""
    if gamma < 1:
        return 1 / (1 - gamma)
    g = solve(P, 1.0, np.ones(P.shape[0]), tolerance=1e-3).x
    slack = float(np.min(g - P @ g))
    return float(g.max()) / slack if slack > 0 else np.inf
