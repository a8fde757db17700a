"""n-step actor-critic (Section 5.1, Appendix D.1), in both readings of when it updates.

The paper says neither how v starts (here at 0; 1 is the optimistic start) nor how updates are
batched (here one a step, `update="window"`); both matter, so what it says about actor-critic is
judged under all four readings (`reproduction.judge`).
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np

from workbench.core.learners import Learner, OptionError, Shape

UPDATES = ("window", "batch")
"""When actor-critic makes its updates."""


@dataclass(frozen=True)
class ActorCritic(
    Learner, name="actor-critic", title="{n}-step actor-critic ({update}), v starts at {v:g},"
):
    """n-step actor-critic with a softmax policy that starts uniform.

    Parameters
    ----------
    n : how many rewards a return holds, at most, before v takes over.
    policy_step, value_step : the step sizes of the preferences and of v.
    gamma, max_episode_steps : as in `QLearning`.
    v : every v(o) at the start.
    update : "window", the textbook's: each pair is updated n steps later with its n-step return; or
        "batch", as A3C does: after n steps all of them are updated at once with what they have
        seen.

    >>> ActorCritic(n=20, update="batch", v=1)
    ActorCritic(n=20, policy_step=0.1, value_step=0.001, gamma=None, v=1, max_episode_steps=None,
    update='batch')

    See also: `PPO`, `QLearning`, `learn`.
    """

    module = "workbench.learning.actor_kernels"
    n: int = 5
    policy_step: float = 0.1
    value_step: float = 0.001
    gamma: float | None = None
    v: float = 0.0
    max_episode_steps: int | None = None
    update: str = "window"

    def check(self) -> None:
        if not isinstance(self.update, str) or self.update not in UPDATES:
            raise OptionError(
                f"update of ActorCritic must be {' or '.join(UPDATES)}, not {self.update!r}"
            )
        super().check()

    @property
    def kernel(self) -> Any:
        return getattr(import_module(self.module), f"{self.update}_actor_critic")

    def tables(self, nO: int, nA: int) -> dict[str, tuple[Shape, float]]:
        return {"h": ((nO, nA), 0.0), "v": ((nO,), float(self.v))}

    def preferred(self, tables: dict[str, Any]) -> Any:
        return tables["h"]

    def workspace(self, nO: int, nA: int, steps: int) -> dict[str, tuple[Shape, Any]]:
        whole = dict.fromkeys(("o_at", "a_at"), ((self.n,), np.uint64))
        return {**whole, "G_at": ((self.n,), float), "pi": ((nO * nA,), float)}

    def arguments(self, gamma: float, arrays: dict[str, Any]) -> Any:
        nA = len(arrays["h"]) // len(arrays["v"])
        may = np.reshape(arrays.get("allowed", np.ones(len(arrays["h"]))), (-1, nA))
        arrays["pi"][:] = (may / may.sum(axis=1, keepdims=True)).reshape(-1)
        powers = np.cumprod([1.0, *[gamma] * self.n])
        return super().arguments(gamma, {**arrays, "q": arrays["h"], "powers": powers})
