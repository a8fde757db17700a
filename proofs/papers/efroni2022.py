"""Efroni, Jin, Krishnamurthy and Miryoosefi 2022: tasks that short windows decode.

A task is L-step decodable if the last L observations and the actions between them determine the
state. Then the window of L - 1 pairs (o, a) and the current observation is an information state,
and its best policy is as good as the best of all histories. The converse does not hold: less may be
enough to act well.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cache

from pomdps import TASKS, t_maze
from proofs.ledger import Evidence, Proof, checked, claim, machine
from proofs.ledger.prose import text
from proofs.papers.paper import Paper
from workbench import augment, best_history, best_memoryless
from workbench.certificates.values import value_certificate
from workbench.core.numbers import Number
from workbench.optima.optimum import MemorylessOptimum
from workbench.research.theories import decodable_after

PAPER = Paper(
    "efroni2022",
    "Efroni, Jin, Krishnamurthy and Miryoosefi",
    "Provable reinforcement learning with a short-term memory",
    2022,
    "ours",
)
LENGTHS: dict[str, int] = {
    "alternation": 2,
    "recall4": 2,
    "recall": 3,
    "delayed_match": 4,
    "sequence_disambiguation": 4,
}
"""The smallest L of each task."""

HISTORIES = {
    "alternation": Fraction(9),
    "recall4": Fraction(1),
    "recall": Fraction(361, 400),
    "delayed_match": Fraction(729, 1000),
    "sequence_disambiguation": Fraction(729, 1000),
}


@claim(
    "P.efroni2022.windows",
    place=PAPER.place,
    statement="Alternation and 4-action recall are decodable by windows of 2, recall by 3, "
    "delayed match and sequence disambiguation by 4, the T-maze by none. Wherever L steps decode, "
    "the window of L - 1 pairs (o, a) is worth as much as all histories. On these tasks a window "
    "of one pair is as well, and none is not.",
    verdict="checked",
    steps=(
        machine("lengths", "the smallest L, and that the T-maze has none"),
        machine("histories", "the best values of all histories"),
        machine("decoded", "the window of L - 1 pairs is worth as much"),
        machine("one", "a window of one pair is worth as much, and of none less"),
    ),
)
def windows(
    proof: Proof,
    lengths: Mapping[str, int] = LENGTHS,
    histories: Mapping[str, Number] = HISTORIES,
    missing: int = 1,
    enough: int = 1,
) -> Evidence:
    """Judge the claim. `lengths`, `histories`: what is claimed. `missing`: how many pairs less than
    L the window has. `enough`: the pairs that suffice."""
    proof.step("lengths", None if decodable_after(t_maze(2)) is None else "the T-maze is decodable")
    certificates = []
    for name, L in LENGTHS.items():
        P = TASKS[name].make()
        found = decodable_after(P)
        proof.step("lengths", None if found == lengths[name] else f"{name}: {found}")
        best = best_history(P).value
        right = best == histories[name]
        proof.step("histories", None if right else f"{name}: {best}")
        value = best_window(name, L - missing).value
        proof.step("decoded", None if value == best else f"{name}: {value} of {best}")
        less, own = (best_window(name, k).value for k in (enough - 1, enough))
        needed = less < own == best
        proof.step("one", None if needed else f"{name}: {less}, {own} of {best}")
        pi = best_window(name, 1).policy
        certificates.append(value_certificate(P, "window1", pi, best))
    return checked(
        "windows of 2 to 4 steps tell the state in five tasks; one pair is enough for each",
        text(
            "Two states that a window does not tell apart are the ends of two walks that show and "
            "do the same; pairs of such ends are followed until they are all equal, or for ever "
            "the same."
        ),
        certificates,
    )


@cache  # for the twins too
def best_window(name: str, pairs: int) -> MemorylessOptimum:
    """The best policy of the last so many pairs (o, a) and the current observation."""
    E = augment(TASKS[name].make(), f"window{pairs}" if pairs else "none")
    return best_memoryless(E, exact=True)


windows.twin("recall by windows of 2", guards="lengths", lengths={**LENGTHS, "recall": 2})
windows.twin(
    "all histories of recall worth 1", guards="histories", histories={**HISTORIES, "recall": 1}
)
windows.twin("L - 2 pairs", guards="decoded", missing=2)
windows.twin("two pairs are needed", guards="one", enough=2)
