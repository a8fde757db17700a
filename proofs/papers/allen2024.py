"""Allen et al. 2024: the lambda-discrepancy, and a task on which it sees nothing.

The parity check shows two coins one after the other and then asks whether they agree. TD(lambda)
values are the same for every lambda and every policy, though the task cannot be solved without
memory and can with one bit: a discrepancy of zero does not mean that no memory is needed. On the
T-maze the discrepancy does see what is missing: with the sign kept it falls, to zero where the
corridor has one cell; more cells look alike, and TD still mixes them up.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import sympy

from pomdps import parity_check, t_maze
from proofs.ledger import Evidence, Proof, checked, claim, machine, proved
from proofs.ledger.prose import text
from proofs.papers.paper import Paper
from workbench import POMDP, Policy, augment, best_history, best_memoryless, evaluate, td_values
from workbench.certificates.values import td_certificate, value_certificate
from workbench.core.numbers import Number
from workbench.evaluation.discrepancy import lambda_discrepancy

PAPER = Paper(
    "allen2024",
    "Allen, Kirtland, Tao et al.",
    "Mitigating partial observability in sequential decision processes via the lambda discrepancy",
    2024,
    "read",
)


def any_up_policy(P: POMDP) -> Policy:
    """The policy whose probability of `up` is a symbol at every observation."""
    rows = {}
    for i, o in enumerate(P.O):
        if P.decides[i]:
            x = sympy.Symbol(f"x{i}")
            rows[o] = {"up": x, "down": 1 - x}
    return Policy.from_mapping(P, rows)


@claim(
    "P.allen2024.parity",
    place=PAPER.place,
    statement="On the parity check TD(0) and Monte Carlo values agree for every policy, so the "
    "lambda-discrepancy is zero identically. Yet the best memoryless policy is worth 0, and with "
    "one bit 81/100, the best value of any history.",
    verdict="proved",
    steps=(
        machine("same", "q_TD(0) = q_pi as rational functions of the policy's probabilities"),
        machine(
            "none",
            "every memoryless policy, stochastic or not, is worth 0: its return as a "
            "rational function, and no deterministic one is worth more",
        ),
        machine("bit", "with one bit the best is the best value of all histories"),
    ),
)
def parity(
    proof: Proof, zero: Number = Fraction(1, 2), memory: str = "none", bit: str = "B1"
) -> Evidence:
    """Judge the claim. `zero`: how often a coin shows 0 where TD is compared. `memory`, `bit`: what
    the agent has."""
    tossed = parity_check(zero=zero)
    pi = any_up_policy(tossed)
    low, high = td_values(tossed, pi, lam=0), td_values(tossed, pi, lam=1)
    different = [
        (o, a)
        for o in tossed.O
        for a in tossed.A
        if low.q[o, a] is not None and sympy.cancel(low.q[o, a] - high.q[o, a]) != 0
    ]
    proof.step("same", different or None)
    P = parity_check()
    worth = evaluate(P, any_up_policy(P)).value
    proof.step("none", None if sympy.cancel(worth) == 0 else f"worth {worth}")
    without = best_memoryless(augment(P, memory), exact=True)
    proof.step("none", None if without.value == 0 else f"{memory}: worth {without.value}")
    best, with_bit = best_history(P).value, best_memoryless(augment(P, bit), exact=True)
    one = with_bit.value
    proof.step("bit", None if one == best else f"{bit}: worth {one}, histories {best}")
    certificates = [
        td_certificate(tossed, "none", td_values(tossed, pi, n=1)),
        value_certificate(P, "none", any_up_policy(P), 0),
        value_certificate(P, bit, with_bit.policy, one),
    ]
    return proved(
        "TD and Monte Carlo agree for every policy; one bit raises the best from 0 to 81/100",
        text(
            "Before the junction neither reward nor what is seen next depends on what is done, and "
            "at the junction the coins agree with probability 1/2 whatever was seen last: v is 0 "
            "everywhere, bootstrapped or not."
        ),
        certificates,
    )


parity.twin("coins that show 0 two times out of three", guards="same", zero=Fraction(2, 3))
parity.twin("with O1", guards="none", memory="O1")
parity.twin("K1 for the bit", guards="bit", bit="K1")


MEMORYLESS = {1: Fraction(3321, 2000), 2: Fraction(165969, 110000), 3: Fraction(69093, 50000)}
KEPT = {1: Fraction(0), 2: Fraction(81, 550), 3: Fraction(63, 250)}


@claim(
    "P.allen2024.t_maze",
    place="our values",
    statement="On T-mazes with corridors of n = 1, 2, 3 cells, take the policy that goes right "
    "and then turns up. The largest difference between its TD(0) and Monte Carlo values is "
    "3321/2000, 165969/110000 and 69093/50000. For the policy of O1 that keeps the sign and turns "
    "as it says, worth as much as all histories, it is 0, 81/550 and 63/250.",
    verdict="checked",
    steps=(
        machine("without", "the discrepancies without memory"),
        machine("kept", "the discrepancies with the sign kept"),
        machine("worth", "the policy that keeps the sign is worth the best of all histories"),
    ),
)
def maze(
    proof: Proof,
    without: Mapping[int, Number] = MEMORYLESS,
    kept: Mapping[int, Number] = KEPT,
    turn: str = "up",
) -> Evidence:
    """Judge the claim. `without`, `kept`: the discrepancies by the length of the corridor. `turn`:
    where the sign says up."""
    certificates = []
    for n in MEMORYLESS:
        P = t_maze(n)
        up = Policy.deterministic(P, {"junction": "up"}, otherwise="right")
        off = lambda_discrepancy(P, up, norm=np.inf, exact=True)
        proof.step("without", None if off == without[n] else f"n = {n}: {off}")
        E = augment(P, "O1")
        off = lambda_discrepancy(E, sign_kept(E, "up"), norm=np.inf, exact=True)
        proof.step("kept", None if off == kept[n] else f"n = {n}: {off}")
        value, best = evaluate(E, sign_kept(E, turn), exact=True).value, best_history(P).value
        proof.step("worth", None if value == best else f"n = {n}: {value}, histories {best}")
        certificates.append(value_certificate(P, "O1", sign_kept(E, turn), value))
    return checked(
        "keeping the sign makes the difference 0 for one cell, smaller for two and three",
        text("Cells of the corridor look alike, and with the sign kept too: TD mixes them up."),
        certificates,
    )


def sign_kept(E: POMDP, turn: str) -> Policy:
    """The policy of a T-maze with O1 that pushes the sign, keeps it, goes right, and turns as it
    says: `turn` after the sign for up."""

    def act(m: object, o: object) -> tuple[str, str]:
        if o == "junction":
            other = "down" if turn == "up" else "up"
            return turn if m == ("goal up",) else other, "keep"
        return "right", "push" if str(o).startswith("goal") else "keep"

    return Policy.deterministic(E, {(m, o): act(m, o) for m, o in E.O})


maze.twin("2 for one cell", guards="without", without={**MEMORYLESS, 1: Fraction(2)})
maze.twin("0 with the sign kept", guards="kept", kept=dict.fromkeys(KEPT, Fraction(0)))
maze.twin("turning against the sign", guards="worth", turn="down")
