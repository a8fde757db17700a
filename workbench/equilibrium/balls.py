"""Ball arithmetic (flint's arb): every number is a midpoint and a radius that holds the true value.

Systems x = b + gamma P x are solved by refinement: corrections come from LU in floats, residuals
from balls. I - gamma P is an M-matrix, so for any vector g > 0 with (I - gamma P) g >= c > 0 the
error of x is at most |residual| g / c, entry by entry; g comes from LU too, and c is computed in
balls. With more bits the radii shrink as far as one likes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import flint
import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from workbench.core.errors import NotSolved
from workbench.core.fields import Field
from workbench.core.linear import Solution, factorize
from workbench.core.numbers import Number, Numbers, number

_BITS_A_ROUND = 30
"""A correction by LU in floats is expected to give at least so many bits."""


@contextmanager
def precision(bits: int) -> Iterator[None]:
    """Balls are computed with so many bits."""
    before = flint.ctx.prec
    flint.ctx.prec = bits
    try:
        yield
    finally:
        flint.ctx.prec = before


class Balls(Field):
    """Real numbers enclosed in balls. Use it within `precision`."""

    name = "balls"
    is_exact = True

    def one(self, x: Number) -> Any:
        q = number(x)
        return flint.arb(q if isinstance(q, float) else flint.fmpq(q.numerator, q.denominator))

    def enter(self, numbers: Numbers) -> NDArray[Any]:
        """Floats are the numbers that they are."""
        if numbers.codes is not None:
            return super().enter(numbers)
        flat = numbers.floats.ravel().tolist()
        found = np.empty(len(flat), dtype=object)
        found[:] = [flint.arb(x) for x in flat]
        return found.reshape(numbers.shape)

    def back(self, x: Any) -> Number:
        return float(x)

    def solve(
        self, P: sp.csr_array, data: NDArray[Any], gamma: Any, b: NDArray[Any], what: str
    ) -> Solution:
        n, discount = len(b), float(gamma)
        floats = np.array([float(x) for x in data])
        matrix = sp.csr_array((floats, P.indices, P.indptr), shape=P.shape)
        lu = factorize(sp.eye_array(n) - discount * matrix)
        indptr, indices, entries = P.indptr.tolist(), P.indices.tolist(), (gamma * data).tolist()

        def moved(x: list[Any]) -> list[Any]:
            """gamma P x."""
            return [
                sum(
                    (entries[k] * x[indices[k]] for k in range(indptr[i], indptr[i + 1])),
                    start=flint.arb(0),
                )
                for i in range(n)
            ]

        x: list[Any] = [flint.arb(0)] * n
        residual = list(b)
        for _ in range(2 + flint.ctx.prec // _BITS_A_ROUND):
            size = max((abs(r).upper() for r in residual), default=flint.arb(0))
            if size == 0:
                break
            # scaled first: residuals may be smaller than the smallest float
            step = lu.solve(np.array([float((r / size).mid()) for r in residual]))
            x = [(y + flint.arb(float(z)) * size).mid() for y, z in zip(x, step, strict=True)]
            after = moved(x)
            residual = [c + y - z for c, y, z in zip(b, after, x, strict=True)]
        left = max((abs(r).upper() for r in residual), default=flint.arb(0))
        g = [flint.arb(float(z)) for z in lu.solve(np.ones(n))]
        slack = [y - z for y, z in zip(g, moved(g), strict=True)]
        if not all(y > 0 for y in g) or not all(c > flint.arb(1) / 2 for c in slack):
            raise NotSolved(f"{what}: a system of {n:,} states is too ill-conditioned for balls")
        found = np.empty(n, dtype=object)
        found[:] = [flint.arb(y, (2 * left * z).upper()) for y, z in zip(x, g, strict=True)]
        return Solution(found, "balls", np.zeros(n))
