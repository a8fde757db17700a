"""What a cell computes: one method on one augmented POMDP for a few seeds, as named arrays and numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.experiments.records import GREEDY, Method, OracleLoop
from workbench.improvement import improve
from workbench.learning.runner import learn
from workbench.policy import uniform
from workbench.pomdp import POMDP

Arrays = dict[str, NDArray[Any]]
Report = Callable[[int], None]
"""Called now and then with the steps done, over all seeds of the cell; it may raise to stop."""


def compute(
    E: POMDP, method: Method, measure: str, seeds: tuple[int, ...], steps: int, every: int, report: Report
) -> Arrays:
    """The arrays of a cell.

    A learner leaves `ends[block]` and `per_100[seed, block]`, with measure `GREEDY` also `values[seed, block]`, the exact
    undiscounted values of its greedy policies. The oracle loop leaves `values[iterate]`, `value`, `amplitude` and the
    word `ended`.
    """
    if isinstance(method, OracleLoop):
        found = improve(E, uniform(E), step=method.step, ties=method.ties, budget=method.budget)
        return {
            "values": np.array([float(x) for x in found.values]),
            "value": np.array(float(found.value)),
            "amplitude": np.array(float(found.amplitude)),
            "ended": np.array(found.ended),
        }
    greedy = measure == GREEDY
    run = learn(
        E, method, steps=steps, seeds=seeds, every=every, policies=greedy, threads=1,
        progress=lambda done, total: report(done),
    )  # fmt: skip
    arrays: Arrays = {"ends": run.ends, "per_100": run.per_100}
    if greedy:
        arrays["values"] = run.values(gamma=1)
    return arrays
