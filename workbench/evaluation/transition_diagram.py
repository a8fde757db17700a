"""The transitions between memory states under a policy, as Figure 3 of the paper draws them.

Nodes are what the agent sees, (m, o) of the augmented POMDP. From a node every pair (a, w) leads to
the nodes that some state behind it may lead to. Transitions fall into four kinds:

    policy    pi takes (a, w) there; the states are those that pi meets
    strict    a strict non-Markovian shortcut of pi (`shortcuts`)
    weak      a weak one
    other     everything else that some policy could do

Transitions of one kind between the same two nodes are one edge with several labels. The step that
ends an episode also writes to the memory, and is marked as an end.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from workbench.core.augment import ActionsAndWrites
from workbench.core.errors import WorkbenchError
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.shortcuts import Shortcut
from workbench.core.space import Label
from workbench.tables.sheet import Column, Drawn, Sheet, Showing
from workbench.text import counted, show

KINDS = ("policy", "strict", "weak", "other")


@dataclass(frozen=True)
class DiagramEdge:
    """From a node to a node (labels of O'), with the pairs (a, w) that make the step.

    Attributes
    ----------
    ends : whether the episode may be over after it.
    kind : one of `KINDS`.
    """

    start: Label
    end: Label
    actions: tuple[Label, ...]
    kind: str
    ends: bool


@dataclass(frozen=True)
class TransitionDiagram(Showing, Drawn):
    """Figure 3 as data.

    Attributes
    ----------
    nodes : in the order in which the policy meets them, then those that it does not meet.
    steps : `steps[node]`, after how many steps the policy first meets it.
    starts : where episodes begin.
    edges : policy first, then strict, weak and other ones.
    """

    figure: ClassVar[str] = "memory_diagram"

    P: POMDP
    nodes: tuple[Label, ...]
    steps: dict[Label, int]
    starts: tuple[Label, ...]
    edges: tuple[DiagramEdge, ...]

    def sheet(self) -> Sheet:
        """The transitions, a row each."""
        P = self.P
        columns = (
            Column("from", P.O.legend),
            Column("to"),
            Column("actions", P.A.legend),
            Column("kind", "of the policy, a strict or weak shortcut, or another"),
        )
        rows = tuple(
            (
                P.O.text(x.start),
                P.O.text(x.end) + (", or the end" if x.ends else ""),
                ", ".join(P.A.text(a) for a in x.actions),
                x.kind,
            )
            for x in self.edges
        )
        number = {kind: sum(x.kind == kind for x in self.edges) for kind in KINDS}
        said = (
            f"The policy makes {counted(number['policy'], 'transition')}; strict shortcuts make "
            f"{number['strict']} and weak ones {number['weak']}."
        )
        return Sheet(f"Transitions on {P.name}", columns, rows, said)


def transition_diagram(
    P: POMDP, pi: Policy, shortcuts: Iterable[Shortcut] = ()
) -> TransitionDiagram:
    """The transitions of a memory-augmented POMDP by kind.

    Parameters
    ----------
    P : an augmented POMDP.
    pi : the policy to follow, as a rule an optimal one.
    shortcuts : those of pi.

    >>> from pomdps import recall4
    >>> from workbench import augment
    >>> E = augment(recall4(), "B1")
    >>> pi = Policy.deterministic(E, {("0", "o"): (3, "1"), ("1", "o"): (2, "1")})
    >>> transition_diagram(E, pi).edges[0].actions
    ((3, '1'),)

    See also: `shortcuts`, `augment`, `controller_of`.
    """
    if not isinstance(P.A, ActionsAndWrites):
        raise WorkbenchError(
            f"{P.name} has no memory: a transition diagram needs an augmented POMDP"
        )
    if not P.omega.is_deterministic:
        raise WorkbenchError(f"{P.name} has states that show several observations")
    pi.fits(P)
    seen = P.omega.o[P.omega.row_ptr[:-1]]
    steps = _first_steps(P, pi)
    met = np.zeros(len(P.O), dtype=bool)
    met[seen[(steps >= 0) & ~P.terminal.mask]] = True  # where it also acts
    kinds = {(P.O.index(x.o), P.A.index(x.a)): x.kind for x in shortcuts}
    kinds |= {(int(o), int(a)): "policy" for o, a in np.argwhere(pi.prob.floats > 0)}
    found: dict[tuple[str, int, int], tuple[dict[int, None], bool]] = {}
    for s in np.flatnonzero(~P.terminal.mask).tolist():
        for a in range(len(P.A)):
            kind = kinds.get((int(seen[s]), a), "other") if met[seen[s]] else "other"
            if kind != "other" and steps[s] < 0:
                continue  # pi meets the node, but not with this state behind it
            row = s * len(P.A) + a
            for s_next in P.p.s_next[P.p.row_ptr[row] : P.p.row_ptr[row + 1]].tolist():
                key = kind, int(seen[s]), int(seen[s_next])
                actions, ends = found.get(key, ({}, False))
                found[key] = actions | {a: None}, ends or bool(P.terminal.mask[s_next])
    first: dict[int, int] = {}
    for s in np.lexsort((np.arange(len(steps)), steps)).tolist():
        if steps[s] >= 0:
            first.setdefault(int(seen[s]), int(steps[s]))
    rest = [o for o in np.unique(seen).tolist() if o not in first]
    places = {o: i for i, o in enumerate([*first, *rest])}
    edges = [
        DiagramEdge(P.O[i], P.O[j], tuple(P.A[a] for a in sorted(actions)), kind, ends)
        for (kind, i, j), (actions, ends) in sorted(
            found.items(),
            key=lambda item: (KINDS.index(item[0][0]), places[item[0][1]], places[item[0][2]]),
        )
    ]
    return TransitionDiagram(
        P=P,
        nodes=tuple(P.O[o] for o in places),
        steps={P.O[o]: step for o, step in first.items()},
        starts=tuple(P.O[o] for o in np.unique(seen[P.mu.support]).tolist()),
        edges=tuple(edges),
    )


def _first_steps(P: POMDP, pi: Policy) -> NDArray[np.int64]:
    """The time step at which pi first meets each state, -1 where it does not. Terminal states are
    included."""
    seen = P.omega.o[P.omega.row_ptr[:-1]]
    taken = pi.prob.floats > 0
    steps = np.full(len(P.S), -1, dtype=np.int64)
    frontier = P.mu.support.tolist()
    step = 0
    while frontier:
        steps[frontier] = step
        step += 1
        following: dict[int, None] = {}
        for s in frontier:
            if P.terminal.mask[s]:
                continue
            for a in np.flatnonzero(taken[seen[s]]).tolist():
                row = s * len(P.A) + a
                following |= dict.fromkeys(
                    P.p.s_next[P.p.row_ptr[row] : P.p.row_ptr[row + 1]].tolist()
                )
        frontier = [s for s in following if steps[s] < 0]
    return steps


# ---------------------------------------------------------------------- the paper's short labels


def action_label(P: POMDP, action: Label) -> str:
    """A pair (a, w) as the paper writes it: `2T` for push, `2F` for keep. A write of bits is
    `2:01`.

    >>> from pomdps import recall
    >>> from workbench import augment
    >>> E = augment(recall(), "OA1")
    >>> action_label(E, (1, "push")), action_label(E, (1, "keep"))
    ('1T', '1F')
    >>> action_label(augment(recall(), "B2"), (1, "01"))
    '1:01'
    """
    a, w = action
    if (a, "keep") not in P.A or (a, "push") not in P.A:
        return P.A.text(action)
    name = show(a)
    return f"{name}{' ' if len(name) > 1 else ''}{'T' if w == 'push' else 'F'}"
