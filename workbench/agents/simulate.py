"""One time step of a POMDP, with or without a memory, in labels: slow and obvious.

Section 2: s_0 ~ mu, o_0 ~ omega(.|s_0); then a_t ~ pi(.|o_t), (s_{t+1}, r_t) ~ p(.|s_t, a_t),
o_{t+1} ~ omega(.|s_{t+1}). Definition 4.2 adds m_0 ~ eta and m_{t+1} ~ Gamma(.|m_t, w_t, o_t, a_t,
r_t, o_{t+1}), the agent seeing (m_t, o_t) and choosing (a_t, w_t).

`Process` is either of them as functions that return distributions. `simulate` samples episodes,
`sequences` adds up the exact probability of every sequence of observations, actions and rewards up
to a horizon. Nothing here uses the compiled product, so the two can be compared (Appendix A.1).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from workbench.core.errors import WorkbenchError, WrongType
from workbench.core.families import attach
from workbench.core.memory import Memory, MemoryFamily
from workbench.core.numbers import Number
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.space import Label
from workbench.text import show

State = Any
"""What is hidden together with what is seen, as one step needs it: (s, o), or (s, m, o)."""


@dataclass(frozen=True)
class Process:
    """Something an agent interacts with.

    Attributes
    ----------
    start : {state: probability}.
    seen : the observation that a state shows the agent.
    ended : whether an episode is over in a state.
    step : `step(state, action)` returns {(state_next, r): probability}.
    """

    start: Mapping[State, Number]
    seen: Callable[[State], Label]
    ended: Callable[[State], bool]
    step: Callable[[State, Label], Mapping[tuple[State, Number], Number]]


def alone(P: POMDP) -> Process:
    """A POMDP by itself."""

    def step(state: State, a: Label) -> dict[tuple[State, Number], Number]:
        s, _ = state
        return _add(
            (((s_next, o_next), r), x * y)
            for (s_next, r), x in P.p(s, a).items()
            for o_next, y in P.omega(s_next).items()
        )

    start = _add(((s, o), x * y) for s, x in P.mu.items() for o, y in P.omega(s).items())
    return Process(start, lambda state: state[1], lambda state: state[0] in P.terminal, step)


def pair(P: POMDP, memory: Memory | MemoryFamily | str) -> Process:
    """The memory-augmented environment <P, memory> run as the pair it is defined as (Definition
    4.2)."""
    attached = attach(memory, P)

    def step(state: State, action: Label) -> dict[tuple[State, Number], Number]:
        (s, m, o), (a, w) = state, action
        return _add(
            (((s_next, m_next, o_next), r), x * y * z)
            for (s_next, r), x in P.p(s, a).items()
            for o_next, y in P.omega(s_next).items()
            for m_next, z in attached.Gamma(m, w, o, a, r, o_next).items()
        )

    start = _add(
        ((s, m, o), x * y * z)
        for s, x in P.mu.items()
        for m, y in attached.eta.items()
        for o, z in P.omega(s).items()
    )
    return Process(
        start, lambda state: (state[1], state[2]), lambda state: state[0] in P.terminal, step
    )


def _add(weighted: Any) -> dict[Any, Number]:
    total: dict[Any, Number] = {}
    for outcome, x in weighted:
        if x != 0:
            total[outcome] = total.get(outcome, 0) + x
    return total


@dataclass(frozen=True)
class Step:
    """What happened at one time step. `state` is what `Process` calls a state."""

    state: State
    o: Label
    a: Label
    r: Number
    state_next: State


def simulate(
    P: POMDP | Process, pi: Policy, seed: int, episodes: int = 1, max_steps: int = 100_000
) -> list[list[Step]]:
    """Sample episodes of a policy, step by step, in labels.

    Parameters
    ----------
    P : a POMDP, or a `Process` such as `pair(P, memory)`, whose policy then speaks of (m, o) and
        (a, w).
    seed : a seed gives the same episodes every time.
    max_steps : an episode that lasts longer raises an error.

    >>> from workbench.core.policy import uniform
    >>> P = POMDP.from_functions(
    ...     name="one step",
    ...     A=["go"],
    ...     p=lambda s, a: {("end", 1): 1},
    ...     omega=lambda s: {"o": 1},
    ...     mu={"s": 1},
    ...     gamma=1,
    ...     terminal={"end"},
    ... )
    >>> [(t.o, t.a, int(t.r)) for t in simulate(P, uniform(P), seed=0)[0]]
    [('o', 'go', 1)]

    See also: `evaluate`, `learn`, `uniform`.
    """
    if not isinstance(pi, Policy):
        raise WrongType(f"expected a Policy, not {pi!r}")
    if isinstance(P, POMDP) and P.allowed is not None:
        pi.fits(P)
    process = alone(P) if isinstance(P, POMDP) else P
    draw = random.Random(seed)
    return [_episode(process, pi, draw, max_steps) for _ in range(episodes)]


def _episode(process: Process, pi: Policy, draw: random.Random, max_steps: int) -> list[Step]:
    state = sample(process.start, draw)
    steps: list[Step] = []
    while not process.ended(state):
        if len(steps) == max_steps:
            raise WorkbenchError(
                f"an episode is not over after {max_steps:,} steps; it is in {show(state)}"
            )
        o = process.seen(state)
        a = sample(pi.row(o), draw)
        state_next, r = sample(process.step(state, a), draw)
        steps.append(Step(state, o, a, r, state_next))
        state = state_next
    return steps


def sample(distribution: Mapping[Any, Number], draw: random.Random) -> Any:
    """Draw an outcome of {outcome: probability}."""
    x = draw.random()
    for outcome, prob in distribution.items():
        x -= float(prob)
        if x < 0:
            return outcome
    return outcome  # rounding left a last sliver


def discounted_return(steps: list[Step], gamma: Number) -> Number:
    """sum_t gamma^t r_t."""
    total: Number = 0
    for step in reversed(steps):
        total = step.r + gamma * total
    return total


def sequences(process: Process, pi: Policy, horizon: int) -> dict[tuple[Any, ...], Number]:
    """Exact probabilities of all sequences o_0, a_0, r_0, o_1, ... of at most `horizon` time steps.
    They are cut at the end of the episode.

    Two environments are the same from the agent's side exactly when these agree for every policy.
    """
    found: dict[tuple[Any, ...], Number] = {}
    alive = _add((((process.seen(state),), state), x) for state, x in process.start.items())
    row, step = cache(pi.row), cache(process.step)  # many pasts lead to one state
    for _ in range(horizon):
        moved: dict[tuple[tuple[Any, ...], State], Number] = {}
        for (past, state), x in alive.items():
            if process.ended(state):
                found[past] = found.get(past, 0) + x
                continue
            for a, y in row(process.seen(state)).items():
                for (state_next, r), z in step(state, a).items():
                    key = ((*past, a, r, process.seen(state_next)), state_next)
                    moved[key] = moved.get(key, 0) + x * y * z
        alive = moved
    for (past, _), x in alive.items():
        found[past] = found.get(past, 0) + x
    return found
