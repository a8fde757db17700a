"""Tasks for the tests of beliefs and expressiveness: one with infinitely many beliefs, random ones
with few."""

from __future__ import annotations

import itertools
import random
import zlib
from fractions import Fraction

from hypothesis import strategies as st
from strategies import distributions, mostly_certain
from toy_tasks import small_task

from workbench import POMDP, Memory

HALF = Fraction(1, 2)


def tiger(gamma: Fraction = Fraction(3, 4)) -> POMDP:
    """Two doors, a tiger behind one; listening is right with probability 17/20; opening a door ends
    the episode."""

    def p(s, a):
        if a == "listen":
            return {(s, -1): 1}
        return {("end", -100 if a == s else 10): 1}

    def omega(s):
        if s == "end":
            return {"left": 1}
        return {s: Fraction(17, 20), "right" if s == "left" else "left": Fraction(3, 20)}

    return small_task(
        "tiger",
        p,
        {"left": HALF, "right": HALF},
        A=("listen", "left", "right"),
        omega=omega,
        gamma=gamma,
    )


@st.composite
def crisp(
    draw: st.DrawFn, most_states: int = 4, most_observations: int = 2, most_actions: int = 2
) -> POMDP:
    """A POMDP with few beliefs: moves and observations mostly certain, the start uncertain; some
    moves end the episode."""
    S = list(range(draw(st.integers(1, most_states))))
    A = ["l", "r"][: draw(st.integers(1, most_actions))]
    O = ["x", "y"][: draw(st.integers(1, most_observations))]
    starts = [*S, "end"]
    return mostly_certain(draw, "crisp", S, A, O, [1, 1, 1, 2], st.integers(0, 2), starts, HALF)


@st.composite
def small_memories(draw: st.DrawFn, states: int = 2, writes: int = 2) -> Memory:
    """A memory whose Gamma is anything: stochastic or not, reading all its arguments or not."""
    M, W = list(range(states)), ["a", "b", "c"][: draw(st.integers(1, writes))]
    reads = draw(
        st.sampled_from([(0, 1), (1, 2), (0, 1, 2, 3), (0, 1, 4), (0, 1, 5), tuple(range(6))])
    )
    salt, certain = draw(st.integers(0, 10_000)), draw(st.booleans())

    def Gamma(*arguments):
        code = zlib.crc32("|".join([str(salt), *(str(arguments[i]) for i in reads)]).encode())
        one, other = code % states, code // 97 % states
        if certain or code % 4 or one == other:
            return {one: 1}
        return {one: HALF, other: HALF}

    return Memory("small", M, W, Gamma, draw(distributions(M, most=draw(st.integers(1, 2)))))


@st.composite
def timed(draw: st.DrawFn, horizon: int = 2) -> POMDP:
    """A task over after exactly so many actions: hidden states 0 and 1, seen or not."""
    S, A = [0, 1], ["l", "r"]
    p = {
        (t, s, a): {
            (s_next, draw(st.integers(0, 3))): x
            for s_next, x in draw(distributions(S, most=2)).items()
        }
        for t in range(horizon)
        for s in S
        for a in A
    }
    omega = {(t, s): draw(distributions(["x", "y"], most=2)) for t in range(horizon) for s in S}

    def step(state, a):
        t, s = state
        return {
            ("end" if t + 1 == horizon else (t + 1, s_next), r): x
            for (s_next, r), x in merged(p[t, s, a], t).items()
        }

    def merged(row, t):
        """At the last step the successor does not matter."""
        if t + 1 < horizon:
            return row
        total: dict = {}
        for (_, r), x in row.items():
            total["end", r] = total.get(("end", r), 0) + x
        return total

    return small_task(
        "timed",
        step,
        {(0, s): x for s, x in draw(distributions(S, most=2)).items()},
        A=A,
        omega=lambda s: {"x": 1} if s == "end" else omega[s],
        gamma=draw(st.sampled_from([HALF, Fraction(1)])),
    )


@st.composite
def pointed(
    draw: st.DrawFn, per_observation: int = 2, observations: int = 2, actions: int = 2
) -> POMDP:
    """A task whose history tells the state, so that the belief graph is whatever is drawn: its
    nodes are the states.

    A state (o, i) is seen as o. After an action at most one state of each observation is possible,
    else the episode ends.
    """
    O = ["x", "y", "z"][:observations]
    A = ["l", "r", "u"][:actions]
    which = st.integers(-1, per_observation - 1)

    def spread(chosen: dict) -> dict:
        states = [(o, i) for o, i in chosen.items() if i >= 0] or ["end"]
        return {s: Fraction(1, len(states)) for s in states}

    p = {
        ((o, i), a): spread({o_next: draw(which) for o_next in O})
        for o in O
        for i in range(per_observation)
        for a in A
    }
    rewards = {pair: draw(st.integers(0, 2)) for pair in p}
    return small_task(
        "pointed",
        lambda s, a: {(s_next, rewards[s, a]): x for s_next, x in p[s, a].items()},
        spread({o: draw(st.integers(0, 1)) for o in O}),
        A=A,
        omega=lambda s: {"x" if s == "end" else s[0]: 1},
        gamma=Fraction(1, 2),
    )


@st.composite
def graphs(draw: st.DrawFn, most: int = 7) -> list[set[int]]:
    """For each vertex the set of its neighbours."""
    n = draw(st.integers(0, most))
    return joined(n, [pair for pair in itertools.combinations(range(n), 2) if draw(st.booleans())])


def colouring_task(neighbours: list[set[int]], parents: list[int]) -> POMDP:
    """A task that asks for a colouring: what is written at a vertex has to differ from what is
    written at its neighbours.

    Episodes start at a vertex without a parent (-1), or at an edge of vertex 0, which so has the
    colour that the memory starts with. From a vertex, action 0 leads to one of its edges, or to a
    child. At an edge the right action says from which end one came, and ends the episode. So a
    memory whose state is what was written last is sufficiently expressive, and can encode an
    optimal policy, exactly if the graph has a colouring with its states.
    """

    def edges(v):
        return [("edge", min(v, w), max(v, w), v) for w in sorted(neighbours[v])]

    def evenly(states):
        return {s: Fraction(1, len(states)) for s in states}

    def p(s, a):
        if s[0] == "edge":
            return {(("end",), int(a == int(s[3] == s[2]))): 1}
        children = [("vertex", w) for w, parent in enumerate(parents) if parent == s[1]]
        onward = (edges(s[1]) + children) if a == 0 else []
        return {(s_next, 0): x for s_next, x in evenly(onward or [("end",)]).items()}

    starts = edges(0) + [("vertex", v) for v, parent in enumerate(parents) if v > 0 and parent < 0]
    return small_task(
        "colours",
        p,
        evenly(starts),
        omega=lambda s: {s[:3]: 1},
        gamma=HALF,
        terminal=lambda s: s == ("end",),
    )


@st.composite
def colouring_tasks(draw: st.DrawFn) -> tuple[list[set[int]], POMDP]:
    """A graph and the task of colouring it, of the size where it is not plain whether three colours
    do."""
    n = draw(st.integers(4, 8))
    rng = random.Random(draw(st.integers(0, 100_000)))
    pairs = [pair for pair in itertools.combinations(range(n), 2) if rng.random() < 0.55]
    parents = [-1, -1, *(rng.choice([-1, *range(1, v)]) for v in range(2, n))]
    return joined(n, pairs), colouring_task(joined(n, pairs), parents)


def colourable(neighbours: list[set[int]], colours: int, chosen: tuple[int, ...] = ()) -> bool:
    """Whether a graph can be coloured, by trying everything."""
    v = len(chosen)
    return v == len(neighbours) or any(
        all(chosen[w] != c for w in neighbours[v] if w < v)
        and colourable(neighbours, colours, (*chosen, c))
        for c in range(colours)
    )


def joined(n: int, pairs: list[tuple[int, int]]) -> list[set[int]]:
    """A graph from its edges."""
    neighbours: list[set[int]] = [set() for _ in range(n)]
    for i, j in pairs:
        neighbours[i].add(j)
        neighbours[j].add(i)
    return neighbours


def sequence_task(actions: list[int]) -> POMDP:
    """Reward 1 for doing the actions in this order; the first that is wrong ends the episode.
    Nothing is seen."""

    def p(t, a):
        if a != actions[t]:
            return {("end", 0): 1}
        return {("end", 1): 1} if t + 1 == len(actions) else {(t + 1, 0): 1}

    return small_task("sequence", p, 0, A=sorted({*actions, 0, 1}), gamma=HALF)


def overwritten(n: int) -> Memory:
    """n memory states, each of which can be written; not marked as a built-in family."""
    return Memory("overwritten", range(n), range(n), lambda m, w, o, a, r, o_next: {w: 1}, {0: 1})
