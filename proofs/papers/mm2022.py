"""Mueller and Montufar 2022: the return is a rational function of the policy, of bounded degree.

In the row pi(. | o) its degree is at most the number of states that show o, the degree of partial
observability. On a task of two states and three observations (Anderson and Montufar 2026 look at
what memory does to its optima), each of which both states show, that is 2; the denominator is even
of degree 1. The return has more than one strict local maximum, so ascent may end at the worse one.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import sympy

from proofs.ledger import Evidence, Proof, claim, machine, proved
from proofs.ledger.prose import text
from proofs.papers.paper import Paper
from workbench import POMDP, Policy, evaluate
from workbench.certificates.values import value_certificate
from workbench.core.numbers import Number
from workbench.evaluation.gradient import gradient

PAPER = Paper(
    "mm2022",
    "Mueller and Montufar",
    "The geometry of memoryless stochastic policy optimization in infinite-horizon POMDPs",
    2022,
    "read",
)


def _row(*percent: int) -> tuple[Fraction, ...]:
    return tuple(Fraction(x, 100) for x in percent)


MOVES = ((_row(85, 15), _row(25, 75)), (_row(65, 35), _row(15, 85)))
"""p(s' | s, a) as `MOVES[a][s][s']`."""

SHOWN = (_row(80, 10, 10), _row(30, 65, 5))


def two_states(shown: Sequence[Sequence[Number]] = SHOWN) -> POMDP:
    """Two states, three observations. Action a pays 1 in state a."""
    return POMDP.from_functions(
        name="two states",
        A=(0, 1),
        p=lambda s, a: {(t, int(a == s)): MOVES[a][s][t] for t in (0, 1)},
        omega=lambda s: {f"o{i}": x for i, x in enumerate(shown[s])},
        mu={0: Fraction(1, 2), 1: Fraction(1, 2)},
        gamma=Fraction(9, 10),
    )


@claim(
    "P.mm2022.degree",
    place=PAPER.place,
    statement="On the task of two states the return is a rational function of the policy. Its "
    "numerator has degree 2 and its denominator degree 1 in each row. The deterministic policies "
    "(0, 1, 0) and (1, 1, 1) are both strict local maxima, worth 6536/839 and 73/11.",
    verdict="proved",
    steps=(
        machine("numerator", "degree 2 in each row, and 2 in all"),
        machine("denominator", "degree 1 in each row, and 1 in all"),
        machine("first", "at (0, 1, 0) every other action has a smaller derivative"),
        machine("second", "at (1, 1, 1) every other action has a smaller derivative"),
        machine("worth", "the two values"),
    ),
)
def degree(
    proof: Proof,
    top: int = 2,
    bottom: int = 1,
    first: Sequence[int] = (0, 1, 0),
    second: Sequence[int] = (1, 1, 1),
    worth: Sequence[Number] = (Fraction(6536, 839), Fraction(73, 11)),
) -> Evidence:
    """Judge the claim. `top`, `bottom`: the degrees. `first`, `second`: the maxima. `worth`: their
    values."""
    P = two_states()
    x = sympy.symbols("x0:3")
    pi = Policy.from_mapping(P, {o: {0: p, 1: 1 - p} for o, p in zip(P.O, x, strict=True)})
    value = sympy.cancel(evaluate(P, pi, weights="discounted").value)
    for name, part, claimed in zip(
        ("numerator", "denominator"), sympy.fraction(value), (top, bottom), strict=True
    ):
        f = sympy.Poly(part, *x)
        found = [*(f.degree(p) for p in x), f.total_degree()]
        proof.step(name, None if found == [claimed] * 4 else f"degrees {found}")
    for name, actions in (("first", first), ("second", second)):
        trouble = _gains(P, actions)
        proof.step(name, f"not a strict maximum: {trouble}" if trouble else None)
    found_worth = [_worth(P, actions) for actions in ((0, 1, 0), (1, 1, 1))]
    proof.step("worth", None if found_worth == list(worth) else f"worth {found_worth}")
    return proved(
        "the degrees are 2 and 1, and there are two strict local maxima",
        text(
            "Every observation is met under every policy, so a policy whose other actions all have "
            "smaller derivatives in their rows is a strict local maximum of the return."
        ),
        [
            value_certificate(P, "none", _choice(P, actions), _worth(P, actions))
            for actions in ((0, 1, 0), (1, 1, 1))
        ],
    )


def _choice(P: POMDP, actions: Sequence[int]) -> Policy:
    return Policy.deterministic(P, dict(zip(P.O, actions, strict=True)))


def _gains(P: POMDP, actions: Sequence[int]) -> list[object]:
    """The observations at which the other action's derivative is not smaller."""
    slope = gradient(P, _choice(P, actions), exact=True)
    return [o for o, a in zip(P.O, actions, strict=True) if slope[o, 1 - a] >= slope[o, a]]


def _worth(P: POMDP, actions: Sequence[int]) -> Number:
    return evaluate(P, _choice(P, actions), exact=True, weights="discounted").value


degree.twin("a numerator of degree 1", guards="numerator", top=1)
degree.twin("a denominator of degree 2", guards="denominator", bottom=2)
degree.twin("(0, 0, 0)", guards="first", first=(0, 0, 0))
degree.twin("(1, 1, 0)", guards="second", second=(1, 1, 0))
degree.twin("73/12", guards="worth", worth=(Fraction(6536, 839), Fraction(73, 12)))
