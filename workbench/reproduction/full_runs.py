"""The stored results of the full learning runs, so that nobody has to repeat them.

`full_runs.npz` holds, for each method and memory of Figures 2, 3, 4 and 11, the whole number of
rewards in each block, `rewards[seed, block]`, of the 30 seeds at the figure's length; for Figure 3
also the values of the greedy policies. These are drawn. Statements are judged by the same runs with
the seeds `JUDGED`, of which the record holds the same. A seed gives a run bit for bit, so every
entry can be made again: `differing_runs` compares results, whole or of some seeds, with the record,
and `workbench reproduce` says whether what it computed is what is recorded.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.augment import augment
from workbench.core.errors import WorkbenchError
from workbench.core.learners import Learner
from workbench.learning.learn import learn
from workbench.learning.run import Run
from workbench.output import write_whole
from workbench.reproduction.paper_figures import FIGURES
from workbench.sweeps.experiment import GREEDY, Experiment, Method
from workbench.sweeps.results import Results
from workbench.sweeps.run_cells import FindTask

RECORD = Path(__file__).with_name("full_runs.npz")

JUDGED = range(5000, 5100)
"""Seeds that were run after the rules of `judge` had been written, and are used for nothing else:
no criterion, length or statement was chosen by them."""


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


def recorded_results(id: str, judged: bool = False) -> Results:
    """The recorded results of a figure, such as "fig2".

    Parameters
    ----------
    judged : those of the seeds that statements are judged by; without memory nothing is judged.

    >>> recorded_results("fig3").experiment.length.seeds
    30
    """
    experiment = FIGURES[id]
    length = experiment.length
    if length is None:
        raise WorkbenchError(
            f"{experiment.place} needs no record: it is computed without random numbers"
        )
    if judged:
        experiment = experiment.with_length(len(JUDGED), length.steps, length.every)
    outcomes = {}
    for method, memory in experiment.pairs:
        if judged and memory == "none":
            continue
        name = name_of(experiment, method, memory) + (_JUDGED if judged else "")
        if name not in _entries():
            raise WorkbenchError(f"the record has no {name}")
        outcomes[method, memory] = Run.from_rewards(
            _entries()[name],
            every=length.every,
            steps=length.steps,
            measured=_entries().get(f"{name}; values"),
            seeds=list(JUDGED) if judged else None,
        )
    return Results(experiment, outcomes)


_JUDGED = f"; seeds {JUDGED[0]} to {JUDGED[-1]}"


def run_judged(find: FindTask) -> list[Results]:
    """Run the seeds that statements are judged by, for every figure of learners."""
    known: dict[str, Run] = {}  # figures 2 and 4 share a panel
    found = []
    for experiment in FIGURES.values():
        if (length := experiment.length) is None:
            continue
        outcomes: dict[tuple[Method, str], Run] = {}
        for method, memory in experiment.pairs:
            name = name_of(experiment, method, memory)
            if memory == "none" or not isinstance(method, Learner):
                continue
            if name not in known:
                E = augment(find(experiment.task), memory)
                greedy = experiment.measure == GREEDY
                run = learn(
                    E, method, steps=length.steps, seeds=JUDGED, every=length.every, policies=greedy
                )
                known[name] = run.with_values(np.asarray(run.values(gamma=1))) if greedy else run
            outcomes[method, memory] = known[name]
        found.append(Results(experiment, outcomes))
    return found


def results_to_judge(results: Results) -> Results:
    """The results by which the statements of a figure are judged. They are the unseen seeds if the
    results are those of the record, else the results themselves."""
    if results.experiment.length is None or not is_full(results) or differing_runs(results):
        return results
    return recorded_results(results.experiment.id, judged=True)


def _kept(name: str, seeds: list[int]) -> NDArray[Any] | None:
    """The recorded data of some seeds of a run, drawn or judged ones."""
    if set(seeds) <= set(JUDGED):
        head, values, _ = name.partition("; values")
        name, seeds = head + _JUDGED + values, [seed - JUDGED[0] for seed in seeds]
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
            kept = _kept(f"{name}; values", rows)
            same = same and kept is not None and np.array_equal(kept, outcome.measured)
        if not same:
            differ.append(name)
    return tuple(differ)


def write_record(
    all_results: Iterable[Results],
    path: Path = RECORD,
    judged: Iterable[Results] | None = None,
) -> None:
    """Write the record anew from the full results of the learners' figures.

    Parameters
    ----------
    judged : the results of the seeds `JUDGED`; if not given those of the present record are kept.
    """
    entries = (
        {name: x for name, x in _entries().items() if _JUDGED in name} if judged is None else {}
    )
    for mark, some in (("", all_results), (_JUDGED, judged or ())):
        for results in some:
            for (method, memory), outcome in results.outcomes.items():
                if not isinstance(method, Learner) or not isinstance(outcome, Run):
                    continue
                name = name_of(results.experiment, method, memory) + mark
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
