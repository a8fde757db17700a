# mypy: disallow-untyped-defs=False
"""True online Sarsa(lambda) with Dutch traces (van Seijen and Sutton 2014), tabular: Section 5.1,
Appendix D.6.1.

With i = (o, a), i' = (o', a'), a' chosen before the update, and q' = q(i') (0 after the end of the
episode):

    z(i)   = (1 - step) z(i) + 1
    delta  = r + gamma q' - q(i)
    change = q(i) - q_old
    q(j)  += step (delta + change) z(j),    z(j) = gamma lambda z(j)        for all j
    q(i)  -= step change
    q_old  = q'

q_old starts an episode as q(i), all z as 0. Only the pairs with a trace are visited: `active[0 :
held]` lists them, `z[0 : held]` holds their traces, `place[j]` is 1 + the place of j in the list, 0
if it is not there. A trace that falls to `trace_cutoff` or below is 0. An episode that is cut off
is updated with q(i') as if it went on; then its traces go.

m is (a, held, nothing, q_old): the action is chosen a step before it is taken.
"""

from __future__ import annotations

from numba import uint32, uint64

from workbench.core.kernels import lean_inline_kernel
from workbench.core.learner_kernels import (
    ONE,
    ZERO,
    LearnerParts,
    choose_action,
    learner_kernel,
    step_size,
)


@lean_inline_kernel
def choose_first(L, m, o, nA, g0, g1):
    """Choose the first action of an episode."""
    g0, g1, a = choose_action(L, m, o, nA, g0, g1)
    return g0, g1, (a, ZERO, m[2], L.q[o * nA + a])


@lean_inline_kernel
def act_as_chosen(L, m, o, nA, g0, g1):
    """The action chosen before."""
    return g0, g1, m[0]


@lean_inline_kernel
def drop_small(active, z, place, held, cutoff):
    """Take the traces of at most `cutoff` off the list, the last one filling each gap; the new
    length."""
    j = ZERO
    while j < held:
        if z[j] <= cutoff:
            held -= ONE
            place[active[j]] = uint32(0)
            if j < held:
                active[j] = active[held]
                z[j] = z[held]
                place[active[j]] = uint32(j + ONE)
        else:
            j += ONE
    return held


@lean_inline_kernel
def learn_with_traces(L, m, o, a, r, o_next, ended, last, now, nA, g0, g1):
    """One update of Sarsa(lambda), and the next action."""
    a_next, held, at, q_old = m
    q, active, z, place = L.q, L.active, L.z, L.place
    i = o * nA + a
    alpha = step_size(L.step, i, now)
    q_next = 0.0
    if not ended:
        g0, g1, a_next = choose_action(L, m, o_next, nA, g0, g1)
        q_next = q[o_next * nA + a_next]
    here = uint64(place[i])
    if here == ZERO:
        active[held] = uint32(i)
        z[held] = 1.0
        held += ONE
        place[i] = uint32(held)
    else:
        z[here - ONE] = (1.0 - alpha) * z[here - ONE] + 1.0
    change = q[i] - q_old
    move = alpha * (r + L.gamma * q_next - q[i] + change)
    for j in range(held):
        q[active[j]] += move * z[j]
    q[i] -= alpha * change
    if last:
        for j in range(held):
            place[active[j]] = uint32(0)
        return g0, g1, (a_next, ZERO, at, q_next)
    decay = L.gamma * L.lam
    smallest = 1.0
    for j in range(held):
        z[j] *= decay
        smallest = z[j] if z[j] < smallest else smallest
    if smallest <= L.trace_cutoff:
        held = drop_small(active, z, place, held, L.trace_cutoff)
    return g0, g1, (a_next, held, at, q_next)


__all__ = ["LearnerParts", "sarsa"]

sarsa = learner_kernel("sarsa", start=choose_first, act=act_as_chosen, learn=learn_with_traces)
