# mypy: disallow-untyped-defs=False
"""n-step actor-critic: Section 5.1, Appendix D.1.

pi(a|o) is the softmax of preferences h(o, a). An update of a visited pair (o, a) is

    G      = r_1 + gamma r_2 + ... + gamma^(k-1) r_k + gamma^k v(o_k)   (no last term after the end)
    delta  = G - v(o)
    v(o)  += value_step delta
    h(o,b) += policy_step delta ( [b = a] - pi(b|o) )      for all b

The paper does not say when updates are made, and it matters.

    window   (the textbook's) at every step the pair visited n steps ago is updated with its full
             n-step return; when the episode ends, the pairs that remain are updated with what
             their returns hold, oldest first. v and pi are as they are at the update.
    batch    (as A3C has it) after n steps, or when the episode ends, all pairs since the last time
             are updated at once: the i-th of k with its (k-i)-step return, every delta and every
             pi(b|o) as they are before any of the k updates.

An episode cut off at `limit` steps ends likewise, but each G goes on with gamma^k v of the last
observation.

The window is a ring of n places: `o_at` and `a_at` hold the pair, `G_at` the part of its return
that is known. Powers of gamma come from a table, and a reward is added to every return in the
window at once, so nothing is summed twice and rewards of 0 cost nothing. `pi` caches the softmax
rows; only the row just changed is computed again. A batch fills the same places from 0 on, with
rewards in place of returns, which are summed backwards when it is full.

Random words, in this order: at the start of an episode, its start (if there are several); at each
step one for the action, then one for the outcome (if there are several).
"""

from __future__ import annotations

from numba import uint64

from workbench.core.kernels import compile_kernel, inline_kernel
from workbench.core.random_kernels import TWO53, chance, exp, next_word
from workbench.core.table_kernels import (
    END,
    begin,
    close_block,
    open_block,
    resume,
    suspend,
    take_action,
)
from workbench.core.value_kernels import keep_greedy


@inline_kernel
def softmax_row(h, pi, base, nA):
    """Write the softmax of h[base : base + nA] into pi."""
    largest = h[base]
    for a in range(uint64(1), nA):
        largest = h[base + a] if h[base + a] > largest else largest
    for a in range(nA):
        pi[base + a] = exp(h[base + a] - largest)
    total = 0.0
    for a in range(nA):
        total += pi[base + a]
    share = 1.0 / total
    for a in range(nA):
        pi[base + a] *= share


@inline_kernel
def draw_action(pi, base, nA, word):
    """The action that a word draws from pi[base : base + nA]."""
    u = chance(word) / TWO53
    cumulative = pi[base]
    a = uint64(0)
    while a + uint64(1) < nA and u >= cumulative:
        a += uint64(1)
        cumulative += pi[base + a]
    return a


@inline_kernel
def update_actor(h, pi, v, o, a, nA, G, policy_step, value_step):
    """One update of actor and critic at the pair (o, a), whose return is G."""
    delta = G - v[o]
    v[o] += value_step * delta
    move = policy_step * delta
    if move != 0.0:
        base = o * nA
        for b in range(nA):
            h[base + b] -= move * pi[base + b]
        h[base + a] += move
        softmax_row(h, pi, base, nA)


@compile_kernel
def actor_critic(
    world,
    paused,
    curve,
    t,
    t_stop,
    h,
    v,
    pi,
    o_at,
    a_at,
    G_at,
    powers,
    oldest_at,
    policy_step,
    value_step,
    limit,
):
    """Run actor-critic from step t to step t_stop and say where it stopped."""
    nA = uint64(len(world.actions))
    n = uint64(len(G_at))
    g0, g1, s, o, age, held = resume(paused, world.starts)
    oldest = oldest_at[0]
    while t < t_stop:
        block, total, pause = open_block(curve, t, t_stop)
        for _ in range(pause - t):
            g0, g1, word = next_word(g0, g1)
            a = draw_action(pi, o * nA, nA, word)
            newest = oldest + held
            newest = newest - n if newest >= n else newest
            o_at[newest] = o
            a_at[newest] = a
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
            if ended or age >= limit:
                while held > uint64(0):
                    G = G_at[oldest]
                    if not ended:
                        G += powers[held] * v[o_next]
                    update_actor(
                        h, pi, v, o_at[oldest], a_at[oldest], nA, G, policy_step, value_step
                    )
                    oldest = uint64(0) if oldest + uint64(1) == n else oldest + uint64(1)
                    held -= uint64(1)
                age = uint64(0)
                curve.episodes[block] += 1
                g0, g1, s, o = begin(world.starts, g0, g1)
            else:
                o = uint64(o_next)
                if held == n:
                    G = G_at[oldest] + powers[n] * v[o]
                    update_actor(
                        h, pi, v, o_at[oldest], a_at[oldest], nA, G, policy_step, value_step
                    )
                    oldest = uint64(0) if oldest + uint64(1) == n else oldest + uint64(1)
                    held -= uint64(1)
        t = pause
        if close_block(curve, block, total, t):
            keep_greedy(h, nA, curve.policies[block])
    suspend(paused, g0, g1, s, o, age, held)
    oldest_at[0] = oldest
    return t


@inline_kernel
def update_batch(h, pi, v, o_at, a_at, G_at, held, after, nA, gamma, policy_step, value_step):
    """All updates of a batch at once; `G_at` holds its rewards, `after` is the value after them."""
    G = after
    for back in range(held):
        k = held - uint64(1) - back
        G = G_at[k] + gamma * G
        G_at[k] = G - v[o_at[k]]
    for k in range(held):
        v[o_at[k]] += value_step * G_at[k]
        move = policy_step * G_at[k]
        base = o_at[k] * nA
        for b in range(nA):
            h[base + b] -= move * pi[base + b]
        h[base + a_at[k]] += move
    # Only now, so that every update above has seen pi as it was before the first.
    for k in range(held):
        if policy_step * G_at[k] != 0.0:
            softmax_row(h, pi, o_at[k] * nA, nA)


@compile_kernel
def batch_actor_critic(
    world,
    paused,
    curve,
    t,
    t_stop,
    h,
    v,
    pi,
    o_at,
    a_at,
    G_at,
    gamma,
    policy_step,
    value_step,
    limit,
):
    """Run actor-critic in batches from step t to step t_stop and say where it stopped."""
    nA = uint64(len(world.actions))
    n = uint64(len(G_at))
    g0, g1, s, o, age, held = resume(paused, world.starts)
    while t < t_stop:
        block, total, pause = open_block(curve, t, t_stop)
        for _ in range(pause - t):
            g0, g1, word = next_word(g0, g1)
            a = draw_action(pi, o * nA, nA, word)
            g0, g1, s, o_next, r = take_action(world.rows, world.outcomes, s * nA + a, g0, g1)
            o_at[held] = o
            a_at[held] = a
            G_at[held] = r
            held += uint64(1)
            total += r
            age += uint64(1)
            ended = o_next == END
            cut = ended or age >= limit
            if cut or held == n:
                after = 0.0 if ended else v[o_next]
                update_batch(
                    h, pi, v, o_at, a_at, G_at, held, after, nA, gamma, policy_step, value_step
                )
                held = uint64(0)
            if cut:
                age = uint64(0)
                curve.episodes[block] += 1
                g0, g1, s, o = begin(world.starts, g0, g1)
            else:
                o = uint64(o_next)
        t = pause
        if close_block(curve, block, total, t):
            keep_greedy(h, nA, curve.policies[block])
    suspend(paused, g0, g1, s, o, age, held)
    return t
