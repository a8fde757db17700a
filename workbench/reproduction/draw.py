"""The figures of the paper, drawn from their results: panels side by side, one legend below."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from workbench import figures
from workbench.core.errors import WorkbenchError
from workbench.learning.run import Run
from workbench.sweeps.compute import LoopValues
from workbench.sweeps.experiment import GREEDY, ORACLE, PER_100, Panel
from workbench.sweeps.results import ResultLine, Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH, _HEIGHT = 2.9, 2.35
_LEGEND_HEIGHT = 0.45
_LEGEND_COLUMNS = {1: 3, 2: 3, 3: 6, 4: 10}
_MOST_PANELS = 24


def draw(results: Results) -> Figure:
    """One figure of the paper."""
    kinds = {GREEDY: _draw_greedy, ORACLE: _draw_loops, PER_100: _draw_curves}
    return kinds[results.experiment.measure](results)


def _draw_curves(results: Results) -> Figure:
    experiment = results.experiment
    rows = -(-len(experiment.panels) // experiment.columns)
    figure = _blank(experiment.columns, rows)
    grid = figure.subplots(rows, experiment.columns, squeeze=False, sharex=True, sharey=True)
    for place, panel in enumerate(experiment.panels):
        axes = grid[divmod(place, experiment.columns)]
        figures.learning_curves(_outcomes(results, panel), axes, experiment.optimum)
        axes.set_title(panel.title, fontsize=10)
        axes.label_outer()
    for axes in grid.ravel()[len(experiment.panels) :]:
        axes.axis("off")
    _legend(figure, grid.ravel().tolist(), experiment.columns)
    return figure


def _draw_loops(results: Results) -> Figure:
    """Draw all values above, and those near the optimum below."""
    experiment = results.experiment
    figure = _blank(experiment.columns, 2)
    grid = figure.subplots(2, experiment.columns, squeeze=False, sharex=True, sharey="row")
    worst = min(
        outcome.value for outcome in results.outcomes.values() if isinstance(outcome, LoopValues)
    )
    margin = 0.3 * max(experiment.optimum - worst, 0.1)
    for place, panel in enumerate(experiment.panels):
        for row in (0, 1):
            figures.oracle_values(
                _outcomes(results, panel), grid[row][place], optimum=experiment.optimum
            )
        grid[0][place].set_title(panel.title, fontsize=10)
        grid[1][place].set_title(f"{panel.title}, near the optimum", fontsize=10)
        grid[1][place].set_ylim(worst - margin, experiment.optimum + margin)
        for row in (0, 1):
            grid[row][place].label_outer()
    _legend(figure, grid.ravel().tolist(), experiment.columns)
    return figure


def _draw_greedy(results: Results) -> Figure:
    """Draw the run of the first seed above, as the paper shows one, and those of all seeds
    below."""
    from matplotlib.figure import Figure

    experiment = results.experiment
    columns = len(experiment.panels)
    figure = Figure(figsize=(1.35 * _WIDTH * columns, 1.9 * _HEIGHT), layout="constrained")
    grid = figure.subplots(
        2, columns, squeeze=False, sharex=True, sharey="row", height_ratios=(1, 1.8)
    )
    for place, panel in enumerate(experiment.panels):
        (memory,) = panel.memories
        outcome = results[panel.method, memory]
        top, below = grid[0][place], grid[1][place]
        figures.greedy_values(outcome.ends, outcome.measured[0], memory, top, experiment.optimum)
        figures.greedy_raster(outcome.ends, outcome.measured, below)
        top.set_title(f"{panel.title}: seed 0", fontsize=10)
        below.set_title(f"all {len(outcome.measured)} seeds: filled where it is 1", fontsize=10)
        top.label_outer()
        below.label_outer()
    return figure


def draw_lines(panels: Mapping[str, Mapping[str, ResultLine]]) -> Figure:
    """Lines of a listing by memory: panels by their titles, learning curves or the values of the
    oracle loop."""
    if len(panels) > _MOST_PANELS:
        raise WorkbenchError(
            f"{len(panels)} panels are too many for one figure, {_MOST_PANELS} are not: choose some"
        )
    columns = min(len(panels), max(2, round(len(panels) ** 0.5)))
    figure = _blank(columns, -(-len(panels) // columns))
    grid = figure.subplots(-(-len(panels) // columns), columns, squeeze=False).ravel()
    for axes, (title, lines) in zip(grid, panels.items(), strict=False):
        found = {memory: line.outcome for memory, line in lines.items()}
        runs = {memory: one for memory, one in found.items() if isinstance(one, Run)}
        loops = {memory: one for memory, one in found.items() if isinstance(one, LoopValues)}
        if runs:
            figures.learning_curves(runs, axes)
        else:
            figures.oracle_values(loops, axes)
        axes.set_title(title, fontsize=7)
    for axes in grid[len(panels) :]:
        axes.axis("off")
    _legend(figure, grid.tolist(), columns)
    return figure


def _blank(columns: int, rows: int) -> Figure:
    from matplotlib.figure import Figure

    return Figure(
        figsize=(max(_WIDTH * columns, 4.2), _HEIGHT * rows + _LEGEND_HEIGHT), layout="constrained"
    )


def _outcomes(results: Results, panel: Panel) -> dict[str, Any]:
    return {memory: results[panel.method, memory] for memory in panel.memories}


def _legend(figure: Figure, all_axes: list[Axes], columns: int) -> None:
    handles: dict[str, Any] = {}
    for axes in all_axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    if "optimum" in handles:
        handles["optimum"] = handles.pop("optimum")  # last
    figure.legend(
        list(handles.values()),
        list(handles),
        loc="outside lower center",
        ncols=_LEGEND_COLUMNS[min(columns, 4)],
        fontsize=9,
        frameon=False,
        handlelength=3,
    )
