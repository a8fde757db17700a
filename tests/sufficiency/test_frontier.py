"""Best values against numbers of memory states: against trying every controller, and known
tasks."""

import importlib
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from matplotlib import pyplot
from reference_frontier import best_controller_value
from strategies import pomdps

from pomdps import recall, t_maze, tiger
from workbench import figures, frontier, load_pomdp
from workbench.core.errors import WorkbenchError, WrongType

F = Fraction


@pytest.mark.slow
@given(pomdps(most_states=3, most_observations=1))
@settings(max_examples=4)
def test_steps_are_the_best_of_all_controllers(P):
    found = frontier(P, 2, ["B", "K"])
    for step in found.steps:
        assert step.certified
        assert step.value == best_controller_value(P, step.nodes)
    assert found.steps[0].value <= found.steps[1].value <= found.history.upper


def test_recall_needs_three_nodes_and_every_family_meets_the_frontier():
    found = frontier(recall(), 4)
    assert [x.value for x in found.steps] == [0, 0, F(361, 400), F(361, 400)]
    assert found.enough == 3
    by_name = {x.memory: x for x in found.points}
    assert {"none", "K1", "K2", "B1", "B2", "O1", "O2", "OA1", "F2"} <= set(by_name)
    assert by_name["OA1"].nodes == 3
    for x in found.points:
        if x.states <= 4:
            assert x.value <= found.steps[x.states - 1].value


def test_one_bit_is_enough_for_the_t_maze():
    found = frontier(t_maze(3), 2, "O")
    assert found.enough == 2
    assert repr(found) == "frontier of t-maze 3 by nodes: 1: 1.3122, 2: 2.6244; histories 2.6244"


@pytest.mark.parametrize("unit", [2.0**-40, 1.0, 2.0**40])
def test_what_counts_as_equal_does_not_depend_on_the_unit_of_reward(unit):
    """In floats no bound is quite reached: nearly is meant as a share of what is at stake."""
    found = frontier(t_maze(3).scale_rewards(unit), 2, "O")
    assert not found.P.is_exact
    assert found.enough == 2
    assert [x.certified for x in (*found.steps, *found.points)] == [True] * (2 + len(found.points))
    values = [x.value / unit for x in found.steps]
    assert values == pytest.approx([1.3122, 2.6244])


@pytest.mark.parametrize(
    ("file", "values"),
    [("tiger.95", [-20, -20]), ("4x3.95", [0.4161931, 1.6014313]), ("1d", [0.8139535, 1.1038961])],
)
def test_two_nodes_of_published_files_are_closed(file, values):
    """No history-based bound closes them: both controllers are far below the best history."""
    P = load_pomdp(Path(__file__).parents[1] / "data" / f"{file}.POMDP")
    found = frontier(P, 2, [])
    assert [x.value for x in found.steps] == pytest.approx(values)
    assert all(x.certified for x in found.steps)
    assert found.history.lower > values[-1] + 0.1


def test_the_best_history_based_policy_is_folded_into_its_fewest_nodes():
    """One node goes to the priest, two remember what was said: searches over F3 do not see it."""
    P = load_pomdp(Path(__file__).parents[1] / "data" / "heavenhell.POMDP")
    found = frontier(P, 3, [], max_seconds=2)
    assert found.enough == 3
    step = found.steps[-1]
    assert (step.by, step.certified) == ("histories", True)
    assert step.value == pytest.approx(0.99**10)
    assert [x.memory for x in found.points] == ["none", "F2"]


@pytest.mark.slow
def test_what_is_not_certified_is_bounded():
    found = frontier(tiger(), 2, ["window"], max_seconds=1)
    assert found.enough is None
    for x in found.steps:
        assert x.value <= x.bound <= found.history.upper
    assert found.history.upper > found.history.lower


def test_memories_that_are_too_large_are_named(monkeypatch):
    monkeypatch.setattr(
        importlib.import_module("workbench.sufficiency.frontier"), "_MOST_STATES", 20
    )
    found = frontier(recall(), 2, ["K", "OA"])
    assert found.left_out == (("OA1", "24 pairs (s, m)"),)
    assert [x.memory for x in found.points] == ["none", "K1", "F2"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((0,), "a whole number from 1, not 0"), ((2, ["Q"]), "unknown family 'Q'")],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises((WrongType, WorkbenchError), match=message):
        frontier(recall(), *arguments)


def test_the_picture_has_stairs_marks_and_the_line_of_histories():
    axes = figures.frontier_plot(frontier(recall(), 4, ["K"]))
    assert {line.get_gid() for line in axes.lines} >= {"none", "K1", "K2"}
    (stairs,) = [p for p in axes.patches if hasattr(p, "get_data")]
    assert stairs.get_data().values.tolist() == [0, 0, 0.9025, 0.9025]
    assert any(line.get_ydata()[0] == 0.9025 for line in axes.lines if line.get_linestyle() == "--")
    pyplot.close(axes.get_figure())
