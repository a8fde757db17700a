"""The entry point of the checker. A certificate goes in, and a sentence on what was verified comes
out, or `Spoiled` is raised.

The certificate alone is looked at, with the standard library alone; nothing of the code that made
it is used. The sentence says all that was verified, so that a certificate with another task, step
or policy is seen to be about something else.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from workbench.checker.algebra_claims import (
    check_excluded,
    check_greedy_family,
    check_identity,
    check_polynomial_positive,
)
from workbench.checker.critical_claims import check_critical_points
from workbench.checker.expressions import MOST_PRODUCTS, renew_budget
from workbench.checker.fixed_point_claims import check_fixed_points
from workbench.checker.fixed_region_claims import check_fixed_regions
from workbench.checker.greedy_set_claims import check_set_bounds
from workbench.checker.loop_claims import check_all_bits, check_cycle, check_loop
from workbench.checker.memory_claims import (
    check_beliefs_outnumber,
    check_clique,
    check_history_dependence,
    check_memory_update,
)
from workbench.checker.reader import check_depth
from workbench.checker.spoiled import Spoiled
from workbench.checker.sum_claims import check_sum_claim
from workbench.checker.value_claims import (
    check_falling_step,
    check_greedy_step,
    check_q_values,
    check_same_sequences,
    check_td_values,
    check_value,
    check_value_bound,
)

CHECKS: dict[str, Callable[[dict[str, Any]], str]] = {
    "oracle-loop": check_loop,
    "oracle-cycle": check_cycle,
    "every-k": check_all_bits,
    "policy-value": check_value,
    "q-values": check_q_values,
    "greedy-step": check_greedy_step,
    "falling-step": check_falling_step,
    "td-values": check_td_values,
    "value-bound": check_value_bound,
    "same-sequences": check_same_sequences,
    "memory-update": check_memory_update,
    "clique": check_clique,
    "beliefs-outnumber": check_beliefs_outnumber,
    "history-dependence": check_history_dependence,
    "identity": check_identity,
    "polynomial-positive": check_polynomial_positive,
    "excluded": check_excluded,
    "greedy-family": check_greedy_family,
    "fixed-points": check_fixed_points,
    "fixed-point-bounds": check_set_bounds,
    "fixed-point-regions": check_fixed_regions,
    "critical-points": check_critical_points,
    "sum-claim": check_sum_claim,
}
"""The checker of each kind of certificate."""

LARGER_BUDGETS = dict.fromkeys(
    ("oracle-loop", "oracle-cycle", "every-k", "fixed-point-regions"), 20_000_000
)
"""Kinds that may form more products: recall with OA1 has 1,296 greedy policies and needs 17 million
of them, 40 seconds."""

OLDER_NAMES = {"policy-exact-value": "policy-value"}
"""Kinds that files written earlier call otherwise."""


def recheck(certificate: Any) -> str:
    """Verify a certificate.

    Returns
    -------
    A sentence on what was verified.

    Raises
    ------
    Spoiled
        if the certificate does not show what it says, cannot be read, or asks for too much.

    >>> recheck({"kind": "identity", "what": "a square", "left": "(x+1)**2", "right": "x**2+2*x+1"})
    'a square: (x+1)**2 = x**2+2*x+1, both sides multiplied out'
    >>> recheck({"kind": "hearsay"})
    Traceback (most recent call last):
    ...
    workbench.checker.spoiled.Spoiled: unknown kind of certificate 'hearsay'
    """
    if not isinstance(certificate, dict):
        raise Spoiled("a certificate is a JSON object")
    check_depth(certificate)
    kind = certificate.get("kind")
    check = CHECKS.get(OLDER_NAMES.get(kind, kind)) if isinstance(kind, str) else None
    if check is None:
        raise Spoiled(f"unknown kind of certificate {str(kind)[:40]!r}")
    renew_budget(LARGER_BUDGETS.get(str(kind), MOST_PRODUCTS))
    try:
        return check(certificate)
    except (ArithmeticError, RecursionError, MemoryError, ValueError) as error:
        # ValueError: numbers of more than 4,300 digits, which Python does not write out
        raise Spoiled(f"the certificate cannot be worked with: {error!r}") from None
