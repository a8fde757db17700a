# mypy: disallow-untyped-defs=False
"""n-step Sarsa (Sutton and Barto 2018, Section 7.2), tabular.

With i_t = (o_t, a_t), a_t chosen before the update, the pair visited n steps ago is updated at time
t with its n-step return; after the end of the episode the pairs that remain are updated with what
their returns hold, oldest first:

    G       = r_1 + gamma r_2 + ... + gamma^(k-1) r_k + gamma^k q(i_k)  (no last term after the end)
    q(i)   += step (G - q(i))

q is as it is at the update. An episode cut off at `limit` steps ends likewise, but each G goes on
with gamma^k q of the last pair. With n = 1 this is Sarsa(0).

The window is a ring of n places: `i_at` holds the pair, `G_at` the part of its return that is
known; a reward is added to every return in the window at once, with powers of gamma from a table.

Random words are drawn in the order of `sarsa_kernels`.
"""

from __future__ import annotations

from numba import uint64

from workbench.core.kernels import compile_kernel
from workbench.core.sarsa_kernels import choose_action
from workbench.core.table_kernels import (
    END,
    begin,
    close_block,
    open_block,
    resume,
    suspend,
    take_action,
)
from workbench.core.value_kernels import keep_greedy, step_size


@compile_kernel
def n_step_sarsa(
    world,
    paused,
    curve,
    t,
    t_stop,
    q,
    i_at,
    G_at,
    powers,
    oldest_at,
    epsilon,
    step,
    limit,
):
    """Run n-step Sarsa from step t to step t_stop and say where it stopped."""
    nA = uint64(len(world.actions))
    n = uint64(len(G_at))
    fresh = paused[0].started == uint64(0)
    g0, g1, s, o, age, held = resume(paused, world.starts)
    a = paused[0].a
    oldest = oldest_at[0]
    if fresh:
        g0, g1, a = choose_action(q, o, nA, None, None, None, epsilon, g0, g1)
    while t < t_stop:
        block, total, pause = open_block(curve, t, t_stop)
        for now in range(t, pause):
            newest = oldest + held
            newest = newest - n if newest >= n else newest
            i_at[newest] = o * nA + a
            G_at[newest] = 0.0
            held += uint64(1)
            g0, g1, s, o_next, r = take_action(world.rows, world.outcomes, s * nA + a, g0, g1)
            total += r
            age += uint64(1)
            if r != 0.0:
                at = newest
                for k in range(held):
                    G_at[at] += powers[k] * r
                    at = n - uint64(1) if at == uint64(0) else at - uint64(1)
            ended = o_next == END
            if not ended:
                o = uint64(o_next)
                g0, g1, a = choose_action(q, o, nA, None, None, None, epsilon, g0, g1)
            is_last = ended or age >= limit
            # How many pairs stay: none after the last step, n - 1 in a window that is full.
            stay = uint64(0) if is_last else n - uint64(1)
            while held > stay:
                G = G_at[oldest]
                if not ended:
                    G += powers[held] * q[o * nA + a]
                i = i_at[oldest]
                q[i] += step_size(step, i, now) * (G - q[i])
                oldest = uint64(0) if oldest + uint64(1) == n else oldest + uint64(1)
                held -= uint64(1)
            if is_last:
                age = uint64(0)
                curve.episodes[block] += 1
                g0, g1, s, o = begin(world.starts, g0, g1)
                g0, g1, a = choose_action(q, o, nA, None, None, None, epsilon, g0, g1)
        t = pause
        if close_block(curve, block, total, t):
            keep_greedy(q, nA, curve.policies[block])
    suspend(paused, g0, g1, s, o, age, held)
    paused[0].a = a
    oldest_at[0] = oldest
    return t
