"""Kaelbling, Littman and Cassandra 1998, Section 3.3: beliefs in a corridor of four cells.

The goal, the third cell, is the only one that looks different. Without having seen it:

    at the start                 1/3  1/3  0  1/3
    after EAST                   1/10  9/20  0  9/20
    after EAST once more         1/10  9/55  0  81/110        printed as 0.1, 0.164, 0, 0.736
"""

from __future__ import annotations

from fractions import Fraction

from pomdps import belief_corridor
from proofs.ledger import Evidence, Proof, checked, claim, machine
from proofs.ledger.prose import text
from proofs.papers.paper import Paper
from workbench.agents.beliefs import belief
from workbench.core.numbers import Number

PAPER = Paper(
    "klc1998",
    "Kaelbling, Littman and Cassandra",
    "Planning and acting in partially observable stochastic domains",
    1998,
    "read",
)
F = Fraction
SLIP = F(1, 10)
BELIEFS = (
    (F(1, 3), F(1, 3), 0, F(1, 3)),
    (F(1, 10), F(9, 20), 0, F(9, 20)),
    (F(1, 10), F(9, 55), 0, F(81, 110)),
)
PRINTED = ((0.333, 0.333, 0, 0.333), (0.1, 0.45, 0, 0.45), (0.1, 0.164, 0, 0.736))


@claim(
    "P.klc1998.beliefs",
    place=PAPER.place,
    statement="In the corridor of four cells the beliefs after EAST and EAST, the goal not seen, "
    "are (1/3, 1/3, 0, 1/3), (1/10, 9/20, 0, 9/20) and (1/10, 9/55, 0, 81/110).",
    verdict="checked",
    steps=(
        machine("exact", "the three beliefs as fractions"),
        machine("printed", "rounded to three decimals they are the paper's"),
    ),
)
def beliefs(
    proof: Proof,
    slip: Number = SLIP,
    printed: tuple[tuple[float, ...], ...] = PRINTED,
) -> Evidence:
    """Judge the claim. `slip`: how often a move goes the other way. `printed`: the paper's
    numbers."""
    P = belief_corridor(slip=slip)
    history = ["-"]
    for t, (claimed, shown) in enumerate(zip(BELIEFS, printed, strict=True)):
        b = belief(P, history)
        found = tuple(b[s] for s in range(4))
        proof.step("exact", None if found == claimed else f"after {t} steps: {found}")
        rounded = tuple(round(float(x), 3) for x in claimed)
        proof.step("printed", None if rounded == shown else f"after {t} steps: {rounded}")
        history += ["EAST", "-"]
    return checked(
        "the exact filter gives the three printed beliefs", text("Beliefs by the exact filter.")
    )


beliefs.twin("moves slip with probability 1/5", guards="exact", slip=F(1, 5))
beliefs.twin("0.165 for 0.164", guards="printed", printed=(*PRINTED[:2], (0.1, 0.165, 0, 0.736)))
