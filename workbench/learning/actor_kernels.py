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

An episode that is cut off ends likewise, but each G goes on with gamma^k v of the last observation.

The window is a ring of n places: `o_at` and `a_at` hold the pair, `G_at` the part of its return
that is known. Powers of gamma come from a table, and a reward is added to every return in the
window at once, so nothing is summed twice and rewards of 0 cost nothing. `pi` caches the softmax
rows; only the row just changed is computed again. A batch fills the same places from 0 on, with
rewards in place of returns, which are summed backwards when it is full. m is (nothing, how many
pairs are held, the place of the oldest, nothing). The table q of the loop holds the preferences.
"""

from __future__ import annotations

from numba import uint64

from workbench.core.kernels import lean_inline_kernel
from workbench.learning.learner_kernels import ONE, ZERO, LearnerParts, learner_kernel
from workbench.learning.sampling_kernels import TWO53, chance, next_word
from workbench.learning.softmax_kernels import draw_from, last_allowed, softmax_row

__all__ = ["LearnerParts"]


@lean_inline_kernel
def go_on(L, m, o, nA, g0, g1):
    """Nothing is done when an episode starts."""
    return g0, g1, m


@lean_inline_kernel
def act_by_policy(L, m, o, nA, g0, g1):
    """An action drawn from pi."""
    g0, g1, word = next_word(g0, g1)
    a = draw_from(L.pi, o * nA, nA, chance(word) / TWO53)
    return g0, g1, last_allowed(L.allowed, o * nA, a)


@lean_inline_kernel
def move_preferences(h, pi, base, a, nA, move):
    """Add move ([b = a] - pi(b)) to the preferences of a row."""
    for b in range(nA):
        h[base + b] -= move * pi[base + b]
    h[base + a] += move


@lean_inline_kernel
def put_into_window(L, oldest, held, o, a, r):
    """Put a pair into the window, and its reward into every return there. Returns the new
    length."""
    n = uint64(len(L.G_at))
    newest = oldest + held
    newest = newest - n if newest >= n else newest
    L.o_at[newest], L.a_at[newest], L.G_at[newest] = o, a, 0.0
    held += ONE
    if r != 0.0:
        at = newest
        for k in range(held):
            L.G_at[at] += L.powers[k] * r
            at = n - ONE if at == ZERO else at - ONE
    return held


@lean_inline_kernel
def learn_in_window(L, m, o, a, r, o_next, ended, last, now, nA, g0, g1):
    """Update the pair of n steps ago, or at the end of the episode every pair of the window."""
    n, oldest = uint64(len(L.G_at)), m[2]
    held = put_into_window(L, oldest, m[1], o, a, r)
    stay = ZERO if last else n - ONE
    while held > stay:
        G = L.G_at[oldest]
        if not ended:
            G += L.powers[held] * L.v[o_next]
        seen = L.o_at[oldest]
        delta = G - L.v[seen]
        L.v[seen] += L.value_step * delta
        move = L.policy_step * delta
        if move != 0.0:
            move_preferences(L.q, L.pi, seen * nA, L.a_at[oldest], nA, move)
            softmax_row(L.q, L.pi, L.allowed, seen * nA, nA)
        oldest = ZERO if oldest + ONE == n else oldest + ONE
        held -= ONE
    return g0, g1, (ZERO, held, oldest, 0.0)


@lean_inline_kernel
def learn_in_batch(L, m, o, a, r, o_next, ended, last, now, nA, g0, g1):
    """Put a pair into the batch, and update all of its pairs when it is full."""
    held = m[1]
    L.o_at[held], L.a_at[held], L.G_at[held] = o, a, r
    held += ONE
    if not last and held < uint64(len(L.G_at)):
        return g0, g1, (ZERO, held, ZERO, 0.0)
    G = 0.0 if ended else L.v[o_next]
    for back in range(held):
        k = held - ONE - back
        G = L.G_at[k] + L.gamma * G
        L.G_at[k] = G - L.v[L.o_at[k]]
    for k in range(held):
        L.v[L.o_at[k]] += L.value_step * L.G_at[k]
        move = L.policy_step * L.G_at[k]
        move_preferences(L.q, L.pi, L.o_at[k] * nA, L.a_at[k], nA, move)
    # Only now, so that every update above has seen pi as it was before the first.
    for k in range(held):
        if L.policy_step * L.G_at[k] != 0.0:
            softmax_row(L.q, L.pi, L.allowed, L.o_at[k] * nA, nA)
    return g0, g1, (ZERO, ZERO, ZERO, 0.0)


window_actor_critic = learner_kernel(
    "window_actor_critic", start=go_on, act=act_by_policy, learn=learn_in_window
)
batch_actor_critic = learner_kernel(
    "batch_actor_critic", start=go_on, act=act_by_policy, learn=learn_in_batch
)
