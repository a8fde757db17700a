# mypy: disallow-untyped-defs=False
"""The oracle loop on sequence tasks modulo two primes, compiled: which q-values are equal, and
which coefficients are zero, exactly.

Rewards are floats, and so whole numbers times powers of two; the step is a fraction, and pi_n comes
from the turns of greedy: all have residues. Two numbers that are equal have equal residues; two
that are not have equal ones modulo two primes of 31 bits about once in 10^18 times.
`evaluation.residues` does the same for any task.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from workbench.improvement.loop_kernels import mark_of
from workbench.kernels import compile_kernel


class BatchPlan(NamedTuple):
    """What all loops of a batch have in common.

    Attributes
    ----------
    step, budget, window, first_look, settle : of the loop, and of the search for its end.
    error, growth : with rewards up to 1, q after n steps is off by at most error + n growth.
    alike : `alike[m, j]`, columns with the same entry do the same.
    """

    step: float
    budget: int
    window: int
    first_look: int
    settle: int
    error: float
    growth: float
    alike: NDArray[np.int64]


class BatchAsk(NamedTuple):
    """Room to decide what floats leave open.

    Attributes
    ----------
    primes, keep, share : for each prime the residues of 1 - step and of 1 / columns.
    inverse : `inverse[k, i, h]`, from values at the places 0, ..., L - 1 to coefficients.
    turns, turn_n, turn_greedy : how often greedy changed, when, and to what.
    synced, now : the turns in `pi`, which holds residues; the iterate that is looked at.
    alike, lasting : columns known to be equal, as long as greedy has the mark `lasting`.
    unsure : whether a row was decided by what was greedy before.
    """

    primes: NDArray[np.int64]
    keep: NDArray[np.int64]
    share: NDArray[np.int64]
    inverse: NDArray[np.int64]
    turns: NDArray[np.int64]
    turn_n: NDArray[np.int64]
    turn_greedy: NDArray[np.int16]
    synced: NDArray[np.int64]
    now: NDArray[np.int64]
    alike: NDArray[np.int64]
    lasting: NDArray[np.uint64]
    open: NDArray[np.uint8]
    unsure: NDArray[np.uint8]
    pi: NDArray[np.int64]
    point: NDArray[np.int64]
    rewards: NDArray[np.int64]
    d: NDArray[np.int64]
    v: NDArray[np.int64]
    q: NDArray[np.int64]
    coefficients: NDArray[np.int64]


@compile_kernel
def power(x, n, p):
    """x^n modulo p."""
    found = 1
    while n > 0:
        if n & 1:
            found = found * x % p
        x = x * x % p
        n >>= 1
    return found


@compile_kernel
def residue(x, p):
    """A float modulo p: its 53 bits, times a power of two."""
    mantissa, exponent = math.frexp(x)
    whole = int(mantissa * 9007199254740992.0) % p
    exponent -= 53
    two = 2 if exponent >= 0 else (p + 1) // 2
    return whole * power(two, abs(exponent), p) % p


@compile_kernel
def _replay(tables, r, n, ask):
    """Bring `ask.pi` up to iterate n, and the rewards with it."""
    rows, columns = ask.pi.shape[1], ask.pi.shape[2]
    for k in range(len(ask.primes)):
        p = ask.primes[k]
        if ask.synced[0] < 0:
            ask.pi[k, :, :] = ask.share[k]
            for i in range(len(r)):
                ask.rewards[k, i] = residue(r[i], p)
        begin = max(ask.synced[0], 0)
        for t in range(ask.turns[0]):
            first = max(ask.turn_n[t], begin)
            end = ask.turn_n[t + 1] if t + 1 < ask.turns[0] else n
            if end <= first:
                continue
            x = power(ask.keep[k], end - first, p)
            for m in range(rows):
                g = ask.turn_greedy[t, m]
                if g >= 0:
                    for j in range(columns):
                        ask.pi[k, m, j] = ask.pi[k, m, j] * x % p
                    ask.pi[k, m, g] = (ask.pi[k, m, g] + 1 - x) % p
    ask.synced[0] = n


@compile_kernel
def evaluate_residues(tables, k, ask):
    """q(m, j) times the weight of m for the policy `ask.point[k]`, in `ask.q[k]`."""
    layer, row, after, prefix, act = (
        tables.layer,
        tables.row,
        tables.after,
        tables.prefix,
        tables.act,
    )
    p, pi, r, d, v, q = ask.primes[k], ask.point[k], ask.rewards[k], ask.d, ask.v, ask.q[k]
    final, columns = layer[len(layer) - 2], pi.shape[1]
    d[:] = 0
    q[:] = 0
    d[0] = 1
    for s in range(final):
        m = row[s]
        for j in range(columns):
            d[after[s, j]] = (d[after[s, j]] + d[s] * pi[m, j]) % p
    for s in range(final, len(row)):
        m, first = row[s], prefix[s]
        total = 0
        for j in range(columns):
            total = (total + pi[m, j] * r[first + act[j]]) % p
            q[m, j] = (q[m, j] + d[s] * r[first + act[j]]) % p
        v[s] = total
    for s in range(final - 1, -1, -1):
        m = row[s]
        total = 0
        for j in range(columns):
            x = v[after[s, j]]
            total = (total + pi[m, j] * x) % p
            q[m, j] = (q[m, j] + d[s] * x) % p
        v[s] = total


@compile_kernel
def _towards(tau, x, k, ask):
    """`ask.point[k]` becomes x pi + (1 - x) tau."""
    p = ask.primes[k]
    for m in range(len(tau)):
        for j in range(ask.pi.shape[2]):
            ask.point[k, m, j] = ask.pi[k, m, j] * (x % p if tau[m] >= 0 else 1) % p
        if tau[m] >= 0:
            ask.point[k, m, tau[m]] = (ask.point[k, m, tau[m]] + 1 - x) % p


@compile_kernel
def _are_equal(m, enough, q, first, ask):
    """Whether all columns of a row that may be the largest have the residues of one of them."""
    for j in range(q.shape[1]):
        if q[m, j] >= enough:
            for k in range(len(ask.primes)):
                if ask.q[k, m, j] != ask.q[k, m, first]:
                    return False
    return True


@compile_kernel
def break_ties(tables, r, q, weight, error, n, before, greedy, ask):
    """Decide the open rows of iterate n.

    Equal columns are a tie, and the first is greedy. Among others what was greedy before stays so
    if it may be, else the first is; the loop is marked as unsure. Ties that hold at some other
    place of the way to greedy hold on all of it, and are remembered.
    """
    _replay(tables, r, n, ask)
    for k in range(len(ask.primes)):
        ask.point[k] = ask.pi[k]
        evaluate_residues(tables, k, ask)
    ties = 0
    for m in range(len(greedy)):
        if ask.open[m]:
            enough = q[m].max() - 2.0 * error * weight[m]
            first = 0
            while q[m, first] < enough:
                first += 1
            greedy[m] = first
            if _are_equal(m, enough, q, first, ask):
                ties += 1
            else:
                ask.unsure[0] = 1
                ask.open[m] = 0
                if before[m] >= 0 and q[m, before[m]] >= enough:
                    greedy[m] = before[m]
    if ties == 0:
        return
    for k in range(len(ask.primes)):
        # any place will do that the loop does not know of
        _towards(greedy, 1_234_567_891 + 7_919 * n, k, ask)
        evaluate_residues(tables, k, ask)
    for m in range(len(greedy)):
        if ask.open[m]:
            enough = q[m].max() - 2.0 * error * weight[m]
            if _are_equal(m, enough, q, greedy[m], ask):
                for j in range(q.shape[1]):
                    if q[m, j] >= enough:
                        ask.alike[m, j] = ask.alike[m, greedy[m]]
                ask.lasting[0] = mark_of(greedy)


@compile_kernel
def zero_coefficients(tables, r, tau, ask):
    """The coefficients of q(m, j) times weight along x pi + (1-x) tau, in `ask.coefficients`.

    q = sum_i c_i x^i (1-x)^(L-1-i), so its values at x = 0, ..., L - 1 say what the c_i are.
    """
    L = ask.inverse.shape[1]
    _replay(tables, r, ask.now[0], ask)
    ask.coefficients[:] = 0
    for k in range(len(ask.primes)):
        p = ask.primes[k]
        for h in range(L):
            _towards(tau, h, k, ask)
            evaluate_residues(tables, k, ask)
            for m in range(ask.q.shape[1]):
                for j in range(ask.q.shape[2]):
                    for i in range(L):
                        ask.coefficients[k, m, j, i] = (
                            ask.coefficients[k, m, j, i] + ask.inverse[k, i, h] * ask.q[k, m, j]
                        ) % p
