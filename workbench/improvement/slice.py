"""Two-dimensional slices through the simplex of policies: where the oracle loop goes and where it
ends (Section 5.2).

Two probabilities x = pi(a1|o1) and y = pi(a2|o2) vary, everything else is fixed by a base policy:
the other actions of the two rows share what is left in the proportions that they have there
(equally, if they have nothing). With o1 = o2 the slice is the triangle x + y <= 1. At each point of
a grid

    flow    (tau(a1|o1) - x, tau(a2|o2) - y),  tau greedy on q_pi: the way the loop sets out, seen
                                               in the slice
    end     where the loop started there ends; it leaves the slice, since all rows move

Points whose loops end alike form a basin of attraction. Limits are alike if they are worth the
same, as fractions where the task is exact. Other ends are put together for the eye alone: if the
loop ended in the same way, with values that differ by little beside the largest reward.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import WorkbenchError
from workbench.core.evaluate import evaluate
from workbench.core.improve import improve
from workbench.core.numbers import Number
from workbench.core.policy import Policy, uniform
from workbench.core.pomdp import POMDP
from workbench.core.space import Label
from workbench.progress import Waiting
from workbench.tables.sheet import Column, Drawn, Sheet, Showing
from workbench.text import brief, counted

_ALIKE, _ALIKE_LIMITS = 0.02, 1e-9
"""Ends of loops that did not settle, and limits whose values are floats, are drawn in one colour if
their values differ by no more than this share of the largest reward. Nothing but colours depends on
it."""

Pair = tuple[Label, Label]
"""An observation and an action."""


@dataclass(frozen=True)
class SliceEnd:
    """Where loops end: "fixed", "limit cycle" or "budget", and the value there (exact, where a
    limit is)."""

    ended: str
    value: Number

    def __str__(self) -> str:
        words = {
            "fixed": brief(self.value),
            "limit cycle": f"about {float(self.value):.3g} (limit cycle)",
        }
        return words.get(self.ended, f"about {float(self.value):.3g} ({self.ended})")


@dataclass(frozen=True, eq=False)
class PolicySlice(Showing, Drawn):
    """The oracle loop on a slice.

    Attributes
    ----------
    x, y : the pairs (o, a) whose probabilities vary.
    at : `at[i]`, the values that either probability takes.
    flow : `flow[j, i]`, two components, at x = at[i], y = at[j]; NaN outside the triangle.
    ends : the different ends, the best first.
    basin : `basin[j, i]`, the place in `ends`; -1 outside the triangle.
    """

    figure: ClassVar[str] = "policy_flow"

    P: POMDP
    pi: Policy
    x: Pair
    y: Pair
    step: Number
    at: NDArray[np.float64]
    flow: NDArray[np.float64]
    ends: tuple[SliceEnd, ...]
    basin: NDArray[np.int64]

    def sheet(self) -> Sheet:
        """The different ends, a row each, the best first."""
        columns = (
            Column("value", "where the loop ends"),
            Column("ended", "fixed: it approaches one policy"),
            Column("starts", "share of the policies looked at from which it ends there"),
        )
        inside = self.basin[self.basin >= 0]
        rows = tuple(
            (end.value, end.ended, float(np.mean(inside == k))) for k, end in enumerate(self.ends)
        )
        said = (
            f"From {len(inside)} policies the loop ends in {counted(len(rows), 'different way')}."
        )
        x, y = (f"pi({P.A.text(a)} | {P.O.text(o)})" for P in [self.P] for o, a in (self.x, self.y))
        notes = (f"{x} and {y} vary; everything else is fixed at the start.",)
        return Sheet(f"The oracle loop on a slice of {self.P.name}", columns, rows, said, notes)


def policy_slice(
    P: POMDP,
    pi: Policy | None = None,
    x: Pair | None = None,
    y: Pair | None = None,
    points: int = 15,
    step: float = 0.05,
    ties: str = "last",
) -> PolicySlice:
    """Run the oracle loop from every point of a slice.

    Parameters
    ----------
    P : the POMDP, as a rule an augmented one.
    pi : the base policy, which fixes everything but the two probabilities; uniform if None.
    x, y : pairs (o, a): the probabilities pi(a|o) that vary; if None, those of the first and the
        second action at the first observation at which there is a choice.
    points : in each direction, evenly inside (0, 1).
    step, ties : as for `improve`.

    A loop runs from each of points^2 policies, as long as `improve` runs: 3 s for recall4 with B1,
    4 s for nine points of gravity with B1, where 225 take minutes.

    >>> P = POMDP.from_functions(
    ...     name="meet",
    ...     A=["left", "right"],
    ...     p=lambda s, a: (
    ...         {((*s, a), 0): 1}
    ...         if not s
    ...         else {("end", {"left": 2, "right": 1}[a] if a == s[0] else 0): 1}
    ...     ),
    ...     omega=lambda s: {len(s) if s != "end" else 2: 1},
    ...     mu={(): 1},
    ...     gamma=1,
    ...     terminal={"end"},
    ... )
    >>> found = policy_slice(P, uniform(P), x=(0, "right"), y=(1, "right"), points=4, step=0.05)
    >>> [str(end) for end in found.ends]
    ['2', '1']
    >>> found.basin.tolist()
    [[0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 1]]

    See also: `improve`, `phase_plane`.
    """
    P.require_all_actions("policy_slice")
    pi = uniform(P) if pi is None else pi
    first = P.O[int(np.argmax(P.decides))]
    x = (first, P.A[0]) if x is None else x
    y = (first, P.A[min(1, len(P.A) - 1)]) if y is None else y
    if points < 2:
        raise WorkbenchError(f"a slice needs at least 2 points in each direction, not {points}")
    places = [(P.O.index(o), P.A.index(a)) for o, a in (x, y)]
    if places[0] == places[1]:
        raise WorkbenchError(
            f"the two probabilities of a slice are the same one, "
            f"pi({P.A.text(x[1])} | {P.O.text(x[0])})"
        )
    at = (np.arange(points) + 0.5) / points
    triangle = places[0][0] == places[1][0]
    flow = np.full((points, points, 2), np.nan)
    found: dict[tuple[int, int], SliceEnd] = {}
    with Waiting(f"oracle loops on a slice of {P.name}") as waiting:
        for j, i in np.ndindex(points, points):
            if triangle and at[i] + at[j] > 1:
                continue
            start = Policy(P, _moved(pi.prob.floats, places, (float(at[i]), float(at[j]))))
            here = evaluate(P, start)
            greedy = start.greedy(here.q.raw, ties, error=here.q_error.raw).prob.floats
            flow[j, i] = [greedy[place] - start.prob.floats[place] for place in places]
            run = improve(P, start, step=step, ties=ties)
            found[j, i] = SliceEnd(
                run.ended, run.mean if run.limit_value is None else run.limit_value
            )
            waiting.report(
                (j * points + i + 1) / points**2, f"{j * points + i + 1} of {points**2} starts"
            )
    scale = float(np.abs(P.p.r.floats).max(initial=0.0))
    ends = _different(list(found.values()), scale)
    basin = np.full((points, points), -1, dtype=np.int64)
    for place, end in found.items():
        basin[place] = next(k for k, other in enumerate(ends) if _alike(end, other, scale))
    return PolicySlice(P, pi, x, y, step, at, flow, tuple(ends), basin)


def _moved(
    table: NDArray[np.float64], places: list[tuple[int, int]], probabilities: tuple[float, float]
) -> NDArray[np.float64]:
    """The table with two probabilities set and the rest of their rows scaled."""
    moved = table.copy()
    for row in {o for o, _ in places}:
        fixed = {a: x for (o, a), x in zip(places, probabilities, strict=True) if o == row}
        rest = np.array([a not in fixed for a in range(table.shape[1])])
        left = max(0.0, 1 - sum(fixed.values()))
        share = table[row] * rest
        share = share if share.sum() > 0 else rest.astype(float)
        moved[row] = left * share / share.sum() if share.sum() > 0 else 0.0
        for a, x in fixed.items():
            moved[row, a] = x if share.sum() > 0 else x / sum(fixed.values())
    return moved


def _alike(one: SliceEnd, other: SliceEnd, scale: float) -> bool:
    if one.ended != other.ended:
        return False
    if isinstance(one.value, Fraction) and isinstance(other.value, Fraction):
        return one.value == other.value
    near = _ALIKE_LIMITS if one.ended == "fixed" else _ALIKE
    return abs(float(one.value) - float(other.value)) <= near * scale


def _different(ends: list[SliceEnd], scale: float) -> list[SliceEnd]:
    kept: list[SliceEnd] = []
    for end in sorted(ends, key=_rank):
        if not any(_alike(end, other, scale) for other in kept):
            kept.append(end)
    return kept


def _rank(end: SliceEnd) -> Any:
    return -float(end.value), not isinstance(end.value, Fraction)
