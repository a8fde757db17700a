"""The record: what the full runs of the learners' figures gave, kept so that nobody has to repeat
them to judge by them.

`full_runs.npz` holds, for each method and memory of Figures 2, 3, 4 and 11, the whole number of
rewards in each block, `rewards[seed, block]`, of the 30 seeds at the figure's length; for Figure 3
also the values of the greedy policies. A seed gives a run bit for bit, so every entry can be made
again: `differing_runs` compares results, whole or of some seeds, with the record, and
`workbench reproduce` says whether what it computed is what is recorded.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import WorkbenchError
from workbench.core.learners import Learner, Sarsa
from workbench.learning.run import Run
from workbench.output import write_whole
from workbench.reproduction.paper_figures import FIGURES
from workbench.sweeps.experiment import Experiment, Method
from workbench.sweeps.results import Results

RECORD = Path(__file__).with_name("full_runs.npz")

FRESH = range(30, 150)
"""Seeds that were run after those of the figures had left a comparison undecided: as many as were
asked for beforehand, none of those that raised the question."""

FRESH_RUNS = (("fig11", Sarsa(lam=0.5), "O1"), ("fig11", Sarsa(lam=0.5), "OA1"))
"""The runs of which these seeds are recorded: which of the two is the steadier."""


def name_of(experiment: Experiment, method: Method, memory: str) -> str:
    """A run's name in the record: its task, memory, settings and length.

    >>> name_of(FIGURES["fig11"], FIGURES["fig11"].panels[0].method, "O1")[:50]
    'gravity; O1; Sarsa, lam 0.0, epsilon 0.01, step 0.'
    """
    settings = {key: x for key, x in method.settings().items() if x is not None}
    kind = settings.pop("learner")
    length = experiment.length
    assert length is not None  # only learners' figures are recorded
    told = ", ".join([kind, *(f"{key} {x}" for key, x in settings.items())])
    return f"{experiment.task}; {memory}; {told}; {length.steps} steps, blocks of {length.every}"


@cache
def _entries() -> Mapping[str, NDArray[Any]]:
    with np.load(RECORD, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def recorded_results(id: str) -> Results:
    """The recorded results of a figure, such as "fig2".

    >>> recorded_results("fig3").experiment.length.seeds
    30
    """
    experiment = FIGURES[id]
    if experiment.length is None:
        raise WorkbenchError(f"{experiment.place} has no chance in it: it is not recorded")
    steps, every = experiment.length.steps, experiment.length.every
    outcomes = {}
    for method, memory in experiment.pairs:
        name = name_of(experiment, method, memory)
        if name not in _entries():
            raise WorkbenchError(f"the record has no {name}")
        values = _entries().get(f"{name}; values")
        outcomes[method, memory] = Run.from_rewards(
            _entries()[name], every=every, steps=steps, measured=values
        )
    return Results(experiment, outcomes)


def fresh_run(id: str, method: Method, memory: str) -> Run:
    """The recorded run of a figure's method and memory with fresh seeds.

    >>> fresh_run(*FRESH_RUNS[0]).rewards.shape
    (120, 100)
    """
    experiment = FIGURES[id]
    name = _fresh(name_of(experiment, method, memory))
    if name not in _entries() or experiment.length is None:
        raise WorkbenchError(f"the record has no {name}")
    steps, every = experiment.length.steps, experiment.length.every
    return Run.from_rewards(_entries()[name], every=every, steps=steps, seeds=list(FRESH))


def _fresh(name: str) -> str:
    return f"{name}; seeds {FRESH[0]} to {FRESH[-1]}"


def _kept(name: str, seeds: list[int]) -> NDArray[Any] | None:
    """What the record has of some seeds of a run, those of the figure or fresh ones."""
    if set(seeds) <= set(FRESH):
        name, seeds = _fresh(name), [seed - FRESH[0] for seed in seeds]
    return _entries()[name][seeds] if name in _entries() else None


def _rewards(run: Run) -> NDArray[np.uint16]:
    """The whole number of rewards in each block."""
    whole = np.rint(run.rewards)
    if not np.array_equal(run.rewards, whole) or whole.min() < 0 or whole.max() > 65_535:
        raise WorkbenchError("only whole numbers of rewards, 0 to 65535 a block, can be recorded")
    return whole.astype(np.uint16)


def is_full(results: Results) -> bool:
    """Whether results of a learners' figure have its seeds and steps, and so can be compared."""
    length = results.experiment.length
    return length is not None and length == FIGURES[results.experiment.id].length


def differing_runs(results: Results, seeds: Iterable[int] | None = None) -> tuple[str, ...]:
    """The runs whose rewards, or values, are not those of the record.

    Parameters
    ----------
    results : of a learners' figure at its full length, of all its methods and memories or of some.
    seeds : those that the results hold, in order; by default 0, 1, 2, ...
    """
    differ = []
    for (method, memory), outcome in results.outcomes.items():
        assert isinstance(outcome, Run)
        name = name_of(results.experiment, method, memory)
        rows = list(range(len(outcome.rewards)) if seeds is None else seeds)
        recorded = _kept(name, rows)
        same = recorded is not None and np.array_equal(recorded, _rewards(outcome))
        if outcome.measured is not None:
            kept = _entries().get(f"{name}; values")
            same = same and kept is not None and np.array_equal(kept[rows], outcome.measured)
        if not same:
            differ.append(name)
    return tuple(differ)


def write_record(
    all_results: Iterable[Results], path: Path = RECORD, fresh: Iterable[Run] | None = None
) -> None:
    """Write the record anew from the full results of the learners' figures.

    Parameters
    ----------
    fresh : the runs of `FRESH_RUNS`, in order; if not given those of the present record are kept.
    """
    runs = (fresh_run(*one) for one in FRESH_RUNS) if fresh is None else fresh
    entries: dict[str, NDArray[Any]] = {
        _fresh(name_of(FIGURES[id], method, memory)): _rewards(run)
        for (id, method, memory), run in zip(FRESH_RUNS, runs, strict=True)
    }
    for results in all_results:
        for (method, memory), outcome in results.outcomes.items():
            if not isinstance(method, Learner) or not isinstance(outcome, Run):
                continue
            name = name_of(results.experiment, method, memory)
            entries[name] = _rewards(outcome)
            if outcome.measured is not None:
                whole = outcome.measured.astype(np.uint8)
                if not np.array_equal(whole, outcome.measured):
                    raise WorkbenchError(f"{name}: only values 0 and 1 can be recorded")
                entries[f"{name}; values"] = whole
    buffer = io.BytesIO()
    kept: dict[str, Any] = {name: entries[name] for name in sorted(entries)}
    np.savez_compressed(buffer, **kept)
    write_whole(path, buffer.getvalue())
