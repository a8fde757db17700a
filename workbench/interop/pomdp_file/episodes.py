"""The episodic reading: which pairs (s, a) of a file end an episode.

Files are written as continuing tasks: from a goal every action leads back to the start. Read as
episodic, these pairs *end* an episode:

1. (s, a) whose row of T is written `reset`; 2. all pairs of a state s whose row is the same for
every action and leads to the start: it is mu, or mu conditioned on
   the states outside Z, where every state of Z has this same row (Z: the states that mu gives a
   probability and the row does not, as in a file that names no start and whose goal leads to any
   other state). The absolute differences of the probabilities may add up to 1e-4, because files
   print rounded numbers;
3. all pairs of an *absorbing* state: every action stays there, and staying pays 0, or the same as
every way to enter
   it (as `R: * : * : goal : * 1` says); what staying pays is then not paid;
4. instead of all these, the states and pairs that `goals` names.

A state all of whose pairs end and pay nothing becomes terminal itself. The other ending pairs lead
to one added terminal state "end", which shows the observation "end", and keep their rewards: R(s,
a, s', o) is paid with the probability of the (s', o) that the file draws.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import UnknownLabel
from workbench.core.space import Label, Space
from workbench.interop.pomdp_file.source import PomdpFileError, Values, full
from workbench.interop.pomdp_file.tables import Flags, Ints, Rows
from workbench.text import show

SAME_START = 1e-4
"""A row counts as the start if their probabilities differ by no more than this, all differences
added up."""


def detected(T: Rows, resets: Flags, pays: Flags, mu: NDArray[np.float64], nA: int) -> Flags:
    """The rows that rules 1 to 3 find. `pays` says which rows hold a reward that is not 0."""
    nS = len(mu)
    ends = resets.copy()
    first = np.arange(nS) * nA
    constant = T.same_for_all_actions(nA)
    counts = T.counts[first]
    alone = T.column[np.minimum(T.ptr[first], len(T.column) - 1)] == np.arange(
        nS
    )  # the first entry is s itself
    goal = constant & (counts == 1) & alone & ~pays.reshape(nS, nA).any(axis=1)
    start = np.flatnonzero(mu)
    for members in _groups(T, first, constant & ~goal):
        span = slice(T.ptr[first[members[0]]], T.ptr[first[members[0]] + 1])
        if span.stop - span.start >= len(start) - len(
            members
        ):  # or it cannot be the start without some members
            row = T.value[span].astype(np.float64)
            goal[members] = _leads_to_start(T.column[span], row, start, mu[start], members)
    return ends | np.repeat(goal, nA)


def stays_for_the_same(T: Rows, r: Values, varies: Flags, starts: Flags, nA: int) -> Flags:
    """The absorbing states where staying pays what entering from elsewhere pays, whatever the state
    and the action.

    r, varies : for each entry of T its reward, and whether that depends on the observation.
    starts : the start states; one of them that nothing else leads to is not among the states found.
    """
    nS = len(starts)
    state, s_next = T.row // nA, T.column
    stays = np.bincount(state[state == s_next], minlength=nS)
    leaves = np.bincount(state[state != s_next], minlength=nS)
    entered = np.bincount(s_next[state != s_next], minlength=nS)
    found = (stays == nA) & (leaves == 0) & ((entered > 0) | ~starts)
    into = found[s_next]
    found[s_next[into & varies]] = False
    reward = full(nS, 0, r.dtype == object)
    reward[s_next[into]] = r[into]
    found[s_next[into & (r != reward[s_next]).astype(bool)]] = False
    return found


def _groups(T: Rows, first: Ints, asked: Flags) -> list[Ints]:
    """The states asked about, those with equal rows together."""
    by_row: dict[tuple[bytes, bytes], list[int]] = {}
    for s in np.flatnonzero(asked).tolist():
        span = slice(T.ptr[first[s]], T.ptr[first[s] + 1])
        key = (T.column[span].tobytes(), T.value[span].astype(np.float64).tobytes())
        by_row.setdefault(key, []).append(s)
    return [np.array(members) for members in by_row.values()]


def _leads_to_start(
    column: Ints,
    row: NDArray[np.float64],
    start: Ints,
    mu: NDArray[np.float64],
    members: Ints,
) -> bool:
    """Whether a sparse row is the sparse start distribution, or the start conditioned on leaving
    out some members."""
    if _distance(column, row, start, mu) <= SAME_START:
        return True
    left_out = ~np.isin(start, column)
    if not left_out.any() or left_out.all() or not np.isin(start[left_out], members).all():
        return False
    return (
        _distance(column, row, start[~left_out], mu[~left_out] / mu[~left_out].sum()) <= SAME_START
    )


def _distance(one: Ints, p: NDArray[np.float64], other: Ints, q: NDArray[np.float64]) -> float:
    """The sum of the absolute differences of two sparse distributions."""
    union = np.union1d(one, other)
    difference = np.zeros(len(union))
    difference[np.searchsorted(union, one)] += p
    difference[np.searchsorted(union, other)] -= q
    return float(np.abs(difference).sum())


def named(goals: Iterable[Label], S: Space, A: Space) -> Flags:
    """The rows that `goals` names: labels of states, or pairs (state, action)."""
    ends = np.zeros((len(S), len(A)), dtype=bool)
    for goal in goals:
        try:
            if goal in S:
                ends[S.index(goal)] = True
            elif isinstance(goal, tuple) and len(goal) == 2:
                ends[S.index(goal[0]), A.index(goal[1])] = True
            else:
                S.index(goal)
        except UnknownLabel as unknown:
            raise PomdpFileError(
                f"the goal {show(goal)} is neither a state nor a pair (state, action): {unknown}"
            ) from None
    return ends.ravel()
