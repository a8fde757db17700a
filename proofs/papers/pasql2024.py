"""Sinha, Geist and Mahajan 2024, Example 1: periodic policies beat stationary ones.

A policy that is periodic with period L is a memoryless policy that sees a clock of L hours. The
chain is cut off after 60 states, where what is left is worth at most 10 * 0.9^59 = 0.02.
"""

from __future__ import annotations

from pomdps import periodic_counter
from proofs.ledger import Evidence, Proof, checked, claim, machine
from proofs.ledger.prose import table_text, text
from proofs.papers.paper import Paper
from workbench import augment, best_history, best_memoryless

PAPER = Paper(
    "pasql2024",
    "Sinha, Geist and Mahajan",
    "Periodic agent-state based Q-learning for POMDPs",
    2024,
    "read",
)


@claim(
    "P.pasql2024.periods",
    place=PAPER.place,
    statement="On the chain of Example 1 the best deterministic policies of period 3, 4, ..., 10 "
    "are better the longer the period is, all of them better than the best stationary one, and "
    "worse than the best that knows the time.",
    verdict="checked",
    steps=(
        machine("stationary", "period 3 is better than the best stationary policy"),
        machine("longer", "each period from 4 to 10 is better than the one before"),
        machine("time", "the best history-based policy is better than period 10"),
    ),
)
def periods(
    proof: Proof, first: int = 3, last: int = 10, stationary: int = 1, ahead: float = 0.0
) -> Evidence:
    """`first`, `last`: the periods; `stationary`: of the policy to beat; `ahead`: by how much."""
    P = periodic_counter()
    best = {}
    for L in {stationary, *range(first, last + 1)}:
        found = best_memoryless(augment(P, f"clock{L}"))
        assert found.certified
        best[L] = float(found.value)
    low = best[stationary]
    beaten = best[3] > low + 1e-6 if 3 in best else False
    proof.step("stationary", None if beaten else f"{best.get(3)} against {low}")
    rising = [L for L in range(first + 1, last + 1) if best[L] <= best[L - 1] + 1e-6]
    proof.step("longer", f"period {rising[0]} is no better" if rising else None)
    top = float(best_history(P).value)
    proof.step("time", None if top > best[last] + ahead else f"{top} against {best[last]}")
    table = table_text(
        ["period", "best value"],
        [[str(L), f"{best[L]:.6f}"] for L in sorted(best)] + [["time", f"{top:.6f}"]],
    )
    return checked(f"{low:.3f} stationary, {best[last]:.3f} with period {last}", text(table))


periods.twin("period 4 as the one to beat", guards="stationary", stationary=4)
periods.twin("from period 1 on", guards="longer", first=1)
periods.twin("two ahead of period 10", guards="time", ahead=2.0)
