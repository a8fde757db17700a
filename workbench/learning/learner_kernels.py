# mypy: disallow-untyped-defs=False
"""One loop runs every tabular learner. A learner puts its own three functions into it.

    start(L, m, o, ...)          at the first observation o of an episode
    act(L, m, o, ...)            the action at o
    learn(L, m, o, a, r, o', ...)    after a step; `ended` after the last one, `last` also where the
                                 episode is cut off at `limit` steps

L holds the learner's tables, arrays and numbers; m is what it carries from step to step: an action,
two counts and a number. Without functions of their own, learners do as Q-learning does (Section
5.1; Appendix D.1):

    Q-learning        q(o,a) += step [ r + gamma max_b q(o',b) - q(o,a) ]
    Expected Sarsa    the behaviour's mean in place of the maximum,
                      (1 - epsilon) max_b q(o',b) + epsilon mean_b q(o',b)

True online Sarsa(lambda) with Dutch traces (van Seijen and Sutton 2014; Appendix D.6.1) has, with
i = (o, a), i' = (o', a'), a' chosen before the update, and q' = q(i') (0 after the end),

    z(i)   = (1 - step) z(i) + 1
    delta  = r + gamma q' - q(i)
    change = q(i) - q_old
    q(j)  += step (delta + change) z(j),    z(j) = gamma lambda z(j)        for all j
    q(i)  -= step change
    q_old  = q'

q_old starts an episode as q(i), all z as 0. Only the pairs with a trace are visited: `active[0 :
held]` lists them, `z[0 : held]` holds their traces, `place[j]` is 1 + the place of j in the list, 0
if it is not there. A trace that falls to `trace_cutoff` or below is 0. Its m is (a, held, nothing,
q_old).

The value after the end of an episode is 0; one that is cut off goes on bootstrapping.

Random words, in this order: at the start of an episode, its start (if there are several); at each
step the action, then the outcome (if there are several). An epsilon-greedy action takes one word
for whether to explore, then one for the action, or with several greedy actions one for which.

Where only some actions are allowed at an observation, `allowed` says which, the entries of the
others are minus infinity, so that none is greedy, and exploring is uniform over those there are.

Tables are flat, entry o |A| + a. `actions` only has a length: |A|. As a tuple its length is part of
the type, so the compiler knows |A| and unrolls; as an array |A| is known at run time only. Both
give the same bits. Runs pause after any number of steps: all that a run needs to go on is in
`paused` (one record of `PAUSE`) and in L.
"""

from __future__ import annotations

from collections import namedtuple
from types import FunctionType
from typing import Any

from numba import njit, uint32, uint64

from workbench.core.kernels import lean_entry, lean_inline_kernel
from workbench.learning.sampling_kernels import (
    END,
    TWO53,
    begin,
    chance,
    close_block,
    next_word,
    one_of,
    open_block,
    take_action,
)

LearnerParts = namedtuple(
    "LearnerParts",
    "q limit epsilon step gamma lam trace_cutoff active z place temperature weights behaviour "
    "pair_at r_at rho rate o_at a_at G_at powers v pi policy_step value_step allowed",
)
"""What the kernels of this room use; what a learner does not have is None, and is left out by the
compiler."""

ZERO, ONE = uint64(0), uint64(1)


@lean_inline_kernel
def step_size(step, i, t):
    """The step of entry i at time t."""
    if step.halving == 0.0:  # constant: no more than one test in the most frequent case
        return step.first
    if len(step.updates):
        step.updates[i] += 1.0
        return step.first / step.updates[i] ** step.power
    return step.first / (1.0 + t / step.halving)


# ---------------------------------------------------------------------- actions


@lean_inline_kernel
def greedy(q, base, nA):
    """The largest entry of a row, the first action that has it, and how many have it."""
    best = q[base]
    first, ties = ZERO, ONE
    for a in range(ONE, nA):
        x = q[base + a]
        if x >= best:
            # One branch, then choices without a branch: a third faster than if, elif.
            first = first if x == best else a
            ties = ties + ONE if x == best else ONE
            best = x
    return best, first, ties


@lean_inline_kernel
def is_allowed(allowed, i):
    """Whether the action of an entry may be taken."""
    if allowed is None:
        return True
    return allowed[i]


@lean_inline_kernel
def count_allowed(allowed, base, nA):
    """How many actions are allowed in a row."""
    if allowed is None:
        return nA
    count = ZERO
    for a in range(nA):
        count += ONE if allowed[base + a] else ZERO
    return count


@lean_inline_kernel
def try_any(allowed, base, nA, word):
    """Any action that is allowed."""
    if allowed is None:
        return one_of(nA, word)
    j, a = one_of(count_allowed(allowed, base, nA), word), ZERO
    while j > ZERO or not allowed[base + a]:
        j -= ONE if allowed[base + a] else ZERO
        a += ONE
    return a


@lean_inline_kernel
def epsilon_greedy(q, allowed, base, nA, best, first, ties, epsilon, g0, g1):
    """The generator's words and an epsilon-greedy action, given what `greedy` says of the row."""
    g0, g1, word = next_word(g0, g1)
    if chance(word) < epsilon:
        g0, g1, word = next_word(g0, g1)
        return g0, g1, try_any(allowed, base, nA, word)
    if ties > ONE:
        g0, g1, word = next_word(g0, g1)
        j = one_of(ties, word)
        for a in range(nA):
            if q[base + a] == best:
                if j == ZERO:
                    return g0, g1, a
                j -= ONE
    return g0, g1, first


@lean_inline_kernel
def choose_action(L, m, o, nA, g0, g1):
    """The generator's words and an epsilon-greedy action."""
    best, first, ties = greedy(L.q, o * nA, nA)
    return epsilon_greedy(L.q, L.allowed, o * nA, nA, best, first, ties, L.epsilon, g0, g1)


# ---------------------------------------------------------------------- Q-learning


@lean_inline_kernel
def look_at_row(L, m, o, nA, g0, g1):
    """Look at the row of o: m holds what `greedy` says of it."""
    best, first, ties = greedy(L.q, o * nA, nA)
    return g0, g1, (first, ties, ZERO, best)


@lean_inline_kernel
def act_on_row(L, m, o, nA, g0, g1):
    """An epsilon-greedy action in the row that m tells of."""
    first, ties, _, best = m
    return epsilon_greedy(L.q, L.allowed, o * nA, nA, best, first, ties, L.epsilon, g0, g1)


@lean_inline_kernel
def learn_towards(L, o, i, r, o_next, value, first, ties, best, now, nA):
    """Move q(i) towards r + gamma value, and tell of the row of o'."""
    L.q[i] += step_size(L.step, i, now) * (r + L.gamma * value - L.q[i])
    if o_next == o:  # the update changed the row just read
        best, first, ties = greedy(L.q, o * nA, nA)
    return first, ties, ZERO, best


@lean_inline_kernel
def learn_greedily(L, m, o, a, r, o_next, ended, last, now, nA, g0, g1):
    """One update of Q-learning."""
    i = o * nA + a
    if ended:
        L.q[i] += step_size(L.step, i, now) * (r - L.q[i])
        return g0, g1, m
    best, first, ties = greedy(L.q, o_next * nA, nA)
    return g0, g1, learn_towards(L, o, i, r, o_next, best, first, ties, best, now, nA)


@lean_inline_kernel
def learn_expected(L, m, o, a, r, o_next, ended, last, now, nA, g0, g1):
    """One update of Expected Sarsa."""
    i = o * nA + a
    if ended:
        L.q[i] += step_size(L.step, i, now) * (r - L.q[i])
        return g0, g1, m
    best, first, ties = greedy(L.q, o_next * nA, nA)
    total, count = 0.0, count_allowed(L.allowed, o_next * nA, nA)
    for b in range(nA):
        total += L.q[o_next * nA + b] if is_allowed(L.allowed, o_next * nA + b) else 0.0
    epsilon = L.epsilon / TWO53
    value = (1.0 - epsilon) * best + epsilon * (total / count)
    return g0, g1, learn_towards(L, o, i, r, o_next, value, first, ties, best, now, nA)


# ---------------------------------------------------------------------- Sarsa(lambda)


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
    """Remove the traces of at most `cutoff` from the list, the last one filling each gap. Returns
    the new length."""
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


# ---------------------------------------------------------------------- the loop


start, act, learn = look_at_row, act_on_row, learn_greedily


def run_learner(world, paused, curve, t, t_stop, L):
    """Run a learner from time step t to t_stop, and return t_stop."""
    nA = uint64(len(world.actions))
    run = paused[0]
    g0, g1, s, o, age = run.g0, run.g1, run.s, run.o, run.age
    m = (run.a, run.held, run.at, run.x)
    if run.started == ZERO:
        g0, g1, s, o = begin(world.starts, g0, g1)
        g0, g1, m = start(L, m, o, nA, g0, g1)
    while t < t_stop:
        block, total, pause = open_block(curve, t, t_stop)
        for now in range(t, pause):
            g0, g1, a = act(L, m, o, nA, g0, g1)
            g0, g1, s, o_next, r = take_action(world.rows, world.outcomes, s * nA + a, g0, g1)
            total += r
            age += ONE
            ended = o_next == END
            last = ended or age >= L.limit
            g0, g1, m = learn(L, m, o, a, r, uint64(o_next), ended, last, now, nA, g0, g1)
            if last:
                age = ZERO
                curve.episodes[block] += 1
                g0, g1, s, o = begin(world.starts, g0, g1)
                g0, g1, m = start(L, m, o, nA, g0, g1)
            else:
                o = uint64(o_next)
        t = pause
        if close_block(curve, block, total, t):
            kept = curve.policies[block]
            for seen in range(len(kept)):
                kept[seen] = greedy(L.q, uint64(seen) * nA, nA)[1]
    run.g0, run.g1, run.started, run.s, run.o, run.age = g0, g1, ONE, s, o, age
    run.a, run.held, run.at, run.x = m
    return t


def learner_kernel(name: str, **own: Any) -> Any:
    """Compile `run_learner` with functions of a learner in the place of this module's.

    Functions other than `start`, `act` and `learn` take the place of those of their name in these.
    Numba cannot keep on disk a kernel that takes functions as arguments, hence copies.
    """
    hooks = {hook: own.pop(hook, globals()[hook]) for hook in ("start", "act", "learn")}
    given = [*hooks.values(), *own.values()]
    if own:
        for hook, function in hooks.items():
            hooks[hook] = lean_inline_kernel(_with_globals(function.py_func, hook, own))
    made = _with_globals(run_learner, name, hooks)
    # Kept kernels are found by a digest of the package's kernels; others may change unseen.
    kept = all(function.py_func.__module__.startswith("workbench.") for function in given)
    return lean_entry(made) if kept else njit(nogil=True)(made)


def _with_globals(function: Any, name: str, own: dict[str, Any]) -> Any:
    """A copy of a function, in which some global names mean something else."""
    made = FunctionType(function.__code__, {**function.__globals__, **own}, name)
    made.__qualname__ = name
    return made


q_learning = learner_kernel("q_learning")
expected_sarsa = learner_kernel("expected_sarsa", learn=learn_expected)
sarsa = learner_kernel("sarsa", start=choose_first, act=act_as_chosen, learn=learn_with_traces)
