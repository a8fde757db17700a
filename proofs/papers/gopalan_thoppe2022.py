"""Gopalan and Thoppe 2022: epsilon-greedy Q-learning with values that states share can settle at
the worst policy.

A task with one observation: what was done last decides how well one is off. `take` pays 1 more than
`give` wherever it is done, but after `take` both pay 2 less. With `take` done with probability x,

    q(take) - q(give) = 1        for every x        and the long run pays 2 - x a step:

the only greedy policy that is a fixed point is the worst of all memoryless policies, for every
epsilon and discount. The phenomenon is quoted from the paper, whose examples have features;
this task is ours.
"""

from __future__ import annotations

from fractions import Fraction

import sympy

from proofs.ledger import Evidence, Proof, claim, machine, proved
from proofs.ledger.generic import GAMMA
from proofs.ledger.inequalities import prove_positive
from proofs.ledger.prose import text
from proofs.papers.paper import Paper
from proofs.papers.sjj1994 import paid_at
from workbench import POMDP, Policy, QLearning, equilibria, evaluate, observation_mdp
from workbench.certificates.values import identity_certificate, value_certificate
from workbench.core.numbers import Number

PAPER = Paper(
    "gopalan_thoppe2022",
    "Gopalan and Thoppe",
    "Approximate Q-learning and SARSA(0) under the epsilon-greedy policy: a differential inclusion "
    "analysis",
    2022,
    "ours",
)
X = sympy.Symbol("x")
PAID = {("poor", "take"): 1, ("poor", "give"): 0, ("rich", "take"): 3, ("rich", "give"): 2}


def take_or_give(gamma: Number = Fraction(9, 10), bonus: Number = 0) -> POMDP:
    """Two states that look alike: poor after `take`, rich after `give`. `bonus` for giving."""

    def p(s: str, a: str) -> dict[tuple[str, Number], int]:
        r = PAID[s, a] + (bonus if a == "give" else 0)
        return {("poor" if a == "take" else "rich", r): 1}

    return POMDP.from_functions(
        name="take or give",
        A=("give", "take"),
        p=p,
        omega=lambda s: {"o": 1},
        mu={"poor": Fraction(1, 2), "rich": Fraction(1, 2)},
        gamma=gamma,
    )


def taking(P: POMDP, x: Number) -> Policy:
    """The policy that takes with probability x."""
    return Policy.from_mapping(P, {"o": {"take": x, "give": 1 - x}})


@claim(
    "P.gopalan_thoppe2022.worst",
    place=PAPER.place,
    statement="On take or give, under every behaviour, Q-learning values `take` by 1 more than "
    "`give`. So for every epsilon and discount always taking is its only fixed point. It is the "
    "worst of all memoryless policies: one that takes with probability x earns 2 - x a step in "
    "the long run, and its discounted return falls in x for every discount in (1/2, 1).",
    verdict="proved",
    steps=(
        machine("lead", "q(take) - q(give) = 1 as a rational function of x: what follows cancels"),
        machine("run", "the long run pays 2 - x a step, as a rational function of x"),
        machine("falls", "the return falls in x: minus its derivative is positive on (1/2, 1)"),
        machine("fixed", "at epsilon 1/10 and gamma 9/10: one of both is fixed, strict, worth 11"),
    ),
)
def worst(
    proof: Proof,
    lead: Number = 1,
    earned: Number = 2,
    least: Number = Fraction(1, 2),
    bonus: Number = 0,
) -> Evidence:
    """Judge the claim. `lead`, `earned`: what is claimed. `least`: where the discounts begin.
    `bonus`: for giving, where fixed points are searched."""
    P = take_or_give(GAMMA)
    pi = taking(P, X)
    M = observation_mdp(P, pi, weights="stationary")
    paid = paid_at(M, "o")
    ahead = sympy.cancel(paid["take"] - paid["give"])
    alone = {t for a in P.A for t, _ in M.p("o", a)} == {"o"}
    proof.step("lead", None if alone and ahead == lead else f"take leads by {ahead}")
    run = sympy.cancel(evaluate(P, pi, criterion="average").value)
    proof.step("run", None if sympy.cancel(run - earned + X) == 0 else f"it pays {run}")
    v = sympy.cancel(evaluate(P, pi, weights="discounted").value)
    falls = sympy.cancel(-sympy.diff(v, X))
    decided = prove_positive(falls, {GAMMA: sympy.Interval.open(least, 1)})
    proof.step("falls", None if decided.holds else f"{falls} at gamma = {decided.witness}")
    instance = take_or_give(bonus=bonus)
    found = equilibria(instance, QLearning(), epsilon=Fraction(1, 10), exact=True, symmetry=False)
    kept = [(e.policy.actions.tolist(), e.value, e.strict) for e in found]
    taken = [instance.A.index("take")]
    one = found.complete and not found.undefined and kept == [(taken, 11, True)]
    proof.step("fixed", None if one else repr(found))
    certificates = [
        identity_certificate("q(take) - q(give) is 1", ahead, 1),
        identity_certificate("the long run pays 2 - x", run, 2 - X),
        *decided.certificates,
        *(
            value_certificate(take_or_give(), "none", taking(take_or_give(), x), worth)
            for x, worth in ((0, 19), (1, 11))
        ),
    ]
    return proved(
        "Q-learning values `take` 1 higher, and it earns 1 less",
        text(
            "Both actions lead to the one observation, so the difference of their values is that "
            "of their rewards, 1 in either state and so in every mixture of them. What taking "
            "costs falls on the step after it, and there on both actions alike. Always giving is "
            "worth 19 at gamma 9/10, always taking 11."
        ),
        certificates,
    )


worst.twin("a lead of 2", guards="lead", lead=2)
worst.twin("3 - x a step", guards="run", earned=3)
worst.twin("discounts from 1/3", guards="falls", least=Fraction(1, 3))
worst.twin("2 more for giving", guards="fixed", bonus=2)
