"""Which number is the largest: decided by bounds on the errors of the numbers, never by a constant.

A float x stands for a real number in [x - e, x + e], where e is a bound that was computed with x.
Two such numbers are told apart when their intervals do not meet; exact numbers always are. What the
bounds cannot tell is *open*: it counts as a tie and is reported as one.

Multiplying all numbers by a power of two multiplies their errors as well, so no decision depends on
the unit of reward.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import WorkbenchError
from workbench.core.numbers import Number, Numbers
from workbench.core.rows import add_rows
from workbench.core.space import Label, Space
from workbench.text import did_you_mean, show

if TYPE_CHECKING:
    from workbench.core.pomdp import POMDP

TIES = ("last", "first")
EQUAL, ROUNDING = "equal", "within rounding"


@dataclass(frozen=True)
class Tie:
    """Actions among which greedy had to be told which to take.

    Attributes
    ----------
    iterate : the first at which actions of this row tied.
    o, actions : the observation, and the actions, the one taken first.
    how : "equal"; or "within rounding": bounds on the errors of floats cannot tell them apart.
    """

    iterate: int
    o: Label
    actions: tuple[Label, ...]
    how: str
    words: str = field(default="", compare=False, repr=False)
    """Row and actions in the short form of the POMDP's labels."""

    def __str__(self) -> str:
        words = self.words or f"{show(self.o)}: {', '.join(map(show, self.actions))}"
        return f"iterate {self.iterate:,}, {words} ({self.how})"


def tie_order(A: Space, ties: str = "last") -> NDArray[np.int64]:
    """The actions in the order in which greedy prefers them when their q-values are equal.

    In an augmented POMDP `ties="last"` prefers the higher write, then the lower environment action
    (the paper's rule for writes; it is silent on actions); `ties="first"` the lower write, then the
    lower action. Without writes both prefer the lower action.
    """
    from workbench.core.augment import ActionsAndWrites

    if ties not in TIES:
        meant = did_you_mean(str(ties), TIES)
        raise WorkbenchError(f"ties must be one of {', '.join(TIES)}, not {ties!r}{meant}")
    if not isinstance(A, ActionsAndWrites):
        return np.arange(len(A))
    actions, writes = (len(factor) for factor in A.factors)
    w = range(writes) if ties == "first" else range(writes - 1, -1, -1)
    return np.array([a * writes + j for j in w for a in range(actions)])


def sign_of_difference(x: Number, y: Number, error: float = 0.0) -> int | None:
    """The sign of x - y, whose computed value is off by at most `error`. None if that leaves it
    open.

    >>> sign_of_difference(1.0, 2.0, 1e-9), sign_of_difference(1.0, 1.0 + 1e-12, 1e-9)
    (-1, None)
    """
    apart = x - y
    if error and not abs(apart) > error:
        return None
    return int(apart > 0) - int(apart < 0)


def greedy_actions(
    q: NDArray[Any], order: NDArray[np.int64], error: NDArray[np.float64] | float = 0.0
) -> NDArray[np.int64]:
    """The index of the best action in each row of q, -1 for undefined rows. Among actions that
    cannot be told apart it is the first in `order`.

    Parameters
    ----------
    q : `q[o, a]`; floats with NaN, or exact numbers with None, where undefined.
    order : the actions in the order in which ties are broken.
    error : `error[o]` or `error[o, a]`, a bound on the errors of the numbers; exact ones have none.
    """
    ordered = q[:, order]
    if q.dtype == object:
        tops = [max((x for x in row if x is not None), default=None) for row in ordered]
        rows = zip(ordered, tops, strict=True)
        return np.array([-1 if top is None else order[[*row].index(top)] for row, top in rows])
    lacks = np.isnan(ordered)
    filled = np.where(lacks, -np.inf, ordered)
    reach = np.asarray(error, dtype=np.float64)
    reach = np.broadcast_to(reach[:, None] if reach.ndim == 1 else reach, q.shape)[:, order]
    with np.errstate(invalid="ignore"):
        least = np.where(lacks, -np.inf, filled - reach).max(axis=1, keepdims=True)
        possible = (filled + reach >= least) & ~lacks
    return np.where(lacks.all(axis=1), -1, order[np.argmax(possible, axis=1)])


def same_actions(P: POMDP) -> NDArray[np.int64]:
    """`same[o, a]`: actions with the same entry have the same outcomes in every state behind o.

    Such actions tie under every policy: a write on the last step, a step into one of two walls.
    Outcomes that end are the same if they pay the same. Outcomes are compared by hashes of 64 bits.
    """
    goal = np.where(P.terminal.mask[P.p.s_next], len(P.S), P.p.s_next)
    outcome = _scramble(_codes(P.p.prob))
    outcome = _scramble(_scramble(outcome ^ _codes(P.p.r)) ^ _scramble(goal.astype(np.uint64)))
    rows = add_rows(P.p.row_ptr, outcome, np.zeros(len(P.S) * len(P.A), dtype=np.uint64))
    rows = rows.reshape(len(P.S), len(P.A))
    entry_s = P.omega.s
    seen = np.flatnonzero(~P.terminal.mask[entry_s])
    found = np.zeros((len(P.O), len(P.A)), dtype=np.uint64)
    state = _scramble(entry_s[seen].astype(np.uint64))[:, None]
    np.add.at(found, P.omega.o[seen], _scramble(rows[entry_s[seen]] ^ state))
    return found.view(np.int64)


def _codes(numbers: Numbers) -> NDArray[np.uint64]:
    """A whole number for each entry, the same for equal ones."""
    if numbers.codes is not None:
        return numbers.codes.astype(np.uint64)
    codes = np.unique(numbers.floats, return_inverse=True)[1]
    return np.asarray(codes.reshape(numbers.shape), dtype=np.uint64)


def _scramble(x: NDArray[Any]) -> NDArray[np.uint64]:
    """The mixing function of splitmix64 (Steele, Lea and Flood 2014)."""
    with np.errstate(over="ignore"):
        x = x + np.uint64(0x9E3779B97F4A7C15)
        x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return np.asarray(x ^ (x >> np.uint64(31)))
