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
from collections.abc import Iterable
from typing import Any

from workbench.core.augment import augment
from workbench.core.errors import WorkbenchError
from workbench.core.pomdp import POMDP
from workbench.extras import need
from workbench.interop.gym.environment import POMDPEnv, to_gymnasium

MEMORIES = ("none", *(f"{kind}{k}" for kind in ("K", "B", "O", "OA") for k in (1, 2, 3)))
"""The memories that get ids by default; "none" is the task itself."""


def register_all(module: str = "pomdps", memories: Iterable[str] = MEMORIES) -> None:
    """Register every task that a module offers, with every memory, in Gymnasium's registry.

    Parameters
    ----------
    module : the name of the module; the functions that its `__all__` lists make the tasks.
    memories : names such as "OA1".
    """
    gymnasium = need("gymnasium")
    source = importlib.import_module(module)
    for task in source.__all__:
        if not callable(getattr(source, task)):
            continue
        for memory in memories:
            env_id = f"workbench/{task}-v0" if memory == "none" else f"workbench/{task}-{memory}-v0"
            if env_id not in gymnasium.registry:
                gymnasium.register(
                    id=env_id,
                    entry_point="workbench.interop.gym.registration:make_registered",
                    kwargs={"module": module, "task": task, "memory": memory},
                )


def make_registered(
    module: str, task: str, memory: str, render_mode: str | None = None, **arguments: Any
) -> POMDPEnv:
    """The environment of a registered id."""
    P = getattr(importlib.import_module(module), task)(**arguments)
    if not isinstance(P, POMDP):
        raise WorkbenchError(f"{module}.{task} returned {P!r}, not a POMDP")
    return to_gymnasium(P if memory == "none" else augment(P, memory), render_mode)
