# mypy: disallow-untyped-defs=False
"""Which action is the largest, in double-double, compiled."""

from __future__ import annotations

from workbench.core.double_kernels import add, multiply
from workbench.core.kernels import compile_kernel, inner_kernel

_ROUNDING = 2.0**-102
_TINY = 1e-290


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
                x_hi, x_lo = multiply(gamma[0], gamma[1], v[0, j], v[1, j])
                x_hi, x_lo = add(x_hi, x_lo, r[0, k], r[1, k])
                x_hi, x_lo = multiply(sign * p[0, k], sign * p[1, k], x_hi, x_lo)
                d_hi, d_lo = add(d_hi, d_lo, x_hi, x_lo)
                q_size += p[0, k] * (abs(r[0, k]) + gamma[0] * abs(v[0, j]))
                q_error += p[0, k] * gamma[0] * v_error[j]
        q_error += _ROUNDING * terms * q_size
        w_hi, w_lo = multiply(d[0, s], d[1, s], omega[0, e], omega[1, e])
        w_error = d_error[s] * omega[0, e]
        error += (w_hi + w_error) * q_error + w_error * abs(d_hi)
        d_hi, d_lo = multiply(w_hi, w_lo, d_hi, d_lo)
        hi, lo = add(hi, lo, d_hi, d_lo)
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
