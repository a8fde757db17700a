"""Eberhard, Muehlebach and Vernade 2025: memory traces against windows on the T-maze.

The sign at the start of a corridor says which way to turn at its end. A window must reach back to
the sign, so it has to be as long as the corridor; the exponential trace z' = lam z + (1 - lam) e_o
keeps something of the sign for ever, however small. Episodes are cut off where the quickest way
ends, which makes the traces finitely many; they are exact.
"""

from __future__ import annotations

from collections.abc import Sequence

from pomdps import t_maze
from proofs.ledger import Evidence, Proof, checked, claim, machine
from proofs.ledger.prose import table_text, text
from proofs.papers.paper import Paper
from workbench import augment, best_history, best_memoryless
from workbench.agents.step_limit import with_step_limit
from workbench.certificates.values import value_certificate

PAPER = Paper(
    "eberhard2025",
    "Eberhard, Muehlebach and Vernade",
    "Partially observable reinforcement learning with memory traces",
    2025,
    "read",
)
LENGTHS = (2, 3, 4)


@claim(
    "P.eberhard2025.traces",
    place=PAPER.place,
    statement="On T-mazes with corridors of n = 2, 3, 4 cells, over after n + 2 steps, the memory "
    "trace with lambda = 2/3 is worth as much as all histories. The window K(n+1) is too, and "
    "K(n) is worth half of it.",
    verdict="checked",
    steps=(
        machine("trace", "the best policy of the trace is worth the best of all histories"),
        machine("long", "so is the best policy of K(n+1)"),
        machine("short", "the best policy of K(n) is worth half of it"),
    ),
)
def traces(
    proof: Proof,
    lengths: Sequence[int] = LENGTHS,
    trace: str = "trace2/3",
    longer: int = 1,
    shorter: int = 0,
) -> Evidence:
    """Judge the claim. `trace`: the memory. `longer`, `shorter`: how much longer than n the two
    windows are."""
    rows, certificates = [], []
    for n in lengths:
        P = with_step_limit(t_maze(n), n + 2)
        best = best_history(P).value
        names = trace, f"K{n + longer}", f"K{n + shorter}"
        found = [best_memoryless(augment(P, m), exact=True) for m in names]
        kept, seen, lost = (x.value for x in found)
        certificates += [
            value_certificate(P, m, x.policy, x.value)
            for m, x in zip(names[1:], found[1:], strict=True)
        ]
        proof.step("trace", None if kept == best else f"n = {n}: {trace} {kept}, histories {best}")
        proof.step("long", None if seen == best else f"n = {n}: {names[1]} {seen}")
        proof.step("short", None if 2 * lost == best else f"n = {n}: {names[2]} {lost}")
        rows.append([str(n), str(best), str(kept), str(seen), str(lost)])
    table = table_text(["n", "histories", "trace 2/3", "K(n+1)", "K(n)"], rows)
    said = "traces and windows of n + 1 reach V*, windows of n half of it"
    return checked(said, text(table), certificates)


traces.twin("no trace at all", guards="trace", trace="none", lengths=(2,))
traces.twin("K(n) for K(n+1)", guards="long", longer=0, lengths=(2,))
traces.twin("K(n+1) for K(n)", guards="short", shorter=1, lengths=(2,))
