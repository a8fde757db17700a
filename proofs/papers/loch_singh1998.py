"""Loch and Singh 1998: with traces Sarsa finds the best memoryless policy of Sutton's grid.

The paper's learners in our implementation, with settings of our own: what is found is ours. A seed
counts as solved if the greedy policy at the end takes 416 steps over all 46 starts, which no
deterministic memoryless policy does better (P.littman1994.grid). Shuttle and the 4 x 3 maze are
judged by their reward per step.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache

import numpy as np

from pomdps import four_by_three, shuttle, sutton_grid
from proofs.ledger import Evidence, Proof, checked, claim, machine, supported
from proofs.ledger.prose import text
from proofs.papers.paper import Paper
from workbench import QLearning, Sarsa, best_memoryless, learn
from workbench.core.learners import Learner
from workbench.core.numbers import Number
from workbench.reproduction.statistics import share, which_hold

PAPER = Paper(
    "loch_singh1998",
    "Loch and Singh",
    "Using eligibility traces to find the best memoryless policy in partially observable Markov "
    "decision processes",
    1998,
    "ours",
)
STARTS, BEST = 46, 416

SEEDS = range(7000, 7100)
"""Run after the rule below had been written, and used for nothing else."""

MOST, FEW = 0.75, 0.05
"""The rule: with traces more than this share of seeds is solved, without less than that one, each
by the exact binomial test at 2.5%, the three tests corrected for their number (Holm)."""


@cache
def solved_seeds(learner: Learner, steps: int) -> int:
    """How many seeds end with a greedy policy of 416 steps. Kept, as twins ask for the same."""
    run = learn(sutton_grid(), learner, steps=steps, seeds=SEEDS, every=steps)
    total = -STARTS * np.asarray(run.final_values(gamma=1), dtype=float)
    return int(np.count_nonzero(np.abs(total - BEST) < 1e-6))


@claim(
    "P.loch_singh1998.traces",
    place=PAPER.place,
    statement="On Sutton's grid the greedy policy of Sarsa(0.9) is a best memoryless one for more "
    "than 3/4 of all seeds. That of Sarsa(0) and of Q-learning is for fewer than 1/20. Runs have "
    "1,000,000 steps with epsilon 1/10 and step size 1/100.",
    verdict="supported",
    steps=(
        machine("traces", "Sarsa(0.9) ends at 416 steps for more than 3/4 of all seeds"),
        machine("none", "Sarsa(0) for fewer than 1/20"),
        machine("greedy", "Q-learning for fewer than 1/20"),
    ),
)
def traces(
    proof: Proof, lam: float = 0.9, without: float = 0.0, off_policy: bool = True
) -> Evidence:
    """Judge the claim. `lam`, `without`: lambda of the two. `off_policy`: Q-learning, or Sarsa(0.9)
    in its place."""
    steps, n = 1_000_000, len(SEEDS)
    greedy = (
        QLearning(epsilon=0.1, step=0.01, initial=0.0, gamma=0.999) if off_policy else _sarsa(0.9)
    )
    asked = {"traces": (_sarsa(lam), MOST, True), "none": (_sarsa(without), FEW, False),
             "greedy": (greedy, FEW, False)}  # fmt: skip
    counts = {key: solved_seeds(learner, steps) for key, (learner, _, _) in asked.items()}
    shares = {key: share(np.arange(n) < k) for key, k in counts.items()}
    tests = [which_hold([shares[key].p_value(bound, above == side) for key, (_, bound, above) in
                   asked.items()]) for side in (True, False)]  # fmt: skip
    for key, holds, fails in zip(asked, *tests, strict=True):
        proof.step(key, None if holds else f"{counts[key]} of {n} seeds", refutes=fails)
    return supported(
        f"{counts['traces']} of {n} new seeds with traces, {counts['none']} and "
        f"{counts['greedy']} without",
        text(
            "Learning discounts by 0.999; greedy policies are judged without discount. Settings "
            "were chosen on the seeds 0 to 9; these are others, run after the rule was written. It "
            "takes that long: after 600,000 steps 3 of the first 5 seeds of Sarsa(0.9) are there. "
            "Where a greedy policy does not end from every start it has no number of steps, and is "
            "not solved."
        ),
    )


def _sarsa(lam: float) -> Sarsa:
    return Sarsa(lam=lam, epsilon=0.1, step=0.01, initial=0.0, gamma=0.999)


traces.twin("Sarsa(0) for Sarsa(0.9)", guards="traces", lam=0.0)
traces.twin("Sarsa(0.9) for Sarsa(0)", guards="none", without=0.9)
traces.twin("Sarsa(0.9) for Q-learning", guards="greedy", off_policy=False)


@claim(
    "P.loch_singh1998.average",
    place="our values",
    statement="In reward per step the best deterministic memoryless policies of shuttle and of "
    "the 4 x 3 maze have 630/593 = 1.0624 and 210451/10213685 = 0.0206. Episodes of the maze "
    "follow one another.",
    verdict="checked",
    steps=(
        machine("shuttle", "branch and bound in rationals gives 630/593"),
        machine("maze", "branch and bound in rationals gives 210451/10213685"),
    ),
)
def average(
    proof: Proof,
    docked: Number = Fraction(630, 593),
    walked: Number = Fraction(210451, 10213685),
) -> Evidence:
    """`docked`, `walked`: the averages that are claimed for shuttle and the maze."""
    said = []
    for key, P, claimed in (
        ("shuttle", shuttle(), docked),
        ("maze", four_by_three(), walked),
    ):
        best = best_memoryless(P, exact=True, criterion="average")
        right = best.certified and best.value == claimed
        proof.step(key, None if right else f"{best.value}, not {claimed}")
        said.append(f"{best!r}.")
    return checked("a certificate shows both averages: 630/593 and 210451/10213685", text(*said))


average.twin("1 for shuttle", guards="shuttle", docked=1)
average.twin("1/50 for the maze", guards="maze", walked=Fraction(1, 50))
