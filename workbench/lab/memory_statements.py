"""Statements about memories: what they can hold, and what optima they add.

    encodes-optimum                  one memory encodes an optimal policy, another does not
    more-memory-more-local-optima    without memory the return has one strict local maximum and no
                                     other local optimum; with the memory it has a strict one that
                                     is worse

A memory *encodes* an optimum of P (Section 4, Appendix A.2) if some memoryless policy of <P,
memory> is worth V*, the best value of a policy of the whole history. The policy proves it, with the
same value from the histories of P; that no policy of another memory does is decided on the
reachable beliefs, in rationals (`sufficiency.can_encode`).

Mueller and Montufar (2022) bound the number of critical points by degrees that grow with the states
that look alike; a memory tells more states apart, yet makes the polytope of policies larger. Both
counts come from `critical_points`, whose roots and signs are certified in ball arithmetic, so there
is nothing to confirm in rationals that is not certain already; a task on which a face stays
undecided is not judged.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from workbench.certificates.values import value_certificate
from workbench.core.augment import augment
from workbench.core.errors import NeverEnds, TooLarge, WorkbenchError
from workbench.core.evaluate import evaluate
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.lab.statements import CLEARLY, NO, Statement, Verdict, largest_reward
from workbench.memories import parse_memory
from workbench.optima.best_history import best_history
from workbench.optima.best_memoryless import best_memoryless
from workbench.research.critical_points import CriticalPoint, CriticalPoints, critical_points
from workbench.sufficiency.can_encode import Encoding, can_encode_optimal

MOST_FACES = 500
"""Products with more faces are not judged."""


@dataclass(frozen=True)
class EncodesOptimum(Statement):
    """Each of some memories encodes an optimal policy, and none of some others does.

    Parameters
    ----------
    memory : a memory's name, or several.
    but_not : memories that do not.
    """

    memory: str | tuple[str, ...] = "K2"
    but_not: str | tuple[str, ...] = "K1"
    name = "encodes-optimum"
    about = "some memories encode an optimal history-based policy, and others do not"

    def __post_init__(self) -> None:
        self.read_memories("memory", "but_not")

    def sentence(self) -> str:
        others = f", and with {' or '.join(self.but_not)} none is" if self.but_not else ""
        return (
            f"With {' and '.join(self.memory)} some memoryless policy is worth the best "
            f"history-based value{others}."
        )

    def score(self, P: POMDP) -> float:
        best = float(best_history(P).value)
        scale = largest_reward(P)
        lacks = {
            memory: (best - float(best_memoryless(augment(P, memory)).value)) / scale
            for memory in (*self.memory, *self.but_not)
        }
        if any(lacks[memory] > CLEARLY for memory in self.memory):
            return NO
        return min((lacks[memory] for memory in self.but_not), default=1.0) - CLEARLY

    def exactly(self, P: POMDP) -> Verdict:
        facts: dict[str, str] = {}
        certificates = []
        for memory in (*self.memory, *self.but_not):
            try:
                found = can_encode_optimal(P, memory)
            except (NeverEnds, TooLarge) as error:
                return Verdict(None, {**facts, "undecided": str(error)})
            if found.best is not None:
                facts["best history-based value"] = str(found.best)
            facts[memory] = "encodes an optimum" if found.holds else "does not encode an optimum"
            if found.holds is None:
                return Verdict(None, {**facts, memory: found.reason})
            if found.holds != (memory in self.memory):
                return Verdict(False, facts)
            if found.holds:
                E = augment(P, memory)
                pi = encoded_policy(E, found)
                value = evaluate(E, pi, exact=True).value
                if value != Fraction(str(found.best)):
                    return Verdict(None, {**facts, memory: f"its policy is worth {value}"})
                certificates.append(value_certificate(P, memory, pi, value))
        return Verdict(True, facts, tuple(certificates))


def encoded_policy(E: POMDP, found: Encoding) -> Policy:
    """The memoryless policy of E = <P, memory> that an encoding is about."""
    if found.policy is not None:
        return found.policy
    if found.choice is None:
        raise WorkbenchError(f"{found.memory} encodes no optimum of {found.task}")
    return Policy.deterministic(E, dict(found.choice), otherwise=E.A[0])


@dataclass(frozen=True)
class MoreLocalOptima(Statement):
    """A memory adds a strict local maximum that is worse than the best, where there was one
    maximum.

    Parameters
    ----------
    memory : "K1", "B1", "O1", "OA1", ...
    """

    memory: str = "K1"
    name = "more-memory-more-local-optima"
    about = "one local maximum without memory; with it a strict local maximum that is worse"

    def __post_init__(self) -> None:
        if parse_memory(self.memory).name == "none":
            raise WorkbenchError("memory must be more than none, to add anything")

    def sentence(self) -> str:
        return (
            "The memoryless return has one local maximum, and it is strict; with "
            f"{self.memory} there is a strict local maximum that is worse than the best."
        )

    def score(self, P: POMDP) -> float:
        try:
            found = critical_points(augment(P, self.memory), max_faces=MOST_FACES)
            pair = self._two_maxima(found, P)
            if pair is None or not has_one_maximum(critical_points(P, max_faces=MOST_FACES)):
                return NO
        except TooLarge:
            return np.nan
        best, worse = pair
        return (float(best.value) - float(worse.value)) / largest_reward(P)

    def exactly(self, P: POMDP) -> Verdict:
        try:
            without = critical_points(P, max_faces=MOST_FACES)
            with_it = critical_points(augment(P, self.memory), max_faces=MOST_FACES)
        except TooLarge as error:
            return Verdict(None, {"undecided": str(error)})
        facts = {"without memory": repr(without), f"with {self.memory}": repr(with_it)}
        alone = has_one_maximum(without)
        if alone is None:
            return Verdict(None, facts)
        pair = self._two_maxima(with_it, P) if alone else None
        if pair is None:
            # a maximum that is degenerate or in an undecided box might still be the worse one
            sure = not alone or (with_it.complete and not with_it.of_kind("degenerate"))
            return Verdict(False if sure else None, facts)
        best, worse = pair
        facts |= {
            "best local maximum": str(best.value),
            "worse strict local maximum": str(worse.value),
        }
        return Verdict(True, facts)

    def _two_maxima(
        self, found: CriticalPoints, P: POMDP
    ) -> tuple[CriticalPoint, CriticalPoint] | None:
        """The best local maximum, and a strict one that is clearly worse."""
        tops = found.of_kind("maximum")
        strict = [point for point in tops if point.strict]
        if not strict:
            return None
        best, worse = tops[0], strict[-1]
        room = CLEARLY * largest_reward(P)
        return (best, worse) if best.value - worse.value > room else None


def has_one_maximum(found: CriticalPoints) -> bool | None:
    """Whether there is one local maximum, a strict one. None if points are left undecided."""
    if not found.complete or found.flat or found.of_kind("degenerate"):
        return None
    maxima = found.of_kind("maximum")
    return len(maxima) == 1 and maxima[0].strict
