"""Which number is the largest: decided by bounds on the errors of the numbers, never by a constant.

A float x stands for a real number in [x - e, x + e], where e is a bound that was computed with x.
Two such numbers are told apart when their intervals do not meet; exact numbers always are. What the
bounds cannot tell is *open*: somebody with more digits decides it (`oracle_loop`), or it
counts as a tie and is reported as one.

Multiplying all numbers by a power of two multiplies their errors as well, so no decision depends on
the unit of reward.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import WorkbenchError
from workbench.core.numbers import Number
from workbench.core.space import Space
from workbench.text import did_you_mean

TIES = ("last", "first")


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


class Ranking(NamedTuple):
    """The best action of each row, and what is open about it.

    Attributes
    ----------
    best : `best[o]`, the place of the preferred action among those that may be the largest; -1 for
        rows without numbers.
    rivals : for each open row the places of the actions that may be the largest, the preferred one
        first.
    """

    best: NDArray[np.int64]
    rivals: dict[int, NDArray[np.int64]]


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


def rank_actions(
    q: NDArray[Any],
    order: NDArray[np.int64],
    error: NDArray[np.float64] | float = 0.0,
    alike: NDArray[np.int64] | None = None,
) -> Ranking:
    """The best action of each row of q.

    Parameters
    ----------
    q : `q[o, a]`; floats with NaN, or exact numbers with None, where undefined.
    order : the actions in the order in which ties are broken.
    error : `error[o]` or `error[o, a]`, a bound on the errors of the numbers; exact ones have none.
    alike : `alike[o, a]`; actions with the same entry are known to be equal.
    """
    if q.dtype == object:
        return Ranking(_exact_best(q, order), {})
    ordered = q[:, order]
    undefined = np.isnan(ordered).all(axis=1)
    filled = np.where(np.isnan(ordered), -np.inf, ordered)
    reach = np.asarray(error, dtype=np.float64)
    reach = np.broadcast_to(reach[:, None] if reach.ndim == 1 else reach, q.shape)[:, order]
    with np.errstate(invalid="ignore"):
        least = np.where(np.isnan(ordered), -np.inf, filled - reach).max(axis=1, keepdims=True)
        possible = (filled + reach >= least) & ~np.isnan(ordered)
    best = np.where(undefined, -1, order[np.argmax(possible, axis=1)])
    is_open = ~undefined & (possible.sum(axis=1) > 1) & (possible & (reach > 0)).any(axis=1)
    if alike is not None:
        entries = alike[:, order]
        taken = np.take_along_axis(entries, np.argmax(possible, axis=1)[:, None], axis=1)
        is_open &= (possible & (entries != taken)).any(axis=1)
    rivals = {o: order[possible[o]] for o in np.flatnonzero(is_open).tolist()}
    return Ranking(best, rivals)


def greedy_actions(
    q: NDArray[Any], order: NDArray[np.int64], error: NDArray[np.float64] | float = 0.0
) -> NDArray[np.int64]:
    """The index of the best action in each row of q, -1 for undefined rows. Among actions that
    cannot be told apart it is the first in `order`."""
    return rank_actions(q, order, error).best


def _exact_best(q: NDArray[Any], order: NDArray[np.int64]) -> NDArray[np.int64]:
    chosen = np.full(len(q), -1, dtype=np.int64)
    for i, row in enumerate(q[:, order]):
        known = [(j, x) for j, x in enumerate(row) if x is not None]
        if known:
            best = max(x for _, x in known)
            chosen[i] = order[next(j for j, x in known if x == best)]
    return chosen
