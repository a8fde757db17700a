"""Learning curves: the mean over seeds, and half a standard deviation on either side, as in the
paper's figures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.errors import WorkbenchError
from workbench.learning.run import Run

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw_runs(axes: Axes, runs: Mapping[str, Run]) -> None:
    """Draw the average reward per 100 steps of several runs, each under its name."""
    for name, run in runs.items():
        mean, half = run.per_100.mean(axis=0), run.per_100.std(axis=0) / 2
        (line,) = axes.plot(run.ends, mean, label=name)
        axes.fill_between(
            run.ends, mean - half, mean + half, color=line.get_color(), alpha=0.25, linewidth=0
        )
    axes.set_xlabel("steps")
    axes.set_ylabel("average reward per 100 steps")
    axes.legend()


def check_plot_file(path: Path) -> None:
    """Raise before the work is done if the plot could not be saved after it."""
    from matplotlib.backend_bases import FigureCanvasBase

    known = FigureCanvasBase.get_supported_filetypes()
    if path.suffix[1:].lower() not in known:
        raise WorkbenchError(
            f"cannot plot to {path}: its name must end in one of .{', .'.join(sorted(known))}"
        )
    if not path.absolute().parent.is_dir():
        raise WorkbenchError(
            f"cannot plot to {path}: there is no directory {path.absolute().parent}"
        )


def save_plot(path: Path, runs: Mapping[str, Run], title: str) -> None:
    """Write the learning curves of several runs to a file; its ending chooses the format."""
    from matplotlib.figure import Figure

    check_plot_file(path)
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    axes = figure.add_subplot()
    axes.set_title(title)
    draw_runs(axes, runs)
    figure.savefig(path)
