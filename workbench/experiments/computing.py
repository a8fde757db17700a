"""What a learner's cell computes: one learner on one augmented POMDP for a few seeds, as named arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import NDArray

from workbench.learning.options import Learner
from workbench.learning.runner import learn
from workbench.pomdp import POMDP

Arrays = dict[str, NDArray[Any]]
Report = Callable[[int], None]
"""Called now and then with the steps done, over all seeds of the cell; it may raise to stop."""


def compute_learning(
    E: POMDP, learner: Learner, greedy: bool, seeds: tuple[int, ...], steps: int, every: int, report: Report
) -> Arrays:
    """`ends[block]` and `per_100[seed, block]` and, if `greedy`, `values[seed, block]`.

    The latter are the exact undiscounted values of the greedy policies at the ends of the blocks.
    """
    run = learn(
        E, learner, steps=steps, seeds=seeds, every=every, policies=greedy, threads=1,
        progress=lambda done, total: report(done),
    )  # fmt: skip
    arrays: Arrays = {"ends": run.ends, "per_100": run.per_100}
    if greedy:
        arrays["values"] = run.values(gamma=1)
    return arrays
