"""A comparison that the seeds of a figure leave undecided, decided by fresh ones.

With 30 seeds it cannot be told whether Sarsa(0.5) on gravity (Fig. 11) is steadier with O1 or with
OA1: the interval of the difference holds 0. So 120 seeds more were asked for, none of those that
raised the question, and the comparison is made by these alone (`full_runs.FRESH`). They are part of
the record, and a seed gives a run bit for bit. `with_fresh_seeds` puts them where the figure's own
seeds stand in a judgement of full runs; `workbench reproduce` and `workbench verify` both judge by
what it returns.
"""

from __future__ import annotations

from dataclasses import replace

from workbench.core.learners import Sarsa
from workbench.reproduction.full_runs import FRESH, differing_runs, fresh_run, is_full
from workbench.reproduction.judge import Judgement, unsteadiness
from workbench.reproduction.paper_figures import FIGURES
from workbench.reproduction.statistics import Estimate, difference
from workbench.sweeps.results import Results

SETTLED = {
    "D6.fig-sarsa": {
        f"Sarsa(0.5) with {wild} is less steady than Sarsa(0.5) with {calm}": (wild, calm)
        for wild, calm in (("OA1", "O1"), ("O1", "OA1"))
    }
}
"""By statement, the findings that fresh seeds decide, whichever way they are put: the memory said
to be less steady, and the other one."""


def fresh_difference(wild: str, calm: str) -> Estimate:
    """How much less steady Sarsa(0.5) on gravity is with one memory than with another, over the
    fresh seeds, as a share of the optimum."""
    rough, steady = (
        unsteadiness(fresh_run("fig11", Sarsa(lam=0.5), memory).per_100) / FIGURES["fig11"].optimum
        for memory in (wild, calm)
    )
    return difference(rough, steady)


def with_fresh_seeds(found: Judgement, results: Results) -> Judgement:
    """The judgement with what fresh seeds say in the place of the findings that they were run for.

    Only full results that are those of the record raise the question that fresh seeds answer;
    others are judged as they are.
    """
    asked = SETTLED.get(found.id, {})
    if not asked or not is_full(results) or differing_runs(results):
        return found
    findings = [
        replace(
            one,
            what=f"{one.what} ({len(FRESH)} fresh seeds)",
            estimate=fresh_difference(*asked[one.what]),
        )
        if one.what in asked
        else one
        for one in found.findings
    ]
    return replace(found, findings=tuple(findings))
