# mypy: disallow-untyped-defs=False
"""The oracle loop on sequence tasks modulo two primes, compiled: which q-values are equal, and
which coefficients are zero.

Rewards are floats, and so whole numbers times powers of two; the step is a fraction, and pi_n comes
from the turns of greedy: all have residues. Numbers with different residues are different: that is
a proof. Numbers with equal residues are taken to be equal. Times columns^(L-1) and a power of two
their difference is a whole number N at the start, so that |N| < p_1 p_2 = 2^62 makes this a proof
there; later N is long, and two primes of 31 bits divide one that is not zero about once in 10^18
times. `decision` asks fractions as well.

A tie outlives its iterate if it holds on all policies pi_n + sum_i c_i (tau_i - pi_n) that the
greedy policies tau_i of late span, to which the loop keeps as long as greedy is one of them. A
point of these is (1-x_1) ... (1-x_h) pi_n + ... + x_h tau_h, and the difference a polynomial of
degree (L-1) h at most in the x_i; if it is not zero, it vanishes at random x_i modulo both primes
with probability ((L-1) h)^2 / 2^62 (Schwartz and Zippel).
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.improvement.loop_kernels import mark_of
from workbench.kernels import compile_kernel, inline_kernel, inner_kernel, paste_kernel

PRIMES = (2_147_483_647, 2_147_483_629)
"""The two largest primes below 2^31; as constants, so that no division is needed to reduce."""

_ONE, _TWO = np.uint64(PRIMES[0]), np.uint64(PRIMES[1])

TURNS, SYNCED, PLACE, LISTED, UNSURE = range(5)
"""Places in `BatchAsk.counts`."""

MOST_LISTED = 12
"""Ties are proved to last on what at most so many greedy policies span."""


class BatchPlan(NamedTuple):
    """What all loops of a batch have in common.

    Attributes
    ----------
    step, budget, window, first_look, settle : of the loop, and of the search for its end.
    unsure_for : how many iterates, at least 1, a loop goes on after floats could not tell.
    error, growth : with rewards up to 1, q after n steps is off by at most error + n growth.
    alike, at_start : `alike[m, j]`, columns with the same entry do the same; and those that have
        equal q-values under the uniform policy, whatever the rewards.
    long_since, most_looks : what is left of a row that has settled; how often rows that do not
        matter are left out before a look for a limit is given up.
    """

    step: float
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
    """Room to decide what floats leave open. Residues are in arrays `x[k, ...]`, k the prime.

    Attributes
    ----------
    keep, share : residues of 1 - step and of 1 / columns.
    inverse : `inverse[k, i, h]`, from values at the places 0, ..., L - 1 to coefficients.
    counts : how often greedy changed; the iterate of `pi`, -1 if there is none, and the turn that
        comes next; how many greedy policies are listed; whether a row was decided by what was
        greedy before.
    turn_n, turn_greedy : when greedy changed, and to what.
    marks, taus : the greedy policies listed. draw : the state of a random generator.
    alike, always : columns known to be equal as long as greedy is listed, and for ever.
    pi, point : the loop's policy, and the one in question.
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
    alike: NDArray[np.int64]
    always: NDArray[np.int64]
    open: NDArray[np.uint8]
    pi: NDArray[np.uint64]
    point: NDArray[np.uint64]
    rewards: NDArray[np.uint64]
    d: NDArray[np.uint64]
    v: NDArray[np.uint64]
    marginal: NDArray[np.uint64]
    last: NDArray[np.uint64]
    q: NDArray[np.uint64]
    coefficients: NDArray[np.uint64]


@inline_kernel
def _reduced(x, k):
    return x % _ONE if k == 0 else x % _TWO


@inline_kernel
def _less(x, k):
    """1 - x."""
    return _reduced((_ONE if k == 0 else _TWO) + np.uint64(1) - x, k)


@compile_kernel
def power(x, n, k):
    """x^n modulo prime k."""
    found = np.uint64(1)
    while n > 0:
        if n & 1:
            found = _reduced(found * x, k)
        x = _reduced(x * x, k)
        n >>= 1
    return found


@compile_kernel
def residue(x, k):
    """A float modulo prime k: its 53 bits, times a power of two."""
    size = abs(x)
    if size < 9007199254740992.0 and size == math.floor(size):
        found = _reduced(np.uint64(size), k)
    else:
        mantissa, exponent = math.frexp(size)
        whole = _reduced(np.uint64(mantissa * 9007199254740992.0), k)
        exponent -= 53
        prime = _ONE if k == 0 else _TWO
        two = np.uint64(2) if exponent >= 0 else (prime + np.uint64(1)) // np.uint64(2)
        found = _reduced(whole * power(two, np.int64(abs(exponent)), k), k)
    return _less(found + np.uint64(1), k) if x < 0 else found


@paste_kernel
def begin_asking(ask):
    """Forget the last run."""
    ask.counts[:] = 0
    ask.counts[SYNCED] = -1
    ask.draw[0] = np.uint64(88172645463325252)
    _know_nothing(ask)


@inner_kernel
def _know_nothing(ask):
    for m in range(ask.alike.shape[0]):
        for j in range(ask.alike.shape[1]):
            ask.alike[m, j] = ask.always[m, j]


@inner_kernel
def enlist(ask, greedy, mark):
    """Put a greedy policy on the list; what was known is then known for fewer policies.

    Rows that are not visited do not move with the others: all policies of a list have the same.
    """
    count = ask.counts[LISTED]
    for i in range(count):
        if ask.marks[i] == mark:
            return
    if count == MOST_LISTED:
        count = 0
    for m in range(len(greedy)):
        if count > 0 and (greedy[m] < 0) != (ask.taus[0, m] < 0):
            count = 0
    for m in range(len(greedy)):
        ask.taus[count, m] = greedy[m]
    ask.marks[count] = mark
    ask.counts[LISTED] = count + 1
    _know_nothing(ask)


@inner_kernel
def _replay(r, n, ask):
    """Bring `ask.pi` up to iterate n, and the rewards with it."""
    rows, columns = ask.pi.shape[1], ask.pi.shape[2]
    if ask.counts[SYNCED] < 0:
        for k in range(2):
            for m in range(rows):
                for j in range(columns):
                    ask.pi[k, m, j] = ask.share[k]
            for i in range(len(r)):
                ask.rewards[k, i] = residue(r[i], k)
        ask.counts[SYNCED] = 0
    t, turns = ask.counts[PLACE], ask.counts[TURNS]
    while t < turns:
        first = max(ask.turn_n[t], ask.counts[SYNCED])
        end = ask.turn_n[t + 1] if t + 1 < turns else n
        for k in range(2):
            x = power(ask.keep[k], end - first, k)
            for m in range(rows):
                g = ask.turn_greedy[t, m]
                if g >= 0:
                    for j in range(columns):
                        ask.pi[k, m, j] = _reduced(ask.pi[k, m, j] * x, k)
                    ask.pi[k, m, g] = _reduced(ask.pi[k, m, g] + _less(x, k), k)
        if t + 1 == turns:
            break
        t += 1
    ask.counts[PLACE] = t
    ask.counts[SYNCED] = n


@inner_kernel
def evaluate_residues(tables, k, ask):
    """q(m, j) times the weight of m for the policy `ask.point[k]`, in `ask.q[k]`."""
    layer, row, after = tables.layer, tables.row, tables.after
    prefix, act, nA = tables.prefix, tables.act, tables.actions
    pi, r, d, v, q, last, marginal = (
        ask.point,
        ask.rewards,
        ask.d,
        ask.v,
        ask.q,
        ask.last,
        ask.marginal,
    )
    final, rows, columns = layer[len(layer) - 2], pi.shape[1], pi.shape[2]
    d[:] = np.uint64(0)
    for m in range(rows):
        for a in range(nA):
            marginal[m, a] = np.uint64(0)
            last[m, a] = np.uint64(0)
        for j in range(columns):
            q[k, m, j] = np.uint64(0)
            marginal[m, act[j]] += pi[k, m, j]
        for a in range(nA):
            marginal[m, a] = _reduced(marginal[m, a], k)
    d[0] = np.uint64(1)
    for s in range(final):
        m = row[s]
        for j in range(columns):
            s_next = after[s, j]
            d[s_next] = _reduced(d[s_next] + d[s] * pi[k, m, j], k)
    for s in range(final, len(row)):
        m, first = row[s], prefix[s]
        total = np.uint64(0)
        for a in range(nA):
            total = _reduced(total + marginal[m, a] * r[k, first + a], k)
            last[m, a] = _reduced(last[m, a] + d[s] * r[k, first + a], k)
        v[s] = total
    for s in range(final - 1, -1, -1):
        m = row[s]
        total = np.uint64(0)
        for j in range(columns):
            x = v[after[s, j]]
            total = _reduced(total + pi[k, m, j] * x, k)
            q[k, m, j] = _reduced(q[k, m, j] + d[s] * x, k)
        v[s] = total
    for m in range(rows):
        for j in range(columns):
            q[k, m, j] = _reduced(q[k, m, j] + last[m, act[j]], k)


@inner_kernel
def _towards(tau, x, k, ask):
    """`ask.point[k]` becomes x pi + (1 - x) tau; rows without tau stay."""
    rest = _less(x, k)
    for m in range(len(tau)):
        for j in range(ask.pi.shape[2]):
            ask.point[k, m, j] = ask.pi[k, m, j]
            if tau[m] >= 0:
                ask.point[k, m, j] = _reduced(ask.pi[k, m, j] * x, k)
        if tau[m] >= 0:
            ask.point[k, m, tau[m]] = _reduced(ask.point[k, m, tau[m]] + rest, k)


@paste_kernel
def _to_a_random_point(ask):
    """`ask.point` becomes one of the policies that pi and those listed span."""
    count, rows, columns = ask.counts[LISTED], ask.pi.shape[1], ask.pi.shape[2]
    for k in range(2):
        for m in range(rows):
            for j in range(columns):
                ask.point[k, m, j] = ask.pi[k, m, j]
        for i in range(count):
            # a linear congruential generator (Knuth's MMIX), of which the upper bits are taken
            ask.draw[0] = ask.draw[0] * np.uint64(6364136223846793005) + np.uint64(
                1442695040888963407
            )
            x = _reduced(ask.draw[0] >> np.uint64(20), k)
            rest = _less(x, k)
            for m in range(rows):
                if ask.taus[i, m] >= 0:
                    for j in range(columns):
                        ask.point[k, m, j] = _reduced(ask.point[k, m, j] * rest, k)
                    at = ask.taus[i, m]
                    ask.point[k, m, at] = _reduced(ask.point[k, m, at] + x, k)


@inner_kernel
def _are_equal(m, enough, q, first, ask):
    """Whether all columns of a row that may be the largest have the residues of one of them."""
    for j in range(q.shape[1]):
        if q[m, j] >= enough:
            for k in range(2):
                if ask.q[k, m, j] != ask.q[k, m, first]:
                    return False
    return True


@inner_kernel
def _enough(m, q, weight, error):
    """What q times weight has to be at least to be the largest of a row, perhaps."""
    top = q[m, 0]
    for j in range(1, q.shape[1]):
        top = max(top, q[m, j])
    return top - 2.0 * error * weight[m]


@paste_kernel
def break_ties(tables, r, q, weight, error, n, before, greedy, ask):
    """Decide the open rows of iterate n.

    Equal columns are a tie, and the first is greedy. Among others what was greedy before stays so
    if it may be, else the first is; the loop is marked as unsure. Ties that hold on all that the
    listed policies span, pi among them, are remembered; as a rule all do, and pi itself need not be
    looked at.
    """
    _replay(r, n, ask)
    for m in range(len(greedy)):
        if ask.open[m]:
            greedy[m] = _first(m, q, _enough(m, q, weight, error))
    if _remember(tables, q, weight, error, greedy, ask):
        return
    for k in range(2):
        for m in range(len(greedy)):
            for j in range(q.shape[1]):
                ask.point[k, m, j] = ask.pi[k, m, j]
        evaluate_residues(tables, k, ask)
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


@inner_kernel
def _first(m, q, enough):
    j = 0
    while q[m, j] < enough:
        j += 1
    return j


@paste_kernel
def _remember(tables, q, weight, error, greedy, ask):
    """Remember the ties of open rows that hold on all that the listed policies span, greedy among
    them; whether all do."""
    enlist(ask, greedy, mark_of(greedy))
    _to_a_random_point(ask)
    for k in range(2):
        evaluate_residues(tables, k, ask)
    all_hold = True
    for m in range(len(greedy)):
        if ask.open[m]:
            enough = _enough(m, q, weight, error)
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
        ask.marks[0] = mark_of(greedy)
        ask.counts[LISTED] = 1
    return all_hold


@paste_kernel
def zero_coefficients(tables, r, tau, n, ask):
    """The coefficients of q(m, j) times weight along x pi_n + (1-x) tau, in `ask.coefficients`.

    q = sum_i c_i x^i (1-x)^(L-1-i), so its values at x = 0, ..., L - 1 say what the c_i are.
    """
    L = ask.inverse.shape[1]
    _replay(r, n, ask)
    for k in range(2):
        for h in range(L):
            _towards(tau, np.uint64(h), k, ask)
            evaluate_residues(tables, k, ask)
            for m in range(ask.q.shape[1]):
                for j in range(ask.q.shape[2]):
                    for i in range(L):
                        part = ask.inverse[k, i, h] * ask.q[k, m, j]
                        if h > 0:
                            part += ask.coefficients[k, m, j, i]
                        ask.coefficients[k, m, j, i] = _reduced(part, k)
