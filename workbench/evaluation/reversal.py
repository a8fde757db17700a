"""Expected visits of a large chain, accurate for each state however seldom it is visited: the chain
run backwards.

    d = mu + gamma P^T d,      d(s) from 1e4 down to 1e-70 and less

With D = diag(d) the unknowns d = D x turn the system into the one of the chain run backwards,

    x(s) = mu(s)/d(s) + sum_{s'} [ gamma P(s',s) d(s') / d(s) ] x(s'),       x = 1,

whose rows sum to at most one: where did the episode come from that is in s now? The residual of
this system is the relative residual of the visits, and the norm of its inverse is the largest
expected *age*, the number of steps taken so far. d is not known, but a rough one does: a few sweeps
of Gauss and Seidel from zero, which add and multiply non-negative numbers only, give every state
its order of magnitude; BiCGSTAB on the scaled system, each of whose steps is a sweep, gives the
rest; sweeps polish what it leaves in rare states; and so on, with a better D, until nothing gets
better. Sweeps go upwards: states are numbered as they are discovered from mu, and episodes come
from there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from workbench.evaluation.krylov_kernels import bicgstab_on_sweeps, scale_rows, sweep

_FIRST_SWEEPS, _POLISH = 20, 3
_ROUNDS = 12
_ITERATIONS = 400
"""Of BiCGSTAB in one round: a better scaling helps more than patience."""

_AIM = 4e-15
"""The relative change in a sweep at which visits are as good as floats allow."""

Floats = NDArray[np.float64]


class Backwards:
    """A chain run backwards: gamma P^T without its diagonal, each row divided by 1 - gamma P(s,s).

    Parameters
    ----------
    indptr, indices, data, gamma : the chain, in compressed rows.
    moving : 1 - gamma P(s,s), to full relative accuracy; positive.
    """

    def __init__(
        self,
        indptr: NDArray[Any],
        indices: NDArray[Any],
        data: Floats,
        gamma: float,
        moving: Floats,
    ):
        n = len(indptr) - 1
        rows = np.repeat(np.arange(n, dtype=np.int32), np.diff(indptr))
        off = rows != indices
        if not off.all():
            rows, indices, data = rows[off], indices[off], data[off]
        values = data * (gamma / moving)[indices]
        self.T = sp.csr_array(sp.coo_array((values, (indices, rows)), shape=(n, n)))
        self.moving = moving

    def visits(self, start: Floats) -> tuple[Floats, str]:
        """d, and how it was found; nothing is promised about its error."""
        T, b = self.T, start / self.moving
        d = np.zeros(len(start))
        change = np.inf
        for i in range(_FIRST_SWEEPS):
            change = sweep(T.indptr, T.indices, T.data, b, d, i % 2 == 0)
            if change <= _AIM:
                return d, "sweeps"
        best, least, in_vain = d, change, 0
        scaled, right = np.empty_like(T.data), np.zeros(len(d))
        for _ in range(_ROUNDS):
            x = (d > 0).astype(float)
            scale_rows(T.indptr, T.indices, T.data, b, d, scaled, right)
            bicgstab_on_sweeps(T.indptr, T.indices, scaled, right, x, _AIM, _ITERATIONS)
            # where the iteration went astray the old value is the better one
            d = np.where((x > 0) & np.isfinite(x), x, 1.0) * d
            for i in range(_POLISH):
                change = sweep(T.indptr, T.indices, T.data, b, d, i % 2 == 0)
            in_vain = 0 if change < 0.5 * least else in_vain + 1
            if change < least:
                best, least = d.copy(), change
            if least <= _AIM or in_vain == 2:
                break
        return best, "bicgstab, backwards"

    def ages(self, d: Floats, weight: Floats, aim: float, first: Floats | None = None) -> Floats:
        """About the expected weight of the states before a visit of each state, that visit included
        (its age, for a weight of 1): g with d g = d weight + gamma P^T (d g), to a residual of
        `aim`."""
        T = self.T
        scaled, right = np.empty_like(T.data), np.zeros(len(d))
        scale_rows(T.indptr, T.indices, T.data, d * weight / self.moving, d, scaled, right)
        g: Floats = right.copy() if first is None else first.copy()
        bicgstab_on_sweeps(T.indptr, T.indices, scaled, right, g, aim, 10 * _ITERATIONS)
        return g
