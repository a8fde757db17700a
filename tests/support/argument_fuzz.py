"""Every public name called with wrong arguments, one at a time.

`wrong_calls` lists the calls of a name that end in an error which is not the package's own:
the argument, its value and the error. Whatever is wrong, the error is a `WorkbenchError`.
"""

from __future__ import annotations

import contextlib
import io
import tempfile
import warnings
from collections.abc import Iterable
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import sympy
from file_fuzz import not_for_ever
from toy_tasks import small_task

import workbench
from workbench.core.errors import WorkbenchError
from workbench.core.pomdp import POMDP

SECONDS = 20
"""After so long a call counts as hanging."""


class _Own:
    """What no function knows."""

    def __repr__(self) -> str:
        return "an object"


VALUES: dict[str, Any] = {
    "None": None,
    "True": True,
    "-1": -1,
    "0": 0,
    "1.5": 1.5,
    "nan": float("nan"),
    "10**400": 10**400,
    "1j": 1j,
    "1/3": Fraction(1, 3),
    "''": "",
    "'x'": "x",
    "'\\0'": "\0",
    "b''": b"",
    "[]": [],
    "{}": {},
    "(1, 2)": (1, 2),
    "[[0]]": [[0]],
    "array": np.zeros((2, 2)),
    "object": _Own(),
    "class": _Own,
    "lambda": lambda: 0,
}


CALLED = {"step", "progress", "statement"}
"""Arguments that may be functions."""


@cache
def _task() -> POMDP:
    return small_task(
        "two steps",
        lambda s, a: {(("s", a) if s == "start" else "end", a): 1},
        "start",
        gamma=Fraction(9, 10),
    )


def _folder() -> Path:
    return Path(tempfile.mkdtemp())


def right_calls() -> dict[str, dict[str, Any]]:
    """A right call of each public function, by the names of its arguments."""
    P, pi = _task(), workbench.uniform(_task())
    none = workbench.augment(P, "none")
    plain = workbench.uniform(none)
    q = workbench.QLearning(epsilon=0.1)
    arrays = workbench.to_arrays(P)
    of_policy = {"P": P, "pi": pi, "exact": False}
    weighted = {**of_policy, "weights": "visits"}
    saved = _folder() / "task.POMDP"
    workbench.save_pomdp(P, saved)
    listed = _folder() / "task.drn"
    listed.write_text(workbench.export_drn(P))
    binary = _folder() / "task.umb"
    workbench.to_umb(P, binary)
    controller = workbench.controller_of(P, "none", plain)
    kept = _folder() / "controller.json"
    workbench.save_controller(controller, kept)
    return {
        "augment": {"P": P, "memory": "B1", "most": None},
        "controller_of": {"P": P, "memory": "none", "policy": plain},
        "uniform": {"P": P},
        "evaluate": {**weighted, "criterion": "return"},
        "simulate": {"P": P, "pi": pi, "seed": 0, "episodes": 2, "max_steps": 9},
        "td_values": {**weighted, "n": 1, "lam": None},
        "lambda_discrepancy": {**weighted, "lam": (0, 1), "norm": 2},
        "discrepancy_loss": {**weighted, "lam": (0, 1)},
        "gradient": of_policy,
        "shortcuts": weighted,
        "switch_values": of_policy,
        "improve": {**weighted, "step": 0.5, "ties": "last", "budget": 20, "criterion": "return"},
        "best_history": {"P": P, "exact": None, "max_beliefs": 9, "max_backups": 9}
        | {"max_seconds": 1.0, "tolerance": 0.1, "criterion": "return"},
        "best_memoryless": {"P": P, "deterministic": True, "exact": False}
        | {"start": pi, "max_nodes": 9, "max_seconds": 1.0, "criterion": "return"},
        "critical_points": {"P": P, "max_faces": 20, "max_boxes": 20, "max_seconds": 1.0},
        "reachable_beliefs": {"P": P, "limit": 20},
        "is_sufficiently_expressive": {"P": P, "memory": "B1", "limit": 20, "budget": 20},
        "can_encode_optimal": {"P": P, "memory": "B1", "limit": 20, "budget": 20}
        | {"max_seconds": 1.0},
        "diagnose": {"P": P, "memory": "none", "max_beliefs": 20, "max_seconds": 1.0},
        "frontier": {"P": P, "up_to": 1, "families": ("K",), "max_seconds": 1.0},
        "equilibria": {"P": P, "learner": q, "epsilon": 0.1, "exact": False, "most": 9}
        | {"symmetry": True, "branch": None, "nodes": 9},
        "soft_equilibria": {"P": P, "learner": workbench.SoftSarsa(lam=0), "temperature": 1}
        | {"most": 9},
        "subdivide": {"P": P, "learner": q, "epsilon": sympy.Symbol("e"), "gamma": None},
        "mean_field": {"P": P, "learner": q, "time": 1.0, "dt": 0.1, "initial": None, "kept": 9},
        "observation_mdp": {"P": P, "behaviour": pi, "weights": "visits", "exact": False},
        "learn": {"P": P, "learner": q, "steps": 9, "seeds": 1, "every": 3, "policies": True}
        | {"threads": 1, "progress": False},
        "needs_memory": {"P": P, "families": ("K",), "up_to": 1, "limits": None},
        "search": {"statement": "oracle-stuck", "over": _space(), "method": "random", "seed": 0}
        | {"tries": 1, "seconds": 1.0, "keep": 1, "exact": False, "memory": "B1"},
        "repeat_episodes": {"P": P},
        "with_goal": {"P": P, "goal": P.S[0], "within": 2, "steps": False},
        "with_step_limit": {"P": P, "T": 2, "reward": None},
        "from_arrays": {**arrays, "name": "arrays"},
        "to_arrays": {"P": P, "sparse": False},
        "random_pomdp": {"seed": 0, "states": 3, "observations": 2, "actions": 2}
        | {"gamma": 0.5, "ending": 0.5, "successors": 2, "emissions": 1, "rewards": (0, 1)},
        "load_pomdp": {"path": saved, "first": "auto", "goals": ()}
        | {"exact": None, "tolerance": None, "max_outcomes": 99},
        "save_pomdp": {"P": P, "path": _folder() / "again.POMDP"},
        "load_controller": {"P": P, "path": kept},
        "save_controller": {"controller": controller, "path": _folder() / "c", "form": "json"},
        "to_gymnasium": {"P": P, "render_mode": None},
        "MemoryWrapper": {"env": workbench.to_gymnasium(P), "memory": "B1", "flat": False},
        "export_drn": {"P": P, "policy": pi},
        "load_drn": {"path": listed, "reward": None, "gamma": 1},
        "from_umb": {"path": binary, "reward": None, "gamma": 1},
        "to_umb": {"P": P, "path": _folder() / "task.umb"},
        "Policy": {"P": P, "table": pi.prob.floats},
        "MemoryPair": {"P": P, "memory": "B1"},
        "decreasing": {"first": 0.5, "halving": 9.0},
        "per_visit": {"first": 1.0, "power": 1.0},
        "QLearning": {"epsilon": 0.1, "step": 0.1, "gamma": 0.5, "initial": 1.0}
        | {"max_episode_steps": 9},
        "Sarsa": {"lam": 0.5, "epsilon": 0.1, "step": 0.1, "gamma": 0.5, "initial": 1.0}
        | {"max_episode_steps": 9, "trace_cutoff": 0.1},
        "RLearning": {"epsilon": 0.1, "step": 0.1, "rate": 0.1, "initial": 1.0},
        "SoftQLearning": {"temperature": 1.0, "step": 0.1, "gamma": 0.5, "initial": 1.0},
        "ActorCritic": {"n": 5, "policy_step": 0.1, "value_step": 0.1, "gamma": 0.5, "v": 0.0}
        | {"max_episode_steps": 9, "update": "window"},
        "PPO": {"hidden": (8,), "learning_rate": 0.1, "environments": 2, "max_gradient": 0.5}
        | {"gamma": 0.5, "n": 8, "minibatches": 2, "epochs": 1, "clip": 0.1, "lam": 0.5},
        "DDQN": {"hidden": (8,), "batch": 8, "capacity": 90, "epsilon": 0.1, "target_every": 9},
        "Memory": {"name": "one", "M": ["m"], "W": ["w"], "Gamma": _stay, "eta": {"m": 1}},
        "Controller": {
            field: getattr(controller, field) for field in ("P", "names", "start", "act", "after")
        },
    }


def _stay(m: Any, *_: Any) -> dict[Any, int]:
    return {m: 1}


def _space() -> Any:
    from workbench.lab.sequences import SequenceTasks

    return SequenceTasks()


def wrong_calls(name: str, call: dict[str, Any], words: Iterable[str]) -> list[str]:
    """The calls that end in an error of another kind, each with its error."""
    found = []
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):  # "x" is a path too
        for key in call:
            for word in words:
                if key in CALLED and callable(VALUES[word]):
                    continue  # it is called, and the error is the caller's
                if error := error_of(name, {**call, key: VALUES[word]}):
                    found.append(f"{name}({key}={word}): {error}")
    return found


def error_of(name: str, call: dict[str, Any]) -> str:
    """The error of another kind that a call ends in, or nothing."""
    with (
        not_for_ever("it", SECONDS),
        warnings.catch_warnings(),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.simplefilter("error")
        try:
            getattr(workbench, name)(**call)
        except WorkbenchError:
            pass
        except Exception as error:
            return f"{type(error).__name__}: {str(error)[:90]}"
    return ""
