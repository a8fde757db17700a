# mypy: disallow-untyped-defs=False
"""Residuals in twice the precision of a float, compiled: what a solution misses, and how far that
can be off.

A number is an unevaluated sum of two floats, `hi + lo` with |lo| <= u |hi|, u = 2^-53 (Dekker
1971). Sums and products of such pairs are off by a few u^2 of the numbers that enter. Fractions of
a model enter with both parts, so that the residual is the one of the model as it was written:

    forward     b + gamma P x - x
    backward    b + gamma P^T x - x

Numbers that were given as floats stand for all that round to them: `given` is the share by which a
product of them may be off. Each kernel also returns a bound on what that and its own rounding do to
the residual. Rounding costs at most `_ROUNDING` (terms + 16) times the sum of the sizes of all that
was added. One sum costs at most 5 u^2 of both its sides, each at most the
sum of all sizes; one product at most 8 u^2; a model's number is off by u^2 once it is a pair. Parts
of small numbers underflow: that costs at most `_TINY` for each unit of what they are multiplied by.
"""

from __future__ import annotations

import numpy as np

from workbench.core.kernels import compile_kernel, inline_kernel, inner_kernel

_ROUNDING = 2.0**-102
_SPLIT = 134217729.0  # 2^27 + 1
_TINY = 1e-290
"""Below this, products of parts underflow: it is added to every bound."""

_FAINT = 1e-250
"""What a reward counts for, however unlikely it is: its probability may have lost its last bits."""


@inline_kernel
def _add(a_hi, a_lo, b_hi, b_lo):
    total = a_hi + b_hi
    part = total - a_hi
    rest = (a_hi - (total - part)) + (b_hi - part) + (a_lo + b_lo)
    hi = total + rest
    return hi, rest - (hi - total)


@inline_kernel
def _times(a_hi, a_lo, b_hi, b_lo):
    product = a_hi * b_hi
    t = _SPLIT * a_hi
    a1 = t - (t - a_hi)
    a2 = a_hi - a1
    t = _SPLIT * b_hi
    b1 = t - (t - b_hi)
    b2 = b_hi - b1
    rest = ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2 + (a_hi * b_lo + a_lo * b_hi)
    hi = product + rest
    return hi, rest - (hi - product)


@compile_kernel
def mix_rows(row_ptr, o, omega_hi, omega_lo, pi_hi, pi_lo, acts_hi, acts_lo):
    """pi(a|s) = sum_o omega(o|s) pi(a|o), in pairs."""
    for s in range(len(row_ptr) - 1):
        for k in range(row_ptr[s], row_ptr[s + 1]):
            for a in range(pi_hi.shape[1]):
                hi, lo = _times(omega_hi[k], omega_lo[k], pi_hi[o[k], a], pi_lo[o[k], a])
                acts_hi[s, a], acts_lo[s, a] = _add(acts_hi[s, a], acts_lo[s, a], hi, lo)


@compile_kernel
def follow_rows(row_ptr, s_next, p_hi, p_lo, r_hi, r_lo, acts_hi, acts_lo, indptr, indices, b, P):
    """P_pi in compressed rows without the products that are zero, and r_pi, in pairs; how many
    entries there are, and whether a product of numbers above zero is not.

    `P` has two rows, for both parts of the entries, `b` three, for both parts of r_pi and for its
    size, the expected |r|. Tails of length one stand for zeros.
    """
    nS, nA = acts_hi.shape
    p_step, r_step, a_step = len(p_lo) > 1, len(r_lo) > 1, acts_lo.size > 1
    at, lost = 0, False
    indptr[0] = 0
    for s in range(nS):
        b_hi = b_lo = size = 0.0
        for a in range(nA):
            w = acts_hi[s, a]
            if w == 0.0:
                continue
            w_lo = acts_lo[s * a_step, a * a_step]
            for k in range(row_ptr[s * nA + a], row_ptr[s * nA + a + 1]):
                hi, lo = _times(w, w_lo, p_hi[k], p_lo[k * p_step])
                if r_hi[k] != 0.0:
                    t_hi, t_lo = _times(hi, lo, r_hi[k], r_lo[k * r_step])
                    b_hi, b_lo = _add(b_hi, b_lo, t_hi, t_lo)
                    size += abs(t_hi) + _FAINT * abs(r_hi[k])
                if hi != 0.0:
                    indices[at] = s_next[k]
                    P[0, at] = hi
                    P[1, at] = lo
                    at += 1
                elif p_hi[k] != 0.0:
                    lost = True
        b[0, s] = b_hi
        b[1, s] = b_lo
        b[2, s] = size
        indptr[s + 1] = at
    return at, lost


@compile_kernel
def residual_forward(indptr, indices, P, gamma, b, x, given, found, bound):
    """`found` = b + gamma P x - x, each entry off by at most `bound`; gamma, b, P and x in
    pairs."""
    for i in range(len(indptr) - 1):
        hi = lo = size = reach = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            if x[0, j] != 0.0:
                t_hi, t_lo = _times(P[0, k], P[1, k], x[0, j], x[1, j])
                hi, lo = _add(hi, lo, t_hi, t_lo)
                size += abs(t_hi)
                reach += abs(x[0, j])
        size *= gamma[0]
        hi, lo = _times(hi, lo, gamma[0], gamma[1])
        hi, lo = _add(hi, lo, b[0, i], b[1, i])
        hi, lo = _add(hi, lo, -x[0, i], -x[1, i])
        found[i] = hi
        size += b[2, i]
        rounding = _ROUNDING * (indptr[i + 1] - indptr[i] + 16) * (size + abs(x[0, i]))
        bound[i] = given * size + rounding + _TINY * (1.0 + reach)


@compile_kernel
def residual_backward(indptr, indices, P, gamma, b, x, given, found, bound):
    """`found` = b + gamma P^T x - x, each entry off by at most `bound`; without a transpose, flow
    by flow."""
    n = len(indptr) - 1
    low = np.zeros(n)
    terms = np.zeros(n)
    bound[:] = 0.0
    found[:] = 0.0
    for i in range(n):
        if x[0, i] == 0.0:
            continue
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            t_hi, t_lo = _times(P[0, k], P[1, k], x[0, i], x[1, i])
            found[j], low[j] = _add(found[j], low[j], t_hi, t_lo)
            bound[j] += abs(t_hi)
            terms[j] += 1.0
    for i in range(n):
        hi, lo = _times(found[i], low[i], gamma[0], gamma[1])
        hi, lo = _add(hi, lo, b[0, i], b[1, i])
        hi, lo = _add(hi, lo, -x[0, i], -x[1, i])
        found[i] = hi
        size = bound[i] + b[2, i]
        rounding = _ROUNDING * (terms[i] + 16.0) * (size + abs(x[0, i]))
        bound[i] = given * size + rounding + _TINY


@compile_kernel
def weighted_sum(w, x, x_error, given):
    """sum_i w_i x_i for w in pairs, and a bound on its error, for x off by at most `x_error`."""
    hi = lo = size = carried = 0.0
    for i in range(len(x)):
        if w[0, i] != 0.0:
            t_hi, t_lo = _times(w[0, i], w[1, i], x[i], 0.0)
            hi, lo = _add(hi, lo, t_hi, t_lo)
            size += abs(t_hi)
            carried += abs(w[0, i]) * x_error[i]
    rounding = (_ROUNDING * (len(x) + 16) + given) * size + abs(lo) + _TINY
    return hi, (carried + rounding) * (1.0 + 1e-12)


@compile_kernel
def add_correction(x, change):
    """x + change, x in pairs, in place."""
    for i in range(len(change)):
        x[0, i], x[1, i] = _add(x[0, i], x[1, i], change[i], 0.0)


@inner_kernel
def _beats(
    entries, entry_s, omega, counted, d, d_error, row_ptr, s_next, p, r, gamma, v, v_error, nA, a, b
):
    """Whether sum_s d(s) omega(o|s) (q(s,a) - q(s,b)) > 0 for certain, summed over the entries of
    an observation, for visits d and values v in pairs off by at most `d_error`, `v_error`."""
    hi = lo = size = error = 0.0
    for e in entries:
        s = entry_s[e]
        if not counted[s]:
            continue
        d_hi = d_lo = q_size = q_error = 0.0
        terms = 16
        for sign, action in ((1.0, a), (-1.0, b)):
            row = s * nA + action
            terms += row_ptr[row + 1] - row_ptr[row]
            for k in range(row_ptr[row], row_ptr[row + 1]):
                j = s_next[k]
                x_hi, x_lo = _times(gamma[0], gamma[1], v[0, j], v[1, j])
                x_hi, x_lo = _add(x_hi, x_lo, r[0, k], r[1, k])
                x_hi, x_lo = _times(sign * p[0, k], sign * p[1, k], x_hi, x_lo)
                d_hi, d_lo = _add(d_hi, d_lo, x_hi, x_lo)
                q_size += p[0, k] * (abs(r[0, k]) + gamma[0] * abs(v[0, j]))
                q_error += p[0, k] * gamma[0] * v_error[j]
        q_error += _ROUNDING * terms * q_size
        w_hi, w_lo = _times(d[0, s], d[1, s], omega[0, e], omega[1, e])
        w_error = d_error[s] * omega[0, e]
        error += (w_hi + w_error) * q_error + w_error * abs(d_hi)
        d_hi, d_lo = _times(w_hi, w_lo, d_hi, d_lo)
        hi, lo = _add(hi, lo, d_hi, d_lo)
        size += abs(d_hi)
    return hi > (error + _ROUNDING * (len(entries) + 16) * size) * (1.0 + 1e-12) + _TINY


@compile_kernel
def largest_actions(
    asked, rival_ptr, rivals, entry_ptr, entries, entry_s, omega, counted, d, d_error, row_ptr,
    s_next, p, r, gamma, v, v_error, nA, found,
):  # fmt: skip
    """`found[i]` = the largest of the rivals of observation asked[i], those from rival_ptr[i] on,
    or -1 where that cannot be told: see `_beats`."""
    for i in range(len(asked)):
        seen = entries[entry_ptr[asked[i]] : entry_ptr[asked[i] + 1]]
        among = rivals[rival_ptr[i] : rival_ptr[i + 1]]
        best = among[0]
        for a in among[1:]:
            if not _beats(seen, entry_s, omega, counted, d, d_error, row_ptr, s_next, p, r, gamma,
                          v, v_error, nA, best, a):  # fmt: skip
                best = a
        found[i] = best
        for a in among:
            if a != best and not _beats(seen, entry_s, omega, counted, d, d_error, row_ptr, s_next,
                                        p, r, gamma, v, v_error, nA, best, a):  # fmt: skip
                found[i] = -1
                break


@compile_kernel
def action_values_with_errors(row_ptr, s_next, prob, r, gamma, v, v_error, q, q_error):
    """q(s,a) = sum p (r + gamma v(s')), and a bound on its error, for v off by at most `v_error`.

    Rounding costs u for each of p, r and gamma, two products, two sums and each further term.
    """
    for row in range(len(row_ptr) - 1):
        total = size = carried = 0.0
        for k in range(row_ptr[row], row_ptr[row + 1]):
            j = s_next[k]
            total += prob[k] * (r[k] + gamma * v[j])
            size += prob[k] * (abs(r[k]) + gamma * abs(v[j]))
            if gamma > 0.0:  # else what is not known there does not count
                carried += prob[k] * v_error[j]
        q[row] = total
        terms = row_ptr[row + 1] - row_ptr[row]
        q_error[row] = (gamma * carried + (terms + 8) * 2.0**-53 * size) * (1.0 + 1e-12) + _TINY
