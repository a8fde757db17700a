"""Hypothesis strategies for the workbench's own types: small exact POMDPs, memories, policies."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st
from toy_tasks import small_task

from workbench import POMDP, Memory, Policy, memories
from workbench.memories import Family

OBSERVATIONS = ("x", "y", "z")
ACTIONS = ("l", "r", "u")
GAMMAS = st.sampled_from([Fraction(1, 2), Fraction(9, 10), Fraction(1)])


@st.composite
def distributions(draw: st.DrawFn, outcomes: list, most: int = 3) -> dict:
    """An exact distribution over some of the outcomes."""
    support = draw(
        st.lists(
            st.sampled_from(outcomes), min_size=1, max_size=min(most, len(outcomes)), unique=True
        )
    )
    weights = [draw(st.integers(1, 4)) for _ in support]
    return {outcome: Fraction(w, sum(weights)) for outcome, w in zip(support, weights, strict=True)}


@st.composite
def pomdps(
    draw: st.DrawFn,
    most_states: int = 4,
    most_observations: int = 2,
    most_actions: int = 2,
    gammas: st.SearchStrategy = GAMMAS,
    deterministic_observations: bool = False,
    some_actions: bool = False,
) -> POMDP:
    """A random small exact POMDP whose episodes end with probability one under every policy.

    States are 0, 1, ...; from each one every action either ends the episode or, with probability at
    least 1/5, does so. With `some_actions` observations may allow some actions only.
    """
    n = draw(st.integers(1, most_states))
    S = list(range(n))
    O = list(OBSERVATIONS[: draw(st.integers(1, most_observations))])
    A = list(ACTIONS[: draw(st.integers(1, most_actions))])
    rewards = st.integers(-2, 3)
    p = {}
    for s in S:
        for a in A:
            going = draw(
                distributions(
                    [(t, r) for t in S for r in draw(st.sets(rewards, min_size=1, max_size=2))]
                )
            )
            end = Fraction(draw(st.integers(1, 5)), 5)
            row = {outcome: x * (1 - end) for outcome, x in going.items() if end != 1}
            row[("end", draw(rewards))] = end
            p[s, a] = row
    most = 1 if deterministic_observations else 2
    omega = {s: draw(distributions(O, most)) for s in [*S, "end"]}
    allowed = {}
    if some_actions:
        sets = st.lists(st.sampled_from(A), min_size=1, unique=True)
        group = {o: {o} for o in O}
        for s in S:  # what one state shows allows the same
            joined = set().union(*(group[o] for o in omega[s]))
            group |= dict.fromkeys(joined, joined)
        for o in O:
            allowed |= dict.fromkeys(group[o], draw(sets))
    return small_task(
        "random",
        lambda s, a: p[s, a],
        draw(distributions(S, 2)),
        A=A,
        omega=omega.__getitem__,
        gamma=draw(gammas),
        allowed=allowed.__getitem__ if some_actions else None,
    )


def families(most: int = 2) -> st.SearchStrategy[Family]:
    """One of the paper's memories, up to a size."""
    sized = [
        make(k)
        for k in range(1, most + 1)
        for make in (memories.K, memories.B, memories.O, memories.OA)
    ]
    return st.sampled_from([memories.none, *sized])


@st.composite
def strange_memories(draw: st.DrawFn) -> Memory:
    """A memory of two states, stochastic, whose Gamma reads every argument and whose eta is
    random."""
    M, W = [0, 1], ["a", "b"]
    salt = draw(st.integers(0, 1000))
    rows = [draw(distributions(M)) for _ in range(4)]

    def Gamma(m, w, o, a, r, o_next):
        return rows[hash((salt, m, W.index(w), ord(o), ord(a), int(r), ord(o_next))) % len(rows)]

    return Memory("strange", M, W, Gamma, draw(distributions(M)))


@st.composite
def policies(draw: st.DrawFn, P: POMDP, deterministic: bool = False) -> Policy:
    """An exact policy for P."""
    if deterministic:
        return Policy.deterministic(P, {o: draw(st.sampled_from(P.actions(o))) for o in P.O})
    return Policy.from_mapping(P, {o: draw(distributions(list(P.actions(o)))) for o in P.O})


def mostly_certain(
    draw: st.DrawFn, name: str, S: list, A: list, O: list, most: list, rewards: st.SearchStrategy,
    starts: list, gamma: Fraction,
) -> POMDP:  # fmt: skip
    """A task whose moves and observations have as many outcomes as is drawn from `most`."""
    p = {}
    for s in S:
        for a in A:
            outcomes = draw(distributions([*S, "end"], most=draw(st.sampled_from(most))))
            p[s, a] = {(t, draw(rewards)): x for t, x in outcomes.items()}
    omega = {s: draw(distributions(O, most=draw(st.sampled_from(most)))) for s in [*S, "end"]}
    return small_task(
        name,
        lambda s, a: p[s, a],
        draw(distributions(starts)),
        A=A,
        omega=omega.__getitem__,
        gamma=gamma,
    )


@st.composite
def wandering(draw: st.DrawFn, most_states: int = 4) -> POMDP:
    """gamma = 1 and policies that may never end: moves are mostly certain, some end the episode,
    loops may pay."""
    S = list(range(draw(st.integers(1, most_states))))
    return mostly_certain(
        draw, "wandering", S, ["l", "r"], ["x", "y"], [1, 1, 2], st.integers(-2, 1), S, Fraction(1)
    )
