"""`workbench reproduce`: figures, numbers and a report that stands alone."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

from workbench import figures
from workbench.cli.reproduce_command import reproduce_command as reproduce
from workbench.core.errors import UnknownLabel
from workbench.learning.actor_critic import UPDATES
from workbench.learning.run import Run
from workbench.output import StorageError
from workbench.reproduction import full_runs
from workbench.reproduction import paper_figures as records
from workbench.reproduction.report import caption


@pytest.fixture
def short(monkeypatch):
    """All figures with hardly any steps, and without the largest memories."""
    tiny = {}
    for id, figure in full_runs.FIGURES.items():
        panels = tuple(
            replace(
                panel,
                memories=tuple(m for m in panel.memories if m not in ("O2", "OA2"))
                or panel.memories,
            )
            for panel in figure.panels
        )
        smaller = (
            figure
            if figure.length is None
            else replace(figure, panels=panels).with_length(2, 2000, 400)
        )
        tiny[id] = smaller
    monkeypatch.setattr(records, "FIGURES", tiny)
    monkeypatch.setattr(records, "quick", lambda experiment: experiment)
    return tiny


def test_the_report_holds_every_figure_and_every_verdict(short, tmp_path, capsys):
    reproduce(["fig3", "fig5", "fig7", "fig11"], quick=True, out=tmp_path)
    page = (tmp_path / "report.html").read_text()
    assert page.count("data:image/png;base64,") == 4
    assert not re.search(r"(src|href)='(?!data:|#)", page)  # nothing outside the file is needed
    assert "Quick version" in page
    for id in ("S5.fig-jumps", "S51.b2-unstable", "S52.fig-variant", "C.fig", "D6.fig-sarsa"):
        assert f"id='{id}'" in page
    assert "undecided with 2 seeds" in page  # Sarsa learns nothing in 2,000 steps
    assert page.count("contradicted") == 2  # only where the words are explained
    assert "2 seeds of 2,000 steps" in page
    for id in ("fig3", "fig5", "fig7", "fig11"):
        assert (tmp_path / f"{id}.png").read_bytes().startswith(b"\x89PNG")
        assert (tmp_path / f"{id}.pdf").read_bytes().startswith(b"%PDF")
    numbers = pd.read_csv(tmp_path / "fig11.csv")
    assert len(numbers) == 3 * 5 * 2 * 5
    first = ["panel", "memory", "seed", "step", "per_100"]
    assert list(numbers.columns) == [*first, "reward", "episodes"]
    judged = pd.read_csv(tmp_path / "judgements.csv")
    assert set(judged.verdict) <= {"supported", "undecided with 2 seeds"}
    assert judged[judged.statement == "C.fig"].verdict.tolist() == ["supported", "supported"]
    out = capsys.readouterr().out
    assert "D6.fig-sarsa" in out
    assert max(len(line) for line in out.splitlines() if "report.html" not in line) <= 90


def test_a_second_run_computes_nothing_and_a_full_one_is_not_called_quick(short, tmp_path, capsys):
    reproduce(["7"], out=tmp_path)
    assert "2 cells, 0 of them computed before" in capsys.readouterr().out
    reproduce(["fig7"], out=tmp_path)
    assert "2 cells, 2 of them computed before; 0 million steps" in capsys.readouterr().out
    assert "Quick version" not in (tmp_path / "report.html").read_text()


def test_figures_with_learners_of_all_kinds_are_drawn(short, tmp_path):
    small = {id: short[id].with_memories(("none", "B1", "O1", "K2")) for id in ("fig2", "fig4")}
    import pomdps
    from workbench.reproduction.draw import draw
    from workbench.sweeps.run_cells import run_experiment

    for experiment in small.values():
        figure = draw(run_experiment(experiment, lambda name: getattr(pomdps, name)()))
        titles = [axes.get_title() for axes in figure.axes]
        shown = [panel.title for panel in experiment.panels]
        assert titles == shown + [""] * (len(titles) - len(shown))
        assert [axes.axison for axes in figure.axes] == [bool(title) for title in titles]
        (legend,) = figure.legends
        first, *_, last = (text.get_text() for text in legend.get_texts())
        assert (first, last) == ("None", "optimum")


def test_bad_input_is_refused_before_any_work(tmp_path):
    with pytest.raises(UnknownLabel, match="unknown figure 'fig1'"):
        reproduce(["fig1"], out=tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot write to"):
        reproduce(["fig7"], out=tmp_path / "file")


def test_captions_say_what_was_run():
    text = caption(records.FIGURES["fig2"])
    assert "30 seeds of 4,000,000 steps" in text
    assert "half a standard deviation" in text
    assert all(f"v {v}, update {update}" in text for v in (0.0, 1.0) for update in UPDATES)
    assert "nothing here is random" in caption(records.FIGURES["fig5"])


# ---------------------------------------------------------------------- the pictures


def test_a_family_has_one_colour_and_one_marker_and_a_size_one_line():
    styles = {
        name: figures.memory_style(name)
        for name in ("none", "K1", "B1", "O1", "OA1", "K2", "B2", "O2", "OA2", "B5")
    }
    for family in ("K", "B", "O", "OA"):
        assert styles[family + "1"]["color"] == styles[family + "2"]["color"]
        assert styles[family + "1"]["linestyle"] != styles[family + "2"]["linestyle"]
    size_1 = [styles[name] for name in ("none", "K1", "B1", "O1", "OA1")]
    assert (
        len({style["color"] for style in size_1}) == len({style["marker"] for style in size_1}) == 5
    )
    assert styles["B5"]["linestyle"] not in (styles["B1"]["linestyle"], styles["B2"]["linestyle"])
    assert figures.memory_style("mine")["label"] == "mine"


def test_learning_curves_show_the_mean_and_half_a_standard_deviation():
    curves = Run.from_rewards([[0.1, 0.2], [0.3, 0.2]], every=10)
    axes = figures.learning_curves({"O1": curves}, Figure().add_subplot(), optimum=4.0)
    line = next(line for line in axes.lines if line.get_label() == "O1")
    assert line.get_ydata().tolist() == [2.0, 2.0]
    (band,) = axes.collections
    heights = band.get_paths()[0].vertices[:, 1]
    assert (heights.min(), heights.max()) == (1.5, 2.5)
    optimum = next(line for line in axes.lines if line.get_label() == "optimum")
    assert set(optimum.get_ydata()) == {4.0}
    assert axes.get_ylim()[1] > 4.0


def test_greedy_traces_stand_over_the_block_they_end():
    axes = figures.greedy_values(
        np.array([10, 20]), np.array([0.0, 1.0]), "B2", Figure().add_subplot(), optimum=1.0
    )
    assert axes.lines[0].get_xdata().tolist() == [0.0, 10.0, 20.0]
    assert axes.lines[0].get_ydata().tolist() == [0.0, 0.0, 1.0]
    raster = figures.greedy_raster(
        np.array([10, 20]), np.array([[0.0, 1.0]]), Figure().add_subplot()
    )
    assert raster.images[0].get_array().tolist() == [[0.0, 1.0]]
