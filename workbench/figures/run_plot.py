"""Save learning curves: the mean over seeds with half a standard deviation, as in the paper's
figures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from workbench.core.errors import WorkbenchError
from workbench.figures.curves import learning_curves
from workbench.figures.style import SMALL, WORDS
from workbench.figures.value_dots import value_curves, value_dots
from workbench.learning.run import Run
from workbench.output import check_output, write_figure


def check_plot_file(path: Path) -> None:
    """Raise before the work is done if the plot could not be saved after it."""
    from matplotlib.backend_bases import FigureCanvasBase

    known = FigureCanvasBase.get_supported_filetypes()
    if path.suffix[1:].lower() not in known:
        raise WorkbenchError(
            f"cannot plot to {path}: its name must end in one of .{', .'.join(sorted(known))}"
        )
    check_output(path)


def save_plot(
    path: Path,
    runs: Mapping[str, Run],
    title: str,
    optimum: float | None = None,
    lines: Mapping[str, float] | None = None,
    reach: Mapping[str, tuple[float, float]] | None = None,
    by_episode: bool = False,
) -> None:
    """Save the learning curves of several runs. The file's ending chooses the format.

    Parameters
    ----------
    optimum : reward per 100 steps, or per episode, of a best policy, drawn as a line.
    by_episode : count rewards by episode.
    lines : values by name; with them the exact values during training, and those that the runs end
        with, are drawn beside the curves, and these values as lines.
    reach : with `lines`, what the best with each memory lies between (`value_dots`).
    """
    from matplotlib.figure import Figure

    check_plot_file(path)
    figure = Figure(figsize=(7.0 if lines is None else 14.0, 3.6), layout="constrained")
    parts = figure.subplots(1, 1 if lines is None else 3, squeeze=False)[0]
    best = "best deterministic" if lines is None else "best"
    axes = learning_curves(runs, parts[0], optimum, best, by_episode)
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1), fontsize=SMALL, frameon=False)
    axes.set_title(title, fontsize=WORDS)
    if lines is not None:
        value_curves(runs, lines, parts[1])
        value_dots(runs, lines, parts[2], reach)
    write_figure(path, figure)
