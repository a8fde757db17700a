"""Which number is the largest: decided by bounds on the errors of the numbers, never by a constant.

A float x stands for a real number in [x - e, x + e], where e is a bound that was computed with x.
Two such numbers are told apart when their intervals do not meet; exact numbers always are. What the
bounds cannot tell is *open*: it counts as a tie and is reported as one.

Multiplying all numbers by a power of two multiplies their errors as well, so no decision depends on
the unit of reward.
"""

from __future__ import annotations

from typing import Any

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
