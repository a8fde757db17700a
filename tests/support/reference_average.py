"""Average reward the slow way: the expansion of discounted values at gamma = 1, and long walks."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import sympy
from hypothesis import strategies as st
from toy_tasks import small_task

from tests.support.strategies import ACTIONS, OBSERVATIONS, distributions
from workbench import POMDP, Policy, evaluate


@st.composite
def continuing_pomdps(draw, most_states=4, most_observations=2, most_actions=2) -> POMDP:
    """A small exact POMDP that goes on for ever, with few successors: often of several classes."""
    S = list(range(draw(st.integers(1, most_states))))
    O = list(OBSERVATIONS[: draw(st.integers(1, most_observations))])
    A = list(ACTIONS[: draw(st.integers(1, most_actions))])
    rewards = st.integers(-2, 3)
    p = {(s, a): draw(distributions([(t, draw(rewards)) for t in S], most=2)) for s in S for a in A}
    omega = {s: draw(distributions(O, 2)) for s in S}
    return small_task(
        "continuing",
        lambda s, a: p[s, a],
        draw(distributions(S, 2)),
        A=A,
        omega=omega.__getitem__,
        gamma=Fraction(9, 10),
    )


def expanded(P: POMDP, pi: Policy) -> tuple[dict, dict]:
    """Gain and bias of each state from v_gamma = g / (1 - gamma) + h + o(1)."""
    gamma = sympy.Symbol("gamma")
    v = evaluate(P.with_gamma(gamma), pi, exact=True, weights="discounted").v
    gain, bias = {}, {}
    for s in P.S:
        value = sympy.sympify(v[s])
        gain[s] = sympy.cancel((1 - gamma) * value).subs(gamma, 1)
        bias[s] = sympy.cancel(value - gain[s] / (1 - gamma)).subs(gamma, 1)
    return gain, bias


def walk_on(P: POMDP, pi: Policy, steps: int, seed: int) -> list[float]:
    """The rewards of a walk; a new episode begins where one ends."""
    rng = random.Random(seed)

    def drawn(chances):
        outcomes = list(chances)
        return rng.choices(outcomes, [float(chances[x]) for x in outcomes])[0]

    rewards, s = [], drawn(P.mu)
    rows = {o: {a: pi[o, a] for a in P.A} for o in P.O}
    for _ in range(steps):
        s, r = drawn(P.p(s, drawn(rows[drawn(P.omega(s))])))
        rewards.append(float(r))
        if s in P.terminal:
            s = drawn(P.mu)
    return rewards


def mean_and_spread(rewards: list[float], batches: int = 50) -> tuple[float, float]:
    """The mean reward and the standard error of it, by batch means."""
    parts = np.array(rewards).reshape(batches, -1).mean(axis=1)
    return float(parts.mean()), float(parts.std(ddof=1) / np.sqrt(batches))
