"""Sinha, Geist and Mahajan 2024, Example 1: periodic policies beat stationary ones.

A policy that is periodic with period L is a memoryless policy that sees a clock of L hours. The
chain is cut off after 60 states, where what is left is worth at most 10 * 0.9^59 = 0.02.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

from pomdps import periodic_counter
from proofs.ledger import Evidence, Proof, checked, claim, machine
from proofs.ledger.prose import table_text, text
from proofs.papers.paper import Paper
from workbench import Policy, augment, best_history, best_memoryless, evaluate, uniform
from workbench.research.behaviour_limits import cyclic_limits

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
    "are better the longer the period is. All of them are better than the best stationary one, "
    "and worse than the best that knows the time.",
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
    """Judge the claim. `first`, `last`: the periods. `stationary`: of the policy to beat. `ahead`:
    by how much."""
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
    return checked(
        f"the best is worth {low:.3f} if stationary, {best[last]:.3f} with period {last}",
        text(table),
    )


periods.twin("period 4 as the one to beat", guards="stationary", stationary=4)
periods.twin("from period 1 on", guards="longer", first=1)
periods.twin("two ahead of period 10", guards="time", ahead=2.0)


@cache
def hours_apart(L: int, lean: Fraction) -> float:
    """How far the tables of L hours lie apart. Actions are random, and lean to action 0 at the
    first hour."""
    P = periodic_counter()
    first = uniform(P).toward(Policy.deterministic(P, {"o": 0}), lean)
    tables = [q.array for q in cyclic_limits(P, [first, *[uniform(P)] * (L - 1)])]
    return max(float(abs(q - tables[0]).max()) for q in tables)


@cache
def greedy_around_best(L: int) -> tuple[list[int], float, list[int], float]:
    """The best policy of period L, and the policy that is greedy around it. That one is greedy on
    the limits of the first one's epsilon-greedy behaviour. What each is worth comes with it."""
    P = periodic_counter()
    E = augment(P, f"clock{L}")
    best = best_memoryless(E)
    acts = [int(best.policy.actions[E.O.index((h, "o"))]) for h in range(L)]
    cycle = [Policy.deterministic(P, {"o": a}).toward(uniform(P), Fraction(1, 10)) for a in acts]
    greedy = [int(q.array[0].argmax()) for q in cyclic_limits(P, cycle)]  # the actions are 0, 1
    pi = Policy.deterministic(E, {(h, "o"): (a, "-") for h, a in enumerate(greedy)})
    return acts, float(best.value), greedy, float(evaluate(E, pi).value)


@claim(
    "P.pasql2024.limits",
    place=PAPER.place,
    statement="On the chain of Example 1 Q-learning with a clock of 2 or 3 hours converges, under "
    "random actions, to one and the same table at every hour. Around the best policies of period "
    "3 and 4, with epsilon 1/10, it converges to a cycle of tables whose greedy policy is another "
    "one, worth less.",
    verdict="checked",
    steps=(
        machine("same", "under random actions the tables of all hours are equal"),
        machine("left", "the best periodic policy is not greedy on the cycle that it leads to"),
    ),
)
def limits(
    proof: Proof,
    hours: tuple[int, ...] = (2, 3),
    lean: Fraction = Fraction(0),
    around: tuple[int, ...] = (3, 4),
) -> Evidence:
    """Judge the claim. `hours`: of the clocks. `lean`: how far the random behaviour leans to action
    0 at the first hour. `around`: the periods of the best policies."""
    for L in hours:
        apart = hours_apart(L, lean)
        proof.step("same", None if apart < 1e-9 else f"{L} hours: {apart:.2g} apart")
    told = []
    for L in around:
        acts, top, greedy, value = greedy_around_best(L)
        told.append([str(L), str(acts), f"{top:.4f}", str(greedy), f"{value:.4f}"])
        proof.step("left", None if value < top - 1e-6 else f"period {L}: {greedy} is worth {value}")
    table = table_text(["period", "best", "worth", "greedy on its limits", "worth"], told)
    return checked(
        "a clock alone changes nothing; Q-learning leaves the best periodic policies", text(table)
    )


limits.twin("a behaviour that sees the hour", guards="same", lean=Fraction(1, 2))
limits.twin("around the best policy of period 2", guards="left", around=(2,))
