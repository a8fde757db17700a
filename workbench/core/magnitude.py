"""Numbers that floats have no room for: refused by their label."""

from __future__ import annotations

import numpy as np

from workbench.core.errors import NotSolved
from workbench.core.numbers import Numbers
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.rows import own_rows

_LARGEST, _SMALLEST = 1e250, 1e-280
"""Rewards and probabilities beyond these leave floats no room for the sums and products that bound
errors."""


def check_range(P: POMDP) -> None:
    """Refuse a model whose numbers are too large or too small for floats, by its label."""
    instead = "use exact=True" if P.is_exact else "change the unit"
    if (k := P.p.r.find(lambda x: abs(x) > _LARGEST)) is not None:
        s, a = divmod(int(own_rows(P.p.row_ptr)[k]), len(P.A))
        where = f"s={P.S.text(P.S[s])}, a={P.A.text(P.A[a])}"
        raise NotSolved(
            f"{P.name}: a reward of p(. | {where}) is larger than {_LARGEST:.0e}, too large for "
            f"floats: {instead}, or scale_rewards"
        )
    for prob, row_ptr, what in (
        (P.p.prob, P.p.row_ptr, "p"),
        (P.omega.prob, P.omega.row_ptr, "omega"),
        (P.mu.prob, np.arange(len(P.S) + 1), "mu"),
    ):
        if (k := _find_faint(prob)) is not None:
            s = int(own_rows(row_ptr)[k]) // (len(P.A) if what == "p" else 1)
            raise NotSolved(
                f"{P.name}: a probability of {what} at s={P.S.text(P.S[s])} is smaller than "
                f"{_SMALLEST:.0e}, too small for floats: {instead}, or leave it out"
            )


def check_policy_range(pi: Policy) -> None:
    """Refuse an exact policy whose probabilities are too small for floats, by its label."""
    if (k := _find_faint(pi.prob)) is not None:
        o = pi.O[k // len(pi.A)]
        raise NotSolved(
            f"a probability of pi(. | o={pi.O.text(o)}) is smaller than {_SMALLEST:.0e}, too small "
            "for floats: use exact=True"
        )


def _find_faint(prob: Numbers) -> int | None:
    """The first place of a probability that is too small for floats, and not zero."""
    small = np.flatnonzero(np.abs(prob.floats) < _SMALLEST)
    if prob.codes is None:
        faint = small[prob.floats.ravel()[small] != 0]
    else:
        codes = prob.codes.ravel()[small]
        used = np.unique(codes)
        faint = small[np.isin(codes, [c for c in used.tolist() if prob.values[c] != 0])]
    return int(faint[0]) if faint.size else None
