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
from numbers import Rational, Real
from typing import Any

import flint
import numpy as np
import sympy
from numpy.typing import NDArray

from workbench.core.errors import NotExact, NotSolved, WrongType

_PLACES = [37 + 12 * i for i in range(1_000)]

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
        return x
    if isinstance(x, np.floating):
        return float(x)
    if isinstance(x, sympy.Expr):
        return _from_sympy(x)
    if isinstance(x, flint.fmpq | flint.fmpz):
        q = flint.fmpq(x)
        return Fraction(int(q.p), int(q.q))
    if isinstance(x, Rational):
        return Fraction(int(x.numerator), int(x.denominator))
    if isinstance(x, Decimal) and x.is_finite():
        return Fraction(x)
    if isinstance(x, np.bool_):
        return Fraction(int(x))
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
    # most are not zero in a single place
    somewhere = {s: sympy.Rational(p, 101) for s, p in zip(x.free_symbols, _PLACES, strict=False)}
    return x.subs(somewhere) in (0, sympy.nan, sympy.zoo) and sympy.cancel(x) == 0


def is_symbolic(x: Number) -> bool:
    """Whether a number (as `number` returns it) holds symbols."""
    return isinstance(x, sympy.Expr)


def read_decimal(x: float) -> Fraction:
    """The fraction that a float is printed as: 0.1 is 1/10, not its binary neighbour."""
    return Fraction(repr(x))


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
        if codes is None:
            assert floats is not None
            self.floats = frozen(floats)
            self.shape = floats.shape
        else:
            frozen(codes)
            self.shape = codes.shape
        self.codes = codes
        self.values = values

    @classmethod
    def of(cls, items: Iterable[Number] | NDArray[Any]) -> Numbers:
        """From any sequence or array of numbers: exact if all of them are, floats if one is a
        float."""
        if isinstance(items, Numbers):
            return items
        if isinstance(items, np.ndarray):
            if np.issubdtype(items.dtype, np.floating):
                return cls(floats=items.astype(np.float64))
            shape = items.shape
            flat = items.ravel().tolist()
        else:
            flat = list(items)
            shape = (len(flat),)
        table: dict[Number, int] = {}
        try:
            raw = [table.setdefault(x, len(table)) for x in flat]  # 1, 1.0, Fraction(1): one key
        except TypeError:
            raise WrongType(f"a list of numbers holds one that is none: {flat!r:.200}") from None
        kept = [number(x) for x in table]
        if any(isinstance(x, float) for x in flat) or any(isinstance(x, float) for x in kept):
            return cls(
                floats=np.array([float(x) for x in kept])[np.array(raw, dtype=np.int64)].reshape(
                    shape
                )
            )
        codes = np.array(raw, dtype=np.int64).reshape(shape)
        return cls(codes=_smallest(codes, len(kept)), values=tuple(kept))

    @classmethod
    def full(cls, shape: int | tuple[int, ...], value: Number) -> Numbers:
        """An array with one value everywhere."""
        value = number(value)
        if isinstance(value, float):
            return cls(floats=np.full(shape, value))
        return cls(codes=np.zeros(shape, dtype=np.uint8), values=(value,))

    @property
    def is_exact(self) -> bool:
        return self.codes is not None

    @property
    def size(self) -> int:
        return int(np.prod(self.shape))

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, i: Any) -> Number:
        """The number at one place."""
        if self.codes is None:
            return float(self.floats[i])
        return self.values[self.codes[i]]

    @cached_property
    def floats(self) -> NDArray[np.float64]:  # set directly in __init__ for numbers given as floats
        assert self.codes is not None
        table = np.array([to_float(x) for x in self.values], dtype=np.float64)
        return frozen(table[self.codes])

    @cached_property
    def tails(self) -> NDArray[np.float64]:
        """What `floats` leaves out, as floats: the numbers are `floats + tails` to twice the
        precision. An array with a single zero if nothing is left out.

        >>> x = Numbers.of([1, Fraction(1, 3)])
        >>> Fraction(float(x.floats[1])) + Fraction(float(x.tails[1])) - Fraction(1, 3) < 2**-107
        True
        """
        left = [0.0] if self.codes is None else [_tail(x) for x in self.values]
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
        found: set[Any] = set()
        for value in self.values:
            if is_symbolic(value):
                found |= value.free_symbols
        return frozenset(found)

    def take(self, places: Any) -> Numbers:
        """The numbers at some places, as `array[places]`."""
        if self.codes is None:
            return Numbers(floats=self.floats[places])
        return Numbers(codes=self.codes[places], values=self.values)

    def map(self, f: Any) -> Numbers:
        """`f` applied to every number (to every distinct one, where they are exact)."""
        if self.codes is None:
            return Numbers.of(
                np.array([f(float(x)) for x in self.floats.ravel()]).reshape(self.shape)
            )
        return Numbers.of([f(x) for x in self.values]).take(self.codes)

    def find(self, is_such: Callable[[Any], Any]) -> int | None:
        """The first flat index of a number that passes a test. The test takes a single number or an
        array of floats.

        >>> Numbers.of([1, Fraction(1, 3), 2, 1]).find(lambda x: x > 1)
        2
        """
        if self.codes is None:
            places = np.flatnonzero(is_such(self.floats))
        else:
            such = [not is_symbolic(x) and bool(is_such(x)) for x in self.values]
            if not any(such):
                return None
            places = np.flatnonzero(np.array(such)[self.codes])
        return int(places[0]) if places.size else None

    def reshape(self, *shape: int) -> Numbers:
        if self.codes is None:
            return Numbers(floats=self.floats.reshape(shape))
        return Numbers(codes=self.codes.reshape(shape), values=self.values)

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
        products = [
            self.values[i // len(other.values)] * other.values[i % len(other.values)]
            for i in used.tolist()
        ]
        return Numbers.of(products).take(codes.reshape(self.shape))

    def rationalised(self) -> Numbers:
        """Floats read as the decimals that they print as. Exact numbers stay."""
        if self.codes is not None:
            return self
        return Numbers.of(
            np.array([read_decimal(float(x)) for x in self.floats.ravel()], dtype=object).reshape(
                self.shape
            )
        )


def _tail(x: Number) -> float:
    if is_symbolic(x):
        return 0.0
    nearest = to_float(x)
    return float(x - Fraction(nearest)) if np.isfinite(nearest) else 0.0


def _smallest(codes: NDArray[np.int64], n: int) -> NDArray[Any]:
    """Codes below n in the smallest unsigned type that holds them."""
    return codes.astype(np.min_scalar_type(max(n - 1, 0)))
