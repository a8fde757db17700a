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

from workbench.core.fields import FLOATS, RATIONALS
from workbench.core.finite_loop import FiniteHorizon
from workbench.core.gain_oracle import GainOracle
from workbench.core.horizon import has_finite_horizon
from workbench.core.oracle import Oracle, SparseOracle
from workbench.core.oracle_loop import Loop
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.stepwise import Stepwise


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
