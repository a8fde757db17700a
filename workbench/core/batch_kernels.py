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

Greedy sees differences between rewards alone: a run reads them less the least one, and in a power
of two as their unit (`normalise_rewards`), so that what it does depends neither on a constant that
is added to all nor on the unit.

Floats decide by their error bounds. What these leave open is compared modulo a prime
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

from workbench.core.kernels import (
    compile_kernel,
    inline_kernel,
    lean_entry,
    lean_inline_kernel,
    lean_kernel,
    paste_kernel,
)
from workbench.core.loop_kernels import choose_here, mark_here, period_of
from workbench.core.residue_kernels import (
    LISTED,
    TURNS,
    UNSURE,
    begin_asking,
    break_ties,
    enlist,
    find_coefficients,
)

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
    only : the one state of each row of pi, if it is in the last layer, else -1.
    act, actions : the environment's action of column j, and how many there are.
    """

    layer: NDArray[Any]
    row: NDArray[Any]
    after: NDArray[Any]
    prefix: NDArray[Any]
    only: NDArray[Any]
    act: NDArray[Any]
    actions: int


class Room(NamedTuple):
    """What a run writes to: rewards less the least, a policy, visits d, values v, q(m, j) times the
    weight of m, the weights, pi(a | m) and the last layer's part of q."""

    r: NDArray[Any]
    pi: NDArray[Any]
    d: NDArray[Any]
    v: NDArray[Any]
    q: NDArray[Any]
    weight: NDArray[Any]
    marginal: NDArray[Any]
    last: NDArray[Any]


class Forms(NamedTuple):
    """What `last_leaving` writes to: coefficients, by powers of x, of visits d, values v, weighted
    Q, its part of the last layer, weights, and one form more; for each row the largest x at which
    greedy leaves it; bounds on the errors of a row's coefficients, and those of the greedy
    column."""

    d: NDArray[Any]
    v: NDArray[Any]
    Q: NDArray[Any]
    last: NDArray[Any]
    weight: NDArray[Any]
    part: NDArray[Any]
    leaving: NDArray[Any]
    bound: NDArray[Any]
    top: NDArray[Any]


@compile_kernel
def evaluate_sequence(tables, r, pi, room):
    """The value of pi; everything else about it is written to the room given."""
    return evaluate_here(tables, r, pi, room)


@inline_kernel
def evaluate_here(tables, r, pi, room):
    """The same, written into the kernel that asks.

    There are a few dozen numbers in a small task: a call, an array that is filled at once, or a
    look at whether places are counted from the end cost as much as they do.
    """
    layer, row, after, prefix, act = (
        tables.layer,
        tables.row,
        tables.after,
        tables.prefix,
        tables.act,
    )
    d, v, q, weight = room.d, room.v, room.q, room.weight
    marginal, last, nA = room.marginal, room.last, tables.actions
    final, rows, columns = layer[len(layer) - 2], pi.shape[0], pi.shape[1]
    for s in range(1, len(d)):
        d[s] = 0.0
    for m in range(rows):
        weight[m] = 0.0
        for a in range(nA):
            marginal[m, a] = 0.0
            last[m, a] = 0.0
        for j in range(columns):
            q[m, j] = 0.0
            # a place that cannot be negative is not looked at for whether it is
            marginal[m, np.uint64(act[j])] += pi[m, j]
    d[0] = 1.0
    for s in range(final):
        m, visits = np.uint64(row[s]), d[s]
        weight[m] += visits
        for j in range(columns):
            d[np.uint64(after[s, j])] += visits * pi[m, j]
    # writes after the last action change nothing: there the few actions do for the many columns
    for s in range(final, len(row)):
        m, first, visits = np.uint64(row[s]), prefix[s], d[s]
        weight[m] += visits
        total = 0.0
        for a in range(nA):
            total += marginal[m, a] * r[first + a]
            last[m, a] += visits * r[first + a]
        v[s] = total
    for s in range(final - 1, -1, -1):
        m, visits = np.uint64(row[s]), d[s]
        total = 0.0
        for j in range(columns):
            x = v[np.uint64(after[s, j])]
            total += pi[m, j] * x
            q[m, j] += visits * x
        v[s] = total
    for m in range(rows):
        for j in range(columns):
            q[m, j] += last[m, np.uint64(act[j])]
    return v[0]


@inline_kernel
def mix(pi, greedy, keep):
    """pi becomes keep pi + (1 - keep) greedy on the rows that have a greedy column."""
    for m in range(len(greedy)):
        if greedy[m] >= 0:
            for j in range(pi.shape[1]):
                pi[m, j] *= keep
            pi[m, greedy[m]] += 1.0 - keep


# ---------------------------------------------------------------------- the rest of the way


@paste_kernel
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
    # a double root is touched, not crossed: it counts where equality is a violation, or may be one
    if inside < -slack or (inside <= 0.0 and (slack == 0.0 and (inside < 0.0 or not strict))):
        return 0.0
    inside = max(inside, 0.0)
    # of the two forms of the larger root, the one that does not cancel
    root = (
        -2.0 * c0 / (c1 + math.sqrt(inside)) if c1 > 0.0 else (math.sqrt(inside) - c1) / (2.0 * c2)
    )
    return max(root, 0.0)


@paste_kernel
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
    # the last root lies beyond the second turn if the value there is not surely positive, else
    # before the first turn if it begins below zero
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
    # halving needs no derivative, which may vanish at the root; it ends between two floats
    for _ in range(200):
        middle = 0.5 * (begin + end)
        if middle in (begin, end):
            break
        if c0 + middle * (c1 + middle * (c2 + middle * c3)) <= 0.0:
            begin = middle
        else:
            end = middle
    return end


@paste_kernel
def last_leaving(tables, r, given, pi, tau, n, error, whole, near, alike, forms, ask):
    """The largest share x of pi, x pi + (1-x) tau, at which greedy is not tau on a row that has
    one, or more than that; the largest at which that is sure; and whether it was asked which
    coefficients are zero. pi is that of iterate n, r are the rewards `given`, normalised.

    A coefficient is off by at most `error` times that of the weight; one that may be zero counts as
    the least that it may be. Which are zero is asked where greedy would otherwise stay tau down to
    x = `near` at least. `whole`: rewards are whole numbers.
    """
    is_open, coefficients = ask.open, ask.coefficients
    asks, sure, worst = False, 0.0, 1.0
    for _ in range(2):  # one call, for two with constants would be compiled as two kernels
        sure, worst = look_along(
            tables, r, pi, tau, error, whole, alike, forms, is_open, coefficients, asks
        )
        if asks or worst == sure or sure >= near:
            break
        find_coefficients(tables, given, tau, n, ask)
        asks = True
    return worst, sure, asks


@lean_kernel
def look_along(tables, r, pi, tau, error, whole, alike, forms, is_open, coefficients, asked):
    """`last_change` on the way from pi to tau; with `asked` its forms are there."""
    if not asked:
        fill_forms(tables, r, pi, tau, forms)
    return last_change(tables, tau, error, whole, alike, forms, is_open, coefficients, asked)


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
    L, (rows, columns) = len(layer) - 1, pi.shape
    for s in range(len(row)):
        for i in range(L + 1):
            d[s, i] = 0.0
            v[s, i] = 0.0
    for m in range(rows):
        for i in range(L):
            weight[m, i] = 0.0
            for a in range(nA):
                last[m, i, a] = 0.0
            for j in range(columns):
                Q[m, i, j] = 0.0
    d[0, 0] = 1.0
    for t in range(L):
        for s in range(layer[t], layer[t + 1]):
            m = np.uint64(row[s])
            best = tau[m]
            for i in range(L):
                part[i] = d[s, i] if i <= t else 0.0
            for degree in range(t, L - 1):  # times x + y
                for i in range(degree + 1, 0, -1):
                    part[i] += part[i - 1]
            for i in range(L):
                weight[m, i] += part[i]  # all layers in one degree, so that they can be added
            if t == L - 1:
                first = prefix[s]
                total = 0.0
                for j in range(columns):
                    total += pi[m, j] * r[first + act[j]]
                v[s, 1] = total
                v[s, 0] = r[first + act[best]] if best >= 0 else total
                for i in range(L):
                    x = d[s, i]
                    if x != 0.0:  # tau alone leads to few states
                        for a in range(nA):
                            last[m, i, a] += x * r[first + a]
                continue
            for i in range(t + 1):
                y = d[s, i]
                if y == 0.0:
                    continue
                for j in range(columns):
                    s_next = np.uint64(after[s, j])
                    x = y * pi[m, j]
                    d[s_next, i + 1] += x
                    if best < 0:  # a row without tau stays as it is: (x + y) pi
                        d[s_next, i] += x
                if best >= 0:
                    d[after[s, best], i] += y
    for t in range(L - 2, -1, -1):
        for s in range(layer[t], layer[t + 1]):
            m = np.uint64(row[s])
            best = tau[m]
            for i in range(L - t):
                into, here = 0.0, 0.0
                for j in range(columns):
                    into += pi[m, j] * v[np.uint64(after[s, j]), i]
                here = v[after[s, best], i] if best >= 0 else into
                v[s, i + 1] += into
                v[s, i] += here
                for h in range(t + 1):
                    x = d[s, h]
                    if x != 0.0:
                        for j in range(columns):
                            Q[m, h + i, j] += x * v[np.uint64(after[s, j]), i]


@paste_kernel
def last_change(tables, tau, error, whole, alike, forms, is_open, coefficients, asked):
    """The largest x of the differences whose coefficients are all known, and of all of them; with
    `asked`, `coefficients` say which are zero, else rows with others are marked as open."""
    Q, last, weight, part, act = forms.Q, forms.last, forms.weight, forms.part, tables.act
    leaving, bound, top = forms.leaving, forms.bound, forms.top
    L, columns = len(tables.layer) - 1, Q.shape[2]
    sure, worst = 0.0, 0.0
    for m in range(len(tau)):
        whole = whole and tau[m] >= 0  # rows that stay as they are have shares, not whole numbers
    for m in range(len(tau)):
        best = tau[m]
        leaving[m] = 0.0
        if not asked:
            is_open[m] = 0
        if best < 0:
            continue
        for i in range(L):
            # tau alone makes sums of a few rewards, and whole numbers are added as they are
            bound[i] = 0.0 if whole and i == 0 else 2.0 * error * weight[m, i]
            top[i] = Q[m, i, best] + last[m, i, act[best]]
        for j in range(columns):
            if j == best or alike[m, j] == alike[m, best]:
                continue
            stays = True
            for i in range(L):
                stays = stays and top[i] - Q[m, i, j] - last[m, i, np.uint64(act[j])] > bound[i]
            if stays:  # as a rule all coefficients are positive, and there is nothing to look for
                continue
            for i in range(4):
                part[i] = 0.0
            off, is_sure = 0.0, True
            for i in range(L):
                x = top[i] - Q[m, i, j] - last[m, i, act[j]]
                if weight[m, i] == 0.0:  # nothing comes there in this degree, without any error
                    continue
                if abs(x) > bound[i]:
                    part[i] = x
                    off = max(off, bound[i])
                elif bound[i] > 0.0 and not (asked and _is_zero(coefficients, m, best, j, i)):
                    part[i] = -bound[i]  # the worst that it may be: greedy leaves too early at most
                    off = max(off, bound[i])
                    is_sure = False
                    if not asked:
                        is_open[m] = 1
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
    return c[m, best, i] == c[m, j, i]


# ---------------------------------------------------------------------- one run


@lean_kernel
def reached(tables, tau):
    """The place in the table of rewards of the sequence that a deterministic policy makes; -1 if it
    comes to a row without an action."""
    s, action = 0, tau[tables.row[0]]
    for _ in range(len(tables.layer) - 2):
        if action >= 0:
            s = tables.after[s, action]
            action = tau[tables.row[s]]
    return tables.prefix[s] + tables.act[action] if action >= 0 else -1


EVALUATE, ACCEPT, STEP = range(3)
"""What comes next in an iterate: its q-values; what is greedy on them is in `found`; the step."""

OPEN, LOOK, STOPPED = range(3)
"""Why `follow_sequence` came back: rows are open; the rest of the way is to be looked at; it was
told to."""

_N, _STAYS, _STOP, _NEXT, _CLOSING = range(5)
_VALUE, _LOW, _HIGH, _TOTAL = range(4)


class SequenceProgress(NamedTuple):
    """Where a run is.

    Attributes
    ----------
    greedy, found, since, goal : for each row its greedy column, that of the iterate at hand, the
        iterate at which it changed last, and the end of the way that is looked at.
    places : the iterate; for how long greedy has been the same; the iterate to stop at, and the
        first at which the way that is left is looked at; what the run is `closing` with: 0, 1 once
        a period has been seen, 2 in the last window.
    tally : the value; when closing, the least and the largest, and the sum.
    mark : of greedy; marks : of greedy at all iterates.
    """

    greedy: NDArray[Any]
    found: NDArray[Any]
    since: NDArray[Any]
    goal: NDArray[Any]
    places: NDArray[Any]
    tally: NDArray[Any]
    mark: NDArray[Any]
    marks: NDArray[Any]


@lean_inline_kernel
def follow_sequence(tables, r, plan, size, room, ask, now, phase):
    """Iterate after iterate, from some phase of the present one, until somebody has to look."""
    pi, q, weight, alike, is_open, counts = (
        room.pi,
        room.q,
        room.weight,
        ask.alike,
        ask.open,
        ask.counts,
    )
    greedy, found, since, places, tally = now.greedy, now.found, now.since, now.places, now.tally
    marks, last, keep = now.marks, now.mark, plan.keep
    n, why = places[_N], -1
    while why < 0:
        if phase == EVALUATE:
            tally[_VALUE] = evaluate_here(tables, r, pi, room)
            error = size * (plan.error + plan.growth * n)
            undecided = choose_here(q, weight, error, alike, greedy, found, is_open)
            # a loop that is unsure already will have to be run again
            if undecided > 0 and error > 0.0 and counts[UNSURE] == 0:
                why = OPEN
        if why < 0 and phase <= ACCEPT:
            mark = mark_here(found)
            if mark == last[0]:
                places[_STAYS] += 1
            else:
                last[0] = mark
                places[_STAYS] = 0
                at = counts[TURNS]
                ask.turn_n[at] = n
                for m in range(len(greedy)):
                    if greedy[m] != found[m]:
                        greedy[m], since[m] = found[m], n
                    ask.turn_greedy[at, m] = found[m]
                counts[TURNS] = at + 1
                if counts[LISTED] > 0:
                    enlist(ask, greedy, mark)
            closing = places[_CLOSING]
            if closing > 0:
                tally[_LOW] = min(tally[_LOW], tally[_VALUE])
                tally[_HIGH] = max(tally[_HIGH], tally[_VALUE])
                tally[_TOTAL] += tally[_VALUE]
            if closing != 1 and places[_STAYS] >= _PATIENCE and n >= places[_NEXT]:
                why = LOOK
        if why < 0:
            if n < len(marks):
                marks[n] = last[0]
            mix(pi, greedy, keep)
            n += 1
            phase = EVALUATE
            if n == places[_STOP]:
                why = STOPPED
    places[_N] = n
    return why


@paste_kernel
def normalise_rewards(given, ways, r):
    """Write the rewards `given` less the least to r, in a power of two as their unit.

    Returns that least one in the unit, its exponent, the largest entry of r, and whether r is
    exact, in whole numbers (of a smaller unit) whose sums over so many ways are not rounded.
    """
    low, high = given[0], given[0]
    for i in range(1, len(given)):
        low, high = min(low, given[i]), max(high, given[i])
    _, exponent = math.frexp(max(-low, high))  # the largest reward: nothing overflows
    least, size, whole = math.ldexp(low, -exponent), 0.0, True
    for i in range(len(given)):
        x = math.ldexp(given[i], -exponent)
        r[i] = x - least
        size = max(size, r[i])
        # nothing fell below the least float, and the difference is a float (Dekker 1971)
        whole = whole and math.ldexp(x, exponent) == given[i]
        whole = whole and x - r[i] == least and r[i] + least == x
    _, digits = math.frexp(size * ways)
    grains = math.ldexp(1.0, 53 - digits)
    for i in range(len(given)):
        whole = whole and r[i] * grains == math.floor(r[i] * grains)
    return least, exponent, size, whole


@lean_inline_kernel
def begin_sequence(tables, given, plan, room, ask, now):
    """Normalise the rewards and choose greedy at the uniform policy: what `normalise_rewards` says,
    and whether rows are open."""
    pi, columns = room.pi, room.pi.shape[1]
    ways = float(columns) ** (len(tables.layer) - 1)
    least, exponent, size, whole = normalise_rewards(given, ways, room.r)
    begin_asking(ask)
    for m in range(len(now.greedy)):
        now.greedy[m] = -1
        now.since[m] = 0
        for j in range(columns):
            # q times a power of the number of columns, in whole numbers
            pi[m, j] = 1.0 if whole else 1.0 / columns
    now.mark[0] = np.uint64(0)
    now.tally[_VALUE] = evaluate_here(tables, room.r, pi, room)
    error = 0.0 if whole else size * plan.error
    undecided = choose_here(
        room.q, room.weight, error, plan.at_start, now.greedy, now.found, ask.open
    )
    for m in range(len(now.greedy)):
        for j in range(columns):
            pi[m, j] = 1.0 / columns
    # whole numbers that are equal are a tie, of which the first is greedy
    return least, exponent, size, whole, undecided > 0 and error > 0.0


@paste_kernel
def settled_rows(since, n, plan, greedy, goal):
    """`goal[m]` becomes greedy on rows that have settled, -1 on others; whether there are both."""
    moving = 0
    for m in range(len(goal)):
        goal[m] = greedy[m]
        if plan.keep ** (n - since[m]) > plan.long_since:
            goal[m] = -1
            moving += 1
    return 0 < moving < len(goal)


@paste_kernel
def run_one(tables, given, plan, room, forms, ask, now, fail, out, row_out):
    """One loop from the uniform policy. Writes (value, amplitude) to `out` and (ended, sequence,
    iterates) to `row_out`."""
    r, pi, q, weight, counts, alike = (
        room.r,
        room.pi,
        room.q,
        room.weight,
        ask.counts,
        ask.alike,
    )
    greedy, found, goal, places, tally = now.greedy, now.found, now.goal, now.places, now.tally
    step, budget, window = plan.step, plan.budget, plan.window
    keep = plan.keep
    near = keep ** (4 * _PATIENCE)
    look_for_cycles, until, period, vain = plan.first_look, budget - window, 0, 0
    places[:] = 0
    tally[_LOW], tally[_HIGH], tally[_TOTAL] = math.inf, -math.inf, 0.0
    least, exponent, size, whole, is_open = begin_sequence(tables, given, plan, room, ask, now)
    why, phase = OPEN if is_open else -1, ACCEPT
    while True:
        if why < 0:
            closing = places[_CLOSING]
            places[_STOP] = min(until, budget)
            if closing == 0:
                places[_STOP] = min(places[_STOP], look_for_cycles)
            why = follow_sequence(tables, r, plan, size, room, ask, now, phase)
        n, closing = places[_N], places[_CLOSING]
        error = size * (plan.error + plan.growth * n)
        if why == OPEN:
            break_ties(tables, given, q, weight, error, n, greedy, found, ask)
            if counts[UNSURE] > 0:  # a look or two at where it goes
                budget = min(budget, n + 1 + plan.unsure_for)
                if closing == 0:
                    until = max(n + 1, budget - window)
                elif closing == 2:
                    until = budget
            why, phase = -1, ACCEPT
        elif why == LOOK:
            why, phase = -1, STEP
            end = reached(tables, greedy)
            x, asked = 1.0, False
            if end >= 0:
                x, _, asked = last_leaving(
                    tables, r, given, pi, greedy, n, error, whole, near, alike, forms, ask
                )
            if x == 0.0:
                row_out[0], row_out[1], row_out[2] = FIXED, end, n + 1
                out[0], out[1] = given[end], 0.0
                return
            safe = 0
            if closing == 0 and x < 1.0:
                # pi keeps (1-step)^n of itself, greedy stays while that exceeds x; one less, since
                # the logarithms are rounded
                safe = min(
                    int(math.log(x) / math.log1p(-step)) - 1, min(until, look_for_cycles) - n - 1
                )
            if safe > 0:  # greedy at these iterates without looking
                mix(pi, greedy, keep**safe)
                for i in range(n, n + safe):
                    now.marks[i] = now.mark[0]
                n += safe
                places[_N] = n
                phase = EVALUATE
            # what was asked in vain is asked again later and later
            vain = min(vain + 1, 6) if asked and safe <= 0 else 0
            places[_NEXT] = n + (2 * _PATIENCE << vain)
        else:
            why, phase = -1, EVALUATE
            look, doubtful = closing == 0 and n == look_for_cycles, False
            if (look or n == budget) and settled_rows(now.since, n, plan, greedy, goal):
                for _ in range(plan.most_looks):
                    end = reached(tables, goal)
                    if end < 0:
                        break
                    x, sure, _ = last_leaving(
                        tables, r, given, pi, goal, n, error, whole, near, ask.always, forms, ask
                    )
                    if x == 0.0:
                        row_out[0], row_out[1], row_out[2] = FIXED, end, n
                        out[0], out[1] = given[end], 0.0
                        return
                    # a limit that only bounds on errors are in the way of
                    doubtful = doubtful or sure == 0.0
                    for m in range(len(goal)):  # the rows that leave first count as changing
                        if goal[m] >= 0 and forms.leaving[m] == x:
                            goal[m] = -1
            if look:
                # farther and farther apart: all looks together cost a few times what the last does
                look_for_cycles = look_for_cycles * 3 // 2
                period = period_of(now.marks[:n], plan.settle, fail)
                if period > 0 and n + period <= budget:
                    places[_CLOSING], until = 1, n + period
                    if doubtful:
                        counts[UNSURE] = 1
            if n == until:
                if closing == 0 and places[_CLOSING] == 0:
                    places[_CLOSING], until = 2, budget
                elif closing > 0:
                    row_out[0], row_out[1], row_out[2] = (CYCLE if closing == 1 else BUDGET), -1, n
                    value = tally[_TOTAL] / period if closing == 1 else tally[_VALUE]
                    out[0] = math.ldexp(least + value, exponent)
                    out[1] = math.ldexp(tally[_HIGH] - tally[_LOW], exponent)
                    return


@lean_entry
def run_many(tables, rewards, plan, room, forms, ask, now, fail, out, how):
    """`run_one` for each row of `rewards`; `how` also gets whether a row was decided by what was
    greedy before."""
    for i in range(len(rewards)):
        run_one(tables, rewards[i], plan, room, forms, ask, now, fail, out[i], how[i])
        how[i, 3] = ask.counts[UNSURE]


# ---------------------------------------------------------------------- stochastic policies


@compile_kernel
def climb(tables, r, pi, steps, room):
    """pi(j|m) <- pi(j|m) q(m, j) / sum: with rewards of at least 0 the value never falls (Baum and
    Eagon). The value."""
    q = room.q
    value = -math.inf
    for _ in range(steps):
        now = evaluate_here(tables, r, pi, room)
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
