"""Section 5.1: Q-learning on recall is less stable with B2 than with OA1.

The other half of the sentence on B2 and OA1 (`section51_shortcuts` counts their shortcuts): a
statement about a learner, so the evidence is statistical. Every 10,000 steps the greedy policy is
evaluated exactly, as in Figure 3; it is worth gamma^2 or 0.
"""

from __future__ import annotations

from functools import cache

import numpy as np
from scipy import stats

from pomdps import recall
from proofs.ledger import Evidence, claim, refuted, supported
from proofs.ledger.prose import table_text, text
from workbench import QLearning, augment, learn


@cache
def switches(memory: str, steps: int, seeds: int) -> tuple[int, ...]:
    """How often the greedy policy of Q-learning changes between worth gamma^2 and worth 0, looked
    at every 10,000 steps."""
    run = learn(augment(recall(), memory), QLearning(), steps=steps, seeds=seeds, every=10_000)
    solved = run.values() > 0
    return tuple(int(n) for n in (solved[:, 1:] != solved[:, :-1]).sum(axis=1))


@claim(
    "S51.b2-unstable",
    place="Sec. 5.1",
    statement="Q-learning on recall is less stable with B2 than with OA1: its greedy policy "
    "switches more often "
    "between the optimum and zero reward.",
    verdict="supported",
)
def b2_is_less_stable(
    stable: str = "OA1", unstable: str = "B2", steps: int = 1_000_000, seeds: int = 10
) -> Evidence:
    """Ten seeds each; Welch's interval for the difference of the means."""
    calm, restless = (
        np.array(switches(memory, steps, seeds), dtype=float) for memory in (stable, unstable)
    )
    found = stats.ttest_ind(restless, calm, equal_var=False)
    low, high = found.confidence_interval(0.95)
    difference = restless.mean() - calm.mean()
    shown = f"{difference:.1f} more switches with {unstable}, 95% interval {low:.1f} to {high:.1f}"
    if low <= 0:
        return refuted(f"{unstable} is not less stable", shown, counterexample=shown)
    argument = text(
        "Q-learning with the settings of Appendix D.1 (epsilon 0.01, step 0.1, gamma 0.95, "
        "optimistic start), "
        f"{steps:,} steps, seeds 0 to {seeds - 1}. Every 10,000 steps the greedy policy is "
        "evaluated exactly: it "
        f"is worth gamma^2 or 0. Changes between the two among {steps // 10_000} policies:",
        table_text(
            ["memory", "mean", "by seed"],
            [
                [name, f"{x.mean():.1f}", " ".join(f"{n:.0f}" for n in x)]
                for name, x in ((stable, calm), (unstable, restless))
            ],
        ),
        f"Difference of the means {difference:.1f}, 95% interval (Welch) {low:.1f} to {high:.1f}, "
        "p = "
        f"{found.pvalue:.1e}.",
        "That the number of shortcuts is the reason is not shown by this.",
    )
    return supported(
        f"{seeds} seeds, {restless.mean():.1f} against {calm.mean():.1f} switches", argument
    )


b2_is_less_stable.twin("OA1 less stable than B2", stable="B2", unstable="OA1")
