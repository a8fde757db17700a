"""Figures look as they did: each public one is compared, point by point, with the picture that is
kept of it.

`python tests/figures/test_looks.py` draws the pictures in tests/data/looks anew; look at them
before they are kept.
"""

import io
import sys
from pathlib import Path
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from drawn import best, blue, diagram_of, meet

from pomdps import TASKS, gravity, recall, recall4, recall_variant, tiger
from pomdps.mazes import t_maze
from workbench import (
    Policy,
    QLearning,
    augment,
    best_history,
    best_memoryless,
    evaluate,
    figures,
    frontier,
    improve,
    reachable_beliefs,
    uniform,
)
from workbench.agents.controllers import controller_of
from workbench.equilibrium.phase_plane import phase_plane, run_path
from workbench.evaluation.lambda_sweep import sweep_lambda
from workbench.figures.style import SMALL, WORDS
from workbench.improvement.slice import policy_slice

KEPT = Path(__file__).parents[1] / "data" / "looks"

TOLERANCE = 0.03
"""The largest root mean square difference of two pictures, white to black being 1: other versions
of matplotlib move edges by a fraction of a point, a line or a label that is missing is more."""


def draw_q_table():
    E = augment(recall4(), "B1")
    return figures.q_table(evaluate(E, uniform(E), exact=True))


def draw_policy_table():
    return figures.policy_table(Policy.random(augment(recall(), "OA1"), 1))


def draw_oracle_values():
    runs = {}
    for memory in ("none", "B1", "OA1"):
        E = augment(recall4(), memory)
        runs[memory] = improve(E, uniform(E), step=0.05)
    return figures.oracle_values(runs, optimum=1)


def draw_memory_diagram():
    return figures.memory_diagram(diagram_of(recall(), "OA1"))


def draw_policy_flow():
    P = meet()
    first, second = P.O[0], P.O[1]
    found = policy_slice(P, uniform(P), x=(first, "left"), y=(second, "left"), points=7)
    return figures.policy_flow(found)


def draw_phase_portrait():
    P, learner = recall_variant(), QLearning(epsilon=0.1, step=0.01, initial=0)
    q = np.array([[-4.6, -4.6]])
    plane = phase_plane(P, learner, ("o", 0), ("o", 1), q, (-14, 1), (-14, 1), points=21)
    return figures.phase_portrait(plane, [run_path(P, learner, 2000, points=10)], {"a tie": q})


def draw_lambda_sweep():
    E = augment(recall(), "OA1")
    return figures.lambda_sweep(sweep_lambda(E, blue(E), points=11))


def draw_belief_graph():
    return figures.belief_graph(reachable_beliefs(recall()))


def draw_belief_values():
    return figures.belief_values(best_history(tiger(), tolerance=1e-3).policy, "hear-left")


def draw_controller_graph():
    P = t_maze(3)
    found = best_memoryless(augment(P, "O1"), exact=True)
    return figures.controller_graph(controller_of(P, "O1", found.policy).minimised())


def draw_frontier_plot():
    return figures.frontier_plot(frontier(recall(), 4, ["K"]))


def draw_grid_policy():
    E = augment(gravity(), "B1")
    return figures.grid_policy(evaluate(E, best(E)), TASKS["gravity"].drawing)


def draw_grid_walk():
    return figures.grid_walk(TASKS["gravity"].drawing, [(0, 0), (1, 0), (1, 1), (2, 1), (2, 2)])


def wave(seeds, phase):
    """Rewards that rise and tremble, a row for each seed."""
    x = np.linspace(0, 1, 40)
    rise = 10 * (1 - np.exp(-5 * x)) + np.sin(20 * x + phase)
    return np.array([rise + np.cos(30 * x + seed) for seed in range(seeds)])


ENDS = np.arange(1, 41) * 5_000


def draw_learning_curves():
    runs = {
        memory: SimpleNamespace(ends=ENDS, per_100=wave(5, phase))
        for phase, memory in enumerate(("none", "K1", "B1", "O1", "OA1"))
    }
    return figures.learning_curves(runs, optimum=12)


def draw_greedy_values():
    values = np.where(np.arange(40) % 7 < 4, 1.0, 0.25)
    return figures.greedy_values(ENDS, values, "OA1", optimum=1)


def draw_greedy_raster():
    place = np.add.outer(3 * np.arange(12), np.arange(40))
    return figures.greedy_raster(ENDS, np.where(place % 11 < 6, 1.0, 0.0))


FIGURES = {
    name.removeprefix("draw_"): draw
    for name, draw in list(globals().items())
    if name.startswith("draw_")
}

FIRST = ("grid_walk", "learning_curves", "memory_diagram", "oracle_values", "q_table")
"""Those that the daily tests look at; drawing all of them takes a while."""


def picture(draw):
    """The figure as an array of colours, 80 points an inch."""
    plt.close("all")
    axes = np.ravel(draw())[0]
    buffer = io.BytesIO()
    axes.get_figure(root=True).savefig(buffer, format="png", dpi=80, facecolor="white")
    plt.close("all")
    buffer.seek(0)
    return plt.imread(buffer)[..., :3]


def difference(one, other):
    """The root mean square difference; infinite for pictures of different sizes."""
    return float(np.sqrt(((one - other) ** 2).mean())) if one.shape == other.shape else np.inf


def looks_as_it_did(name):
    kept = plt.imread(KEPT / f"{name}.png")[..., :3]
    return difference(picture(FIGURES[name]), kept) < TOLERANCE


@pytest.mark.parametrize("name", FIRST)
def test_a_figure_looks_as_it_did(name):
    assert looks_as_it_did(name)


@pytest.mark.slow
@pytest.mark.parametrize("name", FIGURES)
def test_every_figure_looks_as_it_did(name):
    assert looks_as_it_did(name)


def test_every_public_figure_is_looked_at():
    assert set(FIGURES) == set(figures.__all__) - {"memory_style"}
    assert {path.stem for path in KEPT.glob("*.png")} == set(FIGURES)


SCALED = (
    "frontier_plot",
    "greedy_raster",
    "greedy_values",
    "lambda_sweep",
    "learning_curves",
    "oracle_values",
    "phase_portrait",
    "policy_flow",
)
"""Those with scales."""

PLANES = ("greedy_raster", "phase_portrait", "policy_flow")
"""Those of them that are planes or images, and have a frame."""


@pytest.mark.parametrize("name", SCALED)
def test_scales_have_one_style(name):
    plt.close("all")
    axes = np.ravel(FIGURES[name]())[0]
    assert {axes.xaxis.label.get_size(), axes.yaxis.label.get_size()} == {WORDS}
    assert axes.title.get_size() == WORDS or not axes.get_title()
    ticks = [*axes.get_xticklabels(), *axes.get_yticklabels()]
    assert {text.get_size() for text in ticks} == {SMALL}
    sides = [axes.spines[side].get_visible() for side in ("top", "right")]
    assert sides == [name in PLANES] * 2
    assert axes.get_figure(root=True).get_figwidth() == 7
    plt.close("all")


def test_a_line_or_a_label_that_is_missing_is_seen():
    def without_a_line():
        axes = draw_oracle_values()
        axes.lines[0].remove()
        return axes

    def without_numbers():
        axes = draw_q_table()
        for text in list(axes.texts):
            text.remove()
        return axes

    for name, spoiled in (("oracle_values", without_a_line), ("q_table", without_numbers)):
        kept = plt.imread(KEPT / f"{name}.png")[..., :3]
        assert difference(picture(spoiled), kept) > TOLERANCE


if __name__ == "__main__":
    KEPT.mkdir(exist_ok=True)
    for name in sys.argv[1:] or FIGURES:
        plt.imsave(KEPT / f"{name}.png", picture(FIGURES[name]))
