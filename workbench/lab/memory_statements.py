"""The statement that one memory encodes an optimal policy, and another does not.

A memory *encodes* an optimum of P (Section 4, Appendix A.2) if some memoryless policy of <P,
memory> is worth V*, the best value of a policy of the whole history. The policy proves it, with the
same value from the histories of P; that no policy of another memory does is decided on the
reachable beliefs, in rationals (`sufficiency.can_encode`).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from workbench.certificates.values import value_certificate
from workbench.core.augment import augment
from workbench.core.errors import NeverEnds, TooLarge, WorkbenchError
from workbench.core.evaluate import evaluate
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.lab.statements import CLEARLY, NO, Statement, Verdict, largest_reward
from workbench.optima.best_history import best_history
from workbench.optima.best_memoryless import best_memoryless
from workbench.sufficiency.can_encode import Encoding, can_encode_optimal


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
