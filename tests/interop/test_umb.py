"""UMB files: labels, rewards and observations there and back, and what is refused by name."""

from __future__ import annotations

from fractions import Fraction as F

import pytest
import sympy
from hypothesis import given
from strategies import pomdps

from pomdps import recall4, short_corridor, t_maze, tiger
from workbench import (
    best_history,
    evaluate,
    from_umb,
    load_drn,
    to_umb,
    uniform,
    with_goal,
)
from workbench.core.errors import ModelError, UnknownLabel, WorkbenchError

umbi = pytest.importorskip("umbi")

LOCKS = """@type: POMDP
@parameters

@reward_models
gain
@nr_states
4
@nr_choices
6
@model
state 0 {7} [0] init
	action enter [0]
		1 : 2/3
		2 : 1/3
state 1 {1} [1] dark "no light"
	action a [1/2]
		3 : 1
	action b [-5]
		1 : 1
state 2 {1} [1] dark
	action a [1/2]
		2 : 1
	action b [-5]
		3 : 1
state 3 {3} [0] open
	action 0 [0]
		3 : 1
"""


def value(P):
    return evaluate(P, uniform(P), exact=True).value


@pytest.mark.parametrize("P", [short_corridor(), recall4(), tiger(), t_maze(2)], ids=str)
def test_what_is_written_is_read(P, tmp_path):
    to_umb(P, tmp_path / "task.umb")
    Q = from_umb(tmp_path / "task.umb")
    assert Q.is_exact
    assert value(Q) == value(P)
    assert len(Q.A) == len(P.A)


@given(pomdps(some_actions=True))
def test_random_tasks_are_worth_the_same(tmp_path_factory, P):
    path = tmp_path_factory.mktemp("umb") / "task.umb"
    to_umb(P, path)
    assert value(from_umb(path)) == value(P)


def test_labels_rewards_and_observations_there_and_back(tmp_path):
    (tmp_path / "locks.drn").write_text(LOCKS)
    P = load_drn(tmp_path / "locks.drn")
    to_umb(P, tmp_path / "locks.umb")
    Q = from_umb(tmp_path / "locks.umb")
    assert [s.labels for s in Q.S] == [(), ("dark", "no light"), ("dark",), ("done", "open")]
    assert len(Q.O) == 3
    assert Q.omega("1") == Q.omega("2")
    assert Q.p("1", "a") == {("3", F(3, 2)): 1}
    assert Q.p("1", "b") == {("1", -4): 1}
    assert [Q.actions(o) for o in Q.O] == [P.actions(o) for o in P.O]
    assert best_history(with_goal(Q, "no light"), exact=True).value == F(2, 3)
    with pytest.raises(UnknownLabel, match="the goal light is neither"):
        with_goal(Q, "light")


def test_long_fractions_keep_their_digits(tmp_path):
    P = short_corridor().scale_rewards(F(10**30 + 1, 3**70))
    to_umb(P, tmp_path / "long.umb")
    assert value(from_umb(tmp_path / "long.umb")) == value(P)


def test_floats_stay_floats(tmp_path):
    P = short_corridor().scale_rewards(0.1)
    to_umb(P, tmp_path / "float.umb")
    Q = from_umb(tmp_path / "float.umb")
    assert not Q.is_exact
    assert evaluate(Q, uniform(Q)).value == pytest.approx(float(value(short_corridor())) / 10)


def changed(path, change):
    """A file written by the format's own package with one thing changed."""
    ats = umbi.ats.ExplicitAts(num_players=1)
    for s in range(2):
        ats.add_state()
        ats.add_state_choice(s).add_branch(1, 0.25)
        ats.get_state_choices(s)[0].add_branch(s, 0.75)
    ats.set_initial_states([0])
    ats.add_reward_annotation("steps").set_state_values([1, 0])
    ats.add_reward_annotation("branches").set_branch_values([8, 0, 0, 0])
    change(ats)
    umbi.ats.write(ats, path)
    return path


def test_rewards_of_states_and_branches_are_added_up(tmp_path):
    path = changed(tmp_path / "mdp.umb", lambda ats: None)
    P = from_umb(path, "branches")
    assert evaluate(P, uniform(P)).value == pytest.approx(8)
    P = from_umb(path, "steps")
    assert evaluate(P, uniform(P)).value == pytest.approx(4)
    assert len(P.O) == 2  # nothing is hidden in an MDP
    with pytest.raises(WorkbenchError, match="2 reward models; give one of steps, branches"):
        from_umb(path)


def two_players(ats):
    ats.num_players, ats.player_to_name, ats.state_to_player = 2, ["a", "b"], [0, 1]


def continuous(ats):
    ats.time, ats.state_to_exit_rate = umbi.ats.TimeType.STOCHASTIC, [1.5, 2.5]


def intervals(ats):
    for branch in ats.branches:
        branch.prob = umbi.datatypes.Interval(0.0, 1.0)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (two_players, "mdp has 2 players"),
        (continuous, "mdp has continuous time"),
        (intervals, "mdp has intervals for probabilities"),
        (
            lambda ats: ats.add_observation_annotation(2).set_branch_values([0, 1, 0, 1]),
            "mdp has observations of branches",
        ),
        (lambda ats: ats.set_initial_states([0, 1]), "mdp has 2 initial states"),
    ],
)
def test_what_the_workbench_lacks_is_refused_by_name(tmp_path, change, error):
    path = changed(tmp_path / "mdp.umb", change)
    with pytest.raises(ModelError, match=error):
        from_umb(path, "steps")


def test_files_that_are_none_and_tasks_with_symbols(tmp_path):
    (tmp_path / "text.umb").write_text("no archive")
    with pytest.raises(ModelError, match=r"text.umb is no UMB file that umbi reads"):
        from_umb(tmp_path / "text.umb")
    with pytest.raises(WorkbenchError, match="cannot read"):
        from_umb(tmp_path / "none.umb")
    x = sympy.Symbol("x")
    with pytest.raises(WorkbenchError, match="UMB holds no parameters, but short corridor has x"):
        to_umb(short_corridor().scale_rewards(x), tmp_path / "x.umb")
