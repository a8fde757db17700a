"""A workbench for the theory of memory in partially observable reinforcement learning.

A POMDP goes in, a memory is attached, `augment` returns another POMDP; everything that evaluates, improves, learns,
searches or proves takes exactly that one kind of object. The names below are loaded when they are first used, so that
`import workbench` and the command line start at once.
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "POMDP": "workbench.pomdp",
    "Memory": "workbench.memories",
    "Policy": "workbench.policy",
    "augment": "workbench.augmentation",
    "uniform": "workbench.policy",
    "evaluate": "workbench.evaluation",
    "simulate": "workbench.simulation",
    "td_values": "workbench.td",
    "lambda_discrepancy": "workbench.td",
    "shortcuts": "workbench.shortcut_search",
    "improve": "workbench.improvement",
    "best_history": "workbench.optimum",
    "best_memoryless": "workbench.optimum",
    "reachable_beliefs": "workbench.beliefs",
    "is_sufficiently_expressive": "workbench.expressiveness",
    "can_encode_optimal": "workbench.encoding",
    "learn": "workbench.learning",
    "QLearning": "workbench.learning",
    "Sarsa": "workbench.learning",
    "ActorCritic": "workbench.learning",
    "needs_memory": "workbench.necessity",
    "search": "workbench.lab.searching",
    "load_pomdp": "workbench.files",
    "save_pomdp": "workbench.files",
    "from_gymnasium": "workbench.gym",
    "to_gymnasium": "workbench.gym",
    "MemoryWrapper": "workbench.gym",
    "export_drn": "workbench.storm",
    "storm_value": "workbench.storm",
}

__all__ = ["memories", *_HOMES]


def __getattr__(name: str) -> Any:
    if name == "memories":
        return importlib.import_module("workbench.memories")
    if name not in _HOMES:
        raise AttributeError(f"module 'workbench' has no attribute {name!r}")
    found = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
