"""What a learner's cell computes: one learner on one augmented POMDP for a few seeds, as the
columns of a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.errors import NeverEnds, NotSolved
from workbench.evaluation.evaluate import evaluate
from workbench.learning.learn import learn
from workbench.learning.learners import Learner
from workbench.learning.run import Run
from workbench.model.pomdp import POMDP

Columns = dict[str, NDArray[Any]]
"""A table: columns by name, all of the same length."""

Report = Callable[[int], None]
"""Called now and then with the steps done, over all seeds of the cell; it may raise to stop."""

EACH_BLOCK, AT_THE_END = "each block", "at the end"


def compute_learning(
    E: POMDP,
    learner: Learner,
    values: str | None,
    seeds: tuple[int, ...],
    steps: int,
    every: int,
    report: Report,
) -> Columns:
    """A row for each seed and block: `seed`, `step` at the end of the block, `per_100` and, if
    asked for, `value`.

    Parameters
    ----------
    values : None for rewards only; `EACH_BLOCK` for the exact undiscounted values of the greedy
        policies at the ends of the blocks, `AT_THE_END` for the exact value of the final one under
        the task's own discount, NaN before. NaN too for a policy that takes so long to end that no
        solver reaches its tolerance.
    """
    run = learn(
        E,
        learner,
        steps=steps,
        seeds=seeds,
        every=every,
        policies=values == EACH_BLOCK,
        threads=1,
        progress=lambda done, total: report(done),
    )
    blocks = len(run.ends)
    columns: Columns = {
        "seed": np.repeat(np.array(seeds, dtype=np.uint64), blocks),
        "step": np.tile(run.ends, len(seeds)),
        "per_100": run.per_100.ravel(),
    }
    if values == EACH_BLOCK:
        columns["value"] = run.values(gamma=1).ravel()
    elif values == AT_THE_END:
        final = np.full((len(seeds), blocks), np.nan)
        final[:, -1] = _final_values(run)
        columns["value"] = final.ravel()
    return columns


def _final_values(run: Run) -> NDArray[np.float64]:
    try:
        return run.final_values()
    except NotSolved:
        return np.array([_final_value(run, seed) for seed in run.seeds])


def _final_value(run: Run, seed: int) -> float:
    try:
        return float(evaluate(run.P, run.policy(seed)).value)
    except (NeverEnds, NotSolved):
        return np.nan
