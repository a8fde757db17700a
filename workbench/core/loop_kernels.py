# mypy: disallow-untyped-defs=False
"""Compiled oracle loops for tasks in which no state comes back, many at a time.

The loops of a batch share the task but for its rewards `R[b]`; a single run is a batch of one.
`horizon_kernels` evaluates their policies, `segment_kernels` looks ahead. Actions are in the order
in which ties are broken: the first maximum is greedy.

Rounding. Visits are sums of products of numbers >= 0, so each is right to a small share of itself;
values are right to a small share of the largest return. So q(o,a) w(o) is off by at most
error w(o), and `error` grows with n because pi is rounded at every step. Actions closer than that
are *open*, and one more number is asked: whether they are as close at a random policy.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.core.double_kernels import FEWEST
from workbench.core.horizon_kernels import Floats, Places, evaluate_here
from workbench.core.kernels import compile_later, inline_kernel, lean_later
from workbench.core.segment_kernels import look_along

_LISTED = 12
"""Greedy policies that a loop remembers, so that it can tell a new one."""


class Loops(NamedTuple):
    """The loops of a batch.

    Attributes
    ----------
    pi, greedy, found : `pi[b, o, a]`; the greedy action of each row at the last iterate, and at
        this one, -1 for rows without weight.
    since, n : the iterate at which each row changed last, and how many iterates were made.
    mark : tells greedy policies apart; kept : the product of 1 - step since it changed.
    look : the rest of the segment is looked at when `kept` is at most this; fixed : whether greedy
        stays what it is on all of it.
    error, growth : q is off by at most error + n growth.
    open : rows that the bounds leave open; unsure : whether that was decided by what came before.
    alike : `alike[b, o, a]`, actions with the same entry tie.
    rho, listed : a random policy of those that the greedy policies so far span, and the marks of
        the latest of these.
    tied_at, tied, taken : the first tie of each row: its iterate (-1 for none), the actions, and
        the one taken.
    """

    pi: Floats
    greedy: Places
    found: Places
    since: Places
    n: Places
    mark: NDArray[np.uint64]
    kept: Floats
    look: Floats
    fixed: NDArray[np.bool_]
    error: Floats
    growth: Floats
    open: NDArray[np.uint8]
    unsure: NDArray[np.bool_]
    alike: Places
    rho: Floats
    listed: NDArray[np.uint64]
    tied_at: Places
    tied: NDArray[np.bool_]
    taken: Places


def begin_loops(pi: Floats, alike: Places, error: Floats, growth: Floats, look: float) -> Loops:
    """Loops at the policies `pi[b]`, whose actions are alike in all as `alike[o, a]` says."""
    count, rows, _ = pi.shape
    none, nowhere = np.zeros(count, dtype=bool), np.full((count, rows), -1)
    return Loops(
        pi=pi,
        greedy=nowhere.copy(),
        found=nowhere.copy(),
        since=np.zeros((count, rows), dtype=np.int64),
        n=np.zeros(count, dtype=np.int64),
        mark=np.zeros(count, dtype=np.uint64),
        kept=np.ones(count),
        look=np.full(count, look),
        fixed=none.copy(),
        error=error,
        growth=growth,
        open=np.zeros((count, rows), dtype=np.uint8),
        unsure=none,
        alike=np.repeat(alike[None], count, axis=0),
        rho=pi.copy(),
        listed=np.zeros((count, _LISTED), dtype=np.uint64),
        tied_at=nowhere,
        tied=np.zeros(pi.shape, dtype=bool),
        taken=np.zeros((count, rows), dtype=np.int64),
    )


@inline_kernel
def choose_here(q, weight, error, alike, before, stays, found, is_open):
    """Find the greedy action of each row, -1 where there is no weight. Returns whether a row is
    open.

    The first action that may be the largest is taken. A row is open if another one may be that is
    not known to be alike; with `stays`, what was greedy before is then so again if it may be.
    """
    undecided = False
    for o in range(len(weight)):
        best, is_open[o] = -1, 0
        if weight[o] > FEWEST:
            top = q[o, 0]
            for a in range(1, q.shape[1]):
                top = max(top, q[o, a])
            # Both the largest number and its rival may be off, in opposite directions.
            enough, best = top - 2.0 * error * weight[o], 0
            while q[o, best] < enough:
                best += 1
            for a in range(best + 1, q.shape[1]):
                if q[o, a] >= enough and alike[o, a] != alike[o, best]:
                    is_open[o], undecided = 1, True
                    # Numbers that come closer and closer keep their order more often than not.
                    if stays and before[o] >= 0 and q[o, before[o]] >= enough:
                        best = before[o]
                    break
        found[o] = best
    return undecided


@compile_later
def choose_greedy(n, q, reach, alike, before, stays, found, is_open, tied_at, tied, taken):
    """Choose for Python, and note ties. The numbers of row o are off by at most `reach[o]`, 0 where
    there are none."""
    choose_here(q, reach, 1.0, alike, before, stays, found, is_open)
    note_ties(n, q, reach, 1.0, found, is_open, tied_at, tied, taken)


@inline_kernel
def note_ties(n, q, weight, error, found, is_open, tied_at, tied, taken):
    """Note the open rows that were not open before, with the columns that may be the largest."""
    for o in range(len(weight)):
        if is_open[o] and tied_at[o] < 0:
            tied_at[o], taken[o], top = n, found[o], q[o, 0]
            for a in range(1, q.shape[1]):
                top = max(top, q[o, a])
            for a in range(q.shape[1]):
                tied[o, a] = q[o, a] >= top - 2.0 * error * weight[o]


@inline_kernel
def mark_here(greedy):
    """A number that tells greedy policies apart (FNV-1a)."""
    mark = np.uint64(14695981039346656037)
    for o in range(len(greedy)):
        mark = (mark ^ np.uint64(greedy[o] + 1)) * np.uint64(1099511628211)
    return mark


@compile_later
def mark_of(greedy):
    """`mark_here` for Python."""
    return mark_here(greedy)


@lean_later
def run_loops(
    tables, R, loops, work, same, steps, keeps, first, skips, begin, values, marks
):  # fmt: skip
    """Make an iterate of every loop for each step, and write down values and marks from `begin` on.

    A loop stops where it is fixed. With `skips` it passes over iterates at which greedy is known;
    their values are NaN. `first` is the first `look` after a change of greedy.
    """
    for b in range(len(R)):
        pi, greedy, found, since = loops.pi[b], loops.greedy[b], loops.found[b], loops.since[b]
        is_open, alike, rewards = loops.open[b], loops.alike[b], R[b]
        n, kept = loops.n[b], loops.kept[b]
        while n - begin < len(steps) and not loops.fixed[b]:
            at = n - begin
            values[b, at] = evaluate_here(tables, rewards, pi, work)
            bound = loops.error[b] + loops.growth[b] * n
            # after a full step nothing is left of what was greedy before
            if choose_here(work.q, work.weight, bound, alike, greedy, kept > 0.0, found, is_open):
                note_ties(
                    n, work.q, work.weight, bound, found, is_open,
                    loops.tied_at[b], loops.tied[b], loops.taken[b],
                )  # fmt: skip
                if not loops.unsure[b]:
                    loops.unsure[b] = compare_at_random(
                        tables, rewards, loops.rho[b], bound, alike, greedy, work, found, is_open
                    )
            mark = mark_here(found)
            if mark != loops.mark[b]:
                loops.mark[b], loops.look[b], kept = mark, first, 1.0
                for o in range(len(greedy)):
                    if greedy[o] != found[o]:
                        greedy[o], since[o] = found[o], n
                widen_span(mark, greedy, loops.rho[b], loops.listed[b], alike, same)
            marks[b, at] = mark
            passed, keep = 1, keeps[at]
            if kept * keep <= loops.look[b]:
                stays, sure, leave = look_along(
                    tables, rewards, pi, greedy, bound, alike, work, is_open, True
                )
                if stays:
                    loops.fixed[b] = True
                    loops.unsure[b] |= not sure
                # pi keeps keep^i of itself, and greedy stays while that is more than `leave`;
                # one less, since products are rounded
                elif skips and leave > 0.0 and keep < 1.0:
                    once = keep
                    while passed < len(steps) - at and keep * once * once > leave:
                        values[b, at + passed], marks[b, at + passed] = np.nan, mark
                        keep *= once
                        passed += 1
                # twice as many iterates after a look in vain: looks stay a share of the run
                loops.look[b] = kept * keep * (first if passed > 1 else kept * keep)
            kept *= keep
            for o in range(len(greedy)):
                if greedy[o] >= 0:
                    for a in range(pi.shape[1]):
                        pi[o, a] *= keep
                    pi[o, greedy[o]] += steps[at] if passed == 1 else 1.0 - keep
            n += passed
        loops.n[b], loops.kept[b] = n, kept


@inline_kernel
def compare_at_random(tables, R, rho, error, alike, before, work, found, is_open):
    """Choose again, with actions that are also close at rho counted as tied. Returns whether rows
    are open.

    The difference of two q-values times weight is a polynomial on the policies that the start and
    the greedy policies so far span. If it is zero at a random one of them it is zero on all, but
    for a chance as small as the bound: then actions tie until greedy is new.
    """
    rows, nA = rho.shape
    for o in range(rows):
        work.weight_node[0, o] = work.weight[o]
        for a in range(nA):
            work.q_node[0, o, a] = work.q[o, a]
    evaluate_here(tables, R, rho, work)
    q, weight = work.q_node[0], work.weight_node[0]
    for o in range(rows):
        if is_open[o]:
            top = q[o, 0]
            for a in range(1, nA):
                top = max(top, q[o, a])
            enough, best = top - 2.0 * error * weight[o], 0
            while q[o, best] < enough:
                best += 1
            for a in range(best + 1, nA):
                apart = abs(work.q[o, a] - work.q[o, best])
                if q[o, a] >= enough and apart <= 2.0 * error * work.weight[o]:
                    alike[o, a] = alike[o, best]
    return choose_here(q, weight, error, alike, before, True, found, is_open)


@inline_kernel
def widen_span(mark, greedy, rho, listed, alike, same):
    """Move rho towards a greedy policy that was not met before, and forget what was alike."""
    for i in range(len(listed)):
        if listed[i] == mark:
            return
    for i in range(len(listed) - 1, 0, -1):
        listed[i] = listed[i - 1]
    listed[0] = mark
    share = 0.25 + 0.5 * (mark >> np.uint64(11)) * 2.0**-53  # as good as random
    for o in range(len(greedy)):
        for a in range(rho.shape[1]):
            alike[o, a] = same[o, a]
            if greedy[o] >= 0:
                rho[o, a] *= 1.0 - share
        if greedy[o] >= 0:
            rho[o, greedy[o]] += share


@inline_kernel
def smallest_period(marks, fail):
    """The smallest p with marks[i] == marks[i + p] throughout (Knuth-Morris-Pratt failure
    function). `fail` is room for one number more than there are marks."""
    n = len(marks)
    fail[0] = fail[1] = 0
    k = 0
    for i in range(1, n):
        while k > 0 and marks[i] != marks[k]:
            k = fail[k]
        if marks[i] == marks[k]:
            k += 1
        fail[i + 1] = k
    return n - fail[n]


@inline_kernel
def period_of(marks, settle, fail):
    """The period of the greedy policy, once earlier policies no longer count in pi. It is 0 if
    there is none.

    `settle` steps leave next to nothing of a policy. The end is looked at in two lengths: a short
    one, which is cheap and enough for short periods, and half of all iterates.
    """
    n = len(marks)
    for length in (max(16, 2 * settle), n // 2):
        if settle < length <= n:
            period = smallest_period(marks[n - length :], fail)
            if 1 < period <= min(length - settle, length // 2):
                return period
    return 0


@compile_later
def find_periods(marks, settle, fail, periods):
    """`period_of` for each loop of a batch."""
    for b in range(len(marks)):
        periods[b] = period_of(marks[b], settle, fail)
