# mypy: disallow-untyped-defs=False
"""What an observation tells about the state, and the values that follow, compiled.

    P(s|o)  = d(s) omega(o|s) / sum_{s'} d(s') omega(o|s')
    q(o,a)  = sum_s P(s|o) q(s,a)

One pass over the entries (s, o) of omega for each; the error of q(o,a) is bounded as `visits`
says."""

from __future__ import annotations

import numpy as np

from workbench.core.kernels import compile_kernel


@compile_kernel
def share_observations(entry_s, entry_o, omega, d, counted, share, total, reached):
    """P(s|o) for each entry, the weight of each o, and which o are reached by the states that
    count.

    A share is NaN where its observation is not reached, or has a weight that is infinite or zero.
    """
    for k in range(len(entry_s)):
        if counted[entry_s[k]]:
            reached[entry_o[k]] = True
            total[entry_o[k]] += d[entry_s[k]] * omega[k]
    for k in range(len(entry_s)):
        o = entry_o[k]
        if not reached[o] or not np.isfinite(total[o]) or total[o] <= 0.0:
            share[k] = np.nan
        elif counted[entry_s[k]]:
            share[k] = d[entry_s[k]] * omega[k] / total[o]
        else:
            share[k] = 0.0
    for o in range(len(total)):
        if not np.isfinite(total[o]):
            total[o] = 0.0


@compile_kernel
def average_values(entry_s, entry_o, share, q_state, q):
    """q(o,a), NaN where no share is positive or a value that counts is undefined.

    Rounding may take a mean out of the range of what it is taken of, where its true value lies: it
    is put back, which brings it nearer.
    """
    used = np.zeros(len(q), dtype=np.bool_)
    low, high = np.full(q.shape, np.inf), np.full(q.shape, -np.inf)
    q[:] = 0.0
    for k in range(len(entry_s)):
        if share[k] > 0.0:
            s, o = entry_s[k], entry_o[k]
            used[o] = True
            for a in range(q.shape[1]):
                x = q_state[s, a]
                q[o, a] += share[k] * x
                low[o, a], high[o, a] = min(low[o, a], x), max(high[o, a], x)
    for o in range(len(q)):
        for a in range(q.shape[1]):
            if not used[o]:
                q[o, a] = np.nan
            elif q[o, a] < low[o, a]:
                q[o, a] = low[o, a]
            elif q[o, a] > high[o, a]:
                q[o, a] = high[o, a]


@compile_kernel
def bound_values(
    entry_s, entry_o, share, share_error, most_doubt, q_state, q_state_error, q, q_error
):
    """A bound on the error of each q(o,a); infinite where it is undefined, or where the shares are
    in doubt by more than `most_doubt`."""
    unit = 2.0**-53
    nO, nA = q.shape
    doubt = np.zeros(nO)
    count = np.zeros(nO)
    q_error[:] = 0.0
    for k in range(len(entry_s)):
        if share[k] > 0.0:
            count[entry_o[k]] += 1.0
    for k in range(len(entry_s)):
        if share[k] > 0.0:
            s, o = entry_s[k], entry_o[k]
            e = min(share_error[s], 1.0) + 8.0 * unit
            doubt[o] += share[k] * e
            for a in range(nA):
                off = e * abs(q_state[s, a] - q[o, a]) + q_state_error[s, a]
                off += (count[o] + 8.0) * unit * abs(q_state[s, a])
                q_error[o, a] += share[k] * off
    for o in range(nO):
        for a in range(nA):
            if np.isnan(q[o, a]) or doubt[o] >= most_doubt:
                q_error[o, a] = np.inf
            else:
                q_error[o, a] *= (1.0 + 1e-9) / (1.0 - doubt[o])
