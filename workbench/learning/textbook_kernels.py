# mypy: disallow-untyped-defs=False
"""The textbooks' other learners on tables, as functions for the loop of `learner_kernels`.

    Monte Carlo          at the end of an episode, from its last step to its first:
                         G = r + gamma G;  q(o,a) += step [ G - q(o,a) ]            (every visit)
    R-learning           delta = r - rho + max_b q(o',b) - q(o,a);  q(o,a) += step delta;
                         rho += rate delta  if a was greedy at o        (Schwartz 1993)
    n-step Sarsa         the pair visited n steps ago gets its n-step return (Sutton and Barto 2018,
                         Section 7.2), which a' chosen before the update completes:
                         G = r_1 + ... + gamma^(n-1) r_n + gamma^n q(o',a');
                         q(o,a) += step [ G - q(o,a) ]; at the end of an episode the pairs that
                         remain are updated with what their returns hold, oldest first

R-learning goes on from the end of an episode to the first observation of the next one, whose words
are drawn before the update. Monte Carlo counts nothing after an episode is cut off.
"""

from __future__ import annotations

from numba import uint64

from workbench.core.kernels import lean_inline_kernel
from workbench.learning.actor_kernels import go_on, put_into_window
from workbench.learning.learner_kernels import (
    ONE,
    ZERO,
    LearnerParts,
    act_as_chosen,
    choose_action,
    choose_first,
    greedy,
    learn_with_traces,
    learner_kernel,
    look_at_row,
    step_size,
)
from workbench.learning.softmax_kernels import choose_softly, draw_by_thresholds

__all__ = ["LearnerParts"]


@lean_inline_kernel
def learn_from_episode(L, m, o, a, r, o_next, ended, last, now, nA, g0, g1):
    """Record a time step. At the end of the episode, learn from all of them."""
    held = m[1]
    L.pair_at[held], L.r_at[held] = o * nA + a, r
    held += ONE
    G = 0.0
    while last and held > ZERO:
        held -= ONE
        i = uint64(L.pair_at[held])
        G = L.r_at[held] + L.gamma * G
        L.q[i] += step_size(L.step, i, now) * (G - L.q[i])
    return g0, g1, (ZERO, held, ZERO, 0.0)


@lean_inline_kernel
def learn_relatively(L, i, r, was_greedy, base_next, now, nA):
    """One update of R-learning."""
    delta = r - L.rho[0] + greedy(L.q, base_next, nA)[0] - L.q[i]
    L.q[i] += step_size(L.step, i, now) * delta
    if was_greedy:
        L.rho[0] += L.rate * delta


@lean_inline_kernel
def learn_average(L, m, o, a, r, o_next, ended, last, now, nA, g0, g1):
    """One update of R-learning, but after the end: m then holds what `start_average` needs."""
    i = o * nA + a
    was_greedy = L.q[i] == m[3]
    if ended:
        return g0, g1, (i, ONE + uint64(was_greedy), uint64(now), r)
    learn_relatively(L, i, r, was_greedy, o_next * nA, now, nA)
    if last:
        return g0, g1, (ZERO, ZERO, ZERO, 0.0)
    return look_at_row(L, m, o_next, nA, g0, g1)


@lean_inline_kernel
def start_average(L, m, o, nA, g0, g1):
    """Learn from the last step of an episode, which led to the first observation of this one."""
    i, pending, now, r = m
    if pending > ZERO:
        learn_relatively(L, i, r, pending > ONE, o * nA, now, nA)
    return look_at_row(L, m, o, nA, g0, g1)


@lean_inline_kernel
def learn_n_steps(L, m, o, a, r, o_next, ended, last, now, nA, g0, g1):
    """Choose the next action, and update the pair of n time steps ago. At the end update every
    pair."""
    n, oldest, a_next = uint64(len(L.G_at)), m[2], ZERO
    held = put_into_window(L, oldest, m[1], o, a, r)
    if not ended:
        g0, g1, a_next = choose_action(L, m, o_next, nA, g0, g1)
    stay = ZERO if last else n - ONE
    while held > stay:
        G = L.G_at[oldest]
        if not ended:
            G += L.powers[held] * L.q[o_next * nA + a_next]
        i = L.o_at[oldest] * nA + L.a_at[oldest]
        L.q[i] += step_size(L.step, i, now) * (G - L.q[i])
        oldest = ZERO if oldest + ONE == n else oldest + ONE
        held -= ONE
    return g0, g1, (a_next, held, oldest, 0.0)


monte_carlo = learner_kernel(
    "monte_carlo", start=go_on, act=choose_action, learn=learn_from_episode
)
r_learning = learner_kernel("r_learning", start=start_average, learn=learn_average)
n_step_sarsa = learner_kernel(
    "n_step_sarsa", start=choose_first, act=act_as_chosen, learn=learn_n_steps
)
soft_q_learning = learner_kernel("soft_q_learning", start=go_on, act=choose_softly)
_SARSA = {"start": choose_first, "act": act_as_chosen, "learn": learn_with_traces}
soft_sarsa = learner_kernel("soft_sarsa", **_SARSA, choose_action=choose_softly)
predict = learner_kernel("predict", **_SARSA, choose_action=draw_by_thresholds)
