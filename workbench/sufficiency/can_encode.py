"""Can a memoryless policy that uses a memory be as good as the best history-based one?

`can_encode_optimal(P, memory)`: some memoryless policy of <P, memory> is worth V*, the best value
of a policy of the whole history o_0, a_0, ..., o_t. Every sufficiently expressive memory can
(Proposition A.1); a memory that can need not be.

**Deterministic policies are enough, if gamma < 1.** Let a memoryless policy pi be worth V*, and let
Gamma not read rewards, so that (m, o) tells the agent nothing beyond its history. After each
history that has a chance under pi, each action that pi may take is optimal, else the return could
be raised. Let pi' take, at each (m, o), one of the actions that pi may take. Whatever pi' reaches,
pi reaches, so pi' takes optimal actions only; n steps of it and then an optimal continuation are
worth V* for every n, and what comes after n steps weighs gamma^n. So pi' is worth V*. The same
holds for gamma = 1 if all episodes end within a fixed time.

Conversely a policy is worth V* (0 < gamma < 1) exactly when it takes, at each belief it reaches,
one of the actions optimal there. So where the reachable beliefs are finitely many the question is
decided exactly: V* and the optimal actions of each belief by policy iteration in rationals
(`history`), then a search for choices (a, w) at each (m, o) that are optimal for every belief
reached with (m, o) (`product_search`). With gamma = 0 only the first action counts.

**Floats** are read as the decimals that they are printed as, and the reason says so. Decimals that
are equal in one unit of reward need not be in another: 1 + 2 = 3 holds of the floats 2^-60, 2^-59
and 3 2^-60, and not of their decimals. So before a memory is said to fail on floats, the search is
made again among actions that are optimal up to rounding. A policy that it finds encodes an optimum
as far as floats can tell, and `Encoding.lacks` says what it may lose.

**gamma = 1 with episodes of any length.** If the search finds nothing, no policy is worth V*,
stochastic ones included: the first half of the argument does not need gamma < 1. But choosing
optimal actions is then not sufficient: a policy may put off the reward for ever. In the short
corridor (one observation, an action that is reversed in the middle) with reward 1 at the goal a
policy that mixes is worth 1, and no deterministic one ends.

Where beliefs are too many, or Gamma reads rewards, the bounds of `workbench.optima` are
compared; they may leave the question open.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.agents.beliefs import LIMIT, BeliefGraph, explore_beliefs
from workbench.core.augment import augment
from workbench.core.errors import NeverEnds
from workbench.core.evaluate import evaluate
from workbench.core.fields import FLOATS, RATIONALS
from workbench.core.numbers import Number
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.space import Label
from workbench.memories import Family, Memory, attach
from workbench.optima.best_history import best_history
from workbench.optima.best_memoryless import best_memoryless
from workbench.optima.cap import reads_rewards
from workbench.optima.history import belief_process
from workbench.optima.mdp import (
    MDP,
    Optimum,
    from_states,
    in_rationals,
    optimal,
    round_up,
    size_of_values,
)
from workbench.plain_numbers import deadline, share_of
from workbench.sufficiency.belief_product import Supports, places
from workbench.sufficiency.memory_answer import BUDGET, MemoryAnswer
from workbench.sufficiency.product_search import Choice, Outcome, Slot, WriteSearch

TOLERANCE = 1e-9
"""Floats never prove that two best values are equal. A policy that reaches the bound on V* up to
this share of the size of rewards and values is said to, and `Encoding.lacks` and the reason say by
how much at most it misses it; that none does rests on bounds alone."""


@dataclass(frozen=True, repr=False)
class Encoding(MemoryAnswer):
    """Whether a memory can encode an optimal policy, and why.

    Attributes
    ----------
    method : "beliefs", exact but for the reading of floats, or "bounds".
    best : the best history-based value; None if only bounds are known.
    choice : for "beliefs", {(m, o): (a, w)} where the policy gets; `Policy.deterministic(E, choice,
        otherwise=E.A[0])`.
    policy : for "bounds", the policy of the augmented POMDP.
    lacks : where it holds, a bound on how much more the best history-based value is than that of
        the policy: 0 where they are proved to be equal, more where floats cannot tell them apart.
    attached : the memory.

    `plot` draws the policy found as a controller, or the beliefs of the task where there is none.
    """

    question = "Can {memory} encode an optimal policy for {task}?"
    said = "{memory} {verb} encode an optimal policy for {task}"
    verbs = ("can", "cannot", "may or may not")

    best: Number | None = None
    choice: Mapping[tuple[Label, Label], tuple[Label, Label]] | None = None
    policy: Policy | None = None
    lacks: Number = field(default=0, kw_only=True)
    attached: Memory | None = field(default=None, compare=False, kw_only=True)

    @property
    def rows(self) -> list[tuple[Any, ...]]:
        return [(*seen, *done) for seen, done in (self.choice or {}).items()]

    @property
    def figure(self) -> str:  # type: ignore[override]
        """The function of `workbench.figures` that draws it."""
        found = self.policy is not None or self.choice is not None
        return "controller_graph" if self.holds and found else "belief_graph"

    def drawn_from(self) -> tuple[Any, ...]:
        if self.figure == "belief_graph":
            return (self.P,)
        policy = self.policy
        if policy is None:
            assert self.P is not None
            assert self.attached is not None
            assert self.choice is not None
            E = augment(self.P, self.attached)
            policy = Policy.deterministic(E, self.choice, otherwise=E.A[0])
        return self.P, self.attached, policy


def can_encode_optimal(
    P: POMDP,
    memory: Memory | Family | str,
    limit: int = LIMIT,
    budget: int = BUDGET,
    max_seconds: float | None = None,
) -> Encoding:
    """Whether some memoryless policy of <P, memory> reaches the best history-based value of P.

    Parameters
    ----------
    memory : a memory, a family or its name.
    limit : with more reachable beliefs than this, bounds are compared instead.
    budget : the most decisions of the search.
    max_seconds : of all searches; what they leave open then is undecided.

    >>> from workbench.improvement.batch import sequence_task
    >>> P = sequence_task([[0, 1], [1, 0]])
    >>> can_encode_optimal(P, "none")
    none cannot encode an optimal policy for sequence task: no memoryless policy keeps to the
    optimal actions (1 decision, 2 conflicts), which the best value 1 needs
    >>> can_encode_optimal(P, "O1").choice
    {((None,), 'o'): (0, 'push'), (('o',), 'o'): (1, 'push')}

    See also: `is_sufficiently_expressive`, `needs_memory`, `frontier`.
    """
    attached = attach(memory, P)
    attached.require_all_writes("can_encode_optimal")
    return replace(_decide(P, attached, limit, budget, max_seconds), P=P, attached=attached)


def _decide(
    P: POMDP, attached: Memory, limit: int, budget: int, max_seconds: float | None
) -> Encoding:
    """The answer by beliefs where they are few enough, else by bounds."""
    until = deadline(max_seconds)
    rational = None if reads_rewards(P, attached) or P.symbols else in_rationals(P)
    if rational is not None:
        # a third for the list of beliefs: if they are too many, bounds take the rest
        third = time.monotonic() + (until - time.monotonic()) / 3
        graph = explore_beliefs(rational, limit, until=third)
        if not len(graph):
            return Encoding(
                P.name, attached.name, True, "beliefs", "every episode ends at once", 0, {}
            )
        if graph.complete:
            return encoding_on_beliefs(P, graph, attached, budget, until)
    return _by_bounds(P, attached, until)


# ---------------------------------------------------------------------- finitely many beliefs


def encoding_on_beliefs(
    P: POMDP, graph: BeliefGraph, memory: Memory, budget: int, until: float
) -> Encoding:
    """The answer from the complete list of beliefs of P, whose floats are read as decimals."""
    floats = belief_process(graph, FLOATS)
    found = _on_beliefs(graph, memory, floats, budget, until, not P.is_exact)
    if P.is_exact or found.method != "beliefs":
        return found
    return replace(found, reason=f"{found.reason}; floats are read as decimals")


def _on_beliefs(
    graph: BeliefGraph,
    memory: Memory,
    floats: MDP,
    budget: int,
    until: float,
    up_to_rounding: bool,
) -> Encoding:
    P = graph.P
    answer = partial(Encoding, P.name, memory.name, method="beliefs")
    M = belief_process(graph, RATIONALS)
    best = optimal(M, first=optimal(floats).policy)
    if isinstance(best.value, float):
        if best.value < 0:
            raise NeverEnds(
                f"gamma is 1 and no history-based policy of {P.name} ends with probability one"
            )
        return answer(None, reason="returns are unbounded: a loop has positive reward")
    value, q = RATIONALS.back(best.value), M.q(best.v)
    if P.allowed is not None:  # copies of actions are left out
        here = P.allowed[list(graph.o)]
        kept = here[np.arange(len(here)), best.policy]
        policy = np.where(kept, best.policy, here.argmax(axis=1))
        best = replace(best, policy=policy, allowed=best.allowed & here)
    allowed = [
        {a for a in range(len(P.A)) if best.allowed[n, a] and q[n, a] == best.v[n]}
        if best.alive[n]
        else set()
        for n in range(len(graph))
    ]
    if P.gamma == 0:
        graph = replace(
            graph, edges=(((),) * len(P.A),) * len(graph)
        )  # what comes after the first action has no weight
    outcome = _run(graph, memory, allowed, budget, until)
    if outcome.chosen is not None and P.gamma == 1 and not _ends(graph, memory, outcome.chosen):
        outcome = _run(
            graph, memory, [{int(a)} for a in best.policy], budget, until
        )  # the one optimal policy known to end
        if outcome.chosen is None:
            bounds = _by_bounds(P, memory, until)
            return bounds if bounds.holds is not None else replace(bounds, best=value)
    if outcome.chosen is not None:
        choice = _labelled(P, memory, outcome.chosen)
        reason = (
            "some memoryless policy is optimal in every situation that it reaches, so it is worth "
            f"the best value {value}"
        )
        return answer(True, reason=reason, best=value, choice=choice)
    if not outcome.finished:
        reason = f"the search for a policy was given up after {outcome.effort}"
        return answer(None, reason=reason, best=value)
    if up_to_rounding:
        near = _near_optimal(floats, best, q)
        if (
            near != allowed
            and (found := _nearly(graph, memory, near, value, budget, until)) is not None
        ):
            return found
    reason = (
        f"no memoryless policy keeps to the optimal actions ({outcome.effort}), "
        f"which the best value {value} needs"
    )
    return answer(False, reason=reason, best=value)


def _labelled(
    P: POMDP, memory: Memory, chosen: Mapping[Slot, Choice]
) -> dict[tuple[Label, Label], tuple[Label, Label]]:
    return {
        (memory.M[m], P.O[o]): (P.A[a], memory.W[w]) for (m, o), (a, w) in sorted(chosen.items())
    }


def _near_optimal(floats: MDP, best: Optimum, q: NDArray[Any]) -> list[set[int]]:
    """The actions of each belief that are optimal up to rounding. Their size is that of all rewards
    that an optimal policy collects from there, without cancellation."""
    collected = replace(floats, R=floats.sizes).evaluate(best.policy, best.alive).x
    margin = round_up(floats, collected)
    lost = np.array([[float(RATIONALS.back(x)) for x in row] for row in best.v[:, None] - q])
    near = best.allowed & best.alive[:, None] & (lost <= margin)
    return [set(np.flatnonzero(row).tolist()) for row in near]


def _nearly(
    graph: BeliefGraph,
    memory: Memory,
    near: list[set[int]],
    value: Number,
    budget: int,
    until: float,
) -> Encoding | None:
    """The answer of a policy that keeps to near-optimal actions, or None if there is none."""
    P = graph.P
    outcome = _run(graph, memory, near, budget, until)
    answer = partial(Encoding, P.name, memory.name, method="beliefs", best=value)
    if outcome.chosen is None or (P.gamma == 1 and not _ends(graph, memory, outcome.chosen)):
        if outcome.finished:
            return None
        reason = (
            "no memoryless policy keeps to the optimal actions, and the search for one that does "
            f"up to rounding was given up after {outcome.effort}"
        )
        return answer(None, reason=reason)
    choice, E = _labelled(P, memory, outcome.chosen), augment(P, memory)
    lacks = _most_lacking(E, Policy.deterministic(E, choice, otherwise=E.A[0]), value)
    reason = (
        "up to the rounding of floats some memoryless policy is optimal wherever it arrives: "
        f"the best value {value} is at most {lacks:.1g} more than it is worth"
    )
    return answer(True, reason=reason, choice=choice, lacks=lacks)


def _run(
    graph: BeliefGraph, memory: Memory, allowed: list[set[int]], budget: int, until: float
) -> Outcome:
    search = WriteSearch(graph, memory, allowed, interchangeable=memory.overwrites)
    what = f"an optimal policy of {graph.P.name} with {memory.name}"
    return search.run(budget, what, until)


def _ends(graph: BeliefGraph, memory: Memory, chosen: Mapping[Slot, Choice]) -> bool:
    """Whether a choice ends with probability one: from all it reaches it may get to where the
    episode may end."""
    where, supports = places(graph, memory), Supports(graph, memory)
    before: dict[tuple[int, int], set[tuple[int, int]]] = {
        (m, q): set() for m in supports.eta for q in where.starts
    }
    ending = []
    queue = list(before)
    for m, q in queue:
        n = where.node[q]
        o = graph.o[n]
        a, w = chosen[m, o]
        if sum(e.prob for e in graph.edges[n][a]) != 1:
            ending.append((m, q))
        for o_next, r, q_next in where.edges[q][a]:
            for m_next in supports.after(m, w, o, a, r, o_next):
                if (m_next, q_next) not in before:
                    before[m_next, q_next] = set()
                    queue.append((m_next, q_next))
                before[m_next, q_next].add((m, q))
    safe = set(ending)
    while ending:
        fresh = before[ending.pop()] - safe
        safe |= fresh
        ending += fresh
    return len(safe) == len(before)


# ---------------------------------------------------------------------- bounds


def _by_bounds(P: POMDP, memory: Memory, until: float) -> Encoding:
    """Compare the best values, or what is certain about them."""
    E = augment(P, memory)
    history = best_history(P, max_seconds=share_of(until, 3))
    exact = bool(history.exact and E.is_exact)
    best = history.value if history.exact else None
    answer = partial(Encoding, P.name, memory.name, method="bounds", best=best)
    M = from_states(P, FLOATS)
    margin = 0 if exact else TOLERANCE * size_of_values(M)
    # a mixture can be worth V* where no deterministic policy is, if it is not the best policy of E
    # or if it may not end
    mixing = reads_rewards(P, memory) or (P.gamma == 1 and not M.is_acyclic)
    found: list[Any] = []
    try:
        found.append(
            best_memoryless(E, exact=exact, max_seconds=share_of(until, 2 if mixing else 1))
        )
    except NeverEnds:
        if not mixing:
            raise
    if mixing and not (found and found[0].value >= history.upper - margin):
        found.append(best_memoryless(E, deterministic=False, max_seconds=share_of(until, 1)))
    for policy in found:
        if policy.value >= history.upper - margin:
            lacks = 0 if exact else _most_lacking(E, policy.policy, history.upper)
            reason = (
                f"a memoryless policy is worth {policy.value}, and the best history-based value is "
                f"{'no more' if lacks == 0 else f'at most {lacks:.1g} more'}"
            )
            return answer(True, reason=reason, policy=policy.policy, lacks=lacks)
    bound = found[-1].bound  # on all memoryless policies that matter here
    if bound < history.lower:
        reason = (
            f"no memoryless policy is worth more than {bound}, but some "
            f"history-based policy is worth {history.lower}"
        )
        return answer(False, reason=reason)
    reason = (
        f"the best memoryless value lies between {float(max(x.value for x in found)):.9g} and "
        f"{float(bound):.9g}, the best "
        f"history-based value between {float(history.lower):.9g} and {float(history.upper):.9g}"
    )
    return answer(None, reason=reason)


def _most_lacking(E: POMDP, pi: Policy, upper: Number) -> float:
    """A bound on how much more than a policy in floats is worth the best may be."""
    found = evaluate(E, pi)
    value = Fraction(found.value) if isinstance(upper, Fraction) else found.value
    return max(0.0, float(upper - value) + found.error)
