"""Littman 1994: how good memoryless policies are on Sutton's grid, and what a little memory adds.

A policy is judged by the total number of steps over the 46 starts. The number for the best
memoryless policy is widely quoted; those with memories are ours, each with a bound that meets it.
"""

from __future__ import annotations

from collections.abc import Mapping

from pomdps import sutton_grid
from proofs.ledger import Evidence, Proof, checked, claim, machine
from proofs.ledger.prose import table_text, text
from proofs.papers.paper import Paper
from workbench import augment, best_memoryless
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
    statement="On Sutton's grid, over all 46 starts: 404 steps if the state is seen, and 416 with "
    "the best deterministic memoryless policy.",
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
        f"{informed} and {steps} steps",
        text(f"{best!r}. A policy that does not end from every start counts for nothing."),
    )


grid.twin("one step fewer with the state seen", guards="seen", seen=403)
grid.twin("one step fewer without", guards="memoryless", memoryless=415)


@claim(
    "P.littman1994.memory",
    place="our values",
    statement="On Sutton's grid the best deterministic memoryless policies with K1 and O1 take 408 "
    "steps over all 46 starts, and no policy of the whole history takes fewer than 407.999.",
    verdict="checked",
    steps=(
        machine("values", "policies with K1 and O1 take 408 steps"),
        machine("bound", "bounds on all histories leave less than 1/1000 of a step"),
    ),
)
def memory(proof: Proof, values: Mapping[str, int] | None = None, slack: float = 1e-3) -> Evidence:
    """`values`: the steps claimed for each memory; `slack`: what the bound may leave."""
    P = sutton_grid()
    rows = []
    for name, claimed in (values or {"K1": 408, "O1": 408}).items():
        best = best_memoryless(augment(P, name), max_seconds=60.0)
        steps, at_least = -best.value * STARTS, -best.bound * STARTS
        rows.append([name, f"{steps:.6f}", f"{at_least:.6f}"])
        off = abs(steps - claimed) > 1e-6
        proof.step("values", f"{name}: {steps} steps, not {claimed}" if off else None)
        left = steps - at_least >= slack
        proof.step("bound", f"{name}: {steps - at_least} steps are left" if left else None)
    table = table_text(["memory", "steps", "no history-based policy fewer than"], rows)
    return checked("408 steps with one cell of memory", text(table))


memory.twin("407 with O1", guards="values", values={"K1": 408, "O1": 407})
memory.twin("a bound that is met to the last bit", guards="bound", slack=0.0)
