"""A statement about loops that never end (Section 5.2): round and round below the best memoryless
value.

With a fixed step the oracle loop may tend to a limit cycle. Around a best point that is what small
steps do: the cycle is below it by about the square of the step. The loop *chatters* if all policies
of the cycle are worth less than the best memoryless one by a clear share of the largest reward. On
[[0, 1], [1, 0]] it does with K1, B1 and O1, for every step: it stays at a saddle (claim T.saddle of
the ledger). `certificates.cycle` proves where a loop goes for ever; the policy that is better is
part of its certificate.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from workbench.certificates.cycle import certify_cycle
from workbench.core.augment import augment
from workbench.core.errors import WorkbenchError
from workbench.core.improve import improve
from workbench.core.policy import uniform
from workbench.core.pomdp import POMDP
from workbench.lab.loop_statements import BUDGET, proof_of_run
from workbench.lab.spaces import TaskSpace
from workbench.lab.statements import NO, Statement, Verdict, largest_reward, listed
from workbench.optima.best_memoryless import best_memoryless


@dataclass(frozen=True)
class OracleChatters(Statement):
    """With each of some memories, the oracle loop tends to a limit cycle clearly below the best
    memoryless value.

    Parameters
    ----------
    memory : a memory's name, or several.
    step, ties : of the loop.
    lost : how far below the whole cycle is at least, as a share of the largest reward.
    """

    memory: str | tuple[str, ...] = "B1"
    step: Fraction = Fraction(1, 50)
    ties: str = "last"
    lost: Fraction = Fraction(1, 20)
    name = "oracle-chatters"
    about = "the oracle loop never settles, and stays clearly below the best memoryless value"

    def __post_init__(self) -> None:
        self.read_memories("memory")
        for key in ("step", "lost"):
            object.__setattr__(self, key, Fraction(getattr(self, key)))
        if not self.lost > 0:
            raise WorkbenchError(f"lost is a share above 0, not {self.lost}")

    def sentence(self) -> str:
        return (
            f"From uniform the oracle loop with {listed(list(self.memory))}, step {self.step}, "
            f"never settles, and stays below the best memoryless value by {self.lost} of the "
            "largest reward or more."
        )

    def symmetries(self, space: TaskSpace) -> tuple[str, ...]:
        return "states", "observations", "scale"

    def score(self, P: POMDP) -> float:
        return min(self._score(P, memory) for memory in self.memory)

    def _score(self, P: POMDP, memory: str) -> float:
        E = augment(P, memory)
        run = improve(E, uniform(E), float(self.step), ties=self.ties, budget=BUDGET)
        if run.ended != "limit cycle":
            return NO
        highest = float(np.max(run.values[-run.window :]))
        below = float(best_memoryless(E).value) - highest
        return below / largest_reward(P) - float(self.lost)

    def exactly(self, P: POMDP) -> Verdict:
        facts: dict[str, str] = {}
        certificates = []
        for memory in self.memory:
            found = proof_of_run(certify_cycle, P, memory, self.step, self.ties)
            if found is None:
                return Verdict(None, {**facts, memory: "no limit cycle is proved"})
            low, high = Fraction(found["lowest"]), Fraction(found["highest"])
            facts[f"{memory} goes round between"] = f"{low} and {high}"
            better = found.get("better", {"value": str(high)})["value"]
            facts[f"{memory} could reach"] = better
            largest = max(abs(Fraction(r)) for r in P.R) or 1
            if Fraction(better) - high < self.lost * largest:
                # a better policy that is not known might still be as far above
                return Verdict(None, facts)
            certificates.append(found)
        return Verdict(True, facts, tuple(certificates))
