"""What a cell computes: a learner's runs for a few seeds, or the oracle loop."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import NeverEnds, NotSolved
from workbench.core.evaluate import evaluate
from workbench.core.improve import improve
from workbench.core.learners import Learner
from workbench.core.policy import uniform
from workbench.core.pomdp import POMDP
from workbench.learning.learn import learn
from workbench.learning.run import Run

Report = Callable[[int], None]
"""Called now and then with the steps done, over all seeds of the cell; it may raise to stop."""

EACH_BLOCK, AT_THE_END = "each block", "at the end"


def compute_learning(
    E: Any,
    learner: Learner,
    values: str | None,
    seeds: tuple[int, ...],
    steps: int,
    every: int,
    report: Report,
) -> Run:
    """Run a learner for some seeds and measure its greedy policies, if asked for. The run that
    comes back holds curves, not the POMDP, the policies or the tables.

    Parameters
    ----------
    E : the task with its memory: a POMDP or, for networks, a pair that is not multiplied out.
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
    kept = run.curves()
    if values == EACH_BLOCK:
        return kept.with_values(np.asarray(run.values(gamma=1), dtype=np.float64))
    if values == AT_THE_END:
        final = np.full(run.rewards.shape, np.nan)
        final[:, -1] = _final_values(E, run)
        return kept.with_values(final)
    return kept


def _final_values(P: Any, run: Run) -> NDArray[np.float64]:
    try:
        return run.final_values()
    except NotSolved:
        if not isinstance(P, POMDP):
            return np.full(len(run.seeds), np.nan)
        return np.array([_final_value(P, run, seed) for seed in run.seeds])


def _final_value(P: POMDP, run: Run, seed: int) -> float:
    try:
        return float(evaluate(P, run.policy(seed)).value)
    except (NeverEnds, NotSolved):
        return np.nan


# ---------------------------------------------------------------------- the oracle loop


@dataclass(frozen=True, eq=False)
class LoopValues:
    """What the oracle loop does with one memory.

    Attributes
    ----------
    values : of the first iterates.
    value, amplitude, ended : where the loop ends and how, as an `Improvement` says it.
    """

    values: NDArray[np.float64]
    value: float
    amplitude: float
    ended: str

    def columns(self) -> dict[str, NDArray[Any]]:
        """Columns `iterate` and `value`, with a row for each iterate. The same in all rows are
        `end_value`, `amplitude` and `ended`."""
        n = len(self.values)
        return {
            "iterate": np.arange(n),
            "value": self.values,
            "end_value": np.full(n, self.value),
            "amplitude": np.full(n, self.amplitude),
            "ended": np.full(n, self.ended),
        }

    @classmethod
    def from_columns(cls, columns: Mapping[str, NDArray[Any]]) -> LoopValues:
        """The loop that `columns` hold."""
        return cls(
            columns["value"],
            float(columns["end_value"][0]),
            float(columns["amplitude"][0]),
            str(columns["ended"][0]),
        )


def compute_loop(E: POMDP, step: float, ties: str, budget: int, shown: int) -> LoopValues:
    """Run the oracle loop from the uniform policy."""
    found = improve(E, uniform(E), step=step, ties=ties, budget=budget, least=shown)
    values = found.values[:shown].astype(np.float64)
    return LoopValues(values, float(found.mean), float(found.amplitude), found.ended)
