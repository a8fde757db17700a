"""Ids for `gymnasium.make`: workbench/gravity-v0, workbench/gravity-OA1-v0, ...

Nothing is built until an environment is made, and keywords reach the task:

>>> import gymnasium
>>> register_all()
>>> env = gymnasium.make("workbench/gravity-OA1-v0", press="arrive")
>>> env.unwrapped.P.name
'gravity×OA1'
"""

from __future__ import annotations

import importlib
from typing import Any

from workbench.core.augment import augment
from workbench.extras import need
from workbench.interop.gym.environment import POMDPEnv, to_gymnasium

MEMORIES = ("none", *(f"{kind}{k}" for kind in ("K", "B", "O", "OA") for k in (1, 2, 3)))
"""The memories that get ids; "none" is the task itself."""


def register_all() -> None:
    """Register every task, with every memory, in Gymnasium's registry."""
    gymnasium = need("gymnasium")
    for task in importlib.import_module("pomdps").TASKS:
        for memory in MEMORIES:
            env_id = f"workbench/{task}-v0" if memory == "none" else f"workbench/{task}-{memory}-v0"
            if env_id not in gymnasium.registry:
                gymnasium.register(
                    id=env_id,
                    entry_point="workbench.interop.gym.registration:make_registered",
                    kwargs={"task": task, "memory": memory},
                )


def make_registered(
    task: str, memory: str, render_mode: str | None = None, **arguments: Any
) -> POMDPEnv:
    """The environment of a registered id."""
    P = getattr(importlib.import_module("pomdps"), task)(**arguments)
    return to_gymnasium(P if memory == "none" else augment(P, memory), render_mode)
