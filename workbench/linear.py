"""Sparse linear systems x = b + gamma P x with a certificate, P substochastic.

Three ways, tried in this order until one meets the tolerance; a value that missed it is never returned:

    direct     sparse LU, where the system is small or narrow-banded
    bicgstab   two products an iteration, restarted where it breaks down
    gmres      slower, steadier
    direct     once more, whatever the band, as long as it is not hopeless

The certificate is the residual together with a bound on the inverse. I - gamma P has a non-negative inverse, so its
norm is the largest row sum, the largest entry of h = (I - gamma P)^-1 1. For gamma < 1 that is at most 1/(1 - gamma).
For gamma = 1, h(s) is the expected number of steps left; any vector g with (I - P) g >= 1/2 bounds h by 2 g, so a rough
solution certifies.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
import scipy.sparse.linalg as sla
from numpy.typing import NDArray

from workbench.errors import NotSolved

TOLERANCE = 1e-12
"""Relative residual asked of every solution, in the norm that its error bound uses."""

_SMALL = 1_500
_MOST_BAND_WORK = 2e9
"""n times the square of the bandwidth: beyond this, sparse LU in the given order is not tried first."""

_LAST_RESORT = 40_000
"""Up to this many states LU is tried when nothing else met the tolerance."""

_RESTARTS = 8
_ITERATIONS = 2_000

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Solution:
    """x, how it was found, and its residual b + gamma P x - x in the norm asked for."""

    x: NDArray[Any]
    method: str
    residual: float


def solve(P: sp.csr_array, gamma: float, b: Vector, norm: float = np.inf, tolerance: float = TOLERANCE) -> Solution:
    """Solve x = b + gamma P x to a relative residual in the given norm (1 or infinity)."""
    n = P.shape[0]
    scale = float(np.linalg.norm(b, norm))
    if scale == 0:
        return Solution(np.zeros(n), "zero", 0.0)
    A = sp.csr_array(sp.eye_array(n, format="csr") - gamma * P)
    aim = tolerance * scale
    best = Solution(np.zeros(n), "none", scale)
    for method in _methods(P):
        x = method(A, b, best.x, aim)
        if not np.all(np.isfinite(x)):
            continue
        residual = float(np.linalg.norm(b - A @ x, norm))
        if residual < best.residual or best.method == "none":
            best = Solution(x, method.__name__.strip("_"), residual)
        if best.residual <= aim:
            return best
    # what rounding alone leaves behind is not a failure: |A||x| eps is the size of a backward-stable residual
    floor = 8 * np.finfo(float).eps * float(np.linalg.norm(abs(A) @ np.abs(best.x) + np.abs(b), norm))
    if best.residual <= floor:
        return best
    raise NotSolved(
        f"a linear system of {n:,} states was solved only to a residual of {best.residual:.1e} (asked: {aim:.1e}); "
        "the policy may take extremely long to end. A smaller gamma, or exact=True for small models, may help"
    )


def _methods(P: sp.csr_array) -> list[Any]:
    n = P.shape[0]
    if n <= _SMALL or float(n) * bandwidth(P) ** 2 <= _MOST_BAND_WORK:
        return [_direct, _refined]
    return [_bicgstab, _gmres, *([_direct] if n <= _LAST_RESORT else [])]


def bandwidth(P: sp.csr_array) -> int:
    """The largest distance of an entry from the diagonal."""
    rows = np.repeat(np.arange(P.shape[0]), np.diff(P.indptr))
    return int(np.max(np.abs(rows - P.indices), initial=0))


def _direct(A: sp.csr_array, b: Vector, start: Vector, aim: float) -> Vector:
    return np.asarray(sla.splu(sp.csc_array(A)).solve(b))


def _refined(A: sp.csr_array, b: Vector, start: Vector, aim: float) -> Vector:
    """One more step of LU on the residual of what was found."""
    return start + np.asarray(sla.splu(sp.csc_array(A)).solve(b - A @ start))


def _bicgstab(A: sp.csr_array, b: Vector, start: Vector, aim: float) -> Vector:
    x = b.copy()
    aim2 = aim / np.sqrt(len(b))  # the 2-norm reached bounds the infinity norm at once, the 1-norm with this factor
    before = np.inf
    for _ in range(_RESTARTS):
        x, broke = sla.bicgstab(A, b, x0=x, rtol=0, atol=aim2, maxiter=_ITERATIONS)
        residual = float(np.linalg.norm(b - A @ x))
        if not broke or not np.isfinite(residual) or residual > 0.5 * before:
            break
        before = residual
    return np.asarray(x)


def _gmres(A: sp.csr_array, b: Vector, start: Vector, aim: float) -> Vector:
    x, _ = sla.gmres(A, b, x0=start, rtol=0, atol=aim / np.sqrt(len(b)), restart=40, maxiter=_ITERATIONS // 40)
    return np.asarray(x)


def inverse_norm(P: sp.csr_array, gamma: float) -> float:
    """An upper bound on the largest row sum of (I - gamma P)^-1."""
    bound = 1 / (1 - gamma) if gamma < 1 else np.inf
    if gamma < 1:
        return bound
    ones = np.ones(P.shape[0])
    g = solve(P, 1.0, ones, tolerance=1e-3).x
    slack = float(np.min(g - P @ g))
    return float(g.max()) / slack if slack > 0 else np.inf
