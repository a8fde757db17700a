"""Kaelbling, Littman and Moore 1996: the best state-free policy is stochastic, and irrational.

In the corridor whose cells all look alike (the short corridor of Sutton and Barto, Example 13.1, is
the same task), a policy is the probability x of going right, and its value is

    v(x) = -2 (2 - x) / (x (1 - x)),      v'(x) = 2 (x^2 - 4x + 2) / (x^2 (1 - x)^2)

so v rises up to 2 - sqrt 2 and falls after it.
"""

from __future__ import annotations

import sympy

from pomdps import short_corridor
from proofs.ledger import Evidence, Proof, claim, machine, proved
from proofs.ledger.inequalities import prove_positive
from proofs.ledger.prose import text
from proofs.papers.paper import Paper
from workbench import Policy, evaluate

PAPER = Paper(
    "klm1996",
    "Kaelbling, Littman and Moore",
    "Reinforcement learning: a survey",
    1996,
    "read",
)
X = sympy.Symbol("x")


@claim(
    "P.klm1996.irrational",
    place=PAPER.place,
    statement="The best stochastic memoryless policy of the short corridor goes right with "
    "probability 2 - sqrt 2, an irrational number, and is worth -2 (3 + 2 sqrt 2).",
    verdict="proved",
    steps=(
        machine("value", "the value of going right with probability x, as a rational function"),
        machine("slope", "its derivative is x^2 - 4x + 2 times something positive on (0, 1)"),
        machine("root", "2 - sqrt 2 is the only root in (0, 1), and the sign changes from + to -"),
        machine("worth", "the value there"),
    ),
)
def irrational(
    proof: Proof, numerator: int = 2, linear: int = -4, inside: int = 1, worth: int = 3
) -> Evidence:
    """Judge the claim. `numerator`, `linear`, `worth`: coefficients. `inside`: the end of the
    interval."""
    P = short_corridor()
    v = evaluate(P, Policy.from_mapping(P, {"o": {"left": 1 - X, "right": X}})).value
    claimed = -2 * (numerator - X) / (X * (1 - X))
    proof.step("value", None if sympy.cancel(v - claimed) == 0 else f"v(x) = {sympy.factor(v)}")
    quadratic = X**2 + linear * X + 2
    rest = sympy.cancel(sympy.diff(v, X) / (X**2 - 4 * X + 2))
    decided = prove_positive(rest, {X: sympy.Interval.open(0, inside)})
    proof.step("slope", None if decided.holds else f"the rest is {rest}")
    # Descartes: the quadratic is 2 at 0 and negative at 1, and its other root lies beyond 1.
    best = 2 - sympy.sqrt(2)
    ends = quadratic.subs(X, 0), quadratic.subs(X, 1)
    rooted = sympy.expand(quadratic.subs(X, best)) == 0 and ends[0] > 0 > ends[1]
    proof.step("root", None if rooted else f"{quadratic} at 0, 1: {ends}")
    there = sympy.simplify(v.subs(X, best) + 2 * (worth + 2 * sympy.sqrt(2)))
    proof.step("worth", None if there == 0 else f"off by {there}")
    return proved(
        "the best probability is 2 - sqrt 2, worth -2 (3 + 2 sqrt 2) = -11.66",
        text("sqrt 2 is irrational, and so is 2 - sqrt 2; the two actions together have 1."),
        decided.certificates,
    )


irrational.twin("3 for 2 in the numerator", guards="value", numerator=3)
irrational.twin("an interval that goes beyond 1", guards="slope", inside=2)
irrational.twin("x^2 - 3x + 2", guards="root", linear=-3)
irrational.twin("-2 (4 + 2 sqrt 2)", guards="worth", worth=4)
