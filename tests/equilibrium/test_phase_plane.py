"""Planes of tables: regions, the field on them, and runs taken apart."""

import numpy as np
import pytest
from reference_equilibrium import drift

from pomdps import recall, recall_variant
from workbench import QLearning, learn
from workbench.core.errors import WorkbenchError, WrongType
from workbench.equilibrium.phase_plane import phase_plane, run_path


def plane(**changes):
    given = {
        "x": ("o", 1),
        "y": ("o", 3),
        "base": np.array([[0.0, 0.5, 0.0]]),
        "width": (0, 1),
        "height": (0, 1),
        "points": 5,
    }
    given |= changes
    return phase_plane(recall(), QLearning(epsilon=0.2), **given)


def test_every_point_has_its_greedy_policy_and_the_field_of_the_plain_twin():
    P, found = recall(), plane()
    for j, y in enumerate(found.at_y):
        for i, x in enumerate(found.at_x):
            q = {("o", 1): x, ("o", 2): 0.5, ("o", 3): y}
            best = max(P.A, key=lambda a, q=q: (q["o", a], -a))
            assert found.policies[found.region[j, i]] == {"o": best}
            expected = drift(P, q, 0.2)
            assert found.flow[j, i] == pytest.approx([expected["o", 1], expected["o", 3]])
    assert len(found.policies) == 3


def test_a_path_is_one_run_at_several_times():
    P, learner = recall_variant(), QLearning(step=0.01, initial=0)
    path = run_path(P, learner, 1000, seed=3, points=4)
    assert path.shape == (5, 1, 2)
    assert not path[0].any()
    assert np.array_equal(path[-1], learn(P, learner, steps=1000, seeds=[3]).tables["q"][0])
    assert np.array_equal(path[2], learn(P, learner, steps=500, seeds=[3]).tables["q"][0])


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"y": ("o", 1)}, WorkbenchError, "the same entry"),
        ({"x": "o"}, WrongType, r"an entry \(o, a\)"),
        ({"base": np.zeros((2, 2))}, WorkbenchError, r"of the shape \(1, 3\), not \(2, 2\)"),
        ({"width": (1, 0)}, WorkbenchError, "width goes from a lower"),
        ({"points": 1}, WorkbenchError, "points must be at least 2"),
    ],
)
def test_bad_arguments_are_refused(changes, error, message):
    with pytest.raises(error, match=message):
        plane(**changes)
