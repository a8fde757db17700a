# mypy: disallow-untyped-defs=False
"""Compiled oracle loop for tasks of finite horizon: one pass forward for visits, one backward for
values, one step.

States that are not terminal come in topological order, so that visits flow forward and values back
without solving anything. Actions are in the order in which ties are broken: the first maximum is
the greedy action. States without successors among these (`inner[s] < 0`) are where most outcomes
lie; their q(s, a) is R(s, a) and needs no rows.

Rounding. Visits are sums of products of numbers >= 0, so each is right to a small share of itself;
values are right to a small share of `size`, the largest return. So q(o, a) times the weight of o is
off by at most error * weight[o], where `error` grows with the number of iterates, since pi is
rounded at every step (`horizon.Unrolled`). Two actions closer than that are open; unless they are
known to be alike, the loop stops and asks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.core.kernels import compile_kernel, inline_kernel

FEWEST_VISITS = 1e-250
"""Rows with a smaller weight count as unvisited: products of numbers so small may underflow."""

ASKS, SETTLED, MADE = 0, 1, 2
"""Why `run_loop` came back: a row is open; the policy has settled; all steps were made."""


class LoopTables(NamedTuple):
    """A task of finite horizon as the kernels read it.

    Attributes
    ----------
    mu, entry_ptr, entry_o, entry_prob : start `mu[s]`, and omega(o|s) in compressed rows.
    reward_row, R : R(s, a) = `R[reward_row[s], a]`, equal rows kept once.
    inner, row_ptr, successor, prob : rows of the states that have successors, without those that
        end.
    gamma, carry : discount of values; discount of visits (1 for undiscounted).
    """

    mu: NDArray[np.float64]
    entry_ptr: NDArray[np.int64]
    entry_o: NDArray[np.int64]
    entry_prob: NDArray[np.float64]
    reward_row: NDArray[np.int64]
    R: NDArray[np.float64]
    inner: NDArray[np.int64]
    row_ptr: NDArray[np.int64]
    successor: NDArray[np.int32]
    prob: NDArray[np.float64]
    gamma: float
    carry: float


class LoopRoom(NamedTuple):
    """Arrays to compute in: visits d[s], values v[s], q(s, .) of one state, q(o, a) times weight,
    weight[o]."""

    d: NDArray[np.float64]
    v: NDArray[np.float64]
    own: NDArray[np.float64]
    q: NDArray[np.float64]
    weight: NDArray[np.float64]


class LoopChoice(NamedTuple):
    """The greedy policy, and what is known about ties.

    Attributes
    ----------
    greedy, found : `greedy[o]` of the last iterate and of this one, -1 for unvisited rows.
    open, ask : `open[o]`, whether the bounds leave the row open; `ask[o]`, whether to stop then.
    alike, always, same : `alike[o, a]`, actions with the same entry are equal: as long as greedy is
        one of the policies marked in `allowed`; as long as twins stay twins; and for every policy.
    twins : `twins[o]`, the first row of pi that is equal to row o and has always been.
    changes, changed : rows (iterate, o, action) where greedy changed, and how many there are.
    """

    greedy: NDArray[np.int64]
    found: NDArray[np.int64]
    open: NDArray[np.uint8]
    ask: NDArray[np.uint8]
    alike: NDArray[np.int64]
    always: NDArray[np.int64]
    same: NDArray[np.int64]
    twins: NDArray[np.int64]
    allowed: NDArray[np.uint64]
    changes: NDArray[np.int64]
    changed: NDArray[np.int64]


class LoopState(NamedTuple):
    """Where the loop is: pi; the product of 1 - step since greedy last changed; the mark of greedy;
    how small that product has to be before somebody looks ahead."""

    pi: NDArray[np.float64]
    kept: NDArray[np.float64]
    mark: NDArray[np.uint64]
    settled: NDArray[np.float64]


@inline_kernel
def _dot(x, i, y, j):
    """sum_a x[i, a] y[j, a] with four running sums, so that additions need not wait for one
    another."""
    n = x.shape[1]
    one = two = three = four = 0.0
    whole = n - n % 4
    for a in range(0, whole, 4):
        one += x[i, a] * y[j, a]
        two += x[i, a + 1] * y[j, a + 1]
        three += x[i, a + 2] * y[j, a + 2]
        four += x[i, a + 3] * y[j, a + 3]
    for a in range(whole, n):
        one += x[i, a] * y[j, a]
    return (one + two) + (three + four)


@compile_kernel
def evaluate_policy(tables, pi, room):
    """The value of pi; d, v, and q(o, a) times the weight of o are written to `room`.

    Arrays are indexed in full: a row taken as an array of its own would cost more than the few
    actions of a small task.
    """
    mu, entry_ptr, entry_o, entry_prob = (
        tables.mu,
        tables.entry_ptr,
        tables.entry_o,
        tables.entry_prob,
    )
    reward_row, R, inner, row_ptr = tables.reward_row, tables.R, tables.inner, tables.row_ptr
    successor, prob, gamma, carry = tables.successor, tables.prob, tables.gamma, tables.carry
    d, v, own, q, weight = room.d, room.v, room.own, room.q, room.weight
    n, nA = len(mu), pi.shape[1]
    q[:] = 0.0
    weight[:] = 0.0
    d[:] = mu
    for s in range(n):
        # Nothing flows on from a state whose outcomes all end, nor from one that is not reached.
        if inner[s] < 0 or d[s] == 0.0:
            continue
        first = inner[s] * nA
        for e in range(entry_ptr[s], entry_ptr[s + 1]):
            o = entry_o[e]
            flow = carry * d[s] * entry_prob[e]
            for a in range(nA):
                x = flow * pi[o, a]
                if x != 0.0:
                    for k in range(row_ptr[first + a], row_ptr[first + a + 1]):
                        d[successor[k]] += x * prob[k]
    # Backwards, every successor has its value before it is asked for.
    value = 0.0
    for s in range(n - 1, -1, -1):
        reward = reward_row[s]
        leads_on = inner[s] >= 0
        if leads_on:
            first = inner[s] * nA
            for a in range(nA):
                x = 0.0
                for k in range(row_ptr[first + a], row_ptr[first + a + 1]):
                    x += prob[k] * v[successor[k]]
                own[0, a] = R[reward, a] + gamma * x
        worth = 0.0
        for e in range(entry_ptr[s], entry_ptr[s + 1]):
            o = entry_o[e]
            share = d[s] * entry_prob[e]
            weight[o] += share
            if leads_on:
                worth += entry_prob[e] * _dot(pi, o, own, 0)
                for a in range(nA):
                    q[o, a] += share * own[0, a]
            else:
                worth += entry_prob[e] * _dot(pi, o, R, reward)
                for a in range(nA):
                    q[o, a] += share * R[reward, a]
        v[s] = worth
        value += mu[s] * worth
    return value


@compile_kernel
def choose_greedy(q, weight, error, alike, before, greedy, is_open):
    """`choose_here` for Python."""
    return choose_here(q, weight, error, alike, before, greedy, is_open)


@inline_kernel
def choose_here(q, weight, error, alike, before, greedy, is_open):
    """The greedy action of each row, -1 where there is no weight, and how many rows are open.

    q is off by at most error * weight. The first action that may be the largest is taken; the row
    is open if another one may be that is not known to be alike. Where nobody can tell, what was
    greedy before stays so if it may be: numbers that come closer and closer keep their order more
    often than not.
    """
    undecided = 0
    for o in range(len(weight)):
        best = -1
        is_open[o] = 0
        if weight[o] > FEWEST_VISITS:
            top = q[o, 0]
            for a in range(1, q.shape[1]):
                if q[o, a] > top:
                    top = q[o, a]
            # Both the largest number and its rival may be off, in opposite directions.
            enough = top - 2.0 * error * weight[o]
            best = 0
            while q[o, best] < enough:
                best += 1
            for a in range(best + 1, q.shape[1]):
                if q[o, a] >= enough and alike[o, a] != alike[o, best]:
                    is_open[o] = 1
                    undecided += 1
                    if before[o] >= 0 and q[o, before[o]] >= enough:
                        best = before[o]
                    break
        greedy[o] = best
    return undecided


@compile_kernel
def mark_of(greedy):
    """`mark_here` for Python."""
    return mark_here(greedy)


@inline_kernel
def mark_here(greedy):
    """A number that tells greedy policies apart (FNV-1a)."""
    mark = np.uint64(14695981039346656037)
    for o in range(len(greedy)):
        mark = (mark ^ np.uint64(greedy[o] + 1)) * np.uint64(1099511628211)
    return mark


@compile_kernel
def take_step(state, choice, size, keep, n, fresh):
    """Go from iterate n to the next, towards `choice.found`; `keep` is 1 - size, rounded once: for
    sizes near 1 the difference of floats has few digits."""
    pi, greedy, found = state.pi, choice.greedy, choice.found
    # Most steps go where the last one went: one comparison of marks instead of one for each row.
    mark = mark_here(found)
    if mark != state.mark[0]:
        state.mark[0] = mark
        state.kept[0] = 1.0
        state.settled[0] = fresh
        for o in range(len(greedy)):
            if found[o] != greedy[o]:
                at = choice.changed[0]
                choice.changes[at, 0] = n
                choice.changes[at, 1] = o
                choice.changes[at, 2] = found[o]
                choice.changed[0] += 1
                greedy[o] = found[o]
        known, together = False, True
        for i in range(len(choice.allowed)):
            known = known or choice.allowed[i] == mark
        for o in range(len(found)):
            together = together and found[o] == found[choice.twins[o]]
        for o in range(len(found)):
            if not together:  # rows part that were equal: what rested on that is forgotten
                choice.twins[o] = o
            for a in range(pi.shape[1]):
                if not together:
                    choice.always[o, a] = choice.same[o, a]
                # else pi may leave the policies for which `alike` was proved
                if not (known and together):
                    choice.alike[o, a] = choice.always[o, a]
    state.kept[0] *= keep
    for o in range(len(greedy)):
        best = greedy[o]
        if best >= 0:
            for a in range(pi.shape[1]):
                pi[o, a] *= keep
            pi[o, best] += size
    return mark


@compile_kernel
def run_loop(
    tables, state, choice, room, steps, keeps, begin, age, error, growth, fresh, values, marks
):
    """Iterate from the place `begin` among the steps; `age` iterates were made before the first.

    It ends when the steps are used up, when `kept` is at most `settled` (at most `fresh` once
    greedy has changed), or when a row is open. Returns the place it got to, and why.
    """
    rows = len(choice.greedy)
    for i in range(begin, len(steps)):
        # An iterate may change every row: without room for that, the caller empties the list first.
        if choice.changed[0] + rows > len(choice.changes):
            return i, MADE
        values[i] = evaluate_policy(tables, state.pi, room)
        # pi has been rounded once for each iterate made since the start.
        bound = error + growth * (age + i)
        undecided = choose_here(
            room.q, room.weight, bound, choice.alike, choice.greedy, choice.found, choice.open
        )
        if undecided > 0:
            for o in range(rows):
                if choice.open[o] and choice.ask[o]:
                    return i, ASKS
        marks[i] = take_step(state, choice, steps[i], keeps[i], age + i, fresh)
        if state.kept[0] <= state.settled[0]:
            return i + 1, SETTLED
    return len(steps), MADE


@compile_kernel
def first_doubt(tables, pi, goal, shares, begin, error, alike, before, there, room, found, is_open):
    """The first place from `begin` on at which x pi + (1 - x) goal, x one of the shares, has open
    rows, or a greedy action that is not the goal of its row; `there` is room for a policy."""
    at = begin
    while at < len(shares):
        x = shares[at]
        for o in range(len(goal)):
            share = x if goal[o] >= 0 else 1.0
            for a in range(pi.shape[1]):
                there[o, a] = pi[o, a] * share
            if goal[o] >= 0:
                there[o, goal[o]] += 1.0 - x
        evaluate_policy(tables, there, room)
        doubtful = choose_here(room.q, room.weight, error, alike, before, found, is_open) > 0
        for o in range(len(goal)):
            doubtful = doubtful or (goal[o] >= 0 and found[o] != goal[o])
        if doubtful:
            break
        at += 1
    return at


@compile_kernel
def smallest_period(marks, fail):
    """The smallest p with marks[i] == marks[i + p] throughout (the failure function of Knuth,
    Morris and Pratt); `fail` is room for one number more than there are marks."""
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


@compile_kernel
def period_of(marks, settle, fail):
    """The period that the greedy policy has had for so long that nothing else is left in pi; 0 if
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


@compile_kernel
def levels(indptr, indices, order):
    """The length of the longest path to each node, the nodes being given in topological order."""
    level = np.zeros(len(order), dtype=np.int64)
    for node in order:
        for k in range(indptr[node], indptr[node + 1]):
            level[indices[k]] = max(level[indices[k]], level[node] + 1)
    return level


# ---------------------------------------------------------------------- visits where states come
# back


@compile_kernel
def polish(indptr, indices, data, carry, mu, visited, d, tolerance, sweeps):
    """Gauss-Seidel sweeps, forth and back, on d = mu + carry P^T d, until each entry is right to a
    share of itself.

    Nothing is subtracted, so that errors that are small beside the large entries, but not beside
    the small ones, are replaced by what flows in. States that are not visited are left out: among
    them may be some that never end. Returns by what share an entry still moved, at most; it ends
    early when rounding keeps that from falling.
    """
    n = len(d)
    worst, before = np.inf, np.inf
    for sweep in range(sweeps):
        if sweep % 8 == 0:
            # Eight sweeps that gain less than half are at the level of rounding.
            if worst < 1e-13 and worst > 0.5 * before:
                return worst
            before = worst
        worst = 0.0
        for place in range(n):
            i = place if sweep % 2 == 0 else n - 1 - place
            if not visited[i]:
                d[i] = 0.0
                continue
            total = mu[i]
            stays = 0.0
            for k in range(indptr[i], indptr[i + 1]):
                if indices[k] == i:
                    stays += carry * data[k]
                else:
                    total += carry * data[k] * d[indices[k]]
            # A visited state that is never left has no finite number of visits.
            if not stays < 1.0:
                return np.inf
            total /= 1.0 - stays
            if total != d[i]:
                worst = max(worst, abs(total - d[i]) / max(total, d[i]))
            d[i] = total
        if worst <= tolerance:
            return worst
    return worst


@compile_kernel
def balance_errors(indptr, indices, data, carry, mu, visited, d):
    """The largest share of itself by which an entry of d misses d = mu + carry P^T d."""
    worst = 0.0
    for i in range(len(d)):
        if visited[i]:
            total = mu[i]
            for k in range(indptr[i], indptr[i + 1]):
                total += carry * data[k] * d[indices[k]]
            if not d[i] > 0.0:
                return np.inf
            worst = max(worst, abs(total - d[i]) / d[i])
    return worst


@compile_kernel
def least_slack(indptr, indices, data, carry, counted, b, w):
    """The smallest (w - carry P w)[i] / b[i]: where it is positive, (I - carry P)^-1 b is at most w
    divided by it, since the inverse of an M-matrix has no negative entry."""
    least = np.inf
    for i in range(len(w)):
        if counted[i]:
            total = 0.0
            for k in range(indptr[i], indptr[i + 1]):
                total += carry * data[k] * w[indices[k]]
            # What rounding may have added is taken off: the result has to be a lower bound.
            rounding = 2.3e-16 * (4 + indptr[i + 1] - indptr[i]) * (total + w[i])
            least = min(least, (w[i] - total - rounding) / b[i])
    return least
