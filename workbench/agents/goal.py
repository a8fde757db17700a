"""Goals as criteria: a task whose return is the probability, or the time, of reaching a goal.

    reach       reward 1 for the step that enters the goal, 0 for others, gamma 1:
                the return is the probability of reaching the goal
    steps       reward -1 for every step until the goal, gamma 1:
                the return is minus the expected number of steps

The result is an ordinary POMDP, so that `evaluate`, `best_memoryless`, `best_history` and memories
answer. With gamma 1 a policy that may go on for ever has no return. A state from which no policy
reaches the goal therefore ends an episode of `reach`, and in `steps` holds it for ever, because the
time is infinite there.

In `reach` the uniform policy then ends surely, so leaving out policies that may wander for ever
lowers no supremum over histories or over stochastic memoryless policies: a little of the uniform
policy makes them end. A deterministic memoryless policy that may wander has no value here; `within`
gives it one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
from numpy.typing import NDArray

from workbench.agents.step_limit import with_step_limit
from workbench.core.asked import Asked
from workbench.core.errors import UnknownLabel, WorkbenchError
from workbench.core.linear_kernels import reachable, reverse_edges
from workbench.core.numbers import Number
from workbench.core.pomdp import POMDP
from workbench.core.rows import merge_rows
from workbench.core.space import Label, Space
from workbench.text import show

Mask = NDArray[np.bool_]


def with_goal(
    P: POMDP,
    goal: Label | Iterable[Label] | Callable[[Label], bool],
    within: int | None = None,
    *,
    steps: bool = False,
) -> POMDP:
    """The same task, worth the probability of reaching a goal, or minus the steps it takes.

    Parameters
    ----------
    goal : a state, an observation, a label that states of a model checker carry, several of them,
        or a function that says whether a state is one.
    within : the goal must be reached in so many steps; the agent does not see the count.
    steps : count steps instead: what a policy is worth is minus their expected number, or minus
        that of min(steps, within).

    >>> from fractions import Fraction
    >>> third = Fraction(1, 3)
    >>> P = POMDP.from_functions(
    ...     name="try again",
    ...     A=["try"],
    ...     p=lambda s, a: {("won", 5): third, (s, -2): 1 - third},
    ...     omega=lambda s: {"o": 1},
    ...     mu={"s": 1},
    ...     gamma=Fraction(9, 10),
    ...     terminal={"won"},
    ... )
    >>> from workbench.core.evaluate import evaluate
    >>> from workbench.core.policy import uniform
    >>> [
    ...     str(evaluate(Q, uniform(Q), exact=True).value)
    ...     for Q in (with_goal(P, "won"), with_goal(P, "won", 2), with_goal(P, "won", steps=True))
    ... ]
    ['1', '5/9', '-3']

    See also: `with_step_limit`, `best_history`, `best_memoryless`.
    """
    is_goal, name = _goal_states(P, goal)
    hopes = _can_reach(P, is_goal)
    # an episode that starts in the goal has reached it, and is paid by a step of its own
    paid_first = is_goal & np.isin(np.arange(len(P.S)), P.mu.support) & (not steps)
    over = "over"
    while over in P.S:
        over += "'"

    def p(s: Label, a: Label) -> dict[tuple[Label, Number], Number]:
        i = P.S.index(s)
        if paid_first[i]:
            return {(over, 1): 1}
        if not hopes[i]:
            return {(s, -1): 1}
        found: dict[tuple[Label, Number], Number] = {}
        for (s_next, _), x in P.p(s, a).items():
            j = P.S.index(s_next)
            key = (over if paid_first[j] else s_next, -1 if steps else int(is_goal[j]))
            found[key] = found.get(key, 0) + x
        return found

    def terminal(s: Label) -> bool:
        if s == over:
            return True
        i = P.S.index(s)
        return bool(not paid_first[i] and (is_goal[i] or not (steps or hopes[i])))

    shown = P.S[int(np.flatnonzero(is_goal)[0])]
    found = POMDP.from_functions(
        name=f"{P.name}, {'steps to' if steps else 'reach'} {name}",
        A=P.A,
        p=p,
        omega=lambda s: P.omega(shown if s == over else s),
        mu=dict(P.mu.items()),
        gamma=1,
        terminal=terminal,
        O=P.O,
        allowed=None if P.allowed is None else P.actions,
    )
    return found if within is None else with_step_limit(found, within)


def _goal_states(P: POMDP, goal: object) -> tuple[Mask, str]:
    """The states that are the goal, and its name."""
    if callable(goal):
        asked = Asked(goal, "goal(s={})")
        mask = np.array([bool(asked(s)) for s in P.S])
        name = getattr(goal, "__name__", "goal").replace("<lambda>", "goal")
    elif (named := _named(P, goal)) is not None:
        mask, name = named, show(goal)
    elif isinstance(goal, Iterable) and not isinstance(goal, str | bytes):
        parts = [_goal_states(P, g) for g in goal]
        mask = np.any([m for m, _ in parts], axis=0) if parts else np.zeros(len(P.S), dtype=bool)
        name = " or ".join(n for _, n in parts)
    else:
        raise UnknownLabel(
            f"the goal {show(goal)} is neither a state nor an observation of {P.name}. As a state, "
            f"{P.S._unknown(goal)}. As an observation, {P.O._unknown(goal)}"
        )
    if not mask.any():
        raise WorkbenchError(f"no state of {P.name} is a goal")
    return mask, name


def _named(P: POMDP, goal: object) -> Mask | None:
    """The states that are, surely show or carry a label. None where nothing has it."""
    masks = []
    s, o = _find(P.S, goal), _find(P.O, goal)
    if s is not None:
        masks.append(np.arange(len(P.S)) == s)
    if o is not None:
        shows = P.omega.o == o
        mask = np.zeros(len(P.S), dtype=bool)
        mask[P.omega.s[shows]] = True
        if (unsure := np.flatnonzero(mask & (np.diff(P.omega.row_ptr) > 1))).size:
            raise WorkbenchError(
                f"{P.name} shows {show(goal)} in state {P.S.text(P.S[int(unsure[0])])} only "
                "sometimes, so that no set of states is this goal; name the states"
            )
        masks.append(mask)
    # states that come from a model checker carry labels
    carried = np.array([goal in getattr(label, "labels", ()) for label in P.S])
    if carried.any():
        masks.append(carried)
    if any(not np.array_equal(mask, masks[0]) for mask in masks):
        raise WorkbenchError(
            f"{show(goal)} names different sets of states of {P.name} (as a state, an observation "
            "or a label); give a function of the state"
        )
    return masks[0] if masks else None


def _find(space: Space, goal: object) -> int | None:
    if goal in space:
        return space.index(goal)
    texts = (i for i, label in enumerate(space) if goal in (show(label), space.text(label)))
    return next(texts, None) if isinstance(goal, str) else None


def _can_reach(P: POMDP, is_goal: Mask) -> Mask:
    """The states from which some policy reaches the goal."""
    indptr, indices = reverse_edges(merge_rows(P.p.row_ptr, len(P.A)), P.p.s_next)
    return np.asarray(reachable(indptr, indices, np.flatnonzero(is_goal)), dtype=bool)
