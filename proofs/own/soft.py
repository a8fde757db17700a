"""Two attracting fixed points of softmax Q-learning on a task of two states that look alike. It is
the smallest: one observation, two states, two actions, gamma = 9/10, temperature 1/5.

    first     0: the episode ends with 1          1: -1, on to second
    second    0: the episode ends with 0          1: the episode ends with 3

Let b be the chance of 1. Behind the observation P(first) = 1/(1+b), P(second) = b/(1+b), so a table
that its behaviour leads back to has

    q(0) = 1/(1+b),    q(1) = (-1 + gamma v + 3b)/(1+b),    v = max(q(0), q(1)),
    b / (1-b) = exp(5 (q(1) - q(0))).

With L(b) = q(1) - q(0) the fixed points are the zeros of F(b) = L(b) - log(b/(1-b))/5. At odds
2^n F is L - n log(2)/5, and 69/100 < log 2 < 7/10. F is positive at 1/257, negative at 1/65,
positive at 512/513 and negative at 1024/1025: a zero where it falls lies between the first two, and
another between the last two. In between it rises once more.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from typing import Any

import sympy
from sympy import Interval, Rational

from proofs.ledger import Evidence, Proof, claim, machine, proved
from proofs.ledger.inequalities import identical, prove_positive
from proofs.ledger.prose import text
from workbench import POMDP, Policy, QLearning, evaluate
from workbench.certificates.values import identity_certificate
from workbench.research.soft_equilibria import soft_equilibria

b, v = sympy.symbols("b v")
REWARDS = ((1, -1), (0, 3))
GAMMA, TAU = Rational(9, 10), Rational(1, 5)
LOG2 = Rational(69, 100), Rational(7, 10)
ODDS = -8, -6, 9, 10
"""Powers of two: F is +, -, +, - where the odds of 1 are these."""


def alike(rewards: Any = REWARDS, discount: Any = GAMMA) -> POMDP:
    """The task of two states that look alike."""

    def p(s: str, a: int) -> dict[tuple[str, Any], int]:
        on = s == "first" and a == 1
        return {("second" if on else "end", rewards[int(s == "second")][a]): 1}

    return POMDP.from_functions(
        name="alike",
        A=(0, 1),
        p=p,
        omega=lambda s: {"o": 1},
        mu={"first": 1},
        gamma=Fraction(discount.p, discount.q),
        terminal={"end"},
    )


def led_to(P: POMDP) -> tuple[Any, Any]:
    """The table that the behaviour b leads to, for any value v of the observation."""
    share = evaluate(P, Policy.from_mapping(P, {"o": {0: 1 - b, 1: b}})).s_given_o
    found = []
    for a in P.A:
        total = 0
        for s in ("first", "second"):
            for (s_next, r), x in P.p(s, a).items():
                goes_on = 0 if s_next in P.terminal else sympy.sympify(P.gamma) * v
                total += share["o", s] * x * (r + goes_on)
        found.append(sympy.cancel(total))
    return found[0], found[1]


def lead_of_one(low: Any, high: Any, above: bool) -> Any:
    """L(b), where 1 is the greedy action (above) or 0 is."""
    if not above:
        return sympy.cancel(high.subs(v, low) - low)
    (q,) = sympy.solve(high - v, v)
    return sympy.cancel(q - low)


def at_odds(n: int) -> Any:
    """The chance of 1 at odds of 2^n."""
    odds = Rational(2) ** n
    return odds / (1 + odds)


def log_broken(low: Any, high: Any, terms: int = 8) -> bool:
    """Whether the series of log 2, the sum of 1/(k 2^k), does not lie between two numbers."""
    part = sum(Rational(1, k * 2**k) for k in range(1, terms + 1))
    return not (low < part and part + Rational(1, (terms + 1) * 2**terms) < high)


def wrong_sign(odds: tuple[int, ...], logs: tuple[Any, Any]) -> str | None:
    """Odds at which F has another sign than +, -, +, -, or at which another action is greedy."""
    low, high = led_to(alike())
    for k, n in enumerate(odds):
        L = lead_of_one(low, high, n > 0).subs(b, at_odds(n))
        ends = sorted(L - TAU * n * x for x in logs)
        if not ((ends[0] > 0) if k % 2 == 0 else (ends[1] < 0)) or (L > 0) != (n > 0):
            return f"F at odds 2^{n} lies between {ends[0]} and {ends[1]}"
    return None


def pulls(above: bool, tau: Any) -> tuple[Any, Any, Any]:
    """The numbers that are positive where the mean field attracts at any rates. The field is the
    table led to minus the table. They are minus the diagonal of its slopes, and their
    determinant."""
    low, high = led_to(alike())
    (q,) = sympy.solve(high - v, v) if above else (low,)
    steep = b * (1 - b) / tau  # of b in the lead
    by_b = [sympy.diff(low, b) * steep, sympy.diff(high, b).subs(v, q) * steep]
    by_v = sympy.diff(high, v)
    M = sympy.Matrix([[-by_b[0], by_b[0]], [-by_b[1], by_b[1]]])
    M[1, int(above)] += by_v
    off = M - sympy.eye(2)
    return -off[0, 0], -off[1, 1], off.det()


@claim(
    "T.soft",
    place="Own, softmax",
    statement="Two states that look alike and two actions are enough for two attracting fixed "
    "points of Q-learning that acts by a softmax. With rewards 1 or -1 and on, then 0 or 3, gamma "
    "9/10 and temperature 1/5 there are three fixed points. Two attract, worth 1.69 and 0.99.",
    verdict="proved",
    steps=(
        machine("table", "b leads to q(0) = 1/(1+b) and q(1) = (-1 + 9/10 v + 3b)/(1+b)."),
        machine("log", "69/100 < log 2 < 7/10."),
        machine("signs", "F is +, -, +, - at odds 2^-8, 2^-6, 2^9, 2^10 of 1."),
        machine("attract", "Between the first two and the last two every zero of F attracts."),
        machine("all", "Boxes that cover all tables hold three fixed points; two attract."),
    ),
)
def two_attract(
    proof: Proof,
    second: int = 3,
    logs: tuple[Any, Any] = LOG2,
    odds: tuple[int, ...] = ODDS,
    tau: Any = TAU,
    expected: tuple[int, int] = (3, 2),
) -> Evidence:
    """Judge the claim. `tau`: of the slopes of the mean field. `expected`: fixed points, and those
    that attract."""
    P = alike()
    low, high = led_to(P)
    formulas = 1 / (1 + b), (-1 + GAMMA * v + second * b) / (1 + b)
    right = identical(low, formulas[0]) and identical(high, formulas[1])
    proof.step("table", None if right else f"it leads to {low} and {high}")
    certificates = [
        identity_certificate("q(0)", str(low), str(formulas[0])),
        identity_certificate("q(1)", str(high), str(formulas[1])),
    ]
    proof.step("log", "the series of log 2 leaves the bounds" if log_broken(*logs) else None)
    proof.step("signs", wrong_sign(odds, logs))
    for above, (left, end) in zip((False, True), list(pairwise(odds))[::2], strict=True):
        for slope in pulls(above, tau):
            found = prove_positive(slope, {b: Interval(at_odds(left), at_odds(end))})
            certificates += found.certificates
            proof.step("attract", None if found.holds else f"{slope} at {found.witness}")
    listed = soft_equilibria(P, QLearning(), Fraction(1, 5))
    counted = len(listed), sum(e.stable for e in listed)
    sure = listed.complete and counted == expected
    proof.step("all", None if sure else f"{counted} found, complete: {listed.complete}")
    argument = text(
        "A table is a fixed point if the behaviour that it gives leads back to it. By the first "
        "step the table is a function of b alone, so the fixed points are the zeros of F(b) = L(b) "
        "- log(b/(1-b))/5 in (0, 1), where F is continuous. By the signs F falls through 0 between "
        "odds 2^-8 and 2^-6, where 0 is greedy, and between 2^9 and 2^10, where 1 is. There the "
        "slopes of the table led to minus the table have a negative diagonal and a positive "
        "determinant, which rates of rows and actions, all positive, do not change: every "
        "eigenvalue of the mean field has a negative real part. Not part of the statement, and by "
        "argument only: no smaller task does it. With one state behind each observation nothing is "
        "aliased, and with one action b is fixed, so that the table led to is a contraction.",
    )
    values = ", ".join(f"{e.value:.4g}" for e in listed if e.stable)
    return proved(f"two attracting fixed points, worth {values}", argument, certificates)


two_attract.twin("3 paid as 2", guards="table", second=2)
two_attract.twin("log 2 below 69/100", guards="log", logs=(Rational(68, 100), Rational(69, 100)))
two_attract.twin("a zero between 2^-7 and 2^-6", guards="signs", odds=(-7, -6, 9, 10))
two_attract.twin("as cold as 1/100", guards="attract", tau=Rational(1, 100))
two_attract.twin("all three attract", guards="all", expected=(3, 3))
