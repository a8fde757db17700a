"""The record of Figures 6 and 12: one line for each seed that has finished.

A *cell* is one seed of one memory of a figure. Its line is written the moment it has finished, so a
run that is killed loses the cell it was at and nothing else, and the same command goes on. Lines
are small (some 500 bytes): the curve has a point for each hundredth of the steps, in percent of the
best. The settings of cells stand in lines of their own, under the digest that the cells name.

    {"settings": "3f2a...", "figure": "fig6-doors", "memory": "O3", "steps": ..., "learner": {...}}
    {"cell": "3f2a...", "seed": 100, "final": ..., "area": ..., "curve": [...], ...}
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from workbench.core.errors import NeverEnds, TooLarge, WorkbenchError
from workbench.core.learners import OptionError
from workbench.core.numbers import frozen
from workbench.core.pomdp import POMDP
from workbench.core.space import Label
from workbench.deep.pair import MemoryPair
from workbench.learning.learn import learn
from workbench.learning.run import Run
from workbench.reproduction.neural_figures import LSTM, NeuralFigure

if TYPE_CHECKING:
    from workbench.deep.neural_run import NeuralRun

RECORD = Path(__file__).with_name("neural_cells.jsonl")
"""What was run of the figures, in the repository."""

POINTS = 100
"""Of a curve."""

CHECKS = 10
"""How often the greedy policy of a seed is evaluated exactly, at equal distances."""


@dataclass(frozen=True)
class NeuralCell:
    """One seed of one memory of a figure.

    Attributes
    ----------
    settings : the digest of the settings.
    seed, steps, seconds : which seed, for how many steps, and how long it took by the clock.
    final, area : rewards over the last tenth of the steps, and their mean over the ten tenths; per
        episode, or per 100 steps in the hallway.
    curve : percent of the best for each hundredth; None where no episode was over.
    values : exact values of the greedy policies after each tenth; None where it has none, because
        it gets to too many places or needs the history.
    success : the probability that the last greedy policy succeeds in time; None in the hallway.
    pace : its reward per 100 steps in the long run, in the hallway. None elsewhere, and where it
        gets stuck for more than 1e16 steps, which floats do not tell from for ever.
    writes : the share of its steps at which it changes the memory.
    ages : likewise at the ages 1, 2 to 3, 4 to 7, ... of an episode; None where none is that long.
    stored : what it stores most often, in words, and the shares of its changes.
    """

    settings: str
    seed: int
    steps: int
    seconds: float
    final: float
    area: float
    curve: tuple[int | None, ...]
    values: tuple[float | None, ...]
    success: float | None
    pace: float | None
    writes: float | None
    ages: tuple[float | None, ...] = ()
    stored: Mapping[str, float] = field(default_factory=dict)


def digest_of_settings(figure: NeuralFigure, memory: str) -> str:
    """A digest of the settings of a figure's cells with a memory."""
    text = json.dumps(_settings(figure, memory), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _settings(figure: NeuralFigure, memory: str) -> dict[str, Any]:
    """All settings that the cells depend on. Of the learner only those that differ from its
    defaults count, so that a new setting leaves the digest as it is."""
    learner = figure.learners[memory]
    usual = {one.name: one.default for one in fields(learner)}
    told = {
        name: x
        for name, x in learner.settings().items()
        if name == "learner" or getattr(learner, name) != usual[name]
    }
    return {"figure": figure.id, "memory": memory, "steps": figure.steps, "learner": told}


def read_cells(path: Path = RECORD) -> list[NeuralCell]:
    """All cells of a record, or None if there is no file."""
    return [_read_cell(line) for line in _lines(path) if "cell" in line]


def _read_cell(line: dict[str, Any]) -> NeuralCell:
    told: dict[str, Any] = {
        name: tuple(x) if isinstance(x, list) else x for name, x in line.items() if name != "cell"
    }
    return NeuralCell(line["cell"], **told)


def _lines(path: Path) -> list[dict[str, Any]]:
    if not path.exists():
        return []
    found = []
    for number, text in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        try:
            found.append(json.loads(text, parse_constant=lambda _: None))  # NaN: unknown
        except json.JSONDecodeError:
            raise WorkbenchError(f"{path}, line {number}: {text[:40]!r} is no JSON") from None
    return found


def cells_by_memory(
    figure: NeuralFigure, cells: Iterable[NeuralCell]
) -> dict[str, list[NeuralCell]]:
    """The cells of a figure with its present settings, by memory and in the order of their
    seeds."""
    wanted = {digest_of_settings(figure, memory): memory for memory in figure.learners}
    found: dict[str, dict[int, NeuralCell]] = {memory: {} for memory in figure.learners}
    for cell in cells:
        if cell.settings in wanted and cell.seed in figure.seeds:
            found[wanted[cell.settings]][cell.seed] = cell
    return {memory: [one[seed] for seed in sorted(one)] for memory, one in found.items()}


def append_cell(figure: NeuralFigure, memory: str, cell: NeuralCell, path: Path = RECORD) -> None:
    """Write a cell to the end of a record, and before it its settings if they are new."""
    text = ""
    if all(line.get("settings") != cell.settings for line in _lines(path)):
        text += _line({"settings": cell.settings, **_settings(figure, memory)})
    told = asdict(cell)
    text += _line({"cell": told.pop("settings"), **told})
    with path.open("a", encoding="utf-8") as file:  # one write: a line is there whole or not at all
        file.write(text)


def _line(content: dict[str, Any]) -> str:
    return json.dumps(content, separators=(",", ":")) + "\n"


def missing_cells(
    figure: NeuralFigure, cells: Iterable[NeuralCell], seeds: int
) -> list[tuple[str, int]]:
    """The memories and seeds that a record lacks, in the order to run them. First come ten seeds of
    every memory, then the others' remaining seeds, then those of the LSTM, which takes ten times as
    long. They go seed by seed, so that no memory falls behind."""
    have = {
        (memory, cell.seed)
        for memory, found in cells_by_memory(figure, cells).items()
        for cell in found
    }
    missing = [
        (memory, seed)
        for seed in figure.seeds[:seeds]
        for memory in figure.learners
        if (memory, seed) not in have and memory not in figure.unfinished
    ]
    first = set(figure.seeds[:10])
    return sorted(missing, key=lambda item: (item[1] not in first, item[0] == LSTM))


def run_cell(
    figure: NeuralFigure,
    P: POMDP,
    memory: str,
    seed: int,
    progress: Callable[[int, int], None] | bool = False,
) -> NeuralCell:
    """Train one seed of one memory, a tenth at a time, and evaluate what it has learned."""
    learner = figure.learners[memory]
    quantum = learner.quantum
    block = figure.steps // POINTS
    if block % quantum or figure.steps % POINTS:
        raise OptionError(
            f"a hundredth of {figure.steps:,} steps is no whole number of updates of {quantum:,}"
        )
    began = time.perf_counter()
    run: Any = None
    values: list[float | None] = []
    loop = None
    for tenth in range(1, CHECKS + 1):
        steps = tenth * (figure.steps // CHECKS)
        if run is None:
            pair = MemoryPair(P, "none" if memory == LSTM else memory)
            run = learn(
                pair,
                learner,
                steps=steps,
                seeds=[seed],
                every=block,
                policies=False,
                progress=progress,
            )
        else:
            run = run.resume(steps, progress)
        loop = _followed(run, seed)
        values.append(None if loop is None else round(loop.value, 5))
    limit = learner.max_episode_steps
    assert limit is not None
    by_episode = figure.by_episode
    return NeuralCell(
        digest_of_settings(figure, memory),
        seed,
        run.steps,
        round(time.perf_counter() - began, 1),
        round(float(by_tenth(run, by_episode)[-1]), 5),
        round(float(np.nanmean(by_tenth(run, by_episode))), 5),
        tuple(
            None if np.isnan(x) else round(100 * float(x) / figure.optimum)
            for x in _points(run, by_episode)
        ),
        tuple(values),
        None if loop is None or not by_episode else round(loop.reward_within(limit), 5),
        None if loop is None or by_episode else _known(100 * loop.average_reward, 5),
        None if loop is None else round(loop.writes_within(limit), 5),
        () if loop is None else tuple(_known(x) for x in loop.writes_by_age(limit)),
        {} if loop is None else _most_stored(loop.stored_within(limit)),
    )


def _known(x: float, digits: int = 4) -> float | None:
    """A rounded number as JSON has it, or None where it is undefined."""
    return None if np.isnan(x) else round(x, digits)


def _most_stored(shares: Mapping[Label, float]) -> dict[str, float]:
    """The four entries that are stored most often. Of a view of MiniGrid they name the objects in
    it.

    >>> red, none = (("wall", "red door open"), ("empty", "empty")), (("empty",),)
    >>> _most_stored({red: 0.5, none: 0.25, (("red door open",),): 0.25})
    {'red door open': 0.75, 'no object': 0.25}
    >>> _most_stored({((4, 2), (1, 3)): 1.0})  # a cell of the hallway and the cookie's
    {'((4, 2), (1, 3))': 1.0}
    """
    found: dict[str, float] = {}
    for label, share in shares.items():
        text = str(label)
        rows = label if isinstance(label, tuple) else ()
        things = [x for row in rows if isinstance(row, tuple) for x in row]
        if things and all(isinstance(x, str) for x in things):
            seen = {*things} - {"empty", "wall", "unseen"}
            text = " + ".join(sorted(seen)) or "no object"
        found[text] = found.get(text, 0.0) + share
    most = sorted(found, key=lambda text: -found[text])[:4]
    return {text: round(found[text], 4) for text in most}


def run_item(figure: NeuralFigure, P: POMDP, item: tuple[str, int]) -> NeuralCell:
    """`run_cell` for one item of `missing_cells`."""
    return run_cell(figure, P, *item)


def _followed(run: NeuralRun, seed: int) -> Any:
    """The closed loop of the greedy policy, or None if it cannot be followed to every place."""
    if run.says is None:
        return None
    try:
        loop = run.closed_loop(seed)
        loop.value  # noqa: B018 (what cannot be evaluated is not followed)
    except (NeverEnds, TooLarge):
        return None
    return loop


def _points(run: NeuralRun, by_episode: bool) -> NDArray[np.float64]:
    """The rewards of each block of the only seed of a run."""
    if not by_episode:
        return np.asarray(run.per_100[0])
    assert run.episodes is not None
    with np.errstate(invalid="ignore"):
        return np.asarray(run.rewards[0] / run.episodes[0])


def by_tenth(run: NeuralRun, by_episode: bool) -> NDArray[np.float64]:
    """The rewards of each tenth of the only seed of a run, per episode or per 100 steps."""
    assert run.episodes is not None
    rewards = run.rewards[0].reshape(CHECKS, -1).sum(axis=1)
    if not by_episode:
        return np.asarray(100 * CHECKS * rewards / run.steps)
    with np.errstate(invalid="ignore"):
        return np.asarray(rewards / run.episodes[0].reshape(CHECKS, -1).sum(axis=1))


def runs_of(figure: NeuralFigure, cells: Mapping[str, Sequence[NeuralCell]]) -> dict[str, Run]:
    """The curves and exact values of cells, to be drawn. Memories without cells are left out."""
    every = figure.steps // POINTS
    found = {}
    for memory, own in cells.items():
        if not own:
            continue
        curve = np.array([[np.nan if x is None else x for x in cell.curve] for cell in own])
        known = np.isfinite(curve)
        rewards = np.where(known, curve, 0) * figure.optimum / 100
        measured = np.full(curve.shape, np.nan)
        values = [[np.nan if x is None else x for x in cell.values] for cell in own]
        measured[:, POINTS // CHECKS - 1 :: POINTS // CHECKS] = values
        run = Run.from_rewards(
            rewards if figure.by_episode else rewards * every / 100,
            every=every,
            seeds=[cell.seed for cell in own],
            measured=measured,
        )
        # a point of the curve is one episode, where an episode was over
        found[memory] = replace(run, episodes=frozen(known.astype(np.int64)))
    return found
