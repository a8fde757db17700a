# mypy: disallow-untyped-defs=False
"""Compiled oracle loop on sequence tasks: one observation, L steps, the reward of the sequence of
actions at the end.

States of the product with a deterministic memory are (actions so far, m), layer by layer; `row[s]`
is the place of m among the rows of pi. Columns j of pi are the pairs (a, w) in the order in which
ties are broken, `act[j]` is the a of j.

Along x pi + y tau, x + y = 1, everything is a form in (x, y): the visits of layer t have degree t,
values after a decision there L - t - 1, so that visits times values have degree L - 1 on all rows.
Their coefficients (by powers of x) are sums of products without cancellation. With z = x/y the
difference of two actions is a polynomial in z of degree L - 1 <= 3, and where greedy first leaves
tau on the way from pi (z infinite) to tau (z = 0) is a root of it.

Floats decide by their error bounds. What these leave open is compared modulo two primes
(`residue_kernels`), where pi is replayed from the turns of greedy: equal residues are a tie, and a
coefficient without residue is zero. Where numbers differ by less than floats can tell, what was
greedy before stays so, and the run is marked as unsure: `batch` then asks `improve`.

Rows that change for ever although the policy that the others tend to never visits them do not keep
the loop from having a limit (`improvement.ending`): they stay where they are on the way that is
left, x pi + y pi.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.improvement.loop_kernels import choose_greedy, mark_of, period_of
from workbench.improvement.residue_kernels import (
    LISTED,
    TURNS,
    UNSURE,
    begin_asking,
    break_ties,
    enlist,
    zero_coefficients,
)
from workbench.kernels import compile_kernel, inline_kernel, inner_kernel, paste_kernel

FIXED, CYCLE, BUDGET = 0, 1, 2

_PATIENCE = 3
"""Iterates with the same greedy policy before the rest of the way to it is looked at."""


class SequenceTables(NamedTuple):
    """The product of sequence tasks of one size with a memory.

    Attributes
    ----------
    layer : `layer[t]`, where layer t begins, t = 0, ..., L.
    row, after : the row of pi of each state, and `after[s, j]`, the state after (a, w), for all
        layers but the last.
    prefix : for states of the last layer, the place of (prefix, first action) in the flat table of
        rewards.
    act, actions : the environment's action of column j, and how many there are.
    """

    layer: NDArray[Any]
    row: NDArray[Any]
    after: NDArray[Any]
    prefix: NDArray[Any]
    act: NDArray[Any]
    actions: int


class Room(NamedTuple):
    """What a run writes to: a policy, visits d, values v, q(m, j) times the weight of m, the
    weights, pi(a | m) and the last layer's part of q."""

    pi: NDArray[Any]
    d: NDArray[Any]
    v: NDArray[Any]
    q: NDArray[Any]
    weight: NDArray[Any]
    marginal: NDArray[Any]
    last: NDArray[Any]


class Forms(NamedTuple):
    """What `last_leaving` writes to: coefficients, by powers of x, of visits d, values v, weighted
    Q, its part of the last layer, weights, and one form more; and for each row the largest x at
    which greedy leaves it."""

    d: NDArray[Any]
    v: NDArray[Any]
    Q: NDArray[Any]
    last: NDArray[Any]
    weight: NDArray[Any]
    part: NDArray[Any]
    leaving: NDArray[Any]


@compile_kernel
def evaluate_sequence(tables, r, pi, room):
    """The value of pi; everything else about it is written to the room given."""
    layer, row, after, prefix, act = (
        tables.layer,
        tables.row,
        tables.after,
        tables.prefix,
        tables.act,
    )
    d, v, q, weight = room.d, room.v, room.q, room.weight
    marginal, last, nA = room.marginal, room.last, tables.actions
    final, columns = layer[len(layer) - 2], pi.shape[1]
    d[:] = 0.0
    q[:] = 0.0
    weight[:] = 0.0
    marginal[:] = 0.0
    last[:] = 0.0
    for m in range(pi.shape[0]):
        for j in range(columns):
            marginal[m, act[j]] += pi[m, j]
    d[0] = 1.0
    for s in range(final):
        m = row[s]
        weight[m] += d[s]
        for j in range(columns):
            d[after[s, j]] += d[s] * pi[m, j]
    for s in range(final, len(row)):
        m, first = row[s], prefix[s]
        weight[m] += d[s]
        total = 0.0
        for a in range(nA):
            total += marginal[m, a] * r[first + a]
            last[m, a] += d[s] * r[first + a]
        v[s] = total
    for s in range(final - 1, -1, -1):
        m = row[s]
        total = 0.0
        for j in range(columns):
            x = v[after[s, j]]
            total += pi[m, j] * x
            q[m, j] += d[s] * x
        v[s] = total
    for m in range(pi.shape[0]):
        for j in range(columns):
            q[m, j] += last[m, act[j]]
    return v[0]


@compile_kernel
def mix(pi, greedy, keep):
    """pi becomes keep pi + (1 - keep) greedy on the rows that have a greedy column."""
    for m in range(len(greedy)):
        if greedy[m] >= 0:
            for j in range(pi.shape[1]):
                pi[m, j] *= keep
            pi[m, greedy[m]] += 1.0 - keep


# ---------------------------------------------------------------------- the rest of the way


@compile_kernel
def last_violation(c0, c1, c2, strict, slack):
    """The largest z > 0 with c0 + c1 z + c2 z^2 < 0 (strict: <= 0) as a limit from above; 0 if
    there is none.

    The signs of the coefficients are right; the discriminant may be off by `slack`, and where that
    leaves open whether there are roots, there are."""
    if c2 < 0.0:
        return math.inf
    if c2 == 0.0:
        if c1 < 0.0 or (c1 == 0.0 and (c0 < 0.0 or (strict and c0 == 0.0))):
            return math.inf
        return -c0 / c1 if c0 < 0.0 else 0.0
    inside = c1 * c1 - 4.0 * c2 * c0
    if inside < -slack or (inside <= 0.0 and (slack == 0.0 and (inside < 0.0 or not strict))):
        return 0.0
    inside = max(inside, 0.0)
    # of the two forms of the larger root, the one that does not cancel
    root = (
        -2.0 * c0 / (c1 + math.sqrt(inside)) if c1 > 0.0 else (math.sqrt(inside) - c1) / (2.0 * c2)
    )
    return max(root, 0.0)


@compile_kernel
def last_violation_of_cubic(c0, c1, c2, c3, strict, slack):
    """The same for c0 + c1 z + c2 z^2 + c3 z^3, c3 not 0, by the two places where it turns; a
    coefficient may be off by `slack`."""
    if c3 < 0.0:
        return math.inf
    inside = c2 * c2 - 3.0 * c1 * c3
    low, high = 0.0, 0.0  # it rises, falls between the turns if there are two, and rises again
    if inside > 0.0:
        root = math.sqrt(inside)
        low, high = (-c2 - root) / (3.0 * c3), (-c2 + root) / (3.0 * c3)
    at_high = c0 + high * (c1 + high * (c2 + high * c3))
    unsure = slack * (1.0 + high * (1.0 + high * (1.0 + high)))
    if high > 0.0 and (at_high < unsure or (strict and at_high <= unsure)):
        begin, end = high, max(1.0, 2.0 * high)
        while c0 + end * (c1 + end * (c2 + end * c3)) <= 0.0:
            end *= 2.0
    elif c0 < 0.0:
        begin, end = 0.0, low if low > 0.0 else 1.0
        while c0 + end * (c1 + end * (c2 + end * c3)) <= 0.0:
            end *= 2.0
    else:
        return 0.0
    for _ in range(200):
        middle = 0.5 * (begin + end)
        if middle in (begin, end):
            break
        if c0 + middle * (c1 + middle * (c2 + middle * c3)) <= 0.0:
            begin = middle
        else:
            end = middle
    return end


@compile_kernel
def last_leaving(tables, r, pi, tau, n, error, whole, near, alike, forms, ask):
    """The largest share x of pi, x pi + (1-x) tau, at which greedy is not tau on a row that has
    one, or more than that; pi is that of iterate n.

    A coefficient is off by at most `error` times that of the weight; one that may be zero counts as
    the least that it may be. Which are zero is asked where greedy would otherwise stay tau down to
    x = `near` at least. `whole`: rewards are whole numbers.
    """
    fill_forms(tables, r, pi, tau, forms)
    asked = False
    while True:
        sure, worst = last_change(tables, tau, error, whole, alike, forms, ask.coefficients, asked)
        if asked or worst == sure or sure >= near:
            return worst
        zero_coefficients(tables, r, tau, n, ask)
        asked = True


@paste_kernel
def fill_forms(tables, r, pi, tau, forms):
    """The coefficients of visits, values, weights and q(m, j) times weight on the way to tau."""
    layer, row, after, prefix, act = (
        tables.layer,
        tables.row,
        tables.after,
        tables.prefix,
        tables.act,
    )
    d, v, Q, last, weight = forms.d, forms.v, forms.Q, forms.last, forms.weight
    part, nA = forms.part, tables.actions
    L, columns = len(layer) - 1, pi.shape[1]
    d[:] = 0.0
    v[:] = 0.0
    Q[:] = 0.0
    last[:] = 0.0
    weight[:] = 0.0
    d[0, 0] = 1.0
    for t in range(L):
        for s in range(layer[t], layer[t + 1]):
            m = row[s]
            part[:] = 0.0
            for i in range(t + 1):
                part[i] = d[s, i]
            for degree in range(t, L - 1):  # times x + y
                for i in range(degree + 1, 0, -1):
                    part[i] += part[i - 1]
            for i in range(L):
                weight[m, i] += part[i]
            if t == L - 1:
                first = prefix[s]
                total = 0.0
                for j in range(columns):
                    total += pi[m, j] * r[first + act[j]]
                v[s, 1] = total
                v[s, 0] = r[first + act[tau[m]]] if tau[m] >= 0 else total
                for a in range(nA):
                    for i in range(L):
                        last[m, a, i] += d[s, i] * r[first + a]
                continue
            for j in range(columns):
                s_next = after[s, j]
                for i in range(t + 1):
                    x = d[s, i] * pi[m, j]
                    d[s_next, i + 1] += x
                    if tau[m] < 0:
                        d[s_next, i] += x
            if tau[m] >= 0:
                for i in range(t + 1):
                    d[after[s, tau[m]], i] += d[s, i]
    for t in range(L - 2, -1, -1):
        for s in range(layer[t], layer[t + 1]):
            m = row[s]
            for j in range(columns):
                s_next = after[s, j]
                for i in range(L - t):
                    x = pi[m, j] * v[s_next, i]
                    v[s, i + 1] += x
                    if tau[m] < 0:
                        v[s, i] += x
                    for h in range(t + 1):
                        if h + i < L:
                            Q[m, j, h + i] += d[s, h] * v[s_next, i]
            if tau[m] >= 0:
                for i in range(L - t):
                    v[s, i] += v[after[s, tau[m]], i]


@inner_kernel
def last_change(tables, tau, error, whole, alike, forms, coefficients, asked):
    """The largest x of the differences whose coefficients are all known, and of all of them; with
    `asked`, `coefficients` say which are zero."""
    Q, last, weight, part, act = forms.Q, forms.last, forms.weight, forms.part, tables.act
    leaving = forms.leaving
    L, columns = len(tables.layer) - 1, Q.shape[1]
    sure, worst = 0.0, 0.0
    for m in range(len(tau)):
        best = tau[m]
        leaving[m] = 0.0
        if best < 0:
            continue
        for j in range(columns):
            if j == best or alike[m, j] == alike[m, best]:
                continue
            part[:] = 0.0
            off, is_sure = 0.0, True
            for i in range(L):
                x = Q[m, best, i] + last[m, act[best], i] - Q[m, j, i] - last[m, act[j], i]
                if weight[m, i] == 0.0:
                    continue
                # tau alone makes sums of a few rewards, and whole numbers are added as they are
                bound = 0.0 if whole and i == 0 else 2.0 * error * weight[m, i]
                if abs(x) > bound:
                    part[i] = x
                    off = max(off, bound)
                elif bound > 0.0 and not (asked and _is_zero(coefficients, m, best, j, i)):
                    part[i] = -bound
                    off = max(off, bound)
                    is_sure = False
            if part[3] == 0.0:
                # how far the discriminant may be off
                slack = 2.0 * off * (abs(part[1]) + 2.0 * abs(part[0]) + 2.0 * abs(part[2]) + off)
                z = last_violation(part[0], part[1], part[2], j < best, slack)
            else:
                z = last_violation_of_cubic(part[0], part[1], part[2], part[3], j < best, off)
            x = 1.0 if z == math.inf else z / (1.0 + z)
            leaving[m] = max(leaving[m], x)
            worst = max(worst, x)
            if is_sure:
                sure = max(sure, x)
    return sure, worst


@inline_kernel
def _is_zero(c, m, best, j, i):
    return c[0, m, best, i] == c[0, m, j, i] and c[1, m, best, i] == c[1, m, j, i]


# ---------------------------------------------------------------------- one run


@inner_kernel
def reached(tables, tau):
    """The place in the table of rewards of the sequence that a deterministic policy makes; -1 if it
    comes to a row without an action."""
    s = 0
    for _ in range(len(tables.layer) - 2):
        if tau[tables.row[s]] < 0:
            return -1
        s = tables.after[s, tau[tables.row[s]]]
    last = tau[tables.row[s]]
    return tables.prefix[s] + tables.act[last] if last >= 0 else -1


@paste_kernel
def settled_rows(since, n, plan, greedy, goal):
    """`goal[m]` becomes greedy on rows that have settled, -1 on others; whether there are both."""
    moving = 0
    for m in range(len(goal)):
        goal[m] = greedy[m]
        if (1.0 - plan.step) ** (n - since[m]) > plan.long_since:
            goal[m] = -1
            moving += 1
    return 0 < moving < len(goal)


@paste_kernel
def run_one(tables, r, plan, room, forms, ask, places, marks, fail, out, row_out):
    """One loop from the uniform policy. Writes (value, amplitude) to `out` and (ended, sequence,
    iterates) to `row_out`; `places` is room for four numbers in each row of pi."""
    pi, q, weight = room.pi, room.q, room.weight
    greedy, found, since, goal = places[0], places[1], places[2], places[3]
    step, budget = plan.step, plan.budget
    pi[:] = 1.0 / pi.shape[1]
    keep = 1.0 - step
    near = keep ** (4 * _PATIENCE)
    counts, turn_n, turn_greedy, alike = ask.counts, ask.turn_n, ask.turn_greedy, ask.alike
    n = np.int64(0)  # a plain 0 would have kernels compiled for it alone
    look_for_cycles, next_analysis, stays, mark = plan.first_look, 0, 0, np.uint64(0)
    low, high, value, total, period = math.inf, -math.inf, 0.0, 0.0, 0
    closing, until = (
        0,
        budget - plan.window,
    )  # closing: 1 once a period has been seen, 2 in the last window
    size, whole = 0.0, True
    for i in range(len(r)):
        size = max(size, abs(r[i]))
        whole = whole and r[i] == math.floor(r[i])
    # so small that at the start sums over all ways through the task are not rounded
    whole = whole and size * float(pi.shape[1]) ** (len(tables.layer) - 1) < 2.0**53
    greedy[:] = -1
    since[:] = 0
    begin_asking(ask)
    while True:
        error = size * (plan.error + plan.growth * n)
        known = plan.at_start if n == 0 else alike
        exactly = n == 0 and whole  # q times a power of the number of columns, in whole numbers
        if exactly:
            pi[:] = 1.0
            error = 0.0
        value = evaluate_sequence(tables, r, pi, room)  # of no use at the start
        if exactly:
            pi[:] = 1.0 / pi.shape[1]
        undecided = choose_greedy(q, weight, error, known, greedy, found, ask.open)
        # whole numbers that are equal are a tie, of which the first is greedy; a loop that is
        # unsure already will have to be run again
        if undecided > 0 and error > 0.0 and counts[UNSURE] == 0:
            break_ties(tables, r, q, weight, error, n, greedy, found, ask)
            if counts[UNSURE] > 0:  # a look or two at where it goes
                budget = min(budget, n + 1 + plan.unsure_for)
                if closing == 0:
                    until = max(n + 1, budget - plan.window)
                elif closing == 2:
                    until = budget
        before, mark = mark, mark_of(found)
        if mark == before:
            stays += 1
        else:
            for m in range(len(greedy)):
                if greedy[m] != found[m]:
                    greedy[m], since[m] = found[m], n
            stays = 0
            at = counts[TURNS]
            turn_n[at] = n
            for m in range(len(greedy)):
                turn_greedy[at, m] = greedy[m]
            counts[TURNS] = at + 1
            if counts[LISTED] > 0:
                enlist(ask, greedy, mark)
        if closing > 0:
            low, high, total = min(low, value), max(high, value), total + value
        if closing != 1 and stays >= _PATIENCE and n >= next_analysis:
            end = reached(tables, greedy)
            x = 1.0
            if end >= 0:
                x = last_leaving(tables, r, pi, greedy, n, error, whole, near, alike, forms, ask)
            if x == 0.0:
                row_out[0], row_out[1], row_out[2] = FIXED, end, n + 1
                out[0], out[1] = r[end], 0.0
                return
            safe = 0
            if closing == 0 and x < 1.0:
                safe = min(
                    int(math.log(x) / math.log1p(-step)) - 1, min(until, look_for_cycles) - n - 1
                )
            if safe > 0:  # greedy at these iterates without looking
                mix(pi, greedy, keep**safe)
                marks[n : n + safe] = mark
                n += safe
            next_analysis = n + 2 * _PATIENCE
            if safe > 0:
                continue
        if n < len(marks):
            marks[n] = mark
        mix(pi, greedy, keep)
        n += 1
        look = closing == 0 and n == look_for_cycles
        if (look or n == budget) and settled_rows(since, n, plan, greedy, goal):
            error = size * (plan.error + plan.growth * n)
            for _ in range(plan.most_looks):
                end = reached(tables, goal)
                if end < 0:
                    break
                x = last_leaving(tables, r, pi, goal, n, error, whole, near, ask.always, forms, ask)
                if x == 0.0:
                    row_out[0], row_out[1], row_out[2] = FIXED, end, n
                    out[0], out[1] = r[end], 0.0
                    return
                for m in range(len(goal)):  # the rows that leave first count as changing
                    if goal[m] >= 0 and forms.leaving[m] == x:
                        goal[m] = -1
        if look:
            look_for_cycles = look_for_cycles * 3 // 2
            period = period_of(marks[:n], plan.settle, fail)
            if period > 0 and n + period <= budget:
                closing, until = 1, n + period
        if n == until:
            if closing == 0:
                closing, until = 2, budget
            else:
                row_out[0], row_out[1], row_out[2] = (CYCLE if closing == 1 else BUDGET), -1, n
                out[0] = total / period if closing == 1 else value
                out[1] = high - low
                return


@compile_kernel
def run_many(tables, rewards, plan, room, forms, ask, places, marks, fail, out, how):
    """`run_one` for each row of `rewards`; `how` also gets whether a row was decided by what was
    greedy before."""
    for i in range(len(rewards)):
        run_one(tables, rewards[i], plan, room, forms, ask, places, marks, fail, out[i], how[i])
        how[i, 3] = ask.counts[UNSURE]


# ---------------------------------------------------------------------- stochastic policies


@compile_kernel
def climb(tables, r, pi, steps, room):
    """pi(j|m) <- pi(j|m) q(m, j) / sum: with rewards of at least 0 the value never falls (Baum and
    Eagon). The value."""
    q = room.q
    value = -math.inf
    for _ in range(steps):
        now = evaluate_sequence(tables, r, pi, room)
        if now <= value + 1e-11 * abs(now):
            return now
        value = now
        for m in range(pi.shape[0]):
            total = 0.0
            for j in range(pi.shape[1]):
                total += pi[m, j] * q[m, j]
            if total > 0.0:
                for j in range(pi.shape[1]):
                    pi[m, j] *= q[m, j] / total
    return evaluate_sequence(tables, r, pi, room)


@compile_kernel
def climb_many(tables, rewards, starts, steps, room, best):
    """For each task the best value found from all starts; rewards are shifted so that the least is
    0."""
    pi = room.pi
    for i in range(len(rewards)):
        least = rewards[i].min()
        shifted = rewards[i] - least
        best[i] = -math.inf
        for k in range(len(starts)):
            pi[:] = starts[k]
            best[i] = max(best[i], climb(tables, shifted, pi, steps, room) + least)
