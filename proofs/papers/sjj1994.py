"""Singh, Jaakkola and Jordan 1994: learning without state estimation.

Two states that look alike and want different actions: A is right in 1a and B in 1b; the right one
pays R and leads to the other state, the wrong one pays -R and stays. With discount gamma, from
either state alike:

    every deterministic policy     is right at most once, and then wrong for ever
    a fair coin                    is right half of the time: worth 0
    the last action remembered     is wrong at most once: from then on it alternates
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from proofs.ledger import Evidence, Proof, claim, machine, proved
from proofs.ledger.generic import GAMMA
from proofs.ledger.inequalities import positive
from proofs.ledger.prose import text
from proofs.papers.paper import Paper
from workbench import POMDP, Policy, augment, evaluate
from workbench.model.numbers import Number

PAPER = Paper(
    "sjj1994",
    "Singh, Jaakkola and Jordan",
    "Learning without state-estimation in partially observable Markovian decision processes",
    1994,
    "ours",
)
R = sympy.Symbol("R", positive=True)


def two_alike(gamma: Number = GAMMA, r: Number = R) -> POMDP:
    """The task of two states that look alike."""
    right = {"1a": "A", "1b": "B"}

    def p(s: str, a: str) -> dict[tuple[str, Number], int]:
        if a == right[s]:
            return {("1b" if s == "1a" else "1a", r): 1}
        return {(s, -r): 1}

    return POMDP.from_functions(
        name="two alike",
        A=("A", "B"),
        p=p,
        omega=lambda s: {"1": 1},
        mu={"1a": Fraction(1, 2), "1b": Fraction(1, 2)},
        gamma=gamma,
    )


@claim(
    "P.sjj1994.stochastic",
    place=PAPER.place,
    statement="On two states that look alike, for every reward R > 0 and discount in (0, 1): both "
    "deterministic memoryless policies are worth -R gamma / (1 - gamma), the fair coin 0, and the "
    "policy that alternates by the last action R gamma / (1 - gamma): stochastic beats "
    "deterministic, and memory beats both, by any amount.",
    verdict="proved",
    steps=(
        machine("deterministic", "both deterministic policies, in R and gamma"),
        machine("coin", "the fair coin is worth 0"),
        machine("memory", "alternating with K1 of actions, in R and gamma"),
        machine("gap", "gamma / (1 - gamma) is positive on (0, 1) and without bound"),
    ),
)
def stochastic(
    proof: Proof,
    sign: int = 1,
    bias: Number = Fraction(1, 2),
    memory: str = "window1",
    top: int = 1,
) -> Evidence:
    """`sign`: of the wrong action's reward; `bias`: of the coin; `top`: where gamma ends."""
    P = two_alike()
    worth = sympy.cancel(R * GAMMA / (1 - GAMMA))
    for a in P.A:
        v = evaluate(P, Policy.deterministic(P, {"1": a})).value
        off = sympy.cancel(v + sign * worth) != 0
        proof.step("deterministic", f"{a}: worth {v}" if off else None)
    tossed = Policy.from_mapping(P, {"1": {"A": bias, "B": 1 - bias}})
    v = evaluate(P, tossed).value
    proof.step("coin", None if sympy.cancel(v) == 0 else f"worth {v}")
    E = augment(P, memory)
    other = {"A": "B", "B": "A"}
    choice = {o: _alternating(o[0], other) for o in E.O}
    v = evaluate(E, Policy.deterministic(E, {o: (a, E.A[0][1]) for o, a in choice.items()})).value
    proof.step("memory", None if sympy.cancel(v - worth) == 0 else f"worth {v}")
    interval = sympy.Interval.open(0, top)
    decided = positive(GAMMA / (1 - GAMMA), {GAMMA: interval})
    proof.step("gap", None if decided.holds else f"not positive at gamma = {decided.witness}")
    return proved(
        "-R gamma/(1-gamma), 0, R gamma/(1-gamma)",
        text(
            "From either state with probability 1/2 the first step is worth 0 for every policy. A "
            "deterministic policy is wrong in all that follow, the coin in half of them, the "
            "alternating one in none: after a right action the other one is right, and after a "
            "wrong one too."
        ),
        decided.certificates,
    )


def _alternating(m: tuple[object, ...], other: dict[str, str]) -> str:
    """The action after a window of one pair (o, a): the other one; A at the start."""
    last = m[-1]
    return "A" if not isinstance(last, tuple) else other[last[1]]


stochastic.twin("deterministic policies that gain", guards="deterministic", sign=-1)
stochastic.twin("a coin with 2/3", guards="coin", bias=Fraction(2, 3))
stochastic.twin("K1, which remembers no action", guards="memory", memory="K1")
stochastic.twin("discounts above 1", guards="gap", top=2)
