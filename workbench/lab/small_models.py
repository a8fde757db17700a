"""Spaces of small POMDPs written as tables: sparse random ones, deterministic ones, automata with
random observations.

States are 0, ..., n - 1 and "end", observations 0, 1, ..., actions 0, 1, .... A code has a digit
for

    each (s, a)   the successor distribution: some states, "end" among them if episodes end, with
                  probabilities that are multiples of 1/parts
    each (s, a)   the reward
    each s        the observations, a distribution likewise
    once          mu, a distribution likewise

Episodes that need not end have a discount below 1. Codes with states that cannot be reached stand
for smaller tasks: a space is a set of tasks of *up to* n states. What cannot be reached is set to
digit 0 before codes are compared (`cleared`), so that each smaller task has one canonical code too.

>>> space = DeterministicPOMDPs(states=2, actions=1, observations=1, lowest=0, highest=1)
>>> space.size, space.count(()), space.count(("states",)), space.count()
(72, 32, 16, 16)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import combinations, permutations, product
from math import comb
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import TooLarge, WorkbenchError
from workbench.core.pomdp import POMDP
from workbench.lab.spaces import Code, Codes, Relabelling, TaskSpace, check_rewards
from workbench.plain_numbers import whole_number

Weights = tuple[int, ...]
"""How many of `parts` each outcome has."""

_MOST_ROWS = 20_000


def distributions(outcomes: int, parts: int, branches: int) -> list[Weights]:
    """All distributions over some outcomes in multiples of 1/parts. At most so many outcomes are
    possible at once. Certain ones come first.

    >>> distributions(2, parts=2, branches=2)
    [(2, 0), (0, 2), (1, 1)]
    """
    sizes = range(1, min(branches, outcomes, parts) + 1)
    if sum(comb(outcomes, size) * comb(parts - 1, size - 1) for size in sizes) > _MOST_ROWS:
        raise TooLarge(
            f"more than {_MOST_ROWS:,} distributions over {outcomes} outcomes: fewer parts or "
            "branches"
        )
    found = []
    for size in sizes:
        for support in combinations(range(outcomes), size):
            for cuts in combinations(range(1, parts), size - 1):
                row = [0] * outcomes
                for i, (low, high) in enumerate(zip((0, *cuts), (*cuts, parts), strict=True)):
                    row[support[i]] = high - low
                found.append(tuple(row))
    return found


@dataclass(frozen=True, repr=False)
class SparsePOMDPs(TaskSpace):
    """POMDPs of up to some states, sparse and rational.

    Parameters
    ----------
    states, actions, observations : the most of each.
    lowest, highest : whole rewards between these, for each (s, a).
    parts, branches : successors are distributions in multiples of 1/parts over at most so many
        states.
    noise : observations likewise, in multiples of 1/noise; 1 for one observation in each state.
    starts, start_parts : mu is a distribution over at most so many states, in multiples of
        1/start_parts.
    ends : whether episodes can end.
    forward : whether states lead to later ones only, so that every episode ends within n steps and
        gamma may be 1.
    gamma : the discount.

    >>> space = SparsePOMDPs(states=3, actions=2, observations=2)
    >>> space.task(space.sample(np.random.default_rng(0)))
    POMDP sparse: 4 states (1 terminal), 1 observation, 2 actions, 9 outcomes, gamma 9/10
    """

    states: int = 3
    actions: int = 2
    observations: int = 2
    lowest: int = -1
    highest: int = 1
    parts: int = 2
    branches: int = 2
    noise: int = 1
    starts: int = 1
    start_parts: int = 1
    ends: bool = True
    forward: bool = False
    gamma: Fraction | int = Fraction(9, 10)
    name = "sparse"

    def __post_init__(self) -> None:
        object.__setattr__(self, "gamma", Fraction(self.gamma))
        small = "states actions observations parts branches noise starts start_parts"
        for key in small.split():
            whole_number(key, getattr(self, key))
        if not (
            isinstance(self.lowest, int)
            and isinstance(self.highest, int)
            and self.lowest <= self.highest
        ):
            raise WorkbenchError(
                f"rewards are whole numbers, lowest to highest, not {self.lowest!r} to "
                f"{self.highest!r}"
            )
        check_rewards(self.highest - self.lowest)
        if self.forward and not self.ends:
            raise WorkbenchError(
                "forward=True needs ends=True: the last state has nowhere else to go"
            )
        if not (0 <= self.gamma < 1 or (self.forward and self.gamma == 1)):
            raise WorkbenchError(
                f"episodes need not end here: the discount must be below 1, not {self.gamma}"
            )
        if self.states > 8 or self.actions > 6 or self.observations > 6:
            raise TooLarge("these spaces have at most 8 states, 6 actions and 6 observations")

    # ------------------------------------------------------------------ what the digits mean

    @cached_property
    def moves(self) -> tuple[list[Weights], ...]:
        """For each state the successor distributions over 0, ..., n - 1 and "end"."""
        every = distributions(self.states + self.ends, self.parts, self.branches)
        if not self.forward:
            return (every,) * self.states
        return tuple([row for row in every if not any(row[: s + 1])] for s in range(self.states))

    @cached_property
    def emissions(self) -> list[Weights]:
        """The observation distributions."""
        return distributions(self.observations, self.noise, self.observations)

    @cached_property
    def beginnings(self) -> list[Weights]:
        """The distributions mu."""
        return distributions(self.states, self.start_parts, self.starts)

    @cached_property
    def rewards(self) -> tuple[int, ...]:
        """The rewards."""
        return tuple(range(self.lowest, self.highest + 1))

    @property
    def _pairs(self) -> int:
        return self.states * self.actions

    @cached_property
    def radices(self) -> tuple[int, ...]:
        """Moves of all (s, a), rewards of all (s, a), observations of all s, mu."""
        moves = (len(self.moves[s]) for s in range(self.states) for _ in range(self.actions))
        return (
            *moves,
            *(len(self.rewards),) * self._pairs,
            *(len(self.emissions),) * self.states,
            len(self.beginnings),
        )

    @property
    def symmetries(self) -> tuple[str, ...]:
        """The states of tasks that lead forward have their order."""
        return (*(() if self.forward else ("states",)), "observations", "actions", "scale")

    def _kind(self) -> str:
        chances = (
            f"successors in {self.parts} parts"
            if self.parts > 1 and self.branches > 1
            else "certain successors"
        )
        return f"sparse POMDPs, {chances}" + (
            f", observations in {self.noise} parts" if self.noise > 1 else ""
        )

    def __str__(self) -> str:
        size = (
            f"up to {self.states} states, {self.actions} actions, {self.observations} observations"
        )
        size = f"each step to a later state, {size}" if self.forward else size
        rewards = (
            f"rewards {self.lowest} to {self.highest}"
            if self.highest > self.lowest
            else f"rewards {self.lowest}"
        )
        return f"{self._kind()}, {size}, {rewards}, gamma {self.gamma}"

    def task(self, code: Code) -> POMDP:
        n, mu = self.states, _shares(self.beginnings[code[-1]])

        def p(s: int, a: int) -> dict[tuple[Any, int], Fraction]:
            i = s * self.actions + a
            r = self.rewards[code[self._pairs + i]]
            return {
                ("end" if t == n else t, r): x for t, x in _shares(self.moves[s][code[i]]).items()
            }

        def omega(s: Any) -> dict[int, Fraction]:
            s = next(iter(mu)) if s == "end" else s  # no observation belongs to the end alone
            return _shares(self.emissions[code[2 * self._pairs + s]])

        return POMDP.from_functions(
            name=self.name,
            A=range(self.actions),
            p=p,
            omega=omega,
            mu=mu,
            gamma=self.gamma,
            terminal=lambda s: s == "end",
        )

    # ------------------------------------------------------------------ what cannot be reached

    @cached_property
    def _masks(self) -> tuple[list[NDArray[np.int64]], NDArray[np.int64]]:
        """The sets of successors, for each state, and of starts, as bits."""

        def bits(rows: list[Weights]) -> NDArray[np.int64]:
            return np.array([sum(1 << t for t in range(self.states) if row[t]) for row in rows])

        return [bits(rows) for rows in self.moves], bits(self.beginnings)

    def cleared(self, codes: Codes) -> Codes:
        after, first = self._masks
        seen = first[codes[:, -1]]
        leads = np.zeros((len(codes), self.states), dtype=np.int64)
        for s, a in product(range(self.states), range(self.actions)):
            leads[:, s] |= after[s][codes[:, s * self.actions + a]]
        for _ in range(self.states):
            for s in range(self.states):
                seen = np.where(seen >> s & 1, seen | leads[:, s], seen)
        found = codes.copy()
        for s in range(self.states):
            lost = (seen >> s & 1) == 0
            pairs = np.arange(s * self.actions, (s + 1) * self.actions)
            for i in (*pairs, *(self._pairs + pairs), 2 * self._pairs + s):
                found[lost, i] = self._blank if self._pairs <= i < 2 * self._pairs else 0
        return found

    @cached_property
    def _blank(self) -> int:
        """The reward's digit where nothing can be reached: that of 0 if there is one."""
        return self.rewards.index(0) if 0 in self.rewards else 0

    # ------------------------------------------------------------------ symmetry

    def relabellings(self, kinds: tuple[str, ...]) -> Iterator[Relabelling]:
        def every(kind: str, n: int) -> Iterator[tuple[int, ...]]:
            return permutations(range(n)) if kind in kinds else iter([tuple(range(n))])

        same = np.arange(len(self.rewards))
        for states in every("states", self.states):
            image = (*states, self.states)[: self.states + self.ends]
            moves = [_renamed(rows, image) for rows in self.moves for _ in range(self.actions)]
            starts = _renamed(self.beginnings, states)
            for observations in every("observations", self.observations):
                emissions = _renamed(self.emissions, observations)
                for actions in every("actions", self.actions):
                    pairs = [
                        states[s] * self.actions + actions[a] for s, a in product(*self._sizes)
                    ]
                    move = [
                        *pairs,
                        *(self._pairs + i for i in pairs),
                        *(2 * self._pairs + t for t in states),
                        len(self.radices) - 1,
                    ]
                    rename = (*moves, *(same,) * self._pairs, *(emissions,) * self.states, starts)
                    yield Relabelling(np.array(move), rename)

    @property
    def _sizes(self) -> tuple[range, range]:
        return range(self.states), range(self.actions)

    def normal(self, codes: Codes, kinds: tuple[str, ...]) -> Codes:
        """Rewards divided by their greatest common divisor, where 0 lies among those allowed."""
        if "scale" not in kinds or 0 not in self.rewards:
            return codes
        found = codes.copy()
        part = slice(self._pairs, 2 * self._pairs)
        values = codes[:, part] + self.lowest
        divisor = np.maximum(np.gcd.reduce(values, axis=1, keepdims=True), 1)
        found[:, part] = values // divisor - self.lowest
        return found


def _shares(row: Weights) -> dict[int, Fraction]:
    return {i: Fraction(x, sum(row)) for i, x in enumerate(row) if x}


def _renamed(rows: list[Weights], sigma: tuple[int, ...]) -> NDArray[np.int64]:
    """What becomes of each distribution when outcome i is called sigma[i]."""
    place = {row: i for i, row in enumerate(rows)}
    found = []
    for row in rows:
        image = [0] * len(row)
        for i, x in enumerate(row):
            image[sigma[i]] = x
        found.append(place[tuple(image)])
    return np.array(found)


@dataclass(frozen=True, repr=False)
class DeterministicPOMDPs(SparsePOMDPs):
    """All deterministic POMDPs of up to some states: every (s, a) has one successor, every state
    one observation.

    Episodes start in one state, or with equal chance in one of a set of at most `starts` states.

    >>> DeterministicPOMDPs(states=2, actions=2, observations=2)
    deterministic POMDPs, up to 2 states, 2 actions, 2 observations, rewards -1 to 1, gamma 9/10
    """

    parts: int = 1
    branches: int = 1
    name = "deterministic"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.parts != 1 or self.noise != 1:
            raise WorkbenchError(
                "a deterministic POMDP has parts=1 and noise=1; use SparsePOMDPs for others"
            )

    @cached_property
    def beginnings(self) -> list[Weights]:
        """Each of a set of states has equal weight."""
        return [
            tuple(int(s in chosen) for s in range(self.states))
            for size in range(1, min(self.starts, self.states) + 1)
            for chosen in combinations(range(self.states), size)
        ]

    def _kind(self) -> str:
        return "deterministic POMDPs" + (f", up to {self.starts} starts" if self.starts > 1 else "")


@dataclass(frozen=True, repr=False)
class Automata(SparsePOMDPs):
    """Automata with random observations: every (s, a) has one successor. What a state shows is
    drawn, in parts of `noise`.

    >>> Automata(states=2, actions=2, observations=2, noise=4)
    automata, observations in 4 parts, up to 2 states, 2 actions, 2 observations, rewards -1 to 1,
    gamma 9/10
    """

    parts: int = 1
    branches: int = 1
    noise: int = 2
    name = "automata"

    def _kind(self) -> str:
        return f"automata, observations in {self.noise} parts"
