"""How many non-Markovian shortcuts a task has: a count over all its optimal policies.

How many shortcuts a memory brings depends on the policy. `count_shortcuts` looks at every optimal
deterministic memoryless policy and reports the range. Two policies count as one if they agree on
the rows that matter: those they reach, and those on which the true value of a pair that looks at
least as good depends. They have the same shortcuts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.chain import reached_rows
from workbench.core.errors import TooLarge, WorkbenchError
from workbench.core.fields import FLOATS, RATIONALS
from workbench.core.numbers import Number
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.shortcuts import (
    Shortcut,
    Shortcuts,
    is_defined,
    require_numbers,
    shortcuts,
    td_error,
)
from workbench.core.td import td_values
from workbench.core.ties import sign_of_difference, tie_order
from workbench.core.weights import WEIGHTS
from workbench.optima.best_memoryless import best_memoryless
from workbench.optima.branch_and_bound import forced
from workbench.optima.follow import first_open, follow
from workbench.optima.mdp import MDP, from_states, optimal
from workbench.plain_numbers import seconds_of
from workbench.progress import TimeOver, Waiting, check_time, ends_in
from workbench.tables.sheet import Sheet, Showing
from workbench.text import brief, shown

MOST_POLICIES = 10_000
"""`count_shortcuts` looks at no more optimal policies than this, unless told otherwise."""

Actions = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class ShortcutCount(Showing):
    """Shortcuts over all optimal deterministic memoryless policies.

    Attributes
    ----------
    value : what these policies are worth.
    policies : how many were looked at, rows that make no difference aside.
    complete : whether these are all there are; if not, the two ranges may be wider.
    strict, weak : the fewest and the most shortcuts of either kind that one of them has.
    pi, shortcuts : one of them, and its shortcuts.
    """

    P: POMDP
    weights: str
    value: Number
    policies: int
    complete: bool
    strict: tuple[int, int]
    weak: tuple[int, int]
    pi: Policy
    shortcuts: tuple[Shortcut, ...]

    def sheet(self) -> Sheet:
        """The shortcuts of one optimal policy, with the count over all of them."""
        found = Shortcuts(self.P, self.shortcuts).sheet()
        noun = "policy" if self.policies == 1 else "policies"
        many = f"{'' if self.complete else 'at least '}{self.policies:,} optimal {noun}"
        seen = "" if self.complete else " of those looked at"
        said = (
            f"There {'is' if self.policies == 1 else 'are'} {many}, worth {brief(self.value)}; "
            f"each{seen} has {span(self.strict)} strict and {span(self.weak)} weak shortcuts."
        )
        lines = self.pi.lines(reached_rows(self.P, self.pi), most=12)
        notes = (
            f"The shortcuts listed are those of the policy {'; '.join(lines)}.",
            f"P(s|o) by {WEIGHTS[self.weights].words}. Policies count as one if they differ only "
            "in rows that neither they nor the actions that TD overrates lead to.",
        )
        return replace(found, conclusion=said, notes=notes)

    def __repr__(self) -> str:
        many = (
            f"{'' if self.complete else 'at least '}{self.policies:,} optimal "
            "deterministic policies"
        )
        seen = "" if self.complete else " among those seen"
        return (
            f"{self.P.name}: {many} of value {shown(self.value)}; shortcuts: {span(self.strict)} "
            f"strict, {span(self.weak)} weak{seen}"
        )


def span(ends: tuple[int, int]) -> str:
    """A range as it is read: "3", or "4 to 9"."""
    return str(ends[0]) if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def count_shortcuts(
    P: POMDP,
    exact: bool = False,
    weights: str = "visits",
    most: int = MOST_POLICIES,
    max_seconds: float | None = None,
) -> ShortcutCount:
    """Count the shortcuts of every optimal deterministic memoryless policy.

    With more than `most` of them, on Ctrl-C, or when the time is over, the count covers those found
    by then.

    Parameters
    ----------
    exact, weights : as for `shortcuts`; exact arithmetic also decides which policies are optimal.
    most : how many optimal policies to look at.
    max_seconds : of all of it; `TooLarge` is raised if no optimal policy is found by then.
    """
    require_numbers(P, None)
    P.require_all_actions("count_shortcuts")
    if most < 1:
        raise WorkbenchError(f"most must be at least 1, not {most}")
    try:
        with ends_in(seconds_of(max_seconds)):
            counted = _counted(P, exact, weights, most)
    except TimeOver:
        counted = None
    check_time()  # a limit around this count
    if counted is None:
        raise TooLarge(f"{P.name}: the time was over before an optimal policy was found")
    return counted


def _counted(P: POMDP, exact: bool, weights: str, most: int) -> ShortcutCount:
    best = best_memoryless(P, exact=exact)
    if not best.certified and best.interrupted:
        raise KeyboardInterrupt
    M = from_states(P, FLOATS)
    behaviours = _behaviours(P, M, from_states(P, RATIONALS) if exact else M, best.value)
    counts: list[tuple[int, int]] = []
    first: tuple[Policy, list[Shortcut]] | None = None
    complete = True
    with Waiting(f"shortcuts of {P.name}") as waiting:
        try:
            for whole in (x for one in behaviours for x in _completions(P, M, one, exact, weights)):
                if not (complete := len(counts) < most):
                    break
                pi = Policy.from_actions(P, np.maximum(whole, 0))
                found = shortcuts(P, pi, exact, weights)
                first = first or (pi, found)
                strict = sum(x.kind == "strict" for x in found)
                counts.append((strict, len(found) - strict))
                waiting.report(len(counts) / most, f"{len(counts):,} optimal policies")
        except (KeyboardInterrupt, TimeOver):
            complete = False
            if first is None:
                raise
    assert first is not None
    strict_counts, weak_counts = zip(*counts, strict=True)
    return ShortcutCount(
        P=P,
        weights=weights,
        value=best.value,
        policies=len(counts),
        complete=complete,
        strict=(min(strict_counts), max(strict_counts)),
        weak=(min(weak_counts), max(weak_counts)),
        pi=first[0],
        shortcuts=tuple(first[1]),
    )


def _behaviours(P: POMDP, M: MDP, judge: MDP, best: Number) -> Iterator[Actions]:
    """Every behaviour of a deterministic memoryless policy that is worth the best value. It is an
    array `choice[o]` of actions, -1 for the observations that it never reaches.

    Depth first: an observation gets an action when it is reached. A branch is cut off when even
    full information about the state, at every observation that has no action yet, is worth less.
    """
    rank = np.argsort(tie_order(P.A, "last"))

    def extend(choice: Actions) -> Iterator[Actions]:
        check_time()
        o = first_open(M, choice, M.starts)
        if o is None:
            value = follow(judge, np.maximum(choice, 0)).value
            worth = value if isinstance(value, float) else RATIONALS.back(value)
            if worth != -np.inf and _sign(P, worth, best) >= 0:
                yield choice
            return
        further = np.repeat(choice[None], len(P.A), axis=0)
        further[:, o] = np.arange(len(P.A))
        bounds = np.array([float(optimal(M, forced(M, x)).value) for x in further])
        for a in np.lexsort((rank, -bounds.round(9))).tolist():
            if bounds[a] > -np.inf and _sign(P, bounds[a], float(best)) >= 0:
                yield from extend(further[a])

    yield from extend(np.full(len(P.O), -1, dtype=np.int64))


def _sign(P: POMDP, x: Any, y: Any) -> int:
    """The sign of a difference of two values. It is 0 for floats within rounding errors.

    Values are sums over an episode's steps, each rounded as often as there are successors.
    """
    if not isinstance(x, float) and not isinstance(y, float):
        return sign_of_difference(x, y) or 0
    steps = len(P.S) if P.gamma == 1 else 1 / (1 - float(P.gamma))
    size = max(abs(float(x)), abs(float(y)), float(np.abs(P.p.r.floats).max(initial=0.0)))
    error = 2.0**-52 * (len(P.S) + len(P.A)) * steps * size
    return sign_of_difference(float(x), float(y), error) or 0


def _completions(P: POMDP, M: MDP, choice: Actions, exact: bool, weights: str) -> Iterator[Actions]:
    """The behaviour with every choice of actions for the unreached rows on which its shortcuts may
    depend."""
    pi = Policy.from_actions(P, np.maximum(choice, 0))
    td = td_values(
        P, pi, exact=exact, weights=weights
    )  # where defined, it does not depend on unreached rows
    states = follow(M, np.maximum(choice, 0)).states
    off = td_error(td)
    after: list[NDArray[Any]] = []
    for i in np.unique(M.seen[states]).tolist():
        o = P.O[i]
        for j in range(len(P.A)):
            value = td.q[o, P.A[j]]
            if (
                j != choice[i]
                and is_defined(value)
                and is_defined(td.v[o])
                and (sign_of_difference(value, td.v[o], 2 * off) or 0) >= 0
            ):
                rows = states[M.seen[states] == i] * len(P.A) + j
                after += [M.successors[M.row_ptr[row] : M.row_ptr[row + 1]] for row in rows]
    starts = (
        np.unique(np.concatenate(after)).astype(np.int64) if after else np.empty(0, dtype=np.int64)
    )

    def complete(choice: Actions) -> Iterator[Actions]:
        o = first_open(M, choice, starts)
        if o is None:
            yield choice
            return
        for a in range(len(P.A)):
            further = choice.copy()
            further[o] = a
            yield from complete(further)

    yield from complete(choice)
