"""What was run of Figures 6 and 12: rewards and exact values, figure by figure."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from workbench.core.learners import Learner
from workbench.learning.run import Run
from workbench.output import write_whole
from workbench.reproduction.neural_figures import NEURAL_FIGURES, shown_name
from workbench.reproduction.neural_judge import runs_by_memory
from workbench.sweeps.experiment import Length
from workbench.sweeps.results import Results

NEURAL_RECORD = Path(__file__).with_name("neural_runs.npz")
"""What was run: rewards and exact values, `[seed, block]`, with settings and versions."""


def write_neural_record(all_results: Iterable[Results], versions: Mapping[str, str]) -> None:
    """Put results into the package's record, in place of earlier ones of the same figures.

    Parameters
    ----------
    versions : of the packages that they were computed with.
    """
    arrays, about = _recorded()
    for results in all_results:
        one = results.experiment
        assert one.length is not None
        about[one.id] = {
            "length": [one.length.seeds, one.length.steps, one.length.every],
            "methods": [panel.method.settings() for panel in one.panels],
            "versions": dict(versions),
        }
        arrays = {name: x for name, x in arrays.items() if not name.startswith(f"{one.id}/")}
        for name, run in runs_by_memory(results).items():
            assert run.measured is not None
            ends = [run.steps, run.every, *run.seeds]
            arrays[f"{one.id}/{name}/rewards"] = run.rewards.astype(np.float32)
            if run.episodes is not None:
                arrays[f"{one.id}/{name}/episodes"] = run.episodes.astype(np.int32)
            arrays[f"{one.id}/{name}/values"] = run.measured[:, -1]
            arrays[f"{one.id}/{name}/length"] = np.array(ends)
    ordered = {id: about[id] for id in NEURAL_FIGURES if id in about}
    sink = io.BytesIO()
    np.savez_compressed(sink, about=np.array(json.dumps({"figures": ordered})), **arrays)
    write_whole(NEURAL_RECORD, sink.getvalue())


def _recorded() -> tuple[dict[str, Any], dict[str, Any]]:
    """The arrays of the record, and what it says of each figure; nothing if there is none."""
    if not NEURAL_RECORD.exists():
        return {}, {}
    with np.load(NEURAL_RECORD, allow_pickle=False) as file:
        held = {name: file[name] for name in file.files}
    return held, json.loads(str(held.pop("about")))["figures"]


def read_neural_record() -> dict[str, Results]:
    """The recorded results by the id of their figure; their experiment has the length and the
    panels that were run."""
    held, about = _recorded()
    found = {}
    for id, told in about.items():
        one = replace(NEURAL_FIGURES[id], length=Length(*told["length"]))
        outcomes: dict[Any, Any] = {}
        kept = [p for p in one.panels if f"{id}/{shown_name(p, p.memories[0])}/length" in held]
        one = replace(one, panels=tuple(kept))
        for panel in one.panels:
            for memory in panel.memories:
                name = shown_name(panel, memory)
                steps, every, *seeds = held[f"{id}/{name}/length"].tolist()
                rewards = held[f"{id}/{name}/rewards"].astype(np.float64)
                measured = np.full(rewards.shape, np.nan)
                measured[:, -1] = held[f"{id}/{name}/values"]
                run = Run.from_rewards(
                    rewards,
                    every=every,
                    steps=steps,
                    seeds=seeds,
                    learner=panel.method.kind if isinstance(panel.method, Learner) else None,
                    measured=measured,
                )
                episodes = held.get(f"{id}/{name}/episodes")
                outcomes[panel.method, memory] = replace(run, episodes=episodes)
        found[id] = Results(one, outcomes)
    return found
