# mypy: disallow-untyped-defs=False
"""The oracle loop on sequence tasks modulo a prime of 58 bits, compiled: which q-values are equal,
and which coefficients are zero.

Rewards are floats, and so whole numbers times powers of two; the step is a fraction, and pi_n comes
from the turns of greedy: all have residues. Numbers with different residues are different: that is
a proof. Numbers with equal residues are taken to be equal. Times columns^(L-1) and a power of two
their difference is a whole number N at the start, so that |N| < p makes this a proof there; later N
is long, and p divides one that is not zero about three times in 10^18. `decision` asks fractions as
well.

A tie outlives its iterate if it holds on all policies pi_n + sum_i c_i (tau_i - pi_n) that the
greedy policies tau_i of late span, to which the loop keeps as long as greedy is one of them. A
point of these is (1-x_1) ... (1-x_h) pi_n + ... + x_h tau_h, and the difference a polynomial of
degree (L-1) h at most in the x_i; if it is not zero, it vanishes at random x_i modulo p with
probability (L-1) h / 2^58 (Schwartz and Zippel).

p = 2^58 - 27: modulo p a bit from 2^58 on counts 27 times as many places below, which is cheaper
than a division, and unlike those of a Mersenne prime the powers of two, of which floats are made,
do not come back to 1 soon.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.core.kernels import inline_kernel, lean_kernel, paste_kernel
from workbench.core.loop_kernels import mark_here
from workbench.core.modular_kernels import upper_part

PRIME = 2**58 - 27

_P, _BITS, _MASK, _REST = np.uint64(PRIME), np.uint64(58), np.uint64(2**58 - 1), np.uint64(27)

_ZERO, _ONE = np.uint64(0), np.uint64(1)

_LEAST_POWER = -1126
_POWERS = np.array([pow(2, e, PRIME) for e in range(_LEAST_POWER, 972)], dtype=np.uint64)
"""The powers of two that 53 bits of a float are multiplied by, from `_LEAST_POWER` on."""

TURNS, SYNCED, PLACE, LISTED, UNSURE, ASKED = range(6)
"""Places in `BatchAsk.counts`."""

MOST_LISTED = 12
"""Ties are proved to last on what at most so many greedy policies span."""


class BatchPlan(NamedTuple):
    """What all loops of a batch have in common.

    Attributes
    ----------
    step, keep, budget, window, first_look, settle : of the loop, 1 - step (rounded once: the
        difference of floats has few digits for steps near 1), and of the search for its end.
    unsure_for : how many iterates, at least 1, a loop goes on after floats could not tell.
    error, growth : with rewards up to 1, q after n steps is off by at most error + n growth.
    alike, at_start : `alike[m, j]`, columns with the same entry do the same; and those that have
        equal q-values under the uniform policy, whatever the rewards.
    long_since, most_looks : what is left of a row that has settled; how often rows that do not
        matter are left out before a look for a limit is given up.
    """

    step: float
    keep: float
    budget: int
    window: int
    first_look: int
    settle: int
    unsure_for: int
    error: float
    growth: float
    alike: NDArray[np.int64]
    at_start: NDArray[np.int64]
    long_since: float
    most_looks: int


class BatchAsk(NamedTuple):
    """Room to decide what floats leave open.

    Attributes
    ----------
    keep, share : residues of 1 - step and of 1 / columns.
    inverse : `inverse[i, h]`, from values at the places 0, ..., L - 1 to coefficients.
    counts : how often greedy changed; the iterate of `pi`, -1 if there is none, and the turn that
        comes next; how many greedy policies are listed; whether a row was decided by what was
        greedy before; how far it was asked which columns are equal for ever: 1 for rewards, 2.
    turn_n, turn_greedy : when greedy changed, and to what.
    marks, taus : the greedy policies listed. draw : the state of a random generator.
    same : columns that are equal for ever whatever the rewards.
    alike, always : those known to be equal as long as greedy is listed, and for ever.
    open : the rows in question. pi, point : the loop's policy, and the one in question.
    scale : what is left of each row of a policy. q, coefficients : of the rows in question.
    """

    keep: NDArray[np.uint64]
    share: NDArray[np.uint64]
    inverse: NDArray[np.uint64]
    counts: NDArray[np.int64]
    turn_n: NDArray[np.int64]
    turn_greedy: NDArray[np.int64]
    marks: NDArray[np.uint64]
    taus: NDArray[np.int64]
    draw: NDArray[np.uint64]
    same: NDArray[np.int64]
    alike: NDArray[np.int64]
    always: NDArray[np.int64]
    open: NDArray[np.uint8]
    pi: NDArray[np.uint64]
    point: NDArray[np.uint64]
    scale: NDArray[np.uint64]
    rewards: NDArray[np.uint64]
    d: NDArray[np.uint64]
    v: NDArray[np.uint64]
    marginal: NDArray[np.uint64]
    last: NDArray[np.uint64]
    q: NDArray[np.uint64]
    coefficients: NDArray[np.uint64]


_upper_part = upper_part(58)


@inline_kernel
def _times(x, y):
    """x y modulo p, for x, y < p."""
    # below 2^58 + 27 2^58 < 2^63, and then below 2^58 + 27 2^5
    found = ((x * y) & _MASK) + _REST * _upper_part(x, y)
    found = (found & _MASK) + _REST * (found >> _BITS)
    return found - _P if found >= _P else found


@inline_kernel
def _plus(x, y):
    found = x + y
    return found - _P if found >= _P else found


@inline_kernel
def _less(x):
    """1 - x."""
    return _plus(_ONE, _P - x) if x > _ZERO else _ONE


@inline_kernel
def power(x, n):
    """x^n modulo p."""
    found = _ONE
    while n > 0:
        if n & 1:
            found = _times(found, x)
        x = _times(x, x)
        n >>= 1
    return found


@inline_kernel
def residue(x):
    """A float modulo p: its 53 bits, times a power of two."""
    size = abs(x)
    # 2^53: whole numbers below it are their own residues, without a table
    if size < 9007199254740992.0 and size == math.floor(size):
        found = np.uint64(size)
    else:
        mantissa, exponent = math.frexp(size)
        whole = np.uint64(mantissa * 9007199254740992.0)
        found = _times(whole, _POWERS[exponent - 53 - _LEAST_POWER])
    return _P - found if x < 0 and found > _ZERO else found


@inline_kernel
def _copy(table, found):
    for m in range(table.shape[0]):
        for j in range(table.shape[1]):
            found[m, j] = table[m, j]


@paste_kernel
def begin_asking(ask):
    """Forget the last run."""
    if ask.counts[ASKED] > 0:
        _copy(ask.same, ask.always)
    ask.counts[:] = 0
    ask.counts[SYNCED] = -1  # most loops never ask, and have no residues made of their rewards
    # every run draws the same: what it finds does not depend on its neighbours in the batch
    ask.draw[0] = np.uint64(88172645463325252)
    _know_nothing(ask)


@inline_kernel
def _know_nothing(ask):
    _copy(ask.always, ask.alike)


@inline_kernel
def enlist(ask, greedy, mark):
    """Put a greedy policy on the list; what was known is then known for fewer policies.

    Rows that are not visited do not move with the others: all policies of a list have the same.
    """
    count, is_new = ask.counts[LISTED], True
    for i in range(count):
        is_new = is_new and ask.marks[i] != mark
    if is_new:
        if count == MOST_LISTED:  # a loop that has been to so many will not come back to the first
            count = 0
        for m in range(len(greedy)):
            if count > 0 and (greedy[m] < 0) != (ask.taus[0, m] < 0):
                count = 0
        for m in range(len(greedy)):
            ask.taus[count, m] = greedy[m]
        ask.marks[count] = mark
        ask.counts[LISTED] = count + 1
        _know_nothing(ask)


@inline_kernel
def _read_rewards(r, ask):
    for i in range(len(r)):
        ask.rewards[i] = residue(r[i])


@inline_kernel
def _draw(ask):
    """A random residue: of a linear congruential generator (Knuth's MMIX) the upper bits."""
    ask.draw[0] = ask.draw[0] * np.uint64(6364136223846793005) + np.uint64(1442695040888963407)
    return (ask.draw[0] >> np.uint64(6)) % _P


@paste_kernel
def _replay(r, n, ask):
    """Bring `ask.pi` up to iterate n, and the rewards with it."""
    pi, added, scale, counts = ask.pi, ask.point, ask.scale, ask.counts
    rows, columns = pi.shape
    if counts[SYNCED] < 0:
        for m in range(rows):
            for j in range(columns):
                pi[m, j] = ask.share[0]
        if counts[ASKED] < 2:
            _read_rewards(r, ask)
        counts[SYNCED] = 0
    for m in range(rows):
        scale[m] = _ONE
        for j in range(columns):
            added[m, j] = _ZERO
    # From the last turn back it is known what later ones leave of an earlier one's step: all but
    # the column that a turn goes to are multiplied once, and not once for each turn.
    end = n
    for t in range(counts[TURNS] - 1, counts[PLACE] - 1, -1):
        first = max(ask.turn_n[t], counts[SYNCED])
        x = power(ask.keep[0], end - first)
        rest = _less(x)
        for m in range(rows):
            g = ask.turn_greedy[t, m]
            if g >= 0:
                added[m, g] = _plus(added[m, g], _times(scale[m], rest))
                scale[m] = _times(scale[m], x)
        end = first
    _spread(pi, scale, added, pi)
    counts[PLACE] = max(counts[TURNS] - 1, 0)  # the last turn goes on after n
    counts[SYNCED] = n


@inline_kernel
def _spread(pi, scale, added, found):
    """`found` becomes scale pi + added."""
    for m in range(pi.shape[0]):
        for j in range(pi.shape[1]):
            found[m, j] = _plus(_times(pi[m, j], scale[m]), added[m, j])


@lean_kernel
def evaluate_residues(tables, ask):
    """q(m, j) times the weight of m for the policy `ask.point` on open rows, in `ask.q`."""
    layer, row, after = tables.layer, tables.row, tables.after
    prefix, act, nA = tables.prefix, tables.act, tables.actions
    pi, r, d, v, q, last, marginal, is_open = (
        ask.point,
        ask.rewards,
        ask.d,
        ask.v,
        ask.q,
        ask.last,
        ask.marginal,
        ask.open,
    )
    final, (rows, columns) = layer[len(layer) - 2], pi.shape
    for s in range(len(row)):
        d[s] = _ZERO
    for m in range(rows):
        for a in range(nA):
            marginal[m, a] = _ZERO
            last[m, a] = _ZERO
        for j in range(columns):
            marginal[m, act[j]] = _plus(marginal[m, act[j]], pi[m, j])
            q[m, j] = _ZERO
    d[0] = _ONE
    for s in range(final):
        m = row[s]
        for j in range(columns):
            s_next = after[s, j]
            d[s_next] = _plus(d[s_next], _times(d[s], pi[m, j]))
    for s in range(final, len(row)):
        m, first = row[s], prefix[s]
        total = _ZERO
        for a in range(nA):
            total = _plus(total, _times(marginal[m, a], r[first + a]))
        v[s] = total
        # unlike floats, products of residues take time: rows that nobody asks about are left out
        if is_open[m]:
            for a in range(nA):
                last[m, a] = _plus(last[m, a], _times(d[s], r[first + a]))
    for s in range(final - 1, -1, -1):
        m = row[s]
        total = _ZERO
        for j in range(columns):
            total = _plus(total, _times(pi[m, j], v[after[s, j]]))
        v[s] = total
        if is_open[m]:
            for j in range(columns):
                q[m, j] = _plus(q[m, j], _times(d[s], v[after[s, j]]))
    for m in range(rows):
        if is_open[m]:
            for j in range(columns):
                q[m, j] = _plus(q[m, j], last[m, act[j]])


@lean_kernel
def _towards(r, n, tau, h, ask):
    """`ask.point` becomes x pi_n + (1 - x) tau with x = h; rows without tau stay."""
    if h == 0:  # the places are gone through in a row, from the same pi
        _replay(r, n, ask)
    x = np.uint64(h)
    rest = _less(x)
    for m in range(len(tau)):
        share = x if tau[m] >= 0 else _ONE
        for j in range(ask.pi.shape[1]):
            ask.point[m, j] = _times(ask.pi[m, j], share)
        if tau[m] >= 0:
            ask.point[m, tau[m]] = _plus(ask.point[m, tau[m]], rest)


@paste_kernel
def _to_a_random_point(ask):
    """`ask.point` becomes one of the policies that pi and those listed span."""
    point, taus = ask.point, ask.taus
    rows, columns = point.shape
    for m in range(rows):
        for j in range(columns):
            point[m, j] = _ZERO
    left = _ONE
    # shares x_1, (1-x_1) x_2, ...: they sum to one whatever is drawn, modulo p as well
    for i in range(ask.counts[LISTED]):
        x = _draw(ask)
        share = _times(left, x)
        left = _times(left, _less(x))
        for m in range(rows):
            if taus[i, m] >= 0:
                point[m, taus[i, m]] = _plus(point[m, taus[i, m]], share)
    for m in range(rows):
        ask.scale[m] = left if taus[0, m] >= 0 else _ONE
    _spread(ask.pi, ask.scale, point, point)


@inline_kernel
def _are_equal(m, enough, q, first, ask):
    """Whether all columns of a row that may be the largest have the residue of one of them."""
    equal = True
    for j in range(q.shape[1]):
        equal = equal and (q[m, j] < enough or ask.q[m, j] == ask.q[m, first])
    return equal


@inline_kernel
def _enough(m, q, weight, error):
    """What q times weight has to be at least to be the largest of a row, perhaps."""
    top = q[m, 0]
    for j in range(1, q.shape[1]):
        top = max(top, q[m, j])
    return top - 2.0 * error * weight[m]  # both may be off, in opposite directions


@paste_kernel
def break_ties(tables, r, q, weight, error, n, before, greedy, ask):
    """Decide the open rows of iterate n.

    Equal columns are a tie, and the first is greedy. Among others what was greedy before stays so
    if it may be, else the first is; the loop is marked as unsure. Ties that hold on all that the
    listed policies span, pi among them, are remembered; as a rule all do, and pi itself need not be
    looked at. A loop that asks again is told which columns are equal for ever.
    """
    ask.counts[ASKED] = max(ask.counts[ASKED], 1)
    if _take_known(tables, r, q, weight, error, greedy, ask):
        return
    if ask.counts[ASKED] == 1 and ask.counts[LISTED] > 0:  # most loops ask once
        _to_any_policy(r, ask)
        evaluate_residues(tables, ask)
        _join_for_ever(ask)
        if _take_known(tables, r, q, weight, error, greedy, ask):
            return
    _go_there(r, q, weight, error, n, greedy, ask)
    evaluate_residues(tables, ask)
    if not _remember(q, weight, error, greedy, ask):
        _to_pi(ask)
        evaluate_residues(tables, ask)
        _keep_what_differs(q, weight, error, before, greedy, ask)


@lean_kernel
def _to_any_policy(r, ask):
    """`ask.point` becomes a random policy, and all rows are in question."""
    _read_rewards(r, ask)
    point, last = ask.point, ask.point.shape[1] - 1
    for m in range(point.shape[0]):
        total = _ZERO
        for j in range(last):
            point[m, j] = _draw(ask)
            total = _plus(total, point[m, j])
        # probabilities need not lie in [0, 1] here: identities do not ask
        point[m, last] = _less(total)
        ask.open[m] |= 2  # besides those that are open


@lean_kernel
def _join_for_ever(ask):
    """Columns that are equal at a random policy are equal at all: their difference is a polynomial
    of degree L - 1 at most in the probabilities (Schwartz and Zippel)."""
    q, always, alike = ask.q, ask.always, ask.alike
    for m in range(q.shape[0]):
        ask.open[m] &= 1
        for j in range(q.shape[1]):
            k = 0
            while q[m, k] != q[m, j]:
                k += 1
            always[m, j] = always[m, k]
            alike[m, j] = always[m, j]
    ask.counts[ASKED] = 2


@lean_kernel
def _take_known(tables, r, q, weight, error, greedy, ask):
    """Decide the open rows whose largest columns are known to be equal; whether these are all.

    Columns of a row that is seen in one last state only are equal for ever if their rewards are.
    """
    always, alike, act = ask.always, ask.alike, tables.act
    all_known = True
    for m in range(len(greedy)):
        if ask.open[m]:
            enough, first, known = _enough(m, q, weight, error), -1, True
            for j in range(q.shape[1]):
                if q[m, j] >= enough:
                    if first < 0:
                        first = j
                    if alike[m, j] != alike[m, first]:
                        # compared as they are given, without any arithmetic
                        only = tables.only[m]
                        pays = tables.prefix[only] if only >= 0 else 0
                        if only >= 0 and r[pays + act[j]] == r[pays + act[first]]:
                            always[m, j] = always[m, first]
                            alike[m, j] = alike[m, first]
                        else:
                            known = False
            if known:
                greedy[m] = first
                ask.open[m] = 0
            else:
                all_known = False
    return all_known


@lean_kernel
def _go_there(r, q, weight, error, n, greedy, ask):
    """List greedy, and go to a random policy of those that are spanned then."""
    _replay(r, n, ask)
    _take_first(q, weight, error, greedy, ask)
    _to_a_random_point(ask)


@paste_kernel
def _take_first(q, weight, error, greedy, ask):
    """The first column that may be the largest is greedy on open rows, and greedy is listed."""
    for m in range(len(greedy)):
        if ask.open[m]:
            enough, j = _enough(m, q, weight, error), 0
            while q[m, j] < enough:
                j += 1
            greedy[m] = j
    enlist(ask, greedy, mark_here(greedy))


@lean_kernel
def _to_pi(ask):
    _copy(ask.pi, ask.point)


@lean_kernel
def _keep_what_differs(q, weight, error, before, greedy, ask):
    """Open rows whose columns are not all equal keep what was greedy before, if it may be."""
    differs = False
    for m in range(len(greedy)):
        if ask.open[m]:
            enough = _enough(m, q, weight, error)
            if not _are_equal(m, enough, q, greedy[m], ask):
                ask.counts[UNSURE] = 1
                if before[m] >= 0 and q[m, before[m]] >= enough and before[m] != greedy[m]:
                    greedy[m] = before[m]
                    differs = True
    if differs:  # what was remembered was about another greedy policy
        _know_nothing(ask)


@lean_kernel
def _remember(q, weight, error, greedy, ask):
    """Remember the ties of open rows that hold at a random point of what the listed policies span,
    greedy among them; whether all do."""
    all_hold = True
    for m in range(len(greedy)):
        if ask.open[m]:
            enough = _enough(m, q, weight, error)
            # only what may be the largest is compared: what is less now is told by floats
            if _are_equal(m, enough, q, greedy[m], ask):
                for j in range(q.shape[1]):
                    if q[m, j] >= enough:
                        ask.alike[m, j] = ask.alike[m, greedy[m]]
            else:
                all_hold = False
    if not all_hold and ask.counts[LISTED] > 1:
        # greedy policies of long ago may be in the way: fewer span less, on which the ties that
        # were found hold all the more
        for m in range(len(greedy)):
            ask.taus[0, m] = greedy[m]
        ask.marks[0] = mark_here(greedy)
        ask.counts[LISTED] = 1
    return all_hold


@paste_kernel
def find_coefficients(tables, r, tau, n, ask):
    """The coefficients of q(m, j) times weight along x pi_n + (1-x) tau on open rows, in
    `ask.coefficients`.

    q = sum_i c_i x^i (1-x)^(L-1-i), so its values at x = 0, ..., L - 1 say what the c_i are.
    """
    for h in range(len(tables.layer) - 1):
        _towards(r, n, tau, h, ask)
        evaluate_residues(tables, ask)
        _add_place(h, ask)


@lean_kernel
def _add_place(h, ask):
    """Add what the values at x = h say to the coefficients."""
    q, coefficients, inverse = ask.q, ask.coefficients, ask.inverse
    for m in range(q.shape[0]):
        if ask.open[m]:
            for j in range(q.shape[1]):
                for i in range(len(inverse)):
                    part = _times(inverse[i, h], q[m, j])
                    if h > 0:
                        part = _plus(part, coefficients[m, j, i])
                    coefficients[m, j, i] = part
