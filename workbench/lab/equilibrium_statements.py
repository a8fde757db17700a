"""Statements on where a greedy learner can settle (`workbench.equilibrium`), for searches.

    no-fixed-point           no greedy policy is greedy on the values learned under it
    only-worst-fixed-point  there are fixed points, and all are worth what the worst policy is worth
    several-fixed-points     two fixed points are worth different amounts

In floats a task is judged by the mismatch d(g) = max [ q_g(o,a) - q_g(o, g(o)) ] of its greedy
policies g, divided by the largest reward; in rationals every policy is decided, and a certificate
lists them all.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from workbench.certificates.fixed_points import fixed_points_certificate
from workbench.core.augment import augment
from workbench.core.errors import WorkbenchError
from workbench.core.learners import QLearning, Sarsa
from workbench.core.pomdp import POMDP
from workbench.equilibrium.equilibria import Equilibria, equilibria
from workbench.equilibrium.greedy_cells import DenseTask, blocks
from workbench.equilibrium.learned_values import target_of
from workbench.lab.statements import CLEARLY, NO, Statement, Verdict, largest_reward
from workbench.memories import parse_memory
from workbench.optima.best_memoryless import best_memoryless

MOST_JUDGED = 20_000
"""Tasks with more greedy policies are not judged."""

MOST_LISTED = 5_000
"""Certificates list so many greedy policies, at most."""

LEARNERS: dict[str, Any] = {"qlearning": QLearning, "sarsa": Sarsa}


@dataclass(frozen=True)
class SettlingStatement(Statement):
    """The base of the statements about equilibria.

    Parameters
    ----------
    memory : of the task.
    epsilon : the exploration, a fraction in (0, 1].
    learner : "qlearning" or "sarsa", which is Sarsa(0).
    """

    memory: str = "none"
    epsilon: Fraction = Fraction(1, 10)
    learner: str = "qlearning"

    def __post_init__(self) -> None:
        parse_memory(self.memory)
        try:
            object.__setattr__(self, "epsilon", Fraction(self.epsilon))
        except (ValueError, TypeError):
            raise WorkbenchError(f"epsilon is a fraction, not {self.epsilon!r}") from None
        if not 0 < self.epsilon <= 1:
            raise WorkbenchError(f"epsilon must lie in (0, 1], not {self.epsilon}")
        if self.learner not in LEARNERS:
            raise WorkbenchError(f"learner is qlearning or sarsa, not {self.learner!r}")

    @property
    def _who(self) -> str:
        return f"{self._record.described} with {self.memory} and epsilon {self.epsilon}"

    @property
    def _record(self) -> Any:
        extra = {"lam": 0} if self.learner == "sarsa" else {}
        return LEARNERS[self.learner](epsilon=self.epsilon, **extra)

    def _judgeable(self, E: POMDP) -> DenseTask | None:
        task = DenseTask(E, target_of(self._record), float(self.epsilon))
        return task if task.ends and task.cells <= MOST_JUDGED else None

    def _decided(self, P: POMDP) -> tuple[Equilibria | None, tuple[dict[str, Any], ...]]:
        """All fixed points in rationals, and the certificate if it is short enough."""
        E = augment(P, self.memory)
        task = self._judgeable(E)
        if task is None:
            return None, ()
        listed = task.cells <= MOST_LISTED
        found = equilibria(E, self._record, exact=True, symmetry=not listed)
        if not found.complete or found.undefined:
            return None, ()
        return found, (fixed_points_certificate(P, self.memory, found),) if listed else ()

    def _facts(self, found: Equilibria) -> dict[str, str]:
        values = sorted({e.value for e in found})
        return {
            "greedy policies": f"{found.cells:,}",
            "fixed points": f"{len(found)}, {sum(e.strict for e in found)} of them strict",
            "their values": ", ".join(map(str, values)) or "-",
        }


@dataclass(frozen=True)
class NoFixedPoint(SettlingStatement):
    """Q-learning has no fixed point: no policy is greedy on the values learned under it."""

    name = "no-fixed-point"
    about = (
        "Q-learning (or Sarsa) has no fixed point: whichever policy it follows, the values learned "
        "make another action look better"
    )

    def sentence(self) -> str:
        return f"{self._who} has no fixed point."

    def score(self, P: POMDP) -> float:
        E = augment(P, self.memory)
        task = self._judgeable(E)
        if task is None:
            return np.nan
        least = np.inf
        for actions in blocks(E, task.rows, task.block_size()):
            least = min(least, float(np.nanmin(task.look_at(actions).worst)))
        return least / largest_reward(P) - CLEARLY

    def exactly(self, P: POMDP) -> Verdict:
        found, certificates = self._decided(P)
        if found is None:
            return Verdict(None)
        return Verdict(found.none_exists, self._facts(found), certificates)


@dataclass(frozen=True)
class OnlyWorstFixedPoint(SettlingStatement):
    """All fixed points are worth as little as the worst deterministic memoryless policy. There are
    some, and another policy is worth more."""

    name = "only-worst-fixed-point"
    about = "every fixed point of Q-learning (or Sarsa) is as bad as the worst policy"

    def sentence(self) -> str:
        return f"{self._who} has fixed points, and all are worth what the worst policy is worth."

    def _judged(self, P: POMDP, found: Equilibria, exact: bool) -> tuple[bool, Any, Any]:
        E = augment(P, self.memory)
        best = best_memoryless(E, exact=exact).value
        worst = -best_memoryless(E.scale_rewards(-1), exact=exact).value
        near = 0 if exact else CLEARLY * largest_reward(P)
        holds = len(found) > 0 and best - worst > near
        return holds and all(abs(e.value - worst) <= near for e in found), best, worst

    def score(self, P: POMDP) -> float:
        E = augment(P, self.memory)
        if self._judgeable(E) is None:
            return np.nan
        found = equilibria(E, self._record)
        holds, best, worst = self._judged(P, found, exact=False)
        return (best - worst) / largest_reward(P) if holds else NO

    def exactly(self, P: POMDP) -> Verdict:
        found, certificates = self._decided(P)
        if found is None:
            return Verdict(None)
        holds, best, worst = self._judged(P, found, exact=True)
        facts = {
            **self._facts(found),
            "best deterministic policy": str(best),
            "worst deterministic policy": str(worst),
        }
        return Verdict(holds, facts, certificates)


@dataclass(frozen=True)
class SeveralFixedPoints(SettlingStatement):
    """Two strict fixed points are worth different amounts: where learning settles depends on where
    it begins."""

    name = "several-fixed-points"
    about = "Q-learning (or Sarsa) has strict fixed points of different worth"

    def sentence(self) -> str:
        return f"{self._who} has strict fixed points that are worth different amounts."

    def score(self, P: POMDP) -> float:
        E = augment(P, self.memory)
        if self._judgeable(E) is None:
            return np.nan
        values = [e.value for e in equilibria(E, self._record) if e.strict]
        spread = (max(values) - min(values)) / largest_reward(P) if values else 0.0
        return spread if spread > CLEARLY else NO

    def exactly(self, P: POMDP) -> Verdict:
        found, certificates = self._decided(P)
        if found is None:
            return Verdict(None)
        values = {e.value for e in found if e.strict}
        return Verdict(len(values) > 1, self._facts(found), certificates)
