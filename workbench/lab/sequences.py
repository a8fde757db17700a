"""Sequence tasks: a fixed number of actions without feedback, then one reward (Appendices B and C).

    S    the actions taken so far, and "end"      O    the one observation "o"   A  0, 1, ..., n - 1
    r    r[a_1]...[a_L], paid with the last action; 0 before

The paper's 4-action recall task is one of length 2, its variant of recall one of length 3. A space
of them is the set of all tables r with entries lowest, lowest + step, ..., highest. Two symmetries
of the rewards are used:

- c r for c > 0 has the same greedy policies, TD values c times as large, the same order among
  policies: "scale";
- r + c changes the return of every policy by gamma^(L-1) c, and all q(o, a) of one row o by the
  same number, because P_pi(s|o) does not depend on a: "shift". TD values bootstrap across steps and
  shift alike only for gamma = 1.

A relabelling of the actions is the same at every step, since no observation tells the steps apart:
"actions". It permutes the places of a table.

A table is a *code*, a tuple of digits, one for each reward, and codes are numbered in the order of
a counter whose last digit turns fastest. Scaling and shifting are normal forms N that commute with
the relabellings g: divide by the greatest common divisor, move the smallest reward down to the
lowest. The canonical form of a code x is the least of all g N(x). Which symmetries may be used
depends on the question: a rule that breaks ties by the number of an action tells relabelled actions
apart (`Statement.symmetries`), and only what gives the same answer for certain is merged.

>>> space = SequenceTasks(length=2, actions=2, lowest=0, highest=1)
>>> (
...     space.size,
...     space.count(()),
...     space.count(("actions",)),
...     space.count(("actions", "scale", "shift")),
... )
(16, 16, 10, 9)
>>> [space.table(code).tolist() for code in space.classes(("actions", "scale", "shift"))][1]
[[0, 0], [0, 1]]
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, fields
from fractions import Fraction
from functools import cached_property
from itertools import permutations
from math import factorial, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import TooLarge, WorkbenchError
from workbench.core.numbers import Number
from workbench.core.pomdp import POMDP
from workbench.improvement.batch import LENGTHS, sequence_task

MOST_PLACES = 256

KINDS = ("actions", "scale", "shift")
"""The symmetries there are: relabelled actions, and two normal forms of the rewards."""

Code = tuple[int, ...]
Codes = NDArray[np.int64]
"""Several codes, one in each row."""

CHUNK = 4096
"""Codes that are looked at together."""

MOST_LISTED = 20_000_000
"""`classes` refuses to go through spaces with more codes than this."""

_MOST_REWARDS = 1_000

_MOST_RELABELLINGS = 50_000


def discounted_sequence_task(table: Any, gamma: Number = 1, name: str = "") -> POMDP:
    """The task with the reward table r[a_1]...[a_L] and a discount.

    >>> discounted_sequence_task([[0, 1], [2, 0]], gamma=Fraction(1, 2)).p((1,), 0)
    {('end', Fraction(2, 1)): Fraction(1, 1)}
    """
    r = np.asarray(table, dtype=object)
    P = sequence_task(r, name or f"sequences {'x'.join(map(str, r.shape))}")
    return P if gamma == 1 else P.with_gamma(gamma)


def table_of(P: POMDP) -> NDArray[np.object_] | None:
    """The table r[a_1]...[a_L] of a sequence task. None if P is not one, whatever its states are
    called.

    >>> table_of(discounted_sequence_task([[0, 1], [2, 0]])).tolist()
    [[Fraction(0, 1), Fraction(1, 1)], [Fraction(2, 1), Fraction(0, 1)]]
    """
    if len(P.mu) != 1 or not P.omega.is_deterministic or int(P.decides.sum()) != 1:
        return None
    layer: dict[tuple[int, ...], Any] = {(): next(iter(P.mu))}
    if next(iter(P.mu)) in P.terminal:
        return None
    while True:
        after: dict[tuple[int, ...], Any] = {}
        rewards: dict[tuple[int, ...], Number] = {}
        for done, s in layer.items():
            for i, a in enumerate(P.A):
                row = P.p(s, a)
                if len(row) != 1:
                    return None
                ((s_next, r),) = row
                after[(*done, i)], rewards[(*done, i)] = s_next, r
        ends = [s in P.terminal for s in after.values()]
        if all(ends):
            table = np.empty((len(P.A),) * (len(next(iter(after)))), dtype=object)
            for done, r in rewards.items():
                table[done] = r
            return table
        if any(ends) or any(r != 0 for r in rewards.values()) or len(after) > MOST_PLACES:
            return None
        layer = after


# ---------------------------------------------------------------------- the space of tables


@dataclass(frozen=True, repr=False)
class SequenceTasks:
    """All sequence tasks of a length and a number of actions, with rewards lowest, lowest + step,
    ..., highest.

    >>> SequenceTasks(length=2, actions=3, lowest=-1, highest=1)
    sequence tasks of length 2, 3 actions, rewards -1, 0, 1, gamma 1
    >>> SequenceTasks(length=2, actions=3, lowest=-1, highest=1).size
    19683
    """

    length: int = 2
    actions: int = 3
    lowest: Fraction | int = -1
    highest: Fraction | int = 1
    step: Fraction | int = 1
    gamma: Fraction | int = 1
    name = "sequences"

    def __post_init__(self) -> None:
        for field in ("lowest", "highest", "step", "gamma"):
            object.__setattr__(self, field, Fraction(getattr(self, field)))
        if (
            self.length not in LENGTHS
            or self.actions < 1
            or self.actions**self.length > MOST_PLACES
        ):
            raise WorkbenchError(
                f"no sequence tasks of length {self.length} with {self.actions} actions here"
            )
        if self.step <= 0 or self.highest < self.lowest:
            raise WorkbenchError(
                f"no rewards from {self.lowest} to {self.highest} in steps of {self.step}"
            )
        steps = Fraction(self.highest - self.lowest) / Fraction(self.step)
        if steps >= _MOST_REWARDS:
            raise TooLarge(
                f"a range of {int(steps) + 1:,} rewards is too large to search in: at most "
                f"{_MOST_REWARDS:,}, so take larger steps"
            )

    @cached_property
    def values(self) -> tuple[Fraction, ...]:
        """The rewards, in order."""
        count = int((self.highest - self.lowest) / self.step) + 1
        return tuple(Fraction(self.lowest + i * self.step) for i in range(count))

    @cached_property
    def radices(self) -> tuple[int, ...]:
        """The number of digits at each place of a code."""
        return (len(self.values),) * self.actions**self.length

    @cached_property
    def size(self) -> int:
        """Count the codes."""
        return prod(self.radices)

    def settings(self) -> dict[str, Any]:
        """The fields as JSON values."""
        given = {field.name: getattr(self, field.name) for field in fields(self)}
        json = {key: x if isinstance(x, int) else str(x) for key, x in given.items()}
        return {"name": self.name, **json}

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        few = self.values if len(self.values) <= 5 else (*self.values[:2], "...", self.values[-1])
        rewards = ", ".join(map(str, few))
        return (
            f"sequence tasks of length {self.length}, {self.actions} actions, "
            f"rewards {rewards}, gamma {self.gamma}"
        )

    def table(self, code: Code | NDArray[Any]) -> NDArray[Any]:
        """The rewards of a code: integers if all values are, else Fractions."""
        whole = all(x.denominator == 1 for x in self.values)
        table = np.array([int(x) for x in self.values] if whole else self.values, dtype=object)
        return table[np.asarray(code)].reshape((self.actions,) * self.length)

    def rewards(self, codes: Codes) -> NDArray[np.float64]:
        """The tables of several codes, as floats `[n, a_1, ..., a_L]`."""
        return np.array([float(x) for x in self.values])[codes].reshape(
            -1, *(self.actions,) * self.length
        )

    def task(self, code: Code) -> POMDP:
        """The task that a code stands for."""
        return discounted_sequence_task(self.table(code), self.gamma)

    # ------------------------------------------------------------------ codes and their numbers

    @cached_property
    def _values(self) -> NDArray[Any]:
        """What a digit is worth at each place: exact integers, as objects where they are large."""
        worth = [1]
        for radix in self.radices[:0:-1]:
            worth.append(worth[-1] * radix)
        return np.array(worth[::-1], dtype=np.int64 if self.size < 1 << 62 else object)

    def ranks(self, codes: Codes) -> NDArray[Any]:
        """The numbers of some codes."""
        found: NDArray[Any] = (codes * self._values).sum(axis=1)
        return found

    def codes(self, first: int, last: int) -> Codes:
        """The codes number first, ..., last - 1."""
        left: NDArray[Any] = np.arange(last - first, dtype=self._values.dtype) + first
        found = np.empty((len(left), len(self.radices)), dtype=np.int64)
        for i in range(len(self.radices) - 1, -1, -1):
            found[:, i] = (left % self.radices[i]).astype(np.int64)
            left = left // self.radices[i]
        return found

    # ------------------------------------------------------------------ modulo symmetry

    def usable(self, kinds: Collection[str]) -> tuple[str, ...]:
        """Some kinds of symmetry in a fixed order, each checked."""
        if unknown := [kind for kind in kinds if kind not in KINDS]:
            raise WorkbenchError(f"unknown symmetry {unknown[0]!r}: one of {', '.join(KINDS)}")
        return tuple(kind for kind in KINDS if kind in kinds)

    def relabellings(self, kinds: Collection[str]) -> list[NDArray[np.int64]]:
        """For each order of the actions, the place that each reward comes from."""
        orders = [tuple(range(self.actions))]
        if "actions" in kinds:
            if factorial(self.actions) > _MOST_RELABELLINGS:
                raise TooLarge(
                    f"{self} has more than {_MOST_RELABELLINGS:,} relabellings: merge fewer kinds"
                )
            orders = list(permutations(range(self.actions)))
        places = np.arange(self.actions**self.length).reshape((self.actions,) * self.length)
        return [places[np.ix_(*[order] * self.length)].ravel() for order in orders]

    def normal(self, codes: Codes, kinds: Collection[str]) -> Codes:
        """The codes with rewards in the normal form of "scale" and "shift", those that are among
        the kinds."""
        unit = self.values.index(Fraction(0)) if Fraction(0) in self.values else None
        if "shift" in kinds:
            codes = codes - codes.min(axis=1, keepdims=True)
            unit = 0
        # scaling keeps the tables only where 0 is one of the values, or tables are shifted as well
        if "scale" not in kinds or unit is None:
            return codes
        apart = codes - unit
        divisor = np.gcd.reduce(apart, axis=1, keepdims=True)
        return unit + apart // np.maximum(divisor, 1)

    def is_canonical(self, codes: Codes, kinds: Collection[str] = KINDS) -> NDArray[np.bool_]:
        """Whether each code is its own canonical form."""
        usable = self.usable(kinds)
        own = self.ranks(codes)
        good = self.ranks(self.normal(codes, usable)) == own
        codes, own = codes[good], own[good]
        still = np.ones(len(codes), dtype=bool)
        for places in self.relabellings(usable):
            left = np.flatnonzero(still)
            if not left.size:
                break
            still[left] = self.ranks(codes[left][:, places]) >= own[left]
        good[good] = still
        return np.asarray(good, dtype=bool)

    def classes(self, kinds: Collection[str] = KINDS) -> Iterator[Code]:
        """The canonical codes, in order."""
        if self.size > MOST_LISTED:
            raise TooLarge(
                f"{self} has {self.size:,} codes, more than {MOST_LISTED:,}: sample it, or make it "
                "smaller"
            )
        for first in range(0, self.size, CHUNK):
            codes = self.codes(first, min(first + CHUNK, self.size))
            for row in codes[self.is_canonical(codes, kinds)].tolist():
                yield tuple(row)

    def count(self, kinds: Collection[str] = KINDS) -> int:
        """Count the classes by listing them."""
        return sum(1 for _ in self.classes(kinds))

    # ------------------------------------------------------------------ walking

    def sample(self, rng: np.random.Generator) -> Code:
        """A code, all alike likely."""
        return tuple(int(x) for x in rng.integers(0, self.radices))

    def neighbours(self, code: Code, rng: np.random.Generator, most: int = 64) -> list[Code]:
        """Codes that differ from a code in one digit, in random order, at most so many."""
        every = [
            (i, x) for i, radix in enumerate(self.radices) for x in range(radix) if x != code[i]
        ]
        chosen = rng.permutation(len(every))[:most].tolist()
        return [(*code[:i], x, *code[i + 1 :]) for i, x in (every[j] for j in chosen)]
