"""Loch and Singh 1998: with traces Sarsa finds the best memoryless policy of Sutton's grid.

The paper's learners in our implementation, with settings of our own: what is found is ours. A seed
counts as solved if the greedy policy at the end takes 416 steps over all 46 starts, which no
deterministic memoryless policy does better (P.littman1994.grid).
"""

from __future__ import annotations

from functools import cache

import numpy as np

from pomdps import sutton_grid
from proofs.ledger import Evidence, Proof, claim, machine, supported
from proofs.ledger.prose import text
from proofs.papers.paper import Paper
from workbench import QLearning, Sarsa, learn
from workbench.learning.learners import Learner

PAPER = Paper(
    "loch_singh1998",
    "Loch and Singh",
    "Using eligibility traces to find the best memoryless policy in partially observable Markov "
    "decision processes",
    1998,
    "ours",
)
STARTS, BEST = 46, 416

SEEDS = range(1000, 1040)
"""Not those by which the settings were chosen."""

MOST = 9 * len(SEEDS) // 10


@cache
def solved(learner: Learner, steps: int) -> int:
    """How many seeds end with a greedy policy of 416 steps; kept, as twins ask for the same."""
    run = learn(sutton_grid(), learner, steps=steps, seeds=SEEDS, every=steps)
    total = -STARTS * np.asarray(run.final_values(gamma=1), dtype=float)
    return int(np.count_nonzero(np.abs(total - BEST) < 1e-6))


@claim(
    "P.loch_singh1998.traces",
    place=PAPER.place,
    statement="On Sutton's grid, after 1,000,000 steps with epsilon 1/10 and step size 1/100, the "
    "greedy policy of Sarsa(0.9) is a best memoryless one for at least 36 of 40 seeds, and that of "
    "Sarsa(0) and of Q-learning for none.",
    verdict="supported",
    steps=(
        machine("traces", "Sarsa(0.9) ends at 416 steps for at least 36 of 40 seeds"),
        machine("none", "Sarsa(0) for none"),
        machine("greedy", "Q-learning for none"),
    ),
)
def traces(
    proof: Proof, lam: float = 0.9, without: float = 0.0, off_policy: bool = True
) -> Evidence:
    """`lam`, `without`: lambda of the two; `off_policy`: Q-learning, or Sarsa(0.9) in its place."""
    steps = 1_000_000
    found = solved(_sarsa(lam), steps)
    proof.step("traces", None if found >= MOST else f"Sarsa({lam}): {found} of {len(SEEDS)}")
    with_traces = found
    found = solved(_sarsa(without), steps)
    proof.step("none", None if found == 0 else f"Sarsa({without}): {found} of {len(SEEDS)}")
    other = (
        QLearning(epsilon=0.1, step=0.01, initial=0.0, gamma=0.999) if off_policy else _sarsa(0.9)
    )
    found = solved(other, steps)
    proof.step("greedy", None if found == 0 else f"{other.kind}: {found} of {len(SEEDS)}")
    return supported(
        f"{with_traces} of {len(SEEDS)} seeds with traces, none without",
        text(
            "Learning discounts by 0.999; greedy policies are judged without discount. Settings "
            "were chosen on the seeds 0 to 9; these are others. It takes that long: after 600,000 "
            "steps 3 of the first 5 seeds of Sarsa(0.9) are there. Where a greedy policy does not "
            "end from every start it has no number of steps, and is not solved."
        ),
    )


def _sarsa(lam: float) -> Sarsa:
    return Sarsa(lam=lam, epsilon=0.1, step=0.01, initial=0.0, gamma=0.999)


traces.twin("Sarsa(0) for Sarsa(0.9)", guards="traces", lam=0.0)
traces.twin("Sarsa(0.9) for Sarsa(0)", guards="none", without=0.9)
traces.twin("Sarsa(0.9) for Q-learning", guards="greedy", off_policy=False)
