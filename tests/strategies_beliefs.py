"""Tasks for the tests of beliefs and expressiveness: one with infinitely many beliefs, random ones with few."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st
from strategies import distributions

from workbench import POMDP

HALF = Fraction(1, 2)


def tiger(gamma: Fraction = Fraction(3, 4)) -> POMDP:
    """Two doors, a tiger behind one; listening is right with probability 17/20; opening a door ends the episode."""

    def p(s, a):
        if a == "listen":
            return {(s, -1): 1}
        return {("end", -100 if a == s else 10): 1}

    def omega(s):
        if s == "end":
            return {"left": 1}
        return {s: Fraction(17, 20), "right" if s == "left" else "left": Fraction(3, 20)}

    return POMDP.from_functions(
        name="tiger", A=("listen", "left", "right"), p=p, omega=omega, mu={"left": HALF, "right": HALF}, gamma=gamma,
        terminal=lambda s: s == "end",
    )  # fmt: skip


@st.composite
def crisp(draw: st.DrawFn, most_states: int = 4, most_observations: int = 2, most_actions: int = 2) -> POMDP:
    """A POMDP with few beliefs: moves and observations mostly certain, the start uncertain; some moves end the episode."""
    S = list(range(draw(st.integers(1, most_states))))
    A = ["l", "r"][: draw(st.integers(1, most_actions))]
    O = ["x", "y"][: draw(st.integers(1, most_observations))]  # noqa: E741
    p = {}
    for s in S:
        for a in A:
            outcomes = draw(distributions([*S, "end"], most=draw(st.sampled_from([1, 1, 1, 2]))))
            p[s, a] = {(s_next, draw(st.integers(0, 2))): x for s_next, x in outcomes.items()}
    omega = {s: draw(distributions(O, most=draw(st.sampled_from([1, 1, 1, 2])))) for s in [*S, "end"]}
    return POMDP.from_functions(
        name="crisp", A=A, p=lambda s, a: p[s, a], omega=omega.__getitem__, mu=draw(distributions([*S, "end"])),
        gamma=Fraction(1, 2), terminal=lambda s: s == "end",
    )  # fmt: skip
