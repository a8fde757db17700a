"""How common it is that the oracle loop is stuck: random reward tables, intervals, and all small
tables.

Adding a number to all rewards of a sequence task adds it to all q-values of a row, and multiplying
by c > 0 multiplies them; greedy, ties included, stays what it was. So whether a loop is stuck is
the same for r and c r + d, and among tables of whole numbers those with smallest entry 0 and no
common divisor stand for all (`small_tables`). Relabelling the actions is no such symmetry: ties
between actions go to the lower one.

Whether a loop is stuck is what the compiled batch says (`improvement.batch`): what floats leave
open is equal if it is so at a random policy, too, and loops that this does not tell are counted
apart, as unsure. A share is therefore a count and no proof about any one of its tables; what a
search or a claim reports about a table is proved by `exactly` of its statement, in fractions.

Shares come with Clopper and Pearson's interval, which covers the true share with at least the
probability of 95%, whatever the unsure ones are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaincinv

from workbench.core.errors import TooLarge, WorkbenchError
from workbench.improvement.batch import BatchResult, stuck
from workbench.lab.sequences import SequenceTasks

MOST_TABLES = 3_000_000

_CONFIDENCE = 0.95
"""Of the intervals."""

DISTRIBUTIONS = ("normal", "uniform", "integers", "one reward", "signs")


@dataclass(frozen=True)
class Share:
    """A count of hits out of a total, with a 95% confidence interval. It holds however many of the
    `unsure` ones are hits.

    >>> Share(5, 100), Share(5, 100, unsure=2)
    (5.0% [1.6%, 11.3%], 5.0% [1.6%, 13.9%], 2 unsure)
    """

    hits: int
    of: int
    unsure: int = 0

    @property
    def share(self) -> float:
        return self.hits / self.of if self.of else float("nan")

    @property
    def interval(self) -> tuple[float, float]:
        """Clopper and Pearson's, from that of no unsure one to that of all."""
        tail, most = (1 - _CONFIDENCE) / 2, self.hits + self.unsure
        low = float(betaincinv(self.hits, self.of - self.hits + 1, tail)) if self.hits else 0.0
        high = float(betaincinv(most + 1, self.of - most, 1 - tail)) if most < self.of else 1.0
        return low, high

    def __repr__(self) -> str:
        low, high = self.interval
        unsure = f", {self.unsure:,} unsure" if self.unsure else ""
        return f"{self.share:.1%} [{low:.1%}, {high:.1%}]{unsure}"


def random_tables(
    distribution: str, actions: int, length: int, count: int, seed: int
) -> NDArray[np.float64]:
    """Reward tables drawn entry by entry: `tables[i, a_1, ..., a_length]`.

    Parameters
    ----------
    distribution : "normal"; "uniform" on [0, 1]; "integers" from -3 to 3; "signs", -1 or 1; "one
        reward", 1 for one sequence drawn at random and 0 for all others.

    >>> random_tables("one reward", 2, 2, 1, seed=1).sum()
    np.float64(1.0)
    """
    rng = np.random.default_rng(seed)
    shape = (count, *(actions,) * length)
    if distribution == "normal":
        return rng.normal(size=shape)
    if distribution == "uniform":
        return rng.random(shape)
    if distribution == "integers":
        return rng.integers(-3, 4, shape).astype(float)
    if distribution == "signs":
        return rng.choice([-1.0, 1.0], shape)
    if distribution == "one reward":
        table = np.zeros((count, actions**length))
        table[np.arange(count), rng.integers(0, actions**length, count)] = 1.0
        return table.reshape(shape)
    raise WorkbenchError(
        f"distribution must be one of {', '.join(DISTRIBUTIONS)}, not {distribution!r}"
    )


def small_tables(most: int, actions: int, length: int) -> NDArray[np.float64]:
    """All tables of whole numbers up to scale and shift, with entries from 0 to `most`.

    >>> len(small_tables(1, 2, 2)), len(small_tables(2, 2, 2))
    (14, 50)
    """
    space = SequenceTasks(length, actions, lowest=0, highest=most)
    if space.size > MOST_TABLES:
        raise TooLarge(
            f"there are {most + 1}^{actions**length} tables, more than {MOST_TABLES:,}: draw some "
            "at random instead"
        )
    codes = space.codes(1, space.size)  # the first is 0 everywhere
    return space.rewards(codes[space.is_canonical(codes, ("scale", "shift"))])


def how_common(rewards: NDArray[np.float64], memories: Iterable[str]) -> dict[str, Share]:
    """The share of tables on which the loop is stuck, by memory.

    >>> how_common(small_tables(2, 2, 2), ["B1", "OA1"])
    {'B1': 2.0% [0.1%, 10.6%], 'OA1': 0.0% [0.0%, 7.1%]}
    """
    shares = {}
    for memory in memories:
        found = stuck(rewards, memory)
        hits = int((found.stuck & ~found.unsure).sum())
        shares[memory] = Share(hits, len(rewards), unsure=int(found.unsure.sum()))
    return shares


def worse_with_more(smaller: BatchResult, larger: BatchResult) -> NDArray[np.bool_]:
    """Where both loops tend to a deterministic policy for certain and the larger memory's is worth
    less."""
    settled = (smaller.ended == "fixed") & (larger.ended == "fixed")
    settled &= ~(smaller.unsure | larger.unsure)
    # limits are worth one of the rewards: no rounding
    return np.asarray(settled & (larger.value < smaller.value))


def stuck_with_all(rewards: NDArray[np.float64], memories: Sequence[str]) -> NDArray[Any]:
    """The places of the tables on which the loop is stuck with every one of the memories.

    One memory after the other, each on the tables that are left: put the memory that is rarely
    stuck first.
    """
    left = np.arange(len(rewards))
    for memory in memories:
        left = left[stuck(rewards[left], memory).stuck] if len(left) else left
    return left
