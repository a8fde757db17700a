"""A POMDP at a glance: its sizes and its first labels."""

from __future__ import annotations

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


def some(space: Space) -> str:
    """The first labels of a space.

    >>> some(Space(range(20)))
    '0, 1, 2, 3, 4, 5, 6, 7 ...'
    """
    return ", ".join(map(space.text, space[:_SHOWN])) + (" ..." if len(space) > _SHOWN else "")
