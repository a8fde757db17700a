"""L-step decodability: whether the last L observations and actions determine the state (Efroni et
al. 2022). The tool finds the smallest L.

Two states that some L-window does not tell apart are the ends of two walks that show and do the
same. The pairs of states that walks of a length end in are a falling sequence of finite sets: it
comes to hold pairs of equal states only, or it comes to rest before.
"""

from __future__ import annotations

from workbench.core.pomdp import POMDP
from workbench.core.space import Label
from workbench.research.dynamics_rank import states_that_go_on


def decodable_after(P: POMDP) -> int | None:
    """The smallest L such that P is L-step decodable, or None.

    >>> from workbench.core.pomdp import POMDP
    >>> P = POMDP.from_functions(
    ...     name="ring",
    ...     A=["on"],
    ...     p=lambda s, a: {((s + 1) % 3, 0): 1},
    ...     omega=lambda s: {"x" if s else "y": 1},
    ...     mu={0: 1},
    ...     gamma=0.5,
    ... )
    >>> decodable_after(P)
    2
    """
    S = states_that_go_on(P)
    seen = {s: {o for o, x in P.omega(s).items() if x != 0} for s in S}
    after = {
        (s, a): {t for (t, _), x in P.p(s, a).items() if x != 0 and t in seen}
        for s in S
        for a in P.A
    }

    def follow(pairs: set[tuple[Label, Label]]) -> set[tuple[Label, Label]]:
        return {
            (u, v)
            for s, t in pairs
            for a in P.A
            for u in after[s, a]
            for v in after[t, a]
            if seen[u] & seen[v]
        }

    begins = [s for s in S if P.mu[s] != 0]
    early = {(s, t) for s in begins for t in begins if seen[s] & seen[t]}
    late = {(s, t) for s in S for t in S if seen[s] & seen[t]}
    L = 1
    while True:
        if all(s == t for s, t in late):
            return L
        # Windows that reach back to the start are shorter: walks from it must be told apart too.
        if any(s != t for s, t in early):
            return None
        before, late, early = late, follow(late), follow(early)
        if late == before:
            return None
        L += 1
