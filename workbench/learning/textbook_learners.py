"""The textbooks' other learners on tables: what the paper does not run, but is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from workbench.core.errors import WrongType
from workbench.core.learners import Learner, QLearning, Shape, Target, TracedLearner
from workbench.core.numbers import number
from workbench.core.policy import Policy
from workbench.core.pomdp import POMDP
from workbench.core.steps import StepSchedule

KERNELS = "workbench.learning.textbook_kernels"


@dataclass(frozen=True)
class MonteCarlo(QLearning, name="monte-carlo", title="Monte Carlo"):
    """Every-visit Monte Carlo control with a constant step size, epsilon-greedy. Its settings are
    those of `QLearning`.

    Nothing is learned before an episode ends: a policy that may wander for ever needs
    `max_episode_steps`.
    """

    module = KERNELS
    kernel_name = "monte_carlo"

    @property
    def target(self) -> Target:
        return Target(greedy=False, lam=1)

    def workspace(self, nO: int, nA: int, steps: int) -> dict[str, tuple[Shape, Any]]:
        # As long as the longest episode; the system hands zeros out only where they are used.
        longest = min(steps, self.max_episode_steps or steps)
        episode = {"pair_at": ((longest,), np.uint32), "r_at": ((longest,), float)}
        return {**super().workspace(nO, nA, steps), **episode}


@dataclass(frozen=True)
class RLearning(Learner, name="r-learning", title="R-learning"):
    """R-learning (Schwartz 1993): Q-learning for average reward, epsilon-greedy, ties broken at
    random. Episodes follow one another, and no reward is discounted.

    Parameters
    ----------
    epsilon, step, initial, max_episode_steps : as in `QLearning`.
    rate : the step size of the average reward rho, which starts at 0.

    >>> RLearning(epsilon=0.1)
    RLearning(epsilon=0.1, step=0.1, rate=0.01, initial=0.0, max_episode_steps=None)

    See also: `QLearning`, `repeat_episodes`, `learn`.
    """

    module = KERNELS
    kernel_name = "r_learning"
    epsilon: float = 0.01
    step: float | StepSchedule = 0.1
    rate: float = 0.01
    initial: float = 0.0
    max_episode_steps: int | None = None

    def tables(self, nO: int, nA: int) -> dict[str, tuple[Shape, float]]:
        return {**super().tables(nO, nA), "rho": ((1,), 0.0)}


@dataclass(frozen=True)
class NStepSarsa(Learner, name="n-step-sarsa", title="{n}-step Sarsa"):
    """n-step Sarsa (Sutton and Barto 2018, Section 7.2), epsilon-greedy, ties broken at random.

    Parameters
    ----------
    n : how many rewards a return holds, at most, before q takes over; 1 is Sarsa(lam=0).
    epsilon, step, gamma, initial, max_episode_steps : as in `QLearning`.

    >>> NStepSarsa(n=8)
    NStepSarsa(n=8, epsilon=0.01, step=0.1, gamma=None, initial=1.0, max_episode_steps=None)
    """

    module = KERNELS
    kernel_name = "n_step_sarsa"
    n: int = 4
    epsilon: float = 0.01
    step: float | StepSchedule = 0.1
    gamma: float | None = None
    initial: float = 1.0
    max_episode_steps: int | None = None

    @property
    def target(self) -> Target:
        return Target(greedy=False, n=self.n)

    def workspace(self, nO: int, nA: int, steps: int) -> dict[str, tuple[Shape, Any]]:
        window: dict[str, tuple[Shape, Any]] = {"G_at": ((self.n,), float)}
        window |= dict.fromkeys(("o_at", "a_at"), ((self.n,), np.uint64))
        return {**super().workspace(nO, nA, steps), **window}

    def arguments(self, gamma: float, arrays: dict[str, Any]) -> Any:
        powers = np.cumprod([1.0, *[gamma] * self.n])
        return super().arguments(gamma, {**arrays, "powers": powers})


@dataclass(frozen=True)
class SoftQLearning(Learner, name="soft-q", title="Q-learning by a softmax"):
    """Q-learning that acts by a softmax of its table, pi(a|o) proportional to
    exp(q(o, a) / temperature).

    Parameters
    ----------
    temperature : how much worse actions are still taken: a positive number.
    step, gamma, initial, max_episode_steps : as in `QLearning`.

    >>> SoftQLearning(temperature=0.5)
    SoftQLearning(temperature=0.5, step=0.1, gamma=None, initial=1.0, max_episode_steps=None)

    See also: `SoftSarsa`, `soft_equilibria`, `learn`.
    """

    module = KERNELS
    kernel_name = "soft_q_learning"
    temperature: float = 1.0
    step: float | StepSchedule = 0.1
    gamma: float | None = None
    initial: float = 1.0
    max_episode_steps: int | None = None

    @property
    def target(self) -> Target:
        return Target(greedy=True)

    def workspace(self, nO: int, nA: int, steps: int) -> dict[str, tuple[Shape, Any]]:
        return {**super().workspace(nO, nA, steps), "weights": ((nA,), float)}


@dataclass(frozen=True)
class SoftSarsa(TracedLearner, name="soft-sarsa", title="Sarsa({lam:g}) by a softmax"):
    """True online Sarsa(lambda) that acts by a softmax of its table, as `SoftQLearning` does.

    Parameters
    ----------
    temperature : as in `SoftQLearning`.
    lam, step, gamma, initial, max_episode_steps, trace_cutoff : as in `Sarsa`.

    >>> SoftSarsa(temperature=0.3, lam=0).described
    'Sarsa(0) by a softmax'

    See also: `SoftQLearning`, `soft_equilibria`, `learn`.
    """

    module = KERNELS
    kernel_name = "soft_sarsa"
    temperature: float = 1.0
    lam: float = 0.5
    step: float | StepSchedule = 0.1
    gamma: float | None = None
    initial: float = 1.0
    max_episode_steps: int | None = None
    trace_cutoff: float = 1e-8

    @property
    def target(self) -> Target:
        return Target(greedy=False, lam=number(self.lam))

    def workspace(self, nO: int, nA: int, steps: int) -> dict[str, tuple[Shape, Any]]:
        return {**super().workspace(nO, nA, steps), "weights": ((nA,), float)}


@dataclass(frozen=True)
class Prediction(TracedLearner):
    """True online Sarsa(lambda) that follows a fixed policy: it learns q-values and does not act on
    them.

    Parameters
    ----------
    policy : the policy to follow, one for the POMDP that is learned.
    lam, step, gamma, initial, max_episode_steps, trace_cutoff : as in `Sarsa`.
    """

    module = KERNELS
    kernel_name = "predict"
    policy: Policy
    lam: float = 0.0
    step: float | StepSchedule = 0.1
    gamma: float | None = None
    initial: float = 0.0
    max_episode_steps: int | None = None
    trace_cutoff: float = 1e-8

    @property
    def target(self) -> Target:
        raise WrongType(f"Prediction follows {self.policy!r} and has no equilibria")

    def check(self) -> None:
        if not isinstance(self.policy, Policy):
            raise WrongType(f"policy of Prediction is a Policy, not {self.policy!r}")
        super().check()

    def check_task(self, P: POMDP) -> None:
        self.policy.fits(P)

    def arguments(self, gamma: float, arrays: dict[str, Any]) -> Any:
        found = super().arguments(gamma, arrays)
        pi = np.minimum(np.cumsum(self.policy.prob.floats, axis=1), 1.0)
        behaviour = np.floor(pi * 2.0**53).astype(np.uint64).reshape(-1)
        return found._replace(behaviour=behaviour)
