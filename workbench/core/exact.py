"""Exact linear systems, and quotients of polynomials in the symbols of a model and a policy."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from functools import reduce
from operator import add, mul
from typing import Any

import flint
import numpy as np
import scipy.sparse as sp
import sympy
from numpy.typing import NDArray

from workbench.core.errors import TooLarge, WrongType
from workbench.core.fields import RATIONALS, Field, array_of
from workbench.core.linear import Solution
from workbench.core.linear_kernels import strong_components
from workbench.core.numbers import Number, is_symbolic, number
from workbench.progress import check_time

MOST_STATES_IN_A_BLOCK = 2_500
"""Exact systems larger than this in one strongly connected component are refused: the work grows
with the cube."""


def solve_blocks(
    field: Field, P: sp.csr_array, data: NDArray[Any], gamma: Any, b: NDArray[Any], what: str
) -> Solution:
    """x with x = b + gamma P x, where `data` holds the entries of the pattern `P`.

    The strongly connected components of P are solved one after the other, successors first, so an
    acyclic chain costs one substitution.
    """
    count, component = strong_components(P.indptr, P.indices)
    if (largest := int(np.bincount(component).max())) > MOST_STATES_IN_A_BLOCK:
        raise TooLarge(
            f"{what} has {len(component):,} states, {largest:,} of them in one strongly "
            f"connected component; exact arithmetic is limited to {MOST_STATES_IN_A_BLOCK:,} "
            "there. Use exact=False, whose result carries an error bound"
        )
    solve_dense = _solve_rationals if field is RATIONALS else _eliminate
    indptr, indices = P.indptr.tolist(), P.indices.tolist()
    x: list[Any] = list(b)
    members = np.split(np.argsort(component, kind="stable"), np.bincount(component).cumsum())
    for block in map(np.ndarray.tolist, members[:count]):  # successors first
        check_time()
        inside = {state: i for i, state in enumerate(block)}
        right, matrix = [], [[field.one(0)] * len(block) for _ in block]
        for i, state in enumerate(block):
            total = b[state]
            for k in range(indptr[state], indptr[state + 1]):
                j = inside.get(indices[k])
                if j is None:
                    total = total + gamma * data[k] * x[indices[k]]
                else:
                    matrix[i][j] = matrix[i][j] - gamma * data[k]
            matrix[i][i] = matrix[i][i] + 1
            right.append(total)
        for state, value in zip(block, solve_dense(matrix, right), strict=True):
            x[state] = value
    return Solution(array_of(x), "exact", np.zeros(len(x)))


def _solve_rationals(matrix: list[list[Any]], right: list[Any]) -> list[Any]:
    """Solve with rows scaled to integers: flint solves such systems faster than rational ones."""
    n = len(right)
    if n == 1:
        return [right[0] / matrix[0][0]]
    whole, sides = [], []
    for row, side in zip(matrix, right, strict=True):
        scale = flint.fmpz(side.q)
        for x in row:
            scale = scale.lcm(x.q)
        whole.append([x.p * (scale // x.q) for x in row])
        sides.append(side.p * (scale // side.q))
    return flint.fmpz_mat(whole).solve(flint.fmpz_mat(n, 1, sides)).entries()


def _eliminate(matrix: list[list[Any]], right: list[Any]) -> list[Any]:
    """Gaussian elimination."""
    n = len(right)
    rows = [[*row, side] for row, side in zip(matrix, right, strict=True)]
    for i in range(n):
        pivot = next(j for j in range(i, n) if rows[j][i] != 0)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for j in range(i + 1, n):
            if rows[j][i] != 0:
                factor = rows[j][i] / rows[i][i]
                # rows are sparse as a rule: what is 0 costs nothing
                pairs = zip(rows[j], rows[i], strict=True)
                rows[j] = [x if y == 0 else x - factor * y for x, y in pairs]
    found: list[Any] = [None] * n
    for i in reversed(range(n)):
        total = rows[i][n]
        for j in range(i + 1, n):
            total = total - rows[i][j] * found[j]
        found[i] = total / rows[i][i]
    return found


def _operator(f: Callable[[Any, Any], Any], swapped: bool = False) -> Callable[[Any, Any], Any]:
    """An operator of functions and numbers. With arrays, numpy goes through the array."""

    def operate(self: Any, x: Any) -> Any:
        if isinstance(x, np.ndarray):
            return NotImplemented
        if not isinstance(x, RationalFunction):
            x = RationalFunction(self.num * 0 + x, self.den * 0 + 1)
        return f(x, self) if swapped else f(self, x)

    return operate


class RationalFunction:
    """A quotient of two polynomials with rational coefficients, in lowest terms, the denominator's
    leading one 1."""

    __slots__ = ("den", "num")

    def __init__(self, num: Any, den: Any):
        self.num, self.den = num, den

    @classmethod
    def reduced(cls, num: Any, den: Any) -> RationalFunction:
        check_time()  # the common factor of large polynomials takes seconds
        if num == 0:
            return cls(num, den * 0 + 1)
        if not den.is_constant():
            common = num.gcd(den)
            if not common.is_one():
                num, den = num / common, den / common
        lead = den.leading_coefficient()
        return cls(num / lead, den / lead)

    def _plus(self, y: RationalFunction) -> RationalFunction:
        if self.den.is_one() and y.den.is_one():  # most are polynomials
            return RationalFunction(self.num + y.num, self.den)
        if self.den == y.den:
            return self.reduced(self.num + y.num, self.den)
        return self.reduced(self.num * y.den + y.num * self.den, self.den * y.den)

    def _times(self, y: RationalFunction) -> RationalFunction:
        if self.den.is_one() and y.den.is_one():
            return RationalFunction(self.num * y.num, self.den)
        return self.reduced(self.num * y.num, self.den * y.den)

    def _over(self, y: RationalFunction) -> RationalFunction:
        if y.num == 0:
            raise ZeroDivisionError("division by the zero function")
        return self.reduced(self.num * y.den, self.den * y.num)

    def __neg__(self) -> RationalFunction:
        return RationalFunction(-self.num, self.den)

    __add__ = __radd__ = _operator(_plus)
    __sub__ = _operator(lambda x, y: x + -y)
    __rsub__ = _operator(lambda x, y: x + -y, swapped=True)
    __mul__ = __rmul__ = _operator(_times)
    __truediv__ = _operator(_over)
    __rtruediv__ = _operator(_over, swapped=True)
    __eq__ = _operator(lambda x, y: bool(x.num == y.num and x.den == y.den))

    def __hash__(self) -> int:
        return hash((str(self.num), str(self.den)))


class RationalFunctions(Field):
    """Quotients of polynomials in the given symbols."""

    def __init__(self, symbols: Iterable[sympy.Symbol]):
        self.symbols = tuple(sorted(symbols, key=str))
        names = [f"x{i}" for i in range(len(self.symbols))]
        ring = flint.fmpq_mpoly_ctx.get(names, flint.Ordering.degrevlex)
        self._constant, self._unit = ring.constant, ring.constant(1)
        self._variables = dict(zip(self.symbols, ring.gens(), strict=True))

    def one(self, x: Number) -> Any:
        value = number(x)
        if not is_symbolic(value):
            return RationalFunction(self._constant(RATIONALS.one(value)), self._unit)
        return self._read(value)

    def _read(self, expr: sympy.Expr) -> RationalFunction:
        """A sympy expression, node by node."""
        if expr in self._variables:
            return RationalFunction(self._variables[expr], self._unit)
        if expr.is_Rational:
            return self.one(number(expr))
        if expr.is_Add or expr.is_Mul:
            return reduce(add if expr.is_Add else mul, map(self._read, expr.args))
        if expr.is_Pow and expr.exp.is_Integer:
            base, power = self._read(expr.base), int(expr.exp)
            whole = math.prod([base] * abs(power), start=self.one(1))
            return whole if power >= 0 else 1 / whole
        raise WrongType(f"{expr} is not a rational function of {', '.join(map(str, self.symbols))}")

    def _expression(self, polynomial: Any) -> sympy.Expr:
        return sympy.Add(
            *(
                sympy.Mul(
                    sympy.Rational(int(c.p), int(c.q)),
                    *(x ** int(n) for x, n in zip(self.symbols, powers, strict=True)),
                )
                for powers, c in polynomial.terms()
            )
        )

    def back(self, x: Any) -> Number:
        found = self._expression(x.num) / self._expression(x.den)
        return number(found) if found.is_Rational else found  # elements that vanish are 0
