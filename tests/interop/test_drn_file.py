"""DRN files: read back what is written, Storm's own files, and what is refused by name."""

from __future__ import annotations

import pickle
from fractions import Fraction as F

import pytest
import sympy
from hypothesis import given
from strategies import pomdps

from pomdps import recall4, short_corridor, t_maze, tiger
from workbench import (
    best_history,
    best_memoryless,
    evaluate,
    export_drn,
    load_drn,
    uniform,
    with_goal,
)
from workbench.core.errors import ModelError, UnknownLabel, WorkbenchError

LOCKS = """// Exported by hand
@type: POMDP
@value_type: rational
@parameters

@reward_models
cost gain
@nr_states
5
@nr_choices
7
@model
state 0 {0} [0, 0] init
	action enter [0, 0]
		1 : 2/3
		2 : 0.25
		3 : 1/12
state 1 {1} [1, 0]
//lock=1
	action a [2, 0]
		4 : 1
	action b [0, 5]
		3 : 1
state 2 {1} [1, 0]
	action b [0, 5]
		4 : 1
	action a [2, 0]
		3 : 1
state 3 {2} [0, 0] lost "out of luck"
	action __NOLABEL__ [0, 0]
		3 : 1
state 4 {3} [0, 0] open
	action 0 [0, 0]
		4 : 1
"""


@pytest.fixture
def locks(tmp_path):
    path = tmp_path / "locks.drn"
    path.write_text(LOCKS)
    return path


def test_labels_rewards_and_actions_are_kept(locks):
    P = load_drn(locks, "gain")
    assert str(P).startswith("POMDP locks: 5 states (2 terminal), 4 observations, 3 actions")
    assert P.is_exact
    assert list(P.A) == ["enter", "a", "b"]
    assert P.p("lock=1", "a") == {("4", 0): 1}
    assert P.p("2", "b") == {("4", 5): 1}  # by name, though it is listed first
    assert [P.actions(*P.omega(s)) for s in ("0", "lock=1", "2")] == [("enter",), *[("a", "b")] * 2]
    assert best_history(P, exact=True).value == F(5) * F(11, 12)
    assert best_history(load_drn(locks, "cost"), exact=True).value == F(11, 12) * 3


def test_a_goal_is_a_label(locks):
    P = load_drn(locks, "gain")
    assert best_history(with_goal(P, "open"), exact=True).value == F(2, 3)
    assert best_memoryless(with_goal(P, "out of luck"), exact=True).value == F(1, 12) + F(2, 3)
    assert best_memoryless(with_goal(P, ["open", "lost"]), exact=True).value == 1
    with pytest.raises(UnknownLabel, match="the goal win is neither a state nor an observation"):
        with_goal(P, "win")
    again = pickle.loads(pickle.dumps(P))
    assert again.S[again.S.index("3")].labels == ("lost", "out of luck")


def test_labels_are_written_again(locks, tmp_path):
    P = load_drn(locks, "gain")
    path = tmp_path / "again.drn"
    path.write_text(export_drn(P))
    Q = load_drn(path)
    assert best_history(with_goal(Q, "out of luck"), exact=True).value == F(3, 4)
    assert best_history(Q, exact=True).value == best_history(P, exact=True).value


@pytest.mark.parametrize("P", [short_corridor(), recall4(), tiger(), t_maze(2)], ids=str)
def test_what_is_written_is_read(P, tmp_path):
    path = tmp_path / "task.drn"
    path.write_text(export_drn(P))
    Q = load_drn(path)
    assert Q.is_exact
    assert evaluate(Q, uniform(Q), exact=True).value == evaluate(P, uniform(P), exact=True).value


@given(pomdps(some_actions=True))
def test_random_tasks_are_worth_the_same(tmp_path_factory, P):
    path = tmp_path_factory.mktemp("drn") / "task.drn"
    path.write_text(export_drn(P))
    Q = load_drn(path)
    value = evaluate(P, uniform(P), exact=True).value
    assert evaluate(Q, uniform(Q), exact=True).value == value


def test_parameters_are_symbols(tmp_path):
    path = tmp_path / "coin.drn"
    path.write_text(
        "@type: DTMC\n@parameters\nx\n@placeholders\n$0 : 1-x^2\n@nr_states\n3\n@nr_choices\n3\n"
        "@model\nstate 0 init\n\taction 0\n\t\t1 : x^2\n\t\t2 : $0\n"
        "state 1 won\n\taction 0\n\t\t1 : 1\nstate 2\n\taction 0\n\t\t2 : 1\n"
    )
    P = load_drn(path)
    x = sympy.Symbol("x")
    Q = with_goal(P, "won")
    assert sympy.simplify(evaluate(Q, uniform(Q)).value - x**2) == 0
    path.write_text(path.read_text().replace("x^2", "__import__('os')"))
    with pytest.raises(ModelError, match="line 13 is not as a DRN file has it"):
        load_drn(path)


def test_rounded_decimals_become_floats(locks):
    locks.write_text(LOCKS.replace("2/3", "0.6666666667").replace("1/12", "0.08333333333"))
    P = load_drn(locks, "gain")
    assert not P.is_exact
    assert best_history(P).value == pytest.approx(55 / 12)


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        ("POMDP", "CTMC", "locks is a model of type CTMC; the workbench reads POMDP, MDP, DTMC"),
        ("rational", "double-interval", "locks has intervals for probabilities"),
        ("@type: POMDP", "", "locks does not say of which @type it is"),
        ("2/3", "[0.5,0.7]", r"line 15 is not as a DRN file has it: '1 : \[0.5,0.7\]'"),
        ("state 2", "state 7", "line 24 is not as a DRN file has it"),
        (
            "		4 : 1\n	action b",
            "		9 : 1\n	action b",
            "a state that is not listed",
        ),
        (" init", "", "locks has 0 initial states"),
        ("lost", "init", "locks has 2 initial states"),
        (
            "	action b [0, 5]\n		3 : 1\n",
            "",
            "the actions depend on the hidden state: lock=1 and",
        ),
        ("2/3", "1/3", "sums to 0.666666666667, not to 1"),
        (LOCKS[LOCKS.index("@model") :], "", "ends before its @model"),
    ],
)
def test_what_the_workbench_lacks_is_refused_by_name(locks, old, new, error):
    locks.write_text(LOCKS.replace(old, new, 1))
    with pytest.raises(ModelError, match=error):
        load_drn(locks, "gain")


def test_a_reward_model_without_a_name(locks):
    """Storm writes a space after each name."""
    locks.write_text(LOCKS.replace("cost gain\n", " gain \n"))
    assert best_history(load_drn(locks, "gain"), exact=True).value == F(55, 12)
    assert best_history(load_drn(locks, "default"), exact=True).value == F(11, 4)


def test_a_reward_model_is_chosen_by_name(locks):
    with pytest.raises(WorkbenchError, match="2 reward models; give one of cost, gain"):
        load_drn(locks)
    with pytest.raises(UnknownLabel, match="no reward model 'time'; known are cost, gain"):
        load_drn(locks, "time")
