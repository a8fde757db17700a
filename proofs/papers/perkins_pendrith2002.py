"""Perkins and Pendrith 2002: epsilon-greedy Q-learning and Sarsa need not have a fixed point. With
behaviour that is continuous in the values they have one.

On the two states that look alike of Singh, Jaakkola and Jordan, A being done with probability x,
the process is in 1a a share 1 - x of the time, so that

    q(B) - q(A) = 2 R (2x - 1)

whatever the next value is: there is one observation, and both actions lead to it. What is done more
than half of the time looks worse, for ever. That the paper has such examples is recalled; this
model of it is ours.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sympy

from proofs.ledger import Evidence, Proof, claim, machine, proved
from proofs.ledger.inequalities import prove_positive
from proofs.ledger.prose import text
from proofs.papers.paper import Paper
from proofs.papers.sjj1994 import R, paid_at, two_alike
from workbench import Policy, QLearning, Sarsa, equilibria, observation_mdp
from workbench.certificates.values import identity_certificate
from workbench.core.numbers import Number

PAPER = Paper(
    "perkins_pendrith2002",
    "Perkins and Pendrith",
    "On the existence of fixed points for Q-learning and Sarsa in partially observable domains",
    2002,
    "ours",
)
X = sympy.Symbol("x")
EPSILON = sympy.Symbol("epsilon")


def lead(symbol: Any = X) -> Any:
    """q(B) - q(A) under the behaviour that does A with probability x, over x and R."""
    P = two_alike()
    behaviour = Policy.from_mapping(P, {"1": {"A": symbol, "B": 1 - symbol}})
    M = observation_mdp(P, behaviour, weights="stationary")
    paid = paid_at(M, "1")
    return sympy.factor(sympy.cancel(paid["B"] - paid["A"]))


@claim(
    "P.perkins_pendrith2002.none",
    place=PAPER.place,
    statement="On two states that look alike neither greedy policy is a fixed point of "
    "epsilon-greedy Q-learning or Sarsa, for every reward R > 0, every discount and every epsilon "
    "in (0, 1). Where behaviour is a continuous function of the values that does more often what "
    "is valued more, the fair coin is a fixed point, and the only one.",
    verdict="proved",
    steps=(
        machine("lead", "q(B) - q(A) = 2R(2x - 1) as a rational function of x and R"),
        machine("next", "every action leads to the one observation: what follows cancels"),
        machine("A", "with A greedy, x = 1 - epsilon/2, B leads by 2R(1 - epsilon) > 0"),
        machine("B", "with B greedy, x = epsilon/2, A leads by as much"),
        machine("coin", "at x = 1/2 both are valued alike, and nowhere else: the lead grows in x"),
        machine("exact", "at epsilon 1/10 and gamma 9/10 both searches look at all and find none"),
    ),
)
def none(
    proof: Proof,
    slope: int = 2,
    shown: int = 1,
    most: Number = 1,
    farthest: Number = 1,
    share: Number = Fraction(1, 2),
    paid: int = 1,
) -> Evidence:
    """Judge the claim. `slope`: of the lead. `shown`: observations. `most`, `farthest`: how far
    epsilon goes where A and B are greedy. `share`: the coin's. `paid`: for the right action, where
    all is searched."""
    found, claimed = lead(), slope * R * (2 * X - 1)
    proof.step("lead", None if sympy.cancel(found - claimed) == 0 else f"the lead is {found}")
    P = two_alike(Fraction(9, 10), paid)
    seen = {o for s in P.S for a in P.A for t, _ in P.p(s, a) for o in P.omega(t)}
    proof.step("next", None if len(seen) == shown else f"seen: {sorted(seen)}")
    behind = sympy.cancel(found.subs(X, 1 - EPSILON / 2) / R)
    ahead = sympy.cancel(-found.subs(X, EPSILON / 2) / R)
    certificates = [identity_certificate("q(B) - q(A) is 2 R (2 x - 1)", found, claimed)]
    for key, left, high in (("A", behind, most), ("B", ahead, farthest)):
        decided = prove_positive(left, {EPSILON: sympy.Interval.open(0, high)})
        proof.step(key, None if decided.holds else f"{left} at epsilon = {decided.witness}")
        certificates += decided.certificates
    equal = sympy.solve(found, X)
    proof.step("coin", None if equal == [sympy.Rational(share)] else f"equal at {equal}")
    for learner in (QLearning(), Sarsa(lam=0)):
        all_of = equilibria(P, learner, epsilon=Fraction(1, 10), exact=True, symmetry=False)
        empty = all_of.complete and not all_of.undefined and not len(all_of)
        proof.step("exact", None if empty else repr(all_of))
    return proved(
        "the action that is done more looks worse by 2R(2x - 1)",
        text(
            "In the long run 1a is left whenever A is done there, so the state in which A is right "
            "is the rarer the more often A is done. With one observation the value of what follows "
            "is the same for both actions, bootstrapped by the maximum or by what is done next."
        ),
        certificates,
    )


none.twin("a lead of 3R(2x - 1)", guards="lead", slope=3)
none.twin("two observations", guards="next", shown=2)
none.twin("epsilon up to 2 with A greedy", guards="A", most=2)
none.twin("epsilon up to 2 with B greedy", guards="B", farthest=2)
none.twin("a coin with 2/3", guards="coin", share=Fraction(2, 3))
none.twin("the wrong action pays", guards="exact", paid=-1)
