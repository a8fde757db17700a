"""Section 5, Figure 3, with smaller steps: how long Q-learning stays at the worthless fixed point.

S5.settle finds the one greedy policy at which Q-learning on recall with OA1 (epsilon 1/100, gamma
19/20) can settle as its steps get small; it earns nothing. Here runs with steps of 1/10, 1/100,
1/1,000 and 1/10,000 are longer the smaller their steps, and 500 greedy policies are kept over the
second half of each. `small_steps.json` is the record: for each step and each of 30 seeds, at how
many of the 500 the greedy policy does what the fixed point does (in the rows that the fixed point
itself comes to; others are met by exploration alone, and learned slowly), at how many it earns
nothing, and at how many it is optimal. A seed gives a run bit for bit, and the claim makes some of
them again; a slow test makes all.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cache
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from pomdps import recall
from proofs.ledger import Evidence, Proof, claim, machine, supported
from proofs.ledger.prose import table_text, text
from proofs.section5_equilibria import PAPERS_EPSILON, settling_points
from workbench import QLearning, augment, evaluate
from workbench.learning.learn import learn
from workbench.reproduction.statistics import Estimate, ahead, share, which_hold

RECORD = Path(__file__).with_name("small_steps.json")
SEEDS = range(9000, 9030)
"""Run after the rule of the claim had been written, and used for nothing else."""

LENGTHS = {0.1: 4_000_000, 0.01: 10_000_000, 0.001: 40_000_000, 0.0001: 150_000_000}
"""How many steps are taken, by their size."""
KEPT = 500


def counts_of(step: float, seeds: Iterable[int]) -> NDArray[np.int64]:
    """Count the greedy policies of a run's second half, as `[seed, kind]`. The kinds: they do what
    the fixed point does, earn nothing, are optimal."""
    E = augment(recall(), "OA1")
    (fixed,) = settling_points("OA1", (1, 2, 3), PAPERS_EPSILON)
    length = LENGTHS[step]
    run = learn(
        E,
        QLearning(epsilon=float(PAPERS_EPSILON), step=step),
        steps=length,
        seeds=list(seeds),
        every=length // (2 * KEPT),
        policies=True,
    )
    assert run.actions is not None
    late = np.asarray(run.values(gamma=1))[:, -KEPT:]
    way = np.flatnonzero(evaluate(E, fixed.policy).reached.raw)
    at_fixed = (run.actions[:, -KEPT:, way] == fixed.policy.actions[way]).all(axis=2)
    return np.stack([at_fixed.sum(axis=1), (late == 0).sum(axis=1), (late == 1).sum(axis=1)], 1)


@cache
def recorded_counts() -> dict[float, NDArray[np.int64]]:
    """The record, by step."""
    found = json.loads(RECORD.read_text(encoding="utf-8"))
    return {float(step): np.array(rows, dtype=np.int64) for step, rows in found.items()}


AGAIN = ((0.1, SEEDS[0]), (0.1, SEEDS[17]), (0.01, SEEDS[4]))
"""Steps and seeds of the runs that the claim makes again: the shortest."""


@cache
def made_again() -> tuple[NDArray[np.int64], ...]:
    """What these runs give."""
    return tuple(counts_of(step, [seed])[0] for step, seed in AGAIN)


@claim(
    "S5.small-steps",
    place="Sec. 5, Fig. 3",
    statement="The smaller its steps, the longer Q-learning on recall with OA1 (epsilon 1/100) is "
    "at policies worth 0, as its only fixed point is (S5.settle). With steps of 1/10 it spends "
    "under 5% of the second half of a run there, and over half with steps of 1/10,000.",
    verdict="supported",
    steps=(
        machine("again", "Recorded runs, made again here, are what the record has, bit for bit."),
        machine("rises", "Each time steps are ten times smaller the share at worth 0 is larger."),
        machine("first", "With steps of 1/10 it is below 1/20."),
        machine("last", "With steps of 1/10,000 it is above 1/2."),
    ),
)
def small_steps(
    proof: Proof,
    shift: int = 0,
    steps: tuple[float, ...] = tuple(LENGTHS),
    below: float = 1 / 20,
    above: float = 1 / 2,
) -> Evidence:
    """Counts of seeds, or of pairs of seeds, above 1/2 by exact tests at 2.5%, corrected for their
    number (Holm).

    `shift`: compare with another seed's record; `steps`: the order in which the share is said to
    rise; `below`, `above`: the bounds at both ends.
    """
    counts = recorded_counts()
    wrong = [
        f"seed {seed} with steps of {step} is not as recorded"
        for (step, seed), found in zip(AGAIN, made_again(), strict=True)
        if (counts[step][seed - SEEDS[0] + shift] != found).any()
    ]
    proof.step("again", wrong[0] if wrong else None, refutes=False)
    at_fixed, at_zero, at_best = (
        {step: rows[:, kind] / KEPT for step, rows in counts.items()} for kind in range(3)
    )
    asked: list[tuple[str, str, Estimate]] = [
        ("rises", f"from {larger} to {smaller}", ahead(at_zero[smaller], at_zero[larger]))
        for larger, smaller in pairwise(steps)
    ]
    asked += [
        ("first", f"below {below:g}", share(at_zero[0.1] < below)),
        ("last", f"above {above:g}", share(at_zero[0.0001] > above)),
    ]
    holds, fails = (which_hold([e.p_value(0.5, side) for *_, e in asked]) for side in (True, False))
    for (key, what, e), yes, no in zip(asked, holds, fails, strict=True):
        proof.step(key, None if yes else f"{what}: {e.count} of {e.of}", refutes=no)
    rows = [
        [f"1/{round(1 / step):,}", f"{length / 1e6:g}"]
        + [f"{kind[step].mean():.3f}" for kind in (at_zero, at_fixed, at_best)]
        for step, length in LENGTHS.items()
    ]
    argument = text(
        "Steps, how many millions of them, and shares of the second half of 30 runs, means:",
        table_text(["step", "10^6", "worth 0", "fixed point", "optimal"], rows),
        "Seeds, or pairs of seeds, for which it holds: "
        + "; ".join(f"{what} {e.count} of {e.of}" for _, what, e in asked)
        + ".",
        "Fixed point: policies that do what that of S5.settle does, in the rows that it comes to.",
    )
    first, last = (at_zero[step].mean() for step in (0.1, 0.0001))
    return supported(
        f"worth 0 for {first:.1%} of the time at step size 1/10, {last:.0%} at 1/10,000 "
        "(30 new seeds)",
        argument,
    )


small_steps.twin("the record of another seed", guards="again", shift=1)
small_steps.twin(
    "falling from 1/1,000 to 1/10,000", guards="rises", steps=(0.1, 0.01, 0.0001, 0.001)
)
small_steps.twin("below 1/1,000 with steps of 1/10", guards="first", below=1 / 1000)
small_steps.twin("above 99 of 100 with steps of 1/10,000", guards="last", above=0.99)


def record_small_steps() -> None:
    """Make all runs and write the record."""
    found = {str(step): counts_of(step, SEEDS).tolist() for step in LENGTHS}
    RECORD.write_text(json.dumps(found) + "\n", encoding="utf-8")
