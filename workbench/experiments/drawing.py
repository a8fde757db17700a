"""The figures of the paper from their results: panels side by side, one legend below."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench import figures
from workbench.experiments.records import GREEDY, ORACLE, Experiment
from workbench.experiments.results import Results

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_WIDTH, _HEIGHT = 2.9, 2.35
_LEGEND_HEIGHT = 0.45


def draw(results: Results) -> Figure:
    """One figure of the paper."""
    return _draw_greedy(results) if results.experiment.measure == GREEDY else _draw_curves(results)


def _draw_curves(results: Results) -> Figure:
    from matplotlib.figure import Figure

    experiment = results.experiment
    columns = experiment.columns
    rows = -(-len(experiment.panels) // columns)
    figure = Figure(figsize=(max(_WIDTH * columns, 3.8), _HEIGHT * rows + _LEGEND_HEIGHT), layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True)
    for place, panel in enumerate(experiment.panels):
        axes = grid[divmod(place, columns)]
        shown = {memory: results[panel.method, memory] for memory in panel.memories}
        if experiment.measure == ORACLE:
            figures.oracle_values(shown, axes, experiment.optimum)
        else:
            figures.learning_curves(shown, axes, experiment.optimum)
        axes.set_title(panel.title, fontsize=10)
        axes.label_outer()
    _legend(figure, experiment, [axes for row in grid for axes in row])
    return figure


def _draw_greedy(results: Results) -> Figure:
    """Above, the run of the first seed, as the paper shows one; below, those of all seeds."""
    from matplotlib.figure import Figure

    experiment = results.experiment
    columns = len(experiment.panels)
    figure = Figure(figsize=(1.35 * _WIDTH * columns, 1.9 * _HEIGHT), layout="constrained")
    grid = figure.subplots(2, columns, squeeze=False, sharex=True, sharey="row", height_ratios=(1, 1.8))
    for place, panel in enumerate(experiment.panels):
        (memory,) = panel.memories
        outcome = results[panel.method, memory]
        top, below = grid[0][place], grid[1][place]
        figures.greedy_values(outcome.ends, outcome.values[0], memory, top, experiment.optimum)
        figures.greedy_raster(outcome.ends, outcome.values, below)
        top.set_title(f"{panel.title}: seed 0", fontsize=10)
        below.set_title(f"all {len(outcome.values)} seeds: value 1 black, 0 white", fontsize=10)
        top.label_outer()
        below.label_outer()
    return figure


def _legend(figure: Figure, experiment: Experiment, all_axes: list[Axes]) -> None:
    handles: dict[str, Any] = {}
    for axes in all_axes:
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    most = 3 if experiment.columns == 1 else 6 if experiment.columns < 4 else 10
    handles["optimum"] = handles.pop("optimum")
    figure.legend(
        list(handles.values()), list(handles), loc="outside lower center", ncols=min(len(handles), most),
        fontsize=9, frameon=False, handlelength=3,
    )  # fmt: skip
