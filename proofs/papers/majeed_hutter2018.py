"""Majeed and Hutter 2018: Q-learning converges to the optimum beyond MDPs, wherever Q* is the same
for all histories that look alike.

Our task: two states show `o`. In the one `take` pays 1 and the episode ends, in the other it pays
nothing, and 1/gamma a step later, after the sight of `c`; `swap` exchanges the two. What is seen is
no Markov process, and what `take` is seen to do depends on how one behaves; but Q*(o, take) = 1 and
Q*(o, swap) = gamma in both states. So the values that Q-learning converges to under a behaviour,

    q(o,a) = sum_s P(s|o) sum p(s',r|s,a) [ r + gamma max q(o',.) ],

are Q* for every behaviour.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy

from proofs.ledger import Evidence, Proof, claim, machine, proved
from proofs.ledger.prose import text
from proofs.papers.paper import Paper
from workbench import POMDP, Policy, augment, observation_mdp
from workbench.agents.beliefs import explore_beliefs
from workbench.certificates.values import identity_certificate, value_certificate
from workbench.core.numbers import Number
from workbench.research.behaviour_limits import limit_values
from workbench.research.information_state import uniformity

PAPER = Paper(
    "majeed_hutter2018",
    "Majeed and Hutter",
    "On Q-learning convergence for non-Markov decision processes",
    2018,
    "ours",
)
X = sympy.Symbol("x")
GAMMA = Fraction(9, 10)


def now_or_later(late: Number = 1 / GAMMA, start: Number = Fraction(1, 3)) -> POMDP:
    """What is taken is paid now or, `late`, one step later. `start`: how often it is now."""

    def p(s: str, a: str) -> dict[tuple[str, Number], int]:
        if s == "due":
            return {("end", late): 1}
        if a == "swap":
            return {("later" if s == "now" else "now", 0): 1}
        return {("end", 1): 1} if s == "now" else {("due", 0): 1}

    return POMDP.from_functions(
        name="now or later",
        A=("swap", "take"),
        p=p,
        omega=lambda s: {"c" if s == "due" else "o": 1},
        mu={"now": start, "later": 1 - start},
        gamma=GAMMA,
        terminal={"end"},
    )


def swapping(P: POMDP, x: Any) -> Policy:
    """The behaviour that takes with probability x at `o`."""
    half = Fraction(1, 2)
    return Policy.from_mapping(
        P, {"o": {"take": x, "swap": 1 - x}, "c": {"take": half, "swap": half}}
    )


OPTIMAL = {("o", "take"): Fraction(1), ("o", "swap"): GAMMA, ("c", "take"): 1 / GAMMA}


@claim(
    "P.majeed_hutter2018.uniform",
    place=PAPER.place,
    statement="On now or later Q* is the same for all histories with the same last observation. "
    "Yet what follows `take` at `o` depends on the behaviour before it. For every behaviour that "
    "takes with probability x in (0, 1), the values Q-learning converges to are Q*: 1 for `take`, "
    "9/10 for `swap`.",
    verdict="proved",
    steps=(
        machine("uniform", "over all reachable beliefs the spread of Q* on observations is 0"),
        machine("mixed", "the probability of seeing c after taking at o is not constant in x"),
        machine("bellman", "Q* solves the Bellman equation of the observation MDP, in x"),
        machine("limit", "at x = 1/10, 1/2, 9/10 policy iteration gives these values"),
    ),
)
def uniform_values(
    proof: Proof,
    late: Number = 1 / GAMMA,
    start: Number = Fraction(1, 3),
    paid: Number = 1 / GAMMA,
    taken: Number = 1,
) -> Evidence:
    """Judge the claim. `late`: what is paid later where the spread is computed. `start`: how often
    it is now where behaviours are compared. `paid`: what Q* is taken to be at c. `taken`: at o."""
    spread = uniformity(explore_beliefs(augment(now_or_later(late), "none"), 100)).spread
    proof.step("uniform", None if spread == 0 else f"a spread of {spread}")
    P = now_or_later(start=start)
    M = observation_mdp(P, swapping(P, X))
    seen = sympy.cancel(sum(x for (o, _), x in M.p("o", "take").items() if o == "c"))
    proof.step("mixed", None if sympy.diff(seen, X) != 0 else f"it is {seen} for every x")
    best = {"o": Fraction(1), "c": paid, "end": Fraction(0)}
    certificates = []
    for (o, a), q in OPTIMAL.items():
        claimed = paid if o == "c" else q
        backed = sum(x * (r + GAMMA * best[t]) for (t, r), x in M.p(o, a).items())
        off = sympy.cancel(backed - claimed)
        proof.step("bellman", f"q({o}, {a}) is off by {off}" if off != 0 else None)
        certificates.append(identity_certificate(f"the backup of ({o}, {a})", backed, claimed))
    for x in (Fraction(1, 10), Fraction(1, 2), Fraction(9, 10)):
        found = limit_values(P, swapping(P, x), exact=True)
        values = found["o", "take"], found["o", "swap"], found["c", "take"]
        right = values == (taken, GAMMA, 1 / GAMMA)
        proof.step("limit", None if right else f"x = {x}: {values}")
    always = Policy.deterministic(P, {}, otherwise="take")
    certificates.append(value_certificate(P, "none", always, 1))
    return proved(
        "Q* solves the Bellman equation of what is seen, whatever is done",
        text(
            f"Taking at o shows c with probability {sympy.factor(seen)}, x the probability of "
            "taking: the process of observations is not Markov, and its MDP depends on the "
            "behaviour. Its optimal values do not."
        ),
        certificates,
    )


uniform_values.twin("1 for what is paid later", guards="uniform", late=1)
uniform_values.twin("from both states alike", guards="mixed", start=Fraction(1, 2))
uniform_values.twin("1 at c in the Bellman equation", guards="bellman", paid=Fraction(1))
uniform_values.twin("9/10 for taking", guards="limit", taken=GAMMA)
