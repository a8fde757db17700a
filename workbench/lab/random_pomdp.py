"""Random exact POMDPs: every probability a small fraction, every episode with an end.

From each pair (s, a) an episode ends with probability `ending`; otherwise one of a few successors
follows, with weights drawn from 1, ..., 4 and a reward drawn for each. Observations are drawn for
each state in the same way.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from workbench.core.errors import WorkbenchError, WrongType
from workbench.core.numbers import Number, is_symbolic, number
from workbench.core.pomdp import POMDP
from workbench.plain_numbers import whole_number

END = "end"
_HEAVIEST = 4
_LARGEST_REWARD = 1 << 62


def random_pomdp(
    seed: int,
    states: int = 5,
    observations: int = 3,
    actions: int = 2,
    gamma: Number = Fraction(9, 10),
    ending: Number = Fraction(1, 5),
    successors: int = 3,
    emissions: int = 1,
    rewards: tuple[int, int] = (-2, 3),
) -> POMDP:
    """A random POMDP in fractions, for experiments and tests. One seed gives one model.

    Parameters
    ----------
    seed : of the random numbers.
    states, observations, actions : how many; a terminal state comes on top.
    gamma : the discount factor.
    ending : the probability that an episode ends at a step, whatever is done.
    successors, emissions : at most so many for each (s, a), and for each s.
    rewards : the smallest and the largest; they are whole numbers.

    >>> random_pomdp(0)
    POMDP random 0: 6 states (1 terminal), 3 observations, 2 actions, 31 outcomes, gamma 9/10

    See also: `search`, `from_arrays`, `POMDP`.
    """
    seed = whole_number("seed", seed, 0)
    states = whole_number("states", states)
    observations = whole_number("observations", observations)
    actions = whole_number("actions", actions)
    successors = whole_number("successors", successors)
    emissions = whole_number("emissions", emissions)
    ending = number(ending)
    if not is_symbolic(ending) and not 0 <= ending <= 1:
        raise WorkbenchError(f"ending is a probability, not {ending}")
    low, high = _between(rewards)
    rng = np.random.default_rng(seed)

    def draw(size: int, most: int) -> dict[int, Fraction]:
        chosen = rng.choice(size, size=int(rng.integers(1, min(size, most) + 1)), replace=False)
        weights = rng.integers(1, _HEAVIEST + 1, size=len(chosen)).tolist()
        return {int(i): Fraction(w, sum(weights)) for i, w in zip(chosen, weights, strict=True)}

    p: dict[tuple[int, int], dict[tuple[int | str, int], Number]] = {}
    omega = {}
    for s in range(states):
        omega[s] = draw(observations, emissions)
        for a in range(actions):
            goes_on = draw(states, successors)
            p[s, a] = {
                (t, int(rng.integers(low, high + 1))): x * (1 - ending) for t, x in goes_on.items()
            }
            p[s, a][END, int(rng.integers(low, high + 1))] = ending
    start = draw(states, 2)
    return POMDP.from_functions(
        name=f"random {seed}",
        S=[*range(states), END],
        O=range(observations),
        A=range(actions),
        p=lambda s, a: p[s, a],
        omega=lambda s: {0: 1} if s == END else omega[s],
        mu=start,
        gamma=gamma,
        terminal={END},
    )


def _between(rewards: Any) -> tuple[int, int]:
    """The smallest and the largest reward."""
    if not isinstance(rewards, Sequence | np.ndarray) or len(rewards) != 2:
        raise WrongType(f"rewards are two whole numbers, not {rewards!r}")
    low, high = (whole_number(f"each of rewards={rewards!r}", x, None) for x in rewards)
    if low > high:
        raise WorkbenchError(f"rewards lie between two numbers in order, not in {rewards}")
    if max(-low, high) > _LARGEST_REWARD:
        raise WorkbenchError(f"rewards lie between -2^62 and 2^62, not in {rewards}")
    return low, high
