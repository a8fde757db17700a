"""Gymnasium both ways: environments explored into exact POMDPs, POMDPs as environments, memories
around any environment.

    from_gymnasium(env)         a finite environment as a POMDP
    to_gymnasium(P)             a POMDP as an environment
    MemoryWrapper(env, "OA3")   an environment with one of the paper's memories
    register_all()              every task and memory under an id such as workbench/gravity-OA1-v0

Needs the extra `gym`: pip install 'memory-workbench[gym]'. The names are loaded when they are first
used.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "from_gymnasium": "workbench.interop.gym.import_env",
    "CannotEnumerate": "workbench.interop.gym.draws",
    "MiniGridView": "workbench.interop.gym.minigrid_view",
    "to_gymnasium": "workbench.interop.gym.environment",
    "MemoryWrapper": "workbench.interop.gym.memory_wrapper",
    "register_all": "workbench.interop.gym.registration",
}

__all__ = [
    "CannotEnumerate",
    "MemoryWrapper",
    "MiniGridView",
    "from_gymnasium",
    "register_all",
    "to_gymnasium",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'workbench.interop.gym' has no attribute {name!r}")
    found = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
