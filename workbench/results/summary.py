"""A POMDP at a glance: its sizes and its first labels."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from workbench.core.pomdp import POMDP
from workbench.core.space import Space
from workbench.text import counted

_SHOWN = 8
"""Labels listed of a space."""


def facts(P: POMDP) -> list[tuple[str, str]]:
    """What a reader wants to know first, element by element of the paper's tuple."""
    ends = f", {len(P.terminal):,} terminal" if len(P.terminal) else ""
    starts = ", ".join(
        f"{P.S.text(s)}: {x}" for (s, x), _ in zip(P.mu.items(), range(_SHOWN), strict=False)
    )
    return [
        ("S", f"{counted(len(P.S), 'state')}{ends}: {some(P.S)}"),
        ("O", f"{counted(len(P.O), 'observation')}: {some(P.O)}"),
        ("A", f"{counted(len(P.A), 'action')}: {some(P.A)}"),
        *([] if P.allowed is None else [("allowed", _allowed(P, P.allowed))]),
        (
            "R",
            f"{counted(len(P.R), 'reward')}: "
            f"{', '.join(str(r) for r in P.R[:_SHOWN])}{' ...' if len(P.R) > _SHOWN else ''}",
        ),
        ("p", f"{counted(len(P.p.s_next), 'outcome')}"),
        (
            "omega",
            "deterministic"
            if P.omega.is_deterministic
            else f"stochastic, {len(P.omega.o):,} entries",
        ),
        ("gamma", str(P.gamma)),
        ("mu", starts + (" ..." if len(P.mu) > _SHOWN else "")),
        ("numbers", "exact" if P.is_exact else "floats"),
        *([("note", P.note)] if P.note else []),
    ]


def _allowed(P: POMDP, allowed: NDArray[np.bool_]) -> str:
    """The actions of the first observations that do not allow all of them."""
    rows = [P.O[int(o)] for o in np.flatnonzero(~allowed.all(axis=1))]
    texts = [f"{', '.join(map(P.A.text, P.actions(o)))} at {P.O.text(o)}" for o in rows[:_SHOWN]]
    return "; ".join(texts) + (" ..." if len(rows) > _SHOWN else "")


def some(space: Space) -> str:
    """The first labels of a space.

    >>> some(Space(range(20)))
    '0, 1, 2, 3, 4, 5, 6, 7 ...'
    """
    return ", ".join(map(space.text, space[:_SHOWN])) + (" ..." if len(space) > _SHOWN else "")
