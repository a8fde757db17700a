"""Arrays of floats, fractions or symbols, which are never converted into one another unasked.

A model written with ints and Fractions must be evaluated in rationals with no float on the way, and
a model with a million outcomes must not hold a million Fraction objects. `Numbers` does both: exact
values are kept once each in a small table, the array holds their codes; floats are kept as a
float64 array. `floats` and `objects` are the two views that algorithms read.

>>> from fractions import Fraction
>>> x = Numbers.of([1, Fraction(1, 3), 1])
>>> x.is_exact, x.objects.tolist(), x.floats.round(3).tolist()
(True, [Fraction(1, 1), Fraction(1, 3), Fraction(1, 1)], [1.0, 0.333, 1.0])
>>> Numbers.of([0.5, 1]).is_exact
False
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from decimal import Decimal
from fractions import Fraction
from functools import cached_property
from itertools import chain
from numbers import Rational, Real
from typing import Any

import flint
import numpy as np
import sympy
from numpy.typing import NDArray

from workbench.core.errors import NotExact, NotSolved, WrongType

Number = Any
"""A float, a Fraction (ints become one), or a sympy expression with symbols."""


def number(x: Number) -> Number:
    """`x` in the form the workbench keeps: Fraction for what is exact, float, or a sympy
    expression.

    >>> number(3), number(0.25), number(sympy.Rational(1, 3)), number(sympy.Symbol("g") + 1)
    (Fraction(3, 1), 0.25, Fraction(1, 3), g + 1)

    An expression that is zero whatever its symbols are is the number 0.
    """
    if isinstance(x, Fraction | float):
        return float(x) if isinstance(x, np.floating) else x
    if isinstance(x, sympy.Expr):
        return _from_sympy(x)
    if isinstance(x, flint.fmpq):
        return Fraction(int(x.p), int(x.q))
    if isinstance(x, flint.fmpz | np.bool_):
        return Fraction(int(x))
    if isinstance(x, Rational):
        return Fraction(int(x.numerator), int(x.denominator))
    if isinstance(x, Decimal) and x.is_finite():
        return Fraction(x)
    if isinstance(x, Real):
        return float(x)
    raise WrongType(
        f"{x!r} is not a number: give an int, a Fraction, a float or a sympy expression"
    )


def _from_sympy(x: sympy.Expr) -> Number:
    if x.is_Rational:
        return Fraction(int(x.p), int(x.q))
    if x.free_symbols:
        return Fraction(0) if _vanishes(x) else x
    if x.is_Float or x in (sympy.nan, sympy.oo, -sympy.oo):
        return float(x)
    raise WrongType(f"{x} is neither rational nor a rational function of symbols")


def _vanishes(x: sympy.Expr) -> bool:
    """Whether an expression is zero for all values of its symbols."""
    if x.is_Mul:
        return any(_vanishes(part) for part in x.args)
    if not x.is_Add:
        return bool(x == 0)
    # `cancel` takes milliseconds, and most expressions are not zero at the first point tried
    point = {s: sympy.Rational(37 + 12 * i, 101) for i, s in enumerate(x.free_symbols)}
    return x.subs(point) in (0, sympy.nan, sympy.zoo) and sympy.cancel(x) == 0


def is_symbolic(x: Number) -> bool:
    """Whether a number (as `number` returns it) holds symbols."""
    return isinstance(x, sympy.Expr)


def read_decimal(x: float) -> Fraction:
    """The fraction that a float is printed as: 0.1 is 1/10, not its binary neighbour."""
    return Fraction(repr(float(x)))


def to_float(x: Number) -> float:
    if is_symbolic(x):
        names = ", ".join(sorted(map(str, x.free_symbols)))
        raise NotExact(f"{x} has no float value: give {names} a value first")
    try:
        return float(x)
    except OverflowError:
        raise NotSolved(f"a number of {len(str(int(x)))} digits is too large for floats") from None


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """The same array, read-only."""
    array.setflags(write=False)
    return array


class Numbers:
    """A read-only array of numbers, exact or float.

    Attributes
    ----------
    shape : of the array.
    codes, values : for exact numbers, `values[codes]` is the array; None and () for floats.
    """

    def __init__(
        self,
        floats: NDArray[np.float64] | None = None,
        codes: NDArray[Any] | None = None,
        values: tuple[Number, ...] = (),
    ):
        self.codes, self.values = codes, values
        if floats is not None:
            self.floats = floats
        self.shape = frozen(self.floats if codes is None else codes).shape

    @classmethod
    def of(cls, items: Iterable[Number] | NDArray[Any]) -> Numbers:
        """From any sequence or array of numbers: exact if all of them are, floats if one is a
        float."""
        if isinstance(items, Numbers):
            return items
        if isinstance(items, np.ndarray) and np.issubdtype(items.dtype, np.floating):
            return cls(floats=items.astype(np.float64))
        flat = items.ravel().tolist() if isinstance(items, np.ndarray) else list(items)
        shape = items.shape if isinstance(items, np.ndarray) else (len(flat),)
        table: dict[Number, int] = {}
        try:
            raw = [table.setdefault(x, len(table)) for x in flat]  # 1, 1.0, Fraction(1): one key
        except TypeError:
            raise WrongType(f"a list of numbers holds one that is none: {flat!r:.200}") from None
        values = tuple(map(number, table))
        # the smallest type that holds the codes: most models have few values
        codes = np.array(raw, dtype=np.min_scalar_type(max(len(table) - 1, 0))).reshape(shape)
        if any(isinstance(x, float) for x in chain(flat, values)):
            return cls(floats=np.array([float(x) for x in values])[codes])
        return cls(codes=codes, values=values)

    @classmethod
    def full(cls, shape: int | tuple[int, ...], value: Number) -> Numbers:
        """An array with one value everywhere."""
        return cls.of([value]).take(np.zeros(shape, dtype=np.uint8))

    @property
    def is_exact(self) -> bool:
        return self.codes is not None

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, i: Any) -> Number:
        """The number at one place."""
        return float(self.floats[i]) if self.codes is None else self.values[self.codes[i]]

    @cached_property
    def floats(self) -> NDArray[np.float64]:  # set directly in __init__ for numbers given as floats
        return frozen(np.array([to_float(x) for x in self.values], dtype=np.float64)[self.codes])

    @cached_property
    def tails(self) -> NDArray[np.float64]:
        """What `floats` leaves out, as floats: the numbers are `floats + tails` to twice the
        precision. An array with a single zero if nothing is left out.

        >>> x = Numbers.of([1, Fraction(1, 3)])
        >>> Fraction(float(x.floats[1])) + Fraction(float(x.tails[1])) - Fraction(1, 3) < 2**-107
        True
        """
        left = [0.0 if is_symbolic(x) else float(x - Fraction(to_float(x))) for x in self.values]
        if not any(left):
            return np.zeros((1,) * len(self.shape))
        return frozen(np.array(left)[self.codes])

    @property
    def objects(self) -> NDArray[np.object_]:
        """The numbers themselves, as an object array. Raises `NotExact` on floats."""
        if self.codes is None:
            raise NotExact("these numbers were given as floats")
        table = np.empty(len(self.values), dtype=object)
        table[:] = self.values
        return table[self.codes]

    @property
    def symbols(self) -> frozenset[sympy.Symbol]:
        return frozenset().union(*(x.free_symbols for x in self.values if is_symbolic(x)))

    def take(self, places: Any) -> Numbers:
        """The numbers at some places, as `array[places]`."""
        if self.codes is None:
            return Numbers(floats=self.floats[places])
        return Numbers(codes=self.codes[places], values=self.values)

    def ravel(self) -> Numbers:
        """The same numbers in one dimension."""
        if self.codes is None:
            return Numbers(floats=self.floats.ravel())
        return Numbers(codes=self.codes.ravel(), values=self.values)

    def map(self, f: Any) -> Numbers:
        """`f` applied to every number (to every distinct one, where they are exact)."""
        if self.codes is None:
            found = [f(x) for x in self.floats.ravel().tolist()]
            return Numbers.of(np.array(found).reshape(self.shape))
        return Numbers.of([f(x) for x in self.values]).take(self.codes)

    def where(self, is_such: Callable[[Any], Any]) -> NDArray[np.bool_]:
        """The mask of the numbers that pass a test, which symbols never do. The test takes a single
        number or an array of floats.

        >>> Numbers.of([1, Fraction(1, 3), 2, 1]).where(lambda x: x > 1).tolist()
        [False, False, True, False]
        """
        if self.codes is None:
            return np.asarray(is_such(self.floats))
        such = [not is_symbolic(x) and bool(is_such(x)) for x in self.values]
        return np.array(such, dtype=bool)[self.codes]

    @property
    def zeros(self) -> NDArray[np.bool_]:
        """The mask of the numbers that are zero."""
        return self.where(lambda x: x == 0)

    def times(self, other: Numbers) -> Numbers:
        """The entrywise product of two arrays of one shape. It is exact if both are."""
        if self.codes is None or other.codes is None:
            return Numbers(floats=self.floats * other.floats)
        if self.values == (1,):
            return other
        if other.values == (1,):
            return self
        pair = self.codes.astype(np.int64) * len(other.values) + other.codes
        used, codes = np.unique(pair, return_inverse=True)
        pairs = (divmod(i, len(other.values)) for i in used.tolist())
        products = Numbers.of([self.values[i] * other.values[j] for i, j in pairs])
        return products.take(codes.reshape(self.shape))

    def rationalised(self) -> Numbers:
        """Floats read as the decimals that they print as. Exact numbers stay."""
        return self if self.is_exact else self.map(read_decimal)
