"""Statements about values, steps and beliefs: TD against Monte Carlo, a step towards greedy, what a
memory is good for.

    td-greedy-leaves-optimum  greedy on one-step TD values leaves the optimal policies (Section 5.1)
    greedy-lowers                    a small step towards greedy lowers the return (Section 5.2)
    zero-discrepancy-memory-helps    TD and Monte Carlo agree, as if observations were states, and
                                     yet memory helps
    expressive-not-by-bound          B(k) is sufficiently expressive for a k that Proposition A.2
                                     (1) does not promise
    bound-not-expressive             B(k) is not sufficiently expressive for the k that it promises

None of them depends on how anything is called, so all relabellings may be merged.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from workbench.agents.beliefs import TooManyBeliefs, reachable_beliefs
from workbench.certificates import values as evidence
from workbench.core.augment import augment
from workbench.core.errors import NeverEnds, WorkbenchError
from workbench.core.evaluate import Evaluation, evaluate
from workbench.core.horizon import has_finite_horizon
from workbench.core.policy import Policy, uniform
from workbench.core.pomdp import POMDP
from workbench.core.rows import own_rows
from workbench.core.shortcuts import shortcuts
from workbench.core.td import td_values
from workbench.evaluation.discrepancy import lambda_discrepancy
from workbench.lab.sequences import SequenceTasks
from workbench.lab.spaces import TaskSpace
from workbench.lab.statements import CLEARLY, NO, Statement, Verdict, largest_reward
from workbench.memories import B, none, parse_memory
from workbench.optima.best_memoryless import best_memoryless
from workbench.optima.shortcut_count import ShortcutCount, count_shortcuts
from workbench.sufficiency.expressive import is_sufficiently_expressive


def with_memory(P: POMDP, memory: str) -> POMDP:
    """The product <P, memory>, or P itself for no memory."""
    return P if memory == "none" else augment(P, memory)


@dataclass(frozen=True)
class _AboutValues(Statement):
    """Rewards of sequence tasks may be shifted as well, of discounted ones only where no TD values
    are looked at."""

    shift_needs_no_discount: ClassVar[bool] = True

    def symmetries(self, space: TaskSpace) -> tuple[str, ...]:
        shifts = isinstance(space, SequenceTasks) and (
            space.gamma == 1 or not self.shift_needs_no_discount
        )
        return (*super().symmetries(space), *(("shift",) if shifts else ()))


# ---------------------------------------------------------------------- TD and greedy


@dataclass(frozen=True)
class TDGreedyLeaves(_AboutValues):
    """Every optimal deterministic policy of <P, memory> has a strict non-Markovian shortcut:
    Q-learning's target leaves it.

    Parameters
    ----------
    every : whether all optimal policies must have one, or only some.
    """

    memory: str = "none"
    every: bool = True
    most: int = 2_000
    name = "td-greedy-leaves-optimum"
    about = "greedy on one-step TD values (Q-learning's target) leaves every optimal policy"

    def __post_init__(self) -> None:
        parse_memory(self.memory)

    def sentence(self) -> str:
        which = "every optimal policy" if self.every else "some optimal policy"
        return (
            f"With {self.memory}, greedy on one-step TD values leaves {which} for "
            "an action that is no better."
        )

    def score(self, P: POMDP) -> float:
        E = with_memory(P, self.memory)
        try:
            one = best_memoryless(E).policy
            if self.every and not any(x.kind == "strict" for x in shortcuts(E, one)):
                return NO
            found = count_shortcuts(E, most=self.most)
        except NeverEnds:
            return np.nan
        return float(found.strict[0 if self.every else 1]) or NO

    def exactly(self, P: POMDP) -> Verdict:
        found = count_shortcuts(with_memory(P, self.memory), exact=True, most=self.most)
        facts = {
            "optimal policies": f"{found.policies}{'' if found.complete else ' or more'}",
            "strict shortcuts": f"{found.strict[0]} to {found.strict[1]}",
            "their value": str(found.value),
        }
        if found.shortcuts:
            facts["one shortcut"] = str(found.shortcuts[0])
        if self.every:
            if found.strict[0] == 0:
                return Verdict(False, facts)
            return Verdict(True if found.complete else None, facts, self._certificates(P, found))
        if found.strict[1] == 0:
            return Verdict(False if found.complete else None, facts)
        return Verdict(True, facts, self._certificates(P, found))

    def _certificates(self, P: POMDP, found: ShortcutCount) -> tuple[dict[str, Any], ...]:
        """What one optimal policy is worth, and its TD values where episodes have an end."""
        worth = evidence.value_certificate(P, self.memory, found.pi, found.value)
        if not has_finite_horizon(P):
            return (worth,)
        return worth, evidence.td_certificate(
            P, self.memory, td_values(found.P, found.pi, exact=True)
        )


@dataclass(frozen=True)
class GreedyLowers(_AboutValues):
    """From some policy every small enough step towards the greedy policy lowers the return,
    although greedy is unique.

    Along pi + eps (greedy - pi) the return changes at eps = 0 at the rate sum_s d(s) sum_o
    omega(o|s) sum_a (greedy - pi)(a|o) q_pi(s,a), d the discounted occupancy: negative means that
    it falls.

    Parameters
    ----------
    weights : those of the q-values that greedy looks at.
    parts : 0 looks at the uniform policy; n at all policies whose probabilities are multiples of
        1/n.
    memory : of the task; the step is taken in <P, memory>.
    """

    shift_needs_no_discount = False
    weights: str = "visits"
    parts: int = 0
    memory: str = "none"
    name = "greedy-lowers"
    about = (
        "a small step towards greedy on visits-weighted q lowers the return, from "
        "the uniform or some other policy"
    )

    def __post_init__(self) -> None:
        parse_memory(self.memory)
        if self.parts < 0:
            raise WorkbenchError(f"parts is 0 or the number of parts of one, not {self.parts}")

    def sentence(self) -> str:
        whence = "the uniform policy" if not self.parts else f"some policy in {self.parts} parts"
        where = "" if self.memory == "none" else f" with {self.memory}"
        return (
            f"From {whence}{where} every small step towards greedy on "
            f"{self.weights}-weighted q lowers the return."
        )

    def score(self, P: POMDP) -> float:
        E = with_memory(P, self.memory)
        scale = largest_reward(P)
        found = [self._fall(E, pi, exact=False) for pi in self._policies(E)]
        known = [float(fall) / scale - CLEARLY for fall, _ in found if fall is not None]
        return max(known, default=NO)

    def exactly(self, P: POMDP) -> Verdict:
        E = with_memory(P, self.memory)
        for pi in self._policies(E):
            fall, greedy = self._fall(E, pi, exact=True)
            if fall is not None and fall > 0:
                assert greedy is not None
                before = evaluate(E, pi, exact=True).value
                chosen = "; ".join(f"{E.O.text(o)} → {E.A.text(a)}" for o, a in greedy.items())
                facts = {"return": str(before), "rate of change": str(-fall), "greedy": chosen}
                step = evidence.falling_certificate(P, self.memory, pi, self.weights, -fall)
                return Verdict(True, facts, (step,))
        return Verdict(False)

    def _policies(self, E: POMDP) -> Iterator[Policy]:
        yield uniform(E)
        if not self.parts:
            return
        rows = list(_compositions(self.parts, len(E.A)))
        seen = [o for i, o in enumerate(E.O) if E.decides[i]]
        for choice in product(rows, repeat=len(seen)):
            yield Policy.from_mapping(
                E,
                {
                    o: {a: Fraction(n, self.parts) for a, n in zip(E.A, row, strict=True) if n}
                    for o, row in zip(seen, choice, strict=True)
                },
            )

    def _fall(self, E: POMDP, pi: Policy, exact: bool) -> tuple[Any, dict[Any, Any] | None]:
        """How fast the return falls at first, and the greedy actions. None where greedy is not
        unique."""
        try:
            seen = evaluate(E, pi, exact=exact, weights=self.weights)
            flow = evaluate(E, pi, exact=exact, weights="discounted")
        except NeverEnds:
            return None, None
        greedy = unique_greedy(seen, exact)
        return (None, None) if greedy is None else (-rate_of_change(flow, greedy), greedy)


def unique_greedy(found: Evaluation, exact: bool) -> dict[Any, Any] | None:
    """The greedy action of every observation that is reached. None if two are equally good or
    undefined somewhere."""
    P, greedy = found.P, {}
    for i in np.flatnonzero(found.reached.raw).tolist():
        row = found.q.row(P.O[i])
        if any(x is None or x != x for x in row.values()):
            return None
        off = {a: 0 if exact else found.q_error[P.O[i], a] for a in row}
        best = max(x - off[a] for a, x in row.items())
        equal = [a for a, x in row.items() if x + off[a] >= best]
        if len(equal) > 1:
            return None
        greedy[P.O[i]] = equal[0]
    return greedy


def rate_of_change(flow: Evaluation, greedy: dict[Any, Any]) -> Any:
    """The derivative of the return along pi + eps (greedy - pi) at 0. `flow` is evaluated with
    discounted weights."""
    P, total = flow.P, 0
    for s in P.S:
        if s in P.terminal or (d := flow.visits[s]) == 0:
            continue
        for o, x in P.omega(s).items():
            if o not in greedy:
                continue
            for a in P.A:
                change = (1 if greedy[o] == a else 0) - flow.pi[o, a]
                total = total + d * x * change * flow.q_state[s, a]
    return total


def _compositions(total: int, parts: int) -> Iterator[tuple[int, ...]]:
    """All ways to write a number as an ordered sum of some numbers >= 0."""
    if parts == 1:
        yield (total,)
        return
    for first in range(total, -1, -1):
        for rest in _compositions(total - first, parts - 1):
            yield (first, *rest)


# ---------------------------------------------------------------------- memory that helps


@dataclass(frozen=True)
class ZeroDiscrepancy(_AboutValues):
    """TD(0) and Monte Carlo agree on every (o, a) under the uniform policy, yet a memory improves
    the policy.

    "Better" is better than every memoryless policy, stochastic ones included. That is decided where
    no observation can come twice in an episode: the return is then linear in each row of the
    policy, and a deterministic policy is best.
    """

    memory: str = "O1"
    name = "zero-discrepancy-memory-helps"
    about = (
        "the lambda-discrepancy of the uniform policy is zero, and yet a memory "
        "gives a better policy"
    )

    def __post_init__(self) -> None:
        parse_memory(self.memory)

    def sentence(self) -> str:
        return (
            "The lambda-discrepancy of the uniform policy is zero, and yet "
            f"{self.memory} gives a better policy than none."
        )

    def score(self, P: POMDP) -> float:
        if repeats_an_observation(P):
            return NO
        try:
            apart = float(lambda_discrepancy(P, uniform(P), norm=np.inf))
            scale = largest_reward(P)
            if not apart <= CLEARLY * scale:
                return -apart / scale
            better = float(
                best_memoryless(augment(P, self.memory)).value - best_memoryless(P).value
            )
        except NeverEnds:
            return np.nan
        return better / scale - CLEARLY

    def exactly(self, P: POMDP) -> Verdict:
        if repeats_an_observation(P):
            return Verdict(None, {"undecided": "an observation can come twice in an episode"})
        try:
            apart = lambda_discrepancy(P, uniform(P), norm=1, exact=True)
        except NeverEnds as error:
            return Verdict(None, {"undecided": str(error)})
        facts = {"lambda-discrepancy": str(apart)}
        if apart != 0:
            return Verdict(False, facts)
        without = best_memoryless(P, exact=True)
        with_it = best_memoryless(augment(P, self.memory), exact=True)
        facts |= {
            "best deterministic without memory": str(without.value),
            f"best deterministic with {self.memory}": str(with_it.value),
        }
        if not (without.certified and with_it.value > without.value):
            return Verdict(False if without.certified and with_it.certified else None, facts)
        certificates = [evidence.value_certificate(P, self.memory, with_it.policy, with_it.value)]
        if has_finite_horizon(P):
            pi = uniform(P)
            certificates.append(evidence.td_certificate(P, "none", td_values(P, pi, exact=True)))
            certificates.append(evidence.q_certificate(P, "none", evaluate(P, pi, exact=True)))
        return Verdict(True, facts, tuple(certificates))


def repeats_an_observation(P: POMDP) -> bool:
    """Whether an episode can show the same observation twice, in states that are not terminal."""
    alive = ~P.terminal.mask
    step = np.zeros((len(P.S), len(P.S)), dtype=bool)
    source = own_rows(P.p.row_ptr[:: len(P.A)])
    step[source, P.p.s_next] = True
    later: NDArray[np.bool_] = step.copy()
    for _ in range(len(P.S)):
        further = later | ((later.astype(int) @ step.astype(int)) > 0)
        if np.array_equal(further, later):
            break
        later = further
    shows = np.zeros((len(P.S), len(P.O)), dtype=bool)
    shows[P.omega.s, P.omega.o] = True
    again = (shows.astype(int) @ shows.T.astype(int)) > 0
    return bool((later & again)[np.ix_(alive, alive)].any())


# ---------------------------------------------------------------------- expressiveness


@dataclass(frozen=True)
class _AboutBits(_AboutValues):
    """The common part of the two statements about Proposition A.2 (1). Rewards do not matter to
    them."""

    shift_needs_no_discount = False

    def score(self, P: POMDP) -> float:
        found = self.exactly(P).holds
        return np.nan if found is None else 1.0 if found else NO


def promised_bits(P: POMDP, limit: int) -> int | None:
    """The k of Proposition A.2 (1) as printed. None if there are more beliefs than a limit."""
    try:
        u = reachable_beliefs(P, limit).u
    except TooManyBeliefs:
        return None
    return sum((n - 1).bit_length() for n in (len(P.O), len(P.A), u))


@dataclass(frozen=True)
class ExpressiveNotByBound(_AboutBits):
    """B(k) is sufficiently expressive, and the bound of Proposition A.2 (1) asks for more bits.

    Parameters
    ----------
    below : by how many bits at least.
    limit : tasks with more beliefs are left undecided.
    """

    below: int = 1
    limit: int = 40
    name = "expressive-not-by-bound"
    about = (
        "B(k) is sufficiently expressive although the bound of Proposition A.2 (1) "
        "asks for more bits"
    )

    def sentence(self) -> str:
        bits = "more bits" if self.below == 1 else f"at least {self.below} bits more"
        return f"B(k) is sufficiently expressive for some k, and the printed bound asks for {bits}."

    def exactly(self, P: POMDP) -> Verdict:
        bound = promised_bits(P, self.limit)
        if bound is None:
            return Verdict(None)
        k = bound - self.below
        if k < 0:
            return Verdict(False, {"printed bound": str(bound)})
        found = is_sufficiently_expressive(P, B(k) if k else none, limit=self.limit)
        facts = {"printed bound": str(bound), found.memory: found.reason}
        return Verdict(
            found.holds, facts, evidence.bits_certificates(P, found) if found.holds else ()
        )


@dataclass(frozen=True)
class BoundNotExpressive(_AboutBits):
    """B(k) is not sufficiently expressive for the k of Proposition A.2 (1) as printed.

    Parameters
    ----------
    limit : tasks with more beliefs are left undecided.
    """

    limit: int = 40
    name = "bound-not-expressive"
    about = "B(k) is not sufficiently expressive for the k of the printed Proposition A.2 (1)"

    def sentence(self) -> str:
        return "B(k) is not sufficiently expressive for the k that the printed bound gives."

    def exactly(self, P: POMDP) -> Verdict:
        k = promised_bits(P, self.limit)
        if k is None:
            return Verdict(None)
        found = is_sufficiently_expressive(P, B(k) if k else none, limit=self.limit)
        facts = {"printed bound": str(k), found.memory: found.reason}
        if found.holds is False:
            return Verdict(True, facts, evidence.bits_certificates(P, found))
        return Verdict(None if found.holds is None else False, facts)
