"""Episodes of at most T steps: a POMDP whose states also count the steps taken.

    S' = S x {0, ..., T}     (s, T) is terminal, as is (s, t) when s is
    p'((s', t+1), r | (s, t), a) = p(s', r | s, a)     omega'(o | (s, t)) = omega(o | s)
    mu'(s, 0) = mu(s)

The agent does not see the count. Only the states that can be reached at each count are built. A
reward may depend on the count, as it does in MiniGrid, where success at step t of at most T pays 1
- 0.9 t/T.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from workbench.core.asked import Asked
from workbench.core.errors import TooLarge, WorkbenchError, WrongType
from workbench.core.numbers import Number, Numbers, frozen
from workbench.core.pomdp import POMDP, Distribution, Emissions, StateSet, Transitions
from workbench.core.rows import pick_rows, point_rows
from workbench.core.space import Product, Space, Subset

_MOST_OUTCOMES = 1 << 27


def with_step_limit(
    P: POMDP, T: int, reward: Callable[[Number, int], Number] | None = None
) -> POMDP:
    """The same task, over after T steps.

    Parameters
    ----------
    T : the largest number of steps of an episode.
    reward : `reward(r, t)` is paid instead of r by the t-th step, t = 1, ..., T.

    >>> clock = POMDP.from_functions(
    ...     name="clock",
    ...     A=["tick"],
    ...     p=lambda s, a: {("on", 1): 1},
    ...     omega=lambda s: {"o": 1},
    ...     mu={"on": 1},
    ...     gamma=1,
    ... )
    >>> with_step_limit(clock, 3)
    POMDP clock, 3 steps: 4 states (1 terminal), 1 observation, 1 action, 3 outcomes, gamma 1

    See also: `with_goal`, `repeat_episodes`.
    """
    if isinstance(T, bool) or not isinstance(T, int | np.integer):
        raise WrongType(f"a step limit is a positive integer, not {T!r}")
    if T < 1:
        raise WorkbenchError(f"a step limit is at least 1, not {T}")
    T, nA = int(T), len(P.A)
    layers = _layers(P, T)
    starts = np.concatenate(([0], np.cumsum([len(layer) for layer in layers])))
    outcomes = [_outcomes(P, layer) for layer in layers[:-1]]

    s_next = []
    where = np.zeros(len(P.S), dtype=np.int64)
    for t, (places, _) in enumerate(outcomes):
        where[layers[t + 1]] = starts[t + 1] + np.arange(len(layers[t + 1]))
        s_next.append(where[P.p.s_next[places]])
    counts = [count for _, count in outcomes] + [np.zeros(len(layers[-1]) * nA, dtype=np.int64)]
    taken = [places for places, _ in outcomes]
    places = np.concatenate(taken)
    if reward is None:
        r = P.p.r.take(places)
    else:
        paid = Asked(reward, "reward(r={}, t={})")
        r = _paid([P.p.r.map(lambda x, t=t: paid(x, t + 1)) for t in range(T)], taken)

    s = np.concatenate(layers)
    clock = np.repeat(np.arange(T + 1), [len(layer) for layer in layers])
    S = Subset(Product(P.S, Space(range(T + 1))), s * (T + 1) + clock)
    o_ptr, o_places = pick_rows(P.omega.row_ptr, s)
    first = layers[0]
    start = Numbers.of([*(P.mu.prob[int(i)] for i in first), 0]).take(
        np.minimum(np.arange(len(s)), len(first))
    )
    return POMDP(
        name=f"{P.name}, {T} steps",
        S=S,
        O=P.O,
        A=P.A,
        p=Transitions(
            S,
            P.A,
            frozen(point_rows(np.concatenate(counts))),
            frozen(np.concatenate(s_next).astype(np.int32)),
            r,
            P.p.prob.take(places),
        ),
        omega=Emissions(
            S, P.O, frozen(o_ptr), frozen(P.omega.o[o_places]), P.omega.prob.take(o_places)
        ),
        gamma=P.gamma,
        mu=Distribution(S, start),
        terminal=StateSet(S, P.terminal.mask[s] | (clock == T)),
        allowed=P.allowed,
    )


def _layers(P: POMDP, T: int) -> list[NDArray[np.int64]]:
    """The states that can be met after 0, 1, ..., T steps."""
    layers = [P.mu.support]
    outcomes = 0
    for t in range(T):
        places, _ = _outcomes(P, layers[-1])
        outcomes += len(places)
        if outcomes > _MOST_OUTCOMES:
            raise TooLarge(
                f"{P.name} with a limit of {T:,} steps has more than {_MOST_OUTCOMES:,} outcomes "
                f"within the first {t + 1:,}; take a smaller limit"
            )
        layers.append(np.unique(P.p.s_next[places]).astype(np.int64))
    return layers


def _outcomes(P: POMDP, states: NDArray[np.int64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The places of the outcomes of some states, row by row, and how many each row (s, a) has."""
    rows = (states[:, None] * len(P.A) + np.arange(len(P.A))).ravel()
    row_ptr, places = pick_rows(P.p.row_ptr, rows)
    return places, np.diff(row_ptr)


def _paid(by_step: list[Numbers], taken: list[NDArray[np.int64]]) -> Numbers:
    """The rewards of each step at the places taken at it, as one array."""
    if any(not numbers.is_exact for numbers in by_step):
        return Numbers(
            floats=np.concatenate([n.floats[k] for n, k in zip(by_step, taken, strict=True)])
        )
    values: dict[Number, int] = {}
    codes = []
    for numbers, k in zip(by_step, taken, strict=True):
        assert numbers.codes is not None
        code = np.array([values.setdefault(x, len(values)) for x in numbers.values], dtype=np.int64)
        codes.append(code[numbers.codes[k]])
    return Numbers(codes=np.concatenate(codes), values=tuple(values))
