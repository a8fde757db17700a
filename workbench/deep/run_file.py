"""Runs of networks as files: curves, networks, and the state of training.

    run.save("cookie-O1.npz")
    run = load_run("cookie-O1.npz", MemoryPair(hallway_cookie(), "O1"))
    run.resume(steps=...)                       # bit for bit as if it had not stopped

The task is not in the file: who loads a run brings it, and it is checked by name and size. Arrays
are stored as they are, and nothing in a file is executed.
"""

from __future__ import annotations

import io
import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import jax
import numpy as np

from workbench.core.errors import WorkbenchError
from workbench.core.pomdp import POMDP
from workbench.deep.neural_run import NeuralRun
from workbench.deep.pair import MemoryPair, pair_of
from workbench.deep.settings import NEURAL_LEARNERS, Neural
from workbench.deep.train import restore_run, training_shape
from workbench.output import write_whole


def save_run(run: NeuralRun, path: str | Path) -> Path:
    """Write a run to a file. Its name ends in .npz."""
    path = Path(path)
    if path.suffix != ".npz":
        raise WorkbenchError(f"the file of a run ends in .npz, not {path.name!r}")
    if run.pair is None or len(run.training) < len(run.seeds):
        raise WorkbenchError("this run does not hold what training goes on from")
    assert isinstance(run.learner, Neural)
    assert run.episodes is not None
    about = {
        "learner": run.learner.settings(),
        "task": _described(run.pair),
        "steps": run.steps,
        "every": run.every,
        "seeds": list(run.seeds),
        "seconds": run.seconds,
    }
    arrays = {"rewards": run.rewards, "episodes": run.episodes}
    for i, state in enumerate(run.training):
        for j, leaf in enumerate(jax.tree.leaves(state)):
            is_key = jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key)
            arrays[f"{i}/{j}"] = np.asarray(jax.random.key_data(leaf) if is_key else leaf)
    sink = io.BytesIO()
    np.savez_compressed(sink, about=np.array(json.dumps(about)), **arrays)  # type: ignore[arg-type]
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, sink.getvalue())
    return path


def read_run(path: str | Path, P: POMDP | MemoryPair) -> NeuralRun:
    """Read a run from a file.

    Parameters
    ----------
    P : what it ran on, as it was given to `learn`.
    """
    with np.load(path, allow_pickle=False) as file:
        held = {name: file[name] for name in file.files}
    about = json.loads(str(held["about"]))
    pair = pair_of(P)
    if about["task"] != _described(pair):
        raise WorkbenchError(
            f"{path} is a run on {about['task']['name']}, not on {pair.name}, or that has changed"
        )
    learner = _learner(about["learner"])
    shape = training_shape(P, learner)
    leaves, structure = jax.tree.flatten(shape)
    training = []
    for i in range(len(about["seeds"])):
        found = [_leaf(held[f"{i}/{j}"], wanted) for j, wanted in enumerate(leaves)]
        training.append(jax.tree.unflatten(structure, found))
    return restore_run(
        P,
        learner,
        tuple(about["seeds"]),
        about["steps"],
        about["every"],
        held["rewards"],
        held["episodes"],
        training,
        about["seconds"],
    )


def _leaf(array: Any, wanted: Any) -> Any:
    """An array as it was before it was stored. A random key is kept as its data."""
    if jax.dtypes.issubdtype(wanted.dtype, jax.dtypes.prng_key):
        return jax.random.wrap_key_data(array)
    return jax.numpy.asarray(array, wanted.dtype)


def _described(pair: MemoryPair) -> dict[str, Any]:
    return {"name": pair.name, "symbols": list(pair.symbols), "actions": pair.actions}


def _learner(settings: dict[str, Any]) -> Neural:
    kinds = {kind.__name__: kind for kind in NEURAL_LEARNERS.values()}
    kind = kinds[settings["learner"]]
    known = {field.name for field in fields(kind)}
    given = {name: x for name, x in settings.items() if name in known}
    return kind(**given | {"hidden": tuple(settings["hidden"])})
