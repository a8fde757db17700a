# mypy: disallow-untyped-defs=False
"""A POMDP is packed into the records of `table_kernels`; policies forget what they never see."""

from __future__ import annotations

import numpy as np
from numba import uint32, uint64

from workbench.core.kernels import compile_kernel
from workbench.core.random_kernels import TWO53
from workbench.core.table_kernels import END


@compile_kernel
def count_outcomes(p_ptr, s_next, prob, o_ptr, o_prob, terminal):
    """How many outcomes the rows with more than one have in all."""
    total = 0
    for row in range(len(p_ptr) - 1):
        n = 0
        for k in range(p_ptr[row], p_ptr[row + 1]):
            if prob[k] > 0.0:
                s = s_next[k]
                if terminal[s]:
                    n += 1
                else:
                    for e in range(o_ptr[s], o_ptr[s + 1]):
                        n += int(o_prob[e] > 0.0)
        if n > 1:
            total += n
    return total


@compile_kernel
def fill_sampling_rows(p_ptr, s_next, r, prob, o_ptr, o, o_prob, terminal, rows, outcomes):
    """Write the records of a model given as compressed rows; `outcomes` has one place more than
    `count_outcomes`."""
    at = 0
    for row in range(len(p_ptr) - 1):
        first = at
        cumulative = 0.0
        for k in range(p_ptr[row], p_ptr[row + 1]):
            s = s_next[k]
            for e in range(o_ptr[s], o_ptr[s] + 1 if terminal[s] else o_ptr[s + 1]):
                x = prob[k] if terminal[s] else prob[k] * o_prob[e]
                if x > 0.0:
                    cumulative += x
                    outcomes[at].threshold = uint64(min(cumulative, 1.0) * TWO53)
                    outcomes[at].r = r[k]
                    outcomes[at].s = s
                    outcomes[at].o = END if terminal[s] else uint32(o[e])
                    at += 1
        if at == first + 1:  # the only outcome moves into the row
            at = first
            rows[row].s = outcomes[at].s
            rows[row].o = outcomes[at].o
            rows[row].r = outcomes[at].r
        rows[row].first = first
        rows[row].last = max(first, at - 1)


@compile_kernel
def forget_unreached(p_ptr, s_next, prob, o_ptr, o, o_prob, terminal, mu, nA, policies):
    """In each deterministic policy `policies[k, o]`, set the action of observations that it never
    sees to 0."""
    queue = np.empty(len(terminal), dtype=np.int64)
    met = np.full(len(terminal), -1, dtype=np.int64)
    seen = np.full(policies.shape[1], -1, dtype=np.int64)
    for k in range(len(policies)):
        n = 0
        for s in range(len(mu)):
            if mu[s] > 0.0:
                met[s] = k
                queue[n] = s
                n += 1
        i = 0
        while i < n:
            s = queue[i]
            i += 1
            if terminal[s]:
                continue
            for e in range(o_ptr[s], o_ptr[s + 1]):
                if o_prob[e] > 0.0:
                    seen[o[e]] = k
                    row = s * nA + policies[k, o[e]]
                    for j in range(p_ptr[row], p_ptr[row + 1]):
                        if prob[j] > 0.0 and met[s_next[j]] != k:
                            met[s_next[j]] = k
                            queue[n] = s_next[j]
                            n += 1
        for x in range(policies.shape[1]):
            if seen[x] != k:
                policies[k, x] = 0
