"""Peshkin, Meuleau and Kaelbling 1999: one bit of external memory solves load-unload.

The cart sees only whether it is at an end of its road. Without memory it does not know whether to
go left or right in between; one bit says whether it is loaded. The values are ours, for a discount
of 19/20 and a start at the pile.
"""

from __future__ import annotations

from collections.abc import Sequence

from pomdps import load_unload
from proofs.ledger import Evidence, Proof, checked, claim, machine
from proofs.ledger.prose import table_text, text
from proofs.papers.paper import Paper
from workbench import augment, best_history, best_memoryless
from workbench.certificates.values import value_certificate

PAPER = Paper(
    "peshkin1999",
    "Peshkin, Meuleau and Kaelbling",
    "Learning policies with external memory",
    1999,
    "quoted",
)
LENGTHS = (3, 4, 5)


@claim(
    "P.peshkin1999.load_unload",
    place=PAPER.place,
    statement="On load-unload with roads of 3, 4 and 5 segments one bit is worth as much as all "
    "histories. No deterministic memoryless policy is, and no window of n - 3 observations.",
    verdict="checked",
    steps=(
        machine("bit", "the best policy with B1 is worth the best of all histories"),
        machine("none", "without memory the best deterministic policy is worth less"),
        machine("window", "so is the best with K(n-3)"),
    ),
)
def solved(
    proof: Proof,
    lengths: Sequence[int] = LENGTHS,
    bit: str = "B1",
    nothing: str = "none",
    window: int = -3,
) -> Evidence:
    """Judge the claim. `bit`, `nothing`: the memories. `window`: how much longer than the road the
    window is."""
    rows, certificates = [], []
    for n in lengths:
        P = load_unload(length=n)
        k = n + window
        names = bit, nothing, f"K{k}" if k else "none"
        best = best_history(P).value
        found = [best_memoryless(augment(P, m), exact=True) for m in names]
        one, without, seen = (x.value for x in found)
        certificates.append(value_certificate(P, bit, found[0].policy, one))
        proof.step("bit", None if one == best else f"n = {n}: {bit} {float(one)}")
        proof.step("none", None if without < best else f"n = {n}: {nothing} {float(without)}")
        proof.step("window", None if seen < best else f"n = {n}: {names[2]} {float(seen)}")
        rows.append([str(n), *(f"{float(x):.6f}" for x in (best, one, without, seen))])
    table = table_text(["n", "histories", "B1", "none", "K(n-3)"], rows)
    return checked(
        "one bit is as good as the history; n - 3 observations are not", text(table), certificates
    )


solved.twin("no memory for the bit", guards="bit", bit="none", lengths=(3,))
solved.twin("O1 for nothing", guards="none", nothing="O1", lengths=(4,))
solved.twin("windows of n - 2", guards="window", window=-2, lengths=(5,))
