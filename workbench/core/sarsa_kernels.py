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
if it is not there. A trace that falls to `cutoff` or below is 0. An episode cut off at `limit`
steps is updated with q(i') as if it went on; then its traces go.

The same kernel predicts: given `behaviour`, the cumulative thresholds of a policy pi(a | o),
actions are drawn from it instead of epsilon-greedily; given a temperature, from the softmax of q.
What is None the compiler leaves out. The step is constant or falls, as `step_size` says.

Random words, in this order: at the start of an episode, its start (if there are several), then its
first action; at each step the outcome (if there are several), then the next action, unless the
episode is over. An action takes one word for whether to explore, then one for the action, or with
several greedy actions one for which; drawn from a policy or a softmax, it takes exactly one word.
"""

from __future__ import annotations

from numba import uint32, uint64

from workbench.core.kernels import compile_kernel, inline_kernel
from workbench.core.random_kernels import chance, next_word
from workbench.core.table_kernels import (
    END,
    begin,
    close_block,
    open_block,
    resume,
    suspend,
    take_action,
)
from workbench.core.value_kernels import (
    explore_or_greedy,
    greedy,
    keep_greedy,
    soft_action,
    step_size,
)


@inline_kernel
def choose_action(q, o, nA, behaviour, temperature, weights, epsilon, g0, g1):
    """The generator's words and the next action."""
    if temperature is not None:
        return soft_action(q, o * nA, nA, temperature, weights, g0, g1)
    if behaviour is None:
        best, first, ties = greedy(q, o * nA, nA)
        return explore_or_greedy(q, o * nA, nA, best, first, ties, epsilon, g0, g1)
    g0, g1, word = next_word(g0, g1)
    u = chance(word)
    a = uint64(0)
    while a + uint64(1) < nA and u >= behaviour[o * nA + a]:
        a += uint64(1)
    return g0, g1, a


@inline_kernel
def drop_small(active, z, place, held, cutoff):
    """Take the traces of at most `cutoff` off the list, the last one filling each gap; the new
    length."""
    j = uint64(0)
    while j < held:
        if z[j] <= cutoff:
            held -= uint64(1)
            place[active[j]] = uint32(0)
            if j < held:
                active[j] = active[held]
                z[j] = z[held]
                place[active[j]] = uint32(j + uint64(1))
        else:
            j += uint64(1)
    return held


@inline_kernel
def forget(active, place, held):
    """Empty the list of traces."""
    for j in range(held):
        place[active[j]] = uint32(0)


@compile_kernel
def sarsa(
    world,
    paused,
    curve,
    t,
    t_stop,
    q,
    active,
    z,
    place,
    q_old_at,
    behaviour,
    epsilon,
    step,
    gamma,
    lam,
    cutoff,
    limit,
    temperature,
    weights,
):
    """Run Sarsa(lambda) from step t to step t_stop and say where it stopped."""
    nA = uint64(len(world.actions))
    decay = gamma * lam
    fresh = paused[0].started == uint64(0)
    g0, g1, s, o, age, held = resume(paused, world.starts)
    a = paused[0].a
    q_old = q_old_at[0]
    if fresh:
        g0, g1, a = choose_action(q, o, nA, behaviour, temperature, weights, epsilon, g0, g1)
        q_old = q[o * nA + a]
    while t < t_stop:
        block, total, pause = open_block(curve, t, t_stop)
        for now in range(t, pause):
            i = o * nA + a
            alpha = step_size(step, i, now)
            g0, g1, s, o_next, r = take_action(world.rows, world.outcomes, s * nA + a, g0, g1)
            total += r
            age += uint64(1)
            q_next = 0.0
            if o_next == END:
                age = limit
            else:
                o = uint64(o_next)
                g0, g1, a = choose_action(
                    q, o, nA, behaviour, temperature, weights, epsilon, g0, g1
                )
                q_next = q[o * nA + a]
            here = uint64(place[i])
            if here == uint64(0):
                active[held] = uint32(i)
                z[held] = 1.0
                held += uint64(1)
                place[i] = uint32(held)
            else:
                z[here - uint64(1)] = (1.0 - alpha) * z[here - uint64(1)] + 1.0
            change = q[i] - q_old
            move = alpha * (r + gamma * q_next - q[i] + change)
            for j in range(held):
                q[active[j]] += move * z[j]
            q[i] -= alpha * change
            q_old = q_next
            if age >= limit:
                forget(active, place, held)
                held = uint64(0)
                age = uint64(0)
                curve.episodes[block] += 1
                g0, g1, s, o = begin(world.starts, g0, g1)
                g0, g1, a = choose_action(
                    q, o, nA, behaviour, temperature, weights, epsilon, g0, g1
                )
                q_old = q[o * nA + a]
            else:
                smallest = 1.0
                for j in range(held):
                    z[j] *= decay
                    smallest = z[j] if z[j] < smallest else smallest
                if smallest <= cutoff:
                    held = drop_small(active, z, place, held, cutoff)
        t = pause
        if close_block(curve, block, total, t):
            keep_greedy(q, nA, curve.policies[block])
    suspend(paused, g0, g1, s, o, age, held)
    paused[0].a = a
    q_old_at[0] = q_old
    return t
