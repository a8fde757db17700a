"""Littman 1994: how good memoryless policies are on Sutton's grid, and what a little memory adds.

A policy is judged by the total number of steps over the 46 starts. The number for the best
memoryless policy is widely quoted; those with memories and histories are ours, in rationals.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from pomdps import sutton_grid
from proofs.ledger import Evidence, Proof, checked, claim, machine
from proofs.ledger.prose import table_text, text
from proofs.papers.paper import Paper
from workbench import Policy, augment, best_history, best_memoryless, evaluate
from workbench.certificates.values import value_certificate
from workbench.core.numbers import Number
from workbench.optima.best_informed import best_informed

PAPER = Paper(
    "littman1994",
    "Littman",
    "Memoryless policies: theoretical limitations and practical results",
    1994,
    "quoted",
)
STARTS = 46


@claim(
    "P.littman1994.grid",
    place=PAPER.place,
    statement="On Sutton's grid, over all 46 starts, it takes 404 steps if the state is seen, and "
    "416 with the best deterministic memoryless policy.",
    verdict="checked",
    steps=(
        machine("seen", "policy iteration in rationals over the 46 cells gives 404"),
        machine("memoryless", "branch and bound in rationals over the 30 patterns gives 416"),
    ),
)
def grid(proof: Proof, seen: int = 404, memoryless: int = 416) -> Evidence:
    """`seen`, `memoryless`: the steps that are claimed."""
    P = sutton_grid()
    informed = -best_informed(P, exact=True) * STARTS
    proof.step("seen", None if informed == seen else f"{informed} steps, not {seen}")
    best = best_memoryless(P, exact=True)
    steps = -best.value * STARTS
    right = best.certified and steps == memoryless
    proof.step("memoryless", None if right else f"{steps} steps, not {memoryless}")
    return checked(
        f"{informed} steps if the state is seen, {steps} without memory",
        text(f"{best!r}. A policy that does not end from every start counts for nothing."),
        [value_certificate(P, "none", best.policy, best.value)],
    )


grid.twin("one step fewer with the state seen", guards="seen", seen=403)
grid.twin("one step fewer without", guards="memoryless", memoryless=415)


MEMORIES = ("K1", "O1", "B1", "OA1")


@cache
def found_with(memory: str) -> tuple[Policy, Number]:
    """A policy that branch and bound finds, and what it is worth exactly. Kept, as twins ask for
    the same."""
    E = augment(sutton_grid(), memory)
    pi = best_memoryless(E, max_seconds=60.0).policy
    return pi, evaluate(E, pi, exact=True).value


@claim(
    "P.littman1994.memory",
    place="our values",
    statement="On Sutton's grid the best policy of the whole history takes 408 steps over all 46 "
    "starts. Each of K1, O1, B1 and OA1 is enough for it.",
    verdict="checked",
    steps=(
        machine("history", "policy iteration in rationals over all beliefs gives 408"),
        machine("values", "policies with each of them take 408 steps, evaluated in rationals"),
    ),
)
def memory(proof: Proof, steps: int = 408, memories: Sequence[str] = MEMORIES) -> Evidence:
    """Judge the claim. `steps`: what is claimed for histories. `memories`: what is claimed to be
    enough."""
    P = sutton_grid()
    best = best_history(P)
    took = -best.value * STARTS
    proof.step("history", None if best.exact and took == steps else f"{took} steps, not {steps}")
    rows, certificates = [], []
    for name in memories:
        pi, value = found_with(name)
        rows.append([name, str(-value * STARTS)])
        off = -value * STARTS != 408
        proof.step("values", f"{name}: {-value * STARTS} steps" if off else None)
        certificates.append(value_certificate(P, name, pi, value))
    table = table_text(["memory", "steps"], rows)
    return checked(
        "408 steps with each memory of size 1, as with the whole history",
        text(f"{best!r}.", table),
        certificates,
    )


memory.twin("407 for histories", guards="history", steps=407)
memory.twin("no memory at all", guards="values", memories=("K1", "none"))
