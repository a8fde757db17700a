# mypy: disallow-untyped-defs=False
"""Learners that act on a table q[o, a], epsilon-greedily or by its softmax: Q-learning, Double
Q-learning, Monte Carlo control, R-learning.

    Q-learning           q(o,a) += step [ r + gamma max_b q(o',b) - q(o,a) ]
    Double Q-learning    a fair coin says which of two tables learns:
                         q1(o,a) += step [ r + gamma q2(o', b) - q1(o,a) ] with b greedy in
                         q1(o', .), or the same with the
                         tables exchanged; actions by q1 + q2
    Monte Carlo          at the end of an episode, from its last step to its first:
                         G = r + gamma G;  q(o,a) += step [ G - q(o,a) ]            (every visit)
    R-learning           delta = r - rho + max_b q(o',b) - q(o,a);  q(o,a) += step delta;
                         rho += rate delta  if a was greedy at o        (Schwartz 1993)

(Section 5.1; Appendix D.1.) The value after the end of an episode is 0; R-learning goes on to the
first observation of the next one, whose words are drawn before the update. An episode cut off at
`limit` steps is left as it is by all but Monte Carlo, which go on bootstrapping; Monte Carlo counts
nothing after the cut.

Random words, in this order: at the start of an episode, its start (if there are several); at each
step whether to explore; then, exploring, the action, or, with several greedy actions, which of
them; then the outcome (if there are several). Double Q-learning draws the coin after the outcome
and then, with several greedy b, which. Given a temperature, Q-learning draws its actions from
exp(q(o, .) / temperature), one word each; without one (None) the compiler leaves this part out.

The step is constant, or falls with time or with the updates of an entry: see `step_size`.

Tables are flat, entry o |A| + a. `actions` only has a length: |A|. As a tuple its length is part of
the type, so the compiler knows |A| and unrolls; as an array |A| is known at run time only. Both
give the same bits. Runs pause after any number of steps: all that a run needs to go on is in
`paused` (one record of `PAUSE`), the tables and the workspace.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from numba import uint64

from workbench.core.kernels import compile_kernel, inline_kernel
from workbench.core.random_kernels import TWO53, chance, exp, next_word, one_of
from workbench.core.table_kernels import (
    END,
    begin,
    close_block,
    open_block,
    resume,
    suspend,
    take_action,
)


class StepRule(NamedTuple):
    """A step size as kernels take it; what its schedule does not use is None.

    Given `updates`, which counts the updates of each entry, first / n^power at the n-th; given
    `halving`, first / (1 + t / halving); else first.
    """

    first: Any
    halving: Any
    updates: Any
    power: Any


@inline_kernel
def step_size(step, i, t):
    """The step of entry i at time t."""
    return scheduled(step.first, step.halving, step.updates, step.power, i, t)


@inline_kernel
def scheduled(step, halving, updates, power, i, t):
    """`step_size` of a step's parts: the compiler leaves out what tests an argument that is None,
    but does not look into a record."""
    if updates is not None:
        updates[i] += 1.0
        return step / updates[i] ** power
    if halving is not None:
        return step / (1.0 + t / halving)
    return step


@inline_kernel
def greedy(q, base, nA):
    """The largest of q[base : base + nA], the first place where it is, and in how many places it
    is."""
    best = q[base]
    first = uint64(0)
    ties = uint64(1)
    for a in range(uint64(1), nA):
        x = q[base + a]
        if (
            x >= best
        ):  # one branch, then choices without a branch: a third faster than the obvious if, elif
            first = first if x == best else a
            ties = ties + uint64(1) if x == best else uint64(1)
            best = x
    return best, first, ties


@inline_kernel
def tied(q, base, nA, best, j):
    """The place of the j-th entry equal to `best`."""
    for a in range(nA):
        if q[base + a] == best:
            if j == uint64(0):
                return a
            j -= uint64(1)
    return uint64(0)


@inline_kernel
def explore_or_greedy(q, base, nA, best, first, ties, epsilon, g0, g1):
    """The generator's words and an epsilon-greedy action, given what `greedy` says about the
    row."""
    g0, g1, word = next_word(g0, g1)
    if chance(word) < epsilon:
        g0, g1, word = next_word(g0, g1)
        return g0, g1, one_of(nA, word)
    if ties > uint64(1):
        g0, g1, word = next_word(g0, g1)
        return g0, g1, tied(q, base, nA, best, one_of(ties, word))
    return g0, g1, first


@inline_kernel
def soft_action(q, base, nA, temperature, weights, g0, g1):
    """The generator's words and an action drawn from the softmax of a row; `weights` is room for
    |A| numbers."""
    most = q[base]
    for a in range(uint64(1), nA):
        most = max(most, q[base + a])
    for a in range(nA):
        weights[a] = exp((q[base + a] - most) / temperature)
    total = 0.0
    for a in range(nA):
        total += weights[a]
    g0, g1, word = next_word(g0, g1)
    u = chance(word) / TWO53 * total
    a = uint64(0)
    cumulative = weights[0]
    while a + uint64(1) < nA and u >= cumulative:
        a += uint64(1)
        cumulative += weights[a]
    return g0, g1, a


@inline_kernel
def keep_greedy(q, nA, kept):
    """Record the greedy action of every observation, the first among equals."""
    for o in range(len(kept)):
        kept[o] = greedy(q, uint64(o) * nA, nA)[1]


@compile_kernel
def q_learning(
    world,
    paused,
    curve,
    t,
    t_stop,
    q,
    epsilon,
    step,
    gamma,
    limit,
    temperature,
    weights,
):
    """Run Q-learning from step t to step t_stop and say where it stopped."""
    nA = uint64(len(world.actions))
    g0, g1, s, o, age, held = resume(paused, world.starts)
    best, first, ties = greedy(q, o * nA, nA)
    while t < t_stop:
        block, total, pause = open_block(curve, t, t_stop)
        for now in range(t, pause):
            if temperature is None:
                g0, g1, a = explore_or_greedy(q, o * nA, nA, best, first, ties, epsilon, g0, g1)
            else:
                g0, g1, a = soft_action(q, o * nA, nA, temperature, weights, g0, g1)
            i = o * nA + a
            g0, g1, s, o_next, r = take_action(world.rows, world.outcomes, s * nA + a, g0, g1)
            total += r
            age += uint64(1)
            alpha = step_size(step, i, now)
            if o_next == END:
                q[i] += alpha * (r - q[i])
                age = limit
            else:
                best, first, ties = greedy(q, uint64(o_next) * nA, nA)
                q[i] += alpha * (r + gamma * best - q[i])
                if uint64(o_next) == o:  # the update changed the row just read
                    best, first, ties = greedy(q, o * nA, nA)
                o = uint64(o_next)
            if age >= limit:
                age = uint64(0)
                curve.episodes[block] += 1
                g0, g1, s, o = begin(world.starts, g0, g1)
                best, first, ties = greedy(q, o * nA, nA)
        t = pause
        if close_block(curve, block, total, t):
            keep_greedy(q, nA, curve.policies[block])
    suspend(paused, g0, g1, s, o, age, held)
    return t


@inline_kernel
def greedy_in_sum(q1, q2, base, nA):
    """`greedy` of the row q1 + q2."""
    best = q1[base] + q2[base]
    first = uint64(0)
    ties = uint64(1)
    for a in range(uint64(1), nA):
        x = q1[base + a] + q2[base + a]
        if (
            x >= best
        ):  # one branch, then choices without a branch: a third faster than the obvious if, elif
            first = first if x == best else a
            ties = ties + uint64(1) if x == best else uint64(1)
            best = x
    return best, first, ties


@inline_kernel
def tied_in_sum(q1, q2, base, nA, best, j):
    """`tied` of the row q1 + q2."""
    for a in range(nA):
        if q1[base + a] + q2[base + a] == best:
            if j == uint64(0):
                return a
            j -= uint64(1)
    return uint64(0)


@inline_kernel
def improve_first(q1, q2, i, r, base_next, nA, step, gamma, g0, g1):
    """One update of q1 whose target is q2 at the action greedy in q1."""
    best, b, ties = greedy(q1, base_next, nA)
    if ties > uint64(1):
        g0, g1, word = next_word(g0, g1)
        b = tied(q1, base_next, nA, best, one_of(ties, word))
    q1[i] += step * (r + gamma * q2[base_next + b] - q1[i])
    return g0, g1


@compile_kernel
def double_q_learning(
    world,
    paused,
    curve,
    t,
    t_stop,
    q1,
    q2,
    epsilon,
    step,
    gamma,
    limit,
):
    """Run Double Q-learning from step t to step t_stop and say where it stopped."""
    nA = uint64(len(world.actions))
    g0, g1, s, o, age, held = resume(paused, world.starts)
    while t < t_stop:
        block, total, pause = open_block(curve, t, t_stop)
        for now in range(t, pause):
            g0, g1, word = next_word(g0, g1)
            if chance(word) < epsilon:
                g0, g1, word = next_word(g0, g1)
                a = one_of(nA, word)
            else:
                best, a, ties = greedy_in_sum(q1, q2, o * nA, nA)
                if ties > uint64(1):
                    g0, g1, word = next_word(g0, g1)
                    a = tied_in_sum(q1, q2, o * nA, nA, best, one_of(ties, word))
            i = o * nA + a
            g0, g1, s, o_next, r = take_action(world.rows, world.outcomes, s * nA + a, g0, g1)
            total += r
            age += uint64(1)
            g0, g1, word = next_word(g0, g1)
            tails = word >> uint64(63)
            alpha = step_size(step, i, now)
            if o_next == END:
                if tails:
                    q2[i] += alpha * (r - q2[i])
                else:
                    q1[i] += alpha * (r - q1[i])
                age = limit
            else:
                o = uint64(o_next)
                if tails:
                    g0, g1 = improve_first(q2, q1, i, r, o * nA, nA, alpha, gamma, g0, g1)
                else:
                    g0, g1 = improve_first(q1, q2, i, r, o * nA, nA, alpha, gamma, g0, g1)
            if age >= limit:
                age = uint64(0)
                curve.episodes[block] += 1
                g0, g1, s, o = begin(world.starts, g0, g1)
        t = pause
        if close_block(curve, block, total, t):
            for seen in range(curve.policies.shape[1]):
                curve.policies[block, seen] = greedy_in_sum(q1, q2, uint64(seen) * nA, nA)[1]
    suspend(paused, g0, g1, s, o, age, held)
    return t


@compile_kernel
def monte_carlo(
    world,
    paused,
    curve,
    t,
    t_stop,
    q,
    pair_at,
    r_at,
    epsilon,
    step,
    gamma,
    limit,
):
    """Run Monte Carlo control from step t to step t_stop, or until the episode fills `pair_at`; say
    where."""
    nA = uint64(len(world.actions))
    g0, g1, s, o, age, held = resume(paused, world.starts)
    room = uint64(len(pair_at))
    while t < t_stop and held < room:
        block, total, pause = open_block(curve, t, min(t_stop, t + int(room - held)))
        for now in range(t, pause):
            best, first, ties = greedy(q, o * nA, nA)
            g0, g1, a = explore_or_greedy(q, o * nA, nA, best, first, ties, epsilon, g0, g1)
            pair_at[held] = o * nA + a
            g0, g1, s, o_next, r = take_action(world.rows, world.outcomes, s * nA + a, g0, g1)
            r_at[held] = r
            held += uint64(1)
            total += r
            age += uint64(1)
            o = uint64(o_next)
            if o_next == END or age >= limit:
                G = 0.0
                while held > uint64(0):
                    held -= uint64(1)
                    i = uint64(pair_at[held])
                    G = r_at[held] + gamma * G
                    q[i] += step_size(step, i, now) * (G - q[i])
                age = uint64(0)
                curve.episodes[block] += 1
                g0, g1, s, o = begin(world.starts, g0, g1)
        t = pause
        if close_block(curve, block, total, t):
            keep_greedy(q, nA, curve.policies[block])
    suspend(paused, g0, g1, s, o, age, held)
    return t


@compile_kernel
def r_learning(
    world,
    paused,
    curve,
    t,
    t_stop,
    q,
    rho,
    epsilon,
    step,
    rate,
    limit,
):
    """Run R-learning from step t to step t_stop and say where it stopped."""
    nA = uint64(len(world.actions))
    g0, g1, s, o, age, held = resume(paused, world.starts)
    average = rho[0]
    while t < t_stop:
        block, total, pause = open_block(curve, t, t_stop)
        for now in range(t, pause):
            best, first, ties = greedy(q, o * nA, nA)
            g0, g1, a = explore_or_greedy(q, o * nA, nA, best, first, ties, epsilon, g0, g1)
            i = o * nA + a
            was_greedy = q[i] == best
            g0, g1, s, o_next, r = take_action(world.rows, world.outcomes, s * nA + a, g0, g1)
            total += r
            age += uint64(1)
            over = o_next == END
            if over:
                g0, g1, s, o = begin(world.starts, g0, g1)
            else:
                o = uint64(o_next)
            delta = r - average + greedy(q, o * nA, nA)[0] - q[i]
            q[i] += step_size(step, i, now) * delta
            if was_greedy:
                average += rate * delta
            if over or age >= limit:
                age = uint64(0)
                curve.episodes[block] += 1
                if not over:
                    g0, g1, s, o = begin(world.starts, g0, g1)
        t = pause
        if close_block(curve, block, total, t):
            keep_greedy(q, nA, curve.policies[block])
    rho[0] = average
    suspend(paused, g0, g1, s, o, age, held)
    return t
