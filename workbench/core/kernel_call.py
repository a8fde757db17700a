"""What each learner needs to run: its kernel, its tables, its workspace and the order of its
arguments."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.actor_kernels import actor_critic, batch_actor_critic
from workbench.core.errors import WrongType
from workbench.core.learners import (
    ActorCritic,
    DoubleQLearning,
    Learner,
    MonteCarlo,
    NStepSarsa,
    Prediction,
    QLearning,
    RLearning,
    Sarsa,
    SoftQLearning,
    SoftSarsa,
)
from workbench.core.random_kernels import TWO53
from workbench.core.sarsa_kernels import sarsa
from workbench.core.steps import Decreasing, PerVisit
from workbench.core.value_kernels import (
    StepRule,
    double_q_learning,
    monte_carlo,
    q_learning,
    r_learning,
)
from workbench.core.window_kernels import n_step_sarsa

Tables = dict[str, NDArray[np.float64]]
Workspace = dict[str, NDArray[Any]]

_NO_LIMIT = 2**63


class KernelCall:
    """A learner on a POMDP of |O| observations and |A| actions. Tables belong to a run, a workspace
    to a thread."""

    kernel: Callable[..., int]
    specialises = True
    """Whether the kernel is faster when |A| is known to the compiler."""

    def __init__(self, nO: int, nA: int, learner: Any, gamma: float):
        self.nO, self.nA, self.learner, self.gamma = nO, nA, learner, gamma
        cut = learner.max_episode_steps
        self.limit = np.uint64(_NO_LIMIT if cut is None else cut)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each table."""
        return {"q": (self.nO, self.nA)}

    def initial(self) -> dict[str, float]:
        """What each table holds at the start."""
        return dict.fromkeys(self.shapes(), float(self.learner.initial))

    def workspace(self) -> Workspace:
        """Arrays that a thread uses for one run after another."""
        return self.counters()

    def workspace_bytes(self) -> int:
        return sum(array.nbytes for array in self.counters().values())

    def arguments(self, tables: Tables, workspace: Workspace) -> tuple[Any, ...]:
        """The kernel's arguments after the ones that all kernels share. Tables are passed flat."""
        raise NotImplementedError

    def prepare(self, workspace: Workspace) -> None:
        """Make the workspace fit for a new run."""
        if "updates" in workspace:
            workspace["updates"].fill(0.0)

    def enlarge(self, workspace: Workspace) -> None:
        """Make room after a kernel stopped for lack of it."""
        raise NotImplementedError

    def step(self, workspace: Workspace) -> StepRule:
        """The step as kernels take it."""
        step = self.learner.step
        if isinstance(step, Decreasing):
            return StepRule(float(step.first), float(step.halving), None, None)
        if isinstance(step, PerVisit):
            return StepRule(float(step.first), None, workspace["updates"], float(step.power))
        return StepRule(float(step), None, None, None)

    def counters(self) -> Workspace:
        """The part of a workspace that counts the updates of each entry, if the step asks."""
        counts = isinstance(getattr(self.learner, "step", None), PerVisit)
        return {"updates": np.zeros(self.nO * self.nA)} if counts else {}

    def thresholds(self, probability: float) -> np.uint64:
        return np.uint64(math.floor(probability * TWO53))


def powers_up_to(n: int, gamma: float) -> NDArray[np.float64]:
    """gamma^0 to gamma^n, each made of the one before it."""
    powers = np.ones(n + 1)
    for k in range(n):
        powers[k + 1] = powers[k] * gamma
    return powers


class QLearningCall(KernelCall):
    kernel = staticmethod(q_learning)

    def arguments(self, tables: Tables, workspace: Workspace) -> tuple[Any, ...]:
        L = self.learner
        return (
            tables["q"].reshape(-1),
            self.thresholds(L.epsilon),
            self.step(workspace),
            self.gamma,
            self.limit,
            None,
            None,
        )


class SoftQLearningCall(KernelCall):
    kernel = staticmethod(q_learning)

    def workspace(self) -> Workspace:
        return {"weights": np.empty(self.nA), **self.counters()}

    def workspace_bytes(self) -> int:
        return 8 * self.nA + super().workspace_bytes()

    def arguments(self, tables: Tables, workspace: Workspace) -> tuple[Any, ...]:
        step, temperature = self.step(workspace), float(self.learner.temperature)
        numbers = (self.thresholds(0.0), step, self.gamma, self.limit, temperature)
        return (tables["q"].reshape(-1), *numbers, workspace["weights"])


class DoubleQLearningCall(KernelCall):
    kernel = staticmethod(double_q_learning)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"q1": (self.nO, self.nA), "q2": (self.nO, self.nA)}

    def arguments(self, tables: Tables, workspace: Workspace) -> tuple[Any, ...]:
        L = self.learner
        q1, q2 = tables["q1"].reshape(-1), tables["q2"].reshape(-1)
        step = self.step(workspace)
        return (q1, q2, self.thresholds(L.epsilon), step, self.gamma, self.limit)


class MonteCarloCall(KernelCall):
    kernel = staticmethod(monte_carlo)

    def workspace(self) -> Workspace:
        room = min(4096, int(self.limit))
        episode: Workspace = {"pair_at": np.empty(room, dtype=np.uint32), "r_at": np.empty(room)}
        return {**episode, **self.counters()}

    def enlarge(self, workspace: Workspace) -> None:
        for name in ("pair_at", "r_at"):
            old = workspace[name]
            workspace[name] = np.empty(4 * len(old), dtype=old.dtype)
            workspace[name][: len(old)] = old

    def arguments(self, tables: Tables, workspace: Workspace) -> tuple[Any, ...]:
        L = self.learner
        episode = (workspace["pair_at"], workspace["r_at"])
        return (
            tables["q"].reshape(-1),
            *episode,
            self.thresholds(L.epsilon),
            self.step(workspace),
            self.gamma,
            self.limit,
        )


class RLearningCall(KernelCall):
    kernel = staticmethod(r_learning)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"q": (self.nO, self.nA), "rho": (1,)}

    def initial(self) -> dict[str, float]:
        return {"q": float(self.learner.initial), "rho": 0.0}

    def arguments(self, tables: Tables, workspace: Workspace) -> tuple[Any, ...]:
        L = self.learner
        return (
            tables["q"].reshape(-1),
            tables["rho"],
            self.thresholds(L.epsilon),
            self.step(workspace),
            float(L.rate),
            self.limit,
        )


class SarsaCall(KernelCall):
    kernel = staticmethod(sarsa)

    def workspace(self) -> Workspace:
        entries = self.nO * self.nA
        return {
            "active": np.empty(entries, dtype=np.uint32),
            "z": np.empty(entries),
            "place": np.zeros(entries, dtype=np.uint32),
            "q_old_at": np.zeros(1),
            **self.counters(),
        }

    def workspace_bytes(self) -> int:
        return 16 * self.nO * self.nA + super().workspace_bytes()

    def prepare(self, workspace: Workspace) -> None:
        super().prepare(workspace)
        workspace["place"].fill(0)

    def choice(self) -> tuple[Any, np.uint64]:
        """How actions are chosen: thresholds of a fixed policy, epsilon."""
        return None, self.thresholds(self.learner.epsilon)

    def arguments(self, tables: Tables, workspace: Workspace) -> tuple[Any, ...]:
        L = self.learner
        traces = (workspace["active"], workspace["z"], workspace["place"], workspace["q_old_at"])
        behaviour, epsilon = self.choice()
        numbers = (self.gamma, float(L.lam), float(L.trace_cutoff), self.limit)
        chosen = (behaviour, epsilon, self.step(workspace))
        return (tables["q"].reshape(-1), *traces, *chosen, *numbers, *self.softness(workspace))

    def softness(self, workspace: Workspace) -> tuple[Any, Any]:
        """The temperature of a softmax, and room for its weights."""
        return None, None


class SoftSarsaCall(SarsaCall):
    def workspace(self) -> Workspace:
        return {"weights": np.empty(self.nA), **super().workspace()}

    def workspace_bytes(self) -> int:
        return 8 * self.nA + super().workspace_bytes()

    def choice(self) -> tuple[Any, np.uint64]:
        return None, self.thresholds(0.0)

    def softness(self, workspace: Workspace) -> tuple[Any, Any]:
        return float(self.learner.temperature), workspace["weights"]


class NStepSarsaCall(KernelCall):
    kernel = staticmethod(n_step_sarsa)

    def workspace(self) -> Workspace:
        n = self.learner.n
        return {
            "i_at": np.empty(n, dtype=np.uint64),
            "G_at": np.empty(n),
            "powers": powers_up_to(n, self.gamma),
            "oldest_at": np.zeros(1, dtype=np.uint64),
            **self.counters(),
        }

    def workspace_bytes(self) -> int:
        return 24 * self.learner.n + super().workspace_bytes()

    def prepare(self, workspace: Workspace) -> None:
        super().prepare(workspace)
        workspace["oldest_at"].fill(0)

    def arguments(self, tables: Tables, workspace: Workspace) -> tuple[Any, ...]:
        window = tuple(workspace[name] for name in ("i_at", "G_at", "powers", "oldest_at"))
        chosen = (self.thresholds(self.learner.epsilon), self.step(workspace), self.limit)
        return (tables["q"].reshape(-1), *window, *chosen)


class PredictionCall(SarsaCall):
    specialises = False

    def choice(self) -> tuple[Any, np.uint64]:
        pi = self.learner.policy.prob.floats
        behaviour = (
            np.floor(np.minimum(np.cumsum(pi, axis=1), 1.0) * TWO53).astype(np.uint64).reshape(-1)
        )
        return behaviour, np.uint64(0)

    def step(self, workspace: Workspace) -> StepRule:
        halving = None if self.learner.halving is None else float(self.learner.halving)
        return StepRule(float(self.learner.step), halving, None, None)


class ActorCriticCall(KernelCall):
    kernel: Callable[..., int] = staticmethod(actor_critic)
    specialises = False  # with |A| open the compiler computes several exponentials at once

    def shapes(self) -> dict[str, tuple[int, ...]]:
        return {"h": (self.nO, self.nA), "v": (self.nO,)}

    def initial(self) -> dict[str, float]:
        return {"h": 0.0, "v": float(self.learner.v)}

    def workspace(self) -> Workspace:
        n = self.learner.n
        return {
            "pi": np.empty(self.nO * self.nA),
            "o_at": np.empty(n, dtype=np.uint64),
            "a_at": np.empty(n, dtype=np.uint64),
            "G_at": np.empty(n),
            "powers": powers_up_to(n, self.gamma),
            "oldest_at": np.zeros(1, dtype=np.uint64),
        }

    def workspace_bytes(self) -> int:
        return 8 * self.nO * self.nA + 32 * self.learner.n

    def prepare(self, workspace: Workspace) -> None:
        workspace["pi"].fill(1.0 / self.nA)
        workspace["oldest_at"].fill(0)

    def arguments(self, tables: Tables, workspace: Workspace) -> tuple[Any, ...]:
        L = self.learner
        steps = (float(L.policy_step), float(L.value_step), self.limit)
        return (tables["h"].reshape(-1), tables["v"], *workspace.values(), *steps)


class BatchActorCriticCall(ActorCriticCall):
    kernel = staticmethod(batch_actor_critic)

    def arguments(self, tables: Tables, workspace: Workspace) -> tuple[Any, ...]:
        L = self.learner
        batch = tuple(workspace[name] for name in ("pi", "o_at", "a_at", "G_at"))
        numbers = (self.gamma, float(L.policy_step), float(L.value_step), self.limit)
        return (tables["h"].reshape(-1), tables["v"], *batch, *numbers)


KERNEL_CALLS: dict[type[Learner], type[KernelCall]] = {
    QLearning: QLearningCall,
    DoubleQLearning: DoubleQLearningCall,
    MonteCarlo: MonteCarloCall,
    RLearning: RLearningCall,
    Sarsa: SarsaCall,
    NStepSarsa: NStepSarsaCall,
    SoftQLearning: SoftQLearningCall,
    SoftSarsa: SoftSarsaCall,
    Prediction: PredictionCall,
    ActorCritic: ActorCriticCall,
}


def kernel_call_for(nO: int, nA: int, learner: Any, gamma: float) -> KernelCall:
    """How the kernel of a learner is called."""
    if type(learner) not in KERNEL_CALLS:
        known = ", ".join(f"{kind.__name__}(...)" for kind in KERNEL_CALLS)
        bare = isinstance(learner, type) and learner in KERNEL_CALLS
        hint = f"write {learner.__name__}(), with brackets" if bare else f"choose one of {known}"
        raise WrongType(f"unknown learner {learner!r}: {hint}")
    kind = KERNEL_CALLS[type(learner)]
    if isinstance(learner, ActorCritic) and learner.update == "batch":
        kind = BatchActorCriticCall
    return kind(nO, nA, learner, gamma)
