"""Exact policy-gradient ascent on 4-action recall with B(k), from uniform: the trap of Appendix C.

pi(a, w | m) goes to the projection of pi + eta grad J(pi) on the distributions, row by row, with
eta = 1/50. The gradient is d(m) q(m, (a, w)). All m but the initial 0 are alike at the start, and
a step leaves them alike. So with K = 2^k there are twelve numbers,

    x_a = pi(a, 0 | 0),    Y_a = sum_{w != 0} pi(a, w | 0),    beta_b = sum_w pi(b, w | m),  m != 0

and with r the rewards, h = x r what a second action earns after writing 0, c = 1/(K-1),

    gradient in pi(a, 0 | 0)    (r (x + Y))_a + h_a
    in pi(a, w | 0), w != 0     (r beta)_a + h_a
    in pi(b, w | m), m != 0     (Y r)_b / (K-1)

The steps are taken in balls of Arb. A projection is accepted where it is certain who stays above 0.
Below 2^15 writes the entries are followed one by one. Beyond, the first step leaves action 1 alone,
with every write alike, and x, Y and beta depend on k through c alone: 15 to 250 bits are followed
one by one, and more are one ball of c around 0.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import flint
import sympy

from pomdps import recall4
from pomdps.recalls import RECALL4_REWARDS
from proofs.appendix_c_setting import lumped_memory
from proofs.ledger import Evidence, Proof, claim, human, machine, proved
from proofs.ledger.inequalities import identical
from proofs.ledger.prose import text
from workbench import POMDP, Policy, augment, evaluate
from workbench.certificates.values import identity_certificate, value_certificate

Balls = list[Any]

ETA = Fraction(1, 50)
LISTED, FOLLOWED = 15, 250
"""Bits up to which entries are followed one by one, and up to which c is one number."""

_BITS, _MOST = 1_500, 1_000
"""Precision, and the most steps."""


def _ball(x: Any) -> Any:
    x = Fraction(x)
    return flint.arb(flint.fmpq(x.numerator, x.denominator))


def _sum(numbers: Any) -> Any:
    return sum(numbers, flint.arb(0))


class NotCertain(Exception):
    """The balls do not tell which entries stay above 0."""


def gains(r: Any, x: Any, Y: Any, beta: Any, second: bool = True) -> tuple[list[Any], list[Any]]:
    """The gradient in pi(a, 0 | 0) and in pi(a, w | 0). `second`: memory 0 is seen again."""
    four = range(4)
    again = [sum(x[a] * r[a][j] for a in four) * int(second) for j in four]
    zero = [sum(r[a][j] * (x[j] + Y[j]) for j in four) + again[a] for a in four]
    other = [sum(r[a][j] * beta[j] for j in four) + again[a] for a in four]
    return zero, other


def projected(v: Balls, counts: list[int]) -> Balls:
    """The nearest distribution in which entry i stands `counts[i]` times."""
    alive = list(range(len(v)))
    while True:
        level = (_sum(v[i] * counts[i] for i in alive) - 1) / sum(counts[i] for i in alive)
        low = [i for i in alive if v[i] <= level]
        if not low:
            break
        alive = [i for i in alive if i not in low]
    if not all(v[i] > level for i in alive):
        raise NotCertain("a projection is not certain")
    return [v[i] - level if i in alive else flint.arb(0) for i in range(len(v))]


def _left(numbers: Balls) -> list[int]:
    return [i for i, v in enumerate(numbers) if not v.is_zero()]


@cache
def listed_end(k: int) -> tuple[list[int], list[int]]:
    """Where the ascent with k bits ends: (a, 0) as a and (a, w) as 4 + a, then second actions."""
    K, eta = 2**k, _ball(ETA)
    r = [[_ball(x) for x in row] for row in RECALL4_REWARDS]
    p, beta = [_ball(Fraction(1, 4 * K))] * 8, [_ball(Fraction(1, 4))] * 4
    for _ in range(_MOST):
        Y = [y * (K - 1) for y in p[4:]]
        zero, other = gains(r, p[:4], Y, beta)
        later = [_sum(p[4 + a] * r[a][j] for a in range(4)) * K for j in range(4)]
        p = projected(
            [v + eta * g for v, g in zip(p, zero + other, strict=True)], [1] * 4 + [K - 1] * 4
        )
        beta = projected([v + eta * g for v, g in zip(beta, later, strict=True)], [1] * 4)
        if len(_left(p)) == len(_left(beta)) == 1:
            break
    return _left(p), _left(beta)


@cache
def followed_end(k: int, more: bool = False) -> tuple[list[int], list[int]]:
    """The same from c = 1/(K-1), a number, or a ball for k bits and more."""
    eta, c = _ball(ETA), 1 / (flint.arb(2) ** k - 1)
    if more:
        c = c.union(0)
    r = [[_ball(x) for x in row] for row in RECALL4_REWARDS]
    rows = [
        _sum(row) / 4 + _sum(r[a][j] for a in range(4)) * c / (1 + c) / 4 for j, row in enumerate(r)
    ]
    # all entries are 1/(4K): those of action 1 gain most, and eta times their lead is above 1/K
    if not all(eta * (rows[1] - rows[a]) > c for a in (0, 2, 3)):
        raise NotCertain("the first step leaves more than action 1")
    zero, one = flint.arb(0), flint.arb(1)
    x, y = [zero, c / (1 + c), zero, zero], 1 / (1 + c)
    first = [_sum(r[a][j] for a in range(4)) / 4 for j in range(4)]
    beta = projected([one / 4 + eta * g for g in first], [1] * 4)
    for _ in range(_MOST):
        Y = [zero, y, zero, zero]
        at_zero, other = gains(r, x, Y, beta)
        # another action with such a write stays at 0: gains are below 11 and the level is within
        # c (4 eta 11 + 2) of what (1, w) gains
        if not all(eta * (other[1] - other[a]) > 10 * c for a in (0, 2, 3)):
            raise NotCertain("another action with a write beside 0")
        up, alive = [x[a] + eta * at_zero[a] for a in range(4)], [0, 1, 2, 3]
        while True:
            over = _sum(up[a] for a in alive) + y - 1
            level = (c * over + eta * other[1]) / (1 + c * len(alive))
            low = [a for a in alive if up[a] <= level]
            if not low:
                break
            alive = [a for a in alive if a not in low]
        if not all(up[a] > level for a in alive):
            raise NotCertain("a projection is not certain")
        y = y + (eta * len(alive) * other[1] - over) / (1 + c * len(alive)) if alive else one
        if not y > 0:
            raise NotCertain("whether (1, w) stays is not certain")
        later = [(1 + c) * Y[1] * r[1][j] for j in range(4)]
        beta = projected([v + eta * g for v, g in zip(beta, later, strict=True)], [1] * 4)
        x = [up[a] - level if a in alive else zero for a in range(4)]
        if not alive and len(_left(beta)) == 1:
            break
    return [*_left(x), 5], _left(beta)


@cache
def compare_gradients(second: bool) -> tuple[str | None, list[dict[str, Any]]]:
    """The gradient at the twelve numbers by the evaluator, with symbols and for all K, beside
    `gains`. The lumped memory holds the members of a class together."""
    E = augment(recall4(), lumped_memory())
    K = sympy.Symbol("K")
    x, Y, beta = (
        [*sympy.symbols(f"{letter}0:{n}")] for letter, n in (("x", 4), ("Y", 3), ("b", 3))
    )
    Y.append(1 - sum(x) - sum(Y))
    beta.append(1 - sum(beta))
    members = {"0": 1, "others": K - 2, "last": 1}
    rows = {}
    for m, o in E.O:
        first = {(a, w): x[a] if w == "0" else Y[a] * members[w] / (K - 1) for a, w in E.A}
        rows[m, o] = first if m == "0" else {(a, w): beta[a] * members[w] / K for a, w in E.A}
    found = evaluate(E, Policy.from_mapping(E, rows))
    zero, other = gains(RECALL4_REWARDS, x, Y, beta, second)
    later = [sum(Y[a] * RECALL4_REWARDS[a][b] for a in range(4)) / (K - 1) for b in range(4)]
    certificates = []
    for m, o in E.O:
        seen = sum(found.visits[s] for s in E.S if s not in E.terminal and s[1] == m)
        for a, w in E.A:
            told = (zero if w == "0" else other)[a] if m == "0" else members[m] * later[a]
            slope = sympy.cancel(seen * found.q[(m, o), (a, w)])
            if not identical(slope, told):
                return f"the gradient at {m}, {a}, {w} is {slope}", []
            about = f"the gradient at {m}, {a}, {w}"
            certificates.append(identity_certificate(about, str(slope), str(sympy.cancel(told))))
    return None, certificates


def resting_policy(E: POMDP, first: int = 1, then: int = 3) -> Policy:
    """`first` with any write but 0, then `then` behind it."""
    writes = sorted({w for _, w in E.A})
    other = Fraction(1, len(writes) - 1)
    return Policy.from_mapping(
        E,
        {
            (m, o): {(first, w): other for w in writes[1:]}
            if m == writes[0]
            else {(then, writes[0]): 1}
            for m, o in E.O
        },
    )


@claim(
    "T.ascent",
    place="Own, policy gradient",
    statement="Exact policy-gradient ascent inherits the trap of B(k) on 4-action recall. From "
    "uniform, for every k, projected ascent on pi(a, w | m) with step 1/50 ends at `1, then 3`, "
    "worth 3/4, where B(k) can be worth 1.",
    verdict="argued",
    steps=(
        human(
            "alike",
            "A step treats all memory states but 0 alike, and all writes of them. So twelve "
            "numbers describe every iterate, for every k.",
        ),
        machine("gradient", "With K as a symbol the gradient is what the twelve numbers say."),
        machine("listed", "For k = 1 to 14 the ascent ends at 1 with a write beside 0, then 3."),
        machine("followed", "So it does for k = 15 to 250, and for every k from 250 on at once."),
        machine("rest", "There 1 with such a write, and 3 after it, lead by at least 1/4."),
        machine("worth", "It is worth 3/4; 0 with a write beside 0, then 2, is worth 1."),
    ),
)
def ascent_is_stuck(
    proof: Proof,
    second: bool = True,
    listed: tuple[int, int] = (5, 3),
    followed: tuple[int, int] = (5, 3),
    gap: Fraction = Fraction(1, 4),
    best: tuple[int, int] = (0, 2),
) -> Evidence:
    """`listed`, `followed`: the entry and the second action that are left in the end."""
    trouble, identities = compare_gradients(second)
    certificates = [*identities]
    proof.step("gradient", trouble)
    with flint.ctx.workprec(_BITS):
        for k in range(1, LISTED):
            proof.step("listed", _other_end(f"B{k}", lambda k=k: listed_end(k), listed))
        for k in range(LISTED, FOLLOWED + 1):
            proof.step("followed", _other_end(f"B{k}", lambda k=k: followed_end(k), followed))
        last = _other_end("more bits", lambda: followed_end(FOLLOWED, more=True), followed)
        proof.step("followed", last)
    r = RECALL4_REWARDS
    zero, other = gains(r, [0] * 4, [0, 1, 0, 0], [0, 0, 0, 1])
    lead = other[1] - max(*zero, *(other[a] for a in (0, 2, 3)))
    later = r[1][3] - max(r[1][:3])
    proof.step("rest", None if min(lead, later) >= gap else f"they lead by {lead} and {later}")
    for k in (1, 2, 3):
        E = augment(recall4(), f"B{k}")
        for (first, then), worth in (((1, 3), Fraction(3, 4)), (best, Fraction(1))):
            pi = resting_policy(E, first, then)
            value = evaluate(E, pi, exact=True).value
            proof.step("worth", None if value == worth else f"{E.name}: {first}, {then}: {value}")
            certificates.append(value_certificate(recall4(), f"B{k}", pi, value))
    argument = text(
        "From uniform the iterates stay within the twelve numbers: gradient and projection carry "
        "over what exchanges memory states other than 0. Every projection on the way is certain "
        "in balls. In the end only (1, w), w != 0, and 3 after it have a probability. They gain "
        "most, so "
        "that a step changes nothing. It is the end of the oracle loop too (C5): the first action "
        "that learning prefers under a uniform second one is 1, and 0, which would be better, is "
        "given up before 2 can be learned after it.",
    )
    return proved("3/4 for every k", argument, certificates)


def _other_end(what: str, run: Any, expected: tuple[int, int]) -> str | None:
    try:
        first, then = run()
    except NotCertain as error:
        return f"{what}: {error}"
    return None if (first, then) == ([expected[0]], [expected[1]]) else f"{what}: {first}, {then}"


ascent_is_stuck.twin("memory 0 is not seen again", guards="gradient", second=False)
ascent_is_stuck.twin("few bits learn 0, then 2", guards="listed", listed=(4, 2))
ascent_is_stuck.twin("many bits learn 0, then 2", guards="followed", followed=(4, 2))
ascent_is_stuck.twin("a lead of 1/3", guards="rest", gap=Fraction(1, 3))
ascent_is_stuck.twin("0, then 1 is worth 1", guards="worth", best=(0, 1))
