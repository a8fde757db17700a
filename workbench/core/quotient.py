"""Quotients of polynomials: the elements of the field of rational functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from workbench.progress import check_time


def _lifted(operation: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Extend an operation on functions to numbers. With arrays, numpy goes through the array."""

    def lifted(self: Any, x: Any) -> Any:
        if isinstance(x, np.ndarray):
            return NotImplemented
        if not isinstance(x, RationalFunction):
            x = RationalFunction(self.num * 0 + x, self.den * 0 + 1)
        return operation(self, x)

    return lifted


class RationalFunction:
    """A quotient of two polynomials with rational coefficients, in lowest terms, the denominator's
    leading one 1."""

    __slots__ = ("den", "num")

    def __init__(self, num: Any, den: Any):
        self.num = num
        self.den = den

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

    @_lifted
    def __add__(self, y: Any) -> RationalFunction:
        if self.den != y.den:
            return self.reduced(self.num * y.den + y.num * self.den, self.den * y.den)
        total = self.num + y.num
        if self.den.is_one():
            return RationalFunction(total, self.den)
        return self.reduced(total, self.den)

    @_lifted
    def __mul__(self, y: Any) -> RationalFunction:
        if self.den.is_one() and y.den.is_one():
            return RationalFunction(self.num * y.num, self.den)
        return self.reduced(self.num * y.num, self.den * y.den)

    @_lifted
    def __truediv__(self, y: Any) -> RationalFunction:
        if y.num == 0:
            raise ZeroDivisionError("division by the zero function")
        return self.reduced(self.num * y.den, self.den * y.num)

    def __neg__(self) -> RationalFunction:
        return RationalFunction(-self.num, self.den)

    @_lifted
    def __sub__(self, y: Any) -> RationalFunction:
        return self + (-y)

    @_lifted
    def __rsub__(self, y: Any) -> RationalFunction:
        return y + (-self)

    @_lifted
    def __rtruediv__(self, y: Any) -> RationalFunction:
        return y / self

    __radd__ = __add__
    __rmul__ = __mul__

    def __eq__(self, x: object) -> bool:
        y: Any = x
        if not isinstance(x, RationalFunction):
            y = RationalFunction(self.num * 0 + y, self.den * 0 + 1)
        return bool(self.num == y.num and self.den == y.den)

    def __hash__(self) -> int:
        return hash((str(self.num), str(self.den)))

    def __repr__(self) -> str:
        return str(self.num) if self.den.is_one() else f"({self.num})/({self.den})"
