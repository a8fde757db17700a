# mypy: disallow-untyped-defs=False
"""Double-double arithmetic, compiled: chains, residuals and means in twice a float's precision.

A number is an unevaluated sum of two floats, `hi + lo` with |lo| <= u |hi|, u = 2^-53 (Dekker
1971). A sum of two costs at most 5 u^2 of the sizes that enter, a product 8 u^2. Fractions of a
model enter with both parts, so that a residual is the one of the model as it was written:

    forward     b + gamma P x - x        =  b - leave x - sum_j gamma P(.,j) (x - x(j))
    backward    b + gamma P^T x - x      =  b + what comes in - (leave + what goes elsewhere) x

where leave is 1 - gamma times the sum of a row. Written on the right, the probability of staying
plays no part: it is what the others leave, so that a state which is hardly ever left costs no
digits (Grassmann, Taksar and Heyman 1985 eliminate in this way).

Numbers that were given as floats stand for all rows with that sum which round to them: `given[i]`
is the share by which an entry of row i may be off. Each kernel also bounds what that and its own
rounding do to the result. Right sides are arrays of three rows: hi, lo and the size of the terms
that were added up.
"""

from __future__ import annotations

import numpy as np

from workbench.core.kernels import compile_later, compile_reader, inline_kernel

UNIT = 2.0**-53
_ROUNDING = 2.0**-102
"""What one operation costs at most, as a share of all that was added up: 16 u^2."""

_SPLIT = 134217729.0  # 2^27 + 1 cuts 53 bits into halves whose products are exact
TINY = 1e-290
"""Below this, products may have lost their last bits: it is added to every bound."""

FEWEST = 1e-250
"""Visits below this are too few for floats: parts of their products underflow. What is seen so
rarely counts as not seen."""

_FAINT = 1e-250
"""What a reward counts for, however unlikely: its probability may have lost its last bits."""


@inline_kernel
def add(a_hi, a_lo, b_hi, b_lo):
    total = a_hi + b_hi
    part = total - a_hi
    rest = (a_hi - (total - part)) + (b_hi - part) + (a_lo + b_lo)
    hi = total + rest
    return hi, rest - (hi - total)


@inline_kernel
def multiply(a_hi, a_lo, b_hi, b_lo):
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


@compile_later
def mix_rows(row_ptr, o, omega, pi, pi_lo, acts, acts_lo):
    """pi(a|s) = sum_o omega(o|s) pi(a|o)."""
    for s in range(len(row_ptr) - 1):
        for k in range(row_ptr[s], row_ptr[s + 1]):
            for a in range(pi.shape[1]):
                hi, lo = multiply(omega[0, k], omega[1, k], pi[o[k], a], pi_lo[o[k], a])
                acts[s, a], acts_lo[s, a] = add(acts[s, a], acts_lo[s, a], hi, lo)


@compile_later
def follow_rows(row_ptr, s_next, p, p_lo, r, r_lo, acts, acts_lo, indptr, indices, b, P):
    """P_pi in compressed rows without zeros, and r_pi with its size. It returns the number of
    entries, and whether a product of positive numbers underflowed.

    Tails of length one stand for zeros: most models are written in floats or short fractions.
    """
    nS, nA = acts.shape
    p_step, r_step, a_step = len(p_lo) > 1, len(r_lo) > 1, acts_lo.size > 1
    at, lost = 0, False
    indptr[0] = 0
    for s in range(nS):
        b_hi = b_lo = size = 0.0
        for a in range(nA):
            w = acts[s, a]
            if w == 0.0:
                continue
            w_lo = acts_lo[s * a_step, a * a_step]
            for k in range(row_ptr[s * nA + a], row_ptr[s * nA + a + 1]):
                hi, lo = multiply(w, w_lo, p[k], p_lo[k * p_step])
                if r[k] != 0.0:
                    t_hi, t_lo = multiply(hi, lo, r[k], r_lo[k * r_step])
                    b_hi, b_lo = add(b_hi, b_lo, t_hi, t_lo)
                    size += abs(t_hi) + _FAINT * abs(r[k])
                if hi != 0.0:
                    indices[at] = s_next[k]
                    P[0, at] = hi
                    P[1, at] = lo
                    at += 1
                elif p[k] != 0.0:
                    lost = True
        b[0, s], b[1, s], b[2, s] = b_hi, b_lo, size
        indptr[s + 1] = at
    return at, lost


@compile_later
def residual_forward(indptr, indices, P, gamma, leave, b, x, given, found, bound):
    """`found` = b - leave x - sum_j gamma P(.,j) (x - x(j)), each entry off by at most `bound`."""
    for i in range(len(indptr) - 1):
        hi = lo = size = whole = reach = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            if j != i:
                away_hi, away_lo = add(x[0, j], x[1, j], -x[0, i], -x[1, i])
                t_hi, t_lo = multiply(P[0, k], P[1, k], away_hi, away_lo)
                hi, lo = add(hi, lo, t_hi, t_lo)
                size += abs(t_hi)
                whole += P[0, k] * (abs(x[0, j]) + abs(x[0, i]))
                reach += abs(x[0, j]) + abs(x[0, i])
        hi, lo = multiply(hi, lo, gamma[0], gamma[1])
        hi, lo = add(hi, lo, b[0, i], b[1, i])
        t_hi, t_lo = multiply(leave[0, i], leave[1, i], x[0, i], x[1, i])
        hi, lo = add(hi, lo, -t_hi, -t_lo)
        found[i] = hi
        size = size * gamma[0] + b[2, i] + abs(t_hi)
        rounding = _ROUNDING * (indptr[i + 1] - indptr[i] + 16) * (size + gamma[0] * whole)
        bound[i] = given[i] * size + rounding + TINY * (1.0 + reach)


@compile_later
def residual_backward(indptr, indices, P, gamma, leave, b, x, given, found, bound):
    """Write b plus inflow minus outflow of each state to `found`, and its error bounds to `bound`.
    It goes transition by transition, since a transpose would double the memory."""
    n = len(indptr) - 1
    low, terms, doubt = np.zeros(n), np.zeros(n), np.zeros(n)
    bound[:] = 0.0
    found[:] = 0.0
    for i in range(n):
        if x[0, i] == 0.0:
            continue
        out_hi = out_lo = 0.0
        for k in range(indptr[i], indptr[i + 1]):
            j = indices[k]
            if j != i:
                t_hi, t_lo = multiply(P[0, k], P[1, k], x[0, i], x[1, i])
                found[j], low[j] = add(found[j], low[j], t_hi, t_lo)
                out_hi, out_lo = add(out_hi, out_lo, t_hi, t_lo)
                bound[j] += abs(t_hi)
                doubt[j] += given[i] * abs(t_hi)
                terms[j] += 1.0
        found[i], low[i] = add(found[i], low[i], -out_hi, -out_lo)
        bound[i] += abs(out_hi)
        doubt[i] += given[i] * abs(out_hi)
        terms[i] += indptr[i + 1] - indptr[i]
    for i in range(n):
        hi, lo = multiply(found[i], low[i], gamma[0], gamma[1])
        hi, lo = add(hi, lo, b[0, i], b[1, i])
        t_hi, t_lo = multiply(leave[0, i], leave[1, i], x[0, i], x[1, i])
        hi, lo = add(hi, lo, -t_hi, -t_lo)
        found[i] = hi
        size = b[2, i] + abs(t_hi)
        rounding = _ROUNDING * (terms[i] + 16.0) * (gamma[0] * bound[i] + size)
        bound[i] = gamma[0] * doubt[i] + given[i] * size + rounding + TINY


@compile_later
def leaving(indptr, P, cut, out, gamma, leave):
    """1 - gamma times what goes on: the discount, and of the rest `out` and the entries of `cut`.

    An empty `cut` stands for no entries.
    """
    rest, rest_lo = add(1.0 - gamma[0], 0.0, -gamma[1], 0.0)
    for i in range(len(indptr) - 1):
        hi, lo = out[i], 0.0
        for k in range(indptr[i], indptr[i + 1] if len(cut) else indptr[i]):
            if cut[k]:
                hi, lo = add(hi, lo, P[0, k], P[1, k])
        hi, lo = multiply(hi, lo, gamma[0], gamma[1])
        leave[0, i], leave[1, i] = add(hi, lo, rest, rest_lo)


@compile_reader
def weighted_sum(w, x, x_error, given):
    """The sum of w_i x_i, and a bound on its error. x is off by at most `x_error`, and w is given
    in both parts."""
    hi = lo = size = carried = 0.0
    for i in range(len(x)):
        if w[0, i] != 0.0:
            t_hi, t_lo = multiply(w[0, i], w[1, i], x[i], 0.0)
            hi, lo = add(hi, lo, t_hi, t_lo)
            size += abs(t_hi)
            carried += abs(w[0, i]) * x_error[i]
    rounding = (_ROUNDING * (len(x) + 16) + given) * size + abs(lo) + TINY
    return hi, (carried + rounding) * (1.0 + 1e-12)


@compile_later
def add_correction(x, change):
    """x + change in place."""
    for i in range(len(change)):
        x[0, i], x[1, i] = add(x[0, i], x[1, i], change[i], 0.0)


@compile_later
def action_values(row_ptr, s_next, prob, r, gamma, v, v_error, q, q_error):
    """q(s,a) = sum p (r + gamma v(s')) in floats, with an error bound. v is off by at most
    `v_error`.

    Rounding costs u for each of p, r and gamma, two products, two sums and each further term.
    """
    for row in range(len(row_ptr) - 1):
        total = size = carried = 0.0
        for k in range(row_ptr[row], row_ptr[row + 1]):
            j = s_next[k]
            if gamma == 0.0:  # 0 times a value that is not known would be NaN
                total += prob[k] * r[k]
                size += prob[k] * abs(r[k])
                continue
            total += prob[k] * (r[k] + gamma * v[j])
            size += prob[k] * (abs(r[k]) + gamma * abs(v[j]))
            carried += prob[k] * v_error[j]
        q[row] = total
        terms = row_ptr[row + 1] - row_ptr[row]
        q_error[row] = (gamma * carried + (terms + 8) * UNIT * size) * (1.0 + 1e-12) + TINY


@compile_later
def observe(entry_s, entry_o, share, share_error, most_doubt, q_state, q_state_error, q, q_error):
    """q(o,a) = sum_s P(s|o) q(s,a), and a bound on its error. It is NaN with an infinite bound
    where no share is positive, where a value with a positive share is undefined, or where the
    shares' error exceeds `most_doubt`.

    `share` and `share_error` have one column, or one for each action. With weights w instead of the
    computed u, sum_s u(s) = 1, and e(s) the relative errors of the weights,

        |q - computed| <= [ sum_s u(s) e(s) |q(s) - computed| + sum_s u(s) error of q(s) ]
                          / (1 - sum_s u(s) e(s)).
    """
    nO, nA = q.shape
    step = share.shape[1] > 1
    count, doubt = np.zeros((nO, share.shape[1])), np.zeros((nO, share.shape[1]))
    low, high = np.full(q.shape, np.inf), np.full(q.shape, -np.inf)
    q[:] = 0.0
    q_error[:] = 0.0
    for k in range(len(entry_s)):
        s, o = entry_s[k], entry_o[k]
        for c in range(share.shape[1]):
            count[o, c] += share[k, c] > 0.0
        for a in range(nA):
            u = share[k, a * step]
            if u > 0.0:
                x = q_state[s, a]
                q[o, a] += u * x
                low[o, a], high[o, a] = min(low[o, a], x), max(high[o, a], x)
    for o in range(nO):
        for a in range(nA):
            if count[o, a * step] == 0.0:
                q[o, a] = np.nan
            else:  # rounding may take a mean out of the range of its terms: back it goes
                q[o, a] = min(max(q[o, a], low[o, a]), high[o, a])
    for k in range(len(entry_s)):
        s, o = entry_s[k], entry_o[k]
        for c in range(share.shape[1]):
            if share[k, c] > 0.0:
                doubt[o, c] += share[k, c] * (min(share_error[s, c], 1.0) + 8.0 * UNIT)
        for a in range(nA):
            u = share[k, a * step]
            if u > 0.0:
                e = min(share_error[s, a * step], 1.0) + 8.0 * UNIT
                off = e * abs(q_state[s, a] - q[o, a]) + q_state_error[s, a]
                off += (count[o, a * step] + 8.0) * UNIT * abs(q_state[s, a])
                q_error[o, a] += u * off
    for o in range(nO):
        for a in range(nA):
            if np.isnan(q[o, a]) or doubt[o, a * step] >= most_doubt:
                q_error[o, a] = np.inf
            else:
                q_error[o, a] *= (1.0 + 1e-9) / (1.0 - doubt[o, a * step])
