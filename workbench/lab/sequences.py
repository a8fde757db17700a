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

A relabelling of the actions is the same at every step, since no observation tells the steps apart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import WorkbenchError
from workbench.core.numbers import Number
from workbench.core.pomdp import POMDP
from workbench.improvement.batch import LENGTHS, sequence_task
from workbench.lab.spaces import Code, Codes, Relabelling, TaskSpace, check_rewards

MOST_PLACES = 256


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
class SequenceTasks(TaskSpace):
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
        check_rewards(Fraction(self.highest - self.lowest) / Fraction(self.step))

    @cached_property
    def values(self) -> tuple[Fraction, ...]:
        """The rewards, in order."""
        count = int((self.highest - self.lowest) / self.step) + 1
        return tuple(Fraction(self.lowest + i * self.step) for i in range(count))

    @cached_property
    def radices(self) -> tuple[int, ...]:
        return (len(self.values),) * self.actions**self.length

    @property
    def symmetries(self) -> tuple[str, ...]:
        """Scaling keeps the tables only where 0 is one of the values, or tables are shifted as
        well."""
        return ("actions", "scale", "shift")

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
        return discounted_sequence_task(self.table(code), self.gamma)

    # ------------------------------------------------------------------ symmetry

    def relabellings(self, kinds: tuple[str, ...]) -> Iterator[Relabelling]:
        places = np.arange(self.actions**self.length).reshape((self.actions,) * self.length)
        same = (np.arange(len(self.values)),) * places.size
        every = (
            permutations(range(self.actions))
            if "actions" in kinds
            else [tuple(range(self.actions))]
        )
        for sigma in every:
            yield Relabelling(places[np.ix_(*[sigma] * self.length)].ravel(), same)

    @cached_property
    def _zero(self) -> int | None:
        """The digit of the reward 0, or None."""
        return self.values.index(Fraction(0)) if Fraction(0) in self.values else None

    def _units(self, kinds: tuple[str, ...]) -> int | None:
        """The digit from which rewards are measured when they are scaled, or None where they are
        not."""
        if "scale" not in kinds:
            return None
        return 0 if "shift" in kinds else self._zero

    def normal(self, codes: Codes, kinds: tuple[str, ...]) -> Codes:
        if "shift" in kinds:
            codes = codes - codes.min(axis=1, keepdims=True)
        unit = self._units(kinds)
        if unit is None:
            return codes
        apart = codes - unit
        divisor = np.gcd.reduce(apart, axis=1, keepdims=True)
        return unit + apart // np.maximum(divisor, 1)
