"""The picture of a controller: one box for each node, one label for each step."""

import pytest
from matplotlib import pyplot
from matplotlib.patches import FancyArrowPatch

from pomdps import recall, t_maze
from workbench import Policy, augment, best_memoryless, controller_of, figures, uniform
from workbench.core.errors import TooLarge
from workbench.figures.controller_graph import controller_labels


def test_boxes_arrows_and_labels_of_the_t_maze():
    P = t_maze(3)
    best = best_memoryless(augment(P, "O1"), exact=True)
    axes = figures.controller_graph(controller_of(P, "O1", best.policy).minimised())
    texts = {text.get_text() for text in axes.texts}
    assert {"∅\njunction: down, end", "goal up\njunction: up, end"} <= texts
    assert {"goal up: right", "goal down: right\ncorridor: right", "corridor: right"} <= texts
    arrows = [patch for patch in axes.patches if isinstance(patch, FancyArrowPatch)]
    assert len(arrows) == 3
    pyplot.close(axes.get_figure())


def test_probabilities_are_written_behind():
    P = recall(gamma=1)
    E = augment(P, "none")
    labels = controller_labels(controller_of(P, "none", uniform(E)))
    assert labels == {(0, 0): ["1 (1/3)", "2 (1/3)", "3 (1/3)"]}
    certain = Policy.deterministic(E, {}, otherwise=(1, "-"))
    assert controller_labels(controller_of(P, "none", certain)) == {(0, 0): ["1"]}


def test_large_controllers_are_refused():
    P = recall(gamma=1)
    E = augment(P, "B4")
    with pytest.raises(TooLarge, match="16 nodes"):
        figures.controller_graph(controller_of(P, "B4", uniform(E)))
