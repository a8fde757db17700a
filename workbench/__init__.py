"""A workbench for the theory of memory in partially observable reinforcement learning.

A POMDP goes in, a memory is attached, `augment` returns another POMDP; everything that evaluates,
improves, learns, searches or proves takes exactly that one kind of object. The names below are
loaded when they are first used, so that `import workbench` and the command line start at once.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from typing import Any

__version__ = "0.2.0.dev0"

_HOMES = {
    "POMDP": "workbench.core.pomdp",
    "Memory": "workbench.memories",
    "Policy": "workbench.core.policy",
    "augment": "workbench.core.augment",
    "Controller": "workbench.agents.controllers",
    "controller_of": "workbench.agents.controllers",
    "uniform": "workbench.core.policy",
    "evaluate": "workbench.core.evaluate",
    "simulate": "workbench.agents.simulate",
    "td_values": "workbench.core.td",
    "lambda_discrepancy": "workbench.evaluation.discrepancy",
    "discrepancy_loss": "workbench.evaluation.discrepancy",
    "gradient": "workbench.evaluation.gradient",
    "sweep_lambda": "workbench.evaluation.lambda_sweep",
    "transition_diagram": "workbench.evaluation.transition_diagram",
    "shortcuts": "workbench.core.shortcuts",
    "switch_values": "workbench.evaluation.switch_values",
    "improve": "workbench.core.improve",
    "policy_slice": "workbench.improvement.slice",
    "best_history": "workbench.optima.best_history",
    "best_memoryless": "workbench.optima.best_memoryless",
    "critical_points": "workbench.research.critical_points",
    "reachable_beliefs": "workbench.agents.beliefs",
    "is_sufficiently_expressive": "workbench.sufficiency.expressive",
    "can_encode_optimal": "workbench.sufficiency.can_encode",
    "diagnose": "workbench.research.diagnose",
    "frontier": "workbench.sufficiency.frontier",
    "equilibria": "workbench.equilibrium.equilibria",
    "soft_equilibria": "workbench.research.soft_equilibria",
    "subdivide": "workbench.research.subdivision",
    "mean_field": "workbench.equilibrium.mean_field",
    "phase_plane": "workbench.equilibrium.phase_plane",
    "observation_mdp": "workbench.equilibrium.observation_mdp",
    "learn": "workbench.learning.learn",
    "decreasing": "workbench.core.steps",
    "per_visit": "workbench.core.steps",
    "QLearning": "workbench.core.learners",
    "Sarsa": "workbench.core.learners",
    "ExpectedSarsa": "workbench.core.learners",
    "RLearning": "workbench.learning.textbook_learners",
    "SoftQLearning": "workbench.learning.textbook_learners",
    "SoftSarsa": "workbench.learning.textbook_learners",
    "ActorCritic": "workbench.learning.actor_critic",
    "PPO": "workbench.deep.settings",
    "RecurrentPPO": "workbench.deep.settings",
    "DDQN": "workbench.deep.settings",
    "MemoryPair": "workbench.deep.pair",
    "load_run": "workbench.deep.neural_run",
    "needs_memory": "workbench.sufficiency.needs_memory",
    "search": "workbench.lab.search",
    "repeat_episodes": "workbench.core.repetition",
    "with_goal": "workbench.agents.goal",
    "with_step_limit": "workbench.agents.step_limit",
    "from_arrays": "workbench.interop.arrays",
    "to_arrays": "workbench.interop.arrays",
    "random_pomdp": "workbench.lab.random_pomdp",
    "load_pomdp": "workbench.interop.pomdp_file",
    "save_pomdp": "workbench.interop.pomdp_file",
    "load_controller": "workbench.interop.controller_file",
    "save_controller": "workbench.interop.controller_file",
    "from_gymnasium": "workbench.interop.gym",
    "to_gymnasium": "workbench.interop.gym",
    "MemoryWrapper": "workbench.interop.gym",
    "load_drn": "workbench.interop.drn_file",
    "from_prism": "workbench.interop.prism",
    "from_umb": "workbench.interop.umb",
    "to_umb": "workbench.interop.umb",
    "export_drn": "workbench.interop.storm",
    "storm_value": "workbench.interop.storm",
}

_MODULES = {
    "memories": "workbench.memories",
    "figures": "workbench.figures",
    "widgets": "workbench.widgets",
    "lab": "workbench.lab",
}
"""Modules that are used by their name, as in `workbench.memories.B(1)`."""

_OPTIONAL = {"to_gymnasium": "gymnasium", "MemoryWrapper": "gymnasium"}
"""Names that cannot be imported without a package of an extra."""

# Without this, `from workbench import *` would fail where the extra is not installed.
__all__ = [
    name
    for name in (*_MODULES, *_HOMES)
    if name not in _OPTIONAL or importlib.util.find_spec(_OPTIONAL[name])
]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name not in _HOMES:
        raise AttributeError(f"module 'workbench' has no attribute {name!r}")
    importlib.import_module("workbench.memories")  # so that "trace1/2" is known wherever one goes
    if name == "improve":  # its table shows the best value too, which the core cannot look for
        importlib.import_module("workbench.optima.yardstick")
    found = getattr(importlib.import_module(_HOMES[name]), name)
    if inspect.isfunction(found):
        found = importlib.import_module("workbench.boundary").guard(found)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
