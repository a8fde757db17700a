"""Running a program once for every way its random draws can fall, with the exact probability of
each.

`every_run(program)` calls `program(generator)` again and again. The generator looks like a numpy
Generator, but each draw is a fork: the first run takes the first branch everywhere, the next run
the next branch at the last fork, and so on through the whole tree. A run's probability is the
product of the probabilities of its branches.

    integers, choice, shuffle, permutation   a fork over the finitely many results (and what
                             `random.Random` and numpy's `RandomState` call them)
    random, uniform          a number that is not fixed until it is compared: u < 1/4 is a fork with
                             probabilities 1/4 and 3/4, after which u is uniform on that side

>>> def two_dice(generator):
...     return int(generator.integers(1, 7) + generator.integers(1, 7))
>>> law = {}
>>> for prob, result in every_run(two_dice):
...     law[result] = law.get(result, 0) + prob
>>> law[7]
Fraction(1, 6)
>>> [(str(prob), result) for prob, result in every_run(lambda generator: generator.random() < 0.25)]
[('1/4', True), ('3/4', False)]
"""

from __future__ import annotations

import itertools
import math
import operator
import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np

from workbench.core.errors import WorkbenchError
from workbench.core.numbers import read_decimal

Result = TypeVar("Result")

MOST_BRANCHES = 10_000
"""A single draw with more results than this is refused."""

MOST_DRAWS = 100
"""A run with more draws than this is refused: most likely it draws until it likes the result."""

MOST_RUNS = 1_000_000
"""A reset or a step with more runs than this is refused."""

_SIMPLE, _NEAR = 100_000, Fraction(1, 10**12)


class CannotEnumerate(WorkbenchError):
    """An environment, or one of its random draws, whose possibilities cannot be listed."""


def read_number(x: Any) -> Fraction:
    """The fraction that a float stands for: a simple one nearby (0.3333333333333333 is 1/3), else
    the decimal it prints as.

    Simple means a denominator of at most 100,000, nearby means within 1e-12, which at most one such
    fraction is.

    >>> read_number(0.1 + 0.2), read_number(1 / 3), read_number(0.123456789)
    (Fraction(3, 10), Fraction(1, 3), Fraction(123456789, 1000000000))
    """
    if isinstance(x, Fraction | int | np.integer | np.bool_):
        return Fraction(int(x)) if not isinstance(x, Fraction) else x
    value = float(x)
    if not math.isfinite(value):
        raise CannotEnumerate(f"{value} is not a finite number")
    simple = Fraction(value).limit_denominator(_SIMPLE)
    return simple if abs(simple - Fraction(value)) <= _NEAR else read_decimal(value)


class Branches:
    """The forks of one run: it follows `path` and then takes first branches."""

    def __init__(self, path: Sequence[int]):
        self.path = path
        self.taken: list[int] = []
        self.widths: list[int] = []
        self.prob = Fraction(1)
        self.draws = 0
        self.over = False

    def draw(self, weights: Sequence[Fraction], what: str) -> int:
        """The result of a draw with these probabilities."""
        self.count(what)
        return self.fork(weights, what)

    def count(self, what: str) -> None:
        """One more draw."""
        self.draws += 1
        if self.draws > MOST_DRAWS:
            raise CannotEnumerate(
                f"a single reset or step makes more than {MOST_DRAWS:,} random draws (the last one "
                f"is {what}): the runs cannot all be listed. Declare where episodes start with "
                "starts=[...], as seeds"
            )

    def fork(self, weights: Sequence[Fraction], what: str) -> int:
        """Choose the branch to take now. `weights` are its probabilities, none of them 0."""
        if self.over:
            raise CannotEnumerate(
                "the environment draws from a generator, or asks about a random number, that it "
                "kept from an earlier reset or "
                "step; keep generators among the attributes of the environment"
            )
        if len(weights) > MOST_BRANCHES:
            raise CannotEnumerate(
                f"the draw {what} has {len(weights):,} results; at most {MOST_BRANCHES:,} can be "
                "listed"
            )
        i = self.path[len(self.taken)] if len(self.taken) < len(self.path) else 0
        self.taken.append(i)
        self.widths.append(len(weights))
        self.prob *= weights[i]
        return i

    def next_path(self) -> list[int] | None:
        """The path of the next run in order, None after the last one."""
        path, widths = list(self.taken), list(self.widths)
        while path and path[-1] + 1 == widths[-1]:
            path.pop()
            widths.pop()
        if not path:
            return None
        path[-1] += 1
        return path


def every_run(program: Callable[[Any], Result]) -> Iterator[tuple[Fraction, Result]]:
    """(probability, result) of every run of a program that takes its random generator as its
    argument."""
    path: list[int] = []
    for _ in range(MOST_RUNS):
        branches = Branches(path)
        result = program(Draws(branches))
        branches.over = True
        yield branches.prob, result
        following = branches.next_path()
        if following is None:
            return
        path = following
    raise CannotEnumerate(
        f"the random draws of a single reset or step can fall in more than {MOST_RUNS:,} ways"
    )


class Draws:
    """A stand-in for `env.np_random`."""

    def __init__(self, branches: Branches):
        self.branches = branches

    def __deepcopy__(self, memo: dict[int, Any]) -> Draws:
        return self  # a copy of an environment goes on with the same run

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise CannotEnumerate(
            f"the environment asks its random generator for {name!r}; only integers, choice, "
            "random, uniform, shuffle and permutation can be enumerated"
        )

    def integers(
        self,
        low: Any,
        high: Any = None,
        size: Any = None,
        dtype: Any = np.int64,
        endpoint: bool = False,
    ) -> Any:
        if high is None:
            low, high = 0, low
        if np.ndim(low) or np.ndim(high):
            raise CannotEnumerate("integers() with arrays of bounds cannot be enumerated")
        first, width = int(low), int(high) - int(low) + bool(endpoint)
        what = f"integers({low}, {high})"
        if width < 1:
            raise ValueError("low >= high")
        if width > MOST_BRANCHES:
            raise CannotEnumerate(
                f"the draw {what} has {width:,} results; at most {MOST_BRANCHES:,} can be listed"
            )
        weights = [Fraction(1, width)] * width
        return self._sized(
            size, lambda: np.dtype(dtype).type(first + self.branches.draw(weights, what)), dtype
        )

    def choice(
        self,
        a: Any,
        size: Any = None,
        replace: bool = True,
        p: Any = None,
        axis: int = 0,
        shuffle: bool = True,
    ) -> Any:
        items = np.arange(int(a)) if np.ndim(a) == 0 else np.asarray(a)
        if axis != 0:
            raise CannotEnumerate("choice() along another axis than 0 cannot be enumerated")
        weights = (
            [Fraction(1, len(items))] * len(items) if p is None else [read_number(x) for x in p]
        )
        total = sum(weights, Fraction(0))  # numpy divides by the sum as well
        live = [i for i, x in enumerate(weights) if x > 0]
        what = f"choice among {len(items)}"
        if size is None:
            alike = _alike(items, live)
            shares = [sum((weights[i] for i in group), Fraction(0)) / total for group in alike]
            return items[alike[self.branches.draw(shares, what)][0]]
        count = int(np.prod(size))
        chosen = []
        for _ in range(count):
            if not live:
                raise ValueError("choice() without replacement from too few items")
            left = sum((weights[i] for i in live), Fraction(0))
            j = self.branches.draw([weights[i] / left for i in live], what)
            chosen.append(live[j] if replace else live.pop(j))
        return items[np.array(chosen, dtype=np.int64).reshape(size)]

    def permutation(self, x: Any) -> Any:
        items = np.arange(int(x)) if np.ndim(x) == 0 else np.array(x)
        return items[self._order(len(items))]

    def shuffle(self, x: Any) -> None:
        order = self._order(len(x))
        if isinstance(x, np.ndarray):
            x[:] = x[order]
        else:
            x[:] = [x[i] for i in order]

    def random(self, size: Any = None, dtype: Any = np.float64) -> Any:
        return self._sized(size, lambda: Uniform(_Unit(self.branches)), object)

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        if np.ndim(low) or np.ndim(high):
            raise CannotEnumerate("uniform() with arrays of bounds cannot be enumerated")
        a, b = read_number(low), read_number(high)
        return self._sized(size, lambda: Uniform(_Unit(self.branches), b - a, a), object)

    def _order(self, n: int) -> list[int]:
        left, order = list(range(n)), []
        while left:
            order.append(
                left.pop(
                    self.branches.draw(
                        [Fraction(1, len(left))] * len(left), f"an order of {n} items"
                    )
                )
            )
        return order

    def _sized(self, size: Any, draw: Callable[[], Any], dtype: Any) -> Any:
        if size is None:
            return draw()
        shape = tuple(size) if np.ndim(size) else (int(size),)
        array = np.empty(shape, dtype=dtype)
        for place in itertools.product(*map(range, shape)):
            array[place] = draw()
        return array


class StateDraws(Draws):
    """A stand-in for a `numpy.random.RandomState`."""

    def randint(self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64) -> Any:
        return self.integers(low, high, size, dtype)

    def random_sample(self, size: Any = None) -> Any:
        return self.random(size)

    def rand(self, *shape: int) -> Any:
        return self.random(shape or None)


class PlainDraws(Draws):
    """A stand-in for a `random.Random`."""

    def randrange(self, start: Any, stop: Any = None, step: int = 1) -> int:
        values = range(start) if stop is None else range(start, stop, step)
        return values[int(self.integers(len(values)))]

    def randint(self, a: Any, b: Any) -> int:
        return self.randrange(a, b + 1)

    def choice(self, seq: Any) -> Any:  # type: ignore[override]
        return seq[self.randrange(len(seq))]

    def sample(self, population: Any, k: int) -> list[Any]:
        places = super().choice(len(population), k, replace=False)
        return [population[int(i)] for i in places]


def stand_in(generator: Any, draws: Draws) -> Draws | None:
    """Make the stand-in for a random generator in one run. None for what is no generator."""
    if isinstance(generator, StateDraws | np.random.RandomState):
        return StateDraws(draws.branches)
    if isinstance(generator, PlainDraws | random.Random):
        return PlainDraws(draws.branches)
    return draws if isinstance(generator, Draws | np.random.Generator) else None


class _Unit:
    """A number uniform on [low, high), which shrinks as questions about it are answered."""

    def __init__(self, branches: Branches):
        branches.count("random()")
        self.branches = branches
        self.low, self.high = Fraction(0), Fraction(1)

    def settle(self, cuts: Iterable[Fraction]) -> None:
        """Decide between which of the cuts the number lies: a fork, unless known already."""
        inside = sorted({x for x in cuts if self.low < x < self.high})
        if inside:
            ends = [self.low, *inside, self.high]
            shares = [(b - a) / (self.high - self.low) for a, b in itertools.pairwise(ends)]
            i = self.branches.fork(shares, f"random() against {len(inside)} numbers")
            self.low, self.high = ends[i], ends[i + 1]


_OPERATORS: dict[Any, tuple[Callable[[Any, Any], Any], Callable[[Any, Any], Any] | None]] = {
    np.less: (operator.lt, operator.gt),
    np.less_equal: (operator.le, operator.ge),
    np.greater: (operator.gt, operator.lt),
    np.greater_equal: (operator.ge, operator.le),
    np.add: (operator.add, None),
    np.subtract: (operator.sub, None),
    np.multiply: (operator.mul, None),
    np.true_divide: (operator.truediv, None),
}
"""What numpy's functions mean for a `Uniform`; comparisons also the other way round."""


class Uniform:
    """A uniform random number scale u + shift, for a `_Unit` u. It can be compared, shifted, scaled
    and cut to an integer.

    A single value has probability 0, so it makes no difference whether a comparison is strict.
    """

    __hash__ = None  # type: ignore[assignment]

    def __init__(self, unit: _Unit, scale: Fraction = Fraction(1), shift: Fraction = Fraction(0)):
        self._unit, self._scale, self._shift = unit, scale, shift

    def _is_below(self, x: Any) -> Any:
        if isinstance(x, Uniform):
            raise CannotEnumerate(
                "two random numbers are compared with each other, which cannot be enumerated"
            )
        if not np.ndim(x):
            return bool(self._are_below([x])[0])
        return np.array(self._are_below(np.ravel(x)), dtype=bool).reshape(np.shape(x))

    def _are_below(self, xs: Any) -> list[bool]:
        if self._scale == 0:
            return [self._shift < x for x in xs]
        cuts = [x if _is_infinite(x) else (read_number(x) - self._shift) / self._scale for x in xs]
        self._unit.settle(cut for cut in cuts if isinstance(cut, Fraction))
        return [
            bool(x > 0) if _is_infinite(x) else (self._unit.high <= cut) == (self._scale > 0)
            for x, cut in zip(xs, cuts, strict=True)
        ]

    def __lt__(self, x: Any) -> Any:
        return self._is_below(x)

    __le__ = __lt__

    def __gt__(self, x: Any) -> Any:
        return np.logical_not(self._is_below(x)) if np.ndim(x) else not self._is_below(x)

    __ge__ = __gt__

    def __eq__(self, x: object) -> bool:
        return self is x

    def _affine(self, scale: Any, shift: Any) -> Uniform:
        return Uniform(
            self._unit,
            self._scale * read_number(scale),
            self._shift * read_number(scale) + read_number(shift),
        )

    def __add__(self, x: Any) -> Any:
        return self._affine(1, x) if _is_number(x) else NotImplemented

    __radd__ = __add__

    def __sub__(self, x: Any) -> Any:
        return self._affine(1, -x) if _is_number(x) else NotImplemented

    def __rsub__(self, x: Any) -> Any:
        return self._affine(-1, x) if _is_number(x) else NotImplemented

    def __mul__(self, x: Any) -> Any:
        return self._affine(x, 0) if _is_number(x) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, x: Any) -> Any:
        return self._affine(1 / read_number(x), 0) if _is_number(x) else NotImplemented

    def __neg__(self) -> Uniform:
        return self._affine(-1, 0)

    def __floor__(self) -> int:
        ends = sorted(self._scale * end + self._shift for end in (self._unit.low, self._unit.high))
        first, last = math.floor(ends[0]), math.ceil(ends[1])
        if last - first > MOST_BRANCHES:
            raise CannotEnumerate(
                f"a random number is cut to one of {last - first:,} integers; too many to list"
            )
        return next((n for n in range(first, last) if self._is_below(n + 1)), last - 1)

    def __int__(self) -> int:
        return math.floor(self) if self >= 0 else -math.floor(-self)

    def _refuse(self, *_: Any, **__: Any) -> Any:
        raise CannotEnumerate(
            "the environment uses random() or uniform() as a number, not only in comparisons: it "
            "has infinitely many results"
        )

    __float__ = __index__ = __round__ = __bool__ = __array__ = __abs__ = __pow__ = __mod__ = (
        __floordiv__
    ) = _refuse

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        if method != "__call__" or ufunc not in _OPERATORS or kwargs or len(inputs) != 2:
            return self._refuse()
        apply, mirrored = _OPERATORS[ufunc]
        one, other = (
            x.item() if isinstance(x, np.generic | np.ndarray) and x.ndim == 0 else x
            for x in inputs
        )
        if not isinstance(one, np.ndarray) and not isinstance(other, np.ndarray):
            return apply(one, other)
        if mirrored is None:
            return self._refuse()
        return apply(self, other) if one is self else mirrored(self, one)


def _alike(items: Any, places: list[int]) -> list[list[int]]:
    """The places grouped by equal items, so that a deck with four equal cards makes one branch of
    them."""
    if items.ndim != 1 or items.dtype == object:
        return [[i] for i in places]
    groups: dict[Any, list[int]] = {}
    for i in places:
        groups.setdefault(items[i].item(), []).append(i)
    return list(groups.values())


def _is_infinite(x: Any) -> bool:
    return isinstance(x, float | np.floating) and math.isinf(x)


def _is_number(x: Any) -> bool:
    return isinstance(x, int | float | Fraction | np.integer | np.floating)
