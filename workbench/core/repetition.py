"""Episodes that follow one another without end: a task that ends as a continuing one.

    p'(s', r | s, a) = p(s', r | s, a) + sum_{e terminal} p(e, r | s, a) mu(s')       S' = S without
    its terminal states

The step that would end an episode leads to the start of the next one, so that terminal states take
no time. The average reward of the result is what an episode pays divided by how long it lasts, and
its long-run shares of time are those of `evaluate(P, pi, weights="stationary")`. A memory that was
attached before begins anew with every episode; one that is attached to the result goes on.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import WorkbenchError
from workbench.core.numbers import Numbers, frozen
from workbench.core.pomdp import POMDP, Distribution, Emissions, StateSet, Transitions
from workbench.core.rows import add_groups, own_rows, pick_rows, pick_spans, point_rows
from workbench.core.space import Subset


def require_time(P: POMDP) -> None:
    """Raise an error if an episode may end before its first time step. Such episodes cannot follow
    one another, and an average over no time is not defined."""
    over = P.mu.support[P.terminal.mask[P.mu.support]]
    if over.size:
        raise WorkbenchError(
            f"{P.name} may start in the terminal state {P.S.text(P.S[int(over[0])])}, and such an "
            "episode takes no time: episodes cannot follow one another, and rewards per step are "
            "not defined. Let mu start elsewhere"
        )


def repeat_episodes(P: POMDP) -> POMDP:
    """The continuing task in which each episode of P is followed by the next. Without terminal
    states it is P itself.

    >>> once = POMDP.from_functions(
    ...     name="once",
    ...     A=["go"],
    ...     p=lambda s, a: {("end", 1): 1},
    ...     omega=lambda s: {"o": 1},
    ...     mu={"s": 1},
    ...     gamma=1,
    ...     terminal={"end"},
    ... )
    >>> repeat_episodes(once).p("s", "go")
    {('s', Fraction(1, 1)): Fraction(1, 1)}

    See also: `RLearning`, `POMDP`.
    """
    ended = P.terminal.mask
    if not ended.any():
        return P
    require_time(P)
    nA, starts = len(P.A), P.mu.support
    kept = np.flatnonzero(~ended)
    place = np.cumsum(~ended) - 1
    rows = (kept[:, None] * nA + np.arange(nA)).ravel()
    row_ptr, taken = pick_rows(P.p.row_ptr, rows)
    s_next = P.p.s_next[taken]
    over = ended[s_next]
    # an outcome that ends becomes one for each start, the others stay one
    counts = np.where(over, len(starts), 1)
    _, k = pick_spans(np.zeros(len(counts), dtype=np.int64), counts)
    own = np.repeat(np.arange(len(counts)), counts)
    chances = Numbers.of([1, *(P.mu.prob[int(s)] for s in starts)])
    prob = P.p.prob.take(taken[own]).times(chances.take(np.where(over[own], 1 + k, 0)))
    to = place[np.where(over[own], starts[k], s_next[own])]
    row, to, r, prob = _merged(own_rows(row_ptr)[own], to, P.p.r.take(taken[own]), prob, len(kept))
    lengths = np.bincount(row, minlength=len(rows))
    o_ptr, o_places = pick_rows(P.omega.row_ptr, kept)
    S = Subset(P.S, kept)
    return POMDP(
        name=f"{P.name}, again and again",
        S=S,
        O=P.O,
        A=P.A,
        p=Transitions(
            S,
            P.A,
            frozen(point_rows(lengths)),
            frozen(to.astype(np.int32)),
            r,
            prob,
        ),
        omega=Emissions(S, P.O, frozen(o_ptr), P.omega.o[o_places], P.omega.prob.take(o_places)),
        gamma=P.gamma,
        mu=Distribution(S, P.mu.prob.take(kept)),
        terminal=StateSet(S, np.zeros(len(kept), dtype=bool)),
        note=P.note,
        allowed=P.allowed,
    )


def _merged(
    row: NDArray[np.int64], to: NDArray[np.int64], r: Numbers, prob: Numbers, n: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], Numbers, Numbers]:
    """Add up the outcomes of a row that agree in s' and r. Several ends may lead to one start, and
    a start may be a successor itself."""
    kinds = r.codes if r.codes is not None else np.unique(r.floats, return_inverse=True)[1]
    key = (row * n + to) * (int(kinds.max(initial=0)) + 1) + kinds.astype(np.int64)
    _, first, group = np.unique(key, return_index=True, return_inverse=True)
    if len(first) == len(key):
        return row, to, r, prob
    chances = prob.floats if prob.codes is None else prob.objects
    total = add_groups(group, chances, np.zeros(len(first), dtype=chances.dtype))
    return row[first], to[first], r.take(first), Numbers.of(total)
