"""A model of an environment compared with the environment itself, by playing it.

The environment is played with random actions. After every step the state it is in, what it shows
and what it pays are looked up in the model's row of the state and action before:

    impossible    the row has no such outcome: the model is wrong
    improbable    over all rows, X^2 = sum (n - m)^2 / m for n outcomes where m are expected is so
                  large that it would occur in one of a million right models

Either ends in `Disagreement`, which names the row. Outcomes with m < 5 are counted together.

A table that an environment brings along is a claim about all its rows, and may leave something out
that random play never reaches: the fickle passenger of Taxi changes its mind once it sits in the
taxi. Such a table is compared by a *tour* as well, which goes to every row by shortest paths, in
many short episodes, since what a table leaves out may be drawn at the reset.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from workbench.core.numbers import Number
from workbench.interop.gym.draws import CannotEnumerate
from workbench.text import show

_FEWEST = 5
"""Outcomes expected less often than this are counted together."""

_IMPROBABLE = 1e-6

_NEW_ROWS_OF_AN_EPISODE = 10
"""A tour begins a new episode after so many rows that were not tried before."""

_MOST_STEPS_FOR_A_ROW = 40
"""A tour ends after so many steps for each row: some may be too improbable to get to."""

_SEED = 3_141_592_653
"""Of the actions. An environment that keeps a generator of the same seed would draw along."""

Row = Mapping[Any, Fraction]

Seeds = list[int | None]


class Disagreement(CannotEnumerate):
    """An environment that did what its model calls impossible, or improbable."""


@dataclass(frozen=True)
class Agreement:
    """The comparison of an environment with its model: steps played, and the p-value of chi-square.

    `p_value` is None where too few outcomes are a matter of chance to compare frequencies; `rows`
    says how many rows a tour has tried, None without one.
    """

    steps: int
    p_value: float | None
    rows: str | None = None

    def __str__(self) -> str:
        frequencies = (
            "" if self.p_value is None else f", frequencies by chi-square (p = {self.p_value:.2g})"
        )
        tour = "" if self.rows is None else f", in {self.rows} states and actions"
        return f"agrees with {self.steps:,} steps of the environment{tour}{frequencies}"


@dataclass(frozen=True)
class Played:
    """The environment that is played, and how the model names what happens there.

    Attributes
    ----------
    env : the environment.
    starts : seeds for reset, equally likely; None for a plain one.
    actions : the actions of the model, in its order.
    place : the model's state for (environment, observation, over), None if it has none; raises
        `Disagreement` if the model shows something else there.
    pay : the reward as a number.
    name : a state of the model in words.
    told : reads what the environment tells besides in a state.
    """

    env: Any
    starts: Seeds
    actions: list[Any]
    place: Callable[[Any, Any, bool], int | None]
    pay: Callable[[Any, Any], Number]
    name: Callable[[int], str]
    told: Callable[[int | None, Any], None]


def compare_with_rollouts(
    played: Played,
    mu: Row,
    rows: Mapping[tuple[int, int], Row],
    steps: int,
    tell: Callable[[str], None],
    tour: bool = False,
) -> Agreement:
    """Play the environment and compare. Raises `Disagreement` if the model is wrong.

    Parameters
    ----------
    mu, rows : the model: the law of the start, and of (state, reward) after state and action.
    steps : how many steps to play at random.
    tour : go to every row afterwards.
    """
    rng = np.random.default_rng(_SEED)
    guide = _Guide(rows) if tour else None
    begun: Counter[Any] = Counter()
    counts: dict[tuple[int, int], Counter[Any]] = {}
    place: int | None = None
    t = 0
    while t < steps or (guide is not None and guide.left and t < steps + guide.most_steps):
        t += 1
        if place is None:
            place = _reset(played, rng)
            if place not in mu:
                raise Disagreement(
                    f"the environment began in {played.name(place)}, where its model never begins"
                )
            begun[place] += 1
        there = [j for j in range(len(played.actions)) if (place, j) in rows]
        j = there[int(rng.integers(len(there)))]
        if guide is not None and t > steps:
            chosen = guide.action(place)
            if chosen is None:
                place = None
                continue
            j = chosen
        obs, r, terminated, truncated, info = played.env.step(played.actions[j])
        after = played.place(played.env, obs, bool(terminated))
        if after is None:
            after = played.place(played.env, obs, bool(terminated or truncated))
        outcome = after, played.pay(played.env, r)
        if outcome not in rows[place, j]:
            where = "a state it does not have" if after is None else played.name(after)
            raise Disagreement(
                f"action {show(played.actions[j])} led from {played.name(place)} to {where} and "
                f"paid {outcome[1]}, which the model found by exploring calls impossible: "
                "something besides its generators is random, or the state is more than was "
                "looked at"
            )
        played.told(after, info)
        counts.setdefault((place, j), Counter())[outcome] += 1
        place = None if terminated or truncated else after
        if t % 100 == 0:
            tell(f"{t:,} steps played for comparison")
    judged = [(rows[key], found) for key, found in counts.items()]
    tried = None if guide is None else f"{len(counts):,} of {len(rows):,}"
    return Agreement(t, _p_value([(mu, begun), *judged]), tried)


class _Guide:
    """Chooses the actions of a tour: along a shortest path to a row that was not tried yet."""

    def __init__(self, rows: Mapping[tuple[int, int], Row]):
        self.left = set(rows)
        self.most_steps = _MOST_STEPS_FOR_A_ROW * len(rows)
        self.leads: dict[int, dict[int, list[int]]] = {}
        for (place, j), row in rows.items():
            self.leads.setdefault(place, {})[j] = [after for after, _ in row]
        self.new = 0

    def action(self, place: int) -> int | None:
        """The next action. None to begin a new episode."""
        if self.new >= _NEW_ROWS_OF_AN_EPISODE:
            self.new = 0
            return None
        first: dict[int, int | None] = {place: None}
        """For each state met, the action that the path to it begins with."""
        waiting = deque([place])
        while waiting:
            here = waiting.popleft()
            for j, following in self.leads.get(here, {}).items():
                begins = first[here]
                action = j if begins is None else begins
                if (here, j) in self.left:
                    if here == place:
                        self.left.discard((here, j))
                        self.new += 1
                    return action
                for after in following:
                    if after not in first:
                        first[after] = action
                        waiting.append(after)
        return None


def _reset(played: Played, rng: np.random.Generator) -> int:
    seed = played.starts[int(rng.integers(len(played.starts)))]
    bare = played.env.unwrapped
    bare.np_random = rng
    obs, info = played.env.reset(seed=seed)
    # A seed would make every episode draw the same numbers.
    bare.np_random = rng
    place = played.place(played.env, obs, False)
    if place is None:
        raise Disagreement("the environment began in a state that its model does not have")
    played.told(place, info)
    return place


def _p_value(judged: Iterable[tuple[Row, Counter[Hashable]]]) -> float | None:
    from scipy.special import gammaincc

    statistic, freedom = 0.0, 0
    for law, found in judged:
        n = sum(found.values())
        cells = [(found[outcome], n * float(x)) for outcome, x in law.items()]
        often = [cell for cell in cells if cell[1] >= _FEWEST]
        rare = [cell for cell in cells if cell[1] < _FEWEST]
        pooled = (sum(k for k, _ in rare), sum(m for _, m in rare))
        if pooled[1] >= _FEWEST:
            often.append(pooled)
        elif often and rare:
            k, m = often.pop()
            often.append((k + pooled[0], m + pooled[1]))
        if len(often) > 1:
            statistic += sum((k - m) ** 2 / m for k, m in often)
            freedom += len(often) - 1
    if freedom == 0:
        return None
    p_value = float(gammaincc(freedom / 2, statistic / 2))
    if p_value < _IMPROBABLE:
        raise Disagreement(
            f"the environment's outcomes have other frequencies than its model says (chi-square "
            f"{statistic:.4g} with {freedom} degrees of freedom, p = {p_value:.2g}): the state is "
            "more than was looked at, or copies of the environment share theirs"
        )
    return p_value
