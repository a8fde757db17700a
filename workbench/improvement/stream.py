"""The stream of iterates of the oracle loop (Section 5.2), however q-values are found.

    pi_0      the start
    tau_n     greedy on q_{pi_n}(o, a), ties broken as told; on rows without q-values, pi_n itself
    pi_{n+1}  = (1 - eps_n) pi_n + eps_n tau_n

A `Loop` keeps pi and moves it. Four ways, chosen by `loop_for`:

    finite horizon, floats  states in topological order; the whole loop is compiled (`loop_kernels`)
    otherwise, floats      an oracle that starts from what it knows about the last policy (`oracle`)
    exact                     `evaluation` over the rationals
    average reward            `gain_oracle`, in floats or rationals

Floats decide by their error bounds; rows that these leave open are decided exactly where that can
be done (`decision`). Certificates, curves and `improve` all read this stream.
"""

from __future__ import annotations

from workbench.evaluation.fields import FLOATS, RATIONALS
from workbench.improvement.finite_loop import FiniteHorizon
from workbench.improvement.gain_oracle import GainOracle
from workbench.improvement.horizon import has_finite_horizon
from workbench.improvement.oracle import Oracle, SparseOracle
from workbench.improvement.oracle_loop import Loop
from workbench.improvement.stepwise import Stepwise
from workbench.model.policy import Policy
from workbench.model.pomdp import POMDP


def loop_for(
    P: POMDP, pi: Policy, ties: str, weights: str, exact: bool, criterion: str = "return"
) -> Loop:
    """The fastest loop there is for a task; with criterion "average", one without terminal
    states."""
    if criterion == "average":
        return Stepwise(GainOracle(P, RATIONALS if exact else FLOATS), pi, ties)
    if exact:
        return Stepwise(Oracle(P, weights, RATIONALS), pi, ties)
    if has_finite_horizon(P):
        return FiniteHorizon(P, pi, ties, weights)
    return Stepwise(SparseOracle(P, weights), pi, ties)
