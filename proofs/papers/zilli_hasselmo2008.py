"""Zilli and Hasselmo 2008. Todd, Niv and Cohen 2009: which memory do working-memory tasks need?.

Delayed match and non-match, spatial alternation, sequence disambiguation, n-back and 1-2-AX as
exact models. The values are ours: with each memory the best deterministic policy against the best
of all histories.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import cache

from pomdps import alternation, delayed_match, n_back, one_two_ax, sequence_disambiguation
from proofs.ledger import Evidence, Proof, checked, claim, machine
from proofs.ledger.prose import text
from proofs.papers.paper import Paper
from workbench import POMDP, augment, best_history, best_memoryless
from workbench.certificates.values import value_certificate
from workbench.core.numbers import Number
from workbench.optima.optimum import MemorylessOptimum

PAPER = Paper(
    "zilli_hasselmo2008",
    "Zilli and Hasselmo",
    "Modeling the role of working memory and episodic memory in behavioral tasks",
    2008,
    "ours",
)


Make = tuple[Callable[..., POMDP], *tuple[int, ...]]
"""How a task is made: the function and its arguments."""


@cache
def best(make: Make, memory: str) -> MemorylessOptimum:
    """The best deterministic policy with a memory, exactly. Kept for the twins."""
    return best_memoryless(augment(made(make), memory), exact=True)


def best_worth(make: Make, memory: str) -> Number:
    return best(make, memory).value


def made(make: Make) -> POMDP:
    return make[0](*make[1:])


def fails(make: Make, enough: Sequence[str], short: Sequence[str]) -> str:
    """Which of the memories is not enough though it should be, or is though it should not."""
    most = best_history(made(make)).value
    wrong = [f"{m} is worth {x}" for m in enough if (x := best_worth(make, m)) != most]
    return "; ".join(wrong + [f"{m} is enough" for m in short if best_worth(make, m) == most])


@claim(
    "P.zilli_hasselmo2008.needs",
    place=PAPER.place,
    statement="Delayed match and non-match over d = 1, 2, 3 steps are solved by one bit and by "
    "K(d+1), not by K(d), and so are sequences with d letters in common. Alternation is solved by "
    "one bit and by the last action, not by K1. n-back for n = 1, 2 is solved by K(n), and for n "
    "= 2 by four nodes, not by three. 1-2-AX is worth 3/16 to histories and nothing without "
    "memory or with K1.",
    verdict="checked",
    steps=(
        machine("match", "delayed match and non-match"),
        machine("sequence", "sequences that share their middle"),
        machine("alternation", "alternation"),
        machine("back", "n-back"),
        machine("ax", "1-2-AX"),
    ),
)
def needs(
    proof: Proof,
    delays: Sequence[int] = (1, 2, 3),
    matching: int = 1,
    shared: int = 1,
    action: str = "window1",
    nodes: int = 4,
    ax: Number = Fraction(3, 16),
) -> Evidence:
    """Judge the claim. `matching`, `shared`: how much longer than d the windows are. `action`: what
    solves alternation. `nodes`: what solves 2-back. `ax`: the value of 1-2-AX."""
    for d in delays:
        for match in (True, False):
            trouble = fails((delayed_match, d, match), ["B1", f"K{d + matching}"], [f"K{d}"])
            proof.step("match", f"d = {d}: {trouble}" if trouble else None)
        trouble = fails((sequence_disambiguation, d), ["B1", f"K{d + shared}"], [f"K{d}"])
        proof.step("sequence", f"d = {d}: {trouble}" if trouble else None)
    trouble = fails((alternation,), ["B1", action], ["none", "K1"])
    proof.step("alternation", trouble or None)
    one = fails((n_back, 1), ["K1", "F2"], ["none"])
    two = fails((n_back, 2), ["K2", f"F{nodes}"], ["K1", f"F{nodes - 1}"])
    proof.step("back", one or two or None)
    solved: list[tuple[Make, str]] = [
        ((alternation,), "B1"),
        ((n_back, 1), "K1"),
        ((n_back, 2), "K2"),
    ]
    solved += [((delayed_match, d, match), "B1") for d in delays for match in (True, False)]
    solved += [((sequence_disambiguation, d), "B1") for d in delays]
    stream = (one_two_ax,)
    values = best_history(made(stream)).value, best_worth(stream, "none"), best_worth(stream, "K1")
    proof.step("ax", None if values == (ax, 0, 0) else f"worth {values}")
    return checked(
        "each smallest memory found, and the next smaller one refused; 3/16 for 1-2-AX",
        text("2-back needs the last two letters, which four nodes hold and three do not."),
        [
            value_certificate(
                made(make), memory, best(make, memory).policy, best_worth(make, memory)
            )
            for make, memory in solved
        ],
    )


needs.twin("windows of d for delayed match", guards="match", matching=0, delays=(1,))
needs.twin("windows of d for sequences", guards="sequence", shared=0, delays=(1,))
needs.twin("nothing for the last action", guards="alternation", action="none")
needs.twin("three nodes for 2-back", guards="back", nodes=3)
needs.twin("1/8 for 1-2-AX", guards="ax", ax=Fraction(1, 8))
