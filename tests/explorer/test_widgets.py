"""Widgets without a browser: set a control, look at what is on show."""

import base64
import io
import re
from itertools import islice

import numpy as np
import pytest
from drawn import grid_arrows
from matplotlib.figure import Figure
from PIL import Image

pytest.importorskip("ipywidgets")

from pomdps import TASKS, gravity, recall, recall4, recall_variant, short_corridor
from workbench import Policy, augment, evaluate, improve, shortcuts, td_values, uniform, widgets
from workbench.agents.simulate import pair, simulate
from workbench.core.augment import memory_states
from workbench.core.errors import WorkbenchError
from workbench.core.improve import iterates
from workbench.extras import MissingExtra
from workbench.figures import grid_policy
from workbench.text import shown
from workbench.widgets import (
    episode_stepper,
    oracle_explorer,
    shortcuts_between,
    td_explorer,
)


def rows_of(text):
    """The cells of an HTML table, row by row, without their marks."""
    rows = re.findall(r"<tr.*?>(.*?)</tr>", text)
    return [
        [re.sub(r"<.*?>", "|", cell) for cell in re.findall(r"<t[hd].*?>(.*?)</t[hd]>", row)]
        for row in rows
    ]


# ---------------------------------------------------------------------- the oracle loop


def test_the_oracle_explorer_shows_where_the_loop_ends():
    explorer = oracle_explorer(recall4())
    E = augment(recall4(), "B1")
    run = improve(E, uniform(E), step=0.05)
    assert "recall4×B1: fixed at 3/4" in explorer.text.value
    last = next(islice(iterates(E, uniform(E), step=0.05), run.iterates - 1, None)).pi
    assert (
        f"value at iterate {run.iterates - 1}: <b>{shown(evaluate(E, last).value)}</b>"
        in explorer.text.value
    )
    (values,) = explorer.figure.axes
    drawn = next(line for line in values.lines if line.get_label() == "B1")
    assert drawn.get_ydata() == pytest.approx(run.values)
    assert explorer.picture.startswith(b"\x89PNG")
    explorer.controls["family"].value = "OA"
    assert "recall4×OA1: fixed at 1," in explorer.text.value


def test_the_iterate_slider_is_as_long_as_the_run():
    explorer = oracle_explorer(recall4())
    slider = explorer.controls["iterate"]
    for step in (0.05, 0.5, 0.02):  # a longer, a shorter and a longer run again
        explorer.controls["step"].value = step
        E = augment(recall4(), "B1")
        last = improve(E, uniform(E), step=step, budget=1_000).iterates - 1
        assert (slider.max, slider.value) == (last, last)
        assert f"value at iterate {last}:" in explorer.text.value
    slider.value = 3
    explorer.controls["step"].value = 0.5
    assert slider.value == 3
    assert "value at iterate 3:" in explorer.text.value


def test_the_best_deterministic_value_is_a_line_and_a_number():
    explorer = oracle_explorer(recall4())
    (axes,) = explorer.figure.axes
    (line,) = (x for x in axes.lines if x.get_label() == "best deterministic")
    assert set(line.get_ydata()) == {1.0}
    assert "the best deterministic memoryless policy is worth <b>1</b>" in explorer.text.value
    named = [text.get_text() for text in axes.get_legend().get_texts()]
    assert named == ["B1", "best deterministic", "now"]
    corridor = oracle_explorer(short_corridor(), "none")
    assert "no deterministic memoryless policy ends" in corridor.text.value
    assert "best deterministic" not in [x.get_label() for x in corridor.figure.axes[0].lines]


def test_numbers_have_labels():
    explorer = oracle_explorer(recall4(), "OA", 1)
    assert "rows: memory (stored pair, ∅ empty); columns: action write" in explorer.text.value
    assert [x.description for x in explorer.controls.values()] == [
        "memory",
        "size k",
        "step ε",
        "iterate",
    ]
    td = td_explorer(recall())
    assert "in each cell TD(0) above, the true value below" in td.text.value
    assert "rows: memory (stored pair, ∅ empty); columns: action write" in td.text.value
    assert [td.controls[name].description for name in ("gamma", "lam")] == ["discount γ", "λ of TD"]
    stepper = episode_stepper(recall(), "OA1")
    assert "<caption>recall with OA1; memory: stored pair, ∅ empty; t counts" in stepper.text.value


@pytest.mark.parametrize("n", [0, 1, 7])
def test_the_iterate_slider_shows_that_policy_and_its_value(n):
    explorer = oracle_explorer(recall_variant(), family="OA", k=1)
    before = explorer.picture, explorer.text.value
    explorer.controls["iterate"].value = n
    E = augment(recall_variant(), "OA1")
    pi = uniform(E)
    for _ in range(n):
        pi = pi.toward(pi.greedy(evaluate(E, pi).q.raw), 0.05)
    assert f"value at iterate {n}: <b>{shown(evaluate(E, pi).value)}</b>" in explorer.text.value
    table = rows_of(explorer.text.value)
    assert table[0] == ["π(a | o)", *(E.A.text(a) for a in E.A)]
    for row, o in zip(table[1:], E.O, strict=True):
        assert row[0] == E.O.text(o)
        assert [float(x) for x in row[1:]] == pytest.approx(
            [float(pi[o, a]) for a in E.A], abs=1e-4
        )
    assert before[0] != explorer.picture
    assert before[1] != explorer.text.value
    (mark,) = (line for line in explorer.figure.axes[0].lines if line.get_gid() == "now")
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == (
        n,
        pytest.approx(float(evaluate(E, pi).value)),
    )


def pixels(png):
    return np.asarray(Image.open(io.BytesIO(png)))


def test_a_dragged_step_shows_its_values():
    explorer = oracle_explorer(recall4())
    for step in (0.2, 0.03, 0.5, 0.1):
        explorer.controls["step"].value = step
        (line,) = (x for x in explorer.figure.axes[0].lines if x.get_label() == "B1")
        E = augment(recall4(), "B1")
        run = improve(E, uniform(E), step=step)
        assert line.get_ydata() == pytest.approx(run.values)
        assert repr(run) in explorer.text.value
    points = pixels(explorer.picture)
    explorer.controls["step"].value = 0.2
    assert (pixels(explorer.picture) != points).any()
    explorer.controls["step"].value = 0.1
    assert (pixels(explorer.picture) == points).all()
    labels = [text.get_text() for text in explorer.figure.axes[0].get_legend().get_texts()]
    assert labels == ["B1", "best deterministic", "now"]


def test_the_best_policy_is_looked_for_once_for_each_memory(monkeypatch):
    asked = []
    search = widgets.best_memoryless
    monkeypatch.setattr(
        widgets, "best_memoryless", lambda E, **how: asked.append(E) or search(E, **how)
    )
    explorer = oracle_explorer(recall4())
    for step in (0.2, 0.03):
        explorer.controls["step"].value = step
    assert len(asked) == 1
    explorer.controls["family"].value = "OA"
    assert len(asked) == 2


def test_while_a_loop_runs_the_first_line_says_so(monkeypatch):
    explorer = oracle_explorer(recall4())
    table = explorer.text.value.partition("</p>")[2]
    seen = []

    def watched(*given, **how):
        seen.append(explorer.text.value)
        return improve(*given, **how)

    monkeypatch.setattr(widgets, "improve", watched)
    explorer.controls["step"].value = 0.2
    assert seen == [f"<p>step 0.2: the loop runs from the uniform policy …</p>{table}"]
    assert "the loop runs" not in explorer.text.value


@pytest.mark.slow
def test_on_a_grid_the_policy_of_the_iterate_is_drawn():
    drawing = TASKS["gravity"].drawing
    explorer = oracle_explorer(gravity(), "B", 1, drawing=drawing)
    explorer.controls["iterate"].value = 12
    E = augment(gravity(), "B1")
    pi = uniform(E)
    for _ in range(12):
        pi = pi.toward(pi.greedy(evaluate(E, pi).q.raw), 0.05)
    _, *grids = explorer.figure.axes
    expected = grid_policy(evaluate(E, pi), drawing, Figure().subplots(1, 2)).ravel()
    for mine, theirs in zip(grids, expected, strict=True):
        assert len(grid_arrows(mine)) > 20
        assert np.allclose(sorted(grid_arrows(mine)), sorted(grid_arrows(theirs)), atol=1e-9)
        walls = [sum(x.get_gid() == "wall" for x in axes.lines) for axes in (mine, theirs)]
        assert walls[0] == walls[1]


def test_probable_cells_are_dark():
    explorer = oracle_explorer(recall4())
    explorer.controls["step"].value = 0.5
    shades = re.findall(r"background:rgb\((\d+),.*?color:(\w+)\">(.*?)<", explorer.text.value)
    by_probability = sorted((float(x), -int(red), colour) for red, colour, x in shades)
    assert by_probability == sorted(by_probability, key=lambda cell: cell[1])
    assert {colour for x, _, colour in by_probability if x > 0.5} == {"white"}
    assert {colour for x, _, colour in by_probability if x < 0.5} == {"black"}


def test_what_is_too_large_is_a_message_and_goes_away_again():
    explorer = oracle_explorer(recall4(), family="B", k=1)
    assert explorer.message.value == ""
    explorer.controls["k"].value = 6
    assert explorer.message.value.startswith(
        "<b>B6 on recall4 has 321 states and 256 actions, too many"
    )
    assert explorer.text.value == ""
    assert explorer.picture == b""
    assert explorer.image.layout.display == "none"
    explorer.controls["k"].value = 2
    assert explorer.message.value == ""
    assert "recall4×B2: fixed at 3/4" in explorer.text.value
    assert explorer.image.layout.display is None
    assert explorer.picture != b""


def test_a_memory_that_cannot_even_be_walked_is_a_message():
    assert (
        "O5 on gravity has 11,881,376 memory states"
        in oracle_explorer(gravity(), "O", 5).message.value
    )
    assert (
        "K6 on gravity has 308,915,776 memory states"
        in oracle_explorer(gravity(), "K", 6).message.value
    )


def test_errors_are_shown_as_text_and_not_as_markup():
    explorer = oracle_explorer(recall4())

    def fail(_):
        raise WorkbenchError("k < 3 & more")

    explorer._redraw = fail
    explorer.controls["step"].value = 0.2
    assert explorer.message.value == "<b>k &lt; 3 &amp; more</b>"


# ---------------------------------------------------------------------- TD against Monte Carlo


@pytest.mark.parametrize(
    ("family", "k", "gamma", "lam"),
    [("OA", 1, 0.95, 0), ("OA", 1, 0.9, 0.5), ("B", 2, 0.95, 0), ("B", 2, 1, 0.25)],
)
def test_the_td_explorer_shows_td_above_the_true_values(family, k, gamma, lam):
    explorer = td_explorer(recall())
    for name, value in (("family", family), ("k", k), ("gamma", gamma), ("lam", lam)):
        explorer.controls[name].value = value
    assert explorer.message.value == ""
    E = augment(recall().with_gamma(gamma), f"{family}{k}")
    chosen = {}
    table = rows_of(explorer.text.value)
    assert table[0][1:] == [E.A.text(a) for a in E.A]
    labels = {E.O.text(o): o for o in E.O}
    for row in table[1:]:
        bold = [a for a, cell in zip(E.A, row[1:], strict=True) if cell.startswith("|")]
        (chosen[labels[row[0]]],) = bold
    pi = Policy.deterministic(E, chosen, otherwise=E.A[0])
    td, true = td_values(E, pi, lam=lam), evaluate(E, pi)
    assert true.value == pytest.approx(gamma**2)
    for row in table[1:]:
        o = labels[row[0]]
        for a, cell in zip(E.A, row[1:], strict=True):
            above, below = (
                float("nan") if x == "-" else float(x) for x in cell.strip("|").split("|")
            )
            assert above == pytest.approx(td.q[o, a], abs=1e-4, nan_ok=True)
            if pi[o, a] > 0:
                assert below == pytest.approx(true.q[o, a], abs=1e-4)
    assert f"worth {shown(true.value)}" in explorer.text.value


def test_at_lambda_0_the_diagram_holds_the_shortcuts_and_later_they_vanish():
    explorer = td_explorer(recall())
    assert explorer.text.value.count("2px solid #D55E00") == 1
    (axes,) = explorer.figure.axes
    assert [text.get_text() for text in axes.texts if text.get_gid() == "strict"] == ["2T"]
    first = explorer.picture
    explorer.controls["lam"].value = 0.2
    assert explorer.text.value.count("2px solid #D55E00") == 1
    explorer.controls["lam"].value = 0.25  # the two values cross at 0.2046
    assert explorer.text.value.count("2px solid #D55E00") == 0
    (axes,) = explorer.figure.axes
    assert not [text for text in axes.texts if text.get_gid() == "strict"]
    assert explorer.picture != first
    explorer.controls["lam"].value = 0
    assert explorer.picture == first


@pytest.mark.parametrize(
    ("memory", "gamma"), [("OA1", 0.95), ("B2", 0.95), ("OA1", 1), ("B1", 0.5)]
)
def test_for_one_step_td_they_are_the_shortcuts(memory, gamma):
    E = augment(recall().with_gamma(gamma), memory)
    for seed in range(3):
        pi = Policy.from_actions(E, Policy.random(E, seed).actions)
        found = shortcuts_between(td_values(E, pi, lam=1), td_values(E, pi, lam=0))
        assert found == shortcuts(E, pi)


def test_the_td_explorer_refuses_what_is_too_large():
    explorer = td_explorer(recall())
    explorer.controls["family"].value = "B"
    explorer.controls["k"].value = 6
    assert explorer.message.value.startswith("<b>B6 on recall has")
    explorer.controls["k"].value = 1
    assert explorer.message.value == ""


# ---------------------------------------------------------------------- episodes


def test_the_stepper_walks_through_the_simulated_episode():
    E = augment(recall(), "OA1")
    pi = Policy.random(E, 5)
    episode = simulate(pair(recall(), "OA1"), pi, seed=7)[0]
    stepper = episode_stepper(recall(), "OA1", pi, seed=7)
    assert stepper.controls["back"].disabled
    for t, step in enumerate(episode):
        table = rows_of(stepper.text.value)
        assert len(table) == t + 2
        s, m, o = step.state
        assert table[-1] == [str(t), s, memory_states(E).text(m), o, "", "", ""]
        assert f"step {t} of {len(episode)}" in stepper.text.value
        assert not stepper.controls["next"].disabled
        stepper.controls["next"].click()
        a, w = step.a
        assert rows_of(stepper.text.value)[-2][4:] == [str(a), w, shown(step.r)]
    assert "the episode is over" in stepper.text.value
    assert stepper.controls["next"].disabled
    over = stepper.text.value
    stepper.controls["next"].click()
    assert stepper.text.value == over
    stepper.controls["back"].click()
    assert f"step {len(episode) - 1} of" in stepper.text.value
    stepper.controls["restart"].click()
    assert len(rows_of(stepper.text.value)) == 2
    stepper.controls["back"].click()
    assert "step 0 of" in stepper.text.value


@pytest.mark.slow
def test_a_task_on_a_grid_is_drawn_on_it():
    drawing = TASKS["gravity"].drawing
    stepper = episode_stepper(gravity(), "B1", seed=3, drawing=drawing)
    E = augment(gravity(), "B1")
    episode = simulate(pair(gravity(), "B1"), uniform(E), seed=3)[0]
    assert stepper.controls["time"].max == len(episode)
    for t in (0, 2, len(episode)):
        stepper.controls["time"].value = t
        (axes,) = stepper.figure.axes
        (now,) = (line for line in axes.lines if line.get_gid() == "now")
        s, _, o = episode[t].state if t < len(episode) else episode[-1].state_next
        x, y = drawing.place(s, o)
        assert (now.get_xdata()[0], now.get_ydata()[0]) == (x + 0.5, y + 0.5)
        (walk,) = (line for line in axes.lines if line.get_gid() == "walk")
        assert len(walk.get_xdata()) == t + 1
        (note,) = (x for x in stepper.figure.texts if "after" in x.get_text())
        assert note.get_text().endswith(f"the agent after {t} steps")
        assert f"step {t} of {len(episode)}" in stepper.text.value
    loop = oracle_explorer(gravity(), "B", 1, drawing=drawing)
    assert "<table>" not in loop.text.value
    _, *grids = loop.figure.axes
    assert [axes.get_title() for axes in grids] == ["memory 0", "memory 1"]
    assert sum(len(grid_arrows(axes)) for axes in grids) > 20


def test_a_greyed_button_says_why():
    stepper = episode_stepper(recall(), "OA1")
    tips = {name: stepper.controls[name].tooltip for name in ("back", "next", "restart")}
    assert tips == dict.fromkeys(("back", "restart"), "this is the beginning") | {"next": ""}
    stepper.controls["time"].value = stepper.controls["time"].max
    tips = {name: stepper.controls[name].tooltip for name in ("back", "next", "restart")}
    assert tips == {"back": "", "next": "the episode is over", "restart": ""}


def test_the_stepper_adds_up_the_discounted_return():
    E = augment(recall(), "OA1")
    blue = Policy.deterministic(
        E, {((None,), "o"): (1, "push"), ((("o", 1),), "o"): (2, "push")}, otherwise=(3, "push")
    )
    stepper = episode_stepper(recall(), "OA1", blue)
    for _ in range(3):
        stepper.controls["next"].click()
    assert "return so far 361/400, the episode is over" in stepper.text.value


def test_the_stepper_says_what_is_wrong():
    assert episode_stepper(recall()).message.value == ""
    still = Policy.deterministic(augment(gravity(), "none"), {}, otherwise=("left", "-"))
    stepper = episode_stepper(gravity(), "none", still, max_steps=20)
    assert "not over after 20 steps" in stepper.message.value
    wrong = episode_stepper(recall(), "OA1", uniform(augment(recall(), "B1")))
    assert "unknown label" in wrong.message.value


# ---------------------------------------------------------------------- all of them


@pytest.mark.parametrize("make", [oracle_explorer, td_explorer, episode_stepper])
def test_jupyter_gets_a_widget(make):
    explorer = make(recall4())
    bundle = explorer._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in bundle
    still = bundle["text/html"]  # for those who read a notebook without running it
    assert (explorer.still or explorer.text.value) in still
    for control in explorer.controls.values():
        if hasattr(control, "value"):
            value = f"{control.value:g}" if isinstance(control.value, float) else control.value
            assert f"{control.description} {value}" in still
    assert ("<img" in bundle["text/html"]) == (explorer.picture != b"")
    shown_widgets = explorer.box.children
    assert set(explorer.controls.values()) == set(shown_widgets[0].children)
    assert shown_widgets[1:] == (explorer.message, explorer.text, explorer.image)


def test_who_reads_without_running_sees_the_whole_episode():
    stepper = episode_stepper(recall(), "OA1")
    assert "step 0 of 3" in stepper.text.value
    assert "step 3 of 3" in stepper._repr_mimebundle_()["text/html"]
    walk = episode_stepper(gravity(), "B1", seed=3, drawing=TASKS["gravity"].drawing)
    first = base64.b64encode(walk.picture).decode()
    assert first not in walk._repr_mimebundle_()["text/html"]
    walk.controls["time"].value = walk.controls["time"].max
    assert base64.b64encode(walk.picture).decode() in walk._repr_mimebundle_()["text/html"]


def test_without_the_package_there_is_a_clear_word(monkeypatch):
    def missing(module, extra):
        raise MissingExtra(f"{module} is not installed: pip install 'memory-workbench[{extra}]'")

    monkeypatch.setattr(widgets, "need", missing)
    with pytest.raises(MissingExtra, match=r"memory-workbench\[notebooks\]"):
        oracle_explorer(recall())
