"""Perkins 2002: Monte Carlo exploring starts for POMDPs (MCESP) stop at local optima under
switches.

MCESP values the pair (o, a) by the return of the policy that is switched to a wherever o is seen,
and changes the policy where a switch is better. It so stops at policies that no single switch
improves. The policy pi_l at which small greedy steps end on the 4-action recall task with B(k)
(Lemma C.2) is one of them: MCESP may stop there as well.
"""

from __future__ import annotations

from fractions import Fraction

from pomdps import recall4
from proofs.ledger import Evidence, Proof, checked, claim, machine
from proofs.ledger.prose import text
from proofs.papers.paper import Paper
from workbench import POMDP, Policy, augment, best_memoryless, evaluate
from workbench.certificates.values import value_certificate
from workbench.core.numbers import Number
from workbench.evaluation.switch_values import improving_switches

PAPER = Paper(
    "perkins2002",
    "Perkins",
    "Reinforcement learning for POMDPs based on action values and stochastic optimization",
    2002,
    "read",
)


@claim(
    "P.perkins2002.switches",
    place=PAPER.place,
    statement="On the 4-action recall task with B1, B2 and B3 no switch at a single (m, o) "
    "improves the policy pi_l of Lemma C.2, worth 3/4. So it is a local optimum of MCESP, though "
    "the best policy is worth 1.",
    verdict="checked",
    steps=(
        machine("worth", "pi_l is worth 3/4 with each memory"),
        machine("local", "no switch of one row is worth more"),
        machine("best", "the best deterministic policy is worth 1"),
    ),
)
def switches(
    proof: Proof, worth: Number = Fraction(3, 4), second: int = 3, best: Number = 1
) -> Evidence:
    """Judge the claim. `worth`, `best`: the values claimed. `second`: what pi_l does in memory
    states but 0."""
    P = recall4()
    tried, certificates = 0, []
    for k in (1, 2, 3):
        E = augment(P, f"B{k}")
        value = evaluate(E, _climbed(E, k, 3), exact=True).value
        proof.step("worth", None if value == worth else f"B{k}: worth {value}")
        certificates.append(value_certificate(P, f"B{k}", _climbed(E, k, 3), value))
        better = improving_switches(E, _climbed(E, k, second))
        tried += len(E.O) * len(E.A)
        proof.step("local", f"B{k}: {better}" if better else None)
        found = best_memoryless(E, exact=True).value
        proof.step("best", None if found == best else f"B{k}: the best is worth {found}")
    return checked(
        f"all {tried} switches were tried, and none improves pi_l",
        text(
            "pi_l does <1, last> in memory 0 and <3, last> elsewhere. A switch changes both steps "
            "of an episode where the memory is the same in both."
        ),
        certificates,
    )


def _climbed(E: POMDP, k: int, second: int) -> Policy:
    """pi_l of B(k), with `second` for its action 3."""
    zero, last = "0" * k, "1" * k
    return Policy.deterministic(
        E,
        {(zero, "o"): (1, last)},
        otherwise=(second, last),
    )


switches.twin("4/5 for 3/4", guards="worth", worth=Fraction(4, 5))
switches.twin("2 for 3 in the second step", guards="local", second=2)
switches.twin("the best is worth 3/4", guards="best", best=Fraction(3, 4))
