"""Jaakkola, Singh and Jordan 1995: small greedy steps climb to a local maximum of the average
reward.

With d(o) the long-run share of time at o and q(o, a) the differential value of an action, weighted
over the states behind o as the policy visits them,

    d average / d pi(a|o) = d(o) q(o, a)        up to a constant for each row

so a small step towards greedy raises the average, and the policies at which it stops are local
maxima over stochastic policies: better than every deterministic one on some tasks, and not the best
on others.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from typing import Any

import sympy

from proofs.ledger import Evidence, Proof, checked, claim, machine, proved
from proofs.ledger.prose import text
from proofs.papers.mm2022 import two_states
from proofs.papers.paper import Paper
from proofs.papers.sjj1994 import R, two_alike
from workbench import POMDP, Policy, best_memoryless, evaluate, improve, uniform
from workbench.certificates.values import identity_certificate
from workbench.core.numbers import Number

PAPER = Paper(
    "jsj1995",
    "Jaakkola, Singh and Jordan",
    "Reinforcement learning algorithm for partially observable Markov decision problems",
    1995,
    "read",
)


@claim(
    "P.jsj1995.gradient",
    place=PAPER.place,
    statement="On the task of two states the derivative of the average reward in a row is the "
    "long-run share of its observation times the difference of differential values. That is so "
    "for every stochastic policy. On two states that look alike it is 4 R (1 - 2x): small steps "
    "rest at the fair coin alone, whose average 0 exceeds the -R of both deterministic policies.",
    verdict="proved",
    steps=(
        machine("rows", "three identities of rational functions in the policy"),
        machine("alike", "the difference of differential values is 4 R (1 - 2x)"),
        machine("coin", "the averages of the coin and of the deterministic policies"),
    ),
)
def climbs(proof: Proof, weighted: bool = True, slope: int = 4, coin: int = 0) -> Evidence:
    """Judge the claim. `weighted`: by shares of time. `slope`: of the difference. `coin`: what the
    coin has."""
    certificates = []
    for o, derivative, claimed in _rows(weighted):
        same = sympy.cancel(derivative - claimed) == 0
        proof.step("rows", None if same else f"{o}: {derivative}")
        certificates.append(identity_certificate(f"row {o}", derivative, claimed))
    Q, y = two_alike(), sympy.Symbol("x")
    found = evaluate(Q, Policy.from_mapping(Q, {"1": {"A": y, "B": 1 - y}}), criterion="average")
    gain = sympy.cancel(found.q["1", "A"] - found.q["1", "B"])
    off = sympy.cancel(gain - slope * R * (1 - 2 * y)) != 0
    proof.step("alike", f"it is {sympy.factor(gain)}" if off else None)
    averages = [found.value.subs(y, at) for at in (sympy.Rational(1, 2), 0, 1)]
    right = averages == [coin, -R, -R]
    proof.step("coin", None if right else f"averages {averages}")
    certificates.append(identity_certificate("slope", gain, 4 * R * (1 - 2 * y)))
    return proved(
        "the formula of the derivative holds for all policies, in symbols",
        text(
            "The step goes to A while x < 1/2 and to B while x > 1/2, and 4 R (1 - 2x) is 0 at 1/2 "
            "alone."
        ),
        certificates,
    )


@cache
def _rows(weighted: bool) -> list[tuple[Any, Any, Any]]:
    """The derivative of the average for each observation, and what is claimed of it. The task is
    that of two states. It is kept, as twins ask for the same."""
    P = two_states()
    x = sympy.symbols("x0:3")
    pi = Policy.from_mapping(P, {o: {0: p, 1: 1 - p} for o, p in zip(P.O, x, strict=True)})
    found = evaluate(P, pi, criterion="average")
    return [
        (
            o,
            sympy.cancel(sympy.diff(found.value, p)),
            sympy.cancel((found.o_visits[o] if weighted else 1) * (found.q[o, 0] - found.q[o, 1])),
        )
        for o, p in zip(P.O, x, strict=True)
    ]


climbs.twin("rows that do not count their share of time", guards="rows", weighted=False)
climbs.twin("2 R (1 - 2x)", guards="alike", slope=2)
climbs.twin("1 for the coin", guards="coin", coin=1)


@claim(
    "P.jsj1995.local",
    place=PAPER.place,
    statement="The average reward of the task of two states has two strict local maxima. They are "
    "the deterministic policies (0, 1, 0) with 277/355, the best of all deterministic ones, and "
    "(1, 1, 1) with 7/10. Small greedy steps of 1/50 lead from the uniform policy to the first, "
    "and from (1, 1, 1) mixed with a tenth of uniform back to the second.",
    verdict="checked",
    steps=(
        machine("first", "at (0, 1, 0) every other action has a smaller differential value"),
        machine("second", "at (1, 1, 1) every other action has a smaller differential value"),
        machine("best", "branch and bound in rationals: none is better than 277/355"),
        machine("uniform", "the loop from the uniform policy ends at 277/355"),
        machine("near", "the loop from near (1, 1, 1) ends at 7/10"),
    ),
)
def local(
    proof: Proof,
    first: Sequence[int] = (0, 1, 0),
    second: Sequence[int] = (1, 1, 1),
    best: Number = Fraction(277, 355),
    start: int = 1,
    tenth: Number = Fraction(1, 10),
) -> Evidence:
    """Judge the claim. `first`, `second`: the maxima. `best`: the best value. `start`: 1 for the
    uniform policy, 0 for always 1. `tenth`: how far the other start is from (1, 1, 1)."""
    P = two_states()
    for name, actions in (("first", first), ("second", second)):
        better = _gains(P, tuple(actions))
        proof.step(name, f"not a strict maximum: {better}" if better else None)
    top = best_memoryless(P, exact=True, criterion="average")
    proof.step("best", None if top.certified and top.value == best else f"it is {top.value}")
    ends = _end(Fraction(start)), _end(tenth)
    for name, end, at in zip(
        ("uniform", "near"), ends, (Fraction(277, 355), Fraction(7, 10)), strict=True
    ):
        proof.step(name, None if abs(end - float(at)) < 1e-9 else f"ends at {end}")
    return checked(
        "the loop ends at 277/355 from uniform and at 7/10 from near (1, 1, 1)",
        text(
            "The loop runs in floats, and its ends are compared to within 1e-9. All else is exact. "
            "Every observation is met under every policy, so a policy whose other actions have "
            "smaller differential values is a strict local maximum of the average."
        ),
    )


def _gains(P: POMDP, actions: tuple[int, ...]) -> list[object]:
    """The observations at which the other action's differential value is not smaller."""
    pi = Policy.deterministic(P, dict(zip(P.O, actions, strict=True)))
    q = evaluate(P, pi, exact=True, criterion="average").q
    return [o for o, a in zip(P.O, actions, strict=True) if q[o, 1 - a] >= q[o, a]]


@cache
def _end(mixed: Fraction) -> float:
    """The average at which the loop ends, from always 1 mixed with so much of uniform. Kept, as
    twins ask for the same."""
    P = two_states()
    start = Policy.deterministic(P, dict.fromkeys(P.O, 1)).toward(uniform(P), mixed)
    return float(improve(P, start, step=Fraction(1, 50), criterion="average").value)


local.twin("(0, 0, 0)", guards="first", first=(0, 0, 0))
local.twin("(1, 1, 0)", guards="second", second=(1, 1, 0))
local.twin("3/4 as the best", guards="best", best=Fraction(3, 4))
local.twin("from (1, 1, 1) itself", guards="uniform", start=0)
local.twin("nine tenths of uniform", guards="near", tenth=Fraction(9, 10))
